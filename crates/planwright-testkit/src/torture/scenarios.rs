//! The scenarios: every verb that writes, in every dialect that has it, and runs.

use super::clearing::Clearing;
use super::verbs::{Again, VerbCommand};
use super::{FaultScenario, asking, landing, particular, runs};

/// A dialect as the scenarios need it: a plan of its own, and the names in it.
pub(super) struct Tongue {
    pub(super) name: &'static str,
    pub(super) plan: &'static str,
    pub(super) files: Vec<(String, String)>,
    /// A task that is ready, another, one that depends on the first, and one on which nothing depends.
    tasks: [&'static str; 4],
    /// A field of a task with a new value.
    set: &'static str,
    /// What a new task needs beside its title.
    add: &'static [&'static str],
}

/// The commands that make a scene.
type SetupCommands = Vec<Vec<String>>;

/// Returns all there is.
pub(super) fn all() -> Vec<Box<dyn FaultScenario>> {
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for tongue in tongues() {
        all.extend(transitions(&tongue));
        all.extend(edits(&tongue));
        all.extend(whole_plans(&tongue));
        all.push(approvals(&tongue));
        all.extend(conversions(&tongue));
    }
    all.extend(planning());
    all.extend(particular::all());
    all.extend(asking::all());
    all.push(Box::new(Clearing));
    all.extend(runs::all());
    all.extend(landing::all());
    all
}

pub(super) const PACK: &str =
    include_str!("../../../../examples/task-pack/docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md");
pub(super) const PACK_PATH: &str = "docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md";
pub(super) const SOURCE: &str =
    include_str!("../../../../examples/task-pack/docs/plans/2026-10-06-001-feat-rate-limit-plan.md");
pub(super) const SOURCE_PATH: &str = "docs/plans/2026-10-06-001-feat-rate-limit-plan.md";
pub(super) const CLIDO_PATH: &str = ".clido/plans/plan-a1b2c3d4.json";
pub(super) const RAWKO_PATH: &str = ".rawko/plans/plan-20260501-cellar.yaml";
/// A new version of a rawko plan has a file of its own.
const RAWKO_SECOND: &str = ".rawko/plans/plan-20260501-cellar-v2.yaml";
const RAWKO_CURRENT: &str = ".rawko/current-task.yaml";
pub(super) const AIMI_PATH: &str = ".aimi/tasks/2026-03-03-charts-tasks.json";
const OPENCRABS_PATH: &str = "plans/coding-plans/dark-mode.json";

const RAWKO_TASK: &str = "task: Tidy the cellar\nplanId: plan-20260501-cellar\nstatus: in_progress\n";

pub(super) fn tongues() -> Vec<Tongue> {
    vec![
        Tongue {
            name: "clido",
            plan: CLIDO_PATH,
            files: vec![file(CLIDO_PATH, CLIDO)],
            tasks: ["t1", "t2", "t3", "t4"],
            set: "notes=mind the gap",
            add: &[],
        },
        Tongue {
            name: "opencrabs",
            plan: OPENCRABS_PATH,
            files: vec![file(OPENCRABS_PATH, OPENCRABS)],
            tasks: ["1", "2", "3", "4"],
            set: "description=mind the gap",
            add: &["description=More of it", "task_type=edit"],
        },
        Tongue {
            name: "aimi",
            plan: AIMI_PATH,
            files: vec![file(AIMI_PATH, AIMI)],
            tasks: ["US-001", "US-002", "US-003", "US-004"],
            set: "notes=mind the gap",
            add: &["description=As a user, I want more so that there is more."],
        },
        Tongue {
            name: "task-pack",
            plan: PACK_PATH,
            files: vec![
                file(
                    PACK_PATH,
                    &PACK.replace("src/api/mod.rs is the only router.", "by-hand"),
                ),
                file(SOURCE_PATH, SOURCE),
            ],
            tasks: ["T001", "T003", "T002", "T003"],
            set: "stop_if=mind the gap",
            add: &[
                "source_unit=U3",
                "files=[\"docs/more.md\"]",
                "test_focus=it",
                "done_signal=it is there",
                "stop_if=it is not",
                "wave=use",
            ],
        },
        Tongue {
            name: "rawko",
            plan: RAWKO_PATH,
            files: vec![file(RAWKO_PATH, RAWKO), file(RAWKO_CURRENT, RAWKO_TASK)],
            tasks: ["0", "1", "2", "3"],
            set: "description=mind the gap",
            add: &[],
        },
    ]
}

