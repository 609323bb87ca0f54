//! Stores the texts that new versions of a plan replaced.

use std::path::{Path, PathBuf};

use planwright_core::text::SourceText;

use super::create::{CreateError, create};
use crate::files::{DiskFiles, Files as _};
use crate::layout::{PlanPlace, STATE_FOLDER, make_state_folder, refuse_links};

fn folder_of(place: &PlanPlace) -> PathBuf {
    place.root.join(STATE_FOLDER).join("versions").join(place.key.hash())
}

/// Stores the text of a plan before a new version of it. `time` is the present as RFC 3339. Returns the file.
pub fn keep_version(plan: &Path, text: &SourceText, time: &str) -> Result<PathBuf, CreateError> {
    let failed = |source| CreateError::Io {
        path: plan.to_owned(),
        source,
    };
    let place = PlanPlace::of(&DiskFiles, plan).map_err(failed)?;
    make_state_folder(&DiskFiles, &place.root).map_err(failed)?;
    refuse_links(&DiskFiles, &place.root, &folder_of(&place)).map_err(failed)?;
    let digits: String = time.chars().filter(char::is_ascii_digit).take(17).collect();
    let extension = plan
        .extension()
        .map_or_else(String::new, |extension| format!(".{}", extension.display()));
    let mut nth = 1;
    loop {
        let number = if nth == 1 { String::new() } else { format!("-{nth}") };
        let path = folder_of(&place).join(format!("{digits}{number}{extension}"));
        match create(&path, text.as_str()) {
            Err(CreateError::Exists { .. }) if nth < 1000 => nth += 1,
            made => return made.map(|()| path),
        }
    }
}

/// Returns the stored versions of a plan, the oldest first.
pub fn versions(plan: &Path) -> Vec<PathBuf> {
    let Ok(place) = PlanPlace::of(&DiskFiles, plan) else {
        return Vec::new();
    };
    let folder = folder_of(&place);
    let mut names = DiskFiles.list_folder(&folder).unwrap_or_default();
    names.sort();
    names.iter().map(|name| folder.join(name)).collect()
}
