//! Shared by `plan`, `replan` and `tasks derive`: the planner, its input, and unusable answers.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::diagnostic::Diagnostic;
use planwright_core::dialect::Dialect;
use planwright_core::planning::draft::Unusable;
use planwright_core::planning::prompt::{PlanningBrief, Purpose};
use planwright_core::prompt::{MAX_TEMPLATE_BYTES, Template};
use planwright_core::text::SourceText;
use planwright_run::agent_query::{AgentAnswer, AgentQueryError};
use planwright_run::config::{Config, no_agent};
use planwright_run::fallback::Continuation;
use planwright_run::fence::{self, Fencing};
use planwright_run::files::{open_to_read, read_bounded};
use planwright_run::planner::{AnswerSource, FixedAnswer, Planner, PlanningCost, PlanningError, UnavailablePlanners};
use planwright_run::worker::Workers;
use serde::{Deserialize, Serialize};

use super::{PlanningEvent, PlanningObserver, evidence, keep_unusable};
use crate::cancel::CancelToken;
use crate::failure::{Exit, Failure, Result};
use crate::text::{money, one_line, tokens};
use crate::workspace::Workspace;

/// The longest prompt for a planner, in bytes: plans and the files around them are long.
pub(crate) const MAX_PROMPT_BYTES: usize = 400 * 1024;

/// The planner and its input.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlannerRequest {
    /// The agent; none for the configured one.
    pub agent: Option<String>,
    /// Files for the planner.
    pub context: Vec<ContextFile>,
    /// The constraints.
    pub constraints: Vec<String>,
    pub memories: Vec<String>,
    /// A template file for the prompt, which replaces planwright's own.
    pub template: Option<PathBuf>,
    /// A planner's answer: no agent is asked.
    pub answer: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextFile {
    pub name: String,
    pub text: String,
}

/// The planner's input, read and owned.
pub(crate) struct PlannerTexts<'r> {
    request: &'r PlannerRequest,
    context: Vec<(String, String)>,
    agents: Vec<(String, String)>,
    templates: Vec<Template>,
}

impl PlannerTexts<'_> {
    /// Returns the common part of every prompt.
    pub(crate) fn brief<'t>(&'t self, dialect: &'static dyn Dialect, goal: &'t str) -> PlanningBrief<'t> {
        PlanningBrief {
            dialect,
            goal,
            constraints: &self.request.constraints,
            memories: &self.request.memories,
            context: &self.context,
            agents: &self.agents,
            templates: &self.templates,
            max_bytes: MAX_PROMPT_BYTES,
        }
    }
}

/// The planners' result, and who was asked.
pub(crate) struct PlannerOutcome<T> {
    pub(crate) made: Result<T, PlanningError>,
    pub(crate) agent: String,
    /// The exit of the verb, if the user cancelled it.
    pub(crate) cancelled: Option<Exit>,
}

