//! Replays, the branch of a plan and the slots for verification, with the real git.

use std::fs;
use std::path::PathBuf;

use planwright_run::config::Cleaning;
use planwright_run::git::{
    BranchStart, Checkouts, GitError, LandMode, LandRequest, LandingCommit, Pool, Replay, SnapshotRequest,
    TargetBranch, TaskCheckout, UndoneMove, message_of_uncommitted,
};

use crate::git::{Sample, git_in, write};

struct Fixture {
    sample: Sample,
    _outside: tempfile::TempDir,
    outside: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let outside = tempfile::tempdir().expect("a folder");
        Fixture {
            sample: Sample::new(),
            outside: outside.path().canonicalize().expect("a path"),
            _outside: outside,
        }
    }

    fn checkouts(&self) -> Checkouts {
        Checkouts::open(&self.sample.repository(), &self.outside.join("run")).expect("checkouts")
    }

    fn holder(&self) -> PathBuf {
        self.outside.join("branches/planwright-p")
    }

    fn tree(&self, commit: &str) -> String {
        self.sample.repository().tree_of(commit).expect("a tree")
    }

    /// Commits a change on top of `parent`, on no branch.
    fn made(&self, parent: &str, name: &str, text: &str) -> String {
        let checkouts = self.checkouts();
        let checkout = checkouts.create("made", parent).expect("a checkout");
        // A file may take the place of a folder.
        let _ = std::fs::remove_dir_all(checkout.path().join(name));
        write(checkout.path(), name, text);
        let candidate = taken(&checkouts, &checkout, &format!("made/{}", name.replace('/', "-")));
        checkouts.remove(&checkout).expect("removed");
        candidate
    }

    fn replay(&self, candidate: &str, onto: &str) -> Replay {
        let repository = self.sample.repository();
        let base = self.sample.git(&["rev-parse", &format!("{candidate}^")]);
        repository
            .replay(
                &self.tree(&base),
                &self.tree(candidate),
                &self.tree(onto),
                &self.sample.root,
            )
            .expect("a replay")
    }
}

fn taken(checkouts: &Checkouts, checkout: &TaskCheckout, reference: &str) -> String {
    let request = SnapshotRequest {
        message: "work",
        reference,
        is_own: &|_| false,
        copied: &[],
        prepared: None,
        named: &[],
        keep_ignored: &[],
    };
    checkouts.snapshot(checkout, &request).expect("a candidate").commit
}

#[test]
fn only_the_own_changes_of_a_candidate_are_replayed() {
    let fixture = Fixture::new();
    let first = fixture.sample.head();
    fixture
        .sample
        .write("removed.txt", "the user will remove this commit\n");
    let second = fixture.sample.commit("Second");
    let candidate = fixture.made(&second, "b.txt", "b\n");
    let before = fixture.sample.fingerprint();
    let Replay::Clean { tree } = fixture.replay(&candidate, &first) else {
        panic!("it fits");
    };
    assert_eq!(
        fixture.sample.git(&["ls-tree", "--name-only", &tree]),
        ".gitignore\na.txt\nb.txt\nplan.json"
    );
    assert_eq!(
        fixture.replay(&candidate, &second),
        Replay::Clean {
            tree: fixture.tree(&candidate)
        }
    );
    assert_eq!(
        fixture.sample.fingerprint(),
        before,
        "nothing of the user's was touched"
    );
}

#[test]
fn a_conflict_is_brought_into_the_checkout() {
    let fixture = Fixture::new();
    let base = fixture.sample.head();
    let ours = fixture.made(&base, "a.txt", "one\nours\nthree\n");
    let checkouts = fixture.checkouts();
    let checkout = checkouts.create("t2.1", &base).expect("a checkout");
    write(checkout.path(), "a.txt", "one\ntheirs\nthree\n");
    write(checkout.path(), "new.txt", "new\n");
    git_in(checkout.path(), &["add", "--all"]);
    git_in(checkout.path(), &["commit", "--quiet", "-m", "Mine"]);
    let theirs = taken(&checkouts, &checkout, "t2/1");
    let Replay::Conflict(conflict) = fixture.replay(&theirs, &ours) else {
        panic!("both changed the line");
    };
    assert_eq!(conflict.paths, ["a.txt"]);
    let resolving = checkouts
        .bring_conflict(
            &checkout,
            &fixture.tree(&theirs),
            &conflict.tree,
            &ours,
            &conflict.stages,
        )
        .expect("brought");
    assert_eq!(resolving.base(), ours);
    assert_eq!(resolving.path(), checkout.path());
    let text = fs::read_to_string(checkout.path().join("a.txt")).expect("a file");
    assert!(
        text.contains("<<<<<<<") && text.contains("ours") && text.contains("theirs"),
        "{text}"
    );
    assert_eq!(
        git_in(checkout.path(), &["status", "--porcelain"]),
        "UU a.txt\n?? new.txt"
    );
    assert_eq!(git_in(checkout.path(), &["rev-parse", "HEAD"]), ours);
    write(checkout.path(), "a.txt", "one\nboth\nthree\n");
    let resolved = taken(&checkouts, &resolving, "t2/2");
    assert_eq!(
        fixture.replay(&resolved, &ours),
        Replay::Clean {
            tree: fixture.tree(&resolved)
        }
    );
    assert_eq!(
        fixture.sample.git(&["show", &format!("{resolved}:a.txt")]),
        "one\nboth\nthree"
    );
}

