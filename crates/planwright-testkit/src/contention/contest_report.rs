//! Compares the promises of all processes with the results.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::plans::Contended;

/// How many faults are described in words.
const MAX_TOLD: usize = 20;

/// A change that a command reported.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    pub(super) plan: &'static str,
    pub(super) verb: String,
    pub(super) by: String,
    /// The number of the claim of its caller.
    pub(super) claim: Option<u64>,
    /// Its number in the plan's history.
    pub(super) change: u64,
    pub(super) began: Instant,
    pub(super) ended: Instant,
    /// The moved tasks, each with its states before and after.
    pub(super) moves: Vec<(String, String, String)>,
    /// The tasks that it concerns.
    pub(super) names: Vec<String>,
}

/// The report of a contest. All counts of lost, out-of-order, invalid or stuck cases must be 0.
#[derive(Debug, Default)]
pub struct ContestReport {
    pub(super) promises: Vec<Promise>,
    /// Changes that were acknowledged.
    pub n_acknowledged: usize,
    /// Commands that a task's state did not allow.
    pub n_refused: usize,
    /// Commands without an effect.
    pub n_nothing: usize,
    /// Commands that gave way to an editor that writes without a pause.
    pub n_gave_way: usize,
    /// Runs that ended.
    pub n_runs: usize,
    /// Tasks that agents did in them.
    pub n_tasks_run: usize,
    /// How often a plan was read without a lock, in this process.
    pub n_read: usize,
    /// Commands that only read.
    pub n_looked: usize,
    /// Edits by hand.
    pub n_by_hand: usize,
    /// Edits by hand that another process overwrote.
    pub n_by_hand_lost: usize,
    /// Acknowledged changes that are not in the history, or not in the plan.
    pub n_lost: usize,
    /// Changes that do not follow from the previous one, or come before one that had ended before they began.
    pub n_out_of_order: usize,
    /// Tasks that agents were given twice.
    pub n_twice: usize,
    /// Times that a plan could not be read, or had errors.
    pub n_invalid: usize,
    /// Commands that exceeded the time limit.
    pub n_stuck: usize,
    /// The longest that a command took.
    pub longest: Duration,
    /// The durations of all commands, for quantiles.
    waits: Vec<Duration>,
    n_faults: usize,
    faults: Vec<String>,
}

impl ContestReport {
    pub(super) fn fault(&mut self, what: String) {
        self.n_faults += 1;
        if self.faults.len() < MAX_TOLD {
            self.faults.push(what.chars().take(2000).collect());
        }
    }

    pub(super) fn invalid(&mut self, what: String) {
        self.n_invalid += 1;
        self.fault(what);
    }

    pub(super) fn waited(&mut self, time: Duration) {
        self.longest = self.longest.max(time);
        self.waits.push(time);
    }

    /// Returns whether there were no faults.
    pub fn is_clean(&self) -> bool {
        self.n_faults == 0
    }