impl PlannerRequest {
    /// Reads the planner's whole input.
    pub(crate) fn texts(
        &self,
        workspace: &Workspace,
        purpose: Purpose,
        config: &Config,
        root: &Path,
    ) -> Result<PlannerTexts<'_>> {
        let configured = match purpose {
            Purpose::Replan => &config.plan.replan_template,
            Purpose::Derive => &config.plan.derive_template,
            Purpose::Plan | Purpose::Repair => &config.plan.template,
        };
        let [configured, repair] =
            [configured, &config.plan.repair_template].map(|path| path.as_ref().map(|path| root.join(path)));
        let own = match &self.template {
            // A user who names a pipe wants it; the configuration names files.
            Some(path) => template_of(purpose, Some(&workspace.path(path)), |path| File::open(path))?,
            None => template_of(purpose, configured.as_deref(), open_to_read)?,
        };
        let repair = template_of(Purpose::Repair, repair.as_deref(), open_to_read)?;
        let agents = config.own_agents().map(|agent| {
            let program = Path::new(agent.program()).file_name().unwrap_or_default();
            (agent.name.clone(), format!("runs {}", program.display()))
        });
        let context = self.context.iter();
        Ok(PlannerTexts {
            request: self,
            context: context.map(|file| (file.name.clone(), file.text.clone())).collect(),
            agents: agents.collect(),
            templates: own.into_iter().chain(repair).collect(),
        })
    }

    /// Calls a function with the planner.
    pub(crate) fn ask<T>(
        &self,
        workspace: &Workspace,
        config: &Config,
        root: &Path,
        observer: &mut dyn PlanningObserver,
        ask: impl FnOnce(&mut dyn AnswerSource) -> Result<T, PlanningError>,
    ) -> Result<PlannerOutcome<T>> {
        if let Some(answer) = &self.answer {
            return Ok(PlannerOutcome {
                made: ask(&mut FixedAnswer(answer.clone())),
                agent: "planner".to_owned(),
                cancelled: None,
            });
        }
        let agent = self.agent.as_deref().or_else(|| config.planner()).ok_or_else(|| {
            Failure::outside(
                "no agent is configured that could plan",
                no_agent::help(&workspace.as_typed(), "run"),
            )
        })?;
        let (mut workers, cancel) = cancellable_workers(|| observer.cancel_token())?;
        // An agent that cannot be asked is reported as an error.
        let known = config.agents.get(agent);
        if known.is_some_and(|known| known.find_program(root).is_some()) {
            observer.happens(PlanningEvent::AgentIsChosen { agent });
        }
        let mut planner = ObservedPlanner {
            planner: Planner {
                config,
                agent,
                absent: UnavailablePlanners::default(),
                root,
                workers: &mut workers,
                interrupts: cancel.n_asked(),
                fencing: fencing_of(config)?,
            },
            observer,
        };
        let made = ask(&mut planner);
        Ok(PlannerOutcome {
            made,
            agent: planner.planner.agent.to_owned(),
            cancelled: cancel.exit(),
        })
    }
}

/// Returns the processes of a verb that asks an agent, and the token that cancels them.
pub(crate) fn cancellable_workers(token: impl FnOnce() -> io::Result<CancelToken>) -> Result<(Workers, CancelToken)> {
    let workers = Workers::sole().map_err(|error| Failure::environment(&error, ""))?;
    let cancel = token().map_err(|error| Failure::environment(&error, ""))?;
    cancel.wakes(workers.waker());
    Ok((workers, cancel))
}

/// Returns whether queried agents are fenced.
pub(crate) fn fencing_of(config: &Config) -> Result<Fencing> {
    Ok(Fencing::of(&config.run, fence::own_program().as_deref())?)
}

/// A planner whose queries and errors a caller observes.
struct ObservedPlanner<'p> {
    planner: Planner<'p>,
    observer: &'p mut dyn PlanningObserver,
}

impl AnswerSource for ObservedPlanner<'_> {
    fn ask(&mut self, prompt: &str) -> Result<AgentAnswer, AgentQueryError> {
        let agent = self.planner.agent;
        self.observer.happens(PlanningEvent::AgentIsAsked { agent, prompt });
        self.planner.ask(prompt)
    }

    fn get_over(&mut self, error: AgentQueryError) -> Result<(), AgentQueryError> {
        match self.planner.next_step(&error) {
            None => Err(error),
            Some(Continuation::Other(other)) => {
                let (error, other) = (&error, other.as_str());
                self.observer.happens(PlanningEvent::OtherAgentIsAsked { error, other });
                Ok(())
            }
            Some(Continuation::Wait(wait)) => {
                let (error, agent) = (&error, self.planner.agent);
                self.observer
                    .happens(PlanningEvent::AgentIsAwaited { error, agent, wait });
                match self.planner.wait(wait) {
                    true => Ok(()),
                    false => Err(AgentQueryError::Interrupted {
                        agent: agent.to_owned(),
                    }),
                }
            }
        }
    }

    fn sent_back(&mut self, findings: &[Diagnostic]) {
        self.observer.happens(PlanningEvent::AnswerIsSentBack { findings });
    }
}

/// Reads a template. One that is slightly too long is read, so that its finding can report it.
pub fn read_template(file: File) -> io::Result<String> {
    let bytes = read_bounded(file, 16 * MAX_TEMPLATE_BYTES)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Returns the failure for a missing or invalid template.
pub fn unreadable_template(path: &Path, error: &io::Error) -> Failure {
    Failure::outside(
        format!("the template `{}` cannot be read: {error}", path.display()),
        "docs/prompts.md describes templates",
    )
}

fn template_of(purpose: Purpose, path: Option<&Path>, open: fn(&Path) -> io::Result<File>) -> Result<Option<Template>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let text = open(path)
        .and_then(read_template)
        .map_err(|error| unreadable_template(path, &error))?;
    purpose.parse(&text).map(Some).map_err(|findings| {
        Failure::shown(
            "the template has errors",
            "docs/prompts.md describes templates",
            evidence(path, &SourceText::new(text.as_str()), findings),
        )
    })
}

