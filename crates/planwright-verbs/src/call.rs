//! Verbs by their names: a request in JSON, a report in JSON. For faces that pass both on, such as servers.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use planwright_core::plan::Verb;
use planwright_run::engine::Watcher;
use planwright_run::runs::RunRecord;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::answer_outline::{Confirmation, OutlineObserver, OutlineReading};
use crate::cancel::CancelToken;
use crate::events::EventEntry;
use crate::failure::{Failure, Result};
use crate::init::{InitObserver, InstalledAgent};
use crate::observer::{PlanningEvent, PlanningObserver, VerbEnd, VerificationEvent, VerificationObserver};
use crate::replan::{ProposedVersion, ReplanObserver};
use crate::run_plan::observer::{RunBeginning, RunObserver};
use crate::run_report::RunReport;
use crate::tasks::regenerate::{RegenerateObserver, RegenerateReport};
use crate::tasks::{cards, derive, regenerate};
use crate::workspace::Workspace;
use crate::{
    add, agents, approval, arbiter, archive, check, config, control, convert, diff, doctor, done, edit, events,
    explain, find, graph, hash, history, import, init, land, list, logs, migrate, new, next, plan, plan_transition,
    proposals, replan, run_plan, runs, schema, show, summary, task_edit, transition, undo, verify, why, worktrees,
};

/// The names of all verbs that [`call`] knows.
pub const VERBS: [&str; 59] = [
    "add",
    "agents",
    "approve",
    "arbiter",
    "archive",
    "block",
    "cancel",
    "check",
    "config",
    "control",
    "convert",
    "delete",
    "depend",
    "diff",
    "doctor",
    "done",
    "edit",
    "edit-form",
    "events",
    "explain",
    "fail",
    "find",
    "graph",
    "hash",
    "history",
    "import",
    "init",
    "land",
    "list",
    "logs",
    "migrate",
    "move",
    "new",
    "next",
    "plan",
    "proposals",
    "reject",
    "remove",
    "rename",
    "replan",
    "reset",
    "retry",
    "run",
    "runs",
    "schema",
    "set",
    "show",
    "skip",
    "start",
    "submit",
    "summary",
    "tasks-cards",
    "tasks-derive",
    "tasks-regenerate",
    "undepend",
    "undo",
    "verify",
    "why",
    "worktrees",
];

/// Calls a verb with a request in JSON, and returns its report in JSON: the one that `--json` prints.
pub fn call(workspace: &Workspace, verb: &str, request: &str, face: &mut QuietFace) -> Result<String> {
    match verb {
        "add" => answer(request, |request| add::add(workspace, request)),
        "agents" => answer(request, |request| agents::agents(workspace, request)),
        "approve" => answer(request, |request| approval::approve(workspace, request, face)),
        "arbiter" => answer(request, |request| {
            arbiter::arbiter(workspace, request, &mut || Ok(face.cancel.clone()))
        }),
        "archive" => answer(request, |request| archive::archive(workspace, request)),
        "block" => answer(request, |request| {
            transition::transition(workspace, Verb::Block, request)
        }),
        "cancel" => answer(request, |request| plan_transition::cancel(workspace, request)),
        "check" => answer(request, |request| check::check(workspace, request)),
        "config" => answer(request, |request| config::config(workspace, request)),
        "control" => answer(request, |request| control::control(workspace, request)),
        "convert" => answer(request, |request| convert::convert(workspace, request)),
        "delete" => answer(request, |request| archive::delete(workspace, request, |_| true)),
        "depend" => answer(request, |request| task_edit::depend(workspace, request)),
        "diff" => answer(request, |request| diff::diff(workspace, request)),
        "doctor" => answer(request, |request| doctor::doctor(workspace, request, face)),
        "done" => answer(request, |request| done::done(workspace, request, face)),
        "edit" => answer(request, |request| edit::edit(workspace, request)),
        "edit-form" => answer(request, |request| edit::edit_form(workspace, request)),
        "events" => answer(request, |request| {
            let mut records = Vec::new();
            events::events(workspace, request, &mut |entry| {
                if let EventEntry::Record { json, .. } = entry {
                    records.push(json.to_owned());
                }
                ControlFlow::Continue(())
            })?;
            records
                .into_iter()
                .map(|json| RawValue::from_string(json).map_err(Failure::from))
                .collect::<Result<Vec<_>>>()
        }),
        "explain" => answer(request, |request| explain::explain(workspace, request)),
        "fail" => answer(request, |request| {
            transition::transition(workspace, Verb::Fail, request)
        }),
        "find" => answer(request, |request| find::find(workspace, request)),
        "graph" => answer(request, |request| graph::graph(workspace, request)),
        "hash" => answer(request, |request| hash::hash(workspace, request)),
        "history" => answer(request, |request| history::history(workspace, request)),
        "import" => answer(request, |request| reported(import::import(workspace, request, face)?)),
        "init" => answer(request, |request| init::init(workspace, request, face)),
        "land" => answer(request, |request| land::land(workspace, request, face)),
        "list" => answer(request, |request| list::list(workspace, request)),
        "logs" => answer(request, |request| logs::logs(workspace, request)),
        "migrate" => answer(request, |request| migrate::migrate(workspace, request)),
        "move" => answer(request, |request| task_edit::move_task(workspace, request)),
        "new" => answer(request, |request| new::new(workspace, request)),
        "next" => answer(request, |request| next::next(workspace, request)),
        "plan" => answer(request, |request| reported(plan::plan(workspace, request, face)?)),
        "proposals" => answer(request, |request| proposals::proposals(workspace, request)),
        "reject" => answer(request, |request| approval::reject(workspace, request)),
        "remove" => answer(request, |request| task_edit::remove(workspace, request)),
        "rename" => answer(request, |request| task_edit::rename(workspace, request)),
        "replan" => answer(request, |request| reported(replan::replan(workspace, request, face)?)),
        "reset" => answer(request, |request| {
            transition::transition(workspace, Verb::Reset, request)
        }),
        "retry" => answer(request, |request| {
            transition::transition(workspace, Verb::Retry, request)
        }),
        "run" => answer(request, |request| run_plan::run_plan(workspace, request, face)),
        "runs" => answer(request, |request| runs::runs(workspace, request)),
        "schema" => answer(request, |request| schema::schema(workspace, request)),
        "set" => answer(request, |request| task_edit::set(workspace, request)),
        "show" => answer(request, |request| show::show(workspace, request)),
        "skip" => answer(request, |request| {
            transition::transition(workspace, Verb::Skip, request)
        }),
        "start" => answer(request, |request| {
            transition::transition(workspace, Verb::Start, request)
        }),
        "submit" => answer(request, |request| plan_transition::submit(workspace, request)),
        "summary" => answer(request, |request| summary::summary(workspace, request)),
        "tasks-cards" => answer(request, |request| cards::cards(workspace, request)),
        "tasks-derive" => answer(request, |request| reported(derive::derive(workspace, request, face)?)),
        "tasks-regenerate" => answer(request, |request| {
            reported(regenerate::regenerate(workspace, request, face)?)
        }),
        "undepend" => answer(request, |request| task_edit::undepend(workspace, request)),
        "undo" => answer(request, |request| undo::undo(workspace, request)),
        "verify" => answer(request, |request| verify::verify(workspace, request, face)),
        "why" => answer(request, |request| why::why(workspace, request)),
        "worktrees" => answer(request, |request| worktrees::worktrees(workspace, request)),
        _ => Err(Failure::usage(
            format!("there is no verb `{verb}`"),
            format!("the verbs are {}", VERBS.join(", ")),
        )),
    }
}

