//! Values without a text: the new values of patches, and the predicted values.

use super::{MemberPosition, Patch, PatchRefusal};
use crate::document::route::{Route, RouteStep};
use crate::document::{NodeKind, NodeRef};
use crate::text::Span;

/// A value without a span. Members keep their order, numbers their notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlainValue {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// Text.
    String(String),
    /// Elements.
    Array(Vec<PlainValue>),
    /// Members, in order.
    Object(Vec<(String, PlainValue)>),
    /// A YAML alias as written. Never expanded, and never written by a patch.
    Alias(String),
}

impl PlainValue {
    /// Returns the value of a node. An unreadable node counts as null; merge keys are members.
    pub fn of(node: NodeRef<'_>) -> PlainValue {
        match node.kind() {
            NodeKind::Object => {
                let member = |member: crate::document::Member<'_>| {
                    let key = member.key.text().unwrap_or_default().into_owned();
                    (key, PlainValue::of(member.value))
                };
                PlainValue::Object(node.own_members().map(member).collect())
            }
            NodeKind::Array => PlainValue::Array(node.elements().map(PlainValue::of).collect()),
            NodeKind::String | NodeKind::Key => PlainValue::String(node.value().into_owned()),
            NodeKind::Number => PlainValue::Number(node.slice().to_owned()),
            NodeKind::True => PlainValue::Bool(true),
            NodeKind::False => PlainValue::Bool(false),
            NodeKind::Null | NodeKind::Invalid => PlainValue::Null,
            NodeKind::Alias => PlainValue::Alias(node.slice().to_owned()),
        }
    }

    /// Returns whether a node has exactly this value.
    pub fn is_value_of(&self, node: NodeRef<'_>) -> bool {
        match (self, node.kind()) {
            (PlainValue::Null, NodeKind::Null)
            | (PlainValue::Bool(true), NodeKind::True)
            | (PlainValue::Bool(false), NodeKind::False) => true,
            (PlainValue::Number(number), NodeKind::Number) => node.slice() == number,
            (PlainValue::String(text), NodeKind::String) => node.value() == text.as_str(),
            (PlainValue::Alias(alias), NodeKind::Alias) => node.slice() == alias,
            (PlainValue::Array(values), NodeKind::Array) => {
                let mut elements = node.elements();
                let all = values
                    .iter()
                    .all(|value| elements.next().is_some_and(|element| value.is_value_of(element)));
                all && elements.next().is_none()
            }
            (PlainValue::Object(values), NodeKind::Object) => {
                let mut members = node.own_members();
                let all = values.iter().all(|(key, value)| {
                    members
                        .next()
                        .is_some_and(|member| member.key.is_text(key) && value.is_value_of(member.value))
                });
                all && members.next().is_none()
            }
            _ => false,
        }
    }

    /// Returns whether it is neither an array nor an object.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, PlainValue::Array(_) | PlainValue::Object(_))
    }

    /// Returns the members with their keys, or the elements; empty for scalars.
    pub(super) fn children(&self) -> Vec<(Option<&str>, &PlainValue)> {
        match self {
            PlainValue::Array(elements) => elements.iter().map(|element| (None, element)).collect(),
            PlainValue::Object(members) => members.iter().map(|(key, value)| (Some(key.as_str()), value)).collect(),
            _ => Vec::new(),
        }
    }

    fn describe(&self) -> &'static str {
        match self {
            PlainValue::Null => "null",
            PlainValue::Bool(_) => "a boolean",
            PlainValue::Number(_) => "a number",
            PlainValue::String(_) => "a string",
            PlainValue::Array(_) => "an array",
            PlainValue::Object(_) => "an object",
            PlainValue::Alias(_) => "an alias",
        }
    }

    fn find_mut(&mut self, route: &Route) -> Option<&mut PlainValue> {
        route.steps().iter().try_fold(self, |value, step| match (value, step) {
            (PlainValue::Object(members), RouteStep::Key(key)) => {
                members.iter_mut().find(|(own, _)| own == key).map(|(_, value)| value)
            }
            (PlainValue::Array(elements), RouteStep::Index(index)) => elements.get_mut(*index),
            _ => None,
        })
    }
}

