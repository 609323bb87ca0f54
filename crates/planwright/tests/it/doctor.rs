//! The verb `doctor`: each finding about a workspace.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::plans;
use crate::sandbox::{Ran, Sandbox};
use crate::space::{AIMI, CLIDO, CURRENT, CURRENT_TASK, all, exists, with_programs, workspace};

#[track_caller]
fn diagnosis(ran: &Ran) -> Vec<String> {
    let report = ran.json();
    assert_eq!(report["schema_version"], "planwright.doctor/v1");
    assert_eq!(report["healthy"], ran.status == Some(0));
    let mut ids = all(&report, "findings", "id");
    ids.sort_unstable();
    ids.into_iter().map(str::to_owned).collect()
}

/// Checks the findings after a valid workspace was changed.
#[track_caller]
fn finds_wrong(break_it: impl FnOnce(&Sandbox), expected: &[&str]) -> Ran {
    let sandbox = workspace();
    sandbox.run(&["start", "US-002", "-p", AIMI]).exits(0);
    sandbox.run(&["doctor"]).exits(0);
    break_it(&sandbox);
    assert_eq!(diagnosis(&sandbox.run(&["doctor", "--json"])), expected);
    let ran = sandbox.run(&["doctor"]);
    ran.is_decent();
    for id in expected {
        assert!(ran.stdout.contains(&format!("[{id}]")), "{}", ran.text());
    }
    ran
}

fn journal(sandbox: &Sandbox) -> std::path::PathBuf {
    let folder = std::fs::read_dir(sandbox.path().join(".planwright/journal")).expect("a folder");
    folder.flatten().map(|entry| entry.path()).next().expect("a journal")
}

fn append(path: &Path, text: &str) {
    let old = std::fs::read_to_string(path).expect("text");
    std::fs::write(path, old + text).expect("ours");
}

#[test]
fn doctor_finds_nothing_in_a_sound_workspace() {
    let sandbox = workspace();
    let ran = sandbox.run(&["doctor"]).exits(0);
    assert!(ran.stdout.contains("plans         4 plans\n"), "{}", ran.text());
    assert!(
        ran.stdout.ends_with("ready: `planwright run PLAN` can begin\n"),
        "{}",
        ran.text()
    );
    assert!(!exists(&sandbox, ".planwright"), "it leaves nothing behind");
    assert_eq!(diagnosis(&sandbox.run(&["doctor", "--json"])), [""; 0]);
}

#[test]
fn a_bad_configuration_is_found() {
    finds_wrong(|sandbox| drop(sandbox.write("planwright.toml", "# nothing\n")), &[]);
    let ran = finds_wrong(
        |sandbox| drop(sandbox.write("planwright.toml", "\n[agents\n")),
        &["config-syntax"],
    );
    assert!(ran.stdout.contains("planwright.toml:2:"), "{}", ran.text());
    let ran = finds_wrong(
        |sandbox| drop(sandbox.write("planwright.toml", "slots = 2\n[agents.x]\n")),
        &["config-missing", "config-unknown-key"],
    );
    assert!(
        ran.stdout.contains("`slots`") && ran.stdout.contains("agent `x`"),
        "{}",
        ran.text()
    );
    finds_wrong(
        |sandbox| drop(sandbox.write("planwright.toml", b"\xff\xfe")),
        &["config-unreadable"],
    );
    let folder = |sandbox: &Sandbox| std::fs::create_dir(sandbox.path().join("planwright.toml")).expect("ours");
    finds_wrong(folder, &["config-unreadable"]);
}

#[test]
fn a_damaged_log_of_a_run_is_found() {
    let run = |text: &'static str| {
        move |sandbox: &Sandbox| drop(sandbox.write(".planwright/runs/20261116-050000-abcd/run.journal", text))
    };
    finds_wrong(run("nothing of the kind\nat all\n"), &["journal-corrupt"]);
    let sample = include_str!("../../../planwright-run/tests/samples/run-v1.journal");
    finds_wrong(
        move |sandbox| {
            drop(sandbox.write(
                ".planwright/runs/20261116-050000-abcd/run.journal",
                sample.replacen("pid", "pit", 1),
            ))
        },
        &["journal-corrupt"],
    );
}

