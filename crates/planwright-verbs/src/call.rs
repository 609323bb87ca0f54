//! Verbs by their names: a request in JSON, a report in JSON. For callers that pass both on, such as servers.

use std::io;
use std::ops::ControlFlow;

use planwright_core::plan::Verb;
use planwright_run::engine::Watcher;
use planwright_run::runs::RunRecord;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::cancel::CancelToken;
use crate::events::{EventEntry, EventsRequest};
use crate::failure::{Failure, Result};
use crate::init::InitObserver;
use crate::planning::{OutlineObserver, PlanningObserver};
use crate::replan::ReplanObserver;
use crate::run_plan::observer::RunObserver;
use crate::tasks::regenerate::RegenerateObserver;
use crate::tasks::{cards, derive, regenerate};
use crate::verification::VerificationObserver;
use crate::workspace::Workspace;
use crate::{
    add, adopt, agents, approval, arbiter, archive, check, config, control, convert, depend, diff, doctor, done, draft,
    edit, events, explain, find, graph, hash, history, import, init, land, list, logs, migrate, move_task, new, next,
    plan, plan_transition, proposals, remove, rename, replan, report, run_plan, runs, schema, set, show, summary,
    transition, undo, verify, why, worktrees,
};

/// A verb: parses its request, and returns its report.
type CalledVerb = fn(Call<'_>) -> Result<String>;

const VERBS: &[(&str, CalledVerb)] = &[
    ("add", |call| call.answer(add::add)),
    ("adopt", |call| call.answer(adopt::adopt)),
    ("agents", |call| call.answer(agents::agents)),
    ("approve", |call| {
        call.watched(|workspace, request, observer| approval::approve(workspace, request, observer))
    }),
    ("arbiter", |call| {
        call.watched(|workspace, request, observer| {
            arbiter::arbiter(workspace, request, &mut || Ok(observer.cancel.clone()))
        })
    }),
    ("archive", |call| call.answer(archive::archive)),
    ("block", |call| call.transition(Verb::Block)),
    ("cancel", |call| call.answer(plan_transition::cancel)),
    ("check", |call| call.answer(check::check)),
    ("config", |call| call.answer(config::config)),
    ("control", |call| call.answer(control::control)),
    ("convert", |call| call.answer(convert::convert)),
    ("delete", |call| {
        call.answer(|workspace, request| archive::delete(workspace, request, |_| true))
    }),
    ("depend", |call| call.answer(depend::depend)),
    ("diff", |call| call.answer(diff::diff)),
    ("doctor", |call| {
        call.watched(|workspace, request, observer| doctor::doctor(workspace, request, observer))
    }),
    ("done", |call| {
        call.watched(|workspace, request, observer| done::done(workspace, request, observer))
    }),
    ("draft", |call| call.answer(draft::draft)),
    ("draft-abandon", |call| call.answer(draft::abandon)),
    ("edit", |call| call.answer(edit::edit)),
    ("edit-form", |call| call.answer(edit::edit_form)),
    ("events", |call| call.answer(records)),
    ("explain", |call| call.answer(explain::explain)),
    ("fail", |call| call.transition(Verb::Fail)),
    ("find", |call| call.answer(find::find)),
    ("graph", |call| call.answer(graph::graph)),
    ("hash", |call| call.answer(hash::hash)),
    ("history", |call| call.answer(history::history)),
    ("import", |call| {
        call.watched(|workspace, request, observer| import::import(workspace, request, observer))
    }),
    ("init", |call| {
        call.watched(|workspace, request, observer| init::init(workspace, request, observer))
    }),
    ("land", |call| {
        call.watched(|workspace, request, observer| land::land(workspace, request, observer))
    }),
    ("list", |call| call.answer(list::list)),
    ("log", |call| {
        call.watched(|workspace, request, observer| logs::log(workspace, request, &observer.cancel))
    }),
    ("logs", |call| call.answer(logs::logs)),
    ("migrate", |call| call.answer(migrate::migrate)),
    ("move", |call| call.answer(move_task::move_task)),
    ("new", |call| call.answer(new::new)),
    ("next", |call| call.answer(next::next)),
    ("plan", |call| {
        call.watched(|workspace, request, observer| plan::plan(workspace, request, observer))
    }),
    ("plan-prompt", |call| call.answer(plan::prompt)),
    ("proposals", |call| call.answer(proposals::proposals)),
    ("reject", |call| call.answer(approval::reject)),
    ("remove", |call| call.answer(remove::remove)),
    ("rename", |call| call.answer(rename::rename)),
    ("replan", |call| {
        call.watched(|workspace, request, observer| replan::replan(workspace, request, observer))
    }),
    ("replan-prompt", |call| call.answer(replan::prompt)),
    // The command line draws the page; other callers get its data.
    ("report", |call| call.answer(report::page_data)),
    ("reset", |call| call.transition(Verb::Reset)),
    ("retry", |call| call.transition(Verb::Retry)),
    ("run", |call| {
        call.watched(|workspace, request, observer| run_plan::run_plan(workspace, request, observer))
    }),
    ("run-preview", |call| call.answer(run_plan::preview)),
    ("runs", |call| call.answer(runs::runs)),
    ("schema", |call| call.answer(schema::schema)),
    ("set", |call| call.answer(set::set)),
    ("show", |call| call.answer(show::show)),
    ("skip", |call| call.transition(Verb::Skip)),
    ("start", |call| call.transition(Verb::Start)),
    ("submit", |call| call.answer(plan_transition::submit)),
    ("summary", |call| call.answer(summary::summary)),
    ("tasks-cards", |call| call.answer(cards::cards)),
    ("tasks-derive", |call| {
        call.watched(|workspace, request, observer| derive::derive(workspace, request, observer))
    }),
    ("tasks-derive-prompt", |call| call.answer(derive::prompt)),
    ("tasks-regenerate", |call| {
        call.watched(|workspace, request, observer| regenerate::regenerate(workspace, request, observer))
    }),
    ("tasks-regenerate-prompt", |call| call.answer(regenerate::prompt)),
    ("undepend", |call| call.answer(depend::undepend)),
    ("undo", |call| call.answer(undo::undo)),
    ("verify", |call| {
        call.watched(|workspace, request, observer| verify::verify(workspace, request, observer))
    }),
    ("why", |call| call.answer(why::why)),
    ("worktrees", |call| call.answer(worktrees::worktrees)),
];

/// Returns the names of all verbs that [`call`] knows.
pub fn verb_names() -> Vec<&'static str> {
    VERBS.iter().map(|(name, _)| *name).collect()
}

