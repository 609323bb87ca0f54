//! The configuration: precedence, errors with their places, and files that must do no harm.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::text::SourceText;
use planwright_run::config::keys::{KEYS, SettingType};
use planwright_run::config::presets::PRESETS;
use planwright_run::config::{
    Agent, Budget, Channel, Command, CommandValues, ConfigFlag, ConfigInputs, ConfigLevel, ConfigSource, Configuration,
    EffectiveSetting, IsolationSetting, OutputFormat, SettingOrigin, SourceKind, assemble, load,
};
use planwright_testkit::TempFolder;
use planwright_testkit::cpu_time::CpuStopwatch;

pub(crate) fn source(level: ConfigLevel, text: &str) -> ConfigSource {
    let path = match level {
        ConfigLevel::User => "config.toml",
        ConfigLevel::Project => "planwright.toml",
    };
    ConfigSource {
        kind: SourceKind::File {
            level,
            path: PathBuf::from(path),
        },
        text: SourceText::new(text),
        findings: Vec::new(),
    }
}

fn project(text: &str) -> Configuration {
    assemble(vec![source(ConfigLevel::Project, text)], &[], &[])
}

fn variables(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Returns findings as `line:column id message (label) help`.
fn told(configuration: &Configuration) -> Vec<String> {
    let mut lines = Vec::new();
    for source in &configuration.sources {
        let index = source.text.line_index();
        for finding in &source.findings {
            let at = finding.span.map_or("-".to_owned(), |span| {
                let position = index.position(span.start);
                format!("{}:{}", position.line, position.column)
            });
            let label = match finding.label.as_str() {
                "" => String::new(),
                label => format!(" ({label})"),
            };
            lines.push(format!("{at} {} {}{label}", finding.rule.id, finding.message));
        }
    }
    lines
}

#[track_caller]
pub(crate) fn sound(configuration: &Configuration) {
    assert_eq!(told(configuration), [""; 0]);
}

/// Checks the findings of a project's file.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(told(&project(text)), expected, "{text}");
}

const WHOLE: &str = r#"
[agents.claude]
args = ["--model", "opus"]
retries = 1

[agents.mine]
command = ["my-agent", "--prompt", "{prompt_file}", "--out={result_file}", "{{task}}"]
output = "codex-json"
env = ["MY_*", "TOKEN"]
set = { MY_MODE = "quiet" }

[run]
agent = "mine"
slots = 3
attempts = 2
backoff = "5s"
wall_limit = "1h30m"
silence_limit = "5m"
grace = "2s"
budget = { cost = 5, tokens = 2_000_000, attempts = 40, duration = "8h" }
task_budget = { cost = 1.5, tokens = 1000, attempts = 3, duration = "90m" }
isolation = "worktrees"
on_interrupted = "ask"
log_cap = "1MiB"

[run.types]
test = "codex"

[verify]
every = ["cargo test --workspace", ["cargo", "clippy"]]
timeout = "3m"

[verify.types.docs]
run = [["make", "docs"]]
timeout = "30s"

[[verify.criteria]]
text = "Typecheck passes"
run = ["cargo check"]

[[verify.criteria]]
pattern = "*tests*pass*"
run = ["cargo test"]

[notify]
command = "notify-send planwright"
"#;

