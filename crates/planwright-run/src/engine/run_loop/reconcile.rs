//! Reconciles the plan file with the logs of earlier runs before a run starts.

use std::collections::HashMap;

use planwright_core::edit::Owner;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::lifecycle::OnFailure;
use planwright_core::plan::{Field, Plan, State, Verb};
use planwright_core::text::visible;

use super::super::held_tasks::{HeldTask, claims_of};
use super::super::naming::listed;
use super::super::recovery::{Recovered, RecoveredTask, UnownedTask};
use super::super::status_updates::{NOT_SKIPPED, PendingUpdates, StatusUpdate, VERB, plain, set_back_remark, way_back};
use super::super::{PlanSnapshot, RunError, RunRequest};
use crate::claims::Claims;
use crate::config::OnInterrupted;
use crate::journal::ChangeRecord;
use crate::proofs::Proofs;
use crate::revise::{LastVerb, ReviseError, last_verbs, names_in};
use crate::runs::state::WorkProgress;
use crate::runs::{ApprovalRecord, AttemptEndRecord, Outcome, PlanEditRecord, RemarkKind, RemarkRecord, RunEvent};
use crate::store::{Store, history};

#[derive(Default)]
pub(super) struct Reconciled {
    pub(super) remarks: Vec<RemarkRecord>,
    /// Tasks that have waited for approval since an earlier run.
    pub(super) reviews: Vec<String>,
    /// What happened to tasks since the last record, for the log.
    pub(super) events: Vec<RunEvent>,
    pub(super) has_written: bool,
    /// Tasks that run although the plan marks them to be skipped: no verb did that.
    pub(super) not_skipped: Vec<String>,
}

/// Updates the plan file from the logs of earlier runs, and decides about interrupted attempts and failures to retry.
pub(super) fn reconcile(
    request: &RunRequest<'_>,
    snapshot: &mut PlanSnapshot,
    recovered: &Recovered,
    wanted: &[bool],
) -> Result<Reconciled, RunError> {
    let verbs = last_verbs(snapshot.path(), snapshot.plan());
    let mut reconciliation = Reconciliation {
        request,
        snapshot,
        recovered,
        updates: PendingUpdates::default(),
        result: Reconciled::default(),
    };
    reconciliation.set_back_claims(&verbs);
    reconciliation.keep_wanted(&verbs);
    reconciliation.set_back_unproven()?;
    reconciliation.settle()?;
    reconciliation.take_results(&verbs);
    reconciliation.settle()?;
    let claims = claims_of(reconciliation.snapshot);
    for task in reconciliation.snapshot.tasks() {
        if reconciliation.snapshot.state(task) == State::Running {
            reconciliation.take_up(&claims, task)?;
        }
    }
    reconciliation.settle()?;
    reconciliation.try_again(wanted);
    reconciliation.settle()?;
    let Reconciliation {
        snapshot, mut result, ..
    } = reconciliation;
    // A task that was skipped because of a failure is not skipped if the failure is tried again.
    result
        .events
        .retain(|event| skipped_by(event).is_none_or(|task| is_skipped(snapshot, task)));
    Ok(result)
}

/// A plan file during its update from the logs.
struct Reconciliation<'r> {
    request: &'r RunRequest<'r>,
    snapshot: &'r mut PlanSnapshot,
    recovered: &'r Recovered,
    /// The updates to write before the next step.
    updates: PendingUpdates,
    result: Reconciled,
}

