//! From a verb to a new text: the moves, the dialect's fields, the patch, and the proof that the text has the intended meaning.
//! Writes no file.
//!
//! ```
//! use planwright_core::change::{Open, transition};
//! use planwright_core::dialect::{Choice, DiskFacts};
//! use planwright_core::edit::VerbRequest;
//! use planwright_core::plan::Verb;
//! use planwright_core::text::SourceText;
//!
//! let text = SourceText::new(
//!     r#"{"goal": "Try it",   "tasks": [{"id": "t1", "description": "Read", "status": "pending"}]}"#,
//! );
//! let facts = DiskFacts::default();
//! let choice = Choice::by_content(&facts);
//! let mut open = Open::new(&text, &choice);
//! let now = "2026-03-22T10:00:00Z";
//!
//! let refused = transition(&open, &choice, 0, &VerbRequest::new(Verb::Done, now)).err().expect("it does not run");
//! assert_eq!(refused.to_string(), "cannot finish task `t1`: it is pending");
//!
//! let changed = transition(&open, &choice, 0, &VerbRequest::new(Verb::Start, now)).ok().expect("it may start");
//! // All bytes but those of the status are what they were.
//! assert_eq!(changed.source.as_str(), text.as_str().replace("pending", "running"));
//! open.take(changed);
//! assert!(transition(&open, &choice, 0, &VerbRequest::new(Verb::Done, now)).is_ok());
//! ```

mod approval;
mod batch;
mod follow;
mod part;
mod proposal;
mod regressions;
pub mod rewrite;
mod task_edits;
pub mod tasks;
mod typed;

use std::cell::OnceCell;
use std::fmt;

use crate::diagnostic::Diagnostic;
use crate::dialect::{CarrierKind, Choice, Edits, LocatedPlan, Note};
use crate::document::Parsed;
use crate::document::patch::PatchRefusal;
use crate::edit::{Move, PlanRefused, VerbRefusal, VerbRequest};
use crate::inspect::{Inspection, LinkedPlan, inspect_keeping};
use crate::plan::{Plan, TaskFate};
use crate::text::{SourceText, Span};
pub use approval::transition_plan;
pub use batch::{Batch, RefusedRequest, RequestResult, TaskRequest, transitions};

/// An open text: inspected, with the document that its plan was parsed from.
pub struct Open {
    /// Its inspection. The states are those of [`Open::source`]. The spans are those of [`Inspection::source`], which is the text before
    /// the last change if the proof needed only a part of the new one.
    pub inspection: Inspection,
    document: Option<Parsed>,
    unread: Option<UnreadText>,
}

/// A text that was proven by its part, and its inspection once a caller needs the whole.
struct UnreadText {
    source: SourceText,
    read: OnceCell<Box<Open>>,
}

impl Open {
    /// Reads and checks a text.
    pub fn new(source: &SourceText, choice: &Choice<'_>) -> Self {
        Open::read(source, choice, None)
    }

    fn read(source: &SourceText, choice: &Choice<'_>, parsed: Option<Parsed>) -> Self {
        let (inspection, document) = inspect_keeping(source, choice, parsed);
        let notation = inspection.dialect.and_then(|dialect| dialect.notation());
        let document = document.or_else(|| Some(notation?(source, choice.path).parse(source)));
        Open {
            inspection,
            document,
            unread: None,
        }
    }

    fn of(parsed: Parsed, choice: &Choice<'_>) -> Self {
        let source = parsed.document.source().clone();
        Open::read(&source, choice, Some(parsed))
    }

    /// Returns the inspection of the text, and its document.
    pub fn into_parts(self) -> (Inspection, Option<Parsed>) {
        (self.inspection, self.document)
    }

    /// Returns the newest text.
    pub fn source(&self) -> &SourceText {
        self.unread
            .as_ref()
            .map_or(&self.inspection.source, |unread| &unread.source)
    }

