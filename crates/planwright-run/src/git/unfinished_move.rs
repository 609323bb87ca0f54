//! An interrupted move of the user's checkout: its record, and restoring the files. Files that the user changed since stay.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use planwright_core::text::listed;
use serde::{Deserialize, Serialize};

use super::GitError;
use super::answers::{parts, path_of, text_of};
use super::changed_files::{ChangedFile, FileChange};
use super::checkout::identity_of;
use super::command::{GitLocation, end};
use super::own_git_dir::path_error;
use super::own_index::{is_own_index_lock, remove_own_index, remove_own_index_lock};
use super::repository::{Repository, branch};
use crate::faults;
use crate::files::{open_to_read, read_file};

/// The file that records a move in progress, in the git directory of the checkout.
const NOTE: &str = "planwright-move.json";

const SUBMODULE: &str = "160000";

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct BegunMove {
    branch: String,
    from: String,
    to: String,
    /// The locks that it holds, with their identities.
    pub(super) locks: Vec<(PathBuf, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoneMove {
    /// The files are as they were before it.
    SetBack {
        /// The files that are not, because the user has changed them since.
        except: Vec<String>,
    },
    /// Nothing was set back: the user has committed or checked out something else since, or the commit is gone.
    LeftAlone { branch: String },
}

impl UndoneMove {
    pub fn words(&self) -> String {
        let before = "planwright was ended while work landed here before";
        match self {
            UndoneMove::SetBack { except } if except.is_empty() => {
                format!("{before}; your files were set back to what they were")
            }
            UndoneMove::SetBack { except } => {
                format!(
                    "{before}; your files were set back to what they were, except what was changed since: {}",
                    listed(except.iter(), 5)
                )
            }
            UndoneMove::LeftAlone { branch } => format!(
                "{before}, on `{branch}`, and you have committed since: nothing was set back, and some files may have the content that was \
                 landing; see `git status`"
            ),
        }
    }
}

impl BegunMove {
    pub(super) fn new(branch: &str, from: &str, to: &str, locks: &[PathBuf]) -> Result<Self, GitError> {
        let identified = |lock: &PathBuf| {
            let found = lock.symlink_metadata().map_err(path_error(lock))?;
            Ok((lock.clone(), identity_of(&found)))
        };
        Ok(BegunMove {
            branch: branch.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            locks: locks.iter().map(identified).collect::<Result<_, GitError>>()?,
        })
    }

    pub(super) fn note(self, git_dir: &Path) -> Result<Self, GitError> {
        let note = git_dir.join(NOTE);
        let draft = git_dir.join(format!("{NOTE}.tmp"));
        let written = faults::step("note a move").and_then(|()| {
            let text = serde_json::to_vec(&self)?;
            let mut file = fs::File::create(&draft)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&draft, &note)?;
            fs::File::open(git_dir)?.sync_all()
        });
        written.map_err(path_error(&note))?;
        Ok(self)
    }

    fn read(git_dir: &Path) -> Result<Option<Self>, GitError> {
        let note = git_dir.join(NOTE);
        match read_file(&note) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Ok(text) => {
                let begun = serde_json::from_slice(&text).map_err(io::Error::from);
                begun.map(Some).map_err(path_error(&note))
            }
            Err(error) => Err(path_error(&note)(error)),
        }
    }

    /// Removes the note: the move is complete, or was undone.
    pub(super) fn forget(git_dir: &Path) -> Result<(), GitError> {
        let note = git_dir.join(NOTE);
        fs::remove_file(&note).map_err(path_error(&note))
    }
}

/// Removes locks that are still the recorded ones.
pub(super) fn remove_own_locks(locks: &[(PathBuf, String)]) -> Result<(), GitError> {
    for (lock, identity) in locks {
        let is_own = lock
            .symlink_metadata()
            .is_ok_and(|found| identity_of(&found) == *identity);
        if is_own {
            fs::remove_file(lock).map_err(path_error(lock))?;
        }
    }
    Ok(())
}

