//! PLAN on the command line: a path, an id, a title, an unambiguous part of one, or nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::builder::{NonEmptyStringValueParser as NonEmpty, PossibleValuesParser};
use planwright_core::check::nearest_name;
use planwright_core::dialect::{self, DIALECTS, Dialect};
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{Field, Plan, Status, Task, Value};
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::TaskState;
use planwright_run::revise::{ReviseError, take_states};
use planwright_run::store::{self, LoadError};
use planwright_run::workspace::{closed_home, is_pointer, plans_at_home, plans_of_user, root_of, slashed};

use super::change::Found;
use super::exit::{Drawn, Evidence, Failure};
use super::plan_entries::{archived, from_here};
use super::standing::PlanStanding;
use super::typed_command::{with_plan, with_word};
use crate::render::terminal::{cut, one_line, shown_name};

/// How plans are looked for and read.
#[derive(clap::Args, Default)]
pub(crate) struct Reading {
    /// Read it in this dialect, whatever it looks like.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    pub(crate) dialect: Option<String>,

    /// Also look at the OpenCrabs plans in the home folder.
    #[arg(long)]
    pub(crate) user: bool,
}

impl Reading {
    fn forced(&self) -> anyhow::Result<Option<&'static dyn Dialect>> {
        self.dialect.as_deref().map(dialect_named).transpose()
    }
}

/// Which plan a verb reads.
#[derive(clap::Args)]
pub(crate) struct PlanOption {
    /// The plan: a path, the folder of its workspace, its id or title or a part of them, - for standard input. Default: the workspace's only plan.
    #[arg(long = "plan", short, value_name = "PLAN", value_parser = NonEmpty::new())]
    pub(crate) plan: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Which plan a verb changes.
#[derive(clap::Args)]
pub(crate) struct TargetOption {
    /// The plan: a path, the folder of its workspace, its id or title or a part of them. Default: the workspace's only plan.
    #[arg(long = "plan", short, value_name = "PLAN", value_parser = NonEmpty::new())]
    pub(crate) plan: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// The plan as verbs take it that are about a task: those that take it as their argument understand that as well.
#[derive(clap::Args)]
struct AlsoNamed {
    /// The plan, as the verbs take it that are about a task.
    #[arg(
        long = "plan",
        short = 'p',
        value_name = "PLAN",
        value_parser = NonEmpty::new(),
        hide = true
    )]
    named: Option<String>,

    #[command(flatten)]
    reading: Reading,
}

impl AlsoNamed {
    /// Returns the plan that is named, either way. Two different ones are refused.
    fn or<'a>(&'a self, plan: &'a Option<String>) -> anyhow::Result<Option<&'a str>> {
        match (plan.as_deref(), self.named.as_deref()) {
            (Some(plan), Some(named)) if plan != named => Err(two_plans(plan, named)),
            (plan, named) => Ok(plan.or(named)),
        }
    }
}

/// Refuses a command line that names two plans where one is meant.
pub(crate) fn two_plans(plan: &str, named: &str) -> anyhow::Error {
    Failure::usage(
        format!(
            "two plans are named: `{}` and, with -p, `{}`",
            one_line(plan),
            one_line(named)
        ),
        "name one plan, either way",
    )
}

/// The same for verbs that take the plan as their argument.
#[derive(clap::Args)]
pub(crate) struct TargetArgument {
    /// The plan: a path, the folder of its workspace, its id or title or a part of them. Default: the workspace's only plan.
    #[arg(value_name = "PLAN", value_parser = NonEmpty::new())]
    pub(crate) plan: Option<String>,

    #[command(flatten)]
    also: AlsoNamed,
}

/// Which plan a verb reads that takes it as its argument.
#[derive(clap::Args)]
pub(crate) struct PlanArgument {
    /// The plan: a path, the folder of its workspace, its id or title or a part of them, - for standard input. Default: the workspace's only plan.
    #[arg(value_name = "PLAN", value_parser = NonEmpty::new())]
    pub(crate) plan: Option<String>,

    #[command(flatten)]
    also: AlsoNamed,
}

/// A plan that was found and could be read.
pub(crate) struct Opened {
    /// Its path as shown.
    pub(crate) path: String,
    /// What is known about it.
    pub(crate) inspection: Inspection,
    /// What only the journal knows of its tasks.
    pub(crate) reasons: Reasons,
    /// Who holds its tasks, and whether they may be worked on.
    pub(crate) standing: PlanStanding,
}