#[test]
fn every_setting_is_read() {
    let configuration = project(WHOLE);
    sound(&configuration);
    let config = &configuration.config;
    let run = &config.run;
    assert_eq!(run.agent.as_deref(), Some("mine"));
    assert_eq!((run.slots, run.retry.attempts), (Some(3), Some(2)));
    let seconds =
        [run.retry.backoff, run.limits.wall, run.limits.silence, run.limits.grace].map(|length| length.as_secs());
    assert_eq!(seconds, [5, 5_400, 300, 2]);
    assert_eq!(
        (run.budgets.run.cost, run.budgets.run.tokens, run.limits.log_bytes),
        (Some(5.0), Some(2_000_000), 1 << 20)
    );
    assert_eq!(
        (run.budgets.run.attempts, run.budgets.run.duration),
        (Some(40), Some(Duration::from_secs(8 * 3_600)))
    );
    let of_task = Budget {
        cost: Some(1.5),
        tokens: Some(1_000),
        attempts: Some(3),
        duration: Some(Duration::from_secs(5_400)),
    };
    assert_eq!(run.budgets.task, of_task);
    assert_eq!(run.checkouts.isolation, IsolationSetting::Checkouts);
    assert_eq!(run.types["test"], "codex");
    let verify = &config.verify;
    assert_eq!(verify.every[0], Command::Shell("cargo test --workspace".to_owned()));
    assert_eq!(verify.every[0].arguments(), ["sh", "-c", "cargo test --workspace"]);
    assert_eq!(verify.every[1].arguments(), ["cargo", "clippy"]);
    assert_eq!(verify.types["docs"].timeout, Duration::from_secs(30));
    let meant: Vec<bool> = verify
        .criteria
        .iter()
        .map(|rule| rule.wanted.fits("All tests pass"))
        .collect();
    assert_eq!(meant, [false, true]);
    assert_eq!(verify.criteria[0].checks.timeout, Duration::from_secs(180));
    assert!(!verify.allow_plan_commands);
    assert!(config.notify.is_some());
}

#[test]
fn defaults_hold_without_any_file() {
    let configuration = assemble(Vec::new(), &[], &[]);
    sound(&configuration);
    let run = &configuration.config.run;
    assert_eq!(
        (run.agent.as_deref(), run.slots, run.retry.attempts),
        (None, None, None)
    );
    assert_eq!(run.limits.wall, Duration::from_secs(3_600));
    assert_eq!(run.limits.log_bytes, 10_000_000);
    let rows: Vec<String> = configuration
        .effective
        .iter()
        .map(|row| format!("{} = {}", row.path, row.value))
        .collect();
    assert!(rows.contains(&"run.wall_limit = \"1h\"".to_owned()), "{rows:#?}");
    assert!(
        configuration
            .effective
            .iter()
            .all(|row| row.origin == SettingOrigin::Default)
    );
}

#[test]
fn defaults_of_the_table_are_valid_values() {
    for key in KEYS.iter().filter(|key| !key.is_user_only) {
        if let Some(default) = key.default {
            let (table, name) = key.path.rsplit_once('.').expect("every key is in a table");
            let written = match key.kind {
                SettingType::Count { .. } | SettingType::Flag => default.to_owned(),
                _ => format!("\"{default}\""),
            };
            sound(&project(&format!("[{table}]\n{name} = {written}\n")));
        }
    }
}

#[test]
fn flags_win_over_the_environment_and_that_over_files() {
    let user = "[run]\nslots = 1\nattempts = 1\nbackoff = \"1s\"\ngrace = \"1s\"\n";
    let own = "[run]\nslots = 2\nattempts = 2\nbackoff = \"2s\"\n";
    let flag = ConfigFlag {
        name: "--slots".to_owned(),
        key: "run.slots",
        value: "4".to_owned(),
    };
    let configuration = assemble(
        vec![source(ConfigLevel::User, user), source(ConfigLevel::Project, own)],
        &variables(&[
            ("PLANWRIGHT_RUN_SLOTS", "3"),
            ("PLANWRIGHT_RUN_ATTEMPTS", "3"),
            ("PLANWRIGHT_RUN_GRACE", ""),
        ]),
        &[flag],
    );
    sound(&configuration);
    let run = &configuration.config.run;
    assert_eq!((run.slots, run.retry.attempts), (Some(4), Some(3)));
    assert_eq!(
        [run.retry.backoff, run.limits.grace, run.limits.wall].map(|length| length.as_secs()),
        [2, 1, 3_600]
    );
    let origin = |path: &str| {
        let row = configuration.effective.iter().find(|row| row.path == path);
        row.map(|row| row.origin.clone()).expect("it holds")
    };
    assert_eq!(origin("run.slots"), SettingOrigin::Flag("--slots".to_owned()));
    assert_eq!(
        origin("run.attempts"),
        SettingOrigin::Variable("PLANWRIGHT_RUN_ATTEMPTS".to_owned())
    );
    let in_file = |level, path: &str, line| SettingOrigin::File {
        level,
        path: PathBuf::from(path),
        line,
        column: if level == ConfigLevel::User { 9 } else { 11 },
    };
    assert_eq!(origin("run.grace"), in_file(ConfigLevel::User, "config.toml", 5));
    assert_eq!(
        origin("run.backoff"),
        in_file(ConfigLevel::Project, "planwright.toml", 4)
    );
    assert_eq!(origin("run.wall_limit"), SettingOrigin::Default);
}