/// What to do with the files of an interrupted move.
#[derive(Default)]
struct RestorePlan<'c> {
    /// Files whose index entries are set back.
    index: Vec<&'c ChangedFile>,
    removed: Vec<&'c ChangedFile>,
    restored: Vec<&'c ChangedFile>,
    /// The files that the user has changed since.
    except: Vec<String>,
}

impl Repository {
    /// Restores the files of the user's checkout after an interrupted move of its branch. Files that the user has changed since stay.
    pub fn undo_unfinished_move(&self) -> Result<Option<UndoneMove>, GitError> {
        let git_dir = self.git_dir()?;
        match git_dir.join(NOTE).exists() || is_own_index_lock(&git_dir) {
            true => {
                let _only = self.lock_checkout()?;
                self.undo_move()
            }
            false => Ok(None),
        }
    }

    /// Like [`Repository::undo_unfinished_move`], for a caller that holds the lock: the process that recorded the move has ended, and so
    /// has its git.
    pub(super) fn undo_move(&self) -> Result<Option<UndoneMove>, GitError> {
        let git_dir = self.git_dir()?;
        remove_own_index_lock(&git_dir).map_err(path_error(&git_dir))?;
        let Some(begun) = BegunMove::read(&git_dir)? else {
            return Ok(None);
        };
        remove_own_locks(&begun.locks)?;
        remove_own_index(&git_dir)?;
        let tip = self.tip(&begun.branch)?;
        let is_here = branch(&self.place)?.as_deref() == Some(begun.branch.as_str());
        let undone = match tip.filter(|_| self.has_commit(&begun.to).unwrap_or(true)) {
            // The move was complete, and only the note remained.
            Some(tip) if self.is_ancestor(&begun.to, &tip)? => None,
            Some(tip) if tip == begun.from && is_here => Some(UndoneMove::SetBack {
                except: self.set_back(&begun.from, &begun.to)?,
            }),
            _ => Some(UndoneMove::LeftAlone { branch: begun.branch }),
        };
        BegunMove::forget(&git_dir)?;
        Ok(undone)
    }

