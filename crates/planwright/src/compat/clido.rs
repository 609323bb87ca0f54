//! `clido plan list|show|run|delete`: the original's texts for saved plans; `run` is planwright's. Does not judge plans.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::document::{Document, NodeKind, NodeRef, json};
use planwright_run::store::{self, LoadError, MoveTarget, PlanFile, PlanMoveRequest, Store};

use super::Answer;

const USAGE: &str = "\
Usage: clido [-C <dir>] plan <command>

Commands:
  list         List all saved plans
  show <id>    Show a saved plan with its tasks and status
  run <id>     Run a saved plan, as `planwright run` does, with its options
  delete <id>  Delete a saved plan

Options:
  -C, --workdir <dir>  The folder to work in, instead of the current one

Examples:
  planwright clido plan list
  planwright clido plan run plan-a1b2c3d4 --agent claude -j 2

Exit status: 0 success; 1 no such plan, or it cannot be read; 2 wrong usage; of `plan run` those
of `planwright run`.
";

/// Runs the arguments after `clido`.
pub(crate) fn run(args: &[OsString]) -> Answer {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    match Invocation::parse(&args) {
        Ok(invocation) => invocation.answer(),
        Err(answer) => answer,
    }
}

/// Returns the arguments of `planwright run` for `plan run <id>`; none for another command. Further arguments are options of `planwright
/// run`, and `takes_value` knows those whose value is the next argument.
pub(crate) fn as_run(args: &[OsString], takes_value: impl Fn(&str) -> bool) -> Option<Vec<OsString>> {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let invocation = Invocation::parse(&args)
        .ok()
        .filter(|invocation| invocation.command == "run")?;
    let is_value = |at: usize| at > 0 && takes_value(&invocation.rest[at - 1]);
    let mut words = invocation.rest.iter().enumerate();
    let (at, _) = words.find(|(at, word)| !word.starts_with('-') && !is_value(*at))?;
    let plan = path_of(&invocation.plans, invocation.rest.get(at)?).ok()?;
    let options = invocation.rest.iter().enumerate().filter(|(place, _)| *place != at);
    let words = ["planwright", "run"].into_iter().map(OsString::from);
    let words = words.chain(options.map(|(_, word)| OsString::from(word)));
    Some(words.chain([plan.into_os_string()]).collect())
}

/// A parsed command line.
struct Invocation<'a> {
    plans: PathBuf,
    command: &'a str,
    rest: &'a [String],
}

impl<'a> Invocation<'a> {
    fn parse(args: &'a [String]) -> Result<Self, Answer> {
        let mut folder = std::env::var_os("CLIDO_WORKDIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
        let mut rest = args;
        while let Some((option, behind)) = rest.split_first().filter(|(first, _)| first.starts_with('-')) {
            rest = behind;
            match (option.split_once('='), option.as_str()) {
                (Some(("--workdir", value)), _) => folder = PathBuf::from(value),
                (None, "-C" | "--workdir") => {
                    let (value, behind) = behind.split_first().ok_or_else(|| usage("-C needs a folder"))?;
                    folder = PathBuf::from(value);
                    rest = behind;
                }
                (None, "-h" | "--help") => return Err(Answer::out(0, USAGE)),
                _ => return Err(not_here(option)),
            }
        }
        match rest {
            [] => Err(Answer::out(0, USAGE)),
            [plan] if plan == "plan" => Err(usage("a command is needed")),
            [plan, command, rest @ ..] if plan == "plan" => Ok(Invocation {
                plans: folder.join(".clido").join("plans"),
                command,
                rest,
            }),
            [other, ..] => Err(not_here(other)),
        }
    }

    fn answer(&self) -> Answer {
        match (self.command, self.rest) {
            ("-h" | "--help" | "help", _) => Answer::out(0, USAGE),
            (_, [option]) if option == "-h" || option == "--help" => Answer::out(0, USAGE),
            ("list", []) => list(&self.plans),
            ("show", [id]) => show(&self.plans, id),
            ("delete", [id]) => delete(&self.plans, id),
            ("list", _) => usage("list takes nothing"),
            ("show" | "delete" | "run", _) => usage(&format!("{} takes one plan id", self.command)),
            (command, _) => not_here(&format!("plan {command}")),
        }
    }
}

fn usage(message: &str) -> Answer {
    Answer::err(2, format!("Error: {message}\n\n{USAGE}"))
}

fn not_here(what: &str) -> Answer {
    usage(&format!(
        "`clido {what}` is not part of planwright's clido command line"
    ))
}

fn error(message: &str) -> Answer {
    Answer::err(1, format!("Error: {message}\n"))
}

/// The creation time of a flat plan without one.
const FLAT_CREATED_AT: &str = "unknown";

/// A plan in the folder, saved or flat, with the required fields.
struct Saved {
    document: Document,
    id: String,
    goal: String,
    created_at: String,
}

impl Saved {
    /// `flat_id` is the id of a flat plan without one; if it is none, a flat plan is refused.
    fn load(path: &Path, id: &str, flat_id: Option<&str>) -> Result<Self, String> {
        let loaded = store::load(path).map_err(|error| match error {
            LoadError::Missing { .. } => not_found(id),
            error => format!("IO error: {error}"),
        })?;
        let parsed = json::parse(&loaded.source);
        if parsed.document.is_broken() {
            let message = parsed.diagnostics.first().map_or("", |first| first.message.as_str());
            return Err(format!("JSON error: {message}"));
        }
        Saved::read(parsed.document, flat_id).map_err(|message| format!("JSON error: {message}"))
    }

