//! One task of a pack: the values of its fields by their names.

use super::super::writer::{member, one_line};
use super::fields;
use crate::document::NodeRef;
use crate::document::patch::PlainValue;

/// A task with the known fields of packs, in text order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PackTask {
    values: Vec<(&'static str, PlainValue)>,
}

impl PackTask {
    /// Reads a task; the last of two equal keys wins.
    pub(crate) fn of(node: NodeRef<'_>) -> Self {
        let mut task = PackTask::default();
        for member in node.own_members() {
            if let Some(name) = fields::find(|name| member.key.is_text(name)) {
                task.values.retain(|(own, _)| *own != name);
                task.set(name, PlainValue::of(member.value));
            }
        }
        task
    }

    /// Takes the known fields of packs out of the members of an object.
    pub(crate) fn of_members(members: &[(String, PlainValue)]) -> Self {
        let mut task = PackTask::default();
        for (key, value) in members {
            if let Some(name) = fields::find(|name| name == key) {
                task.set(name, value.clone());
            }
        }
        task
    }

    /// Returns the task as an object.
    pub(crate) fn to_value(&self) -> PlainValue {
        let members = self.values.iter().map(|(name, value)| member(name, value.clone()));
        PlainValue::Object(members.collect())
    }

    pub(crate) fn set(&mut self, name: &'static str, value: PlainValue) {
        match self.values.iter_mut().find(|(own, _)| *own == name) {
            Some((_, old)) => *old = value,
            None => self.values.push((name, value)),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&PlainValue> {
        self.values.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Returns the existing fields, with their values.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut PlainValue)> {
        self.values.iter_mut().map(|(name, value)| (*name, value))
    }

    /// Returns the names of the existing fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.values.iter().map(|(name, _)| *name)
    }

    /// Returns a text unchanged; empty if the field is no text.
    pub(crate) fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(PlainValue::String(text)) => text,
            _ => "",
        }
    }

    /// Returns the texts of a list unchanged.
    pub(crate) fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.items(name).iter().filter_map(|item| match item {
            PlainValue::String(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns the items of a list.
    pub(crate) fn items(&self, name: &str) -> &[PlainValue] {
        match self.get(name) {
            Some(PlainValue::Array(items)) => items,
            _ => &[],
        }
    }

    /// Returns a scalar on one line; empty if it is missing.
    pub(crate) fn line(&self, name: &str) -> String {
        self.get(name).map(line).unwrap_or_default()
    }

    /// Returns the items of a list, each on one line.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        self.items(name).iter().map(line).collect()
    }
}

/// Returns a scalar on one line; empty for other values.
pub(crate) fn line(value: &PlainValue) -> String {
    scalar(value).unwrap_or_default()
}

/// Returns a scalar as shown on a card; none for null and for collections.
pub(super) fn scalar(value: &PlainValue) -> Option<String> {
    match value {
        PlainValue::String(text) => Some(one_line(text)),
        PlainValue::Number(number) => Some(number.clone()),
        PlainValue::Bool(value) => Some(value.to_string()),
        PlainValue::Null | PlainValue::Array(_) | PlainValue::Object(_) | PlainValue::Alias(_) => None,
    }
}
