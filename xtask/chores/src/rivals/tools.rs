//! The compared tools: their packages, their formats, and their documented commands.

use std::io;
use std::path::Path;

use serde_json::Value;

use super::formats;
use super::graph::Graph;
use super::install::{Package, ToolPackage};
use super::judge::{EditMark, Spelling};

/// A tool and how it is used. A missing function is `None`.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) wanted: ToolPackage,
    /// The arguments that print its version.
    pub(super) version: &'static [&'static str],
    /// Writes a graph in its format.
    pub(super) write: fn(&Graph, &Path) -> io::Result<()>,
    pub(super) spelling: Spelling,
    /// Commands that check a graph; the first of them is timed.
    pub(super) checks: &'static [&'static [&'static str]],
    pub(super) next: Option<NextCommand>,
    pub(super) change: Option<ChangeCommand>,
    /// Runs all tasks, two at a time.
    pub(super) run: Option<&'static [&'static str]>,
    /// The limits that its documentation states, and further facts for a reader.
    pub(super) remark: &'static str,
}

/// How a tool reports a task that may start.
pub(super) struct NextCommand {
    pub(super) command: &'static [&'static str],
    /// The text before the answer; empty if the first named task is the answer.
    pub(super) after: &'static str,
}

/// How a tool changes the status of one task to its name for work in progress.
pub(super) struct ChangeCommand {
    pub(super) command: fn(usize) -> Vec<String>,
    /// The changed file.
    pub(super) file: fn(usize) -> String,
    /// Returns whether a task is in progress; none if the file is not readable.
    pub(super) is_started: fn(&str, usize) -> Option<bool>,
    /// The parts of the odd task that must stay unchanged, by name.
    pub(super) marks: &'static [(&'static str, EditMark)],
}

/// The names of marks, in the order of the table.
pub(super) const MARKS: [&str; 6] = [
    "unknown fields",
    "order of keys",
    "spelling of numbers",
    "spelling of letters",
    "comments",
    "final line break",
];

const JSON_MARKS: &[(&str, EditMark)] = &[
    ("unknown fields", EditMark::Texts(&["\"x_first\"", "\"x_last\""])),
    (
        "order of keys",
        EditMark::Order(&["\"x_first\"", formats::ODD_TITLE, "\"x_last\""]),
    ),
    ("spelling of numbers", EditMark::Texts(&["1.50", "1e3"])),
    ("spelling of letters", EditMark::Texts(&["Zo\\u00eb"])),
    ("final line break", EditMark::End),
];

const FRONT_MATTER_MARKS: &[(&str, EditMark)] = &[
    ("unknown fields", EditMark::Texts(&["\nx_first:", "\nx_last:"])),
    (
        "order of keys",
        EditMark::Order(&["\nx_first:", formats::ODD_TITLE, "\nx_last:"]),
    ),
    ("spelling of numbers", EditMark::Texts(&["1.50", "1e3"])),
    ("spelling of letters", EditMark::Texts(&["'yes'"])),
    ("comments", EditMark::Texts(&["# by hand"])),
    ("final line break", EditMark::End),
];