#[test]
fn effective_settings_are_in_the_order_of_the_table_of_keys() {
    let text = "[notify]\ncommand = \"n\"\n[verify]\nevery = [\"v\"]\n[plan]\nagent = \"b\"\n[run]\nagent = \"b\"\n\
                [agents.b]\ncommand = [\"b\"]\n[agents.a]\ncommand = [\"a\"]\n";
    let configuration = project(text);
    let is_set = |row: &&EffectiveSetting| row.origin != SettingOrigin::Default;
    let told: Vec<&str> = configuration
        .effective
        .iter()
        .filter(is_set)
        .map(|row| row.path.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "agents.a.command",
            "agents.b.command",
            "run.agent",
            "plan.agent",
            "verify.every",
            "notify.command"
        ]
    );
}

#[test]
fn lists_replace_and_tables_merge() {
    let user = "[agents.a]\ncommand = [\"user-a\"]\nenv = [\"ONE\"]\n[verify]\nevery = [\"user\"]\n[[verify.criteria]]\ntext = \"u\"\nrun = [\"u\"]\n[[verify.criteria]]\ntext = \"v\"\nrun = [\"v\"]\n[run.types]\nx = \"a\"\ny = \"a\"\n";
    let own = "[agents.a]\nenv = [\"TWO\"]\n[verify]\nevery = [\"own\"]\n[[verify.criteria]]\ntext = \"o\"\nrun = [\"o\"]\n[run.types]\ny = \"codex\"\n";
    let configuration = assemble(
        vec![source(ConfigLevel::User, user), source(ConfigLevel::Project, own)],
        &[],
        &[],
    );
    sound(&configuration);
    let config = configuration.config;
    assert_eq!(config.agents["a"].command, ["user-a"]);
    assert_eq!(config.agents["a"].env, ["TWO"]);
    assert_eq!(config.verify.every, [Command::Shell("own".to_owned())]);
    assert_eq!(config.verify.criteria.len(), 1);
    assert_eq!(
        (config.run.types["x"].as_str(), config.run.types["y"].as_str()),
        ("a", "codex")
    );
}

