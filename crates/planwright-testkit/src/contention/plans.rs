//! The plans of the contention test: changed by all processes, run at the same time, or edited by hand.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TempFolder;

/// How many tasks a plan has in the beginning.
const N_TASKS: usize = 8;

/// How a user edits a plan by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByHand {
    /// A new file replaces the old one.
    Rename,
    /// Bytes of the file are overwritten.
    InPlace,
}

/// The purpose of a plan.
pub(super) struct ContestedPlan {
    dialect: &'static str,
    path: &'static str,
    is_run: bool,
    by_hand: Option<ByHand>,
}

const fn written(dialect: &'static str, path: &'static str) -> ContestedPlan {
    ContestedPlan {
        dialect,
        path,
        is_run: false,
        by_hand: None,
    }
}

const fn run(dialect: &'static str, path: &'static str) -> ContestedPlan {
    ContestedPlan {
        is_run: true,
        ..written(dialect, path)
    }
}

const fn by_hand(dialect: &'static str, path: &'static str, how: ByHand) -> ContestedPlan {
    ContestedPlan {
        by_hand: Some(how),
        ..written(dialect, path)
    }
}

/// All plans of a contest.
pub(super) const KINDS: [ContestedPlan; 11] = [
    written("clido", "written/clido.json"),
    written("opencrabs", "written/opencrabs.json"),
    written("aimi", "written/aimi.json"),
    written("rawko", "written/rawko.yaml"),
    written("task-pack", "docs/tasks/2026-11-16-001-feat-written-tasks.md"),
    run("clido", "run/clido.json"),
    run("opencrabs", "run/opencrabs.json"),
    run("aimi", "run/aimi.json"),
    run("rawko", "run/rawko.yaml"),
    by_hand("clido", "edited/renamed.json", ByHand::Rename),
    by_hand("rawko", "edited/in-place.yaml", ByHand::InPlace),
];

/// A plan on disk.
#[derive(Clone, Debug)]
pub(super) struct Contended {
    pub(super) dialect: &'static str,
    /// From the root of the workspace.
    pub(super) path: &'static str,
    /// Whether runs work on it. Other processes then only add tasks.
    pub(super) is_run: bool,
    pub(super) by_hand: Option<ByHand>,
    /// The names of its initial tasks.
    pub(super) tasks: Vec<String>,
}

impl Contended {
    /// Returns whether acknowledged changes can be checked against the plan: edits by hand may overwrite them.
    pub(super) fn is_accounted(&self) -> bool {
        self.by_hand.is_none()
    }
}

/// Creates the workspace. Agents of its runs record the plan and the task in the file `ledger`.
pub(super) fn write(folder: &TempFolder, binary: &Path) -> io::Result<Vec<Contended>> {
    std::fs::create_dir(folder.path().join(".git"))?;
    let ledger = folder.path().join("ledger");
    folder.write(
        "planwright.toml",
        format!(
            "[agents.mock]\ncommand = [\"sh\", \"-c\", \"echo \\\"$PLANWRIGHT_PLAN $PLANWRIGHT_TASK\\\" >> '{}'\"]\n\n\
             [run]\nagent = \"mock\"\nbackoff = \"1ms\"\ngrace = \"2s\"\n",
            ledger.display()
        ),
    )?;
    std::fs::write(&ledger, "")?;
    let mut plans = Vec::new();
    for kind in &KINDS {
        let tasks = match kind.dialect {
            "task-pack" => derive(folder, binary, kind.path)?,
            dialect => {
                folder.write(kind.path, text(dialect))?;
                names(dialect)
            }
        };
        plans.push(Contended {
            dialect: kind.dialect,
            path: kind.path,
            is_run: kind.is_run,
            by_hand: kind.by_hand,
            tasks,
        });
    }
    Ok(plans)
}

