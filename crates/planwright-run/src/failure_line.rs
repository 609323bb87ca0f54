//! Finds the line of a program's output that states why it failed, for common test runners and compilers.

use std::iter::Peekable;

const MAX_LINES: usize = 5_000;

/// How many lines are added to a line that announces them.
const MAX_DETAILS: usize = 2;

/// Returns the line of a text that most likely states why a program failed; none if no line states anything.
///
/// A cause in the form of a known test runner comes before errors, errors before failures, failures before headings. Among equals
/// the first one counts. `clean` returns a line in the form in which it is shown; that form is judged.
pub fn failure_line(text: &str, clean: impl Fn(&str) -> String) -> Option<String> {
    let mut best: Option<(LineRank, String)> = None;
    let mut trace = StackTrace::Outside;
    let mut lines = text.lines().take(MAX_LINES).peekable();
    while let Some(raw) = lines.next() {
        let line = clean(raw);
        trace = trace.after(raw, &line);
        if trace == StackTrace::Inside || is_noise(&line) {
            continue;
        }
        let found = rank_of(&line);
        if best.as_ref().is_some_and(|(so_far, _)| *so_far <= found) {
            continue;
        }
        best = Some((found, with_details(line, &mut lines, &clean)));
        if found == LineRank::Cause {
            break;
        }
    }
    best.map(|(_, line)| line)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineRank {
    /// The cause, in the form of a known test runner.
    Cause,
    Error,
    Failure,
    /// The name of a test or file that failed; the reason follows.
    Heading,
    Other,
    /// The total, after the errors.
    Total,
}

fn rank_of(line: &str) -> LineRank {
    const TOTALS: &[&str] = &[
        "error: aborting due to",
        "error: could not compile",
        "error: test failed, to rerun",
        "npm err! a complete log",
        "npm error a complete log",
        "error: process completed with exit code",
    ];
    const ERRORS: &[&str] = &[
        "error:",
        "error[",
        "error ",
        "panicked",
        "panic:",
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
    /// Lines that look like failures and are none.
    const FINE: &[&str] = &[
        "0 failed",
        "0 failures",
        "0 errors",
        "no errors",
        "error-free",
        "warning",
    ];
    let lower = line.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    match () {
        () if TOTALS.iter().any(|total| lower.starts_with(total)) => LineRank::Total,
        () if is_cause(line) => LineRank::Cause,
        () if is_heading(line) => LineRank::Heading,
        () if is_fine(&lower) || (has(FINE) && !lower.starts_with("error")) => LineRank::Other,
        () if has(ERRORS) || has_word(&lower, "error") || is_go_position(line) => LineRank::Error,
        () if has(FAILURES) => LineRank::Failure,
        () => LineRank::Other,
    }
}

/// Returns whether a line states the cause: `E   assert 1 == 2` of pytest, `ValueError: x` of Python and JavaScript,
/// `expect(received).toBe(expected)` of jest, a panic of Rust or Go.
fn is_cause(line: &str) -> bool {
    let is_pytest = line.strip_prefix("E ").is_some_and(|cause| !cause.trim().is_empty());
    let is_jest = line.starts_with("expect(") && line.contains(").");
    let is_panic = line.starts_with("panic: ") || (line.starts_with("thread '") && line.contains(" panicked at"));
    is_pytest || is_jest || is_panic || is_exception(line)
}

/// Returns whether a line is the last one of a trace: the name of an exception, then its message.
fn is_exception(line: &str) -> bool {
    const ENDS: [&str; 4] = ["Error", "Exception", "Interrupt", "Exit"];
    let (name, message) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
    // Node.js adds a code: `AssertionError [ERR_ASSERTION]: …`.
    let name = name.split_once(" [").map_or(name, |(name, _)| name);
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_exception = last.starts_with(|c: char| c.is_ascii_uppercase()) && ENDS.iter().any(|end| last.ends_with(end));
    // A plain `Error` can be anything, and unittest wraps the real error of an import.
    is_name && is_exception && last != "Error" && !message.starts_with("Failed to import test module")
}

/// Returns whether a line only names what failed, as test runners do above the reason.
fn is_heading(line: &str) -> bool {
    const BEGINNINGS: [&str; 7] = [
        "--- FAIL:",
        "FAIL:",
        "FAIL ",
        "not ok ",
        "# Subtest:",
        "ImportError while importing",
        "ImportError while loading",
    ];
    const SIGNS: [char; 6] = ['✖', '✕', '✗', '×', '●', '❯'];
    let inner = line.trim_matches(['=', '_', '-', ' ']);
    let is_ruled = inner.len() + 6 <= line.len() && line.starts_with(['=', '_']);
    let is_test = line.starts_with("test ") && (line.ends_with(" FAILED") || line.ends_with(" failed"));
    // unittest names the test twice: `ERROR: test_b (tests.T.test_b)`.
    let is_unittest = line.starts_with("ERROR: ") && line.contains(" (") && line.ends_with(')');
    let begins = BEGINNINGS.iter().any(|beginning| line.starts_with(beginning));
    is_ruled || is_test || is_unittest || begins || line == "FAIL" || line.starts_with(SIGNS)
}

/// Returns whether a line begins with a position in Go sources and has a message: `a_test.go:5: got 1, want 2`.
fn is_go_position(line: &str) -> bool {
    let Some((file, rest)) = line.split_once(".go:") else {
        return false;
    };
    let message = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
    !file.contains(' ')
        && rest.starts_with(|c: char| c.is_ascii_digit())
        && message.starts_with(' ')
        && message.len() > 1
}

/// Returns whether a line reports success or progress, even if a name in it looks like a failure: `Compiling thiserror v2`, `test
/// fails_late ... ok`. Quoted sources do not count either.
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
    let is_quoted = line
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .starts_with([' ', '|'])
        && line.split(' ').nth(1) == Some("|");
    is_good || is_quoted || DOING.contains(&first) || ["ok", "✓", "✔", "ℹ", ">", "|", "#"].contains(&first)
}

/// Returns whether a line contains a word, and not only as a part of another one.
fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .any(|found| found == word)
}

