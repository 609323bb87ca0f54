//! One question to an agent: its answer, and every way in which there is none.

use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use planwright_core::text::SourceText;
use planwright_run::agent_query::{AgentAnswer, AgentQuery, AgentQueryError, AgentQueryPlace, QueryLimits, ask_agent};
use planwright_run::config::{self, Config, ConfigLevel, ConfigSource, SourceKind};
use planwright_run::fence::Fencing;
use planwright_run::files::DiskFiles;
use planwright_run::worker::Workers;
use planwright_testkit::TempFolder;

const TIME: &str = "2026-11-16T08:30:12.250Z";

/// Returns a configuration in which `asked` is a shell script.
#[track_caller]
fn configured(script: &str, more: &str) -> Config {
    let script = script.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let toml = format!("[agents.asked]\ncommand = [\"sh\", \"-c\", \"{script}\"]\n{more}\n");
    let source = ConfigSource {
        kind: SourceKind::File {
            level: ConfigLevel::Project,
            path: PathBuf::from("planwright.toml"),
        },
        text: SourceText::new(&toml),
        findings: Vec::new(),
    };
    let configuration = config::assemble(vec![source], &[], &[]);
    assert!(!configuration.has_errors(), "{toml}\n{:?}", configuration.sources);
    configuration.config
}

/// Asks an agent in a folder of its own, and returns what lies in the query's folder as well.
#[track_caller]
fn asked(
    config: &Config,
    agent: &str,
    change: impl Fn(QueryLimits) -> QueryLimits,
) -> (Result<AgentAnswer, AgentQueryError>, Vec<String>) {
    let folder = TempFolder::new().expect("a folder");
    let place = AgentQueryPlace::create(&DiskFiles, folder.path(), TIME).expect("a place");
    let query = AgentQuery {
        config,
        agent,
        prompt: "What is it?\n",
        folder: folder.path(),
        place: &place,
        limits: change(QueryLimits::of(config)),
        mark: &[],
        fencing: &Fencing::Inactive(String::new()),
    };
    let mut workers = Workers::new().expect("workers");
    let answer = ask_agent(&query, &mut workers, &AtomicU32::new(0));
    let mut files: Vec<String> = std::fs::read_dir(place.folder())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    files.sort_unstable();
    (answer, files)
}

#[track_caller]
fn answered(script: &str, more: &str) -> AgentAnswer {
    let (answer, _) = asked(&configured(script, more), "asked", |limits| limits);
    answer.expect("an answer")
}

#[track_caller]
fn refused(script: &str, more: &str) -> AgentQueryError {
    let (answer, _) = asked(&configured(script, more), "asked", |limits| limits);
    answer.expect_err("no answer")
}

#[test]
fn the_output_of_an_agent_is_its_exact_answer() {
    let config = configured("cat; printf '\\n\\n  it is %s\\n' blue", "");
    let (answer, files) = asked(&config, "asked", |limits| limits);
    let answer = answer.expect("an answer");
    assert_eq!(answer.text, "What is it?\n\n\n  it is blue\n");
    assert!(!answer.is_cut);
    assert_eq!(files, ["output.log", "prompt.md"]);
}

#[test]
fn the_final_message_of_a_format_is_the_answer_and_its_cost_is_known() {
    let line = r#"{"type":"result","subtype":"success","is_error":false,"result":"blue","total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":2}}"#;
    let answer = answered(
        &format!("echo starting up; echo '{line}'"),
        "output = \"claude-stream-json\"",
    );
    assert_eq!(answer.text, "blue");
    assert_eq!(
        (answer.usage.cost_usd, answer.usage.tokens_in, answer.usage.tokens_out),
        (Some(0.25), Some(10), Some(2))
    );
}

#[test]
fn a_long_message_of_a_format_is_whole() {
    let script = r#"printf '{"type":"result","subtype":"success","is_error":false,"result":"'; head -c 300000 /dev/zero | tr '\0' x; printf '"}\n'"#;
    let answer = answered(script, "output = \"claude-stream-json\"");
    assert_eq!((answer.text.len(), answer.is_cut), (300_000, false));
}

#[test]
fn a_result_file_replaces_the_output() {
    let script =
        r#"echo noise; printf '{"planwright_result":1,"outcome":"done","output":"blue"}' > "$PLANWRIGHT_RESULT""#;
    assert_eq!(answered(script, "").text, "blue");
    let script = r#"echo noise; printf '{"planwright_result":1,"outcome":"failed","notes":"I do not know"}' > "$PLANWRIGHT_RESULT""#;
    let error = refused(script, "");
    assert!(
        matches!(&error, AgentQueryError::Failed { why, .. } if why == "I do not know"),
        "{error:?}"
    );
}