/// What was said of tasks whose states only the journal holds, by their names.
#[derive(Default)]
pub(crate) struct Reasons {
    notes: BTreeMap<String, String>,
    /// The errors of the last attempts in the file, by the places of their tasks.
    attempts: BTreeMap<usize, String>,
}

impl Reasons {
    fn new(states: BTreeMap<String, TaskState>, inspection: &Inspection) -> Self {
        let notes = states.into_iter().filter_map(|(task, known)| {
            let said = known.note.or(known.output)?;
            (!said.trim().is_empty()).then_some((task, said))
        });
        let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
        let failed = plan.into_iter().flat_map(|plan| {
            let tasks = plan.tasks().iter().enumerate();
            let failed = tasks.filter(|(_, task)| task.status == Status::Failed);
            failed.filter_map(move |(ix, task)| Some((ix, error_of_last_attempt(plan, task)?)))
        });
        Reasons {
            notes: notes.collect(),
            attempts: failed.collect(),
        }
    }

    /// Returns why a task is in its state, by the journal.
    pub(crate) fn recorded(&self, plan: &Plan, task_ix: usize) -> Option<&str> {
        self.notes.get(&*plan.task_name(task_ix)).map(String::as_str)
    }

    /// Returns why a task has failed: what the journal says, else what its file says.
    pub(crate) fn of_failure<'a>(&'a self, plan: &'a Plan, task_ix: usize) -> Option<&'a str> {
        let task = plan.tasks().get(task_ix)?;
        let written = || {
            let fields = [Field::Error, Field::Notes];
            let text = fields.into_iter().find_map(|field| plan.task_str(task, field))?;
            // Notes may begin with those of the user.
            let last = text.rfind("\nfailed on ").map_or(text, |at| &text[at + 1..]);
            Some(last)
        };
        let recorded = self.recorded(plan, task_ix).or_else(written);
        let reason = recorded.or_else(|| self.attempts.get(&task_ix).map(String::as_str));
        reason.filter(|reason| !reason.trim().is_empty())
    }
}

/// Returns the error of the last attempt that the file records, where the dialect keeps a list of attempts.
fn error_of_last_attempt(plan: &Plan, task: &Task) -> Option<String> {
    let Value::List(attempts) = plan.value(task, Field::History)? else {
        return None;
    };
    let last = *plan.items(attempts).last()?;
    let attempt: serde_json::Value = serde_json::from_str(plan.source().slice(plan.span(last))).ok()?;
    attempt.get("error")?.as_str().map(str::to_owned)
}

impl Opened {
    /// Returns the plan.
    pub(crate) fn linked(&self) -> anyhow::Result<&LinkedPlan> {
        self.inspection.plan.as_ref().ok_or_else(|| {
            Failure::shown(
                format!("`{}` holds no plan that can be read", self.path),
                "see `planwright check` for everything that is wrong with it",
                Evidence {
                    path: self.path.clone(),
                    source: self.inspection.source.clone(),
                    span: None,
                    findings: self.inspection.diagnostics.clone(),
                    drawn: Drawn::Findings,
                },
            )
        })
    }
}

impl PlanOption {
    pub(crate) fn open(&self) -> anyhow::Result<Opened> {
        open(self.plan.as_deref(), &self.reading)
    }

    /// Opens the plan with a name, whatever `--plan` says.
    pub(crate) fn open_named(&self, plan: &str) -> anyhow::Result<Opened> {
        open(Some(plan), &self.reading)
    }
}

impl TargetOption {
    /// Finds the plan file that is to be changed.
    pub(crate) fn find(&self) -> anyhow::Result<Found> {
        let help = "name its file with --plan";
        find(self.plan.as_deref(), &self.reading, help)
    }
}

impl TargetOption {
    /// Finds the plan file that is to be changed, whatever `--plan` says.
    pub(crate) fn find_named(&self, plan: &str) -> anyhow::Result<Found> {
        find(Some(plan), &self.reading, "name its file")
    }
}

impl TargetArgument {
    pub(crate) fn open(&self) -> anyhow::Result<Opened> {
        match self.also.or(&self.plan)? {
            Some("-") => Err(no_file("name its file")),
            plan => open(plan, &self.also.reading),
        }
    }

    /// Finds the plan file that is to be changed.
    pub(crate) fn find(&self) -> anyhow::Result<Found> {
        find(self.also.or(&self.plan)?, &self.also.reading, "name its file")
    }
}

impl PlanArgument {
    pub(crate) fn open(&self) -> anyhow::Result<Opened> {
        open(self.also.or(&self.plan)?, &self.also.reading)
    }

