//! The scheduler against random graphs, failures and interleavings: what may never happen, what must happen in the end, and that the same
//! events lead to the same state.

use planwright_core::change::{Open, TaskRequest, transitions};
use planwright_core::dialect::{Choice, DIALECTS, DiskFacts};
use planwright_core::edit::VerbRequest;
use planwright_core::graph::TaskGraph;
use planwright_core::plan::lifecycle::OnFailure;
use planwright_core::plan::{Readiness, Slots, State, Verb};
use planwright_core::schedule::{
    FileUse, Job, Jobs, Phase, Policy, Schedule, ScheduleAction, ScheduleEvent, ScheduleStatus, Stop,
};
use planwright_core::text::SourceText;
use planwright_testkit::generate;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::fixtures::inspect_text;
use crate::generate::{Chance, check_law};

const MAX_TASKS: usize = 9;

/// A random run: its tasks, its policy, and numbers that decide what happens next.
#[derive(Clone, Debug)]
struct Story {
    jobs: Vec<Job>,
    policy: Policy,
    dice: Vec<u32>,
}

fn job(n_tasks: usize) -> impl Strategy<Value = Job> {
    let dependencies = prop::collection::vec(0..n_tasks as u32, 0..3);
    let claims = prop::collection::vec((0..3u32, any::<bool>()), 0..3);
    let state = prop::sample::select(vec![
        State::Pending,
        State::Pending,
        State::Pending,
        State::Pending,
        State::Done,
        State::Skipped,
        State::Failed,
        State::Running,
    ]);
    let flags = (
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.9),
    );
    (dependencies, claims, state, (0..3u32, 0..3u32), 1..4u32, flags).prop_map(
        |(dependencies, claims, state, (stage, n_free), max_attempts, (is_alone, needs_review, is_wanted))| Job {
            dependencies,
            stage,
            barrier: stage.saturating_sub(n_free / 2),
            turn: 0,
            is_alone,
            claims: claims
                .into_iter()
                .map(|(file, is_exclusive)| FileUse { file, is_exclusive })
                .collect(),
            max_attempts,
            needs_review,
            awaits_review: needs_review && state == State::Running,
            state,
            is_wanted,
        },
    )
}

fn story() -> impl Strategy<Value = Story> {
    let on_failure = prop::sample::select(vec![
        OnFailure::DependentsWait,
        OnFailure::DependentsSkipped,
        OnFailure::Replan,
    ]);
    let slots = prop::sample::select(vec![
        Slots::Fixed(1),
        Slots::Fixed(2),
        Slots::Fixed(4),
        Slots::StageWidth(3),
    ]);
    let flags = (
        any::<bool>(),
        prop::bool::weighted(0.1),
        any::<bool>(),
        prop::bool::weighted(0.3),
    );
    let limits = (
        prop::option::weighted(0.1, 1..5u32),
        prop::option::weighted(0.1, 1..5u64),
    );
    let policy = (slots, on_failure, flags, limits);
    let tasks = (1..=MAX_TASKS).prop_flat_map(|n_tasks| prop::collection::vec(job(n_tasks), n_tasks));
    (tasks, policy, prop::collection::vec(any::<u32>(), 40)).prop_map(
        |(
            mut jobs,
            (slots, on_failure, (skipped_satisfies, fail_fast, has_stages, waits_for_resting), (max_tasks, budget)),
            dice,
        )| {
            let n_tasks = jobs.len();
            for (ix, job) in jobs.iter_mut().enumerate() {
                // Later tasks go first, so that turns and numbers differ; dependencies lead to lower numbers.
                job.turn = (n_tasks - ix) as u32;
                job.dependencies.retain(|&to| (to as usize) < ix);
                if !has_stages {
                    (job.stage, job.barrier) = (0, 0);
                }
            }
            let policy = Policy {
                slots,
                skipped_satisfies,
                on_failure,
                waits_for_resting,
                fail_fast,
                max_tasks,
                budget,
            };
            Story { jobs, policy, dice }
        },
    )
}

/// The state of a run without the scheduler's own data.
struct Model<'s> {
    story: &'s Story,
    is_paused: bool,
    n_begun: usize,
}

