//! JSON as jq 1.6 reads and prints it: the last of repeated keys wins, numbers are doubles. An absent node is null.

use std::cmp::Ordering;
use std::collections::HashMap;

use planwright_core::document::{NodeKind, NodeRef};

/// A value of a document; none is null.
pub(super) type Value<'d> = Option<NodeRef<'d>>;

/// Returns a member of an object, the last with this key; null for other values.
pub(super) fn get<'d>(value: Value<'d>, key: &str) -> Value<'d> {
    value?
        .own_members()
        .filter(|member| member.key.is_text(key))
        .last()
        .map(|member| member.value)
}

/// Returns whether a value is exactly this string.
pub(super) fn is_string(value: Value<'_>, text: &str) -> bool {
    value.is_some_and(|node| node.kind() == NodeKind::String && node.is_text(text))
}

/// Returns whether the value is null or false, for which jq's `//` returns its other side.
pub(super) fn is_nothing(value: Value<'_>) -> bool {
    matches!(kind(value), NodeKind::Null | NodeKind::False)
}

/// Returns the kind of a value.
pub(super) fn kind(value: Value<'_>) -> NodeKind {
    match value.map_or(NodeKind::Null, NodeRef::kind) {
        // Neither occurs in JSON without syntax errors.
        NodeKind::Alias | NodeKind::Invalid => NodeKind::Null,
        kind => kind,
    }
}

/// Returns a number as in jq: never infinite.
fn double(node: NodeRef<'_>) -> f64 {
    node.as_number().unwrap_or(0.0).clamp(f64::MIN, f64::MAX)
}

/// Returns a value as a number, if it is one.
pub(super) fn number_of(value: Value<'_>) -> Option<f64> {
    value.filter(|node| node.kind() == NodeKind::Number).map(double)
}

/// Returns the members of an object: the last value of a repeated key, at the place of the first.
pub(super) fn members<'d>(object: NodeRef<'d>) -> Vec<(String, NodeRef<'d>)> {
    let mut members: Vec<(String, NodeRef<'d>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for member in object.own_members() {
        let key = member.key.value().into_owned();
        match places.get(&key) {
            Some(&place) => members[place].1 = member.value,
            None => {
                places.insert(key.clone(), members.len());
                members.push((key, member.value));
            }
        }
    }
    members
}

/// Compares two values: null, false, true, numbers, strings, arrays, objects.
pub(super) fn order(a: Value<'_>, b: Value<'_>) -> Ordering {
    let rank = |value| match kind(value) {
        NodeKind::False => 1,
        NodeKind::True => 2,
        NodeKind::Number => 3,
        NodeKind::String => 4,
        NodeKind::Array => 5,
        NodeKind::Object => 6,
        _ => 0,
    };
    let (Some(left), Some(right)) = (a, b) else {
        return rank(a).cmp(&rank(b));
    };
    rank(a).cmp(&rank(b)).then_with(|| match kind(a) {
        NodeKind::Number => double(left).partial_cmp(&double(right)).unwrap_or(Ordering::Equal),
        NodeKind::String => left.value().cmp(&right.value()),
        NodeKind::Array => order_of_arrays(left, right),
        NodeKind::Object => order_of_objects(left, right),
        _ => Ordering::Equal,
    })
}

fn order_of_arrays(a: NodeRef<'_>, b: NodeRef<'_>) -> Ordering {
    let (mut left, mut right) = (a.elements(), b.elements());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (a, b) => match order(a, b) {
                Ordering::Equal => {}
                different => return different,
            },
        }
    }
}

