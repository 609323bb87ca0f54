//! Makes text safe to print: text of plans must not control the terminal.

use std::borrow::Cow;
use std::sync::LazyLock;

use planwright_core::text::{is_visible, visible};
use planwright_run::redaction::Redaction;
use serde::Serialize;

/// Removes the secrets of this process's environment, and what has the shape of a secret.
static OF_ENVIRONMENT: LazyLock<Redaction> =
    LazyLock::new(|| Redaction::of_environment(&std::env::vars_os().collect::<Vec<_>>()));

/// Returns text with everything that a terminal acts on shown as escapes; newlines stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| is_visible(c) || c == '\n') {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split('\n').map(visible).collect();
    Cow::Owned(lines.join("\n"))
}

/// Who reads what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// A program, through a pipe or a file.
    Program,
    /// A person, at a terminal.
    Person,
}

/// Returns a text as its readers need it: exact for programs; for people with tabs as they are, and everything else that a
/// terminal acts on shown as escapes.
pub(crate) fn addressed(text: &str, audience: Audience) -> Cow<'_, str> {
    if audience == Audience::Program {
        return Cow::Borrowed(text);
    }
    let lines = text.lines().map(|line| {
        let parts: Vec<_> = line.split('\t').map(printable).collect();
        format!("{}\n", parts.join("\t"))
    });
    Cow::Owned(lines.collect())
}

/// Returns a line of a program's output as it is shown to people: colours and other sequences for terminals are left out, what
/// was overwritten on the same line too, tabs stay, and whatever else a terminal acts on is shown as escapes.
pub(crate) fn harmless_line(line: &str) -> String {
    let plain = without_sequences(line.trim_end_matches(['\r', '\n']));
    // A secret with a colour in it, as `grep --color` writes one, shows itself only now.
    let plain = match plain {
        Cow::Owned(plain) => Cow::Owned(OF_ENVIRONMENT.text(&plain).into_string()),
        plain => plain,
    };
    let last = plain.rsplit('\r').next().unwrap_or_default();
    let parts: Vec<_> = last.split('\t').map(printable).collect();
    parts.join("\t")
}

/// Leaves out the sequences that programs drive terminals with. One that never ends takes nothing along but its beginning.
pub(crate) fn without_sequences(text: &str) -> Cow<'_, str> {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, part)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = behind_sequence(part);
    }
    match rest.len() == text.len() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(out + rest),
    }
}

/// Returns what follows a sequence whose escape character has been taken off.
fn behind_sequence(part: &str) -> &str {
    let mut chars = part.chars();
    let first = chars.next();
    let inner = chars.as_str();
    match first {
        // Parameters, then one letter.
        Some('[') => {
            let is_end = |c: char| c == '\u{1b}' || ('\u{40}'..='\u{7e}').contains(&c);
            let behind = inner.find(is_end).and_then(|at| inner.get(at..));
            behind
                .and_then(|behind| behind.strip_prefix(|c: char| c != '\u{1b}'))
                .unwrap_or(inner)
        }
        // A text for the terminal, such as a title or a link: up to a bell, or an escape and a backslash.
        Some(']' | 'P' | '_' | '^' | 'X') => {
            let behind = inner.find(['\u{7}', '\u{1b}']).and_then(|at| inner.get(at..));
            behind
                .and_then(|behind| behind.strip_prefix('\u{7}').or_else(|| behind.strip_prefix("\u{1b}\\")))
                .unwrap_or(inner)
        }
        // The choice of a character set has one letter more.
        Some('(' | ')' | '#') => {
            chars.next();
            chars.as_str()
        }
        // The end of a text that never began, and the switches of one character.
        Some('\\' | '=' | '>' | '7' | '8' | 'c') => inner,
        _ => part,
    }
}

/// Returns a line of JSON in which nothing can drive a terminal or the runner of a workflow; it says the same.
pub(crate) fn harmless_json(json: &str) -> Cow<'_, str> {
    if json.chars().all(is_visible) && !json.contains("##") {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    json.chars().for_each(|c| push_json(&mut out, c));
    Cow::Owned(without_commands(out))
}

/// Two number signs stand in strings only, where JSON has an escape for the second one.
fn without_commands(json: String) -> String {
    match json.contains("##[") || json.contains("##vso[") {
        true => json.replace("##[", "#\\u0023[").replace("##vso[", "#\\u0023vso["),
        false => json,
    }
}

/// Such characters stand in strings only, where JSON has an escape for each.
fn push_json(out: &mut String, c: char) {
    if is_visible(c) {
        out.push(c);
        return;
    }
    let mut units = [0; 2];
    for unit in c.encode_utf16(&mut units) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}

/// Returns a value as JSON over several lines, ending with one; nothing in its strings can drive a terminal.
pub(crate) fn json_text(value: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    let mut out = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            c => push_json(&mut out, c),
        }
    }
    out.push('\n');
    Ok(without_commands(out))
}

/// The same on one line: line breaks and tabs become spaces.
pub(crate) fn one_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c })
        .collect();
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
    printable(&words.join(" ")).into_owned()
}

