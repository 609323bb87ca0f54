//! For any target of a path, every verb answers with a finding and its exit code, and prints no control sequences.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use planwright::core::text::MAX_BYTES;

use crate::plans;
use crate::run::clido;
use crate::sandbox::{Ran, Sandbox};

/// The verbs that read a plan, each with a plan called `{}`.
const READERS: &[&[&str]] = &[
    &["check", "{}"],
    &["check", "--json", "{}"],
    &["check", "--format", "sarif", "{}"],
    &["check", "--format", "github", "{}"],
    &["check", "--all", "{}"],
    &["show", "{}"],
    &["show", "--json", "{}"],
    &["next", "--all", "{}"],
    &["next", "--all", "--json", "{}"],
    &["why", "t1", "-p", "{}"],
    &["why", "--json", "t1", "-p", "{}"],
    &["graph", "{}"],
    &["graph", "--format", "mermaid", "{}"],
    &["graph", "--format", "dot", "{}"],
    &["graph", "--json", "{}"],
    &["hash", "{}"],
    &["hash", "--json", "{}"],
];

/// Verbs whose piped output is for programs and must be exact: a diff to apply, the original's own answers.
const EXACT: &[&[&str]] = &[
    &["check", "--diff", "--unsafe", "{}"],
    &["spec-first", "tasks", "hash", "{}"],
    &["spec-first", "tasks", "validate", "{}"],
    &["spec-first", "tasks", "validate", "--json", "{}"],
];

/// Runs every reading verb on a plan, checks that each ends properly, and returns the output of `check`.
#[track_caller]
fn read_by_all(sandbox: &Sandbox, plan: &str) -> Ran {
    for reader in READERS {
        let args: Vec<&str> = reader.iter().map(|arg| if *arg == "{}" { plan } else { arg }).collect();
        let ran = sandbox.run(&args);
        ran.is_decent();
        let is_silent = ran.stdout.is_empty() && ran.stderr.is_empty();
        // A diff of nothing, and annotations of nothing, are empty.
        assert!(!is_silent || ran.status == Some(0), "{args:?} says nothing");
    }
    for exact in EXACT {
        let args: Vec<&str> = exact.iter().map(|arg| if *arg == "{}" { plan } else { arg }).collect();
        sandbox.run(&args).is_orderly();
    }
    sandbox.run(&["list"]).is_decent();
    sandbox.run(&["list", "--json"]).is_decent();
    sandbox.run(&["check", plan])
}

/// Checks a file of these bytes: the exit code of `check`, and its finding.
#[track_caller]
fn check_bytes(bytes: &[u8], status: i32, finding: &str) -> Ran {
    let sandbox = Sandbox::new();
    sandbox.write("plan.json", bytes);
    let ran = read_by_all(&sandbox, "plan.json").exits(status);
    assert!(ran.stdout.contains(finding), "`{finding}` is not in\n{}", ran.text());
    let by_pipe = sandbox.run_with(&["check", "-"], bytes);
    by_pipe.is_decent();
    ran
}

#[test]
fn an_empty_file() {
    check_bytes(b"", 1, "error[empty-file]");
    check_bytes(b" \n\t\r\n", 1, "error[empty-file]");
    check_bytes(b"\xef\xbb\xbf", 1, "error[empty-file]");
}

#[test]
fn a_binary_file() {
    let bytes: Vec<u8> = (0..4_000u32).map(|ix| (ix * 7919 % 256) as u8).collect();
    check_bytes(&bytes, 1, "error[binary-file]");
    let binary = fs::read(env!("CARGO_BIN_EXE_planwright")).expect("the binary was built");
    check_bytes(&binary[..100_000], 1, "error[binary-file]");
}

#[test]
fn a_text_that_is_not_utf_8() {
    let bytes = plans::CLIDO.replace("lexer", "l\u{1}xer").into_bytes();
    let bytes: Vec<u8> = bytes
        .into_iter()
        .map(|byte| if byte == 1 { 0xe9 } else { byte })
        .collect();
    check_bytes(&bytes, 1, "error[invalid-utf8]");
}

#[test]
fn nul_bytes() {
    check_bytes(b"{\"goal\": \"a\0b\", \"tasks\": []}", 1, "error[json-string]");
    check_bytes(b"\0\0\0\0", 1, "error[");
    check_bytes(b"id: a\0b\ntask: x\n", 1, "error[");
}

#[test]
fn lone_surrogates() {
    check_bytes(
        br#"{"goal": "\ud83d", "tasks": [{"id": "\udc00", "description": "\ud800\ud800", "depends_on": ["\udc00"]}]}"#,
        1,
        "error[json-surrogate]",
    );
}

