//! Values by JavaScript's rules: `JSON.parse`, `String` and `JSON.stringify`. Does not know packs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use super::number::number_to_string;
use crate::document::json::decode_escape;
use crate::document::markdown::is_space;
use crate::document::{NodeKind, NodeRef};
use crate::text::Span;

/// A string of JavaScript: text that may hold halves of surrogate pairs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct JsString<'s>(Repr<'s>);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr<'s> {
    /// Text whose characters are in the file unescaped is not copied.
    Text(Cow<'s, str>),
    /// UTF-8 except lone surrogates, each as three bytes. Never used for valid UTF-8.
    Wtf8(Vec<u8>),
}

impl<'s> JsString<'s> {
    /// Fills the placeholders `{}` of a text, as a template literal does. No two neighbours may form a surrogate pair.
    pub fn filled(template: &str, parts: &[&JsString<'_>]) -> Self {
        let mut texts = template.split("{}");
        let mut out = texts.next().unwrap_or("").as_bytes().to_vec();
        for (text, part) in texts.zip(parts) {
            out.extend(part.as_bytes());
            out.extend(text.as_bytes());
        }
        JsString::of_bytes(out)
    }

    fn of_bytes(bytes: Vec<u8>) -> Self {
        JsString(match String::from_utf8(bytes) {
            Ok(text) => Repr::Text(Cow::Owned(text)),
            Err(error) => Repr::Wtf8(error.into_bytes()),
        })
    }

    /// Returns the string with an owned text.
    pub fn into_owned(self) -> JsString<'static> {
        JsString(match self.0 {
            Repr::Text(text) => Repr::Text(Cow::Owned(text.into_owned())),
            Repr::Wtf8(bytes) => Repr::Wtf8(bytes),
        })
    }

    /// Returns the bytes: UTF-8, and surrogates encoded like characters.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Text(text) => text.as_bytes(),
            Repr::Wtf8(bytes) => bytes,
        }
    }

    /// Returns the text, with U+FFFD for each lone surrogate, as in all output.
    pub fn text(&self) -> Cow<'_, str> {
        let bytes = match &self.0 {
            Repr::Text(text) => return Cow::Borrowed(text),
            Repr::Wtf8(bytes) => bytes,
        };
        let mut out = String::with_capacity(bytes.len());
        for_each_piece(bytes, |piece| match piece {
            Ok(text) => out.push_str(text),
            Err(_) => out.push('\u{fffd}'),
        });
        Cow::Owned(out)
    }

    /// Returns whether the text is blank.
    pub fn is_blank(&self) -> bool {
        match &self.0 {
            Repr::Text(text) => text.chars().all(is_space),
            Repr::Wtf8(_) => false,
        }
    }
}

impl<'s> From<&'s str> for JsString<'s> {
    fn from(text: &'s str) -> Self {
        JsString(Repr::Text(Cow::Borrowed(text)))
    }
}

impl From<String> for JsString<'_> {
    fn from(text: String) -> Self {
        JsString(Repr::Text(Cow::Owned(text)))
    }
}

impl PartialEq<str> for JsString<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl fmt::Display for JsString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for JsString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        quote_into(self.as_bytes(), &mut out);
        f.write_str(&out)
    }
}

/// Calls a function for each run of text and for each lone surrogate, in order.
fn for_each_piece(bytes: &[u8], mut each: impl FnMut(Result<&str, u16>)) {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (valid, after) = match std::str::from_utf8(rest) {
            Ok(text) => (text, &[][..]),
            Err(error) => {
                let (valid, after) = rest.split_at(error.valid_up_to());
                (std::str::from_utf8(valid).unwrap_or(""), after)
            }
        };
        if !valid.is_empty() {
            each(Ok(valid));
        }
        let Some((surrogate, after)) = after.split_at_checked(3) else {
            return;
        };
        each(Err(0xd000
            | (u16::from(surrogate[1] & 0x3f) << 6)
            | u16::from(surrogate[2] & 0x3f)));
        rest = after;
    }
}