/// Returns a line with the lines that it announces: the message of a panic, the values that differ.
fn with_details<'t>(
    line: String,
    lines: &mut Peekable<impl Iterator<Item = &'t str>>,
    clean: &impl Fn(&str) -> String,
) -> String {
    let is_jest = line.starts_with("expect(");
    let block = line.strip_suffix(" |-").or_else(|| line.strip_suffix(" >-"));
    let mut text = match (block, is_jest) {
        (Some(label), _) => label.to_owned(),
        (None, true) => line.split(" // ").next().unwrap_or_default().to_owned(),
        (None, false) => line,
    };
    let mut n_added = 0;
    while let Some(next) = lines.peek().map(|next| clean(next)) {
        let is_value = ["left:", "right:", "Expected", "Received"]
            .iter()
            .any(|label| next.starts_with(label));
        let is_wanted = text.ends_with(':') || (is_value && (is_jest || text.contains("panicked at")));
        match next.is_empty() {
            true if text.ends_with(':') || is_jest => {}
            false if is_wanted && n_added < MAX_DETAILS + usize::from(text.contains("panicked at")) => {
                text.push_str(if text.ends_with(':') { " " } else { ", " });
                text.push_str(&next);
                n_added += 1;
            }
            _ => break,
        }
        lines.next();
    }
    text
}

/// The position of a line in a stack trace with indented frames.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StackTrace {
    Outside,
    Inside,
}

impl StackTrace {
    fn after(self, raw: &str, line: &str) -> Self {
        let begins = line.starts_with("Traceback (most recent call last)")
            || line.starts_with("stack backtrace:")
            || line.starts_with("goroutine ");
        let continues = self == StackTrace::Inside && (line.is_empty() || raw.starts_with([' ', '\t']));
        if begins || continues {
            StackTrace::Inside
        } else {
            StackTrace::Outside
        }
    }
}