#[test]
fn only_the_end_is_kept_of_an_answer_that_is_too_long() {
    let config = configured("head -c 5000000 /dev/zero | tr '\\0' x; echo the end", "");
    let (answer, _) = asked(&config, "asked", |limits| QueryLimits {
        max_answer: 1000,
        ..limits
    });
    let answer = answer.expect("an answer");
    assert!(answer.is_cut && answer.text.len() == 1000 && answer.text.ends_with("xthe end\n"));
}

#[test]
fn secrets_are_not_in_answers() {
    let more = "set = { MY_TOKEN = \"very-secret-value\" }";
    assert_eq!(answered("echo \"$MY_TOKEN\"", more).text, "[MY_TOKEN]\n");
    let script =
        r#"printf '{"planwright_result":1,"outcome":"done","output":"%s"}' "$MY_TOKEN" > "$PLANWRIGHT_RESULT""#;
    assert_eq!(answered(script, more).text, "[MY_TOKEN]");
}

#[test]
fn an_answer_counts_even_if_tools_were_denied() {
    let line = r#"{"type":"result","subtype":"success","is_error":false,"result":"blue","permission_denials":[{"tool_name":"Bash"}]}"#;
    let answer = answered(&format!("echo '{line}'"), "output = \"claude-stream-json\"");
    assert_eq!(
        (answer.text.as_str(), answer.denials.as_slice()),
        ("blue", ["Bash".to_owned()].as_slice())
    );
}

#[test]
fn kinds_of_failure_are_distinguished() {
    let error = refused("exit 0", "");
    assert!(matches!(&error, AgentQueryError::Failed { why, .. } if why == "it said nothing"));
    let error = refused("echo no; exit 1", "");
    assert!(
        matches!(&error, AgentQueryError::Failed { why, .. } if why.contains("exit status 1")),
        "{error:?}"
    );
    let error = refused("exec no-such-program-at-all", "");
    assert!(matches!(&error, AgentQueryError::Broken { .. }), "{error:?}");
    let error = refused("echo 'error: 429 rate limit exceeded'; exit 1", "");
    assert!(matches!(&error, AgentQueryError::RateLimited { .. }), "{error:?}");
    let error = refused("echo hello", "output = \"codex-json\"");
    assert!(matches!(&error, AgentQueryError::Broken { .. }), "{error:?}");

    let config = configured("exit 0", "[agents.other]\ncommand = [\"no-such-program-at-all\"]");
    let (answer, files) = asked(&config, "nobody", |limits| limits);
    let Err(AgentQueryError::NotConfigured { agent, known }) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(agent, "nobody");
    assert!(known.contains(&"asked".to_owned()) && files.is_empty());
    let (answer, _) = asked(&config, "other", |limits| limits);
    let Err(AgentQueryError::NotFound { program, .. }) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(program, "no-such-program-at-all");
}

#[test]
fn an_agent_that_takes_too_long_is_ended() {
    let config = configured("echo thinking; sleep 1000", "");
    let began = Instant::now();
    let (answer, _) = asked(&config, "asked", |limits| limits.within(Duration::from_millis(200)));
    assert!(matches!(answer, Err(AgentQueryError::TimedOut { .. })), "{answer:?}");
    assert!(began.elapsed() < Duration::from_secs(300));
}

#[test]
fn an_interrupted_query_has_no_answer() {
    let folder = TempFolder::new().expect("a folder");
    let config = configured("sleep 100; echo blue", "");
    let place = AgentQueryPlace::create(&DiskFiles, folder.path(), TIME).expect("a place");
    let query = AgentQuery {
        config: &config,
        agent: "asked",
        prompt: "",
        folder: folder.path(),
        place: &place,
        limits: QueryLimits::of(&config),
        mark: &[],
        fencing: &Fencing::Inactive(String::new()),
    };
    let mut workers = Workers::new().expect("workers");
    let answer = ask_agent(&query, &mut workers, &AtomicU32::new(1));
    assert!(matches!(answer, Err(AgentQueryError::Interrupted { .. })), "{answer:?}");
    assert_eq!(workers.n_running(), 0);
}

#[test]
fn inquiries_of_one_second_have_folders_of_their_own() {
    let folder = TempFolder::new().expect("a folder");
    let names: Vec<String> = (0..3)
        .map(|_| {
            AgentQueryPlace::create(&DiskFiles, folder.path(), TIME)
                .expect("a place")
                .id()
                .to_owned()
        })
        .collect();
    assert_eq!(names, ["20261116-083012", "20261116-083012-2", "20261116-083012-3"]);
}
