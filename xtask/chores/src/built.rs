//! planwright's own binary, as cargo builds it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use planwright_testkit::TempFolder;

/// Builds the binary, with further arguments for cargo, and returns a copy and its folder, which is removed when dropped.
/// The next build does not disturb a long use of the copy.
pub(crate) fn copy(args: &[&str]) -> anyhow::Result<(TempFolder, PathBuf)> {
    let built = binary(args)?;
    let folder = TempFolder::new()?;
    let copy = folder.path().join("planwright");
    std::fs::copy(&built, &copy).with_context(|| format!("{} could not be copied", built.display()))?;
    Ok((folder, copy))
}

/// Builds the shipped binary, and returns its path.
pub(crate) fn shipped() -> anyhow::Result<PathBuf> {
    binary(&["--profile", "dist"])
}

/// Builds the binary, with further arguments for cargo, and returns its path.
pub(crate) fn binary(args: &[&str]) -> anyhow::Result<PathBuf> {
    let out = Command::new(env!("CARGO"))
        .args(["build", "--package", "planwright", "--message-format=json"])
        .args(args)
        .stderr(Stdio::inherit())
        .output()?;
    anyhow::ensure!(out.status.success(), "the build failed");
    let text = String::from_utf8_lossy(&out.stdout);
    let executable = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| {
            let is_ours = message["target"]["name"] == "planwright";
            message["executable"].as_str().filter(|_| is_ours).map(PathBuf::from)
        });
    executable.context("cargo named no executable")
}
