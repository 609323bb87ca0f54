//! The dialect of a new plan where the command line names none.

use std::path::Path;

use planwright_core::dialect::{DIALECTS, Dialect, find};
use planwright_run::examine::examine;
use planwright_run::store;
use planwright_run::workspace::plans_at_home;

/// The dialect where nothing else decides.
const FALLBACK: &str = "clido";

/// Returns the dialect that the plans of a workspace have in common, or clido.
pub(crate) fn default_dialect(root: &Path) -> &'static dyn Dialect {
    let mut found: Option<&'static dyn Dialect> = None;
    for path in plans_at_home(root) {
        let own = store::load(&path).ok().and_then(|loaded| {
            let inspection = examine(&loaded.source, Some(&path), None).inspection;
            inspection.dialect.and_then(find)
        });
        match (found, own) {
            (Some(known), Some(own)) if known.name() != own.name() => return fallback(),
            (_, Some(own)) => found = Some(own),
            _ => {}
        }
    }
    found.unwrap_or_else(fallback)
}

fn fallback() -> &'static dyn Dialect {
    find(FALLBACK).unwrap_or(DIALECTS[0])
}
