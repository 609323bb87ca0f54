//! Records of work on its way from a checkout to a branch.

use serde::{Deserialize, Serialize};

use crate::journal::line::is_false;

/// The settings of a run that never change, even if it is interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedSettings {
    pub branch: String,
    /// Whether the user had that branch checked out, and wants work to land there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_current: bool,
    pub base: String,
    /// The start commit of the branch, including the user's uncommitted work if requested.
    pub start: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<String>,
}

/// The work of an agent, as a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateRecord {
    pub task: String,
    pub attempt: u32,
    /// The commit; the base if nothing was changed.
    pub commit: String,
    pub tree: String,
    pub base: String,
    /// Files and folders that git ignores, and that do not land.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Refs of the checkout, as a stash or other branches, with commits that are not part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_work: Vec<String>,
    /// The files that verify the task and that it changed or removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
}

/// Finished and verified work that waits for a review, and lands after its approval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlandedWorkRecord {
    pub task: String,
    /// The work, and the attempt that made it.
    pub candidate: CandidateRecord,
    #[serde(default)]
    pub is_verified: bool,
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The folder in which it was made, and the folder's identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// See `folder`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The commit that the folder is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// A candidate that conflicts with work that has landed since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictRecord {
    pub task: String,
    pub attempt: u32,
    pub files: Vec<String>,
    /// The tip of the branch that it conflicts with.
    pub onto: String,
    /// The tree with both sides for the next attempt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tree: String,
    /// The labels of the two sides in its markers and file names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The number of the next attempt to resolve conflicts of the task, from 1; none if there is no further one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<u32>,
}

/// A verified candidate is about to land. Durable before the branch moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingStartRecord {
    pub task: String,
    pub attempt: u32,
    pub commit: String,
    pub from: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingEndRecord {
    pub task: String,
    pub attempt: u32,
    /// The branch that the work landed on; in logs of earlier versions, the branch of the attempt.
    pub branch: String,
    pub passed: bool,
    /// The new tip of the branch; none if there was nothing to land.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree of that commit: the one that was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
