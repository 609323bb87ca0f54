//! TOML as a tree of values with locations. Does not know settings.

use planwright_core::diagnostic::Diagnostic;
use planwright_core::text::{SourceText, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rules::CONFIG_SYNTAX;

pub(super) struct TomlNode {
    pub(super) span: Span,
    pub(super) value: TomlValue,
}

pub(super) enum TomlValue {
    Text(String),
    /// None if it does not fit into 64 bits.
    Integer(Option<i64>),
    Number(f64),
    Flag(bool),
    Date,
    List(Vec<TomlNode>),
    Table(Vec<TomlMember>),
    /// A value that is nested deeper than any setting.
    Deep,
}

pub(super) struct TomlMember {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) node: TomlNode,
}

/// Every setting is nested less than half as deep as this.
const MAX_DEPTH: usize = 12;

/// How many syntax errors are reported: one causes others.
const MAX_SYNTAX_ERRORS: usize = 20;

/// Parses a text as TOML. Invalid TOML gives findings and no members.
pub(super) fn parse(source: &SourceText) -> Result<Vec<TomlMember>, Vec<Diagnostic>> {
    let shift = source.bom_len();
    let text = source.as_str().get(shift..).unwrap_or("");
    let (table, errors) = DeTable::parse_recoverable(text);
    // Also if there are errors: dropping a deep table whole could exhaust the stack.
    let entries = entries_of(table.into_inner(), shift, MAX_DEPTH);
    if errors.is_empty() {
        return Ok(entries);
    }
    let findings = errors.iter().take(MAX_SYNTAX_ERRORS).map(|error| {
        let at = error.span().unwrap_or(text.len()..text.len());
        let span = Span::new(at.start + shift, at.end + shift);
        Diagnostic::new(&CONFIG_SYNTAX, span, format!("this is not TOML: {}", error.message()))
    });
    Err(findings.collect())
}

fn entries_of(table: DeTable<'_>, shift: usize, depth: usize) -> Vec<TomlMember> {
    let mut entries: Vec<TomlMember> = Vec::new();
    for (key, value) in table {
        let key_span = span_of(&key, shift);
        entries.push(TomlMember {
            key: key.into_inner().into_owned(),
            key_span,
            node: node_of(value, shift, depth),
        });
    }
    entries.sort_by_key(|entry| entry.key_span);
    entries
}

fn node_of(value: Spanned<DeValue<'_>>, shift: usize, depth: usize) -> TomlNode {
    let span = span_of(&value, shift);
    let value = match value.into_inner() {
        DeValue::String(text) => TomlValue::Text(text.into_owned()),
        DeValue::Integer(digits) => TomlValue::Integer(i64::from_str_radix(digits.as_str(), digits.radix()).ok()),
        DeValue::Float(digits) => TomlValue::Number(digits.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => TomlValue::Flag(flag),
        DeValue::Datetime(_) => TomlValue::Date,
        DeValue::Array(list) if depth > 0 => {
            let nodes = list.into_iter().map(|node| node_of(node, shift, depth - 1));
            TomlValue::List(nodes.collect())
        }
        DeValue::Table(table) if depth > 0 => TomlValue::Table(entries_of(table, shift, depth - 1)),
        deep => {
            take_apart(deep);
            TomlValue::Deep
        }
    };
    TomlNode { span, value }
}

/// Drops a value without recursion: a key with a hundred thousand dots nests as many tables.
fn take_apart(value: DeValue<'_>) {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            DeValue::Array(list) => rest.extend(list.into_iter().map(Spanned::into_inner)),
            DeValue::Table(table) => rest.extend(table.into_iter().map(|(_, value)| value.into_inner())),
            _ => {}
        }
    }
}

fn span_of<T>(spanned: &Spanned<T>, shift: usize) -> Span {
    let at = spanned.span();
    Span::new(at.start + shift, at.end + shift)
}

impl TomlValue {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            TomlValue::Text(_) => "a string",
            TomlValue::Integer(_) => "an integer",
            TomlValue::Number(_) => "a number",
            TomlValue::Flag(_) => "a boolean",
            TomlValue::Date => "a date",
            TomlValue::List(_) => "a list",
            TomlValue::Table(_) => "a table",
            TomlValue::Deep => "nested too deeply",
        }
    }
}
