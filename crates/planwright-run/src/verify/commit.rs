//! The commit that a folder is at, as git tells it.

use std::path::Path;
use std::process::{Command, Stdio};

/// Variables with which git would look elsewhere than in the folder.
const MISLEADING: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
];

/// Returns the commit that is checked out in a folder; none without git, a repository or a commit.
pub fn commit(folder: &Path) -> Option<String> {
    let mut command = Command::new("git");
    for name in MISLEADING {
        command.env_remove(name);
    }
    let ran = command
        .args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
        .current_dir(folder)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let name = std::str::from_utf8(&ran.stdout).ok()?.trim();
    let is_commit = matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    (ran.status.success() && is_commit).then(|| name.to_owned())
}
