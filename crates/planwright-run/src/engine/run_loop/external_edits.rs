//! Edits of the plan file by other processes: the run follows them, or pauses until the plan is valid again.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use planwright_core::graph::TaskGraph;
use planwright_core::plan::{Field, State};
use planwright_core::prompt::Template;
use planwright_core::schedule::{Job, Jobs, Phase, ScheduleAction, ScheduleEvent};

use super::super::agent_choice::choose_agents;
use super::super::naming::{and_more, listed};
use super::super::prepare::{claims, jobs_of};
use super::super::status_updates::{NOT_SKIPPED, VERB, plain, set_back_remark};
use super::super::{PlanSnapshot, RunError};
use super::RunLoop;
use crate::clock;
use crate::revise::{CalledVerbs, next_record};
use crate::runs::{MovedTask, PlanEditRecord, RemarkKind, RenamedTask, RequestRecord, RunEvent};
use crate::verify::contract_of;

/// The name of planwright itself as the one who paused a run.
const OURSELVES: &str = "planwright";

/// Whether the plan is valid, and when it was read.
pub(super) struct EditWatch {
    invalid: Option<String>,
    last_look: Instant,
    /// The number of the first journal record that can belong to a verb called during this run.
    since: u64,
    /// For each task, the record of the last verb whose state was seen in the file.
    followed: HashMap<String, u64>,
    /// The last reported remark about statuses that were set back.
    last_set_back: Option<String>,
    /// Tasks whose criteria or type a verb changed: the new ones verify their next attempt.
    renewed: HashSet<u32>,
}

impl EditWatch {
    /// Watches a plan from now on. Records already in its journal are from before the run.
    pub(super) fn new(snapshot: &PlanSnapshot) -> Self {
        EditWatch {
            invalid: None,
            last_look: clock::instant(),
            since: next_record(snapshot.path(), snapshot.plan()),
            followed: HashMap::new(),
            last_set_back: None,
            renewed: HashSet::new(),
        }
    }

    /// Returns, once, whether a verb changed what verifies a task.
    pub(super) fn take_renewed(&mut self, task: u32) -> bool {
        self.renewed.remove(&task)
    }

    /// Returns whether nothing starts because the plan is invalid now.
    pub(super) fn is_held(&self) -> bool {
        self.invalid.is_some()
    }

    pub(super) fn is_due(&mut self, now: Instant, every: Duration) -> bool {
        let is_due = now.duration_since(self.last_look) >= every;
        if is_due {
            self.last_look = now;
        }
        is_due
    }
}

/// An edited plan, matched with the previous one.
struct EditedPlan {
    snapshot: PlanSnapshot,
    jobs: Vec<Job>,
    agents: Vec<Option<String>>,
    weights: Vec<u32>,
    /// The index of each task in the previous plan.
    old_of: Vec<Option<u32>>,
    /// The new index of each task of the previous plan.
    new_of: HashMap<u32, u32>,
    tasks: Vec<EditedTask>,
    /// The tasks whose state in the file is that of the last verb, and its record.
    followed: Vec<(String, u64)>,
    /// Tasks that have started, and whose criteria or type were edited without a verb.
    contracts: Vec<u32>,
    /// Tasks that have started, and whose criteria or type a verb changed.
    renewed: Vec<u32>,
    /// Tasks that an edit marked to be skipped, without a verb.
    skips: Vec<u32>,
}

/// The status of a task in the edited file, and its origin.
struct EditedTask {
    found: State,
    source: StatusSource,
    /// The state that a verb of another process gave it. An edit after it may have put another one into the file.
    moved_to: Option<State>,
    /// Who called the verb that moved it, where the journal has it.
    mover: Option<String>,
    /// Whether commands verified it before that verb.
    verified: bool,
}

/// The source of a task's status in the edited file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatusSource {
    Run,
    /// Another process called a verb: the status is valid.
    Verb,
    /// An agent, an editor or a script wrote it into the file: it is only a claim, and does not count.
    Claim,
}

