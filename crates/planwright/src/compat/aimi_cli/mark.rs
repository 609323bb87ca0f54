//! Commands that change the states of stories: by the table of transitions, with lossless patches.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use planwright_core::dialect::{Choice, DIALECTS, DiskFacts};
use planwright_core::document::patch::{self, MemberPosition, Patch, PlainValue as NewValue};
use planwright_core::document::route::Route;
use planwright_core::document::{NodeKind, NodeRef};
use planwright_core::inspect::inspect;
use planwright_core::plan::{State, Verb};
use planwright_core::text::SourceText;
use planwright_run::claims::Claims;
use planwright_run::clock;
use planwright_run::config::{self, ConfigInputs};
use planwright_run::gate::{Gate, GatePolicy, Gates};
use planwright_run::journal::History;
use planwright_run::workspace::root_of;

use super::super::write::{NewText, NotChanged, change_plan};
use super::jq;
use super::tasks::{AimiStory, Schema, Tasks, unknown_version};
use super::{Refused, refused};

/// The new state of a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Work on it has started.
    InProgress,
    /// It is done.
    Complete,
    /// Tried without success.
    Failed,
    /// Skipped.
    Skipped,
}

impl Mark {
    /// Returns the verbs from a state to this one. If the specification has no direct transition, it passes through in_progress. A story to
    /// skip passes through pending first.
    fn verbs(self, from: State) -> &'static [Verb] {
        match (self, from) {
            (Mark::InProgress, State::Running) => &[],
            (Mark::InProgress, State::Failed) => &[Verb::Retry],
            (Mark::InProgress, _) => &[Verb::Start],
            (Mark::Complete, State::Running) => &[Verb::Done],
            (Mark::Complete, State::Failed) => &[Verb::Retry, Verb::Done],
            (Mark::Complete, _) => &[Verb::Start, Verb::Done],
            (Mark::Failed, State::Running) => &[Verb::Fail],
            (Mark::Failed, State::Failed) => &[Verb::Retry, Verb::Fail],
            (Mark::Failed, _) => &[Verb::Start, Verb::Fail],
            (Mark::Skipped, State::Running | State::Failed) => &[Verb::Reset, Verb::Skip],
            (Mark::Skipped, _) => &[Verb::Skip],
        }
    }

    /// Returns the fields to write.
    fn fields(self, schema: Schema, notes: &str) -> Vec<(&'static str, NewValue)> {
        let text = |text: &str| NewValue::String(text.to_owned());
        match (schema, self) {
            (Schema::V3, Mark::InProgress) => vec![("status", text("in_progress"))],
            (Schema::V3, Mark::Complete) => vec![("status", text("completed"))],
            (Schema::V3, Mark::Failed) => vec![("status", text("failed")), ("notes", text(notes))],
            (Schema::V3, Mark::Skipped) => vec![("status", text("skipped"))],
            (Schema::V2, Mark::InProgress) => Vec::new(),
            (Schema::V2, Mark::Complete) => vec![("passes", NewValue::Bool(true))],
            (Schema::V2, Mark::Failed) => vec![("notes", text(notes))],
            (Schema::V2, Mark::Skipped) => vec![("skipped", NewValue::Bool(true))],
        }
    }
}

/// A tasks file to change, for a command.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) path: &'a Path,
    /// Its path for users.
    pub(super) shown: &'a str,
    pub(super) command: &'a str,
}

impl Target<'_> {
    /// Changes the file and returns its new content.
    fn change(self, mut prepare: impl FnMut(&SourceText, &Tasks) -> Result<Marks, Refused>) -> Result<Tasks, Refused> {
        let prepare = |source: &SourceText, history: &History| {
            let tasks = Tasks::read(source)?;
            let mut marks = prepare(source, &tasks)?;
            if let Some((id, mark)) = marks.gated.take() {
                marks.passed_gates = gates(self.path, source, history, &id, mark)?;
            }
            if marks.patches.is_empty() {
                return Ok(None);
            }
            let unsafe_place = |refusal: patch::PatchRefusal| {
                let place = refusal.span().map_or_else(String::new, |span| {
                    let position = source.line_index().position(span.start);
                    format!(":{}:{}", position.line, position.column)
                });
                refused(
                    format!("{}{place} cannot be changed safely: {refusal}", self.shown),
                    "Fix that place by hand; planwright check shows it.",
                )
            };
            let text = patch::patch(tasks.document(), &marks.patches).map_err(unsafe_place)?;
            Ok(Some(NewText {
                text,
                tasks: marks.stories,
                note: marks.note,
                passed_gates: marks.passed_gates,
            }))
        };
        let source = change_plan(self.path, self.command, prepare).map_err(|not_changed| match not_changed {
            NotChanged::Refused(refused) => refused,
            NotChanged::Failed { message, help } => refused(message, help),
        })?;
        Tasks::read(&source)
    }
}

