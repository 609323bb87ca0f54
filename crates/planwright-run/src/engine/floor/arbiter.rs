//! The arbiter of a run: an agent that is asked who takes a task before its attempt begins. It is a process among the others, so
//! that nothing else waits for it; what it answers is written down, and where it has no answer the ordinary choice holds.

use std::collections::HashMap;
use std::ffi::OsString;

use planwright_core::arbiter::Brief;
use planwright_core::plan::State;
use planwright_core::schedule::{Action, Event, Phase};

use super::super::RunError;
use super::super::attempt::mark_of_attempt;
use super::super::spending::tokens;
use super::Floor;
use crate::arbitration::{Attempts, Undecided, available, decided, limits};
use crate::clock;
use crate::files::DiskFiles;
use crate::inquiry::{Answer, Inquiry, InquiryError, InquiryPlace, Listening, not_started};
use crate::runs::{Remark, RunEvent};
use crate::worker::{Ended, Manner};

/// A question that is under way.
pub(super) struct Asking {
    /// The task that an agent is wanted for; none where it is gone from the plan.
    pub(super) task: Option<u32>,
    attempt: u32,
    listening: Listening,
    /// Whether the arbiter was told to end.
    is_ending: bool,
}

impl Floor<'_> {
    /// Returns the arbiter that has to be asked before a task begins. What was made and proven before needs no agent.
    pub(super) fn arbiter_for(&self, task: u32) -> Option<String> {
        let is_to_be_asked =
            !self.decisions.contains_key(&task) && !self.proven.contains_key(&task) && !self.goes_on(task);
        self.order.options.arbiter.clone().filter(|_| is_to_be_asked)
    }

    /// Asks who takes a task; it begins when there is an answer.
    pub(super) fn ask_arbiter(&mut self, arbiter: &str, task: u32, attempt: u32) -> Result<(), RunError> {
        match self.start_asking(arbiter, task, attempt) {
            Ok(()) => Ok(()),
            Err(error) => self.go_without(task, attempt, &error.into()),
        }
    }

    fn start_asking(&mut self, arbiter: &str, task: u32, attempt: u32) -> Result<(), InquiryError> {
        let root = self.root();
        let (plan, links) = (self.book.plan(), self.book.links());
        let past = Attempts::of(&DiskFiles, self.book.place());
        let brief = Brief::of_plan(plan, links, Some(task as usize), past.past());
        let prompt = brief.question(&available(self.order.config, &root));
        let place = InquiryPlace::create(&DiskFiles, &root, &clock::now())?;
        // After a crash it is found as every process of the run.
        let mark = mark_of_attempt(self.place.id(), &self.book.place().target, self.book.name(task), 0);
        let owned = |(name, value): (&std::ffi::OsStr, &std::ffi::OsStr)| (name.to_owned(), value.to_owned());
        let mark: Vec<(OsString, OsString)> = mark.variables().map(owned).collect();
        let inquiry = Inquiry {
            config: self.order.config,
            agent: arbiter,
            prompt: &prompt,
            folder: &root,
            place: &place,
            limits: limits(self.order.config),
            mark: &mark,
        };
        let spec = inquiry.spec()?;
        let asking = Asking {
            task: Some(task),
            attempt,
            listening: Listening::new(&inquiry),
            is_ending: false,
        };
        let key = self.next_key;
        self.next_key += 1;
        self.workers
            .start(key, &spec)
            .map_err(|error| not_started(arbiter, error))?;
        self.asking.insert(key, asking);
        Ok(())
    }

    /// Listens to an arbiter. Returns whether the process is one.
    pub(super) fn hear_arbiter(&mut self, key: u64, bytes: &[u8]) -> bool {
        let Some(asking) = self.asking.get_mut(&key) else {
            return false;
        };
        if asking.listening.take(bytes) && !asking.is_ending {
            asking.is_ending = true;
            self.workers.cancel(key, Manner::Politely);
        }
        true
    }

    /// The arbiter is through: the task begins, with whom it chose or with whom it would have begun anyway.
    pub(super) fn arbiter_ended(&mut self, asking: Asking, ended: &Ended) -> Result<(), RunError> {
        let Asking {
            task,
            attempt,
            listening,
            ..
        } = asking;
        let answer = listening.conclude(ended);
        if let Ok(answer) = &answer {
            self.pay_arbiter(answer, task)?;
        }
        // Somebody may have moved or removed it meanwhile.
        let Some(task) = task.filter(|&task| self.phase(task) == Phase::Running) else {
            return Ok(());
        };
        if self.schedule.stop().is_some() {
            let to = State::Pending;
            self.happened(Event::Moved { task, to });
            return Ok(());
        }
        self.take_answer(task, attempt, answer)
    }

    /// Writes down what an answer has cost, so that it stays spent.
    fn pay_arbiter(&mut self, answer: &Answer, task: Option<u32>) -> Result<(), RunError> {
        let tokens = tokens(answer.tokens_in, answer.tokens_out);
        if answer.cost_usd.is_none() && tokens.is_none() {
            return Ok(());
        }
        self.spend(answer.cost_usd, tokens);
        let cost = answer.cost_usd.map(|cost| format!("${cost:.2}"));
        let used = tokens.map(|[sent, received]| format!("{} tokens", sent.saturating_add(received)));
        let told: Vec<String> = cost.into_iter().chain(used).collect();
        self.record(RunEvent::Remark(Remark {
            text: format!("the arbiter's answer took {}", told.join(" and ")),
            task: task.map(|task| self.book.name(task).to_owned()),
            cost_usd: answer.cost_usd,
            tokens,
        }))
    }

    fn take_answer(&mut self, task: u32, attempt: u32, answer: Result<Answer, InquiryError>) -> Result<(), RunError> {
        let arbiter = self.order.options.arbiter.clone().unwrap_or_default();
        let root = self.root();
        let agents = available(self.order.config, &root);
        match decided(&arbiter, answer, &agents) {
            Ok((decision, _)) => {
                let text = format!(
                    "the arbiter `{arbiter}` gives it to `{}`: {}",
                    decision.agent, decision.reason
                );
                self.remark(Some(task), text)?;
                self.decisions.insert(task, Some(decision.agent));
                self.actions.push_back(Action::Start { task, attempt });
                Ok(())
            }
            Err(error) => self.go_without(task, attempt, &error),
        }
    }

    /// Returns whether a task that the arbiter was asked about is not to begin yet: somebody has paused the run meanwhile, or
    /// made its plan useless.
    pub(super) fn is_kept_back(&self, task: u32) -> bool {
        self.decisions.contains_key(&task) && (self.is_paused || self.invalid.is_some())
    }

    /// Begins a task without an arbiter's word.
    fn go_without(&mut self, task: u32, attempt: u32, error: &Undecided) -> Result<(), RunError> {
        let agent = self.agents.get(task as usize).cloned().flatten().unwrap_or_default();
        let text = format!("no arbiter has chosen, and `{agent}` takes it: {error}");
        self.remark(Some(task), text)?;
        self.decisions.insert(task, None);
        self.actions.push_back(Action::Start { task, attempt });
        Ok(())
    }

    /// Ends all questions: nothing will begin.
    pub(super) fn end_asking(&mut self, manner: Manner) {
        for (key, asking) in &mut self.asking {
            if !asking.is_ending || manner == Manner::AtOnce {
                asking.is_ending = true;
                asking.listening.interrupt();
                self.workers.cancel(*key, manner);
            }
        }
    }

    /// Gives the tasks that are asked about their new numbers; a question about one that is gone is ended.
    pub(super) fn renumber_asking(&mut self, new_of: &HashMap<u32, u32>) {
        for (key, asking) in &mut self.asking {
            asking.task = asking.task.and_then(|task| new_of.get(&task).copied());
            if asking.task.is_none() && !asking.is_ending {
                asking.is_ending = true;
                self.workers.cancel(*key, Manner::Politely);
            }
        }
    }
}
