//! An attempt while its agent works: prompt, process, what is heard of it, and what it comes to.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use planwright_core::agent::{Basis, Conclusion, End, Heard};
use planwright_core::plan::{State, Verb};
use planwright_core::prompt::{Context, DEFAULT_MAX_BYTES, Prompt};
use planwright_core::schedule::Event;

use super::super::RunError;
use super::super::attempt::{Attempt, Ending, Launch, Stage, mark_of_attempt};
use super::super::plan_writer::StatusUpdate;
use super::super::recovery::Proven;
use super::RunLoop;
use super::landing::Obstacle;
use super::results::{MAX_REMEMBERED, cut};
use crate::agent_output::{AgentOutput, MAX_OWN_WAIT, end_all, environment_of, keep_result};
use crate::causes::with_causes;
use crate::clock;
use crate::config::units::duration_text;
use crate::fallback::told_wait;
use crate::faults;
use crate::files::write_own;
use crate::runs::{self, Finished, RunEvent, Started};
use crate::worker::{self, Cause, Ended, Exit, Manner, StartError, without_secrets};

impl RunLoop<'_> {
    /// Writes down that an attempt begins. The process follows when that is durable.
    pub(super) fn begin_attempt(&mut self, task: u32, attempt: u32) -> Result<(), RunError> {
        let chosen = self.decisions.remove(&task).flatten();
        let agent = chosen.or_else(|| self.agents.get(task as usize).cloned().flatten());
        let agent = agent.unwrap_or_default();
        // What was made and proven before needs no agent.
        if !self.proven.contains_key(&task) && self.waits_for_agent(task, &agent) {
            return Ok(());
        }
        let name = self.snapshot.name(task).to_owned();
        // Names may change hands; the files of an attempt do not.
        let number = self.n_tried.get(&name).copied().unwrap_or(0) + 1;
        self.n_tried.insert(name.clone(), number);
        let (agent, instead_of) = self.runner_for(task, agent);
        let place = self.place.attempt(&name, number);
        let slot = self.take_slot();
        let mut begun = Attempt {
            task,
            number,
            slot,
            result: place.result(),
            folder: self.root(),
            stage: Stage::Working(Box::new(AgentOutput::new(
                self.request
                    .config
                    .agents
                    .get(&agent)
                    .map_or(crate::config::Format::Plain, |agent| agent.output),
            ))),
            tree: None,
            files_before: None,
            of_others: BTreeSet::new(),
            place,
            name,
            agent,
            instead_of,
            ending: None,
            moved: None,
        };
        if let Some(proven) = self.proven.remove(&task)
            && self.reopen(&mut begun, &proven)
        {
            return self.bring_home(begun, proven);
        }
        if let Some(why) = self.over_task_budget(&begun.name) {
            return self.not_begun(begun, &why);
        }
        if let Err(obstacle) = self.find_ground(&mut begun) {
            self.record(starting(&begun))?;
            self.start_update(&begun);
            return match obstacle {
                Obstacle::OfTask(why) => self.not_started(begun, &why),
                Obstacle::OfAll(why) => self.hindered(begun, &why),
            };
        }
        let plan_path = self.snapshot.place().relative.clone();
        let result = begun.result.to_string_lossy().into_owned();
        let outputs: Vec<(usize, &str)> = {
            let edges = self.snapshot.links().of(task as usize).iter();
            let known = edges.filter_map(|edge| Some((edge.to as usize, self.outputs.get(&edge.to)?.as_str())));
            known.collect()
        };
        let context = Context {
            outputs: &outputs,
            attempt: if self.failures.contains_key(&task) {
                number
            } else {
                attempt
            },
            last_failure: self.failures.get(&task).map(String::as_str),
            plan_path: &plan_path,
            result_file: Some(&result),
            template: Some(&self.template),
            max_bytes: DEFAULT_MAX_BYTES,
        };
        let prompt = Prompt::of(self.snapshot.plan(), self.snapshot.links(), task as usize, &context).text;
        self.record(starting(&begun))?;
        self.start_update(&begun);
        self.spawning.push((begun, prompt));
        Ok(())
    }

    /// Goes on with what an attempt of the run before has made and proven: nobody has to make it again.
    fn bring_home(&mut self, mut attempt: Attempt, proven: Proven) -> Result<(), RunError> {
        attempt.agent = proven.agent;
        attempt.instead_of = None;
        self.record(starting(&attempt))?;
        self.start_update(&attempt);
        let text = "what it made in the run before was proven and not merged yet: it is verified again, and merged";
        self.remark(Some(attempt.task), text)?;
        self.happened(Event::Started { task: attempt.task });
        let mut conclusion = Conclusion {
            end: End::Done,
            basis: Basis::ResultFile,
            output: proven.output,
            affected_files: Vec::new(),
            notes: String::new(),
            discoveries: Vec::new(),
            proposed_tasks: Vec::new(),
            session: None,
            cost_usd: None,
            tokens_in: None,
            tokens_out: None,
            denials: Vec::new(),
        };
        let commit = match self.gather(&mut attempt, &mut conclusion) {
            Ok(commit) => commit,
            Err(why) => return self.not_started(attempt, &why),
        };
        self.record(RunEvent::Finished(Finished {
            task: attempt.name.clone(),
            attempt: attempt.number,
            outcome: "done".to_owned(),
            output: Some(conclusion.output.clone()).filter(|output| !output.is_empty()),
            files: conclusion.affected_files.clone(),
            ..Finished::default()
        }))?;
        self.commit()?;
        self.verify(attempt, conclusion, commit)
    }

    /// Has the plan file learn that a task is under way.
    pub(super) fn start_update(&mut self, attempt: &Attempt) {
        let verb = match self.meant.get(attempt.task as usize) {
            Some(State::Failed) => Verb::Retry,
            None | Some(State::Running) => return,
            Some(_) => Verb::Start,
        };
        self.update(StatusUpdate {
            by: Some(attempt.agent.clone()),
            ..self.plain_update(attempt.task, verb)
        });
    }

    fn take_slot(&mut self) -> u32 {
        let free = self.slots.iter().position(|is_taken| !is_taken);
        let slot = free.unwrap_or_else(|| {
            self.slots.push(false);
            self.slots.len() - 1
        });
        self.slots[slot] = true;
        slot as u32 + 1
    }

    pub(super) fn free_slot(&mut self, attempt: &Attempt) {
        if let Some(slot) = self.slots.get_mut(attempt.slot as usize - 1) {
            *slot = false;
        }
    }

    /// Starts the processes of what is durable by now.
    pub(super) fn spawn(&mut self) -> Result<(), RunError> {
        for (mut attempt, prompt) in std::mem::take(&mut self.spawning) {
            if self.n_interrupts > 1 {
                self.interrupted(attempt, None)?;
                continue;
            }
            if let Err(error) = prepare_files(&attempt, &prompt) {
                self.hindered(attempt, &format!("the files of an attempt cannot be written: {error}"))?;
                continue;
            }
            let Some(agent) = self.request.config.agents.get(&attempt.agent) else {
                let why = format!("there is no agent `{}`", attempt.agent);
                self.not_started(attempt, &why)?;
                continue;
            };
            if agent.takes_for_option(&attempt.name) {
                let why = format!(
                    "the agent would take the name of the task for an option: write `--task={{task}}` in agents.{}.command, or \
                     leave `{{task}}` out and use PLANWRIGHT_TASK",
                    attempt.agent
                );
                self.not_started(attempt, &why)?;
                continue;
            }
            if !self.environments.contains_key(&attempt.agent) {
                self.environments.insert(attempt.agent.clone(), environment_of(agent));
            }
            let launch = Launch {
                agent,
                config: self.request.config,
                prompt: &prompt,
                attempt: &attempt,
                plan: &self.snapshot.place().target,
                run: self.place.id(),
                secrets: &self.secrets,
                environment: self.environments.get(&attempt.agent).map_or(&[], Vec::as_slice),
            };
            let spec = launch.spec();
            let key = self.next_key;
            self.next_key += 1;
            match self.workers.start(key, &spec) {
                Ok(started) => {
                    self.record(RunEvent::Started(Started {
                        task: attempt.name.clone(),
                        attempt: attempt.number,
                        pid: started.pid,
                        start_time: Some(started.start_time).filter(|time| !time.is_empty()),
                    }))?;
                    let task = attempt.task;
                    self.meet(&mut attempt);
                    self.attempts.insert(key, attempt);
                    self.happened(Event::Started { task });
                }
                Err(error @ StartError::Log { .. }) => self.hindered(attempt, &with_causes(&error))?,
                Err(error) => self.not_started(attempt, &with_causes(&error))?,
            }
        }
        Ok(())
    }

    /// Something of the machine's is in the way, of this task as of any other: the run ends, and no task is to blame.
    fn hindered(&mut self, mut attempt: Attempt, why: &str) -> Result<(), RunError> {
        self.stop_hindered(why.to_owned());
        attempt.ending.get_or_insert(Ending::Interrupted);
        self.interrupted(attempt, None)
    }

    /// An attempt that has no process has failed, and the next one would as well.
    fn not_started(&mut self, attempt: Attempt, why: &str) -> Result<(), RunError> {
        self.record(failed_at_once(&attempt, why))?;
        self.failed(attempt, why, false)
    }

    /// A task that has nothing left to spend has failed without another attempt.
    fn not_begun(&mut self, attempt: Attempt, why: &str) -> Result<(), RunError> {
        self.record(failed_at_once(&attempt, why))?;
        self.start_update(&attempt);
        self.fail(attempt, why, false)
    }

    pub(super) fn heed(&mut self, event: worker::Event) -> Result<(), RunError> {
        match event {
            worker::Event::Line { key, line } => {
                if let Some(attempt) = self.attempts.get(&key) {
                    self.watcher.line(&attempt.name, &line);
                }
                Ok(())
            }
            worker::Event::Output { key, bytes } => {
                if !self.hear_arbiter(key, &bytes) {
                    self.hear(key, &bytes);
                }
                Ok(())
            }
            worker::Event::Ended(ended) => {
                // What the plan says by now of a task that is under way is a claim.
                self.heed_plan()?;
                if let Some(asking) = self.asking.remove(&ended.key) {
                    return self.arbiter_ended(asking, &ended);
                }
                match self.attempts.remove(&ended.key) {
                    Some(attempt) => self.process_ended(attempt, ended),
                    None => Ok(()),
                }
            }
        }
    }

    /// Listens to an agent, and ends it where it would only waste time.
    fn hear(&mut self, key: u64, bytes: &[u8]) {
        let Some(attempt) = self.attempts.get_mut(&key) else {
            return;
        };
        let Stage::Working(hearing) = &mut attempt.stage else {
            return;
        };
        for heard in hearing.take(bytes) {
            let ending = match heard {
                Heard::Looping => Ending::Looping,
                Heard::RateLimited { wait: Some(wait), why } if wait > MAX_OWN_WAIT => {
                    Ending::RateLimited { wait, why }
                }
                _ => continue,
            };
            if attempt.ending.is_none() {
                attempt.ending = Some(ending);
                self.workers.cancel(key, Manner::Politely);
            }
        }
    }

    fn process_ended(&mut self, mut attempt: Attempt, ended: Ended) -> Result<(), RunError> {
        let stage = std::mem::replace(
            &mut attempt.stage,
            Stage::Working(Box::new(AgentOutput::new(crate::config::Format::Plain))),
        );
        match stage {
            Stage::Working(hearing) => {
                let (conclusion, remarks) = hearing.conclude(&ended, &attempt.result);
                if attempt.tree.is_some() {
                    // What is in the worktree goes with it. It is kept for people: that it cannot be is no matter.
                    let kept = faults::step("keep result")
                        .and_then(|()| keep_result(&attempt.result, &attempt.place.result()));
                    kept.ok();
                }
                for text in remarks {
                    self.remark(Some(attempt.task), text)?;
                }
                self.worked(attempt, &ended, conclusion)
            }
            Stage::Checking(checking) => self.checked(attempt, &ended, checking),
            Stage::Merging(checking, candidate) => self.merge_checked(attempt, &ended, checking, candidate),
        }
    }

    /// The agent is through.
    fn worked(&mut self, attempt: Attempt, ended: &Ended, conclusion: Conclusion) -> Result<(), RunError> {
        self.spend_on(&attempt.name, ended, &conclusion);
        let mut conclusion = conclusion;
        let said = [&mut conclusion.output, &mut conclusion.notes].into_iter();
        let found = conclusion.discoveries.iter_mut().chain(&mut conclusion.proposed_tasks);
        for text in said.chain(found) {
            // What it wrote into its result file was not looked at yet.
            if !self.secrets.is_empty() {
                *text = without_secrets(text, &self.secrets);
            }
        }
        if let Some(error) = &ended.log_error {
            self.remark(
                Some(attempt.task),
                format!("the end of its output is not in its log: {error}"),
            )?;
        }
        if ended.was_outlived {
            self.end_what_is_left(&attempt)?;
        }
        if attempt.ending.is_none() && !attempt.is_gone() {
            self.propose(&attempt, &conclusion.proposed_tasks)?;
        }
        let mut attempt = attempt;
        let mut commit = None;
        if conclusion.end == End::Done && attempt.ending.is_none() {
            match self.gather(&mut attempt, &mut conclusion) {
                Ok(found) => commit = found,
                Err(why) => conclusion.end = End::Failed { why },
            }
            if let Some(why) = self.look_for_drift(&attempt, &conclusion)? {
                conclusion.end = End::Failed { why };
            }
        }
        let report = |outcome: &str, why: Option<&str>| finished(&attempt, outcome, why, ended, &conclusion);
        match (&attempt.ending, &conclusion.end) {
            (Some(Ending::Interrupted | Ending::TakenAway), _) => self.interrupted(attempt, Some((ended, &conclusion))),
            (Some(Ending::RateLimited { wait, why }), _) => {
                let (wait, why) = (told_wait(Some(*wait), why), why.clone());
                let event = limited(report("rate-limited", Some(&why)), wait);
                self.record(event)?;
                self.deferred(attempt, wait, &why)
            }
            (_, End::RateLimited { wait, why }) => {
                let (wait, why) = (told_wait(*wait, why), why.clone());
                let event = limited(report("rate-limited", Some(&why)), wait);
                self.record(event)?;
                self.deferred(attempt, wait, &why)
            }
            (_, End::Done) => {
                let event = report("done", None);
                self.record(event)?;
                self.verify(attempt, conclusion, commit)
            }
            (_, End::Stopped { condition }) => {
                let condition = condition.clone();
                let event = report("stopped", Some(&condition));
                self.record(event)?;
                self.met_condition(attempt, &condition)
            }
            (_, End::Broken { why }) => {
                let why = why.clone();
                let way = self.way_around(&attempt);
                let outcome = if way.is_some() { "broken" } else { "failed" };
                let event = finished(&attempt, outcome, Some(&why), ended, &conclusion);
                self.record(event)?;
                match way {
                    Some(way) => self.go_another_way(attempt, way, "could not work", &why),
                    None => self.failed(attempt, &why, true),
                }
            }
            (_, End::Failed { why }) => {
                let why = why.clone();
                let event = report("failed", Some(&why));
                self.record(event)?;
                self.failed(attempt, &why, true)
            }
            (_, End::Interrupted) => {
                let why = self.limit_words(ended);
                let event = report("failed", Some(&why));
                self.record(event)?;
                self.failed(attempt, &why, true)
            }
        }
    }

    /// Ends what an agent or a command left running.
    pub(super) fn end_what_is_left(&mut self, attempt: &Attempt) -> Result<(), RunError> {
        let plan = &self.snapshot.place().target;
        let mark = mark_of_attempt(self.place.id(), plan, &attempt.name, attempt.number);
        let n_ended = end_all(&mark);
        if n_ended > 0 {
            let text = format!(
                "{} that it had started went on without it, and was ended",
                processes(n_ended)
            );
            self.remark(Some(attempt.task), text)?;
        }
        Ok(())
    }

    /// Returns why an attempt was ended that nobody asked to end.
    fn limit_words(&self, ended: &Ended) -> String {
        let config = &self.request.config.run;
        match (ended.cause, ended.exit) {
            (Cause::WallLimit, _) => format!(
                "it took longer than {} (run.wall_limit) and was ended",
                duration_text(config.wall_limit)
            ),
            (Cause::Silence, _) => format!(
                "it said nothing for {} (run.silence_limit) and was ended",
                duration_text(config.silence_limit)
            ),
            (_, Exit::Signal(signal)) => format!("it was ended by signal {signal} before it was done"),
            _ => "it was interrupted before it was done".to_owned(),
        }
    }
}

