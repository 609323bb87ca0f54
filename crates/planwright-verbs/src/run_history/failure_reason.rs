//! Why an attempt failed, on one line: from its landing, its verification, its agent, or the first useful line of a long text.

use std::path::Path;

use planwright_run::failure_line::failure_line;
use planwright_run::runs::Receipt;
use planwright_run::runs::state::{AttemptRun, TaskRun};
use planwright_run::shell::{command_line, task_command};

use crate::text::{fit, one_line, tame};

/// The longest reason.
const MAX_COLUMNS: usize = 160;

/// The longest command that is shown whole in a reason: its output is more useful than its end.
const MAX_COMMAND_COLUMNS: usize = 60;

/// Returns the line of a text that most likely states why a program failed, cut and without control characters; none if no line states
/// anything.
pub fn first_useful_line(text: &str) -> Option<String> {
    failure_line(text, tame).map(|line| fit(&line, MAX_COLUMNS))
}

/// Returns why the last attempt of a task failed, on one line.
pub fn why_of(task: &TaskRun) -> String {
    why(task.last(), task.why())
}

/// Returns why an attempt failed, on one line.
pub(crate) fn why_failed(attempt: &AttemptRun) -> String {
    why(Some(attempt), attempt.why.as_deref())
}

fn why(attempt: Option<&AttemptRun>, said: Option<&str>) -> String {
    let of_landing = || attempt.and_then(why_not_landed);
    let of_checks = || attempt.and_then(why_not_verified);
    let said = || said.and_then(first_useful_line);
    let exit = || {
        Some(format!(
            "its agent ended with {}",
            one_line(attempt?.report.exit.as_deref()?)
        ))
    };
    let why = of_landing().or_else(of_checks).or_else(said).or_else(exit);
    let why = why.unwrap_or_else(|| "the reason was not recorded".to_owned());
    match attempt.and_then(denial_words) {
        Some(denial) => format!("{why}; {denial}"),
        None => why,
    }
}

fn why_not_landed(attempt: &AttemptRun) -> Option<String> {
    let ended = attempt.landing.ended.as_ref().filter(|ended| !ended.passed)?;
    let why = ended.why.as_deref().and_then(first_useful_line);
    let why = why.unwrap_or_else(|| "its work could not land".to_owned());
    Some(format!("{why}; its work is on branch {}", one_line(&ended.branch)))
}

fn why_not_verified(attempt: &AttemptRun) -> Option<String> {
    if attempt.verification.passed != Some(false) {
        return None;
    }
    let failed = |receipt: &&Receipt| receipt.exit != "exit 0";
    let receipt = attempt.verification.receipts.iter().find(failed)?;
    let command = fit(&one_line(&command_line(&receipt.command)), MAX_COMMAND_COLUMNS);
    let said = first_useful_line(&receipt.tail).map_or_else(String::new, |said| format!(": {said}"));
    let exit = one_line(&receipt.exit);
    Some(match receipt.is_setup {
        true => format!("setup failed: `{command}` of run.setup ended with {exit}{said}"),
        false => format!("`{command}` ended with {exit}{said}"),
    })
}

/// Guesses from the output that the fence denied an access, because the kernel records no denials. Returns it with the command that shows
/// the policy. None if the attempt was not fenced, or no failed command was denied a permission outside of its folder.
pub(crate) fn denial_words(attempt: &AttemptRun) -> Option<String> {
    attempt.process.fence.as_ref()?;
    let folder = attempt.checkout.folder.as_deref().map(Path::new);
    let failed = attempt
        .verification
        .receipts
        .iter()
        .filter(|receipt| receipt.exit != "exit 0");
    let outputs = failed.map(|receipt| receipt.tail.as_str());
    let outputs = outputs
        .chain(attempt.why.as_deref())
        .chain(attempt.report.output.as_deref());
    let denied = outputs
        .flat_map(str::lines)
        .find_map(|line| denied_path(line, folder))?;
    let log = task_command("logs", &attempt.name, "", "--fence");
    Some(format!("the fence may have denied access to {denied}; see `{log}`"))
}

