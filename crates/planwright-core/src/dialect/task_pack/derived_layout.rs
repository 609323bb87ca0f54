//! The Markdown of a derived pack: frontmatter and ten sections. Foreign text cannot begin a section or a fence.

use std::collections::BTreeSet;

use super::super::writer::{cut, member, one_line, text};
use super::card_edits::new_cards;
use super::compose::frontmatter_line;
use super::derived_contract::DerivedContract;
use super::sections::{MATRIX_HEAD, fence, frontmatter_text, graph_lines, list, pack_text, wave_lines};
use super::source_plan::SourcePlan;
use super::task::{PackTask, line};
use crate::diagnostic::Diagnostic;
use crate::document::patch::PlainValue;
use crate::text::count;

/// The length limit of a text in a table.
const CELL_CHARS: usize = 120;

/// How many boundaries of a plan a pack repeats.
const MAX_BOUNDARIES: usize = 12;

#[derive(Clone, Debug, Default)]
pub(crate) struct PlannerAnswer {
    /// The tasks, each with the known fields of packs, without its wave.
    pub(crate) tasks: Vec<PackTask>,
    /// The sections of the plan that were used.
    pub(crate) sections: Vec<String>,
    /// Units and requirements without a task, and why.
    pub(crate) uncovered: Vec<(String, String)>,
    /// Open questions for the tasks.
    pub(crate) unknowns: Vec<String>,
    /// What the planner examined to split the work.
    pub(crate) orientation: Orientation,
    /// The planner's reason for this split.
    pub(crate) reasoning: String,
    /// Findings about omitted parts.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// What the planner examined.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orientation {
    pub(crate) provider: Option<String>,
    pub(crate) posture: Option<String>,
    pub(crate) evidence: Vec<String>,
    pub(crate) limitations: Vec<String>,
}

/// The inputs of a pack's text.
pub(crate) struct PackLayout<'a> {
    pub(crate) plan_path: &'a str,
    pub(crate) plan: &'a SourcePlan,
    pub(crate) date: &'a str,
    pub(crate) answer: &'a PlannerAnswer,
    pub(crate) contract: &'a DerivedContract,
    pub(crate) target_repo: Option<&'a str>,
}