#[test]
fn files_are_merged_by_attributes_and_settings() {
    let fixture = Fixture::new();
    fixture.sample.write(".gitattributes", "*.log merge=union\n");
    fixture.sample.write("x.log", "start\n");
    let base = fixture.sample.commit("Log");
    let one = fixture.made(&base, "x.log", "start\none\n");
    let two = fixture.made(&base, "x.log", "start\ntwo\n");
    let Replay::Clean { tree } = fixture.replay(&two, &one) else {
        panic!("the union of both");
    };
    assert_eq!(
        fixture.sample.git(&["show", &format!("{tree}:x.log")]),
        "start\none\ntwo"
    );
}

#[test]
fn the_branch_of_a_plan_is_created_continued_or_restarted() {
    let fixture = Fixture::new();
    let repository = fixture.sample.repository();
    let head = fixture.sample.head();
    let begin = || {
        TargetBranch::begin(&repository, "planwright/p", &fixture.sample.head(), &fixture.holder()).expect("a branch")
    };
    let (target, at, start) = begin();
    assert_eq!((at.as_str(), start), (head.as_str(), BranchStart::Created));
    let work = fixture.made(&head, "b.txt", "b\n");
    target.advance(&head, &work, "land").expect("landed");
    let (_, at, start) = begin();
    assert_eq!((at.as_str(), start), (work.as_str(), BranchStart::Continued));

    // Squashed into main, which `git cherry` would not see.
    fixture.sample.git(&["merge", "--quiet", "--squash", "planwright/p"]);
    fixture.sample.write("more.txt", "the user's own\n");
    let squashed = fixture.sample.commit("Squashed");
    let (target, at, start) = begin();
    assert_eq!(at, squashed);
    assert_eq!(start, BranchStart::Restarted { previous: work.clone() });
    assert_eq!(target.tip().expect("git").as_deref(), Some(squashed.as_str()));
    let kept = repository.all_kept("previous").expect("git");
    assert_eq!(kept.iter().map(|kept| &kept.commit).collect::<Vec<_>>(), [&work]);
}

#[test]
fn a_branch_moves_by_compare_and_swap_alone() {
    let fixture = Fixture::new();
    let head = fixture.sample.head();
    let (target, ..) =
        TargetBranch::begin(&fixture.sample.repository(), "planwright/p", &head, &fixture.holder()).expect("a branch");
    let before = fixture.sample.fingerprint();
    let one = fixture.made(&head, "b.txt", "b\n");
    let two = fixture.made(&one, "c.txt", "c\n");
    target.advance(&head, &one, "land").expect("landed");
    target.advance(&head, &one, "land").expect("it is there already");
    assert!(matches!(
        target.advance(&head, &two, "land"),
        Err(GitError::Moved { .. })
    ));
    target.advance(&one, &two, "land").expect("landed");
    assert_eq!(
        fixture.sample.fingerprint(),
        before,
        "the user's checkout is not touched"
    );
    fixture.sample.git(&["branch", "-D", "planwright/p"]);
    assert!(matches!(target.advance(&one, &two, "land"), Err(GitError::NoBranch(_))));
}

