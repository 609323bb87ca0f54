//! `planwright plan`: an agent makes a plan for a goal, and planwright checks it.

use std::io::{IsTerminal as _, stdout};
use std::path::{Path, PathBuf};

use planwright_core::convert::{self, Imported, Wish};
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::Dialect;
use planwright_core::inspect::LinkedPlan;
use planwright_core::outline;
use planwright_core::plan::Field;
use planwright_core::planning::draft::Unusable;
use planwright_core::planning::prompt::{Purpose, plan_prompt};
use planwright_core::text::SourceText;
use planwright_run::agent_query::{AgentQueryError, Answer};
use planwright_run::clock;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{Change, plan_id};
use planwright_run::layout::root_of;
use planwright_run::planner::{self, Effort, Oracle, PlanningError};
use planwright_run::shell::argument;
use planwright_run::store::{self, PlanFile, Store};
use serde::Serialize;

use super::answers;
use super::create::{create_plan, new_path, require_new, with_id_source_for};
use super::default_dialect::{derived_by, dialect_or_default};
use super::editor::{editor, open_in};
use super::exit::{Exit, Failure};
use super::next_step::first_step;
use super::outline::{confirmed, other_notes, show as show_outline, show_tasks, task_names};
use super::output::Output;
use super::plan_arg::dialect_names;
use super::planner::{EffortReport, PlannerOptions, asked_back, configured, effort_words, failure, save};
use super::text_arg::text_of;
use crate::render::terminal::{one_line, printable};
use crate::render::text::{Teller, findings};

/// Have an agent write a plan for a goal, and check it.
///
/// The prompt describes a valid plan of the dialect. What comes back is taken out of whatever surrounds it, read and checked;
/// errors are sent back to it, twice at most. An answer that still is no plan of the dialect is read as `import` reads answers, shown with
/// every guess, and confirmed. Ids, dates and states are planwright's own. At a terminal the draft opens in your
/// editor before anything is done with it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright plan \"Limit how often a client may call\"
  planwright plan @goal.md --agent claude --context docs/api.md --run
  planwright plan \"Fix the typo in the README\" --dialect rawko --single
  planwright plan \"Log in with JWT\" --dry-run   print the prompt
  planwright plan \"Log in with JWT\" --from answer.md")]
pub(crate) struct Args {
    /// What is to be reached; @FILE and - are read.
    #[arg(value_name = "GOAL")]
    goal: String,

    /// The dialect of the plan. Default: `plan.dialect`, else that of the plans that exist, else clido.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    #[command(flatten)]
    planner: PlannerOptions,

    /// Make a plan with one task, without an agent: for goals too small to plan.
    #[arg(long, conflicts_with_all = ["agent", "from"])]
    single: bool,

    /// Write to this file, which must be new.
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Take an answer that is no plan of the dialect as it is read, without a question.
    #[arg(long, short)]
    yes: bool,

    /// Do not open the draft in the editor.
    #[arg(long, visible_alias = "plan-no-edit")]
    no_edit: bool,

    /// Run the plan then.
    #[arg(long, conflicts_with_all = ["dry_run", "json"])]
    run: bool,

    /// Print the prompt for the agent. Starts nothing and writes nothing.
    #[arg(long, conflicts_with = "from")]
    dry_run: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: &'static str,
    dialect: &'static str,
    /// The file that was written.
    plan: String,
    id: Option<String>,
    n_tasks: usize,
    /// Who planned; null where nobody did.
    agent: Option<&'a str>,
    effort: EffortReport,
    reasoning: &'a str,
    /// Whether the plan has errors, which only an editor can have brought in.
    valid: bool,
}