/// Returns why there is no plan. Saves an unusable answer under the name of `plan`; `taken` is the command that accepts it after a
/// correction, if that is possible.
pub(crate) fn planning_failure(
    workspace: &Workspace,
    error: PlanningError,
    plan: &Path,
    taken: impl Fn(&str) -> Option<String>,
) -> Failure {
    match error {
        PlanningError::AgentQuery(error) => error.into(),
        PlanningError::Asks {
            questions, unusable, ..
        } => {
            let help = format!("answer it: {}", workspace.with_option("--constraint \"ANSWER\""));
            asked_back(workspace, &questions, &unusable, plan, &help)
        }
        PlanningError::Unusable { unusable, effort } => refused(workspace, &unusable, effort, plan, taken),
    }
}

/// Returns the failure for a planner that asks questions. Saves its answer.
pub(crate) fn asked_back(
    workspace: &Workspace,
    questions: &[String],
    unusable: &Unusable,
    plan: &Path,
    help: &str,
) -> Failure {
    const MAX_SHOWN: usize = 3;
    if let Ok([text, _]) = keep_unusable(workspace, unusable, plan) {
        let kept = one_line(&text.display().to_string());
        workspace.remark(&format!("the answer is kept as {kept}"));
    }
    let shown = questions.iter().take(MAX_SHOWN);
    let shown: Vec<String> = shown.map(|question| format!("“{}”", one_line(question))).collect();
    let (what, it) = match shown.len() {
        1 => ("a question", "it"),
        _ => ("questions", "them"),
    };
    Failure::problem(
        format!("the agent asks {what} instead of planning: {}", shown.join(", ")),
        help.replacen("answer it", &format!("answer {it}"), 1),
    )
}

fn refused(
    workspace: &Workspace,
    unusable: &Unusable,
    effort: PlanningCost,
    plan: &Path,
    taken: impl Fn(&str) -> Option<String>,
) -> Failure {
    let kept = keep_unusable(workspace, unusable, plan).ok();
    let times = match effort.n_asked {
        1 => String::new(),
        n => format!(" after {n} answers"),
    };
    let taken = kept.as_ref().and_then(|[text, _]| taken(&text.display().to_string()));
    let help = match taken {
        Some(taken) => format!("correct it by hand, then: {taken}; or ask again"),
        None => "ask again".to_owned(),
    };
    if let Some([text, findings]) = &kept {
        workspace.remark(&format!(
            "the answer is kept as {}, its errors as {}",
            text.display(),
            findings.display()
        ));
    }
    let path = kept.map_or_else(|| PathBuf::from("answer"), |[text, _]| text);
    let source = SourceText::new(unusable.text.as_str());
    Failure::shown(
        format!("there is no plan that can be used{times}"),
        help,
        evidence(&path, &source, unusable.findings.clone()),
    )
}

#[derive(Serialize)]
pub struct EffortReport {
    pub asked: u32,
    pub cost_usd: Option<f64>,
    pub tokens_in: Option<u64>,
    pub tokens_out: Option<u64>,
}

impl From<PlanningCost> for EffortReport {
    fn from(effort: PlanningCost) -> Self {
        EffortReport {
            asked: effort.n_asked,
            cost_usd: effort.usage.cost_usd,
            tokens_in: effort.usage.tokens_in,
            tokens_out: effort.usage.tokens_out,
        }
    }
}

impl EffortReport {
    pub fn words(&self) -> String {
        let mut words = match self.asked {
            1 => "one answer".to_owned(),
            n => format!("{n} answers"),
        };
        if let Some(cost) = self.cost_usd {
            words.push_str(&format!(", {}", money(cost)));
        }
        if let (Some(sent), Some(received)) = (self.tokens_in, self.tokens_out) {
            words.push_str(&format!(", {} tokens in, {} out", tokens(sent), tokens(received)));
        }
        words
    }
}
