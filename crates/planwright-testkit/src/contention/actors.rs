//! The processes of the contention test: writers, runs, people with editors, readers without locks.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{self, Choice, DiskFacts};
use planwright_core::inspect::inspect;
use planwright_core::text::SourceText;
use serde_json::Value;

use super::contest_report::{ContestReport, Promise};
use super::plans::{ByHand, Contended, MARK, place};
use super::{Arena, BOUND};

/// How often a running process is checked.
const GLANCE: Duration = Duration::from_millis(2);

/// A small generator of random numbers, which need not be secure.
pub(super) struct RandomNumbers(u64);

impl RandomNumbers {
    pub(super) fn new(seed: u64) -> Self {
        RandomNumbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }

    fn one_of<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

impl Arena {
    fn report<T>(&self, note: impl FnOnce(&mut ContestReport) -> T) -> T {
        note(&mut self.report.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Runs a command to its end; one that takes too long is killed and counted.
    fn does(&self, args: &[&str]) -> Option<(Output, Instant, Instant)> {
        let began = Instant::now();
        let child = Command::new(&self.binary)
            .args(args)
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                self.report(|report| report.fault(format!("{args:?} did not start: {error}")));
                return None;
            }
        };
        while matches!(child.try_wait(), Ok(None)) {
            if began.elapsed() > BOUND {
                child.kill().ok();
                self.report(|report| {
                    report.n_stuck += 1;
                    report.fault(format!("{args:?} took more than {BOUND:?}"));
                });
            }
            std::thread::sleep(GLANCE);
        }
        let output = child.wait_with_output().ok()?;
        let ended = Instant::now();
        self.report(|report| report.waited(ended - began));
        Some((output, began, ended))
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.ends
    }
}

/// Changes plans, one command after another.
pub(super) fn write(arena: &Arena, ix: usize, seed: u64) {
    let mut dice = RandomNumbers::new(seed.wrapping_add(ix as u64 * 7919));
    let mut n_done = 0;
    let mut held: Vec<ClaimedTask> = Vec::new();
    while arena.goes_on() {
        let Some(plan) = dice.one_of(&arena.plans) else {
            return;
        };
        n_done += 1;
        let by = format!("writer-{ix}-{n_done}");
        let verbs: &[&str] = match plan.is_run {
            true => &["add"],
            false => &[
                "start", "start", "done", "done", "fail", "retry", "reset", "skip", "next", "set",
            ],
        };
        let Some(verb) = dice.one_of(verbs).copied() else {
            return;
        };
        // A run ends when nothing is left: tasks must not be added faster than it works.
        if verb == "add" && dice.below(4) > 0 {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        }
        let Some(task) = dice.one_of(&plan.tasks).cloned() else {
            return;
        };
        // A writer that finishes a task usually holds it, sometimes gives the number of another claim, and sometimes does not hold it.
        let own = held.iter().rposition(|held| held.plan == plan.path);
        let own = own.filter(|_| matches!(verb, "done" | "fail") && dice.below(8) > 0);
        let finished = own.map(|at| held.swap_remove(at)).map(|held| match dice.below(6) {
            0 => ClaimedTask {
                claim: held.claim + 1,
                ..held
            },
            _ => held,
        });
        held.extend(match finished {
            Some(ClaimedTask { task, by, claim, .. }) => attempt(arena, plan, verb, &task, &by, Some(claim)),
            None => attempt(arena, plan, verb, &task, &by, None),
        });
    }
}

/// A task that a writer holds.
struct ClaimedTask {
    plan: &'static str,
    task: String,
    by: String,
    claim: u64,
}

/// Requests one change, and records what was promised. Returns the task that is held since.
fn attempt(
    arena: &Arena,
    plan: &Contended,
    verb: &str,
    task: &str,
    by: &str,
    claim: Option<u64>,
) -> Option<ClaimedTask> {
    let common = ["--plan", plan.path, "--by", by, "--json"];
    let number = claim.map(|claim| claim.to_string());
    let words = format!("by {by}");
    let field = format!("{}={words}", plan.field);
    let own: Vec<&str> = match verb {
        "add" => {
            let mut own = vec!["add", words.as_str()];
            own.extend(&plan.add);
            own
        }
        "next" => vec!["next", plan.path, "--start", "--json", "--by", by],
        "set" => vec!["set", task, &field],
        verb => match &number {
            Some(number) => vec![verb, task, "--claim", number],
            None => vec![verb, task],
        },
    };
    let args: Vec<&str> = match verb {
        "next" => own,
        _ => own.into_iter().chain(common).collect(),
    };
    let (output, began, ended) = arena.does(&args)?;
    let answer: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    let status = output.status.code();
    arena.report(|report| match status {
        Some(0) => {
            let Some(answer) = answer else {
                report.fault(format!("{args:?} answers nothing that can be read"));
                return None;
            };
            let Some(change) = answer["change"].as_u64() else {
                report.n_nothing += 1;
                return None;
            };
            let word = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
            let moved = |moved: &Value| (word(moved, "task"), word(moved, "from"), word(moved, "to"));
            let moves = match answer["tasks"].as_array() {
                Some(moves) => moves.iter().map(moved).collect(),
                // The next task is pending, or has failed and is offered again.
                None => {
                    let taken = word(&answer["ready"][0]["task"], "task");
                    vec![(taken, word(&answer, "started_from"), "running".to_owned())]
                }
            };
            let started = moves.iter().find(|(_, _, to)| to == "running");
            let held = started.map(|(task, _, _)| ClaimedTask {
                plan: plan.path,
                task: task.clone(),
                by: by.to_owned(),
                claim: change,
            });
            report.promises.push(Promise {
                plan: plan.path,
                verb: verb.to_owned(),
                by: by.to_owned(),
                claim,
                change,
                began,
                ended,
                moves,
                names: answer["names"]
                    .as_array()
                    .map(|names| {
                        names
                            .iter()
                            .filter_map(|name| name.as_str().map(str::to_owned))
                            .collect()
                    })
                    .unwrap_or_default(),
            });
            held
        }
        // The task's state or its holder does not allow it.
        Some(1) => {
            report.n_refused += 1;
            None
        }
        status => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // A command that gives way to an editor that writes without a pause reports that, and has written nothing.
            if plan.by_hand.is_some() && said.contains("keeps being changed") {
                report.n_gave_way += 1;
                return None;
            }
            report.fault(format!("{args:?} ends with {status:?}: {said}"));
            None
        }
    })
}

