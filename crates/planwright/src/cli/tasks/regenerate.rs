//! `planwright tasks regenerate PACK`: rebuilds a pack from its source plan, in place and with its history.

use std::collections::BTreeMap;

use planwright_core::dialect::task_pack::original::Pack;
use planwright_core::planning::derive::compare::Difference;
use planwright_core::planning::derive::{Derived, Previous};
use planwright_core::text::SourceText;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{Change, History, StateChange, plan_id};
use planwright_run::store::{self, PlanFile, Prepared, Store, UpdateError};
use planwright_run::workspace::root_of;
use serde::Serialize;

use super::super::answers;
use super::super::change::{Found, refuse_during_run};
use super::super::exit::{Exit, Failure};
use super::super::output::Output;
use super::super::plan_arg::{TargetArgument, load_failure};
use super::super::planner::{EffortReport, PlannerOptions, effort_words};
use super::derive::{date_of, shown};
use super::planner::{self, Planned, Source, Work, tell_warnings, warning_reports};
use super::{is_pack, no_pack};
use crate::render::diff::unified_diff;
use crate::render::json::DiagnosticReport;
use crate::render::terminal::{cut, one_line, printable, shown_name};

/// Rebuild a task pack after a change of its source plan.
///
/// Tasks whose goal and files are as they were keep their ids, and so what is known of them: what is done stays done. Asks before
/// it writes, at a terminal; elsewhere it needs --yes. `planwright undo` takes it back.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright tasks regenerate docs/tasks/2026-05-11-004-feat-photos-tasks.md
  planwright tasks regenerate photos-tasks --from answer.md --yes")]
pub(super) struct Args {
    #[command(flatten)]
    pack: TargetArgument,

    #[command(flatten)]
    planner: PlannerOptions,

    /// Print what the planner would be asked; ask nobody and write nothing.
    #[arg(long, conflicts_with = "from")]
    dry_run: bool,

    /// Write it without asking.
    #[arg(long, short)]
    yes: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `tasks regenerate --json`.
const VERSION: &str = "planwright.regenerate/v1";

/// What is recorded as the verb.
const VERB: &str = "regenerate";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    plan: String,
    source_plan: String,
    /// Whether it was written.
    written: bool,
    /// The number of the change in the pack's history; null where nothing was written.
    change: Option<u64>,
    draft: bool,
    n_tasks: usize,
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<ChangedReport>,
    rewired: Vec<RewiredReport>,
    moved: Vec<MovedReport>,
    n_same: usize,
    /// Tasks that were worked on and are no longer in the pack, with what they were.
    forgotten: BTreeMap<String, String>,
    warnings: Vec<DiagnosticReport>,
    diff: String,
    /// Who planned; null where the answer was given.
    agent: Option<String>,
    effort: EffortReport,
    reasoning: String,
}

#[derive(Serialize)]
struct ChangedReport {
    task: String,
    fields: Vec<&'static str>,
}

#[derive(Serialize)]
struct RewiredReport {
    task: String,
    before: Vec<String>,
    after: Vec<String>,
}

#[derive(Serialize)]
struct MovedReport {
    task: String,
    from_wave: String,
    to_wave: String,
}

/// A pack that is there.
struct Old {
    found: Found,
    text: SourceText,
    id: Option<String>,
    /// What is recorded of its tasks, where that is more than that they are pending.
    states: BTreeMap<String, String>,
    is_draft: bool,
}

/// The new pack beside the old one.
struct Rebuilt<'a> {
    old: &'a Old,
    source: &'a Source,
    made: &'a planner::Pack,
    derived: &'a Derived,
    difference: Difference,
    diff: String,
    /// Tasks that were worked on and are gone.
    forgotten: BTreeMap<String, String>,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let old = old_pack(args.pack.find()?)?;
    let source = source_of(&old)?;
    let date = date_of(&old.found.path);
    let work = Work {
        source: &source,
        date: &date,
        previous: Some(Previous {
            pack: &old.text,
            is_touched: &|id| old.states.contains_key(id),
        }),
        pack: &old.found.path,
        retake: &format!("planwright tasks regenerate {} --from", shown(&old.found.path)),
    };
    if args.dry_run {
        let prompt = work.prompt(&args.planner, output)?;
        output.write_exact(&prompt);
        return Ok(Exit::Success);
    }
    // A run would go on with tasks that are no longer there.
    refuse_during_run(&old.found, "rebuild this pack")?;
    let pack = match work.plan(&args.planner, output)? {
        Planned::Pack(pack) => pack,
        Planned::Interrupted(exit) => return Ok(exit),
    };
    if pack.derived.is_draft && !old.is_draft {
        return Err(Failure::problem(
            "the source plan has no `spec_id` any more, and an executable pack does not become a draft",
            "add `spec_id` to the frontmatter of the plan; nothing was written",
        ));
    }
    Rebuilt::new(&old, &source, &pack).finish(args, output)
}

fn old_pack(found: Found) -> anyhow::Result<Old> {
    let text = store::load(&found.path).map_err(|error| load_failure(&error))?.source;
    let inspection = inspect_file(&text, Some(&found.path), found.forced).inspection;
    let linked = inspection.plan.as_ref().filter(|linked| is_pack(linked.dialect));
    let plan = linked.map(|linked| &linked.plan).ok_or_else(|| no_pack(&found.path))?;
    let id = plan_id(plan).map(str::to_owned);
    let is_draft = plan.form == "draft";
    let file = PlanFile {
        path: &found.path,
        id: id.as_deref(),
    };
    let history = store::history(file).map_err(|error| Failure::environment(&error, error.help()))?;
    let states = history.task_states().into_iter();
    let states = states
        .map(|(task, known)| (task, known.state.to))
        .filter(|(_, state)| state != "pending");
    Ok(Old {
        states: states.collect(),
        found,
        text,
        id,
        is_draft,
    })
}

