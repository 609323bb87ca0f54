//! What the chores need beside Rust: installed where that is possible, named where it is not.

use std::process::{Command, Stdio};

/// Ways to install a program, by the program that does it.
const INSTALLERS: &[(&str, &[&str])] = &[
    ("apt-get", &["install", "-y", "--no-install-recommends"]),
    ("dnf", &["install", "-y"]),
    ("apk", &["add"]),
    ("pacman", &["-S", "--noconfirm"]),
    ("zypper", &["--non-interactive", "install"]),
    ("brew", &["install"]),
];

/// Makes sure that git is there: runs keep tasks apart by it, and the tests use the real one. Without git-lfs, which is installed
/// where that is possible, one test is skipped and says so.
#[expect(clippy::print_stdout, reason = "a chore talks to its user")]
pub fn git() -> anyhow::Result<()> {
    install("git", &["--version"], &[])?;
    if let Err(why) = install("git-lfs", &["version"], &[]) {
        println!("── {why}: what is tested with git-lfs is skipped");
    }
    Ok(())
}

/// Makes sure, where that is possible, that the toolchains are there with which the first run in a repository is tested. Without one of them
/// its test is skipped, and says so.
#[expect(clippy::print_stdout, reason = "a chore talks to its user")]
pub fn toolchains() {
    let wanted: [(&str, &str, Packages); 3] = [
        ("python3", "--version", &[("brew", "python")]),
        ("npm", "--version", &[("brew", "node")]),
        ("go", "version", &[("apt-get", "golang-go"), ("dnf", "golang")]),
    ];
    for (program, question, packages) in wanted {
        if let Err(why) = install(program, &[question], packages) {
            println!("── {why}: what is tested with {program} is skipped");
        }
    }
}

/// Makes sure, where that is possible, that the shells are there in which completions are tested. Without one of them its test is skipped,
/// and says so.
#[expect(clippy::print_stdout, reason = "a chore talks to its user")]
pub fn shells() {
    for shell in ["zsh", "fish"] {
        if let Err(why) = install(shell, &["--version"], &[]) {
            println!("── {why}: completions for {shell} are not tested");
        }
    }
}

/// What a program's package is called by some installers, where it is not called as the program.
type Packages = &'static [(&'static str, &'static str)];

#[expect(clippy::print_stdout, reason = "a chore talks to its user")]
fn install(name: &str, question: &[&str], packages: Packages) -> anyhow::Result<()> {
    if answers(name, question) {
        return Ok(());
    }
    let found = INSTALLERS.iter().find(|(program, _)| answers(program, &["--version"]));
    let Some((program, arguments)) = found else {
        anyhow::bail!("the tests need {name}: install it, and try again");
    };
    let named = packages.iter().find(|(installer, _)| installer == program);
    let package = named.map_or(name, |(_, package)| package);
    println!("── {name} is not there: {program} {} {package}", arguments.join(" "));
    if *program == "apt-get" {
        // What can be installed is not known on a fresh machine.
        let _ = Command::new(program).arg("update").status();
    }
    let installed = Command::new(program).args(*arguments).arg(package).status()?;
    anyhow::ensure!(
        installed.success() && answers(name, question),
        "the tests need {name}, and it could not be installed: {program} {} {package}",
        arguments.join(" ")
    );
    Ok(())
}

/// Makes sure that there is a C++ compiler, which the fuzzer is built with; nothing else needs one.
pub fn cpp_compiler() -> anyhow::Result<()> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    anyhow::ensure!(
        answers(&compiler, &["--version"]),
        "the fuzzer is built with a C++ compiler, and `{compiler}` is not there: install `g++` (Debian, Ubuntu, Alpine), `gcc-c++` (Fedora), \
         `gcc` (Arch) or the command line tools of Xcode (macOS), or name one in CXX"
    );
    Ok(())
}

fn answers(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    let quiet = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    quiet
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
