//! The verb `plan`: an agent writes a plan for a goal, and planwright checks it.

use std::path::{Path, PathBuf};

use planwright_core::convert::{self, Imported, PlanningRequest};
use planwright_core::diagnostic::Diagnostic;
use planwright_core::dialect::Dialect;
use planwright_core::inspect::LinkedPlan;
use planwright_core::outline;
use planwright_core::plan::Field;
use planwright_core::planning::draft::Unusable;
use planwright_core::planning::prompt::{PlanningBrief, Purpose, plan_prompt};
use planwright_core::text::SourceText;
use planwright_run::agent_query::{AgentAnswer, AgentQueryError};
use planwright_run::clock;
use planwright_run::config::Config;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{ChangeRecord, plan_id};
use planwright_run::layout::root_of;
use planwright_run::planner::{self, AnswerSource, PlanningCost, PlanningError};
use planwright_run::shell::argument;
use planwright_run::store::{PlanFile, Store};
use serde::{Deserialize, Serialize};

use crate::configuration::sound_config;
use crate::draft::DraftRequest;
use crate::failure::{Failure, Result};
use crate::planning::{
    Confirmation, EffortReport, OutlineReading, PlanObserver, PlannerRequest, SourceFindings, asked_back, create_plan,
    declined, derived_by, dialect_or_default, keep_unusable, new_path, other_notes, planning_failure,
    remark_same_title, require_new, task_names, with_id_source_for,
};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MakePlanRequest {
    pub goal: String,
    /// The dialect; none for the default of the workspace.
    pub dialect: Option<String>,
    #[serde(default)]
    pub planner: PlannerRequest,
    /// Creates a plan with one task, without an agent.
    #[serde(default)]
    pub single: bool,
    /// The new file; none for the place where the dialect's own tool stores plans.
    pub out: Option<PathBuf>,
    /// Accepts an answer that is no plan of the dialect as it is read, without a question.
    #[serde(default)]
    pub yes: bool,
}

#[derive(Serialize)]
pub struct MakePlanReport {
    pub schema_version: &'static str,
    pub dialect: &'static str,
    /// The file that was written.
    pub plan: String,
    pub id: Option<String>,
    pub n_tasks: usize,
    /// The planner; null if no agent planned.
    pub agent: Option<String>,
    pub effort: EffortReport,
    pub reasoning: String,
    /// Whether the plan has no errors. Only an editor can introduce them.
    pub valid: bool,
    /// The new plan, as a request to the verb `draft`.
    #[serde(skip)]
    pub draft: DraftRequest,
    /// The findings about the plan, with the text for excerpts.
    #[serde(skip)]
    pub findings: SourceFindings,
    #[serde(skip)]
    pub tasks: Vec<PlannedTask>,
}

/// A task of a plan that was made.
pub struct PlannedTask {
    pub name: String,
    /// The first line of its title.
    pub title: String,
    pub depends_on: Vec<String>,
}

fn planned_tasks(linked: &LinkedPlan) -> impl Iterator<Item = PlannedTask> {
    let plan = &linked.plan;
    plan.tasks().iter().enumerate().map(|(ix, task)| PlannedTask {
        name: plan.task_name(ix).into_owned(),
        title: plan.task_subject(task).to_owned(),
        depends_on: linked
            .links
            .of(ix)
            .iter()
            .map(|edge| plan.task_name(edge.to as usize).into_owned())
            .collect(),
    })
}

/// Returns the prompt of the agent. Starts nothing and writes nothing.
pub fn prompt(workspace: &Workspace, request: &MakePlanRequest) -> Result<String> {
    let planning = PlanWork::of(workspace, request)?;
    planning.with_brief(|brief, _| Ok(plan_prompt(brief).text))
}

