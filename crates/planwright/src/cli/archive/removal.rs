//! Shared code of `delete` and `archive`: choosing plan files, moving them with their history, and reporting the new place.

use std::path::{Path, PathBuf};

use planwright_core::dialect::DIALECTS;
use planwright_run::files::DiskFiles;
use planwright_run::layout::{PlanPlace, TRASH};
use planwright_run::store::{Departed, Departure, Goal, LoadError, PlanFile, Store, StoreError, load};
use planwright_run::workspace::{archive_path, is_pointer, slashed};
use serde::Serialize;

use super::super::change::notice_words;
use super::super::exit::{Exit, Failure};
use super::super::output::{Output, error_body};
use super::super::plan_arg::{file_named, load_failure, pointer_to};
use super::super::plan_entries::{Entry, from_here};
use crate::render::json::ErrorBody;
use crate::render::terminal::{cut, one_line, printable};

/// Options of both verbs.
#[derive(clap::Args)]
pub(crate) struct RemovalOptions {
    /// Also look at the OpenCrabs plans in the home folder.
    #[arg(long)]
    pub(crate) user: bool,

    /// Who does it, for the plan's history.
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,

    /// Write nothing; say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Show the moves as git shows them, and write nothing.
    #[arg(long)]
    pub(crate) diff: bool,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl RemovalOptions {
    /// Returns whether nothing is to be written.
    pub(crate) fn is_dry(&self) -> bool {
        self.dry_run || self.diff
    }
}

/// Which of the two verbs it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    Delete,
    Archive,
}

impl Removal {
    fn verb(self) -> &'static str {
        match self {
            Removal::Delete => "delete",
            Removal::Archive => "archive",
        }
    }

    fn version(self) -> &'static str {
        match self {
            Removal::Delete => "planwright.delete/v1",
            Removal::Archive => "planwright.archive/v1",
        }
    }

    /// Returns what was done, in words.
    fn words(self, dry_run: bool, plan: &str, title: &str, to: &str) -> String {
        match (self, dry_run) {
            (Removal::Delete, false) => format!("deleted {plan} ({title}); kept as {to}"),
            (Removal::Delete, true) => format!("would delete {plan} ({title}), and keep it as {to}"),
            (Removal::Archive, false) => format!("archived {plan} ({title}) as {to}"),
            (Removal::Archive, true) => format!("would archive {plan} ({title}) as {to}"),
        }
    }
}

/// A plan that is to go.
pub(crate) struct Chosen {
    pub(crate) entry: Entry,
    /// Where it is to go; the trash where that is none.
    goal: Option<String>,
    /// The file that says that this plan is in work.
    pointer: Option<PathBuf>,
}

/// What came of it, as JSON.
#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    /// Whether anything was written.
    written: bool,
    plans: Vec<Row>,
    /// Why the next one is where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
    /// With `--diff`: the moves as git shows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Serialize)]
struct Row {
    plan: String,
    id: Option<String>,
    title: String,
    /// Where it is now, or would be.
    to: String,
    notices: Vec<String>,
}

/// Finds the plans, all of them or none: nothing is moved before every name is understood.
pub(crate) fn choose(aside: Removal, names: &[String], user: bool) -> anyhow::Result<Vec<Chosen>> {
    let mut chosen: Vec<Chosen> = Vec::new();
    let mut seen = Vec::new();
    for name in names {
        let path = file_named(name, user)?;
        refuse_pointer(&path)?;
        let place = PlanPlace::of(&DiskFiles, &path).map_err(|error| not_there(&path, error))?;
        if seen.contains(&place.target) {
            continue;
        }
        let goal = goal_of(aside, &place, &path)?;
        let entry = Entry::of(path, false);
        refuse_stranger(&entry)?;
        chosen.push(Chosen {
            pointer: pointer_to(&entry.path),
            entry,
            goal,
        });
        seen.push(place.target);
    }
    Ok(chosen)
}

fn not_there(path: &Path, source: std::io::Error) -> anyhow::Error {
    let path = path.to_owned();
    load_failure(&match source.kind() {
        std::io::ErrorKind::NotFound => LoadError::Missing { path },
        _ => LoadError::Io { path, source },
    })
}

/// A file that points at a plan means that plan elsewhere. Here, where files go away, it would be a trap.
fn refuse_pointer(path: &Path) -> anyhow::Result<()> {
    let name = slashed(path);
    if !is_pointer(Path::new(&name)) {
        return Ok(());
    }
    Err(Failure::problem(
        format!("`{}` holds no plan: it says which one is in work", path.display()),
        "name the plan, or remove the file yourself where nothing is in work",
    ))
}

