//! The effects of an update on a plan, and what it does not change.

use std::convert::Infallible;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use planwright_core::text::SourceText;
use planwright_run::files::DiskFiles;
use planwright_run::journal::{ChangeOutcome, ChangeRecord, JournalRepair};
use planwright_run::store::{self, LoadError, PreparedChange, Store, StoreError, UpdateError};

use crate::workspace::{Workspace, add_line, clock, plan_at, set_state, store_over, undo};

fn store() -> Store<'static> {
    Store {
        clock: &clock,
        ..Store::default()
    }
}

/// Returns the change that replaces the whole text.
fn whole(text: &str) -> Result<Option<PreparedChange>, Infallible> {
    Ok(Some(PreparedChange {
        text: Some(SourceText::new(text)),
        change: ChangeRecord::default(),
    }))
}

#[test]
fn a_change_is_in_the_file_and_in_the_history() {
    let workspace = Workspace::new();
    let updated = workspace.add("second");
    assert_eq!(updated.source.as_str(), "first\nsecond\n");
    assert_eq!(workspace.text(), "first\nsecond\n");
    assert_eq!((updated.change, updated.notices.as_slice()), (Some(1), [].as_slice()));
    let changes = workspace.history().changes().to_vec();
    assert_eq!(changes[0].outcome, ChangeOutcome::Landed);
    assert_eq!(changes[0].time, clock());
    let text = changes[0].change.text.clone().expect("a text");
    assert_eq!(text.revert("first\nsecond\n").as_deref(), Some("first\n"));
    assert_eq!(text.apply("first\n").as_deref(), Some("first\nsecond\n"));
    assert_eq!(text.revert("something else"), None);
}

#[test]
fn nothing_to_change_writes_nothing() {
    let workspace = Workspace::new();
    let updated = store()
        .update(plan_at(&workspace.plan), "set", |source, _| whole(source.as_str()))
        .expect("an update");
    assert_eq!(updated.change, None);
    let updated = store()
        .update(plan_at(&workspace.plan), "set", |_, _| Ok::<_, Infallible>(None))
        .expect("an update");
    assert_eq!(updated.change, None);
    assert_eq!(workspace.history().records().count(), 0);
}

#[test]
fn the_caller_may_refuse_a_change() {
    let workspace = Workspace::new();
    let refused = store().update(plan_at(&workspace.plan), "done", |_, _| Err("it is not running"));
    assert!(matches!(refused, Err(UpdateError::Refused("it is not running"))));
    assert_eq!(workspace.text(), "first\n");
    assert_eq!(workspace.history().records().count(), 0);
}

#[test]
fn a_change_is_prepared_again_after_a_concurrent_edit() {
    let workspace = Workspace::new();
    workspace.add("second");
    let mut n_calls = 0;
    let updated = store()
        .update(plan_at(&workspace.plan), "add", |source, _| {
            n_calls += 1;
            if n_calls == 1 {
                std::fs::write(&workspace.plan, "theirs\n").expect("written");
            }
            whole(&format!("{}ours\n", source.as_str()))
        })
        .expect("an update");
    assert_eq!((n_calls, workspace.text().as_str()), (2, "theirs\nours\n"));
    assert_eq!(updated.notices, [JournalRepair::External]);
    let outcomes: Vec<ChangeOutcome> = workspace
        .history()
        .changes()
        .to_vec()
        .iter()
        .map(|past| past.outcome)
        .collect();
    assert_eq!(
        outcomes,
        [ChangeOutcome::Landed, ChangeOutcome::Void, ChangeOutcome::Landed]
    );
    let kinds: Vec<String> = workspace
        .history()
        .records()
        .map(|record| record.kind.name().to_owned())
        .collect();
    assert_eq!(
        kinds,
        ["change", "landed", "change", "void", "external", "change", "landed"]
    );
}

#[test]
fn a_constantly_changing_file_is_left_alone() {
    let workspace = Workspace::new();
    let mut n_calls = 0;
    let result = store().update(plan_at(&workspace.plan), "add", |source, _| {
        n_calls += 1;
        std::fs::write(&workspace.plan, format!("theirs {n_calls}\n")).expect("written");
        whole(&format!("{}ours\n", source.as_str()))
    });
    assert!(matches!(result, Err(UpdateError::Store(StoreError::Changing { .. }))));
    assert_eq!(workspace.text(), format!("theirs {n_calls}\n"));
    assert_eq!(workspace.names(), ["plan.txt"]);
    assert!(
        workspace
            .outcomes()
            .iter()
            .all(|(_, outcome)| *outcome == ChangeOutcome::Void)
    );
}

