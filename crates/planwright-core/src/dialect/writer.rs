//! Shared code of all writers: their trait, the report of changes, and small pieces of text. Does not know dialects.

use std::borrow::Cow;
use std::collections::HashSet;

use super::draft::{DraftState, DraftTask, Fields, PlanDraft};
use super::id_source::{IdSource, is_file_id};
use super::time::{is_iso_date, is_iso_time};
use crate::diagnostic::Rule;
use crate::document::NodeRef;
use crate::document::patch::{Patch, PlainValue};
use crate::document::write;
use crate::plan::{Field, Plan};
use crate::text::Span;

/// The limit of dependencies that replace the stages or layers of a plan.
pub const MAX_EDGES: usize = 1_000_000;

/// Writes new plans in one dialect.
pub trait DialectWriter: Sync {
    /// Converts a draft to the dialect's own fields. Fields that remain in the draft are lost.
    fn compose(&self, draft: &mut PlanDraft, id_source: &mut IdSource<'_>, report: &mut WriterReport) -> Composed;

    /// Returns the text of a plan in the dialect's fields, in the layout of the dialect's own tools.
    fn lay_out(&self, composed: Composed) -> String {
        write::json(&composed.into_value())
    }

    /// Returns the key of the list of tasks.
    fn tasks_key(&self) -> &'static str {
        "tasks"
    }

    /// Returns the keys of the plan, then those of a task, whose values follow from the positions, names and dependencies of the tasks:
    /// they are only valid together.
    fn structure(&self) -> (&'static [&'static str], &'static [&'static str]);

    /// Returns whether a form of the dialect has stages, each of which blocks all later ones.
    fn has_stages(&self, _form: Option<&str>) -> bool {
        false
    }

    /// Returns whether its files may carry what they cannot hold, hidden from readers.
    fn carries_originals(&self) -> bool {
        true
    }

    /// Changes the plan's own fields if it was restored from another dialect with changes.
    fn mark_edited(&self, _composed: &mut Composed) {}

    /// Returns the migration from an older form to the newest; none for plans in the newest form.
    fn migrate(
        &self,
        _plan: &Plan,
        _root: NodeRef<'_>,
        _order: &MigrationOrder,
        _mint: &IdSource<'_>,
    ) -> Option<Migration> {
        None
    }

    /// Names the older forms that it can bring to the newest; none where it has no older form.
    fn migrates(&self) -> Option<&'static str> {
        None
    }

    /// Returns what import does with a plan of this dialect.
    fn import(&self) -> Import {
        Import::AsIs
    }

    /// Returns the fields that are reset in a planner's plan, and that it need not have.
    fn planned(&self) -> &'static Resets<'static> {
        match self.import() {
            Import::Anew(resets) => resets,
            Import::AsIs => &Resets::NONE,
        }
    }

    /// Converts the members of a planner's plan to the form of its previous version. Returns whether that form is an older one; otherwise
    /// changes nothing.
    fn in_older_form(&self, _answer: &mut Vec<(String, PlainValue)>, _form: &str) -> bool {
        false
    }
}

/// What the user wants of a migration.
#[derive(Clone, Copy, Debug, Default)]
pub struct MigrationOrder {
    /// The new number of parallel tasks; the dialect's default if the user does not set it.
    pub max_concurrency: Option<u32>,
}

/// A migration of a plan to the newest form.
#[derive(Clone, Debug, Default)]
pub struct Migration {
    /// The patches. They can be applied together to the text, or one after another to its value.
    pub patches: Vec<Patch>,
    /// Changes beyond the form, each with its span.
    pub notes: Vec<(Span, String)>,
    /// The number of dependencies of the new plan.
    pub n_edges: usize,
}

/// How import handles a text.
#[derive(Clone, Copy, Debug)]
pub enum Import {
    /// Extracts it from the surrounding text, unchanged.
    AsIs,
    /// Rewrites it in the form that is stored.
    Anew(&'static Resets<'static>),
}

