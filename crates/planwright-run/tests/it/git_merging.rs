//! Merges, by the real git: tried aside, and given to the user's branch forwards or not at all.

use std::fs;
use std::time::Duration;

use planwright_run::git::{GitError, Integration, Merge};

use crate::git::{Sample, commit, git_in, task, write};

#[test]
fn a_user_with_a_name_is_the_author_and_their_hooks_stay_silent() {
    let sample = Sample::new();
    for hook in [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "pre-merge-commit",
        "post-commit",
    ] {
        sample.hook(hook, "exit 1");
    }
    sample.git(&["config", "commit.gpgsign", "true"]);
    sample.git(&["config", "gpg.program", "false"]);
    let worktrees = sample.worktrees();
    let (worktree, head) = task(&worktrees, "one", "b.txt", "b\n");
    let committed = commit(&worktrees, &worktree, &head);
    let who = sample.git(&["show", "--no-patch", "--format=%an %s", &committed.commit]);
    assert_eq!(who, "Somebody Do the task");
    let integration = Integration::open(&worktrees, "integration", &head).expect("a worktree");
    let merge = integration
        .merge(&head, &committed.commit, "-m --evil")
        .expect("a merge");
    assert!(matches!(merge, Merge::Candidate(_)), "{merge:?}");
}

#[test]
fn a_merge_is_tried_aside_and_then_given_to_the_users_tree() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (one, head) = task(&worktrees, "one", "b.txt", "b\n");
    let (two, _) = task(&worktrees, "two", "c.txt", "c\n");
    // The plan is written to during a run, and the user has a file of theirs.
    sample.write("plan.json", "{ \"running\": true }\n");
    sample.write("mine", "mine\n");
    let before = sample.fingerprint();
    let integration = Integration::open(&worktrees, "integration", &head).expect("a worktree");
    let mut target = head.clone();
    for (n, worktree) in [&one, &two].into_iter().enumerate() {
        let committed = commit(&worktrees, worktree, &head);
        let merge = integration
            .merge(&target, &committed.commit, "Merge a task")
            .expect("a merge");
        let Merge::Candidate(candidate) = merge else {
            panic!("{merge:?}");
        };
        assert_eq!(git_in(integration.worktree().path(), &["rev-parse", "HEAD"]), candidate);
        // A verification leaves things behind, tracked or not.
        write(integration.worktree().path(), "a.txt", "by-product\n");
        write(integration.worktree().path(), "c.txt", "by-product\n");
        if n == 0 {
            assert_eq!(sample.fingerprint(), before);
        }
        integration.advance("main", &target, &candidate).expect("advanced");
        assert_eq!(sample.head(), candidate);
        target = candidate;
    }
    assert_eq!(
        (sample.read("b.txt"), sample.read("c.txt")),
        ("b\n".to_owned(), "c\n".to_owned())
    );
    assert_eq!(sample.read("plan.json"), "{ \"running\": true }\n");
    assert_eq!(sample.git(&["status", "--porcelain"]), " M plan.json\n?? mine");
    let nothing_left = integration.merge(&target, &head, "x").expect("git");
    assert_eq!(nothing_left, Merge::Nothing);
    let path = integration.worktree().path().to_owned();
    integration.close().expect("closed");
    assert!(!path.exists());
}

#[test]
fn a_conflict_leaves_the_target_as_it_was() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (one, head) = task(&worktrees, "one", "a.txt", "ONE\ntwo\nthree\n");
    let (two, _) = task(&worktrees, "two", "a.txt", "TWO\ntwo\nthree\n");
    let integration = Integration::open(&worktrees, "integration", &head).expect("a worktree");
    let first = commit(&worktrees, &one, &head).commit;
    let Ok(Merge::Candidate(target)) = integration.merge(&head, &first, "One") else {
        panic!("no merge");
    };
    integration.advance("main", &head, &target).expect("advanced");
    sample.write("mine", "mine\n");
    let before = sample.fingerprint();
    let second = commit(&worktrees, &two, &head).commit;
    let merge = integration.merge(&target, &second, "Two").expect("git");
    assert_eq!(merge, Merge::Conflict(vec!["a.txt".to_owned()]));
    assert_eq!(sample.fingerprint(), before);
    assert_eq!(sample.repository().tip(two.branch()).expect("git"), Some(second));
    assert!(two.path().join("a.txt").exists());
    // The next merge is not hampered by it.
    let (three, since) = task(&worktrees, "three", "d.txt", "d\n");
    let third = commit(&worktrees, &three, &since).commit;
    assert!(matches!(
        integration.merge(&target, &third, "Three"),
        Ok(Merge::Candidate(_))
    ));
    integration.close().expect("closed");
}

#[test]
fn files_of_the_user_in_the_way_keep_the_branch_where_it_is() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (one, head) = task(&worktrees, "one", "a.txt", "ONE\n");
    write(one.path(), "new.txt", "new\n");
    let committed = commit(&worktrees, &one, &head).commit;
    let integration = Integration::open(&worktrees, "integration", &head).expect("a worktree");
    let Ok(Merge::Candidate(candidate)) = integration.merge(&head, &committed, "One") else {
        panic!("no merge");
    };
    for (path, text) in [("a.txt", "mine\n"), ("new.txt", "mine\n")] {
        let old = fs::read(sample.root.join(path)).ok();
        sample.write(path, text);
        let before = sample.fingerprint();
        let refused = integration.advance("main", &head, &candidate);
        assert!(
            matches!(&refused, Err(GitError::InTheWay { paths }) if paths == &[path]),
            "{refused:?}"
        );
        assert_eq!(sample.fingerprint(), before);
        match old {
            Some(old) => fs::write(sample.root.join(path), old).expect("a file"),
            None => fs::remove_file(sample.root.join(path)).expect("removed"),
        }
    }
    // The candidate is still there.
    integration.advance("main", &head, &candidate).expect("advanced");
    assert_eq!(sample.read("a.txt"), "ONE\n");
}

