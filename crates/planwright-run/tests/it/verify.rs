//! Verification: the commands of a task, the results of running them, and their records in the journal.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::plan::Plan;
use planwright_core::text::SourceText;
use planwright_run::config::{self, Command, ConfigLevel, ConfigSource, SourceKind, VerifyConfig};
use planwright_run::digest::Digest;
use planwright_run::files::DiskFiles;
use planwright_run::git::commit_at;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{JournalEvent, ManualVerification, Receipt};
use planwright_run::redaction::Redaction;
use planwright_run::verify::{
    Check, CheckEnvironment, MAX_TAIL_BYTES, TaskChecks, VerificationInterrupted, VerificationLogs, VerificationWatch,
    all_passed, criteria, environment, folder, passed, run_all,
};
use planwright_run::worker::{StopManner, Workers, orphans};
use planwright_testkit::TempFolder;
use planwright_testkit::cpu_time::CpuStopwatch;

use crate::worker::new_mark;
use crate::workspace::{Workspace, plan_at, store_over, undo};

const AIMI: &str = r#"{
  "schemaVersion": "3.0",
  "metadata": {"title": "T", "type": "feature", "branchName": "b", "createdAt": "2026-01-01", "planPath": null},
  "userStories": [
    {"id": "US-001", "title": "A", "description": "d", "priority": 1, "status": "in_progress", "dependsOn": [], "notes": "",
     "acceptanceCriteria": ["Typecheck passes", " The button is blue ", "`touch made-by-plan`", "All unit tests must pass", "Typecheck passes", ""]},
    {"id": "US-002", "title": "B", "description": "d", "priority": 2, "status": "pending", "dependsOn": [], "notes": "",
     "acceptanceCriteria": ["see `cargo test`", "`a` and `b`", "``", "`two\nlines`"]}
  ]
}"#;

const OPENCRABS: &str = r#"{
  "title": "T", "description": "D",
  "tasks": [
    {"title": "A", "description": "d", "task_type": "Edit", "acceptance_criteria": ["Works"]},
    {"title": "B", "description": "d", "task_type": "test"}
  ]
}"#;

const PACK: &str = include_str!("../../../../examples/task-pack/docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md");

#[track_caller]
fn plan_of(text: &str, name: &str) -> Plan {
    let inspection = inspect_file(&SourceText::new(text), Some(Path::new(name)), None).inspection;
    inspection.plan.expect("a plan").plan
}

/// Returns the rules of a project's file.
#[track_caller]
fn rules(toml: &str) -> VerifyConfig {
    let source = ConfigSource {
        kind: SourceKind::File {
            level: ConfigLevel::Project,
            path: PathBuf::from("planwright.toml"),
        },
        text: SourceText::new(toml),
        findings: Vec::new(),
    };
    let configuration = config::assemble(vec![source], &[], &[]);
    assert!(!configuration.has_errors(), "{:?}", configuration.sources);
    configuration.config.verify
}

fn shell(line: &str) -> Command {
    Command::Shell(line.to_owned())
}

fn check(command: Command) -> Check {
    Check {
        command,
        timeout: Duration::from_secs(30),
        covers: vec!["every task".to_owned()],
        from_plan: false,
    }
}

// Which commands.

const RULES: &str = r#"
[verify]
every = ["make lint", ["cargo", "test"]]
timeout = "2m"

[verify.types.edit]
run = ["make edited"]

[[verify.criteria]]
pattern = "*tests*pass*"
run = [["cargo", "test"], "make slow"]
timeout = "5m"

[[verify.criteria]]
text = "Typecheck passes"
run = ["make slow", "make types"]
timeout = "1m"
"#;

#[test]
fn commands_come_in_order_and_each_once() {
    let found = TaskChecks::of(&rules(RULES), &plan_of(AIMI, "a-tasks.json"), 0, false);
    let shown: Vec<_> = found
        .checks
        .iter()
        .map(|check| {
            (
                check.command.arguments().join(" "),
                check.timeout.as_secs(),
                check.covers.join("|"),
            )
        })
        .collect();
    let expected = [
        ("sh -c make lint", 120, "every task"),
        ("cargo test", 300, "every task|All unit tests must pass"),
        ("sh -c make slow", 300, "Typecheck passes|All unit tests must pass"),
        ("sh -c make types", 60, "Typecheck passes"),
    ];
    assert_eq!(
        shown,
        expected.map(|(command, seconds, covers)| (command.to_owned(), seconds, covers.to_owned()))
    );
    assert_eq!(found.unverified, ["The button is blue", "`touch made-by-plan`"]);
    assert_eq!(found.held_back, ["touch made-by-plan"]);
    assert!(found.is_covered);
}

