//! Templates for prompts, as files of the user.

use std::fs::File;
use std::io;
use std::path::Path;

use planwright_core::prompt::MAX_TEMPLATE_BYTES;
use planwright_run::files::read_bounded;

use crate::failure::Failure;

/// Reads a template.
pub fn read_template(file: File) -> io::Result<String> {
    let bytes = read_bounded(file, 16 * MAX_TEMPLATE_BYTES)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Returns that a template is not there, or is none.
pub fn unreadable_template(path: &Path, error: &io::Error) -> Failure {
    Failure::outside(
        format!("the template `{}` cannot be read: {error}", path.display()),
        "docs/prompts.md describes templates",
    )
}
