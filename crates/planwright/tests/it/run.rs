//! Workspaces in which plans are run for real: by the binary, with `sh` scripts for agents and the system's own git.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use planwright_run::files::DiskFiles;
use planwright_run::runs::{self, ControlRequest, RunEndRecord, RunEvent, RunLog, RunPlace, RunRecord};
use planwright_testkit::TempFolder;
use serde_json::Value;

/// The time limit for anything that must happen.
const PATIENCE: Duration = Duration::from_secs(240);

/// How often conditions are checked.
const GLANCE: Duration = Duration::from_millis(5);

/// The functions of every test agent: record its start, and wait for a file.
const PRELUDE: &str = r#"
echo "$PLANWRIGHT_TASK" >> "$ASIDE/began"
task=$PLANWRIGHT_TASK
attempt=$PLANWRIGHT_ATTEMPT
awaits() { n=0; while [ ! -e "$ASIDE/$1" ] && [ $n -lt 9000 ]; do sleep 0.01; n=$((n + 1)); done; }
result() { printf '%s' "$1" > "$PLANWRIGHT_RESULT"; }
says() { result "{\"planwright_result\": 1, \"outcome\": \"$1\", \"output\": \"$2\"}"; }
"#;

/// A workspace with a plan and an agent; removed at the end of the test, with all its processes.
pub(crate) struct Workspace {
    folder: TempFolder,
    plan: String,
    variables: Vec<(String, String)>,
}

/// A command that runs during the test.
pub(crate) struct RunningCommand {
    child: Option<Child>,
    output: PathBuf,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) status: Option<i32>,
    pub(crate) text: String,
}

impl Workspace {
    /// Creates a workspace with a plan, whose agent runs a script.
    pub(crate) fn new(plan: (&str, &str), script: &str) -> Self {
        let workspace = Workspace {
            folder: TempFolder::new().expect("a temporary folder"),
            plan: plan.0.to_owned(),
            variables: Vec::new(),
        };
        std::fs::create_dir_all(workspace.root().join(".planwright")).expect("the folder is ours");
        std::fs::create_dir_all(workspace.aside("")).expect("the folder is ours");
        workspace.write(plan.0, plan.1);
        workspace.script(script);
        workspace.configure("", "");
        workspace
    }

    /// Makes the workspace a git repository in which everything is committed.
    pub(crate) fn in_git(self) -> Self {
        self.git(&["init", "-q", "-b", "main"]);
        self.git(&["config", "user.name", "Test"]);
        self.git(&["config", "user.email", "test@example.org"]);
        self.write(".gitignore", "");
        self.commit("Begin");
        self
    }

    /// Sets a variable for later commands.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Commits all there is.
    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// Changes the agent's script. An agent that starts meanwhile finds one script or the other.
    pub(crate) fn script(&self, script: &str) {
        let new = self.aside("agent.sh.new");
        std::fs::write(&new, format!("{PRELUDE}\n{script}\n")).expect("the folder is ours");
        std::fs::rename(new, self.aside("agent.sh")).expect("the folder is ours");
    }

    /// Writes the configuration: lines of `[run]`, and more.
    pub(crate) fn configure(&self, run: &str, rest: &str) {
        self.configure_agent("", run, rest);
    }

    /// Writes the configuration with lines for the agent too.
    pub(crate) fn configure_agent(&self, agent: &str, run: &str, rest: &str) {
        let script = self.aside("agent.sh");
        let aside = self.aside("");
        // Most tests are about one attempt.
        let attempts = if run.contains("attempts") { "" } else { "attempts = 1" };
        let text = format!(
            "[agents.mock]\ncommand = [\"sh\", \"{}\"]\n{agent}\n[agents.mock.set]\nASIDE = \"{}\"\n\n[run]\nagent = \
             \"mock\"\nbackoff = \"1ms\"\ngrace = \"2s\"\n{attempts}\n{run}\n\n{rest}\n",
            script.display(),
            aside.display()
        );
        self.write("planwright.toml", text);
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    /// Returns a path outside of the workspace.
    pub(crate) fn aside(&self, name: &str) -> PathBuf {
        let aside = self.folder.path().join("aside");
        if name.is_empty() { aside } else { aside.join(name) }
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        self.folder
            .write(&format!("ws/{name}"), text)
            .expect("the folder is ours");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).expect("a readable file")
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.root().join(name).exists()
    }

    /// Releases the agents that wait for something.
    pub(crate) fn give(&self, name: &str) {
        std::fs::write(self.aside(name), "").expect("the folder is ours");
    }