/// Every tool; planwright is the first, and the others are compared with it.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "planwright",
        wanted: ToolPackage {
            program: "planwright",
            package: Package::Own,
            version: "of this repository",
        },
        version: &["--version"],
        write: formats::clido,
        spelling: formats::short_name,
        checks: &[&["check", formats::CLIDO_FILE]],
        next: Some(NextCommand {
            command: &["next", formats::CLIDO_FILE],
            after: "",
        }),
        change: Some(ChangeCommand {
            command: |number| {
                let task = formats::short_name(number);
                ["start", &task, "--plan", formats::CLIDO_FILE]
                    .map(str::to_owned)
                    .to_vec()
            },
            file: |_| formats::CLIDO_FILE.to_owned(),
            is_started: |text, number| {
                let plan: Value = serde_json::from_str(text).ok()?;
                status_in(&plan["tasks"], &formats::short_name(number)).map(|status| status == "running")
            },
            marks: JSON_MARKS,
        }),
        run: Some(&["run", "--quiet", "-j2", formats::CLIDO_FILE]),
        remark: "A plan in one of six dialects, here clido's JSON. Every change is made durable (`fsync`) and recorded in a \
                 journal; a run keeps the output of every task.",
    },
    Tool {
        name: "task-master",
        wanted: ToolPackage {
            program: "task-master",
            package: Package::Npm("task-master-ai"),
            version: "0.43.1",
        },
        version: &["--version"],
        write: formats::task_master,
        spelling: formats::bare_number,
        checks: &[&["validate-dependencies"]],
        next: Some(NextCommand {
            command: &["next", "--format", "json"],
            after: "",
        }),
        change: Some(ChangeCommand {
            command: |number| {
                let task = formats::bare_number(number);
                ["set-status", &task, "in-progress"].map(str::to_owned).to_vec()
            },
            file: |_| formats::TASK_MASTER_FILE.to_owned(),
            is_started: |text, number| {
                let file: Value = serde_json::from_str(text).ok()?;
                let tasks = &file["master"]["tasks"];
                status_in(tasks, &formats::bare_number(number)).map(|status| status == "in-progress")
            },
            marks: JSON_MARKS,
        }),
        run: None,
        remark: "One JSON file for all tasks. Its search for updates is switched off (`TASKMASTER_SKIP_AUTO_UPDATE`). It has an \
                 agent work on one task at a time (`start`, `loop`), and runs no commands itself.",
    },
    Tool {
        name: "Backlog.md",
        wanted: ToolPackage {
            program: "backlog",
            package: Package::Npm("backlog.md"),
            version: "1.52.0",
        },
        version: &["--version"],
        write: formats::backlog,
        spelling: formats::backlog_name,
        checks: &[&["doctor"]],
        next: Some(NextCommand {
            command: &["task", "list", "--ready", "--plain", "--limit", "1"],
            after: "",
        }),
        change: Some(ChangeCommand {
            command: |number| {
                let task = number.to_string();
                ["task", "edit", &task, "-s", "In Progress", "--plain"]
                    .map(str::to_owned)
                    .to_vec()
            },
            file: formats::backlog_file,
            is_started: |text, number| {
                let status = front_matter(text, number)?;
                Some(status == "In Progress")
            },
            marks: FRONT_MATTER_MARKS,
        }),
        run: None,
        remark: "One Markdown file per task, so that writers of different tasks do not meet. Used without git, which is its \
                 quickest way (`init --no-git`). `doctor` is documented to find duplicate ids and cycles, not references to \
                 tasks that are not there; those it refuses when they are entered (`--dep`).",
    },
    Tool {
        name: "taskgraph",
        wanted: ToolPackage {
            program: "taskgraph",
            package: Package::Cargo("taskgraph"),
            version: "0.1.3",
        },
        version: &["--version"],
        write: formats::taskgraph,
        spelling: formats::short_name,
        checks: &[&["validate"], &["cycles"]],
        next: Some(NextCommand {
            command: &["topo", "--status", "pending"],
            after: "",
        }),
        change: None,
        run: None,
        remark: "One Markdown file per task. It reads and analyses; status is changed in an editor. Its guide to work names \
                 `topo --status pending` for what is ready.",
    },
    Tool {
        name: "OpenSpec",
        wanted: ToolPackage {
            program: "openspec",
            package: Package::Npm("@fission-ai/openspec"),
            version: "1.13.2",
        },
        version: &["--version"],
        write: formats::openspec,
        spelling: formats::short_name,
        checks: &[&["schema", "validate", "generated"]],
        next: Some(NextCommand {
            command: &["status", "--change", "graph"],
            after: "Next:",
        }),
        change: None,
        run: None,
        remark: "Its lists of tasks (`tasks.md`) have no dependencies. Only its workflow schema has them: it is marked \
                 experimental, and its artifacts require other artifacts. The graph is given in that form, and a task is done when \
                 its artifact exists. Agents write the files. Telemetry is switched off (`OPENSPEC_TELEMETRY=0`).",
    },
    Tool {
        name: "dagu",
        wanted: ToolPackage {
            program: "dagu",
            package: Package::NpmPerSystem("@dagu-org/dagu"),
            version: "1.30.2",
        },
        version: &["version"],
        write: formats::dagu,
        spelling: formats::short_name,
        checks: &[&["validate", "work.yaml"], &["dry", "work.yaml"]],
        next: None,
        change: None,
        run: Some(&["start", "--quiet", "work.yaml"]),
        remark: "A workflow engine with a server and a scheduler, here only its command line; newer versions are published \
                 outside of npm. A run keeps the output of every step. `dry` goes through the steps as a run would, and is its \
                 second check.",
    },
    Tool {
        name: "ninja",
        wanted: ToolPackage {
            program: "ninja",
            package: Package::Pip("ninja"),
            version: "1.13.0",
        },
        version: &["--version"],
        write: formats::ninja,
        spelling: formats::short_name,
        checks: &[&["-n"]],
        next: None,
        change: None,
        run: Some(&["--quiet", "-j2"]),
        remark: "A build system: no status but that of files, no output kept, nothing durable. The measure for starting \
                 processes.",
    },
    Tool {
        name: "make",
        wanted: ToolPackage {
            program: "make",
            package: Package::Debian("make"),
            version: "4.3-4.1",
        },
        version: &["--version"],
        write: formats::make,
        spelling: formats::short_name,
        checks: &[&["-n", "--no-builtin-rules"]],
        next: None,
        change: None,
        run: Some(&["--silent", "--no-builtin-rules", "-j2"]),
        remark: "As ninja. It documents that it drops circular dependencies and continues.",
    },
];