impl Model<'_> {
    fn phase(&self, schedule: &Schedule, task: usize) -> Phase {
        schedule.phase(task as u32).expect("the task exists")
    }

    fn is_satisfied(&self, schedule: &Schedule, task: usize) -> bool {
        match self.phase(schedule, task) {
            Phase::Over(State::Done) => true,
            Phase::Over(State::Skipped) => self.story.policy.skipped_satisfies,
            _ => false,
        }
    }

    fn running(&self, schedule: &Schedule) -> Vec<usize> {
        let tasks = 0..self.story.jobs.len();
        tasks
            .filter(|&task| self.phase(schedule, task) == Phase::Running)
            .collect()
    }

    /// Returns whether a task only waits for slots, files and the run itself.
    fn is_ready(&self, schedule: &Schedule, task: usize) -> bool {
        let jobs = &self.story.jobs;
        let mut earlier = (0..jobs.len()).filter(|&other| jobs[other].stage < jobs[task].barrier);
        jobs[task].is_wanted
            && jobs[task]
                .dependencies
                .iter()
                .all(|&to| self.is_satisfied(schedule, to as usize))
            && earlier.all(|other| self.is_satisfied(schedule, other))
    }

    fn share(&self, a: usize, b: usize) -> bool {
        let jobs = &self.story.jobs;
        jobs[a].claims.iter().any(|one| {
            let clash = |other: &FileUse| other.file == one.file && (one.is_exclusive || other.is_exclusive);
            jobs[b].claims.iter().any(clash)
        })
    }

    fn n_slots(&self, schedule: &Schedule) -> usize {
        match self.story.policy.slots {
            Slots::Fixed(slots) => slots as usize,
            Slots::StageWidth(most) => {
                let jobs = &self.story.jobs;
                let open = (0..jobs.len()).filter(|&task| !self.is_satisfied(schedule, task));
                let stage = open.map(|task| jobs[task].stage).min();
                let stage = stage.or(jobs.iter().map(|job| job.stage).max());
                let width = jobs.iter().filter(|job| Some(job.stage) == stage).count();
                width.clamp(1, most as usize)
            }
        }
    }

    /// Checks what must hold after every step.
    fn check(&self, schedule: &Schedule) -> TestCaseResult {
        let running = self.running(schedule);
        let jobs = &self.story.jobs;
        for (ix, &one) in running.iter().enumerate() {
            prop_assert!(!jobs[one].is_alone || running.len() == 1, "{one} runs alone");
            for &other in &running[..ix] {
                prop_assert!(!self.share(one, other), "{one} and {other} use one file");
            }
        }
        let is_full = self
            .story
            .policy
            .max_tasks
            .is_some_and(|most| self.n_begun >= most as usize);
        let rests = |task: usize| self.phase(schedule, task) == Phase::Resting;
        let is_held = self.story.policy.waits_for_resting && (0..jobs.len()).any(rests);
        let is_open = !self.is_paused && schedule.stop().is_none() && !is_held;
        if is_open && running.len() < self.n_slots(schedule) && !running.iter().any(|&task| jobs[task].is_alone) {
            for (task, job) in jobs.iter().enumerate() {
                let may_begin = self.phase(schedule, task) == Phase::Waiting
                    && self.is_ready(schedule, task)
                    && (!is_full || schedule.attempts(task as u32) > 0)
                    && (!job.is_alone || running.is_empty())
                    && !running.iter().any(|&other| self.share(task, other));
                prop_assert!(!may_begin, "{task} could begin and does not");
            }
        }
        Ok(())
    }

    /// Checks the actions against the state in which they were requested.
    fn check_actions(
        &mut self,
        event: ScheduleEvent,
        before: &Schedule,
        after: &Schedule,
        actions: &[ScheduleAction],
    ) -> TestCaseResult {
        let starts: Vec<usize> = actions
            .iter()
            .filter_map(|action| match action {
                ScheduleAction::Start { task, .. } => Some(*task as usize),
                _ => None,
            })
            .collect();
        prop_assert!(
            starts.is_empty() || !self.is_paused,
            "nothing starts while the run is paused"
        );
        for &task in &starts {
            prop_assert!(self.is_ready(after, task), "{task} begins too early");
            let is_reset = matches!(event, ScheduleEvent::Moved { task: moved, .. } if moved as usize == task);
            prop_assert!(
                is_reset || self.phase(before, task) != Phase::Running,
                "{task} begins twice"
            );
            let attempt = after.attempts(task as u32);
            prop_assert!(before.attempts(task as u32) < attempt);
            self.n_begun += usize::from(attempt == 1);
        }
        if !starts.is_empty() {
            prop_assert!(
                self.running(after).len() <= self.n_slots(after),
                "more run than there are slots"
            );
        }
        Ok(())
    }
}