pub(super) const CLIDO: &str = r#"{
  "meta": {"id": "plan-a1b2c3d4", "goal": "Split the parser", "created_at": "2026-03-22T10:00:00Z"},
  "tasks": [
    {"id": "t1", "description": "Cut out the lexer", "depends_on": [], "complexity": "low", "status": "pending"},
    {"id": "t2", "description": "Give it tests", "depends_on": [], "complexity": "medium", "status": "pending"},
    {"id": "t3", "description": "Move the errors", "depends_on": ["t1"], "complexity": "low", "status": "pending"},
    {"id": "t4", "description": "Write it down by-hand", "depends_on": ["t3"], "complexity": "high", "status": "pending"}
  ]
}
"#;

pub(super) const OPENCRABS: &str = r#"{
  "id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0000",
  "session_id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d1000",
  "title": "Dark mode",
  "description": "Follow the setting of the system.",
  "status": "InProgress",
  "created_at": "2026-03-22T10:00:00Z",
  "updated_at": "2026-03-22T10:00:00Z",
  "tasks": [
    {"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001", "order": 1, "title": "Collect", "description": "Every literal.", "task_type": "Research", "dependencies": [], "complexity": 2, "acceptance_criteria": [], "status": "Pending", "retry_count": 0, "max_retries": 1},
    {"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0002", "order": 2, "title": "Name", "description": "As variables.", "task_type": "Edit", "dependencies": [], "complexity": 2, "acceptance_criteria": [], "status": "Pending", "retry_count": 0, "max_retries": 1},
    {"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0003", "order": 3, "title": "Darken", "description": "Check the contrast.", "task_type": "Edit", "dependencies": ["6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001"], "complexity": 2, "acceptance_criteria": [], "status": "Pending", "retry_count": 0, "max_retries": 1},
    {"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0004", "order": 4, "title": "Look", "description": "At both, by-hand.", "task_type": "Test", "dependencies": ["6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0003"], "complexity": 2, "acceptance_criteria": [], "status": "Pending", "retry_count": 0, "max_retries": 1}
  ]
}
"#;

pub(super) const AIMI: &str = r#"{
  "schemaVersion": "3.0",
  "metadata": {
    "title": "feat: Draw charts",
    "type": "feat",
    "branchName": "feat/charts",
    "createdAt": "2026-03-03",
    "planPath": null,
    "maxConcurrency": 2
  },
  "userStories": [
    {"id": "US-001", "title": "Draw the grid", "description": "As a reader, I want a grid so that I can compare.", "acceptanceCriteria": ["Typecheck passes"], "priority": 1, "status": "pending", "dependsOn": [], "notes": ""},
    {"id": "US-002", "title": "Draw the axes", "description": "As a reader, I want axes so that I know the units.", "acceptanceCriteria": ["Typecheck passes"], "priority": 2, "status": "pending", "dependsOn": [], "notes": ""},
    {"id": "US-003", "title": "Draw the labels", "description": "As a reader, I want labels so that I know the names.", "acceptanceCriteria": ["Typecheck passes"], "priority": 3, "status": "pending", "dependsOn": ["US-001"], "notes": ""},
    {"id": "US-004", "title": "Print it", "description": "As a reader, I want it printed so that I have it by-hand.", "acceptanceCriteria": ["Typecheck passes"], "priority": 4, "status": "pending", "dependsOn": ["US-003"], "notes": ""}
  ]
}
"#;

