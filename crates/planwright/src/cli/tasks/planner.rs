//! A planner at work on a pack: it is asked, what it answers is made into a pack, and what is wrong goes back to it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use planwright_core::diagnostic::Diagnostic;
use planwright_core::planning::derive::prompt::{derive_prompt, repair_prompt};
use planwright_core::planning::derive::rules::ANSWER;
use planwright_core::planning::derive::{DeriveError, Derived, MAX_ANSWER_BYTES, Order, Previous, check_plan, derive};
use planwright_core::text::SourceText;
use planwright_run::clock;
use planwright_run::config::Config;
use planwright_run::files::DiskFiles;
use planwright_run::inquiry::{Inquiry, InquiryError, InquiryPlace, Limits, ask_agent};
use planwright_run::store;
use planwright_run::worker::Workers;
use serde::Serialize;

use super::super::exit::{Drawn, Evidence, Exit, Failure};
use super::super::interrupt;
use super::super::output::Output;
use super::super::plan_arg::load_failure;
use super::super::planner::{MAX_PROMPT_BYTES, configured};
use crate::render::human::{Teller, findings};
use crate::render::terminal::{one_line, printable};
use crate::render::wire::DiagnosticReport;

/// How often an answer that makes no pack goes back to the planner.
const MAX_REPAIRS: u32 = 2;

/// Where the tasks come from.
#[derive(clap::Args)]
pub(super) struct PlannerOptions {
    /// The agent that plans; else plan.agent of the configuration, run.agent, or the only one there is.
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    agent: Option<String>,

    /// Take a planner's answer from this file, or - for standard input, and ask nobody.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// Print what the planner would be asked; ask nobody and write nothing.
    #[arg(long, conflicts_with = "from")]
    pub(super) dry_run: bool,
}

/// A source plan in its repository.
pub(super) struct Source {
    /// The root of the repository.
    pub(super) root: PathBuf,
    /// The plan's path from there.
    pub(super) path: String,
    /// Its text.
    pub(super) text: SourceText,
}

/// What is to be derived.
pub(super) struct Work<'a> {
    pub(super) source: &'a Source,
    pub(super) date: &'a str,
    pub(super) previous: Option<Previous<'a>>,
}

/// Who answered, for programs.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Asked {
    /// The agent.
    pub(super) agent: String,
    /// How often it was asked in all.
    pub(super) n_asked: u32,
    /// What that cost in US dollars, as far as the agent tells.
    pub(super) cost_usd: Option<f64>,
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
}

/// What came of it.
pub(super) enum Planned {
    /// A pack, and who made its tasks; none where they were given.
    Pack(Box<Derived>, Option<Asked>),
    /// The user wanted the end.
    Interrupted(Exit),
}

impl Source {
    /// Loads a plan of a repository.
    pub(super) fn load(root: PathBuf, path: String) -> anyhow::Result<Self> {
        let file = root.join(&path);
        let text = store::load(&file).map_err(|error| load_failure(&error))?.source;
        if text.damage().is_some() {
            return Err(Failure::problem(
                format!("the source plan `{path}` is not UTF-8"),
                "save it as UTF-8 first",
            ));
        }
        check_plan(&path, &text).map_err(|error| plan_failure(&error))?;
        Ok(Source { root, path, text })
    }

    /// Refuses to go on with a plan that somebody has changed since, the planner perhaps: a pack of it would be stale.
    fn refuse_changed(&self) -> anyhow::Result<()> {
        let newest = store::load(&self.root.join(&self.path)).map_err(|error| load_failure(&error))?;
        if newest.source.as_str() == self.text.as_str() {
            return Ok(());
        }
        Err(Failure::problem(
            format!("the source plan `{}` was changed while its pack was derived", self.path),
            "nothing was written; look at what changed, and try again",
        ))
    }
}

