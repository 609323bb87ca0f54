//! `planwright tasks …`: packs derived from source plans by scripted planners, rebuilt packs, and their cards.

use serde_json::{Value, json};

use crate::plans;
use crate::run::{CommandResult, Workspace};

const PLAN: &str = "docs/plans/photos.md";
const PACK: &str = "docs/tasks/2026-05-11-001-feat-photos-tasks.md";

/// Answers with a file outside of the workspace, and records the prompt.
const ANSWERS: &str = "cat >> \"$ASIDE/asked\"; cat \"$ASIDE/answer\"";

fn task(id: &str, on: &[&str], file: &str, goal: &str) -> Value {
    json!({
        "task_id": id, "requirement_refs": ["R1"], "goal": goal, "dependencies": on, "files": [file],
        "test_focus": "three photos", "done_signal": "tests pass", "stop_if": "it needs a driver",
    })
}

fn answer(tasks: &[Value]) -> String {
    format!("Here they are.\n\n```json\n{}\n```\n", json!({ "tasks": tasks }))
}

fn two_tasks() -> String {
    answer(&[
        task("T001", &[], "src/card.rs", "Read the card"),
        task("T002", &[], "src/card.rs", "Copy the photos"),
    ])
}

/// Returns a workspace with a source plan and a planner.
fn workspace(script: &str, answer: &str) -> Workspace {
    let workspace = Workspace::new((PLAN, plans::SOURCE_PLAN), script);
    std::fs::write(workspace.aside("answer"), answer).expect("the folder is ours");
    workspace
}

#[track_caller]
fn derives(workspace: &Workspace, more: &[&str]) -> CommandResult {
    let args: Vec<&str> = ["tasks", "derive", PLAN, "--out", PACK]
        .iter()
        .chain(more)
        .copied()
        .collect();
    workspace.does(&args).exits(0)
}

fn json_of(came: &CommandResult) -> Value {
    serde_json::from_str(&came.text).unwrap_or_else(|error| panic!("{error} in {}", came.text))
}

#[test]
fn a_planner_is_asked_and_its_tasks_become_a_pack_that_runs() {
    let workspace = workspace(ANSWERS, &two_tasks());
    derives(&workspace, &[]).says("wrote docs/tasks/2026-05-11-001-feat-photos-tasks.md: 2 tasks");
    let asked = workspace.noted("asked").join("\n");
    assert!(asked.contains("- R1 read the card"), "{asked}");
    let pack = workspace.read(PACK);
    assert!(
        pack.contains("- wave 1: T001\n- wave 2: T002\n"),
        "they share a file\n{pack}"
    );
    workspace
        .does(&["tasks", "validate", PACK])
        .exits(0)
        .says("task pack valid");
    workspace.does(&["check", PACK]).exits(0);
    workspace.script("says done");
    workspace.does(&["run", PACK]).exits(0);
    assert_eq!(workspace.noted("began"), ["", "T001", "T002"]);
}

#[test]
fn an_invalid_answer_is_returned_to_the_planner_at_most_twice() {
    let script = "cat > \"$ASIDE/asked-$(ls \"$ASIDE\" | grep -c asked)\"\n\
                  [ -e \"$ASIDE/asked-1\" ] && cat \"$ASIDE/answer\" && exit 0\n\
                  sed 's/src.card.rs/..\\/card.rs/; s/R1/R7/' \"$ASIDE/answer\"";
    let workspace = workspace(script, &two_tasks());
    let report = json_of(&derives(&workspace, &["--json", "--quiet"]));
    assert_eq!(report["schema_version"], "planwright.derive/v1");
    assert_eq!(report["agent"], "mock");
    assert_eq!(report["effort"]["asked"], 2);
    assert_eq!(report["reasoning"], "Here they are.");
    assert_eq!(report["n_tasks"], 2);
    let repair = workspace.noted("asked-1").join("\n");
    assert!(repair.contains("# What was wrong with it"), "{repair}");
    assert!(
        repair.contains("names `R7`, which the source plan does not have") && repair.contains("card.rs"),
        "{repair}"
    );
}

