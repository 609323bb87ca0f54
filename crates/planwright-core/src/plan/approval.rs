//! The table of transitions of whole plans: status and verb to new status, with each dialect's machine as data.

/// A verb that applies to a whole plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlanVerb {
    /// Asks for it to be approved.
    Submit,
    /// Lets it be worked on.
    Approve,
    /// Does not let it be worked on as it is.
    Reject,
    /// Gives it up.
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

/// Where the verbs lead from one status.
#[derive(Debug)]
pub struct PlanRow {
    /// The dialect's word for the status.
    pub from: &'static str,
    /// The words for where `submit`, `approve`, `reject` and `cancel` lead; none where they are not allowed.
    pub to: [Option<&'static str>; 4],
}

/// How a dialect's plans move, as data.
#[derive(Debug)]
pub struct PlanMachine {
    /// A row for each status that its files can hold; none where its plans have no status that planwright moves.
    pub rows: &'static [PlanRow],
    /// The status of a plan whose file gives none.
    pub unsaid: Option<&'static str>,
    /// Why a verb that stands in no row leads nowhere: ends a sentence that begins with `cannot approve this plan:`.
    pub lacks: &'static str,
    /// What there is instead.
    pub instead: &'static str,
}

impl PlanMachine {
    /// Returns where a verb leads from a status; none where it is not allowed.
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

    /// Returns whether a verb leads anywhere from any status.
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

/// Why a plan may not be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunRefusal {
    /// What lets it run without an approval.
    pub lift: RunLift,
    /// What is in the way.
    pub message: &'static str,
    /// What to do.
    pub help: &'static str,
}

/// What lets a plan run that would be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLift {
    /// The user's approval: `run --yes` gives it.
    Approval,
    /// Another attempt at what failed: `run --retry-failed` makes it.
    Retry,
    /// Nothing that a run could be told.
    Nothing,
}

impl RunRefusal {
    /// Returns a refusal that nothing lifts, from a message and what to do.
    pub const fn never((message, help): (&'static str, &'static str)) -> Self {
        RunRefusal {
            lift: RunLift::Nothing,
            message,
            help,
        }
    }
}
