//! How a run begins, or goes on: what earlier runs left is put in order before anything new starts.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use planwright_core::dialect;
use planwright_core::edit::{Owner, PlanRequest};
use planwright_core::plan::lifecycle::OnFailure;
use planwright_core::plan::{Field, Plan, PlanVerb, Slots, State, Verb};
use planwright_core::prompt::Template;
use planwright_core::schedule::{Job, Jobs, Schedule};

use super::super::attempt::{keeper_of_plan, mark_of_plan};
use super::super::ground::{Ground, switch_branch};
use super::super::plan_writer::{PlanWriter, StatusUpdate, VERB};
use super::super::prepare::template_of;
use super::super::prepare::{lay_out, prepare};
use super::super::recovery::{Past, Stage, Story};
use super::super::{PlanSnapshot, Prepared, RunError, RunRequest, Watcher};
use super::RunLoop;
use crate::agent_output::all_secrets;
use crate::clock;
use crate::config::OnInterrupted;
use crate::files::DiskFiles;
use crate::journal::{Header, plan_id};
use crate::place::{PlanPlace, STATE_FOLDER, make_state_folder};
use crate::revise::{Target, last_words, transition_plan, was_started_by_hand};
use crate::runs::{
    self, Approved, Begun, Finished, Live, Requests, Resumed, RunEvent, RunLog, RunPlace, RunRecord, Spent, TaskName,
};
use crate::shell::argument;
use crate::user::user;
use crate::worker::{self, Workers};

/// How long the processes that a killed run left behind have to end.
const ORPHAN_GRACE: Duration = Duration::from_secs(5);

static FILES: DiskFiles = DiskFiles;

