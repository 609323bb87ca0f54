//! A scratch repository with a plan and a configuration for one agent, and the commands that run in it.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::clis::AgentCli;
use super::model_answers::{RED, TASKS, description};

/// The time limit of one command of planwright.
const PATIENCE: Duration = Duration::from_secs(400);

/// The verification of a task: its file has the expected line.
const VERIFY: &str = "found=$(cat \"$PLANWRIGHT_TASK.txt\" 2>&1)\n\
                      [ \"$found\" = \"made $PLANWRIGHT_TASK\" ] && exit 0\n\
                      echo \"MARK: $found\"\n\
                      exit 1\n";

/// A separate repository, next to a home folder for the agent.
pub(super) struct TrialWorkspace<'t> {
    binary: &'t Path,
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

pub(super) struct TrialOutput {
    pub(super) status: Option<i32>,
    pub(super) text: String,
}

impl<'t> TrialWorkspace<'t> {
    /// Creates a workspace, and removes an older one. `agent` has further lines of the agent's configuration.
    pub(super) fn new(
        binary: &'t Path,
        bin: &Path,
        cli: &AgentCli,
        url: &str,
        folder: PathBuf,
        agent: &str,
    ) -> anyhow::Result<Self> {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        let home = folder.join("home");
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(bin.to_owned()).chain(std::env::split_paths(&usual)))?;
        let mut variables = vec![
            (OsString::from("PATH"), path),
            ("HOME".into(), home.clone().into_os_string()),
            ("TMPDIR".into(), folder.join("tmp").into_os_string()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ];
        // The variable sets another fence mode for all agents.
        let fence = std::env::var_os("PLANWRIGHT_RUN_FENCE");
        variables.extend(fence.map(|fence| ("PLANWRIGHT_RUN_FENCE".into(), fence)));
        let own = (cli.environment)(url, &home);
        variables.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
        let workspace = TrialWorkspace {
            binary,
            folder,
            variables,
        };
        std::fs::create_dir_all(workspace.folder.join("tmp"))?;
        for (name, text) in (cli.files)(url) {
            write(&home.join(name), &text)?;
        }
        // Some agents have the address of their model in a file, where a strict fence does not look for its port.
        let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next());
        let port = port.context("the address of the model has a port")?;
        let settings = format!("[run]\nfence_ports = [{port}]\n");
        write(&home.join(".config/planwright/config.toml"), &settings)?;
        workspace.fill(cli, agent)?;
        Ok(workspace)
    }

    fn fill(&self, cli: &AgentCli, agent: &str) -> anyhow::Result<()> {
        let tasks = TASKS.iter().map(|(task, on)| {
            json!({
                "id": task,
                "description": description(task),
                "depends_on": on,
                "complexity": "low",
                "status": "pending"
            })
        });
        let meta = json!({"id": "plan-a1b2c3d4", "goal": "Make files", "created_at": "2026-11-16T08:00:00Z"});
        let plan = json!({"meta": meta, "tasks": tasks.collect::<Vec<_>>()});
        let args = serde_json::to_string(cli.args)?;
        let settings = format!(
            "[agents.tried]\npreset = \"{}\"\nargs = {args}\n{agent}\n\n[run]\nagent = \"tried\"\nbranch = \"current\"\nattempts = 2\nbackoff = \
             \"1s\"\nwall_limit = \"{}\"\n\n[verify]\nevery = [\"sh verify.sh\"]\nbaseline = \"skip\"\n",
            cli.name, cli.wall_limit
        );
        for (name, text) in [
            (
                ".clido/plans/plan-a1b2c3d4.json",
                serde_json::to_string_pretty(&plan)? + "\n",
            ),
            ("planwright.toml", settings),
            ("verify.sh", VERIFY.replace("MARK", RED)),
            (".gitignore", ".planwright/\n".to_owned()),
        ] {
            write(&self.root().join(name), &text)?;
        }
        self.git(&["init", "-q", "-b", "main"])?;
        self.git(&["config", "user.name", "Trial"])?;
        self.git(&["config", "user.email", "trial@example.org"])?;
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", "Begin"])?;
        Ok(())
    }

    /// Removes the plan, for agents that make one.
    pub(super) fn forget_plan(&self) -> anyhow::Result<()> {
        self.git(&["rm", "-q", "-r", ".clido"])?;
        self.git(&["commit", "-q", "-m", "No plan yet"])
    }

    /// Replaces the plan by another file.
    pub(super) fn replace_plan(&self, name: &str, text: &str) -> anyhow::Result<()> {
        self.forget_plan()?;
        write(&self.root().join(name), text)?;
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", "Begin otherwise"])
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("repository")
    }

    pub(super) fn read(&self, name: &str) -> anyhow::Result<String> {
        let path = self.root().join(name);
        std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null());
        command
    }

    fn git(&self, args: &[&str]) -> anyhow::Result<()> {
        let output = self.command(Path::new("git")).args(args).output()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        anyhow::ensure!(output.status.success(), "git {}: {text}", args.join(" "));
        Ok(())
    }

    /// Runs a command of planwright.
    pub(super) fn run(&self, args: &[&str]) -> anyhow::Result<TrialOutput> {
        self.run_watched(args, &mut |_| {})
    }

    /// Runs a command of planwright, and passes each line of its output to `watch` immediately.
    pub(super) fn run_watched(&self, args: &[&str], watch: &mut dyn FnMut(&str)) -> anyhow::Result<TrialOutput> {
        let log = std::fs::File::create(self.folder.join("errors.log"))?;
        let mut command = self.command(self.binary);
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(log).spawn()?;
        let output = child.stdout.take().context("its output is piped")?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        let (since, mut text) = (Instant::now(), String::new());
        while let Ok(line) = lines.recv_timeout(PATIENCE.saturating_sub(since.elapsed())) {
            watch(&line);
            text.push_str(&line);
            text.push('\n');
        }
        if since.elapsed() >= PATIENCE {
            end(&mut child)?;
            anyhow::bail!(
                "`planwright {}` took longer than {} s",
                args.join(" "),
                PATIENCE.as_secs()
            );
        }
        let status = child.wait()?.code();
        text.push_str(&std::fs::read_to_string(self.folder.join("errors.log"))?);
        Ok(TrialOutput { status, text })
    }

    /// Runs a command of planwright that prints one JSON object.
    pub(super) fn run_json(&self, args: &[&str]) -> anyhow::Result<Value> {
        let result = self.run(args)?;
        // Messages for users follow the object.
        let first = serde_json::Deserializer::from_str(&result.text).into_iter().next();
        let answer = first.and_then(Result::ok);
        answer.with_context(|| format!("planwright {}: {}", args.join(" "), result.text))
    }

    /// Returns the records of one kind and one task in the log of the last run.
    pub(super) fn events(&self, kind: &str, task: &str) -> anyhow::Result<Vec<Value>> {
        let result = self.run(&["events", "--json"])?;
        let records = result
            .text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let fitting = records.filter(|record| record["kind"] == kind && record["body"]["task"] == task);
        Ok(fitting.map(|mut record| record["body"].take()).collect())
    }

    /// Returns the processes that belong to a run of this workspace, if the system reports them.
    pub(super) fn left_behind(&self) -> Vec<u32> {
        let mark = format!("PLANWRIGHT_PLAN={}/", self.root().display());
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let belongs = |pid: &u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut variables = environment.split(|&byte| byte == 0);
            variables.any(|variable| variable.starts_with(mark.as_bytes()))
        };
        pids.filter(belongs).collect()
    }

    /// Returns the states of all tasks: `a done, b pending`.
    pub(super) fn states(&self) -> anyhow::Result<String> {
        let shown = self.run_json(&["show", "--json"])?;
        let tasks = shown["tasks"].as_array().context("there are tasks")?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let states: Vec<String> = tasks
            .iter()
            .map(|task| format!("{} {}", word(&task["task"]), word(&task["status"])))
            .collect();
        Ok(states.join(", "))
    }
}

impl TrialOutput {
    pub(super) fn exits(self, status: i32) -> anyhow::Result<TrialOutput> {
        let found = self.status;
        anyhow::ensure!(
            found == Some(status),
            "exit status {found:?}, not {status}:\n{}",
            self.text
        );
        Ok(self)
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    Ok(std::fs::write(path, text)?)
}

/// Ends a run that hangs: with SIGTERM, so that it ends its agents, then with SIGKILL.
fn end(child: &mut std::process::Child) -> anyhow::Result<()> {
    let pid = child.id().to_string();
    let _ = Command::new("kill").args(["-TERM", &pid]).status();
    let since = Instant::now();
    while child.try_wait()?.is_none() {
        if since.elapsed() > Duration::from_secs(30) {
            child.kill()?;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
