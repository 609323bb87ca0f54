//! Writes the graph in the format and the layout of each tool. Runs nothing.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::graph::{Graph, RivalTask};

/// The name of planwright's plan: clido's naming of plan files.
pub(super) const CLIDO_FILE: &str = "plan-a1b2c3d4.json";
/// The file in which task-master keeps tasks.
pub(super) const TASK_MASTER_FILE: &str = ".taskmaster/tasks/tasks.json";

/// The title of every task. It has no number that could be read as a task.
const TITLE: &str = "Change the module and its tests";
/// The title of the odd task.
pub(super) const ODD_TITLE: &str = "The odd one";
/// Unknown fields at the start of the odd task in JSON, with unusual spellings of numbers and letters.
const ODD_START: &str = "      \"x_first\": {\"limits\": [1.50, 1e3], \"owner\": \"Zo\\u00eb\"},\n";
/// Unknown fields at its end.
const ODD_END: &str = ",\n      \"x_last\": true";
/// Unknown fields at the start and the end of the odd task's front matter.
const ODD_FRONT: (&str, &str) = ("x_first: [1.50, 1e3]\n", "x_last: 'yes'\n");
/// A comment on a known field.
const ODD_COMMENT: &str = "  # by hand";

/// Returns the id of a task for planwright, dagu, taskgraph, OpenSpec, ninja and make.
pub(super) fn short_name(number: usize) -> String {
    format!("t{number}")
}

/// Returns the id of a task for Backlog.md.
pub(super) fn backlog_name(number: usize) -> String {
    format!("TASK-{number}")
}

/// Returns the id of a task for task-master.
pub(super) fn bare_number(number: usize) -> String {
    number.to_string()
}

/// Returns the path of a task's file for Backlog.md.
pub(super) fn backlog_file(number: usize) -> String {
    format!("backlog/tasks/task-{number} - {}.md", TITLE.replace(' ', "-"))
}

/// Writes a clido plan, and a configuration with an agent that does nothing.
pub(super) fn clido(graph: &Graph, folder: &Path) -> io::Result<()> {
    let tasks = joined(graph, ",\n", |task| {
        let (title, start, end) = oddities(graph, task, ODD_START, ODD_END);
        format!(
            "    {{\n{start}      \"id\": \"t{}\",\n      \"description\": \"{title}\",\n      \"depends_on\": [{}],\n      \
             \"complexity\": \"low\",\n      \"skip\": false,\n      \"notes\": \"\",\n      \"status\": \"{}\"{end}\n    }}",
            task.number,
            names(task, "\"", "\"", ", "),
            if task.is_done { "done" } else { "pending" }
        )
    });
    let text = format!(
        "{{\n  \"meta\": {{\n    \"id\": \"plan-a1b2c3d4\",\n    \"goal\": \"A generated plan\",\n    \"created_at\": \
         \"2026-03-22T10:00:00Z\"\n  }},\n  \"tasks\": [\n{tasks}\n  ]\n}}\n"
    );
    write(folder, CLIDO_FILE, &text)?;
    write(folder, "planwright.toml", crate::bench::SETTINGS)
}

/// Writes task-master's file of tasks in its own layout.
pub(super) fn task_master(graph: &Graph, folder: &Path) -> io::Result<()> {
    let tasks = joined(graph, ",\n", |task| {
        let (title, start, end) = oddities(graph, task, ODD_START, ODD_END);
        let depends_on = match task.depends_on.as_slice() {
            [] => "[]".to_owned(),
            numbers => {
                let lines: Vec<String> = numbers.iter().map(|number| format!("          {number}")).collect();
                format!("[\n{}\n        ]", lines.join(",\n"))
            }
        };
        format!(
            "      {{\n{start}        \"id\": {},\n        \"title\": \"{title}\",\n        \"description\": \"{title}\",\n        \
             \"details\": \"\",\n        \"testStrategy\": \"\",\n        \"status\": \"{}\",\n        \"dependencies\": \
             {depends_on},\n        \"priority\": \"medium\",\n        \"subtasks\": []{end}\n      }}",
            task.number,
            if task.is_done { "done" } else { "pending" }
        )
    });
    let text = format!(
        "{{\n  \"master\": {{\n    \"tasks\": [\n{tasks}\n    ],\n    \"metadata\": {{\n      \"created\": \
         \"2026-03-22T10:00:00.000Z\",\n      \"updated\": \"2026-03-22T10:00:00.000Z\",\n      \"description\": \"A generated \
         plan\"\n    }}\n  }}\n}}\n"
    );
    write(folder, TASK_MASTER_FILE, &text)
}

