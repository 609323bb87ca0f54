//! Finds the files that a task touched and its plan does not name.

use std::path::Path;

use planwright_core::plan::{Field, Plan, Task};

use crate::workspace::slashed;

/// Returns paths relative to a folder. Paths outside start with `../`.
pub(super) fn below(paths: Vec<String>, prefix: &str) -> Vec<String> {
    let relative = |path: String| match path.strip_prefix(prefix) {
        Some(below) => below.to_owned(),
        None => format!("{}{path}", "../".repeat(prefix.matches('/').count())),
    };
    paths.into_iter().map(relative).collect()
}

/// Returns the touched files that a task does not declare; none if it declares no files.
pub(super) fn drift(plan: &Plan, task: &Task, target: Option<&str>, touched: &[String]) -> Vec<String> {
    let declared = plan.task_list(task, Field::Files);
    if declared.is_empty() {
        return Vec::new();
    }
    let effects = plan.task_list(task, Field::SideEffects);
    let fits = |path: &str| {
        let is_declared = declared.iter().any(|known| known.trim_start_matches("./") == path);
        is_declared
            || effects
                .iter()
                .any(|pattern| fits(pattern.trim_start_matches("./"), path))
    };
    let is_expected = |path: &&String| {
        let inside = target.and_then(|target| Path::new(path.as_str()).strip_prefix(target).ok());
        fits(path) || inside.is_some_and(|inside| fits(&slashed(inside)))
    };
    touched.iter().filter(|path| !is_expected(path)).cloned().collect()
}

/// Returns whether a path matches a pattern: `*` matches any text and `?` a character, neither a `/`.
fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<char>, Vec<char>) = (pattern.chars().collect(), path.chars().collect());
    // The position of the last star, and how much of the path it has matched so far.
    let mut star: Option<(usize, usize)> = None;
    let (mut at, mut seen) = (0, 0);
    while seen < path.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
                continue;
            }
            Some('?') if path[seen] != '/' => {}
            Some(c) if *c == path[seen] => {}
            _ => match star {
                Some((place, taken)) if path[taken] != '/' => {
                    star = Some((place, taken + 1));
                    (at, seen) = (place + 1, taken + 1);
                    continue;
                }
                _ => return false,
            },
        }
        at += 1;
        seen += 1;
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stay_within_a_folder() {
        for (pattern, path, expected) in [
            ("src/a.rs", "src/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("*/a.rs", "src/a.rs", true),
            ("?.rs", "a.rs", true),
            ("?.rs", "ab.rs", false),
            ("a?b", "a/b", false),
            ("*", "a", true),
            ("*", "a/b", false),
            ("a*b*c", "axbxbc", true),
            ("a*", "a", true),
            ("", "a", false),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn paths_are_relative_to_the_workspace() {
        let paths = ["sub/a", "b", "sub/deep/c"].map(str::to_owned).to_vec();
        assert_eq!(below(paths.clone(), ""), paths);
        assert_eq!(below(paths, "sub/"), ["a", "../b", "deep/c"]);
    }
}
