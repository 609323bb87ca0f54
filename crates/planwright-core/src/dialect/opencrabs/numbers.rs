//! The meaning of whole numbers among dependencies: positions in the list, or the `order` of tasks.

use std::collections::HashMap;

use super::super::reader::PlanReader;
use super::super::rules::INDEX_BASE;
use super::rules::{DUPLICATE_ORDER, ORDER_DIFFERS};
use crate::diagnostic::{Diagnostic, Replacement};
use crate::plan::{Dependency, DependencyTarget, TaskName};
use crate::text::Span;

/// The number of a task in its own field, with its span.
#[derive(Clone, Copy)]
pub(super) struct WrittenNumber {
    pub(super) number: u32,
    pub(super) span: Span,
}

/// Names the tasks by their numbers, and resolves numbers among dependencies to indexes. There is one entry for each task.
pub(super) fn resolve(reader: &mut PlanReader<'_>, orders: &[Option<WrittenNumber>]) {
    let numbers = Numbers::new(reader, orders);
    name_tasks(reader, &numbers);
    resolve_numbers(reader, &numbers);
}

/// The meaning of integer dependencies in this plan.
enum Numbers {
    /// Positions in the list, from 1.
    Places,
    /// The `order` values, if all tasks have different ones.
    Orders(HashMap<u32, u32>),
}

impl Numbers {
    fn new(reader: &mut PlanReader<'_>, orders: &[Option<WrittenNumber>]) -> Self {
        let mut by_order: HashMap<u32, (u32, Span)> = HashMap::new();
        let mut unique = true;
        for (position, order) in orders.iter().enumerate() {
            let Some(WrittenNumber { number, span }) = *order else {
                unique = false;
                continue;
            };
            if let Some(&(_, earlier)) = by_order.get(&number) {
                unique = false;
                let message = format!("two tasks have the order {number}");
                reader.report(
                    Diagnostic::new(&DUPLICATE_ORDER, span, message)
                        .with_label("again here")
                        .with_related(earlier, "first here")
                        .with_help("number the tasks 1, 2, 3 … or leave `order` out"),
                );
                continue;
            }
            by_order.insert(number, (position as u32, span));
        }
        if !unique || orders.is_empty() {
            return Numbers::Places;
        }
        let shifted = orders.iter().enumerate().find_map(|(position, order)| {
            let WrittenNumber { number, span } = (*order)?;
            (number as usize != position + 1).then_some((position, number, span))
        });
        // After a syntax error tasks may be missing from the list, so the positions of the others prove nothing.
        let shifted = shifted.filter(|_| !reader.builder.plan().is_doubtful);
        if let Some((position, number, span)) = shifted {
            let message = format!("the task at place {} has the order {number}", position + 1);
            let help = "integer dependencies mean the order values here; import numbers the tasks by place";
            reader.report_with_help(&ORDER_DIFFERS, span, message, help);
        }
        Numbers::Orders(
            by_order
                .into_iter()
                .map(|(number, (position, _))| (number, position))
                .collect(),
        )
    }

    fn position_of(&self, number: u32) -> Option<u32> {
        match self {
            Numbers::Places => number.checked_sub(1),
            Numbers::Orders(by_order) => by_order.get(&number).copied(),
        }
    }
}

fn name_tasks(reader: &mut PlanReader<'_>, numbers: &Numbers) {
    let n_tasks = reader.builder.plan().tasks().len();
    for position in 0..n_tasks {
        reader.builder.task_mut(position).name = TaskName::Number(position as u32 + 1);
    }
    if let Numbers::Orders(by_order) = numbers {
        for (&number, &position) in by_order {
            reader.builder.task_mut(position as usize).name = TaskName::Number(number);
        }
    }
}

/// Resolves numbers to indexes, and reports it if they seem to count from 0.
fn resolve_numbers(reader: &mut PlanReader<'_>, numbers: &Numbers) {
    let source = reader.builder.plan().source().clone();
    let n_tasks = reader.builder.plan().tasks().len();
    let number_at = |dependency: &Dependency| {
        let written = source.slice(dependency.span);
        // Nearly all are small and whole, which is faster to parse.
        let small = written.parse::<u32>().map(f64::from);
        let number = small.or_else(|_| written.trim_matches('"').parse());
        number.ok().filter(|number: &f64| number.fract() == 0.0)
    };
    let mut zeros = Vec::new();
    let mut fits_from_zero = true;
    reader.builder.retarget(|dependency| {
        if dependency.target != DependencyTarget::NoSuchNumber {
            return dependency.target;
        }
        let Some(number) = number_at(dependency) else {
            return DependencyTarget::NoSuchNumber;
        };
        fits_from_zero &= number < n_tasks as f64;
        if number == 0.0 {
            zeros.push(dependency.span);
            return DependencyTarget::Unreadable;
        }
        let position = if number <= f64::from(u32::MAX) {
            numbers.position_of(number as u32)
        } else {
            None
        };
        match position {
            Some(position) if (position as usize) < n_tasks => DependencyTarget::Position(position),
            _ => DependencyTarget::NoSuchNumber,
        }
    });
    if zeros.is_empty() {
        return;
    }
    let is_number = |dependency: &&Dependency| match dependency.target {
        DependencyTarget::Position(_) | DependencyTarget::NoSuchNumber => true,
        DependencyTarget::Unreadable => zeros.binary_search(&dependency.span).is_ok(),
        DependencyTarget::Id(_) | DependencyTarget::Group(_) => false,
    };
    let numbers_written = reader.builder.plan().all_dependencies().iter().filter(is_number);
    let shift: Vec<(Span, f64)> = numbers_written
        .filter_map(|dependency| Some((dependency.span, number_at(dependency)?)))
        .collect();
    for &zero in &zeros {
        let mut diagnostic = Diagnostic::new(&INDEX_BASE, zero, "there is no task 0: task numbers start at 1");
        diagnostic = if fits_from_zero && matches!(numbers, Numbers::Places) {
            let edits = shift
                .iter()
                .map(|&(span, number)| Replacement::new(span, (number as u64 + 1).to_string()));
            // One finding has the fix of all: the numbers are shifted together or not at all.
            let diagnostic = diagnostic.with_help("if all numbers here count from 0, add one to each");
            if zero == zeros[0] {
                diagnostic.with_unsafe_fix("add one to every task number", edits.collect())
            } else {
                diagnostic
            }
        } else {
            diagnostic.with_help("name a task that exists, or remove the dependency")
        };
        reader.report(diagnostic);
    }
}
