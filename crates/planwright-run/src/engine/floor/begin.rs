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
use super::super::past::{Past, Stage, Story};
use super::super::prepare::template_of;
use super::super::prepare::{lay_out, prepare};
use super::super::projection::{Deed, Projection, VERB};
use super::super::{Book, Order, Prepared, RunError, Watcher};
use super::Floor;
use crate::clock;
use crate::config::OnInterrupted;
use crate::files::DiskFiles;
use crate::hearing::all_secrets;
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

impl<'a> Floor<'a> {
    pub(super) fn begin(
        order: &'a Order<'a>,
        prepared: Prepared,
        workers: &'a mut Workers,
        interrupts: &'a AtomicU32,
        watcher: &'a mut dyn Watcher,
    ) -> Result<Self, RunError> {
        let plan = prepared.book.place().clone();
        let now = clock::now();
        let state = plan.root.join(STATE_FOLDER);
        make_state_folder(&FILES, &plan.root)
            .map_err(RunError::io(format!("the folder `{}` cannot be made", state.display())))?;
        let mut live = Live::acquire(&FILES, &plan, "", &now)?;
        if let Some(own_id) = plan_id(prepared.book.plan()) {
            live.hold_id(&FILES, &plan, own_id)?;
        }
        // Whoever ran it until now may have changed it since it was looked at.
        let prepared = match prepared.book.may_have_changed() {
            true => prepare(order)?,
            false => prepared,
        };
        // Better now than when agents have worked all night.
        prepared.book.try_out()?;
        let mut past = Past::of(&plan, plan_id(prepared.book.plan()))?;
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
        let template = template_of(order)?;

        let Prepared {
            mut book,
            mut jobs,
            mut agents,
            mut policy,
            mut remarks,
            chosen,
            must_approve,
            ..
        } = prepared;
        let mut is_other = false;
        if order.options.switch_branch {
            remarks.retain(|remark| !remark.contains("--switch"));
            if let Some(remark) = switch_branch(&book)? {
                remarks.push(remark);
                // The branch has a plan of its own.
                book = Book::open(book.path(), book.forced())?;
                jobs = lay_out(order, &book)?.jobs;
                is_other = true;
            }
        }
        if must_approve {
            remarks.push(approve(order, &mut book, &now)?);
        }
        let wanted: Vec<bool> = jobs.iter().map(|job| job.is_wanted).collect();
        let made_up = make_up(order, &mut book, &past, &wanted)?;
        remarks.extend(made_up.remarks);
        if is_other || must_approve || made_up.has_written {
            // What was failed or skipped may be to run by now.
            let laid_out = lay_out(order, &book)?;
            (jobs, agents) = (laid_out.jobs, laid_out.staffed.agents);
        }
        let (place, log, cut) = open_log(resumed, &book, &now)?;
        live.name(&FILES, place.id())
            .map_err(RunError::io("the run's lock cannot be written"))?;
        let ground = Ground::open(&book, &chosen, &place)?;
        for (task, job) in jobs.iter_mut().enumerate() {
            let name = book.name(task as u32);
            // What a provider's limit or a broken agent ended does not count.
            let n_tried = past.spent_on.get(name).map_or(0, |spent| spent.n_attempts);
            let n_tried = u32::try_from(n_tried).unwrap_or(u32::MAX);
            // What was interrupted is tried once more in any case; the dialect that counts has counted already.
            if !book.plan().lifecycle.machine.counts_retries {
                job.max_attempts = job.max_attempts.saturating_sub(n_tried).max(1);
            }
            let story = past.stories.get(name);
            job.awaits_review = job.state == State::Running && story.is_some_and(|story| story.stage == Stage::Review);
        }
        let written: Vec<State> = (0..jobs.len() as u32).map(|task| book.state(task)).collect();
        // What the interrupted part of the run had begun is a part of it.
        let gone_along: HashSet<&str> = made_up.events.iter().filter_map(skipped_by).collect();
        let is_counted = |(task, job): (usize, &Job)| {
            let name = book.name(task as u32);
            let is_part = past.attempts.contains_key(name) || gone_along.contains(name);
            is_to_run(job) || (job.is_wanted && is_part)
        };
        let counted: Vec<bool> = jobs.iter().enumerate().map(is_counted).collect();
        let earlier = match past.interrupted {
            Some(_) => past.earlier.clone(),
            None => order.options.earlier.clone(),
        };
        let begun = Begun {
            run: place.id().to_owned(),
            pid: std::process::id(),
            start_time: worker::own_start_time(),
            slots: most_slots(policy.slots),
            n_tasks: counted.iter().filter(|is_counted| **is_counted).count() as u64,
            by: order.options.by.clone(),
            isolation: Some(ground.word().to_owned()),
            continues: past.interrupted.is_some(),
            earlier: Some(earlier.clone()).filter(|earlier| *earlier != Spent::default()),
            replanned: order.options.replanned.clone(),
        };
        // What the interrupted part of the run had spent is spent.
        let why_stopped = past.spent.with(&earlier).over_run(&order.config.run.budget);
        if why_stopped.is_some() {
            policy.budget = Some(0);
        }
        let (schedule, actions) = Schedule::begin(Jobs::new(jobs), policy);
        let (outputs, failures) = remembered(&past, &book);
        let proven = past.stories.iter();
        let proven = proven.filter_map(|(name, story)| Some((book.named(name).ok()?, story.proven()?)));
        let proven = proven.collect();
        let mut floor = Floor {
            order,
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
            template: template.unwrap_or_else(|| Template::built_in(book.plan().dialect)),
            secrets: all_secrets(order.config),
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
            projection: Projection::default(),
            counted,
            settled: HashMap::new(),
            meant: written.clone(),
            written,
            resting: Vec::new(),
            rests: HashMap::new(),
            turns: HashMap::new(),
            held_up: past.held_up,
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
            book,
        };
        floor.record(RunEvent::Begun(begun))?;
        if n_ended > 0 {
            remarks.push(format!(
                "{n_ended} processes of an interrupted run were still there, and were ended"
            ));
        }
        for text in remarks {
            floor.remark(None, text)?;
        }
        for task in made_up.reviews {
            floor.record(RunEvent::Review(TaskName { task }))?;
        }
        for event in made_up.events {
            floor.record(event)?;
        }
        floor.commit()?;
        Ok(floor)
    }
}