/// Returns a number of processes in words.
pub(super) fn processes(n: usize) -> String {
    match n {
        1 => "a process".to_owned(),
        n => format!("{n} processes"),
    }
}

fn failed_at_once(attempt: &Attempt, why: &str) -> RunEvent {
    RunEvent::Finished(Finished {
        task: attempt.name.clone(),
        attempt: attempt.number,
        outcome: "failed".to_owned(),
        why: Some(why.to_owned()),
        ..Finished::default()
    })
}

fn starting(attempt: &Attempt) -> RunEvent {
    RunEvent::Starting(runs::Attempt {
        task: attempt.name.clone(),
        attempt: attempt.number,
        agent: attempt.agent.clone(),
        instead_of: attempt.instead_of.clone(),
        slot: attempt.slot,
        folder: attempt
            .tree
            .as_ref()
            .map(|tree| tree.worktree.path().to_string_lossy().into_owned()),
        branch: attempt.tree.as_ref().map(|tree| tree.worktree.branch().to_owned()),
    })
}

/// Writes the prompt. Where it reports nothing was before: no attempt has the name of another.
fn prepare_files(attempt: &Attempt, prompt: &str) -> io::Result<()> {
    faults::step("write prompt")?;
    write_own(&attempt.place.prompt(), prompt.as_bytes())
}

