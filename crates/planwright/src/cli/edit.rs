//! `planwright add`, `set`, `remove`, `move`, `rename`, `depend`, `undepend`: edits of the list of tasks that change no other
//! byte.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::change::tasks::{Edit, NewTask};
use planwright_core::convert::is_untouched_placeholder;
use planwright_core::inspect::LinkedPlan;
use planwright_run::clock;
use planwright_run::revise::{ReviseError, each_once, edit, task_named};

use super::change::{ChangeOptions, Words, failure, refuse_in_review, report};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::TargetOption;
use crate::render::terminal::{cut, one_line, shown_name};

/// Where a task goes.
#[derive(clap::Args)]
#[group(multiple = false)]
struct PlaceOptions {
    /// Right before this task.
    #[arg(long, value_name = "TASK")]
    before: Option<String>,

    /// Right after this task in the list; it does not depend on it.
    #[arg(long, value_name = "TASK")]
    after: Option<String>,

    /// Before all others.
    #[arg(long)]
    first: bool,
}

impl PlaceOptions {
    /// Returns the place among the tasks; the end where none was named.
    fn place(&self, linked: &LinkedPlan) -> Result<usize, ReviseError> {
        let plan = &linked.plan;
        Ok(match (&self.before, &self.after) {
            (Some(before), _) => task_named(plan, before)?,
            (_, Some(after)) => task_named(plan, after)? + 1,
            _ if self.first => 0,
            _ => plan.tasks().len(),
        })
    }
}

/// Add a task; its id is made by the dialect's rule.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright add \"Write the tests\" --on t1 --on t2
  planwright add \"Login handler\" task_type=create --after 2")]
pub(crate) struct AddArgs {
    /// What the task is about.
    #[arg(value_name = "TITLE", value_parser = NonEmpty::new())]
    title: String,

    /// Other fields, by the dialect's own names.
    #[arg(value_name = "FIELD=VALUE")]
    fields: Vec<String>,

    /// An id of your own.
    #[arg(long)]
    id: Option<String>,

    /// A task it depends on; may be given several times.
    #[arg(long = "on", alias = "depends-on", value_name = "TASK")]
    on: Vec<String>,

    #[command(flatten)]
    place: PlaceOptions,

    #[command(flatten)]
    plan: TargetOption,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Give fields of a task other values.
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
    plan: TargetOption,

    #[command(flatten)]
    change: ChangeOptions,
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

    /// Take them out of the dependencies of others.
    #[arg(long)]
    detach: bool,

    #[command(flatten)]
    plan: TargetOption,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Move a task in the list; what is named by its place is renumbered.
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

    /// After all others.
    #[arg(long, conflicts_with_all = ["before", "after", "first"])]
    last: bool,

    #[command(flatten)]
    plan: TargetOption,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Give a task another id; references follow.
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
    plan: TargetOption,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Make a task depend on others.
#[derive(clap::Args)]
pub(crate) struct DependArgs {
    /// The task, as its plan names it: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK")]
    task: String,

    /// The other task; may be given several times.
    #[arg(long = "on", alias = "depends-on", value_name = "OTHER", required = true)]
    on: Vec<String>,

    #[command(flatten)]
    plan: TargetOption,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Takes `FIELD=VALUE` apart.
fn fields_of(typed: &[String]) -> anyhow::Result<Vec<(&str, &str)>> {
    let mut fields = Vec::with_capacity(typed.len());
    for one in typed {
        match one.split_once('=') {
            Some((key, value)) if !key.is_empty() => fields.push((key, value)),
            _ => {
                return Err(Failure::usage(
                    format!("`{one}` is not of the form FIELD=VALUE"),
                    "write the field's name, an equals sign and the value",
                ));
            }
        }
    }
    Ok(fields)
}

/// What one of these verbs is about.
struct Work<'a> {
    verb: &'static str,
    /// The tasks it names, for the history.
    names: Vec<String>,
    plan: &'a TargetOption,
    change: &'a ChangeOptions,
}

impl Work<'_> {
    /// Makes the edits, and says so in these words.
    fn run<'e>(
        &self,
        output: &mut Output,
        edit_of: impl FnMut(&LinkedPlan, usize) -> Result<Option<Edit<'e>>, ReviseError>,
        words: impl FnOnce(&LinkedPlan) -> (Vec<String>, Words),
    ) -> anyhow::Result<Exit> {
        let found = self.plan.find()?;
        if matches!(self.verb, "rename" | "remove") {
            refuse_in_review(&found, &self.names, self.verb)?;
        }
        let (target, now) = (found.target(self.change), clock::now());
        let by = self.change.by.as_deref();
        let revised =
            edit(target, self.verb, &now, &self.names, by, edit_of).map_err(|error| failure(&found, &error))?;
        let is_same = revised.before.as_str() == revised.text.as_str();
        let (names, words) = match &revised.after.plan {
            Some(linked) if !is_same => words(linked),
            _ => (self.names.clone(), Words::nothing()),
        };
        report(&found.path, self.verb, &revised, self.change, &names, &words, output)
    }
}