/// The fields that import resets in a rewritten plan.
#[derive(Clone, Copy, Debug)]
pub struct Resets<'r> {
    /// Fields of the plan that are reset.
    pub head: &'r [Field],
    /// Fields of its tasks that are reset, including their status if the plan starts again.
    pub task: &'r [Field],
    /// Further fields that are reset for a plan inside other text: a model's answer has no past.
    pub answered: &'r [Field],
    /// Fields of either that keep a valid value and otherwise get a default.
    pub lenient: &'r [Field],
    /// The status words of a new plan and its tasks.
    pub fresh: &'r [&'static str],
    /// Rules of the dialect whose findings about reset fields are ignored.
    pub overlooked: &'r [&'static Rule],
}

impl Resets<'_> {
    pub(crate) const NONE: Resets<'static> = Resets {
        head: &[],
        task: &[],
        answered: &[],
        lenient: &[],
        fresh: &[],
        overlooked: &[],
    };
}

/// A plan in a dialect's own fields, not yet laid out.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    /// The plan without its tasks: an object with a null in place of the list of tasks.
    pub head: Vec<(String, PlainValue)>,
    /// The key with the null.
    pub tasks_key: &'static str,
    /// The tasks, each an object.
    pub tasks: Vec<Vec<(String, PlainValue)>>,
}

impl Composed {
    /// Changes the object with the list of tasks: the outermost, or one inside it.
    pub fn change_holder(&mut self, change: impl FnOnce(&mut Vec<(String, PlainValue)>)) {
        let key = self.tasks_key;
        let has_tasks = |members: &[(String, PlainValue)]| members.iter().any(|(own, _)| own == key);
        if has_tasks(&self.head) {
            return change(&mut self.head);
        }
        let inner = self.head.iter_mut().find_map(|(_, value)| match value {
            PlainValue::Object(members) if has_tasks(members) => Some(members),
            _ => None,
        });
        if let Some(members) = inner {
            change(members);
        }
    }

    /// Returns the whole plan as one value.
    pub fn into_value(mut self) -> PlainValue {
        let tasks = std::mem::take(&mut self.tasks);
        let key = self.tasks_key;
        let list = PlainValue::Array(tasks.into_iter().map(PlainValue::Object).collect());
        self.change_holder(|holder| {
            if let Some((_, place)) = holder.iter_mut().find(|(own, _)| own == key) {
                *place = list;
            }
        });
        PlainValue::Object(self.head)
    }
}

/// The kind of change by a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// The target cannot hold it.
    Lost,
    /// Invented, because the target requires it.
    Invented,
    /// Its meaning has changed.
    Changed,
}

impl LossKind {
    /// Returns the word for users.
    pub fn as_str(self) -> &'static str {
        match self {
            LossKind::Lost => "lost",
            LossKind::Invented => "invented",
            LossKind::Changed => "changed",
        }
    }
}

/// One remark of a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterRemark {
    /// The kind of change.
    pub kind: LossKind,
    /// The index of its task; none for the plan itself.
    pub task: Option<usize>,
    /// The target's name of the field.
    pub field: &'static str,
    /// The change, in words.
    pub message: Cow<'static, str>,
}

/// The remarks of a writer, in the order of the text it writes.
#[derive(Debug, Default)]
pub struct WriterReport {
    /// The remarks.
    pub remarks: Vec<WriterRemark>,
}

impl WriterReport {
    fn push(
        &mut self,
        kind: LossKind,
        task: Option<usize>,
        field: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) {
        self.remarks.push(WriterRemark {
            kind,
            task,
            field,
            message: message.into(),
        });
    }

    /// Records the loss of a value, or of a part of it.
    pub fn lost(&mut self, task: Option<usize>, field: &'static str, message: impl Into<Cow<'static, str>>) {
        self.push(LossKind::Lost, task, field, message);
    }

    /// Records an invented value.
    pub fn invented(&mut self, task: Option<usize>, field: &'static str, message: impl Into<Cow<'static, str>>) {
        self.push(LossKind::Invented, task, field, message);
    }

    /// Records a value whose meaning has changed.
    pub fn changed(&mut self, task: Option<usize>, field: &'static str, message: impl Into<Cow<'static, str>>) {
        self.push(LossKind::Changed, task, field, message);
    }
}

/// Returns a member of an object.
pub fn member(key: &str, value: PlainValue) -> (String, PlainValue) {
    (key.to_owned(), value)
}

/// Returns a text as a value.
pub fn text(text: impl Into<String>) -> PlainValue {
    PlainValue::String(text.into())
}

/// Returns a whole number as a value.
pub(crate) fn number(number: impl std::fmt::Display) -> PlainValue {
    PlainValue::Number(number.to_string())
}

