//! The events of rawko's SPEC-0010 for a run, one JSON object per line, for plans of every dialect.

use std::collections::{HashMap, HashSet};

use planwright_core::arbiter::current_task;
use planwright_core::plan::{Field, FieldValue, Links, Plan, Readiness, Status, Task};
use planwright_run::runs::state::{RunState, TaskRun, TaskState};
use planwright_run::runs::{RunEvent, RunRecord};
use serde::Serialize;
use serde_json::Number;

use crate::render::terminal::harmless_json;

/// An event of a plan or a step, in the specification's form.
#[derive(Serialize)]
#[serde(tag = "type")]
enum PlanEvent<'e> {
    #[serde(rename = "PLAN_CREATED")]
    PlanCreated { plan: &'e RawkoPlan },
    #[serde(rename = "STEP_STARTED")]
    StepStarted {
        #[serde(rename = "stepIndex")]
        step_index: usize,
    },
    #[serde(rename = "STEP_COMPLETED")]
    StepCompleted {
        #[serde(rename = "stepIndex")]
        step_index: usize,
        output: &'e str,
    },
    #[serde(rename = "STEP_FAILED")]
    StepFailed {
        #[serde(rename = "stepIndex")]
        step_index: usize,
        error: &'e str,
    },
    #[serde(rename = "PLAN_REPLANNED")]
    PlanReplanned {
        #[serde(rename = "newPlan")]
        new_plan: &'e RawkoPlan,
    },
}

/// A plan in the specification's fields. Fields that a dialect does not have are omitted, or derived.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawkoPlan {
    id: String,
    task: String,
    status: String,
    steps: Vec<RawkoStep>,
    current_step_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<String>,
    version: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_plan_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<RawkoMetadata>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RawkoStep {
    index: usize,
    description: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggested_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    affected_files: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance_criteria: Option<Vec<String>>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RawkoMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    complexity: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constraints: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    informed_by_memories: Option<Vec<String>>,
}

impl RawkoPlan {
    /// Converts a plan. `name` replaces a missing id.
    pub(crate) fn new(plan: &Plan, links: &Links, name: &str) -> Self {
        let text = |field: Field| plan.head_str(field).map(str::to_owned);
        let number = |field: Field| plan.head_value(field).and_then(|value| whole(plan, value));
        let steps = plan.tasks().iter().enumerate();
        RawkoPlan {
            id: text(Field::Id).unwrap_or_else(|| name.to_owned()),
            task: plan.title().to_owned(),
            status: status_of(plan, links),
            steps: steps.map(|(ix, task)| RawkoStep::new(plan, links, ix, task)).collect(),
            current_step_index: current_task(plan, links).unwrap_or(plan.tasks().len()),
            created_at: text(Field::CreatedAt),
            updated_at: text(Field::UpdatedAt),
            created_by: text(Field::CreatedBy),
            version: number(Field::Version).unwrap_or_else(|| 1.into()),
            previous_plan_id: text(Field::PreviousPlan),
            metadata: RawkoMetadata::new(plan),
        }
    }
}

impl RawkoStep {
    fn new(plan: &Plan, links: &Links, ix: usize, task: &Task) -> Self {
        let text = |field: Field| plan.task_str(task, field).map(str::to_owned);
        let list = |field: Field| plan.value(task, field).and_then(|value| texts(plan, value));
        let instructions = || {
            let description = plan.task_str(task, Field::Description)?;
            (description != plan.task_title(task)).then(|| description.to_owned())
        };
        RawkoStep {
            index: ix,
            description: plan.task_title(task).to_owned(),
            status: step_status(task.status),
            suggested_agent: text(Field::AgentHint),
            executed_by: text(Field::ExecutedBy),
            started_at: text(Field::StartedAt),
            completed_at: text(Field::CompletedAt),
            output: text(Field::Output),
            error: text(Field::Error),
            affected_files: list(Field::Files),
            depends_on: links.of(ix).iter().map(|edge| edge.to as usize).collect(),
            instructions: text(Field::Instructions).or_else(instructions),
            acceptance_criteria: list(Field::Criteria),
        }
    }
}

impl RawkoMetadata {
    /// Converts a plan's further fields; none if it has none.
    fn new(plan: &Plan) -> Option<Self> {
        let list = |field: Field| plan.head_value(field).and_then(|value| texts(plan, value));
        let complexity = plan.head_value(Field::Complexity);
        let metadata = RawkoMetadata {
            complexity: complexity.and_then(|value| whole(plan, value)),
            tags: list(Field::Tags),
            constraints: list(Field::Constraints),
            informed_by_memories: list(Field::Memories),
        };
        let is_empty = metadata.complexity.is_none()
            && metadata.tags.is_none()
            && metadata.constraints.is_none()
            && metadata.informed_by_memories.is_none();
        (!is_empty).then_some(metadata)
    }
}

