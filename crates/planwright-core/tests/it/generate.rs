//! Random values, and texts that hold them: JSON and YAML as odd as the formats allow.

use planwright_core::document::patch::PlainValue;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner};

/// Checks a law on a number of random inputs, the same ones each time.
pub(crate) fn check_law<S: Strategy>(n_cases: u32, strategy: S, law: impl Fn(S::Value) -> TestCaseResult) {
    let config = Config {
        cases: n_cases,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    if let Err(failure) = runner.run(&strategy, law) {
        panic!("{failure}");
    }
}

/// Decisions for a writer: bytes that are used up one by one and then again.
pub(crate) struct Dice {
    bytes: Vec<u8>,
    at: usize,
}

impl Dice {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Dice { bytes, at: 0 }
    }

    /// Returns a number below `n`; 0 is the plainest choice.
    pub(crate) fn roll(&mut self, n: usize) -> usize {
        if self.bytes.is_empty() {
            return 0;
        }
        let byte = self.bytes[self.at % self.bytes.len()] as usize;
        self.at += 1;
        // Each round through the bytes reads them differently.
        (byte + self.at / self.bytes.len() * 11) % n
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.roll(n) == n - 1
    }

    pub(crate) fn pick<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.roll(choices.len())]
    }
}

/// Returns decisions of all lengths.
pub(crate) fn dice() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..60)
}

pub(crate) const TEXTS: &[&str] = &[
    "a",
    "plain words here",
    "",
    " lead",
    "trail ",
    "a: b",
    "# no",
    "x #y",
    "x # y",
    "- x",
    "-",
    "?",
    "true",
    "Null",
    "~",
    "12",
    "0x1f",
    "1e3",
    ".5",
    "yes",
    "two\nlines",
    "two\nlines\n",
    "a\n\n b\n",
    "\nlead",
    "end\n\n\n",
    "  in\nout\n",
    "it's",
    "say \"x\"",
    "tab\tx",
    "é😀",
    "a,b",
    "[x",
    "]",
    "{",
    "}",
    "*a",
    "&b",
    "!t",
    "%d",
    "@",
    "`",
    "back\\slash",
    "---",
    "...",
    "--- x",
    "key: |",
    ">x",
    "|",
    "a:",
    ":a",
    "::",
    "a\u{1}b",
    "\u{7f}",
    "\u{85}x",
    "\u{2028}",
    "\r",
    "a\r\nb",
    "<<",
    "=",
    "'",
    "\"",
    "''",
    "a  b",
    "x\n  \ny",
    "\t",
    "\n",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(TEXTS).prop_map(str::to_owned),
        2 => "[a-z]{1,8}( [a-z]{1,8}){0,3}",
        1 => "[ -~]{0,12}",
        1 => "\\PC{0,6}",
    ]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i32>().prop_map(|number| number.to_string()),
        (any::<i16>(), 0u32..1000).prop_map(|(whole, fraction)| format!("{whole}.{fraction}")),
        (-9i32..9, -20i32..20).prop_map(|(digit, exponent)| format!("{digit}.5e{exponent}")),
        Just("0".to_owned()),
        Just("-0".to_owned()),
    ]
}

/// Returns values up to a few levels deep.
pub(crate) fn value() -> impl Strategy<Value = PlainValue> {
    let leaf = prop_oneof![
        1 => Just(PlainValue::Null),
        1 => any::<bool>().prop_map(PlainValue::Bool),
        2 => number().prop_map(PlainValue::Number),
        4 => text().prop_map(PlainValue::String),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(PlainValue::Array),
            prop::collection::vec((text(), inner), 0..5).prop_map(|members| PlainValue::Object(distinct(members))),
        ]
    })
}

/// Returns values that are collections.
pub(crate) fn collection() -> impl Strategy<Value = PlainValue> {
    prop_oneof![
        prop::collection::vec(value(), 0..5).prop_map(PlainValue::Array),
        prop::collection::vec((text(), value()), 1..6).prop_map(|members| PlainValue::Object(distinct(members))),
    ]
}

fn distinct(members: Vec<(String, PlainValue)>) -> Vec<(String, PlainValue)> {
    let mut out: Vec<(String, PlainValue)> = Vec::new();
    for (key, value) in members {
        if out.iter().all(|(other, _)| *other != key) {
            out.push((key, value));
        }
    }
    out
}

/// Writes a value as JSON with odd white space and needless escapes.
pub(crate) fn json(value: &PlainValue, dice: &mut Dice) -> String {
    let mut out = String::new();
    write_json(&mut out, value, dice);
    out
}

fn space(dice: &mut Dice) -> &'static str {
    dice.pick(&["", " ", "", "\n", "\r\n  ", "\t", "  "])
}

