//! Makes text safe to print: text of plans must not control the terminal.

use std::borrow::Cow;
use std::sync::LazyLock;

use planwright_core::text::is_visible;
use planwright_run::redaction::Redaction;
use planwright_verbs::text::{printable, without_sequences};
use serde::Serialize;

/// Removes the secrets of this process's environment, and text with the shape of a secret.
static OF_ENVIRONMENT: LazyLock<Redaction> =
    LazyLock::new(|| Redaction::of_environment(&std::env::vars_os().collect::<Vec<_>>()));

/// The reader of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// A program, through a pipe or a file.
    Program,
    Person,
}

/// Returns a text for its audience: exact for programs; for people with tabs, and with all other control characters as escapes.
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

/// Returns a line of a program's output for people. Colours and other control sequences are removed, and so is overwritten text. Tabs stay,
/// and other control characters become escapes.
pub(crate) fn harmless_line(line: &str) -> String {
    let plain = without_sequences(line.trim_end_matches(['\r', '\n']));
    // A secret with a colour in it, as `grep --color` prints one, is only visible now.
    let plain = match plain {
        Cow::Owned(plain) => Cow::Owned(OF_ENVIRONMENT.text(&plain).into_string()),
        plain => plain,
    };
    let last = plain.rsplit('\r').next().unwrap_or_default();
    let parts: Vec<_> = last.split('\t').map(printable).collect();
    parts.join("\t")
}

/// Returns an equivalent line of JSON without control sequences for a terminal or commands for a workflow's runner.
pub(crate) fn harmless_json(json: &str) -> Cow<'_, str> {
    if json.chars().all(is_visible) && !json.contains("##") {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    json.chars().for_each(|c| push_json(&mut out, c));
    Cow::Owned(without_commands(out))
}

/// Two number signs only occur in strings, where JSON has an escape for the second one.
fn without_commands(json: String) -> String {
    match json.contains("##[") || json.contains("##vso[") {
        true => json.replace("##[", "#\\u0023[").replace("##vso[", "#\\u0023vso["),
        false => json,
    }
}

/// Such characters only occur in strings, where JSON has an escape for each.
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

/// Returns a value as JSON over several lines, with a final line break, and without terminal control sequences.
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
    fn programs_get_control_characters_unescaped() {
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
}
