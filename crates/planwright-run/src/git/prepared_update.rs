//! A branch that git has locked for a move: no other process can move it until the move is made or dropped.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin};
use std::sync::mpsc;
use std::thread;

use super::GitError;
use super::command::{GitLocation, LOCK_PAUSES, PATIENCE, end, spawn};
use super::complaint::{Complaint, first_useful_line, is_about_a_lock, lock_reason};
use super::repository::Repository;
use crate::clock;
use crate::faults;

/// A branch move that git holds ready. If it is dropped, or this process ends, git releases the locks and changes nothing.
pub(super) struct PreparedUpdate {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    complaint: Complaint,
    command: String,
}

impl PreparedUpdate {
    /// Locks a branch, and the HEAD that names it, for a move between two commits. Fails if the branch is not at the first.
    pub(super) fn prepare(
        place: &GitLocation,
        branch: &str,
        from: &str,
        to: &str,
        why: &str,
    ) -> Result<Self, GitError> {
        for pause in LOCK_PAUSES {
            match Self::once(place, branch, from, to, why) {
                Err(GitError::Locked { .. }) => thread::sleep(clock::real(pause)),
                done => return done,
            }
        }
        Self::once(place, branch, from, to, why)
    }

    fn once(place: &GitLocation, branch: &str, from: &str, to: &str, why: &str) -> Result<Self, GitError> {
        let words = ["update-ref", "--no-deref", "--create-reflog", "-m", why, "--stdin"];
        let request = format!("start\nupdate refs/heads/{branch} {to} {from}\nprepare\n");
        let call = place.git(&words).input(request.clone().into_bytes());
        let command = call.description();
        let mut child = call.open()?;
        faults::companion_started(&child);
        let (sender, lines) = mpsc::channel();
        let output = child.stdout.take();
        let reader = move || {
            let lines = output.into_iter().flat_map(|pipe| BufReader::new(pipe).lines());
            // The receiver is gone if no answer is expected any more.
            let _ = lines.map_while(Result::ok).try_for_each(|line| sender.send(line));
        };
        let listening = spawn(reader).and_then(|()| Complaint::listen(child.stderr.take()));
        let complaint = listening.map_err(|source| {
            end(&mut child);
            GitError::Start {
                command: command.clone(),
                source,
            }
        })?;
        let mut prepared = PreparedUpdate {
            input: child.stdin.take(),
            child,
            lines,
            complaint,
            command,
        };
        prepared.say(&request, &["start: ok", "prepare: ok"])?;
        Ok(prepared)
    }

    pub(super) fn commit(mut self) -> Result<(), GitError> {
        faults::point("the branch is about to move");
        self.say("commit\n", &["commit: ok"])
    }

    fn say(&mut self, words: &str, expected: &[&str]) -> Result<(), GitError> {
        // If git has ended, it has printed the reason.
        let _ = self.input.as_mut().map(|input| input.write_all(words.as_bytes()));
        for line in expected {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(said) if said == *line => {}
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    return Err(GitError::TimedOut {
                        command: self.command.clone(),
                        after: PATIENCE,
                    });
                }
                Ok(_) | Err(_) => return Err(self.failure()),
            }
        }
        Ok(())
    }

    fn failure(&self) -> GitError {
        let complaint = self.complaint.text();
        let command = self.command.clone();
        match is_about_a_lock(&complaint) {
            true => GitError::Locked {
                reason: lock_reason(&complaint),
                command,
            },
            false => GitError::Failed {
                reason: match first_useful_line(&complaint) {
                    reason if reason.is_empty() => "it was ended".to_owned(),
                    reason => reason,
                },
                command,
            },
        }
    }
}

impl Drop for PreparedUpdate {
    fn drop(&mut self) {
        // At the end of its input, git releases its locks.
        drop(self.input.take());
        let _ = self.child.wait();
        faults::companion_ended(&self.child);
    }
}

impl Repository {
    /// Returns the locks that a prepared move of a branch holds.
    pub(super) fn locks_of_update(&self, branch: &str) -> Result<Vec<PathBuf>, GitError> {
        let common = self.common_folder();
        let own = self.git_dir()?;
        let locks = [
            own.join("HEAD.lock"),
            own.join("reftable/tables.list.lock"),
            common.join("reftable/tables.list.lock"),
            common.join(format!("refs/heads/{branch}.lock")),
        ];
        let mut held: Vec<PathBuf> = locks.into_iter().filter(|lock| lock.exists()).collect();
        held.dedup();
        Ok(held)
    }
}