impl RunLoop<'_> {
    /// Reads the plan file if it may have changed, and follows the change.
    pub(super) fn follow_plan(&mut self) -> Result<(), RunError> {
        match self.snapshot.reread() {
            // An invalid edit was undone.
            Ok(None) if self.plan_file.edits.invalid.is_some() && self.snapshot.is_as_known() => self.release(),
            Ok(None) => Ok(()),
            Ok(Some(new)) => self.follow_edit(new),
            Err(unreadable) => {
                self.snapshot.overlook(&unreadable);
                self.hold(unreadable.why)
            }
        }
    }

    /// Starts nothing new until the plan is valid again.
    fn hold(&mut self, why: String) -> Result<(), RunError> {
        let is_news = self.plan_file.edits.invalid.as_ref() != Some(&why);
        if self.plan_file.edits.invalid.replace(why.clone()).is_none() && !self.user.control.is_paused() {
            self.happened(ScheduleEvent::Paused);
        }
        match is_news {
            true => self.record_held(&why),
            false => Ok(()),
        }
    }

    fn record_held(&mut self, why: &str) -> Result<(), RunError> {
        let why = format!("the plan has errors now, and the run continues when they are fixed: {why}");
        // The user paused it, and the user resumes it.
        if self.user.control.is_paused() {
            return self.remark(None, why);
        }
        self.record(RunEvent::Paused(RequestRecord {
            by: Some(OURSELVES.to_owned()),
            why: Some(why),
        }))
    }

    /// Continues with a plan that is valid again, unless the user paused the run.
    fn release(&mut self) -> Result<(), RunError> {
        if self.plan_file.edits.invalid.take().is_none() {
            return Ok(());
        }
        if self.user.control.is_paused() {
            return self.remark(None, "the plan file can be used again; the run is still paused");
        }
        self.happened(ScheduleEvent::Resumed);
        let why = Some("the plan file can be used again".to_owned());
        self.record(RunEvent::Resumed(RequestRecord { by: None, why }))
    }

    /// Continues after the user resumed the run, unless the plan is invalid.
    pub(super) fn resumed(&mut self) -> Result<(), RunError> {
        match self.plan_file.edits.invalid.clone() {
            Some(why) => self.record_held(&why),
            None => {
                self.happened(ScheduleEvent::Resumed);
                Ok(())
            }
        }
    }

    /// Takes over an edited plan, or holds if it is invalid.
    fn follow_edit(&mut self, new: PlanSnapshot) -> Result<(), RunError> {
        match self.read_edit(new) {
            Ok(edited) => {
                self.release()?;
                self.take_over(edited)
            }
            Err(why) => self.hold(why),
        }
    }

    /// Matches an edited plan with the previous one. The error says why it cannot be used.
    fn read_edit(&self, snapshot: PlanSnapshot) -> Result<EditedPlan, String> {
        let matters = |task: u32| self.is_begun(task) || self.plan_file.writer.concerns(task);
        let old_of = snapshot.matched(&self.snapshot, matters)?;
        let graph = TaskGraph::new(snapshot.plan(), snapshot.links())
            .map_err(|_| "the tasks depend on each other in a cycle".to_owned())?;
        let mut jobs = jobs_of(self.request, &snapshot, &graph).map_err(|error| error.to_string())?;
        let called = CalledVerbs::since(snapshot.path(), snapshot.plan(), self.plan_file.edits.since);
        let is_verbs_text = |task: u32| {
            let verb = called.verb_of_text(snapshot.text(), snapshot.name(task));
            verb.is_some_and(|verb| verb != VERB)
        };
        let is_skipped_by_verb = |task: u32| {
            let last = called.last_move(snapshot.name(task));
            is_verbs_text(task) || last.is_some_and(|(verb, to)| verb != VERB && to == State::Skipped)
        };
        let skips = self.keep_wanted(&snapshot, &old_of, &mut jobs, is_skipped_by_verb);
        let wanted: Vec<bool> = jobs.iter().map(|job| job.is_wanted).collect();
        let choice = choose_agents(self.request, snapshot.plan(), &wanted).map_err(|error| error.to_string())?;
        for (job, claims) in jobs.iter_mut().zip(claims(snapshot.plan())) {
            job.claims = claims;
        }
        let tasks = (0..).zip(&old_of);
        let tasks = tasks
            .map(|(task, old)| self.read_task(&snapshot, task, *old, &called))
            .collect();
        let followed = followed(&snapshot, &called);
        let is_renewed = |task: &u32| is_verbs_text(*task);
        let (renewed, contracts) = self
            .edited_contracts(&snapshot, &old_of)
            .into_iter()
            .partition(is_renewed);
        let new_of = old_of.iter().zip(0..);
        let new_of = new_of.filter_map(|(old, new)| Some(((*old)?, new)));
        Ok(EditedPlan {
            tasks,
            followed,
            contracts,
            skips,
            renewed,
            new_of: new_of.collect(),
            agents: choice.agents,
            weights: graph.heights(snapshot.links()),
            snapshot,
            jobs,
            old_of,
        })
    }

    /// Matches one task of an edited plan with what the run and the verbs of other processes have set.
    fn read_task(&self, snapshot: &PlanSnapshot, task: u32, old: Option<u32>, called: &CalledVerbs) -> EditedTask {
        let (name, found) = (snapshot.name(task), snapshot.state(task));
        let known = match old {
            Some(old) => self.plan_file.writer.written(old),
            // A task that comes into the plan has not begun.
            None => Some(State::Pending),
        };
        let by_verb = called.last_move(name).filter(|(verb, _)| *verb != VERB);
        let by_verb = by_verb.map(|(_, to)| to);
        let is_news = || self.plan_file.edits.followed.get(name).copied() < called.record_of_move(name);
        let (source, moved_to) = match by_verb {
            _ if known == Some(found) => (StatusSource::Run, None),
            Some(to) if to == found => (StatusSource::Verb, Some(found)),
            // Where an edit put another one into the file before the run saw it, the verb still counts.
            to => (StatusSource::Claim, to.filter(|_| is_news())),
        };
        EditedTask {
            found,
            source,
            moved_to,
            mover: called.mover(name).map(str::to_owned),
            verified: called.is_verified(name),
        }
    }

    /// Ignores skip marks of an edit: such a mark is a status too, and only a verb sets it. An active task keeps its status in any case.
    /// Returns the tasks that this edit marked.
    fn keep_wanted(
        &self,
        new: &PlanSnapshot,
        old_of: &[Option<u32>],
        jobs: &mut [Job],
        is_skipped_by_verb: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let is_held = |snapshot: &PlanSnapshot, task: u32| {
            let task = snapshot.plan().tasks().get(task as usize);
            task.is_some_and(|task| task.held)
        };
        let mut marked = Vec::new();
        for (task, (job, old)) in (0..).zip(jobs.iter_mut().zip(old_of)) {
            let Some(old) = *old else {
                continue;
            };
            let was_wanted = self.tasks.schedule.jobs()[old as usize].is_wanted;
            if self.is_begun(old) {
                job.is_wanted = was_wanted;
            }
            if is_held(new, task) && was_wanted && !is_skipped_by_verb(task) {
                job.is_wanted = true;
                job.state = new.state(task);
                if !is_held(&self.snapshot, old) {
                    marked.push(task);
                }
            }
        }
        marked
    }

    /// Returns the started tasks whose criteria or type differ from those in the previous plan.
    fn edited_contracts(&self, new: &PlanSnapshot, old_of: &[Option<u32>]) -> Vec<u32> {
        let contract = |snapshot: &PlanSnapshot, task: u32| {
            let plan = snapshot.plan();
            plan.tasks().get(task as usize).map(|task| contract_of(plan, task))
        };
        let is_edited = |&(task, old): &(u32, u32)| {
            let run = self.state().task(self.snapshot.name(old));
            run.is_some_and(|run| run.contract.is_some()) && contract(new, task) != contract(&self.snapshot, old)
        };
        let both = (0..).zip(old_of).filter_map(|(task, old)| Some((task, (*old)?)));
        both.filter(is_edited).map(|(task, _)| task).collect()
    }

    fn is_begun(&self, task: u32) -> bool {
        matches!(self.phase(task), Phase::Running | Phase::Resting | Phase::Review)
    }

    fn take_over(&mut self, mut edited: EditedPlan) -> Result<(), RunError> {
        self.set_states(&mut edited);
        let is_same = is_same_shape(self.tasks.schedule.jobs(), &edited.jobs, &edited.old_of);
        let claimed = (0..).zip(&edited.tasks);
        let claimed = claimed.filter(|(_, task)| task.source == StatusSource::Claim);
        let claimed: Vec<u32> = claimed.map(|(task, _)| task).collect();
        // A new task is not moved: it starts in its written state.
        let moves = (0..).zip(edited.tasks.iter().zip(&edited.old_of));
        let moved = moves.filter_map(|(ix, (task, old))| Some((ix, old.and(task.moved_to)?)));
        let moved: Vec<(u32, State)> = moved.collect();
        let is_begun = |task: &u32| edited.old_of[*task as usize].is_some_and(|old| self.is_begun(old));
        let begun: HashSet<u32> = moved.iter().map(|(task, _)| *task).filter(is_begun).collect();
        let event = self.edit_event(&edited, &moved, is_same);
        self.renumber(&edited);
        let EditedPlan {
            snapshot,
            jobs,
            agents,
            weights,
            old_of,
            tasks,
            contracts,
            renewed,
            skips,
            followed,
            ..
        } = edited;
        self.plan_file.edits.renewed.extend(renewed);
        self.plan_file.edits.followed.extend(followed);
        let is_other_dialect = self.snapshot.plan().dialect != snapshot.plan().dialect;
        let template = (self.request.options.template.is_none() && is_other_dialect)
            .then(|| Template::built_in(snapshot.linked().dialect.prompt()));
        self.agents.chosen.replace(agents, template);
        self.tasks.weights = weights;
        self.snapshot = snapshot;
        if let Some(event) = event {
            self.record(RunEvent::Edited(event))?;
        }
        if !is_same {
            let (schedule, actions) = self.tasks.schedule.over(Jobs::new(jobs), &old_of);
            self.tasks.schedule = schedule;
            self.tasks.actions.extend(actions);
        }
        for (task, to) in moved {
            // A new schedule has the states of tasks that are not active.
            if is_same || begun.contains(&task) {
                self.follow(task, to);
            }
        }
        self.report_contracts(&contracts)?;
        for task in skips {
            self.remark_kind(Some(task), RemarkKind::StatusSetBack, NOT_SKIPPED.to_owned())?;
        }
        self.set_back(&claimed, &tasks)
    }

    /// Sets the states in which the tasks of an edited plan are scheduled.
    fn set_states(&self, edited: &mut EditedPlan) {
        for (ix, (job, task)) in edited.jobs.iter_mut().zip(&edited.tasks).enumerate() {
            if task.source == StatusSource::Claim {
                let is_held = edited.snapshot.plan().tasks()[ix].held;
                let holds = task.moved_to.unwrap_or(State::Pending);
                job.state = if is_held { State::Skipped } else { holds };
            }
            let old = edited.old_of[ix].filter(|_| task.moved_to.is_none());
            job.state = match old.map(|old| (self.phase(old), self.plan_file.writer.intended(old))) {
                // Only the plan skipped it, and the new plan may not.
                Some((Phase::Over(State::Skipped), Some(State::Pending))) => job.state,
                Some((Phase::Over(state), _)) => state,
                Some((Phase::Running | Phase::Resting | Phase::Review, _)) => State::Pending,
                Some((Phase::Waiting, _)) | None => job.state,
            };
        }
    }

    /// Returns the record of an edit for the log; none if the edit does not concern the run.
    fn edit_event(&self, edited: &EditedPlan, moved: &[(u32, State)], is_same: bool) -> Option<PlanEditRecord> {
        let new = &edited.snapshot;
        let names: Vec<String> = moved.iter().map(|&(task, _)| new.name(task).to_owned()).collect();
        let states: Vec<State> = moved.iter().map(|&(_, to)| to).collect();
        let gone = (0..self.plan_file.writer.n_tasks()).filter(|task| !edited.new_of.contains_key(task));
        let gone: Vec<&str> = gone.map(|task| self.snapshot.name(task)).collect();
        let come = (0..).zip(&edited.old_of).filter(|(_, old)| old.is_none());
        let come: Vec<&str> = come.map(|(task, _)| new.name(task)).collect();
        // The state of the run follows its tasks by these records.
        let was_found = |name: &str| {
            let found = self.state().found.as_ref();
            found.is_some_and(|found| found.contains_key(name))
        };
        let is_known = |name: &str| self.state().task(name).is_some() || was_found(name);
        let removed = gone.iter().filter(|name| is_known(name)).map(|name| (*name).to_owned());
        let removed: Vec<String> = removed.collect();
        let both = edited.new_of.iter();
        let both = both.map(|(old, task)| (self.snapshot.name(*old), new.name(*task)));
        let renamed = both.filter(|(from, to)| from != to && is_known(from));
        let mut renamed: Vec<RenamedTask> = renamed.map(|(from, to)| RenamedTask::new(from, to)).collect();
        renamed.sort_by(|one, other| one.from.cmp(&other.from));
        if is_same && names.is_empty() && renamed.is_empty() {
            return None;
        }
        let edits = [("without", gone), ("with the new", come)];
        let edits = edits.iter().filter(|(_, names)| !names.is_empty());
        let edits: Vec<String> = edits.map(|(how, names)| format!(" {how} {}", listed(names))).collect();
        let fields = and_more(self.edited_fields(edited).into_iter());
        let fields = match fields.is_empty() {
            true => String::new(),
            false => format!(": {fields}"),
        };
        let edits = format!("{}{fields}", edits.join(" and"));
        let what = match (is_same, names.is_empty()) {
            (true, false) => format!("another process moved {}", where_to(&names, &states)),
            (_, true) => format!("the plan was edited{edits}"),
            (false, false) => format!("the plan was edited{edits}; {}", where_to(&names, &states)),
        };
        let verbs = moved.iter().map(|&(task, to)| MovedTask {
            task: new.name(task).to_owned(),
            to: to.as_str().to_owned(),
            by: edited.tasks[task as usize].mover.clone(),
            verified: edited.tasks[task as usize].verified,
        });
        Some(PlanEditRecord {
            what,
            moved: verbs.collect(),
            tasks: names,
            renamed,
            removed,
        })
    }

    /// Returns which fields of existing tasks were edited, among those that decide what is done and when.
    fn edited_fields(&self, edited: &EditedPlan) -> Vec<String> {
        let (old, new) = (&self.snapshot, &edited.snapshot);
        let dependencies = |snapshot: &PlanSnapshot, task: u32| -> BTreeSet<String> {
            let edges = snapshot.links().of(task as usize).iter();
            edges.map(|edge| snapshot.name(edge.to).to_owned()).collect()
        };
        let text = |snapshot: &PlanSnapshot, task: u32, field: Field| {
            let task = snapshot.plan().tasks().get(task as usize);
            task.and_then(|task| snapshot.plan().task_str(task, field))
                .map(str::to_owned)
        };
        let mut both: Vec<(u32, u32)> = edited.new_of.iter().map(|(old, new)| (*old, *new)).collect();
        both.sort_unstable_by_key(|(_, new)| *new);
        let mut words = Vec::new();
        for (before, after) in both {
            let name = new.name(after);
            let (was, is) = (dependencies(old, before), dependencies(new, after));
            for gone in was.difference(&is) {
                words.push(format!("`{name}` no longer depends on `{gone}`"));
            }
            for come in is.difference(&was) {
                words.push(format!("`{name}` depends on `{come}` now"));
            }
            let is_edited = |field: &Field| text(old, before, *field) != text(new, after, *field);
            if [Field::Title, Field::Description].iter().any(is_edited) {
                words.push(format!("the text of `{name}` changed"));
            }
        }
        words
    }

    /// Writes the valid states back into the file, and reports the invalid ones.
    fn set_back(&mut self, claimed: &[u32], tasks: &[EditedTask]) -> Result<(), RunError> {
        if claimed.is_empty() {
            return Ok(());
        }
        let request = self.request;
        for &task in claimed {
            let found = tasks[task as usize].found;
            self.plan_file
                .writer
                .restore(task, found, |verb| plain(request, task, verb));
        }
        let words = |&task: &u32| {
            let found = tasks[task as usize].found;
            let holds = self.plan_file.writer.intended(task).unwrap_or(found);
            (self.snapshot.name(task), found, holds)
        };
        let set_back: Vec<(&str, State, State)> = claimed.iter().map(words).collect();
        let remark = set_back_remark(&set_back);
        // A process that writes the same repeatedly is reported once.
        if self.plan_file.edits.last_set_back.as_ref() == Some(&remark.text) {
            return Ok(());
        }
        self.plan_file.edits.last_set_back = Some(remark.text.clone());
        self.record(RunEvent::Remark(remark))
    }

    /// Reports criteria and types of started tasks that were edited without a verb: those of their start verify them.
    fn report_contracts(&mut self, tasks: &[u32]) -> Result<(), RunError> {
        for &task in tasks {
            let text = "its criteria or its type were edited in the plan file after it started: this run verifies it by those of \
                        its start";
            self.remark_kind(Some(task), RemarkKind::ContractEdited, text.to_owned())?;
        }
        Ok(())
    }

    fn follow(&mut self, task: u32, to: State) {
        if self.landing.follow(task, to, self.workers) || self.attempts.follow(task, to, self.workers) {
            return;
        }
        let is_news = match self.phase(task) {
            Phase::Waiting => to != State::Pending,
            // Between two attempts, and during a review, the task is running in the file.
            Phase::Resting | Phase::Review | Phase::Running => to != State::Running,
            Phase::Over(state) => to != state,
        };
        if is_news {
            self.waits.rests.forget(task);
            self.happened(ScheduleEvent::Moved { task, to });
        }
    }

    /// Gives all data by task number the new numbers.
    fn renumber(&mut self, edited: &EditedPlan) {
        let new_of = &edited.new_of;
        self.landing.renumber(new_of, self.workers);
        self.folders.checkouts.renumber(new_of);
        self.landing.conflicts.renumber(new_of);
        super::renumber(&mut self.waits.budget, new_of);
        self.waits.rests.renumber(new_of);
        self.agents.fallbacks.renumber(new_of);
        self.agents.memory.renumber(new_of);
        self.agents.arbiter.renumber(new_of, self.workers);
        self.plan_file
            .writer
            .renumber(new_of, &edited.old_of, &edited.snapshot, |task| {
                edited.tasks[task].moved_to
            });
        let in_scope = |(task, old): (usize, &Option<u32>)| match old {
            Some(old) => self.tasks.in_scope[*old as usize],
            None => {
                let task = &edited.tasks[task];
                task.found == State::Pending || task.source == StatusSource::Claim
            }
        };
        self.tasks.in_scope = edited.old_of.iter().enumerate().map(in_scope).collect();
        let renewed = std::mem::take(&mut self.plan_file.edits.renewed).into_iter();
        self.plan_file.edits.renewed = renewed.filter_map(|task| new_of.get(&task).copied()).collect();
        let actions = std::mem::take(&mut self.tasks.actions).into_iter();
        let new = |task: u32| new_of.get(&task).copied();
        self.tasks.actions = actions.filter_map(|action| renumbered(action, new)).collect();
        self.attempts.renumber(new_of, self.workers);
    }
}