#[test]
fn a_bad_state_folder_is_found() {
    let sandbox = workspace();
    sandbox.write(".planwright", "a file");
    assert_eq!(
        diagnosis(&sandbox.run(&["doctor", "--json"]).exits(1)),
        ["state-not-a-folder"]
    );
    let unignored = |sandbox: &Sandbox| drop(sandbox.write(".planwright/.gitignore", ""));
    finds_wrong(unignored, &["state-not-ignored"]);
    let ignored_above = |sandbox: &Sandbox| {
        sandbox.write(".planwright/.gitignore", "");
        sandbox.write(".gitignore", "/.planwright/\n");
    };
    finds_wrong(ignored_above, &[]);
}

#[test]
fn state_that_git_tracks_is_found() {
    // The machine's git is used, and must exist.
    let sandbox = Sandbox::with(&[(AIMI, plans::AIMI)]);
    let git = |args: &[&str]| {
        let ran = Command::new("git").args(args).current_dir(sandbox.path()).output();
        assert!(ran.expect("there is git").status.success(), "git {args:?}");
    };
    let found = || {
        let mut ids = diagnosis(&sandbox.run(&["doctor", "--json"]));
        ids.retain(|id| !["no-agent", "no-verification"].contains(&id.as_str()));
        ids
    };
    git(&["init", "--quiet"]);
    sandbox.run(&["start", "US-002"]).exits(0);
    git(&["add", "."]);
    assert_eq!(found(), [""; 0]);
    git(&["add", "--force", ".planwright"]);
    assert_eq!(found(), ["state-tracked"]);
    let ran = sandbox.run(&["doctor"]).exits(1);
    assert!(ran.stdout.contains("git rm -r --cached .planwright"), "{}", ran.text());
    git(&["rm", "--quiet", "-r", "--cached", ".planwright"]);
    assert_eq!(found(), [""; 0]);
}

#[cfg(unix)]
#[test]
fn a_missing_git_is_found_where_there_is_a_repository() {
    let sandbox = with_programs(workspace(), ".bin", &["claude"]);
    let found = diagnosis(&sandbox.run(&["doctor", "--json"]).exits(1));
    // Its agent and its verification are git, too.
    assert_eq!(found, ["agent-program-missing", "no-git", "verify-program-missing"]);
}

#[test]
fn bad_journals_are_found() {
    finds_wrong(|sandbox| append(&journal(sandbox), "0123"), &["journal-torn"]);
    let corrupt = |sandbox: &Sandbox| {
        let path = journal(sandbox);
        let text = std::fs::read_to_string(&path)
            .expect("text")
            .replace("US-002", "US-003");
        std::fs::write(path, text).expect("ours");
    };
    finds_wrong(corrupt, &["journal-corrupt"]);
    let newer = |sandbox: &Sandbox| {
        let path = journal(sandbox);
        let text = std::fs::read_to_string(&path).expect("text");
        std::fs::write(path, text.replace("planwright-journal 1 ", "planwright-journal 9 ")).expect("ours");
    };
    finds_wrong(newer, &["journal-newer"]);
    let orphan = |sandbox: &Sandbox| std::fs::remove_file(sandbox.path().join(AIMI)).expect("ours");
    let ran = finds_wrong(orphan, &["journal-orphan"]);
    assert!(
        ran.stdout.contains(AIMI) && ran.stdout.contains("rm .planwright/journal/"),
        "{}",
        ran.text()
    );
}

#[test]
fn a_plan_that_was_moved_by_hand_is_no_loss() {
    let sandbox = workspace();
    sandbox.run(&["start", "t2", "-p", CLIDO]).exits(0);
    std::fs::rename(
        sandbox.path().join(CLIDO),
        sandbox.path().join(".clido/plans/other.json"),
    )
    .expect("moved");
    sandbox.run(&["doctor"]).exits(0);
    // Nor is one without an id that was restored from the archive.
    sandbox.run(&["archive", AIMI]).exits(0);
    let archived = sandbox.path().join(".planwright/archive").join(AIMI);
    std::fs::rename(archived, sandbox.path().join(AIMI)).expect("moved");
    sandbox.run(&["doctor"]).exits(0);
    let history = sandbox.run(&["history", "--json", AIMI]).exits(0).json();
    assert_eq!(all(&history, "changes", "verb"), ["archive"]);
}

