//! `planwright add`, `set`, `remove`, `move`, `rename`, `depend`, `undepend`: edits of the list of tasks.

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::add::AddRequest;
use planwright_verbs::changes::{ChangeReport, TaskPlace};
use planwright_verbs::depend::DependRequest;
use planwright_verbs::move_task::{MoveRequest, move_task};
use planwright_verbs::remove::RemoveRequest;
use planwright_verbs::rename::RenameRequest;
use planwright_verbs::set::SetRequest;
use planwright_verbs::{Exit, Failure, Result, Workspace};
use planwright_verbs::{add, remove, rename, set};

use super::change::{ChangeOptions, present};
use super::output::Output;
use super::plan_arg::PlanOption;

/// The plan, and how it is changed.
#[derive(clap::Args)]
struct EditOptions {
    #[command(flatten)]
    plan: PlanOption,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Where a task goes.
#[derive(clap::Args)]
#[group(multiple = false)]
struct PlaceOptions {
    /// Place it directly before this task.
    #[arg(long, value_name = "TASK")]
    before: Option<String>,

    /// Place it directly after this task. This adds no dependency.
    #[arg(long, value_name = "TASK")]
    after: Option<String>,

    /// Place it first.
    #[arg(long)]
    first: bool,
}

impl PlaceOptions {
    /// Returns the position; none without an option.
    fn place(&self) -> Option<TaskPlace> {
        let before = self.before.clone().map(TaskPlace::Before);
        let after = self.after.clone().map(TaskPlace::After);
        before.or(after).or(self.first.then_some(TaskPlace::First))
    }
}

/// Add a task with an id by the dialect's rule.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright add \"Write the tests\" --on t1 --on t2
  planwright add \"Login handler\" task_type=create --after 2")]
pub(crate) struct AddArgs {
    /// The title of the task.
    #[arg(value_name = "TITLE", value_parser = NonEmpty::new())]
    title: String,

    /// Other fields, by the dialect's own names.
    #[arg(value_name = "FIELD=VALUE")]
    fields: Vec<String>,

    /// The id of the task. Default: made by the dialect's rule.
    #[arg(long)]
    id: Option<String>,

    /// Make it depend on this task; may be given several times.
    #[arg(long = "on", visible_alias = "depends-on", alias = "needs", value_name = "TASK")]
    on: Vec<String>,

    #[command(flatten)]
    place: PlaceOptions,

    #[command(flatten)]
    edit: EditOptions,
}

/// Set fields of a task.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright set t2 complexity=high notes=\"Use HS256\"
  planwright set US-3 'acceptanceCriteria=[\"Typecheck passes\", \"Tests pass\"]'")]
pub(crate) struct SetArgs {
    /// The task, as its plan names it: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK")]
    task: String,

    /// The fields, by the dialect's own names; a list as JSON or one item per line; FIELD= alone for an empty text.
    #[arg(value_name = "FIELD=VALUE", required_unless_present = "unset")]
    fields: Vec<String>,

    /// A field to remove; may be given several times.
    #[arg(long, value_name = "FIELD")]
    unset: Vec<String>,

    #[command(flatten)]
    edit: EditOptions,
}

/// Remove tasks.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright remove t4
  planwright remove t2 t3 --detach           also where others depend on them
  planwright remove t4 --diff                look at it first")]
pub(crate) struct RemoveArgs {
    /// The tasks, as their plan names them: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK", required = true)]
    tasks: Vec<String>,

    /// Also remove the dependencies of remaining tasks on them.
    #[arg(long)]
    detach: bool,

    #[command(flatten)]
    edit: EditOptions,
}

/// Move a task in the list, and renumber references to places.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright move t5 --before t3
  planwright move 4 --first")]
pub(crate) struct MoveArgs {
    /// The task, as its plan names it: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK")]
    task: String,

    #[command(flatten)]
    place: PlaceOptions,

    /// Place it last.
    #[arg(long, conflicts_with_all = ["before", "after", "first"])]
    last: bool,

    #[command(flatten)]
    edit: EditOptions,
}