#[test]
fn all_errors_are_reported_at_once_with_their_places() {
    check(
        "slots = 2\n[run]\nslot = 2\nslots = \"2\"\nisolation = \"worktree\"\nwall_limit = 90\ngrace = \"soon\"\n[runs]\n",
        &[
            "1:1 config-unknown-key there is no setting `slots`",
            "3:1 config-unknown-key there is no setting `slot` in `run` (did you mean `slots`?)",
            "4:9 config-type `slots` is a string, and has to be an integer",
            "5:13 config-value `isolation` cannot be `worktree` (did you mean `worktrees`?)",
            "6:14 config-type `wall_limit` is an integer, and has to be a duration, as \"90s\", \"15m\" or \"2h\"",
            "7:9 config-value `grace` is not a duration: `soon`",
            "8:2 config-unknown-key there is no setting `runs` (did you mean `run`?)",
        ],
    );
    check(
        "[run]\nslots = 0\nattempts = -1\nwall_limit = \"0s\"\nlog_cap = \"10\"\nagent = \"\"\nbudget = 5\n",
        &[
            "2:9 config-value `slots` is out of range",
            "3:12 config-value `attempts` is out of range",
            "4:14 config-value `wall_limit` is too short",
            "5:11 config-value `log_cap` is not a size: `10`",
            "6:9 config-value `agent` is empty",
            "7:10 config-type `budget` is an integer, and has to be a table",
        ],
    );
    check(
        "run = 1\n[verify]\ncriteria = 1\ntypes = []\n",
        &[
            "1:7 config-type `run` is an integer, and has to be a table",
            "3:12 config-type `criteria` is an integer, and has to be a list of tables",
            "4:9 config-type `types` is a list, and has to be a table",
        ],
    );
    check(
        "[run.budget]\ncost = -1.0\ntokens = 99999999999999999999\n",
        &[
            "2:8 config-value `cost` is not an amount of money",
            "3:10 config-value `tokens` is out of range",
        ],
    );
    check(
        "[run.task_budget]\nattempts = 0\nduration = \"1ms\"\ntoken = 5\n",
        &[
            "2:12 config-value `attempts` is out of range",
            "3:12 config-value `duration` is too short",
            "4:1 config-unknown-key there is no setting `token` in `run.task_budget` (did you mean `tokens`?)",
        ],
    );
}

#[test]
fn a_bad_agent_is_reported() {
    check(
        "[agents.x]\n[agents.y]\nprompt = \"stdin\"\n",
        &[
            "1:9 config-missing agent `x` has neither a command nor a preset",
            "2:9 config-missing agent `y` has neither a command nor a preset",
        ],
    );
    check(
        "[agents.x]\npreset = \"cloude\"\n[agents.y]\ncommand = \"my agent\"\n[agents.z]\ncommand = []\n",
        &[
            "2:10 config-value `preset` cannot be `cloude` (did you mean `claude`?)",
            "4:11 config-type `command` is a string, and has to be a list of words, as in [\"my-agent\", \"--json\"]",
            "6:11 config-value `command` names no program",
        ],
    );
    check(
        "[agents.codex]\nretries = 2\n[run]\nagent = \"claud\"\n[run.types]\nx = \"nobody\"\ny = \"codex\"\n",
        &[
            "2:11 config-value planwright knows no way to tell agent `codex` how often to retry",
            "4:9 config-value there is no agent `claud` (did you mean `claude`?)",
            "6:5 config-value there is no agent `nobody`",
        ],
    );
    check(
        "[agents.\"../x\"]\ncommand = [\"x\"]\n[agents.a]\ncommand = [\"a\"]\nenv = [\"A B\", \"*\"]\n[agents.a.set]\nPLANWRIGHT_TASK = \"x\"\n\"A=B\" = \"x\"\n",
        &[
            "1:9 config-value `../x` cannot be a name here",
            "5:8 config-value `A B` is not the name of a variable",
            "5:15 config-value `*` is not the name of a variable",
            "7:1 config-value `PLANWRIGHT_TASK` cannot be a name here",
            "8:1 config-value `A=B` cannot be a name here",
        ],
    );
}

#[test]
fn fallbacks_must_be_agents_without_a_cycle() {
    check(
        "[agents.claude]\nfallback = \"codex\"\n[agents.codex]\nfallback = \"gemni\"\n",
        &["4:12 config-value there is no agent `gemni` (did you mean `gemini`?)"],
    );
    check(
        "[agents.claude]\nfallback = \"claude\"\n",
        &["2:12 config-value agent `claude` is its own fallback"],
    );
    // An agent that leads into a cycle is not a part of it, and the cycle is reported once.
    check(
        "[agents.aider]\nfallback = \"codex\"\n[agents.codex]\nfallback = \"gemini\"\n[agents.gemini]\nfallback = \"codex\"\n",
        &["4:12 config-value the fallbacks form a cycle: `codex`, `gemini`, `codex`"],
    );
    let configuration = project("[agents.claude]\nfallback = \"codex\"\n");
    sound(&configuration);
    assert_eq!(configuration.config.agents["claude"].fallback.as_deref(), Some("codex"));
    assert_eq!(configuration.config.agents["codex"].fallback, None);
}