#[test]
fn a_held_branch_cannot_be_checked_out_and_a_checked_out_one_does_not_move() {
    let fixture = Fixture::new();
    let head = fixture.sample.head();
    let (target, ..) =
        TargetBranch::begin(&fixture.sample.repository(), "planwright/p", &head, &fixture.holder()).expect("a branch");
    let holder = fixture.holder();
    target.hold().expect("held");
    let switch = |options: &[&str]| {
        let mut command = std::process::Command::new("git");
        let command = command
            .args(["switch", "--quiet"])
            .args(options)
            .arg("planwright/p")
            .current_dir(&fixture.sample.root);
        command.output().expect("git").status.success()
    };
    assert!(!switch(&[]), "git refuses");
    let work = fixture.made(&head, "b.txt", "b\n");
    target.advance(&head, &work, "land").expect("landed");
    assert!(switch(&["--ignore-other-worktrees"]));
    let more = fixture.made(&work, "c.txt", "c\n");
    assert!(matches!(
        target.advance(&work, &more, "land"),
        Err(GitError::InUse { .. })
    ));
    fixture.sample.git(&["switch", "--quiet", "main"]);
    target.advance(&work, &more, "land").expect("landed");
    // An interrupted run leaves it; the next one takes it over.
    let again = TargetBranch::again(&fixture.sample.repository(), "planwright/p", &fixture.holder()).expect("a branch");
    again.hold().expect("held anew");
    again.release().expect("released");
    assert_eq!(fixture.sample.git(&["worktree", "list"]).lines().count(), 1);
    assert!(!holder.exists());
}

#[test]
fn a_checked_out_branch_moves_only_while_nothing_would_be_lost() {
    let fixture = Fixture::new();
    let repository = fixture.sample.repository();
    let head = fixture.sample.head();
    let target = TargetBranch::current(&repository).expect("main");
    let own = |path: &str| path == "plan.json";
    let work = fixture.made(&head, "ignored", "it lands\n");
    fixture.sample.write("plan.json", "{\"status\": 1}\n");
    fixture.sample.write("a.txt", "uncommitted\n");
    assert!(matches!(
        target.advance_checkout(&head, &work, "test", &own),
        Err(GitError::NotClean { .. })
    ));
    fixture.sample.git(&["checkout", "--quiet", "--", "a.txt"]);
    fixture.sample.write("ignored", "the user's own\n");
    assert!(fixture.sample.head() == head);
    let work = {
        // Like an agent that changed the rules: the file lands although the user's checkout ignores it.
        let checkouts = fixture.checkouts();
        let checkout = checkouts.create("t3", &head).expect("a checkout");
        write(checkout.path(), ".gitignore", ".planwright\n");
        write(checkout.path(), "ignored", "it lands\n");
        let _ = work;
        taken(&checkouts, &checkout, "t3/1")
    };
    assert!(
        target.advance_checkout(&head, &work, "test", &own).is_err(),
        "an ignored file is in the way"
    );
    assert_eq!(fixture.sample.read("ignored"), "the user's own\n");
    assert_eq!(fixture.sample.head(), head);
    fs::remove_file(fixture.sample.root.join("ignored")).expect("removed");
    fs::write(fixture.sample.root.join(".git/CHERRY_PICK_HEAD"), format!("{head}\n")).expect("written");
    assert!(matches!(
        target.advance_checkout(&head, &work, "test", &own),
        Err(GitError::Busy { .. })
    ));
    fs::remove_file(fixture.sample.root.join(".git/CHERRY_PICK_HEAD")).expect("removed");
    target.advance_checkout(&head, &work, "test", &own).expect("landed");
    assert_eq!(fixture.sample.read("ignored"), "it lands\n");
    assert_eq!(fixture.sample.read("plan.json"), "{\"status\": 1}\n");
}