/// Chooses the next event.
fn next_event(story: &Story, schedule: &Schedule, is_paused: bool, dice: u32) -> Option<ScheduleEvent> {
    let of_phase = |phase: Phase| {
        let tasks = 0..story.jobs.len() as u32;
        tasks.filter(move |&task| schedule.phase(task) == Some(phase))
    };
    let mut events = Vec::new();
    for task in of_phase(Phase::Running) {
        events.extend([
            ScheduleEvent::Done { task },
            ScheduleEvent::Done { task },
            ScheduleEvent::Failed { task, may_retry: true },
            ScheduleEvent::Failed {
                task,
                may_retry: dice.is_multiple_of(2),
            },
        ]);
        if dice.is_multiple_of(11) {
            events.push(ScheduleEvent::Deferred { task });
        }
        if dice.is_multiple_of(13) {
            events.push(ScheduleEvent::Stopped { task });
        }
    }
    events.extend(of_phase(Phase::Resting).map(|task| ScheduleEvent::Rested { task }));
    events.extend(of_phase(Phase::Review).map(|task| match dice.is_multiple_of(3) {
        true => ScheduleEvent::Rejected { task },
        false => ScheduleEvent::Approved { task },
    }));
    if is_paused {
        events.push(ScheduleEvent::Resumed);
    }
    match dice % 17 {
        0 if !is_paused => events.push(ScheduleEvent::Paused),
        1 => events.push(ScheduleEvent::Spent { units: 1 }),
        2 if dice.is_multiple_of(5) => events.push(ScheduleEvent::StopRequested),
        3 | 4 => {
            let task = dice / 17 % story.jobs.len() as u32;
            let to = State::ALL[(dice / 289) as usize % State::ALL.len()];
            events.push(ScheduleEvent::Moved { task, to });
        }
        _ => {}
    }
    (!events.is_empty()).then(|| events[(dice / 7) as usize % events.len()])
}

fn follow(story: &Story) -> TestCaseResult {
    let jobs = || Jobs::new(story.jobs.clone());
    let (mut schedule, actions) = Schedule::begin(jobs(), story.policy);
    let mut model = Model {
        story,
        is_paused: false,
        n_begun: 0,
    };
    let mut told = vec![actions.clone()];
    let mut events = Vec::new();
    let waiting = schedule.clone();
    model.n_begun = actions
        .iter()
        .filter(|action| matches!(action, ScheduleAction::Start { .. }))
        .count();
    model.check(&waiting)?;
    // Random numbers first; then every active attempt succeeds, so that the run ends.
    let calm = std::iter::repeat_n(7 * 17 * 13 + 5, 60);
    for (step, dice) in story.dice.iter().copied().chain(calm).enumerate() {
        let is_calm = step >= story.dice.len();
        let event = match next_event(story, &schedule, model.is_paused, dice) {
            Some(ScheduleEvent::Paused | ScheduleEvent::Moved { .. }) if is_calm => continue,
            Some(ScheduleEvent::Failed { task, .. }) if is_calm => ScheduleEvent::Done { task },
            Some(event) => event,
            None => break,
        };
        match event {
            ScheduleEvent::Paused => model.is_paused = true,
            ScheduleEvent::Resumed => model.is_paused = false,
            _ => {}
        }
        let before = schedule.clone();
        let actions = schedule.apply(event).expect("the event fits");
        model.check_actions(event, &before, &schedule, &actions)?;
        model.check(&schedule)?;
        check_over(story, &schedule)?;
        events.push(event);
        told.push(actions);
    }
    prop_assert_ne!(schedule.status(), ScheduleStatus::Busy, "the run ends");
    check_end(story, &schedule)?;
    // Any prefix of the events leads to the same state by the same actions.
    let (mut again, first) = Schedule::begin(jobs(), story.policy);
    prop_assert_eq!(&first, &told[0]);
    for (event, actions) in events.iter().zip(&told[1..]) {
        prop_assert_eq!(again.apply(*event), Ok(actions.clone()));
    }
    prop_assert_eq!(format!("{again:?}"), format!("{schedule:?}"));
    Ok(())
}

