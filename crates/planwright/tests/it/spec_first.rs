//! `planwright spec-first tasks …` answers as the original does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

const PLAN: &str = "---\ntitle: Plan\nspec_id: demo\n---\n\n# Plan\n\n- R1 do it\n";

const CONTRACT: &str = r#"{
  "schema_version": "task-pack/v1",
  "execution_waves": [{"wave": 1, "tasks": ["T001"]}],
  "tasks": [{
    "task_id": "T001", "source_unit": "U1", "goal": "g", "dependencies": [], "files": ["src/a.rs"],
    "test_focus": "f", "done_signal": "d", "wave": 1, "stop_if": "s"
  }]
}"#;

/// A fresh folder that goes away with its test.
struct Folder(PathBuf);

static N_FOLDERS: AtomicUsize = AtomicUsize::new(0);

impl Folder {
    fn new() -> Self {
        let number = N_FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("spec-first-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("the target folder is ours");
        Folder(path.canonicalize().expect("it was just made"))
    }

    /// Returns a folder with a plan and a matching pack.
    fn with_pack() -> Self {
        let folder = Folder::new();
        folder.write("docs/plans/p.md", PLAN);
        let hash = folder.run(&["hash", "docs/plans/p.md"]).stdout;
        folder.write(
            "docs/tasks/t.md",
            format!(
                "---\ntype: task-pack\nstatus: derived\nmode: derived\ngenerated_by: spec-write-tasks\nspec_id: demo\n\
                 source_plan: docs/plans/p.md\nsource_plan_hash: {hash}---\n\n## Task Pack Contract\n\n\
                 ```json\n{CONTRACT}\n```\n"
            ),
        );
        folder
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("the folder is ours");
        }
        fs::write(path, content).expect("the folder is ours");
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the target folder has a Unicode name")
    }

