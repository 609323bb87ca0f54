//! Files with the text of an edit: the one that an editor opens, and a copy of a text that is not written.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use planwright_core::text::SourceText;
use planwright_run::layout::STATE_FOLDER;
use planwright_run::store::{self, CreateError};
use planwright_run::workspace::root_of;
use serde::Serialize;

use crate::face::{Failure, Result, Workspace, from_here};
use crate::plans::FoundPlan;
use crate::text::one_line;

/// The text that the user changes.
#[derive(Serialize)]
pub struct EditForm {
    #[serde(skip)]
    pub found: FoundPlan,
    /// The task; none for the whole plan.
    pub task: Option<String>,
    /// The text of the plan, or the form of the task.
    pub text: String,
    /// The text to begin with: another one where the request names a file.
    pub first_text: String,
}

/// The file that an editor opens. It is removed with this value, unless nothing else has its text.
pub struct EditorFile<'f> {
    form: &'f EditForm,
    path: PathBuf,
    is_left: Cell<bool>,
}

impl<'f> EditorFile<'f> {
    /// Creates the file with the text that the editor begins with, and with the ending that the editor knows the plan by.
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

    /// Reads what the editor saved.
    pub fn load(&self) -> Result<SourceText> {
        let text = store::load(&self.path)?.source;
        if text.damage().is_some() {
            self.is_left.set(true);
            return Err(Failure::problem(
                "the edited text is not UTF-8: nothing was written",
                format!("the text is in {}", one_line(&self.path.display().to_string())),
            ));
        }
        Ok(text)
    }

    /// Keeps a text that is not written. Where no copy can be made, the file of the editor stays.
    pub fn keep(&self, workspace: &Workspace, text: &str) -> Result<PathBuf> {
        let ending = self.path.extension().unwrap_or_default().to_string_lossy();
        let name = file_name(self.form);
        // The plan may be gone by now; the file of the editor was made like it.
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
            // A file that cannot be removed is planwright's own, and harmless.
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

/// Creates a file in a folder of the workspace's state. It is readable for those who may read the file that it is made like.
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
        "remove those that are not needed any more",
    ))
}
