//! `planwright agents`: lists the configured agents and the known ones.

use std::path::Path;

use planwright_run::config::{self, Agent, Config, Configuration, FenceMode, Origin, Surroundings};
use planwright_run::fence::{self, Support};
use planwright_run::workspace::root_of;
use serde::Serialize;

use super::config::{OriginReport, SourceReport, complain, exit_of, origin_report, origin_text, source_reports};
use super::exit::Exit;
use super::output::Output;
use crate::render::terminal::one_line;

/// List the agents that are configured, known and installed.
///
/// Starts none of them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright agents
  planwright agents --json")]
pub(crate) struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `agents --json`.
const VERSION: &str = "planwright.agents/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    /// The agent for tasks that nothing else names one for.
    default: Option<String>,
    /// What the kernel has to fence agents with.
    fence: FenceReport,
    agents: Vec<AgentReport>,
    /// What the configuration was read from, with what is wrong there.
    sources: Vec<SourceReport>,
}

#[derive(Serialize)]
struct AgentReport {
    name: String,
    /// Whether a configuration file has a table for it.
    configured: bool,
    default: bool,
    /// The types of tasks that it is the agent for.
    types: Vec<String>,
    preset: Option<&'static str>,
    origin: OriginReport,
    program: String,
    /// Where the program is; null where it is not found.
    found: Option<String>,
    command: Vec<String>,
    prompt: &'static str,
    output: &'static str,
    /// The agent that takes its tasks while it cannot.
    fallback: Option<String>,
    env: Vec<String>,
    /// The names of the variables that are set for it. Their values may be secrets.
    set: Vec<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let root = root_of(Path::new("."));
    let configuration = config::load(&root, &Surroundings::of_process());
    let config = &configuration.config;
    if args.json {
        let agents = config.agents.values().map(|agent| report(agent, config, &root));
        output.json(&Report {
            schema_version: VERSION,
            default: config.run.agent.clone(),
            fence: FenceReport::of(config),
            agents: agents.collect(),
            sources: source_reports(&configuration),
        })?;
    } else {
        say(&configuration, &root, output);
        complain(&configuration, output);
    }
    Ok(exit_of(&configuration))
}

/// What can be said about fences on this system.
#[derive(Serialize)]
pub(super) struct FenceReport {
    /// As configured: `auto`, `write`, `strict`, `off`.
    mode: &'static str,
    /// Whether agents would be fenced.
    active: bool,
    /// The version of Landlock; null where there is none.
    abi: Option<u32>,
    /// What the kernel supports, in words.
    kernel: String,
}

impl FenceReport {
    pub(super) fn of(config: &Config) -> Self {
        let support = fence::support();
        FenceReport {
            mode: mode_word(config),
            active: fence::obstacle(&support).is_none() && config.run.fence != FenceMode::Off,
            abi: match support {
                Support::Landlock { abi } => Some(abi),
                _ => None,
            },
            kernel: support.words(),
        }
    }
}

fn mode_word(config: &Config) -> &'static str {
    match config.run.fence {
        FenceMode::Off => "off",
        FenceMode::Auto => "auto",
        FenceMode::Write => "write",
        FenceMode::Strict => "strict",
    }
}

/// Returns a line about fences: what is configured, and what the kernel supports.
pub(super) fn fence_words(config: &Config) -> String {
    let kernel = fence::support().words();
    match mode_word(config) {
        "off" => format!("fence: agents are not fenced, run.fence = \"off\"; kernel: {kernel}"),
        mode => format!("fence: run.fence = \"{mode}\"; kernel: {kernel}"),
    }
}

fn is_configured(agent: &Agent) -> bool {
    !matches!(agent.origin, Origin::Preset(_))
}

fn types_of(agent: &Agent, config: &Config) -> Vec<String> {
    let own = config.run.types.iter().filter(|(_, name)| **name == agent.name);
    own.map(|(kind, _)| kind.clone()).collect()
}

fn report(agent: &Agent, config: &Config, root: &Path) -> AgentReport {
    AgentReport {
        name: agent.name.clone(),
        configured: is_configured(agent),
        default: config.run.agent.as_deref() == Some(&agent.name),
        types: types_of(agent, config),
        preset: agent.preset,
        origin: origin_report(&agent.origin),
        program: agent.program().to_owned(),
        found: agent.find_program(root).map(|path| path.to_string_lossy().into_owned()),
        command: agent.command.clone(),
        prompt: agent.prompt.as_str(),
        output: agent.output.as_str(),
        fallback: agent.fallback.clone(),
        env: agent.env.clone(),
        set: agent.set.keys().cloned().collect(),
    }
}

fn say(configuration: &Configuration, root: &Path, output: &mut Output) {
    let config = &configuration.config;
    let (mut n_shown, mut missing) = (0, Vec::new());
    for agent in config.agents.values() {
        let path = agent.find_program(root);
        let is_wanted = config.run.agent.as_deref() == Some(&agent.name) || !types_of(agent, config).is_empty();
        // Presets that are neither configured, nor there, nor asked for are only named.
        if path.is_none() && !is_configured(agent) && !is_wanted {
            missing.push(agent.name.as_str());
        } else {
            n_shown += 1;
            say_agent(agent, path.as_deref(), config, output);
        }
    }
    output.remark(&fence_words(config));
    if n_shown == 0 {
        output.line("no agents: none is configured, and no known one is on the PATH");
    }
    if !missing.is_empty() {
        output.remark(&format!("known, but not on the PATH: {}", missing.join(", ")));
    }
    if config.run.agent.is_none() {
        let help =
            "no default: set one with `agent = \"NAME\"` below `[run]` in planwright.toml, see docs/configuration.md";
        output.remark(help);
    }
}

fn say_agent(agent: &Agent, path: Option<&Path>, config: &Config, output: &mut Output) {
    let paint = output.paint();
    let types = types_of(agent, config);
    let mut title = paint.bold(&one_line(&agent.name));
    if config.run.agent.as_deref() == Some(&agent.name) {
        title.push_str(" (default)");
    }
    if !types.is_empty() {
        title.push_str(&format!(" for {}", one_line(&types.join(", "))));
    }
    let origin = match is_configured(agent) {
        true => origin_text(&agent.origin),
        false => "known, not configured".to_owned(),
    };
    let program = match path {
        Some(path) => one_line(&path.to_string_lossy()),
        None => format!("{}: {}", paint.error("not found"), one_line(agent.program())),
    };
    output.line(&title);
    output.line(&format!("  {}", paint.dim(&origin)));
    output.line(&format!("  program  {program}"));
    output.line(&format!("  command  {}", one_line(&agent.command.join(" "))));
    let (prompt, format) = (agent.prompt.as_str(), agent.output.as_str());
    output.line(&format!("  prompt   {prompt}; output {format}"));
    if let Some(other) = &agent.fallback {
        output.line(&format!("  fallback {}", one_line(other)));
    }
}