pub(super) const RAWKO: &str = r#"id: plan-20260501-cellar
task: Tidy the cellar
status: in_progress
steps:
  - index: 0
    description: Sweep
    status: pending
  - index: 1
    description: Carry
    status: pending
  - index: 2
    description: Mop
    status: pending
    dependsOn: [0]
  - index: 3
    description: Dry by-hand
    status: pending
    dependsOn: [2]
currentStepIndex: 0
createdAt: "2026-05-01T08:00:00Z"
updatedAt: "2026-05-02T08:00:00Z"
createdBy: planner
version: 1
"#;

fn transitions(tongue: &Tongue) -> Vec<Box<dyn FaultScenario>> {
    let [first, other, dependent, _] = tongue.tasks;
    let claimed = || vec![tongue.does(&["start", first, "--by", "ada"])];
    let started = || vec![tongue.does(&["start", first])];
    let failed = || {
        vec![
            tongue.does(&["start", first]),
            tongue.does(&["fail", first, "--note", "no"]),
        ]
    };
    let cases: Vec<(&str, SetupCommands, Vec<&str>)> = vec![
        ("start", Vec::new(), vec!["start", first]),
        ("start-twice", started(), vec!["start", other]),
        ("done", started(), vec!["done", first, "--note", "made it"]),
        ("fail", started(), vec!["fail", first, "--note", "no"]),
        ("skip", Vec::new(), vec!["skip", other]),
        ("retry", failed(), vec!["retry", first]),
        ("block", Vec::new(), vec!["block", first, "--note", "key"]),
        ("reset", started(), vec!["reset", first]),
        (
            "claim",
            Vec::new(),
            vec!["start", first, "--by", "ada", "--lease", "30m"],
        ),
        (
            "done-claimed",
            claimed(),
            vec!["done", first, "--by", "ada", "--claim", "1"],
        ),
        (
            "take-over",
            claimed(),
            vec!["done", first, "--by", "bob", "--take-over", "--note", "mine"],
        ),
        ("retry-start", failed(), vec!["retry", first, "--start"]),
        (
            "force",
            Vec::new(),
            vec!["start", dependent, "--force", "--note", "now"],
        ),
    ];
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for (name, before, command) in cases {
        // A start by force is one each time.
        let again = match name {
            "force" => Again::Another,
            _ => Again::Same,
        };
        let mut verb = tongue.verb("transitions", name, before, tongue.does(&command), again);
        // Only the owner takes a claim back.
        verb.can_be_undone = name != "claim";
        all.push(verb);
    }
    let next = words(&["next", "--start", tongue.plan]);
    all.push(tongue.verb("transitions", "next-start", Vec::new(), next, Again::Another));
    let undo = words(&["undo", tongue.plan]);
    let two = vec![tongue.does(&["start", first]), tongue.does(&["done", first])];
    let mut undo = tongue.verb("transitions", "undo", two, undo, Again::Another);
    undo.can_be_undone = false;
    all.push(undo);
    let verify = vec![tongue.does(&["start", first]), tongue.does(&["done", first])];
    let mut verify = tongue.verb(
        "transitions",
        "verify",
        verify,
        tongue.does(&["verify", first]),
        Again::Another,
    );
    verify
        .files
        .push(file("planwright.toml", "[verify]\nevery = [\"true\"]\n"));
    verify.can_be_undone = false;
    all.push(verify);
    all
}

fn edits(tongue: &Tongue) -> Vec<Box<dyn FaultScenario>> {
    let [first, other, dependent, last] = tongue.tasks;
    let mut add = vec!["add", "Another one"];
    add.extend(tongue.add);
    let new_id = if tongue.name == "aimi" { "US-009" } else { "x9" };
    let cases: Vec<(&str, Vec<&str>, Again)> = vec![
        ("add", add, Again::Another),
        ("set", vec!["set", last, tongue.set], Again::Same),
        ("remove", vec!["remove", last], Again::Another),
        ("move", vec!["move", other, "--first"], Again::Another),
        ("rename", vec!["rename", last, new_id], Again::Same),
        ("depend", vec!["depend", last, "--on", other], Again::Same),
        ("undepend", vec!["undepend", dependent, "--on", first], Again::Same),
    ];
    let edit = |(name, command, again): (&str, Vec<&str>, Again)| -> Box<dyn FaultScenario> {
        tongue.verb("edits", name, Vec::new(), tongue.does(&command), again)
    };
    cases.into_iter().map(edit).collect()
}

