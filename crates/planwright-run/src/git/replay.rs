//! Replays a candidate's changes on top of another commit. Touches no working tree, index or branch.

use std::collections::BTreeSet;
use std::path::Path;

use super::GitError;
use super::answers::{line_of, parts, require_id, text_of};
use super::command::GitLocation;
use super::messages::commit_message;
use super::repository::Repository;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// The changes apply; this is the resulting tree.
    Clean { tree: String },
    /// Both sides changed the same places.
    Conflict(ReplayConflict),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayConflict {
    /// A tree in which the files with conflicts have the usual markers.
    pub tree: String,
    pub paths: Vec<String>,
    /// Their versions, in the format of `git update-index -z --index-info`.
    pub stages: Vec<u8>,
    /// The labels of the two sides in markers and file names.
    pub labels: [String; 2],
}

impl Repository {
    pub fn tree_of(&self, commit: &str) -> Result<String, GitError> {
        require_id(commit)?;
        let tree = self
            .place
            .git(&["rev-parse", "--verify", "--quiet"])
            .arg(format!("{commit}^{{tree}}"))
            .line()?;
        tree.ok_or_else(|| GitError::NotAnId(commit.to_owned()))
    }

    /// Replays the changes from the tree `base` to `candidate` on the tree `onto`. The `.gitattributes` in the folder `attributes` decide
    /// how files are merged.
    pub fn replay(&self, base: &str, candidate: &str, onto: &str, attributes: &Path) -> Result<Replay, GitError> {
        [base, candidate, onto].into_iter().try_for_each(require_id)?;
        if base == onto {
            return Ok(Replay::Clean {
                tree: candidate.to_owned(),
            });
        }
        if base == candidate {
            return Ok(Replay::Clean { tree: onto.to_owned() });
        }
        // Commits of only these trees: the sides must have no other history in common.
        let root = self.bare_commit(base, None)?;
        let ours = self.bare_commit(onto, Some(&root))?;
        let theirs = self.bare_commit(candidate, Some(&root))?;
        let place = GitLocation::with_git_dir(attributes, self.common_folder())
            .with_index(&attributes.join(".git/planwright-none"));
        let words = ["merge-tree", "--write-tree", "-z", "--no-messages", &ours, &theirs];
        let answer = place.git(&words).setting("core.fsync=committed").answer()?;
        match answer.code {
            Some(0) => Ok(Replay::Clean {
                tree: first_tree(&answer.output),
            }),
            Some(1) => Ok(conflict(&answer.output, [ours, theirs])),
            _ => Err(answer.failure()),
        }
    }

