//! `planwright check`: its output, its fixes, its exit codes.

use planwright::core::inspect::rules;
use serde_json::Value;

use crate::plans;
use crate::sandbox::{Ran, Sandbox};

/// Returns a workspace with a bad plan in each dialect, each with its file name.
fn bad_plans() -> (Sandbox, [&'static str; 5]) {
    let names = [
        "opencrabs.json",
        "clido.json",
        "2026-03-03-charts-tasks.json",
        "plan-20260501-cellar.yaml",
        "docs/tasks/2026-05-11-001-feat-photos-tasks.md",
    ];
    let pack = plans::task_pack_bad();
    let texts = [
        plans::OPENCRABS_BAD,
        plans::CLIDO_BAD,
        plans::AIMI_BAD,
        plans::RAWKO_BAD,
        &pack,
    ];
    let files: Vec<(&str, &str)> = names.into_iter().zip(texts).collect();
    let sandbox = Sandbox::with(&files);
    sandbox.write("docs/plans/photos.md", plans::SOURCE_PLAN);
    (sandbox, names)
}

fn check_bad_plan(dialect: usize, snapshot: &str) {
    let (sandbox, names) = bad_plans();
    sandbox
        .run(&["check", names[dialect]])
        .exits(1)
        .is_decent()
        .is_as_in(snapshot);
}

#[test]
fn a_bad_opencrabs_plan() {
    check_bad_plan(0, "check-opencrabs");
}

#[test]
fn a_bad_clido_plan() {
    check_bad_plan(1, "check-clido");
}

#[test]
fn a_bad_aimi_file() {
    check_bad_plan(2, "check-aimi");
}

#[test]
fn a_bad_rawko_plan() {
    check_bad_plan(3, "check-rawko");
}

#[test]
fn a_bad_task_pack() {
    check_bad_plan(4, "check-task-pack");
}

/// The text behind the mark names a source plan, which is not looked for until the mark is removed.
#[test]
fn a_byte_order_mark_is_removed_from_a_pack() {
    const NAME: &str = "docs/tasks/2026-05-11-001-feat-photos-tasks.md";
    let sandbox = Sandbox::with(&[("docs/plans/photos.md", plans::SOURCE_PLAN)]);
    let hash = sandbox.run(&["hash", "docs/plans/photos.md"]).exits(0);
    let pack = plans::task_pack(hash.stdout.trim());
    sandbox.write(NAME, format!("\u{feff}{pack}"));
    sandbox.run(&["check", NAME]).exits(1);
    let ran = sandbox.run(&["check", "--fix", NAME]).exits(0);
    assert!(ran.stderr.contains("remove the byte order mark"), "{}", ran.text());
    assert_eq!(sandbox.read(NAME), pack);
}

#[test]
fn json_has_every_finding_with_its_place() {
    let sandbox = Sandbox::with(&[("plan.json", plans::CLIDO_BAD), ("good.json", plans::OPENCRABS)]);
    let ran = sandbox
        .run(&["check", "--json", "plan.json", "good.json", "gone.json"])
        .exits(3);
    ran.is_as_in("check-json");
    assert_eq!(
        ran.stdout,
        sandbox
            .run(&["check", "--format", "json", "plan.json", "good.json", "gone.json"])
            .stdout
    );
    let report = ran.json();
    let findings = report["files"][0]["diagnostics"].as_array().expect("a list");
    for finding in findings {
        let (start, end) = (&finding["range"]["start"], &finding["range"]["end"]);
        let bytes = start["byte"].as_u64().expect("a number")..end["byte"].as_u64().expect("a number");
        let slice = &plans::CLIDO_BAD[bytes.start as usize..bytes.end as usize];
        let line = plans::CLIDO_BAD
            .lines()
            .nth(start["line"].as_u64().expect("a number") as usize - 1);
        let line = line.expect("the line is there");
        let column = start["column"].as_u64().expect("a number") as usize - 1;
        let rest: String = line.chars().skip(column).collect();
        assert!(rest.starts_with(slice.lines().next().unwrap_or("")), "{finding}");
    }
    let files = report["files"].as_array().expect("a list").iter();
    let all = files.flat_map(|file| file["diagnostics"].as_array().expect("a list"));
    let n_errors = all.filter(|finding| finding["severity"] == "error").count();
    assert_eq!(report["summary"]["errors"], n_errors);
    assert_eq!(report["files"][2]["diagnostics"][0]["id"], "unreadable-file");
    assert_eq!(report["summary"]["unreadable"], 1);
}

/// Checks what SARIF 2.1.0 requires of a log, as far as a log of ours can break it.
fn check_sarif(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    assert!(
        log["$schema"]
            .as_str()
            .is_some_and(|uri| uri.contains("sarif") && uri.contains("2.1.0"))
    );
    let runs = log["runs"].as_array().expect("runs is required");
    assert_eq!(runs.len(), 1);
    let driver = &runs[0]["tool"]["driver"];
    assert_eq!(driver["name"], "planwright");
    let rules = driver["rules"].as_array().expect("rules is a list");
    for rule in rules {
        assert!(rule["id"].as_str().is_some_and(|id| !id.is_empty()));
        assert!(rule["shortDescription"]["text"].is_string(), "{rule}");
        check_level(&rule["defaultConfiguration"]["level"]);
    }
    let kinds = ["utf16CodeUnits", "unicodeCodePoints"];
    assert!(runs[0]["columnKind"].as_str().is_some_and(|kind| kinds.contains(&kind)));
    for result in runs[0]["results"].as_array().expect("results is a list") {
        check_result(result, rules);
    }
}

fn check_result(result: &Value, rules: &[Value]) {
    assert!(
        result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()),
        "{result}"
    );
    let rule_index = result["ruleIndex"].as_u64().expect("a known rule has an index");
    assert_eq!(rules[rule_index as usize]["id"], result["ruleId"]);
    check_level(&result["level"]);
    for location in result["locations"].as_array().expect("a list") {
        check_location(location);
    }
    for location in result["relatedLocations"].as_array().into_iter().flatten() {
        check_location(location);
        assert!(location["message"]["text"].is_string(), "{location}");
    }
    for (name, value) in result["partialFingerprints"].as_object().into_iter().flatten() {
        assert!(!name.is_empty() && value.is_string());
    }
    for fix in result["fixes"].as_array().into_iter().flatten() {
        for change in fix["artifactChanges"].as_array().expect("artifactChanges is required") {
            check_uri(&change["artifactLocation"]["uri"]);
            let replacements = change["replacements"].as_array().expect("replacements is required");
            assert!(!replacements.is_empty(), "{fix}");
            replacements
                .iter()
                .for_each(|replacement| check_region(&replacement["deletedRegion"]));
        }
    }
}

