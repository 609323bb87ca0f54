//! Shared code of `plan`, `replan` and `tasks derive`: the planner, its prompt, and unusable answers.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::diagnostic::Diagnostic;
use planwright_core::planning::answer::MAX_ANSWER_BYTES;
use planwright_core::planning::draft::{Unusable, told};
use planwright_core::planning::prompt::{Brief, Purpose};
use planwright_core::prompt::{MAX_TEMPLATE_BYTES, Template};
use planwright_core::text::SourceText;
use planwright_run::agent_query::{AgentQueryError, Answer};
use planwright_run::config::no_agent;
use planwright_run::config::units::duration_text;
use planwright_run::config::{self, Config, Configuration, Surroundings};
use planwright_run::fallback::Way;
use planwright_run::fence::{self, Fencing};
use planwright_run::files::{open_to_read, read_bounded};
use planwright_run::layout::{STATE_FOLDER, root_of};
use planwright_run::planner::{Absent, Effort, Oracle, Planner, PlanningError, Written};
use planwright_run::worker::Workers;
use serde::Serialize;

use super::config::refuse_unsound;
use super::exit::{Drawn, Evidence, Exit, Failure};
use super::interrupt;
use super::output::Output;
use super::plan_entries::from_here;
use super::text_arg::{MAX_BYTES, file_of, input_of, text_of};
use super::typed_command::{as_typed, with_option};
use crate::render::quantity::{money, tokens};
use crate::render::terminal::one_line;

/// The longest prompt for a planner, in bytes: plans and the files around them are long.
pub(crate) const MAX_PROMPT_BYTES: usize = 400 * 1024;

/// How many problems of an answer the user hears of before it goes back.
const MAX_TOLD: usize = 10;

/// Returns whether agents that are asked something are fenced.
pub(crate) fn fencing_of(config: &Config) -> anyhow::Result<Fencing> {
    Fencing::of(&config.run, fence::own_program().as_deref())
        .map_err(|error| Failure::problem(error.to_string(), error.help()))
}

/// Options of all of them.
#[derive(clap::Args, Default)]
pub(crate) struct PlannerOptions {
    /// The agent that plans; else plan.agent of the configuration, run.agent, or the only one there is.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// A file that the planner is to know; may be given several times.
    #[arg(long, value_name = "FILE", help_heading = "What the planner gets")]
    pub(crate) context: Vec<String>,

    /// What must hold whatever is done; may be given several times. @FILE is read.
    #[arg(long, value_name = "TEXT", help_heading = "What the planner gets")]
    pub(crate) constraint: Vec<String>,

    /// What is known from before; may be given several times. @FILE is read.
    #[arg(long, value_name = "TEXT", help_heading = "What the planner gets")]
    pub(crate) memory: Vec<String>,

    /// A file with a template for the prompt, in place of planwright's own.
    #[arg(long, value_name = "FILE", help_heading = "What the planner gets")]
    pub(crate) template: Option<PathBuf>,

    /// Take a planner's answer from this file, or - for standard input, and run no agent.
    #[arg(long, value_name = "FILE", conflicts_with = "agent")]
    pub(crate) from: Option<String>,
}

/// What the planner gets, read and owned.
pub(crate) struct Told {
    pub(crate) constraints: Vec<String>,
    pub(crate) memories: Vec<String>,
    context: Vec<(String, String)>,
    agents: Vec<(String, String)>,
    templates: Vec<Template>,
}