    /// Returns the files of a tree in which a conflict is not resolved: markers with a label remain, or the separators of the tree `laid`
    /// in which the conflict was written, or the name has a label.
    pub(crate) fn unresolved(
        &self,
        tree: &str,
        laid: &str,
        paths: &[String],
        labels: &[String],
    ) -> Result<Vec<String>, GitError> {
        [tree, laid].into_iter().try_for_each(require_id)?;
        labels.iter().map(String::as_str).try_for_each(require_id)?;
        let words = ["grep", "--files-with-matches", "-z", "--fixed-strings", "--no-color"];
        let call = labels
            .iter()
            .fold(self.place.git(&words), |call, label| call.arg("-e").arg(label));
        let answer = call.arg(tree).arg("--").answer()?;
        let mut found: BTreeSet<String> = match answer.code {
            Some(0) => parts(&answer.output)
                .map(|line| text_of(line.get(tree.len() + 1..).unwrap_or_default()))
                .collect(),
            Some(1) => BTreeSet::new(),
            _ => return Err(answer.failure()),
        };
        let names = self.place.git(&["ls-tree", "-r", "--name-only", "-z", tree]).output()?;
        let has_label = |name: &String| labels.iter().any(|label| name.contains(&format!("~{label}")));
        found.extend(parts(&names).map(text_of).filter(has_label));
        for path in paths.iter().filter(|path| !found.contains(*path)).collect::<Vec<_>>() {
            let laid = self.text_at(laid, path)?;
            let begins = labels
                .first()
                .map_or(0, |label| laid.matches(&format!(" {label}")).count());
            let between = |text: &str| text.lines().filter(|line| is_between(line)).count();
            if begins > 0 && between(&self.text_at(tree, path)?) > between(&laid).saturating_sub(begins) {
                found.insert(path.clone());
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Returns the text of a file in a tree; empty if it is not there.
    fn text_at(&self, tree: &str, path: &str) -> Result<String, GitError> {
        let answer = self
            .place
            .git(&["cat-file", "blob"])
            .arg(format!("{tree}:{path}"))
            .answer()?;
        Ok(match answer.code {
            Some(0) => text_of(&answer.output),
            _ => String::new(),
        })
    }

    fn bare_commit(&self, tree: &str, parent: Option<&str>) -> Result<String, GitError> {
        let mut words = vec!["commit-tree", "--no-gpg-sign", tree];
        if let Some(parent) = parent {
            words.extend(["-p", parent]);
        }
        let call = self.committing(self.place.git(&words))?;
        // The same commit each time, so that repeated replays create no further objects.
        let call = call
            .variable("GIT_AUTHOR_DATE", "@1000000000 +0000")
            .variable("GIT_COMMITTER_DATE", "@1000000000 +0000");
        Ok(line_of(&call.input(b"replay\n".to_vec()).output()?))
    }

    /// Commits a tree with parents. The commit is on no branch; see [`Repository::keep`].
    pub fn commit_tree(&self, tree: &str, parents: &[&str], message: &str) -> Result<String, GitError> {
        require_id(tree)?;
        parents.iter().try_for_each(|parent| require_id(parent))?;
        let mut words = vec!["commit-tree", "--no-gpg-sign", tree];
        parents.iter().for_each(|parent| words.extend(["-p", parent]));
        let call = self.committing(self.place.git(&words))?.setting("core.fsync=committed");
        Ok(line_of(&call.input(commit_message(message).into_bytes()).output()?))
    }

    /// Checks that the repository has all objects of a commit beyond another one.
    pub fn require_whole(&self, commit: &str, beyond: &str) -> Result<(), GitError> {
        require_id(commit)?;
        require_id(beyond)?;
        self.place
            .git(&["rev-list", "--objects", "--quiet", commit, "--not", beyond])
            .run()
    }

    pub(crate) fn has_path(&self, tree: &str, path: &str) -> Result<bool, GitError> {
        require_id(tree)?;
        let answer = self
            .place
            .git(&["ls-tree", "--name-only", "-z", "--full-tree", tree, "--", path])
            .answer()?;
        match answer.code {
            Some(0) => Ok(!answer.output.is_empty()),
            _ => Err(answer.failure()),
        }
    }

    /// Returns the paths that differ between two trees or commits.
    pub fn differing(&self, one: &str, other: &str) -> Result<Vec<String>, GitError> {
        require_id(one)?;
        require_id(other)?;
        let words = [
            "diff-tree",
            "-r",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            one,
            other,
        ];
        Ok(parts(&self.place.git(&words).output()?).map(text_of).collect())
    }

    /// Returns the difference between two trees or commits as a patch, cut to a number of bytes.
    pub fn patch(&self, one: &str, other: &str, max_bytes: usize) -> Result<String, GitError> {
        require_id(one)?;
        require_id(other)?;
        let words = [
            "diff-tree",
            "-r",
            "-p",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            one,
            other,
        ];
        let answer = self.place.git(&words).answer()?;
        if answer.code != Some(0) {
            return Err(answer.failure());
        }
        let text = text_of(&answer.output);
        Ok(text[..text.floor_char_boundary(max_bytes)].to_owned())
    }
}

fn first_tree(output: &[u8]) -> String {
    parts(output).next().map(text_of).unwrap_or_default()
}

/// Returns whether a line separates the two sides of a conflict.
fn is_between(line: &str) -> bool {
    let line = line.trim_end_matches('\r');
    line.len() >= 3 && line.bytes().all(|byte| byte == b'=')
}

/// Parses the conflicts in the output of `git merge-tree -z`: the tree, then versions of files as `MODE ID STAGE\tPATH`.
fn conflict(output: &[u8], labels: [String; 2]) -> Replay {
    let mut stages = Vec::new();
    let mut paths = Vec::new();
    for entry in output
        .split(|byte| *byte == 0)
        .skip(1)
        .take_while(|entry| !entry.is_empty())
    {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else {
            break;
        };
        let path = text_of(&entry[tab + 1..]);
        if paths.last() != Some(&path) {
            // Its present entries in the index are removed first.
            stages.extend(format!("0 {}\t", "0".repeat(first_tree(output).len())).bytes());
            stages.extend_from_slice(&entry[tab + 1..]);
            stages.push(0);
            paths.push(path);
        }
        stages.extend_from_slice(entry);
        stages.push(0);
    }
    Replay::Conflict(ReplayConflict {
        tree: first_tree(output),
        paths,
        stages,
        labels,
    })
}