impl Reconciliation<'_> {
    fn update(&mut self, task: u32, verb: Verb) {
        self.updates.add(plain(self.request, task, verb));
    }

    fn remark(&mut self, kind: Option<RemarkKind>, text: impl Into<String>) {
        let remark = RemarkRecord::new(text);
        self.result.remarks.push(RemarkRecord { kind, ..remark });
    }

    /// Writes the updates, and reads the plan again.
    fn settle(&mut self) -> Result<(), RunError> {
        if self.updates.is_empty() {
            return Ok(());
        }
        let written = self.updates.write(self.snapshot)?;
        let along = written.along.into_iter().map(RunEvent::Skipped);
        self.result.events.extend(along);
        *self.snapshot = PlanSnapshot::open(self.snapshot.path(), self.snapshot.forced())?;
        self.result.has_written = true;
        Ok(())
    }

    /// Sets back statuses of the plan file that contradict the interrupted run.
    fn set_back_claims(&mut self, verbs: &HashMap<String, LastVerb>) {
        let mut set_back = Vec::new();
        for (task, found, known) in contradicted(self.snapshot, self.recovered, verbs) {
            for &verb in way_back(found, known) {
                self.updates.add(plain(self.request, task, verb));
            }
            set_back.push((self.snapshot.name(task), found, known));
        }
        if !set_back.is_empty() {
            self.result.remarks.push(set_back_remark(&set_back));
        }
    }

    /// Ignores skip marks made without a verb since the run was interrupted: such a mark is a status too.
    fn keep_wanted(&mut self, verbs: &HashMap<String, LastVerb>) {
        let tasks = self.snapshot.plan().tasks().iter();
        for (task, ix) in tasks.zip(0..) {
            let name = self.snapshot.name(ix);
            let is_by_verb = |since: &str| {
                let last = verbs.get(name);
                last.is_some_and(|last| last.verb != VERB && last.at.as_str() > since)
            };
            let since = self.recovered.wanted_since(name).filter(|_| task.held);
            if since.is_some_and(|since| !is_by_verb(since)) {
                self.result.remarks.push(RemarkRecord {
                    kind: Some(RemarkKind::StatusSetBack),
                    task: Some(name.to_owned()),
                    ..RemarkRecord::new(NOT_SKIPPED)
                });
                self.result.not_skipped.push(name.to_owned());
            }
        }
    }

    /// Reopens tasks that are marked as done without a passed verification, if the configuration requires one. Tasks that were done when
    /// planwright first read the plan count as done.
    fn set_back_unproven(&mut self) -> Result<(), RunError> {
        let file = self.snapshot.file();
        let history = history(file).map_err(ReviseError::Store)?;
        if !history.has_beginning() {
            let beginning = ChangeRecord {
                verb: VERB.to_owned(),
                found_done: Some(names_in(self.snapshot.plan(), State::Done)),
                ..ChangeRecord::default()
            };
            return Store::default()
                .record_note(file, beginning)
                .map_err(|error| ReviseError::Store(error).into());
        }
        if !self.request.config.verify.required {
            return Ok(());
        }
        let proofs = Proofs::of(&history);
        let unproven = self.snapshot.unproven(&proofs);
        let names: Vec<&str> = unproven.iter().map(|&task| self.snapshot.name(task)).collect();
        let names = match names.as_slice() {
            [] => return Ok(()),
            [only] => format!("`{}` is", visible(only)),
            several => format!("{} are", listed(several)),
        };
        for task in unproven {
            self.update(task, Verb::Reset);
        }
        let text = format!(
            "verification is required (verify.required), and no passed verification proves that {names} done: set back to pending"
        );
        self.remark(Some(RemarkKind::StatusSetBack), text);
        Ok(())
    }

    /// Adds the results of the last run that the plan file lacks, and what other processes did to the tasks since.
    fn take_results(&mut self, verbs: &HashMap<String, LastVerb>) {
        let recovered = self.recovered;
        for task in self.snapshot.tasks() {
            let name = self.snapshot.name(task);
            let Some(found) = recovered.task(name) else {
                continue;
            };
            let landed = found.found_landing().filter(|_| !found.is_of_ended_run);
            self.result.events.extend(landed.cloned().map(RunEvent::LandingEnded));
            let state = self.snapshot.state(task);
            match is_said(verbs, name, state, &found.run.plan_file.changed_at) {
                true => {
                    self.result.events.extend(reviewed(found, name, state));
                    self.result.events.extend(taken_over(found, name, verbs.get(name)));
                }
                false => self.add_late_result(found, task),
            }
        }
    }

    /// Adds the result of a task in the last run, if the plan file lacks it.
    fn add_late_result(&mut self, found: &RecoveredTask, task: u32) {
        let Some((verb, words)) = late_result(self.snapshot, found) else {
            return;
        };
        match self.snapshot.state(task) {
            // Its start may be missing from the file too.
            State::Pending => self.update(task, Verb::Start),
            State::Running => {}
            _ => return,
        }
        let last = found.run.last().cloned().unwrap_or_default();
        self.updates.add(StatusUpdate {
            note: last.why,
            output: last.report.output.filter(|_| keeps_output(self.snapshot.linked())),
            files: last.report.files,
            by: Some(last.agent),
            receipts: (verb == Verb::Done).then(|| found.run.receipts()),
            ..plain(self.request, task, verb)
        });
        let name = self.snapshot.name(task);
        let text = format!("`{name}` was {words} in the last run: the plan file is updated now");
        self.remark(None, text);
    }

    /// Decides about a task that is running in the plan while no run works on it.
    fn take_up(&mut self, claims: &Claims, task: u32) -> Result<(), RunError> {
        let name = self.snapshot.name(task).to_owned();
        match UnownedTask::of(self.snapshot, self.recovered, claims, task) {
            UnownedTask::InReview => {
                self.result.reviews.push(name);
                return Ok(());
            }
            UnownedTask::Approved => return Ok(()),
            UnownedTask::StartedByHand => {
                let held = HeldTask::with(self.snapshot, task, claims);
                let words = format!(
                    "{}: the run leaves it alone. `{}` gives it to the run",
                    held.words(),
                    held.release
                );
                self.remark(None, words);
                return Ok(());
            }
            UnownedTask::LeaseOver => {
                let held = HeldTask::with(self.snapshot, task, claims);
                self.remark(
                    None,
                    format!("{}, and that lease is over: the run takes it", held.words()),
                );
                self.update(task, Verb::Reset);
                return Ok(());
            }
            UnownedTask::Interrupted => {}
        }
        let policy = self.request.config.run.on_interrupted;
        if policy == OnInterrupted::Ask {
            return Err(RunError::Interrupted { task: name });
        }
        for update in interrupted_updates(self.request, self.snapshot.plan(), task, policy) {
            self.updates.add(update);
        }
        let text = format!("`{name}` was interrupted in the run before");
        if policy == OnInterrupted::Fail {
            let found = self.recovered.task(&name);
            self.result.events.push(RunEvent::AttemptEnded(AttemptEndRecord {
                task: name,
                attempt: found.map_or(1, |found| found.run.last().map_or(0, |last| last.attempt)),
                outcome: Outcome::Failed,
                why: Some("interrupted".to_owned()),
                ..AttemptEndRecord::default()
            }));
        }
        self.remark(Some(RemarkKind::WasInterrupted), text);
        Ok(())
    }

    /// Reopens tasks that failed, or were skipped with a failed one, if requested.
    fn try_again(&mut self, wanted: &[bool]) {
        for task in self
            .snapshot
            .tasks()
            .filter(|&task| wanted.get(task as usize) == Some(&true))
        {
            let retry_failed = self.request.options.selection.retry_failed;
            let again = match self.snapshot.state(task) {
                State::Failed => retry_failed || self.is_tried_again(task),
                State::Skipped => retry_failed && self.recovered.skipped_for_failure(self.snapshot, task),
                _ => false,
            };
            if again {
                self.update(task, Verb::Reset);
            }
        }
    }

    /// Returns whether the dialect tries a failed task again, and the failure was not an interruption.
    fn is_tried_again(&self, task: u32) -> bool {
        let found = self.recovered.task(self.snapshot.name(task));
        let was_running =
            found.is_some_and(|found| matches!(found.progress(), WorkProgress::Running | WorkProgress::Resting));
        let stays_failed = was_running && self.request.config.run.on_interrupted == OnInterrupted::Fail;
        self.snapshot.plan().lifecycle.on_failure == OnFailure::DependentsSkipped && !stays_failed
    }
}