    /// Finds the plan file that is to be changed.
    pub(crate) fn find(&self) -> anyhow::Result<Found> {
        find(self.also.or(&self.plan)?, &self.also.reading, "name its file")
    }
}

/// Finds the plan that a user means, in whatever dialect it is; the only one where nothing is said.
pub(crate) fn found(plan: Option<&str>) -> anyhow::Result<Found> {
    find(plan, &Reading::default(), "name its file")
}

fn find(plan: Option<&str>, reading: &Reading, help: &str) -> anyhow::Result<Found> {
    let forced = reading.forced()?;
    if plan == Some("-") {
        return Err(no_file(help));
    }
    let path = resolve(plan, reading.user, Reach::InUse)?;
    let path = pointed_at(&path).unwrap_or(path);
    Ok(Found {
        path: without_dot(path),
        forced,
    })
}

/// Returns that a verb needs the file itself, not what is in it.
pub(crate) fn no_file(help: &str) -> anyhow::Error {
    Failure::usage("standard input is no plan file", help)
}

fn without_dot(path: PathBuf) -> PathBuf {
    let shown = path.to_string_lossy();
    shown.strip_prefix("./").map_or(path.clone(), PathBuf::from)
}

/// Returns the file that a user names to put it aside: that file itself, whatever it points at.
pub(crate) fn file_named(plan: &str, user: bool) -> anyhow::Result<PathBuf> {
    file_within(plan, user, Reach::Removed)
}

fn file_within(plan: &str, user: bool, reach: Reach) -> anyhow::Result<PathBuf> {
    if plan == "-" {
        return Err(no_file("name the file of the plan, or its id"));
    }
    let path = Path::new(plan);
    if path.is_dir() {
        // Who puts a plan aside names it.
        return Err(load_failure(&LoadError::Directory { path: path.to_owned() }));
    }
    resolve(Some(plan), user, reach).map(without_dot)
}

/// Returns the plan file that a user means, for what is about its runs: the file need not be there any more.
pub(crate) fn plan_file(plan: &str, user: bool) -> anyhow::Result<PathBuf> {
    let path = file_within(plan, user, Reach::InUse)?;
    Ok(pointed_at(&path).unwrap_or(path))
}

/// Returns the file that says that a plan is in work.
pub(crate) fn pointer_to(plan: &Path) -> Option<PathBuf> {
    let file = std::fs::canonicalize(plan).ok()?;
    let name = slashed(&file);
    let relative = DIALECTS.iter().find_map(|dialect| dialect.pointer()?.file(&name))?;
    let pointer = std::fs::canonicalize(file.parent()?.join(relative)).ok()?;
    let is_this = pointed_at(&pointer).and_then(|pointed| std::fs::canonicalize(pointed).ok()) == Some(file);
    is_this.then_some(pointer)
}

/// Returns what a dialect may be called, for the help and the completions as well.
pub(crate) fn dialect_names() -> PossibleValuesParser {
    PossibleValuesParser::new(DIALECTS.iter().map(|dialect| dialect.name()))
}

/// Returns a dialect by name, or a usage error that lists them.
pub(crate) fn dialect_named(name: &str) -> anyhow::Result<&'static dyn Dialect> {
    dialect::find(name).ok_or_else(|| {
        let names: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name()).collect();
        Failure::usage(
            format!("there is no dialect `{name}`"),
            format!("known dialects: {}", names.join(", ")),
        )
    })
}

fn open(plan: Option<&str>, reading: &Reading) -> anyhow::Result<Opened> {
    let forced = reading.forced()?;
    if plan == Some("-") {
        let loaded = store::load_stdin().map_err(|error| load_failure(&error))?;
        return Ok(Opened {
            path: "-".to_owned(),
            inspection: inspect_file(&loaded.source, None, forced).inspection,
            reasons: Reasons::default(),
            standing: PlanStanding::default(),
        });
    }
    let path = resolve(plan, reading.user, Reach::Archived)?;
    let path = pointed_at(&path).unwrap_or(path);
    open_as(&path, forced)
}

/// Opens a plan file, in the dialect that it looks like.
pub(crate) fn open_file(path: &Path) -> anyhow::Result<Opened> {
    open_as(path, None)
}

