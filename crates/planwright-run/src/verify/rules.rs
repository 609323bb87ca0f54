//! Finds the commands that verify a task by the configured rules, and what no rule covers. Runs nothing.
//!
//! Texts of a plan select among the user's commands. They are never commands themselves, unless the user allows that.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use planwright_core::plan::{Field, FieldValue, Plan, Task};

use crate::config::{self, Command, VerifyConfig};
use crate::runs::VerificationContract;

/// The longest text of a plan that counts as a command, in bytes.
const MAX_PLAN_COMMAND_BYTES: usize = 1000;

/// The fields that define when a task is done: a list of criteria, or a task pack's equivalent.
const CRITERIA: &[Field] = &[Field::Criteria, Field::TestFocus, Field::DoneSignal];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskChecks {
    /// The commands in the order in which they run: those for every task, for its type, for its criteria. Each command once.
    pub checks: Vec<Check>,
    /// Criteria without a rule.
    pub unverified: Vec<String>,
    /// Commands inside the plan that do not run, because the user has not allowed it. Their criteria are unverified.
    pub held_back: Vec<String>,
    pub is_covered: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub command: Command,
    /// Its timeout: the longest of its rules.
    pub timeout: Duration,
    /// What it verifies: `every task`, `type X`, or the texts of criteria.
    pub covers: Vec<String>,
    pub from_plan: bool,
}

impl Check {
    /// Returns a command that is run for no rule: a setup command, or one of those that verify every task.
    pub fn of(command: &Command, timeout: Duration) -> Self {
        Check {
            command: command.clone(),
            timeout,
            covers: Vec::new(),
            from_plan: false,
        }
    }
}

pub fn contract_of(plan: &Plan, task: &Task) -> VerificationContract {
    let kind = plan.task_str(task, Field::TaskKind).map(str::trim);
    VerificationContract {
        criteria: criteria(plan, task).into_iter().map(str::to_owned).collect(),
        kind: kind.filter(|kind| !kind.is_empty()).map(str::to_owned),
        ..VerificationContract::default()
    }
}

impl TaskChecks {
    /// Finds what verifies a task of a plan. Commands inside the plan count only if the user allowed them.
    pub fn of(rules: &VerifyConfig, plan: &Plan, task_ix: usize, allow_plan_commands: bool) -> Self {
        match plan.tasks().get(task_ix) {
            Some(task) => TaskChecks::of_contract(rules, &contract_of(plan, task), allow_plan_commands),
            None => TaskChecks::default(),
        }
    }

    pub(crate) fn of_contract(
        rules: &VerifyConfig,
        contract: &VerificationContract,
        allow_plan_commands: bool,
    ) -> Self {
        let mut collected = CollectedCommands::default();
        for command in &rules.every {
            collected.add(command, rules.timeout, "every task");
        }
        for (name, checks) in rules.types_of(contract.kind.as_deref().unwrap_or_default()) {
            collected.add_all(checks, &format!("type {name}"));
        }
        let mut found = TaskChecks::default();
        for criterion in contract.criteria.iter().map(String::as_str) {
            let fitting = rules.criteria.iter().filter(|rule| rule.wanted.fits(criterion));
            let mut is_covered = false;
            for rule in fitting {
                collected.add_all(&rule.checks, criterion);
                is_covered = true;
            }
            match plan_command(criterion).filter(|_| !is_covered) {
                Some(line) if allow_plan_commands => collected.add_from_plan(line, rules.timeout, criterion),
                Some(line) => {
                    found.held_back.push(line.to_owned());
                    found.unverified.push(criterion.to_owned());
                }
                None if !is_covered => found.unverified.push(criterion.to_owned()),
                None => {}
            }
        }
        found.is_covered = !collected.checks.is_empty();
        found.checks = collected.checks;
        found
    }
}

impl VerifyConfig {
    pub fn has_rules(&self) -> bool {
        !self.every.is_empty() || !self.types.is_empty() || !self.criteria.is_empty()
    }

    /// Returns the rules for a task's type. Letter case is ignored, as in the dialects that have types.
    fn types_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a config::CheckCommands)> {
        let fitting = self
            .types
            .iter()
            .filter(move |(name, _)| name.eq_ignore_ascii_case(kind));
        fitting.map(|(name, checks)| (name.as_str(), checks))
    }
}

/// Returns the texts that define when a task is done, in the order of the task, each once.
pub fn criteria<'p>(plan: &'p Plan, task: &Task) -> Vec<&'p str> {
    let mut seen = HashSet::new();
    let entries = plan.entries(task).iter();
    let values = entries
        .filter(|entry| CRITERIA.contains(&entry.field))
        .map(|entry| entry.value);
    let texts = values.flat_map(|value| match value {
        FieldValue::List(list) => plan.items(list).to_vec(),
        value => vec![value],
    });
    texts
        .filter_map(|value| plan.as_str(value))
        .map(str::trim)
        .filter(|text| !text.is_empty() && seen.insert(*text))
        .collect()
}

/// Returns the command that a criterion consists of: only one text between backticks, on one line.
fn plan_command(criterion: &str) -> Option<&str> {
    let line = criterion.strip_prefix('`')?.strip_suffix('`')?.trim();
    let is_one = !line.is_empty() && line.len() <= MAX_PLAN_COMMAND_BYTES;
    let is_plain = !line.contains(|c: char| c == '`' || c.is_control());
    (is_one && is_plain).then_some(line)
}

/// Commands while they are collected, each with its index by its arguments.
#[derive(Default)]
struct CollectedCommands {
    checks: Vec<Check>,
    places: HashMap<Vec<String>, usize>,
}

impl CollectedCommands {
    fn add_all(&mut self, checks: &config::CheckCommands, covers: &str) {
        for command in &checks.run {
            self.add(command, checks.timeout, covers);
        }
    }

    fn add_from_plan(&mut self, line: &str, timeout: Duration, covers: &str) {
        let n_before = self.checks.len();
        self.add(&Command::Shell(line.to_owned()), timeout, covers);
        for check in self.checks.iter_mut().skip(n_before) {
            check.from_plan = true;
        }
    }

    fn add(&mut self, command: &Command, timeout: Duration, covers: &str) {
        let place = *self.places.entry(command.arguments()).or_insert(self.checks.len());
        let Some(known) = self.checks.get_mut(place) else {
            self.checks.push(Check {
                covers: vec![covers.to_owned()],
                ..Check::of(command, timeout)
            });
            return;
        };
        known.timeout = known.timeout.max(timeout);
        // What a command covers is added in order, so that only the last can be equal.
        if known.covers.last().is_none_or(|last| last != covers) {
            known.covers.push(covers.to_owned());
        }
    }
}
