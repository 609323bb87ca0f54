//! Exit codes: the same error gives the same code with every verb.

use crate::plans;
use crate::sandbox::Sandbox;

/// Every verb about one plan, with `@` for the plan.
const VERBS: &[&str] = &[
    "show @",
    "next @",
    "why t1 -p @",
    "graph @",
    "history @",
    "diff @ plan.json",
    "diff plan.json @",
    "start t1 -p @",
    "done t1 -p @",
    "fail t1 -p @",
    "skip t1 -p @",
    "retry t1 -p @",
    "block t1 --note x -p @",
    "reset t1 -p @",
    "verify t1 -p @",
    "add x -p @",
    "set t1 notes=x -p @",
    "remove t1 -p @",
    "move t1 --first -p @",
    "rename t1 x -p @",
    "depend t1 --on t2 -p @",
    "undepend t1 --on t2 -p @",
    "undo @",
    "submit @",
    "approve @",
    "approve --proposed @",
    "reject @ --note x",
    "reject --proposed @ --note x",
    "cancel @",
    "archive @",
    "delete @ --yes",
    "proposals @",
    "arbiter @",
    "replan @ --from plan.json --yes",
    "tasks regenerate @ --from plan.json --yes",
    "tasks cards @",
    "run @",
    "run --dry-run @",
    "summary -p @",
    "runs @",
    "events -p @",
    "logs t1 -p @",
    "report -p @",
    "pause @",
    "resume @",
    "stop @",
];

/// Verbs that only take the path of a file.
const OF_FILES: &[&str] = &[
    "check @",
    "convert @ --to rawko --out new.yaml",
    "migrate @",
    "import @ --out new.json",
    "tasks derive @ --from plan.json --out new.md",
];

/// Verbs that read a plan from standard input.
const READ_INPUT: &[&str] = &[
    "show", "next", "why", "graph", "diff", "arbiter", "check", "convert", "import",
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with(&[
        ("plan.json", plans::CLIDO),
        ("text.txt", "no plan at all\n"),
        ("broken.json", "{\"tasks\": ["),
        ("planwright.toml", "[agents.mock]\ncommand = [\"true\"]\n"),
    ]);
    std::fs::create_dir(sandbox.path().join("folder")).expect("the folder is ours");
    sandbox
}

/// Runs verbs with an argument, and returns those with another exit code.
fn strangers(sandbox: &Sandbox, verbs: &[&str], about: &str, status: i32) -> Vec<String> {
    let mut strangers = Vec::new();
    for verb in verbs {
        let command = verb.replace('@', about);
        let args: Vec<&str> = command.split(' ').collect();
        let ran = sandbox.run(&args);
        if ran.status != Some(status) {
            strangers.push(format!("{command}: {:?}\n{}", ran.status, ran.text()));
        }
    }
    strangers
}

#[track_caller]
fn all_end(verbs: &[&str], about: &str, status: i32) {
    let strangers = strangers(&sandbox(), verbs, about, status);
    assert!(strangers.is_empty(), "{}", strangers.join("\n"));
}

#[test]
fn a_file_that_is_not_there() {
    all_end(VERBS, "nope.json", 3);
    all_end(OF_FILES, "nope.json", 3);
    all_end(&["hash @", "tasks hash @"], "nope.json", 3);
}

#[test]
fn a_name_that_no_plan_has() {
    all_end(VERBS, "nope", 1);
}

#[test]
fn a_file_that_holds_no_plan() {
    for file in ["text.txt", "broken.json"] {
        all_end(VERBS, file, 1);
        all_end(OF_FILES, file, 1);
    }
}

#[test]
fn a_folder() {
    let (runs, others): (Vec<&str>, Vec<&str>) = VERBS.iter().partition(|verb| verb.starts_with("runs"));
    let (aside, others): (Vec<&str>, Vec<&str>) = others
        .iter()
        .partition(|verb| verb.starts_with("archive") || verb.starts_with("delete"));
    // It stands for its workspace, which has no plan where plans are searched, and no runs.
    all_end(&others, "folder", 1);
    all_end(&runs, "folder", 0);
    // As the name of a file it is invalid.
    all_end(&aside, "folder", 3);
    all_end(&OF_FILES[1..], "folder", 3);
}