    /// Returns the duration that the given share of commands did not exceed.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        let at = (waits.len().saturating_sub(1)) as f64 * share;
        waits.get(at as usize).copied().unwrap_or_default()
    }

    /// Compares the promises with the results.
    pub(super) fn settle(&mut self, plans: &[Contended], binary: &Path, root: &Path) {
        self.n_acknowledged = self.promises.len();
        let promises = std::mem::take(&mut self.promises);
        for plan in plans {
            let mut own: Vec<&Promise> = promises.iter().filter(|promise| promise.plan == plan.path).collect();
            own.sort_by_key(|promise| promise.change);
            self.settle_order(&own);
            self.settle_history(plan, &own, binary, root);
            if plan.is_accounted() {
                self.settle_claims(plan, &own);
                self.settle_states(plan, &own, binary, root);
            }
        }
        self.settle_ledger(plans, &promises, root);
    }

    /// Checks that a change that began after another had ended comes after it.
    fn settle_order(&mut self, own: &[&Promise]) {
        let mut latest: Option<&Promise> = None;
        for promise in own {
            if let Some(before) = latest.filter(|before| promise.ended < before.began) {
                self.n_out_of_order += 1;
                self.fault(format!(
                    "{} ended before {} began, and comes after it",
                    promise.by, before.by
                ));
            }
            if latest.is_none_or(|latest| promise.began > latest.began) {
                latest = Some(promise);
            }
        }
    }

    /// Checks that each promise is in the history, once and under its number.
    fn settle_history(&mut self, plan: &Contended, own: &[&Promise], binary: &Path, root: &Path) {
        let Some(history) = asked(binary, root, &["history", plan.path, "--json", "--limit", "1000000"]) else {
            return self.fault(format!("{} has no history that can be read", plan.path));
        };
        let mut landed: HashMap<String, Vec<u64>> = HashMap::new();
        for change in history["changes"].as_array().into_iter().flatten() {
            let is_in_force =
                change["outcome"] == "landed" || change["outcome"].is_null() || change["outcome"] == "recorded";
            if let (Some(by), Some(number), true) = (change["by"].as_str(), change["change"].as_u64(), is_in_force) {
                landed.entry(by.to_owned()).or_default().push(number);
            }
        }
        for promise in own {
            let is_there = |numbers: &&Vec<u64>| {
                let n_own = own.iter().filter(|other| other.by == promise.by).count();
                numbers.contains(&promise.change) && numbers.len() == n_own
            };
            if landed.get(&promise.by).filter(is_there).is_none() {
                self.n_lost += 1;
                self.fault(format!(
                    "{} {} was acknowledged as change {} of {}, whose history has {:?}",
                    promise.verb,
                    promise.by,
                    promise.change,
                    plan.path,
                    landed.get(&promise.by)
                ));
            }
        }
    }

    /// Checks that a task was finished by its holder, with the last claim.
    fn settle_claims(&mut self, plan: &Contended, own: &[&Promise]) {
        let mut holders: HashMap<&str, (u64, &str)> = HashMap::new();
        for promise in own {
            for (task, _, to) in &promise.moves {
                let holder = holders.remove(task.as_str());
                if to == "running" {
                    holders.insert(task, (promise.change, &promise.by));
                }
                let is_theirs = holder.is_some_and(|(claim, by)| promise.claim == Some(claim) && promise.by == by);
                if matches!(promise.verb.as_str(), "done" | "fail") && promise.names.contains(task) && !is_theirs {
                    self.n_out_of_order += 1;
                    self.fault(format!(
                        "{} {} finished {task} of {} with claim {:?}, which {holder:?} held",
                        promise.verb, promise.by, plan.path, promise.claim
                    ));
                }
            }
        }
    }

    /// Checks that each change starts from the state of the previous one, and that the last state is the plan's.
    fn settle_states(&mut self, plan: &Contended, own: &[&Promise], binary: &Path, root: &Path) {
        let mut states: BTreeMap<String, String> = BTreeMap::new();
        for promise in own {
            if promise.verb == "add" {
                for name in &promise.names {
                    states.insert(name.clone(), "pending".to_owned());
                }
            }
            for (task, from, to) in &promise.moves {
                let known = states.insert(task.clone(), to.clone());
                let known = known.as_deref().unwrap_or("pending");
                if known != from {
                    self.n_out_of_order += 1;
                    self.fault(format!(
                        "{} {} took {task} of {} from {from}, and it was {known}",
                        promise.verb, promise.by, plan.path
                    ));
                }
            }
        }
        let Some(shown) = asked(binary, root, &["show", plan.path, "--json"]) else {
            return self.fault(format!("{} cannot be shown", plan.path));
        };
        let tasks: HashMap<&str, &str> = shown["tasks"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|task| Some((task["task"].as_str()?, task["status"].as_str()?)))
            .collect();
        for (task, state) in &states {
            let expected = if plan.is_run { "done" } else { state.as_str() };
            if tasks.get(task.as_str()) != Some(&expected) {
                self.n_lost += 1;
                self.fault(format!(
                    "{task} of {} is to be {expected}, and is {:?}",
                    plan.path,
                    tasks.get(task.as_str())
                ));
            }
        }
    }

    /// Checks that each task of a plan with runs was done once.
    fn settle_ledger(&mut self, plans: &[Contended], promises: &[Promise], root: &Path) {
        let ledger = std::fs::read_to_string(root.join("ledger")).unwrap_or_default();
        let mut times: HashMap<(String, String), usize> = HashMap::new();
        for line in ledger.lines() {
            let Some((plan, task)) = line.rsplit_once(' ') else {
                continue;
            };
            *times.entry((plan.to_owned(), task.to_owned())).or_default() += 1;
        }
        self.n_tasks_run = ledger.lines().count();
        for plan in plans.iter().filter(|plan| plan.is_run) {
            let added = promises.iter().filter(|promise| promise.plan == plan.path);
            let added = added.flat_map(|promise| &promise.names);
            for task in plan.tasks.iter().chain(added) {
                let is_own =
                    |((path, name), _): &(&(String, String), &usize)| path.ends_with(plan.path) && name == task;
                match times.iter().filter(is_own).map(|(_, n)| *n).sum() {
                    1 => {}
                    0 => {
                        self.n_lost += 1;
                        self.fault(format!("nobody did {task} of {}", plan.path));
                    }
                    n => {
                        self.n_twice += 1;
                        self.fault(format!("{task} of {} was done {n} times", plan.path));
                    }
                }
            }
        }
    }
}

fn asked(binary: &Path, root: &Path, args: &[&str]) -> Option<Value> {
    let output = Command::new(binary).args(args).current_dir(root).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

impl fmt::Display for ContestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: [(&str, usize); 16] = [
            ("changes acknowledged", self.n_acknowledged),
            ("commands that the state did not allow", self.n_refused),
            ("commands with nothing to do", self.n_nothing),
            ("commands that gave way to an editor", self.n_gave_way),
            ("runs", self.n_runs),
            ("tasks done in them", self.n_tasks_run),
            ("plans read without a lock", self.n_read),
            ("commands that only look", self.n_looked),
            ("edits by hand", self.n_by_hand),
            ("edits by hand lost", self.n_by_hand_lost),
            ("acknowledged changes lost", self.n_lost),
            ("changes out of order", self.n_out_of_order),
            ("tasks done twice", self.n_twice),
            ("plans found invalid", self.n_invalid),
            ("commands stuck", self.n_stuck),
            ("faults in all", self.n_faults),
        ];
        for (what, n) in rows {
            writeln!(f, "{what:<40} {n:>8}")?;
        }
        let median = self.quantile(0.5);
        let usual = self.quantile(0.99);
        writeln!(
            f,
            "a command took {median:.0?} (median), {usual:.0?} (99 of 100), {:.0?} (longest)",
            self.longest
        )?;
        for fault in &self.faults {
            writeln!(f, "\n{fault}")?;
        }
        Ok(())
    }
}
