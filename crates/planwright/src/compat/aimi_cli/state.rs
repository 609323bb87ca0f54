//! The one-line state files next to the tasks, in which a session stores its position.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use super::super::write;

/// The folder of the session, relative to the current one.
pub(super) const FOLDER: &str = ".aimi";

/// The path of the tasks file.
pub(super) const TASKS: &str = "current-tasks";
/// The branch to work on.
pub(super) const BRANCH: &str = "current-branch";
/// The id of the active story.
pub(super) const STORY: &str = "current-story";
/// The result of the last story.
pub(super) const LAST_RESULT: &str = "last-result";
/// The path of this command line, for later sessions.
pub(super) const CLI_PATH: &str = "cli-path";

/// The limit of a state; the rest is not read.
const MAX_BYTES: u64 = 64 * 1024;

/// Returns the content of a state file, without its final line breaks; empty if it does not exist.
pub(super) fn read(name: &str) -> String {
    let path = Path::new(FOLDER).join(name);
    // A pipe or a folder of this name is ignored.
    if !path.is_file() {
        return String::new();
    }
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)) {
        Ok(_) => String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned(),
        Err(_) => String::new(),
    }
}

/// Writes a state file.
pub(super) fn write(name: &str, value: &str) -> io::Result<()> {
    write::write_state(Path::new(FOLDER), name, &format!("{value}\n"))
}

/// Removes a state file, if it exists.
pub(super) fn remove(name: &str) -> io::Result<()> {
    write::remove(&Path::new(FOLDER).join(name)).map(|_| ())
}

/// Removes all state files, and the locks that the original leaves next to them.
pub(super) fn clear() -> io::Result<()> {
    for name in [TASKS, BRANCH, STORY, LAST_RESULT, CLI_PATH] {
        remove(name)?;
    }
    let Ok(entries) = fs::read_dir(FOLDER) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_lock = name == ".state.lock" || (name.ends_with(".lock") && !name.starts_with('.'));
        if is_lock && entry.path().is_file() {
            remove(&name)?;
        }
    }
    Ok(())
}
