//! The versions of a plan, where a new version is a file of its own.

use std::path::{Path, PathBuf};

use planwright_core::plan::{Field, Plan};

/// Returns the file of the version before a plan, where the plan names one: it lies next to it, and is called by its id.
pub fn file_before(path: &Path, plan: &Plan) -> Option<PathBuf> {
    let previous = plan.head_str(Field::PreviousPlan)?;
    let extension = path
        .extension()
        .map_or_else(String::new, |extension| format!(".{}", extension.display()));
    let is_name = !previous.trim().is_empty() && !previous.contains(['/', '\\']);
    is_name.then(|| path.with_file_name(format!("{previous}{extension}")))
}
