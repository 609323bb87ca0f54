//! Names of branches that git accepts.

use std::path::Path;

use super::command::GitLocation;

/// Returns whether git accepts a name as that of a branch, and as nothing else.
pub fn valid_branch(name: &str) -> bool {
    if name.is_empty() || name.len() > 1024 || name.starts_with('-') || name.contains('\0') || name == "@" {
        return false;
    }
    // Works in any folder, without a repository. Git prints another name if the input is a shorthand.
    let place = GitLocation::at(Path::new("."));
    let answer = place.git(&["check-ref-format", "--branch"]).arg(name).output();
    answer.is_ok_and(|output| output.strip_suffix(b"\n") == Some(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_decides_what_a_branch_may_be_called() {
        for name in ["main", "feature/a", "ä", "a-b"] {
            assert!(valid_branch(name), "{name}");
        }
        for name in [
            "",
            "-x",
            "--upload-pack=x",
            "a b",
            "a..b",
            "a\nb",
            "HEAD",
            "@",
            "@{-1}",
            "x.lock",
            "/a",
            "a/",
            "a\0b",
            "a~1",
        ] {
            assert!(!valid_branch(name), "{name:?}");
        }
    }
}
