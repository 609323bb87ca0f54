//! The fields of a dialect's objects as data: name, meaning, shape, need. The reader and the documentation use the same tables.

use std::borrow::Cow;

use crate::plan::Field;

/// The required form of a field's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldShape {
    /// Text.
    Text,
    /// Text; blank is an error.
    NonBlank,
    /// Text; blank is worth a warning.
    Prose,
    /// Text or null.
    TextOrNull,
    /// A time or date in ISO 8601.
    Time,
    /// A time or date in ISO 8601, or null.
    TimeOrNull,
    /// A whole number in a range.
    Integer(i64, i64),
    /// Any number.
    Number,
    /// True or false.
    Bool,
    /// A list of texts.
    TextList,
    /// A list of texts, or null.
    TextListOrNull,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// An object with its own table.
    Object,
    /// A list with its own reader.
    List,
    /// Anything: the dialect carries it unread, or checks it by its own rules.
    Any,
    /// The form that the words describe: the dialect checks it itself.
    Own(&'static str),
}

impl FieldShape {
    /// A number of things.
    pub const COUNT: FieldShape = FieldShape::Integer(0, u32::MAX as i64);

    /// Returns words for messages and documentation: "a string", "one of low, medium, high".
    pub fn describe(self) -> Cow<'static, str> {
        match self {
            FieldShape::Text | FieldShape::Prose => "a string".into(),
            FieldShape::NonBlank => "a non-empty string".into(),
            FieldShape::TextOrNull => "a string or null".into(),
            FieldShape::Time => "an ISO 8601 time".into(),
            FieldShape::TimeOrNull => "an ISO 8601 time or null".into(),
            FieldShape::Integer(min, max) if max >= i64::from(u32::MAX) => {
                format!("a whole number, {min} or more").into()
            }
            FieldShape::Integer(min, max) => format!("a whole number from {min} to {max}").into(),
            FieldShape::Number => "a number".into(),
            FieldShape::Bool => "true or false".into(),
            FieldShape::TextList => "a list of strings".into(),
            FieldShape::TextListOrNull => "a list of strings or null".into(),
            FieldShape::OneOf(words) => format!("one of {}", words.join(", ")).into(),
            FieldShape::Object => "an object".into(),
            FieldShape::List => "a list".into(),
            FieldShape::Any => "any value".into(),
            FieldShape::Own(words) => words.into(),
        }
    }
}

/// Whether a field is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A missing one is an error.
    Required,
    /// It has a default.
    Optional,
}

/// A field of a dialect.
#[derive(Clone, Copy, Debug)]
pub struct FieldSpec {
    /// Its key in the file.
    pub name: &'static str,
    /// What it means.
    pub field: Field,
    /// Its form.
    pub shape: FieldShape,
    /// Whether it is required.
    pub need: Need,
}

impl FieldSpec {
    /// Returns a required field.
    pub const fn required(name: &'static str, field: Field, shape: FieldShape) -> Self {
        FieldSpec {
            name,
            field,
            shape,
            need: Need::Required,
        }
    }

    /// Returns an optional field.
    pub const fn optional(name: &'static str, field: Field, shape: FieldShape) -> Self {
        FieldSpec {
            name,
            field,
            shape,
            need: Need::Optional,
        }
    }
}

/// The fields of one kind of object in a dialect.
#[derive(Debug)]
pub struct FieldTable {
    /// The kind of object, as the heading of the table on the dialect's page: "Plan", "Task".
    pub name: &'static str,
    /// Its fields, in the order of the dialect's own documentation.
    pub fields: &'static [FieldSpec],
}