/// Checks that a run which is rebuilt over the same tasks continues unchanged, and with other numbers too.
fn check_over(story: &Story, schedule: &Schedule) -> TestCaseResult {
    let n_tasks = story.jobs.len() as u32;
    let now = |task: u32| Job {
        state: match schedule.phase(task) {
            Some(Phase::Over(state)) => state,
            _ => State::Pending,
        },
        awaits_review: false,
        ..story.jobs[task as usize].clone()
    };
    let same: Vec<Option<u32>> = (0..n_tasks).map(Some).collect();
    let (again, actions) = schedule.over(Jobs::new((0..n_tasks).map(now).collect()), &same);
    prop_assert_eq!(actions, []);
    // A paused run that may start no more tasks has two statuses at once.
    if story.policy.max_tasks.is_none() {
        prop_assert_eq!(again.status(), schedule.status());
    }
    for task in 0..n_tasks {
        prop_assert_eq!(again.phase(task), schedule.phase(task));
        prop_assert_eq!(again.attempts(task), schedule.attempts(task));
    }
    let turned = |task: u32| n_tasks - 1 - task;
    let jobs = (0..n_tasks).map(|task| Job {
        dependencies: now(turned(task)).dependencies.iter().map(|&to| turned(to)).collect(),
        ..now(turned(task))
    });
    let old_of: Vec<Option<u32>> = (0..n_tasks).map(|task| Some(turned(task))).collect();
    let (other, actions) = schedule.over(Jobs::new(jobs.collect()), &old_of);
    prop_assert_eq!(actions, []);
    for task in 0..n_tasks {
        prop_assert_eq!(other.phase(turned(task)), schedule.phase(task));
    }
    Ok(())
}

/// Checks that a run reports the right end.
fn check_end(story: &Story, schedule: &Schedule) -> TestCaseResult {
    let is_settled = |task: usize| match schedule.phase(task as u32) {
        Some(Phase::Over(state)) => state != State::Failed,
        _ => false,
    };
    let is_all_over = (0..story.jobs.len()).all(|task| !story.jobs[task].is_wanted || is_settled(task));
    match schedule.status() {
        ScheduleStatus::Finished => prop_assert!(is_all_over),
        ScheduleStatus::Stuck => prop_assert!(!is_all_over),
        ScheduleStatus::Stopped(Stop::MaxTasks) => prop_assert!(story.policy.max_tasks.is_some() && !is_all_over),
        ScheduleStatus::Stopped(_) | ScheduleStatus::AwaitsReview | ScheduleStatus::Paused => {}
        ScheduleStatus::Busy => prop_assert!(false, "the run goes on"),
    }
    Ok(())
}

#[test]
fn every_schedule_keeps_its_rules_and_ends() {
    check_law(20_000, story(), |story| follow(&story));
}

#[test]
fn zero_slots_let_one_task_start() {
    let mut linked = inspect_text(generate::plan("task-pack", 3)).plan.expect("a plan");
    linked.plan.slots = Slots::StageWidth(0);
    assert_eq!(Readiness::new(&linked.plan, &linked.links).free_slots(), 1);
}

/// The scheduler counts open dependencies, and [`Readiness`] inspects the plan: both must agree.
#[test]
fn a_schedule_begins_with_the_tasks_that_are_ready() {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let facts = DiskFacts::default();
    let mut n_started = 0;
    for round in 0..400 {
        let dialect = DIALECTS[round % DIALECTS.len()];
        let (text, _) = generate::stored(dialect, 2 + chance.below(8), 3);
        let mut source = SourceText::new(text);
        for _ in 0..chance.below(8) {
            let open = Open::new(&source, &Choice::by_content(&facts));
            let task_ix = chance.below(open.inspection.plan.as_ref().expect("a plan").plan.tasks().len());
            let verbs = [
                &[Verb::Start, Verb::Done][..],
                &[Verb::Start, Verb::Fail],
                &[Verb::Skip],
                &[Verb::Block],
            ];
            let asked = verbs[chance.below(verbs.len())].iter().map(|&verb| TaskRequest {
                task_ix,
                request: VerbRequest::new(verb, "2026-11-16T10:00:00Z"),
            });
            source = transitions(&open, &Choice::by_content(&facts), &asked.collect::<Vec<_>>())
                .changed
                .source;
        }
        let linked = inspect_text(source.as_str().to_owned()).plan.expect("a plan");
        let graph = TaskGraph::new(&linked.plan, &linked.links).expect("no cycle");
        let jobs = Jobs::new(Jobs::of(&linked.plan, &linked.links, &graph));
        let policy = Policy {
            slots: Slots::Fixed(100),
            skipped_satisfies: linked.plan.lifecycle.skipped_satisfies,
            on_failure: OnFailure::DependentsWait,
            waits_for_resting: false,
            fail_fast: false,
            max_tasks: None,
            budget: None,
        };
        let started = |action: ScheduleAction| match action {
            ScheduleAction::Start { task, .. } => Some(task as usize),
            _ => None,
        };
        let mut started: Vec<usize> = Schedule::begin(jobs, policy)
            .1
            .into_iter()
            .filter_map(started)
            .collect();
        started.sort_unstable();
        let mut ready = Readiness::new(&linked.plan, &linked.links).ready();
        ready.sort_unstable();
        assert_eq!(started, ready, "{}", source.as_str());
        n_started += started.len();
    }
    assert!(n_started > 400, "{n_started}");
}
