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

/// A text that may be changed: inspected, with the document that its plan was read from.
pub struct Open {
    /// What is known of it. Its states are those of [`Open::source`]; its places are those of [`Inspection::source`], which is the
    /// text before the last change where the proof needed only a part of the new one.
    pub inspection: Inspection,
    document: Option<Parsed>,
    unread: Option<UnreadText>,
}

/// A text that was proven by its part, and what it says once something asks for the whole.
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

    /// Returns what is known of the text, and its document.
    pub fn into_parts(self) -> (Inspection, Option<Parsed>) {
        (self.inspection, self.document)
    }

    /// Returns the newest text.
    pub fn source(&self) -> &SourceText {
        self.unread
            .as_ref()
            .map_or(&self.inspection.source, |unread| &unread.source)
    }

    /// Returns the newest text read as a whole, with all places in it.
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

    /// Does the same for a text that is not needed any more.
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
    /// What became of which task.
    pub moves: Vec<Move>,
    /// What else happened, and what the user may want to look at.
    pub notes: Vec<Note>,
    reading: ProofReading,
}

/// How the new text was read for the proof.
enum ProofReading {
    Whole(Box<Open>),
    /// The tasks that were touched, and what became of them.
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

    /// Returns a change that leaves the text as it is.
    fn none(inspection: &Inspection) -> Self {
        ChangedText::new(inspection.source.clone(), ProofReading::Part(Vec::new()))
    }

    /// Returns a change whose new text was read as a whole.
    fn whole(open: Open) -> Self {
        ChangedText::new(open.inspection.source.clone(), ProofReading::Whole(Box::new(open)))
    }
}

/// Why a text is left as it is.
#[derive(Debug)]
pub enum Problem {
    /// There is no plan in it, or none with tasks.
    NoPlan,
    /// The change asks for something that the plan, its form or its dialect does not have.
    Field {
        /// What is in the way.
        message: String,
        /// What to do.
        help: String,
    },
    /// A place of the file does not let the rest of it follow an edit.
    Place {
        /// Where it is.
        span: Span,
        /// What is in the way.
        message: String,
        /// What to do.
        help: String,
    },
    /// The verb is not allowed.
    Refused(VerbRefusal),
    /// The verb is not allowed for the plan as a whole.
    PlanRefused(PlanRefused),
    /// The file is written in a way that cannot be changed safely.
    Unpatchable(PatchRefusal),
    /// The plan would have errors that it does not have now.
    Worse(Vec<Diagnostic>),
    /// The new text does not say what was meant: a fault of planwright, and nothing is written.
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
            Problem::Worse(found) => match found.as_slice() {
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
            Problem::Mismatch(what) => write!(f, "the change came out wrong and was not made: {what}"),
        }
    }
}

impl Problem {
    fn field(message: String, help: String) -> Self {
        Problem::Field { message, help }
    }

    /// Returns the place in the text that is in the way.
    pub fn span(&self) -> Option<Span> {
        match self {
            Problem::Place { span, .. } => Some(*span),
            Problem::Unpatchable(refusal) => refusal.span(),
            _ => None,
        }
    }

    /// Returns what to do about it.
    pub fn help(&self) -> String {
        match self {
            Problem::NoPlan => "`planwright check` says what is wrong with the file".to_owned(),
            Problem::Field { help, .. } | Problem::Place { help, .. } => help.clone(),
            Problem::Refused(refused) => refused.help(),
            Problem::PlanRefused(refused) => refused.help(),
            Problem::Unpatchable(_) => "edit that place by hand; `planwright check` shows it".to_owned(),
            Problem::Worse(found) => match found.first() {
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
        Problem::Unpatchable(refusal)
    }
}

/// Does a verb to a task of an inspected text. States that the file cannot hold come out in the moves alone.
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

/// Refuses places at which there is no task.
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

/// Returns the plan and how its dialect edits it, where it may be changed at all.
fn changeable(inspection: &Inspection) -> Result<(&LinkedPlan, &'static dyn Edits), Problem> {
    let linked = inspection.plan.as_ref().ok_or(Problem::NoPlan)?;
    let edits = linked.dialect.edits().ok_or(Problem::NoPlan)?;
    let is_wrapped = inspection
        .carrier
        .is_some_and(|(carrier, span)| carrier == CarrierKind::Json && span != inspection.source.span());
    if is_wrapped {
        return Err(Problem::field(
            "the plan stands inside other text, which is how an answer looks, not a plan".to_owned(),
            "`planwright check` reports how to get the plan out of it".to_owned(),
        ));
    }
    match edits.refuses_changes(&linked.plan) {
        Some((message, help)) => Err(Problem::field(message.to_owned(), help.to_owned())),
        None => Ok((linked, edits)),
    }
}