/// The longest title made from a longer text, in characters.
const TITLE_CHARS: usize = 200;

/// Returns the first characters of a text, with an ellipsis if it was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// Returns the first line of a text that is not blank, short enough for a title.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    cut(line.trim(), TITLE_CHARS)
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Joins a title and its text; omits a title that only repeats the start of the text.
pub(crate) fn joined(title: Option<String>, body: Option<String>) -> Option<String> {
    match (title, body) {
        (Some(title), Some(body)) if body.starts_with(title.trim_end_matches('…')) => Some(body),
        (Some(title), Some(body)) => Some(format!("{title}: {body}")),
        (title, body) => title.or(body),
    }
}

/// Takes the text about the purpose of a plan: its goal, or its title and description.
pub fn take_goal(head: &mut Fields) -> Option<String> {
    let title = head.take_text(Field::Title).or_else(|| head.take_text(Field::Project));
    let body = head
        .take_text(Field::Goal)
        .or_else(|| head.take_text(Field::Description));
    joined(title, body)
}

/// Reports where titles and descriptions become one text.
pub(crate) fn report_joined(draft: &PlanDraft, field: &'static str, report: &mut WriterReport) {
    let is_both = |fields: &Fields| {
        let body = fields.text(Field::Description).or_else(|| fields.text(Field::Goal));
        let title = fields.text(Field::Title);
        // A title that only repeats the start of the body is no second text.
        title
            .zip(body)
            .is_some_and(|(title, body)| !body.starts_with(title.trim_end_matches('…')))
    };
    if draft.tasks.iter().any(|task| is_both(&task.fields)) {
        report.changed(None, field, "the title and the description of a task are one text");
    }
}

/// Takes the creation time of a plan.
pub(crate) fn take_created(head: &mut Fields) -> Option<String> {
    take_time(head, Field::CreatedAt).or_else(|| take_time(head, Field::Date))
}

/// Takes a time of the plan; the present time if it has none.
pub(crate) fn take_time_or_now(
    head: &mut Fields,
    field: Field,
    key: &'static str,
    id_source: &IdSource<'_>,
    report: &mut WriterReport,
) -> (String, PlainValue) {
    let time = match field {
        Field::CreatedAt => take_created(head),
        field => take_time(head, field),
    };
    let time = time.unwrap_or_else(|| {
        report.invented(None, key, "no time is given: it is now");
        id_source.now.clone()
    });
    member(key, text(time))
}

/// Takes a title and a longer text about a task; either may repeat the other.
pub(crate) fn take_title_and_body(fields: &mut Fields) -> Option<(String, String)> {
    let body = [Field::Description, Field::Goal]
        .into_iter()
        .find_map(|field| fields.take_text(field));
    let title = fields
        .take_text(Field::Title)
        .or_else(|| fields.take_text(Field::Project));
    match (title, body) {
        (Some(title), Some(body)) => Some((title, body)),
        (Some(title), None) => Some((title.clone(), title)),
        // Detailed instructions are the body of a task without a title.
        (None, Some(short)) if short.lines().count() <= 1 && short.chars().count() <= TITLE_CHARS => {
            let body = fields.take_text(Field::Instructions);
            Some((short.clone(), body.unwrap_or(short)))
        }
        (None, Some(body)) => Some((first_line(&body), body)),
        (None, None) => None,
    }
}

/// Takes an agent's instructions or report about a task, depending on the state of the task.
pub(crate) fn take_notes(fields: &mut Fields, state: &DraftState) -> Option<String> {
    let by_state = match state {
        DraftState::Failed => Field::Error,
        DraftState::Done | DraftState::Skipped => Field::Output,
        DraftState::Pending | DraftState::Running | DraftState::Blocked(_) => Field::Instructions,
    };
    [Field::Notes, by_state]
        .into_iter()
        .find_map(|field| fields.take_text(field))
}

/// Returns a measure of work from 1 to 5, from a number or a word.
pub(crate) fn complexity_of(value: &PlainValue) -> Option<i64> {
    match value {
        PlainValue::Number(number) => number.parse().ok().filter(|number| (1..=5).contains(number)),
        PlainValue::String(word) => match word.as_str() {
            "low" => Some(2),
            "medium" => Some(3),
            "high" => Some(4),
            _ => None,
        },
        _ => None,
    }
}