fn check_level(level: &Value) {
    let levels = ["none", "note", "warning", "error"];
    assert!(level.as_str().is_some_and(|level| levels.contains(&level)), "{level}");
}

fn check_location(location: &Value) {
    let physical = &location["physicalLocation"];
    check_uri(&physical["artifactLocation"]["uri"]);
    if !physical["region"].is_null() {
        check_region(&physical["region"]);
    }
}

fn check_uri(uri: &Value) {
    let uri = uri.as_str().expect("a uri is a string");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%:".contains(&byte);
    assert!(
        !uri.is_empty() && uri.bytes().all(is_plain),
        "`{uri}` is no URI reference"
    );
}

fn check_region(region: &Value) {
    let number = |name: &str| region[name].as_u64();
    let start = (number("startLine"), number("startColumn"));
    let end = (number("endLine"), number("endColumn"));
    for part in [start.0, start.1, end.0, end.1] {
        assert!(part.is_some_and(|part| part >= 1), "{region}");
    }
    assert!(start <= end, "{region}");
    assert!(
        number("byteOffset").is_some() == number("byteLength").is_some(),
        "{region}"
    );
}

#[test]
fn sarif_output_follows_the_standard() {
    let (sandbox, names) = bad_plans();
    let mut args = vec!["check", "--format", "sarif", "gone with spaces é.json"];
    args.extend(names);
    let log = sandbox.run(&args).exits(3).json();
    check_sarif(&log);
    let results = log["runs"][0]["results"].as_array().expect("a list");
    assert!(results.len() > 25, "{} findings", results.len());
    let stdin = sandbox.run_with(&["check", "--format", "sarif", "-"], plans::CLIDO_BAD);
    check_sarif(&stdin.exits(1).json());
}