fn texts(plan: &Plan, value: FieldValue) -> Option<Vec<String>> {
    let FieldValue::List(list) = value else {
        return None;
    };
    let items = plan.items(list).iter().filter_map(|&item| plan.as_str(item));
    Some(items.map(str::to_owned).collect())
}

fn whole(plan: &Plan, value: FieldValue) -> Option<Number> {
    match value {
        FieldValue::Number(span) => plan.source().slice(span).parse::<u64>().ok().map(Number::from),
        _ => None,
    }
}

/// The specification's words for the status of a plan.
const STATUSES: &[&str] = &["draft", "in_progress", "complete", "failed", "replanning"];

/// Returns the plan's own status if it is one of the specification's, otherwise the one that follows from its tasks.
fn status_of(plan: &Plan, links: &Links) -> String {
    let own = plan.head_str(Field::Status).filter(|own| STATUSES.contains(own));
    own.map_or_else(
        || {
            let progress = Readiness::new(plan, links).progress();
            let word = match () {
                () if progress.done + progress.skipped == progress.total => "complete",
                () if progress.pending == progress.total => "draft",
                () if progress.failed > 0 && progress.running + progress.pending == 0 => "failed",
                () => "in_progress",
            };
            word.to_owned()
        },
        str::to_owned,
    )
}

fn step_status(status: Status) -> &'static str {
    match status {
        Status::Running => "in_progress",
        Status::Done => "complete",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
        Status::Pending | Status::Blocked(_) | Status::Unknown(_) => "pending",
    }
}

/// Converts the records of a run to the specification's events.
pub(super) struct RawkoEvents {
    plan: RawkoPlan,
    /// The index of each task, by its name.
    indices: HashMap<String, usize>,
    /// The stage of each task; all are equal if the plan has none.
    stages: Vec<u32>,
    run_state: RunState,
    /// Tasks that have started and whose end was not reported.
    open: HashSet<String>,
    /// Whether the client received the plan from the process that runs it; none if the events come from the log alone.
    is_known: Option<bool>,
}

impl RawkoEvents {
    pub(super) fn new(plan: &Plan, links: &Links, name: &str) -> Self {
        let names = (0..plan.tasks().len()).map(|ix| (plan.task_name(ix).into_owned(), ix));
        RawkoEvents {
            indices: names.collect(),
            stages: plan.tasks().iter().map(|task| task.stage).collect(),
            plan: RawkoPlan::new(plan, links, name),
            run_state: RunState::default(),
            open: HashSet::new(),
            is_known: None,
        }
    }

    /// Continues with a plan that the client already received, as a replacement of another one, or did not.
    pub(super) fn knowing_plan(self, is_known: bool) -> Self {
        RawkoEvents {
            is_known: Some(is_known),
            ..self
        }
    }

    /// Returns the lines for a record, without line breaks.
    pub(super) fn take(&mut self, record: &RunRecord) -> Vec<String> {
        self.run_state.apply(record);
        let mut lines = Vec::new();
        match &record.event {
            RunEvent::RunStarted(begun) if self.is_known.is_none() && begun.replanned.is_some() => {
                lines.extend(line(&PlanEvent::PlanReplanned { new_plan: &self.plan }));
            }
            RunEvent::RunStarted(_) if self.is_known != Some(true) => {
                lines.extend(line(&PlanEvent::PlanCreated { plan: &self.plan }));
            }
            RunEvent::AttemptStarting(attempt) => {
                for task in self.before(&attempt.task) {
                    lines.extend(self.settle(&task, true));
                }
                // Another attempt continues the started step.
                if self.open.insert(attempt.task.clone()) {
                    let started = self.index(&attempt.task);
                    lines.extend(started.and_then(|step_index| line(&PlanEvent::StepStarted { step_index })));
                }
            }
            // The result of a task is certain when the plan file has it: before that it may be retried, land, or be reviewed.
            RunEvent::PlanWritten(projected) => {
                for task in &projected.tasks {
                    lines.extend(self.settle(task, false));
                }
            }
            RunEvent::RunEnded(_) => {
                for task in self.open_where(|_| true) {
                    lines.extend(self.settle(&task, true));
                }
            }
            _ => {}
        }
        lines
    }

    fn index(&self, task: &str) -> Option<usize> {
        self.indices.get(task).copied()
    }

    /// Returns the started tasks that have certainly ended when another one starts: its dependencies, earlier stages, and all tasks if they
    /// run one after another. Clients expect steps in that order.
    fn before(&self, task: &str) -> Vec<String> {
        let Some(begins) = self.index(task) else {
            return Vec::new();
        };
        let is_one_by_one = self.run_state.begun.as_ref().is_some_and(|begun| begun.slots == 1);
        let depends_on = self.plan.steps.get(begins).map_or(&[][..], |step| &step.depends_on);
        let stage = |ix: usize| self.stages.get(ix);
        self.open_where(|ix| ix != begins && (is_one_by_one || depends_on.contains(&ix) || stage(ix) < stage(begins)))
    }

