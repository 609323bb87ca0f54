//! Commands of the matrix that only some dialects have, that need no plan, or that belong to other tools.

use planwright_core::dialect::CarrierKind;

use super::FaultScenario;
use super::verbs::{Again, VerbCommand};
use crate::samples::{DialectSample, file, samples, words};

const CLIDO: &str = include_str!("../../samples/clido/workspace/.clido/plans/plan-a1b2c3d4.json");
const CLIDO_PATH: &str = ".clido/plans/plan-a1b2c3d4.json";
const AIMI: &str = include_str!("../../samples/aimi/workspace/.aimi/tasks/2026-03-03-charts-tasks.json");
const AIMI_PATH: &str = ".aimi/tasks/2026-03-03-charts-tasks.json";
const PACK: &str = include_str!("../../samples/task-pack/workspace/docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md");
const PACK_PATH: &str = "docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md";
const SOURCE: &str =
    include_str!("../../samples/task-pack/workspace/docs/plans/2026-10-06-001-feat-rate-limit-plan.md");
const SOURCE_PATH: &str = "docs/plans/2026-10-06-001-feat-rate-limit-plan.md";

pub(super) fn all() -> Vec<Box<dyn FaultScenario>> {
    let mut all = packs();
    all.extend(makers());
    all.extend(fixes());
    all.extend(workspaces());
    all.extend(aimi_cli());
    let verbs = all.into_iter();
    verbs.map(|verb| -> Box<dyn FaultScenario> { Box::new(verb) }).collect()
}

const V2: &str = r#"{"schemaVersion": "2.2", "metadata": {"title": "feat: T", "type": "feat", "branchName": "feat/x", "createdAt": "2026-11-15", "planPath": null},
  "userStories": [
    {"id": "US-001", "title": "a", "description": "As a user, I want a so that b", "acceptanceCriteria": ["Typecheck passes"], "priority": 1, "passes": true, "notes": "", "mine": 1},
    {"id": "US-002", "title": "b", "description": "As a user, I want b so that c", "acceptanceCriteria": ["Typecheck passes"], "priority": 2, "passes": false, "notes": ""}
  ]}
"#;

const IMPORT: &str = r#"{
  "title": "Add login",
  "description": "Login and logout",
  "tasks": [
    {"title": "Read", "description": "Look at the code", "task_type": "research"},
    {"title": "Write", "description": "POST /login", "task_type": "create", "dependencies": [1]}
  ]
}
"#;

const DERIVED: &str = "Here they are.\n\n```json\n{\"tasks\": [{\"task_id\": \"T001\", \"requirement_refs\": [\"R1\"], \"goal\": \
                       \"Count\", \"dependencies\": [], \"files\": [\"src/limit.rs\"], \"test_focus\": \"two clients\", \
                       \"done_signal\": \"tests pass\", \"stop_if\": \"it needs more\"}, {\"task_id\": \"T002\", \
                       \"requirement_refs\": [\"R2\", \"R3\"], \"goal\": \"Answer\", \"dependencies\": [\"T001\"], \"files\": \
                       [\"src/api/mod.rs\"], \"test_focus\": \"the hundredth\", \"done_signal\": \"tests pass\", \"stop_if\": \
                       \"no key\"}]}\n```\n";

/// Commands only for task packs.
fn packs() -> Vec<VerbCommand> {
    let drifted = PACK.replace("  goal: Describe the limit\n", "  goal: Describe something else\n");
    let derive = words(&["tasks", "derive", SOURCE_PATH, "--from", "answer.md", "--out", "new.md"]);
    let regenerate = words(&["tasks", "regenerate", PACK_PATH, "--from", "answer.md", "--yes"]);
    let changed = SOURCE.replace("minute", "hour");
    vec![
        VerbCommand {
            files: vec![file(SOURCE_PATH, SOURCE), file("answer.md", DERIVED)],
            can_be_undone: false,
            ..verb("planning", "task-pack-derive", derive, "new.md")
        },
        VerbCommand {
            files: vec![
                file(PACK_PATH, PACK),
                file(SOURCE_PATH, &changed),
                file("answer.md", DERIVED),
            ],
            again: Again::Another,
            ..verb("planning", "task-pack-regenerate", regenerate, PACK_PATH)
        },
        VerbCommand {
            files: vec![file(PACK_PATH, &drifted), file(SOURCE_PATH, SOURCE)],
            ..verb(
                "edits",
                "task-pack-cards",
                words(&["tasks", "cards", PACK_PATH, "--write"]),
                PACK_PATH,
            )
        },
    ]
}

