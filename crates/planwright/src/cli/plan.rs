//! `planwright plan`: an agent makes a plan for a goal, and planwright checks it.

use std::io::{IsTerminal as _, stdout};
use std::path::PathBuf;

use planwright_run::shell::argument;
use planwright_verbs::Workspace;
use planwright_verbs::draft::{DraftRequest, abandon, draft};
use planwright_verbs::plan::{MakePlanReport, MakePlanRequest, plan, prompt};
use planwright_verbs::planning::SourceFindings;
use planwright_verbs::text::{one_line, printable};

use super::answers;
use super::editor::{Left, editor, open_in};
use super::outline::show_tasks;
use super::plan_arg::dialect_names;
use super::planner::{PlannerOptions, PlanningView};
use super::text_arg::text_of;
use super::{Exit, Failure, Output, Result};
use crate::render::findings::{FindingsSource, findings};

/// Have an agent write a plan for a goal, and check it.
///
/// The prompt describes a valid plan of the dialect. The plan is extracted from the answer and checked; errors are returned to the
/// agent, twice at most. If the answer still is no plan of the dialect, it is read like `import` reads answers: shown with every guess,
/// for you to confirm. planwright sets ids, dates and states. At a terminal the draft opens in your editor first.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright plan \"Limit how often a client may call\"
  planwright plan @goal.md --agent claude --context docs/api.md --run
  planwright plan \"Fix the typo in the README\" --dialect rawko --single
  planwright plan \"Log in with JWT\" --dry-run   print the prompt
  planwright plan \"Log in with JWT\" --from answer.md")]
pub(crate) struct Args {
    /// The goal; @FILE reads it from a file, - from standard input.
    #[arg(value_name = "GOAL")]
    goal: String,

    /// The dialect of the plan. Default: `plan.dialect`, else that of existing plans, else `checklist`.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    #[command(flatten)]
    planner: PlannerOptions,

    /// Make a plan with one task, without an agent: for goals too small to plan.
    #[arg(long, conflicts_with_all = ["agent", "from"])]
    single: bool,

    /// Write to this file, which must not exist.
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Accept an answer that is no plan of the dialect without asking.
    #[arg(long, short)]
    yes: bool,

    /// Do not open the draft in the editor.
    #[arg(long, visible_alias = "plan-no-edit")]
    no_edit: bool,

    /// Then run the plan.
    #[arg(long, conflicts_with_all = ["dry_run", "json"])]
    run: bool,

    /// Print the prompt for the agent. No agent is started, nothing is written.
    #[arg(long, conflicts_with = "from")]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let workspace = output.workspace();
    let request = MakePlanRequest {
        goal: text_of("goal", &args.goal, &mut false)?,
        dialect: args.dialect.clone(),
        planner: args.planner.request(args.dry_run)?,
        single: args.single,
        out: args.out.clone(),
        yes: args.yes,
    };
    if args.dry_run {
        output.write_exact(&prompt(&workspace, &request)?);
        return Ok(Exit::Success);
    }
    let report = plan(&workspace, &request, &mut PlanningView::new(output))?;
    if output.printed_json(&report)? {
        return Ok(Exit::Success);
    }
    show(&report, output);
    let edited = edited(args, (&workspace, &report.draft), output)?;
    draw_next((&workspace, &report.draft), edited, args, output)?;
    match edited {
        Edited::Valid if args.run => super::run_plan(&report.draft.plan, output),
        Edited::Valid => Ok(Exit::Success),
        Edited::Invalid | Edited::Abandoned => Ok(Exit::Problems),
    }
}

fn show(report: &MakePlanReport, output: &mut Output) {
    let drawn = drawn(&report.findings, FindingsSource::OwnReport, output);
    if !output.is_quiet() {
        output.note(&drawn);
    }
    if !report.reasoning.is_empty() {
        output.remark(&printable(&report.reasoning));
    }
    if report.agent.is_some() {
        output.remark(&format!("planned with {}", report.effort.words()));
    }
    if !output.is_quiet() {
        show_tasks(&report.tasks, output);
    }
    output.line(&one_line(&report.plan));
}