    /// Returns tasks whose end was not reported, in the order of the plan.
    fn open_where(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<String> {
        let known = self.open.iter().filter_map(|task| Some((self.index(task)?, task)));
        let mut wanted: Vec<(usize, &String)> = known.filter(|(ix, _)| is_wanted(*ix)).collect();
        wanted.sort_unstable();
        wanted.into_iter().map(|(_, task)| task.clone()).collect()
    }

    /// Reports the result of a task, if it is certain.
    fn settle(&mut self, task: &str, is_over: bool) -> Option<String> {
        let step_index = self.index(task).filter(|_| self.open.contains(task))?;
        let known = self.run_state.task(task)?;
        let event = match known.state {
            TaskState::Done if is_over || has_landed(known) => {
                let output = known.last().and_then(|attempt| attempt.report.output.as_deref());
                line(&PlanEvent::StepCompleted {
                    step_index,
                    output: output.unwrap_or_default(),
                })
            }
            TaskState::Failed | TaskState::Stopped => line(&PlanEvent::StepFailed {
                step_index,
                error: known.why().unwrap_or("failed"),
            }),
            _ => None,
        };
        if event.is_some() {
            self.open.remove(task);
        }
        event
    }
}

/// Returns whether a task's work has landed: a task with its own branch is done after its landing.
fn has_landed(task: &TaskRun) -> bool {
    task.last()
        .is_none_or(|attempt| attempt.checkout.branch.is_none() || attempt.landed().is_some())
}

/// Returns the line for a new version of a plan.
pub(super) fn plan_replanned(plan: &Plan, links: &Links, name: &str) -> Option<String> {
    let new_plan = &RawkoPlan::new(plan, links, name);
    line(&PlanEvent::PlanReplanned { new_plan })
}

/// Returns an event as a line without terminal control sequences.
fn line(event: &PlanEvent<'_>) -> Option<String> {
    let json = serde_json::to_string(event).ok()?;
    Some(harmless_json(&json).into_owned())
}

#[cfg(test)]
mod tests {
    use planwright_core::dialect::{Choice, DiskFacts};
    use planwright_core::inspect::{LinkedPlan, inspect};
    use planwright_core::text::SourceText;
    use planwright_run::runs::{
        AttemptEndRecord, AttemptRecord, LandingEndRecord, Outcome, PlanWriteRecord, RetryWaitRecord, RunEndRecord,
        VerificationRecord,
    };

    use super::*;

    const PLAN: &str = "id: plan-x\ntask: Ship it\nstatus: draft\nversion: 2\npreviousPlanId: plan-w\ncurrentStepIndex: 0\n\
        createdAt: \"2026-11-15T10:00:00Z\"\nupdatedAt: \"2026-11-15T10:00:00Z\"\ncreatedBy: planner\n\
        steps:\n  - index: 0\n    description: a\n    status: pending\n    suggestedAgent: dev\n    acceptanceCriteria: [works]\n  \
        - index: 1\n    description: b\n    status: pending\n    dependsOn: [0]\n    instructions: slowly\n\
        metadata:\n  complexity: 3\n  tags: [x]\n";

    fn plan(text: &str) -> LinkedPlan {
        let facts = DiskFacts::default();
        let inspection = inspect(&SourceText::new(text), &Choice::by_content(&facts));
        inspection.plan.expect("a plan")
    }

    fn lines_of(events: Vec<RunEvent>) -> Vec<String> {
        let linked = plan(PLAN);
        let mut rawko = RawkoEvents::new(&linked.plan, &linked.links, "x");
        let records = (1..).zip(events).map(|(seq, event)| RunRecord {
            seq,
            time: "2026-11-16T08:00:00.000Z".to_owned(),
            event,
        });
        records.flat_map(|record| rawko.take(&record)).collect()
    }

    fn starting(task: &str, attempt: u32, branch: Option<&str>) -> RunEvent {
        RunEvent::AttemptStarting(AttemptRecord {
            task: task.to_owned(),
            attempt,
            agent: "dev".to_owned(),
            branch: branch.map(str::to_owned),
            ..AttemptRecord::default()
        })
    }

    fn finished(task: &str, attempt: u32, outcome: &str) -> RunEvent {
        RunEvent::AttemptEnded(AttemptEndRecord {
            task: task.to_owned(),
            attempt,
            outcome: Outcome::of(outcome),
            why: (outcome != "done").then(|| format!("it {outcome}")),
            output: (outcome == "done").then(|| "made\u{1b}[2J".to_owned()),
            ..AttemptEndRecord::default()
        })
    }

