//! The command line itself: help, completions, man pages, colours, and wrong usage.

use crate::language::retired_in;
use crate::plans;
use crate::sandbox::Sandbox;

/// Returns every verb of the command line.
fn verbs() -> Vec<String> {
    let command = planwright::command();
    command
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect()
}

#[test]
fn every_verb_has_help() {
    let sandbox = Sandbox::new();
    let verbs = verbs();
    assert!(verbs.len() >= 10, "{verbs:?}");
    // The originals' command lines have their own help.
    let originals = ["spec-first", "aimi-cli", "clido"];
    for verb in verbs.iter().filter(|verb| !originals.contains(&verb.as_str())) {
        let help = sandbox.run(&[verb, "--help"]).exits(0);
        help.is_decent();
        let out = &help.stdout;
        assert!(
            out.contains("Usage: planwright") && out.contains("--color"),
            "{}",
            help.text()
        );
        let first = out.lines().next().unwrap_or("");
        assert!(
            first.ends_with('.') || first.ends_with(':') || first.contains(' '),
            "`{first}` says nothing"
        );
        assert_eq!(retired_in(out), [""; 0], "{verb}: {out}");
        let short = sandbox.run(&[verb, "-h"]).exits(0);
        assert!(short.stdout.contains("Usage:"), "{}", short.text());
    }
}

#[test]
fn help_of_all() {
    let sandbox = Sandbox::new();
    sandbox.run(&["--help"]).exits(0).is_as_in("help");
    let help = sandbox.run(&["help", "--all"]).exits(0);
    for verb in verbs() {
        assert!(
            help.stdout.contains(&format!("\n  {verb}")),
            "{verb} is not in\n{}",
            help.text()
        );
    }
    help.is_as_in("help-all");
    sandbox.run(&["check", "--help"]).exits(0).is_as_in("help-check");
    let version = sandbox.run(&["--version"]).exits(0).stdout;
    assert_eq!(version, format!("planwright {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_is_status_two() {
    let sandbox = Sandbox::with(&[("plan.json", plans::CLIDO)]);
    for args in [
        &[][..],
        &["chekc"],
        &["check", "--no-such-option"],
        &["check", "--format", "xml"],
        &["check", "--explain", "cycle", "--fix"],
        &["check", "--color", "sometimes"],
        &["show", "plan.json", "other.json"],
        &["show", "--dialect", "none", "plan.json"],
        &["hash"],
        &["completions"],
        &["completions", "csh"],
        &["man", "chekc"],
    ] {
        let ran = sandbox.run(args).exits(2);
        assert!(
            ran.is_decent().stdout.is_empty() && !ran.stderr.is_empty(),
            "{}",
            ran.text()
        );
    }
    sandbox.run(&["chekc"]).is_as_in("usage-unknown-verb");
}

#[test]
fn completions_of_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "fish", "powershell", "zsh"] {
        let script = sandbox.run(&["completions", shell]).exits(0).stdout;
        assert!(script.contains("__complete"), "{script}");
    }
    let elvish = sandbox.run(&["completions", "elvish"]).exits(0).stdout;
    let asked = sandbox.run(&["__complete", ""]).exits(0).stdout;
    for verb in verbs() {
        assert!(elvish.contains(&verb), "elvish does not know `{verb}`");
        assert!(asked.contains(&format!("{verb}\t")), "`{verb}` is not completed");
    }
}

