//! The Markdown of a new pack: frontmatter, ten sections, the contract in its fence. Text from a plan cannot begin a section or a
//! fence.

use super::super::writer::{Composed, cut, one_line};
use super::card_edits::new_cards;
use super::task::{PackTask, line};
use crate::document::patch::PlainValue;
use crate::document::write::fenced_json;
use crate::text::count;

/// The sections of a pack, in order.
pub(super) const SECTIONS: [&str; 10] = [
    "Overview",
    "Source Summary",
    "Traceability Matrix",
    "Task Graph",
    "Execution Waves",
    "Task Pack Contract",
    "Task Cards",
    "Orientation Evidence",
    "Validation Notes",
    "Regeneration Rules",
];

/// The head of the traceability matrix's table.
pub(crate) const MATRIX_HEAD: &str =
    "| Source | Requirement / Acceptance | Task(s) | Validation |\n| --- | --- | --- | --- |\n";

/// Returns the text of a pack; `bodies` are the texts of its sections.
pub(crate) fn pack_text(frontmatter: &str, title: &str, bodies: [String; SECTIONS.len()]) -> String {
    let mut out = format!("{frontmatter}\n# {}\n", one_line(title));
    for (title, body) in SECTIONS.iter().zip(bodies) {
        out.push_str(&format!("\n## {title}\n\n{body}"));
    }
    out
}

/// Returns the text of a draft.
pub(super) fn lay_out(mut composed: Composed) -> String {
    let at = composed.head.iter().position(|(key, _)| key == "frontmatter");
    let mut frontmatter = match at.map(|at| composed.head.remove(at).1) {
        Some(PlainValue::Object(members)) => members,
        _ => Vec::new(),
    };
    for (_, value) in &mut frontmatter {
        if let PlainValue::String(text) = value {
            *text = one_line(text);
        }
    }
    let tasks: Vec<PackTask> = composed.tasks.iter().map(|task| PackTask::of_members(task)).collect();
    let contract = match composed.into_value() {
        PlainValue::Object(mut members) if members.len() == 1 => members.remove(0).1,
        other => other,
    };
    let draft = DraftSections {
        frontmatter: &frontmatter,
        tasks: &tasks,
    };
    let bodies = [
        draft.overview(),
        draft.source_summary(),
        draft.traceability(),
        graph_lines(&tasks),
        wave_lines(&contract),
        fence(&contract),
        new_cards(tasks.iter()),
        EVIDENCE.to_owned(),
        draft.validation_notes(),
        REGENERATION.to_owned(),
    ];
    pack_text(&frontmatter_text(&frontmatter), &draft.field("title"), bodies)
}

const EVIDENCE: &str = "- provider: skipped\n- posture: unavailable\n- evidence_refs: none\n- limitations: the tasks were not derived from a source plan; no source was read\n";

const REGENERATION: &str = "Rebuild the pack from its source plan when the plan, its scope, its units, its files or its verification change.\n";

/// Returns a value as the one fence of the contract.
pub(crate) fn fence(contract: &PlainValue) -> String {
    format!("```json\n{}```\n", fenced_json(contract))
}

/// Returns a frontmatter with its two delimiters. Texts are written unchanged: the check compares them exactly.
pub(crate) fn frontmatter_text(members: &[(String, PlainValue)]) -> String {
    let mut out = String::from("---\n");
    for (key, value) in members {
        match value {
            PlainValue::Array(items) => {
                out.push_str(&format!("{key}:\n"));
                for item in items {
                    out.push_str(&format!("  - \"{}\"\n", line(item).replace(['"', '\\'], "'")));
                }
            }
            PlainValue::String(text) => out.push_str(&format!("{key}: \"{text}\"\n")),
            value => out.push_str(&format!("{key}: \"{}\"\n", line(value))),
        }
    }
    out.push_str("---\n");
    out
}

/// Returns the dependencies of each task, in lines.
pub(crate) fn graph_lines(tasks: &[PackTask]) -> String {
    let line = |task: &PackTask| match (task.line("task_id"), task.lines("dependencies")) {
        (id, before) if before.is_empty() => format!("- {id} depends on nothing\n"),
        (id, before) => format!("- {id} comes after {}\n", before.join(", ")),
    };
    tasks.iter().map(line).collect()
}

/// Returns the tasks of each wave of a contract, in lines.
pub(crate) fn wave_lines(contract: &PlainValue) -> String {
    let waves = list(contract, "execution_waves").iter();
    let lines = waves.map(|wave| {
        let tasks: Vec<String> = list(wave, "tasks").iter().map(line).collect();
        let name = get(wave, "wave").map(line).unwrap_or_default();
        format!("- wave {name}: {}\n", tasks.join(", "))
    });
    lines.collect()
}

/// Returns the list of an object's member.
pub(crate) fn list<'v>(object: &'v PlainValue, key: &str) -> &'v [PlainValue] {
    match get(object, key) {
        Some(PlainValue::Array(items)) => items,
        _ => &[],
    }
}

fn get<'v>(object: &'v PlainValue, key: &str) -> Option<&'v PlainValue> {
    match object {
        PlainValue::Object(members) => members.iter().find(|(own, _)| own == key).map(|(_, value)| value),
        _ => None,
    }
}

struct DraftSections<'v> {
    frontmatter: &'v [(String, PlainValue)],
    tasks: &'v [PackTask],
}

impl DraftSections<'_> {
    fn field(&self, key: &str) -> String {
        let found = self.frontmatter.iter().find(|(own, _)| own == key);
        found.map(|(_, value)| line(value)).unwrap_or_default()
    }

    fn overview(&self) -> String {
        let tasks = count(self.tasks.len(), "task");
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
        let mut out = MATRIX_HEAD.to_owned();
        for task in self.tasks {
            let cell = |key: &str| cut(&task.line(key), 80).replace('|', "\\|");
            out.push_str(&format!(
                "| {} | {} | {} | {} |\n",
                or_open(cell("source_unit")),
                or_open(task.lines("requirement_refs").join(", ").replace('|', "\\|")),
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
        let mut note = |what: &str, is_open: &dyn Fn(&PackTask) -> bool, rest: &str| {
            let n_open = self.tasks.iter().filter(|task| is_open(task)).count();
            if n_open > 0 {
                out.push_str(&format!("- {what}{n_open} of {} tasks{rest}\n", self.tasks.len()));
            }
        };
        for key in ["files", "stop_if", "test_focus", "done_signal"] {
            let is_open = |task: &PackTask| match task.get(key) {
                Some(PlainValue::Array(items)) => items.is_empty(),
                other => other.is_none(),
            };
            note(&format!("`{key}` is open in "), &is_open, "");
        }
        let is_loose = |task: &PackTask| task.get("source_unit").is_none() && task.items("requirement_refs").is_empty();
        note("", &is_loose, " name no source unit and no requirement");
        out
    }
}

fn or_open(cell: String) -> String {
    if cell.is_empty() { "open".to_owned() } else { cell }
}