/// Opens a plan file, in a dialect that the user names, or in the one that it looks like.
pub(crate) fn open_as(path: &Path, forced: Option<&'static dyn Dialect>) -> anyhow::Result<Opened> {
    let loaded = store::load(path).map_err(|error| load_failure(&error))?;
    let shown = path.to_string_lossy();
    let mut inspection = inspect_file(&loaded.source, Some(path), forced).inspection;
    let states = states_of(&mut inspection, path)?;
    Ok(Opened {
        standing: PlanStanding::of(&inspection, path),
        reasons: Reasons::new(states, &inspection),
        path: shown.strip_prefix("./").unwrap_or(&shown).to_owned(),
        inspection,
    })
}

/// Gives a plan the states that only the journal holds.
pub(crate) fn states_of(inspection: &mut Inspection, path: &Path) -> anyhow::Result<BTreeMap<String, TaskState>> {
    take_states(inspection, path).map_err(|error| Failure::environment(&error, error.help()))
}

/// Returns a file that is too large as a problem of the plan, and other failures as those of the environment.
pub(crate) fn load_failure(error: &LoadError) -> anyhow::Error {
    match error {
        LoadError::TooLarge { .. } => Failure::problem(error.to_string(), error.help()),
        _ => Failure::environment(error, error.help()),
    }
}

/// Returns the plan that a file names as the one in work, where this is such a file.
fn pointed_at(path: &Path) -> Option<PathBuf> {
    let name = slashed(path);
    let mut pointers = DIALECTS.iter().filter_map(|dialect| dialect.pointer());
    let pointer = pointers.find(|pointer| pointer.neighbours(&name).is_some())?;
    let plan = path.with_file_name(pointer.target(&store::load(path).ok()?.source)?);
    plan.is_file().then_some(plan)
}

/// Returns the plan in work of a workspace, where all its plans are of a dialect that names it.
fn plan_in_work(root: &Path, plans: &[PathBuf]) -> Option<PathBuf> {
    let of_plans = |dialect: &&&'static dyn Dialect| plans.iter().all(|plan| dialect.lives_at(&slashed(plan)));
    let pointer = DIALECTS.iter().find(of_plans)?.pointer()?;
    pointed_at(&root.join(pointer.place()))
}

/// The help where there is no plan.
pub(crate) const CREATE_PLAN: &str = "create one: `planwright plan \"GOAL\"`, `planwright new \"TITLE\"` or `planwright import FILE`; or name a plan file";

/// How far a name reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// To the plans in use.
    InUse,
    /// To the plans in use, for verbs that remove them: not by a part of a title.
    Removed,
    /// To the archived ones too, where no other fits.
    Archived,
}

/// Finds the plan that a user means.
fn resolve(plan: Option<&str>, user: bool, reach: Reach) -> anyhow::Result<PathBuf> {
    if let Some(plan) = plan {
        let path = Path::new(plan);
        if path.is_dir() {
            // What lies above `..` is not what its path says.
            let folder = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let none = format!("the workspace of `{plan}` has no plans");
            return only_plan_of(&folder, user, &none, Some(plan));
        }
        let looks_like_path = plan.contains(['/', '\\']) || path.extension().is_some();
        let is_there = path.exists() || path.is_symlink();
        if is_there || looks_like_path && with_title(candidates(Path::new("."), user), plan).is_empty() {
            return Ok(path.to_owned());
        }
    }
    let here = Path::new(".");
    let Some(wanted) = plan else {
        return only_plan_of(here, user, "no plan found in this workspace", None);
    };
    let plans = candidates(here, user);
    // A whole name comes before a part of one; a plan is never removed by a part of its title.
    let mut fitting = exactly_named(&plans, wanted);
    if fitting.is_empty() {
        fitting = with_title(plans.clone(), wanted);
    }
    if fitting.is_empty() {
        fitting = named(plans.clone(), wanted);
    }
    if fitting.is_empty() && reach != Reach::Removed {
        fitting = with_part_of_title(plans, wanted);
    }
    if fitting.is_empty() && reach == Reach::Archived {
        fitting = named(archived(), wanted);
    }
    if fitting.is_empty() {
        refuse_closed(here)?;
    }
    let listed = "`planwright list` shows the plans of this workspace".to_owned();
    let help = match fitting.is_empty().then(|| nearest_plan(wanted, user)).flatten() {
        Some(nearest) => format!("did you mean `{}`? {listed}", shown_name(&nearest)),
        None => listed,
    };
    only(fitting, &format!("no plan is called `{wanted}`"), &help, Some(wanted))
}

