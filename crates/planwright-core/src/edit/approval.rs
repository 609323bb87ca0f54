//! The effect of a verb on a whole plan, by the dialect's table.

use std::fmt;

use super::moves::allowed_names;
use crate::plan::{PlanMachine, PlanVerb};
use crate::text::visible;

/// A transition of a plan between statuses, in the dialect's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanMove {
    /// Its status before.
    pub from: String,
    /// Its status after.
    pub to: &'static str,
}

/// Why a verb on a whole plan is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanRefused {
    /// The table has no such transition.
    NotAllowed {
        /// The present status of the plan.
        from: String,
        /// The requested verb.
        verb: PlanVerb,
        /// The allowed verbs.
        allowed: Vec<PlanVerb>,
    },
    /// The dialect has no such verb.
    NoSuchVerb {
        /// The requested verb.
        verb: PlanVerb,
        /// What the dialect lacks.
        lacks: &'static str,
        /// The alternative.
        instead: &'static str,
    },
    /// The file gives the plan a status that the dialect does not know.
    UnknownStatus {
        /// The status as written; empty if it is missing.
        written: String,
    },
}

impl PlanRefused {
    /// Returns the next step for the user.
    pub fn help(&self) -> String {
        match self {
            PlanRefused::NotAllowed { allowed, .. } if allowed.is_empty() => {
                "the plan is over; `planwright undo` reverts the last change".to_owned()
            }
            PlanRefused::NotAllowed { allowed, .. } => allowed_names(allowed.iter().map(|verb| verb.as_str())),
            PlanRefused::NoSuchVerb { instead, .. } => (*instead).to_owned(),
            PlanRefused::UnknownStatus { .. } => "correct the status first: `planwright check` shows how".to_owned(),
        }
    }
}

impl fmt::Display for PlanRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanRefused::NotAllowed { from, verb, .. } => {
                write!(f, "cannot {} this plan: it is `{}`", verb.as_str(), visible(from))
            }
            PlanRefused::NoSuchVerb { verb, lacks, .. } => write!(f, "cannot {} this plan: {lacks}", verb.as_str()),
            PlanRefused::UnknownStatus { written } if written.is_empty() => {
                f.write_str("the file does not say what status the plan has")
            }
            PlanRefused::UnknownStatus { written } => write!(
                f,
                "the plan has the status `{}`, which its dialect does not know",
                visible(written)
            ),
        }
    }
}

/// Returns the move of a plan by a verb. `status` is the one in its file; none if it is missing.
pub(crate) fn plan_move(machine: &PlanMachine, status: Option<&str>, verb: PlanVerb) -> Result<PlanMove, PlanRefused> {
    if !machine.has(verb) {
        return Err(PlanRefused::NoSuchVerb {
            verb,
            lacks: machine.lacks,
            instead: machine.instead,
        });
    }
    let from = status.or(machine.unsaid).unwrap_or_default();
    if !machine.knows(from) {
        return Err(PlanRefused::UnknownStatus {
            written: from.to_owned(),
        });
    }
    let to = machine.outcome(from, verb).ok_or_else(|| PlanRefused::NotAllowed {
        from: from.to_owned(),
        verb,
        allowed: machine.allowed(from).collect(),
    })?;
    Ok(PlanMove {
        from: from.to_owned(),
        to,
    })
}
