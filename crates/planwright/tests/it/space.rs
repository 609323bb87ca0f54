//! The verbs for the plans of a workspace: `list`, `find`, `delete`, `archive`, versions, `init`.

use serde_json::Value;

use crate::plans;
use crate::sandbox::Sandbox;

pub(crate) const CLIDO: &str = ".clido/plans/plan-a1b2c3d4.json";
pub(crate) const AIMI: &str = ".aimi/tasks/2026-03-03-charts-tasks.json";
const RAWKO: &str = ".rawko/plans/plan-20260501-cellar.yaml";
const OPENCRABS: &str = "plans/coding-plans/dark-mode.json";
pub(crate) const CURRENT: &str = ".rawko/current-task.yaml";

pub(crate) const CURRENT_TASK: &str = "task: Tidy the cellar\nplanId: plan-20260501-cellar\nstatus: in_progress\n";

/// Returns a workspace with four plans: failed, half done, half done and untouched.
pub(crate) fn workspace() -> Sandbox {
    let sandbox = Sandbox::with(&[
        (CLIDO, plans::CLIDO),
        (AIMI, plans::AIMI),
        (RAWKO, plans::RAWKO),
        (OPENCRABS, plans::OPENCRABS),
        // The requirements of a run, so that `doctor` only finds what the test breaks.
        (
            ".home/.config/planwright/config.toml",
            "[agents.mine]\ncommand = [\"git\"]\n[run]\nagent = \"mine\"\n[verify]\nevery = [[\"git\"]]\n",
        ),
    ]);
    // On any machine, `doctor` needs git in a repository.
    with_programs(sandbox, ".programs", &["git"])
}

/// Creates a folder of programs that do nothing, as the only one on `PATH`.
#[cfg(unix)]
pub(crate) fn with_programs(sandbox: Sandbox, folder: &str, names: &[&str]) -> Sandbox {
    use std::os::unix::fs::PermissionsExt as _;
    for name in names {
        let path = sandbox.write(&format!("{folder}/{name}"), "#!/bin/sh\n");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let folder = sandbox.path().join(folder);
    sandbox.set("PATH", &folder.to_string_lossy())
}

#[cfg(not(unix))]
pub(crate) fn with_programs(sandbox: Sandbox, _folder: &str, _names: &[&str]) -> Sandbox {
    sandbox
}

/// Returns a text of every plan or finding in a list.
pub(crate) fn all<'a>(report: &'a Value, list: &str, field: &str) -> Vec<&'a str> {
    let items = report[list].as_array().expect("a list");
    items.iter().filter_map(|item| item[field].as_str()).collect()
}

fn paths(report: &Value) -> Vec<&str> {
    let mut paths = all(report, "plans", "path");
    paths.sort_unstable();
    paths
}

pub(crate) fn exists(sandbox: &Sandbox, path: &str) -> bool {
    sandbox.path().join(path).exists()
}

// list

#[track_caller]
fn lists(sandbox: &Sandbox, filters: &[&str], expected: &[&str]) {
    let args: Vec<&str> = ["list", "--json"].iter().chain(filters).copied().collect();
    let report = sandbox.run(&args).exits(0).json();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(paths(&report), expected, "{filters:?}");
}

#[test]
fn lists_are_filtered_by_state() {
    let sandbox = workspace();
    lists(&sandbox, &["--status", "failed"], &[CLIDO]);
    lists(&sandbox, &["--status", "pending"], &[AIMI, RAWKO, OPENCRABS]);
    lists(&sandbox, &["--status", "running"], &[]);
    lists(
        &sandbox,
        &["--status", "failed", "--status", "pending"],
        &[CLIDO, AIMI, RAWKO, OPENCRABS],
    );
    for word in ["in_progress", "InProgress", "in-progress"] {
        lists(&sandbox, &["--status", word], &[RAWKO]);
    }
    sandbox.run(&["start", "1", "-p", RAWKO]).exits(0);
    lists(&sandbox, &["--status", "running"], &[RAWKO]);
    sandbox.run(&["done", "1", "-p", RAWKO]).exits(0);
    sandbox.run(&["start", "2", "-p", RAWKO]).exits(0);
    sandbox.run(&["done", "2", "-p", RAWKO]).exits(0);
    lists(&sandbox, &["--status", "complete"], &[RAWKO]);
    let none = sandbox.run(&["list", "--status", "finished"]).exits(0);
    assert_eq!(none.stdout, "");
    assert!(
        none.stderr.contains("1 complete, 1 failed, 2 pending"),
        "{}",
        none.text()
    );
}

