//! `planwright convert`, `import` and `migrate`: plans that come from elsewhere; and what they and `new` share.

use std::path::{Component, Path, PathBuf};

use planwright_core::convert::{self, Converted, Embed, Loss, MigrationOrder, Options, Refused, SourcePlan};
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::mint::Mint;
use planwright_core::dialect::{CarrierKind, Dialect};
use planwright_core::document::Parsed;
use planwright_core::document::markdown::Markdown;
use planwright_core::inspect::Inspection;
use planwright_core::plan::Field;
use planwright_core::text::SourceText;
use planwright_run::clock;
use planwright_run::examine::{examine, open};
use planwright_run::journal::{Change, plan_id};
use planwright_run::store::{self, LoadError, PlanFile, Prepared, Store, StoreError, UpdateError};
use planwright_run::workspace::root_of;
use serde::Serialize;

use super::exit::{Drawn, Evidence, Exit, Failure, MEND_FIRST};
use super::output::Output;
use super::plan_arg::{candidates, dialect_named, dialect_names, load_failure};
use crate::render::diff::unified_diff;
use crate::render::human::{Teller, findings};
use crate::render::terminal::{addressed, printable};
use crate::render::wire::DiagnosticReport;

/// Convert a plan to another dialect, and tell what is lost by it.
///
/// The account of what is lost, invented or changed goes to standard error.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright convert .clido/plans/p.json --to aimi > tasks.json
  planwright convert tasks.json --to rawko --out .rawko/plans/p.yaml --embed")]
pub(crate) struct ConvertArgs {
    /// The plan file, or - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The dialect to write.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    to: String,

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

/// Make a stored plan of an import form, or of a model's answer.
///
/// Ids, order, times and states are made anew.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright import plan.json                  writes plan.plan.json beside it
  planwright import plan.json --session 6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0000
  planwright import - --dialect clido --out .clido/plans/p.json < answer.md")]
pub(crate) struct ImportArgs {
    /// The file to import, or - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Write to this file, which must be new. Default: NAME.plan.json beside the input.
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

/// Bring an Aimi v2.x file or a prd.json to v3, in place.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright migrate prd.json --diff         look at it first
  planwright migrate .aimi/tasks/2026-01-20-photos-tasks.json --no-backup")]
pub(crate) struct MigrateArgs {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// How many stories may run side by side.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_concurrency: Option<u32>,

    /// Keep no copy of the original.
    #[arg(long)]
    no_backup: bool,

    /// Write nothing; show what would change, and say which files would be written.
    #[arg(long)]
    dry_run: bool,

