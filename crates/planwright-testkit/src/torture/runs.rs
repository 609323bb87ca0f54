//! Runs with faults: done tasks stay done and run once, the work of agents is kept, no process is left, and the next run
//! finishes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::fault::{BY_HAND, EDITED, Fault, WAS_EDITED};
use super::place::{CommandResult, WorkerFolder, kill};
use super::verbs::{is_sound, no_panic, states};
use super::{FaultScenario, Harm, Rehearsal, Wrong};
use super::{broken, hangs};
use crate::samples::{file, samples, words};

pub(super) const GROUP: &str = "runs";

/// The branch on which the work of [`clido`] plans lands.
pub(super) const BRANCH: &str = "planwright/plan-a1b2c3d4";

/// How long signalled processes may take to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long a run is observed that waits for space on the disk.
const FULL_DISK: Duration = Duration::from_secs(2);

/// A run in a scene.
struct TortureRun {
    name: String,
    plan: &'static str,
    /// Its folder, from the workspace: a copy ends with `/`.
    below: &'static str,
    files: Vec<(String, String)>,
    /// The agent's commands in addition to its work, in `sh`.
    script: &'static str,
    /// Lines for `[run]`, and further configuration.
    settings: &'static str,
    rest: &'static str,
    is_in_git: bool,
    /// The fence mode of agents.
    fence: &'static str,
    /// The commands before.
    before: Vec<Vec<String>>,
    command: Vec<String>,
    /// The commands after the fault; after the last one everything is done.
    after: Vec<Vec<String>>,
    faults: &'static [Fault],
    n_random: usize,
}

/// The results without faults.
struct RunBaseline {
    status: Option<i32>,
    /// The final state of every task.
    states: Vec<(String, String)>,
}

const ALL: &[Fault] = &[
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
    Fault::AgentsKilled,
];

/// The faults for long runs.
const FEW: &[Fault] = &[
    Fault::Kill,
    Fault::Tear,
    Fault::Short,
    Fault::Full,
    Fault::Io,
    Fault::EditByRename,
    Fault::AgentsKilled,
];

/// The start and the end of every agent: it records its start and its work outside the workspace.
const BEGIN: &str = r#"task=$PLANWRIGHT_TASK
echo $$ > "$ASIDE/pid-$$"
echo "begin $task $$" >> "$ASIDE/ledger"
"#;
const END: &str = r#"
echo "$task $$" > "out-$task"
echo "end $task $$" >> "$ASIDE/ledger"
rm -f "$ASIDE/pid-$$"
printf '{"planwright_result": 1, "outcome": "done"}' > "$PLANWRIGHT_RESULT"
"#;

pub(super) fn all() -> Vec<Box<dyn FaultScenario>> {
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for sample in samples() {
        let is_parallel = sample.runs_side_by_side();
        let mut run = TortureRun::of(&format!("run-{}", sample.name), sample.plan, sample.files);
        run.n_random = 40;
        if is_parallel {
            run.command.extend(words(&["-j", "2"]));
            run.after = vec![run.command.clone()];
        }
        all.push(Box::new(run));
    }
    let clido = |tasks: &str| vec![file("plan.json", &clido(tasks))];
    let mut verified = TortureRun::of("run-verified", "plan.json", clido("a,b a"));
    verified.rest = "[verify]\nevery = [\"ls out-*\"]\n";
    all.push(Box::new(verified));
    let mut retried = TortureRun::of("run-retried", "plan.json", clido("a,b a"));
    retried.script = "[ $(grep -c \"begin $task \" \"$ASIDE/ledger\") -ge 2 ] || exit 1";
    all.push(Box::new(retried));
    let mut checkouts = TortureRun::of("run-checkouts", "plan.json", clido("a,b,c a b"));
    checkouts.is_in_git = true;
    checkouts.faults = FEW;
    checkouts.n_random = 100;
    all.push(Box::new(checkouts));
    let mut replanned = TortureRun::of("run-replanned", "plan.json", clido("t1,t2"));
    replanned.script = "[ $task = t1 ] && exit 1";
    replanned.settings = "attempts = 1";
    replanned.rest = "[agents.thinker]\ncommand = [\"sh\", \"-c\", \"cat > /dev/null; cat answer.md\"]\n[plan]\nagent = \
                      \"thinker\"\n";
    replanned
        .files
        .push(file("answer.md", include_str!("../../samples/clido/answer.md")));
    replanned.command.extend(words(&["--replan", "2"]));
    replanned.after = vec![replanned.command.clone()];
    all.push(Box::new(replanned));
    all.extend(reviews());
    all.extend(held());
    let mut fenced = TortureRun::of("run-fenced", "plan.json", clido("a,b,c a b"));
    fenced.is_in_git = true;
    fenced.fence = "auto";
    fenced.faults = FEW;
    all.push(Box::new(fenced));
    let mut shared = TortureRun::of("run-fenced-shared", "plan.json", clido("a,b a"));
    shared.is_in_git = true;
    shared.fence = "auto";
    shared.settings = "attempts = 3\nisolation = \"shared\"";
    shared.script = "git config core.pager evil; rm -f .planwright/journal/*";
    all.push(Box::new(shared));
    let mut copied = TortureRun::of("run-copied", "copy/plan.json", clido("a,b a"));
    copied.below = "copy/";
    copied.command = words(&["run", "plan.json", "--copy-to", "copy"]);
    copied.after = vec![copied.command.clone()];
    all.push(Box::new(copied));
    all
}

