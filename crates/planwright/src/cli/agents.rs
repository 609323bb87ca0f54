//! `planwright agents`: lists the configured agents and the known ones.

use planwright_verbs::agents::{AgentsReport, AgentsRequest, ListedAgent, agents};
use planwright_verbs::text::one_line;

use super::config::{origin_text, show_findings};
use super::{Exit, Output, Result};

/// List the agents that are configured, known and installed.
///
/// No agent is started.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright agents
  planwright agents --json")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, output: &mut Output) -> Result<Exit> {
    let report = agents(&output.workspace(), &AgentsRequest::default())?;
    output.show(&report, draw)?;
    Ok(report.exit)
}

fn draw(report: &AgentsReport, output: &mut Output) {
    // Presets that are neither configured, installed nor requested are only named.
    let is_missing = |agent: &&ListedAgent| {
        let is_wanted = agent.default || !agent.types.is_empty();
        agent.found.is_none() && !agent.configured && !is_wanted
    };
    let (missing, shown): (Vec<_>, Vec<_>) = report.agents.iter().partition(is_missing);
    shown.iter().for_each(|agent| draw_agent(agent, output));
    output.remark(&report.fence.words());
    if shown.is_empty() {
        output.line("no agents: none is configured, and no known one is on the PATH");
    }
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|agent| agent.name.as_str()).collect();
        output.remark(&format!("known, but not on the PATH: {}", names.join(", ")));
    }
    if report.default.is_none() {
        let help =
            "no default: set one with `agent = \"NAME\"` below `[run]` in planwright.toml, see docs/configuration.md";
        output.remark(help);
    }
    show_findings(&report.findings, output);
}

fn draw_agent(agent: &ListedAgent, output: &mut Output) {
    let paint = output.paint();
    let mut title = paint.bold(&one_line(&agent.name));
    if agent.default {
        title.push_str(" (default)");
    }
    if !agent.types.is_empty() {
        title.push_str(&format!(" for {}", one_line(&agent.types.join(", "))));
    }
    let origin = match agent.configured {
        true => origin_text(&agent.origin),
        false => "known, not configured".to_owned(),
    };
    let program = match &agent.found {
        Some(path) => one_line(path),
        None => format!("{}: {}", paint.error("not found"), one_line(&agent.program)),
    };
    output.line(&title);
    output.line(&format!("  {}", paint.dim(&origin)));
    output.line(&format!("  program  {program}"));
    output.line(&format!("  command  {}", one_line(&agent.command.join(" "))));
    output.line(&format!("  prompt   {}; output {}", agent.prompt, agent.output));
    if let Some(other) = &agent.fallback {
        output.line(&format!("  fallback {}", one_line(other)));
    }
}
