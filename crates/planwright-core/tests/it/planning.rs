//! Planners' answers: drafts of new plans, and new versions of existing plans.

use planwright_core::change::Open;
use planwright_core::change::rewrite::rewrite;
use planwright_core::convert::PlanningRequest;
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::id_source::IdSource;
use planwright_core::dialect::{Choice, DIALECTS, Dialect, DiskFacts};
use planwright_core::inspect::inspect;
use planwright_core::planning::draft::{draft, finding_list};
use planwright_core::planning::replan::{PlanDifference, new_version};
use planwright_core::text::SourceText;

const NOW: &str = "2026-11-16T09:00:00Z";

fn dialect(name: &str) -> &'static dyn Dialect {
    let mut all = DIALECTS.iter().copied();
    all.find(|dialect| dialect.name() == name).expect("a dialect")
}

fn with_id_source<T>(call: impl FnOnce(&mut IdSource<'_>) -> T) -> T {
    let mut n = 0u128;
    let mut fresh = || {
        n += 1;
        n
    };
    call(&mut IdSource::new(NOW, &mut fresh))
}

/// Plans as planners are asked for them, with nothing that planwright makes.
const BARE: [(&str, &str); 4] = [
    (
        "clido",
        r#"{"goal": "x", "tasks": [{"id": "t1", "description": "Read it"}, {"id": "t2", "description": "Write it", "depends_on": ["t1"], "complexity": "high"}]}"#,
    ),
    (
        "opencrabs",
        r#"{"title": "Limit calls", "description": "So that nobody starves", "tasks": [
            {"order": 1, "title": "Read it", "description": "All of it", "task_type": "Research"},
            {"order": 2, "title": "Write it", "description": "Some of it", "task_type": "Edit", "dependencies": [1]}]}"#,
    ),
    (
        "aimi",
        r#"{"metadata": {"title": "Limit calls", "type": "feat", "branchName": "feat/limit-calls"}, "userStories": [
            {"id": "US-001", "title": "Read it", "description": "As a developer, I want to read it so that I know", "acceptanceCriteria": ["Typecheck passes"], "priority": 1, "dependsOn": []},
            {"id": "US-002", "title": "Write it", "description": "As a developer, I want to write it so that it is there", "acceptanceCriteria": ["Typecheck passes"], "priority": 2, "dependsOn": ["US-001"]}]}"#,
    ),
    (
        "rawko",
        "steps:\n  - description: Read it\n    suggestedAgent: planner\n  - description: Write it\n    dependsOn: [0]\n    acceptanceCriteria:\n      - It is written\nmetadata:\n  complexity: 3\n",
    ),
];

fn wish() -> PlanningRequest<'static> {
    PlanningRequest {
        goal: "Limit how often a client may call",
        by: Some("planner"),
        ..PlanningRequest::default()
    }
}

fn drafted(name: &str, answer: &str) -> Result<String, String> {
    with_id_source(|id_source| match draft(answer, dialect(name), &wish(), id_source) {
        Ok(drafted) => Ok(drafted.text),
        Err(unusable) => Err(finding_list(&unusable.text, &unusable.findings)),
    })
}

fn states_of(text: &str, name: &str) -> String {
    let own = dialect(name);
    let facts = DiskFacts::default();
    let choice = Choice {
        dialects: DIALECTS,
        forced: Some(own),
        path: None,
        facts: &facts,
    };
    let inspection = inspect(&SourceText::new(text), &choice);
    assert_eq!(
        inspection.count(Severity::Error),
        0,
        "{text}\n{:?}",
        inspection.diagnostics
    );
    let linked = inspection.plan.expect("a plan");
    let tasks = linked.plan.tasks().iter().enumerate().map(|(ix, task)| {
        let on: Vec<String> = linked
            .links
            .of(ix)
            .iter()
            .map(|edge| linked.plan.task_name(edge.to as usize).into_owned())
            .collect();
        format!(
            "{} {} {:?} [{}]",
            linked.plan.task_name(ix),
            linked.plan.task_title(task),
            task.status.state().expect("a state"),
            on.join(" ")
        )
    });
    tasks.collect::<Vec<_>>().join("\n")
}