pub(super) fn finished(
    attempt: &Attempt,
    outcome: &str,
    why: Option<&str>,
    ended: &Ended,
    conclusion: &Conclusion,
) -> RunEvent {
    let output = conclusion.output.trim();
    let exit = match ended.exit {
        Exit::Code(code) => Some(format!("exit {code}")),
        Exit::Signal(signal) => Some(format!("signal {signal}")),
        Exit::Unknown => None,
    };
    RunEvent::Finished(Finished {
        task: attempt.name.clone(),
        attempt: attempt.number,
        outcome: outcome.to_owned(),
        why: why.map(|why| cut(why, MAX_REMEMBERED)),
        output: (!output.is_empty()).then(|| cut(output, MAX_REMEMBERED)),
        files: conclusion.affected_files.clone(),
        exit,
        milliseconds: u64::try_from(clock::shown(ended.duration).as_millis()).ok(),
        cost_usd: conclusion.cost_usd,
        tokens: runs::tokens(conclusion.tokens_in, conclusion.tokens_out),
        session: conclusion.session.clone(),
        discoveries: conclusion.discoveries.clone(),
        limited_for: None,
    })
}

/// Returns the end of an attempt with how long its agent is to be waited for.
fn limited(event: RunEvent, wait: Option<Duration>) -> RunEvent {
    let limited_for = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    match event {
        RunEvent::Finished(finished) => RunEvent::Finished(Finished {
            limited_for,
            ..finished
        }),
        event => event,
    }
}