impl PlannerOptions {
    /// Reads all that the planner is told.
    pub(crate) fn told(&self, purpose: Purpose, config: &Config, root: &Path) -> anyhow::Result<Told> {
        let mut is_taken = false;
        let mut texts = |option: &str, typed: &[String]| -> anyhow::Result<Vec<String>> {
            typed
                .iter()
                .map(|typed| text_of(option, typed, &mut is_taken))
                .collect()
        };
        let constraints = texts("constraint", &self.constraint)?;
        let memories = texts("memory", &self.memory)?;
        let file = |path: &String| Ok((path.clone(), file_of("context", path, MAX_BYTES)?));
        let context: anyhow::Result<Vec<(String, String)>> = self.context.iter().map(file).collect();
        let configured = match purpose {
            Purpose::Replan => &config.plan.replan_template,
            Purpose::Derive => &config.plan.derive_template,
            Purpose::Plan | Purpose::Repair => &config.plan.template,
        };
        let [configured, repair] =
            [configured, &config.plan.repair_template].map(|path| path.as_ref().map(|path| root.join(path)));
        let own = match &self.template {
            // Whoever types the name of a pipe means it; that of the configuration is a file.
            Some(path) => template_of(purpose, Some(path), |path| File::open(path))?,
            None => template_of(purpose, configured.as_ref(), open_to_read)?,
        };
        let repair = template_of(Purpose::Repair, repair.as_ref(), open_to_read)?;
        let agents = config.own_agents().map(|agent| {
            let program = Path::new(agent.program()).file_name().unwrap_or_default();
            (agent.name.clone(), format!("runs {}", program.display()))
        });
        Ok(Told {
            constraints,
            memories,
            context: context?,
            agents: agents.collect(),
            templates: own.into_iter().chain(repair).collect(),
        })
    }

    /// Asks whoever plans, and returns what came of it.
    pub(crate) fn with_oracle<T>(
        &self,
        config: &Config,
        root: &Path,
        output: &mut Output,
        ask: impl FnOnce(&mut dyn Oracle) -> Result<T, PlanningError>,
    ) -> anyhow::Result<(Result<T, PlanningError>, Asked)> {
        if let Some(from) = &self.from {
            let text = match from.as_str() {
                "-" => input_of("from", MAX_ANSWER_BYTES)?,
                path => file_of("from", path, MAX_ANSWER_BYTES)?,
            };
            let asked = Asked {
                agent: "planner".to_owned(),
                exit: None,
            };
            return Ok((ask(&mut Written(text)), asked));
        }
        let agent = self.agent.as_deref().or_else(|| config.planner()).ok_or_else(|| {
            Failure::outside(
                "no agent is configured that could plan",
                no_agent::help(&as_typed(), "run"),
            )
        })?;
        let mut workers = Workers::sole().map_err(|error| Failure::environment(&error, ""))?;
        let interrupts = interrupt::Count::begin(workers.waker()).map_err(|error| Failure::environment(&error, ""))?;
        // Who cannot be asked is told as an error.
        if config
            .agents
            .get(agent)
            .is_some_and(|known| known.find_program(root).is_some())
        {
            output.remark(&format!(
                "{} is asked; its answers are kept in .planwright/inquiries",
                one_line(agent)
            ));
        }
        output.flush();
        let mut planner = Heard {
            planner: Planner {
                config,
                agent,
                absent: Absent::default(),
                root,
                workers: &mut workers,
                interrupts: interrupts.n_asked(),
                fencing: fencing_of(config)?,
            },
            output,
        };
        let came = ask(&mut planner);
        let asked = Asked {
            agent: planner.planner.agent.to_owned(),
            exit: interrupts.exit(),
        };
        Ok((came, asked))
    }
}

/// A planner whose mistakes the user hears of.
struct Heard<'h> {
    planner: Planner<'h>,
    output: &'h mut Output,
}

