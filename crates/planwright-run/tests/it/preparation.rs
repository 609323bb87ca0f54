//! Preparation of checkouts, with real files: what is copied, what is created again, and what is refused.

use std::fs;
use std::os::unix::fs::symlink;

use planwright_run::config::{Command, ConfigLevel, RunConfig, assemble};
use planwright_run::preparation::{Preparation, PreparationError};

use crate::config::source;
use crate::git::Sample;

fn run(text: &str) -> RunConfig {
    assemble(vec![source(ConfigLevel::Project, text)], &[], &[]).config.run
}

fn prepared(sample: &Sample, text: &str) -> Preparation {
    Preparation::of(&run(text), &sample.repository(), &sample.root).expect("it can be prepared")
}

#[test]
fn packages_and_settings_of_the_machine_are_copied_without_configuration() {
    let sample = Sample::new();
    sample.write(".gitignore", "node_modules/\n.env\ntarget/\n*.log\n");
    sample.write("package.json", "{}\n");
    sample.commit("A package");
    for file in [
        "node_modules/x/index.js",
        "packages/a/node_modules/y/index.js",
        ".env",
        "target/big",
        "x.log",
    ] {
        sample.write(file, "x\n");
    }
    let found = prepared(&sample, "");
    assert_eq!(found.copy, [".env", "node_modules", "packages/a/node_modules"]);
    assert_eq!(found.setup, []);
}

#[test]
fn prepared_files_are_copies_not_links() {
    let sample = Sample::new();
    sample.write("data/one", "1\n");
    sample.write("own.txt", "the user's own\n");
    fs::create_dir_all(sample.root.join("data/bin")).expect("a folder");
    symlink("../one", sample.root.join("data/bin/link")).expect("a link");
    let found = prepared(&sample, "[run]\ncopy = [\"./data/\", \"own.txt\", \"missing\"]\n");
    assert_eq!(found.copy, ["data", "own.txt"]);
    assert_eq!(found.remarks, ["run.copy: there is no `missing` in the workspace"]);
    let to = tempfile::tempdir().expect("a folder");
    fs::write(to.path().join("own.txt"), "the checkout's own\n").expect("written");
    found.copy_into(&sample.root, to.path()).expect("copied");
    assert_eq!(
        fs::read_to_string(to.path().join("data/bin/link")).expect("a link"),
        "1\n"
    );
    assert!(
        fs::symlink_metadata(to.path().join("data/bin/link"))
            .expect("a link")
            .is_symlink()
    );
    assert_eq!(
        fs::read_to_string(to.path().join("own.txt")).expect("a file"),
        "the checkout's own\n"
    );
    fs::write(to.path().join("data/one"), "changed by an agent\n").expect("written");
    assert_eq!(sample.read("data/one"), "1\n");
}

#[test]
fn paths_outside_of_the_workspace_and_virtual_environments_are_refused() {
    let sample = Sample::new();
    sample.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
    for path in ["../x", "/etc/passwd", "", "a/../../b", ".git", ".git/config"] {
        let config = run(&format!("[run]\ncopy = [{path:?}]\n"));
        let refused = Preparation::of(&config, &sample.repository(), &sample.root);
        assert!(matches!(refused, Err(PreparationError::Outside(_))), "{path}");
    }
    let refused = Preparation::of(&run("[run]\ncopy = [\".venv\"]\n"), &sample.repository(), &sample.root);
    assert!(matches!(refused, Err(PreparationError::VirtualEnvironment(_))));
}

#[test]
fn a_virtual_environment_is_created_again() {
    let sample = Sample::new();
    sample.write(".gitignore", ".venv/\n");
    sample.write("requirements.txt", "\n");
    sample.write(".venv/pyvenv.cfg", "home = /nowhere/bin\n");
    let words = |words: &[&str]| Command::Words(words.iter().map(|word| (*word).to_owned()).collect());
    let found = prepared(&sample, "");
    assert_eq!(found.copy, [""; 0]);
    let install = [
        ".venv/bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    let expected = [
        words(&["python3", "-m", "venv", ".venv"]),
        words(&[install.as_slice(), &["-r", "requirements.txt"]].concat()),
    ];
    assert_eq!(found.setup, expected);
    let found = prepared(&sample, "[run]\nsetup = [\"true\"]\n");
    assert_eq!(found.setup, [Command::Shell("true".to_owned())]);
}

#[test]
fn nothing_that_is_copied_leads_back_to_the_workspace() {
    let sample = Sample::new();
    sample.write(".gitignore", "node_modules\n.env\n");
    sample.write("package.json", "{}\n");
    sample.commit("A package");
    sample.write("node_modules/x/index.js", "x\n");
    symlink(sample.root.join("node_modules/x"), sample.root.join("node_modules/y")).expect("a link");
    symlink("x", sample.root.join("node_modules/z")).expect("a link");
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("env"), "A=1\n").expect("a file");
    symlink(outside.path().join("env"), sample.root.join(".env")).expect("a link");
    let checkout = tempfile::tempdir().expect("a folder");
    prepared(&sample, "")
        .copy_into(&sample.root, checkout.path())
        .expect("copied");
    for written in ["node_modules/y/index.js", "node_modules/z/index.js", ".env"] {
        fs::write(checkout.path().join(written), "changed\n").expect("it is there");
    }
    assert_eq!(
        fs::read_to_string(sample.root.join("node_modules/x/index.js")).expect("a file"),
        "x\n"
    );
    assert_eq!(fs::read_to_string(outside.path().join("env")).expect("a file"), "A=1\n");
}