#[test]
fn an_input_that_is_no_file() {
    let reads = |verb: &&&str| READ_INPUT.iter().any(|word| verb.split(' ').next() == Some(word));
    let all: Vec<&str> = [VERBS, OF_FILES].concat();
    let readers: Vec<&str> = all.iter().filter(reads).copied().collect();
    let others: Vec<&str> = all.iter().filter(|verb| !reads(verb)).copied().collect();
    // The input is empty, and no plan.
    all_end(&readers, "-", 1);
    all_end(&others, "-", 2);
}

#[test]
fn an_option_that_there_is_not() {
    let all: Vec<String> = [VERBS, OF_FILES]
        .concat()
        .iter()
        .map(|verb| format!("{verb} --nonsense"))
        .collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    all_end(&all, "plan.json", 2);
}

#[test]
fn a_folder_that_is_no_folder() {
    for (what, verb) in [
        (".planwright/runs", "worktrees"),
        (".planwright/runs", "runs"),
        (".planwright/runs", "summary"),
        (".planwright/runs", "pause"),
        (".planwright/journal", "history plan.json"),
        (".planwright/journal", "undo plan.json"),
        (".planwright/journal", "start t1 -p plan.json"),
        (".planwright/proposals", "proposals plan.json"),
        (".planwright/proposals", "approve --proposed plan.json"),
    ] {
        let sandbox = sandbox();
        std::fs::remove_dir(sandbox.path().join(".git")).expect("it was empty");
        let git = std::process::Command::new("git")
            .args(["init", "-q", "-b", "main"])
            .current_dir(sandbox.path())
            .status();
        assert!(git.expect("there is git").success());
        sandbox.write(what, "somebody's\n");
        let args: Vec<&str> = verb.split(' ').collect();
        let ran = sandbox.run(&args).exits(3);
        assert!(!ran.text().contains("nothing is"), "{}", ran.text());
        assert_eq!(sandbox.read("plan.json"), plans::CLIDO);
    }
}

/// A configuration that cannot be read ends a command with 3, and one with an invalid value with 1.
#[test]
fn a_configuration_that_cannot_be_read() {
    const ACTING: &[&str] = &[
        "run plan.json",
        "run --dry-run plan.json",
        "done t2 -p plan.json",
        "verify t2 -p plan.json",
        "plan x --dialect clido",
        "replan plan.json",
        "arbiter plan.json --agent mock",
        "config",
        "agents",
    ];
    let ends = |sandbox: &Sandbox, status: i32| {
        for command in ACTING {
            let args: Vec<&str> = command.split(' ').collect();
            let ran = sandbox.run(&args).exits(status);
            let whole = sandbox.read("plan.json");
            assert!(ran.stderr.contains("planwright.toml"), "{command}: {}", ran.text());
            assert!(whole.contains("\"running\""), "{command}: {whole}");
        }
    };
    let sandbox = Sandbox::with(&[("plan.json", plans::CLIDO)]);
    sandbox.run(&["start", "t2", "-p", "plan.json"]).exits(0);
    let path = sandbox.path().join("planwright.toml");
    std::fs::create_dir(&path).expect("a folder");
    ends(&sandbox, 3);
    std::fs::remove_dir(&path).expect("ours");
    sandbox.write("planwright.toml", "[run]\nslots = \"many\"\n");
    ends(&sandbox, 1);
}

