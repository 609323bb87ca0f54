//! One task as a form for an editor: a line per field, lists below their names. Writes and reads it.

use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::Field;

use crate::json::Written;
use crate::plans::fields_of;
use crate::text::one_line;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FormValue {
    Text(String),
    List(Vec<String>),
    /// Anything else, as JSON.
    Json(String),
}

impl FormValue {
    /// Returns the value in the form for `planwright set`.
    pub(super) fn typed(&self) -> String {
        match self {
            FormValue::Text(text) | FormValue::Json(text) => text.clone(),
            FormValue::List(items) => serde_json::Value::from(items.clone()).to_string(),
        }
    }
}

/// The fields of a form, by the dialect's own names.
pub(super) type FormFields = Vec<(String, FormValue)>;

/// The fields of a form with a special meaning.
#[derive(Default)]
pub(super) struct SpecialFields {
    /// The id: another value renames the task.
    pub(super) id: Option<&'static str>,
    /// The tasks that it depends on, by their names.
    pub(super) dependencies: Option<&'static str>,
}

impl SpecialFields {
    pub(super) fn of(linked: &LinkedPlan) -> Self {
        let tables = linked.dialect.tables();
        let name_of = |field: Field| {
            let specs = tables.iter().rev().flat_map(|table| table.fields.iter());
            let named: Vec<&'static str> = specs.filter(|spec| spec.field == field).map(|spec| spec.name).collect();
            named.first().copied()
        };
        SpecialFields {
            id: name_of(Field::Id),
            dependencies: name_of(Field::Dependencies),
        }
    }
}

pub(super) fn form_of(linked: &LinkedPlan, task_ix: usize, path: &str) -> String {
    let special = SpecialFields::of(linked);
    let mut form = format!(
        "# Task {} of {}\n\
         # One field per line. A list has an item per line after `- `; text of several lines follows `|`, indented.\n\
         # Lines that begin with # are left out. A field whose line is removed is removed from the task.\n\n",
        one_line(&linked.plan.task_name(task_ix)),
        one_line(path)
    );
    let names = linked.links.of(task_ix).iter();
    let names: Vec<String> = names
        .map(|edge| linked.plan.task_name(edge.to as usize).into_owned())
        .collect();
    let mut has_dependencies = false;
    for (name, value) in fields_of(linked, task_ix).iter() {
        let value = if special.dependencies == Some(name) {
            has_dependencies = true;
            FormValue::List(names.clone())
        } else {
            value_of(value)
        };
        form.push_str(&field_text(name, &value));
    }
    if let Some(name) = special.dependencies.filter(|_| !has_dependencies) {
        form.push_str(&field_text(name, &FormValue::List(names)));
    }
    form
}

fn value_of(value: &Written) -> FormValue {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => FormValue::Text(text),
        Ok(serde_json::Value::Array(items)) if items.iter().all(serde_json::Value::is_string) => {
            let items = items.iter().filter_map(serde_json::Value::as_str);
            FormValue::List(items.map(str::to_owned).collect())
        }
        _ => FormValue::Json(serde_json::to_string(value).unwrap_or_default()),
    }
}

/// Returns whether a text is parsed unchanged from a line of its own.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with(['"', '[', '{', '|', '#'])
        && !text.contains(|c: char| c.is_control())
}

