//! The worktrees of a repository as git lists them.

use std::path::PathBuf;

use super::GitError;
use super::answers::{path_of, text_of};
use super::repository::Repository;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedWorktree {
    pub path: PathBuf,
    /// The checked-out commit; none before the first.
    pub head: Option<String>,
    /// The checked-out branch; none for a detached HEAD.
    pub branch: Option<String>,
    pub is_locked: bool,
}

pub(super) fn list(repository: &Repository) -> Result<Vec<ListedWorktree>, GitError> {
    let answer = repository
        .place
        .git(&["worktree", "list", "--porcelain", "-z"])
        .answer()?;
    match answer.code {
        Some(0) => Ok(parse_list(&answer.output, 0)),
        // Before git 2.36, there is only a format with lines.
        Some(129) => {
            let output = repository.place.git(&["worktree", "list", "--porcelain"]).output()?;
            Ok(parse_list(&output, b'\n'))
        }
        _ => Err(answer.failure()),
    }
}

/// Parses a list of worktrees: for each a line with its path first, then its attributes.
fn parse_list(output: &[u8], end: u8) -> Vec<ListedWorktree> {
    let mut list: Vec<ListedWorktree> = Vec::new();
    for line in output.split(|byte| *byte == end) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            list.push(ListedWorktree {
                path: path_of(path),
                head: None,
                branch: None,
                is_locked: false,
            });
        } else if let Some(last) = list.last_mut() {
            if let Some(id) = line.strip_prefix(b"HEAD ") {
                let is_born = id.iter().any(|byte| *byte != b'0');
                last.head = is_born.then(|| text_of(id));
            } else if let Some(name) = line.strip_prefix(b"branch refs/heads/") {
                last.branch = Some(text_of(name));
            }
            last.is_locked |= line == b"locked" || line.starts_with(b"locked ");
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_with_and_without_zeros() {
        let text = "worktree /a b\nHEAD 12\nbranch refs/heads/x/y\n\nworktree /c\nHEAD 00\ndetached\nlocked by me\n\n";
        let expected = [
            ListedWorktree {
                path: PathBuf::from("/a b"),
                head: Some("12".to_owned()),
                branch: Some("x/y".to_owned()),
                is_locked: false,
            },
            ListedWorktree {
                path: PathBuf::from("/c"),
                head: None,
                branch: None,
                is_locked: true,
            },
        ];
        assert_eq!(parse_list(text.as_bytes(), b'\n'), expected);
        assert_eq!(parse_list(text.replace('\n', "\0").as_bytes(), 0), expected);
    }
}
