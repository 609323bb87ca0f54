//! The arbiter of a run: an agent that chooses the agent of a task. It runs next to other processes; without an answer the usual choice
//! stands.

use std::collections::HashMap;
use std::ffi::OsString;

use planwright_core::arbiter::ArbiterBrief;
use planwright_core::plan::State;
use planwright_core::schedule::{Phase, ScheduleAction, ScheduleEvent};

use super::super::RunError;
use super::super::attempt::mark_of_attempt;
use super::RunLoop;
use crate::agent_query::{AgentAnswer, AgentQuery, AgentQueryError, AgentQueryPlace, Listening, not_started};
use crate::arbitration::{AttemptHistory, Undecided, available, decided, limits};
use crate::clock;
use crate::files::DiskFiles;
use crate::journal::plan_id;
use crate::runs::{AgentChoiceRecord, RemarkKind, RunEvent};
use crate::worker::{EndedProcess, StopManner, Workers};

pub(super) struct ArbiterQuery {
    /// The task that needs an agent; none if it was removed from the plan.
    task: Option<u32>,
    /// Its name at the time of the query.
    name: String,
    arbiter: String,
    attempt: u32,
    listening: Listening,
    is_ending: bool,
}

#[derive(Default)]
pub(super) struct ArbiterQuestions {
    /// Active queries, by the key of their process.
    asking: HashMap<u64, ArbiterQuery>,
    /// The agent of a task that is about to start; none if the arbiter did not choose.
    decisions: HashMap<u32, Option<String>>,
}

impl ArbiterQuestions {
    pub(super) fn is_idle(&self) -> bool {
        self.asking.is_empty()
    }

    pub(super) fn has_decided(&self, task: u32) -> bool {
        self.decisions.contains_key(&task)
    }

    /// Returns the agent that the arbiter chose for a task that is about to start.
    pub(super) fn decision(&self, task: u32) -> Option<String> {
        self.decisions.get(&task).cloned().flatten()
    }

    pub(super) fn take_decision(&mut self, task: u32) -> Option<String> {
        self.decisions.remove(&task).flatten()
    }

    pub(super) fn take_question(&mut self, key: u64) -> Option<ArbiterQuery> {
        self.asking.remove(&key)
    }

    /// Reads output of an arbiter. Returns whether the process is one.
    pub(super) fn hear(&mut self, workers: &mut Workers, key: u64, bytes: &[u8]) -> bool {
        let Some(asking) = self.asking.get_mut(&key) else {
            return false;
        };
        if asking.listening.take(bytes) && !asking.is_ending {
            asking.is_ending = true;
            workers.cancel(key, StopManner::Politely);
        }
        true
    }

    /// Ends all queries, because no task will start.
    pub(super) fn end(&mut self, workers: &mut Workers, manner: StopManner) {
        for (key, asking) in &mut self.asking {
            if !asking.is_ending || manner == StopManner::AtOnce {
                asking.is_ending = true;
                asking.listening.interrupt();
                workers.cancel(*key, manner);
            }
        }
    }

    /// Gives the tasks of queries their new numbers. A query about a removed task is ended.
    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>, workers: &mut Workers) {
        super::renumber(&mut self.decisions, new_of);
        for (key, asking) in &mut self.asking {
            asking.task = asking.task.and_then(|task| new_of.get(&task).copied());
            if asking.task.is_none() && !asking.is_ending {
                asking.is_ending = true;
                workers.cancel(*key, StopManner::Politely);
            }
        }
    }
}