    /// Returns the notes of the agents, in lines.
    pub(crate) fn noted(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.aside(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the plan's text.
    pub(crate) fn plan(&self) -> String {
        self.read(&self.plan)
    }

    /// Edits the plan like an editor that writes another file and renames it.
    #[track_caller]
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = self.edited(from, to);
        let path = self.root().join(&self.plan);
        let other = path.with_extension("swap");
        std::fs::write(&other, text).expect("the folder is ours");
        std::fs::rename(&other, &path).expect("the folder is ours");
    }

    /// Edits the plan in place.
    #[track_caller]
    pub(crate) fn edit_in_place(&self, from: &str, to: &str) {
        let text = self.edited(from, to);
        self.write(&self.plan, text);
    }

    #[track_caller]
    fn edited(&self, from: &str, to: &str) -> String {
        let text = self.plan();
        assert_eq!(text.matches(from).count(), 1, "`{from}` in\n{text}");
        text.replace(from, to)
    }

    /// Returns the plan as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.plan()).expect("the plan is JSON")
    }

    /// Returns the state of each task, as in `planwright show`: `a done, b pending`.
    pub(crate) fn states(&self) -> String {
        let shown = self.shown();
        let tasks = shown["tasks"].as_array().expect("tasks").iter();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let states: Vec<String> = tasks
            .map(|task| format!("{} {}", text(&task["task"]), text(&task["status"])))
            .collect();
        states.join(", ")
    }

    /// Returns the JSON of `planwright show`.
    pub(crate) fn shown(&self) -> Value {
        let came = self.does(&["show", "--json", &self.plan]);
        serde_json::from_str(&came.text).unwrap_or_else(|error| panic!("{error} in {}", came.text))
    }

    /// Returns a command that is to be done in the workspace.
    pub(crate) fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.aside("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // Most verifications of the tests can only pass when a task has worked.
            .env("PLANWRIGHT_VERIFY_BASELINE", "skip")
            // Their agents write notes next to the workspace; `run_fence` tests the fence.
            .env("PLANWRIGHT_RUN_FENCE", "off")
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null());
        command
    }

    /// Begins a command of the binary.
    pub(crate) fn begin(&self, args: &[&str]) -> RunningCommand {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let output = self.aside(&format!("output-{number}"));
        let file = std::fs::File::create(&output).expect("the folder is ours");
        let mut command = self.command(env!("CARGO_BIN_EXE_planwright"), args);
        command.stdout(file.try_clone().expect("a file")).stderr(file);
        let child = command.spawn().expect("the binary was built");
        RunningCommand {
            child: Some(child),
            output,
        }
    }

    /// Does a command of the binary.
    pub(crate) fn does(&self, args: &[&str]) -> CommandResult {
        self.begin(args).ends()
    }

    /// Runs the plan to its end.
    pub(crate) fn runs(&self, args: &[&str]) -> CommandResult {
        self.begins(args).ends()
    }

    /// Begins to run the plan.
    pub(crate) fn begins(&self, args: &[&str]) -> RunningCommand {
        let args: Vec<&str> = ["run", &self.plan].iter().chain(args).copied().collect();
        self.begin(&args)
    }

    /// Runs git, and returns its output.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.command("git", args).output().expect("there is git");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "git {args:?}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text.trim_end().to_owned()
    }

    /// Returns the runs, the oldest first.
    pub(crate) fn places(&self) -> Vec<RunPlace> {
        let root = self.root().canonicalize().expect("it is there");
        runs::list(&DiskFiles, &root).expect("a readable folder")
    }

    /// Returns the last run.
    pub(crate) fn place(&self) -> RunPlace {
        self.places().pop().expect("there was a run")
    }

    /// Writes the log of the last run again, with some of its records.
    pub(crate) fn keep_records(&self, is_kept: impl Fn(&RunRecord) -> bool) {
        let log = self.place().log();
        let header = runs::header(&log).expect("a header");
        let new = log.with_extension("new");
        let mut written = RunLog::begin(&DiskFiles, &new, &header).expect("a log");
        for record in self.records().iter().filter(|record| is_kept(record)) {
            written.add(&record.time, &record.event).expect("a record");
        }
        written.commit().expect("written");
        std::fs::rename(new, log).expect("ours");
    }

    /// Returns the records of the last run's log; empty if there is none yet.
    pub(crate) fn records(&self) -> Vec<RunRecord> {
        let place = self.places().pop();
        place.map_or_else(Vec::new, |place| {
            runs::records(&DiskFiles, &place.log()).unwrap_or_default()
        })
    }

    /// Returns the log of the last run in words, a line for each event.
    pub(crate) fn log(&self) -> Vec<String> {
        self.records().iter().map(words).collect()
    }

    /// Returns the remarks of the last run.
    pub(crate) fn remarks(&self) -> String {
        let records = self.records();
        let remarks = records.iter().filter_map(|record| match &record.event {
            RunEvent::Remark(remark) => Some(remark.text.clone()),
            _ => None,
        });
        remarks.collect::<Vec<_>>().join("\n")
    }

    /// Returns the end of the last run.
    #[track_caller]
    pub(crate) fn ended(&self) -> RunEndRecord {
        match self.records().pop().map(|record| record.event) {
            Some(RunEvent::RunEnded(ended)) => ended,
            _ => panic!("the run has not ended:\n{}", self.log().join("\n")),
        }
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let since = Instant::now();
        while !is_so(self) {
            assert!(
                since.elapsed() < PATIENCE,
                "never came: {what}\n{}\n{}",
                self.log().join("\n"),
                self.plan()
            );
            std::thread::sleep(GLANCE);
        }
    }

    /// Waits until a line of the log begins like this.
    #[track_caller]
    pub(crate) fn until_log(&self, start: &str) {
        self.until(start, |workspace| {
            workspace.log().iter().any(|line| line.starts_with(start))
        });
    }

    /// Waits until this many agents have started.
    #[track_caller]
    pub(crate) fn until_begun(&self, n_agents: usize) {
        self.until(&format!("{n_agents} agents"), |workspace| {
            workspace.noted("began").len() >= n_agents
        });
    }

    /// Sends a request to the last run.
    pub(crate) fn ask(&self, verb: &str, task: Option<&str>) {
        let ask = ControlRequest {
            verb: verb.to_owned(),
            task: task.map(str::to_owned),
            by: Some("ada".to_owned()),
            note: Some("so it is".to_owned()),
            time: "2026-11-16T06:00:00Z".to_owned(),
        };
        runs::ask(&DiskFiles, &self.place().requests(), &ask).expect("the folder is ours");
    }

    /// Returns the agent's prompt.
    pub(crate) fn prompt(&self, task: &str, attempt: u32) -> String {
        let path = self.place().attempt(task, attempt).prompt();
        std::fs::read_to_string(path).expect("a prompt")
    }

    /// Returns the processes that belong to a run of this workspace.
    pub(crate) fn left_behind(&self) -> Vec<u32> {
        processes_of(self.folder.path())
    }

    /// Checks that no process of a run is left.
    #[track_caller]
    pub(crate) fn is_quiet(&self) {
        self.until("everything has ended", |workspace| workspace.left_behind().is_empty());
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        for pid in self.left_behind() {
            signal(pid, "KILL");
        }
    }
}