    fn read(document: Document, flat_id: Option<&str>) -> Result<Self, String> {
        let root = document.root().ok_or("it is empty")?;
        let (meta, flat_id) = match (root.get("meta"), flat_id) {
            (Some(meta), _) => (meta, None),
            (None, Some(id)) if root.get("goal").is_some() => (root, Some(id)),
            (None, _) => return Err("missing field `meta`".to_owned()),
        };
        let text = |key: &str| match (
            meta.get(key).filter(|node| node.kind() == NodeKind::String),
            key,
            flat_id,
        ) {
            (Some(node), ..) => Ok(node.value().into_owned()),
            (None, "id", Some(id)) => Ok(id.to_owned()),
            (None, "created_at", Some(_)) => Ok(FLAT_CREATED_AT.to_owned()),
            (None, ..) => Err(format!("field `meta.{key}` is missing or no string")),
        };
        let (id, goal, created_at) = (text("id")?, text("goal")?, text("created_at")?);
        let tasks = root.get("tasks").filter(|tasks| tasks.kind() == NodeKind::Array);
        let tasks = tasks.ok_or("field `tasks` is missing or no list")?;
        for (ix, task) in tasks.elements().enumerate() {
            let has_text = |key: &str| task.get(key).is_some_and(|node| node.kind() == NodeKind::String);
            if let Some(key) = ["id", "description"].into_iter().find(|key| !has_text(key)) {
                return Err(format!("field `tasks[{ix}].{key}` is missing or no string"));
            }
        }
        Ok(Saved {
            id,
            goal,
            created_at,
            document,
        })
    }

    fn tasks(&self) -> impl Iterator<Item = ClidoTask<'_>> {
        let list = self.document.root().and_then(|root| root.get("tasks"));
        list.into_iter().flat_map(NodeRef::elements).map(ClidoTask)
    }

    fn count(&self, status: &str) -> usize {
        self.tasks().filter(|task| task.status() == status).count()
    }
}

/// One task of a saved plan.
#[derive(Clone, Copy)]
struct ClidoTask<'d>(NodeRef<'d>);

impl<'d> ClidoTask<'d> {
    /// Returns a text; empty if it is missing.
    fn text(self, key: &str) -> Cow<'d, str> {
        self.0.get(key).and_then(NodeRef::text).unwrap_or_default()
    }

    fn status(self) -> Cow<'d, str> {
        match self.0.get("status") {
            None => "pending".into(),
            Some(written) => written.value(),
        }
    }

    fn icon(self) -> &'static str {
        match &*self.status() {
            "pending" => "○",
            "running" => "↻",
            "done" => "✓",
            "failed" => "✗",
            "skipped" => "⊘",
            _ => "?",
        }
    }

    fn complexity(self) -> &'static str {
        match (self.0.get("complexity"), &*self.text("complexity")) {
            (None, _) | (_, "low") => "[low]  ",
            (_, "medium") => "[med]  ",
            (_, "high") => "[high] ",
            _ => "[?]    ",
        }
    }

    fn needs(self) -> String {
        let list = self.0.get("depends_on");
        let ids: Vec<_> = list
            .into_iter()
            .flat_map(NodeRef::elements)
            .map(NodeRef::value)
            .collect();
        match ids.is_empty() {
            true => String::new(),
            false => format!("  → needs {}", ids.join(", ")),
        }
    }

    fn lines(self) -> String {
        let skip = match self.0.get("skip").and_then(NodeRef::as_bool) {
            Some(true) => "  (skip)",
            _ => "",
        };
        let mut lines = format!(
            "  {} {}  {}  {}{skip}{}\n",
            self.icon(),
            self.text("id"),
            self.complexity(),
            self.text("description"),
            self.needs()
        );
        let notes = self.text("notes");
        if !notes.is_empty() {
            lines.push_str(&format!("       note: {notes}\n"));
        }
        lines
    }
}