fn names(dialect: &str) -> Vec<String> {
    let name = |ix: usize| match dialect {
        "clido" => format!("t{}", ix + 1),
        "opencrabs" => (ix + 1).to_string(),
        "aimi" => format!("US-{:03}", ix + 1),
        "task-pack" => format!("T{:03}", ix + 1),
        _ => ix.to_string(),
    };
    (0..N_TASKS).map(name).collect()
}

/// Returns a plan with independent tasks. The first counts the edits by hand.
fn text(dialect: &str) -> String {
    let joined = |task: &dyn Fn(usize) -> String| (0..N_TASKS).map(task).collect::<Vec<_>>().join(",\n");
    match dialect {
        "clido" => format!(
            "{{\n  \"goal\": \"Edit 000000\",\n  \"tasks\": [\n{}\n  ]\n}}\n",
            joined(&|ix| format!(
                "    {{\"id\": \"t{}\", \"description\": \"Do it\", \"status\": \"pending\"}}",
                ix + 1
            ))
        ),
        "opencrabs" => format!(
            "{{\n  \"id\": \"6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001\", \"title\": \"P\", \"description\": \"d\", \
             \"status\": \"InProgress\",\n  \"tasks\": [\n{}\n  ]\n}}\n",
            joined(&|ix| format!(
                "    {{\"id\": \"6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d1{ix:03}\", \"order\": {}, \"title\": \"Do it\", \
                 \"description\": \"d\", \"task_type\": \"Edit\", \"status\": \"Pending\"}}",
                ix + 1
            ))
        ),
        "aimi" => format!(
            "{{\n  \"schemaVersion\": \"3.0\",\n  \"metadata\": {{\"title\": \"T\", \"type\": \"feat\", \"branchName\": \
             \"feat/x\", \"createdAt\": \"2026-11-15\", \"planPath\": null, \"maxConcurrency\": 2}},\n  \"userStories\": [\n{}\n  ]\n}}\n",
            joined(&|ix| format!(
                "    {{\"id\": \"US-{n:03}\", \"title\": \"t\", \"description\": \"As a user, I want x so that y\", \
                 \"acceptanceCriteria\": [\"Typecheck passes\"], \"priority\": {n}, \"status\": \"pending\", \
                 \"dependsOn\": [], \"notes\": \"\"}}",
                n = ix + 1
            ))
        ),
        _ => {
            let steps: String = (0..N_TASKS)
                .map(|ix| format!("  - index: {ix}\n    description: Do it # {ix}\n    status: pending\n"))
                .collect();
            format!(
                "id: plan-x\ntask: Edit 000000\nstatus: in_progress\nversion: 1\ncurrentStepIndex: 0\n\
                 createdAt: \"2026-11-15T10:00:00Z\"\nupdatedAt: \"2026-11-15T10:00:00Z\"\ncreatedBy: planner\nsteps:\n{steps}"
            )
        }
    }
}

/// Derives a pack, and returns the names of its tasks.
fn derive(folder: &TempFolder, binary: &Path, path: &str) -> io::Result<Vec<String>> {
    let plan = "docs/plans/written.md";
    folder.write(plan, "---\ntitle: W\nspec_id: written\n---\n\n# W\n\n- R1 do it\n")?;
    let names = names("task-pack");
    let tasks: Vec<_> = names
        .iter()
        .map(|name| {
            serde_json::json!({
                "task_id": name, "requirement_refs": ["R1"], "goal": format!("Do {name}"), "dependencies": [],
                "files": [format!("src/{name}.rs")], "test_focus": "it", "done_signal": "it is there", "stop_if": "it is not",
            })
        })
        .collect();
    let answer = folder.write("answer.json", serde_json::json!({ "tasks": tasks }).to_string())?;
    let made = Command::new(binary)
        .args(["tasks", "derive", plan, "--out", path, "--from"])
        .arg(&answer)
        .current_dir(folder.path())
        .output()?;
    match made.status.success() {
        true => Ok(names),
        false => Err(io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned())),
    }
}

/// Returns the path of a plan.
pub(super) fn place(root: &Path, plan: &Contended) -> PathBuf {
    root.join(plan.path)
}
