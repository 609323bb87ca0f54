//! The events of a run, one line each for people. Removes control sequences from all text of the log.

use planwright_run::runs::{
    AgentChoiceRecord, AttemptEndRecord, AttemptRecord, ConflictRecord, LandingEndRecord, Outcome, PlanWriteRecord,
    ReplanOrigin, RequestRecord, RunEndRecord, RunEvent, RunRecord, RunStanding, RunStartRecord, StopRecord,
    VerificationRecord,
};
use planwright_run::shell::command_line;
use planwright_verbs::events::task_of;
use planwright_verbs::text::{clock, count, cut, duration, money, one_line, short_commit, shown_name, some_of, tokens};

use super::terminal::Paint;
use super::wrap::hanging;

/// How much of a text from the log is shown in a line.
const MOST: usize = 160;

/// Returns a record in words: time, task and event; wrapped for a width.
pub(crate) fn line(record: &RunRecord, paint: Paint, width: usize) -> String {
    let task = task_of(&record.event).map_or(String::new(), |task| cut(&shown_name(task), 24));
    let time = paint.dim(&one_line(&clock(&record.time)));
    hanging(&format!("{time}  {task:<8}  "), &what(&record.event, paint), width)
}

fn what(event: &RunEvent, paint: Paint) -> String {
    match event {
        RunEvent::RunStarted(begun) => began(begun),
        RunEvent::AgentChosen(chosen) => chosen_words(chosen),
        RunEvent::AttemptStarting(attempt) => starting(attempt),
        RunEvent::ProcessStarted(started) => match &started.fence {
            Some(level) => format!("runs as process {}, fence {}", started.pid, one_line(level)),
            None => format!("runs as process {}", started.pid),
        },
        RunEvent::AttemptEnded(finished) => finished_words(finished, paint),
        RunEvent::Verified(verified) => verified_words(verified, paint),
        RunEvent::PlanWritten(projected) => projected_words(projected),
        RunEvent::Skipped(skipped) => {
            format!("skipped, because {} failed", cut(&shown_name(&skipped.because), 24))
        }
        RunEvent::Review(_) => paint.warning("waits for a review"),
        RunEvent::Held(held) => format!(
            "lands when it is approved; it is commit {}",
            short_id(&held.candidate.commit)
        ),
        RunEvent::Approved(approved) => format!("approved{}", by(approved.by.as_deref())),
        RunEvent::Paused(asked) => format!("paused{}", asked_words(asked)),
        RunEvent::Resumed(asked) => format!("continues{}", asked_words(asked)),
        RunEvent::Stopping(stopping) => stopping_words(stopping),
        RunEvent::Resting(resting) if resting.attempt == 0 => format!(
            "waits for {}{}",
            duration(resting.milliseconds),
            why(resting.why.as_deref())
        ),
        RunEvent::Resting(resting) if resting.milliseconds == 0 => {
            format!("tries again at once{}", why(resting.why.as_deref()))
        }
        RunEvent::Resting(resting) => format!(
            "tries again in {}{}",
            duration(resting.milliseconds),
            why(resting.why.as_deref())
        ),
        RunEvent::Candidate(candidate) => format!("its work is commit {}", short_id(&candidate.commit)),
        RunEvent::Conflicted(conflicted) => conflicted_words(conflicted, paint),
        RunEvent::LandingStarted(landing) => format!("lands as {}", short_id(&landing.commit)),
        RunEvent::LandingEnded(ended) => landing_words(ended, paint),
        RunEvent::Drifted(drifted) => {
            format!("changed files that the plan does not name: {}", list(&drifted.files))
        }
        RunEvent::PlanEdited(edited) => format!("the plan file was changed: {}", short(&edited.what)),
        RunEvent::Remark(remark) => format!("{} {}", paint.help("note:"), short(&remark.text)),
        RunEvent::RunEnded(ended) => ended_words(ended, paint),
        RunEvent::LogCut(cut) => format!(
            "the last record of the log was incomplete: {} removed",
            count(cut.n_bytes, "byte")
        ),
        RunEvent::Other(other) => format!("{} (unknown to this version)", short(&other.kind)),
    }
}