pub fn plan(
    workspace: &Workspace,
    request: &MakePlanRequest,
    observer: &mut dyn PlanObserver,
) -> Result<MakePlanReport> {
    let planning = PlanWork::of(workspace, request)?;
    let made = planning.with_brief(|brief, wish| {
        if let Some(out) = &planning.out {
            require_new(out)?;
        }
        match request.single {
            true => planning.single(wish),
            false => planning.asked(brief, wish, observer),
        }
    })?;
    planning.write(made)
}

/// A plan before it is written.
#[derive(Default)]
struct PlannedText {
    text: String,
    notes: Vec<Diagnostic>,
    reasoning: String,
    agent: Option<String>,
    effort: PlanningCost,
}

/// A request with its resolved inputs.
struct PlanWork<'a> {
    workspace: &'a Workspace,
    request: &'a MakePlanRequest,
    root: PathBuf,
    config: Config,
    dialect: &'static dyn Dialect,
    /// The file that the request names.
    out: Option<PathBuf>,
    date: String,
}

impl<'a> PlanWork<'a> {
    fn of(workspace: &'a Workspace, request: &'a MakePlanRequest) -> Result<Self> {
        if request.goal.trim().is_empty() {
            return Err(Failure::usage("the goal is empty", "give the goal"));
        }
        let root = root_of(workspace.folder());
        let config = sound_config(workspace, &root, "nothing is planned by it")?.config;
        let dialect = dialect_or_default(request.dialect.as_deref(), &config, &root, request.out.as_deref())?;
        if let Some(command) = derived_by(dialect).filter(|_| !request.single) {
            return Err(Failure::usage(
                format!(
                    "plans of the dialect `{}` are derived from another document",
                    dialect.name()
                ),
                format!("`{command}` derives one; --single makes a draft with one task"),
            ));
        }
        Ok(PlanWork {
            workspace,
            request,
            root,
            config,
            dialect,
            out: request.out.as_ref().map(|out| workspace.path(out)),
            date: clock::now().get(..10).unwrap_or_default().to_owned(),
        })
    }

    /// Calls a function with the planner's input, and the content required of the plan.
    fn with_brief<T>(&self, call: impl FnOnce(&PlanningBrief<'_>, &PlanningRequest<'_>) -> Result<T>) -> Result<T> {
        let planner = &self.request.planner;
        let texts = planner.texts(self.workspace, Purpose::Plan, &self.config, &self.root)?;
        let wish = PlanningRequest {
            goal: &self.request.goal,
            constraints: &planner.constraints,
            memories: &planner.memories,
            ..PlanningRequest::default()
        };
        call(&texts.brief(self.dialect, &self.request.goal), &wish)
    }

    fn single(&self, wish: &PlanningRequest<'_>) -> Result<PlannedText> {
        let made = with_id_source_for(self.workspace, self.dialect, self.out.as_deref(), |id_source| {
            convert::single_plan(self.dialect, wish, id_source)
        });
        let (text, notes) = made.map_err(|refused| Failure::problem(refused.to_string(), "say it in other words"))?;
        Ok(PlannedText {
            text,
            notes,
            ..PlannedText::default()
        })
    }

    fn asked(
        &self,
        brief: &PlanningBrief<'_>,
        wish: &PlanningRequest<'_>,
        observer: &mut dyn PlanObserver,
    ) -> Result<PlannedText> {
        let mut last = String::new();
        let PlanWork {
            workspace,
            config,
            root,
            ..
        } = self;
        let answer = self.request.planner.ask(workspace, config, root, observer, |oracle| {
            let text = &mut last;
            with_id_source_for(workspace, self.dialect, self.out.as_deref(), |id_source| {
                planner::plan(&mut LastAnswer { oracle, text }, brief, wish, id_source)
            })
        })?;
        if let Some(exit) = answer.cancelled {
            return Err(Failure::interrupted(exit));
        }
        let agent = Some(answer.agent);
        match answer.made {
            Ok((drafted, effort)) => Ok(PlannedText {
                text: drafted.text,
                notes: drafted.notes,
                reasoning: drafted.reasoning,
                agent,
                effort,
            }),
            Err(PlanningError::Asks {
                questions, unusable, ..
            }) => {
                let help = answered_goal(&self.request.goal);
                Err(asked_back(workspace, &questions, &unusable, &self.place(None), &help))
            }
            Err(error) => match self.outlined(&last, wish, observer) {
                Outlined::Made(imported) => Ok(PlannedText {
                    text: imported.text,
                    notes: other_notes(&imported.notes),
                    reasoning: String::new(),
                    agent,
                    effort: effort_of(&error),
                }),
                Outlined::Declined => Err(declined(workspace)),
                Outlined::Unconfirmed => Err(self.unconfirmed(error, last)),
                Outlined::Unreadable => Err(self.unreadable(error, &last)),
            },
        }
    }