/// A value that `JSON.parse` can return.
#[derive(Clone, Debug)]
pub enum JsValue {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A double; an overflow is infinite.
    Number(f64),
    /// A string.
    String(JsString<'static>),
    /// An array.
    Array(Vec<JsValue>),
    /// An object's own members in the order of `Object.keys`.
    Object(Vec<(JsString<'static>, JsValue)>),
}

impl JsValue {
    /// Builds the result of `JSON.parse` for a node of a document without syntax errors.
    pub fn of(node: NodeRef<'_>) -> Self {
        match node.kind() {
            NodeKind::Object => {
                let members = JsView(node).listed_members().into_iter();
                JsValue::Object(
                    members
                        .map(|(key, _, value)| (key.into_owned(), value.to_value()))
                        .collect(),
                )
            }
            NodeKind::Array => JsValue::Array(node.elements().map(JsValue::of).collect()),
            NodeKind::String | NodeKind::Key => JsValue::String(string_of(node).into_owned()),
            NodeKind::Number => JsValue::Number(number_of(node)),
            NodeKind::True => JsValue::Bool(true),
            NodeKind::False => JsValue::Bool(false),
            NodeKind::Null | NodeKind::Alias | NodeKind::Invalid => JsValue::Null,
        }
    }

    /// Returns a string as a value.
    pub fn string<'s>(text: impl Into<JsString<'s>>) -> Self {
        JsValue::String(text.into().into_owned())
    }

    /// Returns an object with these members.
    pub fn object<const N: usize>(members: [(&'static str, JsValue); N]) -> Self {
        JsValue::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Returns the result of `String`.
    pub fn to_js_string(&self) -> JsString<'static> {
        let mut out = Vec::new();
        self.append_to(&mut out);
        JsString::of_bytes(out)
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            JsValue::Null => out.extend(b"null"),
            JsValue::Bool(value) => out.extend(value.to_string().bytes()),
            JsValue::Number(number) => out.extend(number_to_string(*number).bytes()),
            JsValue::String(text) => out.extend(text.as_bytes()),
            JsValue::Object(_) => out.extend(b"[object Object]"),
            JsValue::Array(elements) => {
                for (ix, element) in elements.iter().enumerate() {
                    if ix > 0 {
                        out.push(b',');
                    }
                    // In a joined array a null is an empty text.
                    if !matches!(element, JsValue::Null) {
                        element.append_to(out);
                    }
                }
            }
        }
    }
}

/// A node of a document without syntax errors, as JavaScript sees it, without building a value.
#[derive(Clone, Copy)]
pub(super) struct JsView<'d>(NodeRef<'d>);

impl<'d> JsView<'d> {
    pub(super) fn of(node: NodeRef<'d>) -> Self {
        JsView(node)
    }

    pub(super) fn span(self) -> Span {
        self.0.span()
    }

    pub(super) fn to_value(self) -> JsValue {
        JsValue::of(self.0)
    }

    /// Returns a member's value, the last of those with the key; none for other kinds.
    pub(super) fn get(self, key: &str) -> Option<JsView<'d>> {
        let members = self.0.own_members().filter(|member| member.key.is_text(key));
        members.last().map(|member| JsView(member.value))
    }

    /// Returns the members of an object as written.
    pub(super) fn members(self) -> impl Iterator<Item = (NodeRef<'d>, JsView<'d>)> {
        self.0.own_members().map(|member| (member.key, JsView(member.value)))
    }

    /// Returns the members of an object with the spans of their keys, in the order of `Object.keys`.
    pub(super) fn listed_members(self) -> Vec<(JsString<'d>, Span, JsView<'d>)> {
        let members = self.members().map(|(key, value)| (string_of(key), (key.span(), value)));
        let listed = in_key_order(members).into_iter();
        listed.map(|(key, (span, value))| (key, span, value)).collect()
    }

    pub(super) fn is_array(self) -> bool {
        self.0.kind() == NodeKind::Array
    }

    /// Returns the elements of an array; none for other kinds.
    pub(super) fn elements(self) -> impl Iterator<Item = JsView<'d>> + use<'d> {
        self.0.elements().map(JsView)
    }

    pub(super) fn is_object(self) -> bool {
        self.0.kind() == NodeKind::Object
    }

    /// Returns true for an object or an array.
    pub(super) fn is_collection(self) -> bool {
        matches!(self.0.kind(), NodeKind::Object | NodeKind::Array)
    }

    pub(super) fn is_null(self) -> bool {
        matches!(self.0.kind(), NodeKind::Null | NodeKind::Alias | NodeKind::Invalid)
    }

    pub(super) fn is_bool(self) -> bool {
        matches!(self.0.kind(), NodeKind::True | NodeKind::False)
    }

    pub(super) fn as_string(self) -> Option<JsString<'d>> {
        (self.0.kind() == NodeKind::String).then(|| string_of(self.0))
    }

