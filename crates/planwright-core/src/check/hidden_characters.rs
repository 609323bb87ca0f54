//! Finds characters that agents read and people do not see: zero widths, directions, tags.
//!
//! Where a script or an emoji needs such a character, it is not reported.

use super::rules::HIDDEN_CHARACTERS;
use super::{CheckFindings, texts};
use crate::diagnostic::{Diagnostic, Replacement};
use crate::plan::{Plan, Text};
use crate::text::{Span, is_visible, visible};

/// The longest hidden text that a message quotes, in characters.
const MAX_SPELLED: usize = 60;

pub(super) fn check(plan: &Plan, found: &mut CheckFindings) {
    for text in texts(plan) {
        let value = plan.str(text);
        if !value.is_ascii() && value.chars().any(may_hide) {
            check_text(plan, text, found);
        }
    }
}

/// Returns whether a character is never visible, in any context. Control characters have findings of their own.
fn may_hide(c: char) -> bool {
    !is_visible(c) && !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}')
}

fn check_text(plan: &Plan, text: Text, found: &mut CheckFindings) {
    let span = plan.text_span(text);
    let written = characters(plan.source().slice(span), span.start);
    let chars: Vec<char> = written.iter().map(|&(c, _)| c).collect();
    let is_rtl = chars.iter().any(|&c| {
        matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}') && !may_hide(c)
    });
    let mut at = 0;
    while at < chars.len() {
        let n_hidden = match may_hide(chars[at]) {
            true => chars[at..].iter().take_while(|&&c| may_hide(c)).count(),
            false => 0,
        };
        let end = at + n_hidden;
        if n_hidden > 0 && !is_needed(&chars, at, end, is_rtl) {
            let spans = written[at..end].iter().map(|&(_, span)| span);
            let edits = spans.map(Replacement::delete).collect();
            let place = Span {
                start: written[at].1.start,
                end: written[end - 1].1.end,
            };
            let finding = Diagnostic::new(&HIDDEN_CHARACTERS, place, message(&chars[at..end]))
                .with_help("remove them: a reader does not see what an agent gets to read")
                .with_unsafe_fix("remove the hidden characters", edits);
            found.push(finding);
        }
        at = end.max(at + 1);
    }
}

fn message(hidden: &[char]) -> String {
    let first = hidden.first().copied().unwrap_or_default();
    let named = format!("U+{:04X}{}", first as u32, name(first));
    let tags = hidden.iter().filter_map(|&c| match c {
        '\u{e0020}'..='\u{e007e}' => char::from_u32(c as u32 - 0xe0000),
        _ => None,
    });
    let spelled: String = tags.take(MAX_SPELLED).collect();
    let spells = match spelled.is_empty() {
        true => String::new(),
        false => format!("; they spell `{}`", visible(&spelled)),
    };
    match hidden.len() {
        1 => format!("a hidden character: {named}{spells}"),
        n => format!("{n} hidden characters, the first is {named}{spells}"),
    }
}

fn name(c: char) -> &'static str {
    match c {
        '\u{ad}' => ", a soft hyphen",
        '\u{200b}' => ", a zero-width space",
        '\u{200c}' => ", a zero-width non-joiner",
        '\u{200d}' => ", a zero-width joiner",
        '\u{200e}' | '\u{200f}' | '\u{61c}' => ", a mark of direction",
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ", which changes the direction of the text",
        '\u{2060}' => ", a word joiner",
        '\u{feff}' => ", a byte order mark",
        '\u{e0000}'..='\u{e007f}' => ", a tag",
        '\u{e0100}'..='\u{e01ef}' => ", a selector of variants",
        _ => "",
    }
}

