//! Names of branches: which git would take, and those that tasks get.

use std::path::Path;

use super::command::Place;
use crate::place::PlanKey;

/// How the branches of tasks are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchShape {
    /// As `planwright/RUN/TASK`.
    Nested,
    /// As `planwright-RUN-TASK`: where a branch `planwright` or `planwright/RUN` exists there can be none below it.
    Flat,
}

/// Returns the branch of a task in a run: made of safe characters alone, readable, and unlike that of any other task.
pub fn branch_name(shape: BranchShape, run: &str, task: &str) -> String {
    format!("{}{}", branch_beginning(shape, run), PlanKey::of(task))
}

/// Returns whether a branch is of a task of this run.
pub(super) fn is_branch_of(branch: &str, run: &str) -> bool {
    let shapes = [BranchShape::Nested, BranchShape::Flat];
    let rests = shapes
        .iter()
        .filter_map(|shape| branch.strip_prefix(&branch_beginning(*shape, run)));
    rests.into_iter().any(is_key)
}

/// Returns whether a text is the key of a task: words, a hyphen and 16 hexadecimal digits, and a number for further attempts.
fn is_key(text: &str) -> bool {
    let is_hash = |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = |part: &str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.rsplit('-');
    let mut last = parts.next();
    if last.is_some_and(is_number) {
        last = parts.next();
    }
    // A task whose name has no letters has the digits alone.
    last.is_some_and(is_hash) && !text.contains('/')
}

fn branch_beginning(shape: BranchShape, run: &str) -> String {
    let between = match shape {
        BranchShape::Nested => '/',
        BranchShape::Flat => '-',
    };
    format!("planwright{between}{}{between}", safe(run))
}

/// Returns the name of a run with safe characters alone. Runs have such names; it is the others that are not trusted.
pub(super) fn safe(run: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = run.chars().take(64).map(safe).collect();
    match name.trim_matches('-') {
        "" => "run".to_owned(),
        name => name.to_owned(),
    }
}

/// Tells whether git takes a name for that of a branch, and for nothing else.
pub fn valid_branch(name: &str) -> bool {
    if name.is_empty() || name.len() > 1024 || name.starts_with('-') || name.contains('\0') || name == "@" {
        return false;
    }
    // No repository is needed: any folder will do. The answer is another name where git has a shorthand for one.
    let place = Place::at(Path::new("."));
    let answer = place.git(&["check-ref-format", "--branch"]).arg(name).output();
    answer.is_ok_and(|output| output.strip_suffix(b"\n") == Some(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_of_tasks_are_safe_whatever_the_task_is_called() {
        for task in [
            "US-001",
            "--upload-pack=x",
            "../../HEAD",
            "a b\nc",
            "x.lock",
            "@{-1}",
            "",
            "~^:?*[\\",
            "\u{1b}[31m",
            "ä…",
            &"x".repeat(5000),
        ] {
            for shape in [BranchShape::Nested, BranchShape::Flat] {
                let name = branch_name(shape, "20261116-053012", task);
                assert!(name.len() < 160, "{name}");
                let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '/';
                assert!(name.chars().all(is_safe), "{name}");
                assert!(name.starts_with("planwright"), "{name}");
                assert!(valid_branch(&name), "{name}");
            }
        }
    }

    #[test]
    fn branches_of_two_tasks_differ() {
        let name = |task| branch_name(BranchShape::Nested, "r", task);
        assert_ne!(name("a b"), name("a-b"));
        assert_ne!(name("A"), name("a"));
        assert!(name("US-001").starts_with("planwright/r/us-001-"));
        assert_eq!(name("US-001"), name("US-001"));
    }

    #[test]
    fn branches_of_a_run_are_known_and_no_others() {
        let run = "20261116-053012";
        for task in ["US-001", "a b\nc", "", "ä…", "7", &"x".repeat(500)] {
            for shape in [BranchShape::Nested, BranchShape::Flat] {
                let name = branch_name(shape, run, task);
                assert!(is_branch_of(&name, run), "{name}");
                assert!(is_branch_of(&format!("{name}-2"), run), "{name}");
                assert!(!is_branch_of(&name, "20261116-053013"), "{name}");
            }
        }
        for name in ["my-own-notes", "keep", "", "deadbeef", "x/a-e6c632b61e964e1f"] {
            for between in ['/', '-'] {
                let name = format!("planwright{between}{run}{between}{name}");
                assert!(!is_branch_of(&name, run), "{name}");
            }
        }
    }

    #[test]
    fn runs_with_odd_names_are_made_safe() {
        for (run, expected) in [("a/../b", "a----b"), ("--x", "x"), ("", "run"), ("..", "run")] {
            assert_eq!(safe(run), expected);
        }
    }

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