#[test]
fn line_ends_of_both_kinds() {
    let mixed: String = plans::OPENCRABS
        .lines()
        .enumerate()
        .fold(String::new(), |mut text, (ix, line)| {
            text.push_str(line);
            text.push_str(if ix % 2 == 0 { "\r\n" } else { "\n" });
            text
        });
    check_bytes(mixed.as_bytes(), 0, "no problems");
    let mixed = plans::RAWKO.replacen('\n', "\r\n", 3);
    check_bytes(mixed.as_bytes(), 0, "1 file checked");
}

#[test]
fn numbers_beyond_all_bounds() {
    for number in [
        "99999999999999999999",
        "-9223372036854775809",
        "1e400",
        "0.1e99999999999999999999",
    ] {
        for place in ["\"priority\": 1,", "\"maxConcurrency\": 2"] {
            let new = format!(
                "{}: {number}{}",
                place.split(':').next().unwrap_or(""),
                if place.ends_with(',') { "," } else { "" }
            );
            let sandbox = Sandbox::with(&[("plan.json", &plans::AIMI.replace(place, &new))]);
            read_by_all(&sandbox, "plan.json").is_decent();
        }
        let sandbox = Sandbox::with(&[("plan.json", &plans::OPENCRABS.replace("[1, 2]", &format!("[{number}]")))]);
        read_by_all(&sandbox, "plan.json").exits(1);
        let text = plans::RAWKO.replace("dependsOn: [1]", &format!("dependsOn: [{number}]"));
        let sandbox = Sandbox::with(&[("plan.yaml", &text)]);
        read_by_all(&sandbox, "plan.yaml").exits(1);
        let text = plans::RAWKO.replace("index: 2", &format!("index: {number}"));
        let sandbox = Sandbox::with(&[("plan.yaml", &text)]);
        read_by_all(&sandbox, "plan.yaml").exits(1);
    }
}

#[test]
fn a_folder_and_a_missing_file() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path().join("folder.json")).expect("the folder is ours");
    read_by_all(&sandbox, "folder.json").exits(1);
    sandbox.run(&["show", "folder.json"]).exits(1);
    read_by_all(&sandbox, "gone.json").exits(3).is_as_in("bad-missing");
    sandbox
        .run(&["show", "gone.json"])
        .exits(3)
        .is_as_in("bad-missing-show");
    read_by_all(&sandbox, "plan.json/below").exits(3);
    sandbox.write("plan.json", plans::CLIDO);
    read_by_all(&sandbox, "plan.json/below").exits(3);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let path = sandbox.write("plan.json", plans::CLIDO);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("the file is ours");
    if File::open(&path).is_ok() {
        eprintln!("a_file_that_may_not_be_read: skipped, this user may read everything");
        return;
    }
    let ran = read_by_all(&sandbox, "plan.json").exits(3);
    assert!(ran.stdout.contains("error[unreadable-file]"), "{}", ran.text());
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let made = std::process::Command::new("mkfifo")
        .arg(sandbox.path().join("plan.json"))
        .status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("a_pipe_is_not_waited_for: skipped, there is no `mkfifo` on this machine");
        return;
    }
    let ran = read_by_all(&sandbox, "plan.json").exits(3);
    assert!(ran.stdout.contains("pipe"), "{}", ran.text());
    // A pipe where plans are searched for must not stop the search.
    sandbox.write("good.json", plans::CLIDO);
    sandbox.run(&["check"]).exits(0);
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_or_round() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    let at = |name: &str| sandbox.path().join(name);
    symlink("b.json", at("a.json")).expect("the folder is ours");
    symlink("a.json", at("b.json")).expect("the folder is ours");
    let ran = read_by_all(&sandbox, "a.json").exits(3);
    assert!(ran.stdout.contains("leads back to itself"), "{}", ran.text());
    symlink("gone.json", at("dangling.json")).expect("the folder is ours");
    read_by_all(&sandbox, "dangling.json").exits(3);
    symlink(".", at("here")).expect("the folder is ours");
    sandbox.write("plan.json", plans::CLIDO);
    sandbox.run(&["check"]).exits(0);
}

#[test]
fn a_file_of_200_megabytes() {
    let sandbox = Sandbox::new();
    let file = File::create(sandbox.path().join("plan.json")).expect("the folder is ours");
    file.set_len(200 * 1024 * 1024).expect("a sparse file");
    let ran = read_by_all(&sandbox, "plan.json").exits(1);
    assert!(ran.stdout.contains("error[too-large]"), "{}", ran.text());
    let report = sandbox.run(&["check", "--json", "plan.json"]).exits(1).stdout;
    assert!(report.contains("too large"), "{report}");
}

