//! Worktrees of tasks, by the real git: what is committed, what is put aside, and that nothing is removed that is not merged.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use planwright_run::git::{GitError, LeftoverState, Worktree};

use crate::git::{Sample, commit, git_in, nothing, odd_name, task, write};

#[test]
fn branches_of_tasks_find_a_free_name() {
    let sample = Sample::new();
    let repository = sample.repository();
    let first = repository.task_branch("run-1", "US 1").expect("a name");
    assert!(first.starts_with("planwright/run-1/us-1-"), "{first}");
    sample.git(&["branch", &first]);
    assert_eq!(
        repository.task_branch("run-1", "US 1").expect("a name"),
        format!("{first}-2")
    );
    sample.git(&["branch", "-D", &first]);
    sample.git(&["branch", "planwright"]);
    let flat = repository.task_branch("run-1", "US 1").expect("a name");
    assert!(flat.starts_with("planwright-run-1-us-1-"), "{flat}");
    sample
        .worktrees()
        .create("x", &flat, &sample.head())
        .expect("a worktree");
}

#[test]
fn a_worktree_begins_at_a_commit_and_does_not_show_in_the_users_tree() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let before = sample.fingerprint();
    let (worktree, head) = task(&worktrees, "one", "b.txt", "b\n");
    assert_eq!(git_in(worktree.path(), &["rev-parse", "HEAD"]), head);
    assert_eq!(
        git_in(worktree.path(), &["symbolic-ref", "--short", "HEAD"]),
        worktree.branch()
    );
    assert_eq!(worktrees.changed_paths(&worktree, &head).expect("git"), ["b.txt"]);
    assert_eq!(sample.fingerprint(), before);
    let list = worktrees.list().expect("git");
    assert_eq!(list[0].path, sample.root);
    assert_eq!(list[1].path, worktree.path());
    assert_eq!(list[1].branch.as_deref(), Some(worktree.branch()));
    let again = worktrees.open(worktree.path(), worktree.branch()).expect("a worktree");
    assert_eq!(again.path(), worktree.path());
}

#[test]
fn worktrees_with_hostile_names_are_not_made() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let head = sample.head();
    for name in [
        "",
        "..",
        "../x",
        "-x",
        "a/b",
        ".git",
        "a b",
        "a\0",
        "--force",
        &"x".repeat(200),
    ] {
        let refused = worktrees.create(name, "fine", &head);
        assert!(
            matches!(refused, Err(GitError::BadName { .. })),
            "{name:?}: {refused:?}"
        );
    }
    for branch in ["--force", "", "a b", "HEAD", "x.lock"] {
        let refused = worktrees.create("fine", branch, &head);
        assert!(
            matches!(refused, Err(GitError::BadName { .. })),
            "{branch:?}: {refused:?}"
        );
    }
    assert_eq!(worktrees.list().expect("git").len(), 1);
    assert_eq!(sample.git(&["branch", "--list"]), "* main");
}

#[test]
fn what_is_there_already_is_not_overwritten() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    sample.write(".planwright/worktrees/one/precious", "x");
    let refused = worktrees.create("one", "b", &sample.head());
    assert!(matches!(refused, Err(GitError::Exists(_))), "{refused:?}");
    sample.git(&["branch", "taken"]);
    assert!(worktrees.create("two", "taken", &sample.head()).is_err());
    assert_eq!(sample.git(&["rev-parse", "taken"]), sample.head());
    // A commit that does not exist leaves neither a worktree nor a branch.
    assert!(worktrees.create("three", "c", &"a1".repeat(20)).is_err());
    assert!(!sample.repository().branch_exists("c").expect("git"));
    assert_eq!(sample.read(".planwright/worktrees/one/precious"), "x");
}

#[test]
fn worktrees_are_made_from_many_threads_at_once() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let head = sample.head();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let (worktrees, head) = (&worktrees, &head);
            scope.spawn(move || {
                let name = format!("t{n}");
                let made = worktrees.create(&name, &format!("planwright/r/{name}"), head);
                write(made.expect("a worktree").path(), "x", "x");
            });
        }
    });
    assert_eq!(worktrees.list().expect("git").len(), 7);
}