fn drawn(found: &SourceFindings, origin: FindingsSource, output: &Output) -> String {
    let path = found.path.display().to_string();
    let (paint, width) = (output.stderr_paint(), output.width());
    findings(&path, &found.source, &found.findings, origin, paint, width)
}

/// Prints the next command.
fn draw_next(
    (workspace, made): (&Workspace, &DraftRequest),
    edited: Edited,
    args: &Args,
    output: &mut Output,
) -> Result<()> {
    let path = argument(&made.plan.to_string_lossy());
    match edited {
        Edited::Valid if args.run => {}
        Edited::Valid => {
            let next = draft(workspace, made)?.map_or_else(|| format!("planwright run {path}"), |report| report.next);
            output.command(&format!("next: {next}"));
        }
        Edited::Invalid => output.command(&format!("next: planwright edit {path}")),
        // An abandoned draft may have another name.
        Edited::Abandoned if made.plan.exists() => {
            output.command(&format!("to use the draft: planwright run {path}"));
            output.command(&format!("to edit it again: planwright edit {path}"));
            output.command(&format!("to remove it: planwright delete {path}"));
        }
        Edited::Abandoned => {}
    }
    Ok(())
}

/// How the user left a draft.
#[derive(Clone, Copy)]
enum Edited {
    Valid,
    Invalid,
    Abandoned,
}

/// Opens the draft in the user's editor until it has no errors.
fn edited(args: &Args, (workspace, made): (&Workspace, &DraftRequest), output: &mut Output) -> Result<Edited> {
    let is_terminal = stdout().is_terminal() && answers::may_ask();
    let Some(editor) = editor().filter(|_| is_terminal && !args.no_edit) else {
        return Ok(Edited::Valid);
    };
    loop {
        output.flush();
        let status = match open_in(&editor, &made.plan)? {
            Left::Closed(status) => status,
            Left::Ended(exit) => {
                let path = made.plan.to_string_lossy();
                output.remark(&format!(
                    "ended while the editor was open; the draft is kept as {}",
                    one_line(&path)
                ));
                output.command(&format!("edit it again: `planwright edit {}`", argument(&path)));
                return Err(Failure::interrupted(exit));
            }
        };
        if !status.success() {
            // The user declined, as with vim's `:cq`.
            output.remark(&format!(
                "the editor ended with {status}; the draft is kept unchanged as {}",
                one_line(&made.plan.display().to_string())
            ));
            return Ok(Edited::Abandoned);
        }
        let Some(edited) = draft(workspace, made)? else {
            output.remark("the draft was removed: it is abandoned");
            return Ok(Edited::Abandoned);
        };
        if edited.valid {
            return Ok(Edited::Valid);
        }
        let drawn = drawn(&edited.findings, FindingsSource::Other, output);
        output.note(&drawn);
        output.note("the plan has errors. Edit it again, keep it, or abandon it? [edit/keep/abandon] ");
        match answers::line().as_deref() {
            Some("k" | "keep") | None => return Ok(Edited::Invalid),
            Some("a" | "abandon") => {
                abandon_draft((workspace, made), output);
                return Ok(Edited::Abandoned);
            }
            Some(_) => {}
        }
    }
}

fn abandon_draft((workspace, made): (&Workspace, &DraftRequest), output: &mut Output) {
    match abandon(workspace, made) {
        Ok(report) => {
            output.remark(&format!("abandoned; the text is kept as {}", one_line(&report.kept)));
            output.command(&format!(
                "to use it after a correction: planwright import {}",
                argument(&report.kept)
            ));
        }
        Err(failure) => output.remark(&format!("warning: {}", one_line(&failure.message))),
    }
}
