//! Values without a text: what a patch writes into a document, and what is expected to be read back.

use super::{Patch, Place, Refusal};
use crate::document::route::{Route, Step};
use crate::document::{Kind, NodeRef};
use crate::text::Span;

/// A value without a place. Members keep their order, numbers their writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// Text.
    String(String),
    /// Elements.
    Array(Vec<Value>),
    /// Members, in order.
    Object(Vec<(String, Value)>),
    /// A YAML alias as written. Never expanded, and never written by a patch.
    Alias(String),
}

impl Value {
    /// Returns the value of a node. What could not be read counts as null; merge keys are members.
    pub fn of(node: NodeRef<'_>) -> Value {
        match node.kind() {
            Kind::Object => {
                let member = |member: crate::document::Member<'_>| {
                    let key = member.key.text().unwrap_or_default().into_owned();
                    (key, Value::of(member.value))
                };
                Value::Object(node.own_members().map(member).collect())
            }
            Kind::Array => Value::Array(node.elements().map(Value::of).collect()),
            Kind::String | Kind::Key => Value::String(node.value().into_owned()),
            Kind::Number => Value::Number(node.slice().to_owned()),
            Kind::True => Value::Bool(true),
            Kind::False => Value::Bool(false),
            Kind::Null | Kind::Invalid => Value::Null,
            Kind::Alias => Value::Alias(node.slice().to_owned()),
        }
    }

    /// Returns true where a node has exactly this value.
    pub fn is_value_of(&self, node: NodeRef<'_>) -> bool {
        match (self, node.kind()) {
            (Value::Null, Kind::Null) | (Value::Bool(true), Kind::True) | (Value::Bool(false), Kind::False) => true,
            (Value::Number(number), Kind::Number) => node.slice() == number,
            (Value::String(text), Kind::String) => node.value() == text.as_str(),
            (Value::Alias(alias), Kind::Alias) => node.slice() == alias,
            (Value::Array(values), Kind::Array) => {
                let mut elements = node.elements();
                let all = values
                    .iter()
                    .all(|value| elements.next().is_some_and(|element| value.is_value_of(element)));
                all && elements.next().is_none()
            }
            (Value::Object(values), Kind::Object) => {
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

    /// Returns true for anything but arrays and objects.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Value::Array(_) | Value::Object(_))
    }

    fn describe(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
            Value::Alias(_) => "an alias",
        }
    }

    fn find_mut(&mut self, route: &Route) -> Option<&mut Value> {
        route.steps().iter().try_fold(self, |value, step| match (value, step) {
            (Value::Object(members), Step::Key(key)) => {
                members.iter_mut().find(|(own, _)| own == key).map(|(_, value)| value)
            }
            (Value::Array(elements), Step::Index(index)) => elements.get_mut(*index),
            _ => None,
        })
    }
}

impl Patch {
    /// Makes the change in a value: what the patched document is predicted to hold.
    ///
    /// A null on the way of an insertion becomes the collection that is needed; documents allow that only for
    /// values left out.
    pub fn apply_to(&self, value: &mut Value) -> Result<(), Refusal> {
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
                    Place::First => 0,
                    Place::Last => members.len(),
                    Place::After(other) => position(members, object, other)? + 1,
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

fn found<'v>(value: &'v mut Value, route: &Route) -> Result<&'v mut Value, Refusal> {
    value.find_mut(route).ok_or_else(|| not_found(route))
}

fn not_found(route: &Route) -> Refusal {
    Refusal::NotFound {
        route: route.to_string(),
        span: Span::default(),
    }
}

fn key_exists(key: &str) -> Refusal {
    Refusal::KeyExists {
        key: key.to_owned(),
        span: Span::default(),
    }
}

fn wrong_kind(expected: &'static str, value: &Value) -> Refusal {
    Refusal::WrongKind {
        expected,
        found: value.describe(),
        span: Span::default(),
    }
}

fn position(members: &[(String, Value)], object: &Route, key: &str) -> Result<usize, Refusal> {
    members
        .iter()
        .position(|(own, _)| own == key)
        .ok_or_else(|| not_found(&object.clone().key(key)))
}

fn members(value: &mut Value) -> Result<&mut Vec<(String, Value)>, Refusal> {
    if *value == Value::Null {
        *value = Value::Object(Vec::new());
    }
    match value {
        Value::Object(members) => Ok(members),
        other => Err(wrong_kind("an object", other)),
    }
}

fn elements(value: &mut Value) -> Result<&mut Vec<Value>, Refusal> {
    if *value == Value::Null {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(elements) => Ok(elements),
        other => Err(wrong_kind("an array", other)),
    }
}

fn check_index(index: usize, n_elements: usize, limit: usize) -> Result<(), Refusal> {
    if index < limit {
        return Ok(());
    }
    Err(Refusal::IndexOutOfRange {
        index,
        n_elements,
        span: Span::default(),
    })
}