fn write_json(out: &mut String, value: &PlainValue, dice: &mut Dice) {
    out.push_str(space(dice));
    match value {
        PlainValue::Null => out.push_str("null"),
        PlainValue::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        PlainValue::Number(number) => out.push_str(number),
        PlainValue::String(text) => write_json_string(out, text, dice),
        PlainValue::Alias(_) => unreachable!("JSON has no aliases"),
        PlainValue::Array(elements) => {
            out.push('[');
            for (ix, element) in elements.iter().enumerate() {
                out.push_str(if ix > 0 { "," } else { "" });
                write_json(out, element, dice);
            }
            out.push_str(space(dice));
            out.push(']');
        }
        PlainValue::Object(members) => {
            out.push('{');
            for (ix, (key, value)) in members.iter().enumerate() {
                out.push_str(if ix > 0 { "," } else { "" });
                out.push_str(space(dice));
                write_json_string(out, key, dice);
                out.push_str(space(dice));
                out.push(':');
                write_json(out, value, dice);
            }
            out.push_str(space(dice));
            out.push('}');
        }
    }
    out.push_str(space(dice));
}

fn write_json_string(out: &mut String, text: &str, dice: &mut Dice) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' || dice.one_in(9) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Writes a value as YAML: block and flow, all scalar styles, comments and blank lines, lists that are not
/// indented, LF or CRLF.
pub(crate) fn yaml(value: &PlainValue, dice: &mut Dice) -> String {
    let mut writer = YamlWriter {
        out: String::new(),
        unit: 1 + dice.roll(4),
        dice,
        keeps_breaks: false,
    };
    writer.comments(0);
    if writer.dice.one_in(6) {
        writer.out.push_str("---");
        writer.end_line();
    }
    match value {
        PlainValue::Array(elements) if !elements.is_empty() && !writer.dice.one_in(5) => writer.list(elements, 0, true),
        PlainValue::Object(members) if !members.is_empty() && !writer.dice.one_in(5) => {
            writer.mapping(members, 0, true)
        }
        other => {
            writer.flow(other, 0);
            writer.end_line();
        }
    }
    let is_crlf = writer.dice.one_in(3);
    let text = writer.out;
    if is_crlf { text.replace('\n', "\r\n") } else { text }
}

struct YamlWriter<'d> {
    out: String,
    unit: usize,
    dice: &'d mut Dice,
    /// The last scalar takes following blank lines for its own.
    keeps_breaks: bool,
}