#[test]
fn a_slot_has_the_commit_and_the_caches_of_landed_work_alone() {
    let fixture = Fixture::new();
    let checkouts = fixture.checkouts();
    let pool = Pool::open(&fixture.outside.join("pool")).expect("a pool");
    let head = fixture.sample.head();
    let next = fixture.made(&head, "b.txt", "b\n");
    let slot = pool.take(checkouts.frozen()).expect("a slot");
    let other = pool.take(checkouts.frozen()).expect("another slot");
    assert_ne!(slot.path(), other.path());
    assert!(slot.prepare(&head, Cleaning::KeepCaches).expect("prepared").is_fresh);
    let tree = slot.path();
    let leave = || {
        write(&tree, "ignored", "built");
        write(&tree, "a.txt", "edited by a command");
        write(&tree, "new.txt", "left by a command");
        git_in(&tree, &["update-index", "--assume-unchanged", "a.txt"]);
        git_in(&tree, &["config", "core.fsmonitor", "/evil"]);
        fs::create_dir_all(tree.join("nested/.git")).expect("a folder");
    };
    leave();
    assert!(
        slot.prepare(&next, Cleaning::KeepCaches).expect("prepared").is_fresh,
        "it has not landed"
    );
    assert!(!tree.join("ignored").exists());
    leave();
    slot.keep_caches().expect("kept");
    let inode = |path: PathBuf| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).expect("a file"));
    let kept = inode(tree.join("b.txt"));
    assert!(!slot.prepare(&next, Cleaning::KeepCaches).expect("prepared").is_fresh);
    assert_eq!(fs::read_to_string(tree.join("ignored")).expect("kept"), "built");
    assert_eq!(
        fs::read_to_string(tree.join("a.txt")).expect("a file"),
        "one\ntwo\nthree\n"
    );
    assert!(!tree.join("new.txt").exists() && !tree.join("nested").exists());
    assert_eq!(inode(tree.join("b.txt")), kept, "what is the same is not written again");
    assert_eq!(git_in(&tree, &["rev-parse", "HEAD"]), next);
    assert_eq!(git_in(&tree, &["status", "--porcelain"]), "");
    slot.keep_caches().expect("kept");
    assert!(slot.prepare(&next, Cleaning::Full).expect("prepared").is_fresh);
    assert!(!tree.join("ignored").exists());
}

#[test]
fn compiled_python_is_not_kept() {
    let fixture = Fixture::new();
    fixture.sample.write(".gitignore", "__pycache__/\n*.pyc\nvenv/\n");
    fixture.sample.write("pkg/x.py", "A = 1\n");
    let head = fixture.sample.commit("Python");
    let pool = Pool::open(&fixture.outside.join("pool")).expect("a pool");
    let slot = pool.take(fixture.checkouts().frozen()).expect("a slot");
    slot.prepare(&head, Cleaning::KeepCaches).expect("prepared");
    for path in ["pkg/__pycache__/x.pyc", "old.pyc", "venv/lib/__pycache__/y.pyc"] {
        write(&slot.path(), path, "compiled");
    }
    slot.keep_caches().expect("kept");
    slot.prepare(&head, Cleaning::KeepCaches).expect("prepared");
    assert!(!slot.path().join("pkg/__pycache__").exists());
    assert!(!slot.path().join("old.pyc").exists());
    assert!(slot.path().join("venv/lib/__pycache__/y.pyc").exists());
}

fn land(fixture: &Fixture, mode: LandMode) -> LandingCommit {
    let (head, tip) = (
        fixture.sample.head(),
        fixture.sample.git(&["rev-parse", "planwright/p"]),
    );
    let request = LandRequest {
        head: &head,
        tip: &tip,
        mode,
        message: "Land p",
    };
    fixture.sample.repository().build_landing(&request).expect("built")
}

/// Two commits on the branch of the plan, and a later one of the user.
fn branched(file_of_user: &str) -> Fixture {
    let fixture = Fixture::new();
    let head = fixture.sample.head();
    let (target, ..) =
        TargetBranch::begin(&fixture.sample.repository(), "planwright/p", &head, &fixture.holder()).expect("a branch");
    let one = fixture.made(&head, "b.txt", "b\n");
    let two = fixture.made(&one, "a.txt", "one\n2\nthree\n");
    target.advance(&head, &two, "land").expect("landed");
    fixture.sample.write(file_of_user, "the user's\n");
    fixture.sample.commit("By the user");
    fixture
}

#[test]
fn a_branch_is_built_into_the_checked_out_one_in_every_way() {
    let fixture = branched("user.txt");
    let before = fixture.sample.fingerprint();
    let files = "# .gitignore\n# a.txt\n# b.txt\n# plan.json\n# user.txt".replace("# ", "");
    for (mode, n_parents, n_commits) in [
        (LandMode::Auto, 2, 3),
        (LandMode::Merge, 2, 3),
        (LandMode::Squash, 1, 1),
        (LandMode::Rebase, 1, 2),
    ] {
        let LandingCommit::Ready(commit) = land(&fixture, mode) else {
            panic!("{mode:?}");
        };
        assert_eq!(
            fixture.sample.git(&["ls-tree", "--name-only", &commit]),
            files,
            "{mode:?}"
        );
        let parents = fixture.sample.git(&["rev-list", "--parents", "-n1", &commit]);
        assert_eq!(parents.split(' ').count() - 1, n_parents, "{mode:?}");
        let n_new = fixture.sample.git(&["rev-list", "--count", &format!("HEAD..{commit}")]);
        assert_eq!(n_new, n_commits.to_string(), "{mode:?}");
    }
    assert_eq!(
        fixture.sample.fingerprint(),
        before,
        "nothing of the user's was touched"
    );
    fixture.sample.git(&["merge", "--quiet", "--no-edit", "planwright/p"]);
    assert_eq!(land(&fixture, LandMode::Auto), LandingCommit::Nothing);
}