#[test]
fn external_edits_are_recorded_once() {
    let workspace = Workspace::new();
    workspace.add("second");
    std::fs::write(&workspace.plan, "theirs\n").expect("written");
    assert_eq!(workspace.add("third").notices, [JournalRepair::External]);
    assert_eq!(workspace.add("fourth").notices, []);
    let history = workspace.history();
    let externals = history.records().filter(|record| record.kind.name() == "external");
    assert_eq!(externals.count(), 1);
}

#[test]
fn a_vanished_file_is_named() {
    let workspace = Workspace::new();
    let gone = workspace.path().join("docs/gone.txt");
    let result = add_line(&store(), plan_at(&gone), "x");
    assert!(matches!(
        result,
        Err(UpdateError::Store(StoreError::Load(LoadError::Missing { .. })))
    ));
    let result = store().update(plan_at(&workspace.plan), "add", |_, _| {
        std::fs::remove_file(&workspace.plan).expect("removed");
        whole("new\n")
    });
    let Err(UpdateError::Store(error)) = result else {
        panic!("it is gone");
    };
    assert!(matches!(error, StoreError::Load(LoadError::Missing { .. })), "{error}");
    assert!(!workspace.plan.exists());
    assert_eq!(workspace.names(), [""; 0]);
}

#[test]
fn links_stay_and_share_one_history() {
    let workspace = Workspace::new();
    let link = workspace.path().join("link.txt");
    symlink(&workspace.plan, &link).expect("a link");
    add_line(&store(), plan_at(&link), "through the link").expect("an update");
    workspace.add("directly");
    assert!(std::fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert_eq!(workspace.text(), "first\nthrough the link\ndirectly\n");
    assert_eq!(workspace.history().changes().to_vec().len(), 2);
    assert_eq!(store::history(plan_at(&link)).expect("a history").changes().len(), 2);
}

#[test]
fn permissions_stay_and_hold_for_the_journal() {
    for mode in [0o600, 0o640, 0o664] {
        let workspace = Workspace::new();
        std::fs::set_permissions(&workspace.plan, std::fs::Permissions::from_mode(mode)).expect("a mode");
        workspace.add("second");
        let mode_of = |path: &Path| std::fs::metadata(path).expect("a file").mode() & 0o777;
        assert_eq!(mode_of(&workspace.plan), mode);
        assert_eq!(mode_of(&workspace.journal()), mode | 0o600);
    }
}

#[test]
fn a_write_protected_plan_is_left_alone() {
    let workspace = Workspace::new();
    std::fs::set_permissions(&workspace.plan, std::fs::Permissions::from_mode(0o444)).expect("a mode");
    let result = add_line(&store(), plan_at(&workspace.plan), "second");
    assert!(matches!(result, Err(UpdateError::Store(StoreError::Protected { .. }))));
    assert_eq!(workspace.text(), "first\n");
    assert_eq!(workspace.history().records().count(), 0);
}

#[test]
fn something_else_at_the_place_of_the_state_folder_is_named() {
    for is_link in [false, true] {
        let workspace = Workspace::new();
        let state = workspace.path().join(".planwright");
        std::fs::create_dir(workspace.path().join(".git")).expect("a root");
        match is_link {
            false => std::fs::write(&state, "mine").expect("a file"),
            true => symlink("nowhere", &state).expect("a link"),
        }
        let result = add_line(&store(), plan_at(&workspace.plan), "second");
        let Err(UpdateError::Store(error @ StoreError::NoStateFolder { .. })) = result else {
            panic!("it must be refused");
        };
        let source = std::error::Error::source(&error).expect("a reason").to_string();
        let what = if is_link {
            "is a link that leads nowhere"
        } else {
            "is not a folder"
        };
        assert!(source.contains(".planwright") && source.contains(what), "{source}");
        assert_eq!(workspace.text(), "first\n");
    }
}

#[test]
fn the_owner_is_kept_if_the_system_allows_it() {
    let workspace = Workspace::new();
    if std::os::unix::fs::chown(&workspace.plan, Some(4_321), Some(1_234)).is_err() {
        println!("not tried: only the superuser can give files away");
        return;
    }
    workspace.add("second");
    let metadata = std::fs::metadata(&workspace.plan).expect("a file");
    assert_eq!((metadata.uid(), metadata.gid()), (4_321, 1_234));
}

#[test]
fn a_read_only_folder_is_an_error_and_keeps_the_old_text() {
    let workspace = Workspace::new();
    workspace.add("second");
    let folder = workspace.path().join("docs");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).expect("a mode");
    let may_write = std::fs::write(folder.join("probe"), "").is_ok();
    let result = add_line(&store(), plan_at(&workspace.plan), "third");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    if may_write {
        println!("not tried: the superuser may write anywhere; `crashes` refuses in its place");
        return;
    }
    assert!(matches!(result, Err(UpdateError::Store(StoreError::ReadOnly { .. }))));
    assert_eq!(workspace.text(), "first\nsecond\n");
}

