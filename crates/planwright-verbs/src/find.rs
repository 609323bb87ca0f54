//! The verb `find`: the plans that match an id, a title, a part of either, or a part of a path.

use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure, Result};
use crate::plans::{self, Entry, candidates, is_file_name, refuse_closed, stem_of};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindRequest {
    pub text: String,
    /// Also the plans in the home folder.
    #[serde(default)]
    pub user: bool,
}

#[derive(Serialize)]
pub struct FindReport {
    pub schema_version: &'static str,
    pub text: String,
    /// The equally good matches: one plan if the text is unambiguous.
    pub plans: Vec<FittingPlan>,
}

#[derive(Serialize)]
pub struct FittingPlan {
    pub path: String,
    pub id: Option<String>,
    pub dialect: Option<&'static str>,
    pub title: String,
    pub archived: bool,
    /// How the text matches: `name`, `part`, `path` or `title`.
    pub fit: &'static str,
}

impl FindReport {
    /// Returns the exit of the verb: an error if no plan matches, or several.
    pub fn exit(&self) -> Exit {
        match self.plans.len() {
            1 => Exit::Success,
            _ => Exit::Problems,
        }
    }
}

/// Finds the plans that match a text best. Archived plans are only found if no other matches.
pub fn find(workspace: &Workspace, request: &FindRequest) -> Result<FindReport> {
    let text = &request.text;
    if text.is_empty() {
        let help = "name an id or a part of one; `planwright list` shows all plans";
        return Err(Failure::usage("nothing to find", help));
    }
    let in_use = candidates(workspace.folder(), request.user).into_iter();
    let (mut fit, mut found) = best(in_use.map(|path| Entry::of(path, false)).collect(), text);
    if found.is_empty() {
        let archived = plans::archived(workspace).into_iter();
        (fit, found) = best(archived.map(|path| Entry::of(path, true)).collect(), text);
    }
    if found.is_empty() {
        refuse_closed(workspace.folder())?;
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let plans = found.into_iter().map(|entry| FittingPlan {
        path: entry.shown(),
        id: entry.id,
        dialect: entry.dialect,
        title: entry.title,
        archived: entry.archived,
        fit,
    });
    Ok(FindReport {
        schema_version: "planwright.find/v1",
        text: text.clone(),
        plans: plans.collect(),
    })
}

fn best(entries: Vec<Entry>, text: &str) -> (&'static str, Vec<Entry>) {
    let lower = text.to_lowercase();
    let names = |entry: &Entry| {
        entry
            .id
            .iter()
            .cloned()
            .chain([stem_of(&entry.path)])
            .collect::<Vec<_>>()
    };
    let fit_of = |entry: &Entry| match names(entry) {
        _ if is_file_name(&entry.path, text) => Some(0),
        names if names.iter().any(|name| name == text) => Some(0),
        names if names.iter().any(|name| name.contains(text)) => Some(1),
        names if names.iter().any(|name| name.to_lowercase().contains(&lower)) => Some(2),
        _ if entry.shown().to_lowercase().contains(&lower) => Some(2),
        _ if entry.title.to_lowercase().contains(&lower) => Some(3),
        _ => None,
    };
    let fits: Vec<Option<usize>> = entries.iter().map(fit_of).collect();
    let Some(best) = fits.iter().flatten().min().copied() else {
        return ("none", Vec::new());
    };
    let found = entries.into_iter().zip(fits).filter(|(_, fit)| *fit == Some(best));
    let word = ["name", "part", "path", "title"].get(best).copied().unwrap_or("path");
    (word, found.map(|(entry, _)| entry).collect())
}