fn is_noise(line: &str) -> bool {
    let is_frame = line.starts_with("at ") && (line.ends_with(')') || line.contains(':'));
    let is_place = line.starts_with("File \"") || line.starts_with("--> ") || line.starts_with("Error Trace:");
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
        let clean = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(failure_line(text, clean).as_deref(), Some(expected));
    }

    #[test]
    fn pytest_states_the_assertion() {
        check(
            r#"FF                                                                       [100%]
=================================== FAILURES ===================================
_____________________________ test_error_is_raised _____________________________

    def test_error_is_raised():
>       assert add(1, 2) == 3, "sum is wrong"
E       AssertionError: sum is wrong
E       assert -1 == 3
E        +  where -1 = add(1, 2)

test_a.py:4: AssertionError
=========================== short test summary info ============================
FAILED test_a.py::test_error_is_raised - AssertionError: sum is wrong
1 failed in 0.03s
"#,
            "E AssertionError: sum is wrong",
        );
        check(
            r#"
==================================== ERRORS ====================================
__________________________ ERROR collecting test_b.py __________________________
ImportError while importing test module '/home/me/test_b.py'.
Hint: make sure your test modules/packages have valid Python names.
Traceback:
/usr/lib/python3.11/importlib/__init__.py:126: in import_module
    return _bootstrap._gcd_import(name[level:], package, level)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
test_b.py:1: in <module>
    import nonexistent_mod
E   ModuleNotFoundError: No module named 'nonexistent_mod'
=========================== short test summary info ============================
ERROR test_b.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
1 error in 0.08s
"#,
            "E ModuleNotFoundError: No module named 'nonexistent_mod'",
        );
        check(
            "FAILED test_a.py::test_add - AssertionError: sum is wrong\n1 failed in 0.03s\n",
            "FAILED test_a.py::test_add - AssertionError: sum is wrong",
        );
    }

    #[test]
    fn unittest_states_the_exception() {
        check(
            r#"F
======================================================================
FAIL: test_it (test_a.T.test_it)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/home/me/test_a.py", line 7, in test_it
    self.assertEqual(add(1,2), 3)
AssertionError: -1 != 3

----------------------------------------------------------------------
Ran 1 test in 0.001s

FAILED (failures=1)
"#,
            "AssertionError: -1 != 3",
        );
        check(
            r#"E
======================================================================
ERROR: test_b (unittest.loader._FailedTest.test_b)
----------------------------------------------------------------------
ImportError: Failed to import test module: test_b
Traceback (most recent call last):
  File "/usr/lib/python3.11/unittest/loader.py", line 162, in loadTestsFromName
    module = __import__(module_name)
             ^^^^^^^^^^^^^^^^^^^^^^^
  File "/home/me/test_b.py", line 1, in <module>
    import nonexistent_mod
ModuleNotFoundError: No module named 'nonexistent_mod'


----------------------------------------------------------------------
Ran 1 test in 0.000s

FAILED (errors=1)
"#,
            "ModuleNotFoundError: No module named 'nonexistent_mod'",
        );
    }

    #[test]
    fn a_python_trace_states_its_last_line() {
        check(
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    open('/etc/x', 'w')\nPermissionError: [Errno 13] Permission denied: '/etc/x'\n",
            "PermissionError: [Errno 13] Permission denied: '/etc/x'",
        );
        check(
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    assert a == b\nAssertionError\n",
            "AssertionError",
        );
    }

    #[test]
    fn node_states_the_values_that_differ() {
        check(
            r#"TAP version 13
# Subtest: reports an error
not ok 1 - reports an error
  ---
  duration_ms: 1.675081
  location: '/home/me/a.test.mjs:2:1'
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:

    1 !== 2

  code: 'ERR_ASSERTION'
  name: 'AssertionError'
  stack: |-
    TestContext.<anonymous> (file:///home/me/a.test.mjs:2:41)
  ...
1..1
# tests 1
# fail 1
"#,
            "error: Expected values to be strictly equal: 1 !== 2",
        );
        check(
            r#"✖ reports an error (1.733158ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

  1 !== 2

      at TestContext.<anonymous> (file:///home/me/a.test.mjs:2:41)
      at Test.run (node:internal/test_runner/test:796:25) {
    generatedMessage: true,
    code: 'ERR_ASSERTION',
  }

ℹ tests 1
ℹ fail 1

✖ failing tests:
"#,
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 1 !== 2",
        );
    }

    #[test]
    fn jest_states_what_was_expected_and_received() {
        check(
            r#"FAIL ./b.test.js
  ✕ adds (4 ms)

  ● adds

    expect(received).toBe(expected) // Object.is equality

    Expected: 4
    Received: 3

    > 1 | test('adds', () => { expect(1+2).toBe(4); });
        |                                  ^
      2 |

      at Object.toBe (b.test.js:1:34)

Test Suites: 1 failed, 1 total
"#,
            "expect(received).toBe(expected), Expected: 4, Received: 3",
        );
        check(
            r#"FAIL ./c.test.js
  ● Test suite failed to run

    Cannot find module './missing' from 'c.test.js'

    > 1 | const x = require('./missing'); test('adds', () => {});
        |           ^
      2 | // throws an error: x

      at Resolver._throwModNotFoundError (node_modules/jest-resolve/build/index.js:1031:11)

Test Suites: 1 failed, 1 total
"#,
            "Cannot find module './missing' from 'c.test.js'",
        );
    }

    #[test]
    fn go_states_the_message_of_the_test() {
        check(
            "--- FAIL: TestErrors (0.00s)\n    a_test.go:3: got 1, want 2\nFAIL\nFAIL\tex.com/a\t0.005s\nFAIL\n",
            "a_test.go:3: got 1, want 2",
        );
        check(
            "# ex.com/a [ex.com/a.test]\n./b.go:2:23: undefined: undefinedX\nFAIL\tex.com/a [build failed]\nFAIL\n",
            "./b.go:2:23: undefined: undefinedX",
        );
        check(
            "--- FAIL: TestP (0.00s)\npanic: runtime error: index out of range [5] with length 0 [recovered]\n\tpanic: runtime error: index out of range [5] with length 0\n\ngoroutine 18 [running]:\ntesting.tRunner.func1.2({0x518a00, 0xc0000d4000})\n\t/usr/lib/go/src/testing/testing.go:1396 +0x24e\n",
            "panic: runtime error: index out of range [5] with length 0 [recovered]",
        );
    }

    #[test]
    fn cargo_test_states_the_panic_with_its_values() {
        check(
            r#"   Compiling r v0.1.0 (/home/me/r)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.27s
     Running unittests src/lib.rs (target/debug/deps/r-2eeb798e46b18181)

running 2 tests
test tests::reports_errors ... FAILED
test tests::fails ... FAILED

failures:

---- tests::reports_errors stdout ----

thread 'tests::reports_errors' (10155) panicked at src/lib.rs:4:27:
assertion `left == right` failed
  left: 1
 right: 2
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    tests::reports_errors

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.14s

error: test failed, to rerun pass `--lib`
"#,
            "thread 'tests::reports_errors' (10155) panicked at src/lib.rs:4:27: assertion `left == right` failed, left: 1, right: 2",
        );
    }

    #[test]
    fn a_text_without_words_has_no_line() {
        let clean = |line: &str| line.trim().to_owned();
        assert_eq!(failure_line("\n---\n====\n", clean), None);
        assert_eq!(failure_line("plain words", clean).as_deref(), Some("plain words"));
    }
}
