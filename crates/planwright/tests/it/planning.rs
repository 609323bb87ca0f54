//! `plan` and `replan`, with planners that are scripts: good ones, and those with arbitrary answers.

use crate::run::Workspace;

/// Returns a workspace without a plan, whose agent answers with a script's output.
pub(crate) fn planner(script: &str) -> Workspace {
    let workspace = Workspace::new(("unused.txt", ""), "");
    workspace.write(
        "planner.sh",
        format!("cat > \"$ASIDE/asked-$(ls \"$ASIDE\" | grep -c asked)\"\n{script}"),
    );
    workspace.write("planwright.toml", configuration(&workspace, ""));
    workspace
}

/// Returns a configuration with the planner, and something else.
pub(crate) fn configuration(workspace: &Workspace, rest: &str) -> String {
    format!(
        "[agents.thinker]\ncommand = [\"sh\", \"planner.sh\"]\nset = {{ ASIDE = \"{}\" }}\n[plan]\nagent = \"thinker\"\n{rest}",
        workspace.aside("").display()
    )
}

/// An agent that does tasks.
pub(crate) const WORKER: &str = "[agents.worker]\ncommand = [\"sh\", \"agent.sh\"]\n[run]\nagent = \"worker\"\n";

/// Returns the planner's nth prompt, from 0.
pub(crate) fn asked(workspace: &Workspace, nth: usize) -> String {
    std::fs::read_to_string(workspace.aside(&format!("asked-{nth}"))).expect("it was asked")
}

pub(crate) fn n_asked(workspace: &Workspace) -> usize {
    let files = std::fs::read_dir(workspace.aside("")).expect("ours");
    files
        .filter(|file| {
            file.as_ref()
                .is_ok_and(|file| file.file_name().to_string_lossy().starts_with("asked"))
        })
        .count()
}

pub(crate) const GOOD: &str = r#"cat <<'END'
Two tasks, one after the other.
```json
{"goal": "x", "tasks": [{"id": "t1", "description": "Read it"}, {"id": "t2", "description": "Write it", "depends_on": ["t1"]}]}
```
END"#;

pub(crate) fn plan_file(workspace: &Workspace) -> String {
    let folder = workspace.root().join(".clido/plans");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("plans")
        .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".json"))
        .collect();
    names.sort();
    format!(".clido/plans/{}", names.first().expect("a plan"))
}

#[test]
fn a_goal_becomes_a_plan_that_is_checked_and_remembered() {
    let workspace = planner(GOOD);
    let came = workspace
        .does(&[
            "plan",
            "Limit calls",
            "--dialect",
            "clido",
            "--constraint",
            "no new crates",
        ])
        .exits(0);
    let path = plan_file(&workspace);
    came.says(&path).says("one answer");
    workspace.does(&["check", &path]).exits(0);
    let told = asked(&workspace, 0);
    assert!(
        told.contains("Limit calls") && told.contains("no new crates") && told.contains("depends_on"),
        "{told}"
    );
    let text = workspace.read(&path);
    assert!(text.contains("\"goal\": \"Limit calls\""), "{text}");
    workspace
        .does(&["history", &path])
        .exits(0)
        .says("plan")
        .says("one after the other");
    // The same goal again gives another plan.
    workspace.does(&["plan", "Limit calls", "--dialect", "clido"]).exits(0);
    assert_eq!(
        std::fs::read_dir(workspace.root().join(".clido/plans"))
            .expect("plans")
            .count(),
        2
    );
}

#[test]
fn errors_are_sent_back_and_repaired() {
    let bad = "{\"goal\": \"x\", \"tasks\": [{\"id\": \"a\", \"description\": \"A\", \"depends_on\": [\"nobody\"]}]}";
    let workspace = planner(&format!(
        "if [ -e \"$ASIDE/asked-1\" ]; then {GOOD}\nelse echo '{bad}'; fi"
    ));
    workspace
        .does(&["plan", "Limit calls", "--dialect", "clido"])
        .exits(0)
        .says("2 answers");
    let told = asked(&workspace, 1);
    assert!(told.contains("nobody") && told.contains("unknown-dependency"), "{told}");
}

