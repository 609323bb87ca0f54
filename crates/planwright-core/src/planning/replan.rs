//! Makes a new version of a plan from a planner's answer, with done tasks frozen. Makes the list of tasks, not the text.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::answer::{AnswerCandidate, candidates};
use super::draft::{Unusable, hopeless, n_tasks_of};
use super::rules::{CHANGES_DONE, UNCLEAR_TASK};
use crate::change::rewrite::{RewrittenTask, TaskOrigin};
use crate::convert::{PlanningRequest, adopt, draft_of, owned, tasks_of, with_more_tasks};
use crate::diagnostic::Diagnostic;
use crate::dialect::draft::{DraftState, DraftTask, PlanDraft, is_void};
use crate::dialect::id_source::IdSource;
use crate::dialect::{Dialect, name_of};
use crate::document::patch::PlainValue;
use crate::document::{json, write};
use crate::inspect::{Inspection, LinkedPlan, inspect_as};
use crate::plan::lifecycle::TaskOrder;
use crate::plan::{Field, Plan, TaskName};
use crate::text::{SourceText, visible};

/// The tasks of a new version.
#[derive(Clone, Debug)]
pub struct NewVersion {
    /// The intended list.
    pub slots: Vec<RewrittenTask>,
    /// The differences.
    pub difference: PlanDifference,
    /// The planner's reason.
    pub reasoning: String,
    /// The planner's own summary of its changes.
    pub changes: Option<String>,
}

/// The differences between two plans, in terms of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanDifference {
    /// The new tasks.
    pub added: Vec<NamedTask>,
    /// The removed tasks.
    pub removed: Vec<NamedTask>,
    /// The tasks with changed fields, and those fields, by the dialect's own names.
    pub changed: Vec<(String, Vec<&'static str>)>,
    /// The tasks with other dependencies than before.
    pub rewired: Vec<String>,
    /// Whether remaining tasks are in another order.
    pub is_reordered: bool,
}

/// A new or removed task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedTask {
    /// Its name in its plan.
    pub task: String,
    /// Its title.
    pub title: String,
}

impl PlanDifference {
    /// Returns the names of the removed tasks.
    pub fn removed_names(&self) -> impl Iterator<Item = &str> {
        self.removed.iter().map(|removed| removed.task.as_str())
    }

    /// Returns whether there are no differences.
    pub fn is_empty(&self) -> bool {
        *self == PlanDifference::default()
    }
}

/// Creates the tasks of a new version from an answer.
pub fn new_version(
    old: &Inspection,
    dialect: &'static dyn Dialect,
    answer: &str,
    id_source: &mut IdSource<'_>,
) -> Result<NewVersion, Unusable> {
    if let Some(unusable) = hopeless(answer) {
        return Err(unusable);
    }
    let mut best: Option<Unusable> = None;
    for candidate in candidates(answer) {
        match version_of(old, dialect, &candidate, id_source) {
            Ok(version) => return Ok(version),
            Err(findings) => {
                let is_meant = n_tasks_of(&candidate.text, dialect) > 0;
                let is_better = best.as_ref().is_none_or(|best| findings.len() < best.findings.len());
                if is_better {
                    best = Some(Unusable {
                        text: candidate.text,
                        findings,
                        reasoning: candidate.reasoning,
                    });
                }
                // The last candidate counts: no earlier one replaces it.
                if is_meant {
                    break;
                }
            }
        }
    }
    Err(best.unwrap_or_else(|| Unusable {
        text: answer.to_owned(),
        findings: Vec::new(),
        reasoning: String::new(),
    }))
}

/// Returns the differences between two plans of a dialect; none if they cannot be compared.
pub fn difference(before: &Inspection, after: &Inspection, dialect: &'static dyn Dialect) -> Option<PlanDifference> {
    with_comparison(before, after, dialect, |comparison| {
        let (_, difference) = comparison.slots(tasks_of(after)?).ok()?;
        Some(difference)
    })
}

