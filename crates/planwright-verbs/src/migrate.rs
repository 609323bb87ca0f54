//! The verb `migrate`: converts a file of an older form to the newest one, in place.

use std::path::{Path, PathBuf};

use planwright_core::convert::{self, Migrated, MigrationOrder};
use planwright_core::dialect;
use planwright_core::dialect::id_source::IdSource;
use planwright_core::text::SourceText;
use planwright_run::clock;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{ChangeRecord, History, plan_id};
use planwright_run::store::{self, PlanFile, PreparedChange, Store};
use serde::Deserialize;

use crate::failure::{Failure, Result};
use crate::planning::{CreatedText, NamedText, WrittenReport, fresh_number, is_input};
use crate::plans::{no_file, states_of};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigrateRequest {
    pub file: PathBuf,
    /// How many stories may run in parallel.
    pub max_concurrency: Option<u32>,
    /// Keeps no copy of the original.
    #[serde(default)]
    pub no_backup: bool,
    /// Writes nothing. The diff is reported in either case.
    #[serde(default)]
    pub dry_run: bool,
}

pub fn migrate(workspace: &Workspace, request: &MigrateRequest) -> Result<WrittenReport> {
    if is_input(&request.file) {
        return Err(no_file("name its file"));
    }
    let origin = NamedText::load(workspace, &request.file)?;
    let path = origin.path.clone();
    let migrated = migrated(&origin, request)?;
    let backup = (!request.no_backup).then(|| backup_name(&path, &origin.source));
    if !request.dry_run {
        if let Some(backup) = backup.as_ref().filter(|backup| !backup.exists()) {
            store::create_like(backup, origin.source.as_str(), &path)?;
        }
        write(&origin, &migrated)?;
    }
    let source = origin.source.clone();
    let written = CreatedText {
        verb: "migrate",
        dialect: migrated.inspection.dialect.unwrap_or(dialect::DIALECTS[0]),
        out: Some(&path),
        is_written: !request.dry_run,
        text: &migrated.text,
        notes: migrated.notes,
        old: Some(source.as_str()),
    };
    Ok(WrittenReport {
        backup: backup.map(|backup| backup.to_string_lossy().into_owned()),
        ..written.report(origin)
    })
}

fn migrated(origin: &NamedText, request: &MigrateRequest) -> Result<Migrated> {
    let mut inspection = inspect_file(&origin.source, Some(&origin.path), None).inspection;
    states_of(&mut inspection, &origin.path)?;
    let writers = dialect::DIALECTS.iter().filter_map(|dialect| dialect.writer());
    let forms: Vec<&str> = writers.filter_map(|writer| writer.migrates()).collect();
    let forms = forms.join(", ");
    let dialect = origin.dialect(&format!(
        "only {forms} can be migrated; `planwright check` shows the errors of this file"
    ))?;
    let order = MigrationOrder {
        max_concurrency: request.max_concurrency,
    };
    let mut fresh = fresh_number;
    let id_source = IdSource::new(clock::now(), &mut fresh);
    convert::migrate(&inspection, dialect, &order, &id_source).map_err(|refused| origin.refusal(&refused))
}

fn write(origin: &NamedText, migrated: &Migrated) -> Result<()> {
    let plan = migrated.inspection.plan.as_ref().map(|linked| &linked.plan);
    let prepare = |newest: &SourceText, _: &History| {
        if newest.as_str() != origin.source.as_str() {
            return Err(Failure::problem(
                "the file was changed while it was migrated",
                "nothing was written; try again",
            ));
        }
        Ok(Some(PreparedChange {
            text: Some(SourceText::new(migrated.text.as_str())),
            change: ChangeRecord {
                verb: "migrate".to_owned(),
                ..ChangeRecord::default()
            },
        }))
    };
    let file = PlanFile {
        path: &origin.path,
        id: plan.and_then(plan_id),
    };
    let updated = Store::default().update(file, "migrate", prepare);
    Ok(updated.map(drop)?)
}

/// Returns the first free name for a copy next to a file: `tasks.json.bak`, `tasks.json.bak2`. An existing copy, as after an interrupted
/// migration, is reused.
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