#[test]
fn lists_are_filtered_by_text_and_dialect() {
    let sandbox = workspace();
    lists(&sandbox, &["CELLAR"], &[RAWKO]);
    lists(&sandbox, &["a1b2"], &[CLIDO]);
    lists(&sandbox, &["dark-mode.json"], &[OPENCRABS]);
    lists(&sandbox, &["setting of the system"], &[OPENCRABS]);
    lists(&sandbox, &["--dialect", "aimi"], &[AIMI]);
    lists(&sandbox, &["cellar", "--dialect", "aimi"], &[]);
    sandbox.run(&["list", "--dialect", "none"]).exits(2);
    let report = sandbox.run(&["list", "--json", "cellar"]).exits(0).json();
    let plan = &report["plans"][0];
    assert_eq!(plan["id"], "plan-20260501-cellar");
    assert_eq!(plan["status"], "in_progress");
    assert_eq!(plan["state"], "pending");
    assert_eq!(plan["archived"], false);
}

#[test]
fn a_list_counts_states_that_only_the_journal_holds() {
    let sandbox = Sandbox::with(&[("docs/plans/photos.md", plans::SOURCE_PLAN)]);
    let hash = sandbox.run(&["hash", "docs/plans/photos.md"]).exits(0).stdout;
    let pack = "docs/tasks/2026-05-11-001-feat-photos-tasks.md";
    sandbox.write(pack, plans::task_pack(hash.trim_end()));
    sandbox.run(&["start", "T001", "-p", pack]).exits(0);
    lists(&sandbox, &["--status", "running"], &[pack]);
}

// find

#[track_caller]
fn finds(sandbox: &Sandbox, text: &str, status: i32, expected: &[&str]) {
    let report = sandbox.run(&["find", "--json", text]).exits(status).json();
    assert_eq!(report["schema_version"], "planwright.find/v1");
    assert_eq!(paths(&report), expected, "{text}");
}

#[test]
fn plans_are_found_by_the_best_match() {
    let sandbox = workspace();
    sandbox.write(
        ".clido/plans/plan-a1b2c3d4-old.json",
        plans::CLIDO.replace("c3d4", "c3d4-old"),
    );
    finds(&sandbox, "plan-a1b2c3d4", 0, &[CLIDO]);
    finds(&sandbox, "a1b2", 1, &[".clido/plans/plan-a1b2c3d4-old.json", CLIDO]);
    finds(&sandbox, "d4-old", 0, &[".clido/plans/plan-a1b2c3d4-old.json"]);
    finds(&sandbox, "CELLAR", 0, &[RAWKO]);
    finds(&sandbox, ".aimi/", 0, &[AIMI]);
    // By a part of the title if no name matches.
    let list = sandbox.run(&["list", "--json"]).exits(0).json();
    let plans = list["plans"].as_array().expect("a list");
    let charts = plans.iter().find(|plan| plan["path"] == AIMI).expect("it is there");
    let title = charts["title"].as_str().expect("a title").to_uppercase();
    finds(&sandbox, &title, 0, &[AIMI]);
    finds(&sandbox, "nothing-like-it", 1, &[]);
    finds(&sandbox, "../../etc/passwd", 1, &[]);
    let one = sandbox.run(&["find", "cellar"]).exits(0);
    assert_eq!(
        (one.stdout.as_str(), one.stderr.as_str()),
        (format!("{RAWKO}\n").as_str(), "")
    );
    sandbox
        .run(&["find", "plan-"])
        .exits(1)
        .is_decent()
        .is_as_in("find-several");
    sandbox.run(&["find", "nothing-like-it"]).exits(1).is_as_in("find-none");
    sandbox.run(&["find", ""]).exits(2);
}

