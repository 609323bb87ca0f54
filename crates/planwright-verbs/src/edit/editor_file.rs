//! Files with the text of an edit: the one for the editor, and a copy of a text that was not written.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use planwright_core::text::SourceText;
use planwright_run::layout::STATE_FOLDER;
use planwright_run::store::{self, CreateError, LoadError};
use planwright_run::workspace::root_of;
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::plans::FoundPlan;
use crate::text::one_line;
use crate::workspace::{Workspace, from_here};

/// The text that the user changes.
#[derive(Serialize)]
pub struct EditForm {
    #[serde(skip)]
    pub found: FoundPlan,
    /// The task; none for the whole plan.
    pub task: Option<String>,
    /// The text of the plan, or the form of the task.
    pub text: String,
    /// The initial text: another one if the request names a file.
    pub first_text: String,
}

/// The file for the editor. It is removed with this value, unless it is the only copy of its text.
pub struct EditorFile<'f> {
    form: &'f EditForm,
    path: PathBuf,
    is_left: Cell<bool>,
}

impl<'f> EditorFile<'f> {
    /// Creates the file with the initial text, and with the extension of the plan's file.
    pub fn create(form: &'f EditForm) -> Result<Self> {
        let plan = &form.found.path;
        let ending = match form.task {
            None => plan.extension().unwrap_or_default().to_string_lossy().into_owned(),
            Some(_) => "form.txt".to_owned(),
        };
        let name = format!("{}-{}", file_name(form), std::process::id());
        Ok(EditorFile {
            path: create_file(form, ("edits", &name, &ending), &form.first_text, plan)?,
            form,
            is_left: Cell::new(false),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the file: the editor may still be open.
    pub fn leave(&self) {
        self.is_left.set(true);
    }

    /// Reads the saved text.
    pub fn load(&self) -> Result<SourceText> {
        let loaded = store::load(&self.path).map_err(|error| match error {
            LoadError::Missing { .. } => Failure::problem(
                "the editor removed the file: nothing was written",
                "save the text in the editor, and close it",
            ),
            error => Failure::from(error),
        });
        let text = loaded?.source;
        if text.damage().is_some() {
            self.is_left.set(true);
            return Err(Failure::problem(
                "the edited text is not UTF-8: nothing was written",
                format!("the text is in {}", one_line(&self.path.display().to_string())),
            ));
        }
        Ok(text)
    }

    /// Saves a text that is not written. If no copy can be made, the editor's file stays.
    pub fn keep(&self, workspace: &Workspace, text: &str) -> Result<PathBuf> {
        let ending = self.path.extension().unwrap_or_default().to_string_lossy();
        let name = file_name(self.form);
        // The plan may be gone now; the editor's file has the same permissions.
        let kept = create_file(self.form, ("unusable", &name, &ending), text, &self.path);
        self.is_left.set(kept.is_err());
        let place = kept.as_deref().unwrap_or(&self.path);
        workspace.remark(&format!(
            "nothing was written; the text is kept as {}",
            one_line(&place.display().to_string())
        ));
        kept
    }
}

impl Drop for EditorFile<'_> {
    fn drop(&mut self) {
        if !self.is_left.get() {
            // A remaining file is planwright's own, and harmless.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn file_name(form: &EditForm) -> String {
    let stem = form.found.path.file_stem().unwrap_or_default().to_string_lossy();
    match &form.task {
        None => stem.into_owned(),
        Some(task) => {
            let task = task.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "_");
            format!("{stem}-{task}")
        }
    }
}

/// Creates a file in a folder of the workspace's state, with the read permissions of another file.
fn create_file(
    form: &EditForm,
    (folder, name, ending): (&str, &str, &str),
    text: &str,
    like: &Path,
) -> Result<PathBuf> {
    let folder = from_here(&root_of(&form.found.path).join(STATE_FOLDER).join(folder));
    for nth in 1..1000 {
        let number = if nth == 1 { String::new() } else { format!("-{nth}") };
        let path = folder.join(format!("{name}{number}.{ending}"));
        match store::create_like(&path, text, like) {
            Err(CreateError::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(path),
        }
    }
    Err(Failure::outside(
        format!("`{}` has a thousand files of this name", folder.display()),
        "remove those that you do not need",
    ))
}