/// Reads the request of a verb, and writes its report.
fn answer<Request, Report>(request: &str, verb: impl FnOnce(&Request) -> Result<Report>) -> Result<String>
where
    Request: DeserializeOwned,
    Report: Serialize,
{
    let request = serde_json::from_str(request).map_err(|error| {
        Failure::usage(
            format!("the request cannot be read: {error}"),
            "a request is a JSON object with the options of the verb",
        )
    })?;
    Ok(serde_json::to_string(&verb(&request)?)?)
}

/// Returns the report of a verb that its user did not end.
fn reported<Report>(end: VerbEnd<Report>) -> Result<Report> {
    match end {
        VerbEnd::Reported(report) => Ok(report),
        VerbEnd::Declined => Err(Failure::problem("nothing was written", "the face declined the result")),
        VerbEnd::Cancelled(exit) => Err(Failure::interrupted(exit)),
    }
}

/// A face that answers no questions, and that another thread can end.
#[derive(Default)]
pub struct QuietFace {
    pub cancel: CancelToken,
    /// The events of a run, as its log has them.
    pub events: Vec<String>,
}

impl VerificationObserver for QuietFace {
    fn happens(&mut self, _: VerificationEvent<'_>) {}

    fn cancel_token(&mut self) -> io::Result<CancelToken> {
        Ok(self.cancel.clone())
    }
}

impl InitObserver for QuietFace {
    fn choose_agent(&mut self, _: &[InstalledAgent]) -> Option<&'static str> {
        None
    }
}

impl Watcher for QuietFace {
    fn event(&mut self, record: &RunRecord) {
        self.events.extend(record.to_json().ok());
    }

    fn line(&mut self, _: &str, _: &str) {}

    fn tick(&mut self) {}
}

impl PlanningObserver for QuietFace {
    fn happens(&mut self, _: PlanningEvent<'_>) {}

    fn cancel_token(&mut self) -> io::Result<CancelToken> {
        Ok(self.cancel.clone())
    }
}

impl OutlineObserver for QuietFace {
    fn shows_outline(&mut self, _: &OutlineReading<'_>) {}

    fn confirms_outline(&mut self, _: &OutlineReading<'_>, _: Option<&Path>) -> Confirmation {
        Confirmation::CannotAsk
    }
}

impl ReplanObserver for QuietFace {
    fn confirms_version(&mut self, _: &ProposedVersion) -> Confirmation {
        Confirmation::CannotAsk
    }
}

impl RegenerateObserver for QuietFace {
    fn shows_pack(&mut self, _: &RegenerateReport) {}

    fn confirms_pack(&mut self) -> Confirmation {
        Confirmation::CannotAsk
    }
}

impl RunObserver for QuietFace {
    fn begins(&mut self, _: &RunBeginning<'_>) {}

    fn is_over(&mut self) {}

    fn ended(&mut self, _: &RunReport) {}

    fn fails(&mut self, _: &Failure) {}
}