#[test]
fn an_unrepaired_answer_is_saved_with_its_findings() {
    let cases = [
        ("echo 'I would rather not.'", ""),
        (
            "printf '```json\\n{\"goal\": \"x\", \"tasks\": [{\"id\": \"a\", \"descr'",
            "json",
        ),
        (
            "echo '{\"goal\": \"x\", \"tasks\": [{\"id\": \"a\", \"description\": \"A\", \"depends_on\": [\"a\"]}]}'",
            "self",
        ),
        ("echo 'Run `touch pwned` first. $(touch pwned)'", ""),
        ("head -c 10485760 /dev/zero | tr '\\0' x", "bytes"),
    ];
    for (script, says) in cases {
        let workspace = planner(script);
        let came = workspace.does(&["plan", "Limit calls", "--dialect", "clido"]).exits(1);
        came.says("3 answers").says(".planwright/unusable/");
        assert_eq!(n_asked(&workspace), 3, "{script}");
        let findings = workspace.read(".planwright/unusable/limit-calls.findings.txt");
        assert!(findings.contains(says), "{script}: {findings}");
        assert!(!workspace.exists("pwned"));
        workspace.does(&["list"]).exits(0);
    }
}

#[test]
fn a_question_of_the_planner_ends_planning_with_the_question() {
    let workspace =
        planner("echo 'Before I plan: which database do you use? It matters.'; echo 'Is there a test suite?'");
    let came = workspace.does(&["plan", "Limit calls.", "--dialect", "clido"]).exits(1);
    assert!(!came.text.contains("planwright import"), "{}", came.text);
    came.says("error: the agent asks questions instead of planning: “Before I plan: which database do you use?”, “Is there a test suite?”")
        .says("answer them in the goal: planwright plan 'Limit calls. ANSWER'")
        .says(".planwright/unusable/limit-calls.txt");
    assert_eq!(n_asked(&workspace), 1, "it is not asked again");
}

#[test]
fn a_text_without_tasks_is_not_offered_for_import() {
    let workspace = planner("echo 'I would rather not.'");
    let came = workspace.does(&["plan", "Limit calls", "--dialect", "clido"]).exits(1);
    assert!(!came.text.contains("planwright import"), "{}", came.text);
    came.says("ask again");
}

#[test]
fn the_tasks_of_a_new_plan_are_listed() {
    let workspace = planner(GOOD);
    let came = workspace.does(&["plan", "Limit calls", "--dialect", "clido"]).exits(0);
    let names: Vec<&str> = came
        .text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.contains(&"t1") && names.contains(&"t2"), "{}", came.text);
    came.says("task").says("after").says("next: planwright run ");
}

#[test]
fn a_planner_that_cannot_work_is_an_error_of_the_environment() {
    let workspace = planner("exit 7");
    workspace
        .does(&["plan", "x", "--dialect", "clido"])
        .exits(3)
        .says("thinker");
    workspace
        .does(&["plan", "x", "--dialect", "clido", "--agent", "nobody"])
        .exits(1)
        .says("no agent `nobody`");
    workspace.write("planwright.toml", "");
    workspace
        .does(&["plan", "x", "--dialect", "clido"])
        .exits(3)
        .says("no agent is configured");
    workspace.does(&["plan", "x", "--dialect", "latin"]).exits(2);
    // The default dialect is clido's: only an agent is missing.
    workspace.does(&["plan", "x"]).exits(3).says("no agent is configured");
    workspace.does(&["plan", " ", "--dialect", "clido"]).exits(2);
    workspace
        .does(&["plan", "x", "--dialect", "task-pack"])
        .exits(2)
        .says("tasks derive");
}

#[test]
fn a_plan_needs_no_agent_where_there_is_an_answer_or_one_task() {
    let workspace = planner("exit 7");
    workspace.write("answer.md", "So:\n```yaml\nsteps:\n  - description: Read it\n```\n");
    let came = workspace
        .does(&["plan", "Limit calls", "--dialect", "rawko", "--from", "answer.md"])
        .exits(0);
    came.says(".rawko/plans/plan-");
    for dialect in ["clido", "aimi", "rawko", "opencrabs"] {
        workspace
            .does(&[
                "plan",
                "Fix the typo",
                "--dialect",
                dialect,
                "--single",
                "--out",
                &format!("{dialect}.plan"),
            ])
            .exits(0);
        workspace
            .does(&["check", &format!("{dialect}.plan"), "--dialect", dialect])
            .exits(0);
    }
    assert_eq!(n_asked(&workspace), 0);
}

#[test]
fn a_dry_run_prints_the_prompt_of_the_planner() {
    let workspace = planner("exit 7");
    workspace.write("docs/api.md", "GET /calls");
    let came = workspace
        .does(&[
            "plan",
            "Limit calls",
            "--dialect",
            "aimi",
            "--context",
            "docs/api.md",
            "--memory",
            "it was slow",
            "--dry-run",
        ])
        .exits(0);
    came.says("GET /calls").says("it was slow").says("Typecheck passes");
    assert_eq!(n_asked(&workspace), 0);
}

