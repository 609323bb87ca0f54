//! The verbs `tasks …`: task packs from their source plans, and the cards of packs.

pub mod cards;
mod derivation;
pub mod derive;
pub mod regenerate;

use std::path::Path;

use planwright_core::dialect::Dialect;

use crate::failure::Failure;
use crate::planning::derived_by;
use crate::workspace::from_here;

/// Returns whether plans of a dialect are derived from a source plan.
fn is_pack(dialect: &dyn Dialect) -> bool {
    derived_by(dialect).is_some()
}

fn no_pack(path: &Path) -> Failure {
    Failure::problem(
        format!("`{}` is not a task pack", path.display()),
        "only task packs are derived from a source plan, and have cards",
    )
}

fn shown(path: &Path) -> String {
    from_here(path).to_string_lossy().into_owned()
}