/// Returns an action with the task's new number; none if the task was removed.
fn renumbered(action: ScheduleAction, new: impl Fn(u32) -> Option<u32>) -> Option<ScheduleAction> {
    Some(match action {
        ScheduleAction::Start { task, attempt } => ScheduleAction::Start {
            task: new(task)?,
            attempt,
        },
        ScheduleAction::Rest { task, attempt } => ScheduleAction::Rest {
            task: new(task)?,
            attempt,
        },
        ScheduleAction::Review { task } => ScheduleAction::Review { task: new(task)? },
        ScheduleAction::Skip { task, because } => ScheduleAction::Skip {
            task: new(task)?,
            because: new(because)?,
        },
    })
}

fn where_to(names: &[String], states: &[State]) -> String {
    let moved = names.iter().zip(states);
    and_more(moved.map(|(name, state)| format!("`{name}` to {}", state.as_str())))
}

/// Returns whether the tasks are scheduled as before, apart from their order in the file.
fn is_same_shape(old: &[Job], new: &[Job], old_of: &[Option<u32>]) -> bool {
    let is_in_place = old_of.iter().enumerate().all(|(task, old)| *old == Some(task as u32));
    let bare = |job: &Job| Job {
        state: State::Pending,
        awaits_review: false,
        max_attempts: 1,
        ..job.clone()
    };
    let sorted = |mut job: Job| {
        job.claims.sort_by_key(|claim| (claim.file, !claim.is_exclusive));
        job.claims.dedup_by_key(|claim| claim.file);
        job.dependencies.sort_unstable();
        job.dependencies.dedup();
        job
    };
    is_in_place && old.len() == new.len() && old.iter().zip(new).all(|(old, new)| bare(old) == sorted(bare(new)))
}

/// Returns the tasks whose state in the file is that of the last verb that moved them, and the record of that verb.
fn followed(new: &PlanSnapshot, called: &CalledVerbs) -> Vec<(String, u64)> {
    let tasks = (0..new.plan().tasks().len() as u32).filter_map(|task| {
        let name = new.name(task);
        let record = called.record_of_move(name)?;
        let (_, to) = called.last_move(name)?;
        (to == new.state(task)).then(|| (name.to_owned(), record))
    });
    tasks.collect()
}