impl<'a> RunLoop<'a> {
    pub(super) fn begin(
        request: &'a RunRequest<'a>,
        prepared: Prepared,
        workers: &'a mut Workers,
        interrupts: &'a AtomicU32,
        watcher: &'a mut dyn Watcher,
    ) -> Result<Self, RunError> {
        let plan = prepared.snapshot.place().clone();
        let now = clock::now();
        let state = plan.root.join(STATE_FOLDER);
        make_state_folder(&FILES, &plan.root)
            .map_err(RunError::io(format!("the folder `{}` cannot be made", state.display())))?;
        let mut live = Live::acquire(&FILES, &plan, "", &now)?;
        if let Some(own_id) = plan_id(prepared.snapshot.plan()) {
            live.hold_id(&FILES, &plan, own_id)?;
        }
        // Whoever ran it until now may have changed it since it was looked at.
        let prepared = match prepared.snapshot.may_have_changed() {
            true => prepare(request)?,
            false => prepared,
        };
        // Better now than when agents have worked all night.
        prepared.snapshot.try_out()?;
        let mut past = Past::of(&plan, plan_id(prepared.snapshot.plan()))?;
        past.look_for_merges(&plan.root);
        // Before anything is touched: a log that may not be added to stays with all that belongs to it.
        let resumed = match &past.interrupted {
            Some(place) => {
                place
                    .refuse_links(&FILES)
                    .map_err(RunError::io("the interrupted run cannot go on"))?;
                Some((place.clone(), RunLog::resume(&FILES, &place.log())?))
            }
            None => None,
        };
        refuse_beside_keeper(&plan)?;
        let n_ended = end_orphans(&past, &plan);
        let template = template_of(request)?;

        let Prepared {
            mut snapshot,
            mut jobs,
            mut agents,
            mut policy,
            mut remarks,
            chosen,
            must_approve,
            ..
        } = prepared;
        let mut is_other = false;
        if request.options.switch_branch {
            remarks.retain(|remark| !remark.contains("--switch"));
            if let Some(remark) = switch_branch(&snapshot)? {
                remarks.push(remark);
                // The branch has a plan of its own.
                snapshot = PlanSnapshot::open(snapshot.path(), snapshot.forced())?;
                jobs = lay_out(request, &snapshot)?.jobs;
                is_other = true;
            }
        }
        if must_approve {
            remarks.push(approve(request, &mut snapshot, &now)?);
        }
        let wanted: Vec<bool> = jobs.iter().map(|job| job.is_wanted).collect();
        let made_up = make_up(request, &mut snapshot, &past, &wanted)?;
        remarks.extend(made_up.remarks);
        if is_other || must_approve || made_up.has_written {
            // What was failed or skipped may be to run by now.
            let laid_out = lay_out(request, &snapshot)?;
            (jobs, agents) = (laid_out.jobs, laid_out.choice.agents);
        }
        let (place, log, cut) = open_log(resumed, &snapshot, &now)?;
        live.name(&FILES, place.id())
            .map_err(RunError::io("the run's lock cannot be written"))?;
        let ground = Ground::open(&snapshot, &chosen, &place)?;
        for (task, job) in jobs.iter_mut().enumerate() {
            let name = snapshot.name(task as u32);
            // What a provider's limit or a broken agent ended does not count.
            let n_tried = past.spent_on.get(name).map_or(0, |spent| spent.n_attempts);
            let n_tried = u32::try_from(n_tried).unwrap_or(u32::MAX);
            // What was interrupted is tried once more in any case; the dialect that counts has counted already.
            if !snapshot.plan().lifecycle.machine.counts_retries {
                job.max_attempts = job.max_attempts.saturating_sub(n_tried).max(1);
            }
            let story = past.stories.get(name);
            job.awaits_review = job.state == State::Running && story.is_some_and(|story| story.stage == Stage::Review);
        }
        let written: Vec<State> = (0..jobs.len() as u32).map(|task| snapshot.state(task)).collect();
        // What the interrupted part of the run had begun is a part of it.
        let gone_along: HashSet<&str> = made_up.events.iter().filter_map(skipped_by).collect();
        let is_counted = |(task, job): (usize, &Job)| {
            let name = snapshot.name(task as u32);
            let is_part = past.attempts.contains_key(name) || gone_along.contains(name);
            is_to_run(job) || (job.is_wanted && is_part)
        };
        let counted: Vec<bool> = jobs.iter().enumerate().map(is_counted).collect();
        let earlier = match past.interrupted {
            Some(_) => past.earlier.clone(),
            None => request.options.earlier.clone(),
        };
        let begun = Begun {
            run: place.id().to_owned(),
            pid: std::process::id(),
            start_time: worker::own_start_time(),
            slots: most_slots(policy.slots),
            n_tasks: counted.iter().filter(|is_counted| **is_counted).count() as u64,
            by: request.options.by.clone(),
            isolation: Some(ground.word().to_owned()),
            continues: past.interrupted.is_some(),
            earlier: Some(earlier.clone()).filter(|earlier| *earlier != Spent::default()),
            replanned: request.options.replanned.clone(),
        };
        // What the interrupted part of the run had spent is spent.
        let why_stopped = past.spent.with(&earlier).over_run(&request.config.run.budget);
        if why_stopped.is_some() {
            policy.budget = Some(0);
        }
        let (schedule, actions) = Schedule::begin(Jobs::new(jobs), policy);
        let (outputs, failures) = remembered(&past, &snapshot);
        let proven = past.stories.iter();
        let proven = proven.filter_map(|(name, story)| Some((snapshot.named(name).ok()?, story.proven()?)));
        let proven = proven.collect();
        let mut run_loop = RunLoop {
            request,
            workers,
            interrupts,
            n_interrupts: 0,
            watcher,
            requests: Requests::from_now(&place.requests()),
            place,
            _live: live,
            log,
            untold: Vec::from_iter(cut),
            agents,
            template: template.unwrap_or_else(|| Template::built_in(snapshot.plan().dialect)),
            secrets: all_secrets(request.config),
            environments: HashMap::new(),
            schedule,
            actions: VecDeque::from(actions),
            attempts: HashMap::new(),
            spawning: Vec::new(),
            next_key: 1,
            asking: HashMap::new(),
            decisions: HashMap::new(),
            slots: Vec::new(),
            n_tried: past.attempts,
            ground,
            trees: HashMap::new(),
            proven,
            merges: VecDeque::new(),
            is_merging: false,
            plan_writer: PlanWriter::default(),
            counted,
            settled: HashMap::new(),
            meant: written.clone(),
            written,
            resting: Vec::new(),
            rests: HashMap::new(),
            turns: HashMap::new(),
            limits: past.limits,
            outputs,
            failures,
            began: clock::instant(),
            last_glance: clock::instant(),
            invalid: None,
            is_paused: false,
            has_told_stop: false,
            n_unverified: past.n_unverified,
            spent: past.spent,
            earlier,
            spent_on: past.spent_on,
            why_stopped,
            is_hindered: false,
            unwritten: None,
            snapshot,
        };
        run_loop.record(RunEvent::Begun(begun))?;
        if n_ended > 0 {
            remarks.push(format!(
                "{n_ended} processes of an interrupted run were still there, and were ended"
            ));
        }
        for text in remarks {
            run_loop.remark(None, text)?;
        }
        for task in made_up.reviews {
            run_loop.record(RunEvent::Review(TaskName { task }))?;
        }
        for event in made_up.events {
            run_loop.record(event)?;
        }
        run_loop.commit()?;
        Ok(run_loop)
    }
}