/// The changes of stories by a command.
#[derive(Default)]
struct Marks {
    patches: Vec<Patch>,
    /// Their ids, for the history.
    stories: Vec<String>,
    /// Their note.
    note: Option<String>,
    /// The story whose gates are checked, and its new state.
    gated: Option<(String, Mark)>,
    passed_gates: Vec<String>,
}

/// Marks a story and returns the changed tasks. In v2.x an unknown id is no error, as in the original.
pub(super) fn mark(target: Target<'_>, mark: Mark, id: &str, notes: &str) -> Result<Tasks, Refused> {
    target.change(|source, tasks| {
        let Some((position, story)) = only_story(target, tasks, id)? else {
            return match tasks.schema {
                Schema::V3 => Err(not_found(target, id)),
                Schema::V2 => Ok(Marks::default()),
            };
        };
        refuse_illegal(source, tasks, position, mark)?;
        let mut patches = Vec::new();
        // Already in progress in the file.
        if mark != Mark::InProgress || !story.has_status("in_progress") {
            for (key, value) in mark.fields(tasks.schema, notes) {
                set(story, position, key, value, &mut patches);
            }
        }
        Ok(Marks {
            patches,
            stories: vec![id.to_owned()],
            note: Some(notes.to_owned()).filter(|notes| mark == Mark::Failed && !notes.is_empty()),
            gated: Some((id.to_owned(), mark)),
            ..Marks::default()
        })
    })
}

fn not_found(target: Target<'_>, id: &str) -> Refused {
    refused(format!("Story {id} not found in {}", target.shown), "")
}

/// Returns the story with an id; refuses several.
fn only_story<'t>(
    target: Target<'_>,
    tasks: &'t Tasks,
    id: &'t str,
) -> Result<Option<(usize, AimiStory<'t>)>, Refused> {
    let mut stories = tasks.with_id(id);
    let found = stories.next();
    match stories.next() {
        Some(_) => Err(ambiguous(target, id)),
        None => Ok(found),
    }
}

fn ambiguous(target: Target<'_>, id: &str) -> Refused {
    refused(
        format!("Several stories have the id {id} in {}", target.shown),
        format!("Give each story its own id: \"{id}\" is used twice."),
    )
}

/// Checks the gates of a story. The original checks none: closed ones are recorded and passed, unless the configuration forbids that.
fn gates(path: &Path, source: &SourceText, history: &History, id: &str, mark: Mark) -> Result<Vec<String>, Refused> {
    if !matches!(mark, Mark::InProgress | Mark::Complete) {
        return Ok(Vec::new());
    }
    let configuration = config::load(&root_of(path), &ConfigInputs::of_process());
    if configuration.has_errors() {
        return Err(refused(
            "The configuration has errors, so what completes a story is not known",
            "Run `planwright config`, which shows them.",
        ));
    }
    let config = configuration.config;
    let policy = GatePolicy::of(&config);
    if policy.verification_required && mark == Mark::Complete {
        return Err(refused(
            format!("Story {id} is not verified, and verify.required asks for that"),
            format!("Run `planwright start {id}` and `planwright done {id}`, which verifies it first."),
        ));
    }
    let inspection = inspect(source, &as_aimi(&DiskFacts::default()));
    let Some(plan) = inspection.plan.as_ref().map(|linked| &linked.plan) else {
        return Ok(Vec::new());
    };
    let Some(task_ix) = plan.find_task(id) else {
        return Ok(Vec::new());
    };
    let claims = Claims::of(history);
    let mut passed: Vec<String> = Vec::new();
    for closed in Gates::new(&inspection, history, &claims, policy).of_task(task_ix, &clock::now()) {
        let is_held = match closed.gate {
            Gate::Approval => policy.approval_required,
            Gate::Syntax | Gate::Source | Gate::Proof => true,
            Gate::Dependencies => config.compat_strict,
            Gate::Ownership => false,
        };
        if is_held {
            return Err(refused(format!("Story {id}: {}", closed.message), closed.help));
        }
        let gate = closed.gate.as_str().to_owned();
        if !passed.contains(&gate) {
            passed.push(gate);
        }
    }
    let from = plan.tasks()[task_ix].status.state().unwrap_or(State::Pending);
    if mark.verbs(from).len() > 1 {
        if config.compat_strict {
            return Err(refused(
                format!(
                    "Story {id} is {}, and only a story that is in_progress is completed",
                    plan.lifecycle.word_of(from)
                ),
                format!("Run `aimi-cli mark-in-progress {id}` first."),
            ));
        }
        passed.push("table".to_owned());
    }
    Ok(passed)
}

