//! Installs the compared version of a tool into a separate folder. Only this step needs a network.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

/// The source of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) enum Package {
    /// Built from this repository.
    Own,
    /// The name in npm.
    Npm(&'static str),
    /// The name in npm, without the system and the processor at its end.
    NpmPerSystem(&'static str),
    /// The name in PyPI.
    Pip(&'static str),
    /// The name in crates.io, compiled here.
    Cargo(&'static str),
    /// The name in Debian, unpacked without installing it.
    Debian(&'static str),
}

/// A tool to install.
pub(super) struct ToolPackage {
    pub(super) program: &'static str,
    pub(super) package: Package,
    pub(super) version: &'static str,
}

/// Returns the program, and installs it if it is missing.
#[expect(clippy::print_stderr, reason = "a chore prints to its user")]
pub(super) fn installed(wanted: &ToolPackage, scratch: &Path) -> anyhow::Result<PathBuf> {
    if let Package::Own = wanted.package {
        return crate::built::shipped();
    }
    let folder = scratch.join(format!("{}-{}", wanted.program, wanted.version));
    let program = folder.join(place(wanted));
    // Written last, so that an interrupted installation is repeated.
    let mark = folder.join("installed");
    if mark.is_file() {
        return Ok(program);
    }
    eprintln!("installing {} {} …", wanted.program, wanted.version);
    std::fs::create_dir_all(&folder)?;
    for mut command in commands(wanted, &folder) {
        run(command.current_dir(&folder))?;
    }
    if let Package::Debian(_) = wanted.package {
        let archive = archive_in(&folder)?;
        run(Command::new("dpkg-deb").arg("-x").arg(archive).arg(&folder))?;
    }
    anyhow::ensure!(program.exists(), "the package has no {}", place(wanted));
    std::fs::write(&mark, "")?;
    Ok(program)
}

/// Returns the command that installs it, as a user types it.
pub(super) fn shown(wanted: &ToolPackage) -> String {
    let version = wanted.version;
    match wanted.package {
        Package::Own => "`cargo xtask dist`".to_owned(),
        Package::Npm(name) => format!("`npm install {name}@{version}`"),
        Package::NpmPerSystem(name) => format!("`npm install {name}-{}@{version}`", system()),
        Package::Pip(name) => format!("`pip install {name}=={version}`"),
        Package::Cargo(name) => format!("`cargo install {name} --version {version} --locked`"),
        Package::Debian(name) => format!("`apt-get download {name}={version}`, unpacked"),
    }
}

/// Returns the path of the program in its folder.
fn place(wanted: &ToolPackage) -> String {
    let folder = match wanted.package {
        Package::Own | Package::Pip(_) | Package::Cargo(_) => "bin",
        Package::Npm(_) | Package::NpmPerSystem(_) => "node_modules/.bin",
        Package::Debian(_) => "usr/bin",
    };
    format!("{folder}/{}", wanted.program)
}

fn commands(wanted: &ToolPackage, folder: &Path) -> Vec<Command> {
    let version = wanted.version;
    let npm = |package: String| {
        let mut command = Command::new("npm");
        command.args([
            "install",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            "--prefix",
            ".",
        ]);
        command.arg(package);
        vec![command]
    };
    match wanted.package {
        Package::Own => Vec::new(),
        Package::Npm(name) => npm(format!("{name}@{version}")),
        Package::NpmPerSystem(name) => npm(format!("{name}-{}@{version}", system())),
        Package::Pip(name) => {
            let mut command = Command::new("python3");
            command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target", "."]);
            command.arg(format!("{name}=={version}"));
            vec![command]
        }
        Package::Cargo(name) => {
            let mut command = Command::new(env!("CARGO"));
            command.args([
                "install",
                name,
                "--version",
                version,
                "--locked",
                "--quiet",
                "--root",
                ".",
            ]);
            command.env("CARGO_TARGET_DIR", folder.join("target"));
            vec![command]
        }
        Package::Debian(name) => {
            let mut command = Command::new("apt-get");
            command.args(["--quiet", "download", &format!("{name}={version}")]);
            vec![command]
        }
    }
}

/// Returns the system and its processor in npm's spelling.
fn system() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{os}-{processor}")
}

fn archive_in(folder: &Path) -> anyhow::Result<PathBuf> {
    let files = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut archives = files.filter(|path| path.extension().is_some_and(|extension| extension == "deb"));
    archives.next().context("nothing was downloaded")
}

/// Runs a command. If it fails, the error is the last line of its output.
fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{name} is not installed"))?;
    let said = String::from_utf8_lossy(&out.stderr);
    let reason = said
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("no reason given");
    anyhow::ensure!(out.status.success(), "{name} failed: {}", reason.trim());
    Ok(())
}