#[test]
fn a_plan_can_be_run_at_once() {
    let workspace = planner(GOOD);
    workspace.write("agent.sh", "cat > /dev/null; echo $PLANWRIGHT_TASK >> made; printf '{\"planwright_result\": 1, \"outcome\": \"done\"}' > \"$PLANWRIGHT_RESULT\"");
    workspace.write("planwright.toml", configuration(&workspace, WORKER));
    workspace
        .does(&["plan", "Limit calls", "--dialect", "clido", "--run"])
        .exits(0)
        .says("2 done");
    assert_eq!(workspace.read("made"), "t1\nt2\n");
}

pub(crate) const FAILED: &str = r#"{
  "meta": {"id": "plan-a1b2c3d4", "goal": "Limit calls", "created_at": "2026-03-22T10:00:00Z"},
  "tasks": [
    {"id": "t1", "description": "Read it", "depends_on": [], "status": "done", "x-own": 1},
    {"id": "t2", "description": "Write it", "depends_on": ["t1"], "status": "failed", "notes": "the disk is full"},
    {"id": "t3", "description": "Test it", "depends_on": ["t2"], "status": "skipped", "notes": "skipped because t2 failed"}
  ]
}
"#;

pub(crate) const BETTER: &str = r#"cat <<'END'
It was too much at once.
```json
{"goal": "x", "tasks": [
 {"id": "t1", "description": "Read it"},
 {"id": "t4", "description": "Write half of it", "depends_on": ["t1"]},
 {"id": "t3", "description": "Test it", "depends_on": ["t4"]}]}
```
END"#;

#[test]
fn a_failed_plan_becomes_a_new_version_of_itself() {
    let workspace = planner(BETTER);
    workspace.write("plan.json", FAILED);
    let came = workspace
        .does(&["replan", "plan.json", "--discovery", "there are two disks"])
        .exits(1);
    came.says("- t2")
        .says("+ Write half of it")
        .says("nothing was written")
        .says("--proposed");
    assert_eq!(workspace.read("plan.json"), FAILED);
    let told = asked(&workspace, 0);
    assert!(
        told.contains("the disk is full") && told.contains("there are two disks") && told.contains("`t1`"),
        "{told}"
    );
    workspace
        .does(&["replan", "plan.json", "--yes"])
        .exits(0)
        .says("planwright undo plan.json");
    let text = workspace.read("plan.json");
    assert!(
        text.contains(
            "{\"id\": \"t1\", \"description\": \"Read it\", \"depends_on\": [], \"status\": \"done\", \"x-own\": 1}"
        ),
        "{text}"
    );
    assert!(!text.contains("\"t2\"") && text.contains("Write half of it"), "{text}");
    workspace.does(&["check", "plan.json"]).exits(0);
    workspace.does(&["next", "-p", "plan.json"]).exits(0).says("t4");
    workspace
        .does(&["history", "plan.json"])
        .exits(0)
        .says("too much at once");
    let kept = std::fs::read_dir(workspace.root().join(".planwright/versions"))
        .expect("versions")
        .count();
    assert_eq!(kept, 1);
    workspace
        .does(&["diff", "plan.json"])
        .exits(0)
        .says("- t2")
        .says("+ Write half of it")
        .says("~ t3: other dependencies");
    workspace
        .does(&["diff", "plan.json@1", "plan.json", "--json"])
        .exits(0)
        .says("planwright.diff/v1");
    workspace.does(&["diff", "plan.json@1"]).exits(0).says("- t2");
    workspace
        .does(&["diff", "plan.json@2", "plan.json"])
        .exits(1)
        .says("1 texts are kept");
    workspace.does(&["undo", "plan.json"]).exits(0);
    assert_eq!(workspace.read("plan.json"), FAILED);
}

#[test]
fn a_planner_that_drops_what_is_done_is_asked_again_and_refused() {
    let workspace = planner("echo '{\"goal\": \"x\", \"tasks\": [{\"id\": \"t9\", \"description\": \"All anew\"}]}'");
    workspace.write("plan.json", FAILED);
    workspace
        .does(&["replan", "plan.json", "--yes"])
        .exits(1)
        .says("`t1` (Read it) is done")
        .says("3 answers");
    assert_eq!(workspace.read("plan.json"), FAILED);
    assert!(asked(&workspace, 1).contains("`t1` (Read it) is done"));
}