/// Calls a verb with a request in JSON, and returns its report in JSON, as `--json` prints it.
pub fn call(workspace: &Workspace, verb: &str, request: &str, observer: &mut QuietObserver) -> Result<String> {
    let Some((_, called)) = VERBS.iter().find(|(name, _)| *name == verb) else {
        return Err(Failure::usage(
            format!("there is no verb `{verb}`"),
            format!("the verbs are {}", verb_names().join(", ")),
        ));
    };
    called(Call {
        workspace,
        request,
        observer,
    })
}

struct Call<'c> {
    workspace: &'c Workspace,
    request: &'c str,
    observer: &'c mut QuietObserver,
}

impl Call<'_> {
    /// Calls a verb that a caller can observe and cancel.
    fn watched<Q, R>(self, verb: impl FnOnce(&Workspace, &Q, &mut QuietObserver) -> Result<R>) -> Result<String>
    where
        Q: DeserializeOwned,
        R: Serialize,
    {
        let request = serde_json::from_str(self.request).map_err(|error| {
            Failure::usage(
                format!("the request cannot be read: {error}"),
                "a request is a JSON object with the options of the verb",
            )
        })?;
        Ok(serde_json::to_string(&verb(self.workspace, &request, self.observer)?)?)
    }

    fn answer<Q, R>(self, verb: impl FnOnce(&Workspace, &Q) -> Result<R>) -> Result<String>
    where
        Q: DeserializeOwned,
        R: Serialize,
    {
        self.watched(|workspace, request, _| verb(workspace, request))
    }

    fn transition(self, verb: Verb) -> Result<String> {
        self.answer(|workspace, request| transition::transition(workspace, verb, request))
    }
}

/// Returns the records of a run's log.
fn records(workspace: &Workspace, request: &EventsRequest) -> Result<Vec<Box<RawValue>>> {
    let mut records = Vec::new();
    events::events(workspace, request, &mut |entry| {
        if let EventEntry::Record { json, .. } = entry {
            records.push(json.to_owned());
        }
        ControlFlow::Continue(())
    })?;
    let records = records.into_iter();
    records
        .map(|json| RawValue::from_string(json).map_err(Failure::from))
        .collect()
}

/// A caller that answers no questions, and that another thread can cancel.
#[derive(Default)]
pub struct QuietObserver {
    pub cancel: CancelToken,
    /// The events of a run, as in its log.
    pub events: Vec<String>,
}

impl VerificationObserver for QuietObserver {
    fn cancel_token(&mut self) -> io::Result<CancelToken> {
        Ok(self.cancel.clone())
    }
}

impl PlanningObserver for QuietObserver {
    fn cancel_token(&mut self) -> io::Result<CancelToken> {
        Ok(self.cancel.clone())
    }
}

impl Watcher for QuietObserver {
    fn event(&mut self, record: &RunRecord) {
        self.events.extend(record.to_json().ok());
    }
}

impl InitObserver for QuietObserver {}
impl OutlineObserver for QuietObserver {}
impl RegenerateObserver for QuietObserver {}
impl ReplanObserver for QuietObserver {}
impl RunObserver for QuietObserver {}