fn list(plans: &Path) -> Answer {
    let (mut saved, remarks) = match load_all(plans) {
        Ok(loaded) => loaded,
        Err(io_error) => return error(&format!("IO error: {io_error}")),
    };
    // The newest first; a time is a text here, as in the original.
    saved.sort_by(|a, b| (Reverse(&a.created_at), &a.id).cmp(&(Reverse(&b.created_at), &b.id)));
    let mut stdout = row("ID", "Tasks", "Done", "Failed", "Goal");
    for plan in &saved {
        let counts = [plan.tasks().count(), plan.count("done"), plan.count("failed")];
        let [total, done, failed] = counts.map(|count| count.to_string());
        stdout.push_str(&row(&plan.id, &total, &done, &failed, &short(&plan.goal)));
    }
    if saved.is_empty() {
        stdout = "No saved plans. Use --plan with a prompt to generate and save one.\n".to_owned();
    }
    Answer {
        status: 0,
        stdout,
        stderr: remarks,
    }
}

fn row(id: &str, total: &str, done: &str, failed: &str, goal: &str) -> String {
    format!("{id:<20}  {total:<8}  {done:<8}  {failed:<8}  {goal}\n")
}

/// Returns a goal of at most 60 characters.
fn short(goal: &str) -> String {
    if goal.chars().nth(60).is_none() {
        return goal.to_owned();
    }
    let kept: String = goal.chars().take(59).collect();
    format!("{kept}…")
}

/// Reads all plans of a folder, and reports which files are none.
fn load_all(plans: &Path) -> io::Result<(Vec<Saved>, String)> {
    let entries = match fs::read_dir(plans) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), String::new())),
        entries => entries?,
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let (mut saved, mut remarks) = (Vec::new(), String::new());
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match Saved::load(&path, &name, None) {
            Ok(plan) => saved.push(plan),
            Err(reason) => remarks.push_str(&format!("Warning: {name} is left out: {reason}\n")),
        }
    }
    Ok((saved, remarks))
}

fn show(plans: &Path, id: &str) -> Answer {
    let loaded = path_of(plans, id).and_then(|path| Saved::load(&path, id, Some(id)));
    let plan = match loaded {
        Ok(plan) => plan,
        Err(message) => return error(&message),
    };
    let mut out = format!(
        "Plan: {}\nGoal: {}\nCreated: {}\n\n",
        plan.id, plan.goal, plan.created_at
    );
    out.push_str(&format!(
        "Progress: {}/{} done  {} failed  {} skipped  {} pending\n\n",
        plan.count("done"),
        plan.tasks().count(),
        plan.count("failed"),
        plan.count("skipped"),
        plan.count("pending")
    ));
    out.extend(plan.tasks().map(ClidoTask::lines));
    Answer::out(0, out)
}

fn delete(plans: &Path, id: &str) -> Answer {
    let deleted = path_of(plans, id).and_then(|path| {
        let file = PlanFile {
            path: &path,
            id: Some(id),
        };
        let request = PlanMoveRequest {
            verb: "delete",
            by: None,
            target: MoveTarget::Trash,
        };
        match Store::default().move_plan(file, request) {
            Ok(_) => Ok(()),
            Err(_) if fs::symlink_metadata(&path).is_err() => Err(not_found(id)),
            Err(error) => Err(format!("IO error: {error}")),
        }
    });
    match deleted {
        Ok(()) => Answer::out(0, format!("Deleted plan '{id}'.\n")),
        Err(message) => error(&message),
    }
}

fn not_found(id: &str) -> String {
    format!("plan not found: {id}")
}

/// Returns the file of a plan; refuses an id that leads out of the folder.
fn path_of(plans: &Path, id: &str) -> Result<PathBuf, String> {
    let is_safe = !id.is_empty() && !id.contains(['/', '\\', ':', '\0']) && !id.chars().all(|c| c == '.');
    match is_safe {
        true => Ok(plans.join(format!("{id}.json"))),
        false => Err(format!("invalid plan id: {id}")),
    }
}