/// Writes a project of Backlog.md: one file per task, without git.
pub(super) fn backlog(graph: &Graph, folder: &Path) -> io::Result<()> {
    write(
        folder,
        "backlog/config.yml",
        "project_name: \"generated\"\ndefault_status: \"To Do\"\nstatuses: [\"To Do\", \"In Progress\", \"Done\"]\nlabels: \
         []\ndate_format: yyyy-mm-dd\nmax_column_width: 20\nauto_open_browser: false\nremote_operations: false\nauto_commit: \
         false\nfilesystem_only: true\ncheck_active_branches: false\ntask_prefix: \"task\"\n",
    )?;
    for task in &graph.tasks {
        let (title, start, end) = oddities(graph, task, ODD_FRONT.0, ODD_FRONT.1);
        let comment = oddities(graph, task, ODD_COMMENT, "").1;
        let depends_on = match task.depends_on.as_slice() {
            [] => " []".to_owned(),
            numbers => numbers.iter().map(|number| format!("\n  - TASK-{number}")).collect(),
        };
        let text = format!(
            "---\n{start}id: TASK-{}\ntitle: {title}\nstatus: {}\nassignee: []{comment}\ncreated_date: '2026-03-22 10:00'\nlabels: \
             []\ndependencies:{depends_on}\nordinal: {}\n{end}---\n\n## Description\n\n<!-- SECTION:DESCRIPTION:BEGIN \
             -->\n{TITLE}\n<!-- SECTION:DESCRIPTION:END -->\n",
            task.number,
            if task.is_done { "Done" } else { "To Do" },
            task.number * 1_000
        );
        write(folder, &backlog_file(task.number), &text)?;
    }
    Ok(())
}

/// Writes taskgraph's files, one per task.
pub(super) fn taskgraph(graph: &Graph, folder: &Path) -> io::Result<()> {
    for task in &graph.tasks {
        let text = format!(
            "---\nid: t{0}\nname: {TITLE}\nstatus: {1}\ndepends_on: [{2}]\nscope: narrow\nrisk: low\n---\n\n{TITLE}.\n",
            task.number,
            if task.is_done { "completed" } else { "pending" },
            names(task, "", "", ", ")
        );
        write(folder, &format!("tasks/t{}.md", task.number), &text)?;
    }
    Ok(())
}

/// Writes a workflow schema of OpenSpec whose artifacts are the tasks, and a change with the artifacts of done tasks.
pub(super) fn openspec(graph: &Graph, folder: &Path) -> io::Result<()> {
    let artifacts = joined(graph, "", |task| {
        format!(
            "  - id: t{0}\n    generates: t{0}.md\n    description: {TITLE}\n    template: any.md\n    requires: [{1}]\n",
            task.number,
            names(task, "", "", ", ")
        )
    });
    let schema = format!("name: generated\nversion: 1\ndescription: A generated graph\nartifacts:\n{artifacts}");
    write(folder, "openspec/schemas/generated/schema.yaml", &schema)?;
    write(folder, "openspec/schemas/generated/templates/any.md", "# Any\n")?;
    write(folder, "openspec/config.yaml", "schema: generated\n")?;
    write(folder, "openspec/changes/graph/.openspec.yaml", "schema: generated\n")?;
    for task in graph.tasks.iter().filter(|task| task.is_done) {
        write(
            folder,
            &format!("openspec/changes/graph/t{}.md", task.number),
            "Done.\n",
        )?;
    }
    Ok(())
}

/// Writes a workflow of dagu, with two steps at a time.
pub(super) fn dagu(graph: &Graph, folder: &Path) -> io::Result<()> {
    let steps = joined(graph, "", |task| {
        format!(
            "  - name: t{}\n    command: {}\n    depends: [{}]\n",
            task.number,
            crate::bench::PROGRAM,
            names(task, "", "", ", ")
        )
    });
    write(
        folder,
        "work.yaml",
        &format!("type: graph\nmaxActiveSteps: 2\nsteps:\n{steps}"),
    )
}

/// Writes a `build.ninja`.
pub(super) fn ninja(graph: &Graph, folder: &Path) -> io::Result<()> {
    let builds = joined(graph, "", |task| {
        format!("build t{}: work {}\n", task.number, names(task, "", "", " "))
    });
    let all = joined(graph, " ", |task| short_name(task.number));
    let text = format!(
        "rule work\n  command = {}\n{builds}build all: phony {all}\ndefault all\n",
        crate::bench::PROGRAM
    );
    write(folder, "build.ninja", &text)
}

/// Writes a `Makefile`.
pub(super) fn make(graph: &Graph, folder: &Path) -> io::Result<()> {
    let all = joined(graph, " ", |task| short_name(task.number));
    let rules = joined(graph, "", |task| {
        format!(
            "t{}: {}\n\t@{}\n",
            task.number,
            names(task, "", "", " "),
            crate::bench::PROGRAM
        )
    });
    write(folder, "Makefile", &format!(".PHONY: all {all}\nall: {all}\n{rules}"))
}

