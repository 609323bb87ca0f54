//! The fields of a task under the names that its own file uses.

use planwright_core::dialect::FieldTable;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Field, FieldEntry};

use crate::json::{Members, Written};

/// Returns a task's fields under the names its own file uses.
pub fn fields_of(linked: &LinkedPlan, task_ix: usize) -> Members {
    let plan = &linked.plan;
    let tables = linked.dialect.tables();
    let task = &plan.tasks()[task_ix];
    let entries = plan.entries(task);
    let value = |entry: &FieldEntry| match entry.field {
        Field::Dependencies => {
            let written = plan.dependencies(task).iter();
            Written::List(written.map(|one| Written::dependency(plan, one)).collect())
        }
        _ => Written::value(plan, entry.value),
    };
    let named = entries
        .iter()
        .filter_map(|entry| Some((name_of(tables, entry, entries)?.to_owned(), value(entry))));
    named.collect()
}

/// Returns the name of a field in the table that knows all of a task's fields.
fn name_of(tables: &'static [&'static FieldTable], entry: &FieldEntry, all: &[FieldEntry]) -> Option<&'static str> {
    let knows = |table: &FieldTable, entry: &FieldEntry| table.fields.iter().any(|spec| spec.field == entry.field);
    let table = tables
        .iter()
        .rev()
        .find(|table| all.iter().all(|entry| knows(table, entry)))?;
    table
        .fields
        .iter()
        .find(|spec| spec.field == entry.field)
        .map(|spec| spec.name)
}