    /// Reads an answer that is no plan of the dialect, shows it with every guess, and asks the user.
    fn outlined(&self, answer: &str, wish: &PlanningRequest<'_>, observer: &mut dyn PlanObserver) -> Outlined {
        let source = SourceText::new(answer);
        let Ok(outline) = outline::read(&source, false) else {
            return Outlined::Unreadable;
        };
        let outline = outline.without_states();
        let imported = with_id_source_for(self.workspace, self.dialect, self.out.as_deref(), |id_source| {
            convert::outlined_plan(&outline, self.dialect, wish, id_source)
        });
        let Ok(imported) = imported else {
            return Outlined::Unreadable;
        };
        let reading = OutlineReading {
            outline: &outline,
            source: &source,
            names: &task_names(&imported.text, self.dialect),
        };
        observer.shows_outline(&reading);
        let confirmation = match self.request.yes {
            true => Confirmation::Yes,
            false => observer.confirms_outline(&reading, None),
        };
        match confirmation {
            Confirmation::Yes => Outlined::Made(imported),
            Confirmation::No => Outlined::Declined,
            Confirmation::CannotAsk => Outlined::Unconfirmed,
        }
    }

    /// Saves an answer that was read with guesses, and returns the command that accepts it.
    fn unconfirmed(&self, error: PlanningError, answer: String) -> Failure {
        let effort = EffortReport::from(effort_of(&error));
        let findings = match error {
            PlanningError::Unusable { unusable, .. } | PlanningError::Asks { unusable, .. } => unusable.findings,
            PlanningError::AgentQuery(_) => Vec::new(),
        };
        let unusable = Unusable {
            text: answer,
            findings,
            reasoning: String::new(),
        };
        let kept = match keep_unusable(self.workspace, &unusable, &self.place(None)) {
            Ok([text, _]) => argument(&text.to_string_lossy()),
            Err(error) => return Failure::environment(&error, "check that you may write to `.planwright`"),
        };
        Failure::problem(
            format!(
                "{} gave no plan of the dialect; the answer was read as above, and there is no terminal to confirm it on",
                effort.words()
            ),
            format!("{} --yes", self.import_command(&kept)),
        )
    }

    fn unreadable(&self, error: PlanningError, answer: &str) -> Failure {
        let has_tasks = has_tasks(answer);
        let taken = |answer: &str| has_tasks.then(|| self.import_command(answer));
        planning_failure(self.workspace, error, &self.place(None), taken)
    }

    fn import_command(&self, answer: &str) -> String {
        let goal = argument(&self.request.goal);
        format!(
            "planwright import {answer} --dialect {} --goal {goal}",
            self.dialect.name()
        )
    }

    fn place(&self, id: Option<&str>) -> PathBuf {
        match &self.out {
            Some(out) => out.clone(),
            None => new_path(self.workspace, self.dialect, id, &self.date, &self.request.goal),
        }
    }

