//! The files of a workspace that belong to planwright. They are not uncommitted work of the user, and changes by agents do not
//! land.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use planwright_core::dialect::DIALECTS;

use crate::git::Repository;
use crate::layout::{CONFIG_FILE, PlanPlace, STATE_FOLDER};
use crate::runs;
use crate::store::is_temporary;
use crate::workspace::slashed;

/// The files that belong to planwright, as paths from the top of the repository.
#[derive(Clone, Debug)]
pub struct OwnFiles {
    /// The prefix of paths in the workspace.
    prefix: String,
    paths: BTreeSet<String>,
}

impl OwnFiles {
    /// Returns the files of a plan and of every other plan of the workspace that has a journal.
    pub fn of(place: &PlanPlace, repository: &Repository) -> Self {
        let mut plans = BTreeSet::from([place.relative.clone()]);
        let journals = std::fs::read_dir(place.journals()).into_iter().flatten().flatten();
        plans.extend(journals.filter_map(|entry| Some(runs::header(&entry.path()).ok()?.path)));
        let pointers: Vec<String> = plans.iter().flat_map(|plan| pointers(&place.root, plan)).collect();
        let mut paths = plans;
        paths.extend(pointers);
        paths.insert(CONFIG_FILE.to_owned());
        OwnFiles {
            prefix: repository.prefix().to_owned(),
            paths,
        }
    }

    /// Returns whether a path from the top of the repository is among them.
    pub fn contains(&self, path: &str) -> bool {
        let Some(below) = path.strip_prefix(&self.prefix) else {
            return false;
        };
        let is_state = below
            .strip_prefix(STATE_FOLDER)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let name = Path::new(below).file_name().and_then(|name| name.to_str());
        is_state || self.paths.contains(below) || name.is_some_and(is_temporary)
    }
}

/// Returns the files that would name a plan as the active one, relative to the root of the workspace.
fn pointers(root: &Path, plan: &str) -> Vec<String> {
    let target = root.join(plan);
    let found = DIALECTS
        .iter()
        .filter_map(|dialect| dialect.pointer()?.file(&slashed(&target)));
    let resolved = found.filter_map(|relative| {
        let mut path: PathBuf = target.parent()?.to_owned();
        for part in relative.split('/') {
            match part {
                ".." => drop(path.pop()),
                part => path.push(part),
            }
        }
        Some(slashed(path.strip_prefix(root).ok()?))
    });
    resolved.collect()
}