fn whole_plans(tongue: &Tongue) -> Vec<Box<dyn FaultScenario>> {
    let plan = tongue.plan;
    let cases: Vec<(&str, SetupCommands, Vec<&str>, bool)> = vec![
        ("submit", Vec::new(), vec!["submit", plan], true),
        (
            "approve",
            vec![words(&["submit", plan])],
            vec!["approve", plan, "--by", "ada"],
            true,
        ),
        (
            "reject",
            vec![words(&["submit", plan])],
            vec!["reject", plan, "--note", "no"],
            true,
        ),
        ("cancel", Vec::new(), vec!["cancel", plan, "--note", "no"], true),
        (
            "archive",
            vec![tongue.does(&["start", tongue.tasks[0]])],
            vec!["archive", plan],
            false,
        ),
        (
            "delete",
            vec![tongue.does(&["start", tongue.tasks[0]])],
            vec!["delete", plan, "--yes"],
            false,
        ),
    ];
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for (name, before, command, can_be_undone) in cases {
        let mut verb = tongue.verb("plans", name, before, words(&command), Again::Same);
        verb.can_be_undone = can_be_undone;
        if matches!(name, "submit" | "approve" | "reject") {
            for (_, text) in &mut verb.files {
                *text = text.replace("\"InProgress\"", "\"Draft\"");
            }
        }
        all.push(verb);
    }
    all
}

/// The approval of a plan in a workspace that requires one: where the file has no field for it, it is in the journal alone.
fn approvals(tongue: &Tongue) -> Box<dyn FaultScenario> {
    let command = words(&["approve", tongue.plan, "--by", "ada"]);
    let mut verb = tongue.verb("plans", "approval", Vec::new(), command, Again::Another);
    verb.files
        .push(file("planwright.toml", "[approval]\nrequired = true\n"));
    verb.can_be_undone = false;
    verb
}

fn conversions(tongue: &Tongue) -> Vec<Box<dyn FaultScenario>> {
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for (target, out) in [
        ("clido", "out.json"),
        ("opencrabs", "out.json"),
        ("aimi", "out.json"),
        ("rawko", "out.yaml"),
        ("task-pack", "out.md"),
    ] {
        if target != tongue.name {
            let command = words(&["convert", tongue.plan, "--to", target, "--out", out, "--quiet"]);
            let name = format!("convert-to-{target}");
            all.push(tongue.makes("conversions", &name, command, out));
        }
    }
    let out = match tongue.name {
        "rawko" => "new.yaml",
        "task-pack" => "new.md",
        _ => "new.json",
    };
    let command = words(&["new", tongue.name, "Log in", "--out", out]);
    all.push(tongue.makes("conversions", "new", command, out));
    let command = words(&["plan", "Log in", "--dialect", tongue.name, "--single", "--out", out]);
    all.push(tongue.makes("planning", "plan-single", command, out));
    all
}