#[test]
fn many_fallbacks_are_read_quickly() {
    let table = |n: usize| {
        format!(
            "[agents.a{n}]\ncommand = [\"a\"]\nfallback = \"a{}\"\n",
            (n + 1) % 5_000
        )
    };
    let text: String = (0..5_000).map(table).collect();
    let since = CpuStopwatch::start();
    let found = told(&project(&text));
    assert!(found.len() == 1 && found[0].contains("`a7`, …, `a0`"), "{found:?}");
    assert!(since.elapsed() < Duration::from_secs(10));
}

#[test]
fn unknown_placeholders_are_refused() {
    check(
        "[agents.a]\ncommand = [\"a\", \"{promt_file}\"]\n",
        &["2:11 config-value `{promt_file}` is unknown"],
    );
    check(
        "[agents.a]\ncommand = [\"a\"]\nprompt = \"file\"\n",
        &["2:11 config-value the prompt is in a file, and `{prompt_file}` is missing from the command"],
    );
    check(
        "[agents.a]\ncommand = [\"a\", \"{prompt_file}\", \"{prompt}\"]\nprompt = \"stdin\"\n",
        &[
            "2:11 config-value `{prompt_file}` is in the command, and prompt is \"stdin\"",
            "2:11 config-value `{prompt}` is filled only where the prompt is an argument",
        ],
    );
    check(
        "[agents.a]\ncommand = [\"a\"]\nargs = [\"{folders}\"]\n[agents.aider]\nprompt = \"stdin\"\n",
        &[
            "3:8 config-value `{folders}` is unknown",
            "5:10 config-value `{prompt_file}` is in the command, and prompt is \"stdin\"",
        ],
    );
    // Text of a plan never becomes part of a script.
    check(
        "[agents.a]\ncommand = [\"/bin/bash\", \"-ec\", \"run {task}\"]\n",
        &["2:11 config-value `{task}` would become part of a script of the shell"],
    );
    // Neither after options nor after other programs.
    for before in [
        &["sh", "-c", "--"][..],
        &["sh", "-c", "-e"],
        &["bash", "-o", "pipefail", "-c", "-o", "posix"],
        &["timeout", "60", "sh", "-c"],
        &["env", "sh", "-ec"],
        &["setsid", "-w", "/usr/bin/dash", "-c"],
        &["bwrap", "--bind", "/", "/", "bash", "-c"],
    ] {
        let words: Vec<String> = before
            .iter()
            .chain(&["run {task}"])
            .map(|word| format!("{word:?}"))
            .collect();
        check(
            &format!("[agents.a]\ncommand = [{}]\n", words.join(", ")),
            &["2:11 config-value `{task}` would become part of a script of the shell"],
        );
    }
    check(
        "[agents.a]\ncommand = [\"env\", \"sh\", \"-ec\", \"-x\", \"run \\\"$1\\\"\", \"x\", \"{task}\"]\n",
        &[],
    );
    check(
        "[agents.a]\ncommand = [\"sh\", \"-c\", \"run \\\"$1\\\"\", \"x\", \"{task}\"]\n",
        &[],
    );
    check("[agents.a]\ncommand = [\"a\", \"-c\", \"x={\\\"y\\\":{}}\"]\n", &[]);
}

#[test]
fn a_bad_rule_of_verification_is_reported() {
    check(
        "[[verify.criteria]]\nrun = [\"make\"]\n[[verify.criteria]]\ntext = \"a\"\n[[verify.criteria]]\ntext = \"a\"\npattern = \"b\"\nrun = [\"make\"]\n[verify.types.x]\ntimeout = \"1s\"\n",
        &[
            "2:1 config-missing this rule names no criterion",
            "4:1 config-missing this rule has nothing to run",
            "7:11 config-value a rule has either a `text` or a `pattern`",
            "9:15 config-missing this rule has nothing to run",
        ],
    );
    check(
        "[verify]\nevery = [\"cargo\", \"test\"]\n",
        &["2:9 config-command-words `every` is 2 commands here, of one word each"],
    );
    check(
        "[verify]\nevery = [\"./check.sh\", \"make lint\", [\"cargo\", \"test\"]]\n",
        &[],
    );
    check(
        "[verify]\nevery = [\"cargo test\", \"--all\", 3, [\"\"]]\n",
        &[
            "2:24 config-value a command cannot begin with `-`: `--all`",
            "2:33 config-type `every` is an integer, and has to be a command: a list of words, or a string for the shell",
            "2:36 config-value `every` names no program",
        ],
    );
}

