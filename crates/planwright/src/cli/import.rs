//! `planwright import`: creates a plan from an import form or a model's answer.

use std::path::{Path, PathBuf};

use planwright_core::convert::{self, Imported, Options, Wish};
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::{DIALECTS, Dialect};
use planwright_core::document;
use planwright_core::outline::rules::{GUESS, IN_DESCRIPTION, TWO_PLANS};
use planwright_core::outline::{self, Outline};
use planwright_core::plan::Field;
use planwright_core::text::{SourceText, Span};
use planwright_run::inspect_file::inspect_file;
use planwright_run::layout::root_of;
use planwright_run::shell::argument;

use super::create::{
    self, Show, Written, create_plan, evidence, is_stdin, loaded, new_path, require_new, session_file, sniffed,
    with_id_source_for,
};
use super::default_dialect::dialect_or_default;
use super::exit::{Exit, Failure, fix_first};
use super::next_step::first_step;
use super::outline::{confirmed, other_notes, refusal, rows, show, task_names};
use super::output::Output;
use super::plan_arg::{dialect_named, dialect_names};
use super::planner::configured;
use super::typed_command::with_option;
use crate::render::terminal::one_line;

/// Import a plan from a model's answer or another tool's file.
///
/// A plan of a dialect is imported as that dialect's tool does it: for OpenCrabs ids, order, times and states are made anew; for clido
/// `meta` is made, and states stay. Anything else is read as an answer: JSON, YAML, Mermaid, tables and lists, in any prose. It is shown
/// as a table with every guess, and confirmed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright import answer.md                  shows what is read, and asks
  planwright import answer.md --yes --goal \"Log in with JWT\"
  planwright import plan.json                  writes it where its tool looks
  planwright import plan.json --session 6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0000
  planwright import - --dialect clido --out .clido/plans/p.json < answer.md")]
pub(crate) struct Args {
    /// The file to import, or - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Write to this file, which must be new. Default: where the tool of the dialect keeps plans; for OpenCrabs beside the input, with `.plan` before its extension; of - standard output.
    #[arg(long, short, value_name = "PATH", conflicts_with = "session")]
    out: Option<PathBuf>,

    /// The OpenCrabs session that the plan is for: it is written as that session's own file.
    #[arg(long, value_name = "UUID")]
    session: Option<String>,

    /// Read the file in this dialect, whatever it looks like; an answer becomes a plan of it. Default for answers: the dialect of the plans here, or clido.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// What the plan is for, where the answer does not say it.
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,

    /// Import an answer without a question.
    #[arg(long, short)]
    yes: bool,

    /// Import the complete tasks of an answer that is cut off.
    #[arg(long)]
    partial: bool,

    /// Write nothing; print the text that would be written.
    #[arg(long)]
    dry_run: bool,

    /// Show what would be written as a diff, and write nothing.
    #[arg(long)]
    diff: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// OpenCrabs reads no larger files on import.
const MAX_IMPORT: usize = 10 * 1024 * 1024;

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    if !is_stdin(&args.file) && args.file.is_symlink() {
        return Err(Failure::problem(
            format!(
                "`{}` is a symbolic link, and those are not imported",
                args.file.display()
            ),
            "name the file that it leads to",
        ));
    }
    let source = loaded(&args.file)?;
    if source.len() > MAX_IMPORT {
        return Err(Failure::problem(
            format!(
                "the file has {} bytes, and up to {MAX_IMPORT} are imported",
                source.len()
            ),
            "split the plan",
        ));
    }
    let on_disk = (!is_stdin(&args.file)).then_some(args.file.as_path());
    let Exact {
        dialect,
        imported,
        date,
        ..
    } = match exact(args, &source, on_disk) {
        Ok(exact) => match other_plan(&source, exact.part, args.partial) {
            None => exact,
            Some(Ok(outline)) => return import_outline(args, &source, &outline, output),
            Some(Err(found)) => return Err(refusal(&args.file, &source, found, on_disk.is_none(), output)),
        },
        Err(not_exact) if not_exact.has_conflict => return Err(not_exact.failure),
        Err(not_exact) => {
            return match outline::read(&source, args.partial) {
                Ok(outline) if not_exact.is_complete && has_other_fields(&outline) => Err(not_exact.failure),
                Ok(outline) => import_outline(args, &source, &outline, output),
                Err(found) if not_exact.n_errors.is_some_and(|n_errors| n_errors <= found.len()) => {
                    Err(not_exact.failure)
                }
                Err(found) => Err(refusal(&args.file, &source, found, on_disk.is_none(), output)),
            };
        }
    };
    if args.goal.is_some() {
        output.remark("note: --goal is not used: the file is a plan, and keeps its own goal");
    }
    let out = match (&args.out, &args.session) {
        (Some(out), _) => Some(out.clone()),
        (None, Some(session)) => Some(session_file(dialect, session)?),
        (None, None) => on_disk.map(|path| default_path(path, dialect, &imported.text, &date)),
    };
    let is_written = out.is_some() && !args.dry_run && !args.diff;
    if let Some(out) = out.as_deref() {
        match is_written {
            true => create_plan(out, &imported.text, dialect, output)?,
            false => require_new(out)?,
        }
    }
    let written = Written {
        verb: "import",
        dialect,
        out: out.as_deref(),
        is_written,
        text: &imported.text,
        notes: &imported.notes,
        backup: None,
        tasks: None,
    };
    let shown = if args.diff { Show::Diff("") } else { Show::Text };
    let exit = written.report(&args.file, &source, args.json, shown, output)?;
    let is_apart = args.out.is_none() && args.session.is_none() && has_sessions(dialect);
    if let Some(out) = out.as_deref().filter(|_| is_written && is_apart) {
        let path = argument(&out.to_string_lossy());
        output.remark(&format!(
            "note: the plan is not in a folder where plans are found: name its path, as in `planwright show {path}` and `planwright run {path}`; \
             --session ID stores it where OpenCrabs finds it"
        ));
    }
    next_step(args, out.as_deref(), is_written, &imported.text, dialect, output);
    Ok(exit)
}

