//! The Markdown of a new pack: frontmatter, ten sections, the contract in its fence. Text from a plan cannot begin a section or a
//! fence.

use super::super::write::{Composed, cut, one_line};
use super::fields;
use crate::document::patch::PlainValue;
use crate::document::write::fenced_json;

/// Lays a pack out.
pub(super) fn lay_out(mut composed: Composed) -> String {
    let frontmatter = match composed.head.iter().position(|(key, _)| key == "frontmatter") {
        Some(at) => composed.head.remove(at).1,
        None => PlainValue::Object(Vec::new()),
    };
    let contract = match composed.into_value() {
        PlainValue::Object(mut members) if members.len() == 1 => members.remove(0).1,
        other => other,
    };
    let pack = PackSections {
        frontmatter: &frontmatter,
        tasks: list(&contract, "tasks"),
        waves: list(&contract, "execution_waves"),
    };
    let mut out = frontmatter_text(&frontmatter);
    out.push_str(&format!("\n# {}\n", one_line(&pack.field("title"))));
    for (title, body) in [
        ("Overview", pack.overview()),
        ("Source Summary", pack.source_summary()),
        ("Traceability Matrix", pack.traceability()),
        ("Task Graph", graph_lines(pack.tasks)),
        ("Execution Waves", wave_lines(pack.waves)),
        ("Task Pack Contract", fence(&contract)),
        ("Task Cards", cards(pack.tasks)),
        ("Orientation Evidence", EVIDENCE.to_owned()),
        ("Validation Notes", pack.validation_notes()),
        ("Regeneration Rules", REGENERATION.to_owned()),
    ] {
        out.push_str(&format!("\n## {title}\n\n{body}"));
    }
    out
}

const EVIDENCE: &str = "- provider: skipped\n- posture: unavailable\n- evidence_refs: none\n- limitations: the tasks were not derived from a source plan; no source was read\n";

const REGENERATION: &str = "Rebuild the pack from its source plan when the plan, its scope, its units, its files or its verification change.\n";

/// Returns a value as the one fence of the contract.
pub(crate) fn fence(contract: &PlainValue) -> String {
    format!("```json\n{}```\n", fenced_json(contract))
}

/// Returns a frontmatter with its two delimiters.
fn frontmatter_text(frontmatter: &PlainValue) -> String {
    let mut out = String::from("---\n");
    let members: &[(String, PlainValue)] = match frontmatter {
        PlainValue::Object(members) => members,
        _ => &[],
    };
    for (key, value) in members {
        match value {
            PlainValue::Array(items) => {
                out.push_str(&format!("{key}:\n"));
                for item in items {
                    out.push_str(&format!("  - \"{}\"\n", line(item).replace(['"', '\\'], "'")));
                }
            }
            value => out.push_str(&format!("{key}: \"{}\"\n", line(value))),
        }
    }
    out.push_str("---\n");
    out
}

/// Returns what each task comes after, in lines.
pub(crate) fn graph_lines(tasks: &[PlainValue]) -> String {
    let mut out = String::new();
    for task in tasks {
        let id = get(task, "task_id").map(line).unwrap_or_default();
        let before: Vec<String> = list(task, "dependencies").iter().map(line).collect();
        match before.as_slice() {
            [] => out.push_str(&format!("- {id} depends on nothing\n")),
            before => out.push_str(&format!("- {id} comes after {}\n", before.join(", "))),
        }
    }
    out
}

/// Returns the tasks of each wave, in lines.
pub(crate) fn wave_lines(waves: &[PlainValue]) -> String {
    let mut out = String::new();
    for wave in waves {
        let tasks: Vec<String> = list(wave, "tasks").iter().map(line).collect();
        let name = get(wave, "wave").map(line).unwrap_or_default();
        out.push_str(&format!("- wave {name}: {}\n", tasks.join(", ")));
    }
    out
}

