//! The plan that a journal belongs to after plans were moved, copied or replaced.

use std::path::{Path, PathBuf};

use planwright_run::files::DiskFiles;
use planwright_run::journal::{History, JournalEvent, JournalRepair};
use planwright_run::store::{self, PlanFile, UpdateResult};

use crate::workspace::{Workspace, set_state, store_over};

/// Returns the text of a clido plan with this id.
fn clido(id: &str) -> String {
    format!(
        "{{\"meta\": {{\"id\": \"{id}\", \"goal\": \"g\", \"created_at\": \"2026-01-01T00:00:00Z\"}}, \
         \"tasks\": [{{\"id\": \"t1\", \"description\": \"d\", \"depends_on\": [], \"status\": \"pending\"}}]}}\n"
    )
}

struct Plans {
    workspace: Workspace,
}

impl Plans {
    fn new() -> Self {
        Plans {
            workspace: Workspace::new(),
        }
    }

    fn write(&self, name: &str, id: &str) -> PathBuf {
        self.workspace.write(name, clido(id))
    }

    #[track_caller]
    fn set(&self, path: &Path, id: &str, to: &str) -> UpdateResult {
        let plan = PlanFile { path, id: Some(id) };
        set_state(&store_over(&DiskFiles), plan, "t1", to).expect("an update")
    }

    #[track_caller]
    fn history(&self, path: &Path, id: &str) -> History {
        store::history(PlanFile { path, id: Some(id) }).expect("a history")
    }

    /// Returns the recorded state of the only task for the plan at a path.
    #[track_caller]
    fn state(&self, path: &Path, id: &str) -> Option<String> {
        let mut states = self.history(path, id).task_states();
        states.remove("t1").map(|known| known.state.to)
    }

    fn n_journals(&self) -> usize {
        let folder = self.workspace.path().join(".planwright/journal");
        std::fs::read_dir(folder).expect("a folder").count()
    }
}

#[test]
fn a_moved_plan_takes_its_journal_along() {
    let plans = Plans::new();
    let (old, new) = (plans.write("a.json", "p1"), plans.workspace.path().join("b/c.json"));
    plans.set(&old, "p1", "running");
    std::fs::create_dir(new.parent().expect("a folder")).expect("a folder");
    std::fs::rename(&old, &new).expect("moved");
    assert_eq!(
        plans.state(&new, "p1").as_deref(),
        Some("running"),
        "readers find it without moving it"
    );
    let updated = plans.set(&new, "p1", "done");
    let from = "a.json".to_owned();
    assert_eq!(updated.notices, [JournalRepair::Moved { from }]);
    assert_eq!(plans.history(&new, "p1").changes().len(), 2);
    assert_eq!(plans.n_journals(), 1);
    assert_eq!(plans.set(&new, "p1", "done").notices, []);

    std::fs::rename(&new, &old).expect("moved back");
    plans.set(&old, "p1", "pending");
    assert_eq!(plans.history(&old, "p1").changes().len(), 4);
    let n_moves = plans
        .history(&old, "p1")
        .records()
        .filter(|record| matches!(record.kind, JournalEvent::Moved(_)))
        .count();
    assert_eq!(n_moves, 2);
}

#[test]
fn a_copied_plan_begins_its_own_journal() {
    let plans = Plans::new();
    let (old, copy) = (plans.write("a.json", "p1"), plans.workspace.path().join("b.json"));
    plans.set(&old, "p1", "running");
    std::fs::copy(&old, &copy).expect("copied");
    assert_eq!(plans.state(&copy, "p1"), None);
    plans.set(&copy, "p1", "done");
    assert_eq!(plans.state(&copy, "p1").as_deref(), Some("done"));
    assert_eq!(plans.state(&old, "p1").as_deref(), Some("running"));
    assert_eq!(plans.n_journals(), 2);
}

#[test]
fn a_plan_whose_old_path_has_another_plan_now_was_moved() {
    let plans = Plans::new();
    let (old, new) = (plans.write("a.json", "p1"), plans.workspace.path().join("b.json"));
    plans.set(&old, "p1", "running");
    std::fs::rename(&old, &new).expect("moved");
    plans.write("a.json", "p2");
    assert_eq!(plans.state(&new, "p1").as_deref(), Some("running"));
    plans.set(&new, "p1", "done");
    assert_eq!(plans.state(&old, "p2"), None);
    plans.set(&old, "p2", "failed");
    assert_eq!(plans.state(&new, "p1").as_deref(), Some("done"));
}

#[test]
fn a_different_plan_at_the_same_path_inherits_no_states() {
    let plans = Plans::new();
    let path = plans.write("a.json", "p1");
    plans.set(&path, "p1", "running");
    plans.write("a.json", "p2");
    assert_eq!(plans.state(&path, "p2"), None);
    let updated = plans.set(&path, "p2", "failed");
    let from = Some("p1".to_owned());
    assert_eq!(updated.notices, [JournalRepair::Identified { from }]);
    assert_eq!(plans.state(&path, "p2").as_deref(), Some("failed"));
    let states = plans.history(&path, "p2").task_states();
    assert_eq!(states["t1"].state.from, None);
    assert_eq!(plans.history(&path, "p2").changes().len(), 1, "it begins its own");
    // The first plan comes back, as with another branch.
    plans.write("a.json", "p1");
    assert_eq!(plans.state(&path, "p1").as_deref(), Some("running"));
    plans.set(&path, "p1", "done");
    assert_eq!(plans.history(&path, "p1").changes().len(), 2);
    plans.write("a.json", "p2");
    assert_eq!(plans.state(&path, "p2").as_deref(), Some("failed"));
    assert_eq!(plans.n_journals(), 2);
}

#[test]
fn a_plan_moved_over_another_keeps_its_own_history_and_the_other_is_kept_too() {
    let plans = Plans::new();
    let (one, other) = (plans.write("a.json", "p1"), plans.write("b.json", "p2"));
    plans.set(&one, "p1", "running");
    plans.set(&other, "p2", "failed");
    std::fs::rename(&other, &one).expect("moved");
    assert_eq!(plans.state(&one, "p2").as_deref(), Some("failed"));
    plans.set(&one, "p2", "done");
    assert_eq!(plans.history(&one, "p2").changes().len(), 2);
    assert_eq!(plans.n_journals(), 2, "that of the first plan is put aside");

    // The first plan comes back, from a backup say.
    plans.write("a.json", "p1");
    assert_eq!(plans.state(&one, "p1").as_deref(), Some("running"));
    plans.set(&one, "p1", "done");
    assert_eq!(plans.history(&one, "p1").changes().len(), 2);
    assert_eq!(plans.n_journals(), 2);
}

#[test]
fn a_plan_that_gets_an_id_keeps_its_history() {
    let plans = Plans::new();
    let path = plans.write("a.json", "p1");
    let without = PlanFile { path: &path, id: None };
    set_state(&store_over(&DiskFiles), without, "t1", "running").expect("an update");
    assert_eq!(plans.set(&path, "p1", "done").notices, []);
    assert_eq!(plans.history(&path, "p1").changes().len(), 2);
    assert_eq!(plans.state(&path, "p1").as_deref(), Some("done"));
}
