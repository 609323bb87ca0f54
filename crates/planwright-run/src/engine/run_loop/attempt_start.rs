//! Starts an attempt: records it, and starts its process when the record is durable.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use planwright_core::agent::{AttemptEnd, CombinedVerdict, Usage, VerdictSource};
use planwright_core::plan::{State, Task, Verb};
use planwright_core::prompt::{DEFAULT_MAX_BYTES, Prompt, PromptContext};
use planwright_core::schedule::ScheduleEvent;

use super::super::RunError;
use super::super::attempt::{
    AgentEndReason, AttemptLocation, AttemptPhase, AttemptResources, AttemptWork, RunningAttempt, mark_of_attempt,
};
use super::super::preview::commands_of;
use super::super::protected::Protection;
use super::super::recovery::UnlandedWork;
use super::super::status_updates::StatusUpdate;
use super::RunLoop;
use super::checkouts::{CheckoutObstacle, find};
use super::results::AttemptFailure;
use crate::agent_output::AgentOutput;
use crate::agent_process::{AgentFiles, AgentProcess};
use crate::config::{Agent, Command};
use crate::error_chain::with_causes;
use crate::faults;
use crate::fence::Fence;
use crate::files::write_own;
use crate::git::TaskCheckout;
use crate::runs::{self, AttemptEndRecord, Outcome, ProcessStartRecord, RunEvent, VerificationContract};
use crate::shell::command_line;
use crate::verify::{self, TaskChecks, contract_of};
use crate::worker::{EndedProcess, ProcessExit, StartError};

/// The wait when the machine is short of a resource, and how often the run waits before it ends.
const SHORTAGE_WAIT: Duration = Duration::from_secs(10);
const MAX_SHORTAGES: u32 = 60;