/// Rename the id of a task and all references to it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright rename t3 limit-requests")]
pub(crate) struct RenameArgs {
    /// The task, as its plan names it: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK")]
    task: String,

    /// Its new id.
    #[arg(value_name = "ID")]
    to: String,

    #[command(flatten)]
    edit: EditOptions,
}

/// Add dependencies to a task.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright depend t3 t1 t2
  planwright depend t3 --on t1 --on t2       the same
  planwright undepend t3 t1")]
pub(crate) struct DependArgs {
    /// The task, as its plan names it: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK")]
    task: String,

    /// The other tasks.
    #[arg(value_name = "OTHER", required_unless_present = "on")]
    others: Vec<String>,

    /// The other task; may be given several times.
    #[arg(long = "on", visible_alias = "depends-on", value_name = "OTHER")]
    on: Vec<String>,

    #[command(flatten)]
    edit: EditOptions,
}

/// `depend` or `undepend`.
type DependVerb = fn(&Workspace, &DependRequest) -> Result<ChangeReport>;

/// Splits `FIELD=VALUE`.
fn fields_of(typed: &[String]) -> Result<Vec<(String, String)>> {
    let field = |one: &String| match one.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(
            format!("`{one}` is not of the form FIELD=VALUE"),
            "write the field's name, an equals sign and the value",
        )),
    };
    typed.iter().map(field).collect()
}

pub(crate) fn add(args: &AddArgs, output: &mut Output) -> Result<Exit> {
    let request = AddRequest {
        plan: args.edit.plan.choice(),
        title: args.title.clone(),
        fields: fields_of(&args.fields)?,
        id: args.id.clone(),
        on: args.on.clone(),
        place: args.place.place().unwrap_or_default(),
        change: args.edit.change.mode(),
    };
    present(&add::add(&output.workspace(), &request)?, &args.edit.change, output)
}

pub(crate) fn set(args: &SetArgs, output: &mut Output) -> Result<Exit> {
    let request = SetRequest {
        plan: args.edit.plan.choice(),
        task: args.task.clone(),
        fields: fields_of(&args.fields)?,
        unset: args.unset.clone(),
        change: args.edit.change.mode(),
    };
    present(&set::set(&output.workspace(), &request)?, &args.edit.change, output)
}

pub(crate) fn remove(args: &RemoveArgs, output: &mut Output) -> Result<Exit> {
    let request = RemoveRequest {
        plan: args.edit.plan.choice(),
        tasks: args.tasks.clone(),
        detach: args.detach,
        change: args.edit.change.mode(),
    };
    present(
        &remove::remove(&output.workspace(), &request)?,
        &args.edit.change,
        output,
    )
}

pub(crate) fn shift(args: &MoveArgs, output: &mut Output) -> Result<Exit> {
    let place = args.place.place().or(args.last.then_some(TaskPlace::Last));
    let Some(place) = place else {
        return Err(Failure::usage(
            "the new place of the task is not given",
            "use --before TASK, --after TASK, --first or --last",
        ));
    };
    let request = MoveRequest {
        plan: args.edit.plan.choice(),
        task: args.task.clone(),
        place,
        change: args.edit.change.mode(),
    };
    present(&move_task(&output.workspace(), &request)?, &args.edit.change, output)
}

pub(crate) fn rename(args: &RenameArgs, output: &mut Output) -> Result<Exit> {
    let request = RenameRequest {
        plan: args.edit.plan.choice(),
        task: args.task.clone(),
        to: args.to.clone(),
        change: args.edit.change.mode(),
    };
    present(
        &rename::rename(&output.workspace(), &request)?,
        &args.edit.change,
        output,
    )
}

pub(crate) fn depend(verb: DependVerb, args: &DependArgs, output: &mut Output) -> Result<Exit> {
    let request = DependRequest {
        plan: args.edit.plan.choice(),
        task: args.task.clone(),
        on: args.others.iter().chain(&args.on).cloned().collect(),
        change: args.edit.change.mode(),
    };
    present(&verb(&output.workspace(), &request)?, &args.edit.change, output)
}