#[test]
fn a_planner_that_never_corrects_its_answer_makes_no_pack() {
    for (answer, why) in [
        ("I would rather not.", "no JSON object with a list `tasks`"),
        ("{\"tasks\": [{\"task_id\": \"T001\", \"goal\": \"half", "derive-answer"),
        ("{\"schemaVersion\": \"3.0\", \"userStories\": []}", "no JSON object"),
    ] {
        let workspace = workspace(ANSWERS, answer);
        let came = workspace.does(&["tasks", "derive", PLAN, "--out", PACK]).exits(1);
        assert!(came.text.contains(why), "{}", came.text);
        let name = PACK.rsplit('/').next().expect("a name");
        let saved = format!(".planwright/unusable/{}", name.replace(".md", ".txt"));
        let again = format!("planwright tasks derive {PLAN} --from {saved}");
        assert!(came.text.contains(&again), "{}", came.text);
        assert!(came.text.contains("the answer cannot be used yet: "), "{}", came.text);
        assert_eq!(workspace.read(&saved), answer);
        assert_eq!(workspace.noted("began").len(), 3);
        assert!(!workspace.exists(PACK));
    }
}

#[test]
fn a_plan_that_changes_while_its_pack_is_derived_makes_no_pack() {
    let workspace = workspace(&format!("echo more >> {PLAN}\n{ANSWERS}"), &two_tasks());
    let came = workspace.does(&["tasks", "derive", PLAN, "--out", PACK]).exits(1);
    assert!(
        came.text.contains("was changed while its pack was derived"),
        "{}",
        came.text
    );
    assert!(!workspace.exists(PACK));
}

#[test]
fn an_answer_of_ten_megabytes_is_returned_to_the_planner() {
    let script = "cat > /dev/null\n[ -e \"$ASIDE/again\" ] && cat \"$ASIDE/answer\" && exit 0\n\
                  : > \"$ASIDE/again\"; head -c 10485760 /dev/zero | tr '\\0' 'x'";
    let workspace = workspace(script, &two_tasks());
    derives(&workspace, &[]).says("the answer was longer than 4194304 bytes, and was cut");
}

#[test]
fn a_planner_that_fails_or_is_not_there_is_a_failure_of_the_environment() {
    let workspace = workspace("exit 9", "");
    workspace.does(&["tasks", "derive", PLAN]).exits(3);
    workspace.does(&["tasks", "derive", PLAN, "--agent", "nobody"]).exits(1);
    workspace.does(&["tasks", "derive", "gone.md"]).exits(3);
    assert!(!workspace.exists("docs/tasks"));
}

#[test]
fn an_answer_can_come_from_a_file_and_a_dry_run_prints_the_prompt() {
    let workspace = workspace("exit 9", "");
    workspace.write("answer.md", two_tasks());
    derives(&workspace, &["--from", "answer.md"]);
    assert_eq!(workspace.noted("began"), [""; 0], "nobody was asked");
    let prompt = workspace.does(&["tasks", "derive", PLAN, "--dry-run"]).exits(0);
    assert!(
        prompt
            .text
            .contains("# The source plan\n\n`docs/plans/photos.md` decides"),
        "{}",
        prompt.text
    );
    // An existing pack is rebuilt, and not overwritten.
    let came = workspace
        .does(&["tasks", "derive", PLAN, "--out", PACK, "--from", "answer.md"])
        .exits(1);
    assert!(
        came.text.contains(&format!("planwright tasks regenerate {PACK}")),
        "{}",
        came.text
    );
    // Without --out it goes to the folder of packs, and is named after its plan.
    let report = workspace
        .does(&["tasks", "derive", PLAN, "--from", "answer.md", "--json"])
        .exits(0);
    let out = json_of(&report)["out"].as_str().expect("a path").to_owned();
    assert!(
        out.starts_with("docs/tasks/20") && out.ends_with("-001-feat-photos-tasks.md"),
        "{out}"
    );
    workspace.does(&["check", &out, "--deny", "warnings"]).exits(0);
}