/// Refuses if the user must decide about an interrupted task. Called before any change: a run that does not start leaves the plan
/// unchanged.
pub(super) fn refuse_to_guess(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    recovered: &Recovered,
) -> Result<(), RunError> {
    if request.config.run.on_interrupted != OnInterrupted::Ask {
        return Ok(());
    }
    let verbs = last_verbs(snapshot.path(), snapshot.plan());
    let contradicted = contradicted(snapshot, recovered, &verbs);
    let state_to_be = |task: u32| {
        let set_back = contradicted.iter().find(|(found, ..)| *found == task);
        set_back.map_or_else(|| snapshot.state(task), |(_, _, known)| *known)
    };
    let has_result = |task: u32| {
        let found = recovered.task(snapshot.name(task));
        found.is_some_and(|found| {
            !is_said(
                &verbs,
                snapshot.name(task),
                snapshot.state(task),
                &found.run.plan_file.changed_at,
            ) && late_result(snapshot, found).is_some()
        })
    };
    let claims = claims_of(snapshot);
    let is_interrupted = |task: &u32| {
        state_to_be(*task) == State::Running
            && !has_result(*task)
            && UnownedTask::of(snapshot, recovered, &claims, *task) == UnownedTask::Interrupted
    };
    match snapshot.tasks().find(is_interrupted) {
        Some(task) => Err(RunError::Interrupted {
            task: snapshot.name(task).to_owned(),
        }),
        None => Ok(()),
    }
}

/// Returns whether a verb of another process gave a task its state after a time, so that the state is valid.
fn is_said(verbs: &HashMap<String, LastVerb>, name: &str, found: State, since: &str) -> bool {
    let is_of_state = |last: &LastVerb| match last.to {
        Some(to) => to == found,
        // Verbs that only edit a task do not set its state.
        None => !matches!(
            last.verb.as_str(),
            "set" | "add" | "move" | "rename" | "depend" | "undepend" | "fix"
        ),
    };
    let last = verbs.get(name);
    last.is_some_and(|last| last.verb != VERB && last.at.as_str() > since && is_of_state(last))
}

