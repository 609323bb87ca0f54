//! What a run would do: who would run when, with which prompt, verified by what.

use std::collections::{BTreeMap, BTreeSet};

use planwright_core::plan::Slots;
use planwright_run::agent_output::environment_of;
use planwright_run::config::OnProtected;
use planwright_run::config::units::duration_text;
use planwright_run::engine::{self, PreparedRun, Preview, RunError, RunRequest, VerificationPreview};
use planwright_run::fence::{FencePolicy, ProcessFolders};
use planwright_run::runs::IsolationMode;
use serde::Serialize;

use crate::face::Exit;

#[derive(Serialize)]
pub struct RunPreviewReport {
    pub schema_version: &'static str,
    pub plan: String,
    pub slots: u32,
    pub isolation: &'static str,
    /// What the fences of agents would allow; null where they would not be fenced.
    pub fence: Option<FencePreviewReport>,
    /// What becomes of a task that changes protected files: `review`, `fail` or `warn`.
    pub on_protected: &'static str,
    /// The tasks that would run side by side, one round after another.
    pub rounds: Vec<Vec<String>>,
    pub critical_path: Vec<String>,
    /// Tasks that are to run and never could.
    pub left: Vec<String>,
    pub tasks: Vec<TaskPreviewReport>,
    pub remarks: Vec<String>,
    /// Why the run would not begin at all.
    #[serde(skip)]
    pub obstacle: Option<String>,
    #[serde(skip)]
    pub n_tasks: usize,
    /// The titles of the tasks that would run.
    #[serde(skip)]
    pub titles: BTreeMap<String, String>,
    /// The branch that work would land on, in words.
    #[serde(skip)]
    pub branch: Option<String>,
    /// What the run may spend, in words.
    #[serde(skip)]
    pub budget: String,
    /// Whether nothing would run because other owners hold the tasks.
    #[serde(skip)]
    pub is_held: bool,
}

impl RunPreviewReport {
    /// Returns how the command ends: with success only where everything could run.
    pub fn exit(&self) -> Exit {
        Exit::success_if(self.left.is_empty() && !self.is_held && self.obstacle.is_none())
    }
}

#[derive(Serialize)]
pub struct FencePreviewReport {
    pub level: &'static str,
    /// For each agent of the run, without its checkout and its folder for temporary files.
    pub agents: BTreeMap<String, FencePolicy>,
}

#[derive(Serialize)]
pub struct TaskPreviewReport {
    pub task: String,
    pub agent: String,
    /// The commands that would verify it, word by word.
    pub verified_by: Vec<Vec<String>>,
    /// Criteria that no rule covers.
    pub unverified: Vec<String>,
    /// The files and patterns of files that verify it: what becomes of a change to them is `on_protected`.
    pub protected: Vec<String>,
    pub prompt: String,
}

/// Returns what a run would do. `obstacle` is why it would not begin.
pub(super) fn preview_of(
    request: &RunRequest<'_>,
    prepared: &PreparedRun,
    obstacle: Option<String>,
) -> Result<RunPreviewReport, RunError> {
    let preview = Preview::of(request, prepared);
    let book = &prepared.snapshot;
    let name = |task: &u32| book.name(*task).to_owned();
    let mut tasks = Vec::new();
    for task in preview.rounds.iter().flatten() {
        let VerificationPreview {
            commands,
            unverified,
            protected,
        } = engine::verification_of(request, book, *task);
        tasks.push(TaskPreviewReport {
            task: name(task),
            verified_by: commands,
            unverified,
            protected,
            agent: prepared
                .agents
                .get(*task as usize)
                .cloned()
                .flatten()
                .unwrap_or_default(),
            prompt: engine::prompt_of(request, book, *task)?,
        });
    }
    let held = prepared.held.iter().map(|held| {
        let words = held.words();
        format!(
            "{words}: a run would leave it alone. `{}` gives it to the run",
            held.release
        )
    });
    let titles = preview.rounds.iter().flatten().map(|task| {
        let own = book.plan().tasks().get(*task as usize);
        let title = own.map_or("", |own| book.plan().task_subject(own));
        (name(task), title.to_owned())
    });
    let slots = match prepared.policy.slots {
        Slots::Fixed(slots) | Slots::StageWidth(slots) => slots,
    };
    Ok(RunPreviewReport {
        schema_version: "planwright.dry-run/v1",
        plan: book.path().to_string_lossy().into_owned(),
        slots,
        isolation: match prepared.isolation.mode {
            IsolationMode::Checkouts => "checkouts",
            _ => "shared",
        },
        fence: fence_of(request, prepared),
        on_protected: match request.config.verify.on_protected {
            OnProtected::Review => "review",
            OnProtected::Fail => "fail",
            OnProtected::Warn => "warn",
        },
        rounds: preview
            .rounds
            .iter()
            .map(|round| round.iter().map(name).collect())
            .collect(),
        critical_path: prepared.graph.critical_path().iter().map(name).collect(),
        left: preview.left.iter().map(name).collect(),
        tasks,
        remarks: held
            .chain(prepared.remarks.iter().map(|remark| remark.text.clone()))
            .collect(),
        n_tasks: book.plan().tasks().len(),
        titles: titles.collect(),
        branch: engine::branch_preview(request, book),
        budget: budget_words(request),
        is_held: preview.rounds.is_empty() && !prepared.held.is_empty(),
        obstacle,
    })
}

/// Returns what the fences of agents would allow, as far as that is known before there are checkouts.
fn fence_of(request: &RunRequest<'_>, prepared: &PreparedRun) -> Option<FencePreviewReport> {
    let level = prepared.fencing.level()?.as_str();
    let shared = match prepared.isolation.mode {
        IsolationMode::Checkouts => Vec::new(),
        _ => vec![prepared.snapshot.place().root.clone()],
    };
    let names: BTreeSet<&String> = prepared.agents.iter().flatten().collect();
    let policies = names.into_iter().filter_map(|name| {
        let agent = request.config.agents.get(name)?;
        let policy = prepared.fencing.preview(&ProcessFolders {
            writable: &shared,
            agent: Some(agent.known_as()),
            environment: &environment_of(agent),
            ..ProcessFolders::default()
        })?;
        Some((name.clone(), policy))
    });
    Some(FencePreviewReport {
        level,
        agents: policies.collect(),
    })
}

fn budget_words(request: &RunRequest<'_>) -> String {
    let budget = &request.config.run.budget;
    let mut words = Vec::new();
    words.extend(budget.cost.map(|cost| format!("${cost}")));
    words.extend(budget.tokens.map(|tokens| format!("{tokens} tokens")));
    words.extend(budget.attempts.map(|attempts| format!("{attempts} attempts")));
    words.extend(budget.duration.map(duration_text));
    if words.is_empty() {
        words.push("none".to_owned());
    }
    format!(
        "{}; {} per attempt",
        words.join(", "),
        duration_text(request.config.run.limits.wall)
    )
}
