//! The name of the user, for histories and logs.

use std::process::Stdio;

use crate::programs::command;

/// Returns the name of the user: from the environment, otherwise from git's settings, otherwise `unknown`.
pub fn user() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|name| known(std::env::var(name).ok()?));
    let by_git = || {
        let asked = command("git")
            .ok()?
            .args(["config", "--get", "user.name"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        known(String::from_utf8(asked.ok()?.stdout).ok()?)
    };
    named.or_else(by_git).unwrap_or_else(|| "unknown".to_owned())
}

/// Returns the user and the machine, as the owner of a claim.
pub(crate) fn owner_here() -> String {
    format!("{}@{}", user(), machine())
}

#[cfg(unix)]
fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn machine() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "localhost".to_owned())
}

fn known(name: String) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
