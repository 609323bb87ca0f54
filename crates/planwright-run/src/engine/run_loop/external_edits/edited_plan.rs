//! An edited plan, matched with the previous one: which tasks are the same, and who set their statuses. Changes nothing.

use std::collections::{BTreeSet, HashMap};

use planwright_core::graph::TaskGraph;
use planwright_core::plan::{Field, State};
use planwright_core::schedule::{Job, Phase};

use super::super::super::PlanSnapshot;
use super::super::super::agent_choice::choose_agents;
use super::super::super::prepare::{claims, jobs_of};
use super::super::super::status_updates::VERB;
use super::super::RunLoop;
use crate::revise::CalledVerbs;
use crate::verify::contract_of;

/// An edited plan, matched with the previous one.
pub(super) struct EditedPlan {
    pub(super) snapshot: PlanSnapshot,
    pub(super) jobs: Vec<Job>,
    pub(super) agents: Vec<Option<String>>,
    pub(super) weights: Vec<u32>,
    /// The index of each task in the previous plan.
    pub(super) old_of: Vec<Option<u32>>,
    /// The new index of each task of the previous plan.
    pub(super) new_of: HashMap<u32, u32>,
    pub(super) tasks: Vec<EditedTask>,
    /// The tasks whose state in the file is that of the last verb, and its record.
    pub(super) followed: Vec<(String, u64)>,
    /// Tasks that have started, and whose criteria or type were edited without a verb.
    pub(super) contracts: Vec<u32>,
    /// Tasks that have started, and whose criteria or type a verb changed.
    pub(super) renewed: Vec<u32>,
    /// Tasks that an edit marked to be skipped, without a verb.
    pub(super) skips: Vec<u32>,
}

/// The status of a task in the edited file, and its origin.
pub(super) struct EditedTask {
    pub(super) found: State,
    pub(super) source: StatusSource,
    /// The state that a verb of another process gave it. An edit after it may have put another one into the file.
    pub(super) moved_to: Option<State>,
    /// Who called the verb that moved it, where the journal has it.
    pub(super) mover: Option<String>,
    /// Whether commands verified it before that verb.
    pub(super) verified: bool,
}

/// The source of a task's status in the edited file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusSource {
    Run,
    /// Another process called a verb: the status is valid.
    Verb,
    /// An agent, an editor or a script wrote it into the file: it is only a claim, and does not count.
    Claim,
}

impl RunLoop<'_> {
    /// Matches an edited plan with the previous one. The error says why it cannot be used.
    pub(super) fn read_edit(&self, snapshot: PlanSnapshot) -> Result<EditedPlan, String> {
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

    pub(super) fn is_begun(&self, task: u32) -> bool {
        matches!(self.phase(task), Phase::Running | Phase::Resting | Phase::Review)
    }

    /// Returns which fields of existing tasks were edited, among those that decide what is done and when.
    pub(super) fn edited_fields(&self, edited: &EditedPlan) -> Vec<String> {
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
}

/// Returns whether the tasks are scheduled as before, apart from their order in the file.
pub(super) fn is_same_shape(old: &[Job], new: &[Job], old_of: &[Option<u32>]) -> bool {
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
