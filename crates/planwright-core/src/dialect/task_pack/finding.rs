//! Findings in the original's words.

use super::js::{JsString, JsValue};
use crate::text::Span;

/// The limit of errors, and of limitations, of a contract. A draft may leave five fields of each task open, which the original counts as
/// errors: the limit is enough for a hundred thousand tasks.
pub const MAX_FINDINGS: usize = 600_000;

/// One finding in the original's words.
#[derive(Clone, Debug)]
pub struct OriginalFinding {
    /// The original's code.
    pub code: String,
    /// The original's sentence.
    pub message: JsString<'static>,
    /// Further members of the original's JSON, in its order.
    pub details: Vec<(&'static str, JsValue)>,
    /// Its span in the pack; empty at the start for a missing part.
    pub span: Span,
}

impl OriginalFinding {
    pub(super) fn new(code: impl Into<String>, message: impl Into<JsString<'static>>, span: Span) -> Self {
        OriginalFinding {
            code: code.into(),
            message: message.into(),
            details: Vec::new(),
            span,
        }
    }

    pub(super) fn with(mut self, key: &'static str, value: JsValue) -> Self {
        self.details.push((key, value));
        self
    }

    pub(super) fn detail(&self, key: &str) -> Option<&JsValue> {
        self.details.iter().find(|(own, _)| *own == key).map(|(_, value)| value)
    }
}

/// The findings about a contract, up to a limit.
pub(super) struct ContractFindings<'o> {
    pub(super) errors: &'o mut Vec<OriginalFinding>,
    /// The original's remarks.
    pub(super) limitations: &'o mut Vec<OriginalFinding>,
}

impl ContractFindings<'_> {
    pub(super) fn error(&mut self, finding: OriginalFinding) {
        push(self.errors, finding);
    }

    pub(super) fn limitation(&mut self, finding: OriginalFinding) {
        push(self.limitations, finding);
    }
}

fn push(list: &mut Vec<OriginalFinding>, finding: OriginalFinding) {
    if list.len() < MAX_FINDINGS {
        list.push(finding);
    }
}