fn quoted(text: &str) -> String {
    match is_plain(text) {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}

fn field_text(name: &str, value: &FormValue) -> String {
    match value {
        FormValue::List(items) if items.is_empty() => format!("{name}: []\n"),
        FormValue::List(items) => {
            let items: String = items.iter().map(|item| format!("  - {}\n", quoted(item))).collect();
            format!("{name}:\n{items}")
        }
        FormValue::Text(text) if is_block(text) => {
            let lines: String = text
                .split('\n')
                .map(|line| match line {
                    "" => "\n".to_owned(),
                    line => format!("  {line}\n"),
                })
                .collect();
            format!("{name}: |\n{lines}")
        }
        FormValue::Text(text) => format!("{name}: {}\n", quoted(text)),
        FormValue::Json(json) => format!("{name}: {json}\n"),
    }
}

/// Returns whether a text of several lines is parsed unchanged from an indented block.
fn is_block(text: &str) -> bool {
    let has_controls = text.contains(|c: char| c.is_control() && c != '\n' && c != '\t');
    text.contains('\n') && !text.ends_with('\n') && !has_controls && text.lines().all(|line| line.trim_end() == line)
}

/// Parses a form. An error is a line, from 1, and the reason.
pub(super) fn parse(form: &str) -> Result<FormFields, (usize, String)> {
    let lines: Vec<&str> = form.lines().map(|line| line.trim_end_matches('\r')).collect();
    let mut fields: FormFields = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let field = line
            .split_once(':')
            .filter(|(name, _)| !name.is_empty() && !name.contains([' ', '-']));
        let Some((name, rest)) = field else {
            return Err((at, "a field is expected: its name, a colon, and its value".to_owned()));
        };
        if fields.iter().any(|(other, _)| other == name) {
            return Err((at, format!("`{name}` is there twice")));
        }
        let value = match rest.trim() {
            "" => list(&lines, &mut at)?,
            "|" => block(&lines, &mut at),
            text => scalar(text, at)?,
        };
        fields.push((name.to_owned(), value));
    }
    Ok(fields)
}

fn list(lines: &[&str], at: &mut usize) -> Result<FormValue, (usize, String)> {
    let mut items = Vec::new();
    while let Some(line) = lines.get(*at) {
        let Some(item) = line.trim_start().strip_prefix('-') else {
            break;
        };
        *at += 1;
        match scalar(item.trim(), *at)? {
            FormValue::Text(item) => items.push(item),
            _ => {
                return Err((
                    *at,
                    "an item of a list is text; write another list as JSON on one line".to_owned(),
                ));
            }
        }
    }
    Ok(FormValue::List(items))
}

fn block(lines: &[&str], at: &mut usize) -> FormValue {
    let mut text = Vec::new();
    while let Some(line) = lines.get(*at) {
        let Some(line) = line.strip_prefix("  ").or(line.trim().is_empty().then_some("")) else {
            break;
        };
        text.push(line.trim_end());
        *at += 1;
    }
    while text.last().is_some_and(|line| line.is_empty()) {
        text.pop();
    }
    FormValue::Text(text.join("\n"))
}

fn scalar(text: &str, line: usize) -> Result<FormValue, (usize, String)> {
    if !text.starts_with(['"', '[', '{']) {
        return Ok(FormValue::Text(text.to_owned()));
    }
    let value = serde_json::from_str(text);
    let value: serde_json::Value = value.map_err(|error| (line, format!("this is no JSON: {error}")))?;
    Ok(match value {
        serde_json::Value::String(text) => FormValue::Text(text),
        serde_json::Value::Array(items) if items.iter().all(serde_json::Value::is_string) => {
            let items = items.iter().filter_map(serde_json::Value::as_str);
            FormValue::List(items.map(str::to_owned).collect())
        }
        _ => FormValue::Json(text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_reads_back_as_written() {
        let text = |text: &str| FormValue::Text(text.to_owned());
        let list = |items: &[&str]| FormValue::List(items.iter().map(|&item| item.to_owned()).collect());
        let fields: FormFields = [
            ("id", text("t1")),
            ("title", text("Fix: the \"parser\" # now")),
            ("quoted", text("\"all of it\"")),
            ("empty", text("")),
            ("spaced", text("  a ")),
            ("several", text("one\n\n  two: x\n- three")),
            ("ended", text("one\n")),
            ("list", list(&["a", "- b", "", "\"c\""])),
            ("none", list(&[])),
            ("object", FormValue::Json("{\"a\":[1,2]}".to_owned())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let form: String = fields.iter().map(|(name, value)| field_text(name, value)).collect();
        assert_eq!(parse(&form), Ok(fields), "{form}");
    }

    #[test]
    fn forms_that_cannot_be_read_are_refused_with_the_line() {
        for (form, line) in [
            ("# x\nwhat is this\n", 2),
            ("a: 1\na: 2\n", 2),
            ("a: [1,\n", 1),
            ("a:\n  - [1]\n", 2),
        ] {
            assert_eq!(parse(form).map_err(|(line, _)| line), Err(line), "{form}");
        }
    }
}
