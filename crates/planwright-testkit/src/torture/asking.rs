//! Requests to a run, with faults in the requesting process: acknowledged requests take effect, others can be repeated, and the
//! run ends.

use std::time::Duration;

use super::fault::Fault;
use super::place::{CommandResult, RunningCommand, WorkerFolder, kill};
use super::runs::{clido, kinds, ledger};
use super::verbs::{no_panic, states};
use super::{FaultScenario, Harm, Rehearsal, Wrong};
use super::{broken, hangs};
use crate::samples::words;

const PLAN: &str = "plan.json";

const FAULTS: &[Fault] = &[
    Fault::Kill,
    Fault::Tear,
    Fault::Short,
    Fault::Full,
    Fault::FullFrom,
    Fault::Io,
    Fault::ClockBack,
    Fault::ClockAhead,
];

/// Each agent works until it is released.
const AGENT: &str = r#"echo "begin $PLANWRIGHT_TASK $$" >> "$ASIDE/ledger"
while [ ! -e "$ASIDE/go" ]; do sleep 0.01; done
printf '{"planwright_result": 1, "outcome": "done"}' > "$PLANWRIGHT_RESULT"
"#;

/// The time limit for a run to start, to answer, or to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request to a run.
struct ControlCommand {
    name: &'static str,
    command: &'static [&'static str],
    /// The kind of the record with which the run answers.
    answer: &'static str,
}

pub(super) fn all() -> Vec<Box<dyn FaultScenario>> {
    let asking =
        |name, command, answer| -> Box<dyn FaultScenario> { Box::new(ControlCommand { name, command, answer }) };
    vec![
        asking("ask-pause", &["pause"], "paused"),
        asking("ask-resume", &["resume"], "resumed"),
        asking("ask-stop", &["stop"], "stopping"),
        asking("ask-stop-now", &["stop", "--now"], "stopping"),
    ]
}

impl FaultScenario for ControlCommand {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn group(&self) -> &'static str {
        super::runs::GROUP
    }

    fn rehearse(&self, place: &WorkerFolder) -> Result<Option<Rehearsal>, Wrong> {
        let going = self.begin(place)?;
        place.take_steps();
        let log = place.step_log().display().to_string();
        let came = place.does(&words(self.command), &[("PLANWRIGHT_FAULT_LOG", log)]);
        let steps = place.take_steps();
        let judged = came
            .map_err(hangs)
            .and_then(|came| self.judge(place, going, &came).map(|()| came.took));
        cleared(place);
        Ok(Some(Rehearsal {
            steps,
            faults: FAULTS.to_vec(),
            n_random: 6,
            took: judged?,
            seen: Box::new(()),
        }))
    }

    fn suffer(&self, place: &WorkerFolder, _rehearsal: &Rehearsal, fault: Fault, at: u64) -> Result<bool, Wrong> {
        let going = self.begin(place)?;
        place.take_steps();
        let came = self.disturb(place, fault, at);
        let result = came.and_then(|came| {
            self.judge(place, going, came.as_ref().unwrap_or(&CommandResult::killed()))?;
            Ok(came.is_some())
        });
        cleared(place);
        result
    }
}

impl ControlCommand {
    /// Starts a run of two consecutive tasks, and waits until the first is active.
    fn begin(&self, place: &WorkerFolder) -> Result<RunningCommand, Wrong> {
        place.clear().map_err(broken)?;
        let aside = place.aside("");
        let aside = aside.display().to_string();
        let aside = aside.trim_end_matches('/');
        let config = format!(
            "[agents.mock]\ncommand = [\"sh\", \"{aside}/agent.sh\"]\n[agents.mock.set]\nASIDE = \"{aside}\"\n[run]\nagent = \
             \"mock\"\nbackoff = \"1ms\"\ngrace = \"2s\"\n"
        );
        place.write(PLAN, &clido("a,b a")).map_err(broken)?;
        place.write("planwright.toml", &config).map_err(broken)?;
        std::fs::write(place.aside("agent.sh"), AGENT).map_err(broken)?;
        let going = place.begin_aside(&words(&["run", PLAN])).map_err(hangs)?;
        within(|| !ledger(place).is_empty()).map_err(|()| (Harm::Stuck, "the run does not begin".to_owned()))?;
        if self.answer == "resumed" {
            let came = place.does(&words(&["pause"]), &[]).map_err(hangs)?;
            is_well(&came)?;
        }
        Ok(going)
    }