/// Takes a time; a date becomes the start of its day.
pub(crate) fn take_time(fields: &mut Fields, field: Field) -> Option<String> {
    let written = fields.text(field)?;
    let time = match () {
        () if is_iso_date(written) => format!("{written}T00:00:00Z"),
        () if is_iso_time(written) => written.to_owned(),
        () => return None,
    };
    fields.drop(field);
    Some(time)
}

/// Returns letters and digits of a text in lower case, with hyphens between them.
pub(crate) fn slug(text: &str, most: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
        if out.len() >= most {
            break;
        }
    }
    out.trim_matches('-').to_owned()
}

/// Takes a plan's id if it is a valid file name.
pub fn take_file_id(head: &mut Fields) -> Option<String> {
    head.text(Field::Id).filter(|id| is_file_id(id))?;
    head.take_text(Field::Id)
}

/// Gives every task a valid id: its own if it is valid and unique so far, otherwise a new one. Returns the ids, and which of them are new.
pub fn task_ids(
    tasks: &[DraftTask],
    fits: impl Fn(&str) -> bool,
    mut make: impl FnMut(usize) -> String,
) -> Vec<(String, bool)> {
    let mut taken: HashSet<Cow<'_, str>> = HashSet::with_capacity(tasks.len());
    let own = tasks.iter().map(|task| {
        let id = task.id.as_deref().filter(|id| fits(id))?;
        taken.insert(Cow::Borrowed(id)).then_some(id)
    });
    let own: Vec<Option<&str>> = own.collect();
    let mut number = 0;
    let ids = own.into_iter().map(|own| match own {
        Some(id) => (id.to_owned(), false),
        None => {
            // Every try takes the next number, and there are no more used ids than tasks.
            let free = (0..=tasks.len() + taken.len()).find_map(|_| {
                number += 1;
                let id = make(number);
                (!taken.contains(id.as_str())).then_some(id)
            });
            let id = free.unwrap_or_else(|| make(number));
            taken.insert(Cow::Owned(id.clone()));
            (id, true)
        }
    });
    ids.collect()
}

pub(crate) fn report_new_ids(
    tasks: &[DraftTask],
    ids: &[(String, bool)],
    field: &'static str,
    report: &mut WriterReport,
) {
    for (task_ix, (task, (id, is_new))) in tasks.iter().zip(ids).enumerate() {
        match &task.id {
            Some(old) if *is_new => report.changed(Some(task_ix), field, format!("`{old}` gets the id `{id}`")),
            None if *is_new => report.invented(Some(task_ix), field, format!("it gets the id `{id}`")),
            _ => {}
        }
    }
}

/// Returns the ids of a task's dependencies.
pub fn named(dependencies: &[u32], ids: &[(String, bool)]) -> PlainValue {
    let id = |&place: &u32| ids.get(place as usize).map(|(id, _)| text(id.as_str()));
    PlainValue::Array(dependencies.iter().filter_map(id).collect())
}

/// Returns the state for dialects with five words and no other field for skipped or blocked tasks.
pub(crate) fn five_states(
    task: &DraftTask,
    task_ix: usize,
    field: &'static str,
    report: &mut WriterReport,
) -> DraftState {
    match &task.state {
        DraftState::Pending if task.held => {
            report.changed(Some(task_ix), field, "the mark to skip it is now its status");
            DraftState::Skipped
        }
        DraftState::Blocked(reason) => {
            let message = format!("it was blocked ({}) and is pending again", cut(&one_line(reason), 80));
            report.changed(Some(task_ix), field, message);
            DraftState::Pending
        }
        state => state.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_short_and_clean() {
        assert_eq!(slug("Add user auth!", 30), "add-user-auth");
        assert_eq!(slug("  Überraschung — später ", 30), "berraschung-sp-ter");
        assert_eq!(slug("日本", 30), "");
        assert_eq!(slug("aaaa bbbb", 5), "aaaa");
    }

    #[test]
    fn titles_are_not_repeated_in_descriptions() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            joined(text("Add login"), text("POST /login")),
            text("Add login: POST /login")
        );
        assert_eq!(
            joined(text("Add login"), text("Add login to the app")),
            text("Add login to the app")
        );
        assert_eq!(joined(None, text("b")), text("b"));
    }
}