    /// Returns a string that is not blank.
    pub(super) fn as_filled_string(self) -> Option<JsString<'d>> {
        self.as_string().filter(|text| !text.is_blank())
    }

    /// Returns whether it is true in a condition.
    pub(super) fn is_truthy(self) -> bool {
        match self.0.kind() {
            NodeKind::Number => number_of(self.0).abs() > 0.0,
            NodeKind::String => !self.is_empty_string(),
            NodeKind::True | NodeKind::Array | NodeKind::Object => true,
            _ => false,
        }
    }

    /// Returns true for null and the empty string.
    pub(super) fn is_null_or_empty(self) -> bool {
        self.is_null() || self.is_empty_string()
    }

    pub(super) fn is_string_or_number(self) -> bool {
        matches!(self.0.kind(), NodeKind::String | NodeKind::Number)
    }

    /// Returns the result of `String`.
    pub(super) fn to_js_string(self) -> JsString<'d> {
        match self.as_string() {
            Some(text) => text,
            None => self.to_value().to_js_string(),
        }
    }

    fn is_empty_string(self) -> bool {
        self.0.kind() == NodeKind::String && self.0.slice().len() == "\"\"".len()
    }
}

fn number_of(node: NodeRef<'_>) -> f64 {
    node.as_number().unwrap_or(f64::NAN)
}

