//! The table of transitions of whole plans: status and verb to new status, with each dialect's machine as data.

/// A verb that applies to a whole plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlanVerb {
    /// Submits it for approval.
    Submit,
    /// Approves work on it.
    Approve,
    /// Rejects it.
    Reject,
    /// Cancels it.
    Cancel,
}

impl PlanVerb {
    /// All verbs, in the order of the table.
    pub const ALL: [PlanVerb; 4] = [PlanVerb::Submit, PlanVerb::Approve, PlanVerb::Reject, PlanVerb::Cancel];

    /// Returns its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            PlanVerb::Submit => "submit",
            PlanVerb::Approve => "approve",
            PlanVerb::Reject => "reject",
            PlanVerb::Cancel => "cancel",
        }
    }
}

/// The transitions from one status.
#[derive(Debug)]
pub struct PlanRow {
    /// The dialect's word for the status.
    pub from: &'static str,
    /// The new statuses after `submit`, `approve`, `reject` and `cancel`; none if not allowed.
    pub to: [Option<&'static str>; 4],
}

/// The transitions of a dialect's plans, as data.
#[derive(Debug)]
pub struct PlanMachine {
    /// A row for each status that its files can hold; empty if its plans have no status that planwright changes.
    pub rows: &'static [PlanRow],
    /// The status of a plan without one in its file.
    pub unsaid: Option<&'static str>,
    /// Why a verb in no row has no effect: ends a sentence that begins with `cannot approve this plan:`.
    pub lacks: &'static str,
    /// The alternative.
    pub instead: &'static str,
}

impl PlanMachine {
    /// Returns the status after a verb; none if it is not allowed.
    pub fn outcome(&self, from: &str, verb: PlanVerb) -> Option<&'static str> {
        let row = self.rows.iter().find(|row| row.from == from)?;
        row.to[verb as usize]
    }

    /// Returns the verbs that are allowed from a status.
    pub fn allowed(&self, from: &str) -> impl Iterator<Item = PlanVerb> {
        PlanVerb::ALL
            .into_iter()
            .filter(move |&verb| self.outcome(from, verb).is_some())
    }

    /// Returns whether the dialect knows a status.
    pub fn knows(&self, status: &str) -> bool {
        self.rows.iter().any(|row| row.from == status)
    }

    /// Returns whether a verb is allowed from any status.
    pub fn has(&self, verb: PlanVerb) -> bool {
        self.rows.iter().any(|row| row.to[verb as usize].is_some())
    }
}

/// The table of dialects whose plans have no status of their own.
pub static NO_PLAN_STATUS: PlanMachine = PlanMachine {
    rows: &[],
    unsaid: None,
    lacks: "plans of this dialect have no status of their own",
    instead: "name a task to approve or reject its work: `planwright approve TASK`; `planwright skip` leaves tasks out, `planwright archive` archives the plan; `planwright approve` approves it where `approval.required` is set",
};

/// Why a plan must not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunRefusal {
    /// The option that allows the run.
    pub lift: RunLift,
    /// The obstacle.
    pub message: &'static str,
    /// The next step for the user.
    pub help: &'static str,
}

/// The option that allows a run that would be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLift {
    /// The user's approval: `run --yes` gives it.
    Approval,
    /// Another attempt at a failed task: `run --retry-failed` makes it.
    Retry,
    /// No option of a run allows it.
    Nothing,
}

impl RunRefusal {
    /// Returns a refusal that no option lifts, from a message and its help.
    pub const fn never((message, help): (&'static str, &'static str)) -> Self {
        RunRefusal {
            lift: RunLift::Nothing,
            message,
            help,
        }
    }
}
