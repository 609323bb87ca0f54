//! Installs a tool in the version that is compared, into a folder of its own. The one step that needs a network.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

/// Where a tool comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Package {
    /// Built here, from this repository.
    Own,
    /// From npm, by this name.
    Npm(&'static str),
    /// From npm, by this name with the system and its processor at the end.
    NpmPerSystem(&'static str),
    /// From Python's registry.
    Pip(&'static str),
    /// From Rust's registry, compiled here.
    Cargo(&'static str),
    /// From Debian, unpacked without being installed.
    Debian(&'static str),
}

/// A tool to be installed.
pub(super) struct Wanted {
    pub(super) program: &'static str,
    pub(super) package: Package,
    pub(super) version: &'static str,
}

/// Returns the program, after installing it where it is not there yet.
#[expect(clippy::print_stderr, reason = "a chore talks to its user")]
pub(super) fn installed(wanted: &Wanted, scratch: &Path) -> anyhow::Result<PathBuf> {
    if let Package::Own = wanted.package {
        return crate::built::shipped();
    }
    let folder = scratch.join(format!("{}-{}", wanted.program, wanted.version));
    let program = folder.join(place(wanted));
    // A mark that is made last: an installation may have been interrupted.
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

/// Returns what installs it, as a user would type it.
pub(super) fn shown(wanted: &Wanted) -> String {
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

/// Returns where the program lies in its folder.
fn place(wanted: &Wanted) -> String {
    let folder = match wanted.package {
        Package::Own | Package::Pip(_) | Package::Cargo(_) => "bin",
        Package::Npm(_) | Package::NpmPerSystem(_) => "node_modules/.bin",
        Package::Debian(_) => "usr/bin",
    };
    format!("{folder}/{}", wanted.program)
}

fn commands(wanted: &Wanted, folder: &Path) -> Vec<Command> {
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

/// Returns the system and its processor as npm's packages name them.
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
    archives.next().context("nothing was fetched")
}

/// Runs a step; its reason where it fails is the last line that it printed.
fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{name} is not there"))?;
    let said = String::from_utf8_lossy(&out.stderr);
    let reason = said
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("no reason given");
    anyhow::ensure!(out.status.success(), "{name} failed: {}", reason.trim());
    Ok(())
}
