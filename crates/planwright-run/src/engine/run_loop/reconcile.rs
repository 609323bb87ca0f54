//! Reconciles the plan file with the logs of earlier runs before a run begins.

use std::collections::HashMap;

use planwright_core::edit::Owner;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::lifecycle::OnFailure;
use planwright_core::plan::{Field, Plan, State, Verb};
use planwright_core::text::visible;

use super::super::held_tasks::{HeldTask, claims_of};
use super::super::naming::listed;
use super::super::recovery::{Recovered, RecoveredTask, Unattended};
use super::super::status_updates::{NOT_SKIPPED, PendingUpdates, StatusUpdate, VERB, plain, set_back_remark, way_back};
use super::super::{PlanSnapshot, RunError, RunRequest};
use crate::claims::Claims;
use crate::config::OnInterrupted;
use crate::journal::{ChangeRecord, plan_id};
use crate::proofs::Proofs;
use crate::revise::{LastVerb, ReviseError, last_verbs, names_in};
use crate::runs::state::WorkProgress;
use crate::runs::{Approved, Finished, Outcome, PlanEditRecord, RemarkKind, RemarkRecord, RunEvent};
use crate::store::{PlanFile, Store, history};

/// What was changed in the plan before the run begins.
pub(super) struct Reconciled {
    pub(super) remarks: Vec<RemarkRecord>,
    /// Tasks that wait for approval since an earlier run.
    pub(super) reviews: Vec<String>,
    /// What happened to tasks since the last record, for the log.
    pub(super) events: Vec<RunEvent>,
    /// Whether the plan file was changed.
    pub(super) has_written: bool,
    /// Tasks that run although the plan marks them as ones to skip: no verb did that.
    pub(super) not_skipped: Vec<String>,
}

/// Brings the plan file up to the logs of earlier runs, and decides about what they left: interrupted attempts, and failures that
/// are to be tried again.
pub(super) fn reconcile(
    request: &RunRequest<'_>,
    snapshot: &mut PlanSnapshot,
    recovered: &Recovered,
    wanted: &[bool],
) -> Result<Reconciled, RunError> {
    let mut reconciled = Reconciled {
        remarks: Vec::new(),
        reviews: Vec::new(),
        events: Vec::new(),
        has_written: false,
        not_skipped: Vec::new(),
    };
    let mut updates = PendingUpdates::default();
    let verbs = last_verbs(snapshot.path(), snapshot.plan());
    set_back_claims(request, snapshot, recovered, &verbs, &mut reconciled, &mut updates);
    keep_wanted(snapshot, recovered, &verbs, &mut reconciled);
    set_back_unproven(request, snapshot, &mut reconciled, &mut updates)?;
    reconciled.has_written |= settle(&mut updates, snapshot, &mut reconciled.events)?;
    for task in tasks_of(snapshot) {
        let name = snapshot.name(task);
        let Some(found) = recovered.task(name) else {
            continue;
        };
        let landed = found.found_landing().filter(|_| !found.is_of_ended_run);
        reconciled.events.extend(landed.cloned().map(RunEvent::Merged));
        match is_said(&verbs, name, snapshot.state(task), &found.run.changed_at) {
            true => {
                reconciled.events.extend(reviewed(found, name, snapshot.state(task)));
                reconciled.events.extend(taken_over(found, name, verbs.get(name)));
            }
            false => late_updates(request, snapshot, found, task, &mut reconciled, &mut updates),
        }
    }
    reconciled.has_written |= settle(&mut updates, snapshot, &mut reconciled.events)?;
    let claims = claims_of(snapshot);
    for task in tasks_of(snapshot) {
        if snapshot.state(task) == State::Running {
            take_up(
                request,
                snapshot,
                recovered,
                &claims,
                task,
                &mut reconciled,
                &mut updates,
            )?;
        }
    }
    reconciled.has_written |= settle(&mut updates, snapshot, &mut reconciled.events)?;
    for task in tasks_of(snapshot).filter(|&task| wanted.get(task as usize) == Some(&true)) {
        let again = match snapshot.state(task) {
            State::Failed => tries_again(request, snapshot, recovered, task),
            State::Skipped => request.options.retry_failed && recovered.skipped_for_failure(snapshot, task),
            _ => false,
        };
        if again {
            updates.add(plain(request, task, Verb::Reset));
        }
    }
    reconciled.has_written |= settle(&mut updates, snapshot, &mut reconciled.events)?;
    // What was skipped with a failure that is tried again is not skipped any more.
    reconciled
        .events
        .retain(|event| skipped_by(event).is_none_or(|task| is_skipped(snapshot, task)));
    Ok(reconciled)
}

