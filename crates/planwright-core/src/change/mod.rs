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
mod expected;
mod follow;
mod part;
mod regressions;
pub mod rewrite;
pub mod tasks;
mod typed;

use std::collections::HashMap;
use std::fmt;

use crate::diagnostic::{Diagnostic, Replacement};
use crate::dialect::{self, CarrierKind, Choice, Dialect, Edits, LocatedPlan, Note, RecordedMove, RequestHistory};
use crate::document::Parsed;
use crate::document::patch::{self, Patch, PatchRefusal};
use crate::edit::{Halt, Move, PlanRefused, VerbRefusal, VerbRequest, moves};
use crate::inspect::{Inspection, LinkedPlan, inspect_keeping};
use crate::plan::{Plan, State, TaskFate};
use crate::text::{SourceText, Span};
pub use approval::transition_plan;
pub use batch::{Batch, RefusedRequest, RequestResult, TaskRequest, transitions};
use regressions::{Descent, new_errors};

/// A text that may be changed: inspected, with the document that its plan was read from.
pub struct Open {
    /// What is known of it; see [`Open::is_behind`].
    pub inspection: Inspection,
    document: Option<Parsed>,
    /// The text as it is by now, where it was not read again as a whole.
    newer: Option<SourceText>,
}

impl Open {
    /// Reads and checks a text.
    pub fn new(source: &SourceText, choice: &Choice<'_>) -> Self {
        let (inspection, document) = inspect_keeping(source, choice, None);
        Open {
            inspection,
            document,
            newer: None,
        }
    }

    fn of(parsed: Parsed, choice: &Choice<'_>) -> Self {
        let source = parsed.document.source().clone();
        let (inspection, document) = inspect_keeping(&source, choice, Some(parsed));
        Open {
            inspection,
            document,
            newer: None,
        }
    }

    /// Returns what is known of the text, and its document.
    pub fn into_parts(self) -> (Inspection, Option<Parsed>) {
        (self.inspection, self.document)
    }

    /// Returns the text as it is by now.
    pub fn source(&self) -> &SourceText {
        self.newer.as_ref().unwrap_or(&self.inspection.source)
    }

    /// Returns true after a change that was proven without reading the whole text again. The inspection is then that of the text
    /// before, with the new states; what changes the plan further must open the text anew.
    pub fn is_behind(&self) -> bool {
        self.newer.is_some()
    }

    /// Goes over to the text that a change of this one has made.
    pub fn take(&mut self, changed: ChangedText) {
        match changed.reading {
            ProofReading::Whole(open) => *self = *open,
            ProofReading::Part(fates) => {
                if let Some(linked) = &mut self.inspection.plan {
                    fates
                        .iter()
                        .for_each(|(task_ix, fate)| linked.plan.take_fate(*task_ix, *fate));
                }
                if !changed.edits.is_empty() {
                    self.newer = Some(changed.source);
                }
            }
        }
    }
}

/// A change that is ready to be written.
pub struct ChangedText {
    /// The new text.
    pub source: SourceText,
    /// Where it differs from the old one.
    pub edits: Vec<Replacement>,
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
    /// Returns a change that leaves the text as it is.
    fn none(inspection: &Inspection) -> Self {
        ChangedText {
            source: inspection.source.clone(),
            edits: Vec::new(),
            moves: Vec::new(),
            notes: Vec::new(),
            reading: ProofReading::Part(Vec::new()),
        }
    }

    /// Returns a change whose new text was read as a whole.
    fn whole(open: Open, edits: Vec<Replacement>) -> Self {
        ChangedText {
            source: open.inspection.source.clone(),
            edits,
            moves: Vec::new(),
            notes: Vec::new(),
            reading: ProofReading::Whole(Box::new(open)),
        }
    }
}

/// Why a text is left as it is.
#[derive(Debug)]
pub enum Problem {
    /// There is no plan in it, or none with tasks.
    NoPlan,
    /// The plan's form has no place for it.
    Form {
        /// What is in the way.
        message: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// The edit asks for something that the plan or its dialect does not have.
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
            Problem::Form { message, .. } => f.write_str(message),
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
            Problem::Form { help, .. } => (*help).to_owned(),
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

impl From<Halt> for Problem {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Refused(refused) => Problem::Refused(refused),
            Halt::Unread => Problem::Mismatch("a task has moved whose text was not read again".to_owned()),
        }
    }
}

