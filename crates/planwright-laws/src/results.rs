//! Law for any result file and any end of an agent: the file is read or refused with reasons, and a failure in either wins.

use planwright_core::agent::result_file::ResultStatus;
use planwright_core::agent::{
    AgentExit, AgentOutcome, AttemptEnd, EventFormat, Listener, ResultFile, combine_verdicts,
};
use planwright_core::diagnostic::Severity;
use planwright_core::text::SourceText;

use crate::findings;
use crate::input::{ByteChoices, parts, text};

pub(crate) fn hold(bytes: &[u8]) {
    let [file, output, choices] = parts(bytes);
    let (file, output) = (text(file), text(output));
    let mut dice = ByteChoices::new(choices);
    let source = SourceText::new(file.as_str());
    let read = match ResultFile::read(&file) {
        Ok(read) => {
            findings::check(&source, &read.warnings);
            assert!(read.warnings.iter().all(|found| found.severity < Severity::Error));
            check_file(&read, file.len());
            Some(read)
        }
        Err(found) => {
            assert!(
                found.iter().any(|found| found.severity == Severity::Error),
                "refused without an error"
            );
            findings::check(&source, &found);
            None
        }
    };
    let format = EventFormat::ALL[dice.below(EventFormat::ALL.len())];
    let mut listener = Listener::new(format);
    output.lines().for_each(|line| drop(listener.line(line)));
    let verdict = listener.finish(if dice.flip() {
        AgentExit::Code(0)
    } else {
        AgentExit::Stopped
    });
    check_conclusion(&verdict, read, format);
}

/// Checks that nothing in it is larger than the file, costs are finite, and paths stay inside the workspace.
fn check_file(read: &ResultFile, n_bytes: usize) {
    let lists = [&read.affected_files, &read.discoveries, &read.proposed_tasks];
    let in_lists: usize = lists.iter().flat_map(|list| list.iter()).map(String::len).sum();
    assert!(read.output.len() + read.notes.len() + in_lists <= n_bytes);
    assert!(
        read.usage.cost_usd.is_none_or(|cost| cost.is_finite() && cost >= 0.0),
        "{:?}",
        read.usage.cost_usd
    );
    for path in &read.affected_files {
        let steps = path.split(['/', '\\']);
        assert!(
            !path.starts_with('/') && steps.clone().all(|step| step != ".."),
            "{path:?} leads outside"
        );
    }
    for task in &read.proposed_tasks {
        assert!(
            serde_json::from_str::<serde_json::Value>(task).is_ok() || task.len() > 128,
            "{task:?}"
        );
    }
}

fn check_conclusion(verdict: &planwright_core::agent::AgentVerdict, read: Option<ResultFile>, format: EventFormat) {
    let report = read.as_ref().map(|read| read.report);
    let concluded = combine_verdicts(verdict.clone(), read, format);
    match (report, &concluded.end) {
        (Some(ResultStatus::Stop), end) => assert!(matches!(end, AttemptEnd::Stopped { .. }), "{end:?}"),
        (Some(ResultStatus::Failed), AttemptEnd::Done) => panic!("a file that says `failed` was not believed"),
        (_, AttemptEnd::Done) => assert_eq!(verdict.outcome, AgentOutcome::Done, "a file made it done"),
        _ => {}
    }
}
