//! `planwright convert`: writes a plan in another dialect, and reports what is lost.

use std::path::{Component, Path, PathBuf};

use planwright_core::convert::{self, Converted, Embed, Loss, Options, Refused, SourcePlan};
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::Dialect;
use planwright_core::document::Parsed;
use planwright_core::document::markdown::Markdown;
use planwright_core::inspect::Inspection;
use planwright_core::plan::Field;
use planwright_run::inspect_file::{inspect_file, open};
use planwright_run::store;
use planwright_run::workspace::root_of;
use serde::Serialize;

use super::create::{
    create_plan, is_stdin, loaded, refusal, require_new, say_written, session_file, show_account, with_id_source_for,
};
use super::default_dialect::dialect_or_default;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::{dialect_named, dialect_names, states_of};
use super::planner::configured;
use crate::render::diff::unified_diff;

/// Convert a plan to another dialect, and report what is lost.
///
/// The account of what is lost, invented or changed goes to standard error.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright convert .clido/plans/p.json --to aimi > tasks.json
  planwright convert tasks.json --to rawko --out .rawko/plans/p.yaml --embed")]
pub(crate) struct Args {
    /// The plan file, or - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The dialect to write. Default: `plan.dialect`, else that of the plans that exist, else clido.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    to: Option<String>,

    /// Write to this file, which must be new; without, the text goes to standard output.
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Carry what the target cannot hold in an extension member, so that converting back restores it.
    #[arg(long)]
    embed: bool,

    /// To a task pack: the Markdown plan it is derived from, from the root of the repository.
    #[arg(long, value_name = "PATH")]
    source_plan: Option<String>,

    /// To an OpenCrabs plan: the session it belongs to.
    #[arg(long, value_name = "UUID")]
    session: Option<String>,

    /// Read the file in this dialect, whatever it looks like.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// Write nothing; print the account only.
    #[arg(long)]
    dry_run: bool,

    /// Show what would be written as a diff against nothing, and write nothing.
    #[arg(long)]
    diff: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of what it prints as JSON.
const VERSION: &str = "planwright.convert/v1";

#[derive(Serialize)]
struct Report<'a> {
    schema_version: &'static str,
    from: &'static str,
    to: &'static str,
    /// Where it was written, or would be; null for standard output.
    out: Option<String>,
    /// Whether anything was written.
    written: bool,
    /// The new text, where it was not written.
    text: Option<&'a str>,
    losses: Vec<LossReport<'a>>,
    /// With `--diff`: what would be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Serialize)]
struct LossReport<'a> {
    /// `lost`, `invented` or `changed`.
    kind: &'static str,
    task: Option<String>,
    field: &'a str,
    message: &'a str,
    /// Whether the new plan carries it in its extension member.
    carried: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let root = root_of(Path::new("."));
    let target = dialect_or_default(args.to.as_deref(), &configured(&root, output)?.config, &root)?;
    let forced = args.dialect.as_deref().map(dialect_named).transpose()?;
    let source = loaded(&args.file)?;
    let on_disk = (!is_stdin(&args.file)).then_some(args.file.as_path());
    let (mut inspection, parsed) = open(&source, on_disk, forced).0.into_parts();
    if let Some(path) = on_disk {
        states_of(&mut inspection, path)?;
    }
    let own = inspection.plan.as_ref().map(|linked| linked.plan.dialect);
    if args.to.is_none() && own == Some(target.name()) {
        return Err(Failure::usage(
            format!("`{}` is a {} plan already", args.file.display(), target.name()),
            "name the dialect that it is to have with --to; `planwright schema` lists them",
        ));
    }
    if let Some(session) = &args.session {
        session_file(target, session)?;
    }
    let converted =
        converted(args, &inspection, parsed, target).map_err(|refused| refusal(&args.file, &source, &refused))?;
    let is_written = args.out.is_some() && !args.dry_run && !args.diff;
    if let Some(out) = args.out.as_deref() {
        match is_written {
            true => create_plan(out, &converted.text, target, output)?,
            false => require_new(out)?,
        }
    }
    let diff = args.diff.then(|| {
        let name = args.out.as_deref().unwrap_or(&args.file).to_string_lossy();
        unified_diff(&name, "", &converted.text)
    });
    if args.json {
        output.json(&Report {
            schema_version: VERSION,
            from: inspection.plan.as_ref().map_or("", |linked| linked.plan.dialect),
            to: target.name(),
            out: args.out.as_ref().map(|out| out.to_string_lossy().into_owned()),
            written: is_written,
            text: (!is_written && !args.dry_run).then_some(converted.text.as_str()),
            losses: converted
                .losses
                .iter()
                .map(|loss| loss_report(loss, &inspection))
                .collect(),
            diff,
        })?;
        return Ok(Exit::Success);
    }
    if let Some(diff) = diff {
        output.write_exact(&diff);
    } else if !is_written && !args.dry_run {
        output.write_exact(&converted.text);
    }
    if !output.is_quiet() {
        let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
        let found = plan.map_or(Vec::new(), |plan| {
            let losses = converted.losses.iter();
            losses.map(|loss| loss.to_diagnostic(plan)).collect()
        });
        show_account(&args.file, &source, &found, output);
    }
    if let Some(out) = &args.out {
        say_written(out, is_written, output);
    }
    Ok(Exit::Success)
}