impl Oracle for Heard<'_> {
    fn ask(&mut self, prompt: &str) -> Result<Answer, AgentQueryError> {
        self.planner.ask(prompt)
    }

    fn get_over(&mut self, error: AgentQueryError) -> Result<(), AgentQueryError> {
        let words = one_line(&error.to_string());
        match self.planner.way_on(&error) {
            None => return Err(error),
            Some(Way::Other(other)) => self.output.remark(&format!("{words}: {} is asked", one_line(&other))),
            Some(Way::Wait(wait)) => {
                let agent = one_line(self.planner.agent);
                let whole = Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
                let wait_words = duration_text(whole);
                self.output
                    .remark(&format!("{words}: {agent} is asked again in {wait_words}"));
                self.output.flush();
                if !self.planner.wait(wait) {
                    let agent = self.planner.agent.to_owned();
                    return Err(AgentQueryError::Interrupted { agent });
                }
            }
        }
        self.output.flush();
        Ok(())
    }

    fn sent_back(&mut self, findings: &[Diagnostic]) {
        let problems = match findings.len() {
            1 => "1 problem goes".to_owned(),
            n => format!("{n} problems go"),
        };
        self.output
            .remark(&format!("the answer cannot be used yet: {problems} back"));
        for found in findings.iter().take(MAX_TOLD) {
            self.output
                .remark(&format!("  {}: {}", found.rule.id, one_line(&found.message)));
        }
        self.output.flush();
    }
}

/// Who was asked.
pub(crate) struct Asked {
    /// The agent.
    pub(crate) agent: String,
    /// How the command ends, where the user wanted it to.
    pub(crate) exit: Option<Exit>,
}

impl Told {
    /// Returns what a planner is told in any case.
    pub(crate) fn brief<'t>(
        &'t self,
        dialect: &'static dyn planwright_core::dialect::Dialect,
        goal: &'t str,
    ) -> Brief<'t> {
        Brief {
            dialect,
            goal,
            constraints: &self.constraints,
            memories: &self.memories,
            context: &self.context,
            agents: &self.agents,
            templates: &self.templates,
            max_bytes: MAX_PROMPT_BYTES,
        }
    }
}

/// Reads a template. One that is a bit too long is read, so that its finding can say so.
pub(crate) fn read_template(file: File) -> io::Result<String> {
    let bytes = read_bounded(file, 16 * MAX_TEMPLATE_BYTES)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Returns that a template is not there, or is none.
pub(crate) fn unreadable_template(path: &Path, error: &io::Error) -> anyhow::Error {
    Failure::outside(
        format!("the template `{}` cannot be read: {error}", path.display()),
        "docs/prompts.md describes templates",
    )
}

fn template_of(
    purpose: Purpose,
    path: Option<&PathBuf>,
    open: fn(&Path) -> io::Result<File>,
) -> anyhow::Result<Option<Template>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let name = path.display().to_string();
    let text = open(path)
        .and_then(read_template)
        .map_err(|error| unreadable_template(path, &error))?;
    purpose.parse(&text).map(Some).map_err(|findings| {
        let evidence = Evidence {
            path: name,
            source: SourceText::new(text.as_str()),
            span: None,
            findings,
            drawn: Drawn::Findings,
        };
        Failure::shown(
            "the template has errors",
            "docs/prompts.md describes templates",
            evidence,
        )
    })
}

/// Reads the configuration; one with errors is refused.
pub(crate) fn configured(root: &Path, output: &mut Output) -> anyhow::Result<Configuration> {
    let configuration = config::load(root, &Surroundings::of_process());
    refuse_unsound(&configuration, "nothing is planned by it", output)?;
    Ok(configuration)
}

/// Returns why there is no plan, as an error; what a planner gave all the same is saved, and `taken` is the command that takes it once
/// it is corrected, if a correction can make a plan of it.
pub(crate) fn failure(
    error: PlanningError,
    beside: &Path,
    taken: impl Fn(&str) -> Option<String>,
    output: &mut Output,
) -> anyhow::Error {
    match error {
        PlanningError::AgentQuery(error) if error.is_environment() => {
            let help = error.help();
            Failure::environment(&error, help)
        }
        PlanningError::AgentQuery(error) => Failure::problem(error.to_string(), error.help()),
        PlanningError::Asks {
            questions, unusable, ..
        } => {
            let help = format!("answer it: {}", with_option("--constraint \"ANSWER\""));
            asked_back(&questions, &unusable, beside, &help, output)
        }
        PlanningError::Unusable { unusable, effort } => refused(&unusable, effort, beside, taken, output),
    }
}