/// A plan before it is written.
struct Made {
    text: String,
    notes: Vec<Diagnostic>,
    reasoning: String,
    agent: Option<String>,
    effort: Effort,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let goal = text_of("goal", &args.goal, &mut false)?;
    if goal.trim().is_empty() {
        return Err(Failure::usage("the goal is empty", "say what is to be reached"));
    }
    let root = root_of(Path::new("."));
    let configuration = configured(&root, output)?;
    let dialect = dialect_or_default(args.dialect.as_deref(), &configuration.config, &root)?;
    if let Some(command) = derived_by(dialect).filter(|_| !args.single) {
        return Err(Failure::usage(
            format!(
                "plans of the dialect `{}` are derived from another document",
                dialect.name()
            ),
            format!("`{command}` derives one; --single makes a draft with one task"),
        ));
    }
    let told = args.planner.told(Purpose::Plan, &configuration.config, &root)?;
    let brief = told.brief(dialect, &goal);
    if args.dry_run {
        output.write_exact(&plan_prompt(&brief).text);
        return Ok(Exit::Success);
    }
    let wish = Wish {
        goal: &goal,
        constraints: &told.constraints,
        memories: &told.memories,
        ..Wish::default()
    };
    if let Some(out) = &args.out {
        require_new(out)?;
    }
    let date = clock::now();
    let date = date.get(..10).unwrap_or_default();
    let unnamed = place_of(args, dialect, None, date, &goal);
    let out = args.out.as_deref();
    let made = if args.single {
        with_id_source_for(dialect, out, |id_source| {
            convert::single_plan(dialect, &wish, id_source)
        })
        .map(|(text, notes)| Made {
            text,
            notes,
            reasoning: String::new(),
            agent: None,
            effort: Effort::default(),
        })
        .map_err(|refused| Failure::problem(refused.to_string(), "say it in other words"))?
    } else {
        let mut last = String::new();
        let (came, asked) = args
            .planner
            .with_oracle(&configuration.config, &root, output, |oracle| {
                let mut kept = LastAnswer {
                    oracle,
                    text: &mut last,
                };
                with_id_source_for(dialect, out, |id_source| {
                    planner::plan(&mut kept, &brief, &wish, id_source)
                })
            })?;
        if let Some(exit) = asked.exit {
            return Ok(exit);
        }
        let made = match came {
            Ok((drafted, effort)) => Some(Made {
                text: drafted.text,
                notes: drafted.notes,
                reasoning: drafted.reasoning,
                agent: Some(asked.agent),
                effort,
            }),
            Err(PlanningError::Asks {
                questions, unusable, ..
            }) => {
                return Err(asked_back(
                    &questions,
                    &unusable,
                    &unnamed,
                    &answered_goal(&goal),
                    output,
                ));
            }
            Err(error) => match outlined(args, &last, dialect, &wish, output) {
                Outlined::Made(imported) => Some(Made {
                    text: imported.text,
                    notes: other_notes(&imported.notes),
                    reasoning: String::new(),
                    agent: Some(asked.agent),
                    effort: effort_of(&error),
                }),
                Outlined::Declined => None,
                Outlined::Unconfirmed => return Err(unconfirmed(error, &last, dialect, &goal, &unnamed)),
                Outlined::Not => {
                    let has_tasks = has_tasks(&last);
                    let taken = |answer: &str| {
                        let goal = argument(&goal);
                        let command = format!("planwright import {answer} --dialect {} --goal {goal}", dialect.name());
                        has_tasks.then_some(command)
                    };
                    return Err(failure(error, &unnamed, taken, output));
                }
            },
        };
        let Some(made) = made else {
            output.remark("nothing was written");
            return Ok(Exit::Problems);
        };
        made
    };
    let inspection = inspect_file(&SourceText::new(made.text.as_str()), None, Some(dialect)).inspection;
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let id = plan.and_then(|plan| plan.head_str(Field::Id)).map(str::to_owned);
    let place = place_of(args, dialect, id.as_deref(), date, &goal);
    create_plan(&place, &made.text, dialect, output)?;
    note(&place, plan.and_then(plan_id), &goal, &made, output);
    show(&place, &made, inspection.plan.as_ref(), args, output);
    let is_valid = edited(args, &place, dialect, output)?;
    if !args.json {
        say_next(&place, dialect, is_valid, args, output);
    }
    if args.json {
        output.json(&Report {
            schema_version: "planwright.plan/v1",
            dialect: dialect.name(),
            plan: place.display().to_string(),
            id,
            n_tasks: plan.map_or(0, |plan| plan.tasks().len()),
            agent: made.agent.as_deref(),
            effort: EffortReport::new(made.effort),
            reasoning: &made.reasoning,
            valid: is_valid == Some(true),
        })?;
    }
    match is_valid {
        Some(true) if args.run => super::run_plan(&place, output),
        Some(true) => Ok(Exit::Success),
        _ => Ok(Exit::Problems),
    }
}

/// A planner whose last answer is kept.
struct LastAnswer<'a> {
    oracle: &'a mut dyn Oracle,
    text: &'a mut String,
}

