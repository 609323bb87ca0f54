//! What others do while a run goes on: they ask it for something, or change its plan.

use std::collections::{HashMap, HashSet};

use planwright_core::graph::TaskGraph;
use planwright_core::plan::{State, Verb};
use planwright_core::prompt::Template;
use planwright_core::schedule::{Action, Event, Job, Jobs, Phase};

use super::super::agent_choice::choose_agents;
use super::super::attempt::{Attempt, Ending};
use super::super::naming::{and_more, listed};
use super::super::plan_writer::{StatusUpdate, VERB};
use super::super::prepare::{claims, jobs_of};
use super::super::{PlanSnapshot, RunError};
use super::RunLoop;
use super::startup::keeps_output;
use crate::revise::last_verbs;
use crate::runs::{Approved, Ask, Asked, Edited, Finished, RunEvent};
use crate::user::user;
use crate::worker::Manner;

/// Who pauses a run that nobody asked to.
const OURSELVES: &str = "planwright";

impl RunLoop<'_> {
    pub(super) fn heed_requests(&mut self) -> Result<(), RunError> {
        for ask in self.requests.more() {
            self.heed_request(ask)?;
        }
        Ok(())
    }

    fn heed_request(&mut self, ask: Ask) -> Result<(), RunError> {
        let asked = Asked {
            by: ask.by.clone(),
            why: ask.note.clone(),
        };
        match ask.verb.as_str() {
            "pause" if !self.is_paused => {
                self.is_paused = true;
                self.happened(Event::Paused);
                self.record(RunEvent::Paused(asked))?;
            }
            "resume" if self.is_paused => {
                self.is_paused = false;
                self.record(RunEvent::Resumed(asked))?;
                match self.invalid.clone() {
                    Some(why) => self.tell_held(&why)?,
                    None => self.happened(Event::Resumed),
                }
            }
            "stop" | "kill" => {
                let who = ask.by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
                self.why_stopped
                    .get_or_insert_with(|| format!("stopped on request{who}"));
                self.happened(Event::StopRequested);
                if ask.verb == "kill" {
                    self.end_attempts(Manner::Politely);
                }
            }
            "approve" => self.review(&ask, true)?,
            "reject" => self.review(&ask, false)?,
            _ => {}
        }
        Ok(())
    }

    /// Somebody has looked at what a task made.
    fn review(&mut self, ask: &Ask, approves: bool) -> Result<(), RunError> {
        // What somebody says stands alone in the history, with who said it: neither with what was before, nor with what follows.
        self.project()?;
        self.take_word(ask, approves)?;
        self.project()
    }

    fn take_word(&mut self, ask: &Ask, approves: bool) -> Result<(), RunError> {
        let named = ask.task.as_deref().and_then(|name| self.snapshot.named(name).ok());
        let Some(task) = named.filter(|&task| self.phase(task) == Phase::Review) else {
            return Ok(());
        };
        let name = self.snapshot.name(task).to_owned();
        let by = ask.by.clone().or_else(|| self.request.options.by.clone());
        let by = Some(by.unwrap_or_else(user));
        if approves {
            let by_whom = by.clone();
            self.record(RunEvent::Approved(Approved {
                task: name,
                by: by_whom,
            }))?;
            self.happened(Event::Approved { task });
            let output = self
                .outputs
                .get(&task)
                .cloned()
                .filter(|_| keeps_output(self.snapshot.plan()));
            self.update(StatusUpdate {
                note: ask.note.clone(),
                output,
                by: None,
                word_of: by,
                ..self.plain_update(task, Verb::Done)
            });
            return Ok(());
        }
        let why = ask.note.clone().unwrap_or_else(|| "rejected".to_owned());
        self.record(RunEvent::Finished(Finished {
            attempt: self.n_tried.get(&name).copied().unwrap_or(1),
            task: name,
            outcome: "failed".to_owned(),
            why: Some(format!("rejected: {why}")),
            ..Finished::default()
        }))?;
        self.failures.insert(task, why.clone());
        self.happened(Event::Moved {
            task,
            to: State::Failed,
        });
        self.update(StatusUpdate {
            note: Some(why),
            word_of: by,
            ..self.plain_update(task, Verb::Fail)
        });
        Ok(())
    }

    /// Looks whether somebody else has changed the plan, and goes along with it.
    pub(super) fn heed_plan(&mut self) -> Result<(), RunError> {
        match self.snapshot.reread() {
            // Somebody took back what could not be used.
            Ok(None) if self.invalid.is_some() && self.snapshot.is_as_known() => self.release(),
            Ok(None) => Ok(()),
            Ok(Some(new)) => self.go_along(new),
            Err(unreadable) => {
                self.snapshot.overlook(&unreadable);
                self.hold(unreadable.why)
            }
        }
    }

    /// Starts nothing new until the plan can be used again.
    fn hold(&mut self, why: String) -> Result<(), RunError> {
        let is_news = self.invalid.as_ref() != Some(&why);
        if self.invalid.replace(why.clone()).is_none() && !self.is_paused {
            self.happened(Event::Paused);
        }
        match is_news {
            true => self.tell_held(&why),
            false => Ok(()),
        }
    }

    fn tell_held(&mut self, why: &str) -> Result<(), RunError> {
        let why = format!("the plan cannot be used as it is now, and the run goes on when that is mended: {why}");
        // Whoever paused it is the one to resume it.
        if self.is_paused {
            return self.remark(None, why);
        }
        self.record(RunEvent::Paused(Asked {
            by: Some(OURSELVES.to_owned()),
            why: Some(why),
        }))
    }

    /// Goes on with a plan that can be used again, unless the user has the run pause.
    fn release(&mut self) -> Result<(), RunError> {
        if self.invalid.take().is_none() {
            return Ok(());
        }
        if self.is_paused {
            return self.remark(None, "the plan file can be used again; the run is still paused");
        }
        self.happened(Event::Resumed);
        let why = Some("the plan file can be used again".to_owned());
        self.record(RunEvent::Resumed(Asked { by: None, why }))
    }

    fn go_along(&mut self, new: PlanSnapshot) -> Result<(), RunError> {
        let matters = |task: u32| {
            let is_begun = matches!(self.phase(task), Phase::Running | Phase::Resting | Phase::Review);
            is_begun || self.plan_writer.concerns(task)
        };
        let old_of = match new.matched(&self.snapshot, matters) {
            Ok(old_of) => old_of,
            Err(why) => return self.hold(why),
        };
        let planned = TaskGraph::new(new.plan(), new.links())
            .map_err(|_| "the tasks depend on each other in a circle".to_owned())
            .and_then(|graph| jobs_of(self.request, &new, &graph).map_err(|error| error.to_string()))
            .and_then(|jobs| {
                let wanted: Vec<bool> = jobs.iter().map(|job| job.is_wanted).collect();
                let choice = choose_agents(self.request, new.plan(), &wanted).map_err(|error| error.to_string())?;
                Ok((jobs, choice.agents))
            });
        let (mut jobs, agents) = match planned {
            Ok(planned) => planned,
            Err(why) => return self.hold(why),
        };
        for (job, claims) in jobs.iter_mut().zip(claims(new.plan())) {
            job.claims = claims;
        }
        self.release()?;
        self.take_over(new, jobs, agents, &old_of)
    }

    /// Goes over to the plan as it is now.
    fn take_over(
        &mut self,
        new: PlanSnapshot,
        mut jobs: Vec<Job>,
        agents: Vec<Option<String>>,
        old_of: &[Option<u32>],
    ) -> Result<(), RunError> {
        let found: Vec<State> = (0..jobs.len() as u32).map(|task| new.state(task)).collect();
        // Who was moved by somebody else, as opposed to whom the file does not know as far as the run does.
        let mut is_moved: Vec<bool> = (0..jobs.len())
            .map(|task| old_of[task].is_none_or(|old| self.written[old as usize] != found[task]))
            .collect();
        let unsaid = self.unsaid(&new, &found, old_of, &is_moved);
        for &task in &unsaid {
            is_moved[task as usize] = false;
        }
        for (task, job) in jobs.iter_mut().enumerate() {
            let old = old_of[task].filter(|_| !is_moved[task]);
            job.state = match old.map(|old| (self.phase(old), self.meant[old as usize])) {
                // Nobody skipped it but the plan, which may have changed its mind.
                Some((Phase::Over(State::Skipped), State::Pending)) => job.state,
                Some((Phase::Over(state), _)) => state,
                Some((Phase::Running | Phase::Resting | Phase::Review, _)) => State::Pending,
                Some((Phase::Waiting, _)) | None => job.state,
            };
        }
        let new_of: HashMap<u32, u32> = old_of
            .iter()
            .enumerate()
            .filter_map(|(new, old)| Some(((*old)?, new as u32)))
            .collect();
        let is_same = is_same_shape(self.schedule.jobs(), &jobs, old_of);
        // What is new is not moved: it begins where it stands.
        let moved = (0..jobs.len() as u32).filter(|&task| is_moved[task as usize] && old_of[task as usize].is_some());
        let moved: Vec<u32> = moved.collect();
        let is_begun = |task: &u32| {
            let phase = old_of[*task as usize].map(|old| self.phase(old));
            matches!(phase, Some(Phase::Running | Phase::Resting | Phase::Review))
        };
        let begun: HashSet<u32> = moved.iter().copied().filter(is_begun).collect();
        let names: Vec<String> = moved.iter().map(|&task| new.name(task).to_owned()).collect();
        let states: Vec<State> = moved.iter().map(|&task| found[task as usize]).collect();
        let gone = (0..self.written.len() as u32).filter(|task| !new_of.contains_key(task));
        let gone: Vec<&str> = gone.map(|task| self.snapshot.name(task)).collect();
        let come = (0..).zip(old_of).filter(|(_, old)| old.is_none());
        let come: Vec<&str> = come.map(|(task, _)| new.name(task)).collect();
        let edits = [("without", gone), ("with the new", come)];
        let edits = edits.iter().filter(|(_, names)| !names.is_empty());
        let edits: Vec<String> = edits.map(|(how, names)| format!(" {how} {}", listed(names))).collect();
        self.renumber(&new_of, &found, old_of, &is_moved);
        if self.request.options.template.is_none() && self.snapshot.plan().dialect != new.plan().dialect {
            self.template = Template::built_in(new.plan().dialect);
        }
        self.snapshot = new;
        self.agents = agents;
        if !is_same || !names.is_empty() {
            let what = match (is_same, names.is_empty()) {
                (true, _) => format!("somebody else moved {}", where_to(&names, &states)),
                (false, true) => format!("the plan was edited{}", edits.join(" and")),
                (false, false) => format!(
                    "the plan was edited{}; {}",
                    edits.join(" and"),
                    where_to(&names, &states)
                ),
            };
            self.record(RunEvent::Edited(Edited { what, tasks: names }))?;
        }
        if !is_same {
            let (schedule, actions) = self.schedule.over(Jobs::new(jobs), old_of);
            self.schedule = schedule;
            self.actions.extend(actions);
        }
        for task in moved {
            // Where the schedule is another, it has all others as they are by now.
            if is_same || begun.contains(&task) {
                self.follow(task, found[task as usize]);
            }
        }
        self.put_right(&unsaid, &found)
    }

    /// Returns the tasks whose states in the file are nobody's word: those of a text that was read before the run went on and
    /// saved after it, as editors do; and, where everything is to be verified, what is marked as done without having been.
    fn unsaid(&self, new: &PlanSnapshot, found: &[State], old_of: &[Option<u32>], is_moved: &[bool]) -> Vec<u32> {
        if !is_moved.contains(&true) {
            return Vec::new();
        }
        let verbs = last_verbs(new.path(), new.plan());
        let is_unsaid = |&task: &u32| {
            let Some(old) = old_of[task as usize].filter(|_| is_moved[task as usize]) else {
                return false;
            };
            let verb = verbs.get(new.name(task)).map(String::as_str);
            let is_begun = self.n_tried.contains_key(self.snapshot.name(old));
            match found[task as usize] {
                // What it was before: whoever means it has a verb for it.
                State::Pending | State::Running => is_begun && verb == Some(VERB),
                State::Done => !is_begun && verb != Some("done") && self.request.options.require_verification,
                State::Failed | State::Skipped | State::Blocked => false,
            }
        };
        (0..found.len() as u32).filter(is_unsaid).collect()
    }

    /// Has the file say again of tasks what holds.
    fn put_right(&mut self, tasks: &[u32], found: &[State]) -> Result<(), RunError> {
        if tasks.is_empty() {
            return Ok(());
        }
        for &task in tasks {
            let to = self.meant[task as usize];
            let verbs: &[Verb] = match (found[task as usize], to) {
                (State::Pending, State::Running) => &[Verb::Start],
                (State::Pending, State::Done) => &[Verb::Start, Verb::Done],
                (State::Pending, State::Failed) => &[Verb::Start, Verb::Fail],
                (State::Pending, State::Skipped) => &[Verb::Skip],
                (State::Running, State::Done) => &[Verb::Done],
                (State::Running, State::Failed) => &[Verb::Fail],
                (State::Running | State::Done, State::Pending) => &[Verb::Reset],
                _ => &[],
            };
            for &verb in verbs {
                let known = self.settled.get(&task).filter(|update| update.verb == verb).cloned();
                let update = known.unwrap_or_else(|| self.plain_update(task, verb));
                self.plan_writer.add(update);
            }
        }
        let names: Vec<&str> = tasks.iter().map(|&task| self.snapshot.name(task)).collect();
        let text = format!(
            "the plan file was saved with states that do not hold, of {}: that is put right (to move a task during a run, use \
             `planwright done`, `reset` and the like)",
            listed(&names)
        );
        self.remark(None, text)
    }

    /// Has a task go where somebody else has moved it.
    fn follow(&mut self, task: u32, to: State) {
        if let Some((attempt, _)) = self.merges.iter_mut().find(|(attempt, _)| attempt.task == task) {
            if !matches!(to, State::Running | State::Done) {
                attempt.ending.get_or_insert(Ending::TakenAway);
            }
            attempt.moved = Some(to).filter(|to| *to != State::Running);
            return;
        }
        let running = self.attempts.iter_mut().find(|(_, attempt)| attempt.task == task);
        let Some((key, attempt)) = running else {
            let is_news = match self.phase(task) {
                Phase::Waiting => to != State::Pending,
                // It is between two attempts, or waits for approval: that is how the file says so.
                Phase::Resting | Phase::Review | Phase::Running => to != State::Running,
                Phase::Over(state) => to != state,
            };
            if is_news {
                self.resting.retain(|(_, resting)| *resting != task);
                self.happened(Event::Moved { task, to });
            }
            return;
        };
        match to {
            State::Running => {}
            // Perhaps the agent said so itself: it may come to its end, but what becomes of the task is said.
            State::Done => attempt.moved = Some(to),
            State::Pending | State::Failed | State::Skipped | State::Blocked => {
                attempt.moved = Some(to);
                attempt.ending.get_or_insert(Ending::TakenAway);
                let key = *key;
                self.workers.cancel(key, Manner::Politely);
            }
        }
    }

    /// Gives everything that is kept by the number of a task its new number.
    fn renumber(&mut self, new_of: &HashMap<u32, u32>, found: &[State], old_of: &[Option<u32>], is_moved: &[bool]) {
        let new = |task: u32| new_of.get(&task).copied();
        fn moved<V>(map: &mut HashMap<u32, V>, new: impl Fn(u32) -> Option<u32>) {
            *map = std::mem::take(map)
                .into_iter()
                .filter_map(|(task, value)| Some((new(task)?, value)))
                .collect();
        }
        moved(&mut self.trees, new);
        moved(&mut self.settled, new);
        for (task, update) in &mut self.settled {
            update.task = *task;
        }
        moved(&mut self.proven, new);
        moved(&mut self.rests, new);
        moved(&mut self.turns, new);
        moved(&mut self.outputs, new);
        moved(&mut self.failures, new);
        moved(&mut self.decisions, new);
        self.resting = self
            .resting
            .iter()
            .filter_map(|(at, task)| Some((*at, new(*task)?)))
            .collect();
        self.plan_writer.renumber(new);
        self.renumber_asking(new_of);
        let meant = |(task, old): (usize, &Option<u32>)| match old.filter(|_| !is_moved[task]) {
            Some(old) => self.meant[old as usize],
            None => found[task],
        };
        self.meant = old_of.iter().enumerate().map(meant).collect();
        let counted = |(task, old): (usize, &Option<u32>)| match old {
            Some(old) => self.counted[*old as usize],
            None => found[task] == State::Pending,
        };
        self.counted = old_of.iter().enumerate().map(counted).collect();
        self.written = found.to_vec();
        for (attempt, _) in &mut self.merges {
            attempt.task = new(attempt.task).unwrap_or(Attempt::GONE);
            if attempt.is_gone() {
                attempt.ending.get_or_insert(Ending::TakenAway);
            }
        }
        // What was to be done and has not begun is about tasks too.
        self.actions = std::mem::take(&mut self.actions)
            .into_iter()
            .filter_map(|action| renumbered(action, new))
            .collect();
        for (key, attempt) in &mut self.attempts {
            match new(attempt.task) {
                Some(task) => attempt.task = task,
                None => {
                    // The task is gone from the plan.
                    attempt.task = Attempt::GONE;
                    attempt.ending.get_or_insert(Ending::TakenAway);
                    self.workers.cancel(*key, Manner::Politely);
                }
            }
        }
    }
}

/// Returns an action on the task's new number; none where the task is gone.
fn renumbered(action: Action, new: impl Fn(u32) -> Option<u32>) -> Option<Action> {
    Some(match action {
        Action::Start { task, attempt } => Action::Start {
            task: new(task)?,
            attempt,
        },
        Action::Rest { task, attempt } => Action::Rest {
            task: new(task)?,
            attempt,
        },
        Action::Review { task } => Action::Review { task: new(task)? },
        Action::Skip { task, because } => Action::Skip {
            task: new(task)?,
            because: new(because)?,
        },
    })
}

/// Returns tasks and where they are, in words.
fn where_to(names: &[String], states: &[State]) -> String {
    let moved = names.iter().zip(states);
    and_more(moved.map(|(name, state)| format!("`{name}` to {}", state.as_str())))
}

/// Tells whether tasks are to be scheduled as before, apart from where they stand.
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