/// A run that ends with a task to review, the approval, and the next run.
fn reviews() -> Vec<Box<dyn FaultScenario>> {
    let Some(pack) = samples().into_iter().find(|sample| sample.name == "task-pack") else {
        return Vec::new();
    };
    let mut files = pack.files.clone();
    for (_, text) in &mut files {
        let stop = "\"stop_if\": \"Requests do not pass through one place\"";
        *text = text.replace(stop, &format!("{stop}, \"review_gate\": \"required\""));
    }
    let approve = words(&["approve", "T001", "-p", pack.plan]);
    let mut run = TortureRun::of("run-reviewed", pack.plan, files.clone());
    run.after = vec![run.command.clone(), approve.clone(), run.command.clone()];
    let mut word = TortureRun::of("run-approval", pack.plan, files);
    word.before = vec![word.command.clone()];
    word.after = vec![approve.clone(), word.command.clone()];
    word.command = approve;
    word.n_random = 10;
    vec![Box::new(run), Box::new(word)]
}

/// Work that changes what verifies it and lands after its approval: the run that holds it, and the approval after it.
fn held() -> Vec<Box<dyn FaultScenario>> {
    let files = vec![file("plan.json", &clido("a,b")), file("check.sh", "ls out-*\n")];
    let approve = words(&["approve", "a", "-p", "plan.json"]);
    let mut run = TortureRun::of("run-held", "plan.json", files);
    run.is_in_git = true;
    run.rest = "[verify]\nevery = [[\"sh\", \"check.sh\"]]\n";
    run.script = "[ $task = a ] && echo 'ls out-* # by a' > check.sh";
    run.faults = FEW;
    let mut approval = TortureRun {
        name: "run-held-approval".to_owned(),
        before: vec![run.command.clone()],
        after: vec![approve.clone(), run.command.clone()],
        command: approve.clone(),
        files: run.files.clone(),
        ..TortureRun::of("", "plan.json", Vec::new())
    };
    (approval.rest, approval.script, approval.is_in_git) = (run.rest, run.script, true);
    approval.faults = FEW;
    // After a failure, possibly only the second run has something to approve.
    let round = [run.command.clone(), approve];
    run.after = [&round[..], &round[..], &[run.command.clone()]].concat();
    vec![Box::new(run), Box::new(approval)]
}

/// Returns a plan of tasks: `a,b a` are two, of which the second depends on the first.
pub(super) fn clido(tasks: &str) -> String {
    let task = |words: &str| {
        let mut words = words.split(' ');
        let id = words.next().unwrap_or_default();
        let on: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
        format!(
            "    {{\"id\": \"{id}\", \"description\": \"{}\", \"depends_on\": [{}], \"complexity\": \"low\", \"status\": \
             \"pending\"}}",
            if id == "t2" { "Give it tests" } else { "Make it" },
            on.join(", ")
        )
    };
    let tasks: Vec<String> = tasks.split(',').map(task).collect();
    format!(
        "{{\n  \"meta\": {{\"id\": \"plan-a1b2c3d4\", \"goal\": \"Try by-hand\", \"created_at\": \"2026-03-22T10:00:00Z\"}},\n  \
         \"tasks\": [\n{}\n  ]\n}}\n",
        tasks.join(",\n")
    )
}