impl Work<'_> {
    /// Returns what the planner is asked.
    pub(super) fn prompt(&self) -> String {
        let previous = self.previous.map(|previous| previous.pack.as_str());
        derive_prompt(&self.source.path, self.source.text.as_str(), previous, MAX_PROMPT_BYTES)
    }

    fn repair(&self, answer: &str, found: &[Diagnostic]) -> String {
        let previous = self.previous.map(|previous| previous.pack.as_str());
        let (path, text) = (&self.source.path, self.source.text.as_str());
        repair_prompt(path, text, previous, answer, found, MAX_PROMPT_BYTES)
    }

    fn derive(&self, answer: &SourceText) -> Result<Derived, DeriveError> {
        derive(&Order {
            plan_path: &self.source.path,
            plan: &self.source.text,
            answer,
            date: self.date,
            is_directory: &|path| self.source.root.join(path).is_dir(),
            previous: self.previous,
        })
    }

    /// Has a pack made: from an answer that is given, or by asking an agent.
    pub(super) fn plan(&self, options: &PlannerOptions, output: &mut Output) -> anyhow::Result<Planned> {
        let Some(from) = &options.from else {
            let planned = self.ask(options.agent.as_deref(), output)?;
            self.source.refuse_changed()?;
            return Ok(planned);
        };
        let answer = given(from)?;
        let derived = self
            .derive(&answer)
            .map_err(|error| refusal(error, "mend the answer"))?;
        Ok(Planned::Pack(Box::new(derived), None))
    }

    fn ask(&self, agent: Option<&str>, output: &mut Output) -> anyhow::Result<Planned> {
        let configuration = configured(&self.source.root, output)?;
        let config = &configuration.config;
        let agent = agent.or_else(|| config.planner()).ok_or_else(|| {
            Failure::usage(
                "no agent is named that could plan",
                "name one with --agent, or as plan.agent in planwright.toml; `planwright agents` lists them",
            )
        })?;
        self.ask_until_sound(agent, config, output)
    }

    fn ask_until_sound(&self, agent: &str, config: &Config, output: &mut Output) -> anyhow::Result<Planned> {
        let mut workers = Workers::new().map_err(|error| Failure::environment(&error, ""))?;
        let interrupts = interrupt::Count::begin(workers.waker()).map_err(|error| Failure::environment(&error, ""))?;
        let mut asked = Asked {
            agent: agent.to_owned(),
            ..Asked::default()
        };
        if self.source.text.len() > MAX_PROMPT_BYTES {
            output.remark("the plan is too long for one prompt: the planner is told to read the rest in its file");
        }
        let mut prompt = self.prompt();
        loop {
            let place = InquiryPlace::create(&DiskFiles, &self.source.root, &clock::now()).map_err(no_answer)?;
            let inquiry = Inquiry {
                config,
                agent,
                prompt: &prompt,
                folder: &self.source.root,
                place: &place,
                limits: Limits {
                    max_answer: MAX_ANSWER_BYTES,
                    ..Limits::of(config)
                },
                mark: &[],
            };
            output.remark(&format!("{} is asked for the tasks …", printable(agent)));
            let answer = ask_agent(&inquiry, &mut workers, interrupts.n_asked());
            if let Some(exit) = interrupts.exit() {
                return Ok(Planned::Interrupted(exit));
            }
            let answer = answer.map_err(no_answer)?;
            asked.count(&answer);
            let text = SourceText::new(answer.text.as_str());
            let derived = match answer.is_cut {
                true => Err(too_long()),
                false => self.derive(&text),
            };
            let found = match derived {
                Ok(derived) => return Ok(Planned::Pack(Box::new(derived), Some(asked))),
                Err(DeriveError::Answer(found)) if asked.n_asked <= MAX_REPAIRS => found,
                Err(error) => {
                    let kept = place.folder().to_string_lossy().into_owned();
                    return Err(refusal(
                        error,
                        &format!("nothing was written; its answer is kept in {kept}"),
                    ));
                }
            };
            self.tell(&found, output);
            prompt = self.repair(&answer.text, &found);
        }
    }

    /// Says what goes back to the planner.
    fn tell(&self, found: &[Diagnostic], output: &mut Output) {
        let problems = if found.len() == 1 { "problem" } else { "problems" };
        output.remark(&format!(
            "the answer makes no pack yet: {} {problems} go back",
            found.len()
        ));
        for found in found.iter().take(10) {
            output.remark(&format!("  {}: {}", found.rule.id, one_line(&found.message)));
        }
    }
}

impl Asked {
    fn count(&mut self, answer: &planwright_run::inquiry::Answer) {
        self.n_asked += 1;
        let sum =
            |all: Option<u64>, one: Option<u64>| one.map_or(all, |one| Some(all.unwrap_or(0).saturating_add(one)));
        self.cost_usd = answer
            .cost_usd
            .map_or(self.cost_usd, |cost| Some(self.cost_usd.unwrap_or(0.0) + cost));
        self.tokens_in = sum(self.tokens_in, answer.tokens_in);
        self.tokens_out = sum(self.tokens_out, answer.tokens_out);
    }
}

/// Reads an answer that somebody has.
fn given(from: &Path) -> anyhow::Result<SourceText> {
    let unreadable = |error: std::io::Error| Failure::environment(&error, "name a file that can be read with --from");
    let limit = MAX_ANSWER_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    if from == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(from).map_err(|error| {
            let message = format!("`{}` cannot be read: {error}", from.display());
            unreadable(std::io::Error::new(error.kind(), message))
        })?;
        file.take(limit).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    Ok(SourceText::from_bytes(bytes))
}

/// Returns that an answer has no end that anybody has heard.
fn too_long() -> DeriveError {
    let message = format!("the answer has more than {MAX_ANSWER_BYTES} bytes");
    DeriveError::Answer(vec![
        Diagnostic::of_file(&ANSWER, message).with_help("answer with the tasks alone"),
    ])
}

fn no_answer(error: InquiryError) -> anyhow::Error {
    match error.is_environment() {
        true => Failure::environment(&error, error.help()),
        false => Failure::problem(error.to_string(), error.help()),
    }
}

fn plan_failure(error: &DeriveError) -> anyhow::Error {
    let help = match error {
        DeriveError::UnclosedPlan => "close it with a line `---`",
        DeriveError::PlanPath(_) => "it is to lie in the repository, under a name without odd characters",
        DeriveError::Answer(_) => "",
    };
    Failure::problem(error.to_string(), help)
}

/// Returns why there is no pack, with all that is wrong.
fn refusal(error: DeriveError, help: &str) -> anyhow::Error {
    match error {
        DeriveError::Answer(findings) => {
            let message = DeriveError::Answer(findings.clone()).to_string();
            let evidence = Evidence {
                path: "answer".to_owned(),
                source: SourceText::new(""),
                span: None,
                findings,
                drawn: Drawn::Findings,
            };
            Failure::shown(message, help, evidence)
        }
        error => plan_failure(&error),
    }
}

/// Says what the user should know of a pack.
pub(super) fn tell_warnings(path: &str, warnings: &[Diagnostic], output: &mut Output) {
    let nothing = SourceText::new("");
    let text = findings(
        path,
        &nothing,
        warnings,
        Teller::Account,
        output.paint_beside(),
        output.width(),
    );
    if !output.is_quiet() {
        output.note(&text);
    }
}

/// Returns what the user should know of a pack, for programs.
pub(super) fn warning_reports(warnings: &[Diagnostic]) -> Vec<DiagnosticReport> {
    let nothing = SourceText::new("");
    let index = nothing.line_index();
    warnings
        .iter()
        .map(|found| DiagnosticReport::new(found, &index))
        .collect()
}
