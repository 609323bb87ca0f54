//! One writing command with faults: each file has the old text or the new one, acknowledged changes are there, and the command
//! can continue.

use std::collections::BTreeMap;

use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{Choice, DIALECTS, DiskFacts};
use planwright_core::inspect::inspect;
use planwright_core::text::SourceText;
use serde_json::Value;

use super::fault::{BY_HAND, EDITED, Fault};
use super::mask::mask;
use super::place::{CommandResult, WorkerFolder};
use super::{FaultScenario, Harm, Rehearsal, Wrong, broken, hangs};

/// The effect of repeating a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It is refused, or changes nothing.
    Same,
    /// It would do something else, so it is not repeated.
    Another,
}

/// A command in a scene.
pub(super) struct VerbCommand {
    pub(super) name: String,
    pub(super) group: &'static str,
    pub(super) files: Vec<(String, String)>,
    /// The commands that set up the scene.
    pub(super) before: Vec<Vec<String>>,
    pub(super) command: Vec<String>,
    /// The file that it concerns.
    pub(super) plan: String,
    pub(super) again: Again,
    /// Whether `undo` undoes it.
    pub(super) can_be_undone: bool,
}

/// The state of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WorkspaceView {
    files: BTreeMap<String, String>,
    /// Every task's state, as in `show`; none without a plan.
    states: Option<Vec<(String, String)>>,
}

/// The results without faults.
struct VerbBaseline {
    before: WorkspaceView,
    after: WorkspaceView,
    undone: Option<WorkspaceView>,
    /// The landed changes, in order.
    landed: Vec<String>,
}

const FAULTS: &[Fault] = &[
    Fault::Kill,
    Fault::Tear,
    Fault::Short,
    Fault::Full,
    Fault::FullFrom,
    Fault::Io,
    Fault::EditInPlace,
    Fault::EditByRename,
    Fault::ClockBack,
    Fault::ClockAhead,
];

/// Returns whether a file names the active plan of a dialect. planwright keeps it up to date.
fn is_pointer(name: &str) -> bool {
    let mut pointers = DIALECTS.iter().filter_map(|dialect| dialect.pointer());
    pointers.any(|pointer| pointer.place() == name)
}

/// The folder of proposals.
const PROPOSALS: &str = ".planwright/proposals/";

/// How often each command is killed at a random moment.
const N_RANDOM: usize = 6;

impl FaultScenario for VerbCommand {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn group(&self) -> &'static str {
        self.group
    }

    fn rehearse(&self, place: &WorkerFolder) -> Result<Option<Rehearsal>, Wrong> {
        place.clear().map_err(broken)?;
        place.write("planwright.toml", "").map_err(broken)?;
        for (name, text) in &self.files {
            place.write(name, text).map_err(broken)?;
        }
        for command in &self.before {
            let came = place.does(command, &[]).map_err(hangs)?;
            // A version that is only proposed is not written, which is no success.
            let is_proposed = command.first().is_some_and(|word| word == "replan") && came.status == Some(1);
            if came.status != Some(0) && !is_proposed {
                return Ok(None);
            }
        }
        place.keep().map_err(broken)?;
        let before = self.look(place)?;
        place.take_steps();
        let log = place.step_log().display().to_string();
        let came = place
            .does(&self.command, &[("PLANWRIGHT_FAULT_LOG", log)])
            .map_err(hangs)?;
        let steps = place.take_steps();
        if came.status != Some(0) {
            return Ok(None);
        }
        let after = self.look(place)?;
        let landed = self.landed(place);
        let undone = self.undo(place)?;
        // A change with later edits is not undone: `undo` reports that.
        let is_undo = self.command.first().is_some_and(|word| word == "undo");
        let has_mark = !is_undo && before.files.values().any(|text| text.contains(BY_HAND));
        let faults = FAULTS.iter().filter(|fault| has_mark || !fault.is_edit());
        Ok(Some(Rehearsal {
            steps,
            faults: faults.copied().collect(),
            n_random: N_RANDOM,
            took: came.took,
            seen: Box::new(VerbBaseline {
                before,
                after,
                undone,
                landed,
            }),
        }))
    }

    fn suffer(&self, place: &WorkerFolder, rehearsal: &Rehearsal, fault: Fault, at: u64) -> Result<bool, Wrong> {
        let seen: &VerbBaseline = rehearsal.seen.downcast_ref().expect("it is what was remembered");
        place.put_back().map_err(broken)?;
        place.take_steps();
        let variables = fault.variables(place, at, &self.plan);
        let came = if fault == Fault::Random {
            let going = place.begin(&self.command, &[]).map_err(hangs)?;
            let is_killed = going.kill_after(std::time::Duration::from_micros(at)).map_err(broken)?;
            if !is_killed {
                return Ok(false);
            }
            CommandResult::killed()
        } else {
            let came = place.does(&self.command, &variables).map_err(hangs)?;
            if !place.take_steps().iter().any(|step| step.starts_with('!')) {
                return Ok(false);
            }
            came
        };
        let course = FaultTrial {
            verb: self,
            place,
            seen,
            fault,
        };
        course.judge(&came).map(|()| true)
    }
}