/// Refuses where the user is to be asked about an interrupted task. Called before anything is changed: a run that does not begin leaves
/// the plan unchanged.
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
            !is_said(&verbs, snapshot.name(task), snapshot.state(task), &found.run.changed_at)
                && late_result(snapshot, found).is_some()
        })
    };
    let claims = claims_of(snapshot);
    let is_interrupted = |task: &u32| {
        state_to_be(*task) == State::Running
            && !has_result(*task)
            && Unattended::of(snapshot, recovered, &claims, *task) == Unattended::Interrupted
    };
    match tasks_of(snapshot).find(is_interrupted) {
        Some(task) => Err(RunError::Interrupted {
            task: snapshot.name(task).to_owned(),
        }),
        None => Ok(()),
    }
}

fn tasks_of(snapshot: &PlanSnapshot) -> std::ops::Range<u32> {
    0..snapshot.plan().tasks().len() as u32
}

/// Returns whether a verb of another process gave a task its state after a time: that holds.
fn is_said(verbs: &HashMap<String, LastVerb>, name: &str, found: State, since: &str) -> bool {
    let is_of_state = |last: &LastVerb| match last.to {
        Some(to) => to == found,
        // Verbs that only edit a task say nothing of its state.
        None => !matches!(
            last.verb.as_str(),
            "set" | "add" | "move" | "rename" | "depend" | "undepend" | "fix"
        ),
    };
    let last = verbs.get(name);
    last.is_some_and(|last| last.verb != VERB && last.at.as_str() > since && is_of_state(last))
}

/// Returns the tasks whose statuses contradict the interrupted run and were set by no verb, as found and as the run knows them: they
/// are claims of an agent, an editor or a script.
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
        // The file may not have had the last states of the run yet.
        let is_late = run.is_some_and(|run| !run.is_projected) && matches!(found, State::Pending | State::Running);
        let may_be_pending = known == State::Running || snapshot.plan().lifecycle.machine.counts_retries;
        let is_open = found == State::Pending && may_be_pending && known != State::Done;
        let holds = found == known || is_late || is_open || is_said(verbs, name, found, since);
        (!holds).then_some((task, found, known))
    };
    tasks_of(snapshot).filter_map(contradiction).collect()
}

/// Sets statuses of the plan file back that contradict the interrupted run.
fn set_back_claims(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    recovered: &Recovered,
    verbs: &HashMap<String, LastVerb>,
    reconciled: &mut Reconciled,
    updates: &mut PendingUpdates,
) {
    let mut set_back = Vec::new();
    for (task, found, known) in contradicted(snapshot, recovered, verbs) {
        for &verb in way_back(found, known) {
            updates.add(plain(request, task, verb));
        }
        set_back.push((snapshot.name(task), found, known));
    }
    if !set_back.is_empty() {
        reconciled.remarks.push(set_back_remark(&set_back));
    }
}

/// Has tasks run that were marked as ones to skip since the run was interrupted, and not by a verb: that is a status as well.
fn keep_wanted(
    snapshot: &PlanSnapshot,
    recovered: &Recovered,
    verbs: &HashMap<String, LastVerb>,
    reconciled: &mut Reconciled,
) {
    let plan = snapshot.plan();
    for (task, name) in plan
        .tasks()
        .iter()
        .zip(tasks_of(snapshot).map(|task| snapshot.name(task)))
    {
        let is_by_verb = |since: &str| {
            verbs
                .get(name)
                .is_some_and(|last| last.verb != VERB && last.at.as_str() > since)
        };
        let since = recovered.wanted_since(name).filter(|_| task.held);
        if since.is_some_and(|since| !is_by_verb(since)) {
            reconciled.remarks.push(RemarkRecord {
                kind: Some(RemarkKind::StatusSetBack),
                task: Some(name.to_owned()),
                ..RemarkRecord::new(NOT_SKIPPED)
            });
            reconciled.not_skipped.push(name.to_owned());
        }
    }
}