impl TortureRun {
    fn of(name: &str, plan: &'static str, files: Vec<(String, String)>) -> Self {
        let command = words(&["run", plan]);
        TortureRun {
            name: name.to_owned(),
            plan,
            below: "",
            files,
            script: "sleep 0.01",
            settings: "attempts = 3",
            rest: "",
            is_in_git: false,
            fence: "off",
            before: Vec::new(),
            after: vec![command.clone()],
            command,
            faults: ALL,
            n_random: 20,
        }
    }

    fn configuration(&self, place: &WorkerFolder) -> String {
        let aside = place.aside("");
        let aside = aside.display().to_string();
        let aside = aside.trim_end_matches('/');
        format!(
            "[agents.mock]\ncommand = [\"sh\", \"{aside}/agent.sh\"]\n[agents.mock.set]\nASIDE = \"{aside}\"\n\n[run]\nagent = \
             \"mock\"\nbackoff = \"1ms\"\ngrace = \"2s\"\n{}\n\n{}",
            self.settings, self.rest
        )
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![("PLANWRIGHT_RUN_FENCE", self.fence.to_owned())]
    }

    fn with_variables(&self, more: impl IntoIterator<Item = (&'static str, String)>) -> Vec<(&'static str, String)> {
        self.variables().into_iter().chain(more).collect()
    }

    fn set_up(&self, place: &WorkerFolder) -> Result<(), Wrong> {
        place.clear().map_err(broken)?;
        for (name, text) in &self.files {
            place.write(name, text).map_err(broken)?;
        }
        place
            .write("planwright.toml", &self.configuration(place))
            .map_err(broken)?;
        let agent = format!("{BEGIN}{}{END}", self.script);
        std::fs::write(place.aside("agent.sh"), agent).map_err(broken)?;
        // Agents write notes next to the workspace.
        let own = place.aside("home/.config/planwright");
        let writable = format!("[run]\nfence_write = [\"{}\"]\n", place.aside("").display());
        std::fs::create_dir_all(&own).map_err(broken)?;
        std::fs::write(own.join("config.toml"), writable).map_err(broken)?;
        if self.is_in_git {
            place.begin_repository()?;
        }
        place.write("mine.txt", "mine\n").map_err(broken)?;
        for command in &self.before {
            place.does(command, &self.variables()).map_err(hangs)?;
        }
        Ok(())
    }
}

impl FaultScenario for TortureRun {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn group(&self) -> &'static str {
        GROUP
    }

    fn rehearse(&self, place: &WorkerFolder) -> Result<Option<Rehearsal>, Wrong> {
        self.set_up(place)?;
        place.keep().map_err(broken)?;
        place.take_steps();
        let log = place.step_log().display().to_string();
        let came = place
            .does(&self.command, &self.with_variables([("PLANWRIGHT_FAULT_LOG", log)]))
            .map_err(hangs)?;
        let steps = place.take_steps();
        let known = KnownRunState::look(self, place)?;
        let last = if self.after.len() > 1 {
            self.go_on(place)?
        } else {
            came.clone()
        };
        if last.status != Some(0) {
            return Err((Harm::Stuck, last.text));
        }
        let states = states(place, self.plan)?;
        let seen = RunBaseline {
            status: came.status,
            states,
        };
        known.holds(self, place, &seen)?;
        Ok(Some(Rehearsal {
            steps,
            faults: self.faults.to_vec(),
            n_random: self.n_random,
            took: came.took,
            seen: Box::new(seen),
        }))
    }

    fn suffer(&self, place: &WorkerFolder, rehearsal: &Rehearsal, fault: Fault, at: u64) -> Result<bool, Wrong> {
        let seen: &RunBaseline = rehearsal.seen.downcast_ref().expect("it is what was remembered");
        place.put_back().map_err(broken)?;
        place.take_steps();
        let struck = self.disturb(place, fault, at);
        let result = struck.and_then(|came| match came {
            Some(came) => self.judge(place, seen, fault, &came).map(|()| true),
            None => Ok(false),
        });
        // Remaining processes must not disturb the next case.
        for pid in place.processes() {
            kill(pid);
        }
        result
    }
}