/// One fault, and its result.
struct FaultTrial<'c> {
    verb: &'c VerbCommand,
    place: &'c WorkerFolder,
    seen: &'c VerbBaseline,
    fault: Fault,
}

impl FaultTrial<'_> {
    fn judge(&self, came: &CommandResult) -> Result<(), Wrong> {
        no_panic(came)?;
        let now = self.verb.look(self.place)?;
        self.each_file_is_old_or_new(&now, came)?;
        let has_landed = self.has_landed(&now);
        if came.status == Some(0) && !self.is_after(&now) {
            return Err((Harm::Lost, format!("it was acknowledged:\n{}\n{now:#?}", came.text)));
        }
        // If the plan never changes, "it was not changed" proves nothing.
        let says_untouched = (came.text.contains("was not changed") && !self.is_plan_alone())
            || came.text.contains("nothing was written");
        if came.status != Some(0) && has_landed && says_untouched && !self.has_landed(&self.seen.before) {
            return Err((Harm::Untrue, came.text.clone()));
        }
        if matches!(self.fault, Fault::ClockBack | Fault::ClockAhead) && came.status != Some(0) {
            return Err((Harm::Stuck, format!("by the clock alone:\n{}", came.text)));
        }
        self.go_on(has_landed)
    }

    /// Runs the ordinary command again, and undoes it.
    fn go_on(&self, has_landed: bool) -> Result<(), Wrong> {
        let verb = self.verb;
        if !has_landed || verb.again == Again::Same {
            let came = self.place.does(&verb.command, &[]).map_err(hangs)?;
            no_panic(&came)?;
            if !has_landed && came.status != Some(0) {
                return Err((Harm::Stuck, came.text));
            }
            let now = verb.look(self.place)?;
            if !self.is_after(&now) {
                let what = format!(
                    "after going on:\n{}\n{now:#?}\nand not\n{:#?}",
                    came.text, self.seen.after
                );
                return Err((Harm::Lost, what));
            }
        }
        let landed = verb.landed(self.place);
        // The origin of a new plan is recorded after it exists: a process killed in between has created it without the record.
        let is_new = self.seen.before.states.is_none() && landed.is_empty();
        // So is the reason for a rejected proposal, after it is removed.
        let is_rejected = verb.command.first().is_some_and(|word| word == "reject");
        let is_unnoted =
            is_rejected && self.seen.landed.starts_with(&landed) && landed.len() + 1 == self.seen.landed.len();
        // An edit by hand adds its own records; only those of commands count.
        if landed != self.seen.landed && !self.fault.is_edit() && !is_new && !is_unnoted {
            let harm = match landed.len() > self.seen.landed.len() {
                true => Harm::Duplicated,
                false => Harm::Lost,
            };
            return Err((
                harm,
                format!("the history is {landed:?} and not {:?}", self.seen.landed),
            ));
        }
        if !self.fault.is_edit() {
            let undone = verb.undo(self.place)?;
            if undone != self.seen.undone {
                let what = format!("undone, it is\n{undone:#?}\nand not\n{:#?}", self.seen.undone);
                return Err((Harm::Lost, what));
            }
        }
        if verb.can_be_undone && !self.place.litter().is_empty() {
            return Err((Harm::Invalid, format!("litter: {:?}", self.place.litter())));
        }
        self.is_usable()?;
        self.nothing_is_proposed()?;
        match self.place.processes().as_slice() {
            [] => Ok(()),
            left => Err((Harm::LeftBehind, format!("{left:?}"))),
        }
    }

    /// Checks that accepted or rejected proposals are not offered again, for the plan that they were made for.
    fn nothing_is_proposed(&self) -> Result<(), Wrong> {
        let [_, option, plan, ..] = self.verb.command.as_slice() else {
            return Ok(());
        };
        if option != "--proposed" {
            return Ok(());
        }
        let args = ["proposals", plan, "--json"].map(str::to_owned);
        let came = self.place.does(&args, &[]).map_err(hangs)?;
        let told: Value = serde_json::from_str(&came.text).unwrap_or_default();
        match told["proposals"].as_array() {
            Some(proposals) if proposals.is_empty() => Ok(()),
            _ => Err((Harm::Duplicated, came.text)),
        }
    }

    /// Checks that the result can be changed.
    fn is_usable(&self) -> Result<(), Wrong> {
        if self.seen.before.states.is_some() || self.seen.after.states.is_none() {
            return Ok(());
        }
        let args = ["next", "--start", &self.verb.plan].map(str::to_owned);
        let came = self.place.does(&args, &[]).map_err(hangs)?;
        match came.text.contains("hard links") {
            true => Err((Harm::Stuck, came.text)),
            false => Ok(()),
        }
    }

    fn each_file_is_old_or_new(&self, now: &WorkspaceView, came: &CommandResult) -> Result<(), Wrong> {
        let (before, after) = (&self.seen.before.files, &self.seen.after.files);
        for name in now.files.keys().chain(before.keys()).chain(after.keys()) {
            let text = now.files.get(name);
            // The name of a file being moved is reserved first.
            if text.is_some_and(String::is_empty) && before.get(name).is_none() && name.contains("/archive/") {
                continue;
            }
            let is_any = [before.get(name), after.get(name)]
                .into_iter()
                .any(|known| match known {
                    Some(known) if self.fault.is_edit() => {
                        text == Some(known) || text == Some(&known.replace(BY_HAND, EDITED))
                    }
                    known => text == known,
                });
            if !is_any {
                return Err((Harm::Invalid, format!("`{name}` is {text:?}\n{}", came.text)));
            }
            // A command that removes the edited text removes the edit.
            let was_marked = [before, after]
                .iter()
                .all(|files| files.get(name).is_some_and(|text| text.contains(BY_HAND)));
            let is_kept = text.is_none_or(|text| text.contains(EDITED));
            if self.fault.is_edit() && was_marked && !is_kept && name == &mask(&self.verb.plan) {
                return Err((Harm::EditLost, format!("`{name}` is {text:?}\n{}", came.text)));
            }
        }
        Ok(())
    }

    /// Returns whether the plan itself has the command's result.
    fn has_landed(&self, now: &WorkspaceView) -> bool {
        let plan = mask(&self.verb.plan);
        // An effect only in the history is checked there.
        if self.seen.before == self.seen.after && self.verb.landed(self.place) != self.seen.landed {
            return false;
        }
        // An effect outside of the plan is checked in other files.
        if self.is_plan_alone() && self.seen.before != self.seen.after {
            return self.is_after(now);
        }
        now.states == self.seen.after.states && self.same(now.files.get(&plan), self.seen.after.files.get(&plan))
    }

    /// Returns whether the command leaves the plan itself unchanged.
    fn is_plan_alone(&self) -> bool {
        let plan = mask(&self.verb.plan);
        let (before, after) = (&self.seen.before, &self.seen.after);
        before.states == after.states && before.files.get(&plan) == after.files.get(&plan)
    }

    fn is_after(&self, now: &WorkspaceView) -> bool {
        let after = &self.seen.after;
        let names = now.files.keys().chain(after.files.keys());
        // It follows the plan, at the latest with its next change.
        let names = names.filter(|name| !is_pointer(name));
        // If the process dies before it removes the file of an approved version, the file stays, and no command lists it.
        let is_approval = self.verb.command.first().is_some_and(|word| word == "approve");
        let names = names.filter(|name| !(is_approval && name.starts_with(PROPOSALS)));
        let mut pairs = names.map(|name| (now.files.get(name), after.files.get(name)));
        now.states == after.states && pairs.all(|(text, known)| self.same(text, known))
    }

    fn same(&self, text: Option<&String>, known: Option<&String>) -> bool {
        match (text, known) {
            (Some(text), Some(known)) if self.fault.is_edit() => {
                text.replace(EDITED, BY_HAND) == known.replace(EDITED, BY_HAND)
            }
            _ => text == known,
        }
    }
}