#[test]
fn a_file_with_other_names_is_left_alone() {
    let workspace = Workspace::new();
    std::fs::hard_link(&workspace.plan, workspace.path().join("other.txt")).expect("a link");
    let result = add_line(&store(), plan_at(&workspace.plan), "second");
    assert!(matches!(
        result,
        Err(UpdateError::Store(StoreError::HardLinked { n_links: 2, .. }))
    ));
    assert_eq!(workspace.text(), "first\n");
    assert_eq!(workspace.history().records().count(), 0);
}

#[test]
fn bytes_that_are_not_utf8_are_never_written_over() {
    let workspace = Workspace::new();
    std::fs::write(&workspace.plan, b"first \xff\n").expect("written");
    let result = add_line(&store(), plan_at(&workspace.plan), "second");
    assert!(matches!(result, Err(UpdateError::Store(StoreError::NotUtf8 { .. }))));
    assert_eq!(std::fs::read(&workspace.plan).expect("read"), b"first \xff\n");
    set_state(&store(), plan_at(&workspace.plan), "T1", "done").expect("the text is not touched");
}

#[test]
fn temporary_files_of_a_dead_writer_are_removed() {
    let workspace = Workspace::new();
    workspace.add("second");
    let key = workspace.journal();
    let stem = key.file_stem().expect("a name").to_string_lossy().into_owned();
    let hash = stem.rsplit('-').next().expect("a hash");
    workspace.write(&format!("docs/.planwright-{hash}-999999-0123456789abcdef.tmp"), "half");
    workspace.write(
        "docs/.planwright-0000000000000000-1-0123456789abcdef.tmp",
        "of a living writer",
    );
    workspace.add("third");
    let expected = [".planwright-0000000000000000-1-0123456789abcdef.tmp", "plan.txt"];
    assert_eq!(workspace.names(), expected);
}

#[test]
fn changes_are_undone_one_after_the_other() {
    let workspace = Workspace::new();
    workspace.add("second");
    workspace.add("third");
    let plan = plan_at(&workspace.plan);
    undo(&store(), plan).expect("an update");
    assert_eq!(workspace.text(), "first\nsecond\n");
    undo(&store(), plan).expect("an update");
    assert_eq!(workspace.text(), "first\n");
    assert_eq!(undo(&store(), plan).expect("an update").change, None);
    workspace.add("fourth");
    undo(&store(), plan).expect("an update");
    assert_eq!(workspace.text(), "first\n");
    let undone: Vec<bool> = workspace
        .history()
        .changes()
        .iter()
        .map(|past| past.undone_by.is_some())
        .collect();
    assert_eq!(undone, [true, true, false, false, true, false]);
}

#[test]
fn states_that_only_the_journal_holds_are_kept() {
    let workspace = Workspace::new();
    let plan = plan_at(&workspace.plan);
    set_state(&store(), plan, "T1", "running").expect("an update");
    set_state(&store(), plan, "T2", "running").expect("an update");
    set_state(&store(), plan, "T1", "done").expect("an update");
    let states = workspace.history().task_states();
    assert_eq!(states["T1"].state.to, "done");
    assert_eq!(states["T1"].state.from.as_deref(), Some("running"));
    assert_eq!(states["T1"].by.as_deref(), Some("somebody"));
    assert_eq!(states["T2"].state.to, "running");
    assert_eq!(workspace.text(), "first\n");
}

#[test]
fn the_state_folder_hides_from_git_and_keeps_what_the_user_wrote() {
    let workspace = Workspace::new();
    workspace.add("second");
    let ignore = workspace.path().join(".planwright/.gitignore");
    assert_eq!(std::fs::read_to_string(&ignore).expect("read"), "*\n");
    std::fs::write(&ignore, "locks\n").expect("written");
    workspace.add("third");
    assert_eq!(std::fs::read_to_string(&ignore).expect("read"), "locks\n");
}

#[test]
fn history_writes_nothing() {
    let workspace = Workspace::new();
    assert_eq!(workspace.history().records().count(), 0);
    assert!(!workspace.path().join(".planwright").exists());
}

#[test]
fn a_plan_without_a_workspace_keeps_its_state_next_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("plan.txt");
    std::fs::write(&plan, "").expect("written");
    add_line(&store_over(&DiskFiles), plan_at(&plan), "x").expect("an update");
    assert!(folder.path().join(".planwright/journal").is_dir());
}