/// Opens tasks again that are marked as done and that no passed verification proves, where the configuration requires one. What
/// was done when planwright first read the plan counts.
fn set_back_unproven(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    reconciled: &mut Reconciled,
    updates: &mut PendingUpdates,
) -> Result<(), RunError> {
    let file = PlanFile {
        path: snapshot.path(),
        id: plan_id(snapshot.plan()),
    };
    let history = history(file).map_err(ReviseError::Store)?;
    if !history.has_beginning() {
        let beginning = ChangeRecord {
            verb: VERB.to_owned(),
            found_done: Some(names_in(snapshot.plan(), State::Done)),
            ..ChangeRecord::default()
        };
        return Store::default()
            .record_note(file, beginning)
            .map_err(|error| ReviseError::Store(error).into());
    }
    if !request.config.verify.required {
        return Ok(());
    }
    let proofs = Proofs::of(&history);
    let is_unproven = |task: &u32| snapshot.state(*task) == State::Done && !proofs.has(snapshot.name(*task));
    let unproven: Vec<u32> = tasks_of(snapshot).filter(is_unproven).collect();
    if unproven.is_empty() {
        return Ok(());
    }
    for &task in &unproven {
        updates.add(plain(request, task, Verb::Reset));
    }
    let names: Vec<&str> = unproven.iter().map(|&task| snapshot.name(task)).collect();
    reconciled.remarks.push(RemarkRecord {
        kind: Some(RemarkKind::StatusSetBack),
        ..RemarkRecord::new(format!(
            "verification is required (verify.required), and no passed verification proves that {} done: set back to pending",
            match names.as_slice() {
                [only] => format!("`{}` is", visible(only)),
                several => format!("{} are", listed(several)),
            }
        ))
    });
    Ok(())
}

/// Adds the result of a task in the last run, where the plan file does not have it.
fn late_updates(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    found: &RecoveredTask,
    task: u32,
    reconciled: &mut Reconciled,
    updates: &mut PendingUpdates,
) {
    let Some((verb, words)) = late_result(snapshot, found) else {
        return;
    };
    match snapshot.state(task) {
        // That it was started may not have been written either.
        State::Pending => updates.add(plain(request, task, Verb::Start)),
        State::Running => {}
        _ => return,
    }
    let last = found.run.last().cloned().unwrap_or_default();
    updates.add(StatusUpdate {
        note: last.why,
        output: last.output.filter(|_| keeps_output(snapshot.linked())),
        files: last.files,
        by: Some(last.agent),
        receipts: (verb == Verb::Done).then(|| found.run.receipts()),
        ..plain(request, task, verb)
    });
    reconciled.remarks.push(RemarkRecord::new(format!(
        "`{}` was {words} in the run before, and the plan file learns of it now",
        snapshot.name(task)
    )));
}

/// Returns the result of a task in the last run that the plan file does not have.
fn late_result(snapshot: &PlanSnapshot, found: &RecoveredTask) -> Option<(Verb, &'static str)> {
    if found.run.is_projected {
        return None;
    }
    match found.progress() {
        WorkProgress::Done => Some((Verb::Done, "done")),
        WorkProgress::Failed => Some((Verb::Fail, "tried without success")),
        // It counts, and what the dialect says of it is that it may be tried again.
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
        State::Done => Some(RunEvent::Approved(Approved {
            task,
            ..Approved::default()
        })),
        State::Failed => Some(RunEvent::Finished(Finished {
            task,
            attempt: found.run.last().map_or(0, |last| last.attempt),
            outcome: Outcome::Failed,
            why: Some("rejected".to_owned()),
            ..Finished::default()
        })),
        _ => None,
    }
}

/// Returns that another process brought a task to an end after its run was interrupted, where the log does not have it.
fn taken_over(found: &RecoveredTask, name: &str, last: Option<&LastVerb>) -> Option<RunEvent> {
    let was_under_way = matches!(found.progress(), WorkProgress::Running | WorkProgress::Resting);
    if found.is_of_ended_run || !was_under_way || found.run.taken_over.is_some() {
        return None;
    }
    let moved = last?.take_over(name, &found.run.changed_at)?;
    Some(RunEvent::Edited(PlanEditRecord {
        what: format!("another process moved `{}` to {}", visible(name), moved.to),
        moved: vec![moved],
        ..PlanEditRecord::default()
    }))
}