/// Returns whether the characters around hidden ones need them.
fn is_needed(chars: &[char], start: usize, end: usize, is_rtl: bool) -> bool {
    let before = start
        .checked_sub(1)
        .and_then(|at| chars.get(at))
        .copied()
        .unwrap_or(' ');
    let after = chars.get(end).copied().unwrap_or(' ');
    let hidden = chars.get(start..end).unwrap_or_default();
    match *hidden {
        // The flags of England, Scotland, Wales: a black flag and the tags of a region.
        [.., '\u{e007f}'] if before == '\u{1f3f4}' => hidden.len() <= 8,
        ['\u{200d}'] => (is_emoji(before) && is_emoji(after)) || joins(before),
        ['\u{200c}'] => joins(before) && joins(after),
        ['\u{200e}' | '\u{200f}' | '\u{61c}'] => is_rtl,
        ['\u{115f}' | '\u{1160}'] => {
            matches!(after, '\u{1100}'..='\u{11ff}') || matches!(before, '\u{1100}'..='\u{11ff}')
        }
        ['\u{180e}'] => matches!(before, '\u{1800}'..='\u{18af}'),
        ['\u{e0100}'..='\u{e01ef}'] => {
            matches!(before, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        }
        _ => false,
    }
}

/// Returns whether letters of a script join, so that a text must mark where they do not: Arabic, Syriac, N'Ko, the scripts of India and
/// South-East Asia, Mongolian.
fn joins(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
        | '\u{1a00}'..='\u{1cff}' | '\u{a8e0}'..='\u{a8ff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{fe0f}' | '\u{a9}' | '\u{ae}' | '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns the characters of a text in the file, each with its span. Escapes between double quotes are decoded.
fn characters(slice: &str, start: u32) -> Vec<(char, Span)> {
    let has_escapes = slice.starts_with('"');
    let mut all = Vec::with_capacity(slice.len());
    let mut at = 0;
    while let Some(c) = slice.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = slice.get(at..).unwrap_or_default();
        let (c, n_bytes) = match has_escapes && c == '\\' {
            true => escape(rest),
            false => (c, c.len_utf8()),
        };
        let span = Span {
            start: start + at as u32,
            end: start + (at + n_bytes) as u32,
        };
        all.push((c, span));
        at += n_bytes;
    }
    all
}

/// Returns the decoded escape, and its length. Visible ones count as a space.
fn escape(rest: &str) -> (char, usize) {
    let number = |from: usize, n_digits: usize| {
        let digits = rest.get(from..from + n_digits)?;
        let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        are_digits.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let found = match rest.as_bytes().get(1) {
        Some(b'x') => number(2, 2).map(|number| (number, 4)),
        Some(b'U') => number(2, 8).map(|number| (number, 10)),
        Some(b'u') => number(2, 4).map(|unit| match (unit, rest.get(6..8), number(8, 4)) {
            (0xd800..=0xdbff, Some("\\u"), Some(low @ 0xdc00..=0xdfff)) => {
                (0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), 12)
            }
            _ => (unit, 6),
        }),
        _ => None,
    };
    let (number, n_bytes) = found.unwrap_or_else(|| {
        let second = rest.chars().nth(1).map_or(0, char::len_utf8);
        (u32::from(b' '), 1 + second)
    });
    (char::from_u32(number).unwrap_or(' '), n_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hides(text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        let is_rtl = chars.iter().any(|c| matches!(c, '\u{590}'..='\u{6ff}'));
        let mut at = 0;
        while at < chars.len() {
            let end = at + chars[at..].iter().take_while(|&&c| may_hide(c)).count();
            if end > at && !is_needed(&chars, at, end, is_rtl) {
                return true;
            }
            at = end.max(at + 1);
        }
        false
    }

    #[test]
    fn joiners_that_scripts_and_emoji_need_are_not_reported() {
        for text in [
            "plain",
            "👩\u{200d}💻 and 🏳\u{fe0f}\u{200d}🌈 and ❤\u{fe0f}\u{200d}🔥",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "\u{200f}שלום\u{200e} abc",
            "葛\u{e0100}飾",
            "Ünïcödé – “quotes” … 日本語",
        ] {
            assert!(!hides(text), "{text}");
        }
    }

    #[test]
    fn invisible_characters_are_reported() {
        for text in [
            "a\u{200b}b",
            "a\u{200d}b",
            "a\u{200c}b",
            "a\u{200e}b",
            "a\u{202e}b",
            "שלום\u{202e}b",
            "a\u{2060}\u{feff}b",
            "a\u{e0069}\u{e0067}",
            "🏴\u{e0067}\u{e0062}",
            "a\u{e0100}",
            "a\u{3164}",
            "👩\u{200d} x",
        ] {
            assert!(hides(text), "{}", visible(text));
        }
    }

    #[test]
    fn escapes_have_their_places() {
        let all = characters(r#""a\u200b\udb40\udc41\\u200b\n""#, 10);
        let spans: Vec<(char, u32, u32)> = all.iter().map(|&(c, span)| (c, span.start, span.end)).collect();
        assert_eq!(spans[2], ('\u{200b}', 12, 18));
        assert_eq!(spans[3], ('\u{e0041}', 18, 30));
        assert_eq!((spans[4].0, spans[5].0), (' ', 'u'));
    }
}