impl Patch {
    /// Applies the change to a value, to predict the patched document.
    ///
    /// A null on the route of an insertion becomes the required collection; documents allow that only for missing values.
    pub fn apply_to(&self, value: &mut PlainValue) -> Result<(), PatchRefusal> {
        match self {
            Patch::ReplaceScalar { at, value: new } => {
                let old = found(value, at)?;
                if !old.is_scalar() {
                    return Err(wrong_kind("a scalar", old));
                }
                *old = new.clone();
                Ok(())
            }
            Patch::InsertMember {
                object,
                key,
                value: new,
                place,
            } => {
                let members = members(found(value, object)?)?;
                if members.iter().any(|(own, _)| own == key) {
                    return Err(key_exists(key));
                }
                let at = match place {
                    MemberPosition::First => 0,
                    MemberPosition::Last => members.len(),
                    MemberPosition::After(other) => position(members, object, other)? + 1,
                };
                members.insert(at, (key.clone(), new.clone()));
                Ok(())
            }
            Patch::RemoveMember { object, key } => {
                let members = members(found(value, object)?)?;
                let at = position(members, object, key)?;
                members.remove(at);
                Ok(())
            }
            Patch::RenameKey { object, key, to } => {
                let members = members(found(value, object)?)?;
                let at = position(members, object, key)?;
                if key != to && members.iter().any(|(own, _)| own == to) {
                    return Err(key_exists(to));
                }
                members[at].0.clone_from(to);
                Ok(())
            }
            Patch::InsertElement {
                array,
                index,
                value: new,
                ..
            } => {
                let elements = elements(found(value, array)?)?;
                check_index(*index, elements.len(), elements.len() + 1)?;
                elements.insert(*index, new.clone());
                Ok(())
            }
            Patch::RemoveElement { array, index } => {
                let elements = elements(found(value, array)?)?;
                check_index(*index, elements.len(), elements.len())?;
                elements.remove(*index);
                Ok(())
            }
        }
    }
}

fn found<'v>(value: &'v mut PlainValue, route: &Route) -> Result<&'v mut PlainValue, PatchRefusal> {
    value.find_mut(route).ok_or_else(|| not_found(route))
}

fn not_found(route: &Route) -> PatchRefusal {
    PatchRefusal::NotFound {
        route: route.to_string(),
        span: Span::default(),
    }
}

fn key_exists(key: &str) -> PatchRefusal {
    PatchRefusal::KeyExists {
        key: key.to_owned(),
        span: Span::default(),
    }
}

fn wrong_kind(expected: &'static str, value: &PlainValue) -> PatchRefusal {
    PatchRefusal::WrongKind {
        expected,
        found: value.describe(),
        span: Span::default(),
    }
}

fn position(members: &[(String, PlainValue)], object: &Route, key: &str) -> Result<usize, PatchRefusal> {
    members
        .iter()
        .position(|(own, _)| own == key)
        .ok_or_else(|| not_found(&object.clone().key(key)))
}

fn members(value: &mut PlainValue) -> Result<&mut Vec<(String, PlainValue)>, PatchRefusal> {
    if *value == PlainValue::Null {
        *value = PlainValue::Object(Vec::new());
    }
    match value {
        PlainValue::Object(members) => Ok(members),
        other => Err(wrong_kind("an object", other)),
    }
}

fn elements(value: &mut PlainValue) -> Result<&mut Vec<PlainValue>, PatchRefusal> {
    if *value == PlainValue::Null {
        *value = PlainValue::Array(Vec::new());
    }
    match value {
        PlainValue::Array(elements) => Ok(elements),
        other => Err(wrong_kind("an array", other)),
    }
}

fn check_index(index: usize, n_elements: usize, limit: usize) -> Result<(), PatchRefusal> {
    if index < limit {
        return Ok(());
    }
    Err(PatchRefusal::IndexOutOfRange {
        index,
        n_elements,
        span: Span::default(),
    })
}