#[test]
fn more_on_standard_input_than_is_read() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run_with(&["check", "-"], vec![b' '; MAX_BYTES + 1]).exits(1);
    assert!(ran.stdout.contains("error[too-large]"), "{}", ran.text());
}

#[test]
fn a_device() {
    if !Path::new("/dev/zero").exists() {
        eprintln!("a_device: skipped, there is no /dev/zero on this machine");
        return;
    }
    read_by_all(&Sandbox::new(), "/dev/zero").exits(3);
}

/// Sequences that clear screens, set titles, move cursors and turn text around.
const EVIL: &[char] = &[
    '\u{1b}', '\u{9b}', '\u{9d}', '\u{7}', '\u{8}', '\u{7f}', '\u{202e}', '\u{2066}', '\u{200f}',
];

/// Returns the characters as JSON and YAML escape them.
fn escaped() -> String {
    EVIL.iter().map(|&c| format!("\\u{:04x}[31m", c as u32)).collect()
}

/// Returns the characters that JSON and YAML allow as they are.
fn raw() -> String {
    let allowed = EVIL.iter().filter(|c| !c.is_control() || **c == '\u{9b}');
    allowed.map(|c| format!("{c}[31m")).collect()
}

/// Checks that the output of no verb contains control or bidirectional characters.
#[track_caller]
fn check_evil(text: &str, name: &str, task: &str) {
    let sandbox = Sandbox::with(&[(name, text), (".clido/plans/evil.json", text)]);
    let mut readers: Vec<Vec<String>> = READERS
        .iter()
        .map(|reader| {
            reader
                .iter()
                .map(|arg| if *arg == "{}" { name } else { arg }.to_owned())
                .collect()
        })
        .collect();
    for json in [None, Some("--json")] {
        let args = ["why", task, "-p", name].into_iter().chain(json);
        readers.push(args.map(str::to_owned).collect());
    }
    readers.push(["list"].map(str::to_owned).to_vec());
    readers.push(["list", "--json"].map(str::to_owned).to_vec());
    readers.push(["show", "nobody-is-called-this"].map(str::to_owned).to_vec());
    let mut slips = Vec::new();
    for args in &readers {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = sandbox.run(&args);
        assert!(matches!(ran.status, Some(0..=3)), "{args:?}: {:?}", ran.text());
        // JSON is data: bidirectional characters are allowed in it, control characters are not.
        let is_data = args.iter().any(|arg| matches!(*arg, "--json" | "sarif"));
        let evil = EVIL.iter().filter(|c| c.is_control() || !is_data);
        let printed: Vec<char> = evil
            .copied()
            .filter(|&c| ran.stdout.contains(c) || ran.stderr.contains(c))
            .collect();
        if !printed.is_empty() {
            slips.push(format!("{args:?} prints {printed:?}"));
        }
    }
    assert!(slips.is_empty(), "{}", slips.join("\n"));
}

#[test]
fn escape_sequences_in_a_clido_plan() {
    for evil in [escaped(), raw()] {
        let text = format!(
            "{{\"goal\": \"g{evil}\", \"id\": \"i{evil}\", \"tasks\": [\n\
             {{\"id\": \"t1{evil}\", \"description\": \"d{evil}\", \"status\": \"s{evil}\", \"notes\": \"{evil}\"}},\n\
             {{\"id\": \"t2{evil}\", \"description\": \"d{evil}\", \"depends_on\": [\"t1{evil}\", \"t3{evil}\", \"gone{evil}\"]}},\n\
             {{\"id\": \"t3{evil}\", \"description\": \"d{evil}\", \"depends_on\": [\"t2{evil}\", \"t3{evil}\"], \"complexity\": \"{evil}\"}},\n\
             {{\"id\": \"t3{evil}\", \"description\": \"d{evil}\", \"dependson{evil}\": [], \"key{evil}\": 1, \"key{evil}\": 2}},\n\
             {{\"id\": \"t4{evil}\", \"description\": \"d{evil}\", \"status\": \"failed\", \"notes\": \"n{evil}\"}},\n\
             {{\"id\": \"t5{evil}\", \"description\": \"d{evil}\", \"depends_on\": [\"t4{evil}\"]}}\n]}}\n"
        );
        check_evil(&text, "plan.json", "t1\u{1b}[31m");
    }
}