#[test]
fn types_are_those_of_the_plan_in_any_case() {
    let plan = plan_of(OPENCRABS, "plan.json");
    let found = |task_ix| {
        TaskChecks::of(
            &rules("[verify.types.edit]\nrun = [\"make edited\"]"),
            &plan,
            task_ix,
            false,
        )
    };
    assert_eq!(found(0).checks[0].covers, ["type edit"]);
    assert_eq!(found(0).unverified, ["Works"]);
    assert_eq!(found(1), TaskChecks::default());
    assert_eq!(found(9), TaskChecks::default());
}

#[test]
fn criteria_without_a_command_are_not_covered() {
    let plan = plan_of(AIMI, "a-tasks.json");
    let none = rules("");
    assert!(!none.has_rules());
    let found = TaskChecks::of(&none, &plan, 0, false);
    assert!(!found.is_covered && found.checks.is_empty());
    assert_eq!(found.unverified.len(), 4);
    let other = rules("[[verify.criteria]]\ntext = \"typecheck passes\"\nrun = [\"x\"]");
    assert!(other.has_rules());
    assert!(!TaskChecks::of(&other, &plan, 0, false).is_covered, "a text is exact");
}

#[test]
fn criteria_of_task_packs_come_from_their_own_fields() {
    let plan = plan_of(PACK, "docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md");
    let texts = criteria(&plan, &plan.tasks()[0]);
    assert_eq!(
        texts,
        ["Two clients in the same minute", "The unit tests of src/limit.rs pass"]
    );
    let found = TaskChecks::of(
        &rules("[[verify.criteria]]\npattern = \"*unit tests*\"\nrun = [\"x\"]"),
        &plan,
        0,
        false,
    );
    assert_eq!(found.unverified, ["Two clients in the same minute"]);
}

#[test]
fn commands_of_a_plan_need_permission_and_an_exact_text() {
    let plan = plan_of(AIMI, "a-tasks.json");
    let allowed = TaskChecks::of(&rules(""), &plan, 0, true);
    assert_eq!(allowed.checks.len(), 1);
    assert_eq!(allowed.checks[0].command, shell("touch made-by-plan"));
    assert!(allowed.checks[0].from_plan);
    assert_eq!(allowed.held_back, [""; 0]);
    assert!(!allowed.unverified.contains(&"`touch made-by-plan`".to_owned()));
    // If the user has a rule for it, the rule's command runs.
    let ruled = rules("[[verify.criteria]]\ntext = \"`touch made-by-plan`\"\nrun = [\"make own\"]");
    let found = TaskChecks::of(&ruled, &plan, 0, true);
    assert_eq!(found.checks.len(), 1);
    assert!(!found.checks[0].from_plan);
    // Text that merely contains commands is prose.
    let prose = TaskChecks::of(&rules(""), &plan, 1, true);
    assert_eq!((prose.checks.len(), prose.unverified.len()), (0, 4));
    let same = rules("[verify]\nevery = [\"touch made-by-plan\"]");
    let found = TaskChecks::of(&same, &plan, 0, true);
    assert_eq!((found.checks.len(), found.checks[0].from_plan), (1, false));
}

