//! Output that is noise, half an event, garbage or endless: it does no harm, and only a little of it is kept.

use planwright_core::agent::{AgentExit, EventFormat, Listener, MAX_HEARD, MAX_MESSAGE};
use proptest::prelude::*;

use EventFormat::{Claude, Codex, Gemini, Opencode, Qwen};

use crate::agents::{AIDER_WORK, CODEX_WORK, GEMINI_WORK, OK, OPENCODE_WORK, check, claude, opencode_step};

#[test]
fn noise_changes_nothing() {
    let noise = "\u{1b}[31mwarning\u{1b}[0m\n[INFO] started {1}\n{\"level\":\"info\"}\n{\"type\":\"unheard-of\"}\n{\"type\":7}\n\
                 [1, 2]\n{broken\n\"x\"\nnull\n{}\n[]\n[\n]\n";
    let work = [
        (Claude, claude(r#""is_error":false"#)),
        (Qwen, claude(r#""is_error":false"#)),
        (Codex, format!("{CODEX_WORK}{{\"type\":\"turn.completed\"}}\n")),
        (
            Gemini,
            format!("{GEMINI_WORK}{{\"type\":\"result\",\"status\":\"success\"}}\n"),
        ),
        (Opencode, format!("{OPENCODE_WORK}{}", opencode_step("stop", 1))),
    ];
    for (format, output) in work {
        let quiet = check(format, &output, OK, "done");
        let noisy: String = output.lines().flat_map(|line| [noise, line, "\n"]).collect();
        assert_eq!(check(format, &format!("{noisy}{noise}"), OK, "done"), quiet);
    }
}

#[test]
fn half_an_emoji_spoils_no_event() {
    let verdict = check(Claude, &claude(r#""is_error":false,"result":"cut \ud83d""#), OK, "done");
    assert!(verdict.final_message.starts_with("cut "));
}

/// Lines with a meaning in one of the formats, to be damaged.
fn telling_lines() -> Vec<String> {
    let all = [
        &claude(r#""is_error":false,"permission_denials":[{"tool_name":"x"}]"#),
        CODEX_WORK,
        "{\"type\":\"turn.completed\"}\n{\"type\":\"turn.failed\",\"error\":{\"message\":\"429\"}}",
        GEMINI_WORK,
        "{\"type\":\"result\",\"status\":\"success\"}",
        OPENCODE_WORK,
        &opencode_step("unknown", 0),
        AIDER_WORK,
        "litellm.RateLimitError: x\n{\n[{\n  \"type\": 1,\n}\n],\n},\nRetrying in 99999999999999999999h\nTokens: k sent, , received. session",
    ];
    all.iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
}

proptest! {
    #[test]
    fn random_output_never_panics(
        picks in prop::collection::vec((0_usize..64, 0_usize..400, ".{0,12}", 0_usize..400), 0..40),
        code in any::<i32>(),
    ) {
        let lines = telling_lines();
        for format in EventFormat::ALL {
            let mut listener = Listener::new(*format);
            for (pick, at, insert, cut) in &picks {
                let mut line = lines[pick % lines.len()].clone();
                line.insert_str(line.floor_char_boundary(*at), insert);
                line.truncate(line.floor_char_boundary(line.len().saturating_sub(cut % 40)));
                prop_assert!(listener.line(&line).len() <= MAX_HEARD);
            }
            let verdict = listener.finish(AgentExit::Code(code));
            prop_assert!(verdict.final_message.len() <= MAX_MESSAGE);
        }
    }
}

#[test]
fn huge_output_is_kept_small() {
    let text = "word ".repeat(400_000);
    let said = serde_json::json!({"type": "assistant", "session_id": text, "message": {"content": [
        {"type": "text", "text": text}, {"type": "tool_use", "name": text, "input": {"command": text}}]}});
    let many = format!(
        "[{}]",
        vec![r#"{"type":"system","subtype":"retry","error":"rate limit"}"#; 2_000].join(",")
    );
    let denials = vec![serde_json::json!({"tool_name": text.get(..5_000)}); 300];
    let result =
        serde_json::json!({"type": "result", "is_error": false, "result": text, "permission_denials": denials});
    for format in EventFormat::ALL {
        let mut listener = Listener::new(*format);
        for line in [
            &text,
            &said.to_string(),
            &many,
            &result.to_string(),
            &"{".repeat(1_000_000),
            &"[".repeat(1_000_000),
        ] {
            let heard = listener.line(line);
            assert!(heard.len() <= MAX_HEARD);
            assert!(format!("{heard:?}").len() <= MAX_HEARD * 2_000);
        }
        let verdict = listener.finish(OK);
        assert!(verdict.final_message.len() <= MAX_MESSAGE);
        assert!(verdict.denials.len() <= 100);
        assert!(format!("{verdict:?}").len() <= 2 * MAX_MESSAGE + 100 * 2_000);
    }
}
