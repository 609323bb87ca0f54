//! Installs the tested version of an agent's command line into a separate folder. Only this step needs a network.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::needs::answers;

use super::clis::AgentCli;

/// Returns the folder with the program, and installs the program if it is missing.
#[expect(clippy::print_stderr, reason = "a chore prints to its user")]
pub(super) fn installed(cli: &AgentCli, scratch: &Path) -> anyhow::Result<PathBuf> {
    let folder = scratch.join("cli").join(format!("{}-{}", cli.name, cli.version));
    let bin = folder.join("node_modules/.bin");
    // Written last, so that an interrupted installation is repeated.
    let mark = folder.join("installed");
    if mark.is_file() {
        return Ok(bin);
    }
    anyhow::ensure!(
        answers("npm", &["--version"]) && answers("node", &["--version"]),
        "{} is installed with npm: install Node.js 20 or newer, which brings it along, and try again",
        cli.name
    );
    std::fs::create_dir_all(&folder)?;
    let package = format!("{}@{}", cli.package, cli.version);
    eprintln!("installing {package} …");
    let status = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(&folder)
        .arg(&package)
        .args(cli.extra_packages)
        .current_dir(&folder)
        .status()?;
    anyhow::ensure!(
        status.success() && bin.join(cli.name).exists(),
        "{package} could not be installed: is there a network?"
    );
    std::fs::write(&mark, "")?;
    Ok(bin)
}
