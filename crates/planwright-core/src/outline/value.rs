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
        let find = |key: &&str| self.members().iter().find(|member| plain_key(&member.key) == **key);
        keys.iter().find_map(find)
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

/// Returns a key in lower case without `_`, `-` and spaces: `blockedBy`, `blocked_by` and `Blocked by` are one key.
pub(super) fn plain_key(key: &str) -> String {
    let letters = key.chars().filter(|c| c.is_alphanumeric() || *c == '#');
    letters.flat_map(char::to_lowercase).collect()
}
