//! Plans that are moved to the archive or to the trash: one whole file at any time, with its history.

use std::path::PathBuf;

use planwright_run::files::{DiskFiles, Files};
use planwright_run::journal::{ChangeOutcome, History};
use planwright_run::store::{self, MoveTarget, MovedPlan, PlanFile, PlanMoveRequest, StoreError};

use crate::faulty::{Fault, FaultyFiles};
use crate::workspace::{Workspace, impatient_store, plan_at, store_over};

const ARCHIVED: &str = ".planwright/archive/docs/plan.txt";

fn archive() -> PlanMoveRequest<'static> {
    PlanMoveRequest {
        verb: "archive",
        by: Some("somebody"),
        target: MoveTarget::Path(ARCHIVED),
    }
}

fn delete() -> PlanMoveRequest<'static> {
    PlanMoveRequest {
        verb: "delete",
        by: None,
        target: MoveTarget::Trash,
    }
}

fn move_plan(files: &dyn Files, workspace: &Workspace, request: PlanMoveRequest<'_>) -> Result<MovedPlan, StoreError> {
    store_over(files).move_plan(plan_at(&workspace.plan), request)
}

#[track_caller]
fn history(path: &std::path::Path) -> History {
    store::history(plan_at(path)).expect("a history")
}

/// Returns the verbs in the history of a plan, with their outcomes.
#[track_caller]
fn verbs(path: &std::path::Path) -> Vec<(String, ChangeOutcome)> {
    let changes = history(path).changes().to_vec().into_iter();
    changes.map(|past| (past.change.verb, past.outcome)).collect()
}