impl RunLoop<'_> {
    /// Records the start of an attempt. Its process starts when the record is durable.
    pub(super) fn begin_attempt(&mut self, task: u32, attempt: u32) -> Result<(), RunError> {
        let chosen = self.agents.arbiter.take_decision(task);
        let agent = chosen.unwrap_or_else(|| self.agents.chosen.of_task(task));
        // Work that is already verified needs no agent.
        if !self.landing.has_unlanded(task) && self.waits_for_agent(task, &agent) {
            return Ok(());
        }
        self.end_budget_wait(task);
        let mut begun = self.new_attempt(task, agent);
        if let Some(mut unlanded) = self.landing.take_unlanded(task)
            && let Some(site) = self.folders.workplace.site()
        {
            begun.location.checkout = unlanded.checkout.as_ref().and_then(|known| find(site, known));
            let is_there = site.repository().has_commit(&unlanded.candidate.commit).unwrap_or(true);
            if !is_there && let Ok(again) = self.snapshot_of(&begun, None) {
                // `git gc` removed the commit, and the files still exist.
                unlanded.candidate = again;
                unlanded.approved = None;
                return self.bring_home(begun, unlanded);
            }
            if is_there {
                return self.bring_home(begun, unlanded);
            }
            begun.location.checkout = None;
        }
        if self.request.options.lands_only {
            self.attempts.free_slot(&begun);
            return self.leave(task, "its work has not landed: `planwright run` continues with it");
        }
        if let Some(why) = self.over_task_budget(&begun) {
            return self.not_begun(begun, &why);
        }
        self.guard_shared()?;
        if let Err(obstacle) = self.prepare_checkout(&mut begun) {
            self.record_starting(&begun)?;
            self.start_update(&begun);
            return match obstacle {
                CheckoutObstacle::Passing(why) => self.wait_for_machine(begun, &why),
                CheckoutObstacle::OfTask(why) => self.not_started(begun, &why),
                CheckoutObstacle::OfAll(why) => self.hindered(begun, &why),
            };
        }
        let mut prompt = self.prompt_of(&begun, attempt);
        if let Some(conflict) = self.landing.conflicts.get(task) {
            begun.resolution = Some(conflict.resolution);
            prompt = format!("{}\n\n{}", prompt.trim_end(), conflict.prompt);
        }
        self.record_starting(&begun)?;
        self.start_update(&begun);
        self.attempts.queue(begun, prompt);
        Ok(())
    }

    /// Leaves a task running for a run that may start agents.
    pub(super) fn leave(&mut self, task: u32, why: &str) -> Result<(), RunError> {
        self.happened(ScheduleEvent::Moved {
            task,
            to: State::Running,
        });
        self.remark(Some(task), why)
    }

    /// Returns the next attempt at a task, which has a slot.
    fn new_attempt(&mut self, task: u32, agent: String) -> RunningAttempt {
        let name = self.snapshot.name(task).to_owned();
        // Another task may get this name; the files of an attempt keep it.
        let number = self.state().highest_attempt(&name) + 1;
        let (agent, instead_of) = self.runner_for(task, agent);
        let place = self.live.place.attempt(&name, number);
        RunningAttempt {
            task,
            number,
            resources: AttemptResources {
                slot: self.attempts.take_slot(),
                reserved: self.reservation(&agent),
            },
            phase: self.at_work(&agent),
            location: AttemptLocation {
                folder: self.root(),
                result: place.result(),
                place,
                checkout: None,
                setup: VecDeque::new(),
                files_before: None,
                print_before: None,
                of_others: BTreeSet::new(),
            },
            resolution: None,
            work: AttemptWork::default(),
            name,
            agent,
            instead_of,
            ending: None,
            moved: None,
        }
    }

    fn at_work(&self, agent: &str) -> AttemptPhase {
        let output = AgentOutput::of_attempt(self.request.config, agent, self.agents.chosen.redaction());
        AttemptPhase::Working(Box::new(output))
    }

    /// Returns the prompt of an attempt; `nth` is its number in the schedule.
    fn prompt_of(&self, attempt: &RunningAttempt, nth: u32) -> String {
        let task = attempt.task;
        let result = attempt.location.result.to_string_lossy().into_owned();
        let edges = self.snapshot.links().of(task as usize).iter();
        let outputs = edges.filter_map(|edge| Some((edge.to as usize, self.output_of(edge.to)?)));
        let outputs: Vec<(usize, &str)> = outputs.collect();
        let last_failure = self.failure_of(task);
        let verification = commands_of(self.request, &self.snapshot, task);
        let context = PromptContext {
            verification: &verification,
            outputs: &outputs,
            attempt: last_failure.map_or(nth, |_| attempt.number),
            last_failure,
            plan_path: &self.snapshot.place().relative,
            result_file: Some(&result),
            template: Some(self.agents.chosen.template()),
            own_part: None,
            max_bytes: DEFAULT_MAX_BYTES,
        };
        Prompt::of(self.snapshot.plan(), self.snapshot.links(), task as usize, &context).text
    }

    /// Resumes with verified work of an earlier run's attempt: no agent has to repeat it.
    fn bring_home(&mut self, mut attempt: RunningAttempt, unlanded: UnlandedWork) -> Result<(), RunError> {
        self.record_approval(&attempt.name, &unlanded)?;
        attempt.agent = unlanded.agent;
        attempt.work.protected = unlanded.protected;
        attempt.work.approved = unlanded.approved;
        attempt.instead_of = None;
        self.record_starting(&attempt)?;
        self.start_update(&attempt);
        let text = match attempt.work.approved {
            Some(_) => "its work was approved: verifying it again before landing",
            None => "its agent succeeded before and its work has not landed: verifying it again before landing",
        };
        self.remark(Some(attempt.task), text)?;
        self.happened(ScheduleEvent::Started { task: attempt.task });
        let conclusion = CombinedVerdict {
            end: AttemptEnd::Done,
            basis: VerdictSource::ResultFile,
            output: unlanded.output,
            affected_files: unlanded.candidate.touched.clone(),
            notes: String::new(),
            discoveries: Vec::new(),
            proposed_tasks: Vec::new(),
            reflection: None,
            tools_called: Vec::new(),
            session: unlanded.session,
            usage: Usage::default(),
            denials: Vec::new(),
        };
        self.record_cost(RunEvent::AttemptEnded(AttemptEndRecord {
            task: attempt.name.clone(),
            attempt: attempt.number,
            outcome: Outcome::Done,
            output: Some(conclusion.output.clone()).filter(|output| !output.is_empty()),
            files: conclusion.affected_files.clone(),
            ..AttemptEndRecord::default()
        }))?;
        self.record_candidate(&attempt, &unlanded.candidate)?;
        self.commit()?;
        self.verify(attempt, conclusion, Some(unlanded.candidate))
    }

    /// Records work that was approved in an earlier run, with its approval: the next run reads the log of this one.
    fn record_approval(&mut self, task: &str, unlanded: &UnlandedWork) -> Result<(), RunError> {
        let known = self.state().task(task).and_then(|run| run.approved.as_ref());
        let Some(approved) = unlanded.approved.clone().filter(|approved| known != Some(approved)) else {
            return Ok(());
        };
        self.record(RunEvent::Held(Box::new(unlanded.held(task))))?;
        self.record(RunEvent::Approved(approved))
    }

    fn record_starting(&mut self, attempt: &RunningAttempt) -> Result<(), RunError> {
        let is_renewed = self.plan_file.edits.take_renewed(attempt.task);
        let known = self.state().task(&attempt.name).and_then(|run| run.contract.as_ref());
        let plan = self.snapshot.plan();
        let task = plan.tasks().get(attempt.task as usize);
        let contract = task.filter(|_| is_renewed || known.is_none());
        let contract = contract.map(|task| self.with_expected(contract_of(plan, task), task));
        let watched = self
            .folders
            .watched
            .get(&attempt.task)
            .map(|files| files.record().clone());
        let contract = contract.map(|contract| VerificationContract { watched, ..contract });
        let branch = self.folders.workplace.site().map(|site| site.branch());
        let event = starting(attempt, branch, contract);
        self.record(event)
    }

    /// Adds to a contract the files that verify the task but that its own text tells it to change.
    fn with_expected(&self, contract: VerificationContract, task: &Task) -> VerificationContract {
        let rules = &self.request.config.verify;
        let allows = self.request.options.flags.allow_plan_commands || rules.allow_plan_commands;
        let checks = TaskChecks::of_contract(rules, &contract, allows);
        let plan = self.snapshot.plan();
        let folder = verify::named_folder(plan, task).unwrap_or_default();
        let expected = Protection::of(&checks.checks, &[], folder).expected_by(plan, task);
        VerificationContract { expected, ..contract }
    }

    pub(super) fn start_update(&mut self, attempt: &RunningAttempt) {
        let verb = match self.plan_file.writer.intended(attempt.task) {
            Some(State::Failed) => Verb::Retry,
            None | Some(State::Running) => return,
            Some(_) => Verb::Start,
        };
        self.update_plan(StatusUpdate {
            by: Some(attempt.agent.clone()),
            ..self.plain_update(attempt.task, verb)
        });
    }

    /// Starts the processes of attempts whose start is durable.
    pub(super) fn spawn(&mut self) -> Result<(), RunError> {
        for (attempt, prompt) in self.attempts.take_queued() {
            self.spawn_one(attempt, &prompt)?;
        }
        Ok(())
    }

    fn spawn_one(&mut self, mut attempt: RunningAttempt, prompt: &str) -> Result<(), RunError> {
        if self.user.stops.ends_attempts() {
            return self.interrupted(attempt, None);
        }
        if let Some(command) = attempt.location.setup.front().cloned() {
            return self.start_setup(attempt, &command, prompt.to_owned());
        }
        if let Err(error) = prepare_files(&attempt, prompt) {
            return self.hindered(attempt, &format!("the files of an attempt cannot be written: {error}"));
        }
        let config = self.request.config;
        let Some(agent): Option<&Agent> = config.agents.get(&attempt.agent) else {
            let why = format!("there is no agent `{}`", attempt.agent);
            return self.not_started(attempt, &why);
        };
        if agent.takes_for_option(&attempt.name) {
            let why = format!(
                "the agent would take the name of the task for an option: write `--task={{task}}` in agents.{}.command, or \
                 leave `{{task}}` out and use PLANWRIGHT_TASK",
                attempt.agent
            );
            return self.not_started(attempt, &why);
        }
        let environment = self.environment_of(&attempt, agent);
        let fence = self.fence_of_agent(&attempt, agent, &environment);
        if let Err(error) = self.keep_policy(&attempt, fence.as_ref()) {
            return self.hindered(attempt, &format!("the files of an attempt cannot be written: {error}"));
        }
        let level = fence.as_ref().map(|fence| fence.policy.level.as_str().to_owned());
        let mut spec = self.process_of(&attempt, agent, prompt, environment, fence).spec();
        let key = self.attempts.new_key();
        match self.start_process(key, &mut spec) {
            Ok(started) => {
                self.record(RunEvent::ProcessStarted(ProcessStartRecord {
                    task: attempt.name.clone(),
                    attempt: attempt.number,
                    pid: started.pid,
                    start_time: Some(started.start_time).filter(|time| !time.is_empty()),
                    fence: level,
                }))?;
                let task = attempt.task;
                self.waits.rests.end_shortage();
                self.meet(&mut attempt);
                self.attempts.insert(key, attempt);
                self.happened(ScheduleEvent::Started { task });
                Ok(())
            }
            Err(error) if error.is_shortage() => self.wait_for_machine(attempt, &with_causes(&error)),
            Err(error @ StartError::Log { .. }) => self.hindered(attempt, &with_causes(&error)),
            Err(error) => self.not_started(attempt, &with_causes(&error)),
        }
    }

    /// Returns the variables for an agent's process, with those of its checkout.
    fn environment_of(&mut self, attempt: &RunningAttempt, agent: &Agent) -> Vec<(OsString, OsString)> {
        let environment = self.agents.chosen.environment(agent).to_vec();
        match (self.folders.workplace.site(), &attempt.location.checkout) {
            (Some(site), Some(checkout)) => site.environment(environment, checkout.path()),
            _ => environment,
        }
    }

    fn process_of<'p>(
        &'p self,
        attempt: &'p RunningAttempt,
        agent: &'p Agent,
        prompt: &'p str,
        environment: Vec<(OsString, OsString)>,
        fence: Option<Fence>,
    ) -> AgentProcess<'p> {
        let plan = &self.snapshot.place().target;
        let conflict = self.landing.conflicts.get(attempt.task);
        let checkout = attempt.location.checkout.iter();
        AgentProcess {
            agent,
            limits: &self.request.config.run.limits,
            prompt,
            task: &attempt.name,
            folder: &attempt.location.folder,
            files: AgentFiles {
                prompt: attempt.location.place.prompt(),
                result: attempt.location.result.clone(),
                log: attempt.location.place.output(),
            },
            environment,
            variables: checkout.flat_map(TaskCheckout::environment).collect(),
            mark: mark_of_attempt(self.live.place.id(), plan, &attempt.name, attempt.number),
            redaction: self.agents.chosen.redaction().clone(),
            session: conflict.and_then(|conflict| conflict.session.clone()),
            fence,
        }
    }

    /// Starts a command that prepares the checkout of an attempt.
    fn start_setup(&mut self, mut attempt: RunningAttempt, command: &Command, prompt: String) -> Result<(), RunError> {
        let (Some(site), Some(checkout)) = (self.folders.workplace.site(), &attempt.location.checkout) else {
            attempt.location.setup.clear();
            self.attempts.queue(attempt, prompt);
            return Ok(());
        };
        let root = site.root_in(checkout.path());
        let variables = site.environment(std::env::vars_os(), checkout.path());
        let variables = variables.into_iter().chain(checkout.environment());
        let check_environment = self.check_environment(&attempt, root, variables, &[checkout.path().to_owned()]);
        let check = self.setup_check(command);
        let log = setup_log(&attempt);
        match self.start_command(&check, &check_environment, log) {
            Ok(key) => {
                attempt.phase = AttemptPhase::SettingUp(prompt);
                let task = attempt.task;
                self.attempts.insert(key, attempt);
                self.happened(ScheduleEvent::Started { task });
                Ok(())
            }
            Err(error) => self.hindered(attempt, &format!("run.setup: {}", with_causes(&error))),
        }
    }

    /// Handles the end of a command that prepares the checkout of an attempt.
    pub(super) fn set_up(
        &mut self,
        mut attempt: RunningAttempt,
        ended: &EndedProcess,
        prompt: String,
    ) -> Result<(), RunError> {
        if ended.was_outlived {
            self.end_what_is_left(&attempt)?;
        }
        if attempt.ending.is_some() {
            return self.interrupted(attempt, None);
        }
        let command = attempt
            .location
            .setup
            .pop_front()
            .map(|command| command_line(&command.arguments()));
        if ended.exit != ProcessExit::Code(0) {
            // If nothing is configured, the message says where the command comes from.
            let usual = match self.request.config.run.checkouts.setup {
                Some(_) => "",
                None => " (the default for Python projects; `setup = []` in [run] turns it off)",
            };
            let why = format!(
                "setup failed: `{}` of run.setup in the checkout of `{}`{usual}; its output is in `{}`",
                command.unwrap_or_default(),
                attempt.name,
                setup_log(&attempt).display()
            );
            return self.hindered(attempt, &why);
        }
        if attempt.location.setup.is_empty()
            && let (Some(site), Some(checkout)) = (self.folders.workplace.site(), &attempt.location.checkout)
            && let Err(error) = site.remember_prepared(checkout)
        {
            let why = format!(
                "run.setup: the checkout of `{}` cannot be used afterwards: {error}",
                attempt.name
            );
            return self.hindered(attempt, &why);
        }
        attempt.phase = self.at_work(&attempt.agent);
        self.attempts.queue(attempt, prompt);
        Ok(())
    }

    /// Handles a machine that is short of processes, files or memory: the attempt does not count, and the task waits.
    fn wait_for_machine(&mut self, mut attempt: RunningAttempt, why: &str) -> Result<(), RunError> {
        if self.waits.rests.count_shortage() > MAX_SHORTAGES {
            return self.hindered(attempt, why);
        }
        self.record(RunEvent::AttemptEnded(attempt.ended(Outcome::Broken, why)))?;
        self.keep_checkout(&mut attempt)?;
        self.attempts.free_slot(&attempt);
        self.agents.fallbacks.continue_with(attempt.task, &attempt.agent);
        self.waits.rests.plan(attempt.task, SHORTAGE_WAIT, why.to_owned());
        self.happened(ScheduleEvent::Deferred { task: attempt.task });
        Ok(())
    }

    /// Ends the run because the machine lets no task start. No task has failed.
    pub(super) fn hindered(&mut self, mut attempt: RunningAttempt, why: &str) -> Result<(), RunError> {
        self.stop_hindered(why.to_owned());
        attempt.ending.get_or_insert(AgentEndReason::Interrupted);
        self.interrupted(attempt, None)
    }

    /// Fails a task whose process could not start. Another attempt would fail as well.
    fn not_started(&mut self, attempt: RunningAttempt, why: &str) -> Result<(), RunError> {
        self.record_cost(RunEvent::AttemptEnded(attempt.ended(Outcome::Failed, why)))?;
        self.failed(attempt, &AttemptFailure::from(why), false)
    }

    /// Fails a task whose budget is spent, without another attempt.
    fn not_begun(&mut self, attempt: RunningAttempt, why: &str) -> Result<(), RunError> {
        self.record(RunEvent::AttemptEnded(attempt.ended(Outcome::Failed, why)))?;
        self.start_update(&attempt);
        self.fail(attempt, &AttemptFailure::from(why), false)
    }
}

fn starting(attempt: &RunningAttempt, branch: Option<&str>, contract: Option<VerificationContract>) -> RunEvent {
    let checkout = attempt.location.checkout.as_ref();
    RunEvent::AttemptStarting(runs::AttemptRecord {
        task: attempt.name.clone(),
        attempt: attempt.number,
        agent: attempt.agent.clone(),
        instead_of: attempt.instead_of.clone(),
        slot: attempt.resources.slot,
        folder: checkout.map(|checkout| checkout.path().to_string_lossy().into_owned()),
        branch: branch.map(str::to_owned),
        identity: checkout.map(|checkout| checkout.identity().as_str().to_owned()),
        base: checkout.map(|checkout| checkout.base().to_owned()),
        resolution: attempt.resolution,
        contract,
    })
}

/// Returns the path of the output of commands that prepare a checkout.
fn setup_log(attempt: &RunningAttempt) -> PathBuf {
    attempt.location.place.output().with_extension("setup.log")
}

/// Writes the prompt. No result file exists yet: the name of an attempt is unique.
fn prepare_files(attempt: &RunningAttempt, prompt: &str) -> io::Result<()> {
    faults::step("write prompt")?;
    write_own(&attempt.location.place.prompt(), prompt.as_bytes())
}