#[test]
fn archived_plans_are_found_if_no_other_matches() {
    let sandbox = workspace();
    sandbox.run(&["archive", "cellar"]).exits(0);
    let archived = ".rawko/plans/archive/plan-20260501-cellar.yaml";
    finds(&sandbox, "cellar", 0, &[archived]);
    finds(&sandbox, "plan-a1b2c3d4", 0, &[CLIDO]);
    sandbox.run(&["show", "cellar"]).exits(0);
    sandbox.run(&["done", "1", "-p", "cellar"]).exits(1);
}

// delete

#[test]
fn a_deleted_plan_is_kept() {
    let sandbox = workspace();
    sandbox.run(&["start", "t2", "-p", CLIDO]).exits(0);
    let text = sandbox.read(CLIDO);
    sandbox
        .run(&["delete", "a1b2", "--yes", "--by", "me"])
        .exits(0)
        .is_decent()
        .is_as_in("delete");
    assert!(!exists(&sandbox, CLIDO));
    let kept = format!(".planwright/trash/1/{CLIDO}");
    assert_eq!(sandbox.read(&kept), text);
    lists(&sandbox, &["a1b2"], &[]);
    let history = sandbox.run(&["history", "--json", &kept]).exits(0).json();
    assert_eq!(all(&history, "changes", "verb"), ["delete", "start"]);
    assert_eq!(history["changes"][0]["moved_to"], kept);
    assert_eq!(history["changes"][0]["by"], "me");
    sandbox.run(&["delete", "--yes", &kept]).exits(1);

    // A plan of the same name starts again, and is kept next to the first.
    sandbox.write(CLIDO, plans::CLIDO);
    let history = sandbox.run(&["history", "--json", CLIDO]).exits(0).json();
    assert_eq!(history["n_changes"], 0);
    let report = sandbox.run(&["delete", "--json", "--yes", CLIDO]).exits(0).json();
    assert_eq!(report["schema_version"], "planwright.delete/v1");
    assert_eq!(report["written"], true);
    assert_eq!(report["plans"][0]["to"], format!(".planwright/trash/2/{CLIDO}"));
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn delete_without_a_terminal_needs_yes() {
    let sandbox = workspace();
    let refused = sandbox.run_with(&["delete", "a1b2"], "y\n").exits(2);
    assert!(refused.stderr.contains("--yes"), "{}", refused.text());
    sandbox
        .run(&["delete", "a1b2", "cellar", "--dry-run"])
        .exits(0)
        .is_as_in("delete-dry-run");
    let dry = sandbox.run(&["delete", "a1b2", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(dry["written"], false);
    assert!(exists(&sandbox, CLIDO) && exists(&sandbox, RAWKO) && !exists(&sandbox, ".planwright"));
    sandbox.run(&["delete"]).exits(2);
    sandbox.run(&["delete", "--yes", "-"]).exits(2);
}

#[test]
fn several_plans_are_deleted_if_all_are_known() {
    let sandbox = workspace();
    sandbox.run(&["delete", "--yes", "a1b2", "no-such-plan"]).exits(1);
    assert!(exists(&sandbox, CLIDO));
    let twice = sandbox
        .run(&["delete", "--yes", "--json", "a1b2", CLIDO, RAWKO])
        .exits(0)
        .json();
    assert_eq!(all(&twice, "plans", "plan"), [CLIDO, RAWKO], "one name counts once");
}

#[test]
fn files_that_are_no_plans_are_not_deleted() {
    let sandbox = workspace();
    sandbox.write("notes.json", "{\"a\": 1}");
    sandbox.write("README.md", "# Read me\n");
    sandbox.write(CURRENT, CURRENT_TASK);
    for name in ["notes.json", "README.md", CURRENT, ".clido/plans", "gone.json", "."] {
        for verb in ["delete", "archive"] {
            let args: &[&str] = if verb == "delete" {
                &[verb, "--yes", name]
            } else {
                &[verb, name]
            };
            let ran = sandbox.run(args);
            assert!(matches!(ran.is_decent().status, Some(1 | 3)), "{name}: {}", ran.text());
        }
    }
    for name in ["notes.json", "README.md", CURRENT, CLIDO, RAWKO] {
        assert!(exists(&sandbox, name), "{name}");
    }
    // A broken plan can still be removed from the folders of plans.
    sandbox.write(".clido/plans/broken.json", "{");
    sandbox.run(&["delete", "--yes", "broken"]).exits(0);
    assert_eq!(sandbox.read(".planwright/trash/1/.clido/plans/broken.json"), "{");
}

#[test]
fn ids_never_lead_out_of_the_folder_of_the_plans() {
    let sandbox = Sandbox::with(&[
        ("precious.json", "{\"a\": 1}"),
        (CLIDO, &plans::CLIDO.replace("plan-a1b2c3d4", "../../precious")),
        (
            RAWKO,
            &plans::RAWKO.replace("plan-20260501-cellar", "../../../precious"),
        ),
        (
            CURRENT,
            &CURRENT_TASK.replace("plan-20260501-cellar", "../../precious.json"),
        ),
    ]);
    // An id with separators is read as a path, and no file has that path.
    sandbox.run(&["delete", "--yes", "../../precious"]).exits(3);
    sandbox.run(&["archive", "../../precious"]).exits(3);
    sandbox.run(&["archive", CLIDO, RAWKO]).exits(0);
    assert!(exists(&sandbox, &format!(".planwright/archive/{CLIDO}")));
    assert!(
        exists(&sandbox, ".rawko/plans/archive/plan-20260501-cellar.yaml"),
        "by the name of its file"
    );
    assert!(exists(&sandbox, "precious.json"));
}

#[test]
fn a_pointer_to_a_deleted_plan_is_kept_and_reported() {
    for args in [&["delete", "--yes", "cellar"][..], &["archive", "cellar"]] {
        let sandbox = workspace();
        sandbox.write(CURRENT, CURRENT_TASK);
        let ran = sandbox.run(args).exits(0);
        assert!(
            ran.stderr.contains("`.rawko/current-task.yaml` still names"),
            "{}",
            ran.text()
        );
        assert_eq!(sandbox.read(CURRENT), CURRENT_TASK);
        let report = sandbox.run(&["doctor", "--json"]).exits(0).json();
        assert_eq!(all(&report, "findings", "id"), ["points-nowhere"]);
    }
}

// archive

#[test]
fn archived_plans_keep_their_history() {
    let sandbox = workspace();
    sandbox.run(&["start", "1", "-p", RAWKO]).exits(0);
    sandbox.run(&["start", "US-002", "-p", AIMI]).exits(0);
    let (rawko, aimi) = (
        ".rawko/plans/archive/plan-20260501-cellar.yaml",
        ".planwright/archive/.aimi/tasks/2026-03-03-charts-tasks.json",
    );
    let (rawko_text, aimi_text) = (sandbox.read(RAWKO), sandbox.read(AIMI));
    sandbox
        .run(&["archive", RAWKO, AIMI])
        .exits(0)
        .is_decent()
        .is_as_in("archive");
    assert!(!exists(&sandbox, RAWKO) && !exists(&sandbox, AIMI));
    assert_eq!((sandbox.read(rawko), sandbox.read(aimi)), (rawko_text, aimi_text));
    lists(&sandbox, &[], &[CLIDO, OPENCRABS]);
    lists(&sandbox, &["--archived"], &[rawko, aimi]);
    lists(&sandbox, &["--archived", "--dialect", "rawko"], &[rawko]);
    for plan in ["cellar", rawko, "charts", aimi] {
        let history = sandbox.run(&["history", "--json", plan]).exits(0).json();
        assert_eq!(all(&history, "changes", "verb"), ["archive", "start"], "{plan}");
    }
    // The current task still names the archived plan, which `doctor` would report.
    std::fs::remove_file(sandbox.path().join(CURRENT)).expect("it was written");
    // An archived plan can go to the trash, and its history with it.
    sandbox.run(&["delete", "--yes", aimi]).exits(0);
    let history = sandbox
        .run(&["history", "--json", &format!(".planwright/trash/1/{AIMI}")])
        .exits(0)
        .json();
    assert_eq!(all(&history, "changes", "verb"), ["delete", "archive", "start"]);
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn an_archived_plan_is_not_overwritten() {
    let sandbox = workspace();
    sandbox.run(&["archive", "cellar"]).exits(0);
    sandbox.write(RAWKO, plans::RAWKO);
    for args in [&["archive", "cellar"][..], &["archive", "cellar", "--dry-run"]] {
        sandbox.run(args).exits(1).is_decent().is_as_in("archive-occupied");
    }
    assert_eq!(sandbox.read(RAWKO), plans::RAWKO);
    let archived = ".rawko/plans/archive/plan-20260501-cellar.yaml";
    let again = sandbox.run(&["archive", archived]).exits(1);
    assert!(again.stderr.contains("archived already"), "{}", again.text());
}

#[test]
fn archive_has_a_dry_run() {
    let sandbox = workspace();
    sandbox
        .run(&["archive", "cellar", "a1b2", "--dry-run"])
        .exits(0)
        .is_as_in("archive-dry-run");
    let report = sandbox
        .run(&["archive", "cellar", "--dry-run", "--json"])
        .exits(0)
        .json();
    assert_eq!(report["schema_version"], "planwright.archive/v1");
    assert_eq!(
        (&report["written"], exists(&sandbox, RAWKO)),
        (&Value::Bool(false), true)
    );
    assert!(!exists(&sandbox, ".planwright"));
}

// versions

/// Returns the plan of [`plans::RAWKO`] in another version.
fn version(id: &str, number: u32, previous: &str) -> String {
    let id_line = format!("id: {id}\n");
    let text = plans::RAWKO.replace("id: plan-20260501-cellar\n", &id_line);
    text.replace(
        "version: 1\n",
        &format!("version: {number}\npreviousPlanId: {previous}\n"),
    )
}

#[test]
fn a_history_begins_with_the_versions_of_the_plan() {
    let base = "plan-20260501-cellar";
    let sandbox = workspace();
    let (second, third) = (format!("{base}-v2"), format!("{base}-v3"));
    sandbox.write(&format!(".rawko/plans/{second}.yaml"), version(&second, 2, base));
    sandbox.write(&format!(".rawko/plans/{third}.yaml"), version(&third, 3, &second));
    // The name of another plan may end like that: only the plan's own number makes it a version.
    let other = format!("{base}-v9");
    sandbox.write(
        &format!(".rawko/plans/{other}.yaml"),
        plans::RAWKO.replace(base, &other),
    );
    sandbox
        .run(&["archive", &format!(".rawko/plans/{second}.yaml")])
        .exits(0);
    for plan in [base, &second, &third] {
        let report = sandbox.run(&["history", "--json", plan]).exits(0).json();
        assert_eq!(all(&report, "versions", "id"), [base, &second, &third], "{plan}");
        let asked: Vec<&Value> = report["versions"].as_array().expect("a list").iter().collect();
        let ids: Vec<_> = asked
            .iter()
            .filter(|one| one["asked"] == true)
            .map(|one| &one["id"])
            .collect();
        assert_eq!(ids, [plan]);
        assert_eq!(report["versions"][1]["archived"], true);
    }
    let alone = sandbox.run(&["history", "--json", &other]).exits(0).json();
    assert_eq!(all(&alone, "versions", "id"), [other]);
    let without = sandbox.run(&["history", "--json", CLIDO]).exits(0).json();
    assert_eq!(without["versions"].as_array().map(Vec::len), Some(0));
    sandbox
        .run(&["history", &third])
        .exits(0)
        .is_decent()
        .is_as_in("history-versions");
    sandbox.run(&["history", "-"]).exits(2);
}

// init

#[cfg(unix)]
#[test]
fn init_creates_a_workspace() {
    let sandbox = with_programs(workspace(), ".bin", &["codex", "claude", "git"]);
    sandbox.write(".bin/gemini", "not a program");
    sandbox.write(".home/.config/planwright/config.toml", "");
    sandbox.run(&["init", "--dry-run"]).exits(0);
    assert!(!exists(&sandbox, "planwright.toml") && !exists(&sandbox, ".planwright"));
    sandbox.run(&["init"]).exits(0).is_decent().is_as_in("init");
    let config = sandbox.read("planwright.toml");
    assert!(config.contains("\n[run]\nagent = \"claude\"\n"), "{config}");
    assert_eq!(sandbox.read(".planwright/.gitignore"), "*\n");
    // Without their `#`, the settings are valid; of several lines for the same setting, one.
    let mut known = Vec::new();
    let bared = config.lines().filter_map(|line| match line.strip_prefix('#') {
        Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => {
            let key = setting.split(" = ").next().unwrap_or_default();
            let is_new = !known.contains(&key);
            known.push(key);
            is_new.then_some(setting)
        }
        _ => Some(line),
    });
    let bared: String = bared.map(|line| format!("{line}\n")).collect();
    assert!(
        bared.contains("\nslots = 4") && bared.contains("\n[notify]\n"),
        "{bared}"
    );
    sandbox.write("planwright.toml", &bared);
    sandbox.run(&["config"]).exits(0);

    sandbox.write("planwright.toml", "# mine\n");
    for args in [&["init"][..], &["init", "--dry-run"], &["init", "--json"]] {
        sandbox.run(args).exits(0);
    }
    let again = sandbox.run(&["init"]).exits(0).text();
    assert!(again.contains("exists already: nothing was changed"), "{again}");
    assert!(again.contains("agent = \"claude\""), "{again}");
    assert_eq!(sandbox.read("planwright.toml"), "# mine\n");
}

#[cfg(unix)]
#[test]
fn init_prints_the_lines_that_a_file_lacks() {
    let sandbox = with_programs(Sandbox::new(), ".bin", &["codex", "git"]);
    for (text, lines) in [
        ("# mine\n", "add to planwright.toml:\n\n[run]\nagent = \"codex\"\n"),
        (
            "[run]\nattempts = 1\n",
            "add below [run] in planwright.toml, or change the line that is there:\n\nagent = \"codex\"\n",
        ),
    ] {
        sandbox.write("planwright.toml", text);
        let ran = sandbox.run(&["init"]).exits(0);
        assert!(ran.stdout.contains(lines), "{}", ran.text());
        assert_eq!(sandbox.read("planwright.toml"), text);
    }
}

#[cfg(unix)]
#[test]
fn init_names_the_checklists_of_a_repository() {
    let sandbox = with_programs(Sandbox::new(), ".bin", &["claude"]);
    sandbox.write("TODO.md", "# To do\n- [ ] One\n- [x] Two\n  - [ ] Three\n");
    sandbox.write("PLAN.md", "Nothing is open here.\n- [x] One\n");
    let report = sandbox.run(&["init", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(all(&report, "checklists", "file"), ["TODO.md"]);
    let ran = sandbox.run(&["init"]).exits(0);
    let line = "found: TODO.md with 2 open tasks: `planwright adopt TODO.md` makes it a plan\n";
    assert!(ran.stdout.contains(line), "{}", ran.text());
    assert!(!exists(&sandbox, ".clido"), "nothing is imported");
    sandbox.run(&["import", "TODO.md", "--yes"]).exits(0);
}

#[cfg(unix)]
#[test]
fn lines_of_init_are_broken_between_words() {
    let sandbox = with_programs(workspace(), ".bin", &["claude", "codex", "git"]).set("COLUMNS", "60");
    let ran = sandbox.run(&["init"]).exits(0);
    let is_narrow = |line: &str| line.chars().count() <= 60 || line.trim_start().split(' ').count() == 1;
    assert!(ran.stdout.lines().all(is_narrow), "{}", ran.text());
}

#[cfg(unix)]
#[test]
fn the_help_for_a_missing_agent_keeps_what_was_typed() {
    let sandbox = with_programs(
        Sandbox::with(&[(".clido/plans/plan-a1b2c3d4.json", plans::CLIDO)]),
        ".bin",
        &["claude"],
    );
    let ran = sandbox.run(&["run", "-p", "a1b2", "--attempts", "1"]).exits(3);
    let command = "planwright run -p a1b2 --attempts 1 --agent claude";
    assert!(ran.stderr.contains(command), "{}", ran.text());
    let ran = sandbox.run(&["plan", "Log in", "--dialect", "clido"]).exits(3);
    let command = "planwright plan 'Log in' --dialect clido --agent claude";
    assert!(ran.stderr.contains(command), "{}", ran.text());
}

#[cfg(unix)]
#[test]
fn init_creates_a_workspace_in_another_folder_with_json() {
    let sandbox = with_programs(
        Sandbox::with(&[("sub/.clido/plans/plan-a1b2c3d4.json", plans::CLIDO)]),
        ".bin",
        &["qwen"],
    );
    let report = sandbox.run(&["init", "sub", "--json"]).exits(0).json();
    assert_eq!(report["schema_version"], "planwright.init/v1");
    assert_eq!(report["root"], "sub");
    assert_eq!(report["written"][0], "sub/planwright.toml");
    assert_eq!(all(&report, "agents", "name"), ["qwen"]);
    assert_eq!(report["plans"][0], "sub/.clido/plans/plan-a1b2c3d4.json");
    assert!(exists(&sandbox, "sub/.planwright/.gitignore") && !exists(&sandbox, ".planwright"));
    sandbox.run(&["init", "no-such-folder"]).exits(3);
    sandbox.run(&["init"]).exits(0);
    let nested = sandbox.run(&["init", ".clido"]);
    assert_eq!(nested.status, Some(3), "{}", nested.text());
    std::fs::create_dir(sandbox.path().join("inner")).expect("ours");
    let nested = sandbox.run(&["init", "inner"]).exits(0);
    assert!(nested.stderr.contains("inside the workspace"), "{}", nested.text());
}

#[test]
fn init_names_only_the_files_that_it_writes() {
    let sandbox = Sandbox::new();
    let written = |sandbox: &Sandbox| {
        let report = sandbox.run(&["init", "--no-run", "--json"]).exits(0).json();
        report["written"].clone()
    };
    assert_eq!(
        written(&sandbox),
        serde_json::json!(["planwright.toml", ".planwright/.gitignore"])
    );
    std::fs::remove_file(sandbox.path().join("planwright.toml")).expect("it was written");
    let planned = sandbox.run(&["init", "--no-run", "--dry-run"]).exits(0).stdout;
    assert!(planned.contains("would write planwright.toml"), "{planned}");
    assert!(!planned.contains(".gitignore"), "{planned}");
    assert_eq!(written(&sandbox), serde_json::json!(["planwright.toml"]));
}

#[test]
fn a_quiet_init_prints_problems_alone() {
    let sandbox = Sandbox::with(&[("Makefile", "test:\n\ttrue\n")]);
    sandbox.write(
        ".home/.config/planwright/config.toml",
        "[agents.own]\ncommand = [\"sh\"]\n",
    );
    for _ in 0..2 {
        // The second time there is a planwright.toml.
        let ran = sandbox.run(&["init", "-q", "--no-run"]).exits(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    }
    let bare = Sandbox::new().set("PATH", "/nowhere");
    let ran = bare.run(&["init", "-q"]).exits(0).stdout;
    assert!(ran.contains("agent: none is installed"), "{ran}");
    assert!(ran.contains("verification: found no command"), "{ran}");
    assert!(!ran.contains("next:") && !ran.contains("wrote"), "{ran}");
}