impl TortureRun {
    /// Applies the fault. None if it was not reached.
    fn disturb(&self, place: &WorkerFolder, fault: Fault, at: u64) -> Result<Option<CommandResult>, Wrong> {
        if fault == Fault::Random {
            let going = place.begin(&self.command, &self.variables()).map_err(hangs)?;
            let is_killed = going.kill_after(Duration::from_micros(at)).map_err(broken)?;
            return Ok(is_killed.then(CommandResult::killed));
        }
        let variables = self.with_variables(fault.variables(place, at, self.plan));
        let going = place.begin(&self.command, &variables).map_err(hangs)?;
        // A run waits long for space on the disk; here it is killed during the wait.
        let came = match fault {
            Fault::FullFrom => going.ends_within(FULL_DISK).map_err(hangs)?,
            _ => going.ends().map_err(hangs)?,
        };
        let is_struck = place.take_steps().iter().any(|step| step.starts_with('!'));
        Ok(is_struck.then_some(came))
    }

    fn judge(&self, place: &WorkerFolder, seen: &RunBaseline, fault: Fault, came: &CommandResult) -> Result<(), Wrong> {
        no_panic(came)?;
        if !fault.is_deadly() && came.status.is_some() {
            is_quiet(place, &format!("it ended by itself\n{}", came.text))?;
        }
        let known = KnownRunState::look(self, place)?;
        if matches!(fault, Fault::ClockBack | Fault::ClockAhead) && came.status != seen.status {
            return Err((Harm::Stuck, format!("by the clock alone:\n{}", came.text)));
        }
        if came.status == Some(0) && self.after.len() == 1 {
            known.holds(self, place, seen)?;
        }
        let last = self.go_on(place)?;
        if last.status != Some(0) {
            let what = format!("{}\n--- and before that:\n{}", last.text, came.text);
            return Err((Harm::Stuck, what));
        }
        known.holds(self, place, seen)?;
        let text = std::fs::read_to_string(place.root().join(self.plan)).unwrap_or_default();
        let is_edited = fault.is_edit() && place.aside(WAS_EDITED).exists();
        if is_edited && text.contains(BY_HAND) && !text.contains(EDITED) {
            return Err((Harm::EditLost, text));
        }
        is_quiet(place, "in the end")
    }

    fn go_on(&self, place: &WorkerFolder) -> Result<CommandResult, Wrong> {
        let mut last = CommandResult::killed();
        let mut texts = Vec::new();
        for command in &self.after {
            last = place.does(command, &self.variables()).map_err(hangs)?;
            no_panic(&last)?;
            texts.push(std::mem::take(&mut last.text));
        }
        last.text = texts.join("--- then:\n");
        // If a task has finally failed, a run prints how to continue.
        if last.status == Some(1) && last.text.contains("--retry-failed") {
            let command = words(&["run", self.plan, "--retry-failed"]);
            last = place.does(&command, &self.variables()).map_err(hangs)?;
        }
        Ok(last)
    }
}

/// What was certain at a moment.
struct KnownRunState {
    /// The tasks that are done in the plan or the log.
    done: BTreeSet<String>,
    /// How often agents had started each task.
    begun: BTreeMap<String, usize>,
}

impl KnownRunState {
    fn look(run: &TortureRun, place: &WorkerFolder) -> Result<Self, Wrong> {
        for (name, text) in place.files() {
            is_sound(&name, &text)?;
        }
        // A copy with its final name is complete. Before that it does not count.
        let states = match place.root().join(run.below).is_dir() {
            true => states(place, run.plan)?,
            false => Vec::new(),
        };
        let by_plan = states.into_iter().filter(|(_, state)| state == "done");
        let mut done: BTreeSet<String> = by_plan.map(|(task, _)| task).collect();
        done.extend(done_by_log(run, place));
        Ok(KnownRunState {
            done,
            begun: begun(place),
        })
    }

