//! planwright's own binary, as cargo builds it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context as _;

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