impl YamlWriter<'_> {
    fn indent(&mut self, column: usize) {
        self.out.push_str(&" ".repeat(column));
    }

    fn end_line(&mut self) {
        match self.dice.roll(8) {
            6 => self.out.push_str("  "),
            7 => self.out.push_str(" # - it's: [\"odd"),
            _ => {}
        }
        self.out.push('\n');
    }

    /// Writes lines without content above a child that begins in a column.
    fn comments(&mut self, column: usize) {
        for _ in 0..2 {
            if !self.dice.one_in(5) {
                continue;
            }
            if self.dice.one_in(2) && !self.keeps_breaks {
                self.out.push('\n');
            } else {
                let column = self.dice.roll(column + 1);
                self.indent(column);
                self.out.push_str("# a: comment\n");
                self.keeps_breaks = false;
            }
        }
    }

    fn mapping(&mut self, members: &[(String, PlainValue)], column: usize, on_own_line: bool) {
        for (ix, (key, value)) in members.iter().enumerate() {
            if ix > 0 || on_own_line {
                self.comments(column);
                self.indent(column);
            }
            self.key(key);
            self.out.push(':');
            let step = self.unit;
            let list_step = if self.dice.one_in(2) { 0 } else { step };
            self.value(value, column, (column + step, column + list_step));
        }
    }

    fn list(&mut self, elements: &[PlainValue], column: usize, on_own_line: bool) {
        for (ix, element) in elements.iter().enumerate() {
            if ix > 0 || on_own_line {
                self.comments(column);
                self.indent(column);
            }
            self.out.push('-');
            let gap = 1 + self.dice.roll(3) / 2 * 2;
            let is_compact = !self.dice.one_in(5);
            match element {
                PlainValue::Object(members) if !members.is_empty() && is_compact => {
                    self.out.push_str(&" ".repeat(gap));
                    self.mapping(members, column + 1 + gap, false);
                }
                PlainValue::Array(elements) if !elements.is_empty() && is_compact => {
                    self.out.push_str(&" ".repeat(gap));
                    self.list(elements, column + 1 + gap, false);
                }
                other => {
                    let inner = column + self.unit;
                    self.value(other, column, (inner, inner));
                }
            }
        }
    }

    /// Writes what follows a colon or dash; a nested mapping or list begins in the columns given.
    fn value(&mut self, value: &PlainValue, column: usize, (mapping, list): (usize, usize)) {
        self.keeps_breaks = false;
        match value {
            PlainValue::Object(members) if !members.is_empty() && !self.dice.one_in(4) => {
                self.end_line();
                self.mapping(members, mapping, true);
            }
            PlainValue::Array(elements) if !elements.is_empty() && !self.dice.one_in(4) => {
                self.end_line();
                self.list(elements, list, true);
            }
            PlainValue::Null if self.dice.one_in(2) => self.end_line(),
            PlainValue::String(text) if self.dice.one_in(2) && self.block_scalar(text, column) => {}
            other => {
                self.out.push(' ');
                self.flow(other, column + 1);
                self.end_line();
            }
        }
    }

    fn block_scalar(&mut self, text: &str, column: usize) -> bool {
        let content = text.trim_end_matches('\n');
        let n_breaks = text.len() - content.len();
        let is_writable = content
            .chars()
            .all(|c| c == '\n' || (' '..'\u{7f}').contains(&c) || c == 'é' || c == '😀');
        if content.is_empty() || content.starts_with([' ', '\n']) || !is_writable {
            return false;
        }
        let is_folded = self.dice.one_in(3) && !content.contains('\n');
        self.out.push_str(if is_folded { " >" } else { " |" });
        self.out.push_str(["-", "", "+"][n_breaks.min(2)]);
        self.end_line();
        for line in content.split('\n') {
            if !line.is_empty() {
                self.indent(column + self.unit);
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
        if n_breaks > 1 {
            self.out.push_str(&"\n".repeat(n_breaks - 1));
            self.keeps_breaks = true;
        }
        true
    }

    fn key(&mut self, key: &str) {
        self.scalar(key);
    }

    fn scalar(&mut self, text: &str) {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '.' | '/' | 'é');
        let is_plain = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(is_word)
            && !text.ends_with(' ')
            && !matches!(
                text,
                "true" | "null" | "yes" | "no" | "on" | "off" | "false" | "n" | "y"
            );
        let is_single = text
            .chars()
            .all(|c| (' '..'\u{7f}').contains(&c) || c == 'é' || c == '😀');
        match self.dice.roll(3) {
            0 if is_plain => self.out.push_str(text),
            0 | 1 if is_single => {
                self.out.push('\'');
                self.out.push_str(&text.replace('\'', "''"));
                self.out.push('\'');
            }
            _ => self.double_quoted(text),
        }
    }

    fn double_quoted(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => self.out.extend(['\\', c]),
                c if c < ' ' || !(c.is_alphanumeric() || c.is_ascii() && c != '\u{7f}') => {
                    self.out.push_str(&format!("\\U{:08x}", c as u32));
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    /// Writes a value between brackets, over several lines at times; lines begin right of a column.
    fn flow(&mut self, value: &PlainValue, column: usize) {
        match value {
            PlainValue::Null => self.out.push_str(self.dice.pick(&["null", "~", "Null"])),
            PlainValue::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            PlainValue::Number(number) => self.out.push_str(number),
            PlainValue::String(text) => self.scalar(text),
            PlainValue::Alias(alias) => self.out.push_str(alias),
            PlainValue::Array(elements) => {
                self.out.push('[');
                for (ix, element) in elements.iter().enumerate() {
                    self.flow_separator(ix, column);
                    self.flow(element, column);
                }
                self.flow_end(elements.len(), column);
                self.out.push(']');
            }
            PlainValue::Object(members) => {
                self.out.push('{');
                for (ix, (key, value)) in members.iter().enumerate() {
                    self.flow_separator(ix, column);
                    self.key(key);
                    self.out.push_str(": ");
                    self.flow(value, column);
                }
                self.flow_end(members.len(), column);
                self.out.push('}');
            }
        }
    }

    fn flow_separator(&mut self, ix: usize, column: usize) {
        if ix > 0 {
            self.out.push(',');
        }
        if self.dice.one_in(6) {
            self.end_line();
            self.indent(column + 1);
        } else if ix > 0 {
            self.out.push(' ');
        }
    }

    fn flow_end(&mut self, len: usize, column: usize) {
        if len > 0 && self.dice.one_in(8) {
            self.out.push(',');
        }
        if self.dice.one_in(8) {
            self.end_line();
            self.indent(column + 1);
        }
    }
}

/// Returns a text with a few bytes changed into others that mean something.
pub(crate) fn mutated(text: &str, dice: &mut Dice) -> String {
    const PIECES: &[&str] = &[
        "", "{", "}", "[", "]", ",", ":", "\"", "'", "\\", "\n", " ", "-", "- ", "#", "&a ", "*a", "? ", "|", ">", "!",
        "---\n", "\t", "\r", "é", "0", "e", ".", "true", "null", "\\u", "\\ud800", "/", "//", "/*", "=", "\u{feff}",
        "\0", "<<: ",
    ];
    let mut text = text.to_owned();
    for _ in 0..1 + dice.roll(3) {
        let boundaries: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        let ix = dice.roll(256) * boundaries.len() / 256;
        let end = (ix + dice.roll(3)).min(boundaries.len() - 1);
        let piece = dice.pick(PIECES);
        text.replace_range(boundaries[ix]..boundaries[end], piece);
    }
    text
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }
}
