//! `planwright new`: an empty valid plan in its place.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::convert::new_plan;
use planwright_core::plan::Field;
use planwright_core::text::SourceText;
use planwright_run::examine::examine;

use super::exit::{Exit, Failure};
use super::making::{Show, Written, create_plan, new_path, require_new, with_mint_for};
use super::output::Output;
use super::plan_arg::{dialect_named, dialect_names};

/// Make an empty plan of a dialect.
///
/// It is written where the dialect's own tool keeps plans, unless told otherwise.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright new clido \"Limit how often a client may call\"
  planwright new rawko \"Log in with JWT\" --out plan.yaml")]
pub(crate) struct Args {
    /// The dialect of the plan.
    #[arg(value_name = "DIALECT", value_parser = dialect_names())]
    dialect: String,

    /// What the plan is about.
    #[arg(value_name = "TITLE", value_parser = NonEmpty::new())]
    title: String,

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
    let dialect = dialect_named(&args.dialect)?;
    let (date, made) = with_mint_for(dialect, args.out.as_deref(), |mint| {
        (mint.date().to_owned(), new_plan(dialect, &args.title, mint))
    });
    let (text, notes) = made.map_err(|refused| Failure::problem(refused.to_string(), "choose another title"))?;
    let source = SourceText::new(text.as_str());
    let inspection = examine(&source, None, Some(dialect)).inspection;
    let id = inspection
        .plan
        .as_ref()
        .and_then(|linked| linked.plan.head_str(Field::Id).map(str::to_owned));
    let place = match &args.out {
        Some(out) => out.clone(),
        None => new_path(dialect, id.as_deref(), &date, &args.title),
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
    written.report(&place, &source, args.json, show, output)
}