#[test]
fn a_conflict_with_the_checked_out_branch_is_named() {
    let fixture = branched("a.txt");
    for mode in [LandMode::Auto, LandMode::Squash, LandMode::Rebase] {
        assert_eq!(
            land(&fixture, mode),
            LandingCommit::Conflict(vec!["a.txt".to_owned()]),
            "{mode:?}"
        );
    }
}

/// Marks a commit as the user's uncommitted work.
fn as_uncommitted(fixture: &Fixture, commit: &str) -> String {
    let tree = format!("{commit}^{{tree}}");
    let message = message_of_uncommitted("20261117-101112");
    fixture
        .sample
        .git(&["commit-tree", &tree, "-p", &format!("{commit}^"), "-m", &message])
}

#[test]
fn commits_of_uncommitted_work_are_left_out_anywhere_on_the_branch() {
    let fixture = Fixture::new();
    let head = fixture.sample.head();
    let first = fixture.made(&head, "a-first.txt", "a\n");
    let uncommitted = as_uncommitted(&fixture, &fixture.made(&first, "draft.txt", "the user's draft\n"));
    let work = fixture.made(&uncommitted, "b.txt", "b\n");
    let again = as_uncommitted(&fixture, &fixture.made(&work, "draft.txt", "another draft\n"));
    let last = fixture.made(&again, "c.txt", "c\n");
    fixture.sample.git(&["branch", "planwright/p", &last]);
    let repository = fixture.sample.repository();
    for (mode, n_commits, n_parents) in [
        (LandMode::Auto, 3, 1),
        (LandMode::Merge, 4, 2),
        (LandMode::Squash, 1, 1),
        (LandMode::Rebase, 3, 1),
    ] {
        let LandingCommit::Ready(commit) = land(&fixture, mode) else {
            panic!("{mode:?}");
        };
        let files = fixture.sample.git(&["diff", "--name-only", "HEAD", &commit]);
        assert_eq!(files, "a-first.txt\nb.txt\nc.txt", "{mode:?}");
        let count = fixture.sample.git(&["rev-list", "--count", &format!("HEAD..{commit}")]);
        assert_eq!(count, n_commits.to_string(), "{mode:?}");
        let parents = fixture.sample.git(&["rev-list", "--parents", "-1", &commit]);
        assert_eq!(parents.split(' ').count(), n_parents + 1, "{mode:?}");
        assert!(!repository.is_ancestor(&uncommitted, &commit).expect("git"), "{mode:?}");
        assert!(repository.has_landed(&last, &commit).expect("git"), "{mode:?}");
    }
    assert!(!repository.has_landed(&last, &head).expect("git"));
}

#[test]
fn a_worktree_that_held_the_branch_from_another_folder_is_taken_over() {
    let fixture = Fixture::new();
    let head = fixture.sample.head();
    let repository = fixture.sample.repository();
    let (target, ..) = TargetBranch::begin(&repository, "planwright/p", &head, &fixture.holder()).expect("a branch");
    target.hold().expect("held");
    let name = fixture.holder().file_name().expect("a name").to_owned();
    let elsewhere = fixture.holder().with_extension("elsewhere").join(name);
    let again = TargetBranch::again(&repository, "planwright/p", &elsewhere).expect("a branch");
    again.require_unused().expect("no user has it");
    again.hold().expect("held");
    assert!(!fixture.holder().exists() && elsewhere.exists());
    // With a file in it, it is the user's.
    std::fs::write(elsewhere.join("notes.txt"), "mine\n").expect("a file");
    assert!(matches!(target.require_unused(), Err(GitError::InUse { .. })));
    assert!(elsewhere.join("notes.txt").exists());
}