/// Returns the tasks whose statuses contradict the interrupted run and that no verb set, with both states. An agent, an editor or a script
/// wrote them.
fn contradicted(
    snapshot: &PlanSnapshot,
    recovered: &Recovered,
    verbs: &HashMap<String, LastVerb>,
) -> Vec<(u32, State, State)> {
    let contradiction = |task: u32| {
        let name = snapshot.name(task);
        let (known, since) = recovered.known_state(name)?;
        let found = snapshot.state(task);
        let run = recovered.task(name).map(|found| &found.run);
        // The file may lack the last states of the run.
        let is_late =
            run.is_some_and(|run| !run.plan_file.is_current) && matches!(found, State::Pending | State::Running);
        let may_be_pending = known == State::Running || snapshot.plan().lifecycle.machine.counts_retries;
        let is_open = found == State::Pending && may_be_pending && known != State::Done;
        let holds = found == known || is_late || is_open || is_said(verbs, name, found, since);
        (!holds).then_some((task, found, known))
    };
    snapshot.tasks().filter_map(contradiction).collect()
}

/// Returns the result of a task in the last run that the plan file lacks.
fn late_result(snapshot: &PlanSnapshot, found: &RecoveredTask) -> Option<(Verb, &'static str)> {
    if found.run.plan_file.is_current {
        return None;
    }
    match found.progress() {
        WorkProgress::Done => Some((Verb::Done, "done")),
        WorkProgress::Failed => Some((Verb::Fail, "tried without success")),
        // The failure counts, and the dialect allows another try.
        WorkProgress::Resting if snapshot.plan().lifecycle.machine.counts_retries => {
            Some((Verb::Fail, "tried without success"))
        }
        WorkProgress::Unknown | WorkProgress::Running | WorkProgress::Resting | WorkProgress::Review => None,
    }
}

/// Returns the review of a task that waited for one when its run was interrupted.
fn reviewed(found: &RecoveredTask, name: &str, state: State) -> Option<RunEvent> {
    let task = name.to_owned();
    match state {
        _ if found.progress() != WorkProgress::Review || found.is_of_ended_run => None,
        State::Done => Some(RunEvent::Approved(ApprovalRecord {
            task,
            ..ApprovalRecord::default()
        })),
        State::Failed => Some(RunEvent::AttemptEnded(AttemptEndRecord {
            task,
            attempt: found.run.last().map_or(0, |last| last.attempt),
            outcome: Outcome::Failed,
            why: Some("rejected".to_owned()),
            ..AttemptEndRecord::default()
        })),
        _ => None,
    }
}

/// Returns the event that another process finished a task after its run was interrupted, if the log lacks it.
fn taken_over(found: &RecoveredTask, name: &str, last: Option<&LastVerb>) -> Option<RunEvent> {
    let was_under_way = matches!(found.progress(), WorkProgress::Running | WorkProgress::Resting);
    if found.is_of_ended_run || !was_under_way || found.run.taken_over.is_some() {
        return None;
    }
    let moved = last?.take_over(name, &found.run.plan_file.changed_at)?;
    Some(RunEvent::PlanEdited(PlanEditRecord {
        what: format!("another process moved `{}` to {}", visible(name), moved.to),
        moved: vec![moved],
        ..PlanEditRecord::default()
    }))
}

/// Returns the updates for an interrupted attempt: it has failed, and is tried again if requested.
pub(super) fn interrupted_updates(
    request: &RunRequest<'_>,
    plan: &Plan,
    task: u32,
    policy: OnInterrupted,
) -> Vec<StatusUpdate> {
    // A dialect that counts attempts decides itself about another one.
    if policy == OnInterrupted::Fail || plan.lifecycle.machine.counts_retries {
        let note = Some("interrupted".to_owned());
        let failed = plain(request, task, Verb::Fail);
        return vec![StatusUpdate { note, ..failed }];
    }
    // It starts again, with its earlier notes.
    vec![plain(request, task, Verb::Fail), plain(request, task, Verb::Reset)]
}

/// Returns whether a dialect can store the output of a task, apart from notes for the next agent.
pub(super) fn keeps_output(linked: &LinkedPlan) -> bool {
    let table = linked.dialect.table_of(&linked.plan, Owner::Task(0));
    let has = |field: Field| table.is_some_and(|table| table.fields.iter().any(|known| known.field == field));
    has(Field::Output) || has(Field::History)
}

pub(super) fn skipped_by(event: &RunEvent) -> Option<&str> {
    match event {
        RunEvent::Skipped(skipped) => Some(&skipped.task),
        _ => None,
    }
}

fn is_skipped(snapshot: &PlanSnapshot, name: &str) -> bool {
    snapshot
        .named(name)
        .is_ok_and(|task| snapshot.state(task) == State::Skipped)
}