/// Returns the words for a conflict with landed work, and what follows.
pub(crate) fn conflicted_words(conflicted: &ConflictRecord, paint: Paint) -> String {
    let next = match conflicted.resolution {
        Some(nth) => format!("its agent resolves that (resolution {nth})"),
        None => "it is no longer resolved".to_owned(),
    };
    let what = paint.warning("conflict");
    format!("{what} with what has landed, in {}: {next}", list(&conflicted.files))
}

fn short_id(id: &str) -> String {
    short(short_commit(id))
}

fn replanned_words(replanned: &ReplanOrigin) -> String {
    let after = replanned.run.as_deref().map(|run| format!(" after run {}", short(run)));
    format!(
        ", replanned by {}{}",
        short(&replanned.agent),
        after.unwrap_or_default()
    )
}

fn began(begun: &RunStartRecord) -> String {
    let verb = if begun.continues {
        "the run continues"
    } else {
        "the run begins"
    };
    let isolation = begun.isolation.as_ref();
    let isolation = isolation.map(|how| format!(", {}", short(how.as_str())));
    format!(
        "{verb}: {}, {}{}{}{}",
        count(begun.n_tasks, "task"),
        count(begun.slots, "slot"),
        isolation.unwrap_or_default(),
        by(begun.by.as_deref()),
        begun.replanned.as_ref().map_or_else(String::new, replanned_words)
    )
}

/// Returns the choice of an arbiter.
pub(crate) fn chosen_words(chosen: &AgentChoiceRecord) -> String {
    let (arbiter, agent) = (short(&chosen.arbiter), short(&chosen.agent));
    match (&chosen.reason, agent.as_str()) {
        (_, "") => format!(
            "the arbiter {arbiter} was asked, and it does not begin{}",
            why(chosen.why.as_deref())
        ),
        (Some(reason), agent) => format!("the arbiter {arbiter} gives it to {agent}: {}", short(reason)),
        (None, agent) => format!(
            "the arbiter {arbiter} did not choose, and {agent} takes it{}",
            why(chosen.why.as_deref())
        ),
    }
}

fn starting(attempt: &AttemptRecord) -> String {
    let branch = attempt
        .branch
        .as_deref()
        .map(|branch| format!(", on {}", short(branch)));
    let instead = attempt.instead_of.as_deref();
    let instead = instead.map_or_else(String::new, |other| format!(" instead of {}", short(other)));
    let again = if attempt.attempt > 1 {
        format!(", attempt {}", attempt.attempt)
    } else {
        String::new()
    };
    format!(
        "starts with {}{instead}{again}{}",
        short(&attempt.agent),
        branch.unwrap_or_default()
    )
}

fn finished_words(finished: &AttemptEndRecord, paint: Paint) -> String {
    let outcome = match &finished.outcome {
        Outcome::Done => paint.good("the agent is done"),
        Outcome::Failed => paint.error("failed"),
        Outcome::RateLimited => paint.warning("held up by the agent's service"),
        Outcome::Broken => paint.warning("the agent could not work"),
        other => paint.warning(&short(other.as_str())),
    };
    let mut amounts = Vec::new();
    amounts.extend(finished.milliseconds.map(|time| format!("in {}", duration(time))));
    amounts.extend(finished.cost_usd.map(money));
    amounts.extend(
        finished
            .tokens
            .map(|[n_in, n_out]| format!("{} + {} tokens", tokens(n_in), tokens(n_out))),
    );
    let amounts = match amounts.is_empty() {
        true => String::new(),
        false => format!(" {}", amounts.join(", ")),
    };
    let exit = finished.exit.as_deref().filter(|exit| *exit != "exit 0");
    let exit = exit.map(|exit| format!(", {}", short(exit))).unwrap_or_default();
    let changes = if finished.no_changes { ", no changes" } else { "" };
    format!("{outcome}{amounts}{exit}{changes}{}", why(finished.why.as_deref()))
}