    /// Returns the newest text inspected as a whole, with all spans in it.
    pub fn whole(&self, choice: &Choice<'_>) -> &Open {
        let Some(unread) = &self.unread else {
            return self;
        };
        unread.read.get_or_init(|| {
            let mut open = Open::new(&unread.source, choice);
            if let (Some(before), Some(linked)) = (&self.inspection.plan, &mut open.inspection.plan) {
                linked.plan.take_unwritten(&before.plan);
            }
            Box::new(open)
        })
    }

    /// Like `whole`, but consumes `self`.
    pub fn into_whole(mut self, choice: &Choice<'_>) -> Open {
        self.whole(choice);
        match self.unread.take().and_then(|unread| unread.read.into_inner()) {
            Some(open) => *open,
            None => self,
        }
    }

    /// Replaces the text by the result of a change.
    pub fn take(&mut self, changed: ChangedText) {
        match changed.reading {
            ProofReading::Whole(open) => *self = *open,
            ProofReading::Part(fates) => {
                if let Some(linked) = &mut self.inspection.plan {
                    fates
                        .iter()
                        .for_each(|(task_ix, fate)| linked.plan.take_fate(*task_ix, *fate));
                }
                if changed.source.as_str() != self.inspection.source.as_str() {
                    self.unread = Some(UnreadText {
                        source: changed.source,
                        read: OnceCell::new(),
                    });
                }
            }
        }
    }

    /// Finds the parts of the plan in its document.
    fn located(&self) -> Option<LocatedPlan<'_>> {
        let LinkedPlan { plan, links, .. } = self.inspection.plan.as_ref()?;
        LocatedPlan::new(plan, links, &self.document.as_ref()?.document)
    }
}

/// A change that is ready to be written.
pub struct ChangedText {
    /// The new text.
    pub source: SourceText,
    /// The moves of tasks.
    pub moves: Vec<Move>,
    /// Further effects, and remarks for the user.
    pub notes: Vec<Note>,
    reading: ProofReading,
}

/// How the new text was read for the proof.
enum ProofReading {
    Whole(Box<Open>),
    /// Only the touched tasks, with their fates.
    Part(Vec<(usize, TaskFate)>),
}

impl ChangedText {
    fn new(source: SourceText, reading: ProofReading) -> Self {
        ChangedText {
            source,
            moves: Vec::new(),
            notes: Vec::new(),
            reading,
        }
    }

    /// Returns a change that leaves the text unchanged.
    fn none(inspection: &Inspection) -> Self {
        ChangedText::new(inspection.source.clone(), ProofReading::Part(Vec::new()))
    }

    /// Returns a change whose new text was read as a whole.
    fn whole(open: Open) -> Self {
        ChangedText::new(open.inspection.source.clone(), ProofReading::Whole(Box::new(open)))
    }
}

/// Why a text is not changed.
#[derive(Debug)]
pub enum Problem {
    /// It has no plan, or one without tasks.
    NoPlan,
    /// The change needs a field that the plan, its form or its dialect does not have.
    Field {
        /// The obstacle.
        message: String,
        /// The next step for the user.
        help: String,
    },
    /// A place in the file prevents a follow-up of an edit.
    Place {
        /// The place.
        span: Span,
        /// The obstacle.
        message: String,
        /// The next step for the user.
        help: String,
    },
    /// The verb is not allowed.
    Refused(VerbRefusal),
    /// The verb is not allowed for the whole plan.
    PlanRefused(PlanRefused),
    /// The file's form prevents a safe change.
    Unpatchable(PatchRefusal),
    /// The plan would have new errors.
    Regressions(Vec<Diagnostic>),
    /// The new text does not have the intended meaning: a bug in planwright, and nothing is written.
    Mismatch(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoPlan => f.write_str("there is no plan that could be changed"),
            Problem::Field { message, .. } | Problem::Place { message, .. } => f.write_str(message),
            Problem::Refused(refused) => refused.fmt(f),
            Problem::PlanRefused(refused) => refused.fmt(f),
            Problem::Unpatchable(refusal) => write!(f, "the file cannot be changed safely: {refusal}"),
            Problem::Regressions(found) => match found.as_slice() {
                [only] => write!(f, "this would break the plan: {}", only.message),
                found => {
                    let messages: Vec<_> = found.iter().map(|found| found.message.as_str()).collect();
                    write!(
                        f,
                        "this would break the plan in {} places: {}",
                        found.len(),
                        messages.join("; ")
                    )
                }
            },
            Problem::Mismatch(what) => write!(f, "the change was not written: the new text does not match: {what}"),
        }
    }
}

