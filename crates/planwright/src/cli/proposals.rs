//! `planwright proposals`: what agents and planners propose for a plan; and taking it, or not, for `approve` and `reject`.

use std::path::PathBuf;

use planwright_run::clock;
use planwright_run::proposals::{Proposal, held, settle};
use planwright_run::revise::{Matter, Target, VersionRequest, new_version_of};
use serde::Serialize;

use super::change::{Found, failure};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::TargetArgument;
use super::planner::with_mint;
use super::replan::difference_lines;
use crate::render::terminal::{addressed, cut, one_line, shown_name};

/// List what is proposed for a plan: tasks by agents that found work which it lacks, new versions by planners.
///
/// `planwright approve --proposed` takes it into the plan, `planwright reject --proposed` forgets it.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    plan: TargetArgument,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    plan: String,
    proposals: Vec<Proposal>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let found = args.plan.find()?;
    let proposals: Vec<Proposal> = held(&found.path).into_iter().map(|(_, proposal)| proposal).collect();
    if args.json {
        output.json(&Report {
            schema_version: "planwright.proposals/v1",
            plan: found.path.display().to_string(),
            proposals,
        })?;
        return Ok(Exit::Success);
    }
    if proposals.is_empty() {
        output.remark("nothing is proposed");
    }
    for proposal in &proposals {
        output.line(&headline(proposal));
        for task in &proposal.tasks {
            output.line(&format!("  + {}", cut(&one_line(task), 120)));
        }
        if !proposal.reasoning.is_empty() {
            output.write(&addressed(
                &format!("  {}\n", proposal.reasoning.replace('\n', "\n  ")),
                output.audience(),
            ));
        }
    }
    Ok(Exit::Success)
}

/// Returns a proposal in words.
fn headline(proposal: &Proposal) -> String {
    let what = match (&proposal.answer, proposal.tasks.len()) {
        (Some(_), _) => "a new version".to_owned(),
        (None, 1) => "a task".to_owned(),
        (None, n) => format!("{n} tasks"),
    };
    let of = proposal
        .task
        .as_deref()
        .map_or_else(String::new, |task| format!(", at {}", shown_name(task)));
    format!("{what} by {}{of}, {}", one_line(&proposal.by), one_line(&proposal.time))
}

/// Takes all that is proposed into the plan, the oldest first. Returns the plan to go on with.
pub(crate) fn approve(found: &Found, by: Option<&str>, dry: bool, output: &mut Output) -> anyhow::Result<Found> {
    let proposals = held(&found.path);
    if proposals.is_empty() {
        return Err(nothing(found));
    }
    let mut current = found.clone();
    for (file, proposal) in proposals {
        let now = clock::now();
        let matter = match &proposal.answer {
            Some(answer) => Matter::Answer(answer),
            None => Matter::More(&proposal.tasks),
        };
        let approved = by.map_or_else(String::new, |by| format!("approved by {by}\n"));
        let reasoning = format!("{approved}{}", proposal.reasoning);
        let request = VersionRequest {
            matter,
            by: &proposal.by,
            reasoning: reasoning.trim(),
            now: &now,
        };
        let target = Target {
            path: &current.path,
            forced: current.forced,
            dry,
        };
        let versioned = with_mint(|mint| new_version_of(target, &request, mint));
        let versioned = versioned.map_err(|error| failure(&current, &error))?;
        output.line(&headline(&proposal));
        for line in difference_lines(&versioned.difference) {
            output.line(&format!("  {line}"));
        }
        if dry {
            continue;
        }
        settle(&file).map_err(|error| Failure::environment(&error, "it is in the plan; remove the file by hand"))?;
        if let Some(path) = versioned.file {
            output.line(&format!("the new version is {}", one_line(&path.display().to_string())));
            current.path = path;
        }
    }
    Ok(current)
}

/// Forgets all that is proposed.
pub(crate) fn reject(found: &Found, dry: bool, output: &mut Output) -> anyhow::Result<()> {
    let proposals: Vec<(PathBuf, Proposal)> = held(&found.path);
    if proposals.is_empty() {
        return Err(nothing(found));
    }
    for (file, proposal) in proposals {
        if !dry {
            settle(&file).map_err(|error| Failure::environment(&error, "check that you may write to `.planwright`"))?;
        }
        output.line(&format!("rejected: {}", headline(&proposal)));
    }
    Ok(())
}

fn nothing(found: &Found) -> anyhow::Error {
    Failure::problem(
        format!("nothing is proposed for `{}`", found.path.display()),
        "`planwright proposals` lists what is",
    )
}
