//! Secrets that agents, planners, commands and hooks print: none of them reaches a file of planwright's, the plan or the terminal.

use std::path::{Path, PathBuf};

use crate::planning::planner;
use crate::run::{CommandResult, Workspace, aimi, clido};

/// A secret of the environment that may be part of the name of a file.
const PLAIN: &str = "correct-horse-battery";

/// A secret of the environment with characters that JSON escapes.
const ODD: &str = "p/a\"ss\\wo\trd-0";

/// The secrets that agents of these tests know: one only known by its shape, and those of the environment.
const KNOWN: &str = r#"
token=ghp_$(echo MDEyMzQ1Njc4OWFiY2RlZmdoaWpBQkNERUZHSElKMDEyMzQ1 | base64 -d)
odd=$(printf '%s' "$ODD_SECRET" | sed 's/\\/\\\\/g; s/"/\\"/g; s/	/\\t/g')
report() { result "{\"planwright_result\": 1, $1}"; }
all="$PLAIN_KEY $token $odd"
"#;

/// Returns the possible forms of a secret in a file.
fn forms() -> Vec<String> {
    let escaped = ODD.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t");
    let twice = escaped.replace('\\', "\\\\").replace('"', "\\\"");
    let token = "0123456789abcdefghijABCDEFGHIJ012345";
    [PLAIN, ODD, &escaped, &twice, token].map(str::to_owned).to_vec()
}

pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let below = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => files_below(&path),
        path => vec![path],
    });
    below.collect()
}

/// A workspace whose agent runs a script, and whose environment has the secrets.
fn leaky(plan: &str, script: &str) -> Workspace {
    let mut workspace = Workspace::new(("plan.json", plan), &format!("{KNOWN}\n{script}"));
    workspace.set("PLAIN_KEY", PLAIN);
    workspace.set("ODD_SECRET", ODD);
    workspace.configure_agent("env = [\"PLAIN_KEY\", \"ODD_SECRET\"]", "", "");
    workspace
}

/// Searches for the secrets in everything that planwright wrote and prints.
#[track_caller]
fn tells_none(workspace: &Workspace, came: &CommandResult) {
    let state = files_below(&workspace.root().join(".planwright")).into_iter();
    let mut told: Vec<(String, String)> = state
        .chain([workspace.root().join("plan.json")])
        .filter_map(|path| {
            let bytes = std::fs::read(&path).ok()?;
            Some((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()))
        })
        .collect();
    told.push(("run".to_owned(), came.text.clone()));
    for args in [
        &["events", "--json"] as &[&str],
        &["events"],
        &["summary"],
        &["summary", "--json"],
        &["show", "plan.json"],
        &["show", "plan.json", "--json"],
        &["why", "-p", "plan.json"],
        &["report", "-o", "-"],
    ] {
        told.push((args.join(" "), workspace.does(args).text));
    }
    for (place, text) in told {
        for secret in forms() {
            assert!(!text.contains(&secret), "{place} tells {secret}:\n{text}");
        }
    }
}

#[track_caller]
fn runs(script: &str) -> (Workspace, CommandResult) {
    let workspace = leaky(&clido(&["a", "b a"]), script);
    let came = workspace.runs(&[]);
    tells_none(&workspace, &came);
    (workspace, came)
}

#[test]
fn failure_notes_contain_no_secrets() {
    let (workspace, came) = runs("report \"\\\"outcome\\\": \\\"failed\\\", \\\"notes\\\": \\\"I used $all\\\"\"");
    came.exits(1)
        .says("I used [PLAIN_KEY] [redacted: github token] [ODD_SECRET]");
    assert!(
        workspace.plan().contains("[redacted: github token]"),
        "{}",
        workspace.plan()
    );
    assert!(workspace.plan().contains("[ODD_SECRET]"));
}

#[test]
fn failures_of_commands_contain_no_secrets() {
    let (_, came) = runs("echo \"error: $PLAIN_KEY $token $ODD_SECRET\"; exit 1");
    came.exits(1)
        .says("error: [PLAIN_KEY] [redacted: github token] [ODD_SECRET]");
}