#[test]
fn many_criteria_take_no_longer_each() {
    let list: Vec<String> = (0..20_000).map(|n| format!("\"`echo {n}`\"")).collect();
    let text = OPENCRABS.replace("\"Works\"", &list.join(","));
    let plan = plan_of(&text, "plan.json");
    let begun = CpuStopwatch::start();
    let found = TaskChecks::of(
        &rules("[[verify.criteria]]\npattern = \"x*\"\nrun = [\"x\"]"),
        &plan,
        0,
        true,
    );
    assert_eq!(found.checks.len(), 20_000);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

// Where.

#[test]
fn folders_stay_in_the_workspace() {
    let root = TempFolder::new().expect("a folder");
    let away = TempFolder::new().expect("a folder");
    root.write("child/file", "").expect("a file");
    std::os::unix::fs::symlink(away.path(), root.path().join("link")).expect("a link");
    let folder_for = |name: &str| {
        let text = PACK.replacen(
            "\"test_focus\"",
            &format!("\"target_repo\": {name:?}, \"test_focus\""),
            1,
        );
        let plan = plan_of(&text, "docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md");
        folder(root.path(), &plan, 0).map_err(|error| error.to_string())
    };
    assert_eq!(folder_for("."), Ok(root.path().to_owned()));
    assert_eq!(folder_for("child"), Ok(root.path().join("child")));
    for (name, message) in [
        ("..", "leads out of the workspace"),
        ("child/../..", "leads out of the workspace"),
        ("/etc", "leads out of the workspace"),
        ("link", "leads out of the workspace"),
        ("nowhere", "there is no folder"),
        ("child/file", "there is no folder"),
    ] {
        let error = folder_for(name).expect_err("a refusal");
        assert!(error.contains(message), "{name}: {error}");
    }
}

// Running.

/// A place to run commands in.
struct Shop {
    folder: TempFolder,
    workers: Workers,
    scene: CheckEnvironment,
}

#[derive(Default)]
struct Quiet {
    n_begun: usize,
    n_ended: usize,
    /// Interrupts after this many commands have started.
    interrupts_at: Option<usize>,
}

impl VerificationWatch for Quiet {
    fn begins(&mut self, _check: &Check) {
        self.n_begun += 1;
    }

    fn ends(&mut self, _check: &Check, _receipt: &Receipt) {
        self.n_ended += 1;
    }

    fn interruption(&mut self) -> Option<StopManner> {
        (self.interrupts_at == Some(self.n_begun)).then_some(StopManner::Politely)
    }
}

impl Shop {
    fn new(task: &str) -> Self {
        let folder = TempFolder::new().expect("a folder");
        let scene = CheckEnvironment {
            folder: folder.path().to_owned(),
            environment: environment(std::env::vars_os(), Path::new("plan.json"), task, folder.path()),
            mark: new_mark(),
            max_log_bytes: 10_000_000,
            redaction: Redaction::of([]),
            grace: Duration::from_secs(5),
            fence: None,
        };
        Shop {
            folder,
            workers: Workers::new().expect("workers"),
            scene,
        }
    }

    fn logs(&self) -> VerificationLogs {
        VerificationLogs::create(self.folder.path(), "plan.json", "../t1").expect("a folder")
    }

    fn run_all(&mut self, checks: &[Check], watch: &mut Quiet) -> Result<Vec<Receipt>, VerificationInterrupted> {
        let logs = self.logs();
        run_all(&mut self.workers, checks, &self.scene, &logs, Some("c0ffee"), watch)
    }

    #[track_caller]
    fn run(&mut self, check: Check) -> Receipt {
        let mut receipts = self.run_all(&[check], &mut Quiet::default()).expect("an end");
        receipts.pop().expect("a receipt")
    }
}

#[test]
fn receipts_record_the_result() {
    let mut shop = Shop::new("t1");
    for (command, exit) in [
        (Command::Words(vec!["true".to_owned()]), "exit 0"),
        (Command::Words(vec!["false".to_owned()]), "exit 1"),
        (shell("exit 7"), "exit 7"),
        (shell("kill -9 $$"), "signal 9"),
    ] {
        let receipt = shop.run(check(command.clone()));
        assert_eq!(receipt.exit, exit);
        assert_eq!(passed(&receipt), exit == "exit 0");
        assert_eq!(receipt.command, command.arguments());
        assert_eq!(receipt.commit.as_deref(), Some("c0ffee"));
        assert_eq!(receipt.digest, Digest::of("").to_string());
    }
    let receipt = shop.run(check(shell("printf 'out\\n'; printf 'err\\n' >&2")));
    assert_eq!((receipt.tail.as_str(), receipt.exit.as_str()), ("out\nerr\n", "exit 0"));
    assert_eq!(receipt.digest, Digest::of("out\nerr\n").to_string());
    assert_eq!(
        std::fs::read_to_string(shop.logs().log(1)).expect("a log"),
        "out\nerr\n"
    );
    assert!(
        shop.logs()
            .log(1)
            .starts_with(shop.folder.path().join(".planwright/checks"))
    );
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
    let mut shop = Shop::new("t1");
    let slow = Check {
        timeout: Duration::from_millis(300),
        ..check(shell("echo begun; sleep 100 & sleep 100"))
    };
    let receipt = shop.run(slow);
    assert_eq!((receipt.exit.as_str(), receipt.tail.as_str()), ("timeout", "begun\n"));
    assert!(!passed(&receipt) && receipt.milliseconds >= 300, "{receipt:?}");
    assert_eq!(orphans(&shop.scene.mark, &[]), []);
}

#[test]
#[cfg(target_os = "linux")]
fn processes_that_a_command_leaves_running_are_ended() {
    let mut shop = Shop::new("t1");
    let receipt = shop.run(check(shell("sleep 100 & echo started")));
    assert!(passed(&receipt), "{receipt:?}");
    assert_eq!(orphans(&shop.scene.mark, &[]), []);
}

#[test]
fn a_command_that_cannot_be_started_has_failed() {
    let mut shop = Shop::new("t1");
    let receipt = shop.run(check(Command::Words(vec!["no-such-program-here".to_owned()])));
    assert_eq!(receipt.exit, "not started");
    assert!(
        !passed(&receipt) && receipt.tail.contains("no-such-program-here"),
        "{receipt:?}"
    );
}

#[test]
fn long_outputs_are_digested_whole_and_kept_by_their_end() {
    let mut shop = Shop::new("t1");
    let line = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";
    let command = format!("yes {line} | head -c 1048576");
    let receipt = shop.run(check(shell(&command)));
    let all = format!("{line}\n").repeat(1 << 14);
    assert_eq!(receipt.digest, Digest::of(&all).to_string());
    assert_eq!(receipt.tail, all[all.len() - MAX_TAIL_BYTES..]);
    shop.scene.max_log_bytes = 10_000;
    let receipt = shop.run(check(shell(&command)));
    assert!(receipt.digest.ends_with(" of a shortened log"), "{}", receipt.digest);
    assert_eq!(receipt.tail.len(), MAX_TAIL_BYTES);
}

#[test]
fn all_commands_run_also_after_one_has_failed() {
    let mut shop = Shop::new("t1");
    let mut watch = Quiet::default();
    let checks = ["true", "false", "true"].map(|line| check(shell(line)));
    let receipts = shop.run_all(&checks, &mut watch).expect("an end");
    let exits: Vec<&str> = receipts.iter().map(|receipt| receipt.exit.as_str()).collect();
    assert_eq!(exits, ["exit 0", "exit 1", "exit 0"]);
    assert_eq!((watch.n_begun, watch.n_ended), (3, 3));
    assert!(shop.logs().log(3).exists());
    // Afterwards, only outputs of the last verification exist.
    shop.run(check(shell("echo again")));
    assert!(shop.logs().log(1).exists() && !shop.logs().log(2).exists() && !shop.logs().log(3).exists());
    assert!(!all_passed(&receipts) && all_passed(&receipts[..1]) && !all_passed(&[]));
}

#[test]
fn an_interruption_ends_running_commands_and_starts_no_new_ones() {
    let mut shop = Shop::new("t1");
    let mut watch = Quiet {
        interrupts_at: Some(2),
        ..Quiet::default()
    };
    let checks = ["true", "sleep 100", "true"].map(|line| check(shell(line)));
    assert_eq!(shop.run_all(&checks, &mut watch), Err(VerificationInterrupted));
    assert_eq!((watch.n_begun, watch.n_ended), (2, 1));
    assert_eq!(orphans(&shop.scene.mark, &[]), []);
    let names = std::fs::read_dir(shop.folder.path().join(".planwright/checks")).expect("a folder");
    let names: Vec<OsString> = names.map(|entry| entry.expect("an entry").file_name()).collect();
    assert!(
        names.len() == 1 && !names[0].to_string_lossy().ends_with(".part"),
        "{names:?}"
    );
}

#[test]
fn names_of_tasks_are_no_commands() {
    let hostile = "$(touch owned)`touch owned`\n; touch owned #\0'\"";
    let mut shop = Shop::new(hostile);
    let receipt = shop.run(check(shell(
        "printf %s \"$PLANWRIGHT_TASK\"; echo; echo $PLANWRIGHT_PLAN",
    )));
    assert!(passed(&receipt), "{receipt:?}");
    assert_eq!(
        receipt.tail,
        format!("{}\nplan.json\n", hostile.replace('\0', "\u{fffd}"))
    );
    assert!(!shop.folder.path().join("owned").exists());
}

#[test]
fn the_user_keeps_the_whole_environment() {
    let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let given = [pair("SECRET", "x"), pair("PLANWRIGHT_TASK", "outer"), pair("A", "1")];
    let expected = [
        pair("A", "1"),
        pair("CI", "1"),
        pair("PLANWRIGHT_FOLDER", "/w"),
        pair("PLANWRIGHT_PLAN", "p.json"),
        pair("PLANWRIGHT_TASK", "t"),
        pair("SECRET", "x"),
    ];
    assert_eq!(environment(given, Path::new("p.json"), "t", Path::new("/w")), expected);
    let own = environment([pair("CI", "false")], Path::new("p.json"), "t", Path::new("/w"));
    assert!(own.contains(&pair("CI", "false")), "the user's own value holds");
}

#[test]
fn receipts_name_the_commit() {
    let folder = TempFolder::new().expect("a folder");
    assert_eq!(commit_at(folder.path()), None);
    let git = |arguments: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .expect("git, which these tests need");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).expect("text")
    };
    git(&["init", "-q"]);
    assert_eq!(commit_at(folder.path()), None, "there is no commit yet");
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    assert_eq!(
        commit_at(folder.path()),
        Some(git(&["rev-parse", "HEAD"]).trim().to_owned())
    );
    assert_eq!(commit_at(&folder.path().join("nowhere")), None);
}