fn n_journals(workspace: &Workspace) -> usize {
    let folder = workspace.path().join(".planwright/journal");
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn an_archived_plan_keeps_its_history() {
    let workspace = Workspace::new();
    workspace.add("second");
    let moved = move_plan(&DiskFiles, &workspace, archive()).expect("archived");
    assert_eq!((moved.from.as_str(), moved.to.as_str()), ("docs/plan.txt", ARCHIVED));
    assert!(!workspace.plan.exists());
    assert_eq!(
        std::fs::read_to_string(&moved.path).expect("it is there"),
        "first\nsecond\n"
    );
    let (add, left) = (
        ("add".to_owned(), ChangeOutcome::Landed),
        ("archive".to_owned(), ChangeOutcome::Landed),
    );
    assert_eq!(verbs(&moved.path), [add, left]);
    let past = history(&moved.path);
    assert_eq!(
        past.changes().last().and_then(|last| last.moved_to.clone()).as_deref(),
        Some(ARCHIVED)
    );
    let undoable = past.undoables().next().expect("the change before");
    assert_eq!(undoable.change.verb, "add", "a move is not undone");
    assert_eq!(n_journals(&workspace), 1);
}

#[test]
fn a_new_plan_does_not_get_the_history_of_a_removed_one() {
    for request in [archive(), delete()] {
        let workspace = Workspace::new();
        workspace.add("second");
        move_plan(&DiskFiles, &workspace, request).expect("gone");
        workspace.write("docs/plan.txt", "first\n");
        assert!(verbs(&workspace.plan).is_empty());
        workspace.add("other");
        assert_eq!(verbs(&workspace.plan).len(), 1);
        assert_eq!(n_journals(&workspace), 2);
    }
}

#[test]
fn a_restored_plan_finds_its_history() {
    for request in [archive(), delete()] {
        let workspace = Workspace::new();
        workspace.add("second");
        let moved = move_plan(&DiskFiles, &workspace, request).expect("gone");
        std::fs::rename(&moved.path, &workspace.plan).expect("taken back");
        assert_eq!(verbs(&workspace.plan).len(), 2, "readers find it");
        workspace.add("third");
        assert_eq!(verbs(&workspace.plan).len(), 3);
        assert_eq!(n_journals(&workspace), 1, "writers bring it");
        let again = move_plan(&DiskFiles, &workspace, request).expect("gone again");
        assert_eq!(again.path, moved.path);
        assert_eq!(verbs(&again.path).len(), 4);
    }
}

#[test]
fn nothing_is_overwritten() {
    let workspace = Workspace::new();
    let there = workspace.write(ARCHIVED, "theirs\n");
    for result in [
        move_plan(&DiskFiles, &workspace, archive()),
        store_over(&DiskFiles).preview_move(plan_at(&workspace.plan), archive()),
    ] {
        assert!(matches!(result, Err(StoreError::Occupied { .. })));
    }
    assert_eq!(workspace.text(), "first\n");
    assert_eq!(std::fs::read_to_string(there).expect("read"), "theirs\n");
    let first = move_plan(&DiskFiles, &workspace, delete()).expect("deleted").to;
    workspace.write("docs/plan.txt", "again\n");
    let second = move_plan(&DiskFiles, &workspace, delete()).expect("deleted").to;
    assert_eq!(first, ".planwright/trash/1/docs/plan.txt");
    assert_eq!(second, ".planwright/trash/2/docs/plan.txt");
}

#[test]
fn a_dry_run_of_a_removal_writes_nothing() {
    let workspace = Workspace::new();
    let foreseen = store_over(&DiskFiles).preview_move(plan_at(&workspace.plan), delete());
    assert_eq!(foreseen.expect("it can go").to, ".planwright/trash/1/docs/plan.txt");
    assert!(!workspace.path().join(".planwright").exists());
}

#[test]
fn bytes_that_are_no_text_are_kept() {
    let workspace = Workspace::new();
    let bytes = b"\xff\xfe\0plan";
    workspace.write("docs/plan.txt", bytes);
    let moved = move_plan(&DiskFiles, &workspace, delete()).expect("deleted");
    assert_eq!(std::fs::read(moved.path).expect("read"), bytes);
}

#[test]
fn a_link_and_its_target_are_kept() {
    let workspace = Workspace::new();
    let link = workspace.path().join("docs/link.txt");
    std::os::unix::fs::symlink(&workspace.plan, &link).expect("a link");
    let result = store_over(&DiskFiles).move_plan(plan_at(&link), delete());
    assert!(matches!(result, Err(StoreError::Link { .. })));
    assert_eq!(workspace.names(), ["link.txt", "plan.txt"]);
}

#[test]
fn a_plan_does_not_leave_the_workspace_by_a_link() {
    let workspace = Workspace::new();
    let outside = planwright_testkit::TempFolder::new().expect("a folder");
    std::fs::create_dir(workspace.path().join(".planwright")).expect("a folder");
    std::os::unix::fs::symlink(outside.path(), workspace.path().join(".planwright/archive")).expect("a link");
    let result = move_plan(&DiskFiles, &workspace, archive());
    assert!(matches!(result, Err(StoreError::Outside { .. })), "{result:?}");
    assert_eq!(workspace.text(), "first\n");
}

#[test]
fn removal_waits_for_the_lock_of_the_plan() {
    let workspace = Workspace::new();
    let result = store_over(&DiskFiles).update(plan_at(&workspace.plan), "add", |_, _| {
        let inner = impatient_store().move_plan(plan_at(&workspace.plan), delete());
        assert!(matches!(inner, Err(StoreError::Locked { .. })), "{inner:?}");
        Ok::<_, std::convert::Infallible>(None)
    });
    assert!(result.is_ok());
    assert_eq!(workspace.text(), "first\n");
}

/// Returns the text of a clido plan with this id and this many tasks.
fn clido(id: &str, n_tasks: usize) -> String {
    let task = |n: usize| format!("{{\"id\": \"t{n}\", \"description\": \"d\", \"depends_on\": []}}");
    let tasks: Vec<String> = (0..n_tasks).map(task).collect();
    let meta = format!("{{\"id\": \"{id}\", \"goal\": \"g\", \"created_at\": \"2026-01-01T00:00:00Z\"}}");
    format!("{{\"meta\": {meta}, \"tasks\": [{}]}}\n", tasks.join(", "))
}

#[test]
fn a_restored_plan_has_its_history_and_a_new_one_at_its_path_does_not() {
    let workspace = Workspace::new();
    let path = workspace.write("a.json", clido("p1", 1));
    let plan = PlanFile {
        path: &path,
        id: Some("p1"),
    };
    let moved = store_over(&DiskFiles).move_plan(plan, delete()).expect("deleted");
    let n_changes = || store::history(plan).expect("a history").changes().len();

    std::fs::rename(&moved.path, &path).expect("taken back");
    assert_eq!(n_changes(), 1, "it is what was deleted");
    std::fs::write(&path, clido("p1", 2)).expect("made anew");
    assert_eq!(n_changes(), 0, "it has the id alone");
}

/// Applies a fault at every step of a request.
fn at_every_step(request: PlanMoveRequest<'_>, fault: Fault, mut check: impl FnMut(&Workspace, bool, &str)) {
    for at in 0.. {
        let workspace = Workspace::new();
        workspace.add("second");
        let files = FaultyFiles::new(at, fault);
        let result = move_plan(&files, &workspace, request);
        let context = format!("{fault:?} at step {at} of {}", request.verb);
        check(&workspace, result.is_ok(), &context);
        if !files.has_struck() {
            assert!(result.is_ok(), "{context}");
            assert!(at > 6, "a request has more steps than {at}");
            return;
        }
    }
}

/// Checks what must hold after any fault: one whole plan with all its history, and the next request works.
fn check_aftermath(workspace: &Workspace, request: PlanMoveRequest<'_>, was_told: bool, context: &str) {
    let there = |n: usize| match request.target {
        MoveTarget::Path(path) => workspace.path().join(path),
        MoveTarget::Trash => workspace.path().join(format!(".planwright/trash/{n}/docs/plan.txt")),
    };
    let texts = |path: PathBuf| std::fs::read_to_string(path).ok().filter(|text| !text.is_empty());
    let (here, gone) = (texts(workspace.plan.clone()), texts(there(1)));
    assert!(here.is_some() != gone.is_some(), "{context}: {here:?} {gone:?}");
    assert_eq!(here.clone().or(gone).as_deref(), Some("first\nsecond\n"), "{context}");
    assert!(!was_told || here.is_none(), "{context}: it was acknowledged");
    if here.is_some() {
        move_plan(&DiskFiles, workspace, request).unwrap_or_else(|error| panic!("{context}: {error}"));
    }
    let landed: Vec<String> = verbs(&there(1))
        .into_iter()
        .filter(|(_, outcome)| *outcome != ChangeOutcome::Pending)
        .map(|(verb, _)| verb)
        .collect();
    assert_eq!(landed.first().map(String::as_str), Some("add"), "{context}: {landed:?}");
    // The next writer moves the journal, and records the outcome of the move.
    let next = crate::workspace::add_line(&store_over(&DiskFiles), plan_at(&there(1)), "third");
    next.unwrap_or_else(|error| panic!("{context}: {error}"));
    let landed: Vec<_> = verbs(&there(1))
        .into_iter()
        .filter(|(_, outcome)| *outcome == ChangeOutcome::Landed)
        .map(|(verb, _)| verb)
        .collect();
    assert_eq!(landed, ["add", request.verb, "add"], "{context}");
    assert_eq!(n_journals(workspace), 1, "{context}");
}

#[test]
fn a_removal_stopped_at_any_step_loses_nothing() {
    for request in [archive(), delete()] {
        for fault in [Fault::Kill, Fault::PowerCut, Fault::Tear(0), Fault::Tear(50)] {
            at_every_step(request, fault, |workspace, was_told, context| {
                check_aftermath(workspace, request, was_told, context);
            });
        }
    }
}

#[test]
fn an_io_error_at_any_step_loses_nothing() {
    const ENOSPC: i32 = 28;
    const EACCES: i32 = 13;
    for request in [archive(), delete()] {
        for code in [ENOSPC, EACCES] {
            for fault in [Fault::Refuse(code), Fault::RefuseAll(code)] {
                at_every_step(request, fault, |workspace, was_told, context| {
                    check_aftermath(workspace, request, was_told, context);
                });
            }
        }
    }
}

#[test]
fn a_plan_deleted_during_writes_keeps_every_acknowledged_write() {
    let workspace = Workspace::new();
    let store = || store_over(&DiskFiles);
    let n_written = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let plan = &workspace.plan;
                scope.spawn(move || {
                    let add = |n: &usize| {
                        let line = format!("{writer}-{n}");
                        crate::workspace::add_line(&store(), plan_at(plan), &line).is_ok()
                    };
                    (0..20).filter(add).count()
                })
            })
            .collect();
        // The plan is deleted when one of these calls gets the lock.
        while move_plan(&DiskFiles, &workspace, delete()).is_err() {}
        writers
            .into_iter()
            .map(|writer| writer.join().expect("it ends"))
            .sum::<usize>()
    });
    let kept = workspace.path().join(".planwright/trash/1/docs/plan.txt");
    let n_lines = std::fs::read_to_string(&kept).expect("it is kept").lines().count();
    assert_eq!(n_lines, n_written + 1);
    assert!(!workspace.plan.exists());
    let landed = verbs(&kept)
        .iter()
        .filter(|(_, outcome)| *outcome == ChangeOutcome::Landed)
        .count();
    assert_eq!(landed, n_written + 1, "the deletion is the last");
}