    pub(crate) fn has_commit(&self, commit: &str) -> Result<bool, GitError> {
        let call = self.place.git(&["cat-file", "-e"]).arg(format!("{commit}^{{commit}}"));
        let answer = call.answer()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(_) if answer.complaint.contains("Not a valid object name") => Ok(false),
            _ => Err(answer.failure()),
        }
    }

    /// Sets back the files that differ between two commits, and their index entries, to the first commit. Only files with the content of
    /// the second, or with a written part of it, are changed. HEAD is at the first. Returns the files with other content.
    pub(super) fn set_back(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        let changed = self.changed_between(from, to)?;
        let plan = self.plan_to_set_back(from, to, &changed)?;
        let mut except = plan.except.clone();
        self.with_own_index(&self.git_dir()?, |place| self.carry_out(&plan, place, &mut except))?;
        except.sort();
        Ok(except)
    }

    /// Performs a plan, with an index of planwright's own.
    fn carry_out(&self, plan: &RestorePlan<'_>, place: &GitLocation, except: &mut Vec<String>) -> Result<(), GitError> {
        let mut entries = Vec::new();
        for changed in &plan.index {
            let mode = match changed.change {
                FileChange::Added => "0",
                FileChange::Removed | FileChange::Other => &changed.old_mode,
            };
            entries.extend(format!("{mode} {}\t", changed.old_id).bytes());
            entries.extend_from_slice(&changed.path);
            entries.push(0);
        }
        if !entries.is_empty() {
            let words = ["update-index", "--replace", "-z", "--index-info"];
            place.git(&words).input(entries).run()?;
        }
        let top = self.toplevel();
        for removed in &plan.removed {
            remove_with_empty_folders(top, &path_of(&removed.path))?;
        }
        let mut paths = Vec::new();
        for restored in &plan.restored {
            match is_free(top, &path_of(&restored.path)) {
                true => {
                    paths.extend_from_slice(&restored.path);
                    paths.push(0);
                }
                false => except.push(text_of(&restored.path)),
            }
        }
        if !paths.is_empty() {
            let words = ["checkout-index", "--force", "--index", "--quiet", "-z", "--stdin"];
            place.git(&words).input(paths).run()?;
        }
        // Git compares the times of files, which may be the earlier ones.
        refresh(place)
    }

    /// Decides what to do with each file that differs between two commits. Changes nothing.
    fn plan_to_set_back<'c>(&self, from: &str, to: &str, all: &'c [ChangedFile]) -> Result<RestorePlan<'c>, GitError> {
        let staged_unlike_from = self.index_unlike(from)?;
        let staged_unlike_to = self.index_unlike(to)?;
        let unlike_from = self.files_unlike(all.iter().map(|one| (one, &one.old_mode, &one.old_id)))?;
        let unlike_to = self.files_unlike(all.iter().map(|one| (one, &one.new_mode, &one.new_id)))?;
        let listed = self.place.git(&["ls-files", "-z", "-t"]).output()?;
        // A sparse checkout omits them.
        let left_out: BTreeSet<&[u8]> = parts(&listed).filter_map(|line| line.strip_prefix(b"S ")).collect();
        let added: BTreeSet<&[u8]> = all
            .iter()
            .filter(|one| one.change == FileChange::Added)
            .map(|one| one.path.as_slice())
            .collect();
        let mut plan = RestorePlan::default();
        for changed in all {
            let path = &changed.path;
            if staged_unlike_from.contains(path) && staged_unlike_to.contains(path) {
                // The user has staged it since.
                plan.except.push(text_of(path));
                continue;
            }
            plan.index.push(changed);
            if changed.old_mode == SUBMODULE || changed.new_mode == SUBMODULE {
                continue;
            }
            let mut found = self.toplevel().join(path_of(path)).symlink_metadata();
            if let Some(link) = link_above(self.toplevel(), path) {
                // Files behind a link are not examined. A link made by the move is replaced by the earlier folder.
                if !added.contains(link) || unlike_to.contains(link) {
                    plan.except.push(text_of(path));
                    continue;
                }
                found = Err(io::ErrorKind::NotFound.into());
            }
            match (found, changed.change) {
                // A folder is in its place again.
                (Ok(found), FileChange::Added) if found.is_dir() => {}
                (Err(_), FileChange::Added) => {}
                (Err(_), _) if left_out.contains(path.as_slice()) => {}
                (Err(_), _) => plan.restored.push(changed),
                // Another entry is in its place, which may be gone by then.
                (Ok(found), FileChange::Removed) if found.is_dir() => plan.restored.push(changed),
                (Ok(_), FileChange::Removed | FileChange::Other) if !unlike_from.contains(path) => {}
                (Ok(found), FileChange::Added | FileChange::Other)
                    if !found.is_dir()
                        && (!unlike_to.contains(path) || found.is_file() && self.is_beginning_of(path, to)?) =>
                {
                    match changed.change {
                        FileChange::Added => plan.removed.push(changed),
                        _ => plan.restored.push(changed),
                    }
                }
                (Ok(_), _) => plan.except.push(text_of(path)),
            }
        }
        Ok(plan)
    }

    /// Returns the files whose content in the checkout differs, or that are missing.
    fn files_unlike<'c>(
        &self,
        files: impl Iterator<Item = (&'c ChangedFile, &'c String, &'c String)>,
    ) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let mut entries = Vec::new();
        for (changed, mode, id) in files.filter(|(_, mode, _)| *mode != "000000" && *mode != SUBMODULE) {
            entries.extend(format!("{mode} {id}\t").bytes());
            entries.extend_from_slice(&changed.path);
            entries.push(0);
        }
        if entries.is_empty() {
            return Ok(BTreeSet::new());
        }
        let index = self.git_dir()?.join("planwright-compare");
        let remove = || [index.clone(), index.with_extension("lock")].map(fs::remove_file);
        let _ = remove();
        let place = self.place.clone().with_index(&index);
        let words = ["update-index", "--replace", "-z", "--index-info"];
        let compare = || {
            place.git(&words).input(entries).run()?;
            // Git compares contents here, and only times below. Differing files make this fail.
            refresh(&place)?;
            place.git(&["diff-files", "--name-only", "-z"]).output()
        };
        let output = compare();
        let _ = remove();
        Ok(parts(&output?).map(<[u8]>::to_vec).collect())
    }

    /// Returns the files whose index entry differs from a commit.
    fn index_unlike(&self, commit: &str) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let words = ["diff-index", "--cached", "--name-only", "-z", "--no-renames", commit];
        let output = self.place.git(&words).output()?;
        Ok(parts(&output).map(<[u8]>::to_vec).collect())
    }

    /// Returns whether a file of the checkout is a prefix of its content in a commit.
    fn is_beginning_of(&self, path: &[u8], commit: &str) -> Result<bool, GitError> {
        let path_of_file = self.toplevel().join(path_of(path));
        let mut file = open_to_read(&path_of_file).map_err(path_error(&path_of_file))?;
        let mut object = format!("{commit}:").into_bytes();
        object.extend_from_slice(path);
        let call = self.place.git(&["cat-file", "--filters"]).arg(path_of(&object));
        let mut child = call.open()?;
        let mut whole = child.stdout.take();
        let same = whole.as_mut().map(|whole| starts_with(whole, &mut file));
        end(&mut child);
        same.unwrap_or(Ok(false)).map_err(path_error(&path_of_file))
    }
}