impl PackLayout<'_> {
    pub(crate) fn text(&self) -> String {
        let bodies = [
            self.overview(),
            self.source_summary(),
            self.traceability(),
            graph_lines(self.tasks()),
            self.waves(),
            fence(&self.contract.value),
            new_cards(self.tasks().iter()),
            self.orientation(),
            self.validation_notes(),
            self.regeneration(),
        ];
        pack_text(&self.frontmatter(), &self.title(), bodies)
    }

    fn tasks(&self) -> &[PackTask] {
        &self.contract.tasks
    }

    fn is_draft(&self) -> bool {
        self.plan.spec_id.is_none()
    }

    fn title(&self) -> String {
        let title = self.plan.title.as_deref().map(frontmatter_line);
        let title = title.filter(|title| !title.is_empty());
        format!(
            "Task Pack: {}",
            title.unwrap_or_else(|| frontmatter_line(self.plan_path))
        )
    }

    /// Identity is written exactly: the check compares it exactly.
    fn frontmatter(&self) -> String {
        let (status, mode) = match self.is_draft() {
            true => ("draft", "transient"),
            false => ("derived", "derived"),
        };
        let hash = self.plan.hash.as_ref().filter(|_| !self.is_draft());
        let hash = hash.map_or("pending", |hash| hash.hash.as_str());
        let title = self.title();
        let sections: Vec<PlainValue> = self
            .sections()
            .into_iter()
            .map(|title| text(frontmatter_line(title)))
            .collect();
        let entries = [
            ("title", Some(title.as_str())),
            ("type", Some("task-pack")),
            ("status", Some(status)),
            ("date", Some(self.date)),
            ("spec_id", self.plan.spec_id.as_deref()),
            ("source_plan", Some(self.plan_path)),
            ("source_plan_hash", Some(hash)),
            ("generated_by", Some("spec-write-tasks")),
            ("mode", Some(mode)),
            ("target_repo", self.target_repo),
        ];
        let entries = entries
            .into_iter()
            .filter_map(|(key, value)| Some(member(key, text(value?))));
        let list = (!sections.is_empty()).then(|| member("source_sections", PlainValue::Array(sections)));
        frontmatter_text(&entries.chain(list).collect::<Vec<_>>())
    }

    /// Returns the used sections: those that the planner names, those of the units and requirements of tasks, and those about scope. All of
    /// them if there are none of these.
    fn sections(&self) -> Vec<&str> {
        let names: BTreeSet<&str> = self.answer.sections.iter().map(String::as_str).collect();
        let anchors = self.anchors();
        let of_anchors: BTreeSet<usize> = anchors
            .iter()
            .filter_map(|id| self.plan.anchor(id)?.section)
            .chain(self.plan.scope_sections.iter().copied())
            .collect();
        let sections = self.plan.sections.iter().enumerate();
        let used: Vec<&str> = sections
            .filter(|(ix, title)| of_anchors.contains(ix) || names.contains(title.as_str()))
            .map(|(_, title)| title.as_str())
            .collect();
        match used.is_empty() {
            true => self.plan.sections.iter().map(String::as_str).collect(),
            false => used,
        }
    }

    /// Returns the units and requirements that tasks name.
    fn anchors(&self) -> BTreeSet<String> {
        let units = self.tasks().iter().filter_map(|task| task.get("source_unit"));
        let refs = self.tasks().iter().flat_map(|task| task.items("requirement_refs"));
        units.chain(refs).map(line).collect()
    }

    fn overview(&self) -> String {
        let n_waves = list(&self.contract.value, "execution_waves").len();
        let mut out = format!(
            "- {} in {}, derived from `{}`\n",
            count(self.tasks().len(), "task"),
            count(n_waves, "wave"),
            self.plan_path
        );
        out.push_str(
            "- the source plan is the authority for scope; this pack is an execution input, not a second plan\n",
        );
        if self.is_draft() {
            out.push_str("- this pack is a draft and not executable: its source plan has no `spec_id`\n");
        }
        out
    }

    /// Returns the result of spec-write-tasks' check whether a plan is ready to be split, and the reason.
    fn branch(&self) -> String {
        if self.is_draft() {
            return "`draft-only`. The plan has no `spec_id`, so this pack is for discussion and cannot be executed"
                .to_owned();
        }
        let tasks = || self.tasks().iter();
        let files: BTreeSet<String> = tasks().flat_map(|task| task.lines("files")).collect();
        let n_waiting = tasks().filter(|task| !task.items("dependencies").is_empty());
        let facts = [
            (self.plan.units.len(), "implementation unit"),
            (self.plan.requirements.len(), "requirement"),
        ];
        let facts = facts.into_iter().filter(|(n, _)| *n > 0);
        let mut facts: Vec<String> = facts.map(|(n, what)| count(n, what)).collect();
        facts.insert(0, "a `spec_id`".to_owned());
        format!(
            "`compile`. The plan has {}; its tasks name {}, and {} for others",
            facts.join(", "),
            count(files.len(), "file"),
            match n_waiting.count() {
                0 => "none waits".to_owned(),
                1 => "1 waits".to_owned(),
                n => format!("{n} wait"),
            }
        )
    }

    fn source_summary(&self) -> String {
        let branch = self.branch();
        let mut out = format!(
            "- source plan: `{}`\n- task-ready branch: {branch}\n- consumed sections: {}\n",
            self.plan_path,
            or_none(self.sections().join(", "))
        );
        let boundaries = self.plan.boundaries.iter().take(MAX_BOUNDARIES);
        out.push_str("- scope boundaries that shaped the split:");
        out.push_str(&items(boundaries.map(|boundary| cut(boundary, 200))));
        out.push_str("- implementation-time unknowns:");
        out.push_str(&items(self.answer.unknowns.iter().map(|unknown| one_line(unknown))));
        out
    }

    fn traceability(&self) -> String {
        let mut out = MATRIX_HEAD.to_owned();
        let mut units: Vec<String> = self.plan.units.iter().map(|unit| unit.id.clone()).collect();
        for task in self.tasks() {
            let unit = task.line("source_unit");
            if !units.contains(&unit) {
                units.push(unit);
            }
        }
        for unit in &units {
            self.unit_row(unit, &mut out);
        }
        let served = self.anchors();
        for requirement in self
            .plan
            .requirements
            .iter()
            .filter(|known| !served.contains(&known.id))
        {
            let why = self.reason_of(&requirement.id);
            out.push_str(&row(&[
                "-".to_owned(),
                requirement.id.clone(),
                why.to_owned(),
                "-".to_owned(),
            ]));
        }
        out
    }

    fn unit_row(&self, unit: &str, out: &mut String) {
        let own: Vec<&PackTask> = self
            .tasks()
            .iter()
            .filter(|task| task.line("source_unit") == unit)
            .collect();
        let refs: BTreeSet<String> = own.iter().flat_map(|task| task.lines("requirement_refs")).collect();
        let refs = refs.into_iter().collect::<Vec<_>>().join(", ");
        let all = |name: &str| -> Vec<String> { own.iter().filter_map(|task| task.get(name).map(line)).collect() };
        let (ids, focus) = (all("task_id"), all("test_focus"));
        let source = if unit.is_empty() { "-" } else { unit };
        let cells = match ids.is_empty() {
            false => [source.to_owned(), refs, ids.join(", "), focus.join("; ")],
            true if unit.is_empty() => return,
            true => [
                source.to_owned(),
                "-".to_owned(),
                self.reason_of(unit).to_owned(),
                "-".to_owned(),
            ],
        };
        out.push_str(&row(&cells));
    }

    /// Returns why no task serves a unit or a requirement.
    fn reason_of(&self, id: &str) -> &str {
        let mut reasons = self.answer.uncovered.iter();
        let found = reasons.find(|(known, _)| known == id);
        found.map_or("open: no task names it", |(_, why)| why)
    }

    fn waves(&self) -> String {
        let lines = wave_lines(&self.contract.value);
        format!("{lines}\nTasks of one wave share no file and do not depend on each other.\n")
    }

    fn orientation(&self) -> String {
        let seen = &self.answer.orientation;
        let skipped = seen.evidence.is_empty();
        let provider = seen
            .provider
            .as_deref()
            .unwrap_or(if skipped { "skipped" } else { "direct-repo-reads" });
        let posture = seen
            .posture
            .as_deref()
            .unwrap_or(if skipped { "unavailable" } else { "bounded" });
        let mut out = format!("- provider: {provider}\n- posture: {posture}\n- evidence_refs:");
        out.push_str(&items(seen.evidence.iter().map(|item| one_line(item))));
        out.push_str("- limitations:");
        out.push_str(&items(seen.limitations.iter().map(|item| one_line(item))));
        out
    }

    fn validation_notes(&self) -> String {
        let plan = self.plan_path;
        let mut out = format!("- derived from the single source plan `{plan}`\n");
        match self.is_draft() {
            true => out.push_str(
                "- this pack is non-executable: its source plan has no `spec_id`, and no hash was recorded\n",
            ),
            false => out.push_str(&format!(
                "- `source_plan_hash` is what `planwright tasks hash {plan}` prints for the plan as it was read\n\
                 - reject this pack when the hash or the `spec_id` of the plan is another one\n"
            )),
        }
        let signals = self.tasks().iter().filter_map(|task| {
            let id = task.get("task_id").map(line)?;
            let signal = task.get("done_signal").map(line)?;
            Some(format!("{id}: {}", cut(&signal, CELL_CHARS)))
        });
        out.push_str("- what proves the split, task by task:");
        out.push_str(&items(signals));
        out
    }

    fn regeneration(&self) -> String {
        let mut out = String::from(
            "- rebuild this pack with `planwright tasks regenerate` when the plan, its scope, its units, its files or its \
             verification change, or when the pack was edited by hand in more than words\n",
        );
        if !self.is_draft() {
            out.push_str("- a pack whose `source_plan_hash` does not match is stale, and must not be executed\n");
            out.push_str(
                "- a pack whose `spec_id` does not match belongs to another chain, and must not be executed\n",
            );
        }
        out.push_str("- when a task's `stop_if` comes true, go back to the source plan\n");
        out
    }
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".to_owned() } else { text }
}

/// Returns the text after a colon: a line for each item, or a word.
fn items(items: impl Iterator<Item = String>) -> String {
    let lines: String = items.map(|item| format!("  - {item}\n")).collect();
    match lines.is_empty() {
        true => " none\n".to_owned(),
        false => format!("\n{lines}"),
    }
}

fn row(cells: &[String; 4]) -> String {
    let cell = |cell: &String| cut(&one_line(cell), CELL_CHARS).replace('|', "\\|");
    let cells: Vec<String> = cells
        .iter()
        .map(|text| if text.is_empty() { "-".to_owned() } else { cell(text) })
        .collect();
    format!("| {} |\n", cells.join(" | "))
}