impl VerbCommand {
    fn look(&self, place: &WorkerFolder) -> Result<WorkspaceView, Wrong> {
        let mut files = BTreeMap::new();
        for (name, text) in place.files() {
            is_sound(&name, &text)?;
            files.insert(mask(&name), mask(&text));
        }
        let path = place.root().join(&self.plan);
        let states = if path.exists() {
            Some(states(place, &self.plan)?)
        } else {
            None
        };
        Ok(WorkspaceView { files, states })
    }

    /// Returns the landed changes, oldest first: verb and tasks.
    fn landed(&self, place: &WorkerFolder) -> Vec<String> {
        let args = ["history", &self.plan, "--json"].map(str::to_owned);
        let text = place.does(&args, &[]).map(|came| came.text).unwrap_or_default();
        let history: Value = serde_json::from_str(&text).unwrap_or_default();
        let changes = history["changes"].as_array().into_iter().flatten().rev();
        // An open change is judged by the file, as by any reader.
        let landed = changes.filter(|change| change["outcome"] != "void");
        landed
            .map(|change| format!("{} {}", change["verb"], change["tasks"]))
            .collect()
    }

    fn undo(&self, place: &WorkerFolder) -> Result<Option<WorkspaceView>, Wrong> {
        if !self.can_be_undone {
            return Ok(None);
        }
        let came = place
            .does(&["undo".to_owned(), self.plan.clone()], &[])
            .map_err(hangs)?;
        match came.status {
            Some(0) => self.look(place).map(Some),
            _ => Err((Harm::Stuck, format!("undo:\n{}", came.text))),
        }
    }
}