#[test]
fn bare_plans_become_stored_ones_in_every_dialect() {
    for (name, answer) in BARE {
        let text = drafted(name, answer).unwrap_or_else(|finding_list| panic!("{name}: {finding_list}"));
        let states = states_of(&text, name);
        assert!(states.contains("Read it Pending []"), "{name}: {states}\n{text}");
        assert_eq!(states.lines().count(), 2);
    }
    let clido = drafted("clido", BARE[0].1).expect("a plan");
    assert!(
        clido.contains("\"goal\": \"Limit how often a client may call\""),
        "{clido}"
    );
    assert!(clido.contains(NOW));
    let rawko = drafted("rawko", BARE[3].1).expect("a plan");
    assert!(rawko.starts_with("id: plan-20261116-limit-how-often"), "{rawko}");
    assert!(
        rawko.contains("createdBy: planner\n") && rawko.contains("status: draft\n"),
        "{rawko}"
    );
}

#[test]
fn task_states_in_planner_answers_are_ignored() {
    let answer = BARE[0]
        .1
        .replace("\"id\": \"t1\",", "\"id\": \"t1\", \"status\": \"done\",");
    let text = drafted("clido", &answer).expect("a plan");
    assert!(!text.contains("done"), "{text}");
}

#[test]
fn constraints_and_memories_go_where_the_dialect_has_a_place_for_them() {
    let wish = PlanningRequest {
        constraints: &["no new dependency".to_owned()],
        memories: &["the last try broke the cache".to_owned()],
        ..wish()
    };
    let text = with_id_source(|id_source| {
        draft(BARE[3].1, dialect("rawko"), &wish, id_source)
            .expect("a plan")
            .text
    });
    assert!(text.contains("constraints:\n    - \"no new dependency\""), "{text}");
    assert!(
        text.contains("informedByMemories:\n    - \"the last try broke the cache\""),
        "{text}"
    );
}

#[test]
fn answers_that_hold_no_plan_are_refused_with_a_reason() {
    let long = "x".repeat(10 << 20);
    for (name, answer, says) in [
        ("clido", "", "the answer is empty"),
        ("clido", "I cannot do that.", ""),
        ("clido", "```json\n{\"goal\": \"x\", \"tasks\": []}\n```", "no tasks"),
        (
            "clido",
            "```json\n{\"goal\": \"x\", \"tasks\": [{\"id\": \"a\", \"descr",
            "[json",
        ),
        (
            "clido",
            "{\"goal\": \"x\", \"tasks\": [{\"id\": \"a\", \"description\": \"A\", \"depends_on\": [\"b\"]}, {\"id\": \"b\", \"description\": \"B\", \"depends_on\": [\"a\"]}]}",
            "cycle",
        ),
        (
            "clido",
            "{\"goal\": \"x\", \"tasks\": [{\"id\": \"a\", \"description\": \"A\", \"depends_on\": [\"nobody\"]}]}",
            "nobody",
        ),
        ("task-pack", BARE[0].1, "dialect `clido`"),
        ("clido", &long, "10485760 bytes"),
    ] {
        let finding_list = drafted(name, answer).expect_err("no plan");
        assert!(
            finding_list.contains(says) && !finding_list.is_empty(),
            "{name}: {finding_list}"
        );
    }
}

#[test]
fn a_sound_plan_of_another_dialect_is_converted() {
    for (name, answer, other) in [("aimi", BARE[0].1, "clido"), ("rawko", BARE[2].1, "aimi")] {
        let planned = with_id_source(|id_source| draft(answer, dialect(name), &wish(), id_source).expect("a plan"));
        let note = format!("the answer is a plan of the dialect `{other}`, and was converted to `{name}`");
        assert_eq!(
            planned.notes.first().map(|note| note.message.as_str()),
            Some(note.as_str())
        );
    }
}

#[test]
fn a_box_in_an_example_or_in_a_text_is_not_the_whole_plan() {
    for answer in [
        "# T\n\n- [ ] A\n- [ ] B\n\nExample:\n\n```markdown\n- [ ] example\n```\n",
        "steps:\n- title: one\n  criteria: |\n    - [ ] tests pass\n- title: two\n",
    ] {
        let refused = drafted("checklist", answer).expect_err("it is not the plan");
        assert!(refused.contains("the answer has more"), "{refused}");
    }
    let nested = "Plan:\n\n```markdown\n# T\n\n- [ ] A\n  ```bash\n  ls\n  ```\n- [ ] B\n```\n";
    let plan = drafted("checklist", nested).expect("a plan");
    assert!(plan.contains("T1: A") && plan.contains("T2: B"), "{plan}");
}