/// Commands that create one file from another.
fn makers() -> Vec<VerbCommand> {
    let migrate = words(&["migrate", "x-tasks.json"]);
    let import = words(&["import", "idea.json", "--out", "new.json"]);
    vec![
        VerbCommand {
            files: vec![file("x-tasks.json", V2)],
            ..verb("conversions", "aimi-migrate", migrate, "x-tasks.json")
        },
        VerbCommand {
            files: vec![file("idea.json", IMPORT)],
            can_be_undone: false,
            ..verb("conversions", "opencrabs-import", import, "new.json")
        },
    ]
}

/// Plans with an error, which is fixed later. By their names, the check accepts errors in them.
fn fixes() -> Vec<VerbCommand> {
    let comma = |text: &str| {
        let (tasks, end) = text.rsplit_once("\n  ]").unwrap_or((text, ""));
        format!("{tasks},\n  ]{end}")
    };
    let fix = |sample: DialectSample| {
        let path = sample.dialect.new_place(Some("unsound"), "2026-10-06", "unsound");
        let text = match sample.dialect.carriers().first() {
            Some(CarrierKind::Json) => comma(sample.text()),
            Some(CarrierKind::Yaml) => sample.text().replace("version: 1", "version: \"1\""),
            _ if let Some(words) = sample.words.first().filter(|_| sample.dialect.notation().is_some()) => {
                sample.text().replacen(words.defect.0, words.defect.1, 1)
            }
            _ => format!("\u{feff}{}", sample.text()),
        };
        VerbCommand {
            files: vec![file(&path, &text), file(SOURCE_PATH, SOURCE)],
            ..verb(
                "edits",
                &format!("{}-fix", sample.name),
                words(&["check", "--fix", &path]),
                &path,
            )
        }
    };
    samples().into_iter().map(fix).collect()
}

/// Commands about a workspace or a run that change no plan.
fn workspaces() -> Vec<VerbCommand> {
    let config = "[agents.mock]\ncommand = [\"sh\", \"-c\", 'printf \"{\\\"planwright_result\\\": 1, \\\"outcome\\\": \\\"done\\\"}\" > \
                  \"$PLANWRIGHT_RESULT\"']\n[run]\nagent = \"mock\"\n";
    let report = words(&["report", "--out", "page.html"]);
    vec![
        VerbCommand {
            files: vec![file("sub/notes.txt", "a folder of a user's\n"), file(CLIDO_PATH, CLIDO)],
            can_be_undone: false,
            ..verb("workspaces", "init", words(&["init", "sub"]), CLIDO_PATH)
        },
        VerbCommand {
            // An edit of the plan would change the page: this plan has no text for an edit by hand.
            files: vec![
                file("planwright.toml", config),
                file(CLIDO_PATH, &CLIDO.replace(" by-hand", "")),
            ],
            before: vec![words(&["run", CLIDO_PATH])],
            can_be_undone: false,
            ..verb("workspaces", "report", report, CLIDO_PATH)
        },
        VerbCommand {
            can_be_undone: false,
            ..verb(
                "originals",
                "clido-plan-delete",
                words(&["clido", "plan", "delete", "plan-a1b2c3d4"]),
                CLIDO_PATH,
            )
        },
    ]
}

/// The original command line of Aimi, which has its own state files.
fn aimi_cli() -> Vec<VerbCommand> {
    let does = |args: &[&str]| {
        let mut command = vec!["aimi-cli"];
        command.extend(args);
        words(&command)
    };
    let begun = || vec![does(&["init-session"]), does(&["mark-in-progress", "US-001"])];
    let mut all = Vec::new();
    for (before, command) in [
        (Vec::new(), does(&["init-session"])),
        (vec![does(&["init-session"])], does(&["next-story"])),
        (vec![does(&["init-session"])], does(&["mark-in-progress", "US-001"])),
        (begun(), does(&["mark-complete", "US-001"])),
        (begun(), does(&["mark-failed", "US-001", "no"])),
        (begun(), does(&["mark-skipped", "US-002"])),
        (begun(), does(&["cascade-skip", "US-001"])),
        (begun(), does(&["reset-orphaned"])),
        (begun(), does(&["clear-state"])),
    ] {
        let name = format!("aimi-cli-{}", command[1]);
        all.push(VerbCommand {
            files: vec![file(AIMI_PATH, AIMI)],
            before,
            again: Again::Another,
            can_be_undone: false,
            ..verb("originals", &name, command, AIMI_PATH)
        });
    }
    all
}

/// A command about a clido plan.
fn verb(group: &'static str, name: &str, command: Vec<String>, plan: &str) -> VerbCommand {
    VerbCommand {
        name: name.to_owned(),
        group,
        files: vec![file(CLIDO_PATH, CLIDO)],
        before: Vec::new(),
        command,
        plan: plan.to_owned(),
        again: Again::Same,
        can_be_undone: true,
    }
}