/// Makes git run a command for the content of a file when it writes it.
fn filter(fixture: &Fixture, file: &str, command: &str) {
    fixture.sample.git(&["config", "filter.own.smudge", command]);
    fixture.sample.git(&["config", "filter.own.clean", "cat"]);
    fixture.sample.git(&["config", "filter.own.required", "true"]);
    let attributes = format!("{file} filter=own\n");
    std::fs::write(fixture.sample.root.join(".git/info/attributes"), attributes).expect("attributes");
}

fn status(fixture: &Fixture) -> String {
    fixture.sample.git(&["status", "--porcelain"])
}

#[test]
fn while_the_files_move_no_process_moves_the_branch_or_leaves_it() {
    let fixture = Fixture::new();
    let repository = fixture.sample.repository();
    let head = fixture.sample.head();
    let ours = fixture.made(&head, "b.txt", "b\n");
    let theirs = fixture.made(&head, "c.txt", "c\n");
    let step = format!(
        "unset GIT_INDEX_FILE; git update-ref refs/heads/main {theirs}; git symbolic-ref HEAD refs/heads/other; git branch -f main \
         {theirs}; git commit -q --allow-empty -m between; cat"
    );
    filter(&fixture, "b.txt", &step);
    let target = TargetBranch::current(&repository).expect("a branch");
    let moved = target.advance_checkout(&head, &ours, "planwright: land a", &|_| false);
    assert!(moved.is_ok(), "{moved:?}");
    assert_eq!(fixture.sample.head(), ours);
    assert_eq!(fixture.sample.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    assert_eq!(status(&fixture), "");
    let reflog = fixture.sample.git(&["reflog", "-1", "--format=%gs", "main"]);
    assert_eq!(reflog.trim(), "planwright: land a");
    let git_dir = fixture.sample.root.join(".git");
    for name in [
        "ORIG_HEAD",
        "planwright-move.json",
        "HEAD.lock",
        "index.lock",
        "planwright-index",
    ] {
        assert!(!git_dir.join(name).exists(), "{name}");
    }
}

#[test]
fn files_are_restored_if_git_fails_in_the_middle() {
    let fixture = Fixture::new();
    let repository = fixture.sample.repository();
    std::fs::create_dir_all(fixture.sample.root.join("docs")).expect("a folder");
    fixture.sample.write("docs/old.txt", "old\n");
    fixture.sample.commit("Old");
    let head = fixture.sample.head();
    let first = fixture.made(&head, "a-first/new.txt", "new\n");
    let second = fixture.made(&first, "docs", "a file now\n");
    let third = fixture.made(&second, "z.txt", "z\n");
    filter(&fixture, "z.txt", "exit 1");
    let target = TargetBranch::current(&repository).expect("a branch");
    let moved = target.advance_checkout(&head, &third, "test", &|_| false);
    assert!(matches!(moved, Err(GitError::Failed { .. })), "{moved:?}");
    assert_eq!(fixture.sample.head(), head);
    assert_eq!(status(&fixture), "");
    assert!(!fixture.sample.root.join("a-first").exists());
    assert!(fixture.sample.root.join("docs/old.txt").exists());
    assert!(!fixture.sample.root.join(".git/planwright-move.json").exists());
    fixture.sample.git(&["config", "filter.own.smudge", "cat"]);
    target
        .advance_checkout(&head, &third, "test", &|_| false)
        .expect("landed");
    assert_eq!(status(&fixture), "");
}

#[test]
fn an_interrupted_move_is_restored_except_for_later_edits_of_the_user() {
    let fixture = Fixture::new();
    let repository = fixture.sample.repository();
    for file in ["kept.txt", "mine.txt", "gone.txt", "same.txt"] {
        fixture.sample.write(file, "before\n");
    }
    fixture.sample.commit("Before");
    let head = fixture.sample.head();
    let mut to = head.clone();
    for (file, text) in [
        ("kept.txt", "after\n"),
        ("mine.txt", "after\n"),
        ("gone.txt", "after\n"),
        ("same.txt", "after\n"),
        ("new/half.txt", "one\ntwo\nthree\n"),
        ("new/mine.txt", "after\n"),
        ("untouched.txt", "after\n"),
    ] {
        to = fixture.made(&to, file, text);
    }
    let lock = fixture.sample.root.join(".git/HEAD.lock");
    std::fs::write(&lock, "").expect("a lock");
    let found = std::fs::symlink_metadata(&lock).expect("a lock");
    let born = found
        .created()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let born = born.map_or_else(String::new, |time| format!(":{}", time.as_nanos()));
    let identity = format!(
        "{}:{}{born}",
        std::os::unix::fs::MetadataExt::dev(&found),
        std::os::unix::fs::MetadataExt::ino(&found)
    );
    let note = serde_json::json!({"branch": "main", "from": head, "to": to, "locks": [[lock, identity]]});
    let note_path = fixture.sample.root.join(".git/planwright-move.json");
    std::fs::write(&note_path, note.to_string()).expect("a note");
    fixture.sample.write("kept.txt", "after\n");
    fixture.sample.write("mine.txt", "the user's own\n");
    std::fs::remove_file(fixture.sample.root.join("gone.txt")).expect("removed");
    std::fs::create_dir_all(fixture.sample.root.join("new")).expect("a folder");
    fixture.sample.write("new/half.txt", "one\nt");
    fixture.sample.write("new/mine.txt", "the user's own\n");
    let undone = repository.undo_unfinished_move().expect("set back");
    let except = vec!["mine.txt".to_owned(), "new/mine.txt".to_owned()];
    assert_eq!(undone, Some(UndoneMove::SetBack { except }));
    assert_eq!(status(&fixture), " M mine.txt\n?? new/");
    assert!(!fixture.sample.root.join("new/half.txt").exists());
    let own = std::fs::read_to_string(fixture.sample.root.join("new/mine.txt"));
    assert_eq!(own.expect("a file"), "the user's own\n");
    assert!(!lock.exists() && !note_path.exists());
    assert_eq!(repository.undo_unfinished_move().expect("nothing to do"), None);
}

/// Records a move in progress, like a process that was killed then.
fn note(fixture: &Fixture, from: &str, to: &str) -> PathBuf {
    let path = fixture.sample.root.join(".git/planwright-move.json");
    let note = serde_json::json!({"branch": "main", "from": from, "to": to, "locks": []});
    std::fs::write(&path, note.to_string()).expect("a note");
    path
}

#[test]
fn an_interrupted_move_is_restored_file_by_file() {
    let fixture = Fixture::new();
    let repository = fixture.sample.repository();
    fixture.sample.write("gone.txt", "before\n");
    fixture.sample.commit("Before");
    let head = fixture.sample.head();
    let to = fixture.made(&fixture.made(&head, "a.txt", "after\n"), "new.txt", "after\n");
    note(&fixture, &head, &to);
    fixture.sample.git(&["read-tree", "-m", "-u", &head, &to]);
    fixture.sample.write("a.txt", "after, and the user's own\n");
    fixture.sample.write("plan.json", "an edit beside it\n");
    let undone = repository.undo_unfinished_move().expect("set back");
    let except = vec!["a.txt".to_owned()];
    assert_eq!(undone, Some(UndoneMove::SetBack { except }));
    assert_eq!(status(&fixture), " M a.txt\n M plan.json");
    assert_eq!(fixture.sample.read("a.txt"), "after, and the user's own\n");
}

#[test]
fn an_interrupted_move_is_left_alone_if_the_user_moved_the_branch() {
    let left = |fixture: &Fixture| {
        let undone = fixture.sample.repository().undo_unfinished_move().expect("no error");
        let branch = "main".to_owned();
        assert_eq!(undone, Some(UndoneMove::LeftAlone { branch }));
        assert!(!fixture.sample.root.join(".git/planwright-move.json").exists());
    };
    let begun = || {
        let fixture = Fixture::new();
        let head = fixture.sample.head();
        let to = fixture.made(&head, "a.txt", "after\n");
        note(&fixture, &head, &to);
        fixture.sample.write("a.txt", "after\n");
        (fixture, head, to)
    };
    let (fixture, ..) = begun();
    fixture.sample.commit("The user's own");
    left(&fixture);
    assert_eq!(fixture.sample.read("a.txt"), "after\n");
    let (fixture, ..) = begun();
    fixture.sample.git(&["switch", "-q", "-c", "rescue"]);
    left(&fixture);
    let (fixture, head, _) = begun();
    note(&fixture, &head, &"1".repeat(40));
    left(&fixture);
    // The move was complete, and only the note remained.
    let (fixture, _, to) = begun();
    fixture.sample.git(&["reset", "-q", "--hard", &to]);
    assert_eq!(
        fixture.sample.repository().undo_unfinished_move().expect("no error"),
        None
    );
}

#[test]
#[cfg(target_os = "linux")]
fn files_are_restored_and_locks_removed_if_git_is_killed() {
    // The brackets keep the filter from matching itself.
    for victim in ["[r]ead-tree", "[u]pdate-ref"] {
        let fixture = Fixture::new();
        let head = fixture.sample.head();
        let to = fixture.made(&fixture.made(&head, "a.txt", "after\n"), "b.txt", "after\n");
        // The git that changes the files, or the one that holds the branch, in this repository only.
        let kill = format!(
            "for p in /proc/[0-9]*; do [ \"$(readlink $p/cwd)\" = \"$PWD\" ] && tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q \"git .*{victim} \" \
             && kill -9 ${{p#/proc/}}; done; sleep 0.1; cat"
        );
        filter(&fixture, "b.txt", &kill);
        let target = TargetBranch::current(&fixture.sample.repository()).expect("a branch");
        let moved = target.advance_checkout(&head, &to, "test", &|_| false);
        assert!(matches!(moved, Err(GitError::Failed { .. })), "{victim}: {moved:?}");
        assert_eq!(fixture.sample.head(), head, "{victim}");
        assert_eq!(status(&fixture), "", "{victim}");
        for name in [
            "HEAD.lock",
            "index.lock",
            "refs/heads/main.lock",
            "planwright-move.json",
        ] {
            assert!(
                !fixture.sample.root.join(".git").join(name).exists(),
                "{victim}: {name}"
            );
        }
        fixture.sample.git(&["config", "filter.own.smudge", "cat"]);
        target.advance_checkout(&head, &to, "test", &|_| false).expect("landed");
        assert_eq!(status(&fixture), "");
    }
}

#[test]
fn targets_of_the_users_links_are_not_restored() {
    let fixture = Fixture::new();
    fixture.sample.write("aa/f", "before\n");
    fixture.sample.commit("Before");
    let head = fixture.sample.head();
    let to = fixture.made(&fixture.made(&head, "aa/f", "after\n"), "aa/new", "after\n");
    note(&fixture, &head, &to);
    let elsewhere = fixture.sample.root.with_extension("elsewhere");
    for (name, text) in [("f", "after\n"), ("new", "after\n")] {
        write(&elsewhere, name, text);
    }
    fs::remove_dir_all(fixture.sample.root.join("aa")).expect("removed");
    std::os::unix::fs::symlink(&elsewhere, fixture.sample.root.join("aa")).expect("a link");
    let undone = fixture.sample.repository().undo_unfinished_move().expect("set back");
    let except = vec!["aa/f".to_owned(), "aa/new".to_owned()];
    assert_eq!(undone, Some(UndoneMove::SetBack { except }));
    for name in ["f", "new"] {
        assert_eq!(
            fs::read_to_string(elsewhere.join(name)).expect("it is there"),
            "after\n"
        );
    }
}

#[test]
fn a_folder_that_became_a_link_is_restored() {
    let fixture = Fixture::new();
    fixture.sample.write("aa/f", "before\n");
    fixture.sample.write("bb/f", "other\n");
    fixture.sample.commit("Before");
    let head = fixture.sample.head();
    fs::remove_dir_all(fixture.sample.root.join("aa")).expect("removed");
    std::os::unix::fs::symlink("bb", fixture.sample.root.join("aa")).expect("a link");
    let to = fixture.sample.commit("After");
    fixture.sample.git(&["reset", "--quiet", "--hard", &head]);
    note(&fixture, &head, &to);
    fixture.sample.git(&["read-tree", "-m", "-u", &head, &to]);
    let undone = fixture.sample.repository().undo_unfinished_move().expect("set back");
    assert_eq!(undone, Some(UndoneMove::SetBack { except: Vec::new() }));
    assert_eq!(status(&fixture), "");
    assert_eq!(fixture.sample.read("aa/f"), "before\n");
    assert_eq!(fixture.sample.read("bb/f"), "other\n");
}

#[test]
fn a_lock_of_the_index_that_planwright_left_is_removed_and_no_other_one() {
    let fixture = Fixture::new();
    let repository = fixture.sample.repository();
    let lock = fixture.sample.root.join(".git/index.lock");
    fs::write(&lock, "planwright\n").expect("a lock");
    assert_eq!(repository.undo_unfinished_move().expect("no error"), None);
    assert!(!lock.exists());
    fs::write(&lock, "").expect("a lock");
    assert_eq!(repository.undo_unfinished_move().expect("no error"), None);
    assert!(lock.exists());
}