    /// Runs `spec-first tasks` with these arguments in this folder.
    fn run(&self, args: &[&str]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_planwright"))
            .args(["spec-first", "tasks"])
            .args(args)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .output()
            .expect("the binary was built");
        Ran {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Ran {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    #[track_caller]
    fn check(&self, status: i32, stdout: &str, stderr: &str) {
        assert_eq!(
            (self.status, self.stdout.as_str(), self.stderr.as_str()),
            (Some(status), stdout, stderr)
        );
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("the answer is JSON")
    }
}

#[test]
fn a_valid_pack_is_valid_in_words_and_in_json() {
    let folder = Folder::with_pack();
    folder
        .run(&["validate", "docs/tasks/t.md"])
        .check(0, "task pack valid\n", "");
    let ran = folder.run(&["validate", "--json", "docs/tasks/t.md", "ignored"]);
    let json = ran.json();
    assert_eq!(ran.status, Some(0));
    assert_eq!(json["task_pack_validity"], "valid");
    assert_eq!(json["task_pack_path"], format!("{}/docs/tasks/t.md", folder.path()));
    assert_eq!(json["repo_root"], folder.path());
    assert!(ran.stdout.ends_with("\n  \"limitations\": []\n}\n"));
}

#[test]
fn a_changed_plan_makes_the_pack_stale() {
    let folder = Folder::with_pack();
    folder.write("docs/plans/p.md", format!("{PLAN}more\n"));
    let message = "Task pack source_plan_hash does not match current source plan hash.";
    folder.run(&["validate", "docs/tasks/t.md"]).check(
        1,
        "",
        &format!("task pack invalid: stale\n- task-pack-stale: {message}\n"),
    );
}

#[test]
fn the_plan_is_relative_to_the_repository_and_the_pack_to_the_current_folder() {
    let folder = Folder::with_pack();
    folder.write(
        "other/docs/plans/p.md",
        "---\nspec_id: other\n---\n\n# Plan\n\n- R1 do it\n",
    );
    for (args, validity) in [
        (&["--repo=other"][..], "wrong-chain"),
        (&["--repo", "other"], "wrong-chain"),
        (&["--repo", "docs", "--repo=./other/../other/"], "wrong-chain"),
        (&["--repo", "."], "valid"),
        (&["--repo=nowhere"], "invalid"),
    ] {
        let ran = folder.run(&[&["validate"], args, &["docs/tasks/t.md", "--json"]].concat());
        assert_eq!(ran.json()["task_pack_validity"], validity, "{args:?}");
    }
    let ran = folder.run(&["validate", "docs/tasks/t.md", "--repo=nowhere", "--json"]);
    assert_eq!(ran.json()["errors"][0]["code"], "task-pack-source-plan-file-missing");
    let absolute = format!("{}/docs/../docs//tasks/t.md", folder.path());
    folder.run(&["validate", &absolute]).check(0, "task pack valid\n", "");
}

#[test]
fn usage_errors_are_reported_in_the_original_order() {
    let folder = Folder::new();
    let error = |args: &[&str], message: &str| folder.run(args).check(2, "", &format!("error: {message}\n"));
    error(&["hash"], "plan path is required");
    error(&["hash", ""], "plan path is required");
    error(&["hash", "p.md", "--repo", "x"], "unknown option: --repo");
    error(&["hash", "--help"], "unknown option: --help");
    error(&["validate", "--json=1"], "task pack path is required");
    error(&["validate", "-", "--repo"], "unknown option: -");
    error(&["validate", "--repo="], "repo path is required after --repo");
    error(&["validate", "t.md", "--repo"], "repo path is required after --repo");
    error(&["validate", "--repo", "t.md"], "task pack path is required");
    let ran = folder.run(&["--json"]);
    assert_eq!(ran.status, Some(2));
    assert_eq!(ran.json()["error"]["message"], "Unknown tasks subcommand: --json");
    let usage = folder.run(&["-h"]).stdout;
    folder.run(&[""]).check(0, &usage, "");
    folder
        .run(&["nope", "-h"])
        .check(2, "", &format!("Unknown tasks subcommand: nope\n{usage}"));
}

#[test]
fn kinds_of_unreadable_files_are_distinguished() {
    let folder = Folder::new();
    folder.write("open.md", "---\n");
    let missing = "error: source-plan file is missing.\n";
    folder.run(&["hash", "no.md"]).check(1, "", missing);
    folder.run(&["hash", "open.md/x"]).check(1, "", missing);
    let directory = "error: EISDIR: illegal operation on a directory, read\n";
    folder.run(&["hash", "."]).check(1, "", directory);
    let open = "error: Frontmatter starts with --- but has no closing --- line.\n";
    folder.run(&["hash", "open.md"]).check(1, "", open);
    let ran = folder.run(&["validate", ".", "--json"]);
    assert_eq!(ran.json()["errors"][0]["code"], "task-pack-unreadable");
    assert_eq!(ran.json()["task_pack"]["contract"], Value::Null);
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_unreadable_and_does_not_block() {
    let folder = Folder::new();
    let made = Command::new("mkfifo").arg(folder.0.join("pipe")).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no mkfifo here");
        return;
    }
    let ran = folder.run(&["hash", "pipe", "--json"]);
    assert_eq!(ran.json()["error"]["code"], "source-plan-unreadable");
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_the_name_of_the_binary_counts() {
    let folder = Folder::with_pack();
    let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, folder.0.join(from)).expect("the folder is ours");
    link("docs/tasks/t.md", "linked.md");
    link("nowhere", "dangling.md");
    folder.run(&["validate", "linked.md"]).check(0, "task pack valid\n", "");
    folder
        .run(&["hash", "dangling.md"])
        .check(1, "", "error: source-plan file is missing.\n");
    link("docs", "src");
    fs::create_dir_all(folder.0.join("docs/a.rs")).expect("the folder is ours");
    let ran = folder.run(&["validate", "linked.md", "--json"]);
    assert_eq!(ran.json()["errors"][0]["code"], "task-pack-task-file-is-directory");
    link(env!("CARGO_BIN_EXE_planwright"), "spec-first");
    let output = Command::new(folder.0.join("spec-first"))
        .args(["tasks", "hash", "docs/plans/p.md"])
        .current_dir(&folder.0)
        .output()
        .expect("the binary was built");
    assert!(output.stdout.starts_with(b"sha256:"));
}

/// The recorded answers of the original, next to the checkout if available.
fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/task-pack");
    path.canonicalize().ok()
}

fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the corpus is readable");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect()
}

/// Returns JSON as text that shows the order of keys, without what another engine worded.
fn comparable(value: &Value, root: &str) -> String {
    let mut value = value.clone();
    blank_engine_texts(&mut value);
    value.to_string().replace(root, "$ROOT")
}

const ENGINE_CODES: [&str; 3] = [
    "task-pack-contract-json-invalid",
    "task-pack-unreadable",
    "source-plan-unreadable",
];

fn blank_engine_texts(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(blank_engine_texts),
        Value::Object(members) => {
            let is_engine = members
                .get("code")
                .and_then(Value::as_str)
                .is_some_and(|code| ENGINE_CODES.contains(&code));
            if is_engine && let Some(message) = members.get_mut("message") {
                *message = Value::String(String::new());
            }
            members.values_mut().for_each(blank_engine_texts);
        }
        _ => {}
    }
}

