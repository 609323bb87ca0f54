//! From a bare repository to verified work on the user's branch, in four commands typed at a terminal, for four languages.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Stdio};

use planwright_testkit::TempFolder;

/// An agent with the name and the output of Claude Code: it plans if asked for a plan, and otherwise writes a file for each task.
const CLAUDE: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo '2.1.325 (Claude Code)'; exit 0; fi
case $(cat) in
*'one task of a plan'*)
    echo "$PLANWRIGHT_TASK" > "made-$PLANWRIGHT_TASK.txt"
    text=Made ;;
*)
    text='The plan:\n\n```markdown\n# Limit calls\n\n<!-- planwright: explicit dependencies -->\n\n- [ ] T1: Count calls\n- [ ] T2: Refuse calls over the limit (needs T1)\n```' ;;
esac
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"'"$text"'","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":5}}'
"#;

const COMMANDS: [&str; 4] = ["init", "plan \"Limit how often a client may call\"", "run", "land"];

/// Runs a shell line in a terminal of its own, and returns everything sent to the terminal.
fn at_a_terminal(folder: &Path, bin: &Path, line: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let ran = Command::new("script")
        .args(["-q", "-e", "-c", line, "/dev/null"])
        .current_dir(folder)
        .env("SHELL", "/bin/sh")
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("PLANWRIGHT", env!("CARGO_BIN_EXE_planwright"))
        .env("XDG_STATE_HOME", bin.join("state"))
        .env("XDG_CONFIG_HOME", bin.join("config"))
        .env("NO_COLOR", "1")
        .env_remove("VISUAL")
        .env_remove("EDITOR")
        .stdin(Stdio::null())
        .output()
        .expect("script, which the caller has looked for");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let ran = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git, which these tests need");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("text")
}

fn is_there(program: &str, question: &str) -> bool {
    let asked = Command::new(program).arg(question).stdin(Stdio::null()).output();
    asked.is_ok_and(|answer| answer.status.success())
}

/// Types the four commands in a repository with these files, and checks that verified work is on the user's branch.
#[expect(clippy::print_stderr, reason = "a skipped test must say that it was skipped")]
fn first_run(tool: (&str, &str), files: &[(&str, &str)], verification: &str) {
    for (program, question) in [tool, ("script", "--version")] {
        if !is_there(program, question) {
            eprintln!("skipped: there is no `{program}` on this machine");
            return;
        }
    }
    let folder = TempFolder::new().expect("a folder");
    let (root, bin) = (folder.path().join("project"), folder.path().join("bin"));
    for folder in [&root, &bin] {
        std::fs::create_dir(folder).expect("ours");
    }
    std::fs::write(bin.join("claude"), CLAUDE).expect("ours");
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755)).expect("ours");
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
        std::fs::write(path, text).expect("ours");
    }
    git(&root, &["init", "-q", "-b", "main"]);
    for setting in [["user.name", "t"], ["user.email", "t@example.org"]] {
        git(&root, &["config", setting[0], setting[1]]);
    }
    git(&root, &["add", "--all"]);
    git(&root, &["commit", "-q", "-m", "Begin"]);
    let sent: Vec<String> = COMMANDS
        .iter()
        .map(|command| at_a_terminal(&root, &bin, &format!("\"$PLANWRIGHT\" {command}; echo exit=$?")))
        .collect();
    for (command, sent) in COMMANDS.iter().zip(&sent) {
        assert!(sent.contains("exit=0"), "planwright {command}:\n{sent}");
    }
    assert!(
        sent[0].contains(verification) && sent[0].contains("passed in"),
        "{}",
        sent[0]
    );
    assert!(sent[0].contains("next: planwright plan \"GOAL\""), "{}", sent[0]);
    assert!(sent[2].contains("2 verified by commands"), "{}", sent[2]);
    let config = std::fs::read_to_string(root.join("planwright.toml")).expect("a configuration");
    assert!(config.contains("agent = \"claude\""), "{config}");
    for task in ["T1", "T2"] {
        let made = root.join(format!("made-{task}.txt"));
        assert_eq!(std::fs::read_to_string(made).expect("its work"), format!("{task}\n"));
    }
    let log = git(&root, &["log", "--format=%s", "main"]);
    assert!(
        log.contains("T1: Count calls") && log.contains("T2: Refuse calls"),
        "{log}"
    );
}

#[test]
fn in_a_python_repository() {
    let test = "import unittest\nfrom limit import LIMIT\n\nclass Test(unittest.TestCase):\n    def test_limit(self):\n        self.assertEqual(LIMIT, 3)\n";
    let files = [("limit.py", "LIMIT = 3\n"), ("test_limit.py", test)];
    first_run(("python3", "--version"), &files, "python3 -m ");
}

#[test]
fn in_a_javascript_repository() {
    let manifest = r#"{"name": "limit", "version": "1.0.0", "scripts": {"test": "node check.js"}}"#;
    let files = [
        ("package.json", manifest),
        ("check.js", "if (require('./limit.js') !== 3) process.exit(1);\n"),
        ("limit.js", "module.exports = 3;\n"),
    ];
    first_run(("npm", "--version"), &files, "npm test");
}

#[test]
fn in_a_rust_repository() {
    let manifest = "[package]\nname = \"limit\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let source = "pub const LIMIT: u32 = 3;\n\n#[test]\nfn limit() {\n    assert_eq!(LIMIT, 3);\n}\n";
    let files = [
        ("Cargo.toml", manifest),
        ("src/lib.rs", source),
        (".gitignore", "/target\n/Cargo.lock\n"),
    ];
    first_run(("cargo", "--version"), &files, "cargo test");
}

#[test]
fn in_a_go_repository() {
    let files = [
        ("go.mod", "module limit\n\ngo 1.18\n"),
        ("limit.go", "package limit\n\nconst Limit = 3\n"),
        (
            "limit_test.go",
            "package limit\n\nimport \"testing\"\n\nfunc TestLimit(t *testing.T) {\n\tif Limit != 3 {\n\t\tt.Fatal(Limit)\n\t}\n}\n",
        ),
    ];
    first_run(("go", "version"), &files, "go test ./...");
}
