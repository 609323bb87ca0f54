//! Finds tasks that are done with a proof: a passed verification, a recorded waiver, or done before planwright first read the
//! plan.

use std::collections::HashSet;

use planwright_core::plan::State;

use crate::journal::{ChangeOutcome, History};

#[derive(Clone, Debug, Default)]
pub struct Proofs {
    proven: HashSet<String>,
    /// Whether the journal records which tasks were done when planwright first read the plan. Without that record, all count as proven.
    has_beginning: bool,
}

impl Proofs {
    pub fn of(history: &History) -> Self {
        let mut proofs = Proofs::default();
        for past in history.changes() {
            if past.outcome == ChangeOutcome::Void {
                continue;
            }
            let change = &past.change;
            if let Some(found) = &change.found_done {
                proofs.proven.extend(found.iter().cloned());
                proofs.has_beginning = true;
            }
            for moved in change.moves.iter().chain(&change.states) {
                // A renamed task keeps its proof, and an undone change restores the earlier one.
                let is_kept = moved.from.is_none() || change.verb == "undo";
                match State::from_word(&moved.to) == Some(State::Done) && is_kept {
                    true => proofs.proven.insert(moved.task.clone()),
                    false => proofs.proven.remove(&moved.task),
                };
            }
            let verified = change.verified.iter();
            let passed = verified.filter(|verified| verified.passed || verified.waived);
            proofs.proven.extend(passed.map(|verified| verified.task.clone()));
        }
        proofs
    }

    /// Returns whether a done task is proven.
    pub fn has(&self, task: &str) -> bool {
        !self.has_beginning || self.proven.contains(task)
    }
}
