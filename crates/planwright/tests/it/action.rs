//! The GitHub Action: its steps run as on a runner, with the built binary in place of an installed one.

use std::path::Path;
use std::process::Command;

use planwright::core::document::NodeRef;
use planwright::core::document::yaml;
use planwright::core::text::SourceText;
use planwright_testkit::repository;

use crate::plans;
use crate::sandbox::{Ran, Sandbox};

/// A step of the action, with its inputs filled in.
struct Step {
    name: String,
    script: String,
    variables: Vec<(String, String)>,
}

/// Reads the steps of `action.yml`; missing inputs have their defaults.
fn steps(inputs: &[(&str, &str)]) -> Vec<Step> {
    let text = std::fs::read_to_string(repository().join("action.yml")).expect("a readable file");
    let parsed = yaml::parse(&SourceText::new(text));
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let root = parsed.document.root().expect("it holds something");
    let get = |node: NodeRef<'_>, key: &str| node.get(key).map_or(String::new(), |value| value.value().into_owned());
    let input = |name: &str| {
        let given = inputs.iter().find(|(input, _)| *input == name);
        let declared = root
            .get("inputs")
            .and_then(|all| all.get(name))
            .expect("a declared input");
        given.map_or_else(|| get(declared, "default"), |(_, value)| (*value).to_owned())
    };
    let filled = |value: &str| match value
        .strip_prefix("${{ inputs.")
        .and_then(|rest| rest.strip_suffix(" }}"))
    {
        Some(name) => input(name),
        None => value.to_owned(),
    };
    let runs = root.get("runs").expect("an action runs");
    assert_eq!(get(runs, "using"), "composite");
    let steps = runs.get("steps").expect("it has steps").elements().map(|step| {
        assert_eq!(
            get(step, "shell"),
            "bash",
            "a step of a composite action names its shell"
        );
        let variables = step.get("env").into_iter().flat_map(NodeRef::members);
        Step {
            name: get(step, "name"),
            script: get(step, "run"),
            variables: variables
                .map(|member| (member.key.value().into_owned(), filled(&member.value.value())))
                .collect(),
        }
    });
    steps.collect()
}

/// Runs the step with this name in a workspace, like a runner; none without bash, with a note.
#[expect(clippy::print_stderr, reason = "a skipped test must say that it was skipped")]
fn run_step(test: &str, sandbox: &Sandbox, name: &str, inputs: &[(&str, &str)]) -> Option<Ran> {
    let step = steps(inputs)
        .into_iter()
        .find(|step| step.name == name)
        .expect("a step of the action");
    let tools = sandbox.path().join(".tools");
    let script = sandbox.write(".tools/step.sh", &step.script);
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["--noprofile", "--norc", "-e", "-o", "pipefail"])
        .arg(&script)
        .current_dir(sandbox.path())
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("GITHUB_ACTION_PATH", repository())
        .env("RUNNER_TEMP", sandbox.path().join(".runner"))
        .envs(step.variables)
        .output();
    let Ok(output) = output else {
        eprintln!("{test}: skipped, there is no `bash` on this machine");
        return None;
    };
    Some(Ran {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Creates a workspace with the binary at the action's installation path.
fn workspace(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::with(files);
    let folder = sandbox.path().join(".runner/planwright/bin");
    std::fs::create_dir_all(&folder).expect("the folder is ours");
    let binary = Path::new(env!("CARGO_BIN_EXE_planwright"));
    std::os::unix::fs::symlink(binary, folder.join("planwright")).expect("the folder is ours");
    sandbox
}

#[test]
fn inputs_never_become_part_of_a_script() {
    for step in steps(&[]) {
        assert!(!step.script.contains("${{"), "{}", step.script);
        assert!(!step.script.is_empty() && !step.name.is_empty());
    }
}

#[test]
fn the_action_builds_the_binary_outside_of_the_checked_repository() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::with(&[(".tools/cargo", "#!/bin/sh\npwd -P\nprintf '%s\\n' \"$@\"\n")]);
    let cargo = sandbox.path().join(".tools/cargo");
    std::fs::set_permissions(cargo, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let test = "the_action_builds_the_binary_outside_of_the_checked_repository";
    let Some(ran) = run_step(test, &sandbox, "Build planwright", &[]) else {
        return;
    };
    let ran = ran.exits(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let root = std::fs::canonicalize(repository()).expect("it is there");
    let target = sandbox.path().join(".runner/planwright");
    let [folder, "install", "--path", package, "--locked", "--root", to] = lines[..] else {
        panic!("{}", ran.text());
    };
    assert_eq!((Path::new(folder), Path::new(to)), (root.as_path(), target.as_path()));
    let manifest = std::fs::read_to_string(root.join(package).join("Cargo.toml")).expect("a package");
    assert!(manifest.contains("name = \"planwright\"\n"), "{manifest}");
}

#[test]
fn the_action_annotates_findings() {
    let sandbox = workspace(&[
        (".clido/plans/plan-a1b2c3d4.json", plans::CLIDO_BAD),
        ("good/dark mode.json", plans::OPENCRABS),
        ("warning.json", &plans::CLIDO.replace("\"Tidy up\"", "\"\"")),
    ]);
    let run = |inputs: &[(&str, &str)]| run_step("the_action_annotates_findings", &sandbox, "Check plans", inputs);
    let Some(whole) = run(&[]) else {
        return;
    };
    let whole = whole.exits(1);
    for line in [
        "::error file=.clido/plans/plan-a1b2c3d4.json,line=4,",
        "::warning file=warning.json,line=",
    ] {
        assert!(whole.stdout.contains(line), "{}", whole.text());
    }
    let only = |inputs: &[(&str, &str)], status: i32| run(inputs).expect("it ran before").exits(status);
    let good = only(&[("paths", "good/dark mode.json\n")], 0);
    assert_eq!((good.stdout.as_str(), good.stderr.as_str()), ("", ""));
    only(&[("paths", "warning.json\n\ngood\n")], 0);
    only(&[("paths", "warning.json\n\ngood\n"), ("deny", "warnings")], 1);
    only(&[("paths", "good/dark mode.json"), ("dialect", "clido")], 1);
    only(&[("dialect", "no such")], 2);
    only(&[("paths", "gone.json")], 3);
}

#[test]
fn inputs_of_the_action_are_data() {
    let sandbox = workspace(&[("$(touch one)`touch two`;touch three.json", plans::OPENCRABS)]);
    let paths = "$(touch one)`touch two`;touch three.json\n--fix\n";
    let inputs = [("paths", paths), ("dialect", "opencrabs")];
    let Some(ran) = run_step("inputs_of_the_action_are_data", &sandbox, "Check plans", &inputs) else {
        return;
    };
    // The second line is the name of a missing file.
    let ran = ran.exits(3);
    assert!(ran.stdout.contains("file=--fix,"), "{}", ran.text());
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.text());
    for name in ["one", "two", "three.json"] {
        assert!(!sandbox.path().join(name).exists(), "{name}");
    }
}