fn places(linked: &LinkedPlan, names: &[String]) -> Result<Vec<usize>, ReviseError> {
    names.iter().map(|name| task_named(&linked.plan, name)).collect()
}

pub(crate) fn add(args: &AddArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let fields = fields_of(&args.fields)?;
    let minted = uuid::Uuid::new_v4().to_string();
    let work = Work {
        verb: "add",
        names: args.id.iter().cloned().collect(),
        plan: &args.plan,
        change: &args.change,
    };
    let place = Cell::new(0);
    let replaced = RefCell::new(None);
    let edit_of = |linked: &LinkedPlan, n: usize| {
        if n > 0 {
            // The first task of a new plan takes the place of its placeholder.
            return Ok((n == 1 && replaced.borrow().is_some()).then(|| {
                let task_ix = 1 - place.replace(0);
                Edit::Remove { task_ix, detach: false }
            }));
        }
        place.set(args.place.place(linked)?);
        let is_replaced = args.on.is_empty() && is_untouched_placeholder(linked);
        replaced.replace(is_replaced.then(|| linked.plan.task_name(0).into_owned()));
        Ok(Some(Edit::Add(NewTask {
            id: args.id.as_deref(),
            title: &args.title,
            fields: &fields,
            on: places(linked, &args.on)?,
            at: place.get(),
            minted: &minted,
        })))
    };
    work.run(output, edit_of, |linked| {
        let name = linked.plan.task_name(place.get()).into_owned();
        let task = linked.plan.tasks().get(place.get());
        let title = task.map_or("", |task| linked.plan.task_subject(task));
        let shown = format!("{}  {}", shown_name(&name), cut(&one_line(title), 60));
        let instead = match &*replaced.borrow() {
            Some(placeholder) => format!(" (in place of the placeholder {})", shown_name(placeholder)),
            None => String::new(),
        };
        let words = Words::new(format!("added {shown}{instead}"), format!("would add {shown}{instead}"));
        (vec![name], words)
    })
}

pub(crate) fn set(args: &SetArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let fields = fields_of(&args.fields)?;
    let all: Vec<(&str, Option<&str>)> = fields
        .iter()
        .map(|&(key, value)| (key, Some(value)))
        .chain(args.unset.iter().map(|key| (key.as_str(), None)))
        .collect();
    let work = Work {
        verb: "set",
        names: vec![args.task.clone()],
        plan: &args.plan,
        change: &args.change,
    };
    let edit_of = |linked: &LinkedPlan, n: usize| {
        let Some(&(key, value)) = all.get(n) else {
            return Ok(None);
        };
        let task_ix = task_named(&linked.plan, &args.task)?;
        Ok(Some(Edit::Set { task_ix, key, value }))
    };
    let names: Vec<&str> = all.iter().map(|&(key, _)| key).collect();
    work.run(output, edit_of, |_| {
        let line = format!("set {} of {}", names.join(", "), shown_name(&args.task));
        (
            vec![args.task.clone()],
            Words::new(line.clone(), format!("would {line}")),
        )
    })
}

