//! Installs an agent's command line in the version that is tried, into a folder of its own. The one step that needs a network.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::clis::Cli;

/// Returns the folder with the program, after installing it where it is not there yet.
#[expect(clippy::print_stderr, reason = "a chore talks to its user")]
pub(super) fn installed(cli: &Cli, scratch: &Path) -> anyhow::Result<PathBuf> {
    let folder = scratch.join("cli").join(format!("{}-{}", cli.name, cli.version));
    let bin = folder.join("node_modules/.bin");
    // A mark that is made last: an installation may have been interrupted.
    let mark = folder.join("installed");
    if mark.is_file() {
        return Ok(bin);
    }
    anyhow::ensure!(
        answers(Path::new("npm")) && answers(Path::new("node")),
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
        .args(cli.beside)
        .current_dir(&folder)
        .status()?;
    anyhow::ensure!(
        status.success() && bin.join(cli.name).exists(),
        "{package} could not be installed: is there a network?"
    );
    std::fs::write(&mark, "")?;
    Ok(bin)
}

fn answers(program: &Path) -> bool {
    let mut command = Command::new(program);
    let quiet = command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null());
    quiet
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