#[test]
fn manual_pages_of_every_verb() {
    let sandbox = Sandbox::new();
    let main = sandbox.run(&["man"]).exits(0).stdout;
    assert!(main.contains(".TH planwright 1"), "{main}");
    for verb in verbs() {
        let page = sandbox.run(&["man", &verb]).exits(0).stdout;
        assert!(page.contains(&format!(".TH planwright-{verb} 1")), "{page}");
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
}

#[test]
fn colours_are_used_only_on_terminals_or_on_request() {
    let files = [("bad.json", plans::CLIDO_BAD)];
    let has_colour = |sandbox: &Sandbox, args: &[&str]| {
        let ran = sandbox.run(args);
        ran.stdout.contains('\u{1b}') || ran.stderr.contains('\u{1b}')
    };
    let plain = Sandbox::with(&files);
    for args in [
        &["check", "bad.json"][..],
        &["show", "bad.json"],
        &["graph", "bad.json"],
        &["why", "t1", "-p", "bad.json"],
        &["check", "--explain", "dependency-cycle"],
    ] {
        let always: Vec<&str> = args.iter().copied().chain(["--color", "always"]).collect();
        let never: Vec<&str> = args.iter().copied().chain(["--color", "never"]).collect();
        assert!(!has_colour(&plain, args), "{args:?} on a pipe");
        assert!(has_colour(&plain, &always), "{always:?}");
        let forced = Sandbox::with(&files).set("CLICOLOR_FORCE", "1");
        assert!(has_colour(&forced, args), "{args:?} with CLICOLOR_FORCE");
        assert!(!has_colour(&forced, &never), "{never:?} with CLICOLOR_FORCE");
        let none = Sandbox::with(&files).set("CLICOLOR_FORCE", "1").set("NO_COLOR", "1");
        assert!(!has_colour(&none, args), "{args:?} with NO_COLOR");
        assert!(
            has_colour(&none, &always),
            "{always:?}: a flag goes before the environment"
        );
    }
}

#[test]
fn json_is_never_coloured() {
    let sandbox = Sandbox::with(&[("plan.json", plans::CLIDO)]).set("CLICOLOR_FORCE", "1");
    for args in [
        &["check", "--json", "plan.json"][..],
        &["check", "--format", "sarif", "plan.json"],
        &["show", "--json", "plan.json"],
        &["next", "--json", "plan.json"],
        &["why", "--json", "t1", "-p", "plan.json"],
        &["graph", "--json", "plan.json"],
        &["list", "--json"],
    ] {
        sandbox.run(args).exits(0).json();
    }
}

#[test]
fn a_narrow_terminal_is_respected() {
    let sandbox =
        Sandbox::with(&[("plan.json", &plans::CLIDO.replace("Write it", &"word ".repeat(40)))]).set("COLUMNS", "40");
    for args in [&["show", "plan.json"][..], &["next", "plan.json"]] {
        let ran = sandbox.run(args).exits(0);
        let tasks = ran.stdout.lines().filter(|line| line.contains(" t"));
        let widest = tasks.map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= 48), "{}", ran.text());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let tasks: Vec<String> = (0..20_000)
        .map(|ix| format!("{{\"id\": \"t{ix}\", \"description\": \"x\"}}"))
        .collect();
    let text = format!("{{\"goal\": \"g\", \"tasks\": [{}]}}", tasks.join(",\n"));
    let sandbox = Sandbox::with(&[("plan.json", &text)]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_planwright"))
        .args(["show", "--json", "plan.json"])
        .current_dir(sandbox.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it was started");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn every_verb_takes_its_plan_by_the_same_option() {
    let sandbox = Sandbox::new();
    let path = "other.json";
    sandbox.write(path, plans::CLIDO);
    for verb in ["show", "next", "graph", "history"] {
        let positional = sandbox.run(&[verb, path]).exits(0);
        assert_eq!(
            sandbox.run(&[verb, "--plan", path]).exits(0).stdout,
            positional.stdout,
            "{verb}"
        );
        assert_eq!(
            sandbox.run(&[verb, "-p", path]).exits(0).stdout,
            positional.stdout,
            "{verb}"
        );
        // The same plan twice is one plan; an argument next to another plan is a task for `show`.
        sandbox.run(&[verb, path, "-p", path]).exits(0);
        let other = if verb == "show" { 1 } else { 2 };
        sandbox.run(&[verb, "third.json", "-p", path]).exits(other);
    }
}
