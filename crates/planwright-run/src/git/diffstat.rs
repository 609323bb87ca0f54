//! Counts the files and lines that commits change.

use std::collections::BTreeMap;

use super::answers::require_id;
use super::error::GitError;
use super::repository::Repository;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diffstat {
    pub files: u64,
    pub added: u64,
    pub removed: u64,
    /// How many of them are in files that look like tests.
    pub removed_in_tests: u64,
}

impl Repository {
    /// Returns the size of each commit between two commits, along the first parents. Binary files count as files without lines.
    pub fn diffstats(&self, start: &str, end: &str) -> Result<BTreeMap<String, Diffstat>, GitError> {
        require_id(start)?;
        require_id(end)?;
        let range = format!("{start}..{end}");
        let words = [
            "log",
            "--first-parent",
            "-m",
            "--no-renames",
            "--numstat",
            "--format=commit %H",
            &range,
            "--",
        ];
        let text = self.place.git(&words).output()?;
        Ok(diffstats_in(&String::from_utf8_lossy(&text)))
    }

    /// Returns the changes of a commit as a unified diff against its first parent, up to a number of bytes.
    pub fn diff_of(&self, commit: &str) -> Result<Vec<u8>, GitError> {
        require_id(commit)?;
        let words = [
            "show",
            "--first-parent",
            "-m",
            "--format=",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            commit,
            "--",
        ];
        self.place.git(&words).output()
    }
}

fn diffstats_in(text: &str) -> BTreeMap<String, Diffstat> {
    let mut all: BTreeMap<String, Diffstat> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(commit) = line.strip_prefix("commit ") {
            current = Some(all.entry(commit.to_owned()).or_default());
            continue;
        }
        let mut parts = line.splitn(3, '\t');
        let (Some(added), Some(removed), Some(path), Some(stat)) =
            (parts.next(), parts.next(), parts.next(), current.as_mut())
        else {
            continue;
        };
        stat.files += 1;
        stat.added += added.parse::<u64>().unwrap_or(0);
        let removed = removed.parse::<u64>().unwrap_or(0);
        stat.removed += removed;
        if looks_like_test(path) {
            stat.removed_in_tests += removed;
        }
    }
    all
}

/// Returns whether a path looks like a test to test runners: in a folder of tests, or with the name of one.
fn looks_like_test(path: &str) -> bool {
    const FOLDERS: [&str; 5] = ["test", "tests", "spec", "specs", "__tests__"];
    let mut parts = path.trim_matches('"').rsplit('/');
    let name = parts.next().unwrap_or("");
    let stem = name.split('.').next().unwrap_or("");
    let has_word = name.contains(".test.") || name.contains(".spec.") || stem.starts_with("test_");
    let ends = ["_test", "_tests", "_spec", "Test", "Tests", "Spec"];
    has_word || ends.iter().any(|end| stem.ends_with(end)) || parts.any(|folder| FOLDERS.contains(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_for_each_commit() {
        let text = "commit aa\n\n3\t1\tsrc/a.rs\n-\t-\tlogo.png\ncommit bb\n\n1\t0\ta\tb.txt\n";
        let all = diffstats_in(text);
        let stat = |files, added, removed| Diffstat {
            files,
            added,
            removed,
            removed_in_tests: 0,
        };
        assert_eq!(all["aa"], stat(2, 3, 1));
        assert_eq!(all["bb"], stat(1, 1, 0));
        let text = "commit cc\n\n1\t4\ttests/a.py\n0\t2\tsrc/latest.rs\n2\t3\tweb/cart.test.js\n";
        assert_eq!(diffstats_in(text)["cc"].removed_in_tests, 7);
    }

    #[test]
    fn test_files_are_recognised_by_their_paths() {
        for path in [
            "test_app.py",
            "a/b_test.go",
            "src/__tests__/x.js",
            "spec/x_spec.rb",
            "src/CartTest.java",
        ] {
            assert!(looks_like_test(path), "{path}");
        }
        for path in ["src/latest.rs", "contest.py", "attestation/x.go", "src/testing.rs"] {
            assert!(!looks_like_test(path), "{path}");
        }
    }
}
