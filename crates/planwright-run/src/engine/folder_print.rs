//! Detects whether an attempt changed files in a folder without git, cheaply.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::layout::{CONFIG_FILE, STATE_FOLDER};
use crate::store::is_temporary;

/// The file limit. Larger folders are not compared.
const MAX_FILES: usize = 20_000;

/// The size and time of every file of a folder, except those of planwright.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FolderPrint {
    files: BTreeMap<PathBuf, (u64, Option<SystemTime>)>,
}

impl FolderPrint {
    /// Scans a folder. `plan` is the plan file, which the run itself writes. None if there are too many files.
    pub(super) fn of(root: &Path, plan: &Path) -> Option<Self> {
        let mut files = BTreeMap::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).ok()?.flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                let is_temporary = name.to_str().is_some_and(is_temporary);
                let is_own = folder == root && (name == STATE_FOLDER || name == CONFIG_FILE);
                if is_own || is_temporary || path == plan {
                    continue;
                }
                // Links count as files: their targets may be anywhere.
                match entry.metadata() {
                    Ok(metadata) if metadata.is_dir() => folders.push(path),
                    Ok(metadata) => drop(files.insert(path, (metadata.len(), metadata.modified().ok()))),
                    Err(_) => {}
                }
                if files.len() + folders.len() > MAX_FILES {
                    return None;
                }
            }
        }
        Some(FolderPrint { files })
    }
}