/// A text that is a plan of a dialect.
struct Exact {
    dialect: &'static dyn Dialect,
    imported: Imported,
    date: String,
    /// The part of the text that is the plan, where it is not the whole text.
    part: Option<Span>,
}

/// Returns what an answer is read as where the plan of a dialect in it is not the one that is meant, or not the only one.
fn other_plan(source: &SourceText, part: Option<Span>, is_partial: bool) -> Option<Result<Outline, Vec<Diagnostic>>> {
    let part = part?;
    match outline::read(source, is_partial) {
        Ok(outline) if !outline.place.contains(part) && outline.place.start > part.end => Some(Ok(outline)),
        Err(found) if found.iter().any(|found| found.rule.id == TWO_PLANS.id) => Some(Err(found)),
        _ => None,
    }
}

/// Why a text is no plan of a dialect that can be imported.
struct NotExact {
    failure: anyhow::Error,
    /// How many errors it has as one, where it has tasks. The reading with fewer errors is the one that is meant.
    n_errors: Option<usize>,
    /// Whether it has all fields of the dialect, so that its errors are in their values.
    is_complete: bool,
    /// Whether git left marks of a conflict in it, of which one side is to be chosen by hand.
    has_conflict: bool,
}

fn has_marks(source: &SourceText) -> bool {
    let begins = |mark: &str| source.as_str().lines().any(|line| line.starts_with(mark));
    begins("<<<<<<< ") && begins(">>>>>>> ")
}

/// Returns whether an outline has fields of the text in descriptions, which a plan of the dialect keeps as fields.
fn has_other_fields(outline: &Outline) -> bool {
    outline.guesses.iter().any(|guess| guess.rule.id == IN_DESCRIPTION.id)
}

/// Imports a text as a plan of the dialect that it is written in.
fn exact(args: &Args, source: &SourceText, on_disk: Option<&Path>) -> Result<Exact, NotExact> {
    let not_recognised = |failure| NotExact {
        failure,
        n_errors: None,
        is_complete: false,
        has_conflict: has_marks(source),
    };
    let dialect = match args.dialect.as_deref() {
        Some(name) => dialect_named(name),
        None => {
            let help = "say so with --dialect; `planwright schema` lists them";
            sniffed(&args.file, source, on_disk, help)
        }
    };
    let dialect = dialect.map_err(not_recognised)?;
    let options = Options {
        session: args.session.clone(),
        ..Options::default()
    };
    let (date, imported) = with_id_source_for(dialect, args.out.as_deref(), |id_source| {
        (
            id_source.date().to_owned(),
            convert::import(source, dialect, &options, id_source),
        )
    });
    match imported {
        Ok(imported) => {
            let carrier = inspect_file(source, None, Some(dialect)).inspection.carrier;
            let part = carrier.map(|(_, part)| part).filter(|part| *part != source.span());
            Ok(Exact {
                dialect,
                imported,
                date,
                part,
            })
        }
        Err(found) => {
            let n_errors = found.iter().filter(|found| found.severity == Severity::Error).count();
            let message = match n_errors {
                1 => "the plan is not imported: one of its problems stands in the way".to_owned(),
                n => format!("the plan is not imported: {n} of its problems stand in the way"),
            };
            let inspection = inspect_file(source, None, Some(dialect)).inspection;
            let has_tasks = inspection.plan.is_some_and(|linked| !linked.plan.tasks().is_empty());
            let is_syntax = |found: &Diagnostic| document::rules::ALL.iter().any(|rule| rule.id == found.rule.id);
            let is_complete = !found.iter().any(|found| found.missing.is_some() || is_syntax(found));
            let help = fix_first(&args.file, &found);
            Err(NotExact {
                failure: Failure::shown(message, help, evidence(&args.file, source, found)),
                n_errors: has_tasks.then_some(n_errors),
                is_complete: has_tasks && is_complete,
                has_conflict: has_marks(source),
            })
        }
    }
}

