//! Law for any output of an agent: memory is bounded, the result does not depend on how the output is cut, and done is never
//! invented.

use planwright_core::agent::{
    AgentEvent, AgentExit, AgentOutcome, AgentVerdict, EventFormat, Listener, MAX_HEARD, MAX_MESSAGE, clock_time_in,
};

use crate::input::text;

/// How long what is shown of one thing heard may be, with the mark of a cut.
const MAX_SHOWN: usize = 600;

pub(crate) fn hold(bytes: &[u8]) {
    let text = text(bytes);
    for format in EventFormat::ALL {
        for exit in [
            AgentExit::Code(0),
            AgentExit::Code(1),
            AgentExit::Signal(9),
            AgentExit::Stopped,
        ] {
            let (verdict, heard) = listen(*format, &text, exit, MAX_MESSAGE);
            check_verdict(&verdict, exit, &text);
            heard.iter().for_each(check_heard);
            assert_eq!(listen(*format, &text, exit, MAX_MESSAGE).0, verdict, "heard twice");
        }
        let (verdict, _) = listen(*format, &text, AgentExit::Code(0), 10);
        assert!(
            verdict.final_message.len() <= 8 * 1024 + 16,
            "{}",
            verdict.final_message.len()
        );
    }
    if let Some(time) = clock_time_in(&text) {
        assert!(time.hour < 24 && time.minute < 60, "{time:?}");
        assert!(
            time.date
                .is_none_or(|(_, month, day)| (1..=12).contains(&month) && (1..=31).contains(&day)),
            "{time:?}"
        );
    }
}

fn listen(format: EventFormat, text: &str, exit: AgentExit, room: usize) -> (AgentVerdict, Vec<AgentEvent>) {
    let mut listener = Listener::with_room(format, room);
    let mut all = Vec::new();
    for line in text.split('\n') {
        let heard = listener.line(line);
        assert!(heard.len() <= MAX_HEARD, "{} things heard at once", heard.len());
        all.extend(heard);
    }
    (listener.finish(exit), all)
}

fn check_verdict(verdict: &AgentVerdict, exit: AgentExit, text: &str) {
    assert!(verdict.final_message.len() <= MAX_MESSAGE + 64);
    assert!(
        verdict.final_message.len() <= text.len() + 64,
        "more was heard than was said"
    );
    assert!(verdict.denials.len() <= 100);
    assert!(
        verdict
            .usage
            .cost_usd
            .is_none_or(|cost| cost.is_finite() && cost >= 0.0),
        "{:?}",
        verdict.usage.cost_usd
    );
    match &verdict.outcome {
        AgentOutcome::Done => {
            assert!(!matches!(exit, AgentExit::Code(code) if code != 0), "done with {exit}");
            assert!(
                verdict.denials.is_empty(),
                "done, though {:?} were denied",
                verdict.denials
            );
        }
        AgentOutcome::Failed { why } | AgentOutcome::Broken { why } | AgentOutcome::RateLimited { why, .. } => {
            assert!(!why.trim().is_empty());
        }
        AgentOutcome::Interrupted => {}
    }
}

fn check_heard(heard: &AgentEvent) {
    let texts: &[&str] = match heard {
        AgentEvent::Session(text)
        | AgentEvent::Text(text)
        | AgentEvent::Denied(text)
        | AgentEvent::ToolFailed(text) => &[text],
        AgentEvent::Tool { name, about } => &[name, about],
        AgentEvent::Retrying { why } | AgentEvent::RateLimited { why, .. } => &[why],
        AgentEvent::Looping => &[],
    };
    for text in texts {
        assert!(text.len() <= MAX_SHOWN, "{} bytes to show: {heard:?}", text.len());
        assert!(!text.contains('\n'), "more than a line: {heard:?}");
    }
}