/// Only the history knows which tasks of a pack are done: without it, planwright cannot tell.
#[test]
fn a_pack_whose_history_cannot_be_read() {
    const PACK: &str = "docs/tasks/2026-05-11-001-feat-photos-tasks.md";
    let sandbox = Sandbox::with(&[
        ("docs/plans/photos.md", plans::SOURCE_PLAN),
        ("planwright.toml", "[agents.mock]\ncommand = [\"true\"]\n"),
    ]);
    let hash = sandbox.run(&["hash", "docs/plans/photos.md"]).exits(0);
    sandbox.write(PACK, plans::task_pack(hash.stdout.trim()));
    sandbox.run(&["start", "T001", "-p", PACK]).exits(0);
    sandbox.run(&["done", "T001", "-p", PACK]).exits(0);
    let folder = sandbox.path().join(".planwright/journal");
    let entry = std::fs::read_dir(folder).expect("it is there").next();
    let path = entry.expect("a journal").expect("readable").path();
    let journal = std::fs::read_to_string(&path).expect("text");
    std::fs::write(&path, journal.replacen("start", "stort", 1)).expect("ours");
    for verb in [
        "show @",
        "next @",
        "why T001 -p @",
        "graph @",
        "history @",
        "start T002 -p @",
        "run @",
        "convert @ --to rawko --out new.yaml",
        "diff @ @",
    ] {
        let command = verb.replace('@', PACK);
        let args: Vec<&str> = command.split(' ').collect();
        let ran = sandbox.run(&args).exits(3);
        assert!(ran.stderr.contains("is damaged at byte"), "{}", ran.text());
    }
    sandbox.run(&["check", PACK]).exits(0);
    let listed = sandbox.run(&["list"]).exits(0);
    assert!(
        listed
            .stdout
            .contains("its history, which has the states of its tasks, cannot be read"),
        "{}",
        listed.text()
    );
    let listed = sandbox.run(&["list", "--json"]).exits(0).json();
    let row = &listed["plans"][0];
    assert_eq!(
        (&row["history_unreadable"], &row["state"], &row["total"], &row["errors"]),
        (&true.into(), &serde_json::Value::Null, &3.into(), &0.into())
    );
}

/// A refused command leaves nothing behind, even if it is refused only after a try.
#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_to() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65_534;
    let sandbox = sandbox();
    let binary = sandbox.path().join("planwright");
    std::fs::copy(env!("CARGO_BIN_EXE_planwright"), &binary).expect("a copy");
    sandbox.write("sub/plan.json", plans::CLIDO);
    std::fs::create_dir_all(sandbox.path().join(".planwright")).expect("ours");
    // The superuser has all permissions.
    let is_root = std::fs::metadata(&binary).expect("it is there").uid() == 0;
    for name in ["", "sub", "sub/plan.json", ".planwright"] {
        let path = sandbox.path().join(name);
        if is_root {
            chown(&path, Some(NOBODY), Some(NOBODY)).expect("ours to give away");
        }
    }
    let folder = sandbox.path().join("sub");
    let set_mode = |mode: u32| {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).expect("ours");
    };
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(&binary);
        command
            .args(args)
            .current_dir(sandbox.path())
            .env("HOME", sandbox.path());
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().expect("it runs");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), text)
    };
    set_mode(0o555);
    for verb in [
        "archive sub/plan.json",
        "delete sub/plan.json --yes",
        "set t1 notes=x -p sub/plan.json",
        "convert plan.json --to rawko --out sub/new.yaml",
    ] {
        let (status, text) = run(&verb.split(' ').collect::<Vec<_>>());
        assert_eq!(status, Some(3), "{verb}: {text}");
        assert!(text.contains("nothing was written"), "{verb}: {text}");
    }
    for name in ["archive", "trash"] {
        assert!(!sandbox.path().join(".planwright").join(name).exists(), "{name}");
    }
    let (_, text) = run(&["history", "sub/plan.json"]);
    assert!(text.contains("no changes were made"), "{text}");
    set_mode(0o755);
    // Whether a file of another user can be moved out of a writable folder is only known after a try.
    if is_root {
        set_mode(0o1777);
        for path in [&folder, &folder.join("plan.json")] {
            chown(path, Some(0), Some(0)).expect("ours");
        }
        assert_eq!(run(&["archive", "sub/plan.json"]).0, Some(3));
        let (_, text) = run(&["history", "sub/plan.json"]);
        assert!(text.contains("archive") && !text.contains("interrupted"), "{text}");
        set_mode(0o777);
    }
    let (status, text) = run(&["archive", "sub/plan.json"]);
    assert_eq!(status, Some(0), "{text}");
    // An unreadable folder differs from an empty one.
    std::fs::create_dir_all(sandbox.path().join(".clido/plans")).expect("ours");
    let plans = sandbox.path().join(".clido/plans");
    std::fs::set_permissions(&plans, std::fs::Permissions::from_mode(0o000)).expect("ours");
    for verb in [
        "list",
        "show",
        "next",
        "run",
        "history",
        "check .clido",
        "find nothing-like-it",
    ] {
        let (status, text) = run(&verb.split(' ').collect::<Vec<_>>());
        assert_eq!(status, Some(3), "{verb}: {text}");
        assert!(text.contains(".clido/plans"), "{verb}: {text}");
    }
    std::fs::set_permissions(&plans, std::fs::Permissions::from_mode(0o755)).expect("ours");
}