fn link_above<'p>(top: &Path, path: &'p [u8]) -> Option<&'p [u8]> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut parts = ends.map(|(at, _)| path.get(..at).unwrap_or(path));
    parts.find(|part| {
        let found = top.join(path_of(part)).symlink_metadata();
        found.is_ok_and(|found| found.is_symlink())
    })
}

/// Has git compare the files with an index. It exits with an error if some differ.
fn refresh(place: &GitLocation) -> Result<(), GitError> {
    let answer = place.git(&["update-index", "-q", "--refresh"]).answer()?;
    match answer.code {
        Some(0 | 1) => Ok(()),
        _ => Err(answer.failure()),
    }
}

fn starts_with(whole: &mut impl Read, beginning: &mut impl Read) -> io::Result<bool> {
    let mut expected = vec![0; 64 * 1024];
    let mut found = vec![0; 64 * 1024];
    loop {
        let n = beginning.read(&mut expected)?;
        let (Some(expected), Some(found)) = (expected.get(..n), found.get_mut(..n)) else {
            return Ok(false);
        };
        if n == 0 {
            return Ok(true);
        }
        match whole.read_exact(found) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if found != expected {
            return Ok(false);
        }
    }
}

/// Returns whether a file can be written without removing anything but another file in its place. Removes empty folders.
fn is_free(top: &Path, path: &Path) -> bool {
    let _ = fs::remove_dir(top.join(path));
    let is_folder = |path: &Path| top.join(path).symlink_metadata().map_or(true, |found| found.is_dir());
    let is_taken = top.join(path).symlink_metadata().is_ok_and(|found| found.is_dir());
    !is_taken && path.ancestors().skip(1).all(is_folder)
}

/// Removes a file, and the folders above it that are empty then.
fn remove_with_empty_folders(top: &Path, path: &Path) -> Result<(), GitError> {
    let file = top.join(path);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(path_error(&file)(error)),
        _ => {}
    }
    let mut above = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    // A folder that is not empty stays, and so do those above it.
    above.all(|folder| fs::remove_dir(top.join(folder)).is_ok());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_file_is_recognised() {
        let whole = "abc".repeat(100_000);
        let check = |beginning: &str, expected: bool| {
            let found = starts_with(&mut whole.as_bytes(), &mut beginning.as_bytes());
            assert_eq!(found.expect("no error"), expected, "{}", beginning.len());
        };
        check("", true);
        check("abca", true);
        check("abd", false);
        check(&whole, true);
        check(&whole[..200_000], true);
        check(&format!("{whole}a"), false);
    }
}