#[test]
fn a_project_cannot_allow_what_only_the_user_may() {
    let text = "[verify]\nallow_plan_commands = true\n";
    let refused = project(text);
    assert_eq!(
        told(&refused),
        ["2:1 config-user-only `verify.allow_plan_commands` cannot be set by a project"]
    );
    assert!(!refused.config.verify.allow_plan_commands && refused.has_errors());
    let allowed = assemble(
        vec![source(ConfigLevel::User, text), source(ConfigLevel::Project, "")],
        &[],
        &[],
    );
    sound(&allowed);
    assert!(allowed.config.verify.allow_plan_commands);
    // The environment, which a project may set as well, cannot either.
    let list = variables(&[("PLANWRIGHT_VERIFY_ALLOW_PLAN_COMMANDS", "true")]);
    let refused = assemble(Vec::new(), &list, &[]);
    assert!(refused.has_errors() && !refused.config.verify.allow_plan_commands);
    let flag = ConfigFlag {
        name: "--allow-plan-commands".to_owned(),
        key: "verify.allow_plan_commands",
        value: "true".to_owned(),
    };
    assert!(assemble(Vec::new(), &[], &[flag]).config.verify.allow_plan_commands);
}

#[test]
fn bad_variables_and_flags_are_reported() {
    let list = variables(&[
        ("PLANWRIGHT_RUN_SLOTS", "many"),
        ("PLANWRIGHT_RUN_SLOT", "2"),
        ("PLANWRIGHT_PLAN_AGENTS", "codex"),
        ("PLANWRIGHT_PLAN", "/w/plan.json"),
        ("PLANWRIGHT_PLANS", "2"),
        ("PLANWRIGHT_RUN", "run-1"),
        ("PLANWRIGHT_TASK", "t1"),
        ("PLANWRIGHT_RUN_ISOLATION", "none"),
    ]);
    let configuration = assemble(Vec::new(), &list, &[]);
    assert_eq!(
        told(&configuration),
        [
            "1:22 config-type `slots` is a string, and has to be an integer",
            "1:1 config-unknown-key there is no setting for the variable `PLANWRIGHT_RUN_SLOT` (did you mean `PLANWRIGHT_RUN_SLOTS`?)",
            "1:1 config-unknown-key there is no setting for the variable `PLANWRIGHT_PLAN_AGENTS` (did you mean `PLANWRIGHT_PLAN_AGENT`?)",
            "1:26 config-value `isolation` cannot be `none`",
        ]
    );
}

fn agent<'c>(configuration: &'c Configuration, name: &str) -> &'c Agent {
    &configuration.config.agents[name]
}

fn words(agent: &Agent) -> Vec<OsString> {
    agent.arguments(&CommandValues {
        prompt: "Do it.",
        prompt_file: Path::new("/s/prompt.md"),
        result_file: Path::new("/s/result.json"),
        task: "US-001",
        folder: Path::new("/w"),
    })
}