pub(crate) fn remove(args: &RemoveArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let tasks = each_once(&args.tasks);
    let work = Work {
        verb: "remove",
        names: tasks.clone(),
        plan: &args.plan,
        change: &args.change,
    };
    let mut order = Vec::new();
    let edit_of = |linked: &LinkedPlan, n: usize| {
        if n == 0 {
            order = removals(linked, places(linked, &tasks)?);
        }
        let removal = order.get(n).map(|&(task_ix, is_needed)| Edit::Remove {
            task_ix,
            detach: args.detach || !is_needed,
        });
        Ok(removal)
    };
    let names: Vec<_> = tasks.iter().map(|name| shown_name(name)).collect();
    work.run(output, edit_of, |_| {
        let names = names.join(", ");
        let words = Words::new(format!("removed {names}"), format!("would remove {names}"));
        (tasks.clone(), words)
    })
}

/// Returns the places of tasks that go, the last first, as what stands behind a removed task gets another place; and for
/// each whether a task that stays depends on it.
fn removals(linked: &LinkedPlan, going: Vec<usize>) -> Vec<(usize, bool)> {
    let going: BTreeSet<usize> = going.into_iter().collect();
    let staying = (0..linked.plan.tasks().len()).filter(|ix| !going.contains(ix));
    let edges = staying.flat_map(|ix| linked.links.of(ix));
    let needed: BTreeSet<usize> = edges.map(|edge| edge.to as usize).collect();
    going.into_iter().rev().map(|ix| (ix, needed.contains(&ix))).collect()
}

pub(crate) fn shift(args: &MoveArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let is_placed = args.place.before.is_some() || args.place.after.is_some() || args.place.first || args.last;
    if !is_placed {
        return Err(Failure::usage(
            "where to?",
            "say --before TASK, --after TASK, --first or --last",
        ));
    }
    let work = Work {
        verb: "move",
        names: vec![args.task.clone()],
        plan: &args.plan,
        change: &args.change,
    };
    let edit_of = |linked: &LinkedPlan, n: usize| {
        if n > 0 {
            return Ok(None);
        }
        let task_ix = task_named(&linked.plan, &args.task)?;
        let place = args.place.place(linked)?;
        // Its old place is free by the time it arrives.
        let to = if place > task_ix { place - 1 } else { place };
        Ok(Some(Edit::Move { task_ix, to }))
    };
    work.run(output, edit_of, |_| {
        let name = shown_name(&args.task);
        let words = Words::new(format!("moved {name}"), format!("would move {name}"));
        (vec![args.task.clone()], words)
    })
}

pub(crate) fn rename(args: &RenameArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let work = Work {
        verb: "rename",
        names: vec![args.task.clone(), args.to.clone()],
        plan: &args.plan,
        change: &args.change,
    };
    let edit_of = |linked: &LinkedPlan, n: usize| {
        if n > 0 {
            return Ok(None);
        }
        let task_ix = task_named(&linked.plan, &args.task)?;
        Ok(Some(Edit::Rename { task_ix, to: &args.to }))
    };
    work.run(output, edit_of, |_| {
        let (from, to) = (shown_name(&args.task), shown_name(&args.to));
        let words = Words::new(
            format!("renamed {from} to {to}"),
            format!("would rename {from} to {to}"),
        );
        (vec![args.to.clone()], words)
    })
}

pub(crate) fn depend(args: &DependArgs, is_new: bool, output: &mut Output) -> anyhow::Result<Exit> {
    let work = Work {
        verb: if is_new { "depend" } else { "undepend" },
        names: vec![args.task.clone()],
        plan: &args.plan,
        change: &args.change,
    };
    let edit_of = |linked: &LinkedPlan, n: usize| {
        if n > 0 {
            return Ok(None);
        }
        let task_ix = task_named(&linked.plan, &args.task)?;
        let on = places(linked, &args.on)?;
        Ok(Some(if is_new {
            Edit::Depend { task_ix, on }
        } else {
            Edit::Undepend { task_ix, on }
        }))
    };
    let others: Vec<_> = args.on.iter().map(|name| shown_name(name)).collect();
    let (does, would) = match is_new {
        true => ("depends on", "would depend on"),
        false => ("no longer depends on", "would no longer depend on"),
    };
    work.run(output, edit_of, |_| {
        let (name, others) = (shown_name(&args.task), others.join(", "));
        let words = Words::new(format!("{name} {does} {others}"), format!("{name} {would} {others}"));
        (vec![args.task.clone()], words)
    })
}