/// Returns a task's name as people see it: in quotes and with escapes where it would look like another name, or like none.
pub(crate) fn shown_name(name: &str) -> String {
    let is_tidy = !name.is_empty() && !name.starts_with('"') && name.trim() == name && !name.contains("  ");
    if is_tidy && name.chars().all(|c| c == ' ' || (is_visible(c) && !c.is_whitespace())) {
        return name.to_owned();
    }
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' ' => out.push(c),
            // Spaces that are not the usual one would be taken for it.
            c if c.is_whitespace() && is_visible(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push_str(&visible(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push('"');
    out
}

/// Returns text cut to a number of characters, with an ellipsis.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

/// Colours, or none.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    pub(crate) fn new(is_on: bool) -> Self {
        Paint { is_on }
    }

    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.is_on {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn error(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.with("1;33", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn active(self, text: &str) -> String {
        self.with("36", text)
    }

    pub(crate) fn help(self, text: &str) -> String {
        self.with("1;36", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(printable("a\u{9b}31m"), "a\\u{9b}31m");
        assert_eq!(printable("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(printable("é😀\nx"), "é😀\nx");
    }

    #[test]
    fn programs_get_what_people_must_not_see() {
        let text = "a\u{1b}[2J\tb\r\n\u{202e}\u{9b}c\rd\n";
        assert_eq!(addressed(text, Audience::Program), text);
        assert_eq!(
            addressed(text, Audience::Person),
            "a\\u{1b}[2J\tb\n\\u{202e}\\u{9b}c\\rd\n"
        );
        assert_eq!(addressed("", Audience::Person), "");
    }

    #[test]
    fn output_of_programs_is_shown_without_its_sequences() {
        for (line, shown) in [
            ("\u{1b}[1;31merror\u{1b}[0m: x\r\n", "error: x"),
            ("\u{1b}]0;title\u{7}a\tb", "a\tb"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\ on", "link on"),
            ("\u{1b}(Bplain", "plain"),
            (
                "key ghp_\u{1b}[31mabcdefghijABCDEFGHIJ0123456789abcdef\u{1b}[m.",
                "key [redacted: github token].",
            ),
            ("\u{1b}]0;no end", "0;no end"),
            ("\u{1b}[3\u{1b}[31mred", "3red"),
            ("10 %\r20 %\r100 %", "100 %"),
            ("a\u{1b}[", "a"),
            ("a\u{1b}\u{1b}[2Jé\u{9b}2J", "aé\\u{9b}2J"),
            ("a\u{8}\u{202e}", "a\\u{8}\\u{202e}"),
        ] {
            assert_eq!(harmless_line(line), shown);
        }
        assert_eq!(harmless_json("{\"a\":\"\u{9b}é\"}"), "{\"a\":\"\\u009bé\"}");
        for (json, harmless) in [
            ("\"\u{e0041}\u{e007f}\"", "\"\\udb40\\udc41\\udb40\\udc7f\""),
            ("\"\u{61c}\u{ad}\u{200b}\u{7f}\"", "\"\\u061c\\u00ad\\u200b\\u007f\""),
            ("\"###[error]x ##vso[y]\"", "\"##\\u0023[error]x #\\u0023vso[y]\""),
            ("\"## Title\"", "\"## Title\""),
        ] {
            assert_eq!(harmless_json(json), harmless);
            let read = |text: &str| serde_json::from_str::<String>(text).expect("a string");
            assert_eq!(read(json), read(harmless));
        }
    }

    #[test]
    fn json_stays_json() {
        let text = json_text(&"a\u{9b}\u{7f}\u{202e}é").expect("serializes");
        assert_eq!(text, "\"a\\u009b\\u007f\\u202eé\"\n");
        assert_eq!(
            serde_json::from_str::<String>(&text).expect("parses"),
            "a\u{9b}\u{7f}\u{202e}é"
        );
    }

    #[test]
    fn names_that_would_mislead_stand_in_quotes() {
        for plain in ["t1", "US-001", "a b", "#3", "é😀", "a\\b", "it's", "say \"x\""] {
            assert_eq!(shown_name(plain), plain);
        }
        for (name, shown) in [
            ("", r#""""#),
            ("  ", r#""  ""#),
            (" t1", r#"" t1""#),
            ("t1 ", r#""t1 ""#),
            ("a  b", r#""a  b""#),
            ("a\nb\t", r#""a\nb\t""#),
            ("t1\u{a0}", r#""t1\u{a0}""#),
            ("a\u{3000}b", r#""a\u{3000}b""#),
            ("t1\u{200b}", r#""t1\u{200b}""#),
            ("\u{1b}[2J\\", r#""\u{1b}[2J\\""#),
            ("\"t1\"", r#""\"t1\"""#),
        ] {
            assert_eq!(shown_name(name), shown);
        }
    }

    #[test]
    fn long_text_is_cut_at_characters() {
        assert_eq!(cut("éééé", 3), "éé…");
        assert_eq!(cut("ééé", 3), "ééé");
        assert_eq!(one_line("a\n  b\tc"), "a b c");
    }
}
