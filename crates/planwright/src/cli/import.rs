//! `planwright import`: a stored plan made of an import form.

use std::path::{Path, PathBuf};

use planwright_core::convert::{self, Options};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::Dialect;
use planwright_core::plan::Field;
use planwright_core::text::SourceText;
use planwright_run::examine::examine;
use planwright_run::shell::argument;

use super::exit::{Exit, Failure, fix_first};
use super::making::{
    Show, Written, create_plan, evidence, is_stdin, loaded, new_path, require_new, session_file, sniffed, with_mint_for,
};
use super::output::Output;
use super::plan_arg::{dialect_named, dialect_names};

/// Make a stored plan of an import form, or of a model's answer.
///
/// For OpenCrabs ids, order, times and states are made anew; for clido `meta` is made, and states stay.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright import plan.json                  writes it where its tool keeps plans
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

    /// Read the file in this dialect, whatever it looks like.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

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
    let dialect = match args.dialect.as_deref() {
        Some(name) => dialect_named(name)?,
        None => {
            let help = "say so with --dialect; `planwright schema` lists them";
            sniffed(&args.file, &source, on_disk, help)?
        }
    };
    let options = Options {
        session: args.session.clone(),
        ..Options::default()
    };
    let (date, imported) = with_mint_for(dialect, args.out.as_deref(), |mint| {
        (
            mint.date().to_owned(),
            convert::import(&source, dialect, &options, mint),
        )
    });
    let imported = imported.map_err(|found| {
        let n_errors = found.iter().filter(|found| found.severity == Severity::Error).count();
        Failure::shown(
            match n_errors {
                1 => "the plan is not imported: one of its problems stands in the way".to_owned(),
                n => format!("the plan is not imported: {n} of its problems stand in the way"),
            },
            fix_first(&args.file, &found),
            evidence(&args.file, &source, found),
        )
    })?;
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
    };
    let show = if args.diff { Show::Diff("") } else { Show::Text };
    let exit = written.report(&args.file, &source, args.json, show, output)?;
    let is_apart = args.out.is_none() && args.session.is_none() && dialect.session_place("").is_some();
    if let Some(out) = out.as_deref().filter(|_| is_written && is_apart) {
        let path = argument(&out.to_string_lossy());
        output.remark(&format!(
            "note: the plan is not in a folder where plans are found: name its path, as in `planwright show {path}` and `planwright run {path}`; \
             --session ID stores it where OpenCrabs finds it"
        ));
    }
    Ok(exit)
}

/// Returns where the plan of an imported file goes: where its tool keeps plans. OpenCrabs keeps them by sessions: without one the
/// plan goes beside the file, and `plan.json` becomes `plan.plan.json`.
fn default_path(path: &Path, dialect: &'static dyn Dialect, text: &str, date: &str) -> PathBuf {
    if dialect.session_place("").is_some() {
        let stem = path
            .file_stem()
            .map_or_else(Default::default, |stem| stem.to_string_lossy());
        return path.with_file_name(format!("{stem}.plan.json"));
    }
    let inspection = examine(&SourceText::new(text), None, Some(dialect)).inspection;
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let id = plan.and_then(|plan| plan.head_str(Field::Id));
    new_path(dialect, id, date, plan.map_or("", |plan| plan.title()))
}