/// Runs a plan repeatedly: each time with the tasks that others have added since.
pub(super) fn run(arena: &Arena, plan: &Contended) {
    while arena.goes_on() {
        run_once(arena, plan);
    }
}

fn run_once(arena: &Arena, plan: &Contended) {
    let args = ["run", plan.path, "--plain", "-j", "2"];
    let child = Command::new(&arena.binary)
        .args(args)
        .current_dir(&arena.root)
        .stdin(Stdio::null())
        .output();
    arena.report(|report| match child {
        Ok(output) if output.status.success() => report.n_runs += 1,
        Ok(output) => report.fault(format!(
            "the run of {} ends with {:?}: {}",
            plan.path,
            output.status.code(),
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
        )),
        Err(error) => report.fault(format!("a run did not start: {error}")),
    });
}

/// Finishes the tasks that were added last.
pub(super) fn finish(arena: &Arena) {
    for plan in arena.plans.iter().filter(|plan| plan.is_run) {
        run_once(arena, plan);
    }
}

/// Reads the files constantly, without any lock: each must be a valid plan.
pub(super) fn read(arena: &Arena) {
    while !arena.is_over.load(Ordering::SeqCst) {
        for plan in &arena.plans {
            let text = match fs::read_to_string(place(&arena.root, plan)) {
                Ok(text) => text,
                Err(error) => {
                    arena.report(|report| report.invalid(format!("{} cannot be read: {error}", plan.path)));
                    continue;
                }
            };
            let facts = DiskFacts::default();
            let choice = Choice {
                forced: dialect::find(plan.dialect),
                ..Choice::by_content(&facts)
            };
            let n_errors = inspect(&SourceText::new(text.as_str()), &choice).count(Severity::Error);
            arena.report(|report| {
                report.n_read += 1;
                if n_errors > 0 {
                    report.invalid(format!("{} has {n_errors} errors:\n{text}", plan.path));
                }
            });
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Reads plans through the binary, whose readers take no locks either.
pub(super) fn look(arena: &Arena) {
    while !arena.is_over.load(Ordering::SeqCst) {
        for plan in &arena.plans {
            for args in [
                vec!["check", plan.path],
                vec!["show", plan.path],
                vec!["history", plan.path],
            ] {
                let Some((output, ..)) = arena.does(&args) else {
                    continue;
                };
                arena.report(|report| {
                    report.n_looked += 1;
                    if !output.status.success() {
                        let said = String::from_utf8_lossy(&output.stdout).into_owned();
                        report.invalid(format!("{args:?} ends with {:?}: {said}", output.status.code()));
                    }
                });
            }
        }
    }
}

/// Edits a plan by hand, and checks each time whether the last edit is still there.
pub(super) fn edit_by_hand(arena: &Arena, plan: &Contended) {
    let mut n_edits = 0;
    // Whether the last edit went into a file that was replaced: the other writer may have read it before.
    let mut may_be_there = false;
    while !arena.is_over.load(Ordering::SeqCst) {
        let edited = match plan.by_hand {
            Some(ByHand::Rename) => edit_by_rename(arena, plan, n_edits),
            _ => edit_in_place(arena, plan, n_edits),
        };
        match edited {
            Ok(found) if found == n_edits + 1 && may_be_there => {
                n_edits = found;
                may_be_there = false;
            }
            Ok(found) if found == n_edits => {
                n_edits += 1;
                may_be_there = false;
                arena.report(|report| report.n_by_hand += 1);
            }
            Ok(found) => {
                arena.report(|report| {
                    report.n_by_hand_lost += 1;
                    report.fault(format!("edit {n_edits} of {} is gone: it says {found}", plan.path));
                });
                n_edits = found;
            }
            // Another process was faster, and the editor noticed.
            Err(_) => may_be_there = true,
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the position and the value of the number in a text.
fn counted(text: &str) -> std::io::Result<(usize, u64)> {
    let odd = || std::io::Error::other("no number");
    let at = text.find(MARK).ok_or_else(odd)? + MARK.len();
    let digits = text.get(at..at + 6).ok_or_else(odd)?;
    Ok((at, digits.parse().map_err(|_| odd())?))
}

/// Returns the number that was found. If it is the expected one, writes the next.
fn edit_by_rename(arena: &Arena, plan: &Contended, expected: u64) -> std::io::Result<u64> {
    let path = place(&arena.root, plan);
    let text = fs::read_to_string(&path)?;
    let (at, found) = counted(&text)?;
    if found != expected {
        return Ok(found);
    }
    let mut new = text.clone();
    new.replace_range(at..at + 6, &format!("{:06}", expected + 1));
    let beside = path.with_extension("beside");
    fs::write(&beside, new)?;
    // Editors check whether the file has changed before they write.
    if fs::read_to_string(&path)? != text {
        return Err(std::io::Error::other("changed meanwhile"));
    }
    fs::rename(&beside, &path)?;
    Ok(found)
}

fn edit_in_place(arena: &Arena, plan: &Contended, expected: u64) -> std::io::Result<u64> {
    let path = place(&arena.root, plan);
    let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let (at, found) = counted(&text)?;
    if found != expected {
        return Ok(found);
    }
    file.seek(SeekFrom::Start(at as u64))?;
    file.write_all(format!("{:06}", expected + 1).as_bytes())?;
    // A writer into a file that is no longer the plan has written nothing, and can detect that.
    match is_same(&file, &path)? {
        true => Ok(found),
        false => Err(std::io::Error::other("replaced meanwhile")),
    }
}

fn is_same(file: &File, path: &std::path::Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let (own, there) = (file.metadata()?, fs::metadata(path)?);
    Ok((own.dev(), own.ino()) == (there.dev(), there.ino()))
}