    fn write(&self, made: PlannedText) -> Result<MakePlanReport> {
        let source = SourceText::new(made.text.as_str());
        let inspection = inspect_file(&source, None, Some(self.dialect)).inspection;
        let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
        let id = plan.and_then(|plan| plan.head_str(Field::Id)).map(str::to_owned);
        let path = self.place(id.as_deref());
        remark_same_title(self.workspace, &made.text, self.dialect, None);
        create_plan(self.workspace, &path, &made.text, self.dialect)?;
        self.note(&path, plan.and_then(plan_id), &made);
        Ok(MakePlanReport {
            schema_version: "planwright.plan/v1",
            dialect: self.dialect.name(),
            plan: path.display().to_string(),
            id,
            n_tasks: plan.map_or(0, |plan| plan.tasks().len()),
            agent: made.agent,
            effort: made.effort.into(),
            reasoning: made.reasoning,
            valid: true,
            draft: DraftRequest {
                plan: path.clone(),
                dialect: self.dialect.name().to_owned(),
            },
            findings: SourceFindings {
                path,
                source,
                findings: made.notes,
            },
            tasks: inspection.plan.iter().flat_map(planned_tasks).collect(),
        })
    }

    /// Records how the plan was created.
    fn note(&self, path: &Path, id: Option<&str>, made: &PlannedText) {
        let goal = &self.request.goal;
        let words = match made.reasoning.is_empty() {
            true => format!("goal: {goal}"),
            false => format!("goal: {goal}\n\n{}", made.reasoning),
        };
        let change = ChangeRecord {
            verb: "plan".to_owned(),
            by: made.agent.clone(),
            note: Some(words),
            ..ChangeRecord::default()
        };
        if let Err(error) = Store::default().record_note(PlanFile { path, id }, change) {
            self.workspace.remark(&format!(
                "warning: the record of the planning could not be written: {error}"
            ));
        }
    }
}

/// A planner whose last answer is saved.
struct LastAnswer<'a> {
    oracle: &'a mut dyn AnswerSource,
    text: &'a mut String,
}

impl AnswerSource for LastAnswer<'_> {
    fn ask(&mut self, prompt: &str) -> Result<AgentAnswer, AgentQueryError> {
        let answer = self.oracle.ask(prompt)?;
        // An answer that was cut is not read with guesses.
        *self.text = match answer.is_cut {
            true => String::new(),
            false => answer.text.clone(),
        };
        Ok(answer)
    }

    fn get_over(&mut self, error: AgentQueryError) -> Result<(), AgentQueryError> {
        self.oracle.get_over(error)
    }

    fn sent_back(&mut self, findings: &[Diagnostic]) {
        self.oracle.sent_back(findings);
    }

    fn may_repair(&self) -> bool {
        self.oracle.may_repair()
    }
}

/// The result of reading an answer that is no plan of the dialect.
enum Outlined {
    Made(Imported),
    /// The user declines it.
    Declined,
    /// It is readable, and the caller cannot ask.
    Unconfirmed,
    Unreadable,
}

/// Returns whether an answer has anything that a correction could turn into a plan.
fn has_tasks(answer: &str) -> bool {
    match outline::read(&SourceText::new(answer), false) {
        Ok(_) => true,
        Err(found) => found.iter().any(|found| found.rule.id != outline::rules::NO_TASKS.id),
    }
}

/// Returns the command with the answer in its goal.
fn answered_goal(goal: &str) -> String {
    const MAX_SHOWN: usize = 60;
    let is_short = goal.len() <= MAX_SHOWN && !goal.contains('\n');
    let goal = match is_short {
        true => goal.trim().trim_end_matches('.'),
        false => "GOAL",
    };
    format!(
        "answer it in the goal: planwright plan {}; or put the answer into a file: --context FILE",
        argument(&format!("{goal}. ANSWER"))
    )
}

fn effort_of(error: &PlanningError) -> PlanningCost {
    match error {
        PlanningError::Unusable { effort, .. } | PlanningError::Asks { effort, .. } => *effort,
        PlanningError::AgentQuery(_) => PlanningCost::default(),
    }
}