/// Returns the task that an event says to be skipped.
fn skipped_by(event: &RunEvent) -> Option<&str> {
    match event {
        RunEvent::Skipped(skipped) => Some(&skipped.task),
        _ => None,
    }
}

fn is_skipped(book: &Book, name: &str) -> bool {
    book.named(name).is_ok_and(|task| book.state(task) == State::Skipped)
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
    book: &Book,
    now: &str,
) -> Result<(RunPlace, RunLog<'static>, Option<RunRecord>), RunError> {
    if let Some((place, resumed)) = resumed {
        return Ok((place, resumed.log, resumed.cut));
    }
    let plan = book.place();
    let place = RunPlace::create(&FILES, &plan.root, now).map_err(RunError::io("the run's folder cannot be made"))?;
    let header = Header {
        path: plan.relative.clone(),
        id: plan_id(book.plan()).map(str::to_owned),
    };
    let log = RunLog::begin(&FILES, &place.log(), &header)?;
    Ok((place, log, None))
}

/// Approves a plan, as the user said with the run.
fn approve(order: &Order<'_>, book: &mut Book, now: &str) -> Result<String, RunError> {
    let target = Target {
        path: book.path(),
        forced: book.forced(),
        dry: false,
    };
    let by = order.options.by.clone().unwrap_or_else(user);
    transition_plan(
        target,
        &PlanRequest {
            verb: PlanVerb::Approve,
            note: None,
            by: Some(&by),
            now,
        },
    )?;
    *book = Book::open(book.path(), book.forced())?;
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
fn make_up(order: &Order<'_>, book: &mut Book, past: &Past, wanted: &[bool]) -> Result<MadeUp, RunError> {
    let mut made_up = MadeUp {
        remarks: Vec::new(),
        reviews: Vec::new(),
        events: Vec::new(),
        has_written: false,
    };
    let mut deeds = Projection::default();
    let words = last_words(book.path(), book.plan());
    for task in tasks_of(book) {
        let name = book.name(task);
        let Some(story) = past.stories.get(name) else {
            continue;
        };
        // What somebody said since then holds.
        let is_said = words.get(name).is_some_and(|(verb, at)| verb != VERB && *at > story.at);
        match is_said {
            true => made_up.events.extend(reviewed(story, name, book.state(task))),
            false => late_deeds(order, book, story, task, &mut made_up, &mut deeds),
        }
    }
    made_up.has_written |= settle(&mut deeds, book, &mut made_up.events)?;
    for task in tasks_of(book) {
        if book.state(task) == State::Running {
            take_up(order, book, past, task, &mut made_up, &mut deeds)?;
        }
    }
    made_up.has_written |= settle(&mut deeds, book, &mut made_up.events)?;
    for task in tasks_of(book).filter(|&task| wanted.get(task as usize) == Some(&true)) {
        let again = match book.state(task) {
            State::Failed => tries_again(order, book, past, task),
            State::Skipped => order.options.retry_failed && was_skipped_for_failure(book, past, task),
            _ => false,
        };
        if again {
            deeds.add(plain(order, task, Verb::Reset));
        }
    }
    made_up.has_written |= settle(&mut deeds, book, &mut made_up.events)?;
    // What was skipped with a failure that is tried again is not skipped any more.
    made_up
        .events
        .retain(|event| skipped_by(event).is_none_or(|task| is_skipped(book, task)));
    Ok(made_up)
}

fn tasks_of(book: &Book) -> std::ops::Range<u32> {
    0..book.plan().tasks().len() as u32
}

/// Has the plan file learn what came of a task in the run before, where that is not in it.
fn late_deeds(order: &Order<'_>, book: &Book, story: &Story, task: u32, made_up: &mut MadeUp, deeds: &mut Projection) {
    if story.is_projected {
        return;
    }
    let (verb, words) = match story.stage {
        Stage::Done => (Verb::Done, "done"),
        Stage::Failed => (Verb::Fail, "tried without success"),
        // It counts, and what the dialect says of it is that it may be tried again.
        Stage::Resting if book.plan().lifecycle.machine.counts_retries => (Verb::Fail, "tried without success"),
        Stage::Unknown | Stage::Running | Stage::Resting | Stage::Review => return,
    };
    match book.state(task) {
        // That it was started may not have been written either.
        State::Pending => deeds.add(plain(order, task, Verb::Start)),
        State::Running => {}
        _ => return,
    }
    deeds.add(Deed {
        note: story.why.clone(),
        output: story.output.clone().filter(|_| keeps_output(book.plan())),
        files: story.files.clone(),
        by: Some(story.agent.clone()),
        ..plain(order, task, verb)
    });
    made_up.remarks.push(format!(
        "`{}` was {words} in the run before, and the plan file learns of it now",
        book.name(task)
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
    order: &Order<'_>,
    book: &Book,
    past: &Past,
    task: u32,
    made_up: &mut MadeUp,
    deeds: &mut Projection,
) -> Result<(), RunError> {
    let name = book.name(task);
    let story = past.stories.get(name);
    let stage = story.map(|story| story.stage);
    if stage == Some(Stage::Review) {
        made_up.reviews.push(name.to_owned());
        return Ok(());
    }
    let is_open = story.is_some_and(|story| !story.is_of_ended_run);
    let is_of_run = is_open && matches!(stage, Some(Stage::Running | Stage::Resting));
    if !is_of_run && was_started_by_hand(book.path(), book.plan(), name) {
        made_up.remarks.push(format!(
            "`{name}` was started by hand and is left alone; `planwright reset {}` gives it to the run",
            argument(name)
        ));
        return Ok(());
    }
    let policy = order.config.run.on_interrupted;
    if policy == OnInterrupted::Ask {
        let task = name.to_owned();
        return Err(RunError::Interrupted { task });
    }
    for deed in interrupted_deeds(order, book.plan(), task, policy) {
        deeds.add(deed);
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
pub(super) fn interrupted_deeds(order: &Order<'_>, plan: &Plan, task: u32, policy: OnInterrupted) -> Vec<Deed> {
    // Where the dialect counts attempts, it says itself whether there is another one.
    if policy == OnInterrupted::Fail || plan.lifecycle.machine.counts_retries {
        let note = Some("interrupted".to_owned());
        let failed = plain(order, task, Verb::Fail);
        return vec![Deed { note, ..failed }];
    }
    // It begins anew, with what its notes said before.
    vec![plain(order, task, Verb::Fail), plain(order, task, Verb::Reset)]
}

/// Returns whether a task that failed is tried again.
fn tries_again(order: &Order<'_>, book: &Book, past: &Past, task: u32) -> bool {
    let was_running = past
        .stories
        .get(book.name(task))
        .is_some_and(|story| matches!(story.stage, Stage::Running | Stage::Resting));
    let stays_failed = was_running && order.config.run.on_interrupted == OnInterrupted::Fail;
    let by_dialect = book.plan().lifecycle.on_failure == OnFailure::DependentsSkipped;
    order.options.retry_failed || (by_dialect && !stays_failed)
}

/// Returns whether a run left a task out because of another one that is still failed.
fn was_skipped_for_failure(book: &Book, past: &Past, task: u32) -> bool {
    let story = past.stories.get(book.name(task));
    let because = story.and_then(|story| story.skipped_for.as_deref());
    because.is_some_and(|because| {
        book.named(because)
            .is_ok_and(|failed| book.state(failed) == State::Failed)
    })
}

/// Returns a deed of which there is nothing to say.
pub(super) fn plain(order: &Order<'_>, task: u32, verb: Verb) -> Deed {
    Deed {
        task,
        verb,
        note: None,
        output: None,
        files: Vec::new(),
        by: order.options.by.clone(),
        word_of: None,
        now: clock::now(),
    }
}

/// Writes what has to be written before the run begins, and reads the plan again. Returns whether there was anything.
fn settle(deeds: &mut Projection, book: &mut Book, events: &mut Vec<RunEvent>) -> Result<bool, RunError> {
    if deeds.is_empty() {
        return Ok(false);
    }
    let written = deeds.write(book)?;
    events.extend(written.along.into_iter().map(RunEvent::Skipped));
    *book = Book::open(book.path(), book.forced())?;
    Ok(true)
}

/// Returns whether a dialect has a place for what came out of a task, other than the notes for who takes it.
pub(super) fn keeps_output(plan: &Plan) -> bool {
    let table = dialect::find(plan.dialect).and_then(|dialect| dialect.table_of(plan, Owner::Task(0)));
    let has = |field: Field| table.is_some_and(|table| table.fields.iter().any(|known| known.field == field));
    has(Field::Output) || has(Field::History)
}

/// Returns what is known of earlier work: outputs by task, and why attempts failed.
fn remembered(past: &Past, book: &Book) -> (HashMap<u32, String>, HashMap<u32, String>) {
    let (mut outputs, mut failures) = (HashMap::new(), HashMap::new());
    for (name, story) in &past.stories {
        let Ok(task) = book.named(name) else {
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