    fn verified(task: &str) -> RunEvent {
        RunEvent::Verified(VerificationRecord {
            task: task.to_owned(),
            attempt: 1,
            passed: true,
            ..VerificationRecord::default()
        })
    }

    fn projected(task: &str) -> RunEvent {
        RunEvent::PlanWritten(PlanWriteRecord {
            tasks: vec![task.to_owned()],
            change: None,
        })
    }

    #[test]
    fn a_plan_has_the_fields_of_the_specification() {
        let created = r#"{"type":"PLAN_CREATED","plan":{"id":"plan-x","task":"Ship it","status":"draft","steps":[{"index":0,"description":"a","status":"pending","suggestedAgent":"dev","acceptanceCriteria":["works"]},{"index":1,"description":"b","status":"pending","dependsOn":[0],"instructions":"slowly"}],"currentStepIndex":0,"createdAt":"2026-11-15T10:00:00Z","updatedAt":"2026-11-15T10:00:00Z","createdBy":"planner","version":2,"previousPlanId":"plan-w","metadata":{"complexity":3,"tags":["x"]}}}"#;
        assert_eq!(lines_of(vec![RunEvent::RunStarted(Box::default())]), [created]);
        let linked = plan(PLAN);
        let replanned = plan_replanned(&linked.plan, &linked.links, "x").expect("a line");
        let new_plan = created
            .strip_prefix(r#"{"type":"PLAN_CREATED","plan":"#)
            .expect("a plan");
        assert_eq!(replanned, format!(r#"{{"type":"PLAN_REPLANNED","newPlan":{new_plan}"#));
    }

    #[test]
    fn other_dialects_use_the_same_events() {
        let linked = plan(
            r#"{"goal": "g", "tasks": [{"id": "t1", "description": "d", "status": "done"},
              {"id": "t2", "description": "e", "depends_on": ["t1"], "status": "running"}]}"#,
        );
        let plan = RawkoPlan::new(&linked.plan, &linked.links, "name");
        assert_eq!(
            serde_json::to_string(&plan).expect("JSON"),
            r#"{"id":"name","task":"g","status":"in_progress","steps":[{"index":0,"description":"d","status":"complete"},{"index":1,"description":"e","status":"in_progress","dependsOn":[0]}],"currentStepIndex":1,"version":1}"#
        );
    }

    #[test]
    fn steps_are_reported_once_they_are_final() {
        let started = r#"{"type":"STEP_STARTED","stepIndex":0}"#;
        let completed = r#"{"type":"STEP_COMPLETED","stepIndex":0,"output":"made\u001b[2J"}"#;
        let failed = r#"{"type":"STEP_FAILED","stepIndex":0,"error":"it failed"}"#;
        let resting = RunEvent::Resting(RetryWaitRecord {
            task: "0".to_owned(),
            attempt: 1,
            ..RetryWaitRecord::default()
        });
        let landed = RunEvent::LandingEnded(LandingEndRecord {
            task: "0".to_owned(),
            attempt: 1,
            branch: "b".to_owned(),
            passed: true,
            ..LandingEndRecord::default()
        });
        let ended = || RunEvent::RunEnded(RunEndRecord::default());
        let (first, branched) = (|| starting("0", 1, None), || starting("0", 1, Some("b")));
        let done = || finished("0", 1, "done");
        let cases: Vec<(Vec<RunEvent>, Vec<&str>)> = vec![
            (vec![first(), projected("0")], vec![started]),
            (
                vec![first(), done(), verified("0"), projected("0"), ended()],
                vec![started, completed],
            ),
            (vec![first(), done(), verified("0"), ended()], vec![started, completed]),
            (
                vec![first(), finished("0", 1, "failed"), projected("0"), ended()],
                vec![started, failed],
            ),
            // A second attempt is the same step.
            (
                vec![
                    first(),
                    finished("0", 1, "failed"),
                    resting,
                    projected("0"),
                    starting("0", 2, None),
                    finished("0", 2, "failed"),
                    projected("0"),
                ],
                vec![started, failed],
            ),
            // A started step is reported after those that it waited for.
            (
                vec![first(), done(), verified("0"), starting("1", 1, None), projected("0")],
                vec![started, completed, r#"{"type":"STEP_STARTED","stepIndex":1}"#],
            ),
            // Work on a branch of its own is not done yet.
            (
                vec![
                    branched(),
                    done(),
                    verified("0"),
                    projected("0"),
                    landed,
                    projected("0"),
                ],
                vec![started, completed],
            ),
            (vec![first(), finished("0", 1, "interrupted"), ended()], vec![started]),
            (vec![starting("gone", 1, None), projected("gone"), ended()], vec![]),
        ];
        for (events, expected) in cases {
            assert_eq!(lines_of(events.clone()), expected, "{events:?}");
        }
    }
}
