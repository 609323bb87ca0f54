//! A workspace with one plan, and the changes that tests make to it. Its plans are plain lines: the store does not care.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::text::SourceText;
use planwright_run::files::{DiskFiles, Files};
use planwright_run::journal::{ChangeOutcome, ChangeRecord, History, StateChange};
use planwright_run::store::{self, PlanFile, PreparedChange, Store, UpdateError, UpdateResult};
use planwright_testkit::TempFolder;

pub(crate) struct Workspace {
    folder: TempFolder,
    pub(crate) plan: PathBuf,
}

pub(crate) fn clock() -> String {
    "2026-11-05T09:30:00.125Z".to_owned()
}

/// Returns a store over these files. Its patience is long: a process that another test starts holds every open lock until it has executed
/// its program, which takes a while on a busy machine.
pub(crate) fn store_over(files: &dyn Files) -> Store<'_> {
    Store {
        files,
        clock: &clock,
        patience: Duration::from_secs(240),
        ..Store::default()
    }
}

/// Returns a store that waits only briefly for a lock.
pub(crate) fn impatient_store() -> Store<'static> {
    Store {
        patience: Duration::from_millis(20),
        ..store_over(&DiskFiles)
    }
}

/// Returns a plan without an id.
pub(crate) fn plan_at(path: &Path) -> PlanFile<'_> {
    PlanFile { path, id: None }
}

pub(crate) type Outcomes = Result<UpdateResult, UpdateError<Infallible>>;

/// Adds a line to the plan's text.
pub(crate) fn add_line(store: &Store<'_>, plan: PlanFile<'_>, line: &str) -> Outcomes {
    store.update(plan, "add", |source, _| {
        Ok(Some(PreparedChange {
            text: Some(SourceText::new(format!("{}{line}\n", source.as_str()))),
            change: ChangeRecord {
                verb: "add".to_owned(),
                tasks: vec![line.to_owned()],
                ..ChangeRecord::default()
            },
        }))
    })
}

/// Changes a state that only the journal holds.
pub(crate) fn set_state(store: &Store<'_>, plan: PlanFile<'_>, task: &str, to: &str) -> Outcomes {
    store.update(plan, "set", |_, history| {
        let from = history.task_states().remove(task).map(|known| known.state.to);
        Ok(Some(PreparedChange {
            text: None,
            change: ChangeRecord {
                verb: to.to_owned(),
                tasks: vec![task.to_owned()],
                by: Some("somebody".to_owned()),
                states: vec![StateChange {
                    task: task.to_owned(),
                    from,
                    to: to.to_owned(),
                    note: None,
                    output: None,
                }],
                ..ChangeRecord::default()
            },
        }))
    })
}

/// Undoes the last change.
pub(crate) fn undo(store: &Store<'_>, plan: PlanFile<'_>) -> Outcomes {
    store.update(plan, "undo", |source, history| {
        let Some(last) = history.undoables().next() else {
            return Ok(None);
        };
        Ok(Some(PreparedChange {
            text: last
                .change
                .text
                .and_then(|text| text.revert(source.as_str()))
                .map(SourceText::new),
            change: ChangeRecord {
                verb: "undo".to_owned(),
                undoes: Some(last.seq),
                ..ChangeRecord::default()
            },
        }))
    })
}

impl Workspace {
    /// Creates a workspace whose plan has one line.
    pub(crate) fn new() -> Self {
        let folder = TempFolder::new().expect("a folder");
        folder.write("planwright.toml", "").expect("a file");
        let plan = folder.write("docs/plan.txt", "first\n").expect("a file");
        Workspace { folder, plan }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        self.folder.write(name, text).expect("a file")
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.plan).expect("the plan is always there")
    }

    pub(crate) fn add(&self, line: &str) -> UpdateResult {
        add_line(&store_over(&DiskFiles), plan_at(&self.plan), line).expect("an update")
    }

    pub(crate) fn history(&self) -> History {
        store::history(plan_at(&self.plan)).expect("a history")
    }

    /// Returns the only journal.
    pub(crate) fn journal(&self) -> PathBuf {
        let folder = std::fs::read_dir(self.path().join(".planwright/journal")).expect("a folder");
        let mut journals: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
        assert_eq!(journals.len(), 1);
        journals.remove(0)
    }

    /// Returns the first task of each change, with its outcome.
    pub(crate) fn outcomes(&self) -> Vec<(String, ChangeOutcome)> {
        let changes = self.history().changes().to_vec().into_iter();
        changes
            .map(|past| {
                (
                    past.change.tasks.first().cloned().unwrap_or(past.change.verb),
                    past.outcome,
                )
            })
            .collect()
    }

    /// Returns the names in the plan's folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let folder = std::fs::read_dir(self.path().join("docs")).expect("a folder");
        let mut names: Vec<String> = folder
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}
