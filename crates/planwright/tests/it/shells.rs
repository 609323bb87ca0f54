//! The completion scripts in their shells. A shell that is not installed is skipped, with a note.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::plans;
use crate::run::{Workspace, clido};

/// Returns whether a shell is installed; prints that its test is skipped if not.
#[expect(clippy::print_stderr, reason = "a skipped test must say that it was skipped")]
fn is_installed(shell: &str) -> bool {
    let asked = Command::new(shell).arg("--version").stdin(Stdio::null()).output();
    let is_there = asked.is_ok_and(|answer| answer.status.success());
    if !is_there {
        eprintln!("skipped: there is no `{shell}` on this machine");
    }
    is_there
}

/// Returns a workspace with a plan, an agent and a run.
fn workspace() -> Workspace {
    let workspace = Workspace::new((PLAN, plans::CLIDO), "says done");
    workspace.write("other.json", clido(&["z"]));
    workspace.does(&["run", "other.json"]).exits(0);
    workspace
}

const PLAN: &str = ".clido/plans/plan-a1b2c3d4.json";

/// Returns PATH with the binary under its own name in front.
fn path() -> OsString {
    let binary = Path::new(env!("CARGO_BIN_EXE_planwright"));
    let mut path = binary.parent().expect("a folder").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}

/// Returns command lines to complete, and the expected completions in each shell.
fn cases(workspace: &Workspace) -> Vec<(&'static str, Vec<String>)> {
    let run = workspace.place().id().to_owned();
    vec![
        ("planwright next plan-", vec!["plan-a1b2c3d4".to_owned()]),
        (
            "planwright why -p plan-a1b2c3d4 t",
            ["t1", "t2", "t3", "t4", "t5"].map(str::to_owned).to_vec(),
        ),
        ("planwright summary 2", vec![run]),
        ("planwright run --agent mo", vec!["mock".to_owned()]),
        ("planwright summ", vec!["summary".to_owned()]),
    ]
}

#[test]
fn fish_completes_with_the_script() {
    if !is_installed("fish") {
        return;
    }
    let workspace = workspace();
    workspace.write(
        "planwright.fish",
        workspace.does(&["completions", "fish"]).exits(0).text,
    );
    for (line, offered) in cases(&workspace) {
        let asked = format!("source planwright.fish; complete -C '{line}'");
        let mut command = workspace.command("fish", &["--no-config", "-c", &asked]);
        let ran = command.env("PATH", path()).output().expect("fish starts");
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        let words: Vec<&str> = text.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(words, offered, "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

/// Types a line and a tab in an interactive zsh. What is offered is written to a file, and `end` when the completion is over; after twenty
/// seconds the rest is given up.
const ZSH: &str = r#"
zmodload zsh/zpty
: > offered
zpty shell zsh -f -i
zpty -w shell "source ./setup.zsh"
until [[ -e ready ]] || (( SECONDS > 10 )); do sleep 0.05; done
zpty -w -n shell "$1"$'\t'
until [[ $(<offered) == *end ]] || (( SECONDS > 20 )); do sleep 0.05; zpty -r -t shell drawn; done
zpty -d shell
cat offered
"#;

const ZSH_SETUP: &str = r#"
fpath=($PWD $fpath)
autoload -U compinit
compinit -u -D
LISTMAX=0
compadd() {
    local -a found
    builtin compadd -O found "$@"
    (( $#found )) && print -rl -- $found >> offered
    builtin compadd "$@"
}
capture() {
    zle complete-word
    print end >> offered
}
zle -N capture
bindkey '^I' capture
: > ready
"#;

#[test]
fn zsh_completes_with_the_script() {
    if !is_installed("zsh") {
        return;
    }
    let workspace = workspace();
    workspace.write("_planwright", workspace.does(&["completions", "zsh"]).exits(0).text);
    workspace.write("type.zsh", ZSH);
    workspace.write("setup.zsh", ZSH_SETUP);
    for (line, offered) in cases(&workspace) {
        let mut command = workspace.command("zsh", &["-f", "type.zsh", line]);
        let ran = command
            .env("PATH", path())
            .env("TERM", "xterm")
            .output()
            .expect("zsh starts");
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        let mut words: Vec<&str> = text.lines().filter(|word| *word != "end").collect();
        // The function that adds descriptions looks at the words once before it adds them.
        words.sort_unstable();
        words.dedup();
        assert_eq!(words, offered, "{line}: {text}{}", String::from_utf8_lossy(&ran.stderr));
    }
}