#[test]
fn stop_conditions_contain_no_secrets() {
    let (_, came) = runs("report \"\\\"outcome\\\": \\\"stop\\\", \\\"stop_condition\\\": \\\"met $all\\\"\"");
    came.exits(1).says("met [PLAIN_KEY] [redacted: github token]");
}

#[test]
fn bad_outcomes_contain_no_secrets() {
    let (_, came) = runs("report \"\\\"outcome\\\": \\\"$all\\\"\"");
    came.exits(1).says("is none of `done`, `failed` and `stop`");
}

#[test]
fn branches_of_agents_in_kept_checkouts_contain_no_secrets() {
    let script = "git checkout -q -b feature-$PLAIN_KEY; echo x > made; git add made\n\
                  git -c user.name=a -c user.email=a@b commit -q -m x; git checkout -q --detach HEAD~1; exit 1";
    let workspace = leaky(&clido(&["a"]), script).in_git();
    workspace.runs(&[]).exits(1);
    for args in [&["worktrees"][..], &["worktrees", "--json"], &["worktrees", "--clear"]] {
        let shown = workspace.does(args).says("feature-[PLAIN_KEY]").text;
        assert!(!shown.contains(PLAIN), "{shown}");
    }
}

#[test]
fn unknown_members_contain_no_secrets() {
    let (workspace, _) = runs("report \"\\\"outcome\\\": \\\"done\\\", \\\"$all\\\": 1\"");
    let remarks = workspace.remarks();
    assert!(remarks.contains("`[PLAIN_KEY] [redacted: github token]"), "{remarks}");
}

#[test]
fn affected_files_contain_no_secrets() {
    let files = "\\\"affected_files\\\": [\\\"$PLAIN_KEY.txt\\\", \\\"$token/a\\\", \\\"/$token\\\"]";
    let (workspace, _) = runs(&format!("report \"\\\"outcome\\\": \\\"done\\\", {files}\""));
    let events = workspace.does(&["events", "--json"]).text;
    assert!(events.contains("[PLAIN_KEY].txt"), "{events}");
}

#[test]
fn outputs_discoveries_and_proposals_contain_no_secrets() {
    let told = "\\\"output\\\": \\\"made $all\\\", \\\"discoveries\\\": [\\\"found $all\\\"]";
    let proposed = "\\\"proposed_tasks\\\": [{\\\"id\\\": \\\"n\\\", \\\"description\\\": \\\"use $all\\\"}]";
    let (workspace, _) = runs(&format!("report \"\\\"outcome\\\": \\\"done\\\", {told}, {proposed}\""));
    let prompt = workspace.prompt("b", 1);
    assert!(
        prompt.contains("made [PLAIN_KEY] [redacted: github token] [ODD_SECRET]"),
        "{prompt}"
    );
}

#[test]
fn escapes_hide_no_secrets() {
    // Every character of both as an escape, in a result file and in the events of a format.
    let escaped = "escaped() { printf '%s' \"$1\" | od -An -v -tx1 | tr -d '\\n' | sed 's/ /\\\\u00/g'; }";
    let told = "$(escaped \"$PLAIN_KEY\") $(escaped \"$token\")";
    let script = format!("{escaped}\nreport \"\\\"outcome\\\": \\\"failed\\\", \\\"notes\\\": \\\"it is {told}\\\"\"");
    runs(&script)
        .1
        .exits(1)
        .says("it is [PLAIN_KEY] [redacted: github token]");
    let event =
        "{\\\"type\\\":\\\"result\\\",\\\"is_error\\\":true,\\\"result\\\":\\\"it is TOLD\\\"}".replace("TOLD", told);
    let workspace = leaky(&clido(&["a"]), &format!("{escaped}\nprintf '%s\\n' \"{event}\""));
    workspace.configure_agent(
        "env = [\"PLAIN_KEY\", \"ODD_SECRET\"]\noutput = \"claude-stream-json\"",
        "",
        "",
    );
    let came = workspace.runs(&[]);
    let text = workspace.does(&["events", "--json"]).text + &came.text;
    assert!(!text.contains(PLAIN) && text.contains("it is [PLAIN_KEY]"), "{text}");
}

