//! Tests of hostile text in every view of a run.

use planwright_run::runs::state::RunState;
use planwright_run::runs::{
    AgentChoiceRecord, DriftRecord, LandingEndRecord, RemarkRecord, RequestRecord, RunEndRecord, RunEvent, RunStanding,
    StopRecord, TaskRecord,
};
use planwright_verbs::run_history::{RunReport, Setting};

use super::frames::plain;
use super::samples::{Tape, at};
use crate::render::run::lines::RunLines;
use crate::render::run::lines::json_line;
use crate::render::run::summary;
use crate::render::terminal::{Paint, json_text};

/// Text that is harmful if it is printed unchanged.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;t\u{7}\r\n\u{9b}31m\u{202e}\u{0}";

fn hostile() -> Tape {
    let text = || HOSTILE.to_owned();
    let asked = || RequestRecord {
        by: Some(text()),
        why: Some(text()),
    };
    Tape::begin(3, 1)
        .start(0, HOSTILE, 1, HOSTILE)
        .finish(1, HOSTILE, "done", None)
        .verify(2, HOSTILE, &[HOSTILE], HOSTILE)
        .rest(2, HOSTILE, 1, HOSTILE)
        .start(3, HOSTILE, 2, HOSTILE)
        .skip(4, "é", HOSTILE)
        .add(4, RunEvent::Review(TaskRecord { task: text() }))
        .add(4, RunEvent::Paused(asked()))
        .add(4, RunEvent::Resumed(asked()))
        .add(
            5,
            RunEvent::Drifted(DriftRecord {
                task: text(),
                attempt: 1,
                files: vec![text()],
            }),
        )
        .add(
            5,
            RunEvent::LandingEnded(LandingEndRecord {
                task: text(),
                branch: text(),
                commit: Some(text()),
                why: Some(text()),
                ..LandingEndRecord::default()
            }),
        )
        .add(
            5,
            RunEvent::Remark(RemarkRecord {
                text: text(),
                task: Some(text()),
                ..RemarkRecord::default()
            }),
        )
        .add(
            5,
            RunEvent::AgentChosen(AgentChoiceRecord {
                task: text(),
                arbiter: text(),
                agent: text(),
                reason: Some(text()),
                ..AgentChoiceRecord::default()
            }),
        )
        .add(
            5,
            RunEvent::AgentChosen(AgentChoiceRecord {
                task: text(),
                arbiter: text(),
                why: Some(text()),
                ..AgentChoiceRecord::default()
            }),
        )
        .start(6, HOSTILE, 3, HOSTILE)
        .add(
            6,
            RunEvent::Stopping(StopRecord {
                reason: planwright_run::runs::StopReason::Other(text()),
                task: Some(text()),
                why: Some(text()),
            }),
        )
}

#[track_caller]
fn assert_harmless(text: &str) {
    let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!text.contains(bad), "{text:?}");
}

#[test]
fn untrusted_text_does_not_control_the_terminal() {
    let setting = Setting {
        run: HOSTILE.to_owned(),
        plan: HOSTILE.to_owned(),
        titles: [(HOSTILE.to_owned(), HOSTILE.to_owned())].into(),
        is_derived: false,
    };
    let tape = hostile();
    let mut story = RunLines::new(setting.clone(), Paint::new(false));
    for record in &tape.records {
        for line in story.take(record) {
            assert_harmless(&line);
            assert!(!line.contains('\n'), "{line:?}");
        }
        story.progress.line(HOSTILE, HOSTILE);
        for columns in [40, 80, 120] {
            assert_harmless(&plain(&story.progress, at(9), columns, 24));
        }
    }
    let next = RunEndRecord {
        standing: RunStanding::of(HOSTILE),
        why: Some(HOSTILE.to_owned()),
        next: Some(HOSTILE.to_owned()),
        ..RunEndRecord::default()
    };
    let tape = tape.end(9, next);
    let report = RunReport::new(&setting, &RunState::of(&tape.records));
    assert_harmless(&summary(&report, Paint::new(false), 100));
    assert_harmless(&json_text(&report).expect("JSON"));
    for record in &tape.records {
        assert_harmless(&json_line(record).expect("JSON"));
    }
}