/// Returns the tasks that are in both of two plans of a dialect, each by its indexes in the older and in the newer one.
pub fn tasks_in_both(before: &Inspection, after: &Inspection, dialect: &'static dyn Dialect) -> Vec<(usize, usize)> {
    let old_of = with_comparison(before, after, dialect, |comparison| comparison.matched().ok());
    let pairs = old_of.unwrap_or_default().into_iter().enumerate();
    pairs.filter_map(|(new, old)| Some((old?, new))).collect()
}

fn with_comparison<T>(
    before: &Inspection,
    after: &Inspection,
    dialect: &'static dyn Dialect,
    compare: impl FnOnce(&Comparison<'_>) -> Option<T>,
) -> Option<T> {
    let (was, is) = (draft_of(before)?, draft_of(after)?);
    compare(&Comparison {
        dialect,
        before: before.plan.as_ref()?,
        after: after.plan.as_ref()?,
        was: &was,
        is: &is,
        freezes: false,
    })
}

/// Returns a version of a plan with proposed tasks added. Each new task is a JSON object in the fields of a planner of the dialect.
pub fn grown(
    old: &Inspection,
    dialect: &'static dyn Dialect,
    tasks: &[String],
    id_source: &mut IdSource<'_>,
) -> Result<NewVersion, Unusable> {
    let text = with_more_tasks(old, tasks);
    let unusable = |findings: Vec<Diagnostic>| Unusable {
        text: tasks.join("\n"),
        findings,
        reasoning: String::new(),
    };
    let text = text.ok_or_else(|| {
        let message = "such plans take no proposals";
        unusable(vec![Diagnostic::of_file(&UNCLEAR_TASK, message)])
    })?;
    let candidate = AnswerCandidate {
        text,
        reasoning: String::new(),
        changes: None,
    };
    version_of(old, dialect, &candidate, id_source).map_err(unusable)
}

fn version_of(
    old: &Inspection,
    dialect: &'static dyn Dialect,
    candidate: &AnswerCandidate,
    id_source: &mut IdSource<'_>,
) -> Result<NewVersion, Vec<Diagnostic>> {
    let goal = old.plan.as_ref().and_then(|linked| linked.plan.head_str(Field::Goal));
    let wish = PlanningRequest {
        goal: goal.unwrap_or("a plan"),
        keeps_ids: true,
        ..PlanningRequest::default()
    };
    let older = in_older_form(old, dialect, &candidate.text);
    let text = older.as_deref().unwrap_or(&candidate.text);
    let stored = adopt(text, dialect, &wish, id_source)?;
    let given = inspect_as(&SourceText::new(text), dialect);
    let stored = inspect_as(&SourceText::new(stored.text), dialect);
    let (Some(before), Some(after), Some(was), Some(is), Some(members)) = (
        old.plan.as_ref(),
        given.plan.as_ref(),
        draft_of(old),
        draft_of(&given),
        tasks_of(&stored),
    ) else {
        return Err(vec![Diagnostic::of_file(
            &UNCLEAR_TASK,
            "the tasks cannot be told apart",
        )]);
    };
    let comparison = Comparison {
        dialect,
        before,
        after,
        was: &was,
        is: &is,
        freezes: true,
    };
    let (slots, difference) = comparison.slots(members)?;
    Ok(NewVersion {
        slots,
        difference,
        reasoning: candidate.reasoning.clone(),
        changes: candidate.changes.clone(),
    })
}

/// Returns a planner's plan in the form of the plan that it replaces, if that is an older form of its dialect.
fn in_older_form(old: &Inspection, dialect: &'static dyn Dialect, text: &str) -> Option<String> {
    let form = old.plan.as_ref()?.plan.form;
    let parsed = json::parse(&SourceText::new(text));
    let PlainValue::Object(mut members) = owned(parsed.document.root()?, &mut 0) else {
        return None;
    };
    let is_older = dialect.writer()?.in_older_form(&mut members, form);
    (is_older && parsed.diagnostics.is_empty()).then(|| write::json(&PlainValue::Object(members)))
}

struct Comparison<'c> {
    dialect: &'static dyn Dialect,
    before: &'c LinkedPlan,
    after: &'c LinkedPlan,
    was: &'c PlanDraft,
    is: &'c PlanDraft,
    /// Whether done tasks must stay unchanged.
    freezes: bool,
}