impl Oracle for LastAnswer<'_> {
    fn ask(&mut self, prompt: &str) -> Result<Answer, AgentQueryError> {
        let answer = self.oracle.ask(prompt)?;
        // What was cut is no answer to be read with guesses.
        *self.text = if answer.is_cut {
            String::new()
        } else {
            answer.text.clone()
        };
        Ok(answer)
    }

    fn get_over(&mut self, error: AgentQueryError) -> Result<(), AgentQueryError> {
        self.oracle.get_over(error)
    }

    fn sent_back(&mut self, findings: &[Diagnostic]) {
        self.oracle.sent_back(findings);
    }

    fn may_repair(&self) -> bool {
        self.oracle.may_repair()
    }
}

/// What an answer that is no plan of the dialect is read as.
enum Outlined {
    Made(Imported),
    /// The user does not want it.
    Declined,
    /// It can be read, and there is no terminal to confirm it on.
    Unconfirmed,
    /// It cannot be read.
    Not,
}

/// Reads an answer that is no plan of the dialect, shows it with every guess, and asks.
fn outlined(
    args: &Args,
    answer: &str,
    dialect: &'static dyn Dialect,
    wish: &Wish<'_>,
    output: &mut Output,
) -> Outlined {
    let source = SourceText::new(answer);
    let Ok(outline) = outline::read(&source, false) else {
        return Outlined::Not;
    };
    let outline = outline.without_states();
    let imported = with_id_source_for(dialect, args.out.as_deref(), |id_source| {
        convert::outlined_plan(&outline, dialect, wish, id_source)
    });
    let Ok(imported) = imported else {
        return Outlined::Not;
    };
    if !args.json {
        show_outline(&outline, &source, &task_names(&imported.text, dialect), output);
    }
    if !args.yes && (args.json || !answers::may_ask()) {
        return Outlined::Unconfirmed;
    }
    match args.yes || confirmed(&outline, Path::new(""), "", output).unwrap_or(false) {
        true => Outlined::Made(imported),
        false => Outlined::Declined,
    }
}

/// Returns whether there is anything in an answer that a correction could make a plan of.
fn has_tasks(answer: &str) -> bool {
    match outline::read(&SourceText::new(answer), false) {
        Ok(_) => true,
        Err(found) => found.iter().any(|found| found.rule.id != outline::rules::NO_TASKS.id),
    }
}

/// Returns the command that gives an answer in the goal.
fn answered_goal(goal: &str) -> String {
    const MAX_SHOWN: usize = 60;
    let is_short = goal.len() <= MAX_SHOWN && !goal.contains('\n');
    let goal = if is_short {
        goal.trim().trim_end_matches('.')
    } else {
        "GOAL"
    };
    format!(
        "answer it in the goal: planwright plan {}; or put the answer into a file: --context FILE",
        argument(&format!("{goal}. ANSWER"))
    )
}

/// Keeps an answer that was read with guesses, and returns the command that takes it.
fn unconfirmed(error: PlanningError, answer: &str, dialect: &dyn Dialect, goal: &str, place: &Path) -> anyhow::Error {
    let effort = effort_of(&error);
    let findings = match error {
        PlanningError::Unusable { unusable, .. } | PlanningError::Asks { unusable, .. } => unusable.findings,
        PlanningError::AgentQuery(_) => Vec::new(),
    };
    let unusable = Unusable {
        text: answer.to_owned(),
        findings,
        reasoning: String::new(),
    };
    let kept = match save(&unusable, place) {
        Ok([text, _]) => argument(&text.to_string_lossy()),
        Err(error) => return Failure::environment(&error, "check that you may write to `.planwright`"),
    };
    Failure::problem(
        format!(
            "{} gave no plan of the dialect; the answer was read as above, and there is no terminal to confirm it on",
            effort_words(effort)
        ),
        format!(
            "planwright import {kept} --dialect {} --goal {} --yes",
            dialect.name(),
            argument(goal)
        ),
    )
}

fn effort_of(error: &PlanningError) -> Effort {
    match error {
        PlanningError::Unusable { effort, .. } | PlanningError::Asks { effort, .. } => *effort,
        PlanningError::AgentQuery(_) => Effort::default(),
    }
}

fn place_of(args: &Args, dialect: &dyn Dialect, id: Option<&str>, date: &str, goal: &str) -> PathBuf {
    match &args.out {
        Some(out) => out.clone(),
        None => new_path(dialect, id, date, goal),
    }
}