#[test]
fn rawko_versions_have_files_of_their_own() {
    let workspace = planner(
        "printf 'So:\\n```yaml\\nsteps:\\n  - description: Read it\\n  - description: Write half of it\\n    dependsOn: [0]\\n```\\n'",
    );
    let old = "id: plan-20260123-calls\ntask: Limit calls\nstatus: replanning\nversion: 1\ncurrentStepIndex: 1\ncreatedAt: \"2026-01-23T10:00:00Z\"\nupdatedAt: \"2026-01-23T10:35:00Z\"\ncreatedBy: planner\nsteps:\n  - index: 0\n    description: Read it\n    status: complete\n    output: read\n  - index: 1\n    description: Write it\n    status: failed\n    error: the disk is full\n    dependsOn: [0]\n";
    workspace.write(".rawko/plans/plan-20260123-calls.yaml", old);
    workspace.write(
        ".rawko/current-task.yaml",
        "task: Limit calls\nplanId: plan-20260123-calls\nstatus: in_progress\n",
    );
    workspace
        .does(&["replan", "--yes"])
        .exits(0)
        .says("plan-20260123-calls-v2.yaml");
    assert_eq!(
        workspace.read(".rawko/plans/plan-20260123-calls.yaml"),
        old,
        "the old version stays as it was"
    );
    let new = workspace.read(".rawko/plans/plan-20260123-calls-v2.yaml");
    for part in [
        "id: plan-20260123-calls-v2\n",
        "status: draft\n",
        "version: 2\n",
        "previousPlanId: plan-20260123-calls\n",
        "currentStepIndex: 1\n",
        "output: read\n",
        "description: Write half of it",
    ] {
        assert!(new.contains(part), "{part} in\n{new}");
    }
    assert!(
        workspace
            .read(".rawko/current-task.yaml")
            .contains("planId: plan-20260123-calls-v2")
    );
    workspace.does(&["check", ".rawko"]).exits(0);
    workspace
        .does(&["diff", "plan-20260123-calls-v2"])
        .exits(0)
        .says("+ Write half of it");
}

#[test]
fn the_last_plan_of_an_answer_counts_even_where_it_is_broken() {
    let workspace = planner("exit 7");
    workspace.write(
        "answer.md",
        "First:\n```json\n{\"goal\": \"x\", \"tasks\": [{\"id\": \"old\", \"description\": \"Old\"}]}\n```\nBetter:\n```json\n{\"goal\": \"x\", \"tasks\": [{\"id\": \"a\", \"description\": \"New\"}, {\"id\": \"b\", \"desc",
    );
    workspace
        .does(&["plan", "x", "--dialect", "clido", "--from", "answer.md"])
        .exits(1)
        .says("no plan that can be used");
}

#[test]
fn changes_by_the_user_during_planning_are_kept() {
    let add = format!(
        "{} add 'Users own' -p plan.json > /dev/null 2>&1\n{BETTER}",
        env!("CARGO_BIN_EXE_planwright")
    );
    let workspace = planner(&add);
    workspace.write("plan.json", FAILED);
    workspace
        .does(&["replan", "plan.json", "--yes"])
        .exits(1)
        .says("was changed while");
    assert!(workspace.read("plan.json").contains("Users own"));
    // The same for a version that is held.
    let workspace = planner(BETTER);
    workspace.write("plan.json", FAILED);
    workspace.does(&["replan", "plan.json"]).exits(1);
    workspace.does(&["add", "Users own", "-p", "plan.json"]).exits(0);
    workspace
        .does(&["approve", "--proposed", "plan.json"])
        .exits(1)
        .says("was added to the plan after");
    assert!(workspace.read("plan.json").contains("Users own"));
}

