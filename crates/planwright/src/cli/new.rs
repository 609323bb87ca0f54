//! `planwright new`: creates a valid plan with a placeholder task.

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::convert::new_plan;
use planwright_core::dialect;
use planwright_core::plan::Field;
use planwright_core::text::SourceText;
use planwright_run::inspect_file::inspect_file;
use planwright_run::layout::root_of;
use planwright_run::shell::argument;

use super::create::{Show, Written, create_plan, new_path, require_new, with_id_source_for};
use super::default_dialect::{derived_by, dialect_or_default};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::dialect_names;
use super::planner::configured;

/// Create a plan, to be filled with `planwright add`.
///
/// It is written where the dialect's own tool keeps plans, unless told otherwise.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright new \"Limit how often a client may call\"
  planwright new \"Log in with JWT\" --dialect rawko --out plan.yaml")]
pub(crate) struct Args {
    /// What the plan is about; the dialect may stand before it.
    #[arg(value_name = "TITLE", required = true, num_args = 1..=2, value_parser = NonEmpty::new())]
    title: Vec<String>,

    /// The dialect of the plan. Default: `plan.dialect`, else that of the plans that exist, else clido.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// Write to this file, which must be new.
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Write nothing; print the text that would be written.
    #[arg(long)]
    dry_run: bool,

    /// Show what would be written as a diff against nothing, and write nothing.
    #[arg(long)]
    diff: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let (named, title) = named_dialect(args)?;
    let root = root_of(Path::new("."));
    let dialect = dialect_or_default(named, &configured(&root, output)?.config, &root)?;
    let (date, made) = with_id_source_for(dialect, args.out.as_deref(), |id_source| {
        (id_source.date().to_owned(), new_plan(dialect, title, id_source))
    });
    let (text, notes) = made.map_err(|refused| Failure::problem(refused.to_string(), "choose another title"))?;
    let source = SourceText::new(text.as_str());
    let inspection = inspect_file(&source, None, Some(dialect)).inspection;
    let id = inspection
        .plan
        .as_ref()
        .and_then(|linked| linked.plan.head_str(Field::Id).map(str::to_owned));
    let place = match &args.out {
        Some(out) => out.clone(),
        None => new_path(dialect, id.as_deref(), &date, title),
    };
    let is_written = !args.dry_run && !args.diff;
    match is_written {
        true => create_plan(&place, &text, dialect, output)?,
        false => require_new(&place)?,
    }
    let written = Written {
        verb: "new",
        dialect,
        out: Some(&place),
        is_written,
        text: &text,
        notes: &notes,
        backup: None,
        tasks: None,
    };
    let show = if args.diff { Show::Diff("") } else { Show::Text };
    let exit = written.report(&place, &source, args.json, show, output)?;
    if is_written && !args.json && derived_by(dialect).is_none() {
        let needed = dialect.edits().and_then(|edits| edits.needed());
        let needed = needed.map_or_else(String::new, |needed| format!(" {needed}"));
        output.command(&format!(
            "next: planwright add \"TITLE\"{needed} -p {}",
            argument(&place.to_string_lossy())
        ));
    }
    Ok(exit)
}

/// Returns the dialect that is named, with an option or before the title, and the title.
fn named_dialect(args: &Args) -> anyhow::Result<(Option<&str>, &str)> {
    let is_dialect = |word: &str| dialect::find(word).is_some();
    match (args.title.as_slice(), args.dialect.as_deref()) {
        ([title], None) if is_dialect(title) => Err(Failure::usage(
            format!("`{title}` is a dialect, and the title is missing"),
            format!("planwright new \"TITLE\" --dialect {title}"),
        )),
        ([title], named) => Ok((named, title)),
        ([named, title], None) if is_dialect(named) => Ok((Some(named), title)),
        (words, _) => Err(Failure::usage(
            "a plan has one title",
            format!("put it in quotes: planwright new {}", argument(&words.join(" "))),
        )),
    }
}