/// Compares the sorted keys first, then the values in their order.
fn order_of_objects(a: NodeRef<'_>, b: NodeRef<'_>) -> Ordering {
    let sorted = |object| {
        let mut members = members(object);
        members.sort_by(|a, b| a.0.cmp(&b.0));
        members
    };
    let (a, b) = (sorted(a), sorted(b));
    let keys = a.iter().map(|(key, _)| key).cmp(b.iter().map(|(key, _)| key));
    let values = || a.iter().zip(&b).map(|((_, a), (_, b))| order(Some(*a), Some(*b)));
    keys.then_with(|| values().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
}

/// Returns a text that is the same for two values exactly if jq treats them as equal.
pub(super) fn identity(value: Value<'_>) -> String {
    let mut printer = Printer::new(JsonLayout::Sorted);
    printer.value(value);
    printer.out
}

/// Returns the result of `\(…)` for a value: strings unchanged, anything else as JSON on one line.
pub(super) fn interpolated(value: Value<'_>) -> String {
    match value {
        Some(node) if node.kind() == NodeKind::String => node.value().into_owned(),
        value => {
            let mut printer = Printer::new(JsonLayout::Compact);
            printer.value(value);
            printer.out
        }
    }
}

/// Returns the output of `jq -r` for a shell: strings unchanged, anything else as JSON; without line breaks at the end.
pub(super) fn raw(value: Value<'_>) -> String {
    let text = match value {
        Some(node) if node.kind() == NodeKind::String => node.value().into_owned(),
        value => {
            let mut printer = Printer::new(JsonLayout::Indented);
            printer.value(value);
            printer.out
        }
    };
    text.trim_end_matches('\n').to_owned()
}

/// Returns a value as jq prints it, with the line break that ends it.
pub(super) fn printed(value: Value<'_>) -> String {
    let mut printer = Printer::new(JsonLayout::Indented);
    printer.value(value);
    printer.finish()
}

/// Returns a number as jq 1.6 prints it: the fewest digits that mean the same double, an exponent for the very large and the very
/// small.
pub(super) fn number(number: f64) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    // The standard library gives the same digits, always with an exponent.
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific.as_str(), "0"));
    let digits = mantissa.replace('.', "");
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let n_digits = digits.len() as i32;
    if point <= -4 || point > n_digits + 15 {
        return format!("{sign}{}", with_exponent(&digits, point - 1));
    }
    match point {
        ..=0 => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
        _ if point >= n_digits => format!("{sign}{digits}{}", "0".repeat((point - n_digits) as usize)),
        _ => {
            let (whole, part) = digits.split_at(point as usize);
            format!("{sign}{whole}.{part}")
        }
    }
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1.min(digits.len()));
    let dot = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{dot}{rest}e{sign}{:02}", exponent.unsigned_abs())
}

/// The layout of JSON.
#[derive(Clone, Copy, PartialEq)]
enum JsonLayout {
    /// Over several lines, as jq prints.
    Indented,
    /// On one line, as `jq -c` prints.
    Compact,
    /// On one line, with the keys in order: equal values look alike.
    Sorted,
}

/// Writes JSON in jq's layout.
pub(super) struct Printer {
    out: String,
    layout: JsonLayout,
    /// For each open bracket, whether it has content.
    has_items: Vec<bool>,
}

impl Printer {
    /// Returns a printer that starts with an open object.
    pub(super) fn object() -> Self {
        let mut printer = Printer::new(JsonLayout::Indented);
        printer.open('{');
        printer
    }

    /// Returns a printer that starts with an open array.
    pub(super) fn array() -> Self {
        let mut printer = Printer::new(JsonLayout::Indented);
        printer.open('[');
        printer
    }

    fn new(layout: JsonLayout) -> Self {
        Printer {
            out: String::new(),
            layout,
            has_items: Vec::new(),
        }
    }

    /// Returns what was written, with the line break that ends it.
    pub(super) fn finish(mut self) -> String {
        self.out.push('\n');
        self.out
    }

    /// Opens an object or an array: `{` or `[`.
    pub(super) fn open(&mut self, bracket: char) {
        self.out.push(bracket);
        self.has_items.push(false);
    }

    /// Closes what was opened last: `}` or `]`.
    pub(super) fn close(&mut self, bracket: char) {
        if self.has_items.pop() == Some(true) {
            self.new_line();
        }
        self.out.push(bracket);
    }

    /// Starts an element; its value must follow.
    pub(super) fn element(&mut self) {
        if let Some(has_items) = self.has_items.last_mut() {
            if *has_items {
                self.out.push(',');
            }
            *has_items = true;
            self.new_line();
        }
    }

    /// Starts a member; its value must follow.
    pub(super) fn key(&mut self, key: &str) {
        self.element();
        self.string(key);
        self.out
            .push_str(if self.layout == JsonLayout::Indented { ": " } else { ":" });
    }

    /// Writes a string as a value.
    pub(super) fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c < ' ' || c == '\u{7f}' => self.out.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    /// Writes a literal: `null`, `true`, a number.
    pub(super) fn literal(&mut self, literal: &str) {
        self.out.push_str(literal);
    }

    /// Writes a value with its content. The depth of documents is limited.
    pub(super) fn value(&mut self, value: Value<'_>) {
        let Some(node) = value else {
            return self.literal("null");
        };
        match kind(value) {
            NodeKind::Object => self.members(node),
            NodeKind::Array => {
                self.open('[');
                for element in node.elements() {
                    self.element();
                    self.value(Some(element));
                }
                self.close(']');
            }
            NodeKind::String => self.string(&node.value()),
            // Zero equals zero in a comparison, regardless of its sign.
            NodeKind::Number if self.layout == JsonLayout::Sorted => self.literal(&number(double(node) + 0.0)),
            NodeKind::Number => self.literal(&number(double(node))),
            NodeKind::True => self.literal("true"),
            NodeKind::False => self.literal("false"),
            _ => self.literal("null"),
        }
    }

