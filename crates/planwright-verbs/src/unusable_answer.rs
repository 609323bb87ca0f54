//! Answers of planners that cannot be used: kept in `.planwright/unusable`, for a correction by hand.

use std::path::{Path, PathBuf};

use planwright_core::planning::draft::{Unusable, finding_list};
use planwright_run::layout::{STATE_FOLDER, root_of};
use planwright_run::store::{self, CreateError};

use crate::workspace::{Workspace, from_here};

/// Keeps an answer and its findings, each in a file. They are named after the plan that the answer would be.
pub(crate) fn keep_unusable(
    workspace: &Workspace,
    unusable: &Unusable,
    plan: &Path,
) -> Result<[PathBuf; 2], CreateError> {
    let name = plan.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = from_here(&root_of(workspace.folder()).join(STATE_FOLDER).join("unusable"));
    let mut nth = 1;
    loop {
        let number = if nth == 1 { String::new() } else { format!("-{nth}") };
        let text = folder.join(format!("{name}{number}.txt"));
        let findings = folder.join(format!("{name}{number}.findings.txt"));
        match store::create(&text, &unusable.text) {
            Err(CreateError::Exists { .. }) if nth < 1000 => nth += 1,
            Err(error) => return Err(error),
            Ok(()) => {
                store::create(&findings, &finding_list(&unusable.text, &unusable.findings))?;
                return Ok([text, findings]);
            }
        }
    }
}