fn verified_words(verified: &VerificationRecord, paint: Paint) -> String {
    let n_open = verified.unverified.len() as u64;
    let open = match n_open {
        0 => String::new(),
        n => format!(
            ", nothing covers {}",
            count(n, "criterion").replace("criterions", "criteria")
        ),
    };
    match (verified.passed, verified.receipts.as_slice()) {
        (true, []) => paint.warning("nothing verifies it") + &open,
        (true, receipts) => {
            let commands = count(receipts.len() as u64, "command");
            format!("{}{open}", paint.good(&format!("verified by {commands}")))
        }
        (false, receipts) => {
            let failed = receipts.iter().find(|receipt| receipt.exit != "exit 0");
            let failed = failed.map(|receipt| {
                format!(
                    ": `{}` ended with {}",
                    short(&command_line(&receipt.command)),
                    short(&receipt.exit)
                )
            });
            paint.error("verification failed") + &failed.unwrap_or_default() + &open
        }
    }
}

fn projected_words(projected: &PlanWriteRecord) -> String {
    let tasks = match projected.tasks.len() {
        1 => String::new(),
        _ => format!(" about {}", list(&projected.tasks)),
    };
    format!("the plan file is up to date{tasks}")
}

fn stopping_words(stopping: &StopRecord) -> String {
    let reason = match stopping.reason.as_str() {
        "requested" | "signal" => "on request".to_owned(),
        "hindered" => "it cannot continue".to_owned(),
        "condition" => "its stop condition was met".to_owned(),
        "failure" => "it failed".to_owned(),
        "max-tasks" => "the limit of tasks was reached".to_owned(),
        "budget" => "the budget is spent".to_owned(),
        other => short(other),
    };
    format!("no new task starts: {reason}{}", why(stopping.why.as_deref()))
}

fn landing_words(ended: &LandingEndRecord, paint: Paint) -> String {
    let commit = ended.commit.as_deref().and_then(|commit| commit.get(..10));
    let branch = short(&ended.branch);
    match (ended.passed, commit) {
        (true, Some(at)) => format!("landed on {branch} ({})", short(at)),
        (true, None) => format!("has nothing to land on {branch}"),
        (false, _) => format!(
            "{} {branch}{}",
            paint.error("did not land on"),
            why(ended.why.as_deref())
        ),
    }
}

fn ended_words(ended: &RunEndRecord, paint: Paint) -> String {
    let mut counts = vec![format!("{} done", ended.n_done)];
    let others = [
        (ended.n_failed, "failed"),
        (ended.n_skipped, "skipped"),
        (ended.n_review, "in review"),
        (ended.n_left, "left"),
    ];
    counts.extend(
        others
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, word)| format!("{n} {word}")),
    );
    if ended.n_unverified > 0 {
        counts.push(format!("{} unverified", ended.n_unverified));
    }
    if ended.n_unchanged > 0 {
        counts.push(format!("{} without changes", ended.n_unchanged));
    }
    counts.extend(ended.cost_usd.map(money));
    let standing = short(ended.standing.as_str()).replace('-', " ");
    let standing = match ended.standing {
        RunStanding::Finished if ended.n_failed == 0 => paint.good(&standing),
        _ => paint.warning(&standing),
    };
    let took = duration(ended.milliseconds);
    format!(
        "the run is over, {standing}: {} in {took}{}",
        counts.join(", "),
        why(ended.why.as_deref())
    )
}

fn asked_words(asked: &RequestRecord) -> String {
    by(asked.by.as_deref()) + &why(asked.why.as_deref())
}

fn by(by: Option<&str>) -> String {
    by.map(|by| format!(", by {}", cut(&one_line(by), 24)))
        .unwrap_or_default()
}

fn why(why: Option<&str>) -> String {
    let why = why.map(short).filter(|why| !why.is_empty());
    why.map(|why| format!(": {why}")).unwrap_or_default()
}

fn list(names: &[String]) -> String {
    some_of(names.iter().map(|name| cut(&shown_name(name), 60)), 5)
}

fn short(text: &str) -> String {
    // A long text is cut before it is cleaned.
    cut(&one_line(&cut(text, 4 * MOST)), MOST)
}