/// Returns the new text and the difference, or the errors.
fn replanned(name: &str, old: &str, answer: &str) -> Result<(String, PlanDifference), String> {
    let own = dialect(name);
    let facts = DiskFacts::default();
    let choice = Choice {
        dialects: DIALECTS,
        forced: Some(own),
        path: None,
        facts: &facts,
    };
    let open = Open::new(&SourceText::new(old), &choice);
    let version = with_id_source(|id_source| new_version(&open.inspection, own, answer, id_source));
    let version = version.map_err(|unusable| finding_list(&unusable.text, &unusable.findings))?;
    let changed = rewrite(&open, &choice, &version.slots, NOW).map_err(|problem| problem.to_string())?;
    Ok((changed.source.as_str().to_owned(), version.difference))
}

const CLIDO: &str = r#"{
  "meta": { "id": "plan-a1b2c3d4", "goal": "g", "created_at": "2026-03-22T10:00:00Z" },
  "tasks": [
    { "id": "t1",  "description": "Read it", "depends_on": [], "status": "done", "x-own": [1,  2] },
    { "id": "t2", "description": "Write it", "depends_on": ["t1"], "status": "pending", "complexity": "low" },
    { "id": "t3", "description": "Test it", "depends_on": ["t2"], "status": "pending" }
  ]
}
"#;

#[test]
fn a_new_version_keeps_unchanged_tasks_byte_for_byte() {
    let answer = r#"The writing was too much at once.
```json
{"goal": "g", "tasks": [
  {"id": "t1", "description": "Read it"},
  {"id": "t4", "description": "Write the first half", "depends_on": ["t1"]},
  {"id": "t5", "description": "Write the second half", "depends_on": ["t4"]},
  {"id": "t3", "description": "Test it", "depends_on": ["t4", "t5"], "complexity": "high"}
]}
```"#;
    let (text, difference) = replanned("clido", CLIDO, answer).expect("a new version");
    assert_eq!(
        states_of(&text, "clido"),
        "t1 Read it Done []\nt4 Write the first half Pending [t1]\nt5 Write the second half Pending [t4]\nt3 Test it Pending [t4 t5]"
    );
    assert!(text.contains("{ \"id\": \"t1\",  \"description\": \"Read it\", \"depends_on\": [], \"status\": \"done\", \"x-own\": [1,  2] }"), "{text}");
    let added: Vec<_> = difference.added.iter().map(|new| (&*new.task, &*new.title)).collect();
    assert_eq!(added, [("t4", "Write the first half"), ("t5", "Write the second half")]);
    assert_eq!(difference.removed_names().collect::<Vec<_>>(), ["t2"]);
    assert_eq!(difference.changed, [("t3".to_owned(), vec!["complexity"])]);
    assert_eq!(difference.rewired, ["t3"]);
}

#[test]
fn new_tasks_get_ids_by_the_dialects_rule_and_none_that_a_task_had_before() {
    let answer = r#"{"goal": "g", "tasks": [
      {"id": "t1", "description": "Read it"},
      {"description": "Write half of it", "depends_on": ["t1"]},
      {"id": "last", "description": "Write the rest", "depends_on": ["t1"]},
      {"id": "t9", "description": "Look at it", "depends_on": ["last"]}]}"#;
    let (text, _) = replanned("clido", CLIDO, answer).expect("a new version");
    assert_eq!(
        states_of(&text, "clido"),
        "t1 Read it Done []\nt10 Write half of it Pending [t1]\nt11 Write the rest Pending [t1]\nt9 Look at it Pending [t11]"
    );
    // Where the plan has names of its own, so may new tasks.
    let named = CLIDO.replace("t1", "read").replace("t2", "write").replace("t3", "test");
    let answer = r#"{"goal": "g", "tasks": [{"id": "read", "description": "Read it"},
      {"id": "half", "description": "Write half of it", "depends_on": ["read"]}]}"#;
    let (text, _) = replanned("clido", &named, answer).expect("a new version");
    assert_eq!(
        states_of(&text, "clido"),
        "read Read it Done []\nhalf Write half of it Pending [read]"
    );
    let aimi = drafted("aimi", BARE[2].1).expect("a plan");
    let answer = r#"{"metadata": {"title": "Limit calls", "type": "feat", "branchName": "feat/limit-calls"}, "userStories": [
      {"id": "US-001", "title": "Read it", "description": "As a developer, I want to read it so that I know", "acceptanceCriteria": ["Typecheck passes"], "priority": 1, "dependsOn": []},
      {"title": "Look at it", "description": "As a developer, I want to look at it so that I know", "acceptanceCriteria": ["Typecheck passes"], "priority": 2, "dependsOn": ["US-001"]}]}"#;
    let (text, _) = replanned("aimi", &aimi, answer).expect("a new version");
    assert_eq!(
        states_of(&text, "aimi"),
        "US-001 Read it Pending []\nUS-003 Look at it Pending [US-001]"
    );
}