/// The environment of every tool: no colours, no update checks, no telemetry.
pub(super) const ENVIRONMENT: &[(&str, &str)] = &[
    ("NO_COLOR", "1"),
    ("DO_NOT_TRACK", "1"),
    ("OPENSPEC_TELEMETRY", "0"),
    ("TASKMASTER_SKIP_AUTO_UPDATE", "1"),
];

/// Returns the status of a task in a JSON list, whose ids may be numbers.
fn status_in(tasks: &Value, id: &str) -> Option<String> {
    let is_it = |task: &&Value| match &task["id"] {
        Value::String(text) => text == id,
        Value::Number(number) => number.as_u64().is_some_and(|number| id.parse() == Ok(number)),
        _ => false,
    };
    tasks.as_array()?.iter().find(is_it)?["status"]
        .as_str()
        .map(str::to_owned)
}

/// Returns the status of a task of Backlog.md, if the front matter is complete and has its id.
fn front_matter(text: &str, number: usize) -> Option<&str> {
    let (front, _) = text.strip_prefix("---\n")?.split_once("\n---\n")?;
    let of = |key: &str| front.lines().find_map(|line| line.strip_prefix(key));
    let is_it = of("id: ")?.eq_ignore_ascii_case(&formats::backlog_name(number));
    of("status: ").filter(|_| is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_from_whole_files_only() {
        let whole = "---\nid: TASK-7\nstatus: In Progress\n---\n\ntext\n";
        assert_eq!(front_matter(whole, 7), Some("In Progress"));
        assert_eq!(front_matter(whole, 8), None);
        assert_eq!(front_matter("---\nid: TASK-7\nstatus: In Pro", 7), None);
        assert_eq!(front_matter("", 7), None);
    }

    #[test]
    fn ids_are_found_as_numbers_and_as_text() {
        let tasks: Value =
            serde_json::from_str(r#"[{"id": 7, "status": "a"}, {"id": "8", "status": "b"}]"#).expect("JSON");
        assert_eq!(status_in(&tasks, "7").as_deref(), Some("a"));
        assert_eq!(status_in(&tasks, "8").as_deref(), Some("b"));
        assert_eq!(status_in(&tasks, "9"), None);
    }

    #[test]
    fn marks_searched_after_an_edit_exist_before_it() {
        let graph = Graph::new(100).expect("enough tasks").begun();
        let number = graph.ready()[0];
        let graph = graph.odd(number);
        for tool in TOOLS {
            let Some(change) = &tool.change else { continue };
            let folder = planwright_testkit::TempFolder::new().expect("a folder");
            (tool.write)(&graph, folder.path()).expect("it is written");
            let text = std::fs::read_to_string(folder.path().join((change.file)(number))).expect("it is there");
            for (name, mark) in change.marks {
                assert!(MARKS.contains(name) && mark.is_in(&text), "{}: {name}", tool.name);
            }
            assert_eq!((change.is_started)(&text, number), Some(false), "{}", tool.name);
        }
    }
}
