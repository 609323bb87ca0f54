//! The only place where the original command lines write: plan files by a change of the newest text, state files whole.

use std::io;
use std::path::Path;

use planwright_core::text::SourceText;
use planwright_run::error_chain::with_causes;
use planwright_run::files::{DiskFiles, Files as _};
use planwright_run::journal::{ChangeRecord, History};
use planwright_run::revise::moves_between;
use planwright_run::store::{PlanFile, PreparedChange, Store, UpdateError, overwrite};

/// Why a plan file was not changed.
pub(crate) enum NotChanged<E> {
    /// The change was refused.
    Refused(E),
    /// The file could not be read or written.
    Failed { message: String, help: &'static str },
}

/// A command's change of a plan.
pub(crate) struct NewText {
    /// The new text.
    pub(crate) text: String,
    /// The tasks that it concerns, for the history.
    pub(crate) tasks: Vec<String>,
    /// Their note.
    pub(crate) note: Option<String>,
    /// The closed gates, which the original does not check.
    pub(crate) passed_gates: Vec<String>,
}

/// The first word of the verbs that these command lines record in histories.
const RECORDED: &str = "aimi-cli";

/// Returns whether a recorded verb is one that knows no gates.
pub(crate) fn ignores_gates(verb: &str) -> bool {
    verb.starts_with(RECORDED)
}

/// Changes a plan file for a command and returns what it holds now. `prepare` gets the newest text and returns the new one, none
/// where nothing is to change. It is called again where another program changed the file in the meantime.
pub(crate) fn change_plan<E>(
    path: &Path,
    command: &str,
    mut prepare: impl FnMut(&SourceText, &History) -> Result<Option<NewText>, E>,
) -> Result<SourceText, NotChanged<E>> {
    let plan = PlanFile { path, id: None };
    let prepare = |newest: &SourceText, history: &History| {
        Ok(prepare(newest, history)?.map(|new| {
            let text = SourceText::new(new.text);
            PreparedChange {
                change: ChangeRecord {
                    verb: format!("{RECORDED} {command}"),
                    tasks: new.tasks,
                    note: new.note,
                    moves: moves_between(path, newest, &text),
                    passed_gates: new.passed_gates,
                    ..ChangeRecord::default()
                },
                text: Some(text),
            }
        }))
    };
    // The original renames a new file over the old one, regardless of its mode, which stays.
    let store = Store {
        replaces_protected: true,
        ..Store::default()
    };
    match store.update(plan, command, prepare) {
        Ok(updated) => Ok(updated.source),
        Err(UpdateError::Refused(refused)) => Err(NotChanged::Refused(refused)),
        Err(UpdateError::Store(error)) => Err(failed(command, &error, error.help())),
    }
}

fn failed<E>(command: &str, error: &dyn std::error::Error, help: &'static str) -> NotChanged<E> {
    let message = format!("{command} was not done: {}", with_causes(error));
    NotChanged::Failed { message, help }
}

/// Writes a small file: a reader sees the old or the new text, never a part. Creates a missing folder.
pub(crate) fn write_state(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    overwrite(&folder.join(name), text)
}

/// Removes a file and returns whether it existed.
pub(crate) fn remove(path: &Path) -> io::Result<bool> {
    match DiskFiles.remove(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