#[test]
fn sarif_of_one_finding() {
    let sandbox = Sandbox::with(&[("plan.json", &plans::OPENCRABS.replace("[1, 2]", "[1, 7]"))]);
    let mut log = sandbox
        .run(&["check", "--format", "sarif", "plan.json"])
        .exits(1)
        .json();
    let rules = log["runs"][0]["tool"]["driver"]["rules"].take();
    assert!(
        rules
            .as_array()
            .is_some_and(|all| all.len() >= planwright::core::inspect::rules().len())
    );
    let shown = Ran {
        status: Some(1),
        stdout: format!("{log:#}\n"),
        stderr: String::new(),
    };
    shown.is_as_in("check-sarif");
}

#[test]
fn sarif_of_nothing_is_a_log_too() {
    let sandbox = Sandbox::with(&[("plan.json", plans::OPENCRABS)]);
    let log = sandbox
        .run(&["check", "--format", "sarif", "plan.json"])
        .exits(0)
        .json();
    check_sarif(&log);
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(0));
}

#[test]
fn github_annotations_are_one_line_each() {
    let (sandbox, names) = bad_plans();
    let mut args = vec!["check", "--format", "github", "gone.json"];
    args.extend(names);
    let ran = sandbox.run(&args).exits(3);
    for line in ran.stdout.lines() {
        let rest = line.strip_prefix("::").expect("every line is a command");
        let (command, message) = rest.split_once("::").expect("a command has a message");
        let (word, properties) = command.split_once(' ').expect("a command has properties");
        assert!(["error", "warning", "notice"].contains(&word), "{line}");
        assert!(properties.starts_with("file=") && !message.is_empty(), "{line}");
    }
    sandbox
        .run(&["check", "--format", "github", names[1]])
        .exits(1)
        .is_as_in("check-github");
}

#[test]
fn every_finding_is_explained() {
    let sandbox = Sandbox::new();
    for rule in rules() {
        let ran = sandbox.run(&["check", "--explain", rule.id]).exits(0);
        assert!(
            ran.stdout.contains(rule.id) && ran.stdout.contains(rule.summary),
            "{}",
            ran.text()
        );
        assert!(
            ran.stdout.contains(rule.right.lines().next().unwrap_or("")),
            "{}",
            ran.text()
        );
        ran.is_decent();
    }
    sandbox
        .run(&["check", "--explain", "dependency-cycle"])
        .is_as_in("check-explain");
}

#[test]
fn an_unknown_finding_is_wrong_usage() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["check", "--explain", "dependency-circle"])
        .exits(2)
        .is_as_in("check-explain-unknown");
}

#[test]
fn warnings_fail_where_they_are_denied() {
    let sandbox = Sandbox::with(&[("plan.json", &plans::CLIDO.replace("\"Tidy up\"", "\"\""))]);
    sandbox.run(&["check", "plan.json"]).exits(0);
    sandbox.run(&["check", "--deny", "warnings", "plan.json"]).exits(1);
    sandbox.write("notes.json", plans::CLIDO);
    sandbox.run(&["check", "--deny", "warnings", "notes.json"]).exits(0);
    sandbox.run(&["check", "--deny", "everything", "plan.json"]).exits(2);
}

const FIXABLE: &str = "{\r\n\t\"goal\": \"Try\",,\r\n\t\"tasks\": [\r\n\t\t{\"id\": \"t1\", \"description\": \"Read\", \"skip\": False,},\r\n\t]\r\n}";
const FIXED: &str = "{\r\n\t\"goal\": \"Try\",\r\n\t\"tasks\": [\r\n\t\t{\"id\": \"t1\", \"description\": \"Read\", \"skip\": false}\r\n\t]\r\n}";

#[test]
fn fixes_are_written_and_nothing_else_changes() {
    let sandbox = Sandbox::with(&[("plan.json", FIXABLE)]);
    let ran = sandbox.run(&["check", "--fix", "plan.json"]).exits(0);
    ran.is_as_in("check-fix");
    assert_eq!(sandbox.read("plan.json"), FIXED);
    let again = sandbox.run(&["check", "--fix", "plan.json"]).exits(0);
    assert!(!again.stderr.contains("fixed"), "{}", again.text());
    assert_eq!(sandbox.read("plan.json"), FIXED);
}

