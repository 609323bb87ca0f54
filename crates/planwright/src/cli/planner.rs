//! Shared by `plan`, `replan` and `tasks derive`: the options, and the output while an agent plans.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::diagnostic::Diagnostic;
use planwright_core::planning::answer::MAX_ANSWER_BYTES;
use planwright_run::config::units::duration_text;
use planwright_verbs::planning::{
    Confirmation, ContextFile, OutlineObserver, OutlineReading, PlannerRequest, PlanningEvent, PlanningObserver,
};
use planwright_verbs::text::one_line;
use planwright_verbs::{CancelToken, Result};

use super::answers;
use super::interrupt;
use super::outline::OutlineView;
use super::output::Output;
use super::text_arg::{MAX_BYTES, file_of, input_of, text_of};

/// How many errors of an answer are printed before they are returned to the agent.
const MAX_SHOWN: usize = 10;

/// Who plans, and what the planner gets.
#[derive(clap::Args, Default)]
pub(crate) struct PlannerOptions {
    /// The agent that plans. Default: plan.agent of the configuration, else run.agent, else the only agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// A file for the planner to read; may be given several times.
    #[arg(long, value_name = "FILE", help_heading = "Planner input")]
    pub(crate) context: Vec<String>,

    /// A constraint on all tasks; may be given several times. @FILE is read.
    #[arg(long, value_name = "TEXT", help_heading = "Planner input")]
    pub(crate) constraint: Vec<String>,

    /// A known fact for the planner; may be given several times. @FILE is read.
    #[arg(long, value_name = "TEXT", help_heading = "Planner input")]
    pub(crate) memory: Vec<String>,

    /// A file with a template for the prompt, instead of planwright's own.
    #[arg(long, value_name = "FILE", help_heading = "Planner input")]
    pub(crate) template: Option<PathBuf>,

    /// Read a planner's answer from this file, or - for standard input, and start no agent.
    #[arg(long, value_name = "FILE", conflicts_with = "agent")]
    pub(crate) from: Option<String>,
}

impl PlannerOptions {
    /// Returns the request with these options. `is_dry` is whether no answer is needed.
    pub(crate) fn request(&self, is_dry: bool) -> Result<PlannerRequest> {
        let mut is_taken = false;
        let mut texts = |option: &str, typed: &[String]| -> Result<Vec<String>> {
            let texts = typed.iter().map(|typed| text_of(option, typed, &mut is_taken));
            texts.collect()
        };
        let constraints = texts("constraint", &self.constraint)?;
        let memories = texts("memory", &self.memory)?;
        let file = |name: &String| {
            let text = file_of("context", name, MAX_BYTES)?;
            let name = name.clone();
            Ok(ContextFile { name, text })
        };
        let context: Result<Vec<ContextFile>> = self.context.iter().map(file).collect();
        let answer = self.from.as_deref().filter(|_| !is_dry).map(|from| match from {
            "-" => input_of("from", MAX_ANSWER_BYTES),
            path => file_of("from", path, MAX_ANSWER_BYTES),
        });
        Ok(PlannerRequest {
            agent: self.agent.clone(),
            context: context?,
            constraints,
            memories,
            template: self.template.clone(),
            answer: answer.transpose()?,
        })
    }
}

/// Prints the progress of planning, and asks questions.
pub(crate) struct PlanningView<'o> {
    /// Whether only programs read the results, so that no question is asked.
    pub(crate) is_silent: bool,
    pub(crate) output: &'o mut Output,
}

impl<'o> PlanningView<'o> {
    pub(crate) fn new(output: &'o mut Output) -> Self {
        PlanningView {
            is_silent: output.is_json(),
            output,
        }
    }
}

impl PlanningObserver for PlanningView<'_> {
    fn happens(&mut self, event: PlanningEvent<'_>) {
        let output = &mut *self.output;
        match event {
            PlanningEvent::AgentIsChosen { agent } => output.remark(&format!(
                "asking {}; its answers are kept in .planwright/inquiries",
                one_line(agent)
            )),
            PlanningEvent::AgentIsAsked { .. } => {}
            PlanningEvent::OtherAgentIsAsked { error, other } => {
                let words = one_line(&error.to_string());
                output.remark(&format!("{words}: {} is asked", one_line(other)));
            }
            PlanningEvent::AgentIsAwaited { error, agent, wait } => {
                let words = one_line(&error.to_string());
                let whole = Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
                let wait = duration_text(whole);
                output.remark(&format!("{words}: {} is asked again in {wait}", one_line(agent)));
            }
            PlanningEvent::AnswerIsSentBack { findings } => sent_back(findings, output),
        }
        output.flush();
    }

    fn cancel_token(&mut self) -> io::Result<CancelToken> {
        self.output.flush();
        interrupt::cancel_token()
    }
}

impl OutlineObserver for PlanningView<'_> {
    fn shows_outline(&mut self, reading: &OutlineReading<'_>) {
        self.outline_view().shows_outline(reading);
    }

    fn confirms_outline(&mut self, reading: &OutlineReading<'_>, out: Option<&Path>) -> Confirmation {
        match self.is_silent {
            true => Confirmation::CannotAsk,
            false => self.outline_view().confirms_outline(reading, out),
        }
    }
}

impl PlanningView<'_> {
    pub(super) fn may_ask(&self) -> bool {
        !self.is_silent && answers::may_ask()
    }

    pub(super) fn ask(&mut self, question: &str) -> Confirmation {
        self.output.note(question);
        match answers::is_yes() {
            true => Confirmation::Yes,
            false => Confirmation::No,
        }
    }

    fn outline_view(&mut self) -> OutlineView<'_> {
        OutlineView {
            is_silent: self.is_silent,
            output: self.output,
        }
    }
}

fn sent_back(findings: &[Diagnostic], output: &mut Output) {
    let problems = match findings.len() {
        1 => "1 error is".to_owned(),
        n => format!("{n} errors are"),
    };
    output.remark(&format!(
        "the answer cannot be used yet: {problems} returned to the agent"
    ));
    for found in findings.iter().take(MAX_SHOWN) {
        output.remark(&format!("  {}: {}", found.rule.id, one_line(&found.message)));
    }
}
