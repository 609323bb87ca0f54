//! Gates apply to every verb: approval, drafts, stale sources, dependencies; and the exceptions of the original command lines.

use crate::plans;
use crate::run::{Workspace, aimi, clido};
use crate::sandbox::Sandbox;

const PACK: &str = "docs/tasks/photos.md";
const SOURCE: &str = "docs/plans/photos.md";

/// Returns a workspace with a task pack and its source plan.
fn pack() -> Sandbox {
    let sandbox = Sandbox::with(&[(SOURCE, plans::SOURCE_PLAN)]);
    let hash = sandbox.run(&["hash", SOURCE]).exits(0).stdout;
    sandbox.write(PACK, plans::task_pack(hash.trim()));
    sandbox
}

#[test]
fn no_verb_works_on_a_stale_pack() {
    let sandbox = pack();
    sandbox.run(&["start", "T002", "-p", PACK]).exits(0);
    sandbox.write(SOURCE, format!("{}\n- R2 more\n", plans::SOURCE_PLAN));
    for args in [
        &["start", "T001", "-p", PACK][..],
        &["start", "T001", "-p", PACK, "--force", "--note", "now"],
        &["next", PACK, "--start"],
        &["done", "T002", "-p", PACK],
        &["done", "T002", "-p", PACK, "--force", "--note", "now"],
    ] {
        let refused = sandbox.run(args).exits(1).text();
        assert!(refused.contains("the pack is stale"), "{args:?}: {refused}");
        let command = format!("`planwright tasks regenerate {PACK}`");
        assert!(refused.contains(&command), "{args:?}: {refused}");
    }
    // Every printed command names this pack.
    for args in [
        &["check", PACK][..],
        &["check", PACK, "--json"],
        &["show", PACK],
        &["next", PACK],
        &["why", "T001", "-p", PACK],
        &["run", PACK, "--dry-run"],
        &["approve", "-p", PACK],
    ] {
        let shown = sandbox.run(args).text();
        assert!(
            shown.contains(&format!("planwright tasks regenerate {PACK}")),
            "{args:?}: {shown}"
        );
        assert!(!shown.contains(" PACK"), "{args:?}: {shown}");
    }
    let why = sandbox.run(&["why", "T001", "-p", PACK]).exits(0).stdout;
    assert!(why.contains("the pack is stale"), "{why}");
    assert!(
        sandbox
            .run(&["next", PACK])
            .exits(0)
            .text()
            .contains("the pack is stale")
    );
    // Giving up work is no work.
    sandbox.run(&["fail", "T002", "-p", PACK]).exits(0);
}

#[test]
fn no_verb_works_on_a_draft_pack() {
    let sandbox = pack();
    let draft = sandbox.read(PACK).replace("execution_ready", "draft");
    let draft = draft
        .replace("\"status\": \"derived\"", "\"status\": \"draft\"")
        .replace("status: derived", "status: draft");
    sandbox.write(PACK, draft);
    let refused = sandbox
        .run(&["start", "T001", "-p", PACK, "--force", "--note", "x"])
        .exits(1)
        .text();
    assert!(refused.contains("draft"), "{refused}");
}

#[test]
fn no_verb_works_on_an_opencrabs_draft() {
    let sandbox = Sandbox::with(&[("form.json", plans::OPENCRABS)]);
    sandbox.run(&["import", "form.json", "--out", "crab.json"]).exits(0);
    let before = sandbox.read("crab.json");
    for args in [
        &["next", "crab.json", "--start"][..],
        &["start", "1", "-p", "crab.json"],
        &["start", "1", "-p", "crab.json", "--force", "--note", "now"],
    ] {
        let refused = sandbox.run(args).exits(1).text();
        assert!(refused.contains("approve"), "{args:?}: {refused}");
    }
    assert_eq!(sandbox.read("crab.json"), before);
    sandbox.run(&["submit", "crab.json"]).exits(0);
    sandbox.run(&["approve", "crab.json"]).exits(0);
    sandbox.run(&["next", "crab.json", "--start"]).exits(0);
}