/// Decides about a task that the plan has as running, while no run does.
fn take_up(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    recovered: &Recovered,
    claims: &Claims,
    task: u32,
    reconciled: &mut Reconciled,
    updates: &mut PendingUpdates,
) -> Result<(), RunError> {
    let name = snapshot.name(task);
    match Unattended::of(snapshot, recovered, claims, task) {
        Unattended::InReview => {
            reconciled.reviews.push(name.to_owned());
            return Ok(());
        }
        Unattended::Approved => return Ok(()),
        Unattended::StartedByHand => {
            let held = HeldTask::with(snapshot, task, claims);
            reconciled.remarks.push(RemarkRecord::new(format!(
                "{}: the run leaves it alone. `{}` gives it to the run",
                held.words(),
                held.release
            )));
            return Ok(());
        }
        Unattended::LeaseOver => {
            let held = HeldTask::with(snapshot, task, claims);
            reconciled.remarks.push(RemarkRecord::new(format!(
                "{}, and that lease is over: the run takes it",
                held.words()
            )));
            updates.add(plain(request, task, Verb::Reset));
            return Ok(());
        }
        Unattended::Interrupted => {}
    }
    let found = recovered.task(name);
    let policy = request.config.run.on_interrupted;
    if policy == OnInterrupted::Ask {
        let task = name.to_owned();
        return Err(RunError::Interrupted { task });
    }
    for update in interrupted_updates(request, snapshot.plan(), task, policy) {
        updates.add(update);
    }
    if policy == OnInterrupted::Fail {
        reconciled.events.push(RunEvent::Finished(Finished {
            task: name.to_owned(),
            attempt: found.map_or(1, |found| found.run.last().map_or(0, |last| last.attempt)),
            outcome: Outcome::Failed,
            why: Some("interrupted".to_owned()),
            ..Finished::default()
        }));
    }
    reconciled.remarks.push(RemarkRecord {
        kind: Some(RemarkKind::WasInterrupted),
        ..RemarkRecord::new(format!("`{name}` was interrupted in the run before"))
    });
    Ok(())
}

/// Returns the updates for an attempt that was interrupted: it has failed, and is tried again where that is wanted.
pub(super) fn interrupted_updates(
    request: &RunRequest<'_>,
    plan: &Plan,
    task: u32,
    policy: OnInterrupted,
) -> Vec<StatusUpdate> {
    // Where the dialect counts attempts, it says itself whether there is another one.
    if policy == OnInterrupted::Fail || plan.lifecycle.machine.counts_retries {
        let note = Some("interrupted".to_owned());
        let failed = plain(request, task, Verb::Fail);
        return vec![StatusUpdate { note, ..failed }];
    }
    // It begins anew, with what its notes said before.
    vec![plain(request, task, Verb::Fail), plain(request, task, Verb::Reset)]
}

/// Returns whether a task that failed is tried again.
fn tries_again(request: &RunRequest<'_>, snapshot: &PlanSnapshot, recovered: &Recovered, task: u32) -> bool {
    let was_running = recovered
        .task(snapshot.name(task))
        .is_some_and(|found| matches!(found.progress(), WorkProgress::Running | WorkProgress::Resting));
    let stays_failed = was_running && request.config.run.on_interrupted == OnInterrupted::Fail;
    let by_dialect = snapshot.plan().lifecycle.on_failure == OnFailure::DependentsSkipped;
    request.options.retry_failed || (by_dialect && !stays_failed)
}

/// Writes what has to be written before the run begins, and reads the plan again. Returns whether there was anything.
fn settle(
    updates: &mut PendingUpdates,
    snapshot: &mut PlanSnapshot,
    events: &mut Vec<RunEvent>,
) -> Result<bool, RunError> {
    if updates.is_empty() {
        return Ok(false);
    }
    let written = updates.write(snapshot)?;
    events.extend(written.along.into_iter().map(RunEvent::Skipped));
    *snapshot = PlanSnapshot::open(snapshot.path(), snapshot.forced())?;
    Ok(true)
}

/// Returns whether a dialect has a place for what came out of a task, other than the notes for who takes it.
pub(super) fn keeps_output(linked: &LinkedPlan) -> bool {
    let table = linked.dialect.table_of(&linked.plan, Owner::Task(0));
    let has = |field: Field| table.is_some_and(|table| table.fields.iter().any(|known| known.field == field));
    has(Field::Output) || has(Field::History)
}

/// Returns the task that an event skips.
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
