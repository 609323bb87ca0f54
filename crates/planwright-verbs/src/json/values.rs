//! Values of a plan as JSON, with every number in the digits of its file. Does not know verbs.

use std::collections::HashMap;

use planwright_core::document::{NodeKind, NodeRef, json};
use planwright_core::plan::{Dependency, DependencyTarget, FieldValue, Plan};
use planwright_core::text::Span;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::value::RawValue;

/// A value as written in a plan.
pub enum Written {
    Null,
    Bool(bool),
    /// A number in JSON's spelling: never a double, which would round it.
    Number(Box<RawValue>),
    Text(String),
    List(Vec<Written>),
    Object(Members),
}

/// The members of an object, each name once.
#[derive(Default)]
pub struct Members {
    members: Vec<(String, Written)>,
    places: HashMap<String, usize>,
}

impl Written {
    pub fn value(plan: &Plan, value: FieldValue) -> Self {
        let span = plan.span(value);
        match value {
            FieldValue::Text(text) => Written::Text(plan.str(text).to_owned()),
            FieldValue::Number(_) => Written::number(plan.source().slice(span)),
            FieldValue::True(_) => Written::Bool(true),
            FieldValue::False(_) => Written::Bool(false),
            FieldValue::Null(_) => Written::Null,
            FieldValue::List(list) => {
                let items = plan.items(list).iter();
                Written::List(items.map(|&item| Written::value(plan, item)).collect())
            }
            // A value that the model does not parse is passed on as written.
            FieldValue::Opaque(_) => {
                Written::json(plan, span).unwrap_or_else(|| Written::Text(plan.source().slice(span).to_owned()))
            }
        }
    }

    /// Returns a dependency as in the file: a name, or a number.
    pub fn dependency(plan: &Plan, dependency: &Dependency) -> Self {
        let slice = plan.source().slice(dependency.span);
        Written::json(plan, dependency.span).unwrap_or_else(|| match dependency.target {
            DependencyTarget::Id(id) => Written::Text(plan.str(id).to_owned()),
            _ => Written::number(slice),
        })
    }

    /// Returns a number; text if JSON cannot write it.
    fn number(slice: &str) -> Self {
        let number = json_spelling(slice).and_then(|number| RawValue::from_string(number).ok());
        number.map_or_else(|| Written::Text(slice.to_owned()), Written::Number)
    }

    /// Parses a part of the text as JSON; none if it is invalid.
    fn json(plan: &Plan, span: Span) -> Option<Self> {
        let parsed = json::parse_span(plan.source(), span);
        let root = parsed.document.root().filter(|_| !parsed.document.is_broken());
        root.map(Written::node)
    }

    /// Returns a node of a valid document: its depth is bounded, and so is this recursion.
    fn node(node: NodeRef<'_>) -> Self {
        match node.kind() {
            NodeKind::Object => {
                let members = node.members();
                let named = members.map(|member| (member.key.value().into_owned(), Written::node(member.value)));
                Written::Object(named.collect())
            }
            NodeKind::Array => Written::List(node.elements().map(Written::node).collect()),
            NodeKind::Number => Written::number(node.slice()),
            NodeKind::True => Written::Bool(true),
            NodeKind::False => Written::Bool(false),
            NodeKind::Null => Written::Null,
            NodeKind::String | NodeKind::Key | NodeKind::Alias | NodeKind::Invalid => {
                Written::Text(node.value().into_owned())
            }
        }
    }
}

impl Members {
    /// Returns the members in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Written)> {
        self.members.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl FromIterator<(String, Written)> for Members {
    /// Collects members; of two with one name the last one wins, as usual in JSON.
    fn from_iter<I: IntoIterator<Item = (String, Written)>>(named: I) -> Self {
        let mut all = Members::default();
        for (name, value) in named {
            match all.places.get(&name).and_then(|&place| all.members.get_mut(place)) {
                Some(member) => member.1 = value,
                None => {
                    all.places.insert(name.clone(), all.members.len());
                    all.members.push((name, value));
                }
            }
        }
        all
    }
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Written::Null => serializer.serialize_unit(),
            Written::Bool(value) => serializer.serialize_bool(*value),
            Written::Number(number) => number.serialize(serializer),
            Written::Text(text) => serializer.serialize_str(text),
            Written::List(items) => serializer.collect_seq(items),
            Written::Object(members) => members.serialize(serializer),
        }
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len()))?;
        for (name, value) in &self.members {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Returns a number of JSON or YAML in JSON's spelling, digit by digit; none for values such as `.inf`.
fn json_spelling(slice: &str) -> Option<String> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = slice.strip_prefix(prefix) {
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let number = u128::from_str_radix(digits, radix).ok().filter(|_| is_plain)?;
            return Some(number.to_string());
        }
    }
    let (sign, unsigned) = match slice.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", slice.strip_prefix('+').unwrap_or(slice)),
    };
    let exponent_at = unsigned.find(['e', 'E']).unwrap_or(unsigned.len());
    let (mantissa, exponent) = unsigned.split_at(exponent_at);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}{exponent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_number(slice: &str, expected: &str) {
        let text = serde_json::to_string(&Written::number(slice)).expect("it serializes");
        assert_eq!(text, expected);
    }

    #[test]
    fn numbers_of_json_stay_as_they_are() {
        for number in [
            "0",
            "-0",
            "1.50",
            "1E+5",
            "-1e400",
            "0.1e-99999999999999999999",
            "123456789012345678901234567890",
        ] {
            check_number(number, number);
        }
    }

    #[test]
    fn numbers_of_yaml_become_json() {
        check_number("0x1F", "31");
        check_number("0o17", "15");
        check_number("+12", "12");
        check_number("007", "7");
        check_number("-.5", "-0.5");
        check_number("5.", "5");
        check_number("+00.50e3", "0.50e3");
        check_number("0xffffffffffffffffffffffffffffffff", &u128::MAX.to_string());
    }

    #[test]
    fn values_that_json_cannot_express_become_text() {
        for text in [
            ".inf",
            "-.INF",
            ".nan",
            "0x",
            "0x+5",
            "0xfffffffffffffffffffffffffffffffff",
            "1e",
            "*alias",
            "",
            ".",
        ] {
            check_number(text, &format!("\"{text}\""));
        }
    }

    #[test]
    fn of_two_members_the_last_counts() {
        let named = ["a", "b", "a"].into_iter().zip(["1", "2", "3"]);
        let members: Members = named
            .map(|(name, number)| (name.to_owned(), Written::number(number)))
            .collect();
        let text = serde_json::to_string(&members).expect("it serializes");
        assert_eq!(text, "{\"a\":3,\"b\":2}");
    }
}