/// What planwright does not know for a plan is not its to move.
fn refuse_stranger(entry: &Entry) -> anyhow::Result<()> {
    let name = slashed(&entry.path);
    let is_plan = entry.dialect.is_some() || DIALECTS.iter().any(|dialect| dialect.lives_at(&name));
    if is_plan {
        return Ok(());
    }
    // What cannot be read may be a plan for all that is known.
    load(&entry.path).map_err(|error| load_failure(&error))?;
    Err(Failure::problem(
        format!(
            "`{}` holds no plan, and does not lie where plans do",
            entry.path.display()
        ),
        "move it yourself if you mean it",
    ))
}

fn goal_of(aside: Removal, place: &PlanPlace, path: &Path) -> anyhow::Result<Option<String>> {
    let shown = path.display();
    match aside {
        Removal::Delete if Path::new(&place.relative).starts_with(TRASH) => Err(Failure::problem(
            format!("`{shown}` is deleted already"),
            "remove the file yourself to be rid of it for good",
        )),
        Removal::Delete => Ok(None),
        Removal::Archive => archive_path(&place.relative).map(Some).ok_or_else(|| {
            Failure::problem(
                format!("`{shown}` is archived already, or deleted"),
                "move the file back to its place to work on it",
            )
        }),
    }
}

/// Moves the plans one after the other. Where one fails, what was done before is said, and what failed.
pub(crate) fn move_plans(
    aside: Removal,
    chosen: &[Chosen],
    options: &RemovalOptions,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    let mut failed = None;
    for plan in chosen {
        match put_one(aside, plan, options) {
            Ok(departed) => rows.push(row(plan, &departed)),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    for row in &rows {
        for notice in &row.notices {
            output.remark(&format!("note: {}", printable(notice)));
        }
    }
    let failed = failed.map(|error| departure_failure(&error));
    let diff = options.diff.then(|| rows.iter().map(move_as_diff).collect::<String>());
    if options.json {
        // A failure with nothing done before it is reported as every other.
        if rows.is_empty()
            && let Some(error) = failed
        {
            return Err(error);
        }
        return report(aside, rows, diff, failed, options, output);
    }
    if let Some(diff) = diff {
        output.write_exact(&diff);
    } else {
        for row in &rows {
            let title = match one_line(&row.title) {
                title if title.is_empty() => "no title".to_owned(),
                title => cut(&title, 60),
            };
            let words = aside.words(options.is_dry(), &one_line(&row.plan), &title, &one_line(&row.to));
            output.line(&words);
        }
    }
    failed.map_or(Ok(Exit::Success), Err)
}

fn report(
    aside: Removal,
    plans: Vec<Row>,
    diff: Option<String>,
    failed: Option<anyhow::Error>,
    options: &RemovalOptions,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let exit = failed.as_ref().map_or(Exit::Success, |error| output.complain(error));
    output.json(&Report {
        schema_version: aside.version(),
        written: !options.is_dry() && !plans.is_empty(),
        plans,
        error: failed.as_ref().map(error_body),
        diff,
    })?;
    Ok(exit)
}

/// Returns the move of a plan in the form that `git apply` takes.
fn move_as_diff(row: &Row) -> String {
    let (from, to) = (row.plan.replace('\\', "/"), row.to.replace('\\', "/"));
    format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
}

fn put_one(aside: Removal, plan: &Chosen, options: &RemovalOptions) -> Result<Departed, StoreError> {
    let file = PlanFile {
        path: &plan.entry.path,
        id: plan.entry.id.as_deref(),
    };
    let departure = Departure {
        verb: aside.verb(),
        by: options.by.as_deref(),
        goal: plan.goal.as_deref().map_or(Goal::Trash, Goal::Path),
    };
    let store = Store::default();
    match options.is_dry() {
        true => store.foresee(file, departure),
        false => store.depart(file, departure),
    }
}

fn row(plan: &Chosen, departed: &Departed) -> Row {
    let mut notices: Vec<String> = departed.notices.iter().map(notice_words).collect();
    if let Some(pointer) = &plan.pointer {
        notices.push(format!(
            "`{}` still names this plan; remove it, or have it name another",
            from_here(pointer).display()
        ));
    }
    Row {
        plan: plan.entry.shown(),
        id: plan.entry.id.clone(),
        title: plan.entry.title.clone(),
        to: from_here(&departed.path).to_string_lossy().into_owned(),
        notices,
    }
}

fn departure_failure(error: &StoreError) -> anyhow::Error {
    match error {
        StoreError::Occupied { .. } | StoreError::Link { .. } | StoreError::BeingRun { .. } => {
            Failure::problem(error.to_string(), error.help())
        }
        error => Failure::environment(error, error.help()),
    }
}
