//! Finds pipes and sockets in place of files: git would wait for them forever.

use std::fs;
use std::path::Path;

/// The files that git reads in every folder that it searches.
const READ_BY_GIT: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// The depth and the number of entries that are searched.
const MAX_DEPTH: usize = 64;
const MAX_ENTRIES: usize = 2_000_000;

/// Removes them below a folder. They have no content.
pub(super) fn remove_special_files(folder: &Path) {
    let mut rest = vec![(folder.to_owned(), 0)];
    let mut n_entries = 0;
    while let Some((folder, depth)) = rest.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            n_entries += 1;
            if n_entries > MAX_ENTRIES {
                return;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            if kind.is_dir() && depth < MAX_DEPTH && name != ".git" {
                rest.push((entry.path(), depth + 1));
            } else if !kind.is_dir()
                && !kind.is_file()
                && !kind.is_symlink()
                && READ_BY_GIT.iter().any(|own| name == *own)
            {
                // What cannot be removed is reported by git.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