    fn members(&mut self, object: NodeRef<'_>) {
        let mut members = members(object);
        if self.layout == JsonLayout::Sorted {
            members.sort_by(|a, b| a.0.cmp(&b.0));
        }
        self.open('{');
        for (key, value) in members {
            self.key(&key);
            self.value(Some(value));
        }
        self.close('}');
    }

    fn new_line(&mut self) {
        if self.layout == JsonLayout::Indented {
            self.out.push('\n');
            for _ in &self.has_items {
                self.out.push_str("  ");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use planwright_core::document::json;
    use planwright_core::text::SourceText;

    use super::*;

    #[track_caller]
    fn with_value<T>(text: &str, look: impl Fn(Value<'_>) -> T) -> T {
        let parsed = json::parse(&SourceText::new(text));
        assert!(!parsed.document.is_broken(), "{text}");
        look(parsed.document.root())
    }

    #[test]
    fn numbers_are_printed_as_the_doubles_they_are() {
        for (written, expect) in [
            ("1.0", "1"),
            ("1e3", "1000"),
            ("-0", "-0"),
            ("0e5", "0"),
            ("1.10", "1.1"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1.5e-7", "1.5e-07"),
            ("3.14e-10", "3.14e-10"),
            ("0.00012345678901234567", "0.00012345678901234567"),
            ("123456789.123456789", "123456789.12345679"),
            ("9007199254740993", "9007199254740992"),
            ("1e15", "1000000000000000"),
            ("1e16", "1e+16"),
            ("123e17", "1.23e+19"),
            ("12345678901234567890", "12345678901234567000"),
            ("12345678901234567890123", "12345678901234568000000"),
            ("1234567e20", "1.234567e+26"),
            ("5e-324", "5e-324"),
            ("1e1000", "1.7976931348623157e+308"),
            ("-1e1000", "-1.7976931348623157e+308"),
        ] {
            assert_eq!(with_value(written, printed), format!("{expect}\n"), "{written}");
        }
    }

    #[test]
    fn values_are_laid_out_over_lines() {
        assert_eq!(
            with_value("[[],{},[[]],{\"a\":[1,\"b\"]}]", printed),
            "[\n  [],\n  {},\n  [\n    []\n  ],\n  {\n    \"a\": [\n      1,\n      \"b\"\n    ]\n  }\n]\n"
        );
        assert_eq!(
            with_value("{\"b\":1,\"a\":{\"c\":null},\"b\":3}", interpolated),
            "{\"b\":3,\"a\":{\"c\":null}}"
        );
    }

    #[test]
    fn strings_keep_all_but_control_characters() {
        assert_eq!(
            with_value(r#""\b\f\n\r\t\u0001\u007f\u0080\u2028\/\"\\é\ud83d\ude00""#, printed),
            "\"\\b\\f\\n\\r\\t\\u0001\\u007f\u{80}\u{2028}/\\\"\\\\é😀\"\n"
        );
        assert_eq!(with_value("\"a\\nb\\n\"", raw), "a\nb");
        assert_eq!(raw(None), "null");
    }

    #[test]
    fn values_have_one_order() {
        let rising = "[null, false, true, -1, 2, 10, \"\", \"1\", \"a\", [], [1], [1, 0], [2], {}, {\"a\": 2}, {\"a\": 3}, \
                      {\"a\": 1, \"b\": 1}, {\"b\": 0}]";
        with_value(rising, |list| {
            let elements: Vec<_> = list.into_iter().flat_map(NodeRef::elements).map(Some).collect();
            for (ix, &a) in elements.iter().enumerate() {
                for (jx, &b) in elements.iter().enumerate() {
                    assert_eq!(order(a, b), ix.cmp(&jx), "{} {}", interpolated(a), interpolated(b));
                    assert_eq!(identity(a) == identity(b), ix == jx);
                }
            }
        });
        assert_eq!(order(None, None), Ordering::Equal);
    }

    #[test]
    fn equal_values_are_unique_in_every_spelling() {
        let same = |a: &str, b: &str| with_value(a, identity) == with_value(b, identity);
        assert!(same("1", "1.0"));
        assert!(same("0", "-0.0"));
        assert!(same("\"a\"", "\"\\u0061\""));
        assert!(same("{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}"));
        assert!(!same("1", "\"1\""));
    }
}