/// Returns that the planner asks something. Its answer is kept.
pub(crate) fn asked_back(
    questions: &[String],
    unusable: &Unusable,
    beside: &Path,
    help: &str,
    output: &mut Output,
) -> anyhow::Error {
    const MAX_SHOWN: usize = 3;
    if let Ok([text, _]) = save(unusable, beside) {
        output.remark(&format!(
            "the answer is kept as {}",
            one_line(&text.display().to_string())
        ));
    }
    let shown: Vec<String> = questions
        .iter()
        .take(MAX_SHOWN)
        .map(|question| format!("“{}”", one_line(question)))
        .collect();
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
    unusable: &Unusable,
    effort: Effort,
    beside: &Path,
    taken: impl Fn(&str) -> Option<String>,
    output: &mut Output,
) -> anyhow::Error {
    let saved = save(unusable, beside);
    let times = match effort.n_asked {
        1 => String::new(),
        n => format!(" after {n} answers"),
    };
    let taken = saved
        .as_ref()
        .ok()
        .and_then(|[text, _]| taken(&text.display().to_string()));
    let help = match taken {
        Some(taken) => format!("correct it by hand, then: {taken}; or ask again"),
        None => "ask again".to_owned(),
    };
    if let Ok([text, findings]) = &saved {
        output.remark(&format!(
            "what came is saved as {}, what is wrong with it as {}",
            text.display(),
            findings.display()
        ));
    }
    Failure::shown(
        format!("there is no plan that can be used{times}"),
        help,
        Evidence {
            path: saved.map_or_else(|_| "answer".to_owned(), |[text, _]| text.display().to_string()),
            source: SourceText::new(unusable.text.as_str()),
            span: None,
            findings: unusable.findings.clone(),
            drawn: Drawn::Findings,
        },
    )
}

/// Keeps an answer that cannot be used with the state of the workspace, called after the plan that it would be.
pub(crate) fn save(unusable: &Unusable, beside: &Path) -> Result<[PathBuf; 2], planwright_run::store::CreateError> {
    let name = beside.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = from_here(&root_of(Path::new(".")).join(STATE_FOLDER).join("unusable"));
    let mut nth = 1;
    loop {
        let number = if nth == 1 { String::new() } else { format!("-{nth}") };
        let text = folder.join(format!("{name}{number}.txt"));
        let findings = folder.join(format!("{name}{number}.findings.txt"));
        match planwright_run::store::create(&text, &unusable.text) {
            Err(planwright_run::store::CreateError::Exists { .. }) if nth < 1000 => nth += 1,
            Err(error) => return Err(error),
            Ok(()) => {
                planwright_run::store::create(&findings, &told(&unusable.text, &unusable.findings))?;
                return Ok([text, findings]);
            }
        }
    }
}

/// What planning took, for programs.
#[derive(Serialize)]
pub(crate) struct EffortReport {
    asked: u32,
    cost_usd: Option<f64>,
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
}

impl EffortReport {
    pub(crate) fn new(effort: Effort) -> Self {
        EffortReport {
            asked: effort.n_asked,
            cost_usd: effort.cost_usd,
            tokens_in: effort.tokens_in,
            tokens_out: effort.tokens_out,
        }
    }
}

/// Returns what planning took, in words.
pub(crate) fn effort_words(effort: Effort) -> String {
    let mut words = match effort.n_asked {
        1 => "one answer".to_owned(),
        n => format!("{n} answers"),
    };
    if let Some(cost) = effort.cost_usd {
        words.push_str(&format!(", {}", money(cost)));
    }
    if let (Some(sent), Some(received)) = (effort.tokens_in, effort.tokens_out) {
        words.push_str(&format!(", {} tokens in, {} out", tokens(sent), tokens(received)));
    }
    words
}
