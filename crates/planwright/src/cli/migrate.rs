//! `planwright migrate`: updates a file of an older form to the newest one, in place.

use std::path::{Path, PathBuf};

use planwright_core::convert::{self, MigrationOrder};
use planwright_core::dialect;
use planwright_core::dialect::id_source::IdSource;
use planwright_core::text::SourceText;
use planwright_run::clock;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{Change, History, plan_id};
use planwright_run::store::{self, LoadError, PlanFile, Prepared, Store, StoreError, UpdateError};

use super::create::{Show, Written, fresh, is_stdin, loaded, not_created, refusal, sniffed};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::{load_failure, no_file, states_of};

/// Bring an Aimi v2.x file or a prd.json to v3, in place.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright migrate prd.json --diff         look at it first
  planwright migrate .aimi/tasks/2026-01-20-photos-tasks.json --no-backup")]
pub(crate) struct Args {
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

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let is_dry = args.dry_run || args.diff;
    if is_stdin(&args.file) {
        return Err(no_file("name its file"));
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
        let prepare = |newest: &SourceText, _: &History| {
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
    let written = Written {
        verb: "migrate",
        dialect: migrated.inspection.dialect.unwrap_or(dialect::DIALECTS[0]),
        out: Some(&args.file),
        is_written: !is_dry,
        text: &migrated.text,
        notes: &migrated.notes,
        backup: backup.as_deref(),
        tasks: None,
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

fn migrated(path: &Path, source: &SourceText, args: &Args) -> anyhow::Result<convert::Migrated> {
    let mut inspection = inspect_file(source, Some(path), None).inspection;
    states_of(&mut inspection, path)?;
    let help = "Aimi files of v2.x and prd.json are migrated; `planwright check` says what is wrong with this one";
    let dialect = sniffed(path, source, Some(path), help)?;
    let order = MigrationOrder {
        max_concurrency: args.max_concurrency,
    };
    let mut fresh = fresh;
    let id_source = IdSource::new(clock::now(), &mut fresh);
    convert::migrate(&inspection, dialect, &order, &id_source).map_err(|refused| refusal(path, source, &refused))
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