/// Returns the processes whose environment has the plan in a folder.
fn processes_of(folder: &Path) -> Vec<u32> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let needle = format!("PLANWRIGHT_PLAN={}/", folder.display());
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let belongs = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|&byte| byte == 0);
        variables.any(|variable| variable.starts_with(needle.as_bytes()))
    };
    pids.filter(belongs).collect()
}

fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

impl RunningCommand {
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().expect("it goes on").id()
    }

    /// Sends a signal, as `INT`.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Kills it, and waits until it is gone.
    pub(crate) fn dies(mut self) {
        let mut child = self.child.take().expect("it goes on");
        child.kill().expect("it is ours");
        child.wait().expect("it was started");
    }

    pub(crate) fn is_over(&mut self) -> bool {
        let child = self.child.as_mut().expect("it goes on");
        child.try_wait().expect("it was started").is_some()
    }

    /// Waits until it ends.
    #[track_caller]
    pub(crate) fn ends(mut self) -> CommandResult {
        let since = Instant::now();
        while !self.is_over() {
            let text = || std::fs::read_to_string(&self.output).unwrap_or_default();
            assert!(since.elapsed() < PATIENCE, "it hangs:\n{}", text());
            std::thread::sleep(GLANCE);
        }
        let mut child = self.child.take().expect("it goes on");
        let text = std::fs::read_to_string(&self.output).unwrap_or_default();
        assert!(!text.contains("panicked at"), "{text}");
        CommandResult {
            status: child.wait().expect("it was started").code(),
            text,
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl CommandResult {
    /// Returns what it printed as JSON.
    #[track_caller]
    pub(crate) fn as_json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {}", self.text))
    }

    /// Checks the exit status.
    #[track_caller]
    pub(crate) fn exits(self, status: i32) -> CommandResult {
        assert_eq!(self.status, Some(status), "{}", self.text);
        self
    }

    /// Checks that the output contains a text, ignoring line breaks.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> CommandResult {
        let folded = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(folded.contains(text), "`{text}` in\n{}", self.text);
        self
    }
}