/// Returns plain output with the engine's own words cut.
fn comparable_lines(text: &str, root: &str) -> Vec<String> {
    let cut = |line: &str| {
        let code = line
            .strip_prefix("- ")
            .and_then(|rest| rest.split(':').next())
            .unwrap_or("");
        let is_engine = ENGINE_CODES.contains(&code) || line.starts_with("error: E");
        if is_engine { code.to_owned() } else { line.to_owned() }
    };
    text.replace(root, "$ROOT").lines().map(cut).collect()
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or("")
}

fn lay_out(record: &Value) -> Folder {
    let folder = Folder::new();
    for (path, body) in record["files"].as_object().into_iter().flatten() {
        match body["text"].as_str() {
            Some(text) => folder.write(path, text),
            None => folder.write(path, decode_base64(text_of(body, "base64"))),
        }
    }
    for path in record["empty_dirs"].as_array().into_iter().flatten() {
        let path = folder.0.join(path.as_str().unwrap_or("."));
        fs::create_dir_all(path).expect("the folder is ours");
    }
    folder
}

fn decode_base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut out, mut bits, mut n_bits) = (Vec::new(), 0u32, 0);
    for value in text.bytes().filter_map(digit) {
        bits = (bits << 6) | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            out.push((bits >> n_bits) as u8);
        }
    }
    out
}

#[test]
fn recorded_cases_get_the_recorded_answers() {
    let Some(corpus) = corpus() else {
        println!("skipped: there are no recorded answers beside this checkout");
        return;
    };
    for record in records(&corpus.join("cases.jsonl")) {
        let folder = lay_out(&record);
        let root = folder.path();
        for want in record["runs"].as_array().expect("each case has runs") {
            let args: Vec<String> = want["args"]
                .as_array()
                .expect("each run has arguments")
                .iter()
                .map(|arg| arg.as_str().unwrap_or("").replace("$ROOT", root))
                .collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let name = format!("{} {args:?}", text_of(&record, "case"));
            let ran = folder.run(&args);
            assert_eq!(ran.status.map(i64::from), want["exit"].as_i64(), "{name}");
            if want["json"].is_null() {
                let pairs = [(&ran.stdout, "stdout"), (&ran.stderr, "stderr")];
                for (got, stream) in pairs {
                    let wanted = comparable_lines(text_of(want, stream), root);
                    assert_eq!(comparable_lines(got, root), wanted, "{name} {stream}");
                }
            } else {
                assert_eq!(comparable(&ran.json(), root), comparable(&want["json"], root), "{name}");
            }
            let plain = &want["plain"];
            if !plain.is_null() {
                let args: Vec<&str> = args.iter().copied().filter(|&arg| arg != "--json").collect();
                let ran = folder.run(&args);
                assert_eq!(ran.status.map(i64::from), plain["exit"].as_i64(), "{name} plain");
                for (got, stream) in [(&ran.stdout, "stdout"), (&ran.stderr, "stderr")] {
                    let wanted = comparable_lines(text_of(plain, stream), root);
                    assert_eq!(comparable_lines(got, root), wanted, "{name} plain {stream}");
                }
            }
        }
    }
}

#[test]
fn real_packs_and_plans_get_the_recorded_answers() {
    let Some(corpus) = corpus() else {
        println!("skipped: there are no recorded answers beside this checkout");
        return;
    };
    for want in records(&corpus.join("expected.jsonl")) {
        let top = corpus.join("real");
        let root = match text_of(&want, "root") {
            "real" => top,
            below => top.join(below),
        };
        let root = root.canonicalize().expect("the corpus holds what it names");
        let shown = root.to_str().expect("the corpus has a Unicode path");
        let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
        command.args([
            "spec-first",
            "tasks",
            text_of(&want, "command"),
            text_of(&want, "path"),
            "--json",
        ]);
        if text_of(&want, "command") == "validate" {
            command.args(["--repo", shown]);
        }
        let output = command.current_dir(&root).output().expect("the binary was built");
        let json: Value = serde_json::from_slice(&output.stdout).expect("the answer is JSON");
        assert_eq!(output.status.code().map(i64::from), want["exit"].as_i64());
        assert_eq!(
            comparable(&json, shown),
            comparable(&want["json"], shown),
            "{}",
            text_of(&want, "path")
        );
    }
}