/// Returns the state of every task.
pub(super) fn states(place: &WorkerFolder, plan: &str) -> Result<Vec<(String, String)>, Wrong> {
    let args = ["show", plan, "--json"].map(str::to_owned);
    let came = place.does(&args, &[]).map_err(hangs)?;
    let shown: Value = serde_json::from_str(&came.text).unwrap_or_default();
    let Some(tasks) = shown["tasks"].as_array().filter(|_| came.status == Some(0)) else {
        return Err((Harm::Invalid, format!("it cannot be shown:\n{}", came.text)));
    };
    let word = |value: &Value| mask(value.as_str().unwrap_or_default());
    Ok(tasks
        .iter()
        .map(|task| (word(&task["task"]), word(&task["status"])))
        .collect())
}

/// Reads every plan like planwright's core: ours have no errors.
pub(super) fn is_sound(name: &str, text: &str) -> Result<(), Wrong> {
    const OTHERS: [&str; 5] = ["current-task", "docs/plans", "answer", "unsound", ".planwright/"];
    let is_plan = [".json", ".yaml", ".md"].iter().any(|end| name.ends_with(end));
    let is_other = OTHERS.iter().any(|other| name.contains(other));
    // The name of a file being moved is reserved first.
    let is_claim = name.contains("/archive/") && text.is_empty();
    if !is_plan || is_other || is_claim {
        return Ok(());
    }
    if name.ends_with(".json") && serde_json::from_str::<Value>(text).is_err() {
        return Err((Harm::Invalid, format!("`{name}` is no JSON:\n{text}")));
    }
    let inspection = inspect(&SourceText::new(text), &Choice::by_content(&DiskFacts::default()));
    let errors = inspection
        .diagnostics
        .iter()
        .filter(|found| found.severity >= Severity::Error);
    let errors: Vec<&str> = errors.map(|found| found.message.as_str()).collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err((Harm::Invalid, format!("`{name}`: {errors:?}\n{text}"))),
    }
}

impl CommandResult {
    /// Returns the result of a killed command.
    pub(super) fn killed() -> Self {
        CommandResult {
            status: None,
            text: String::new(),
            took: std::time::Duration::ZERO,
        }
    }
}

pub(super) fn no_panic(came: &CommandResult) -> Result<(), Wrong> {
    match came.text.contains("panicked at") {
        true => Err((Harm::Stuck, came.text.clone())),
        false => Ok(()),
    }
}