fn planning() -> Vec<Box<dyn FaultScenario>> {
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for tongue in tongues() {
        let Some(answer) = answer(tongue.name) else { continue };
        let failed = || {
            let [first, other, ..] = tongue.tasks;
            vec![
                tongue.does(&["start", other]),
                tongue.does(&["done", other]),
                tongue.does(&["start", first]),
                tongue.does(&["fail", first, "--note", "no"]),
            ]
        };
        let replan = words(&["replan", tongue.plan, "--from", "answer.md", "--yes"]);
        let mut verb = tongue.verb("planning", "replan", failed(), replan, Again::Another);
        verb.files.push(file("answer.md", answer));
        verb.can_be_undone = tongue.name != "rawko";
        if tongue.name == "rawko" {
            verb.plan = RAWKO_SECOND.to_owned();
        }
        all.push(verb);
        // A new version waits for somebody's word, who gives it.
        let propose = words(&["replan", tongue.plan, "--from", "answer.md"]);
        for word in ["approve", "reject"] {
            let mut command = words(&[word, "--proposed", tongue.plan]);
            if word == "reject" {
                command.extend(words(&["--note", "no"]));
            }
            let mut before = failed();
            before.push(propose.clone());
            let name = format!("{word}-proposed");
            let mut verb = tongue.verb("planning", &name, before, command, Again::Same);
            verb.files.push(file("answer.md", answer));
            verb.can_be_undone = false;
            if tongue.name == "rawko" && word == "approve" {
                verb.plan = RAWKO_SECOND.to_owned();
            }
            all.push(verb);
        }
    }
    all
}

/// Returns what a planner answers in a dialect: the second task is done and stays, the rest is new.
pub(super) fn answer(dialect: &str) -> Option<&'static str> {
    match dialect {
        "clido" => Some(
            "So:\n```json\n{\"goal\": \"x\", \"tasks\": [{\"id\": \"t2\", \"description\": \"Give it tests\"}, {\"id\": \"t9\", \
             \"description\": \"Half of it\", \"depends_on\": [\"t2\"]}]}\n```\n",
        ),
        "rawko" => {
            Some("So:\n```yaml\nsteps:\n  - description: Carry\n  - description: Half of it\n    dependsOn: [0]\n```\n")
        }
        "aimi" => Some(
            "So:\n```json\n{\"schemaVersion\": \"3.0\", \"metadata\": {\"title\": \"feat: Draw charts\", \"type\": \"feat\", \
             \"branchName\": \"feat/charts\", \"createdAt\": \"2026-03-03\", \"planPath\": null}, \"userStories\": [{\"id\": \
             \"US-002\", \"title\": \"Draw the axes\", \"description\": \"As a reader, I want axes so that I know the units.\", \
             \"acceptanceCriteria\": [\"Typecheck passes\"], \"priority\": 2, \"status\": \"pending\", \"dependsOn\": [], \
             \"notes\": \"\"}, {\"id\": \"US-005\", \"title\": \"Half of it\", \"description\": \"As a reader, I want half so \
             that it is less.\", \"acceptanceCriteria\": [\"Typecheck passes\"], \"priority\": 3, \"status\": \"pending\", \
             \"dependsOn\": [\"US-002\"], \"notes\": \"\"}]}\n```\n",
        ),
        "opencrabs" => Some(
            "So:\n```json\n{\"title\": \"Dark mode\", \"description\": \"Follow it.\", \"tasks\": [{\"id\": \"6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0002\", \"title\": \"Name\", \
             \"description\": \"As variables.\", \"task_type\": \"edit\"}, {\"title\": \"Half of it\", \"description\": \"Less.\", \
             \"task_type\": \"edit\", \"dependencies\": [1]}]}\n```\n",
        ),
        _ => None,
    }
}

impl Tongue {
    /// Returns a command about this plan.
    fn does(&self, command: &[&str]) -> Vec<String> {
        let mut words = words(command);
        words.extend(["-p".to_owned(), self.plan.to_owned()]);
        words
    }

    fn verb(
        &self,
        group: &'static str,
        name: &str,
        before: Vec<Vec<String>>,
        command: Vec<String>,
        again: Again,
    ) -> Box<VerbCommand> {
        Box::new(VerbCommand {
            name: format!("{}-{name}", self.name),
            group,
            files: self.files.clone(),
            before,
            command,
            plan: self.plan.to_owned(),
            again,
            can_be_undone: true,
        })
    }

    /// Returns a command that makes a new file.
    fn makes(&self, group: &'static str, name: &str, command: Vec<String>, out: &str) -> Box<VerbCommand> {
        let mut verb = self.verb(group, name, Vec::new(), command, Again::Same);
        verb.plan = out.to_owned();
        verb.can_be_undone = false;
        verb
    }
}

pub(super) fn file(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