#[test]
fn a_comment_is_removed_only_when_asked_for() {
    let text = plans::CLIDO.replacen("[\n", "[ // the order matters\n", 1);
    let sandbox = Sandbox::with(&[("plan.json", &text)]);
    let ran = sandbox.run(&["check", "--fix", "plan.json"]).exits(1);
    assert!(
        ran.stdout.contains("remove the comment with --fix --unsafe"),
        "{}",
        ran.text()
    );
    assert_eq!(sandbox.read("plan.json"), text);
    sandbox.run(&["check", "--fix", "--unsafe", "plan.json"]).exits(0);
    assert_eq!(sandbox.read("plan.json"), plans::CLIDO);
    sandbox.run(&["undo", "plan.json"]).exits(0);
    assert_eq!(sandbox.read("plan.json"), text, "the history has it");
}

#[test]
fn a_guess_is_applied_only_when_asked_for() {
    let text = plans::CLIDO.replace("[\"t2\", \"t3\"]", "[\"t2\", \"T3\"]");
    let sandbox = Sandbox::with(&[("plan.json", &text)]);
    sandbox.run(&["check", "--fix", "plan.json"]).exits(1);
    assert_eq!(sandbox.read("plan.json"), text);
    sandbox
        .run(&["check", "--fix", "--unsafe", "plan.json"])
        .exits(0)
        .is_as_in("check-fix-unsafe");
    assert_eq!(sandbox.read("plan.json"), plans::CLIDO);
    sandbox.run(&["check", "--unsafe", "plan.json"]).exits(2);
}

#[test]
fn a_diff_writes_nothing() {
    let sandbox = Sandbox::with(&[("plan.json", FIXABLE)]);
    let path = sandbox.path().join("plan.json");
    let modified = || {
        std::fs::metadata(&path)
            .and_then(|metadata| metadata.modified())
            .expect("a time")
    };
    let before = modified();
    let ran = sandbox.run(&["check", "--diff", "plan.json"]).exits(1);
    ran.is_as_in("check-diff");
    assert_eq!((sandbox.read("plan.json").as_str(), modified()), (FIXABLE, before));
    let files = std::fs::read_dir(sandbox.path()).expect("a readable folder").count();
    assert_eq!(files, 2, "the plan and .git");
}