/// Returns the task that an event says to be skipped.
fn skipped_by(event: &RunEvent) -> Option<&str> {
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

fn is_to_run(job: &Job) -> bool {
    job.is_wanted && (job.state == State::Pending || job.awaits_review)
}

fn most_slots(slots: Slots) -> u32 {
    match slots {
        Slots::Fixed(slots) | Slots::StageWidth(slots) => slots,
    }
}

/// Refuses to run a plan whose processes somebody looks after, though the lock does not say so: its folder was removed, or another
/// one is the root by now.
fn refuse_beside_keeper(plan: &PlanPlace) -> Result<(), RunError> {
    let Some(pid) = keeper_of_plan(&plan.target) else {
        return Ok(());
    };
    Err(RunError::refused(
        format!("the plan is being run by process {pid}, whose lock is not there any more"),
        format!(
            "somebody has removed or replaced `{STATE_FOLDER}`, or made another folder the root; end that run first: kill {pid}"
        ),
    ))
}

/// Ends what killed runs left behind; returns how many processes that were. Nobody else runs the plan: the lock says so.
fn end_orphans(past: &Past, plan: &PlanPlace) -> usize {
    let header = past.interrupted.as_ref().and_then(|run| runs::header(&run.log()).ok());
    // The plan may have been moved since they were started.
    let before = header.map(|header| plan.root.join(header.path));
    let before = before.filter(|before| *before != plan.target);
    let mut n_ended = 0;
    for path in [Some(plan.target.clone()), before].into_iter().flatten() {
        let mark = mark_of_plan(&path);
        let found = worker::orphans(&mark, &past.processes);
        if !found.is_empty() {
            worker::end(&mark, &found, ORPHAN_GRACE);
        }
        n_ended += found.len();
    }
    n_ended
}

/// Takes the log of the run that goes on, or begins one. Returns what was cut from it too.
fn open_log(
    resumed: Option<(RunPlace, Resumed<'static>)>,
    snapshot: &PlanSnapshot,
    now: &str,
) -> Result<(RunPlace, RunLog<'static>, Option<RunRecord>), RunError> {
    if let Some((place, resumed)) = resumed {
        return Ok((place, resumed.log, resumed.cut));
    }
    let plan = snapshot.place();
    let place = RunPlace::create(&FILES, &plan.root, now).map_err(RunError::io("the run's folder cannot be made"))?;
    let header = Header {
        path: plan.relative.clone(),
        id: plan_id(snapshot.plan()).map(str::to_owned),
    };
    let log = RunLog::begin(&FILES, &place.log(), &header)?;
    Ok((place, log, None))
}

/// Approves a plan, as the user said with the run.
fn approve(request: &RunRequest<'_>, snapshot: &mut PlanSnapshot, now: &str) -> Result<String, RunError> {
    let target = Target {
        path: snapshot.path(),
        forced: snapshot.forced(),
        dry: false,
    };
    let by = request.options.by.clone().unwrap_or_else(user);
    transition_plan(
        target,
        &PlanRequest {
            verb: PlanVerb::Approve,
            note: None,
            by: Some(&by),
            now,
        },
    )?;
    *snapshot = PlanSnapshot::open(snapshot.path(), snapshot.forced())?;
    Ok("the plan was approved with this run".to_owned())
}

/// What was done to the plan before the run begins.
struct MadeUp {
    remarks: Vec<String>,
    /// Tasks that wait for approval since an earlier run.
    reviews: Vec<String>,
    /// What became of tasks meanwhile, for the log.
    events: Vec<RunEvent>,
    /// Whether the plan file was changed.
    has_written: bool,
}

/// Brings the plan file up to what earlier runs knew, and settles what they left: attempts that were interrupted, and failures
/// that are to be tried again.
fn make_up(
    request: &RunRequest<'_>,
    snapshot: &mut PlanSnapshot,
    past: &Past,
    wanted: &[bool],
) -> Result<MadeUp, RunError> {
    let mut made_up = MadeUp {
        remarks: Vec::new(),
        reviews: Vec::new(),
        events: Vec::new(),
        has_written: false,
    };
    let mut updates = PlanWriter::default();
    let words = last_words(snapshot.path(), snapshot.plan());
    for task in tasks_of(snapshot) {
        let name = snapshot.name(task);
        let Some(story) = past.stories.get(name) else {
            continue;
        };
        // What somebody said since then holds.
        let is_said = words.get(name).is_some_and(|(verb, at)| verb != VERB && *at > story.at);
        match is_said {
            true => made_up.events.extend(reviewed(story, name, snapshot.state(task))),
            false => late_updates(request, snapshot, story, task, &mut made_up, &mut updates),
        }
    }
    made_up.has_written |= settle(&mut updates, snapshot, &mut made_up.events)?;
    for task in tasks_of(snapshot) {
        if snapshot.state(task) == State::Running {
            take_up(request, snapshot, past, task, &mut made_up, &mut updates)?;
        }
    }
    made_up.has_written |= settle(&mut updates, snapshot, &mut made_up.events)?;
    for task in tasks_of(snapshot).filter(|&task| wanted.get(task as usize) == Some(&true)) {
        let again = match snapshot.state(task) {
            State::Failed => tries_again(request, snapshot, past, task),
            State::Skipped => request.options.retry_failed && was_skipped_for_failure(snapshot, past, task),
            _ => false,
        };
        if again {
            updates.add(plain(request, task, Verb::Reset));
        }
    }
    made_up.has_written |= settle(&mut updates, snapshot, &mut made_up.events)?;
    // What was skipped with a failure that is tried again is not skipped any more.
    made_up
        .events
        .retain(|event| skipped_by(event).is_none_or(|task| is_skipped(snapshot, task)));
    Ok(made_up)
}

fn tasks_of(snapshot: &PlanSnapshot) -> std::ops::Range<u32> {
    0..snapshot.plan().tasks().len() as u32
}

/// Has the plan file learn what came of a task in the run before, where that is not in it.
fn late_updates(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    story: &Story,
    task: u32,
    made_up: &mut MadeUp,
    updates: &mut PlanWriter,
) {
    if story.is_projected {
        return;
    }
    let (verb, words) = match story.stage {
        Stage::Done => (Verb::Done, "done"),
        Stage::Failed => (Verb::Fail, "tried without success"),
        // It counts, and what the dialect says of it is that it may be tried again.
        Stage::Resting if snapshot.plan().lifecycle.machine.counts_retries => (Verb::Fail, "tried without success"),
        Stage::Unknown | Stage::Running | Stage::Resting | Stage::Review => return,
    };
    match snapshot.state(task) {
        // That it was started may not have been written either.
        State::Pending => updates.add(plain(request, task, Verb::Start)),
        State::Running => {}
        _ => return,
    }
    updates.add(StatusUpdate {
        note: story.why.clone(),
        output: story.output.clone().filter(|_| keeps_output(snapshot.plan())),
        files: story.files.clone(),
        by: Some(story.agent.clone()),
        ..plain(request, task, verb)
    });
    made_up.remarks.push(format!(
        "`{}` was {words} in the run before, and the plan file learns of it now",
        snapshot.name(task)
    ));
}

/// Returns what somebody said of a task that waited for review when its run was interrupted.
fn reviewed(story: &Story, name: &str, state: State) -> Option<RunEvent> {
    let task = name.to_owned();
    match state {
        _ if story.stage != Stage::Review || story.is_of_ended_run => None,
        State::Done => Some(RunEvent::Approved(Approved { task, by: None })),
        State::Failed => Some(RunEvent::Finished(Finished {
            task,
            attempt: story.attempt,
            outcome: "failed".to_owned(),
            why: Some("rejected".to_owned()),
            ..Finished::default()
        })),
        _ => None,
    }
}

/// Decides about a task that the plan has as running, while nobody runs it.
fn take_up(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    past: &Past,
    task: u32,
    made_up: &mut MadeUp,
    updates: &mut PlanWriter,
) -> Result<(), RunError> {
    let name = snapshot.name(task);
    let story = past.stories.get(name);
    let stage = story.map(|story| story.stage);
    if stage == Some(Stage::Review) {
        made_up.reviews.push(name.to_owned());
        return Ok(());
    }
    let is_open = story.is_some_and(|story| !story.is_of_ended_run);
    let is_of_run = is_open && matches!(stage, Some(Stage::Running | Stage::Resting));
    if !is_of_run && was_started_by_hand(snapshot.path(), snapshot.plan(), name) {
        made_up.remarks.push(format!(
            "`{name}` was started by hand and is left alone; `planwright reset {}` gives it to the run",
            argument(name)
        ));
        return Ok(());
    }
    let policy = request.config.run.on_interrupted;
    if policy == OnInterrupted::Ask {
        let task = name.to_owned();
        return Err(RunError::Interrupted { task });
    }
    for update in interrupted_updates(request, snapshot.plan(), task, policy) {
        updates.add(update);
    }
    if policy == OnInterrupted::Fail {
        made_up.events.push(RunEvent::Finished(Finished {
            task: name.to_owned(),
            attempt: story.map_or(1, |story| story.attempt),
            outcome: "failed".to_owned(),
            why: Some("interrupted".to_owned()),
            ..Finished::default()
        }));
    }
    made_up
        .remarks
        .push(format!("`{name}` was interrupted in the run before"));
    Ok(())
}

/// Returns what the plan learns of an attempt that was interrupted: it has failed, and is tried again where that is wanted.
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
fn tries_again(request: &RunRequest<'_>, snapshot: &PlanSnapshot, past: &Past, task: u32) -> bool {
    let was_running = past
        .stories
        .get(snapshot.name(task))
        .is_some_and(|story| matches!(story.stage, Stage::Running | Stage::Resting));
    let stays_failed = was_running && request.config.run.on_interrupted == OnInterrupted::Fail;
    let by_dialect = snapshot.plan().lifecycle.on_failure == OnFailure::DependentsSkipped;
    request.options.retry_failed || (by_dialect && !stays_failed)
}

/// Returns whether a run left a task out because of another one that is still failed.
fn was_skipped_for_failure(snapshot: &PlanSnapshot, past: &Past, task: u32) -> bool {
    let story = past.stories.get(snapshot.name(task));
    let because = story.and_then(|story| story.skipped_for.as_deref());
    because.is_some_and(|because| {
        snapshot
            .named(because)
            .is_ok_and(|failed| snapshot.state(failed) == State::Failed)
    })
}

/// Returns a deed of which there is nothing to say.
pub(super) fn plain(request: &RunRequest<'_>, task: u32, verb: Verb) -> StatusUpdate {
    StatusUpdate {
        task,
        verb,
        note: None,
        output: None,
        files: Vec::new(),
        by: request.options.by.clone(),
        word_of: None,
        now: clock::now(),
    }
}

/// Writes what has to be written before the run begins, and reads the plan again. Returns whether there was anything.
fn settle(updates: &mut PlanWriter, snapshot: &mut PlanSnapshot, events: &mut Vec<RunEvent>) -> Result<bool, RunError> {
    if updates.is_empty() {
        return Ok(false);
    }
    let written = updates.write(snapshot)?;
    events.extend(written.along.into_iter().map(RunEvent::Skipped));
    *snapshot = PlanSnapshot::open(snapshot.path(), snapshot.forced())?;
    Ok(true)
}

/// Returns whether a dialect has a place for what came out of a task, other than the notes for who takes it.
pub(super) fn keeps_output(plan: &Plan) -> bool {
    let table = dialect::find(plan.dialect).and_then(|dialect| dialect.table_of(plan, Owner::Task(0)));
    let has = |field: Field| table.is_some_and(|table| table.fields.iter().any(|known| known.field == field));
    has(Field::Output) || has(Field::History)
}

/// Returns what is known of earlier work: outputs by task, and why attempts failed.
fn remembered(past: &Past, snapshot: &PlanSnapshot) -> (HashMap<u32, String>, HashMap<u32, String>) {
    let (mut outputs, mut failures) = (HashMap::new(), HashMap::new());
    for (name, story) in &past.stories {
        let Ok(task) = snapshot.named(name) else {
            continue;
        };
        match story.stage {
            Stage::Done | Stage::Review => outputs.extend(story.output.clone().map(|output| (task, output))),
            Stage::Failed | Stage::Resting => failures.extend(story.why.clone().map(|why| (task, why))),
            Stage::Unknown | Stage::Running => {}
        }
    }
    (outputs, failures)
}