#[test]
fn everything_is_committed_but_what_is_ours_and_what_is_ignored() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (worktree, head) = task(&worktrees, "one", "new\nfile", "b\n");
    write(worktree.path(), "plan.json", "{\"done\": true}\n");
    write(worktree.path(), "ignored", "x");
    write(worktree.path(), ":(exclude)x", "x");
    fs::remove_file(worktree.path().join("a.txt")).expect("removed");
    fs::write(worktree.path().join(odd_name()), "x").expect("a file");
    assert!(
        worktrees
            .changed_paths(&worktree, &head)
            .expect("git")
            .contains(&"plan.json".to_owned())
    );

    let committed = commit(&worktrees, &worktree, &head);
    assert!(committed.was_made);
    assert_eq!(committed.put_aside, ["plan.json"]);
    let names = git_in(
        worktree.path(),
        &["diff", "--name-only", "-z", "--no-renames", &head, "HEAD"],
    );
    assert_eq!(names.split('\0').filter(|name| !name.is_empty()).count(), 4, "{names}");
    assert_eq!(git_in(worktree.path(), &["status", "--porcelain"]), "");
    assert_eq!(
        fs::read_to_string(worktree.path().join("plan.json")).expect("a plan"),
        "{}\n"
    );
    // What the agent did to its plan is not lost.
    let aside = committed.aside.expect("a commit");
    assert_eq!(sample.git(&["show", &format!("{aside}:plan.json")]), "{\"done\": true}");
    assert!(sample.git(&["for-each-ref", "refs/planwright/aside"]).contains(&aside));

    let again = commit(&worktrees, &worktree, &head);
    assert!(!again.was_made);
    assert_eq!(again.commit, committed.commit);
    assert_eq!(again.aside, None);
}

#[test]
fn what_an_agent_committed_of_the_plan_is_taken_back() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (worktree, head) = task(&worktrees, "one", "plan.json", "[]\n");
    write(worktree.path(), "b.txt", "b\n");
    git_in(worktree.path(), &["add", "--all"]);
    git_in(worktree.path(), &["commit", "--quiet", "-m", "Mine"]);
    let committed = commit(&worktrees, &worktree, &head);
    assert!(committed.was_made);
    assert_eq!(
        (committed.put_aside.as_slice(), committed.aside),
        (&["plan.json".to_owned()][..], None)
    );
    assert_eq!(sample.git(&["diff", "--name-only", &head, &committed.commit]), "b.txt");
}

#[test]
fn a_user_without_a_name_can_have_commits() {
    let sample = Sample::new();
    sample.git(&["config", "user.name", ""]);
    sample.git(&["config", "user.email", ""]);
    let worktrees = sample.worktrees();
    let (worktree, head) = task(&worktrees, "one", "b.txt", "b\n");
    let committed = commit(&worktrees, &worktree, &head);
    let who = sample.git(&["show", "--no-patch", "--format=%an <%ae>", &committed.commit]);
    assert_eq!(who, "planwright <planwright@localhost>");
}

#[test]
fn a_branch_follows_an_agent_that_went_to_another_one() {
    for words in [
        &["checkout", "--quiet", "-b", "mine"][..],
        &["checkout", "--quiet", "--detach"],
    ] {
        let sample = Sample::new();
        let worktrees = sample.worktrees();
        let (worktree, head) = task(&worktrees, "one", "b.txt", "b\n");
        git_in(worktree.path(), words);
        git_in(worktree.path(), &["add", "--all"]);
        git_in(worktree.path(), &["commit", "--quiet", "-m", "Mine"]);
        write(worktree.path(), "c.txt", "c\n");
        let committed = commit(&worktrees, &worktree, &head);
        let tip = sample.repository().tip(worktree.branch()).expect("git");
        assert_eq!(tip.as_ref(), Some(&committed.commit));
        assert_eq!(
            sample.git(&["diff", "--name-only", &head, &committed.commit]),
            "b.txt\nc.txt"
        );
    }
}

#[test]
fn an_agent_that_left_the_history_of_its_branch_is_told() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (worktree, head) = task(&worktrees, "one", "b.txt", "b\n");
    commit(&worktrees, &worktree, &head);
    git_in(worktree.path(), &["checkout", "--quiet", "--detach", &head]);
    write(worktree.path(), "c.txt", "c\n");
    let refused = worktrees.commit_all(&worktree, &head, "x", &nothing);
    assert!(matches!(refused, Err(GitError::OffBranch { .. })), "{refused:?}");
    assert!(worktree.path().join("c.txt").exists());
}