#[test]
fn presets_can_be_overridden_field_by_field() {
    let configuration = project(WHOLE);
    let claude = agent(&configuration, "claude");
    assert_eq!(claude.preset, Some("claude"));
    assert_eq!(claude.set["CLAUDE_CODE_MAX_RETRIES"], "1");
    assert_eq!(claude.output, OutputFormat::ClaudeStreamJson);
    assert!(words(claude).ends_with(&["--model".into(), "opus".into()]));
    let mine = agent(&configuration, "mine");
    assert_eq!(
        (mine.preset, mine.prompt, mine.output),
        (None, Channel::File, OutputFormat::CodexJson)
    );
    assert_eq!(mine.set["MY_MODE"], "quiet");
    assert_eq!(
        words(mine)[2..],
        ["/s/prompt.md", "--out=/s/result.json", "{task}"].map(OsString::from)
    );
    assert!(
        matches!(mine.origin, SettingOrigin::File { line: 6, .. }),
        "{:?}",
        mine.origin
    );

    let configuration = project(
        "[agents.one]\npreset = \"codex\"\nargs = [\"-m\", \"gpt-5.5\"]\n[agents.codex]\ncommand = [\"codex\", \"{prompt}\"]\n[agents.two]\npreset = \"aider\"\ncommand = [\"a\"]\nprompt = \"argument\"\n",
    );
    sound(&configuration);
    let one = words(agent(&configuration, "one"));
    assert!(one.ends_with(&["-m".into(), "gpt-5.5".into(), "-".into()]), "{one:?}");
    // A user's own command under the name of a preset uses nothing of the preset.
    let codex = agent(&configuration, "codex");
    assert_eq!(
        (codex.preset, codex.output, codex.prompt),
        (None, OutputFormat::Plain, Channel::Argument)
    );
    assert_eq!(words(codex), ["codex", "Do it."]);
    let two = agent(&configuration, "two");
    assert_eq!(
        (two.output, words(two)),
        (OutputFormat::Aider, vec!["a".into(), "Do it.".into()])
    );
}

#[test]
fn presets_are_agents_without_any_configuration() {
    let configuration = assemble(Vec::new(), &[], &[]);
    for preset in PRESETS {
        let agent = agent(&configuration, preset.name);
        assert_eq!(agent.origin, SettingOrigin::Preset(preset.name));
        assert_eq!(agent.program(), preset.name);
        assert!(!words(agent).iter().any(|word| word.to_string_lossy().contains('{')));
    }
    let claude = agent(&configuration, "claude");
    assert_eq!(claude.set["CLAUDE_CODE_MAX_RETRIES"], "3");
    sound(&project("[run]\nagent = \"claude\"\n"));
}

#[test]
fn presets_pass_the_checks_for_agents() {
    for preset in PRESETS {
        sound(&project(&format!(
            "[agents.x]\npreset = \"{}\"\nargs = [\"--more\"]\n",
            preset.name
        )));
    }
}

// Texts that are no configuration.

#[test]
fn texts_that_are_not_toml_are_reported() {
    for text in [
        "[run",
        "run =",
        "= 1",
        "a = \"",
        "[run]\nslots = 1\nslots = 2\n",
        "[run]\n[run]\n",
        "\0",
        "a.b = 1\na = 2",
        "{}",
        "[[run]",
    ] {
        let configuration = project(text);
        assert!(configuration.has_errors(), "{text:?}");
        let told = told(&configuration);
        assert!(told.iter().all(|line| line.contains(" config-")), "{told:?}");
    }
    let twice = told(&project("[run]\nslots = 1\nslots = 2\n"));
    assert!(
        twice.len() == 1 && twice[0].starts_with("3:1 config-syntax"),
        "{twice:?}"
    );
}

#[test]
fn a_byte_order_mark_and_carriage_returns_are_accepted() {
    let configuration = project("\u{feff}[run]\r\nslots = 2\r\nslot = 1\r\n");
    assert_eq!(
        told(&configuration),
        ["3:1 config-unknown-key there is no setting `slot` in `run` (did you mean `slots`?)"]
    );
    assert_eq!(configuration.config.run.slots, Some(2));
    assert_eq!(
        told(&project("\u{feff}slot = 1")),
        ["1:1 config-unknown-key there is no setting `slot`"]
    );
}

