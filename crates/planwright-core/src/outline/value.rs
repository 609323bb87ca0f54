//! Values of JSON and YAML, with their places.

use crate::text::Span;

/// How deep values are read.
pub(super) const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) data: Data,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Member>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn members(&self) -> &[Member] {
        match &self.data {
            Data::Object(members) => members,
            _ => &[],
        }
    }

    pub(super) fn elements(&self) -> &[Node] {
        match &self.data {
            Data::List(elements) => elements,
            _ => &[],
        }
    }

    /// Returns the first member with one of these keys, in the order of the keys; they are compared as [`plain_key`] has them.
    pub(super) fn get(&self, keys: &[&str]) -> Option<&Member> {
        let find = |key: &&str| self.members().iter().find(|member| plain_key(&member.key) == **key);
        keys.iter().find_map(find)
    }

    /// Returns a text that says something.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        }
    }

    /// Returns a text or a number as text.
    pub(super) fn scalar(&self) -> Option<&str> {
        match &self.data {
            Data::Number(number) => Some(number),
            _ => self.text(),
        }
    }
}

/// Returns a key in lower case without `_`, `-` and spaces: `blockedBy`, `blocked_by` and `Blocked by` are one key.
pub(super) fn plain_key(key: &str) -> String {
    let letters = key.chars().filter(|c| c.is_alphanumeric() || *c == '#');
    letters.flat_map(char::to_lowercase).collect()
}