    /// Applies the fault to the requesting process. None if it was not reached.
    fn disturb(&self, place: &WorkerFolder, fault: Fault, at: u64) -> Result<Option<CommandResult>, Wrong> {
        let command = words(self.command);
        if fault == Fault::Random {
            let asker = place.begin(&command, &[]).map_err(hangs)?;
            let is_killed = asker.kill_after(Duration::from_micros(at)).map_err(broken)?;
            return Ok(is_killed.then(CommandResult::killed));
        }
        let came = place.does(&command, &fault.variables(place, at, PLAN)).map_err(hangs)?;
        let is_struck = place.take_steps().iter().any(|step| step.starts_with('!'));
        Ok(is_struck.then_some(came))
    }

    fn judge(&self, place: &WorkerFolder, going: RunningCommand, came: &CommandResult) -> Result<(), Wrong> {
        no_panic(came)?;
        if came.status == Some(0) && !self.is_heard(place) {
            return Err((
                Harm::Lost,
                format!("it was acknowledged, and the run has not heard it:\n{}", came.text),
            ));
        }
        if came.status != Some(0) {
            let again = place.does(&words(self.command), &[]).map_err(hangs)?;
            no_panic(&again)?;
            // The run may have received the first request, and have ended because of it.
            let is_over = kinds(place).iter().any(|kind| kind == "ended");
            if again.status != Some(0) && !(is_over && self.is_heard(place)) {
                return Err((Harm::Stuck, again.text));
            }
        }
        if !self.is_heard(place) {
            return Err((Harm::Lost, format!("nothing was heard: {:?}", kinds(place))));
        }
        let n_answers = kinds(place).iter().filter(|kind| *kind == self.answer).count();
        if n_answers > 1 {
            return Err((Harm::Duplicated, format!("{:?}", kinds(place))));
        }
        self.end(place, going)
    }

    fn is_heard(&self, place: &WorkerFolder) -> bool {
        kinds(place).iter().any(|kind| kind == self.answer)
    }

    /// Releases the agents, and lets the run end; the next run does the rest.
    fn end(&self, place: &WorkerFolder, going: RunningCommand) -> Result<(), Wrong> {
        if self.answer == "paused" {
            is_well(&place.does(&words(&["resume"]), &[]).map_err(hangs)?)?;
        }
        std::fs::write(place.aside("go"), "").map_err(broken)?;
        let ended = going.ends_within(PATIENCE).map_err(hangs)?;
        no_panic(&ended)?;
        if ended.status.is_none() {
            return Err((Harm::Stuck, format!("the run does not end:\n{}", ended.text)));
        }
        match place.processes().as_slice() {
            [] => {}
            left => return Err((Harm::LeftBehind, format!("{left:?}"))),
        }
        is_well(&place.does(&words(&["run", PLAN]), &[]).map_err(hangs)?)?;
        let states = states(place, PLAN)?;
        if !states.iter().all(|(_, state)| state == "done") {
            return Err((Harm::Lost, format!("{states:?}")));
        }
        // Only a task whose agent was ended early starts once more.
        let n_begun = ledger(place).len();
        let expected = if self.command == ["stop", "--now"] { 3 } else { 2 };
        match n_begun == expected {
            true => Ok(()),
            false => Err((Harm::Duplicated, format!("{:?}", ledger(place)))),
        }
    }
}

fn is_well(came: &CommandResult) -> Result<(), Wrong> {
    no_panic(came)?;
    match came.status {
        Some(0) => Ok(()),
        _ => Err((Harm::Stuck, came.text.clone())),
    }
}

fn within(is_so: impl Fn() -> bool) -> Result<(), ()> {
    let since = std::time::Instant::now();
    while !is_so() {
        if since.elapsed() > PATIENCE {
            return Err(());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Ends remaining processes, which must not disturb the next case.
fn cleared(place: &WorkerFolder) {
    for pid in place.processes() {
        kill(pid);
    }
}