/// Does a verb to a task of an inspected text. States that the file cannot hold come out in the moves alone.
pub fn transition(
    open: &Open,
    choice: &Choice<'_>,
    task_ix: usize,
    request: &VerbRequest<'_>,
) -> Result<ChangedText, Problem> {
    let (linked, recorder) = changeable(&open.inspection)?;
    let LinkedPlan { dialect, plan, links } = linked;
    refuse_missing(plan, [task_ix])?;
    let moves = moves(plan, links, task_ix, request)?;
    if plan.lifecycle.machine.written.is_empty() {
        let unwritten = |step: &Move| (step.task_ix, TaskFate::unwritten(&plan.tasks()[step.task_ix]));
        return Ok(ChangedText {
            reading: ProofReading::Part(moves.iter().map(unwritten).collect()),
            moves,
            ..ChangedText::none(&open.inspection)
        });
    }
    let parsed = open.document.as_ref().ok_or(Problem::NoPlan)?;
    let located = LocatedPlan::new(plan, links, &parsed.document).ok_or(Problem::NoPlan)?;
    let written = moves.iter().filter(|step| step.is_written());
    let recorded_moves: Vec<_> = written.map(|&step| RecordedMove { step, request }).collect();
    let mut changes = Vec::new();
    for recorded in &recorded_moves {
        recorder.record(&located, recorded, &mut changes);
    }
    let history = RequestHistory::new(plan, links, &recorded_moves);
    changes.extend(history.iter().flat_map(|history| recorder.record_course(history)));
    let work = PendingTransitions {
        open,
        choice,
        dialect: *dialect,
        patches: dialect::lower(*dialect, &located, &changes)?,
        located,
        moves,
    };
    match part::write(&work) {
        Some(changed) => {
            debug_assert!(
                part::agrees_with_whole(&work, &changed),
                "the part proves what the whole does"
            );
            Ok(changed)
        }
        None => write(&work),
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

/// Transitions on their way to a new text.
struct PendingTransitions<'a> {
    open: &'a Open,
    choice: &'a Choice<'a>,
    dialect: &'static dyn Dialect,
    located: LocatedPlan<'a>,
    patches: Vec<Patch>,
    moves: Vec<Move>,
}

/// Returns the plan and how its dialect edits it, where it may be changed at all.
fn changeable(inspection: &Inspection) -> Result<(&LinkedPlan, &'static dyn Edits), Problem> {
    let linked = inspection.plan.as_ref().ok_or(Problem::NoPlan)?;
    let edits = linked.dialect.edits().ok_or(Problem::NoPlan)?;
    let is_wrapped = inspection
        .carrier
        .is_some_and(|(carrier, span)| carrier == CarrierKind::Json && span != inspection.source.span());
    if is_wrapped {
        return Err(Problem::Form {
            message: "the plan stands inside other text, which is how an answer looks, not a plan",
            help: "`planwright check` reports how to get the plan out of it",
        });
    }
    match edits.refuses_changes(&linked.plan) {
        Some((message, help)) => Err(Problem::Form { message, help }),
        None => Ok((linked, edits)),
    }
}

/// Makes the new text, reads it, and refuses it where it does not say what was meant, or has errors that the old one does
/// not have.
fn write(work: &PendingTransitions<'_>) -> Result<ChangedText, Problem> {
    let document = work.located.document;
    let (edits, parsed) = patch::lower_parsed(document, &work.patches)?;
    let new = Open::of(parsed, work.choice);
    let worse = new_errors(&work.open.inspection, &new.inspection, Descent::Same);
    if !worse.is_empty() {
        return Err(Problem::Worse(worse));
    }
    verify_states(&work.open.inspection, &new.inspection, &work.moves)?;
    Ok(ChangedText {
        moves: work.moves.clone(),
        ..ChangedText::whole(new, edits)
    })
}

/// Makes sure that the new text gives every task the state it should have, and nothing else has moved.
fn verify_states(old: &Inspection, new: &Inspection, moves: &[Move]) -> Result<(), Problem> {
    let mismatch = |what: String| Err(Problem::Mismatch(what));
    let (Some(old), Some(new)) = (&old.plan, &new.plan) else {
        return mismatch("the new text holds no plan".to_owned());
    };
    let (old_plan, new_plan) = (&old.plan, &new.plan);
    if old_plan.tasks().len() != new_plan.tasks().len() || old.links.n_edges() != new.links.n_edges() {
        return mismatch("tasks or dependencies have come or gone".to_owned());
    }
    let machine = &old_plan.lifecycle.machine;
    let moved: HashMap<usize, State> = moves.iter().map(|step| (step.task_ix, step.to)).collect();
    for (task_ix, (old_task, new_task)) in old_plan.tasks().iter().zip(new_plan.tasks()).enumerate() {
        let expected = moved.get(&task_ix).copied().or(old_task.status.state());
        // A state that the file cannot hold reads as pending.
        let expected = expected.map(|state| {
            if machine.is_written(state) {
                state
            } else {
                State::Pending
            }
        });
        if new_task.status.state() != expected || old_plan.task_name(task_ix) != new_plan.task_name(task_ix) {
            return mismatch(format!("task `{}` is not as it should be", old_plan.task_name(task_ix)));
        }
    }
    Ok(())
}
