//! The verb `tasks regenerate`: rebuilds a pack from its source plan, in place and with its history.

use std::collections::BTreeMap;

use planwright_core::planning::derive::compare::PackDifference;
use planwright_core::planning::derive::{OriginalPack, Previous};
use planwright_core::text::SourceText;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{ChangeRecord, History, StateChange, plan_id};
use planwright_run::layout::root_of;
use planwright_run::store::{self, PlanFile, PreparedChange, Store};
use serde::{Deserialize, Serialize};

use super::derivation::{DerivedPack, PackSource, PackWork, warning_findings, warning_reports};
use super::derive::date_of;
use super::{is_pack, no_pack, shown};
use crate::changes::refuse_during_run;
use crate::failure::{Failure, Result};
use crate::json::DiagnosticReport;
use crate::planning::{Confirmation, EffortReport, PlannerRequest, PlanningObserver, SourceFindings};
use crate::plans::{ChangedTaskReport, FoundPlan, PlanChoice};
use crate::text::{cut, one_line, shown_name, unified_diff};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RegenerateRequest {
    pub plan: PlanChoice,
    pub planner: PlannerRequest,
    /// Writes the pack without asking.
    pub yes: bool,
}

#[derive(Serialize)]
pub struct RegenerateReport {
    pub schema_version: &'static str,
    pub plan: String,
    pub source_plan: String,
    pub written: bool,
    /// The number of the change in the pack's history; null if nothing was written.
    pub change: Option<u64>,
    pub draft: bool,
    pub n_tasks: usize,
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<ChangedTaskReport>,
    pub rewired: Vec<RewiredReport>,
    pub moved: Vec<MovedReport>,
    pub n_same: usize,
    /// Tasks that were started and are no longer in the pack, with their states.
    pub forgotten: BTreeMap<String, String>,
    pub warnings: Vec<DiagnosticReport>,
    pub diff: String,
    /// The planner; null if the answer was given.
    pub agent: Option<String>,
    pub effort: EffortReport,
    pub reasoning: String,
    /// The path of the pack as shown.
    #[serde(skip)]
    pub shown_plan: String,
    /// The differences in terms of tasks.
    #[serde(skip)]
    pub lines: Vec<String>,
    /// The warnings, with the text for excerpts.
    #[serde(skip)]
    pub findings: SourceFindings,
    /// Whether the user accepts the new pack, or it has not changed.
    #[serde(skip)]
    pub is_agreed: bool,
}

#[derive(Serialize)]
pub struct RewiredReport {
    pub task: String,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

#[derive(Serialize)]
pub struct MovedReport {
    pub task: String,
    pub from_wave: String,
    pub to_wave: String,
}

/// Observes the verb `tasks regenerate`.
pub trait RegenerateObserver: PlanningObserver {
    /// Shows the new pack before it is written.
    fn shows_pack(&mut self, _report: &RegenerateReport) {}

    /// Asks whether to write the new pack.
    fn confirms_pack(&mut self) -> Confirmation {
        Confirmation::CannotAsk
    }
}

/// The name of the change in the history.
const VERB: &str = "regenerate";

struct OldPack {
    found: FoundPlan,
    text: SourceText,
    id: Option<String>,
    /// The recorded states of its tasks, except those that are pending.
    states: BTreeMap<String, String>,
    is_draft: bool,
}

/// The new pack, and the old one.
struct Rebuilt<'a> {
    old: &'a OldPack,
    source: &'a PackSource,
    pack: DerivedPack,
    difference: PackDifference,
    /// Tasks that were started and removed.
    forgotten: BTreeMap<String, String>,
}

/// Returns the prompt of the planner. Starts nothing and writes nothing.
pub fn prompt(workspace: &Workspace, request: &RegenerateRequest) -> Result<String> {
    let (old, source) = opened(workspace, request)?;
    old.work(&source, |work| work.prompt(workspace, &request.planner))
}

