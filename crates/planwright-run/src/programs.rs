//! Finds programs on the search path, except in relative entries and in workspaces.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The default search path of the system.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The variable that marks commands of planwright's own, and processes that they leave behind, as git's housekeeping: those are not ended
/// with the agents.
pub(crate) const OWN_COMMAND: &str = "PLANWRIGHT_OWN_COMMAND";

/// Returns the path of a program on our own search path.
pub fn program(name: &str) -> Option<PathBuf> {
    program_in(&search_path(std::env::var_os("PATH")), OsStr::new(name))
}

/// Returns a command of a program on our own search path.
pub fn command(name: &str) -> io::Result<Command> {
    let program = program(name).ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.env(OWN_COMMAND, "1");
    Ok(command)
}

pub(crate) fn search_path(path: Option<OsString>) -> OsString {
    path.unwrap_or_else(|| OsString::from(USUAL_PATH))
}

pub(crate) fn program_in(path: &OsStr, name: &OsStr) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| file_names(name).into_iter().map(move |name| folder.join(name)))
        .find(|path| is_program(path))
}

#[cfg(not(windows))]
fn file_names(name: &OsStr) -> Vec<OsString> {
    vec![name.to_owned()]
}

#[cfg(windows)]
fn file_names(name: &OsStr) -> Vec<OsString> {
    let with = |extension: &str| {
        let mut file = name.to_owned();
        file.push(extension);
        file
    };
    [".exe", ".cmd", ".bat"].map(with).to_vec()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