/// Returns an event in words: its kind, task, attempt, and result.
pub(crate) fn words(record: &RunRecord) -> String {
    match &record.event {
        RunEvent::AgentChosen(event) => format!("chosen {} {}", event.task, event.agent),
        RunEvent::AttemptStarting(event) => format!("starting {} {}", event.task, event.attempt),
        RunEvent::ProcessStarted(event) => format!("started {} {}", event.task, event.attempt),
        RunEvent::AttemptEnded(event) => format!("finished {} {} {}", event.task, event.attempt, event.outcome),
        RunEvent::Verified(event) => format!("verified {} {} {}", event.task, event.attempt, event.passed),
        RunEvent::LandingEnded(event) => format!("merged {} {} {}", event.task, event.attempt, event.passed),
        RunEvent::Skipped(event) => format!("skipped {} because {}", event.task, event.because),
        RunEvent::Review(event) => format!("review {}", event.task),
        RunEvent::Approved(event) => format!("approved {}", event.task),
        RunEvent::Resting(event) => format!("resting {} {}", event.task, event.attempt),
        RunEvent::Stopping(event) => format!("stopping {}", event.reason),
        RunEvent::PlanEdited(event) => format!("edited {}", event.tasks.join(" ")),
        RunEvent::Drifted(event) => format!("drift {} {}", event.task, event.files.join(" ")),
        RunEvent::RunEnded(event) => format!("run-ended {}", event.standing),
        RunEvent::Paused(event) => format!("paused {}", event.why.as_deref().unwrap_or_default()),
        RunEvent::Resumed(event) => format!("resumed {}", event.why.as_deref().unwrap_or_default()),
        RunEvent::Remark(event) => format!("remark {}", event.text),
        event => event.name().to_owned(),
    }
}

// Plans to run.

/// Returns a clido plan: `a`, `b a`, `c a b` are three tasks of which the last depends on the others.
pub(crate) fn clido(tasks: &[&str]) -> String {
    let tasks: Vec<String> = tasks
        .iter()
        .map(|task| {
            let mut words = task.split_whitespace();
            let id = words.next().expect("a name");
            let on: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
            format!(
                "    {{\"id\": \"{id}\", \"description\": \"Make {id}\", \"depends_on\": [{}], \"complexity\": \"low\", \
                 \"status\": \"pending\"}}",
                on.join(", ")
            )
        })
        .collect();
    format!(
        "{{\n  \"meta\": {{\"id\": \"plan-a1b2c3d4\", \"goal\": \"Try\", \"created_at\": \"2026-03-22T10:00:00Z\"}},\n  \
         \"tasks\": [\n{}\n  ]\n}}\n",
        tasks.join(",\n")
    )
}

/// Returns an Aimi plan: `1`, `2 1` are two stories of which the second depends on the first. Their priorities are their numbers.
pub(crate) fn aimi(slots: u32, stories: &[&str]) -> String {
    let stories: Vec<String> = stories
        .iter()
        .map(|story| {
            let mut words = story.split_whitespace();
            let number: u32 = words.next().and_then(|word| word.parse().ok()).expect("a number");
            let on: Vec<String> = words.map(|word| format!("\"US-00{word}\"")).collect();
            format!(
                "    {{\n      \"id\": \"US-00{number}\",\n      \"title\": \"Make {number}\",\n      \"description\": \"As a \
                 user, I want {number} so that it is there.\",\n      \"acceptanceCriteria\": [\"Typecheck passes\"],\n      \
                 \"priority\": {number},\n      \"status\": \"pending\",\n      \"dependsOn\": [{}],\n      \"notes\": \"\"\n    \
                 }}",
                on.join(", ")
            )
        })
        .collect();
    format!(
        "{{\n  \"schemaVersion\": \"3.0\",\n  \"metadata\": {{\n    \"title\": \"feat: Try\",\n    \"type\": \"feat\",\n    \
         \"branchName\": \"main\",\n    \"createdAt\": \"2026-03-03\",\n    \"planPath\": null,\n    \"maxConcurrency\": {slots}\n  \
         }},\n  \"userStories\": [\n{}\n  ]\n}}\n",
        stories.join(",\n")
    )
}

/// Returns a rawko plan, each step depending on the one before.
pub(crate) fn rawko(steps: &[&str]) -> String {
    let steps: Vec<String> = steps
        .iter()
        .enumerate()
        .map(|(index, description)| {
            let on = match index {
                0 => String::new(),
                index => format!("    dependsOn: [{}]\n", index - 1),
            };
            format!("  - index: {index}\n    description: {description}\n    status: pending\n{on}")
        })
        .collect();
    format!(
        "id: plan-20260501-cellar\ntask: Tidy the cellar\nstatus: draft\nsteps:\n{}currentStepIndex: 0\ncreatedAt: \
         \"2026-05-01T08:00:00Z\"\nupdatedAt: \"2026-05-02T08:00:00Z\"\ncreatedBy: planner\nversion: 1\n",
        steps.concat()
    )
}