/// Returns the name of a plan in use that somebody probably meant who wrote another.
fn nearest_plan(wanted: &str, user: bool) -> Option<String> {
    let plans = candidates(Path::new("."), user);
    let names: Vec<String> = plans.iter().flat_map(|path| names_of(path)).collect();
    nearest_name(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns the only plan of the workspace that a folder is in, or the one in work.
fn only_plan_of(folder: &Path, user: bool, none: &str, named: Option<&str>) -> anyhow::Result<PathBuf> {
    let candidates = candidates(folder, user);
    if candidates.len() > 1
        && let Some(current) = plan_in_work(&root_of(folder), &candidates)
    {
        return Ok(from_here(&current));
    }
    if candidates.is_empty() {
        refuse_closed(folder)?;
    }
    // Of several plans the one is meant that is not finished.
    let mut open: Vec<PathBuf> = match candidates.len() {
        0 | 1 => Vec::new(),
        _ => candidates.iter().filter(|path| !is_finished(path)).cloned().collect(),
    };
    if let [_] = open.as_slice() {
        return Ok(open.swap_remove(0));
    }
    // A folder that was named stands for its only plan.
    only(candidates, none, CREATE_PLAN, named)
}

/// Returns whether all tasks of a plan are done or skipped.
fn is_finished(path: &Path) -> bool {
    let Some((linked, _)) = linked_plan(path) else {
        return false;
    };
    let tasks = linked.plan.tasks();
    let is_over = |status: Status| matches!(status, Status::Done | Status::Skipped);
    !tasks.is_empty() && tasks.iter().all(|task| is_over(task.status))
}

/// Returns a plan with its states, and its title; none where it cannot be read.
fn linked_plan(path: &Path) -> Option<(LinkedPlan, String)> {
    let loaded = store::load(path).ok()?;
    let mut inspection = inspect_file(&loaded.source, Some(path), None).inspection;
    take_states(&mut inspection, path).ok()?;
    let linked = inspection.plan?;
    let title = linked.plan.title().to_owned();
    Some((linked, title))
}

/// Returns a plan in one line, for a choice: its path, its title and how far it is.
fn choice_line(path: &Path) -> String {
    let shown = one_line(&path.display().to_string());
    let Some((linked, title)) = linked_plan(path) else {
        return shown;
    };
    let tasks = linked.plan.tasks();
    let n_done = tasks.iter().filter(|task| task.status == Status::Done).count();
    format!(
        "{shown}  {} ({n_done}/{} done)",
        cut(&one_line(&title), 50),
        tasks.len()
    )
}

/// Refuses to say that there are no plans where they cannot be looked for.
pub(crate) fn refuse_closed(folder: &Path) -> anyhow::Result<()> {
    match closed_home(&root_of(folder)) {
        None => Ok(()),
        Some((path, error)) => Err(Failure::outside(
            format!("`{}` cannot be looked into: {error}", from_here(&path).display()),
            "check that you may read it: plans are kept there",
        )),
    }
}

/// How well a name is that of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// It is a plan's own: its path, its file without the ending, its id.
    Whole,
    /// It looks like a path, or is a part of a plan's name.
    Partly,
    /// It is no plan's.
    No,
}

/// Returns how well a name is that of a plan in use.
pub(crate) fn naming(name: &str, user: bool) -> Naming {
    let path = Path::new(name);
    if path.is_file() {
        return Naming::Whole;
    }
    let names: Vec<String> = candidates(Path::new("."), user)
        .iter()
        .flat_map(|path| names_of(path))
        .collect();
    let looks_like_path = name.contains(['/', '\\']) || path.extension().is_some() || path.is_dir();
    match () {
        () if names.iter().any(|own| own == name) => Naming::Whole,
        () if looks_like_path || names.iter().any(|own| own.contains(name)) => Naming::Partly,
        () => Naming::No,
    }
}

/// Returns the plans with a name; where there are none, those with it as a part of theirs.
fn named(candidates: Vec<PathBuf>, wanted: &str) -> Vec<PathBuf> {
    let with_names: Vec<(PathBuf, Vec<String>)> = candidates
        .into_iter()
        .map(|path| (path.clone(), names_of(&path)))
        .collect();
    let fitting = |fits: &dyn Fn(&String) -> bool| -> Vec<PathBuf> {
        let found = with_names.iter().filter(|(_, names)| names.iter().any(fits));
        found.map(|(path, _)| path.clone()).collect()
    };
    match fitting(&|name| name == wanted) {
        exact if !exact.is_empty() => exact,
        _ => fitting(&|name| name.contains(wanted)),
    }
}

/// Returns the plans with this file name or id.
fn exactly_named(candidates: &[PathBuf], wanted: &str) -> Vec<PathBuf> {
    let is_named = |path: &&PathBuf| names_of(path).iter().any(|name| name == wanted);
    candidates.iter().filter(is_named).cloned().collect()
}

/// Returns the plans with this title.
fn with_title(mut candidates: Vec<PathBuf>, title: &str) -> Vec<PathBuf> {
    candidates.retain(|path| linked_plan(path).is_some_and(|(_, own)| own.trim() == title.trim()));
    candidates
}

/// Returns the plans whose title contains some words, in upper or lower case.
fn with_part_of_title(mut candidates: Vec<PathBuf>, words: &str) -> Vec<PathBuf> {
    let words = words.to_lowercase();
    candidates.retain(|path| linked_plan(path).is_some_and(|(_, title)| title.to_lowercase().contains(&words)));
    candidates
}

/// Returns the plans of the workspace that a folder is in, paths relative to the current folder where they lie below it.
pub(crate) fn candidates(folder: &Path, user: bool) -> Vec<PathBuf> {
    let plans = plans_at_home(&root_of(folder));
    let mut found: Vec<PathBuf> = plans.iter().map(|path| from_here(path)).collect();
    if user && let Some(home) = std::env::home_dir() {
        found.extend(plans_of_user(&home));
    }
    found.retain(|path| !is_pointer(path));
    found
}

/// Returns the only plan. Where there are several, the help is the same command with the first of them in the place of what was
/// typed.
fn only(mut found: Vec<PathBuf>, none: &str, help: &str, typed: Option<&str>) -> anyhow::Result<PathBuf> {
    match found.as_slice() {
        [_] => Ok(found.swap_remove(0)),
        [] => Err(Failure::problem(none, help)),
        [first, ..] => {
            // The one that is probably meant: the first that is not finished.
            let open = found.iter().find(|path| !is_finished(path));
            let first = open.unwrap_or(first).to_string_lossy();
            let command = match typed {
                Some(typed) => with_word(typed, &first),
                None => with_plan(&first),
            };
            let mut message = "several plans fit:".to_owned();
            for path in found.iter().take(20) {
                message.push_str(&format!("\n  {}", choice_line(path)));
            }
            if found.len() > 20 {
                message.push_str(&format!("\n  … and {} more", found.len() - 20));
            }
            Err(Failure::problem(message, format!("name one of them: `{command}`")))
        }
    }
}

/// Returns what a plan file may be called: its stem, and the plan's id where it has one.
fn names_of(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .into_iter()
        .collect();
    if let Ok(loaded) = store::load(path)
        && let Some(linked) = inspect_file(&loaded.source, Some(path), None).inspection.plan
    {
        names.extend(linked.plan.head_str(Field::Id).map(str::to_owned));
    }
    names
}

/// Returns the task that users call by this name.
pub(crate) fn task_named(linked: &LinkedPlan, name: &str) -> anyhow::Result<usize> {
    planwright_run::revise::task_named(&linked.plan, name).map_err(|error| match &error {
        ReviseError::SeveralTasks { name, lines } => several_tasks(name, lines),
        ReviseError::NoSuchTask { known, .. } => unknown_task(name, known),
        _ => unknown_task(name, &[]),
    })
}

/// Returns that several tasks of a plan have this name.
pub(crate) fn several_tasks(name: &str, lines: &[usize]) -> anyhow::Error {
    let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
    let message = format!(
        "several tasks are called `{}`: those in the lines {}",
        one_line(name),
        lines.join(", ")
    );
    Failure::problem(message, "give each of them an id of its own in the file")
}

/// Returns that a plan has no task of this name: with the one that was probably meant, and some that it has.
pub(crate) fn unknown_task(name: &str, known: &[String]) -> anyhow::Error {
    const MOST: usize = 12;
    let shown: Vec<String> = known.iter().take(MOST).map(|name| shown_name(name)).collect();
    let more = if known.len() > MOST { ", …" } else { "" };
    let has = match shown.is_empty() {
        true => "the plan has no tasks, or none that could be read: see `planwright check`".to_owned(),
        false => format!("it has {}{more}", shown.join(", ")),
    };
    let help = match nearest_name(name, known.iter().map(String::as_str)) {
        Some(nearest) => format!("did you mean `{}`? {has}", shown_name(nearest)),
        None => has,
    };
    Failure::problem(
        format!("there is no task `{}` in this plan", cut(&shown_name(name), 60)),
        help,
    )
}