#[test]
fn a_worktree_that_lost_its_link_is_not_taken_for_the_users_tree() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (worktree, head) = task(&worktrees, "one", "b.txt", "b\n");
    let before = sample.fingerprint();
    fs::remove_file(worktree.path().join(".git")).expect("removed");
    assert!(matches!(
        worktrees.open(worktree.path(), worktree.branch()),
        Err(GitError::NotAWorktree(_))
    ));
    // The work is committed to its own branch all the same.
    let committed = commit(&worktrees, &worktree, &head);
    assert_eq!(sample.git(&["diff", "--name-only", &head, &committed.commit]), "b.txt");
    assert_eq!(sample.fingerprint(), before);
    assert!(worktrees.remove(&worktree).is_err());
    assert!(worktree.path().join("b.txt").exists());
}

#[test]
fn processes_in_a_worktree_do_not_find_the_repository_around_it() {
    let sample = Sample::new();
    let (worktree, _) = task(&sample.worktrees(), "one", "b.txt", "b\n");
    fs::remove_file(worktree.path().join(".git")).expect("removed");
    let status = Command::new("git")
        .args(["rev-parse", "--quiet", "--git-dir"])
        .current_dir(worktree.path())
        .envs(worktree.environment())
        .output()
        .expect("git");
    assert!(!status.status.success());
}

#[test]
fn marks_of_conflicts_and_foreign_repositories_are_not_committed() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (one, head) = task(&worktrees, "one", "a.txt", "ONE\ntwo\nthree\n");
    let (two, _) = task(&worktrees, "two", "a.txt", "TWO\ntwo\nthree\n");
    commit(&worktrees, &one, &head);
    commit(&worktrees, &two, &head);
    let merge = Command::new("git")
        .args(["merge", one.branch()])
        .current_dir(two.path())
        .output();
    assert!(!merge.expect("git").status.success());
    let refused = worktrees.commit_all(&two, &head, "x", &nothing);
    assert!(
        matches!(&refused, Err(GitError::Unfinished { paths, .. }) if paths == &["a.txt"]),
        "{refused:?}"
    );
    fs::create_dir(one.path().join("inner")).expect("a folder");
    git_in(&one.path().join("inner"), &["init", "--quiet"]);
    write(one.path(), "inner/x", "x");
    assert!(worktrees.commit_all(&one, &head, "x", &nothing).is_err());
    git_in(&one.path().join("inner"), &["add", "x"]);
    let who = ["-c", "user.name=x", "-c", "user.email=x"];
    git_in(
        &one.path().join("inner"),
        &[&who[..], &["commit", "--quiet", "-m", "x"]].concat(),
    );
    let refused = worktrees.commit_all(&one, &head, "x", &nothing);
    assert!(
        matches!(&refused, Err(GitError::Embedded { paths, .. }) if paths == &["inner"]),
        "{refused:?}"
    );
    assert!(worktrees.remove(&one).is_err());
    assert!(one.path().join("inner/x").exists());
}

#[test]
fn a_worktree_with_work_is_never_removed() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (worktree, head) = task(&worktrees, "one", "b.txt", "b\n");
    let refused = worktrees.remove(&worktree);
    assert!(
        matches!(&refused, Err(GitError::NotClean { paths, .. }) if paths == &["b.txt"]),
        "{refused:?}"
    );
    assert!(worktrees.forget(worktree.path()).is_err());
    assert!(worktree.path().join("b.txt").exists());

    git_in(worktree.path(), &["checkout", "--quiet", "--detach"]);
    git_in(worktree.path(), &["add", "--all"]);
    git_in(worktree.path(), &["commit", "--quiet", "-m", "Nowhere else"]);
    let refused = worktrees.remove(&worktree);
    assert!(matches!(refused, Err(GitError::OffBranch { .. })), "{refused:?}");

    commit(&worktrees, &worktree, &head);
    write(worktree.path(), "ignored", "x");
    worktrees.remove(&worktree).expect("removed");
    assert!(!worktree.path().exists());
    assert!(sample.repository().branch_exists(worktree.branch()).expect("git"));
}

#[test]
fn only_merged_branches_are_deleted() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (worktree, head) = task(&worktrees, "one", "b.txt", "b\n");
    let branch = worktree.branch();
    let refused = worktrees.delete_branch(branch, "main");
    assert!(matches!(refused, Err(GitError::CheckedOut { .. })), "{refused:?}");
    commit(&worktrees, &worktree, &head);
    worktrees.remove(&worktree).expect("removed");
    let refused = worktrees.delete_branch(branch, "main");
    assert!(matches!(refused, Err(GitError::NotMerged { .. })), "{refused:?}");
    assert!(!sample.repository().is_merged(branch, "main").expect("git"));
    assert!(matches!(
        worktrees.delete_branch("none", "main"),
        Err(GitError::NoBranch(_))
    ));
    assert!(worktrees.delete_branch("main", "main").is_err());
    sample.git(&["merge", "--quiet", branch]);
    // It does not matter what is checked out.
    sample.git(&["checkout", "--quiet", "--detach", &head]);
    assert!(sample.repository().is_merged(branch, "main").expect("git"));
    worktrees.delete_branch(branch, "main").expect("deleted");
    assert!(!sample.repository().branch_exists(branch).expect("git"));
}