impl Problem {
    fn field(message: String, help: String) -> Self {
        Problem::Field { message, help }
    }

    /// Returns the span of the obstacle in the text.
    pub fn span(&self) -> Option<Span> {
        match self {
            Problem::Place { span, .. } => Some(*span),
            Problem::Unpatchable(refusal) => refusal.span(),
            _ => None,
        }
    }

    /// Returns the next step for the user.
    pub fn help(&self) -> String {
        match self {
            Problem::NoPlan => "`planwright check` shows the errors of the file".to_owned(),
            Problem::Field { help, .. } | Problem::Place { help, .. } => help.clone(),
            Problem::Refused(refused) => refused.help(),
            Problem::PlanRefused(refused) => refused.help(),
            Problem::Unpatchable(_) => "edit that place by hand; `planwright check` shows it".to_owned(),
            Problem::Regressions(found) => match found.first() {
                Some(found) if found.help.is_empty() => {
                    format!(
                        "nothing was written; `planwright check --explain {}` says more",
                        found.rule.id
                    )
                }
                found => found.map_or_else(String::new, |found| found.help.clone()),
            },
            Problem::Mismatch(_) => "this is a fault of planwright: please report it, with the plan".to_owned(),
        }
    }
}

impl From<PatchRefusal> for Problem {
    fn from(refusal: PatchRefusal) -> Self {
        if let PatchRefusal::NoForm { reason, .. } = refusal {
            let (message, help) = reason.split_once(": ").unwrap_or((reason, "nothing was written"));
            return Problem::field(message.to_owned(), help.to_owned());
        }
        Problem::Unpatchable(refusal)
    }
}

/// Applies a verb to a task of an inspected text. States that the file cannot hold are only in the returned moves.
pub fn transition(
    open: &Open,
    choice: &Choice<'_>,
    task_ix: usize,
    request: &VerbRequest<'_>,
) -> Result<ChangedText, Problem> {
    let request = *request;
    let Batch { changed, results } = transitions(open, choice, &[TaskRequest { task_ix, request }]);
    match results.into_iter().find_map(Result::err) {
        Some(refused) => Err(refused.problem),
        None => Ok(changed),
    }
}

/// Refuses indexes without a task.
fn refuse_missing(plan: &Plan, places: impl IntoIterator<Item = usize>) -> Result<(), Problem> {
    let n_tasks = plan.tasks().len();
    match places.into_iter().find(|&place| place >= n_tasks) {
        None => Ok(()),
        Some(place) => Err(Problem::field(
            format!("there is no task at place {place}: the plan has {n_tasks}, counted from 0"),
            "name a task that is there".to_owned(),
        )),
    }
}

/// Returns the plan and its dialect's edits, if it can be changed at all.
fn changeable(inspection: &Inspection) -> Result<(&LinkedPlan, &'static dyn Edits), Problem> {
    let linked = inspection.plan.as_ref().ok_or(Problem::NoPlan)?;
    let edits = linked.dialect.edits().ok_or(Problem::NoPlan)?;
    let is_wrapped = inspection
        .carrier
        .is_some_and(|(carrier, span)| carrier == CarrierKind::Json && span != inspection.source.span());
    if is_wrapped {
        return Err(Problem::field(
            "the plan is inside other text, which is how an answer looks, not a plan".to_owned(),
            "`planwright check` reports how to get the plan out of it".to_owned(),
        ));
    }
    match edits.refuses_changes(&linked.plan) {
        Some((message, help)) => Err(Problem::field(message.to_owned(), help.to_owned())),
        None => Ok((linked, edits)),
    }
}
