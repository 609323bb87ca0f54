//! The faults, as the binary takes them.

use super::chance::Chance;
use super::place::WorkerFolder;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The process is killed before a step.
    Kill,
    /// Half of a write arrives, and the process is killed.
    Tear,
    /// Half of a write arrives, and the disk is full.
    Short,
    /// The disk is full for one step.
    Full,
    /// The disk is full from a step on.
    FullFrom,
    /// The device fails at a step, as `fsync` reports it.
    Io,
    /// An editor changes the plan in place before a step.
    EditInPlace,
    /// An editor replaces the plan by an edited one before a step.
    EditByRename,
    /// From a step on the clock is a year behind.
    ClockBack,
    /// From a step on the clock is ten years ahead.
    ClockAhead,
    /// The agents are killed before a step.
    AgentsKilled,
    /// The process is killed after this many microseconds.
    Random,
    /// The process is killed before a git command starts.
    GitBefore,
    /// A git command is killed with its children while it works, and the process with it.
    GitWithin,
    /// The process is killed after a git command ended.
    GitAfter,
    /// The process is killed before a git command starts, and locks are left in the user's repository.
    UserLocks,
    /// The process is killed before a git command starts, and locks are left in planwright's own git directories.
    OwnLocks,
    /// A user works with git during the run; the case is a seed instead of a step.
    User,
}

/// Faults that kill git together with planwright.
pub(super) const WITH_GIT: &[Fault] = &[
    Fault::GitBefore,
    Fault::GitWithin,
    Fault::GitAfter,
    Fault::UserLocks,
    Fault::OwnLocks,
];

/// The time after its start in which a git command is killed, in microseconds.
const MAX_GIT_MICROS: usize = 4000;

impl Fault {
    /// Returns the name for cases.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill",
            Fault::Tear => "tear",
            Fault::Short => "short",
            Fault::Full => "full",
            Fault::FullFrom => "full-from",
            Fault::Io => "io",
            Fault::EditInPlace => "edit-in-place",
            Fault::EditByRename => "edit-by-rename",
            Fault::ClockBack => "clock-back",
            Fault::ClockAhead => "clock-ahead",
            Fault::AgentsKilled => "agents-killed",
            Fault::Random => "random",
            Fault::GitBefore => "git-before",
            Fault::GitWithin => "git-within",
            Fault::GitAfter => "git-after",
            Fault::UserLocks => "locks-of-user",
            Fault::OwnLocks => "locks-of-planwright",
            Fault::User => "user",
        }
    }

    /// Returns whether it can happen at a step, as the binary logs it.
    pub(super) fn fits(self, step: &str) -> bool {
        match self {
            Fault::Kill | Fault::ClockBack | Fault::ClockAhead | Fault::AgentsKilled => true,
            Fault::EditInPlace | Fault::EditByRename => true,
            Fault::Tear | Fault::Short => step.starts_with("write"),
            Fault::Full | Fault::FullFrom | Fault::Io => !step.starts_with("point"),
            Fault::GitBefore | Fault::GitWithin | Fault::UserLocks | Fault::OwnLocks => step == "step git",
            Fault::GitAfter => step == "point git is over",
            Fault::Random | Fault::User => false,
        }
    }

    /// Returns whether it ends the process.
    pub(super) fn is_deadly(self) -> bool {
        matches!(self, Fault::Kill | Fault::Tear | Fault::Random)
    }

    /// Returns whether it is an edit of the plan by an editor.
    pub(super) fn is_edit(self) -> bool {
        matches!(self, Fault::EditInPlace | Fault::EditByRename)
    }

    /// Returns the variables that request the fault from the binary.
    pub(super) fn variables(self, place: &WorkerFolder, at: u64, plan: &str) -> Vec<(&'static str, String)> {
        let micros = Chance::new(at).below(MAX_GIT_MICROS);
        let within = format!("git-within={micros}");
        let kind = match self {
            Fault::Kill | Fault::GitBefore | Fault::GitAfter | Fault::UserLocks | Fault::OwnLocks => "kill",
            Fault::GitWithin => &within,
            Fault::Tear => "tear",
            Fault::Short => "short",
            Fault::Full => "full",
            Fault::FullFrom => "full-from",
            Fault::Io => "io",
            Fault::EditInPlace | Fault::EditByRename | Fault::AgentsKilled => "command",
            Fault::ClockBack => "clock=-31536000",
            Fault::ClockAhead => "clock=315360000",
            Fault::Random | Fault::User => "none",
        };
        vec![
            ("PLANWRIGHT_FAULT", format!("{kind}@{at}")),
            ("PLANWRIGHT_FAULT_LOG", place.step_log().display().to_string()),
            ("PLANWRIGHT_FAULT_COMMAND", self.command(place, plan)),
        ]
    }

    fn command(self, place: &WorkerFolder, plan: &str) -> String {
        let plan = place.root().join(plan).display().to_string();
        let aside = place.aside("edited").display().to_string();
        let mark = place.aside(WAS_EDITED).display().to_string();
        let edited = format!("[ -f '{plan}' ] && touch '{mark}' && sed 's/{BY_HAND}/{EDITED}/' '{plan}' > '{aside}'");
        match self {
            Fault::EditInPlace => format!("{edited} && cat '{aside}' > '{plan}'"),
            Fault::EditByRename => format!("{edited} && mv '{aside}' '{plan}'"),
            Fault::AgentsKilled => format!(
                "for pid in $(cat '{}'/pid-* 2>/dev/null); do kill -KILL $pid; done",
                place.aside("").display()
            ),
            _ => String::new(),
        }
    }
}

/// The word in a plan that an edit by hand replaces.
pub(super) const BY_HAND: &str = "by-hand";

/// The file that shows that the edit was made: a missing plan cannot be edited.
pub(super) const WAS_EDITED: &str = "was-edited";

/// The replacement of that word.
pub(super) const EDITED: &str = "edited-by-hand";