#[test]
fn done_tasks_can_be_neither_dropped_nor_changed() {
    for (answer, says) in [
        (
            r#"{"goal": "g", "tasks": [{"id": "t2", "description": "Write it"}]}"#,
            "`t1` (Read it) is done, and is missing",
        ),
        (
            r#"{"goal": "g", "tasks": [{"id": "t1", "description": "Read all of it"}, {"id": "t2", "description": "Write it"}]}"#,
            "changes `description`",
        ),
        (
            r#"{"goal": "g", "tasks": [{"id": "t1", "description": "Read it", "depends_on": ["t2"]}, {"id": "t2", "description": "Write it"}]}"#,
            "changes its dependencies",
        ),
    ] {
        let finding_list = replanned("clido", CLIDO, answer).expect_err("it is refused");
        assert!(finding_list.contains(says), "{finding_list}");
    }
}

#[test]
fn a_kind_of_task_in_another_case_is_no_change() {
    let (_, bare) = BARE[1];
    let old = drafted("opencrabs", bare).expect("a plan");
    let old = old.replacen("\"Pending\"", "\"Completed\"", 1);
    // Tasks are identified by their ids in the plan.
    let others = old
        .replace("\"Research\"", "\"research\"")
        .replace("\"Edit\"", "\"EDIT\"");
    assert_ne!(old, others);
    let (text, difference) = replanned("opencrabs", &old, &others).expect("a new version");
    assert!(difference.is_empty(), "{difference:?}");
    assert_eq!(text, old);
    let other = old.replace("\"Edit\"", "\"test\"");
    let (_, difference) = replanned("opencrabs", &old, &other).expect("a new version");
    assert_eq!(difference.changed.len(), 1, "{difference:?}");
}

#[test]
fn new_versions_of_every_dialect_equal_the_answer() {
    for (name, answer) in BARE {
        let old = drafted(name, answer).expect("a plan");
        // The same tasks in another order, with one more in front.
        let new = match name {
            "clido" => r#"{"goal": "x", "tasks": [{"id": "t9", "description": "Think"}, {"id": "t2", "description": "Write it"}, {"id": "t1", "description": "Read it", "depends_on": ["t2", "t9"]}]}"#.to_owned(),
            "aimi" => old
                .replace("\"priority\": 1", "\"priority\": 30")
                .replace("\"dependsOn\": [\n        \"US-001\"\n      ]", "\"dependsOn\": []")
                .replacen("\"dependsOn\": []", "\"dependsOn\": [\"US-002\"]", 1),
            "rawko" => "steps:\n  - description: Think\n  - description: Write it\n  - description: Read it\n    dependsOn: [1, 0]\n".to_owned(),
            _ => continue,
        };
        let (text, difference) =
            replanned(name, &old, &new).unwrap_or_else(|finding_list| panic!("{name}: {finding_list}"));
        let states = states_of(&text, name);
        let read = states
            .lines()
            .find(|line| line.contains("Read it"))
            .expect("it is there");
        assert!(!read.ends_with("[]"), "{name}: {states}");
        assert!(!difference.is_empty(), "{name}");
        let same =
            replanned(name, &text, &text).unwrap_or_else(|finding_list| panic!("{name}: {finding_list}\n{text}"));
        assert_eq!(same.0, text, "{name}: the same again changes nothing");
        assert!(same.1.is_empty(), "{name}: {:?}", same.1);
    }
}
