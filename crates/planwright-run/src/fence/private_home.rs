//! A private settings folder for a fenced agent that creates files next to its settings. It links to the user's files, which stay
//! protected.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::symlink;

use super::tables::{AGENTS, PrivateHome};

/// The name of the folder among the temporary files of a process.
const FOLDER: &str = "agent-home";

/// Creates the folder for an agent that needs one. Returns the variable that points the agent to it.
pub(super) fn make(
    agent: &str,
    environment: &[(OsString, OsString)],
    temporary: &Path,
) -> io::Result<Option<(OsString, OsString)>> {
    let rows = AGENTS.iter().find(|rows| rows.name == agent);
    let Some(PrivateHome { variable, inner }) = rows.and_then(|rows| rows.private_home) else {
        return Ok(None);
    };
    let named = |name: &str| {
        let found = environment.iter().rfind(|(known, _)| known == name);
        found
            .map(|(_, value)| PathBuf::from(value))
            .filter(|path| path.is_absolute())
    };
    let Some(users) = named(variable).or_else(|| named("HOME")) else {
        return Ok(None);
    };
    let home = temporary.join(FOLDER);
    let own = home.join(inner);
    fs::create_dir_all(&own)?;
    for entry in fs::read_dir(users.join(inner)).into_iter().flatten().flatten() {
        if !is_passing(&entry.file_name()) {
            symlink(&entry.path(), &own.join(entry.file_name()))?;
        }
    }
    Ok(Some((variable.into(), home.into())))
}

/// Returns whether a file is a lock or a list of the process that made it.
fn is_passing(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.ends_with(".lock") || name.ends_with(".tmp") || name == "projects.json"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn settings_are_links_and_new_files_are_not_the_users() {
        let folder = tempfile::tempdir().expect("a folder");
        let users = folder.path().join("home/.gemini");
        fs::create_dir_all(users.join("tmp")).expect("ours");
        for name in ["settings.json", "projects.json"] {
            fs::write(users.join(name), "{}").expect("ours");
        }
        let environment = [(OsString::from("HOME"), folder.path().join("home").into_os_string())];
        let (variable, home) = make("gemini", &environment, folder.path()).expect("made").expect("one");
        assert_eq!(variable, "GEMINI_CLI_HOME");
        let own = PathBuf::from(home).join(".gemini");
        assert_eq!(
            fs::read_link(own.join("settings.json")).expect("a link"),
            users.join("settings.json")
        );
        assert!(!own.join("projects.json").exists() && own.join("tmp").is_dir());
        assert_eq!(make("claude", &environment, folder.path()).expect("none"), None);
    }
}
