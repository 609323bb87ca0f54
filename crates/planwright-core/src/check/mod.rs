//! Rules that apply to every dialect: the graph of tasks, their statuses and texts, one rule per file. Never asks for the dialect.

mod addressed_agent;
mod cycle;
mod done_early;
mod duplicate_dependency;
mod duplicate_id;
mod empty_plan;
mod hidden_characters;
mod never_ready;
mod placeholder_task;
pub mod rules;
mod self_dependency;
mod stage_order;
mod unknown_dependency;

pub use unknown_dependency::nearest_name;

use crate::diagnostic::{Diagnostic, push_bounded};
use crate::plan::{FieldValue, Links, Plan, Text};
use crate::text::visible;

/// Runs every rule over a plan. If syntax errors hide parts of it, runs only the rules that the readable part is enough for.
pub fn check(plan: &Plan, links: &Links) -> Vec<Diagnostic> {
    let mut found = CheckFindings::default();
    hidden_characters::check(plan, &mut found);
    addressed_agent::check(plan, &mut found);
    placeholder_task::check(plan, &mut found);
    duplicate_id::check(plan, links, &mut found);
    self_dependency::check(plan, links, &mut found);
    duplicate_dependency::check(plan, links, &mut found);
    let cycles = cycle::check(plan, links, &mut found);
    if !plan.is_doubtful {
        empty_plan::check(plan, &mut found);
        unknown_dependency::check(plan, links, &mut found);
        stage_order::check(plan, links, &cycles, &mut found);
        never_ready::check(plan, links, &cycles, &mut found);
        done_early::check(plan, links, &mut found);
    }
    found.list
}

/// The findings of the rules, up to a limit.
#[derive(Default)]
struct CheckFindings {
    list: Vec<Diagnostic>,
}

impl CheckFindings {
    fn push(&mut self, finding: Diagnostic) {
        push_bounded(&mut self.list, || finding);
    }
}

/// Returns all texts of a plan, in its own fields and in those of its tasks.
fn texts(plan: &Plan) -> impl Iterator<Item = Text> {
    let of_tasks = plan.tasks().iter().flat_map(|task| plan.entries(task));
    let values = plan.head().iter().chain(of_tasks).map(|entry| entry.value);
    let items = |value: FieldValue| match value {
        FieldValue::List(list) => plan.items(list),
        _ => &[],
    };
    let flat = values.flat_map(move |value| std::iter::once(value).chain(items(value).iter().copied()));
    flat.filter_map(|value| match value {
        FieldValue::Text(text) => Some(text),
        _ => None,
    })
}

/// Returns names as `a -> b -> a`, with long lists shortened in the middle and special characters escaped.
fn path_of<'n>(names: impl ExactSizeIterator<Item = std::borrow::Cow<'n, str>>) -> String {
    const HEAD: usize = 12;
    const TAIL: usize = 3;
    let n_names = names.len();
    let mut path = String::new();
    for (ix, name) in names.enumerate() {
        if n_names > HEAD + TAIL + 1 && (HEAD..n_names - TAIL).contains(&ix) {
            if ix == HEAD {
                path.push_str(&format!(" -> ({} more)", n_names - HEAD - TAIL));
            }
            continue;
        }
        if ix > 0 {
            path.push_str(" -> ");
        }
        path.push_str(&visible(&name));
    }
    path
}
