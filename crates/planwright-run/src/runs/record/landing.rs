//! Records of work on its way from a checkout to a branch.

use serde::{Deserialize, Serialize};

use crate::journal::line::is_false;

/// What holds for a run from its beginning to its end, however often it is interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    pub branch: String,
    /// Whether the user had that branch checked out, and wants work to land there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_current: bool,
    pub base: String,
    /// The commit that the branch was at, with the user's uncommitted work where that was taken along.
    pub start: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<String>,
}

/// What an agent made, as a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateRecord {
    pub task: String,
    pub attempt: u32,
    /// The commit; the base where nothing was changed.
    pub commit: String,
    pub tree: String,
    /// The commit that it builds on.
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

/// Finished and verified work that waits for a review, and lands when it is approved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldWork {
    pub task: String,
    /// What was made, and the attempt that made it.
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
    /// The folder in which it was made, and what that is known by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// See `folder`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The commit that the folder builds on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// A candidate that does not fit what has landed since it was begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflicted {
    pub task: String,
    pub attempt: u32,
    pub files: Vec<String>,
    /// The end of the branch that it does not fit.
    pub onto: String,
    /// The tree with both sides that the next attempt finds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tree: String,
    /// What marks and names of files in it have for the two sides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Which attempt to resolve conflicts of the task follows, counted from 1; none where no further one is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<u32>,
}

/// A verified candidate is about to land. Durable before the branch moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingRecord {
    pub task: String,
    pub attempt: u32,
    pub commit: String,
    pub from: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    pub task: String,
    pub attempt: u32,
    /// The branch that the work landed on; in logs of earlier versions, the branch that it was on.
    pub branch: String,
    pub passed: bool,
    /// The commit that the branch is at afterwards; none where there was nothing to land.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree of that commit: the one that was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