#[test]
fn stale_temporary_files_are_found() {
    let name = ".clido/plans/.planwright-0000000000000000-1-0123456789abcdef.tmp";
    let young = |sandbox: &Sandbox| drop(sandbox.write(name, "half a plan"));
    finds_wrong(young, &[]);
    let old = |sandbox: &Sandbox| {
        let path = sandbox.write(name, "half a plan");
        let file = std::fs::File::options().write(true).open(path).expect("ours");
        let two_hours_ago = SystemTime::now() - Duration::from_secs(7_200);
        file.set_modified(two_hours_ago).expect("ours");
    };
    finds_wrong(old, &["stale-temporary"]);
}

#[test]
fn bad_plans_are_found() {
    let bad = |sandbox: &Sandbox| {
        sandbox.write(".clido/plans/bad.json", plans::CLIDO_BAD);
        sandbox.write(CURRENT, CURRENT_TASK.replace("cellar", "attic"));
    };
    finds_wrong(bad, &["plan-errors", "points-nowhere"]);
    let sandbox = workspace();
    bad(&sandbox);
    sandbox.write("planwright.toml", "slots = 2\n");
    sandbox.run(&["doctor"]).exits(1).is_as_in("doctor");
    sandbox.run(&["doctor", "--json"]).exits(1).is_as_in("doctor-json");
}

#[cfg(unix)]
#[test]
fn a_plan_that_cannot_be_read_is_found() {
    use std::os::unix::fs::PermissionsExt as _;
    let path = ".clido/plans/locked.json";
    let sandbox = workspace();
    let file = sandbox.write(path, plans::CLIDO);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).expect("ours");
    // The superuser can read everything.
    let expected: &[&str] = match std::fs::read(&file) {
        Ok(_) => &[],
        Err(_) => &["plan-unreadable"],
    };
    assert_eq!(diagnosis(&sandbox.run(&["doctor", "--json"])), expected);
}

#[cfg(unix)]
#[test]
fn doctor_names_agents_whose_program_cannot_be_found() {
    let sandbox = with_programs(Sandbox::with(&[]), ".programs", &["git", "there"]);
    let agents = "[agents.one]\ncommand = [\"gone\"]\n[agents.two]\ncommand = [\"there\"]\nfallback = \"three\"\n\
                  [agents.three]\ncommand = [\"away\"]\n[agents.unused]\ncommand = [\"nowhere\"]\n\
                  [run]\nagent = \"one\"\nfence = \"off\"\n[run.types]\ndocs = \"two\"\n";
    sandbox.write("planwright.toml", agents);
    let report = sandbox.run(&["doctor", "--json"]).exits(1).json();
    let messages = all(&report, "findings", "message").join("\n");
    let ids = all(&report, "findings", "id");
    let expected = [
        "agent-program-missing",
        "agent-program-missing",
        "no-verification",
        "no-plan",
    ];
    assert_eq!(ids, expected, "{messages}");
    let named = "`gone`, the program of the agent `one`, is not found on PATH";
    assert!(messages.contains(named) && messages.contains("`away`"), "{messages}");
    let shown = sandbox.run(&["doctor"]).exits(1).text();
    assert!(shown.contains("agents are not fenced, run.fence = \"off\""), "{shown}");
}

#[cfg(unix)]
#[test]
fn doctor_names_programs_of_verification_that_cannot_be_found() {
    let sandbox = with_programs(Sandbox::with(&[]), ".programs", &["git", "there", "sh"]);
    let rules = "[verify]\nevery = [[\"there\", \"-q\"], [\"gone\", \"-q\"], \"missing --all\"]\n\n[verify.types.docs]\nrun = [[\"./lint.sh\"]]\n";
    sandbox.write("planwright.toml", rules);
    let report = sandbox.run(&["doctor", "--json"]).exits(1).json();
    let messages = all(&report, "findings", "message").join("\n");
    assert_eq!(
        all(&report, "findings", "id"),
        [
            "verify-program-missing",
            "verify-program-missing",
            "no-agent",
            "no-plan"
        ],
        "{messages}"
    );
    assert!(
        messages.contains("`gone`, which runs `gone -q` to verify tasks, is not found on PATH"),
        "{messages}"
    );
    assert!(messages.contains("`./lint.sh`"), "{messages}");
    sandbox.write(".programs/gone", "");
    sandbox.write("lint.sh", "");
    let without = with_programs(sandbox, ".programs", &["gone"]);
    let shown = without.run(&["doctor"]).exits(1).text();
    assert!(!shown.contains("verify-program-missing"), "{shown}");
}