/// Returns the absolute path that a line reports as not permitted, if it lies outside of a folder.
fn denied_path(line: &str, folder: Option<&Path>) -> Option<String> {
    const SIGNS: [&str; 3] = ["permission denied", "permissionerror", "eacces"];
    let lower = line.to_lowercase();
    SIGNS.iter().any(|sign| lower.contains(sign)).then_some(())?;
    let is_edge = |c: char| {
        matches!(
            c,
            '\'' | '"' | '`' | '(' | ')' | '[' | ']' | ',' | ';' | ':' | '\u{2018}' | '\u{2019}'
        )
    };
    let line = tame(line);
    let mut words = line.split(' ').map(|word| word.trim_matches(is_edge));
    let path = words.find(|word| word.starts_with('/') && word.len() > 1)?;
    let is_inside = folder.is_some_and(|folder| Path::new(path).starts_with(folder));
    (!is_inside).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(first_useful_line(text).as_deref(), Some(expected));
    }

    #[test]
    fn error_lines_are_preferred() {
        check("\n\n   Compiling x v0.1.0\n", "Compiling x v0.1.0");
        check(
            "   Compiling x v0.1.0\nwarning: unused error handler\nerror[E0308]: mismatched types\n --> src/a.rs:1:2\n\nerror: aborting due to 1 previous error\n",
            "error[E0308]: mismatched types",
        );
        check("ok\n2 tests failed\nbye", "2 tests failed");
        check(
            "test result: ok. 3 passed; 0 failed\nplain",
            "test result: ok. 3 passed; 0 failed",
        );
        check(
            "Error: Cannot find module 'x'\n    at Module._resolve (node:internal:1:2)\n",
            "Error: Cannot find module 'x'",
        );
        check(
            "error: test failed, to rerun pass `--lib`",
            "error: test failed, to rerun pass `--lib`",
        );
    }

    #[test]
    fn error_words_in_names_do_not_count() {
        check(
            "   Compiling thiserror v2.0.1\n   Compiling fail v1.0.0\ntest errors_are_kept ... ok\n     Running tests/errors.rs\ntest it_works ... FAILED\n",
            "test it_works ... FAILED",
        );
        check(
            "ok 1 - rejects invalid input\nnot ok 2 - adds\n  AssertionError [ERR_ASSERTION]: 1 == 2",
            "AssertionError [ERR_ASSERTION]: 1 == 2",
        );
        check(
            "src/a.ts(1,7): error TS2322: no\nmake: *** [all] Error 1",
            "src/a.ts(1,7): error TS2322: no",
        );
        check(
            "=== FAILURES ===\n    def test_x():\n>       assert f() == 2\nE       assert 1 == 2\n\ntest_a.py:2: AssertionError\n",
            "E assert 1 == 2",
        );
        check(
            "=== RUN   TestX\n--- FAIL: TestX (0.00s)\n    a_test.go:5: got 1\nFAIL",
            "a_test.go:5: got 1",
        );
    }

    #[test]
    fn stack_frames_are_skipped() {
        check(
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    assert a == b, 'fatal: x'\nAssertionError: 1 != 2\n",
            "AssertionError: 1 != 2",
        );
        check(
            "running 1 test\nthread 'it' panicked at src/a.rs:3:5:\nassertion `left == right` failed\n  left: 1\nstack backtrace:\n   0: std::panicking::begin\n",
            "thread 'it' panicked at src/a.rs:3:5: assertion `left == right` failed, left: 1",
        );
        check(
            "    at a (b.js:1:2)\n    at c (d.js:3:4)\nTypeError: x is not a function",
            "TypeError: x is not a function",
        );
        check("----\n======\n  ^^^^\nlast words", "last words");
    }

    #[test]
    fn hostile_text_is_harmless_and_short() {
        check("\u{1b}[31merror\u{1b}[0m: bad\u{202e}", "error: bad\\u{202e}");
        let long = first_useful_line(&"日".repeat(100_000)).expect("a line");
        assert_eq!((long.chars().count(), long.ends_with('…')), (80, true));
        assert_eq!(first_useful_line(""), None);
        assert_eq!(first_useful_line("\n \t\n---\n"), None);
        assert!(first_useful_line(&"\n".repeat(1_000_000)).is_none());
    }

    #[test]
    fn paths_outside_the_folder_are_named() {
        let folder = Some(Path::new("/home/me/checkout"));
        for (line, path) in [
            (
                "PermissionError: [Errno 13] Permission denied: '/etc/x.conf'",
                Some("/etc/x.conf"),
            ),
            ("sh: 1: cannot create /srv/x: Permission denied", Some("/srv/x")),
            (
                "touch: cannot touch \u{2018}/srv/x\u{2019}: Permission denied",
                Some("/srv/x"),
            ),
            ("open /srv/x: permission denied", Some("/srv/x")),
            ("Error: EACCES: permission denied, open '/srv/x'", Some("/srv/x")),
            ("cannot create /home/me/checkout/a: Permission denied", None),
            ("sh: ./run: Permission denied", None),
            ("No such file or directory: '/etc/x'", None),
        ] {
            assert_eq!(denied_path(line, folder).as_deref(), path, "{line}");
        }
    }

    #[test]
    fn without_a_fence_no_path_is_reported() {
        let mut attempt = AttemptRun::default();
        attempt.name.push_str("t 1");
        attempt.why = Some("open /srv/x: permission denied".to_owned());
        assert_eq!(denial_words(&attempt), None);
        attempt.process.fence = Some("write".to_owned());
        assert_eq!(
            denial_words(&attempt).as_deref(),
            Some("the fence may have denied access to /srv/x; see `planwright logs 't 1' --fence`")
        );
    }
}
