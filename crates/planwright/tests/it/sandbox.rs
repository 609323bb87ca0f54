//! One builder for every test of the binary: a folder with files, a command line, its result.

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use expect_test::expect_file;
use planwright_testkit::TempFolder;
use serde_json::Value;

/// The time after which a running command counts as hanging.
const PATIENCE: Duration = Duration::from_secs(240);

/// A workspace, removed at the end of the test.
pub(crate) struct Sandbox {
    folder: TempFolder,
    variables: Vec<(String, String)>,
}

/// The result of a command.
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    /// Creates an empty workspace.
    pub(crate) fn new() -> Self {
        let folder = TempFolder::new().expect("a temporary folder");
        // Marks the root of the workspace, wherever temporary folders are.
        std::fs::create_dir(folder.path().join(".git")).expect("the folder is ours");
        Sandbox {
            folder,
            variables: Vec::new(),
        }
    }

    /// Makes a workspace with files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new();
        for (name, text) in files {
            sandbox.write(name, text);
        }
        sandbox
    }

    /// Sets a variable for later commands.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        self.folder.write(name, text).expect("the folder is ours")
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).expect("a readable file")
    }

    /// Runs the binary in the workspace.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, "")
    }

    /// Runs the binary with a text on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        self.run_command(Command::new(env!("CARGO_BIN_EXE_planwright")), args, input)
    }

    /// Runs a program in the workspace, in the binary's environment, with more variables.
    pub(crate) fn run_program_with(&self, program: &Path, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(program);
        command.envs(variables.iter().copied());
        self.run_command(command, args, "")
    }

    fn run_command(&self, mut command: Command, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        for name in [
            "NO_COLOR",
            "CLICOLOR_FORCE",
            "FORCE_COLOR",
            "COLUMNS",
            "LINES",
            "EDITOR",
            "VISUAL",
            "XDG_CONFIG_HOME",
            // Programs of verification must work here, with the same output everywhere.
            "CARGO_TARGET_DIR",
            "CARGO_TERM_COLOR",
            "RUST_BACKTRACE",
        ] {
            command.env_remove(name);
        }
        command
            .args(args)
            .current_dir(self.path())
            .env("HOME", self.path().join(".home"))
            .env("TZ", "UTC")
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary was built");
        let mut stdin = child.stdin.take().expect("it is piped");
        let input = input.as_ref().to_vec();
        // A command that does not read its input closes the pipe, which is no error.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ran = Ran::wait(child, args);
        writer.join().expect("the writer ends with the command");
        ran
    }
}

impl Ran {
    fn wait(mut child: Child, args: &[&str]) -> Ran {
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        let (sender, receiver) = channel();
        let collect = |mut stream: Box<dyn Read + Send>, sender: std::sync::mpsc::Sender<()>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).expect("a pipe can be read");
                let _ = sender.send(());
                bytes
            })
        };
        let readers = [
            collect(Box::new(stdout), sender.clone()),
            collect(Box::new(stderr), sender),
        ];
        for _ in &readers {
            if receiver.recv_timeout(PATIENCE).is_err() {
                child.kill().expect("it is ours");
                panic!("planwright {args:?} hangs");
            }
        }
        let [stdout, stderr] = readers.map(|reader| {
            let bytes = reader.join().expect("a reader does not fail");
            String::from_utf8(bytes).expect("output is UTF-8")
        });
        let status = child.wait().expect("it was started").code();
        Ran { status, stdout, stderr }
    }

    /// Checks the exit status.
    #[track_caller]
    pub(crate) fn exits(self, status: i32) -> Ran {
        assert_eq!(self.status, Some(status), "{}", self.text());
        self
    }

    /// Returns standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("{error} in\n{}", self.text()),
        }
    }

    /// Returns everything in one text.
    pub(crate) fn text(&self) -> String {
        let status = self.status.map_or("killed".to_owned(), |status| status.to_string());
        let stderr = match self.stderr.as_str() {
            "" => String::new(),
            stderr => format!("── standard error\n{stderr}"),
        };
        format!("{}{stderr}── exit status {status}\n", self.stdout)
    }

    /// Compares everything with a file of `snapshots`; `UPDATE_EXPECT=1` rewrites it.
    pub(crate) fn is_as_in(&self, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots");
        // Snapshots are compared without regard to line endings, so that those of a plan are made visible.
        let text = with_plenty_of_disk(&self.text())
            .replace(&planwright_run::fence::support().words(), "<kernel>")
            .replace(&fence_of_this_kernel(), "\"active\": <kernel>,\n    \"abi\": <kernel>")
            .replace(env!("CARGO_PKG_VERSION"), "<version>")
            .replace('\r', "␍");
        expect_file![folder.join(format!("{name}.txt"))].assert_eq(&text);
    }

    /// Checks that it ended by itself, and that its output has no control sequences.
    #[track_caller]
    pub(crate) fn is_decent(&self) -> &Ran {
        self.is_orderly();
        for text in [&self.stdout, &self.stderr] {
            let bad = text.chars().find(|&c| c.is_control() && c != '\n' && c != '\t');
            assert_eq!(bad, None, "{:?}", self.text());
        }
        self
    }

    /// Checks that it ended by itself.
    #[track_caller]
    pub(crate) fn is_orderly(&self) -> &Ran {
        assert!(
            matches!(self.status, Some(0..=3)),
            "it must end with a status of its own:\n{}",
            self.text()
        );
        assert!(!self.stderr.contains("panicked at"), "{}", self.text());
        self
    }
}

/// Returns a text of `doctor` as a machine with an empty disk would print it.
pub(crate) fn with_plenty_of_disk(text: &str) -> String {
    const REST: &str = " GB free for checkouts";
    let lines = text.split_inclusive('\n').map(|line| {
        let Some((before, after)) = line.split_once(REST) else {
            return line.to_owned();
        };
        let label = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let label = label.strip_suffix("more than ").unwrap_or(label);
        format!("{label}more than 10{REST}{after}")
    });
    lines.collect()
}

/// Returns the kernel's support as in `doctor --json` and `agents --json`.
fn fence_of_this_kernel() -> String {
    let support = planwright_run::fence::support();
    let is_active = planwright_run::fence::obstacle(&support).is_none();
    let abi = match support {
        planwright_run::fence::Support::Landlock { abi } => abi.to_string(),
        _ => "null".to_owned(),
    };
    format!("\"active\": {is_active},\n    \"abi\": {abi}")
}
