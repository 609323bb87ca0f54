//! Why a document was not edited.

use std::fmt;

use crate::text::{Span, visible};

/// Why an edit was not made. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchRefusal {
    /// The text was not UTF-8 and holds replacement characters.
    Damaged(Span),
    /// The text has syntax errors, so parts of it are unread.
    Broken,
    /// The YAML stream holds several documents.
    MultiDocument,
    /// Tabs indent or separate parts of the YAML text.
    Tabs,
    /// A carriage return without a line feed ends a line of the YAML text.
    LoneReturn,
    /// The route has no target.
    NotFound {
        /// The route, for people.
        route: String,
        /// The span of the innermost existing value on the route.
        span: Span,
    },
    /// The target of the route has another kind.
    WrongKind {
        /// The kind that the edit requires.
        expected: &'static str,
        /// The existing kind.
        found: &'static str,
        /// The span of the target.
        span: Span,
    },
    /// The route passes through a YAML alias.
    Alias(Span),
    /// The mapping has a merge key.
    MergeKey(Span),
    /// The node has an anchor or a tag, or its key was written with `?`.
    Decorated(Span),
    /// The key occurs twice, so the target is ambiguous.
    RepeatedKey {
        /// The key.
        key: String,
        /// The first span.
        span: Span,
    },
    /// The object already has the key.
    KeyExists {
        /// The key.
        key: String,
        /// The span of the key, or of the object.
        span: Span,
    },
    /// The array is shorter.
    IndexOutOfRange {
        /// The requested index.
        index: usize,
        /// The number of elements.
        n_elements: usize,
        /// The array.
        span: Span,
    },
    /// Two edits overlap.
    Overlap(Span),
    /// A replacement is out of the text's range.
    OutOfRange(Span),
    /// The value cannot be written there.
    Unwritable {
        /// The reason.
        reason: &'static str,
        /// The span of the place.
        span: Span,
    },
    /// The notation has no form for the value.
    NoForm {
        /// The reason.
        reason: &'static str,
        /// The span of the place.
        span: Span,
    },
    /// The edited text would not have the intended meaning.
    Mismatch(Span),
}

impl PatchRefusal {
    /// Returns the span of the obstacle; none for the whole text.
    pub fn span(&self) -> Option<Span> {
        match self {
            PatchRefusal::Broken | PatchRefusal::MultiDocument | PatchRefusal::Tabs | PatchRefusal::LoneReturn => None,
            PatchRefusal::Damaged(span)
            | PatchRefusal::Alias(span)
            | PatchRefusal::MergeKey(span)
            | PatchRefusal::Decorated(span)
            | PatchRefusal::Overlap(span)
            | PatchRefusal::OutOfRange(span)
            | PatchRefusal::Mismatch(span)
            | PatchRefusal::NotFound { span, .. }
            | PatchRefusal::WrongKind { span, .. }
            | PatchRefusal::RepeatedKey { span, .. }
            | PatchRefusal::KeyExists { span, .. }
            | PatchRefusal::IndexOutOfRange { span, .. }
            | PatchRefusal::NoForm { span, .. }
            | PatchRefusal::Unwritable { span, .. } => Some(*span),
        }
    }
}

impl fmt::Display for PatchRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatchRefusal::Damaged(_) => f.write_str("the text is not UTF-8 and is never written back"),
            PatchRefusal::Broken => f.write_str("the text has syntax errors: fix them first"),
            PatchRefusal::MultiDocument => f.write_str("the file holds more than one YAML document"),
            PatchRefusal::Tabs => f.write_str("tabs indent or separate parts of the YAML text: use spaces"),
            PatchRefusal::LoneReturn => {
                f.write_str("a carriage return without a line feed ends a line of the YAML text")
            }
            PatchRefusal::NotFound { route, .. } => write!(f, "there is no `{route}`"),
            PatchRefusal::WrongKind { expected, found, .. } => write!(f, "expected {expected}, found {found}"),
            PatchRefusal::Alias(_) => f.write_str("the place is reached through a YAML alias"),
            PatchRefusal::MergeKey(_) => f.write_str("the mapping takes members from another one by a merge key"),
            PatchRefusal::Decorated(_) => f.write_str("the place has an anchor, a tag or an explicit key"),
            PatchRefusal::RepeatedKey { key, .. } => write!(f, "the key `{}` appears twice", visible(key)),
            PatchRefusal::KeyExists { key, .. } => write!(f, "the key `{}` is already there", visible(key)),
            PatchRefusal::IndexOutOfRange { index, n_elements, .. } => {
                write!(f, "there is no element {index}: the list has {n_elements}")
            }
            PatchRefusal::Overlap(_) => f.write_str("two edits want to change the same bytes"),
            PatchRefusal::OutOfRange(_) => f.write_str("an edit does not fit the text"),
            PatchRefusal::Unwritable { reason, .. } | PatchRefusal::NoForm { reason, .. } => f.write_str(reason),
            PatchRefusal::Mismatch(_) => f.write_str("the edited text would not read as intended"),
        }
    }
}

impl std::error::Error for PatchRefusal {}
