//! Programs that the chores need in addition to Rust: installs them if possible, and otherwise names them.

use std::process::{Command, Stdio};

/// The installers of common systems, with their arguments.
const INSTALLERS: &[(&str, &[&str])] = &[
    ("apt-get", &["install", "-y", "--no-install-recommends"]),
    ("dnf", &["install", "-y"]),
    ("apk", &["add"]),
    ("pacman", &["-S", "--noconfirm"]),
    ("zypper", &["--non-interactive", "install"]),
    ("brew", &["install"]),
];

/// Installs git if it is missing: runs and tests need it. Also tries to install git-lfs, without which
/// one test is skipped.
#[expect(clippy::print_stdout, reason = "a chore prints to its user")]
pub fn git() -> anyhow::Result<()> {
    install("git", &["--version"], &[])?;
    if let Err(why) = install("git-lfs", &["version"], &[]) {
        println!("── {why}: tests with git-lfs are skipped");
    }
    Ok(())
}

/// Tries to install the toolchains with which the first run in a repository is tested. Without one of them,
/// its test is skipped.
#[expect(clippy::print_stdout, reason = "a chore prints to its user")]
pub fn toolchains() {
    let wanted: [(&str, &str, Packages); 3] = [
        ("python3", "--version", &[("brew", "python")]),
        ("npm", "--version", &[("brew", "node")]),
        ("go", "version", &[("apt-get", "golang-go"), ("dnf", "golang")]),
    ];
    for (program, question, packages) in wanted {
        if let Err(why) = install(program, &[question], packages) {
            println!("── {why}: tests with {program} are skipped");
        }
    }
}

/// Tries to install the shells in which completions are tested. Without one of them, its test is
/// skipped.
#[expect(clippy::print_stdout, reason = "a chore prints to its user")]
pub fn shells() {
    for shell in ["zsh", "fish"] {
        if let Err(why) = install(shell, &["--version"], &[]) {
            println!("── {why}: completions for {shell} are not tested");
        }
    }
}

/// The packages of a program by installer, if their names differ from the program's.
type Packages = &'static [(&'static str, &'static str)];

#[expect(clippy::print_stdout, reason = "a chore prints to its user")]
fn install(name: &str, question: &[&str], packages: Packages) -> anyhow::Result<()> {
    if answers(name, question) {
        return Ok(());
    }
    let found = INSTALLERS.iter().find(|(program, _)| answers(program, &["--version"]));
    let Some((program, arguments)) = found else {
        anyhow::bail!("the tests need {name}: install it and try again");
    };
    let named = packages.iter().find(|(installer, _)| installer == program);
    let package = named.map_or(name, |(_, package)| package);
    println!("── installing {name}: {program} {} {package}", arguments.join(" "));
    if *program == "apt-get" {
        // A fresh machine has no list of packages.
        let _ = Command::new(program).arg("update").status();
    }
    let installed = Command::new(program).args(*arguments).arg(package).status()?;
    anyhow::ensure!(
        installed.success() && answers(name, question),
        "the tests need {name}. Could not install it: {program} {} {package}",
        arguments.join(" ")
    );
    Ok(())
}

/// Checks that there is a C++ compiler, which only the fuzzer needs.
pub fn cpp_compiler() -> anyhow::Result<()> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    anyhow::ensure!(
        answers(&compiler, &["--version"]),
        "the fuzzer is built with a C++ compiler, and `{compiler}` could not be started: install `g++` (Debian, Ubuntu, Alpine), `gcc-c++` (Fedora), \
         `gcc` (Arch) or the command line tools of Xcode (macOS), or name one in CXX"
    );
    Ok(())
}

/// Returns whether a program can be started and succeeds with these arguments.
pub fn answers(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    let quiet = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    quiet
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