fn source_of(old: &Old) -> anyhow::Result<Source> {
    let pack = Pack::parse(&old.text);
    let path = pack.source_plan().ok_or_else(|| {
        Failure::problem(
            "the pack does not say which plan it was derived from",
            "name it in the frontmatter: `source_plan: docs/plans/….md`, from the root of the repository",
        )
    })?;
    Source::load(root_of(&old.found.path), path.to_owned())
}

impl<'a> Rebuilt<'a> {
    fn new(old: &'a Old, source: &'a Source, made: &'a planner::Pack) -> Self {
        let derived = &made.derived;
        let path = shown(&old.found.path);
        let gone = old.states.iter().filter(|(task, _)| derived.kept.gone.contains(task));
        Rebuilt {
            old,
            source,
            made,
            derived,
            difference: Difference::between(&old.text, &derived.text),
            diff: unified_diff(&path, old.text.as_str(), derived.text.as_str()),
            forgotten: gone.map(|(task, state)| (task.clone(), state.clone())).collect(),
        }
    }

    fn finish(&self, args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
        if !args.json {
            let path = shown(&self.old.found.path);
            tell_warnings(&path, &self.derived.warnings, output);
            if self.made.agent.is_some() {
                output.remark(&format!("planned with {}", effort_words(self.made.effort)));
            }
            output.write_exact(&self.diff);
            for line in self.lines() {
                output.line(&line);
            }
            output.flush();
        }
        let is_same = self.diff.is_empty();
        let is_agreed = is_same || args.yes || (!args.json && agreed(output));
        let change = match is_agreed && !is_same {
            true => self.write()?,
            false => None,
        };
        if args.json {
            output.json(&self.report(change))?;
        } else if let Some(change) = change {
            let path = shown(&self.old.found.path);
            output.line(&format!("wrote {} (change {change})", printable(&path)));
        } else if is_same {
            output.remark("nothing to change: the pack is as it would be made");
        } else {
            output.remark("nothing was written: say --yes to write it");
        }
        Ok(if is_agreed { Exit::Success } else { Exit::Problems })
    }

    /// Returns what is different in terms of tasks.
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
            difference.n_same, self.derived.n_tasks
        ));
        for (task, state) in &self.forgotten {
            lines.push(format!(
                "{} was {state}, and is no longer in the pack",
                shown_name(task)
            ));
        }
        lines
    }

    /// Writes the pack in the place of the old one. What was recorded of tasks that are gone is forgotten with it: an id that is
    /// used again is another task's.
    fn write(&self) -> anyhow::Result<Option<u64>> {
        let old = self.old;
        let forget = |(task, state): (&String, &String)| StateChange {
            task: task.clone(),
            from: Some(state.clone()),
            to: "pending".to_owned(),
            note: None,
            output: None,
        };
        let change = Change {
            verb: VERB.to_owned(),
            by: self.made.agent.clone(),
            note: Some(self.made.words(&format!("derived anew from {}", self.source.path))),
            states: self.forgotten.iter().map(forget).collect(),
            ..Change::default()
        };
        let prepare = |newest: &SourceText, _: &History| {
            if newest.as_str() != old.text.as_str() {
                return Err(Failure::problem(
                    "the pack was changed while it was derived anew",
                    "nothing was written; try again",
                ));
            }
            Ok(Some(Prepared {
                text: Some(self.derived.text.clone()),
                change: change.clone(),
            }))
        };
        let file = PlanFile {
            path: &old.found.path,
            id: old.id.as_deref(),
        };
        let updated = Store::default()
            .update(file, VERB, prepare)
            .map_err(|error| match error {
                UpdateError::Refused(refused) => refused,
                UpdateError::Store(error) => Failure::environment(&error, error.help()),
            })?;
        Ok(updated.change)
    }

    fn report(&self, change: Option<u64>) -> Report {
        let difference = &self.difference;
        let ids = |tasks: &[(String, String)]| tasks.iter().map(|(id, _)| id.clone()).collect();
        let changed = difference.changed.iter().map(|(task, fields)| ChangedReport {
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
        Report {
            schema_version: VERSION,
            plan: self.old.found.path.to_string_lossy().into_owned(),
            source_plan: self.source.path.clone(),
            written: change.is_some(),
            change,
            draft: self.derived.is_draft,
            n_tasks: self.derived.n_tasks,
            added: ids(&difference.added),
            removed: ids(&difference.removed),
            changed: changed.collect(),
            rewired: rewired.collect(),
            moved: moved.collect(),
            n_same: difference.n_same,
            forgotten: self.forgotten.clone(),
            warnings: warning_reports(&self.derived.warnings),
            diff: self.diff.clone(),
            agent: self.made.agent.clone(),
            effort: EffortReport::new(self.made.effort),
            reasoning: self.derived.reasoning.clone(),
        }
    }
}

/// Asks whether to write, where somebody is there to answer.
fn agreed(output: &mut Output) -> bool {
    if !answers::may_ask() {
        return false;
    }
    output.note("Write this pack? [y/N] ");
    answers::is_yes()
}