/// Imports a plan that was read out of an answer, once it is confirmed.
fn import_outline(args: &Args, source: &SourceText, outline: &Outline, output: &mut Output) -> anyhow::Result<Exit> {
    let dialect = target(args, output)?;
    let on_disk = (!is_stdin(&args.file)).then_some(args.file.as_path());
    let goal = match (&args.goal, &outline.goal) {
        (Some(goal), _) | (None, Some(goal)) => goal.clone(),
        (None, None) => {
            let name = on_disk
                .and_then(Path::file_stem)
                .map_or_else(Default::default, |stem| stem.to_string_lossy());
            format!("Imported plan {name}").trim_end().to_owned()
        }
    };
    let mut outline = outline.clone();
    if args.goal.is_none() && outline.goal.is_none() {
        let message = format!(
            "no goal is written: the plan is called \"{}\"; --goal TEXT names it",
            one_line(&goal)
        );
        outline.guesses.push(Diagnostic::of_file(&GUESS, message));
    }
    let wish = Wish {
        goal: &goal,
        session: args.session.as_deref(),
        ..Wish::default()
    };
    let (date, imported) = with_id_source_for(dialect, args.out.as_deref(), |id_source| {
        (
            id_source.date().to_owned(),
            convert::outlined_plan(&outline, dialect, &wish, id_source),
        )
    });
    let imported = imported.map_err(|refused| create::refusal(&args.file, source, &refused))?;
    let out = match (&args.out, &args.session) {
        (Some(out), _) => Some(out.clone()),
        (None, Some(session)) => Some(session_file(dialect, session)?),
        (None, None) => on_disk.map(|path| default_path(path, dialect, &imported.text, &date)),
    };
    let is_written = out.is_some() && !args.dry_run && !args.diff;
    if let Some(out) = out.as_deref() {
        require_new(out)?;
    }
    let names = task_names(&imported.text, dialect);
    if !args.json {
        show(&outline, source, &names, output);
    }
    if let Some(out) = out.as_deref().filter(|_| is_written) {
        let command = with_option("--yes");
        if !args.yes && !confirmed(&outline, out, &command, output)? {
            output.remark("nothing was written");
            return Ok(Exit::Problems);
        }
        create_plan(out, &imported.text, dialect, output)?;
    }
    let notes = if args.json {
        imported.notes.clone()
    } else {
        other_notes(&imported.notes)
    };
    let written = Written {
        verb: "import",
        dialect,
        out: out.as_deref(),
        is_written,
        text: &imported.text,
        notes: &notes,
        backup: None,
        tasks: Some(rows(&outline, source, &names)),
    };
    let shown = if args.diff { Show::Diff("") } else { Show::Text };
    let exit = written.report(&args.file, source, args.json, shown, output)?;
    next_step(args, out.as_deref(), is_written, &imported.text, dialect, output);
    Ok(exit)
}

/// Prints the command that comes next; for a plan that is printed, how it becomes a file.
fn next_step(
    args: &Args,
    out: Option<&Path>,
    is_written: bool,
    text: &str,
    dialect: &'static dyn Dialect,
    output: &mut Output,
) {
    if args.json || args.dry_run || args.diff {
        return;
    }
    let Some(out) = out.filter(|_| is_written) else {
        output.remark("the plan is printed to standard output, and no file is written: --out PATH writes one");
        return;
    };
    let inspection = inspect_file(&SourceText::new(text), None, Some(dialect)).inspection;
    if let Some(linked) = &inspection.plan {
        output.command(&format!("next: {}", first_step(linked, out)));
    }
}

/// Returns the dialect of the plan that an answer becomes.
fn target(args: &Args, output: &mut Output) -> anyhow::Result<&'static dyn Dialect> {
    let has_sessions = |dialect: &&&'static dyn Dialect| has_sessions(**dialect);
    if args.dialect.is_none()
        && args.session.is_some()
        && let Some(dialect) = DIALECTS.iter().find(has_sessions)
    {
        return Ok(*dialect);
    }
    let root = root_of(Path::new("."));
    dialect_or_default(args.dialect.as_deref(), &configured(&root, output)?.config, &root)
}

/// Returns where the plan of an imported file goes: where its tool keeps plans. OpenCrabs keeps them by sessions: without one the
/// plan goes beside the file, and `plan.json` becomes `plan.plan.json`.
fn default_path(path: &Path, dialect: &'static dyn Dialect, text: &str, date: &str) -> PathBuf {
    if has_sessions(dialect) {
        let stem = path
            .file_stem()
            .map_or_else(Default::default, |stem| stem.to_string_lossy());
        return path.with_file_name(format!("{stem}.plan.json"));
    }
    let inspection = inspect_file(&SourceText::new(text), None, Some(dialect)).inspection;
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let id = plan.and_then(|plan| plan.head_str(Field::Id));
    new_path(dialect, id, date, plan.map_or("", |plan| plan.title()))
}

/// Returns whether the own tool of a dialect keeps a plan for each session.
fn has_sessions(dialect: &dyn Dialect) -> bool {
    dialect.home().is_some_and(|home| home.session_place("").is_some())
}
