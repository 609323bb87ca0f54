//! Predicts a run: the order, the agents, the prompts and the verification of its tasks.

use std::collections::{BTreeMap, BTreeSet};

use planwright_core::plan::{Plan, Slots};
use planwright_run::agent_output::environment_of;
use planwright_run::config::OnProtected;
use planwright_run::config::units::duration_text;
use planwright_run::engine::{self, PreparedRun, Preview, RunError, RunRequest, VerificationPreview};
use planwright_run::fence::{FencePolicy, ProcessFolders};
use planwright_run::runs::IsolationMode;
use serde::Serialize;

use crate::failure::Exit;

#[derive(Serialize)]
pub struct RunPreviewReport {
    pub schema_version: &'static str,
    pub plan: String,
    pub slots: u32,
    pub isolation: &'static str,
    /// The policies of the agents' fences; null if they would not be fenced.
    pub fence: Option<FencePreviewReport>,
    /// The action on a task that changes protected files: `review`, `fail` or `warn`.
    pub on_protected: &'static str,
    /// The tasks that would run in parallel, one round after another.
    pub rounds: Vec<Vec<String>>,
    pub critical_path: Vec<String>,
    /// Tasks of the run that could never start.
    pub left: Vec<String>,
    pub tasks: Vec<TaskPreviewReport>,
    pub remarks: Vec<String>,
    /// Why the run would not start at all.
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
    /// The budget of the run, in words.
    #[serde(skip)]
    pub budget: String,
    /// Whether nothing would run because other owners hold the tasks.
    #[serde(skip)]
    pub is_held: bool,
}

impl RunPreviewReport {
    /// Returns the exit of the command: success only if everything could run.
    pub fn exit(&self) -> Exit {
        Exit::success_if(self.left.is_empty() && !self.is_held && self.obstacle.is_none())
    }
}

#[derive(Serialize)]
pub struct FencePreviewReport {
    pub level: &'static str,
    /// For each agent of the run, without its checkout and its temporary folder.
    pub agents: BTreeMap<String, FencePolicy>,
}

#[derive(Serialize)]
pub struct TaskPreviewReport {
    pub task: String,
    /// Its position in the plan, if it has no id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    pub agent: String,
    /// The commands that would verify it, argument by argument.
    pub verified_by: Vec<Vec<String>>,
    /// Criteria without a rule.
    pub unverified: Vec<String>,
    /// The files and patterns of files that verify it: `on_protected` applies to changes of them.
    pub protected: Vec<String>,
    pub prompt: String,
}

fn position(plan: &Plan, task_ix: usize) -> Option<String> {
    let has_no_id = plan.task_id(plan.tasks().get(task_ix)?).is_none();
    plan.position(task_ix).filter(|_| has_no_id).map(str::to_owned)
}

/// Returns the prediction of a run. `obstacle` is why it would not start.
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
            position: position(book.plan(), *task as usize),
            verified_by: commands,
            unverified,
            protected,
            agent: prepared
                .tasks
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
        critical_path: prepared.tasks.graph.critical_path().iter().map(name).collect(),
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

/// Returns the policies of the agents' fences, as far as known without checkouts.
fn fence_of(request: &RunRequest<'_>, prepared: &PreparedRun) -> Option<FencePreviewReport> {
    let level = prepared.fencing.level()?.as_str();
    let shared = match prepared.isolation.mode {
        IsolationMode::Checkouts => Vec::new(),
        _ => vec![prepared.snapshot.place().root.clone()],
    };
    let names: BTreeSet<&String> = prepared.tasks.agents.iter().flatten().collect();
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
    let budget = &request.config.run.budgets.run;
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