#[test]
fn kept_result_files_contain_no_secrets() {
    let script = "echo $task > $task.txt; report \"\\\"outcome\\\": \\\"done\\\", \\\"notes\\\": \\\"$all\\\"\"";
    runs(script);
    let workspace = leaky(&clido(&["a", "b a"]), script).in_git();
    let came = workspace.runs(&["--isolation", "checkouts"]).exits(0);
    let kept = workspace.place().attempt("a", 1).result();
    let text = std::fs::read_to_string(kept).expect("it is kept");
    assert!(
        text.contains("[PLAIN_KEY] [redacted: github token] [ODD_SECRET]"),
        "{text}"
    );
    tells_none(&workspace, &came);
}

#[test]
fn names_of_files_in_conflict_contain_no_secrets() {
    let script = "[ $task = a ] || awaits a-is-in\necho $task > \"$PLAIN_KEY-$token.txt\"; says done";
    let workspace = leaky(&clido(&["a", "b"]), script).in_git();
    workspace.configure_agent(
        "env = [\"PLAIN_KEY\", \"ODD_SECRET\"]",
        "slots = 2\nresolutions = 1\nisolation = \"checkouts\"",
        "",
    );
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until_log("merged a 1 true");
    workspace.give("a-is-in");
    let came = run.ends().exits(0);
    let came = came.says("[PLAIN_KEY]-[redacted: github token].txt");
    tells_none(&workspace, &came);
}

#[test]
fn commands_that_verify_and_hooks_print_no_secrets() {
    let workspace = leaky(&aimi(1, &["1"]).replace("tasks.json", "plan.json"), "says done");
    let tells = format!(
        "sh -c '. {}; echo \"$PLAIN_KEY $token $ODD_SECRET\"; exit 1'",
        workspace.aside("known.sh").display()
    );
    std::fs::write(workspace.aside("known.sh"), KNOWN).expect("the folder is ours");
    workspace.configure_agent(
        "",
        "",
        &format!("[notify]\ncommand = {tells:?}\n[verify]\nevery = [{tells:?}]\n"),
    );
    let came = workspace.runs(&[]).exits(1);
    let came = came.says("[PLAIN_KEY] [redacted: github token] [ODD_SECRET]");
    let log = std::fs::read_to_string(workspace.place().folder().join("notify.log")).expect("a log");
    assert!(log.contains("[PLAIN_KEY] [redacted: github token]"), "{log}");
    tells_none(&workspace, &came);
}

#[test]
fn answers_of_planners_contain_no_secrets() {
    let answer = r#"printf '%s\n' "{\"goal\": \"x\", \"tasks\": [{\"id\": \"t1\", \"description\": \"Use $all\"}]}""#;
    let mut workspace = planner(&format!("{KNOWN}\n{answer}"));
    workspace.set("PLAIN_KEY", PLAIN);
    workspace.set("ODD_SECRET", ODD);
    let text = workspace.read("planwright.toml");
    let (first, rest) = text.split_once("command").expect("an agent");
    workspace.write(
        "planwright.toml",
        format!("{first}env = [\"PLAIN_KEY\", \"ODD_SECRET\"]\ncommand{rest}"),
    );
    let came = workspace.does(&["plan", "Use it", "--dialect", "clido"]).exits(0);
    let files = files_below(&workspace.root());
    let mut has_answer = false;
    for path in files {
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned();
        for secret in forms() {
            assert!(
                !text.contains(&secret) && !came.text.contains(&secret),
                "{}: {text}",
                path.display()
            );
        }
        has_answer |= path.ends_with("answer.md") && text.contains("[redacted: github token]");
    }
    assert!(has_answer);
}
