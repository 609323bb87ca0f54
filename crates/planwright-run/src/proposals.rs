//! Tasks and plan versions that wait for approval, in `.planwright/proposals`. Changes no plan.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{DiskFiles, Files as _};
use crate::layout::{PlanPlace, STATE_FOLDER, make_state_folder, refuse_links};
use crate::store::{CreateError, create};

const VERSION: u32 = 1;

const MAX_BYTES: u64 = 8 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    pub version: u32,
    pub by: String,
    /// The time as RFC 3339.
    pub time: String,
    /// The task whose agent proposes it; none for a planner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// New tasks, each a JSON object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// For a whole new version, the names of the tasks in the plan at that time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    /// A planner's answer with a whole new version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
}

fn folder_of(plan: &Path) -> io::Result<(PlanPlace, PathBuf)> {
    let place = PlanPlace::of(&DiskFiles, plan)?;
    let folder = place.root.join(STATE_FOLDER).join("proposals").join(place.key.hash());
    Ok((place, folder))
}

/// Saves a proposal until the user decides on it. Returns its file.
pub fn hold(plan: &Path, proposal: &Proposal) -> Result<PathBuf, CreateError> {
    let failed = |source| CreateError::Io {
        path: plan.to_owned(),
        source,
    };
    let (place, folder) = folder_of(plan).map_err(failed)?;
    // Another attempt may make the same proposal.
    let is_same = |known: &Proposal| known.tasks == proposal.tasks && known.answer == proposal.answer;
    let others = held(plan).map_err(failed)?;
    if let Some((path, _)) = others.into_iter().find(|(_, known)| is_same(known)) {
        return Ok(path);
    }
    make_state_folder(&DiskFiles, &place.root).map_err(failed)?;
    refuse_links(&DiskFiles, &place.root, &folder).map_err(failed)?;
    let proposal = Proposal {
        version: VERSION,
        ..proposal.clone()
    };
    let text = serde_json::to_string_pretty(&proposal).map_err(|error| failed(error.into()))?;
    let digits: String = proposal.time.chars().filter(char::is_ascii_digit).take(17).collect();
    let mut nth = 1;
    loop {
        let path = folder.join(format!("{digits}-{nth:03}.json"));
        match create(&path, &text) {
            Err(CreateError::Exists { .. }) if nth < 1000 => nth += 1,
            made => return made.map(|()| path),
        }
    }
}

/// Returns the proposals for a plan, the oldest first. Ignores those that cannot be read, and leaves them unchanged.
pub fn held(plan: &Path) -> io::Result<Vec<(PathBuf, Proposal)>> {
    let (_, folder) = folder_of(plan)?;
    let mut names = match DiskFiles.list_folder(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        names => names?,
    };
    names.sort();
    let read = |path: PathBuf| {
        let bytes = DiskFiles.read(&path, MAX_BYTES).ok()?;
        let proposal: Proposal = serde_json::from_slice(&bytes).ok()?;
        (proposal.version <= VERSION).then_some((path, proposal))
    };
    Ok(names.iter().filter_map(|name| read(folder.join(name))).collect())
}

pub fn settle(path: &Path) -> io::Result<()> {
    match DiskFiles.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
