//! The state of a working tree at one time, to find later changes, committed or not. Writes nothing.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::SystemTime;

use super::GitError;
use super::answers::{line_of, path_of, text_of};
use super::repository::{Repository, touched};
use super::special_files::remove_special_files;
use crate::digest::short_name;
use crate::files::read_file;

/// The largest file whose content is compared; for others, the time and the size are.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A past state of a working tree: a commit, and the differences from it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The checked-out commit, or the empty tree before the first.
    base: String,
    differing: BTreeMap<Vec<u8>, Option<SavedFile>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SavedFile {
    kind: fs::FileType,
    mode: u32,
    len: u64,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Digest(u64),
    Time(Option<SystemTime>),
}

impl Snapshot {
    /// Records the present state of a repository's working tree.
    pub fn take(repository: &Repository) -> Result<Self, GitError> {
        let base = match repository.head()? {
            Some(head) => head,
            None => {
                let call = repository.place.git(&["hash-object", "-t", "tree", "--stdin"]);
                line_of(&call.output()?)
            }
        };
        let mut budget = MAX_BYTES;
        let paths = touched(&repository.place, &base)?.into_iter();
        let stamped = paths.map(|path| {
            let stamp = SavedFile::of(&repository.toplevel().join(path_of(&path)), &mut budget);
            (path, stamp)
        });
        Ok(Snapshot {
            differing: stamped.collect(),
            base,
        })
    }

    /// Returns the paths that have changed since, without excluded ones. They include changes by other processes.
    pub fn changed(&self, repository: &Repository, exclude: &dyn Fn(&str) -> bool) -> Result<Vec<String>, GitError> {
        // A task may have made one in the folder that it shares.
        remove_special_files(repository.toplevel());
        let mut candidates = touched(&repository.place, &self.base)?;
        candidates.extend(self.differing.keys().cloned());
        let is_changed = |path: &Vec<u8>| match self.differing.get(path) {
            None => true,
            Some(before) => *before != SavedFile::like(before.as_ref(), &repository.toplevel().join(path_of(path))),
        };
        let shown = |path: &Vec<u8>| Some(text_of(path)).filter(|name| !exclude(name));
        let changed = candidates.iter().filter(|path| is_changed(path));
        Ok(changed.filter_map(shown).collect())
    }
}

impl SavedFile {
    /// Records a file. Its content is compared as long as the read budget lasts.
    fn of(path: &Path, budget: &mut u64) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        let is_affordable = metadata.len() <= MAX_FILE_BYTES.min(*budget);
        let content = is_affordable.then(|| digest(path, &metadata)).flatten();
        if content.is_some() {
            *budget = budget.saturating_sub(metadata.len());
        }
        let content = content.map_or_else(|| Content::Time(metadata.modified().ok()), Content::Digest);
        Some(Self::new(&metadata, content))
    }

    /// Records a file in the same way as an earlier record, so that both can be compared.
    fn like(before: Option<&Self>, path: &Path) -> Option<Self> {
        match before.map(|before| &before.content) {
            Some(Content::Time(_)) => Self::of(path, &mut 0),
            _ => Self::of(path, &mut MAX_FILE_BYTES.clone()),
        }
    }

    fn new(metadata: &Metadata, content: Content) -> Self {
        SavedFile {
            kind: metadata.file_type(),
            mode: mode(metadata),
            len: metadata.len(),
            content,
        }
    }
}

/// Returns a digest of the content of a file or a link; none for other entries, which must not be opened.
fn digest(path: &Path, metadata: &Metadata) -> Option<u64> {
    if metadata.is_symlink() {
        let target = fs::read_link(path).ok()?;
        return Some(short_name(target.as_os_str().as_encoded_bytes()));
    }
    metadata
        .is_file()
        .then(|| read_file(path).ok().map(|bytes| short_name(&bytes)))?
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions())
}

#[cfg(not(unix))]
fn mode(metadata: &Metadata) -> u32 {
    u32::from(metadata.permissions().readonly())
}