#[test]
fn escape_sequences_in_an_opencrabs_plan() {
    for evil in [escaped(), raw()] {
        let text = plans::OPENCRABS
            .replace("Dark mode", &format!("Dark{evil}"))
            .replace("Name them", &format!("Name{evil}"))
            .replace("\"edit\"", &format!("\"edit{evil}\""))
            .replace("[1, 2]", &format!("[1, \"{evil}\"]"));
        check_evil(&text, "plan.json", "2");
    }
}

#[test]
fn escape_sequences_in_an_aimi_file() {
    for evil in [escaped(), raw()] {
        let text = plans::AIMI
            .replace("US-001", &format!("US-001{evil}"))
            .replace("feat/charts", &format!("feat/{evil}"))
            .replace("Draw the", &format!("Draw {evil}"))
            .replace("\"completed\"", &format!("\"done{evil}\""));
        check_evil(&text, "2026-03-03-charts-tasks.json", "US-002");
        check_evil(
            &text.replace("\"3.0\"", &format!("\"3{evil}\"")),
            "tasks.json",
            "US-002",
        );
    }
}

#[test]
fn escape_sequences_in_a_rawko_plan() {
    for evil in [escaped(), raw()] {
        let text = plans::RAWKO
            .replace("plan-20260501-cellar", &format!("\"plan{evil}\""))
            .replace("Tidy the cellar", &format!("\"Tidy{evil}\""))
            .replace("Mop", &format!("\"Mop{evil}\""))
            .replace("complete", &format!("\"done{evil}\""))
            .replace(
                "dependsOn: [1]",
                &format!("dependsOn: [\"{evil}\"]\n    \"key{evil}\": 1\n    \"key{evil}\": 2"),
            );
        check_evil(&text, "plan.yaml", "1");
    }
}

#[test]
fn escape_sequences_in_a_task_pack() {
    for evil in [escaped(), raw()] {
        let text = plans::task_pack(&format!("sha256:{}", raw()))
            .replace("Import photos", &format!("Import{}", raw()))
            .replace("docs/plans/photos.md", &format!("docs/{}", raw()))
            .replace("T001", &format!("T001{evil}"))
            .replace("src/card.rs", &format!("../{evil}"))
            .replace("\"wave\": 2", &format!("\"wave\": \"{evil}\", \"x{evil}\": 1"));
        check_evil(&text, "docs/tasks/2026-05-11-001-feat-photos-tasks.md", "T002");
    }
}

#[test]
fn escape_sequences_in_broken_texts() {
    let evil: String = EVIL.iter().collect();
    for text in [
        format!("{{\"goal\": \"{evil}\", {evil}: 1, \"tasks\": [}}"),
        format!("{{\"goal\": {evil}, \"tasks\": [ /* {evil} */ 'x{evil}' ]}}"),
        format!("id: \"{evil}\"\ntask: [\nsteps: {evil}\n"),
        format!("prose {evil}\n```json\n{{\"goal\": \"x\", \"tasks\": []}}\n```\n{evil}\n"),
        format!("---\ntype: task-pack\nstatus: {evil}\n---\n## Task Pack Contract\n```json\n{{{evil}}}\n```\n"),
    ] {
        check_evil(&text, "plan.json", "t1");
    }
}

#[cfg(unix)]
#[test]
fn escape_sequences_in_a_file_name() {
    check_evil(plans::CLIDO_BAD, "plan\u{1b}[31m\u{9b}x\u{202e}.json", "t1");
    check_evil("{", "plan\u{1b}[31m\u{9b}x\u{202e}.json", "t1");
    let sandbox = Sandbox::new();
    for reader in READERS {
        let args: Vec<&str> = reader
            .iter()
            .map(|arg| if *arg == "{}" { "gone\u{1b}[2J\u{9b}.json" } else { arg })
            .collect();
        sandbox.run(&args).is_decent();
    }
    sandbox.run(&["check", "--explain", "x\u{1b}[2J"]).exits(2).is_decent();
    sandbox.run(&["check", "--dialect", "x\u{1b}[2J"]).exits(2).is_decent();
    sandbox.run(&["show", "x\u{1b}[2J"]).exits(1).is_decent();
    sandbox.run(&["man", "x\u{1b}[2J"]).exits(2).is_decent();
    sandbox.run(&["x\u{1b}[2J"]).exits(2).is_decent();
}