fn joined(graph: &Graph, between: &str, one: impl Fn(&RivalTask) -> String) -> String {
    graph.tasks.iter().map(one).collect::<Vec<_>>().join(between)
}

/// Returns the names of a task's dependencies.
fn names(task: &RivalTask, before: &str, after: &str, between: &str) -> String {
    let mut text = String::new();
    for (place, number) in task.depends_on.iter().enumerate() {
        let between = if place > 0 { between } else { "" };
        let _ = write!(text, "{between}{before}t{number}{after}");
    }
    text
}

/// Returns a task's title, and its unknown fields.
fn oddities<'a>(graph: &Graph, task: &RivalTask, start: &'a str, end: &'a str) -> (&'static str, &'a str, &'a str) {
    match graph.odd == Some(task.number) {
        true => (ODD_TITLE, start, end),
        false => (TITLE, "", ""),
    }
}

fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = folder.join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use planwright_testkit::TempFolder;
    use serde_json::Value;

    use super::*;

    type Format = fn(&Graph, &Path) -> io::Result<()>;

    fn graph() -> Graph {
        Graph::new(100).expect("enough tasks").begun()
    }

    fn written(format: Format, graph: &Graph, name: &str) -> String {
        let folder = TempFolder::new().expect("a folder");
        format(graph, folder.path()).expect("it is written");
        std::fs::read_to_string(folder.path().join(name)).expect("it is there")
    }

    fn task(graph: &Graph) -> &RivalTask {
        graph.tasks.last().expect("there is one")
    }

    #[test]
    fn json_has_every_task_with_its_dependencies_and_status() {
        let graph = graph();
        let clido: Value = serde_json::from_str(&written(clido, &graph, CLIDO_FILE)).expect("JSON");
        let master: Value = serde_json::from_str(&written(task_master, &graph, TASK_MASTER_FILE)).expect("JSON");
        for (place, task) in graph.tasks.iter().enumerate() {
            let (one, other) = (&clido["tasks"][place], &master["master"]["tasks"][place]);
            let named: Vec<String> = task.depends_on.iter().map(|number| short_name(*number)).collect();
            assert_eq!(one["id"], short_name(task.number));
            assert_eq!(one["depends_on"], serde_json::json!(named));
            assert_eq!(other["id"], task.number);
            assert_eq!(other["dependencies"], serde_json::json!(task.depends_on));
            let status = if task.is_done { "done" } else { "pending" };
            assert_eq!((&one["status"], &other["status"]), (&status.into(), &status.into()));
        }
    }

    #[test]
    fn files_of_their_own_have_their_task() {
        let graph = graph();
        let last = task(&graph);
        let (one, other) = (last.depends_on[0], last.depends_on[1]);
        let text = written(backlog, &graph, &backlog_file(last.number));
        assert!(
            text.contains(&format!("dependencies:\n  - TASK-{one}\n  - TASK-{other}\n")),
            "{text}"
        );
        let text = written(taskgraph, &graph, &format!("tasks/t{}.md", last.number));
        assert!(text.contains(&format!("depends_on: [t{one}, t{other}]\n")), "{text}");
    }

    #[test]
    fn every_format_has_the_same_edges() {
        let graph = graph();
        let last = task(&graph);
        let (number, one, other) = (last.number, last.depends_on[0], last.depends_on[1]);
        let cases: [(Format, &str, String); 4] = [
            (
                openspec,
                "openspec/schemas/generated/schema.yaml",
                format!("requires: [t{one}, t{other}]"),
            ),
            (dagu, "work.yaml", format!("depends: [t{one}, t{other}]")),
            (ninja, "build.ninja", format!("build t{number}: work t{one} t{other}\n")),
            (make, "Makefile", format!("t{number}: t{one} t{other}\n\t@/bin/true\n")),
        ];
        for (format, name, edge) in cases {
            let text = written(format, &graph, name);
            assert!(text.contains(&edge), "{name}: {text}");
        }
    }

    #[test]
    fn the_odd_task_has_unusual_values_and_is_valid() {
        let graph = graph();
        let number = graph.ready()[0];
        let graph = graph.odd(number);
        let cases: [(Format, &str); 2] = [(clido, CLIDO_FILE), (task_master, TASK_MASTER_FILE)];
        for (format, name) in cases {
            let text = written(format, &graph, name);
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
            assert_eq!(text.matches(ODD_START.trim()).count(), 1);
            assert_eq!(text.matches("x_last").count(), 1);
        }
        let text = written(backlog, &graph, &backlog_file(number));
        assert!(
            text.starts_with(&format!("---\n{}id: TASK-{number}\n", ODD_FRONT.0)),
            "{text}"
        );
    }
}