#[test]
fn approval_can_be_required_in_every_dialect() {
    let sandbox = Sandbox::with(&[
        ("plan.json", &clido(&["a"])),
        (
            "planwright.toml",
            "[approval]\nrequired = true\n[agents.mock]\ncommand = [\"sh\"]\n[run]\nagent = \"mock\"\n",
        ),
    ]);
    let before = sandbox.read("plan.json");
    let refused = sandbox.run(&["start", "a", "-p", "plan.json"]).exits(1).text();
    assert!(refused.contains("[approval] required"), "{refused}");
    assert!(
        sandbox
            .run(&["show", "plan.json"])
            .exits(0)
            .stdout
            .contains("no task can be started")
    );
    assert!(
        sandbox
            .run(&["run", "plan.json", "--dry-run"])
            .exits(1)
            .text()
            .contains("not approved")
    );
    let dry = sandbox.run(&["run", "plan.json", "--dry-run"]).exits(1).text();
    assert!(dry.contains("1 of 1 tasks would run"), "{dry}");
    let help = "a person approves it: `planwright approve plan.json`, or runs it with --yes";
    assert!(
        dry.contains("nothing would run: the plan is not approved") && dry.contains(help),
        "{dry}"
    );
    assert!(!refused.contains("--yes"), "`start` has no such option: {refused}");
    let next = sandbox.run(&["next", "plan.json"]).exits(1);
    assert_eq!(next.stdout, "", "nothing is offered");
    assert!(next.stderr.contains("no task can be started"), "{}", next.stderr);
    let approved = sandbox.run(&["approve", "plan.json", "--by", "ada"]).exits(0).stdout;
    assert!(approved.contains("the plan is approved"), "{approved}");
    let again = sandbox.run(&["approve", "plan.json", "--by", "bob"]).exits(0).text();
    assert!(again.contains("the plan is approved already"), "{again}");
    let history = sandbox.run(&["history", "plan.json"]).exits(0).stdout;
    assert_eq!(history.matches("approve").count(), 1, "{history}");
    assert_eq!(sandbox.read("plan.json"), before, "the journal has it");
    sandbox.run(&["undo", "plan.json"]).exits(0);
    sandbox.run(&["start", "a", "-p", "plan.json"]).exits(1);
    sandbox.run(&["approve", "plan.json", "--by", "ada"]).exits(0);
    sandbox.run(&["start", "a", "-p", "plan.json"]).exits(0);
    sandbox.run(&["reset", "a", "-p", "plan.json"]).exits(0);
    sandbox.run(&["reject", "plan.json", "--note", "too broad"]).exits(0);
    sandbox.run(&["start", "a", "-p", "plan.json"]).exits(1);
}