/// Rebuilds a task pack after a change of its source plan.
pub fn regenerate(
    workspace: &Workspace,
    request: &RegenerateRequest,
    observer: &mut dyn RegenerateObserver,
) -> Result<RegenerateReport> {
    let (old, source) = opened(workspace, request)?;
    // A run would continue with tasks that are no longer in the pack.
    refuse_during_run(&old.found, "rebuild this pack")?;
    let pack = old.work(&source, |work| work.plan(workspace, &request.planner, observer))?;
    if pack.derived.is_draft && !old.is_draft {
        return Err(Failure::problem(
            "the source plan has no `spec_id` any more, and an executable pack does not become a draft",
            "add `spec_id` to the frontmatter of the plan; nothing was written",
        ));
    }
    let rebuilt = Rebuilt::new(&old, &source, pack);
    let mut report = rebuilt.report();
    observer.shows_pack(&report);
    let is_same = report.diff.is_empty();
    report.is_agreed = is_same || request.yes || observer.confirms_pack() == Confirmation::Yes;
    if report.is_agreed && !is_same {
        report.change = rebuilt.write()?;
        report.written = report.change.is_some();
    }
    Ok(report)
}

fn opened(workspace: &Workspace, request: &RegenerateRequest) -> Result<(OldPack, PackSource)> {
    let old = old_pack(request.plan.find(workspace, "name its file")?)?;
    let source = source_of(&old)?;
    Ok((old, source))
}

impl OldPack {
    fn work<T>(&self, source: &PackSource, call: impl FnOnce(PackWork<'_>) -> T) -> T {
        call(PackWork {
            source,
            date: &date_of(&self.found.path),
            previous: Some(Previous {
                pack: &self.text,
                is_touched: &|id| self.states.contains_key(id),
            }),
            pack: &self.found.path,
            retake: &format!("planwright tasks regenerate {} --from", shown(&self.found.path)),
        })
    }
}

fn old_pack(found: FoundPlan) -> Result<OldPack> {
    let text = store::load(&found.path)?.source;
    let inspection = inspect_file(&text, Some(&found.path), found.forced).inspection;
    let linked = inspection.plan.as_ref().filter(|linked| is_pack(linked.dialect));
    let plan = linked.map(|linked| &linked.plan).ok_or_else(|| no_pack(&found.path))?;
    let id = plan_id(plan).map(str::to_owned);
    let is_draft = plan.form == "draft";
    let file = PlanFile {
        path: &found.path,
        id: id.as_deref(),
    };
    let history = store::history(file)?;
    let states = history.task_states().into_iter();
    let states = states
        .map(|(task, known)| (task, known.state.to))
        .filter(|(_, state)| state != "pending");
    Ok(OldPack {
        states: states.collect(),
        found,
        text,
        id,
        is_draft,
    })
}

fn source_of(old: &OldPack) -> Result<PackSource> {
    let pack = OriginalPack::parse(&old.text);
    let path = pack.source_plan().ok_or_else(|| {
        Failure::problem(
            "the pack does not name its source plan",
            "name it in the frontmatter: `source_plan: docs/plans/….md`, from the root of the repository",
        )
    })?;
    PackSource::load(root_of(&old.found.path), path.to_owned())
}

impl<'a> Rebuilt<'a> {
    fn new(old: &'a OldPack, source: &'a PackSource, pack: DerivedPack) -> Self {
        let gone = &pack.derived.kept.gone;
        let forgotten = old.states.iter().filter(|(task, _)| gone.contains(task));
        Rebuilt {
            old,
            source,
            difference: PackDifference::between(&old.text, &pack.derived.text),
            forgotten: forgotten.map(|(task, state)| (task.clone(), state.clone())).collect(),
            pack,
        }
    }

