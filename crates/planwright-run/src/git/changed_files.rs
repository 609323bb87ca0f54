//! The files that differ between two commits, and the user's own files that a move from one to the other would overwrite.

use std::collections::BTreeSet;
use std::path::Path;

use super::GitError;
use super::answers::{parts, path_of, require_id, text_of};
use super::repository::Repository;

/// A file that differs between the two ends of a move.
pub(super) struct ChangedFile {
    pub(super) path: Vec<u8>,
    pub(super) change: FileChange,
    pub(super) old_mode: String,
    pub(super) old_id: String,
    pub(super) new_mode: String,
    pub(super) new_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    Added,
    Removed,
    /// It exists at both ends, possibly with another type: a link for a file.
    Other,
}

impl ChangedFile {
    /// Parses the `git diff-tree --raw` output for a file.
    fn of(kinds: &[u8], path: &[u8]) -> Option<Self> {
        let kinds = text_of(kinds);
        let mut words = kinds.strip_prefix(':')?.split(' ').map(str::to_owned);
        let (old_mode, new_mode) = (words.next()?, words.next()?);
        let (old_id, new_id) = (words.next()?, words.next()?);
        let change = match words.next()?.as_str() {
            "A" => FileChange::Added,
            "D" => FileChange::Removed,
            _ => FileChange::Other,
        };
        Some(ChangedFile {
            path: path.to_vec(),
            change,
            old_mode,
            old_id,
            new_mode,
            new_id,
        })
    }
}

impl Repository {
    /// Returns the untracked and ignored files that a move of the checkout would overwrite or remove.
    pub fn files_in_the_way(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        require_id(from)?;
        require_id(to)?;
        let changed = self.changed_between(from, to)?;
        Ok(in_the_way(self.toplevel(), &changed, self.ignores_case()?))
    }

    /// Returns the files that differ between two commits.
    pub(super) fn changed_between(&self, from: &str, to: &str) -> Result<Vec<ChangedFile>, GitError> {
        let words = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            from,
            to,
        ];
        let output = self.place.git(&words).output()?;
        let mut fields = parts(&output);
        let mut changed = Vec::new();
        while let (Some(kinds), Some(path)) = (fields.next(), fields.next()) {
            changed.extend(ChangedFile::of(kinds, path));
        }
        Ok(changed)
    }

    fn ignores_case(&self) -> Result<bool, GitError> {
        let call = self.place.git(&["config", "--type=bool", "--get", "core.ignoreCase"]);
        Ok(call.line()?.as_deref() == Some("true"))
    }
}

/// Returns the untracked and ignored files in a clean checkout that a move would overwrite or remove, from its top.
fn in_the_way(top: &Path, changed: &[ChangedFile], ignores_case: bool) -> Vec<String> {
    let of = |change: FileChange| changed.iter().filter(move |changed| changed.change == change);
    let removed: BTreeSet<&[u8]> = of(FileChange::Removed).map(|changed| changed.path.as_slice()).collect();
    let lower: BTreeSet<Vec<u8>> = match ignores_case {
        true => removed.iter().map(|path| path.to_ascii_lowercase()).collect(),
        false => BTreeSet::new(),
    };
    let is_removed = |path: &[u8]| removed.contains(path) || lower.contains(&path.to_ascii_lowercase());
    let mut found = BTreeSet::new();
    for changed in changed.iter().filter(|changed| changed.change != FileChange::Removed) {
        let path = changed.path.as_slice();
        let mut folders = path
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .map(|(at, _)| path.get(..at).unwrap_or(path));
        let is_file = |path: &&[u8]| {
            let found = top.join(path_of(path)).symlink_metadata();
            found.is_ok_and(|found| !found.is_dir())
        };
        if let Some(file) = folders.find(is_file) {
            found.extend((!is_removed(file)).then(|| file.to_vec()));
            continue;
        }
        match top.join(path_of(path)).symlink_metadata() {
            Ok(there) if there.is_dir() => files_below(top, path, &mut |file| {
                found.extend((!is_removed(file)).then(|| file.to_vec()));
            }),
            Ok(_) if changed.change == FileChange::Added && !is_removed(path) => {
                found.insert(path.to_vec());
            }
            _ => {}
        }
    }
    found.iter().map(|path| text_of(path)).collect()
}

/// Calls a function for each file and link below a folder, by its path from the top. Folders that cannot be read count as files.
fn files_below(top: &Path, folder: &[u8], each: &mut dyn FnMut(&[u8])) {
    let Ok(entries) = top.join(path_of(folder)).read_dir() else {
        return each(folder);
    };
    for entry in entries.flatten() {
        let mut path = folder.to_vec();
        path.push(b'/');
        path.extend_from_slice(entry.file_name().as_encoded_bytes());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(top, &path, each),
            _ => each(&path),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn untracked_files_of_any_kind_block_a_checkout() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path();
        for path in ["a", "deep/tracked", "deep/ignored", "plain/x", "link-to"] {
            fs::create_dir_all(top.join(path).parent().expect("a folder")).expect("made");
            fs::write(top.join(path), "x").expect("written");
        }
        fs::create_dir_all(top.join("empty/folder")).expect("made");
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", top.join("broken")).expect("linked");
        let check = |changed: &[(&str, FileChange)], ignores_case: bool, expected: &[&str]| {
            let changed: Vec<ChangedFile> = changed
                .iter()
                .map(|(path, change)| {
                    let status = match change {
                        FileChange::Added => "A",
                        FileChange::Removed => "D",
                        FileChange::Other => "M",
                    };
                    let kinds = format!(":100644 100644 1 2 {status}");
                    ChangedFile::of(kinds.as_bytes(), path.as_bytes()).expect("a line")
                })
                .collect();
            assert_eq!(in_the_way(top, &changed, ignores_case), expected);
        };
        check(&[("new", FileChange::Added), ("a", FileChange::Other)], false, &[]);
        check(&[("a", FileChange::Added)], false, &["a"]);
        #[cfg(unix)]
        check(&[("broken", FileChange::Added)], false, &["broken"]);
        check(&[("a/below", FileChange::Added)], false, &["a"]);
        check(
            &[("a/below", FileChange::Added), ("a", FileChange::Removed)],
            false,
            &[],
        );
        check(
            &[("deep", FileChange::Added), ("deep/tracked", FileChange::Removed)],
            false,
            &["deep/ignored"],
        );
        check(&[("plain", FileChange::Other)], false, &["plain/x"]);
        check(&[("empty", FileChange::Added)], false, &[]);
        check(&[("A", FileChange::Added), ("a", FileChange::Removed)], true, &[]);
    }
}
