//! Verbs by their names: a request in JSON, a report in JSON. For faces that pass both on, such as servers.

use std::io;
use std::ops::ControlFlow;

use planwright_core::plan::Verb;
use planwright_run::engine::Watcher;
use planwright_run::runs::RunRecord;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::cancel::CancelToken;
use crate::events::EventEntry;
use crate::failure::{Failure, Result};
use crate::init::{InitObserver, InstalledAgent};
use crate::observer::{VerificationEvent, VerificationObserver};
use crate::run_plan::observer::{RunBeginning, RunObserver};
use crate::run_report::RunReport;
use crate::workspace::Workspace;
use crate::{
    add, agents, approval, arbiter, archive, check, config, control, depend, diff, doctor, done, edit, events, explain,
    find, graph, hash, history, init, land, list, logs, move_task, next, plan_transition, remove, rename, runs, schema,
    set, show, summary, transition, undo, verify, why, worktrees,
};

/// The names of all verbs that [`call`] knows.
pub const VERBS: [&str; 48] = [
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
    "init",
    "land",
    "list",
    "logs",
    "move",
    "next",
    "reject",
    "remove",
    "rename",
    "reset",
    "retry",
    "runs",
    "schema",
    "set",
    "show",
    "skip",
    "start",
    "submit",
    "summary",
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
        "delete" => answer(request, |request| archive::delete(workspace, request, |_| true)),
        "depend" => answer(request, |request| depend::depend(workspace, request)),
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
        "init" => answer(request, |request| init::init(workspace, request, face)),
        "land" => answer(request, |request| land::land(workspace, request, face)),
        "list" => answer(request, |request| list::list(workspace, request)),
        "logs" => answer(request, |request| logs::logs(workspace, request)),
        "move" => answer(request, |request| move_task::move_task(workspace, request)),
        "next" => answer(request, |request| next::next(workspace, request)),
        "reject" => answer(request, |request| approval::reject(workspace, request)),
        "remove" => answer(request, |request| remove::remove(workspace, request)),
        "rename" => answer(request, |request| rename::rename(workspace, request)),
        "reset" => answer(request, |request| {
            transition::transition(workspace, Verb::Reset, request)
        }),
        "retry" => answer(request, |request| {
            transition::transition(workspace, Verb::Retry, request)
        }),
        "runs" => answer(request, |request| runs::runs(workspace, request)),
        "schema" => answer(request, |request| schema::schema(workspace, request)),
        "set" => answer(request, |request| set::set(workspace, request)),
        "show" => answer(request, |request| show::show(workspace, request)),
        "skip" => answer(request, |request| {
            transition::transition(workspace, Verb::Skip, request)
        }),
        "start" => answer(request, |request| {
            transition::transition(workspace, Verb::Start, request)
        }),
        "submit" => answer(request, |request| plan_transition::submit(workspace, request)),
        "summary" => answer(request, |request| summary::summary(workspace, request)),
        "undepend" => answer(request, |request| depend::undepend(workspace, request)),
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

impl RunObserver for QuietFace {
    fn cancel_token(&mut self) -> io::Result<CancelToken> {
        Ok(self.cancel.clone())
    }

    fn begins(&mut self, _: &RunBeginning<'_>) {}

    fn is_over(&mut self) {}

    fn ended(&mut self, _: &RunReport) {}

    fn fails(&mut self, _: &Failure) {}
}