#[test]
fn force_passes_dependencies_with_a_reason_and_is_recorded() {
    let sandbox = Sandbox::with(&[("plan.json", &clido(&["a", "b a"]))]);
    assert!(
        sandbox
            .run(&["start", "b", "-p", "plan.json", "--force"])
            .exits(2)
            .stderr
            .contains("--note")
    );
    let report = sandbox
        .run(&[
            "start",
            "b",
            "-p",
            "plan.json",
            "--force",
            "--note",
            "a is not needed",
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(report["passed_gates"], serde_json::json!(["dependencies"]));
    let history = sandbox.run(&["history", "plan.json"]).exits(0).stdout;
    let words: Vec<&str> = history.split_whitespace().collect();
    assert!(
        words.join(" ").contains("overridden with --force: dependencies"),
        "{history}"
    );
}

const TASKS: &str = ".aimi/tasks/2026-01-01-try-tasks.json";

#[test]
fn the_original_command_line_stays_drop_in_and_records_the_gate() {
    let sandbox = Sandbox::with(&[(TASKS, &aimi(2, &["1", "2 1"]))]);
    sandbox.run(&["aimi-cli", "mark-complete", "US-002"]).exits(0);
    let history = sandbox.run(&["history", TASKS]).exits(0).stdout;
    assert!(history.contains("dependencies"), "{history}");
}

#[test]
fn the_original_command_line_obeys_the_configuration() {
    for (config, word) in [
        ("[verify]\nrequired = true\n", "verif"),
        ("[approval]\nrequired = true\n", "approv"),
        ("[compat]\nstrict = true\n", "US-001"),
        ("[verify]\nrequired = \"yes\"\n", "configuration has errors"),
        ("[verify\n", "configuration has errors"),
    ] {
        let sandbox = Sandbox::with(&[(TASKS, &aimi(2, &["1", "2 1"])), ("planwright.toml", config)]);
        let before = sandbox.read(TASKS);
        let refused = sandbox.run(&["aimi-cli", "mark-complete", "US-002"]).text();
        assert!(refused.contains(word), "{config}: {refused}");
        assert_eq!(sandbox.read(TASKS), before, "{config}");
    }
}

#[test]
fn required_verification_holds_for_done_by_hand() {
    let rules = "[verify]\nrequired = true\n";
    let sandbox = Sandbox::with(&[("plan.json", &clido(&["a", "b a"])), ("planwright.toml", rules)]);
    sandbox.run(&["start", "a", "-p", "plan.json"]).exits(0);
    assert!(
        sandbox
            .run(&["done", "a", "-p", "plan.json"])
            .exits(1)
            .text()
            .contains("no rule verifies")
    );
    let waived = sandbox.run(&["done", "a", "-p", "plan.json", "--unverified", "--note", "seen"]);
    assert!(waived.exits(1).text().contains("verify.allow_unverified"));
    sandbox.write("planwright.toml", format!("{rules}every = [\"false\"]\n"));
    let failed = sandbox.run(&["done", "a", "-p", "plan.json"]).exits(1).text();
    assert!(!failed.contains("--unverified"), "{failed}");
    assert!(failed.contains("verification is required here"), "{failed}");
    sandbox.write("planwright.toml", "[verify]\nevery = [\"false\"]\n");
    let failed = sandbox.run(&["done", "a", "-p", "plan.json"]).exits(1).text();
    assert!(failed.contains("--unverified --note"), "{failed}");
    let demanded = ["done", "a", "-p", "plan.json", "--require-verification"];
    let failed = sandbox.run(&demanded).exits(1).text();
    assert!(!failed.contains("--unverified"), "{failed}");
    sandbox.write("planwright.toml", format!("{rules}every = [\"true\"]\n"));
    sandbox.run(&["done", "a", "-p", "plan.json"]).exits(0);
}

#[test]
fn a_person_may_waive_verification_where_their_own_settings_allow_it() {
    let home = Sandbox::with(&[(
        "planwright/config.toml",
        "[verify]\nrequired = true\nallow_unverified = true\n",
    )]);
    let sandbox = Sandbox::with(&[
        ("plan.json", &clido(&["a"])),
        ("planwright.toml", "[verify]\nrequired = false\n"),
    ]);
    let sandbox = sandbox.set("XDG_CONFIG_HOME", home.path().to_str().expect("a path"));
    sandbox.run(&["start", "a", "-p", "plan.json"]).exits(0);
    // The project cannot switch off what the user has switched on.
    assert!(
        sandbox
            .run(&["done", "a", "-p", "plan.json"])
            .exits(1)
            .text()
            .contains("no rule verifies")
    );
    let bare = sandbox.run(&["done", "a", "-p", "plan.json", "--unverified"]);
    assert!(bare.exits(2).stderr.contains("--note"));
    sandbox
        .run(&[
            "done",
            "a",
            "-p",
            "plan.json",
            "--unverified",
            "--note",
            "read it",
            "--by",
            "ada",
            "--take-over",
        ])
        .exits(0);
    let history = sandbox.run(&["history", "plan.json"]).exits(0).stdout;
    assert!(history.contains("read it") && history.contains("ada"), "{history}");
}

#[test]
fn a_status_that_is_only_written_satisfies_nothing_where_verification_is_required() {
    let sandbox = Sandbox::with(&[
        ("plan.json", &clido(&["a", "b a", "c"])),
        ("planwright.toml", "[verify]\nrequired = true\nevery = [\"true\"]\n"),
    ]);
    // The journal starts, and records that nothing was done.
    sandbox.run(&["start", "c", "-p", "plan.json"]).exits(0);
    let text = sandbox.read("plan.json").replacen("\"pending\"", "\"done\"", 1);
    sandbox.write("plan.json", text);
    let refused = sandbox.run(&["start", "b", "-p", "plan.json"]).exits(1).text();
    assert!(refused.contains("no passed verification proves it"), "{refused}");
    for args in [
        &["why", "b", "-p", "plan.json"][..],
        &["show", "plan.json"],
        &["next", "plan.json"],
    ] {
        let shown = sandbox.run(args).text();
        assert!(shown.contains("no passed verification proves it"), "{args:?}: {shown}");
    }
    sandbox.run(&["verify", "a", "-p", "plan.json"]).exits(0);
    sandbox.run(&["start", "b", "-p", "plan.json"]).exits(0);
}

#[test]
fn tasks_done_before_planwright_count_despite_required_verification() {
    let plan = clido(&["a", "b a"]).replacen("\"pending\"", "\"done\"", 1);
    let sandbox = Sandbox::with(&[
        ("plan.json", plan.as_str()),
        ("planwright.toml", "[verify]\nrequired = true\nevery = [\"true\"]\n"),
    ]);
    sandbox.run(&["start", "b", "-p", "plan.json"]).exits(0);
}

#[test]
fn a_task_that_is_done_without_a_proof_is_named_as_the_reason() {
    let workspace = Workspace::new(("plan.json", &clido(&["t1", "t2 t1"])), "says done");
    workspace.configure("", "[verify]\nrequired = true\nevery = [[\"true\"]]");
    workspace.does(&["start", "t1", "-p", "plan.json"]).exits(0);
    workspace.does(&["reset", "t1", "-p", "plan.json"]).exits(0);
    let edited = workspace.plan().replacen("\"pending\"", "\"done\"", 1);
    workspace.write("plan.json", edited);
    let next = workspace.does(&["next", "plan.json"]).exits(1);
    assert!(!next.text.contains("no slot"), "{}", next.text);
    next.says("`t1` is marked as done, and no passed verification proves it")
        .says("`planwright verify t1`");
    assert_eq!(
        workspace.does(&["next", "plan.json", "--json"]).exits(1).as_json()["n_ready"],
        0
    );
    let why = workspace.does(&["why", "t1", "-p", "plan.json"]).exits(0);
    why.says("no passed verification proves it")
        .says("`planwright verify t1` proves it")
        .says("1 task waits for it: t2");
    workspace.does(&["verify", "t1", "-p", "plan.json"]).exits(0);
    workspace.does(&["next", "plan.json"]).exits(0).says("t2");
    // The run reopens tasks that are marked as done without a proof, even if nothing else is left.
    let edited = workspace.plan().replacen("\"pending\"", "\"done\"", 1);
    workspace.write("plan.json", edited);
    workspace
        .runs(&[])
        .exits(0)
        .says("set back to pending")
        .says("1 verified by commands");
}