/// Converts a plan to a text that is sound where it goes. The Markdown plan behind it becomes that of a task pack where
/// there is one and it fits.
fn converted(
    args: &Args,
    inspection: &Inspection,
    mut parsed: Option<Parsed>,
    target: &'static dyn Dialect,
) -> Result<Converted, Refused> {
    let root = root_of(args.out.as_deref().unwrap_or(Path::new(".")));
    let options = |path: Option<&str>| Options {
        embed: if args.embed { Embed::Originals } else { Embed::Nothing },
        source_plan: path.map(|path| source_plan(&root, path)),
        session: args.session.clone(),
    };
    let mut attempt = |options: &Options| {
        let parsed = parsed.take();
        let converted = with_id_source_for(target, args.out.as_deref(), |id_source| {
            convert::convert_parsed(inspection, parsed, target, options, id_source)
        })?;
        sound_in_place(converted, args.out.as_deref(), target)
    };
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let named = plan
        .and_then(|plan| plan.head_str(Field::PlanPath))
        .filter(|path| args.source_plan.is_none() && takes_source_plan(target) && is_below(&root, path));
    match named.map(|named| attempt(&options(Some(named)))) {
        Some(Ok(converted)) => Ok(converted),
        _ => attempt(&options(args.source_plan.as_deref())),
    }
}

/// Returns whether a path that a plan names is that of a file below a folder.
fn is_below(root: &Path, path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_))) && root.join(path).is_file()
}

fn takes_source_plan(target: &dyn Dialect) -> bool {
    let mut fields = target.tables().iter().flat_map(|table| table.fields);
    fields.any(|spec| spec.field == Field::SourcePlan)
}

/// Looks at the new text as `check` will, with what the disk says of the files it names.
fn sound_in_place(
    converted: Converted,
    out: Option<&Path>,
    target: &'static dyn Dialect,
) -> Result<Converted, Refused> {
    // Only what names other files can be unsound for reasons that its own text does not tell.
    if !takes_source_plan(target) {
        return Ok(converted);
    }
    let seen = inspect_file(&converted.inspection.source, out, Some(target)).inspection;
    let errors = seen.diagnostics.into_iter();
    let errors: Vec<Diagnostic> = errors.filter(|found| found.severity == Severity::Error).collect();
    match errors.is_empty() {
        true => Ok(converted),
        false => Err(Refused::Invalid {
            text: converted.text,
            diagnostics: errors,
        }),
    }
}

fn loss_report<'l>(loss: &'l Loss, inspection: &Inspection) -> LossReport<'l> {
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let name = |ix: usize| plan.map(|plan| plan.task_name(ix).into_owned());
    LossReport {
        kind: loss.kind.as_str(),
        task: loss.task.and_then(name),
        field: &loss.field,
        message: &loss.message,
        carried: loss.is_carried,
    }
}

/// Returns a source plan with the `spec_id` that its frontmatter has.
fn source_plan(root: &Path, path: &str) -> SourcePlan {
    let spec_id = store::load(&root.join(path)).ok().and_then(|loaded| {
        let markdown = Markdown::parse(&loaded.source);
        markdown.value("spec_id").map(str::to_owned)
    });
    SourcePlan {
        path: path.to_owned(),
        spec_id: spec_id.filter(|id| !id.is_empty()),
    }
}