/// Returns entries as an object lists them: the last value of a repeated key at the position of the first, whole numbers first.
pub(super) fn in_key_order<'k, V>(entries: impl Iterator<Item = (JsString<'k>, V)>) -> Vec<(JsString<'k>, V)> {
    let mut listed: Vec<(JsString<'k>, V)> = Vec::new();
    let mut seen: HashMap<JsString<'k>, usize> = HashMap::new();
    for (key, value) in entries {
        let ix = *seen.entry(key.clone()).or_insert(listed.len());
        match listed.get_mut(ix) {
            Some(entry) => entry.1 = value,
            None => listed.push((key, value)),
        }
    }
    // A stable sort: keys that are no array index keep their order, after those that are.
    listed.sort_by_key(|(key, _)| array_index(key.as_bytes()).unwrap_or(u32::MAX));
    listed
}

/// Returns the number whose canonical spelling a key is, up to 2^32 − 2: engines list those first.
fn array_index(key: &[u8]) -> Option<u32> {
    let is_canonical = match key {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.len() < 10 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    let text = std::str::from_utf8(key).ok().filter(|_| is_canonical)?;
    text.parse().ok().filter(|&index: &u32| index != u32::MAX)
}

fn string_of(node: NodeRef<'_>) -> JsString<'_> {
    if let Some(span) = node.verbatim() {
        return JsString::from(node.document().source().slice(span));
    }
    JsString::of_bytes(decode(node.slice()))
}

/// Decodes the escapes of a quoted string, keeping lone surrogates.
fn decode(quoted: &str) -> Vec<u8> {
    let inner = quoted.strip_prefix('"').unwrap_or(quoted);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (before, escape) = rest.split_at(at);
        out.extend(before.as_bytes());
        let (c, len) = decode_escape(escape);
        match lone_surrogate(escape).filter(|_| c == '\u{fffd}') {
            // The three bytes that UTF-8 would use for a surrogate.
            Some([low, high]) => out.extend([0xed, 0x80 | ((high & 0xf) << 2) | (low >> 6), 0x80 | (low & 0x3f)]),
            None => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
        rest = &escape[len..];
    }
    out.extend(rest.as_bytes());
    out
}

/// Returns the surrogate at the start of an escape, as two bytes.
fn lone_surrogate(escape: &str) -> Option<[u8; 2]> {
    let digits = escape.get(..6)?.strip_prefix("\\u")?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xd800..0xe000).contains(&unit).then(|| unit.to_le_bytes())
}

/// Appends a string as `JSON.stringify` quotes it.
fn quote_into(bytes: &[u8], out: &mut String) {
    out.push('"');
    for_each_piece(bytes, |piece| match piece {
        Ok(text) => text.chars().for_each(|c| escape_into(c, out)),
        Err(surrogate) => out.push_str(&format!("\\u{surrogate:04x}")),
    });
    out.push('"');
}

fn escape_into(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        c => out.push(c),
    }
}

/// Writes a value as `JSON.stringify(value, null, 2)` does.
pub fn stringify(value: &JsValue) -> String {
    let mut out = String::new();
    stringify_into(value, 0, &mut out);
    out
}

fn stringify_into(value: &JsValue, depth: usize, out: &mut String) {
    match value {
        JsValue::Number(number) if !number.is_finite() => out.push_str("null"),
        JsValue::Null | JsValue::Bool(_) | JsValue::Number(_) => out.push_str(&value.to_js_string().text()),
        JsValue::String(text) => quote_into(text.as_bytes(), out),
        JsValue::Array(elements) => {
            let lines = elements.iter().map(|element| (None, element));
            stringify_lines(['[', ']'], lines, depth, out);
        }
        JsValue::Object(members) => {
            let lines = members.iter().map(|(key, value)| (Some(key), value));
            stringify_lines(['{', '}'], lines, depth, out);
        }
    }
}

fn stringify_lines<'v>(
    brackets: [char; 2],
    lines: impl Iterator<Item = (Option<&'v JsString<'static>>, &'v JsValue)>,
    depth: usize,
    out: &mut String,
) {
    let mut is_empty = true;
    out.push(brackets[0]);
    for (key, value) in lines {
        out.push_str(if is_empty { "\n" } else { ",\n" });
        is_empty = false;
        out.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            quote_into(key.as_bytes(), out);
            out.push_str(": ");
        }
        stringify_into(value, depth + 1, out);
    }
    if !is_empty {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(brackets[1]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::json;
    use crate::text::SourceText;

    fn parse(text: &str) -> JsValue {
        let parsed = json::parse(&SourceText::new(text));
        JsValue::of(parsed.document.root().expect("the text holds a value"))
    }

    #[test]
    fn strings_are_made_the_javascript_way() {
        for (written, expect) in [
            ("null", "null"),
            ("true", "true"),
            ("{\"a\": 1}", "[object Object]"),
            ("[]", ""),
            ("[1, [2, null, [3]], null, {}, \"x\"]", "1,2,,3,,[object Object],x"),
        ] {
            assert_eq!(parse(written).to_js_string().text(), expect);
        }
    }

    #[track_caller]
    fn check_print(written: &str, expect: &str) {
        assert_eq!(stringify(&parse(written)), expect);
    }

    #[test]
    fn values_are_printed_as_stringify_does() {
        check_print("[]", "[]");
        check_print("{}", "{}");
        check_print("1e999", "null");
        check_print(
            "[1, {\"a\": [], \"b\": {}}]",
            "[\n  1,\n  {\n    \"a\": [],\n    \"b\": {}\n  }\n]",
        );
        check_print(
            r#""\b\f\n\r\t\u0001\u001f\u007f\u2028\/\"\\é""#,
            "\"\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}\u{2028}/\\\"\\\\é\"",
        );
        check_print(r#""\ud83d\ude00""#, "\"😀\"");
        check_print(r#""\ud83d\ud83d\ude00x\ude00""#, "\"\\ud83d😀x\\ude00\"");
        check_print(r#""\uD83D""#, "\"\\ud83d\"");
        check_print(r#""\ud83d\u0000""#, "\"\\ud83d\\u0000\"");
    }

    #[test]
    fn keys_are_ordered_as_engines_order_them() {
        check_print(
            r#"{"b": 1, "10": 2, "a": 3, "9": 4, "b": 5, "01": 6, "-1": 7, "4294967295": 8, "4294967294": 9, "0": 0}"#,
            "{\n  \"0\": 0,\n  \"9\": 4,\n  \"10\": 2,\n  \"4294967294\": 9,\n  \"b\": 5,\n  \"a\": 3,\n  \
             \"01\": 6,\n  \"-1\": 7,\n  \"4294967295\": 8\n}",
        );
        check_print(
            r#"{"\u0061": 1, "a": 2, "__proto__": 3}"#,
            "{\n  \"a\": 2,\n  \"__proto__\": 3\n}",
        );
    }

    #[test]
    fn lone_surrogates_are_replaced_when_written_out() {
        let string = |written: &str| parse(written).to_js_string();
        let text = string(r#""a\ud83db""#);
        assert_eq!(text.text(), "a\u{fffd}b");
        assert_eq!(JsString::filled("<{}>", &[&text]).to_string(), "<a\u{fffd}b>");
        assert_ne!(text, string(r#""a\ud83eb""#));
        assert!(!text.is_blank());
        assert!(JsString::from("\u{a0}\u{feff}\n").is_blank());
        assert!(!JsString::from("\u{85}").is_blank());
    }
}