#[test]
fn a_diff_can_be_applied() {
    let text = FIXABLE.replace("\r\n", "\n");
    let sandbox = Sandbox::with(&[("plan.json", &text)]);
    let diff = sandbox.run(&["check", "--diff", "plan.json"]).stdout;
    sandbox.write("fix.patch", &diff);
    let patch = std::process::Command::new("patch")
        .args(["-p1", "-s", "-i", "fix.patch"])
        .current_dir(sandbox.path())
        .output();
    let Ok(output) = patch else {
        eprintln!("a_diff_can_be_applied: skipped, there is no `patch` on this machine");
        return;
    };
    assert!(
        output.status.success(),
        "{diff}\n{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!(sandbox.read("plan.json"), FIXED.replace("\r\n", "\n"));
}

#[test]
fn standard_input_is_checked_and_fixed() {
    let sandbox = Sandbox::new();
    sandbox.run_with(&["check", "-"], plans::OPENCRABS).exits(0);
    sandbox.run_with(&["check", "-"], plans::OPENCRABS_BAD).exits(1);
    let ran = sandbox.run_with(&["check", "--fix", "-"], FIXABLE).exits(0);
    assert_eq!(ran.stdout, FIXED, "the text alone");
    let same = sandbox.run_with(&["check", "--fix", "-"], FIXED).exits(0);
    assert_eq!(same.stdout, FIXED);
}

#[test]
fn a_folder_is_searched_as_git_sees_it() {
    let sandbox = Sandbox::with(&[
        (".gitignore", "target/\n*.tmp.json\n"),
        (".clido/plans/plan-a1b2c3d4.json", plans::CLIDO),
        ("deep/down/any-name.json", plans::OPENCRABS),
        ("deep/down/cellar.yaml", plans::RAWKO),
        ("target/plan.json", plans::CLIDO_BAD),
        ("plan.tmp.json", plans::CLIDO_BAD),
        ("node_modules/x/plan.json", plans::CLIDO_BAD),
        ("package.json", "{\"name\": \"x\", \"version\": \"1.0.0\"}"),
        ("README.md", "# Read me\n"),
        (".aimi/tasks/2026-01-01-broken-tasks.json", "{"),
    ]);
    let report = sandbox.run(&["check", "--json"]).exits(1).json();
    let files = report["files"].as_array().expect("a list");
    let paths: Vec<_> = files.iter().filter_map(|file| file["path"].as_str()).collect();
    let expected = [
        ".aimi/tasks/2026-01-01-broken-tasks.json",
        ".clido/plans/plan-a1b2c3d4.json",
        "deep/down/any-name.json",
        "deep/down/cellar.yaml",
    ];
    assert_eq!(paths, expected);
    sandbox.run(&["check", "deep"]).exits(0);
    sandbox.run(&["check", "node_modules/x/plan.json"]).exits(1);
}

#[test]
fn a_folder_without_plans_is_reported() {
    let sandbox = Sandbox::with(&[("README.md", "# Read me\n")]);
    sandbox.run(&["check"]).exits(1).is_as_in("check-no-plans");
}

#[test]
fn the_worst_of_several_files_decides() {
    let sandbox = Sandbox::with(&[("good.json", plans::CLIDO), ("bad.json", plans::CLIDO_BAD)]);
    sandbox.run(&["check", "good.json"]).exits(0);
    sandbox.run(&["check", "good.json", "bad.json"]).exits(1);
    sandbox.run(&["check", "gone.json", "good.json", "bad.json"]).exits(3);
    let same = sandbox.run(&["check", "good.json", "good.json", "--json"]).json();
    assert_eq!(
        same["files"].as_array().map(Vec::len),
        Some(1),
        "a file is checked once"
    );
}

#[test]
fn findings_that_repeat_are_counted() {
    let tasks: Vec<String> = (0..12)
        .map(|ix| format!("{{\"id\": \"t{ix}\", \"description\": \"x\", \"depends_on\": [\"missing-number-{ix}\"]}}"))
        .collect();
    let text = format!("{{\"goal\": \"g\", \"tasks\": [\n{}\n]}}\n", tasks.join(",\n"));
    let sandbox = Sandbox::with(&[("plan.json", &text)]);
    let shown = |ran: &Ran| ran.stdout.matches("error[unknown-dependency]").count();
    let some = sandbox.run(&["check", "plan.json"]).exits(1);
    assert!(shown(&some) < 12 && shown(&some) > 0, "{}", some.text());
    assert!(
        some.stdout.contains(&format!("{} more errors", 12 - shown(&some))),
        "{}",
        some.text()
    );
    let all = sandbox.run(&["check", "--all", "plan.json"]).exits(1);
    assert_eq!(shown(&all), 12);
}

#[test]
fn quiet_leaves_the_summary_out() {
    let sandbox = Sandbox::with(&[("good.json", plans::OPENCRABS), ("bad.json", plans::CLIDO_BAD)]);
    let quiet = sandbox.run(&["check", "--quiet", "good.json"]).exits(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    let loud = sandbox.run(&["check", "bad.json"]).stdout;
    let quiet = sandbox.run(&["check", "-q", "bad.json"]).exits(1).stdout;
    assert!(loud.starts_with(quiet.as_str()) && loud.len() > quiet.len());
}

#[test]
fn a_dialect_can_be_forced() {
    let sandbox = Sandbox::with(&[("plan.json", plans::OPENCRABS)]);
    let report = sandbox
        .run(&["check", "--json", "--dialect", "clido", "plan.json"])
        .exits(1)
        .json();
    assert_eq!(report["files"][0]["dialect"], "clido");
    sandbox
        .run(&["check", "--dialect", "klido", "plan.json"])
        .exits(2)
        .is_as_in("check-unknown-dialect");
}

#[test]
fn findings_are_explained_in_json() {
    let sandbox = Sandbox::new();
    let by_flag = sandbox
        .run(&["check", "--explain", "dependency-cycle", "--json"])
        .exits(0);
    by_flag.is_decent().is_as_in("check-explain-json");
    let by_format = sandbox
        .run(&["check", "--format", "json", "--explain", "dependency-cycle"])
        .exits(0);
    assert_eq!(by_flag.stdout, by_format.stdout);
    for rule in rules() {
        let report = sandbox.run(&["check", "--json", "--explain", rule.id]).exits(0).json();
        assert_eq!(
            (&report["id"], &report["right"]),
            (&Value::from(rule.id), &Value::from(rule.right))
        );
    }
    sandbox
        .run(&["check", "--explain", "unreadable-file", "--json"])
        .exits(0);
    sandbox
        .run(&["check", "--explain", "dependency-circle", "--json"])
        .exits(2);
    for format in ["sarif", "github"] {
        let ran = sandbox.run(&["check", "--explain", "dependency-cycle", "--format", format]);
        assert!(ran.exits(2).stdout.is_empty());
    }
}

#[cfg(unix)]
#[test]
fn plans_with_hard_links_are_not_fixed() {
    let sandbox = Sandbox::with(&[("plan.json", FIXABLE)]);
    let at = |name: &str| sandbox.path().join(name);
    std::fs::hard_link(at("plan.json"), at("other.json")).expect("the folder is ours");
    sandbox
        .run(&["check", "--fix", "plan.json"])
        .exits(3)
        .is_as_in("check-fix-hard-link");
    for name in ["plan.json", "other.json"] {
        assert_eq!(sandbox.read(name), FIXABLE);
    }
    // The other files of the command are still fixed and reported.
    std::fs::write(at("third.json"), FIXABLE).expect("the folder is ours");
    let ran = sandbox.run(&["check", "--fix", "plan.json", "third.json"]).exits(3);
    assert_eq!(sandbox.read("third.json"), FIXED);
    assert!(ran.stdout.contains("2 files checked"), "{}", ran.text());
    // The printed command fixes the problem.
    std::fs::copy(at("plan.json"), at("copy.json")).expect("the folder is ours");
    std::fs::rename(at("copy.json"), at("plan.json")).expect("the folder is ours");
    sandbox.run(&["check", "--fix", "plan.json"]).exits(0);
    assert_eq!(
        (sandbox.read("plan.json"), sandbox.read("other.json")),
        (FIXED.to_owned(), FIXABLE.to_owned())
    );
}

#[test]
fn a_file_that_is_too_large_is_a_problem_of_the_plan() {
    let sandbox = Sandbox::with(&[("good.json", plans::OPENCRABS)]);
    let file = std::fs::File::create(sandbox.path().join("large.json")).expect("the folder is ours");
    file.set_len(200 * 1024 * 1024).expect("a sparse file");
    let ran = sandbox.run(&["check", "good.json", "large.json"]).exits(1);
    assert!(ran.stdout.ends_with("2 files checked: 1 error\n"), "{}", ran.text());
    let report = sandbox
        .run(&["check", "--json", "good.json", "large.json"])
        .exits(1)
        .json();
    let (summary, large) = (&report["summary"], &report["files"][1]);
    assert_eq!(
        (&summary["errors"], &summary["unreadable"]),
        (&Value::from(1), &Value::from(0))
    );
    assert_eq!(
        (&large["diagnostics"][0]["id"], &large["failure"]),
        (&Value::from("too-large"), &Value::Null)
    );
    for args in [&["show", "large.json"][..], &["hash", "large.json"]] {
        sandbox.run(args).exits(1);
    }
    // In addition, an unreadable file is counted as such, and decides the exit code.
    let worst = sandbox
        .run(&["check", "--json", "large.json", "gone.json"])
        .exits(3)
        .json();
    assert_eq!(
        (&worst["summary"]["errors"], &worst["summary"]["unreadable"]),
        (&Value::from(2), &Value::from(1))
    );
    assert!(worst["files"][1]["failure"].is_string(), "{worst}");
}

#[test]
fn a_current_task_without_its_plan_is_found() {
    let pointer = "task: Tidy the cellar\nplanId: plan-20260501-celar\nstatus: in_progress\n";
    let sandbox = Sandbox::with(&[
        (".rawko/plans/plan-20260501-cellar.yaml", plans::RAWKO),
        (".rawko/current-task.yaml", pointer),
    ]);
    let whole = sandbox.run(&["check"]).exits(0);
    whole.is_decent().is_as_in("check-current-task");
    sandbox
        .run(&["check", "--deny", "warnings", ".rawko/current-task.yaml"])
        .exits(1);
    // From its own folder, too.
    let name = |pointer: &str| format!("../{}/.rawko/current-task.yaml", pointer);
    let own = sandbox
        .path()
        .file_name()
        .expect("it has a name")
        .to_string_lossy()
        .into_owned();
    sandbox.run(&["check", "--deny", "warnings", &name(&own)]).exits(1);
    sandbox.run(&["check", "--fix", "--unsafe", ".rawko"]).exits(0);
    assert_eq!(
        sandbox.read(".rawko/current-task.yaml"),
        pointer.replace("celar", "cellar")
    );
    sandbox.run(&["check", "--deny", "warnings"]).exits(0);
    // A text from standard input has no folder in which to look for the plan.
    sandbox
        .run_with(&["check", "--deny", "warnings", "-"], pointer)
        .exits(0);
}

#[test]
fn dissimilar_plans_are_not_suggested() {
    for id in ["plan-20260501-attic", "../plans/plan-20260501-cellar", "x"] {
        let pointer = format!("task: Tidy\nplanId: {id}\nstatus: in_progress\n");
        let sandbox = Sandbox::with(&[
            (".rawko/plans/plan-20260501-cellar.yaml", plans::RAWKO),
            (".rawko/current-task.yaml", &pointer),
        ]);
        let report = sandbox
            .run(&["check", "--json", ".rawko/current-task.yaml"])
            .exits(0)
            .json();
        let found = &report["files"][0]["diagnostics"][0];
        assert_eq!(
            (&found["id"], &found["fix"]),
            (&Value::from("rawko-current-plan"), &Value::Null),
            "{found}"
        );
    }
    // Without any plans, the id names none either.
    let pointer = "task: Tidy\nplanId: p\nstatus: in_progress\n";
    let sandbox = Sandbox::with(&[(".rawko/current-task.yaml", pointer)]);
    sandbox.run(&["check", "--deny", "warnings"]).exits(1);
}

#[test]
fn fixes_are_recorded_in_the_history() {
    let sandbox = Sandbox::new();
    let broken = "{\n  \"goal\": \"G\",\n  \"tasks\": [\n    {\"id\": \"t1\", \"description\": \"D\",},\n  ]\n}\n";
    sandbox.write(".clido/plans/p.json", broken);
    let ran = sandbox.run(&["check", "--fix", "--dry-run"]);
    assert!(
        ran.stderr.contains("would fix .clido/plans/p.json:4:"),
        "{}",
        ran.text()
    );
    let report = sandbox.run(&["check", "--diff", "--json"]).json();
    assert!(
        report["files"][0]["diff"]
            .as_str()
            .is_some_and(|diff| diff.starts_with("--- a/"))
    );
    assert_eq!(sandbox.read(".clido/plans/p.json"), broken);
    assert!(!sandbox.path().join(".planwright").exists());

    sandbox.run(&["check", "--fix"]).exits(0);
    sandbox.run(&["start", "t1"]).exits(0);
    let history = sandbox.run(&["history", "--json"]).exits(0).json();
    assert_eq!(history["n_external"], 0, "{history}");
    assert_eq!(history["changes"][1]["verb"], "fix");
    assert!(
        history["changes"][1]["note"]
            .as_str()
            .is_some_and(|note| note.contains("trailing-comma"))
    );
    sandbox.run(&["undo"]).exits(0);
    sandbox.run(&["undo", ".clido/plans/p.json"]).exits(0);
    assert_eq!(sandbox.read(".clido/plans/p.json"), broken);
    sandbox.run(&["check", "--dry-run"]).exits(2);
}

#[test]
fn files_without_a_plan_are_fixed_without_a_history() {
    let sandbox = Sandbox::new();
    sandbox.write(".rawko/plans/plan-a.yaml", plans::RAWKO);
    sandbox.write(
        ".rawko/current-task.yaml",
        "task: Do it\nplanId: plan-b\nstatus: in_progress\nstartedAt: 2026-01-01T00:00:00Z\n",
    );
    let ran = sandbox.run(&["check", ".rawko/current-task.yaml", "--fix", "--unsafe"]);
    assert!(
        ran.stderr.contains("fixed .rawko/current-task.yaml:2"),
        "{}",
        ran.text()
    );
    assert!(!sandbox.path().join(".planwright").exists());
}

#[test]
fn a_fix_that_cannot_be_written_is_an_error_in_json() {
    let sandbox = Sandbox::new();
    let path = sandbox.write(
        "p.json",
        "{\"goal\": \"G\", \"tasks\": [{\"id\": \"t1\", \"description\": \"D\"},]}",
    );
    let mut permissions = std::fs::metadata(&path).expect("a file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("a mode");
    let ran = sandbox.run(&["check", "p.json", "--fix", "--json"]).exits(3);
    let failure = &ran.json()["files"][0]["fix_failure"];
    assert!(
        failure
            .as_str()
            .is_some_and(|failure| failure.contains("write-protected")),
        "{}",
        ran.text()
    );
    assert!(ran.stderr.contains("chmod u+w"), "{}", ran.text());
}