/// Returns the choice to read any text as an Aimi plan.
fn as_aimi(facts: &DiskFacts) -> Choice<'_> {
    Choice {
        dialects: DIALECTS,
        forced: DIALECTS.iter().copied().find(|dialect| dialect.name() == "aimi"),
        path: None,
        facts,
    }
}

/// Refuses transitions that the table does not allow.
fn refuse_illegal(source: &SourceText, tasks: &Tasks, position: usize, mark: Mark) -> Result<(), Refused> {
    let inspection = inspect(source, &as_aimi(&DiskFacts::default()));
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let story = plan.and_then(|plan| Some((plan, plan.tasks().get(position)?)));
    let (plan, task) = story.ok_or_else(|| unknown_version(&tasks.version()))?;
    // A story with an unknown status counts as pending, so that it is not stuck.
    let from = task.status.state().unwrap_or(State::Pending);
    let lifecycle = plan.lifecycle;
    let step = |state, verb: &Verb| match verb {
        // The pair from failed to in_progress is legal.
        Verb::Retry => (state == State::Failed).then_some(State::Running),
        verb => lifecycle.machine.outcome(state, *verb, false),
    };
    match mark.verbs(from).iter().try_fold(from, step) {
        Some(_) => Ok(()),
        None => Err(refused(
            format!(
                "Story {} is {}, which is final",
                plan.task_name(position),
                lifecycle.word_of(from)
            ),
            "Set it back to pending in the file first, if it is to be worked on again.",
        )),
    }
}

/// Sets a story's field: in place if it exists, otherwise at the end.
fn set(story: AimiStory<'_>, position: usize, key: &str, value: NewValue, patches: &mut Vec<Patch>) {
    let route = Route::root().key("userStories").index(position);
    let place = match story.get(key) {
        None => MemberPosition::Last,
        Some(old) if value.is_value_of(old) => return,
        Some(old) if !matches!(old.kind(), NodeKind::Array | NodeKind::Object) => {
            let at = route.key(key);
            patches.push(Patch::ReplaceScalar { at, value });
            return;
        }
        Some(_) => {
            // A collection is removed as a whole, and its replacement is inserted.
            patches.push(Patch::RemoveMember {
                object: route.clone(),
                key: key.to_owned(),
            });
            place_before(story.node(), key)
        }
    };
    patches.push(Patch::InsertMember {
        object: route,
        key: key.to_owned(),
        value,
        place,
    });
}

fn place_before(object: NodeRef<'_>, key: &str) -> MemberPosition {
    let mut before = MemberPosition::First;
    for member in object.own_members() {
        if member.key.is_text(key) {
            break;
        }
        before = MemberPosition::After(member.key.value().into_owned());
    }
    before
}

/// Skips all stories that wait for one, directly or through others, and returns the answer. Completed and skipped stories do not wait, and
/// neither do stories that wait only for them.
pub(super) fn cascade_skip(target: Target<'_>, id: &str) -> Result<String, Refused> {
    let mut answer = String::new();
    target.change(|_, tasks| {
        if only_story(target, tasks, id)?.is_none() {
            return Err(not_found(target, id));
        }
        let stories: Vec<AimiStory<'_>> = tasks.stories().collect();
        let waiting = waiting_for(&stories, id);
        refuse_repeated(target, &stories, &waiting)?;
        let mut ids: Vec<_> = waiting.iter().map(|&position| stories[position].id()).collect();
        ids.sort_by(|a, b| jq::order(*a, *b));
        answer = skipped_answer(&ids);
        let names = ids.iter().map(|id| jq::interpolated(*id)).collect();
        let said = format!("Skipped: depends on failed story {id}");
        let note = NewValue::String(said.clone());
        let mut patches = Vec::new();
        for position in waiting {
            let status = NewValue::String("skipped".to_owned());
            set(stories[position], position, "status", status, &mut patches);
            set(stories[position], position, "notes", note.clone(), &mut patches);
        }
        Ok(Marks {
            patches,
            stories: names,
            note: Some(said),
            ..Marks::default()
        })
    })?;
    Ok(answer)
}