    /// Checks at the end that nothing of it was undone, and that everything exists.
    fn holds(&self, run: &TortureRun, place: &WorkerFolder, seen: &RunBaseline) -> Result<(), Wrong> {
        let states = states(place, run.plan)?;
        if states != seen.states {
            return Err((Harm::Lost, format!("{states:?} and not {:?}", seen.states)));
        }
        let begun = begun(place);
        for task in &self.done {
            let count = |begun: &BTreeMap<String, usize>| begun.get(task).copied().unwrap_or(0);
            if count(&begun) > count(&self.begun) {
                return Err((Harm::Duplicated, format!("`{task}` was done and was begun again")));
            }
        }
        is_made(run, place, &states)
    }
}

/// Returns how often agents started each task, by their own records.
pub(super) fn begun(place: &WorkerFolder) -> BTreeMap<String, usize> {
    let mut begun = BTreeMap::new();
    for line in ledger(place) {
        if let Some(task) = line.strip_prefix("begin ").and_then(|rest| rest.split(' ').next()) {
            *begun.entry(task.to_owned()).or_default() += 1;
        }
    }
    begun
}

pub(super) fn ledger(place: &WorkerFolder) -> Vec<String> {
    let text = std::fs::read_to_string(place.aside("ledger")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns the tasks whose last record in the logs of runs is that they are done: verified, and landed if they have checkouts.
fn done_by_log(run: &TortureRun, place: &WorkerFolder) -> BTreeSet<String> {
    let word = if run.is_in_git { "merged" } else { "verified" };
    let records = records(&place.root().join(run.below));
    let is_done = |record: &&Value| record["kind"] == word && record["body"]["passed"] == true;
    let tasks = records.iter().filter(is_done).map(|record| &record["body"]["task"]);
    tasks.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the kinds of the records in the logs of runs.
pub(super) fn kinds(place: &WorkerFolder) -> Vec<String> {
    let records = records(&place.root());
    let kinds = records.iter().filter_map(|record| record["kind"].as_str());
    kinds.map(str::to_owned).collect()
}

/// Returns the records in the logs of a workspace's runs.
pub(super) fn records(root: &Path) -> Vec<Value> {
    let folders = std::fs::read_dir(root.join(".planwright/runs"));
    let mut records = Vec::new();
    for folder in folders.into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(folder.path().join("run.journal")).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        records.extend(lines.filter_map(|(_, json)| serde_json::from_str(json).ok()));
    }
    records
}

/// Checks that the agents' work and the user's files exist.
fn is_made(run: &TortureRun, place: &WorkerFolder, states: &[(String, String)]) -> Result<(), Wrong> {
    let lost = |what: String| Err((Harm::WorkLost, what));
    let mine = std::fs::read_to_string(place.root().join("mine.txt")).unwrap_or_default();
    if mine != "mine\n" {
        return lost(format!("the user's own file is {mine:?}"));
    }
    if !run.below.is_empty() {
        for (name, text) in &run.files {
            if std::fs::read_to_string(place.root().join(name)).ok().as_ref() != Some(text) {
                return lost(format!("`{name}` was to be copied, and is another now"));
            }
        }
    }
    let ledger = ledger(place);
    for (task, _) in states.iter().filter(|(_, state)| state == "done") {
        let name = format!("out-{task}");
        let landed = run
            .is_in_git
            .then(|| place.git(&["show", &format!("{BRANCH}:{name}")]).ok());
        // Without git, tasks work in the folder itself, and nothing is committed.
        let made = landed.flatten().filter(|made| !made.is_empty());
        let made = made
            .or_else(|| std::fs::read_to_string(place.root().join(run.below).join(&name)).ok())
            .unwrap_or_default();
        let is_noted = ledger.iter().any(|line| *line == format!("end {}", made.trim()));
        if !is_noted {
            return lost(format!("`{name}` is {made:?}, and the agents made {ledger:?}"));
        }
    }
    Ok(())
}

/// Checks that no process works here any more.
pub(super) fn is_quiet(place: &WorkerFolder, when: &str) -> Result<(), Wrong> {
    let since = Instant::now();
    loop {
        let left = place.processes();
        if left.is_empty() {
            return Ok(());
        }
        if since.elapsed() > FAREWELL {
            return Err((Harm::LeftBehind, format!("{left:?} {when}")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
