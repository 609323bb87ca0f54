//! Starts the user's editor: `$VISUAL` or `$EDITOR`.

use std::path::Path;
use std::process::ExitStatus;

use planwright_run::programs::command;
use planwright_verbs::text::one_line;
use planwright_verbs::{Failure, Result};

const HELP: &str = "set VISUAL or EDITOR to an editor that is installed";

/// The exit status of a shell that does not find a program.
const NOT_FOUND: i32 = 127;

/// Returns the command of the user's editor, if one is set.
pub(crate) fn editor() -> Option<String> {
    let set = ["VISUAL", "EDITOR"].iter().filter_map(|name| std::env::var(name).ok());
    set.into_iter().find(|editor| !editor.trim().is_empty())
}

/// Opens a file in an editor, and waits until it is closed.
pub(crate) fn open_in(editor: &str, file: &Path) -> Result<ExitStatus> {
    // The variable is the user's own, and may contain options: a shell parses it, as with git.
    let status = command("sh")
        .and_then(|mut shell| {
            shell
                .args(["-c", &format!("{editor} \"$@\""), "editor"])
                .arg(file)
                .status()
        })
        .map_err(|error| Failure::environment(&error, HELP))?;
    match status.code() {
        Some(NOT_FOUND) => Err(Failure::outside(
            format!("the editor `{}` was not found", one_line(editor)),
            HELP,
        )),
        _ => Ok(status),
    }
}