#[test]
fn a_lock_is_waited_for_and_then_told() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let (one, head) = task(&worktrees, "one", "b.txt", "b\n");
    let lock = PathBuf::from(git_in(one.path(), &["rev-parse", "--absolute-git-dir"])).join("index.lock");
    fs::write(&lock, "").expect("a lock");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            fs::remove_file(&lock).expect("removed");
        });
        assert!(commit(&worktrees, &one, &head).was_made);
    });
    write(one.path(), "c.txt", "c\n");
    fs::write(&lock, "").expect("a lock");
    let refused = worktrees.commit_all(&one, &head, "x", &nothing);
    let message = refused.as_ref().expect_err("locked").to_string();
    assert!(matches!(refused, Err(GitError::Locked { .. })), "{refused:?}");
    assert!(message.contains("index.lock"), "{message}");
    assert!(lock.exists());
    // When nobody is left who could hold it, it is moved out of the way.
    assert!(worktrees.move_locks_aside(&one).expect("moved"));
    assert!(!worktrees.move_locks_aside(&one).expect("nothing"));
    assert!(commit(&worktrees, &one, &head).was_made);
}

#[test]
fn what_is_left_over_is_judged_and_only_the_merged_goes() {
    let sample = Sample::new();
    let worktrees = sample.worktrees();
    let trees: Vec<(Worktree, String)> = ["clean", "dirty", "gone", "locked", "merged", "unmerged", "wrecked"]
        .iter()
        .map(|name| task(&worktrees, name, &format!("{name}.txt"), "x\n"))
        .collect();
    let named = |name: &str| {
        trees
            .iter()
            .find(|(tree, _)| tree.path().ends_with(name))
            .expect("a tree")
    };
    fs::remove_file(named("clean").0.path().join("clean.txt")).expect("removed");
    for name in ["merged", "unmerged"] {
        let (tree, head) = named(name);
        commit(&worktrees, tree, head);
    }
    sample.git(&["merge", "--quiet", named("merged").0.branch()]);
    sample.git(&["worktree", "lock", &named("locked").0.path().display().to_string()]);
    fs::remove_dir_all(named("gone").0.path()).expect("removed");
    fs::remove_file(named("wrecked").0.path().join(".git")).expect("removed");

    let below = sample.root.join(".planwright");
    let leftovers = worktrees.leftovers(&below, "main").expect("git");
    let state = |name: &str| {
        let found = leftovers.iter().find(|left| left.worktree.path.ends_with(name));
        found.expect("a leftover").state.clone()
    };
    assert_eq!(leftovers.len(), 7);
    assert_eq!(state("clean"), LeftoverState::Removable);
    assert_eq!(state("dirty"), LeftoverState::Dirty(vec!["dirty.txt".to_owned()]));
    assert_eq!(state("gone"), LeftoverState::Missing);
    assert_eq!(state("locked"), LeftoverState::Locked);
    assert_eq!(state("merged"), LeftoverState::Removable);
    assert_eq!(state("unmerged"), LeftoverState::Unmerged);
    assert!(matches!(state("wrecked"), LeftoverState::Broken(_)));
    assert_eq!(
        worktrees
            .leftovers(&sample.root.join("elsewhere"), "main")
            .expect("git"),
        []
    );

    let outcomes: Vec<bool> = leftovers
        .iter()
        .map(|left| worktrees.clear_away(&left.worktree, "main").is_ok())
        .collect();
    assert_eq!(outcomes.iter().filter(|is_gone| **is_gone).count(), 3);
    for name in ["dirty", "locked", "unmerged", "wrecked"] {
        assert!(named(name).0.path().join(format!("{name}.txt")).exists(), "{name}");
        assert!(
            sample.repository().branch_exists(named(name).0.branch()).expect("git"),
            "{name}"
        );
    }
    for name in ["clean", "merged", "gone"] {
        assert!(!named(name).0.path().exists(), "{name}");
        assert!(
            !sample.repository().branch_exists(named(name).0.branch()).expect("git"),
            "{name}"
        );
    }
}