impl Comparison<'_> {
    fn slots(
        &self,
        members: Vec<Vec<(String, PlainValue)>>,
    ) -> Result<(Vec<RewrittenTask>, PlanDifference), Vec<Diagnostic>> {
        let old_of = self.matched()?;
        let mut findings = match self.freezes {
            true => self.dropped(&old_of),
            false => Vec::new(),
        };
        let mut difference = PlanDifference::default();
        let mut slots = Vec::with_capacity(members.len());
        let new_of: HashMap<usize, usize> = old_of
            .iter()
            .enumerate()
            .filter_map(|(new, old)| Some(((*old)?, new)))
            .collect();
        for (new, members) in members.into_iter().enumerate() {
            let Some(given) = self.is.tasks.get(new) else {
                continue;
            };
            slots.push(match old_of.get(new).copied().flatten() {
                None => {
                    difference.added.push(NamedTask {
                        task: self.after.plan.task_name(new).into_owned(),
                        title: self.title(&self.after.plan, new),
                    });
                    RewrittenTask {
                        origin: TaskOrigin::New(self.with_priority(members, given)),
                        on: given.dependencies.iter().map(|&on| on as usize).collect(),
                    }
                }
                Some(task_ix) => {
                    let (kept, finding) = self.kept(task_ix, given, &new_of, &mut difference);
                    findings.extend(finding);
                    kept
                }
            });
        }
        if !findings.is_empty() {
            return Err(findings);
        }
        self.mint_ids(&mut slots);
        let kept: Vec<usize> = old_of.iter().copied().flatten().collect();
        difference.is_reordered = !kept.is_sorted();
        let is_kept: BTreeSet<usize> = kept.into_iter().collect();
        let gone = (0..self.was.tasks.len()).filter(|old| !is_kept.contains(old));
        let plan = &self.before.plan;
        let removed = gone.map(|old| NamedTask {
            task: plan.task_name(old).into_owned(),
            title: self.title(plan, old),
        });
        difference.removed = removed.collect();
        Ok((slots, difference))
    }

    /// Returns an existing task with its changes. The finding is that it is done and must not change.
    fn kept(
        &self,
        task_ix: usize,
        given: &DraftTask,
        new_of: &HashMap<usize, usize>,
        difference: &mut PlanDifference,
    ) -> (RewrittenTask, Option<Diagnostic>) {
        let known = &self.was.tasks[task_ix];
        let mut fields = self.changes(known, given);
        fields.extend(self.other_priority(known, given));
        let old_on = known.dependencies.iter().map(|&on| new_of.get(&(on as usize)).copied());
        let loses_one = old_on.clone().any(|on| on.is_none());
        let was_on: BTreeSet<usize> = old_on.flatten().collect();
        let is_frozen = self.freezes && known.state == DraftState::Done;
        let mut on: Vec<usize> = given.dependencies.iter().map(|&on| on as usize).collect();
        // If the planner omits the dependencies of a done task, keep the old ones.
        if is_frozen && on.is_empty() {
            on = was_on.iter().copied().collect();
        }
        let is_rewired = loses_one || was_on != on.iter().copied().collect();
        let name = self.before.plan.task_name(task_ix).into_owned();
        let is_broken = is_frozen && (is_rewired || !fields.is_empty());
        let finding = is_broken.then(|| self.changes_done(&name, &fields));
        if is_rewired {
            difference.rewired.push(name.clone());
        }
        if !fields.is_empty() {
            let keys = fields.iter().filter_map(|(field, _)| self.key(*field));
            difference.changed.push((name, keys.collect()));
        }
        let origin = TaskOrigin::Kept { task_ix, fields };
        (RewrittenTask { origin, on }, finding)
    }

    /// Gives new tasks ids by the dialect's rule, if the plan's ids follow it and theirs do not. The id of a removed task is not used
    /// again: records of the removed task must not apply to a new one.
    fn mint_ids(&self, slots: &mut [RewrittenTask]) {
        let rule = self
            .dialect
            .edits()
            .and_then(|edits| edits.fresh_id(&self.before.plan, "", None))
            .unwrap_or_default();
        let prefix = rule.trim_end_matches(|c: char| c.is_ascii_digit());
        let Some(key) = self.key(Field::Id).filter(|_| !prefix.is_empty()) else {
            return;
        };
        let width = rule.len() - prefix.len();
        let number = |id: &str| {
            let digits = id
                .strip_prefix(prefix)?
                .trim_end_matches(|c: char| c.is_ascii_lowercase());
            digits.parse::<u64>().ok()
        };
        let plan = &self.before.plan;
        let mut taken: BTreeSet<String> = (0..plan.tasks().len())
            .map(|task_ix| plan.task_name(task_ix).into_owned())
            .collect();
        let follows_rule = taken.is_empty() || taken.iter().any(|id| number(id).is_some());
        let mut last = taken.iter().filter_map(|id| number(id)).max().unwrap_or(0);
        let mut odd = Vec::new();
        for (ix, slot) in slots.iter().enumerate() {
            let TaskOrigin::New(members) = &slot.origin else {
                continue;
            };
            let id = members.iter().find(|(own, _)| own == key);
            match id {
                Some((_, PlainValue::String(id))) if (number(id).is_some() || !follows_rule) && !taken.contains(id) => {
                    last = last.max(number(id).unwrap_or(0));
                    taken.insert(id.clone());
                }
                _ => odd.push(ix),
            }
        }
        for ix in odd {
            let Some(TaskOrigin::New(members)) = slots.get_mut(ix).map(|slot| &mut slot.origin) else {
                continue;
            };
            last = last.saturating_add(1);
            let id = PlainValue::String(format!("{prefix}{last:0width$}"));
            match members.iter_mut().find(|(own, _)| own == key) {
                Some((_, own)) => *own = id,
                None => members.insert(0, (key.to_owned(), id)),
            }
        }
    }

    /// Finds the old task of each task in the new version.
    fn matched(&self) -> Result<Vec<Option<usize>>, Vec<Diagnostic>> {
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for task_ix in 0..self.before.plan.tasks().len() {
            places
                .entry(key_of(&self.before.plan, task_ix))
                .or_default()
                .push(task_ix);
        }
        let mut findings = Vec::new();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        let mut matched = Vec::new();
        for task_ix in 0..self.after.plan.tasks().len() {
            let key = key_of(&self.after.plan, task_ix);
            let n_taken = taken.entry(key.clone()).or_default();
            let known = places.get(&key).map_or(&[][..], Vec::as_slice);
            // Of several tasks with the same words, the first matches the first.
            matched.push(known.get(*n_taken).copied());
            *n_taken += 1;
            let is_done = |task_ix: &usize| self.was.tasks[*task_ix].state == DraftState::Done;
            if self.freezes
                && known.len() > 1
                && known.iter().any(is_done)
                && !known.iter().all(is_done)
                && *n_taken == 1
            {
                let message = format!(
                    "several tasks of the plan are called `{}`, and some of them are done",
                    visible(&self.title(&self.after.plan, task_ix))
                );
                findings.push(Diagnostic::of_file(&UNCLEAR_TASK, message));
            }
        }
        if findings.is_empty() {
            Ok(matched)
        } else {
            Err(findings)
        }
    }

    fn dropped(&self, old_of: &[Option<usize>]) -> Vec<Diagnostic> {
        let is_kept: BTreeSet<usize> = old_of.iter().copied().flatten().collect();
        let tasks = self.was.tasks.iter().enumerate();
        let dropped = tasks.filter(|(task_ix, task)| task.state == DraftState::Done && !is_kept.contains(task_ix));
        let finding = |(task_ix, _): (usize, &DraftTask)| {
            let name = self.before.plan.task_name(task_ix);
            let title = self.title(&self.before.plan, task_ix);
            let message = format!(
                "`{}` ({}) is done, and is missing in the new version",
                visible(&name),
                visible(&title)
            );
            Diagnostic::of_file(&CHANGES_DONE, message).with_help("restore it unchanged")
        };
        dropped.map(finding).collect()
    }

    fn changes_done(&self, name: &str, fields: &[(Field, PlainValue)]) -> Diagnostic {
        let keys: Vec<String> = fields
            .iter()
            .filter_map(|(field, _)| self.key(*field))
            .map(|key| format!("`{key}`"))
            .collect();
        let what = if keys.is_empty() {
            "its dependencies".to_owned()
        } else {
            keys.join(", ")
        };
        let message = format!("`{}` is done, and the new version changes {what}", visible(name));
        Diagnostic::of_file(&CHANGES_DONE, message).with_help("restore it unchanged")
    }

    /// Returns the changed fields of a task. A missing field is unchanged.
    fn changes(&self, known: &DraftTask, given: &DraftTask) -> Vec<(Field, PlainValue)> {
        let of_runs = self.dialect.writer().map_or(&[][..], |writer| writer.planned().task);
        let is_content = |field: Field| !of_runs.contains(&field) && !matches!(field, Field::Id | Field::Position);
        let differs = |field: Field, value: &PlainValue| match known.fields.get(field) {
            Some(own) => !is_same(field, own, value),
            None => !is_void(field, value),
        };
        let given = given.fields.iter().filter(|given| is_content(given.field));
        let given = given.filter(|given| differs(given.field, &given.value));
        given.map(|given| (given.field, given.value.clone())).collect()
    }

    /// Returns the changed priority of a task, if tasks are ordered by priority.
    fn other_priority(&self, known: &DraftTask, given: &DraftTask) -> Option<(Field, PlainValue)> {
        let goes_by_it = self.is.order == TaskOrder::Priority && self.key(Field::Priority).is_some();
        (goes_by_it && known.priority != given.priority)
            .then(|| (Field::Priority, PlainValue::Number(given.priority.0.to_string())))
    }

    /// Returns the members of a new task with the planner's priority.
    fn with_priority(&self, mut members: Vec<(String, PlainValue)>, given: &DraftTask) -> Vec<(String, PlainValue)> {
        let key = self
            .key(Field::Priority)
            .filter(|_| self.is.order == TaskOrder::Priority);
        if let Some((_, value)) = members.iter_mut().find(|(own, _)| Some(own.as_str()) == key) {
            *value = PlainValue::Number(given.priority.0.to_string());
        }
        members
    }

    fn key(&self, field: Field) -> Option<&'static str> {
        name_of(self.dialect, field)
    }

    fn title(&self, plan: &Plan, task_ix: usize) -> String {
        plan.tasks()
            .get(task_ix)
            .map_or_else(String::new, |task| plan.task_title(task).to_owned())
    }
}

/// Returns whether two values are equal. A task type may be in any notation.
fn is_same(field: Field, one: &PlainValue, other: &PlainValue) -> bool {
    match (field, one, other) {
        (Field::TaskKind, PlainValue::String(one), PlainValue::String(other)) => one.eq_ignore_ascii_case(other),
        _ => one == other,
    }
}

/// Returns the key that identifies a task: its id, otherwise its words.
fn key_of(plan: &Plan, task_ix: usize) -> String {
    let Some(task) = plan.tasks().get(task_ix) else {
        return String::new();
    };
    let id = match task.name {
        TaskName::Id(id) => Some(plan.str(id)),
        TaskName::Words(_) | TaskName::Number(_) | TaskName::Missing => plan.task_str(task, Field::Id),
    };
    match id {
        Some(id) => format!("id {id}"),
        None => {
            let words = plan
                .task_str(task, Field::Description)
                .unwrap_or_else(|| plan.task_title(task));
            format!("words {}", words.split_whitespace().collect::<Vec<_>>().join(" "))
        }
    }
}