/// Replaces a file repeatedly while a test runs.
fn while_rewriting<T>(write: impl Fn(usize) + Sync, run: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                write(round);
            }
        });
        let result = run();
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn a_file_that_is_overwritten_while_it_is_read() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("plan.json", plans::CLIDO);
    let long = plans::CLIDO.replace("Write it down", &"x".repeat(2_000_000));
    let write = |round: usize| {
        let text = if round.is_multiple_of(2) { &long } else { plans::CLIDO };
        fs::write(&path, text).expect("the file is ours");
    };
    while_rewriting(write, || {
        for _ in 0..15 {
            // A half-written file may be read, and is then judged as it is.
            sandbox.run(&["check", "plan.json"]).is_decent();
            sandbox.run(&["show", "plan.json"]).is_decent();
        }
    });
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_is_one_or_the_other() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("plan.json", plans::CLIDO);
    let other = sandbox.path().join("next.tmp");
    let long = plans::CLIDO.replace("Write it down", &"x".repeat(200_000));
    let write = |round: usize| {
        let text = if round.is_multiple_of(2) { &long } else { plans::CLIDO };
        fs::write(&other, text).expect("the folder is ours");
        fs::rename(&other, &path).expect("the folder is ours");
    };
    while_rewriting(write, || {
        for _ in 0..20 {
            let ran = sandbox.run(&["check", "plan.json"]);
            ran.is_decent();
            assert!(
                matches!(ran.status, Some(0 | 3)),
                "both texts are sound:\n{}",
                ran.text()
            );
        }
    });
}

#[test]
fn fixes_of_a_file_that_is_replaced_are_never_a_mixture() {
    let sandbox = Sandbox::new();
    let (one, two) = (
        "{\"goal\": \"one\", \"tasks\": [{\"id\": \"t1\", \"description\": \"x\"},]}",
        "{\"goal\": \"number two\", \"tasks\": [{\"id\": \"t1\", \"description\": \"x\", \"skip\": False}]}",
    );
    let path = sandbox.write("plan.json", one);
    let other = sandbox.path().join("next.tmp");
    let write = |round: usize| {
        fs::write(&other, if round.is_multiple_of(2) { one } else { two }).expect("the folder is ours");
        fs::rename(&other, &path).expect("the folder is ours");
    };
    while_rewriting(write, || {
        for _ in 0..20 {
            sandbox.run(&["check", "--fix", "plan.json"]).is_decent();
        }
    });
    let (one_fixed, two_fixed) = (one.replace(",]", "]"), two.replace("False", "false"));
    let left = sandbox.read("plan.json");
    assert!([one, two, &one_fixed, &two_fixed].contains(&left.as_str()), "{left}");
    let names: Vec<_> = fs::read_dir(sandbox.path())
        .expect("a readable folder")
        .flatten()
        .collect();
    let names: Vec<_> = names
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.len() <= 3, "temporary files are left: {names:?}");
}

#[test]
fn a_task_that_cannot_be_read_is_not_called_unknown() {
    let plan = clido(&["t1", "t2 t1"]).replace("\"id\": \"t1\"", "\"id: \"t1\"");
    let sandbox = Sandbox::with(&[("plan.json", &plan)]);
    let refused = sandbox.run(&["why", "t1", "-p", "plan.json"]).exits(1).stderr;
    assert!(refused.contains("the plan has syntax errors"), "{refused}");
    for verb in [
        &["set", "t1", "notes=x"][..],
        &["done", "t1"],
        &["start", "t2"],
        &["reset", "t2"],
        &["add", "One more"],
        &["rename", "t1", "x"],
    ] {
        let refused = sandbox.run(&[verb, &["-p", "plan.json"]].concat()).exits(1).stderr;
        assert!(refused.contains("syntax error in line 4: "), "{verb:?}: {refused}");
        assert!(refused.contains("`planwright check plan.json`"), "{verb:?}: {refused}");
    }
    assert_eq!(sandbox.read("plan.json"), plan);
}

#[test]
fn no_task_of_a_plan_with_a_syntax_error_is_called_ready() {
    let plan = clido(&["t1", "t2 t1"]).replacen("\"t1\",", "\"t1\"", 1);
    let sandbox = Sandbox::with(&[("plan.json", &plan)]);
    for verb in [&["show"][..], &["next"], &["why", "t1"], &["show", "t1"]] {
        let ran = sandbox.run(&[verb, &["-p", "plan.json"]].concat());
        let text = ran.text();
        assert!(text.contains("syntax error in line 4: "), "{verb:?}: {text}");
        assert!(
            !text.contains("ready: t1") && !text.contains("is ready"),
            "{verb:?}: {text}"
        );
    }
    let report = sandbox.run(&["why", "t1", "-p", "plan.json", "--json"]).json();
    assert_eq!(
        (&report["ready"], &report["closed"]["gate"]),
        (&false.into(), &"syntax".into())
    );
}