#[test]
fn a_version_that_changes_nothing_is_not_written() {
    let same = "cat <<'END'\n{\"goal\": \"x\", \"tasks\": [{\"id\": \"t1\", \"description\": \"Read it\"}]}\nEND";
    let workspace = planner(same);
    workspace.write("plan.json", r#"{"meta": {"id": "plan-a1b2c3d4", "goal": "g", "created_at": "2026-03-22T10:00:00Z"}, "tasks": [{"id": "t1", "description": "Read it", "status": "pending"}]}"#);
    workspace.does(&["set", "t1", "notes=mine", "-p", "plan.json"]).exits(0);
    workspace
        .does(&["replan", "plan.json", "--yes"])
        .exits(0)
        .says("nothing was written");
    workspace.does(&["undo", "plan.json"]).exits(0).says("took back set");
}

#[test]
fn approved_versions_are_kept_and_shown() {
    let workspace = planner(BETTER);
    workspace.write("plan.json", FAILED);
    workspace
        .does(&["replan", "plan.json"])
        .exits(1)
        .says("planwright reject --proposed plan.json --note");
    let came = workspace
        .does(&["approve", "--proposed", "plan.json", "--json"])
        .exits(0);
    came.says("planwright.approved/v1");
    workspace
        .does(&["diff", "plan.json"])
        .exits(0)
        .says("+ Write half of it");
    workspace.does(&["replan", "plan.json"]).exits(1);
    workspace
        .does(&["reject", "--proposed", "plan.json", "--note", "too long", "--by", "bob"])
        .exits(0);
    workspace
        .does(&["history", "plan.json"])
        .exits(0)
        .says("too long")
        .says("bob");
}

#[test]
fn rawko_versions_may_end_in_lists() {
    let workspace = planner("exit 7");
    workspace.write(
        "a.yaml",
        "steps:\n- description: A\n- description: B\n  dependsOn: [0]\n- description: C\n  dependsOn: [1]\n",
    );
    workspace.write(
        "b.yaml",
        "steps:\n- description: A\n- description: C\n  dependsOn: [0]\n- description: D\n  dependsOn: [1]\n",
    );
    workspace
        .does(&[
            "plan",
            "G",
            "--dialect",
            "rawko",
            "--from",
            "a.yaml",
            "--out",
            ".rawko/plans/plan-20261116-g.yaml",
        ])
        .exits(0);
    workspace.does(&["replan", "--from", "b.yaml", "--yes"]).exits(0);
    workspace
        .does(&["history", "plan-20261116-g-v2"])
        .exits(0)
        .says("replan");
}

#[test]
fn aimi_stories_keep_the_priorities_that_planners_give_them() {
    let story = |id: &str, title: &str, priority: u32, status: &str, on: &str| {
        format!(
            "{{\"id\": \"{id}\", \"title\": \"{title}\", \"description\": \"As a dev, I want {title} so that it is there\", \"acceptanceCriteria\": [\"Typecheck passes\"], \"priority\": {priority}, {status}\"dependsOn\": [{on}], \"notes\": \"\"}}"
        )
    };
    let plan = |stories: &[String], head: &str| {
        format!(
            "{{\"schemaVersion\": \"3.0\", \"metadata\": {{\"title\": \"G\", \"type\": \"feat\", \"branchName\": \"feat/x\"{head}}}, \"userStories\": [{}]}}",
            stories.join(", ")
        )
    };
    let workspace = planner("exit 7");
    workspace.write(
        "tasks.json",
        plan(
            &[
                story("US-001", "A", 1, "\"status\": \"completed\", ", ""),
                story("US-002", "B", 2, "\"status\": \"failed\", ", "\"US-001\""),
                story("US-003", "C", 3, "\"status\": \"pending\", ", "\"US-002\""),
            ],
            ", \"createdAt\": \"2026-01-01\", \"planPath\": null",
        ),
    );
    workspace.write(
        "answer.json",
        plan(
            &[
                story("US-001", "A", 1, "", ""),
                story("US-004", "N", 4, "", "\"US-001\""),
                story("US-003", "C", 5, "", "\"US-001\""),
            ],
            "",
        ),
    );
    workspace
        .does(&["replan", "tasks.json", "--from", "answer.json", "--yes"])
        .exits(0)
        .says("~ US-003: priority");
    let text = workspace.read("tasks.json");
    assert!(
        text.contains("\"priority\": 4") && text.contains("\"priority\": 5"),
        "{text}"
    );
    workspace.does(&["check", "tasks.json"]).exits(0);
}

#[test]
fn done_tasks_keep_their_dependencies() {
    let workspace = planner("exit 7");
    workspace.write(
        "plan.json",
        FAILED
            .replace("\"status\": \"done\"", "\"status\": \"skipped\"")
            .replace("\"status\": \"failed\"", "\"status\": \"done\""),
    );
    workspace.write("answer.json", r#"{"goal": "x", "tasks": [{"id": "t2", "description": "Write it"}, {"id": "t3", "description": "Test it", "depends_on": ["t2"]}]}"#);
    workspace
        .does(&["replan", "plan.json", "--from", "answer.json", "--yes"])
        .exits(1)
        .says("changes its dependencies");
}
