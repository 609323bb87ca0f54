//! Updates the pointer file that names the active plan after a change of a plan.

use std::path::{Path, PathBuf};

use planwright_core::dialect::{Dialect, PlanPointer, PointerUpdate};
use planwright_core::document::patch::PatchRefusal;
use planwright_core::inspect::Inspection;
use planwright_core::plan::Plan;
use planwright_core::text::SourceText;

use crate::clock;
use crate::inspect_file::inspect_file;
use crate::store::{CreateError, LoadError, StoreError, create, load, replace};
use crate::workspace::slashed;

/// Updates the pointer file that names the active plan, if the dialect has one. The plan itself is already written: an error here is
/// reported, and loses nothing.
pub(super) fn point(path: &Path, after: &Inspection, pointing: PointerUpdate, now: &str) -> Option<PointerError> {
    let pointer = after.dialect?.pointer()?;
    let file = pointer_of(path, pointer)?;
    write(&file, pointer, &after.plan.as_ref()?.plan, pointing, now)
}

/// Updates the pointer file for a plan that was written to a new file.
pub fn point_at_new(path: &Path, dialect: &'static dyn Dialect) -> Option<PointerError> {
    let pointer = dialect.pointer()?;
    let file = pointer_of(path, pointer)?;
    let source = load(path).ok()?.source;
    let inspection = inspect_file(&source, Some(path), Some(dialect)).inspection;
    // A pointer to a missing plan counts as none.
    let pointing = match names_missing_plan(&file, pointer) {
        true => PointerUpdate::Begins,
        false => PointerUpdate::Made,
    };
    write(&file, pointer, &inspection.plan?.plan, pointing, &clock::now())
}

/// Returns whether the file names a plan that no longer exists.
fn names_missing_plan(file: &Path, pointer: &dyn PlanPointer) -> bool {
    let Ok(loaded) = load(file) else {
        return false;
    };
    let target = pointer.target(&loaded.source);
    target.is_some_and(|target| !file.with_file_name(target).exists())
}

fn pointer_of(path: &Path, pointer: &dyn PlanPointer) -> Option<PathBuf> {
    let absolute = std::fs::canonicalize(path).ok()?;
    let relative = pointer.file(&slashed(&absolute))?;
    Some(shown_path(absolute.parent()?, relative))
}

fn write(
    file: &Path,
    pointer: &dyn PlanPointer,
    plan: &Plan,
    pointing: PointerUpdate,
    now: &str,
) -> Option<PointerError> {
    let old = match load(file) {
        Ok(loaded) => Some(loaded.source),
        Err(LoadError::Missing { .. }) => None,
        Err(error) => return Some(PointerError::Load(error)),
    };
    let new = match pointer.update(old.as_ref(), plan, pointing, now) {
        Ok(new) => new?,
        Err(unpointed) => {
            let index = old.as_ref().map(SourceText::line_index);
            let place = unpointed.span.zip(index);
            return Some(PointerError::Unpatchable {
                path: file.to_owned(),
                place: place.map_or_else(String::new, |(span, index)| {
                    let position = index.position(span.start);
                    format!(":{}:{}", position.line, position.column)
                }),
                refusal: unpointed.refusal,
            });
        }
    };
    match old {
        Some(old) => replace(file, &old, &new).err().map(PointerError::Replace),
        None => create(file, &new).err().map(PointerError::Create),
    }
}

/// Returns a path relative to a resolved folder; relative to the current folder if it is below it.
fn shown_path(folder: &Path, relative: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for part in relative.split('/') {
        match part {
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    let here = std::env::current_dir().and_then(std::fs::canonicalize);
    let short = here
        .ok()
        .and_then(|here| Some(path.strip_prefix(here).ok()?.to_owned()));
    short.unwrap_or(path)
}

/// Why the pointer file was not updated.
#[derive(Debug, thiserror::Error)]
pub enum PointerError {
    /// It cannot be read.
    #[error(transparent)]
    Load(LoadError),
    /// Its content is invalid.
    #[error("`{}{place}` cannot be kept in step: {refusal}", .path.display())]
    Unpatchable {
        path: PathBuf,
        /// The line and the column, each after a colon; empty for the whole text.
        place: String,
        refusal: PatchRefusal,
    },
    /// It cannot be replaced.
    #[error(transparent)]
    Replace(StoreError),
    /// It cannot be created.
    #[error(transparent)]
    Create(CreateError),
}