    /// Returns the differences in terms of tasks.
    fn lines(&self) -> Vec<String> {
        let difference = &self.difference;
        let named = |sign: &str, (id, goal): &(String, String)| {
            format!("{sign} {}  {}", shown_name(id), cut(&one_line(goal), 70))
                .trim_end()
                .to_owned()
        };
        let listed = |names: &[String]| match names.is_empty() {
            true => "nothing".to_owned(),
            false => names.iter().map(|name| shown_name(name)).collect::<Vec<_>>().join(", "),
        };
        let mut lines: Vec<String> = difference.added.iter().map(|task| named("added:  ", task)).collect();
        lines.extend(difference.removed.iter().map(|task| named("removed:", task)));
        for (id, fields) in &difference.changed {
            lines.push(format!("changed:  {}  {}", shown_name(id), fields.join(", ")));
        }
        for (id, before, after) in &difference.rewired {
            lines.push(format!(
                "re-wired: {}  waits for {}; before, for {}",
                shown_name(id),
                listed(after),
                listed(before)
            ));
        }
        for (id, from, to) in &difference.moved {
            lines.push(format!(
                "moved:    {}  from wave {} to {}",
                shown_name(id),
                one_line(from),
                one_line(to)
            ));
        }
        lines.push(format!(
            "the same: {} of {} tasks",
            difference.n_same, self.pack.derived.n_tasks
        ));
        for (task, state) in &self.forgotten {
            lines.push(format!(
                "{} was {state}, and is no longer in the pack",
                shown_name(task)
            ));
        }
        lines
    }

    /// Replaces the old pack. The records of removed tasks no longer apply: a reused id is another task's.
    fn write(&self) -> Result<Option<u64>> {
        let old = self.old;
        let forget = |(task, state): (&String, &String)| StateChange {
            task: task.clone(),
            from: Some(state.clone()),
            to: "pending".to_owned(),
            note: None,
            output: None,
        };
        let change = ChangeRecord {
            verb: VERB.to_owned(),
            by: self.pack.agent.clone(),
            note: Some(self.pack.words(&format!("derived again from {}", self.source.path))),
            states: self.forgotten.iter().map(forget).collect(),
            ..ChangeRecord::default()
        };
        let prepare = |newest: &SourceText, _: &History| {
            if newest.as_str() != old.text.as_str() {
                return Err(Failure::problem(
                    "the pack was changed while it was derived again",
                    "nothing was written; try again",
                ));
            }
            Ok(Some(PreparedChange {
                text: Some(self.pack.derived.text.clone()),
                change: change.clone(),
            }))
        };
        let file = PlanFile {
            path: &old.found.path,
            id: old.id.as_deref(),
        };
        let updated = Store::default().update(file, VERB, prepare)?;
        Ok(updated.change)
    }

    fn report(&self) -> RegenerateReport {
        let (difference, derived, path) = (&self.difference, &self.pack.derived, &self.old.found.path);
        let ids = |tasks: &[(String, String)]| tasks.iter().map(|(id, _)| id.clone()).collect();
        let changed = difference.changed.iter().map(|(task, fields)| ChangedTaskReport {
            task: task.clone(),
            fields: fields.clone(),
        });
        let rewired = difference.rewired.iter().map(|(task, before, after)| RewiredReport {
            task: task.clone(),
            before: before.clone(),
            after: after.clone(),
        });
        let moved = difference.moved.iter().map(|(task, from, to)| MovedReport {
            task: task.clone(),
            from_wave: from.clone(),
            to_wave: to.clone(),
        });
        RegenerateReport {
            schema_version: "planwright.regenerate/v1",
            plan: path.to_string_lossy().into_owned(),
            source_plan: self.source.path.clone(),
            written: false,
            change: None,
            draft: derived.is_draft,
            n_tasks: derived.n_tasks,
            added: ids(&difference.added),
            removed: ids(&difference.removed),
            changed: changed.collect(),
            rewired: rewired.collect(),
            moved: moved.collect(),
            n_same: difference.n_same,
            forgotten: self.forgotten.clone(),
            warnings: warning_reports(&derived.warnings),
            diff: unified_diff(&shown(path), self.old.text.as_str(), derived.text.as_str()),
            agent: self.pack.agent.clone(),
            effort: self.pack.effort.into(),
            reasoning: derived.reasoning.clone(),
            shown_plan: shown(path),
            lines: self.lines(),
            findings: warning_findings(path, derived.warnings.clone()),
            is_agreed: false,
        }
    }
}