/// Returns the positions of the stories that wait for one, in the order of the file.
fn waiting_for(stories: &[AimiStory<'_>], id: &str) -> Vec<usize> {
    let mut dependents: HashMap<String, Vec<usize>> = HashMap::new();
    for (position, story) in stories.iter().enumerate() {
        let waits = !story.has_status("completed") && !story.has_status("skipped") && !jq::is_string(story.id(), id);
        for dependency in story.dependencies().filter(|_| waits).into_iter().flatten() {
            let of_dependency = dependents.entry(jq::identity(Some(dependency))).or_default();
            of_dependency.push(position);
        }
    }
    let mut found = HashSet::new();
    let mut queue: Vec<String> = stories
        .iter()
        .filter(|story| jq::is_string(story.id(), id))
        .map(|story| jq::identity(story.id()))
        .collect();
    while let Some(identity) = queue.pop() {
        for position in dependents.remove(&identity).unwrap_or_default() {
            if found.insert(position) {
                queue.push(jq::identity(stories[position].id()));
            }
        }
    }
    let mut found: Vec<usize> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// Refuses to skip stories whose id is not unique.
fn refuse_repeated(target: Target<'_>, stories: &[AimiStory<'_>], waiting: &[usize]) -> Result<(), Refused> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for story in stories {
        *counts.entry(jq::identity(story.id())).or_default() += 1;
    }
    let is_repeated = |story: &&AimiStory<'_>| counts.get(&jq::identity(story.id())).is_some_and(|&count| count > 1);
    let mut skipped = waiting.iter().filter_map(|&position| stories.get(position));
    match skipped.find(is_repeated) {
        Some(story) => Err(ambiguous(target, &jq::interpolated(story.id()))),
        None => Ok(()),
    }
}

fn skipped_answer(ids: &[jq::Value<'_>]) -> String {
    let mut printer = jq::Printer::object();
    printer.key("skipped");
    print_ids(ids, &mut printer);
    printer.key("count");
    printer.literal(&ids.len().to_string());
    printer.close('}');
    printer.finish()
}

fn print_ids(ids: &[jq::Value<'_>], printer: &mut jq::Printer) {
    printer.open('[');
    for id in ids {
        printer.element();
        printer.value(*id);
    }
    printer.close(']');
}

/// The note for a story that the last session left in progress.
const ORPHANED: &str = "Reset: orphaned from previous session";

/// Marks the stories that were in progress when the last session ended as failed, and returns the answer.
pub(super) fn reset_orphaned(target: Target<'_>) -> Result<String, Refused> {
    let mut answer = String::new();
    target.change(|_, tasks| {
        let orphaned: Vec<(usize, AimiStory<'_>)> = tasks
            .stories()
            .enumerate()
            .filter(|(_, story)| story.has_status("in_progress"))
            .collect();
        let ids: Vec<_> = orphaned.iter().map(|(_, story)| story.id()).collect();
        answer = reset_answer(&ids);
        let names = ids.iter().map(|id| jq::interpolated(*id)).collect();
        let mut patches = Vec::new();
        for (position, story) in orphaned {
            for (key, value) in Mark::Failed.fields(Schema::V3, ORPHANED) {
                set(story, position, key, value, &mut patches);
            }
        }
        Ok(Marks {
            patches,
            stories: names,
            note: Some(ORPHANED.to_owned()),
            ..Marks::default()
        })
    })?;
    Ok(answer)
}

fn reset_answer(ids: &[jq::Value<'_>]) -> String {
    let mut printer = jq::Printer::object();
    printer.key("count");
    printer.literal(&ids.len().to_string());
    printer.key("reset");
    print_ids(ids, &mut printer);
    printer.close('}');
    printer.finish()
}