// The journal.

fn verified(task: &str) -> ManualVerification {
    ManualVerification {
        task: task.to_owned(),
        passed: true,
        waived: false,
        receipts: vec![Receipt {
            is_setup: false,
            command: vec!["true".to_owned()],
            exit: "exit 0".to_owned(),
            milliseconds: 3,
            digest: Digest::of("").to_string(),
            tail: "\u{1b}[31m\n".to_owned(),
            commit: None,
            tree: None,
        }],
        unverified: vec!["Works".to_owned()],
        by: Some("ana".to_owned()),
    }
}

#[test]
fn a_verification_is_recorded_and_nothing_that_can_be_undone() {
    let workspace = Workspace::new();
    workspace.add("a");
    let store = store_over(&DiskFiles);
    let text = workspace.text();
    let notices = store.record_verified(plan_at(&workspace.plan), verified("a"));
    assert_eq!(notices.expect("recorded"), []);
    assert_eq!(workspace.text(), text);
    let history = workspace.history();
    let last = history.records().last().expect("a record");
    assert!(matches!(&last.kind, JournalEvent::Verified(found) if **found == verified("a")));
    let changes = history.changes().to_vec();
    let past = changes.last().expect("a change");
    assert_eq!(
        (past.change.verb.as_str(), past.change.by.as_deref()),
        ("verify", Some("ana"))
    );
    assert_eq!(past.change.verified, [verified("a")]);
    assert_eq!(history.undoables().next().map(|past| past.seq), Some(1));
    undo(&store, plan_at(&workspace.plan)).expect("undone");
    assert_eq!(workspace.text(), "first\n");
}

