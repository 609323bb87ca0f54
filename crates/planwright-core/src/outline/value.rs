//! Values of JSON and YAML, with their spans.

use crate::text::Span;

/// The deepest nesting that is read.
pub(super) const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct OutlineNode {
    pub(super) span: Span,
    pub(super) data: OutlineData,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutlineData {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<OutlineNode>),
    Object(Vec<OutlineMember>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct OutlineMember {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) value: OutlineNode,
}

impl OutlineNode {
    pub(super) fn members(&self) -> &[OutlineMember] {
        match &self.data {
            OutlineData::Object(members) => members,
            _ => &[],
        }
    }

    pub(super) fn elements(&self) -> &[OutlineNode] {
        match &self.data {
            OutlineData::List(elements) => elements,
            _ => &[],
        }
    }

    /// Returns the first member with one of these keys, in the order of the keys; they are compared in the form of [`plain_key`].
    pub(super) fn get(&self, keys: &[&str]) -> Option<&OutlineMember> {
        let find = |key: &&str| self.members().iter().find(|member| member.has_key(&[*key]));
        keys.iter().find_map(find)
    }

    /// Returns the text or number under one of these keys.
    pub(super) fn scalar_of(&self, keys: &[&str]) -> Option<&str> {
        self.get(keys)?.value.scalar()
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self.data, OutlineData::Object(_))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.data, OutlineData::List(_))
    }

    /// Returns a text that is not blank.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.data {
            OutlineData::Text(text) if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        }
    }

    /// Returns a text or a number as text.
    pub(super) fn scalar(&self) -> Option<&str> {
        match &self.data {
            OutlineData::Number(number) => Some(number),
            _ => self.text(),
        }
    }
}

impl OutlineMember {
    /// Returns the key in the form of [`plain_key`].
    pub(super) fn plain_key(&self) -> String {
        plain_key(&self.key)
    }

    /// Returns whether the key is one of these, in the form of [`plain_key`].
    pub(super) fn has_key(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| plain_letters(&self.key).eq(key.chars()))
    }

    pub(super) fn is(&self, other: Option<&OutlineMember>) -> bool {
        other.is_some_and(|other| other.key_span == self.key_span)
    }

    pub(super) fn span(&self) -> Span {
        self.key_span.to(self.value.span)
    }
}

/// Returns a key in lower case without `_`, `-` and spaces: `blockedBy`, `blocked_by` and `Blocked by` are one key.
pub(super) fn plain_key(key: &str) -> String {
    plain_letters(key).collect()
}

fn plain_letters(key: &str) -> impl Iterator<Item = char> {
    let letters = key.chars().filter(|c| c.is_alphanumeric() || *c == '#');
    letters.flat_map(char::to_lowercase)
}