#[test]
fn constraints_and_templates_of_the_user_are_in_the_prompt() {
    let workspace = workspace("exit 9", "");
    workspace.write("own.md", "OWN {{source_path}}: {{constraints}}");
    let args = ["tasks", "derive", PLAN, "--dry-run", "--constraint", "no drivers"];
    workspace
        .does(&args)
        .exits(0)
        .says("no drivers")
        .says("You are a planner");
    let own = [&args[..], &["--template", "own.md"]].concat();
    workspace
        .does(&own)
        .exits(0)
        .says("OWN `docs/plans/photos.md`")
        .says("no drivers");
    workspace.write("own.md", "{{failed_task}}");
    workspace.does(&own).exits(1).says("template-unknown-name");
}

#[test]
fn the_planners_reasons_are_in_the_history() {
    let workspace = workspace(ANSWERS, &two_tasks());
    derives(&workspace, &[]);
    workspace
        .does(&["history", PACK])
        .exits(0)
        .says("derived from docs/plans/photos.md")
        .says("Here they are.");
}

#[test]
fn a_plan_without_spec_id_gives_a_draft_that_does_not_run() {
    let workspace = workspace(ANSWERS, &two_tasks());
    workspace.write(PLAN, plans::SOURCE_PLAN.replace("spec_id: photos\n", ""));
    derives(&workspace, &[]).says("a draft").says("no `spec_id`");
    workspace.does(&["tasks", "validate", PACK]).exits(1);
    workspace.does(&["check", PACK]).exits(0);
    workspace
        .does(&["run", PACK])
        .exits(1)
        .says("planwright tasks regenerate");
    // With one it becomes executable.
    workspace.write(PLAN, plans::SOURCE_PLAN);
    workspace.does(&["tasks", "regenerate", PACK, "--yes"]).exits(0);
    workspace.does(&["tasks", "validate", PACK]).exits(0);
}

#[test]
fn a_stale_pack_is_refused_and_can_be_regenerated() {
    let workspace = workspace(ANSWERS, &two_tasks());
    derives(&workspace, &[]);
    for verb in ["start", "done"] {
        workspace.does(&[verb, "T001", "-p", PACK]).exits(0);
    }
    let before = workspace.read(PACK);
    workspace.write(PLAN, format!("{}- R2 show them\n", plans::SOURCE_PLAN));
    workspace
        .does(&["run", PACK])
        .exits(1)
        .says("planwright tasks regenerate");
    // The planner renames the finished task, and gives its id to another one.
    let again = answer(&[
        task("T001", &["T002"], "src/show.rs", "Show them"),
        task("T002", &[], "src/card.rs", "Read the card"),
    ]);
    std::fs::write(workspace.aside("answer"), again).expect("the folder is ours");
    let shown = workspace.does(&["tasks", "regenerate", PACK]).exits(1);
    assert!(shown.text.contains("nothing was written"), "{}", shown.text);
    assert_eq!(workspace.read(PACK), before);
    let shown = workspace.does(&["tasks", "regenerate", PACK, "--yes"]).exits(0);
    for line in [
        "added:   T003  Show them",
        "removed: T002  Copy the photos",
        "the same: 1 of 2 tasks",
        "+++ b/docs/tasks/",
    ] {
        assert!(shown.text.contains(line), "{line}\n{}", shown.text);
    }
    workspace.does(&["tasks", "validate", PACK]).exits(0);
    let states = workspace.does(&["show", PACK, "--json"]);
    let states = json_of(&states);
    assert_eq!(states["tasks"][0]["task"], "T003");
    assert_eq!(states["tasks"][0]["status"], "pending");
    assert_eq!(states["tasks"][1]["task"], "T001");
    assert_eq!(states["tasks"][1]["status"], "done");
    workspace.script("says done");
    workspace.does(&["run", PACK]).exits(0);
    assert_eq!(workspace.noted("began").last().map(String::as_str), Some("T003"));
    // The history records it, and it can be undone.
    workspace.does(&["history", PACK]).exits(0).says("regenerate");
    for _ in 0..2 {
        let history = json_of(&workspace.does(&["history", PACK, "--json"]));
        let is_open = |change: &&Value| change["undone_by"].is_null() && change["undoes"].is_null();
        let last = history["changes"]
            .as_array()
            .expect("changes")
            .iter()
            .find(is_open)
            .expect("one")["verb"]
            .clone();
        workspace.does(&["undo", PACK]).exits(0);
        if last == "regenerate" {
            break;
        }
    }
}

