//! Predicts a run in which all tasks pass: start times, slots, prompts. Writes nothing.

use planwright_core::plan::State;
use planwright_core::prompt::{DEFAULT_MAX_BYTES, Prompt, PromptContext};
use planwright_core::schedule::{Job, Jobs, Schedule, ScheduleAction, ScheduleEvent};

use super::prepare::template_of;
use super::protected::Protection;
use super::recovery::Recovered;
use super::{PlanSnapshot, PreparedRun, RunError, RunRequest};
use crate::shell::command_line;
use crate::verify::{self, TaskChecks};

pub struct Preview {
    /// The tasks that would run in parallel, one round after another.
    pub rounds: Vec<Vec<u32>>,
    /// The tasks of the run that could never start.
    pub left: Vec<u32>,
}

impl PreparedRun {
    /// Returns whether a task could start. A run that was interrupted always has work: its end.
    pub fn has_work(&self, request: &RunRequest<'_>) -> bool {
        let continues = |recovered: &Recovered| recovered.interrupted().is_some();
        self.recovered.as_ref().is_ok_and(continues) || !Preview::of(request, self).rounds.is_empty()
    }
}

impl Preview {
    pub fn of(request: &RunRequest<'_>, prepared: &PreparedRun) -> Self {
        let job = |(task, job): (u32, &Job)| Job {
            state: if prepared.is_to_run(request, task) {
                State::Pending
            } else {
                job.state
            },
            max_attempts: 1,
            needs_review: false,
            awaits_review: false,
            ..job.clone()
        };
        let jobs = Jobs::new((0..).zip(&prepared.tasks.jobs).map(job).collect());
        let (mut schedule, mut actions) = Schedule::begin(jobs, prepared.policy);
        let mut preview = Preview {
            rounds: Vec::new(),
            left: Vec::new(),
        };
        loop {
            let started = actions.iter().filter_map(|action| match action {
                ScheduleAction::Start { task, .. } => Some(*task),
                _ => None,
            });
            let round: Vec<u32> = started.collect();
            if round.is_empty() {
                break;
            }
            // All tasks of a round end together; those that start then are the next round.
            actions = Vec::new();
            for &task in &round {
                actions.extend(schedule.apply(ScheduleEvent::Done { task }).unwrap_or_default());
            }
            preview.rounds.push(round);
        }
        let began = |task: u32| schedule.attempts(task) > 0;
        let tasks = 0..prepared.tasks.jobs.len() as u32;
        preview.left = tasks
            .filter(|&task| prepared.is_to_run(request, task) && !began(task))
            .collect();
        preview
    }
}

/// Returns the prompt of the first attempt at a task, as far as it is known before earlier tasks have run.
pub fn prompt_of(request: &RunRequest<'_>, snapshot: &PlanSnapshot, task: u32) -> Result<String, RunError> {
    let template = template_of(request)?;
    let verification = commands_of(request, snapshot, task);
    let context = PromptContext {
        verification: &verification,
        plan_path: &snapshot.place().relative,
        result_file: Some("$PLANWRIGHT_RESULT"),
        template: template.as_ref(),
        own_part: snapshot.linked().dialect.prompt(),
        max_bytes: DEFAULT_MAX_BYTES,
        ..PromptContext::default()
    };
    Ok(Prompt::of(snapshot.plan(), snapshot.links(), task as usize, &context).text)
}

/// Returns the commands that verify a task, as a user would type them.
pub(super) fn commands_of(request: &RunRequest<'_>, snapshot: &PlanSnapshot, task: u32) -> Vec<String> {
    let rules = &request.config.verify;
    let allows = request.options.flags.allow_plan_commands || rules.allow_plan_commands;
    let checks = TaskChecks::of(rules, snapshot.plan(), task as usize, allows).checks;
    checks
        .iter()
        .map(|check| command_line(&check.command.arguments()))
        .collect()
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VerificationPreview {
    pub commands: Vec<Vec<String>>,
    /// Criteria without a rule.
    pub unverified: Vec<String>,
    /// The files that commands name, and the patterns of `verify.protect`: changing them needs a review.
    pub protected: Vec<String>,
}

/// Returns what would verify a task, by the present plan and configuration.
pub fn verification_of(request: &RunRequest<'_>, snapshot: &PlanSnapshot, task: u32) -> VerificationPreview {
    let rules = &request.config.verify;
    let allows = request.options.flags.allow_plan_commands || rules.allow_plan_commands;
    let checks = TaskChecks::of(rules, snapshot.plan(), task as usize, allows);
    let plan = snapshot.plan();
    let own = plan.tasks().get(task as usize);
    let folder = own
        .and_then(|task| verify::named_folder(plan, task))
        .unwrap_or_default();
    let protection = Protection::of(&checks.checks, &rules.protect, folder);
    let expected = own.map_or_else(Vec::new, |task| protection.expected_by(plan, task));
    let named = protection.without(&expected).named_in(&snapshot.place().root);
    VerificationPreview {
        commands: checks.checks.iter().map(|check| check.command.arguments()).collect(),
        unverified: checks.unverified,
        protected: named.into_iter().chain(rules.protect.iter().cloned()).collect(),
    }
}
