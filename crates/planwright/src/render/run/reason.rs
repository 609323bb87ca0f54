//! The first useful line of a long text that says why something failed.

use super::columns::{fit, tame};

/// The longest reason that is shown.
const MAX_COLUMNS: usize = 160;

/// How many lines are looked at.
const MAX_LINES: usize = 5_000;

/// Returns the line of a text that most likely says what went wrong, cut and harmless; none where no line says anything.
///
/// Errors come before failures, failures before anything else, earlier before later. Traces of calls, rules and blank lines
/// say nothing.
pub(crate) fn first_useful_line(text: &str) -> Option<String> {
    let mut best: Option<(Use, String)> = None;
    let mut trace = Trace::Outside;
    let mut lines = text.lines().take(MAX_LINES).peekable();
    while let Some(raw) = lines.next() {
        let line = tame(raw);
        trace = trace.after(raw, &line);
        if trace == Trace::Inside || is_noise(&line) {
            continue;
        }
        let found = use_of(&line.to_lowercase());
        if best.as_ref().is_some_and(|(so_far, _)| *so_far <= found) {
            continue;
        }
        // Rust says where on one line, and what on the next.
        let rest = if line.ends_with(':') && line.contains("panicked at") {
            lines.peek().map_or_else(String::new, |next| format!(" {}", tame(next)))
        } else {
            String::new()
        };
        best = Some((found, line + &rest));
        if found == Use::Error {
            break;
        }
    }
    best.map(|(_, line)| fit(&line, MAX_COLUMNS))
}

/// How much a line says, the most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Error,
    Failure,
    Something,
    /// What comes after the errors, to sum them up.
    Sum,
}

fn use_of(line: &str) -> Use {
    const SUMS: &[&str] = &[
        "error: aborting due to",
        "error: could not compile",
        "error: test failed, to rerun",
        "npm err! a complete log",
        "error: process completed with exit code",
    ];
    const ERRORS: &[&str] = &[
        "error:",
        "error[",
        "error ",
        "panicked",
        "assert",
        "exception:",
        "fatal:",
    ];
    const FAILURES: &[&str] = &[
        "fail",
        "error",
        "cannot",
        "can't",
        "could not",
        "unable to",
        "denied",
        "not found",
        "no such",
        "refused",
        "timed out",
        "timeout",
        "conflict",
        "invalid",
    ];
    /// What looks like bad news and is none.
    const FINE: &[&str] = &[
        "0 failed",
        "0 failures",
        "0 errors",
        "no errors",
        "error-free",
        "warning",
    ];
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    match () {
        () if SUMS.iter().any(|sum| line.starts_with(sum)) => Use::Sum,
        () if is_fine(line) || (has(FINE) && !line.starts_with("error")) => Use::Something,
        () if has(ERRORS) || has_word(line, "error") => Use::Error,
        () if has(FAILURES) => Use::Failure,
        () => Use::Something,
    }
}

/// Returns whether a line tells of something that went well, or of what is being done, however its things are called:
/// `Compiling thiserror v2`, `test fails_late ... ok`. Quoted sources are no news either.
fn is_fine(line: &str) -> bool {
    const DOING: &[&str] = &[
        "adding",
        "building",
        "checking",
        "compiling",
        "documenting",
        "downloaded",
        "downloading",
        "finished",
        "fresh",
        "installing",
        "locking",
        "running",
        "updating",
    ];
    let first = line.split(' ').next().unwrap_or_default();
    let is_good = ["... ok", " passed", " pass"].iter().any(|end| line.ends_with(end));
    is_good || DOING.contains(&first) || ["ok", "✓", "✔", ">", "|"].contains(&first)
}

/// Returns whether a word stands in a line, and not only as a part of another one.
fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .any(|found| found == word)
}

/// Where a line stands to a trace of calls whose frames are indented.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trace {
    Outside,
    Inside,
}

impl Trace {
    fn after(self, raw: &str, line: &str) -> Self {
        let begins = line.starts_with("Traceback (most recent call last)")
            || line.starts_with("stack backtrace:")
            || line.starts_with("goroutine ");
        let goes_on = self == Trace::Inside && (line.is_empty() || raw.starts_with([' ', '\t']));
        if begins || goes_on {
            Trace::Inside
        } else {
            Trace::Outside
        }
    }
}

fn is_noise(line: &str) -> bool {
    let is_frame = line.starts_with("at ") && (line.ends_with(')') || line.contains(':'));
    let is_place = line.starts_with("File \"") || line.starts_with("--> ");
    let is_advice =
        line.starts_with("note: run with `RUST_BACKTRACE") || line.starts_with("note: Some details are omitted");
    let says_nothing = !line.chars().any(char::is_alphanumeric);
    is_frame || is_place || is_advice || says_nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(first_useful_line(text).as_deref(), Some(expected));
    }

    #[test]
    fn errors_come_before_the_rest() {
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
    fn names_of_things_are_no_news() {
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
            "--- FAIL: TestX (0.00s)",
        );
    }

    #[test]
    fn traces_say_nothing() {
        check(
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    assert a == b, 'fatal: x'\nAssertionError: 1 != 2\n",
            "AssertionError: 1 != 2",
        );
        check(
            "running 1 test\nthread 'it' panicked at src/a.rs:3:5:\nassertion `left == right` failed\n  left: 1\nstack backtrace:\n   0: std::panicking::begin\n",
            "thread 'it' panicked at src/a.rs:3:5: assertion `left == right` failed",
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
}