#[test]
fn undo_of_regenerate_restores_forgotten_states() {
    let workspace = workspace(ANSWERS, &two_tasks());
    derives(&workspace, &[]);
    workspace.does(&["start", "T001", "-p", PACK]).exits(0);
    let before = workspace.read(PACK);
    let other = answer(&[task("T001", &[], "src/all.rs", "Do it all")]);
    std::fs::write(workspace.aside("answer"), other).expect("the folder is ours");
    let report = json_of(
        &workspace
            .does(&["tasks", "regenerate", PACK, "--yes", "--json", "--quiet"])
            .exits(0),
    );
    assert_eq!(report["schema_version"], "planwright.regenerate/v1");
    assert_eq!(report["added"], json!(["T003"]));
    assert_eq!(report["removed"], json!(["T001", "T002"]));
    assert_eq!(report["forgotten"], json!({"T001": "running"}));
    assert_eq!(report["written"], true);
    workspace.does(&["undo", PACK]).exits(0);
    assert_eq!(workspace.read(PACK), before);
    let shown = json_of(&workspace.does(&["show", PACK, "--json"]));
    assert_eq!(shown["tasks"][0]["status"], "running");
}

#[test]
fn cards_are_printed_checked_and_written_again() {
    let workspace = workspace(ANSWERS, &two_tasks());
    derives(&workspace, &[]);
    let cards = workspace.does(&["tasks", "cards", PACK]).exits(0);
    assert!(
        cards
            .text
            .starts_with("- T001\n  requirement_refs:\n    - R1\n  goal: Read the card\n"),
        "{}",
        cards.text
    );
    workspace.does(&["tasks", "cards", PACK, "--check"]).exits(0);
    let sound = workspace.read(PACK);
    workspace.write(PACK, sound.replace("  goal: Copy the photos", "  goal: Copy one photo"));
    let came = workspace.does(&["tasks", "cards", PACK, "--check"]).exits(1);
    let place = format!("{PACK}:");
    for words in [
        "task-pack-card-drift",
        "differs in `goal`: the contract has `Copy the photos`",
        &place,
    ] {
        assert!(came.text.contains(words), "{words}\n{}", came.text);
    }
    let report = json_of(&workspace.does(&["tasks", "cards", PACK, "--check", "--json"]).exits(1));
    assert_eq!(report["schema_version"], "planwright.cards/v1");
    assert_eq!(report["drifted"], true);
    assert_eq!(report["diagnostics"][0]["id"], "task-pack-card-drift");
    workspace
        .does(&["tasks", "cards", PACK, "--write"])
        .exits(0)
        .says("wrote");
    assert_eq!(workspace.read(PACK), sound);
    workspace.does(&["tasks", "cards", PACK, "--write"]).exits(0);
    workspace.does(&["tasks", "cards", PLAN]).exits(1);
}

#[test]
fn hash_and_validate_answer_as_the_original_does() {
    let workspace = workspace(ANSWERS, &two_tasks());
    derives(&workspace, &[]);
    for (own, original) in [
        (vec!["tasks", "hash", PLAN], vec!["spec-first", "tasks", "hash", PLAN]),
        (
            vec!["tasks", "validate", PACK],
            vec!["spec-first", "tasks", "validate", PACK],
        ),
        (
            vec!["tasks", "validate", PACK, "--json"],
            vec!["spec-first", "tasks", "validate", PACK, "--json"],
        ),
        (
            vec!["tasks", "validate", PACK, "--repo", "docs"],
            vec!["spec-first", "tasks", "validate", PACK, "--repo", "docs"],
        ),
        (
            vec!["tasks", "validate", "gone.md"],
            vec!["spec-first", "tasks", "validate", "gone.md"],
        ),
    ] {
        let (own, original) = (workspace.does(&own), workspace.does(&original));
        assert_eq!((own.status, own.text), (original.status, original.text));
    }
}
