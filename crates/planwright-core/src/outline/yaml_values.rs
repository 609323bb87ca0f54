//! YAML as values with places.

use super::value::{Data, MAX_DEPTH, Member, Node};
use crate::document::{Kind, NodeRef, yaml};
use crate::text::{SourceText, Span};

/// How many values an answer may have: aliases can repeat what they stand for.
const MAX_VALUES: usize = 200_000;

/// Reads a part of a text; none where it is no sound YAML, or has more values than are read.
pub(super) fn read_yaml(source: &SourceText, span: Span) -> Option<Node> {
    let parsed = yaml::parse_span(source, span);
    if !parsed.diagnostics.is_empty() {
        return None;
    }
    let mut n_left = MAX_VALUES;
    node_of(parsed.document.root()?, 0, &mut n_left)
}

fn node_of(node: NodeRef<'_>, depth: usize, n_left: &mut usize) -> Option<Node> {
    *n_left = n_left.checked_sub(1)?;
    if depth > MAX_DEPTH {
        return None;
    }
    let span = node.span();
    let node = node.resolved();
    let data = match node.kind() {
        Kind::Object => {
            let members = node.members().map(|member| {
                Some(Member {
                    key: member.key.value().into_owned(),
                    key_span: member.key.span(),
                    value: node_of(member.value, depth + 1, n_left)?,
                })
            });
            Data::Object(members.collect::<Option<_>>()?)
        }
        Kind::Array => {
            let elements = node.elements().map(|element| node_of(element, depth + 1, n_left));
            Data::List(elements.collect::<Option<_>>()?)
        }
        Kind::True => Data::Bool(true),
        Kind::False => Data::Bool(false),
        Kind::Number => Data::Number(node.value().into_owned()),
        Kind::String => Data::Text(node.value().into_owned()),
        _ => Data::Null,
    };
    Some(Node { span, data })
}