    /// Show what would change in the file as a diff, and write nothing.
    #[arg(long)]
    diff: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The versions of what these verbs print as JSON.
const CONVERT_VERSION: &str = "planwright.convert/v1";
const WRITTEN_VERSION: &str = "planwright.written/v1";

#[derive(Serialize)]
struct ConvertReport<'a> {
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

#[derive(Serialize)]
struct WrittenReport<'a> {
    schema_version: &'static str,
    verb: &'static str,
    dialect: &'static str,
    /// The file that was written, or would be; null for standard output.
    out: Option<String>,
    /// Whether anything was written.
    written: bool,
    /// The copy of the original, or where it would be.
    backup: Option<String>,
    text: Option<&'a str>,
    notes: Vec<DiagnosticReport>,
    /// With `--diff`: what would change in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

pub(super) fn fresh() -> u128 {
    uuid::Uuid::new_v4().as_u128()
}

fn loaded(path: &Path) -> anyhow::Result<SourceText> {
    let loaded = if is_stdin(path) {
        store::load_stdin()
    } else {
        store::load(path)
    };
    loaded.map(|loaded| loaded.source).map_err(|error| load_failure(&error))
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn create(path: &Path, text: &str) -> anyhow::Result<()> {
    store::create(path, text).map_err(not_created)
}

fn not_created(error: store::CreateError) -> anyhow::Error {
    match error {
        store::CreateError::Exists { .. } => Failure::problem(error.to_string(), error.help()),
        store::CreateError::Io { .. } | store::CreateError::NotConfirmed { .. } => {
            Failure::environment(&error, error.help())
        }
    }
}

/// Makes a file, or only looks whether it could be made.
pub(super) fn create_or_look(path: &Path, text: &str, is_written: bool) -> anyhow::Result<()> {
    if is_written {
        return create(path, text);
    }
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => {
            let path = path.to_owned();
            let error = store::CreateError::Exists { path };
            Err(Failure::problem(error.to_string(), error.help()))
        }
    }
}

/// Returns what stands in the way of making a plan.
fn evidence(path: &Path, source: &SourceText, findings: Vec<Diagnostic>) -> Evidence {
    Evidence {
        path: path.to_string_lossy().into_owned(),
        source: source.clone(),
        span: None,
        findings,
        drawn: Drawn::Findings,
    }
}

/// Returns a refusal with all that it rests on.
fn refusal(path: &Path, source: &SourceText, refused: &Refused) -> anyhow::Error {
    let details: Vec<Diagnostic> = refused.to_diagnostics().into_iter().skip(1).collect();
    let help = match refused {
        Refused::Unsound(_) => MEND_FIRST,
        Refused::Invalid { .. } => "nothing was written; what the target asks for is not in this plan",
        Refused::SameDialect(_) => "name another dialect with --to",
        Refused::UpToDate(_) => "there is nothing to do",
        Refused::TooManyEdges(_) => "split the plan first",
        Refused::NoPlan | Refused::NotWritable(_) => "`planwright check` says what the file holds",
    };
    match details.is_empty() {
        true => Failure::problem(refused.to_string(), help),
        false => Failure::shown(refused.to_string(), help, evidence(path, source, details)),
    }
}

/// Shows what is to be known of a plan that is made.
fn show_account(path: &Path, source: &SourceText, found: &[Diagnostic], output: &mut Output) {
    let text = findings(
        &path.to_string_lossy(),
        source,
        found,
        Teller::Account,
        output.paint_beside(),
        output.width(),
    );
    if !output.is_quiet() || found.iter().any(|found| found.severity == Severity::Error) {
        output.note(&text);
    }
}

pub(crate) fn convert(args: &ConvertArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let target = dialect_named(&args.to)?;
    let forced = args.dialect.as_deref().map(dialect_named).transpose()?;
    let source = loaded(&args.file)?;
    let on_disk = (!is_stdin(&args.file)).then_some(args.file.as_path());
    let (mut inspection, parsed) = open(&source, on_disk, forced).0.into_parts();
    if let Some(path) = on_disk {
        planwright_run::revise::take_states(&mut inspection, path);
    }
    if let Some(session) = &args.session {
        session_file(target, session)?;
    }
    let converted =
        converted(args, &inspection, parsed, target).map_err(|refused| refusal(&args.file, &source, &refused))?;
    let is_written = args.out.is_some() && !args.dry_run && !args.diff;
    if let Some(out) = args.out.as_deref() {
        create_or_look(out, &converted.text, is_written)?;
    }
    let diff = args.diff.then(|| {
        let name = args.out.as_deref().unwrap_or(&args.file).to_string_lossy();
        unified_diff(&name, "", &converted.text)
    });
    if args.json {
        output.json(&ConvertReport {
            schema_version: CONVERT_VERSION,
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
        output.write(&addressed(&diff, output.audience()));
    } else if !is_written && !args.dry_run {
        output.write(&addressed(&converted.text, output.audience()));
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
    args: &ConvertArgs,
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
    let is_taken = |id: &str| is_taken(id);
    let mut fresh = fresh;
    let mut mint = Mint {
        now: clock::now(),
        fresh: &mut fresh,
        is_taken: &is_taken,
    };
    let mut attempt = |options: &Options| {
        let converted = convert::convert_parsed(inspection, parsed.take(), target, options, &mut mint)?;
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
    let seen = examine(&converted.inspection.source, out, Some(target)).inspection;
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

fn say_written(out: &Path, is_written: bool, output: &mut Output) {
    let out = out.to_string_lossy();
    match is_written {
        true => output.line(&format!("wrote {}", printable(&out))),
        false => output.remark(&format!("would write {}", printable(&out))),
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

/// Returns whether a plan of this workspace is called so.
pub(super) fn is_taken(id: &str) -> bool {
    let stem = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == id);
    candidates(Path::new("."), false).iter().any(stem)
}

/// OpenCrabs reads no larger files on import.
const MAX_IMPORT: usize = 10 * 1024 * 1024;

pub(crate) fn import(args: &ImportArgs, output: &mut Output) -> anyhow::Result<Exit> {
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
    let mut fresh = fresh;
    let mut mint = Mint::new(clock::now(), &mut fresh);
    let imported = convert::import(&source, dialect, &options, &mut mint).map_err(|found| {
        let n_errors = found.iter().filter(|found| found.severity == Severity::Error).count();
        Failure::shown(
            match n_errors {
                1 => "the plan is not imported: one of its problems stands in the way".to_owned(),
                n => format!("the plan is not imported: {n} of its problems stand in the way"),
            },
            MEND_FIRST,
            evidence(&args.file, &source, found),
        )
    })?;
    let out = match (&args.out, &args.session) {
        (Some(out), _) => Some(out.clone()),
        (None, Some(session)) => Some(session_file(dialect, session)?),
        (None, None) => on_disk.map(|path| beside(path, dialect)),
    };
    let is_written = out.is_some() && !args.dry_run && !args.diff;
    if let Some(out) = out.as_deref() {
        create_or_look(out, &imported.text, is_written)?;
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
    written.report(&args.file, &source, args.json, show, output)
}

fn sniffed(shown: &Path, source: &SourceText, path: Option<&Path>, help: &str) -> anyhow::Result<&'static dyn Dialect> {
    let inspection = examine(source, path, None).inspection;
    let dialect = inspection.dialect.and_then(planwright_core::dialect::find);
    dialect.ok_or_else(|| {
        Failure::shown(
            "it cannot be told in which dialect this is written",
            help,
            evidence(shown, source, inspection.diagnostics),
        )
    })
}

/// Returns the name beside a file that its import gets: `plan.json` becomes `plan.plan.json`.
fn beside(path: &Path, dialect: &dyn Dialect) -> PathBuf {
    let stem = path
        .file_stem()
        .map_or_else(Default::default, |stem| stem.to_string_lossy());
    let extension = match dialect.carriers() {
        [CarrierKind::Yaml, ..] => "yaml",
        [CarrierKind::Markdown, ..] => "md",
        _ => "json",
    };
    path.with_file_name(format!("{stem}.plan.{extension}"))
}

/// Returns the file in which a dialect's tool keeps the plan of a session.
fn session_file(dialect: &dyn Dialect, session: &str) -> anyhow::Result<PathBuf> {
    let id = uuid::Uuid::parse_str(session).map_err(|_| {
        Failure::usage(
            format!("`{}` is not a UUID", printable(session)),
            "sessions are named by UUIDs, as in .opencrabs_plan_<uuid>.json",
        )
    })?;
    let home = std::env::home_dir()
        .ok_or_else(|| Failure::problem("there is no home folder to write to", "name a file with --out"))?;
    let place = dialect.session_place(&id.to_string()).ok_or_else(|| {
        Failure::usage(
            format!("{} plans belong to no session", dialect.name()),
            "leave --session out",
        )
    })?;
    Ok(home.join(place))
}

/// A text that was written, or would be.
pub(super) struct Written<'a> {
    pub(super) verb: &'static str,
    pub(super) dialect: &'static dyn Dialect,
    pub(super) out: Option<&'a Path>,
    pub(super) is_written: bool,
    pub(super) text: &'a str,
    pub(super) notes: &'a [Diagnostic],
    pub(super) backup: Option<&'a Path>,
}

/// What is shown of a text that is not written.
#[derive(Clone, Copy)]
pub(super) enum Show<'a> {
    /// All of it.
    Text,
    /// How it differs from this one.
    Diff(&'a str),
}

impl Written<'_> {
    pub(super) fn report(
        &self,
        path: &Path,
        source: &SourceText,
        json: bool,
        show: Show<'_>,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let diff = match show {
            Show::Text => None,
            Show::Diff(old) => Some(unified_diff(
                &self.out.unwrap_or(path).to_string_lossy(),
                old,
                self.text,
            )),
        };
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        if json {
            let index = source.line_index();
            output.json(&WrittenReport {
                schema_version: WRITTEN_VERSION,
                verb: self.verb,
                dialect: self.dialect.name(),
                out: self.out.map(shown),
                written: self.is_written,
                backup: self.backup.map(shown),
                text: (!self.is_written).then_some(self.text),
                notes: self
                    .notes
                    .iter()
                    .map(|found| DiagnosticReport::new(found, &index))
                    .collect(),
                diff: diff.filter(|_| !self.is_written),
            })?;
            return Ok(Exit::Success);
        }
        show_account(path, source, self.notes, output);
        if !self.is_written {
            let text = diff.as_deref().unwrap_or(self.text);
            output.write(&addressed(text, output.audience()));
        }
        if let Some(out) = self.out {
            say_written(out, self.is_written, output);
        }
        if let Some(backup) = self.backup {
            let kept = if self.is_written { "is kept" } else { "would be kept" };
            let backup = backup.to_string_lossy();
            output.remark(&format!("the original {kept} as {}", printable(&backup)));
        }
        Ok(Exit::Success)
    }
}

pub(crate) fn migrate(args: &MigrateArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let is_dry = args.dry_run || args.diff;
    if is_stdin(&args.file) {
        return Err(Failure::usage(
            "a plan on standard input cannot be changed",
            "name its file",
        ));
    }
    let source = loaded(&args.file)?;
    let migrated = migrated(&args.file, &source, args)?;
    let backup = (!args.no_backup).then(|| backup_name(&args.file, &source));
    if !is_dry {
        if let Some(backup) = backup.as_ref().filter(|backup| !backup.exists()) {
            store::create_like(backup, source.as_str(), &args.file).map_err(not_created)?;
        }
        let inspection = &migrated.inspection;
        let id = inspection.plan.as_ref().and_then(|linked| plan_id(&linked.plan));
        let prepare = |newest: &SourceText, _: &planwright_run::journal::History| {
            if newest.as_str() != source.as_str() {
                return Err(Failure::problem(
                    "the file was changed while it was migrated",
                    "nothing was written; try again",
                ));
            }
            Ok(Some(Prepared {
                text: Some(SourceText::new(migrated.text.as_str())),
                change: Change {
                    verb: "migrate".to_owned(),
                    ..Change::default()
                },
            }))
        };
        let file = PlanFile { path: &args.file, id };
        Store::default()
            .update(file, "migrate", prepare)
            .map_err(|error| match error {
                UpdateError::Refused(refused) => refused,
                UpdateError::Store(error) => store_failure(&error),
            })?;
    }
    let dialect = planwright_core::dialect::find(migrated.inspection.dialect.unwrap_or_default());
    let written = Written {
        verb: "migrate",
        dialect: dialect.unwrap_or(planwright_core::dialect::DIALECTS[0]),
        out: Some(&args.file),
        is_written: !is_dry,
        text: &migrated.text,
        notes: &migrated.notes,
        backup: backup.as_deref(),
    };
    // The file is there already: what is new in it says more than all of it.
    written.report(&args.file, &source, args.json, Show::Diff(source.as_str()), output)
}

fn store_failure(error: &StoreError) -> anyhow::Error {
    match error {
        StoreError::Load(error @ LoadError::TooLarge { .. }) => load_failure(error),
        error => Failure::environment(error, error.help()),
    }
}

fn migrated(path: &Path, source: &SourceText, args: &MigrateArgs) -> anyhow::Result<convert::Migrated> {
    let mut inspection = examine(source, Some(path), None).inspection;
    planwright_run::revise::take_states(&mut inspection, path);
    let help = "Aimi files of v2.x and prd.json are migrated; `planwright check` says what is wrong with this one";
    let dialect = sniffed(path, source, Some(path), help)?;
    let order = MigrationOrder {
        max_concurrency: args.max_concurrency,
    };
    let mut fresh = fresh;
    let mint = Mint::new(clock::now(), &mut fresh);
    convert::migrate(&inspection, dialect, &order, &mint).map_err(|refused| refusal(path, source, &refused))
}

/// Returns the first free name for a copy beside a file: `tasks.json.bak`, `tasks.json.bak2`. A copy that is there already, as after
/// a migration that was interrupted, is as good as a new one.
fn backup_name(path: &Path, source: &SourceText) -> PathBuf {
    let is_copy = |path: &Path| store::load(path).is_ok_and(|loaded| loaded.source.as_str() == source.as_str());
    let name = path
        .file_name()
        .map_or_else(Default::default, |name| name.to_string_lossy());
    let numbered = |n: u32| match n {
        1 => path.with_file_name(format!("{name}.bak")),
        n => path.with_file_name(format!("{name}.bak{n}")),
    };
    (1..1000)
        .map(numbered)
        .find(|path| !path.exists() || is_copy(path))
        .unwrap_or_else(|| numbered(1))
}
