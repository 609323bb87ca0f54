//! Removes secrets from a record before it is written. Names every field, so that a new one needs a decision.
//!
//! Names of tasks, folders, branches and commits stay unchanged: a run finds its work by them.

use super::{
    AgentChoiceRecord, Approved, AttemptRecord, CandidateRecord, Conflicted, Drifted, Finished, HeldWork,
    LandingRecord, LogCut, Merged, PlanEditRecord, ProcessStartRecord, Projected, Receipt, RemarkRecord, RequestRecord,
    Resting, RunEndRecord, RunEvent, SkippedTask, Stopping, TaskRecord, VerificationRecord,
};
use crate::redaction::Redaction;

impl RunEvent {
    /// Removes secrets from what agents and commands told, and from names of files that agents chose.
    pub(crate) fn redact(&mut self, redaction: &Redaction) {
        let mut texts: Vec<&mut String> = Vec::new();
        match self {
            RunEvent::Chosen(chosen) => {
                let AgentChoiceRecord {
                    task: _,
                    arbiter: _,
                    agent: _,
                    reason,
                    why,
                    milliseconds: _,
                    cost_usd: _,
                    tokens: _,
                } = chosen;
                texts.extend(reason.iter_mut().chain(why));
            }
            RunEvent::Finished(finished) => {
                let Finished {
                    task: _,
                    attempt: _,
                    outcome: _,
                    why,
                    output,
                    files,
                    exit: _,
                    milliseconds: _,
                    cost_usd: _,
                    tokens: _,
                    session: _,
                    discoveries,
                    limited_for: _,
                    no_changes: _,
                } = finished;
                texts.extend(why.iter_mut().chain(output).chain(files).chain(discoveries));
            }
            RunEvent::Verified(verified) => {
                let VerificationRecord {
                    task: _,
                    attempt: _,
                    passed: _,
                    receipts,
                    unverified: _,
                } = verified;
                for receipt in receipts {
                    let Receipt {
                        command: _,
                        exit: _,
                        milliseconds: _,
                        digest: _,
                        tail,
                        commit: _,
                        tree: _,
                    } = receipt;
                    texts.push(tail);
                }
            }
            RunEvent::Stopping(stopping) => {
                let Stopping {
                    reason: _,
                    task: _,
                    why,
                } = stopping;
                texts.extend(why);
            }
            RunEvent::Resting(resting) => {
                let Resting {
                    task: _,
                    attempt: _,
                    milliseconds: _,
                    why,
                } = resting;
                texts.extend(why);
            }
            RunEvent::Candidate(candidate) => texts.extend(texts_of(candidate)),
            RunEvent::Held(held) => {
                let HeldWork {
                    task: _,
                    candidate,
                    is_verified: _,
                    agent: _,
                    output,
                    files,
                    session: _,
                    folder: _,
                    identity: _,
                    base: _,
                } = held.as_mut();
                texts.extend(texts_of(candidate).chain(output).chain(files));
            }
            RunEvent::Conflicted(conflicted) => {
                let Conflicted {
                    task: _,
                    attempt: _,
                    files,
                    onto: _,
                    tree: _,
                    labels: _,
                    resolution: _,
                } = conflicted;
                texts.extend(files);
            }
            RunEvent::Merged(merged) => {
                let Merged {
                    task: _,
                    attempt: _,
                    branch: _,
                    passed: _,
                    commit: _,
                    tree: _,
                    why,
                } = merged;
                texts.extend(why);
            }
            RunEvent::Drifted(drifted) => {
                let Drifted {
                    task: _,
                    attempt: _,
                    files,
                } = drifted;
                texts.extend(files);
            }
            RunEvent::Remark(remark) => {
                let RemarkRecord { text, task: _, kind: _ } = remark;
                texts.push(text);
            }
            RunEvent::Ended(ended) => {
                let RunEndRecord {
                    standing: _,
                    n_done: _,
                    n_failed: _,
                    n_skipped: _,
                    n_review: _,
                    n_left: _,
                    n_unverified: _,
                    milliseconds: _,
                    cost_usd: _,
                    tokens: _,
                    why,
                    next: _,
                    n_unchanged: _,
                    unwritten: _,
                } = ended;
                texts.extend(why);
            }
            // Numbers, times, names, and what users ask for.
            RunEvent::Begun(_)
            | RunEvent::Starting(AttemptRecord { .. })
            | RunEvent::Started(ProcessStartRecord { .. })
            | RunEvent::Projected(Projected { .. })
            | RunEvent::Skipped(SkippedTask { .. })
            | RunEvent::Review(TaskRecord { .. })
            | RunEvent::Approved(Approved { .. })
            | RunEvent::Paused(RequestRecord { .. })
            | RunEvent::Resumed(RequestRecord { .. })
            | RunEvent::Landing(LandingRecord { .. })
            | RunEvent::Edited(PlanEditRecord { .. })
            | RunEvent::Cut(LogCut { .. })
            | RunEvent::Other(_) => {}
        }
        redaction.clean_all(texts);
    }
}

fn texts_of(candidate: &mut CandidateRecord) -> impl Iterator<Item = &mut String> {
    let CandidateRecord {
        task: _,
        attempt: _,
        commit: _,
        tree: _,
        base: _,
        ignored,
        other_work,
        protected,
    } = candidate;
    ignored.iter_mut().chain(other_work).chain(protected)
}