/// Checks that a text is handled in reasonable time on a small stack.
#[track_caller]
fn withstands(what: &str, text: String) {
    let thread = std::thread::Builder::new().stack_size(512 * 1024);
    let run = thread.spawn(move || {
        let begin = CpuStopwatch::start();
        let sources = project(&text).sources;
        let n_findings: usize = sources.iter().map(|source| source.findings.len()).sum();
        (n_findings, begin.elapsed())
    });
    let (n_findings, elapsed) = run.expect("a thread").join().expect("no panic");
    assert!(n_findings > 0, "{what}");
    assert!(elapsed < Duration::from_secs(20), "{what}: {elapsed:?}");
}

#[test]
fn hostile_texts_are_read_without_a_panic() {
    let n = 100_000;
    withstands("deep lists", format!("x = {}", "[".repeat(n)));
    withstands("deep tables", format!("x = {}", "{a=".repeat(n)));
    withstands("a key of many parts", format!("{}a = 1", "a.".repeat(n)));
    withstands("a header of many parts", format!("[{}a]\nx = 1", "a.".repeat(n)));
    withstands("many keys", (0..n / 2).map(|ix| format!("key{ix} = 1\n")).collect());
    withstands(
        "many agents",
        (0..n / 4).map(|ix| format!("[agents.a{ix}]\nretries = 1\n")).collect(),
    );
    withstands(
        "many rules",
        (0..n / 4).map(|_| "[[verify.criteria]]\ntext = \"x\"\n").collect(),
    );
    let types: String = (0..n / 4).map(|ix| format!("t{ix} = \"nobody{ix}\"\n")).collect();
    withstands("many types", format!("[run.types]\n{types}"));
    withstands("many errors", "= = =\n".repeat(n));
    withstands("many quotes", "\"".repeat(n));
    withstands(
        "many braces",
        format!("[agents.a]\ncommand = [\"a\", \"{}{{x}}\"]", "{".repeat(n)),
    );
    withstands("a long word", format!("[run]\nisolation = \"{}\"", "x".repeat(n)));
}

#[test]
fn torn_and_altered_texts_are_read_without_a_panic() {
    let places: Vec<usize> = WHOLE.char_indices().map(|(at, _)| at).collect();
    for &at in &places {
        told(&project(&WHOLE[..at]));
        told(&project(&format!("{}{}", &WHOLE[..at], &WHOLE[at + 1..])));
        for odd in ["\"", "[", "{", "=", "\n", "é\u{202e}", "9"] {
            told(&project(&format!("{}{odd}{}", &WHOLE[..at], &WHOLE[at..])));
        }
    }
}

#[test]
fn files_are_found_and_read() {
    let folder = TempFolder::new().expect("a temporary folder");
    let user_file = folder.path().join("home/planwright/config.toml");
    let surroundings = ConfigInputs {
        user_file: Some(user_file),
        ..ConfigInputs::default()
    };
    let absent = load(folder.path(), &surroundings);
    sound(&absent);
    assert!(absent.sources.is_empty());
    folder
        .write("home/planwright/config.toml", "[run]\nslots = 2\n")
        .expect("ours");
    folder
        .write("planwright.toml", b"[run]\nattempts = 2 # \xff\n")
        .expect("ours");
    let configuration = load(folder.path(), &surroundings);
    assert_eq!(
        told(&configuration),
        ["2:16 config-unreadable the configuration cannot be read: it is not UTF-8"]
    );
    assert_eq!(
        (configuration.config.run.slots, configuration.config.run.retry.attempts),
        (Some(2), None)
    );
    folder.write("planwright.toml", " ".repeat(2 << 20)).expect("ours");
    let large = told(&load(folder.path(), &surroundings));
    assert!(large[0].contains("larger than 1048576 bytes"), "{large:?}");
    std::fs::remove_file(folder.path().join("planwright.toml")).expect("ours");
    std::os::unix::fs::symlink("nowhere", folder.path().join("planwright.toml")).expect("ours");
    let link = told(&load(folder.path(), &surroundings));
    assert!(link[0].contains("leads nowhere"), "{link:?}");
}