#[test]
fn a_branch_that_is_not_checked_out_is_moved_without_files() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (one, head) = task(&worktrees, "one", "b.txt", "b\n");
    let committed = commit(&worktrees, &one, &head).commit;
    sample.git(&["branch", "target"]);
    let integration = Integration::open(&worktrees, "integration", &head).expect("a worktree");
    let before = sample.fingerprint();
    integration.advance("target", &head, &committed).expect("advanced");
    assert_eq!(sample.git(&["rev-parse", "target"]), committed);
    assert_eq!(sample.fingerprint(), before);
    // Never backwards, and never from where it no longer is.
    for (from, to) in [(&committed, &head), (&head, &committed)] {
        let refused = integration.advance("target", from, to);
        assert!(matches!(refused, Err(GitError::Moved { .. })), "{refused:?}");
    }
    assert_eq!(sample.git(&["rev-parse", "target"]), committed);
    assert!(matches!(
        integration.advance("--force", &head, &committed),
        Err(GitError::BadName { .. })
    ));
}

#[test]
fn the_worktree_of_merges_is_found_again_after_a_crash() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (one, head) = task(&worktrees, "one", "b.txt", "b\n");
    let committed = commit(&worktrees, &one, &head).commit;
    let integration = Integration::open(&worktrees, "integration", &head).expect("a worktree");
    write(integration.worktree().path(), "b.txt", "in the way\n");
    let again = Integration::open(&worktrees, "integration", &head).expect("a worktree");
    assert!(matches!(again.merge(&head, &committed, "x"), Ok(Merge::Candidate(_))));
    // Without its link it is nobody's, and nothing of the user's is reset instead.
    fs::remove_file(again.worktree().path().join(".git")).expect("removed");
    sample.write("a.txt", "mine\n");
    let before = sample.fingerprint();
    drop(again.merge(&head, &committed, "x"));
    assert_eq!(sample.fingerprint(), before);
    assert!(matches!(
        Integration::open(&worktrees, "integration", &head),
        Err(GitError::NotAWorktree(_))
    ));
}

#[test]
fn a_worktree_with_work_is_not_taken_for_merges() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (one, head) = task(&worktrees, "one", "b.txt", "b\n");
    for detach in [false, true] {
        if detach {
            git_in(one.path(), &["checkout", "--quiet", "--detach"]);
        }
        let refused = Integration::open(&worktrees, "one", &head);
        assert!(matches!(refused, Err(GitError::NotAWorktree(_))), "{refused:?}");
    }
    assert!(one.path().join("b.txt").exists());
}

#[test]
fn a_lock_in_the_users_tree_is_waited_for() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (one, head) = task(&worktrees, "one", "b.txt", "b\n");
    let committed = commit(&worktrees, &one, &head).commit;
    let integration = Integration::open(&worktrees, "integration", &head).expect("a worktree");
    let lock = sample.root.join(".git/index.lock");
    fs::write(&lock, "").expect("a lock");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            fs::remove_file(&lock).expect("removed");
        });
        integration.advance("main", &head, &committed).expect("advanced");
    });
    assert_eq!(sample.read("b.txt"), "b\n");
}

#[test]
fn messages_from_plans_are_only_messages() {
    let sample = Sample::new();
    sample.git(&["config", "commit.cleanup", "strip"]);
    let worktrees = sample.worktrees();
    let (one, head) = task(&worktrees, "one", "b.txt", "b\n");
    let integration = Integration::open(&worktrees, "integration", &head).expect("a worktree");
    for (n, message) in ["# 1", "", "--amend", "a\0b", "\u{1b}[31mä", &"x".repeat(300_000)]
        .iter()
        .enumerate()
    {
        write(one.path(), "b.txt", &format!("{n}\n"));
        let committed = worktrees
            .commit_all(&one, &head, message, &|_| false)
            .expect("committed");
        assert!(committed.was_made, "{message:?}");
        let merge = integration.merge(&head, &committed.commit, message).expect("a merge");
        assert!(matches!(merge, Merge::Candidate(_)), "{merge:?}");
    }
    let subjects = sample.git(&["log", "--format=%s", "--reverse", &format!("main..{}", one.branch())]);
    assert!(subjects.starts_with("# 1\nWork of a task\n--amend\nab\n"), "{subjects}");
}

#[test]
fn odd_folders_and_longer_ids_are_no_trouble() {
    for (name, options) in [
        ("-x \n$(y) 'z'\\", &[][..]),
        ("\n", &[]),
        ("repository", &["--object-format=sha256"]),
    ] {
        let sample = Sample::odd(name, options);
        let worktrees = sample.worktrees();
        assert_eq!(sample.repository().toplevel(), sample.root);
        let (one, head) = task(&worktrees, "one", "b.txt", "b\n");
        let committed = commit(&worktrees, &one, &head).commit;
        let integration = Integration::open(&worktrees, "integration", &head).expect("a worktree");
        let Ok(Merge::Candidate(candidate)) = integration.merge(&head, &committed, "One") else {
            panic!("no merge");
        };
        integration.advance("main", &head, &candidate).expect("advanced");
        integration.close().expect("closed");
        assert_eq!(sample.read("b.txt"), "b\n");
        worktrees.remove(&one).expect("removed");
        worktrees.delete_branch(one.branch(), "main").expect("deleted");
        assert_eq!(worktrees.list().expect("git").len(), 1);
    }
}