/// Returns the cards of tasks: every field that they have, as it stands in the contract.
pub(crate) fn cards(tasks: &[PlainValue]) -> String {
    let mut out = String::new();
    for task in tasks {
        let PlainValue::Object(members) = task else {
            continue;
        };
        let id = get(task, "task_id").map(line).unwrap_or_default();
        out.push_str(&format!("- {id}\n"));
        // What other tools left in the contract is not for readers.
        let is_known = |key: &str| key != "task_id" && fields::find(|name| name == key).is_some();
        for (key, value) in members.iter().filter(|(key, _)| is_known(key)) {
            match value {
                PlainValue::Object(_) | PlainValue::Null => {}
                PlainValue::Array(items) if items.is_empty() => out.push_str(&format!("  {key}: []\n")),
                PlainValue::Array(items) => {
                    out.push_str(&format!("  {key}:\n"));
                    for item in items {
                        out.push_str(&format!("    - {}\n", line(item)));
                    }
                }
                value => out.push_str(&format!("  {key}: {}\n", line(value))),
            }
        }
    }
    out
}

/// Returns the list that a member of an object is.
pub(crate) fn list<'v>(object: &'v PlainValue, key: &str) -> &'v [PlainValue] {
    match get(object, key) {
        Some(PlainValue::Array(items)) => items,
        _ => &[],
    }
}

/// Returns a member of an object.
pub(crate) fn get<'v>(object: &'v PlainValue, key: &str) -> Option<&'v PlainValue> {
    match object {
        PlainValue::Object(members) => members.iter().find(|(own, _)| own == key).map(|(_, value)| value),
        _ => None,
    }
}

/// Returns a scalar on one line.
pub(crate) fn line(value: &PlainValue) -> String {
    match value {
        PlainValue::String(text) | PlainValue::Number(text) => one_line(text),
        PlainValue::Bool(value) => value.to_string(),
        _ => String::new(),
    }
}

struct PackSections<'v> {
    frontmatter: &'v PlainValue,
    tasks: &'v [PlainValue],
    waves: &'v [PlainValue],
}

impl PackSections<'_> {
    fn field(&self, key: &str) -> String {
        get(self.frontmatter, key).map(line).unwrap_or_default()
    }

    fn overview(&self) -> String {
        let tasks = match self.tasks.len() {
            1 => "1 task".to_owned(),
            n_tasks => format!("{n_tasks} tasks"),
        };
        format!(
            "- {}\n- {tasks}, not derived from a source plan yet\n",
            self.field("title")
        )
    }

    fn source_summary(&self) -> String {
        match self.field("source_plan") {
            plan if plan.is_empty() => "- source plan: none is named yet\n".to_owned(),
            plan => format!("- source plan: {plan}\n"),
        }
    }

    fn traceability(&self) -> String {
        let mut out =
            String::from("| Source | Requirement / Acceptance | Task(s) | Validation |\n| --- | --- | --- | --- |\n");
        for task in self.tasks {
            let cell = |key: &str| cut(&get(task, key).map(line).unwrap_or_default(), 80).replace('|', "\\|");
            let refs: Vec<String> = list(task, "requirement_refs").iter().map(line).collect();
            out.push_str(&format!(
                "| {} | {} | {} | {} |\n",
                or_open(cell("source_unit")),
                or_open(refs.join(", ").replace('|', "\\|")),
                cell("task_id"),
                or_open(cell("test_focus")),
            ));
        }
        out
    }

    fn validation_notes(&self) -> String {
        let mut out = String::from(
            "- this pack is non-executable: it is a draft, and no hash of a source plan was verified\n- reject it when its source plan changes\n",
        );
        for key in ["files", "stop_if", "test_focus", "done_signal"] {
            let is_open = |task: &&PlainValue| match get(task, key) {
                Some(PlainValue::Array(items)) => items.is_empty(),
                other => other.is_none(),
            };
            let n_open = self.tasks.iter().filter(is_open).count();
            if n_open > 0 {
                out.push_str(&format!(
                    "- `{key}` is open in {n_open} of {} tasks\n",
                    self.tasks.len()
                ));
            }
        }
        let has_anchor =
            |task: &&PlainValue| get(task, "source_unit").is_some() || !list(task, "requirement_refs").is_empty();
        let n_open = self.tasks.iter().filter(|task| !has_anchor(task)).count();
        if n_open > 0 {
            out.push_str(&format!(
                "- {n_open} of {} tasks name no source unit and no requirement\n",
                self.tasks.len()
            ));
        }
        out
    }
}

fn or_open(cell: String) -> String {
    if cell.is_empty() { "open".to_owned() } else { cell }
}