/// Writes down how the plan came to be.
fn note(place: &Path, id: Option<&str>, goal: &str, made: &Made, output: &mut Output) {
    let words = match made.reasoning.is_empty() {
        true => format!("goal: {goal}"),
        false => format!("goal: {goal}\n\n{}", made.reasoning),
    };
    let change = Change {
        verb: "plan".to_owned(),
        by: made.agent.clone(),
        note: Some(words),
        ..Change::default()
    };
    let noted = Store::default().record_note(PlanFile { path: place, id }, change);
    if let Err(error) = noted {
        output.remark(&format!(
            "warning: how the plan came to be could not be written down: {error}"
        ));
    }
}

fn show(place: &Path, made: &Made, linked: Option<&LinkedPlan>, args: &Args, output: &mut Output) {
    if args.json {
        return;
    }
    let source = SourceText::new(made.text.as_str());
    let path = place.display().to_string();
    let text = findings(
        &path,
        &source,
        &made.notes,
        Teller::RunState,
        output.paint_beside(),
        output.width(),
    );
    if !output.is_quiet() {
        output.note(&text);
    }
    if !made.reasoning.is_empty() {
        output.remark(&printable(&made.reasoning));
    }
    if made.agent.is_some() {
        output.remark(&format!("planned with {}", effort_words(made.effort)));
    }
    if let Some(linked) = linked.filter(|_| !output.is_quiet()) {
        show_tasks(linked, output);
    }
    output.line(&one_line(&path));
}

/// Prints the command that comes next, by what became of the draft in the editor.
fn say_next(place: &Path, dialect: &'static dyn Dialect, is_valid: Option<bool>, args: &Args, output: &mut Output) {
    let path = argument(&place.to_string_lossy());
    let first_step = || {
        let source = store::load(place).ok()?.source;
        let inspection = inspect_file(&source, Some(place), Some(dialect)).inspection;
        inspection.plan.as_ref().map(|linked| first_step(linked, place))
    };
    match is_valid {
        Some(true) if args.run => {}
        Some(true) => output.command(&format!(
            "next: {}",
            first_step().unwrap_or_else(|| format!("planwright run {path}"))
        )),
        Some(false) => output.command(&format!("next: planwright edit {path}")),
        // An abandoned draft has another name.
        None if place.exists() => {
            output.command(&format!("to use the draft: planwright run {path}"));
            output.command(&format!("to edit it again: planwright edit {path}"));
            output.command(&format!("to remove it: planwright delete {path}"));
        }
        None => {}
    }
}

/// Opens the draft in the user's editor until it has no errors. Returns whether it has none; none where it was abandoned.
fn edited(
    args: &Args,
    place: &Path,
    dialect: &'static dyn Dialect,
    output: &mut Output,
) -> anyhow::Result<Option<bool>> {
    let is_terminal = stdout().is_terminal() && answers::may_ask();
    let Some(editor) = editor().filter(|_| is_terminal && !args.no_edit && !args.json) else {
        return Ok(Some(true));
    };
    loop {
        output.flush();
        let status = open_in(&editor, place)?;
        if !status.success() {
            // The user's way to say no, as vim's `:cq`.
            output.remark(&format!(
                "the editor ended with {status}: nothing is done with the draft, which stays as {}",
                one_line(&place.display().to_string())
            ));
            return Ok(None);
        }
        let source = match store::load(place) {
            Ok(loaded) => loaded.source,
            Err(_) => {
                output.remark("the draft is gone: it is abandoned");
                return Ok(None);
            }
        };
        let inspection = inspect_file(&source, Some(place), Some(dialect)).inspection;
        let is_valid = inspection.plan.is_some() && inspection.count(Severity::Error) == 0;
        if is_valid {
            return Ok(Some(true));
        }
        let path = place.display().to_string();
        let drawn = findings(
            &path,
            &source,
            &inspection.diagnostics,
            Teller::Other,
            output.paint_beside(),
            output.width(),
        );
        output.note(&drawn);
        output.note("the plan has errors. Edit it again, keep it as it is, or abandon it? [edit/keep/abandon] ");
        match answers::line().as_deref() {
            Some("k" | "keep") | None => return Ok(Some(false)),
            Some("a" | "abandon") => {
                let kept = place.with_extension("abandoned.txt");
                match std::fs::rename(place, &kept) {
                    Ok(()) => {
                        let kept = kept.to_string_lossy();
                        output.remark(&format!("abandoned; the text is kept as {}", one_line(&kept)));
                        output.command(&format!(
                            "to use it after a correction: planwright import {}",
                            argument(&kept)
                        ));
                    }
                    Err(error) => output.remark(&format!("warning: {path} could not be put aside: {error}")),
                }
                return Ok(None);
            }
            Some(_) => {}
        }
    }
}
