//! The configuration in the binary's output: `config`, `agents`, and errors.

use super::sandbox::{Ran, Sandbox};

const USER: &str = ".home/.config/planwright/config.toml";

fn sandbox() -> Sandbox {
    Sandbox::with(&[
        (
            "planwright.toml",
            "[agents.house]\ncommand = [\"./house.sh\", \"{prompt_file}\"]\n\n[run]\nagent = \"house\"\nslots = 2\n\n[run.types]\ntest = \"mine\"\n\n[verify]\nevery = [\"true\"]\n\n[[verify.criteria]]\ntext = \"Typecheck passes\"\nrun = [[\"cargo\", \"check\"]]\n",
        ),
        (
            USER,
            "[agents.mine]\npreset = \"claude\"\nargs = [\"--model\", \"opus\"]\n\n[run]\nslots = 7\ngrace = \"3s\"\n\n[verify]\nallow_plan_commands = true\n",
        ),
    ])
    .set("PATH", "/nowhere")
    .set("PLANWRIGHT_RUN_ATTEMPTS", "2")
}

fn broken() -> Sandbox {
    Sandbox::with(&[
        (
            "planwright.toml",
            "slots = 2\n[run]\nslot = 2\nisolation = \"worktree\"\nwall_limit = 90\n\n[agents.empty]\n\n[verify]\nallow_plan_commands = true\nevery = [\"cargo\", \"test\"]\n",
        ),
        (USER, "[run]\nagent = \"clade\"\n"),
    ])
    .set("PATH", "/nowhere")
    .set("PLANWRIGHT_RUN_SLOTS", "many")
}

#[test]
fn the_configuration_is_shown_with_its_origins() {
    sandbox().run(&["config"]).exits(0).is_decent().is_as_in("config");
    let report = sandbox().run(&["config", "--json"]).exits(0).json();
    assert_eq!(report["schema_version"], "planwright.config/v1");
    assert_eq!(report["sound"], true);
    let settings = report["settings"].as_array().expect("a list");
    let slots = settings
        .iter()
        .find(|setting| setting["key"] == "run.slots")
        .expect("it is set");
    assert_eq!(
        (&slots["value"], &slots["origin"]["level"]),
        (&"2".into(), &"project".into())
    );
    assert_eq!(
        (&slots["origin"]["path"], &slots["origin"]["line"]),
        (&"planwright.toml".into(), &6.into())
    );
}

#[test]
fn errors_in_the_configuration_are_shown() {
    broken().run(&["config"]).exits(1).is_decent().is_as_in("config-broken");
    broken()
        .run(&["config", "--json"])
        .exits(1)
        .is_decent()
        .is_as_in("config-broken-json");
    let ran = broken().run(&["doctor"]).exits(1);
    for text in [
        "[config-user-only]",
        "[config-missing]",
        "environment:1:22",
        "did you mean `claude`?",
    ] {
        assert!(ran.stdout.contains(text), "{text}\n{}", ran.text());
    }
    let report = broken().run(&["doctor", "--json"]).exits(1).json();
    let findings = report["findings"].as_array().expect("a list").iter();
    let of_configuration = findings.filter(|found| found["path"].is_string());
    assert_eq!(of_configuration.count(), 9, "{report:#}");
}

#[test]
fn agents_are_listed() {
    let sandbox = sandbox();
    sandbox.run(&["agents"]).exits(0).is_decent().is_as_in("agents");
    let report = sandbox.run(&["agents", "--json"]).exits(0).json();
    assert_eq!(report["schema_version"], "planwright.agents/v1");
    assert_eq!(report["default"], "house");
    let agents = report["agents"].as_array().expect("a list");
    let names: Vec<&str> = agents.iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "aider", "claude", "clido", "codex", "gemini", "house", "mine", "opencode", "qwen"
        ]
    );
    assert_eq!(agents[6]["origin"]["path"], USER);
    assert_eq!(agents[6]["types"][0], "test");
    assert_eq!(agents[5]["found"], serde_json::Value::Null);
    sandbox.write("house.sh", "#!/bin/sh\n");
    let report = sandbox.run(&["agents", "--json"]).exits(0).json();
    assert!(
        report["agents"][5]["found"]
            .as_str()
            .is_some_and(|path| path.ends_with("house.sh"))
    );
}

#[test]
fn without_agents_the_help_explains_how_to_add_one() {
    let sandbox = Sandbox::new().set("PATH", "/nowhere");
    let ran = sandbox.run(&["agents"]).exits(0);
    assert!(ran.stdout.starts_with("no agents"), "{}", ran.text());
    assert!(ran.stderr.contains("[run]"), "{}", ran.text());
    let ran: Ran = broken().run(&["agents"]).exits(1);
    assert!(ran.stderr.contains("agent `empty` has neither"), "{}", ran.text());
}

#[test]
fn the_folder_for_configurations_can_be_another() {
    let sandbox = Sandbox::with(&[
        ("elsewhere/planwright/config.toml", "[run]\nslots = 9\n"),
        (USER, "[run]\nslots = 7\n"),
    ]);
    let folder = sandbox.path().join("elsewhere").to_string_lossy().into_owned();
    let slots = |sandbox: &Sandbox| {
        let ran = sandbox.run(&["config"]).exits(0);
        let line = ran
            .stdout
            .lines()
            .find(|line| line.starts_with("run.slots"))
            .map(str::to_owned);
        line.unwrap_or_default()
    };
    assert_eq!(slots(&sandbox), format!("run.slots = 7  # {USER}:2"));
    let sandbox = sandbox.set("XDG_CONFIG_HOME", &folder);
    assert_eq!(slots(&sandbox), "run.slots = 9  # elsewhere/planwright/config.toml:2");
    let sandbox = sandbox.set("XDG_CONFIG_HOME", "elsewhere");
    assert_eq!(slots(&sandbox), format!("run.slots = 7  # {USER}:2"));
}

#[test]
fn hostile_configurations_are_shown_escaped() {
    for bytes in [
        b"[run]\nisolation = \"\\u001b[31m\xe2\x80\xae\"\n".to_vec(),
        b"\x1b[31m = 1".to_vec(),
        b"\"\\u001b[2J\" = 1\n[agents.\"a\\nb\"]\ncommand = [\"\\u0007\"]\n".to_vec(),
        b"[agents.x]\ncommand = [\"a\\u001b[31m\", \"{x\\u202e}\"]\nset = { A = \"\\u0007\" }\n".to_vec(),
        b"\xff\xfe[\0r\0u\0n\0]\0".to_vec(),
        vec![b'['; 200_000],
        [
            b"\xef\xbb\xbf".to_vec(),
            "a.".repeat(100_000).into_bytes(),
            b"b = 1".to_vec(),
        ]
        .concat(),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("planwright.toml", &bytes);
        for args in [
            &["config"][..],
            &["config", "--json"],
            &["agents"],
            &["agents", "--json"],
            &["doctor"],
        ] {
            sandbox.run(args).is_decent();
        }
    }
}