#[test]
fn a_verification_may_be_the_first_record() {
    let workspace = Workspace::new();
    let store = store_over(&DiskFiles);
    store
        .record_verified(plan_at(&workspace.plan), verified("a"))
        .expect("recorded");
    assert!(workspace.history().undoables().next().is_none());
    workspace.add("b");
    assert_eq!(workspace.history().changes().to_vec().len(), 2);
}

/// Written by the first version with verification.
const SAMPLE: &str = include_str!("../samples/journal-v1-verified.journal");

#[test]
fn a_journal_with_verifications_is_read_as_it_was_written() {
    let workspace = Workspace::new();
    workspace.add("a");
    std::fs::write(workspace.journal(), SAMPLE).expect("written");
    let history = workspace.history();
    let kinds: Vec<String> = history.records().map(|record| record.kind.name().to_owned()).collect();
    let expected = [
        "verified", "verified", "verified", "change", "landed", "verified", "verified",
    ];
    assert_eq!(kinds, expected);
    let changes = history.changes().to_vec();
    let first = &changes[0].change.verified[0];
    assert_eq!(
        (first.task.as_str(), first.passed, first.waived),
        ("US-001", false, false)
    );
    assert_eq!(first.receipts[1].exit, "exit 3");
    assert_eq!(first.unverified, ["The button is blue", "`touch made-by-plan`"]);
    assert!(changes[3].change.verified[0].waived);
    assert_eq!(history.undoables().next().map(|past| past.seq), Some(4));
}