impl RunLoop<'_> {
    /// Returns the arbiter to ask before a task starts. Work that is already verified needs no agent.
    pub(super) fn arbiter_for(&self, task: u32) -> Option<String> {
        let is_to_be_asked = !self.agents.arbiter.has_decided(task)
            && !self.landing.has_unlanded(task)
            && !self.agents.fallbacks.continues(task);
        self.request.options.flags.arbiter.clone().filter(|_| is_to_be_asked)
    }

    /// Asks for the agent of a task, which starts after the answer. The query is durable before its process starts.
    pub(super) fn ask_arbiter(&mut self, arbiter: &str, task: u32, attempt: u32) -> Result<(), RunError> {
        let text = format!("the arbiter `{arbiter}` is asked who takes it");
        self.remark_kind(Some(task), RemarkKind::ArbiterAsked, text)?;
        self.commit()?;
        match self.start_asking(arbiter, task, attempt) {
            Ok(()) => Ok(()),
            Err(error) => self.go_without(task, attempt, &error.into()),
        }
    }

    fn start_asking(&mut self, arbiter: &str, task: u32, attempt: u32) -> Result<(), AgentQueryError> {
        let root = self.root();
        let (plan, links) = (self.snapshot.plan(), self.snapshot.links());
        let past = AttemptHistory::of(&DiskFiles, self.snapshot.place(), plan_id(self.snapshot.plan()));
        let brief = ArbiterBrief::of_plan(plan, links, Some(task as usize), past.past());
        let prompt = brief.question(&available(self.request.config, &root));
        let place = AgentQueryPlace::create(&DiskFiles, &root, &clock::now())?;
        // After a crash it is found like every process of the run.
        let mark = mark_of_attempt(
            self.live.place.id(),
            &self.snapshot.place().target,
            self.snapshot.name(task),
            0,
        );
        let owned = |(name, value): (&std::ffi::OsStr, &std::ffi::OsStr)| (name.to_owned(), value.to_owned());
        let mark: Vec<(OsString, OsString)> = mark.variables().map(owned).collect();
        let query = AgentQuery {
            config: self.request.config,
            agent: arbiter,
            prompt: &prompt,
            folder: &root,
            place: &place,
            limits: limits(self.request.config),
            mark: &mark,
            fencing: self.folders.fences.fencing(),
        };
        let mut spec = query.spec()?;
        let asking = ArbiterQuery {
            task: Some(task),
            name: self.snapshot.name(task).to_owned(),
            arbiter: arbiter.to_owned(),
            attempt,
            listening: Listening::new(&query),
            is_ending: false,
        };
        let key = self.attempts.new_key();
        self.start_process(key, &mut spec)
            .map_err(|error| not_started(arbiter, error))?;
        self.agents.arbiter.asking.insert(key, asking);
        Ok(())
    }

    /// Handles the end of an arbiter: the task starts with the chosen agent, or with its usual one.
    pub(super) fn arbiter_ended(&mut self, asking: ArbiterQuery, ended: &EndedProcess) -> Result<(), RunError> {
        let answer = asking.listening.conclude(ended);
        // The task may have been moved or removed, or the run stopped, in the meantime.
        let task = asking.task.filter(|&task| self.phase(task) == Phase::Running);
        let Some(task) = task.filter(|_| self.tasks.schedule.stop().is_none()) else {
            let why = Some("the task no longer starts".to_owned());
            self.record_cost(RunEvent::AgentChosen(AgentChoiceRecord {
                why,
                ..chosen(&asking.arbiter, &asking.name, answer.as_ref().ok())
            }))?;
            if let Some(task) = task {
                let to = State::Pending;
                self.happened(ScheduleEvent::Moved { task, to });
            }
            return Ok(());
        };
        self.take_answer(task, asking.attempt, answer)
    }

    fn take_answer(
        &mut self,
        task: u32,
        attempt: u32,
        answer: Result<AgentAnswer, AgentQueryError>,
    ) -> Result<(), RunError> {
        let arbiter = self.request.options.flags.arbiter.clone().unwrap_or_default();
        let name = self.snapshot.name(task).to_owned();
        let spent = chosen(&arbiter, &name, answer.as_ref().ok());
        let root = self.root();
        match decided(&arbiter, answer, &available(self.request.config, &root)) {
            Ok((decision, _)) => {
                self.record_cost(RunEvent::AgentChosen(AgentChoiceRecord {
                    agent: decision.agent.clone(),
                    reason: Some(decision.reason),
                    ..spent
                }))?;
                self.agents.arbiter.decisions.insert(task, Some(decision.agent));
                self.tasks.actions.push_back(ScheduleAction::Start { task, attempt });
                Ok(())
            }
            Err(error) => self.begin_anyway(task, attempt, &error, spent),
        }
    }

    /// Starts a task for which the arbiter could not be asked.
    fn go_without(&mut self, task: u32, attempt: u32, error: &Undecided) -> Result<(), RunError> {
        let arbiter = self.request.options.flags.arbiter.clone().unwrap_or_default();
        let spent = chosen(&arbiter, self.snapshot.name(task), None);
        self.begin_anyway(task, attempt, error, spent)
    }

    fn begin_anyway(
        &mut self,
        task: u32,
        attempt: u32,
        error: &Undecided,
        spent: AgentChoiceRecord,
    ) -> Result<(), RunError> {
        let agent = self.agents.chosen.of_task(task);
        self.record_cost(RunEvent::AgentChosen(AgentChoiceRecord {
            agent,
            why: Some(error.to_string()),
            ..spent
        }))?;
        self.agents.arbiter.decisions.insert(task, None);
        self.tasks.actions.push_back(ScheduleAction::Start { task, attempt });
        Ok(())
    }

    /// Returns whether a task must wait after its query: the run was paused, or its plan became invalid.
    pub(super) fn is_kept_back(&self, task: u32) -> bool {
        self.agents.arbiter.has_decided(task) && (self.user.control.is_paused() || self.plan_file.edits.is_held())
    }
}

fn chosen(arbiter: &str, task: &str, answer: Option<&AgentAnswer>) -> AgentChoiceRecord {
    AgentChoiceRecord {
        task: task.to_owned(),
        arbiter: arbiter.to_owned(),
        milliseconds: answer.and_then(|answer| u64::try_from(answer.duration.as_millis()).ok()),
        cost_usd: answer.and_then(|answer| answer.usage.cost_usd),
        tokens: answer.and_then(|answer| answer.usage.tokens()),
        ..AgentChoiceRecord::default()
    }
}
