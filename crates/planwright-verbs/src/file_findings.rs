//! The findings about one file, with the text that they are drawn in.

use planwright_core::diagnostic::Diagnostic;
use planwright_core::text::SourceText;

pub struct FileFindings {
    /// The path of the file as shown.
    pub path: String,
    pub source: SourceText,
    pub findings: Vec<Diagnostic>,
}
