//! Checkouts of tasks and their candidates, with the real git: an agent's git commands only affect its checkout, and a candidate has
//! exactly the agent's files.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use planwright_run::git::{Candidate, Checkouts, FolderIdentity, GitError, SnapshotRequest, TaskCheckout};

use crate::git::{Sample, git_in, write};

/// A repository, and the checkouts of a run outside of it.
struct Fixture {
    sample: Sample,
    _outside: tempfile::TempDir,
    outside: PathBuf,
}

impl Fixture {
    fn of(sample: Sample) -> Self {
        let outside = tempfile::tempdir().expect("a folder");
        Fixture {
            sample,
            outside: outside.path().canonicalize().expect("a path").join("run"),
            _outside: outside,
        }
    }

    fn new() -> Self {
        Self::of(Sample::new())
    }

    fn checkouts(&self) -> Checkouts {
        Checkouts::open(&self.sample.repository(), &self.outside).expect("checkouts")
    }

    fn checkout(&self) -> (Checkouts, TaskCheckout) {
        let checkouts = self.checkouts();
        let checkout = checkouts.create("t1.1", &self.sample.head()).expect("a checkout");
        (checkouts, checkout)
    }
}

fn request<'a>() -> SnapshotRequest<'a> {
    SnapshotRequest {
        message: "t1: work",
        reference: "candidates/r/t1/1",
        is_own: &|path| path == "plan.json" || path.starts_with(".planwright"),
        copied: &[],
        prepared: None,
        named: &[],
        keep_ignored: &[],
    }
}

#[track_caller]
fn taken(checkouts: &Checkouts, checkout: &TaskCheckout) -> Candidate {
    checkouts.snapshot(checkout, &request()).expect("a candidate")
}

/// Returns the content of a path in a commit of the user's repository.
fn shown(fixture: &Fixture, candidate: &Candidate, path: &str) -> String {
    fixture.sample.git(&["show", &format!("{}:{path}", candidate.commit)])
}

#[test]
fn a_checkout_has_a_git_directory_of_its_own_with_the_base_and_the_tags() {
    let fixture = Fixture::new();
    fixture.sample.git(&["tag", "v1"]);
    fixture.sample.git(&["tag", "-a", "v2", "-m", "annotated"]);
    fixture.sample.git(&["branch", "other"]);
    fixture.sample.git(&["remote", "add", "origin", "/nowhere"]);
    let (_, checkout) = fixture.checkout();
    let path = checkout.path();
    assert!(path.join(".git").is_dir());
    assert!(!path.starts_with(&fixture.sample.root));
    assert_eq!(git_in(path, &["rev-parse", "HEAD"]), fixture.sample.head());
    assert_eq!(git_in(path, &["status", "--porcelain"]), "");
    assert_eq!(git_in(path, &["tag", "--list"]), "v1\nv2");
    assert_eq!(git_in(path, &["branch", "--list", "--format=%(refname:short)"]), "task");
    assert_eq!(git_in(path, &["remote"]), "");
    assert_eq!(git_in(path, &["describe", "--tags"]), "v2");
    assert_eq!(git_in(path, &["config", "user.name"]), "Somebody");
    assert_eq!(
        fs::read_to_string(path.join("a.txt")).expect("a file"),
        "one\ntwo\nthree\n"
    );
}

#[test]
fn line_filter_and_merge_settings_are_those_at_the_start() {
    let fixture = Fixture::new();
    fixture.sample.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    fixture.sample.git(&["config", "merge.keep.driver", "true"]);
    fixture.sample.git(&["config", "core.eol", "lf"]);
    let (checkouts, checkout) = fixture.checkout();
    fixture.sample.git(&["config", "filter.upper.clean", "cat"]);
    assert_eq!(git_in(checkout.path(), &["config", "merge.keep.driver"]), "true");
    assert_eq!(git_in(checkout.path(), &["config", "core.eol"]), "lf");
    // Another setting of the agent's has no effect on the candidate.
    git_in(checkout.path(), &["config", "filter.upper.clean", "echo forged"]);
    write(checkout.path(), ".gitattributes", "*.up filter=upper\n");
    write(checkout.path(), "x.up", "loud\n");
    let candidate = taken(&checkouts, &checkout);
    assert_eq!(shown(&fixture, &candidate, "x.up"), "LOUD");
}

#[test]
fn nothing_that_an_agent_does_with_git_reaches_the_repository() {
    let fixture = Fixture::new();
    fixture.sample.git(&["branch", "other"]);
    let (_, checkout) = fixture.checkout();
    let before = fixture.sample.fingerprint();
    let config = fixture.sample.read(".git/config");
    let agent = |words: &[&str]| git_in(checkout.path(), words);
    agent(&["config", "core.hooksPath", "/evil"]);
    write(checkout.path(), "b.txt", "b");
    agent(&["add", "--all"]);
    agent(&["stash"]);
    agent(&["checkout", "--quiet", "-b", "main"]);
    agent(&["branch", "other"]);
    agent(&["branch", "-D", "other"]);
    agent(&["update-ref", "refs/heads/main", "HEAD"]);
    agent(&["gc", "--quiet", "--prune=now"]);
    agent(&["reflog", "expire", "--expire=now", "--all"]);
    fs::write(checkout.path().join(".git/info/exclude"), "*\n").expect("written");
    assert_eq!(fixture.sample.fingerprint(), before);
    assert_eq!(fixture.sample.read(".git/config"), config);
    assert_eq!(
        fixture.sample.git(&["branch", "--list", "--format=%(refname:short)"]),
        "main\nother"
    );
    fixture.sample.git(&["fsck"]);
}

#[test]
fn a_candidate_has_the_files_of_the_checkout_whatever_was_committed() {
    let fixture = Fixture::new();
    let (checkouts, checkout) = fixture.checkout();
    let agent = |words: &[&str]| git_in(checkout.path(), words);
    write(checkout.path(), "kept.txt", "kept");
    agent(&["add", "--all"]);
    agent(&["commit", "--quiet", "-m", "Mine"]);
    write(checkout.path(), "gone.txt", "gone");
    agent(&["add", "--all"]);
    agent(&["commit", "--quiet", "-m", "Gone"]);
    agent(&["reset", "--quiet", "--hard", "HEAD~1"]);
    write(checkout.path(), "a.txt", "changed\n");
    fs::set_permissions(checkout.path().join("a.txt"), fs::Permissions::from_mode(0o755)).expect("a mode");
    agent(&["config", "core.fileMode", "false"]);
    let candidate = taken(&checkouts, &checkout);
    assert_eq!(candidate.touched, ["a.txt", "kept.txt"]);
    assert_eq!(shown(&fixture, &candidate, "a.txt"), "changed");
    assert_eq!(shown(&fixture, &candidate, "kept.txt"), "kept");
    let entry = fixture.sample.git(&["ls-tree", &candidate.commit, "a.txt"]);
    assert!(entry.starts_with("100755"), "{entry}");
    assert_eq!(
        fixture.sample.git(&["rev-parse", &format!("{}^", candidate.commit)]),
        fixture.sample.head()
    );
    assert_eq!(
        fixture
            .sample
            .git(&["rev-parse", &format!("{}^{{tree}}", candidate.commit)]),
        candidate.tree
    );
}

#[test]
fn flags_locks_hooks_and_monitors_of_the_agent_have_no_effect() {
    let fixture = Fixture::new();
    fixture.sample.write("b.txt", "b\n");
    fixture.sample.write("c.txt", "c\n");
    fixture.sample.commit("More");
    let (checkouts, checkout) = fixture.checkout();
    let path = checkout.path();
    git_in(path, &["update-index", "--assume-unchanged", "a.txt"]);
    git_in(path, &["update-index", "--skip-worktree", "b.txt"]);
    git_in(path, &["config", "core.sparseCheckout", "true"]);
    fs::write(path.join(".git/info/sparse-checkout"), "/a.txt\n").expect("written");
    let evil = path.join("evil.sh");
    fs::write(
        &evil,
        format!("#!/bin/sh\ntouch {}/executed\n", fixture.outside.display()),
    )
    .expect("written");
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).expect("a mode");
    git_in(path, &["config", "core.fsmonitor", &evil.display().to_string()]);
    for hook in [
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-index-change",
    ] {
        let hook = path.join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
        fs::copy(&evil, &hook).expect("a hook");
    }
    for (name, text) in [("a.txt", "1\n"), ("b.txt", "2\n"), ("c.txt", "3\n")] {
        write(path, name, text);
    }
    for lock in ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock"] {
        fs::write(path.join(".git").join(lock), "").expect("written");
    }
    let candidate = taken(&checkouts, &checkout);
    assert_eq!(candidate.touched, ["a.txt", "b.txt", "c.txt", "evil.sh"]);
    assert!(!fixture.outside.join("executed").exists());
    fs::remove_dir_all(path.join(".git")).expect("removed");
    assert_eq!(
        taken(&checkouts, &checkout).tree,
        candidate.tree,
        "the agent's git directory is not needed"
    );
}

#[test]
fn a_link_or_file_that_would_be_ignored_as_a_folder_is_ignored() {
    let fixture = Fixture::new();
    fixture
        .sample
        .write(".gitignore", "node_modules/\n/data/\nsub/cache/\n");
    fixture.sample.write("sub/.gitignore", "deep/\n");
    fixture.sample.commit("Ignore");
    let (checkouts, checkout) = fixture.checkout();
    let path = checkout.path();
    symlink("/nowhere/node_modules", path.join("node_modules")).expect("a link");
    write(path, "data", "a file\n");
    symlink("../x", path.join("sub/deep")).expect("a link");
    write(path, "sub/cache", "a file\n");
    write(path, "new.txt", "new\n");
    write(path, "sub/data", "no folder of the root\n");
    let candidate = taken(&checkouts, &checkout);
    assert_eq!(candidate.touched, ["new.txt", "sub/data"]);
    for ignored in ["data", "node_modules", "sub/cache", "sub/deep"] {
        assert!(
            candidate.ignored.iter().any(|path| path == ignored),
            "{ignored}: {:?}",
            candidate.ignored
        );
    }
}

#[test]
fn ignore_rules_come_from_the_agents_tree_and_the_users_initial_ones() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.sample.root.join(".git/info")).expect("a folder");
    fs::write(fixture.sample.root.join(".git/info/exclude"), "mine.log\n").expect("written");
    let (checkouts, checkout) = fixture.checkout();
    fs::write(fixture.sample.root.join(".git/info/exclude"), "*\n").expect("written");
    fs::write(checkout.path().join(".git/info/exclude"), "*\n").expect("written");
    write(checkout.path(), ".gitignore", "built\n");
    for name in ["mine.log", "built", "ignored", "other.txt"] {
        write(checkout.path(), name, name);
    }
    let candidate = taken(&checkouts, &checkout);
    assert_eq!(candidate.touched, [".gitignore", "ignored", "other.txt"]);
    assert_eq!(candidate.ignored, ["built", "mine.log"]);
}

#[test]
fn an_ignored_file_that_has_to_land_fails_with_the_rule() {
    let fixture = Fixture::new();
    fixture.sample.write(".gitignore", "lib/\n*.o\nnode_modules/\n");
    fixture.sample.commit("Ignore");
    let (checkouts, checkout) = fixture.checkout();
    write(checkout.path(), "src/lib/x.py", "x\n");
    write(checkout.path(), "y.o", "y\n");
    symlink("/nowhere", checkout.path().join("node_modules")).expect("a link");
    let snapshot = |named: &[&str], keep: &[&str]| {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let keep: Vec<String> = keep.iter().map(|name| (*name).to_owned()).collect();
        let request = SnapshotRequest {
            named: &named,
            keep_ignored: &keep,
            ..request()
        };
        checkouts
            .snapshot(&checkout, &request)
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        snapshot(&["./src/lib/x.py"], &[]).expect_err("refused"),
        "`src/lib/x.py` has to land and git ignores it, by `lib/` in .gitignore:1"
    );
    assert_eq!(
        snapshot(&[], &["**/*.o"]).expect_err("refused"),
        "`y.o` has to land and git ignores it, by `*.o` in .gitignore:2"
    );
    assert_eq!(
        snapshot(&["node_modules"], &[]).expect_err("refused"),
        "`node_modules` has to land and git ignores it, by `node_modules/` in .gitignore:3"
    );
    let candidate = snapshot(&["a.txt", "missing.txt"], &["*.py"]).expect("taken");
    assert!(candidate.is_empty());
    assert_eq!(candidate.ignored, ["src/lib/", "y.o", "node_modules"]);
}

#[test]
fn a_repository_inside_of_the_checkout_fails_and_is_never_a_link() {
    let fixture = Fixture::new();
    fixture.sample.write("src/a.c", "a\n");
    fixture.sample.write(".gitignore", "vendor/\n");
    fixture.sample.commit("Sources");
    let (checkouts, checkout) = fixture.checkout();
    let path = checkout.path();
    let init = |folder: &Path| {
        fs::create_dir_all(folder).expect("a folder");
        git_in(folder, &["init", "--quiet"]);
    };
    init(&path.join("vendor/ignored"));
    assert!(
        taken(&checkouts, &checkout).is_empty(),
        "what git ignores is not looked at"
    );
    for nested in ["new/repo", "src"] {
        init(&path.join(nested));
        let error = checkouts.snapshot(&checkout, &request()).expect_err("refused");
        assert!(
            matches!(&error, GitError::Nested(paths) if paths == &[nested.to_owned()]),
            "{error}"
        );
        fs::remove_dir_all(path.join(nested).join(".git")).expect("removed");
    }
    // A `.git` file, as in linked worktrees and submodules, counts too.
    write(path, "new/repo/.git", "gitdir: /nowhere\n");
    assert!(matches!(
        checkouts.snapshot(&checkout, &request()),
        Err(GitError::Nested(_))
    ));
}

#[test]
fn work_in_a_submodule_fails_the_attempt_and_an_empty_one_is_left_alone() {
    let fixture = Fixture::new();
    let link = format!("160000,{},sub", fixture.sample.head());
    fixture.sample.git(&["update-index", "--add", "--cacheinfo", &link]);
    fixture
        .sample
        .write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ../sub\n");
    fixture.sample.git(&["add", ".gitmodules"]);
    fixture.sample.git(&["commit", "--quiet", "-m", "A submodule"]);
    let (checkouts, checkout) = fixture.checkout();
    let path = checkout.path();
    let refused =
        || matches!(checkouts.snapshot(&checkout, &request()), Err(GitError::InSubmodule(paths)) if paths == ["sub"]);
    write(path, "sub/new.txt", "work\n");
    assert!(refused(), "files in it");
    fs::remove_dir_all(path.join("sub")).expect("removed");
    write(path, "a.txt", "changed\n");
    let candidate = taken(&checkouts, &checkout);
    assert_eq!(candidate.touched, ["a.txt"], "tools remove empty folders");
    fs::create_dir(path.join("sub")).expect("a folder");
    git_in(&path.join("sub"), &["init", "--quiet"]);
    write(&path.join("sub"), "x", "x");
    git_in(&path.join("sub"), &["add", "x"]);
    let who = [
        "-c",
        "user.name=x",
        "-c",
        "user.email=x",
        "commit",
        "--quiet",
        "-m",
        "x",
    ];
    git_in(&path.join("sub"), &who);
    assert!(refused(), "a commit in it");
    // Removing a submodule also changes `.gitmodules`.
    fs::remove_dir_all(path.join("sub")).expect("removed");
    fs::remove_file(path.join(".gitmodules")).expect("removed");
    assert_eq!(taken(&checkouts, &checkout).touched, [".gitmodules", "a.txt", "sub"]);
}

#[test]
fn a_file_that_cannot_be_read_fails_the_attempt() {
    if is_root() {
        eprintln!("skipped: root can read every file");
        return;
    }
    let fixture = Fixture::new();
    let (checkouts, checkout) = fixture.checkout();
    write(checkout.path(), "closed/x", "x");
    fs::set_permissions(checkout.path().join("closed"), fs::Permissions::from_mode(0o000)).expect("a mode");
    let error = checkouts.snapshot(&checkout, &request());
    fs::set_permissions(checkout.path().join("closed"), fs::Permissions::from_mode(0o755)).expect("a mode");
    assert!(matches!(
        error,
        Err(GitError::Warned { .. } | GitError::Path { .. } | GitError::Failed { .. })
    ));
}

fn is_root() -> bool {
    let asked = std::process::Command::new("id").arg("-u").output();
    asked.is_ok_and(|output| output.stdout == b"0\n")
}

#[test]
fn files_of_planwright_and_copied_files_never_land() {
    let fixture = Fixture::new();
    let (checkouts, checkout) = fixture.checkout();
    write(checkout.path(), "plan.json", "{\"done\": true}\n");
    write(checkout.path(), "secrets/.env", "KEY=1\n");
    write(checkout.path(), "secrets.txt", "no secret\n");
    let copied = ["secrets".to_owned()];
    let request = SnapshotRequest {
        copied: &copied,
        ..request()
    };
    let candidate = checkouts.snapshot(&checkout, &request).expect("taken");
    assert_eq!(candidate.touched, ["secrets.txt"]);
    assert_eq!(candidate.own, ["plan.json"]);
    assert_eq!(shown(&fixture, &candidate, "plan.json"), "{}");
}

#[test]
fn a_folder_that_was_removed_or_replaced_is_a_lost_checkout() {
    let fixture = Fixture::new();
    let (checkouts, checkout) = fixture.checkout();
    let path = checkout.path().to_owned();
    let aside = path.with_extension("aside");
    fs::rename(&path, &aside).expect("moved");
    let lost =
        |checkout: &TaskCheckout| matches!(checkouts.snapshot(checkout, &request()), Err(GitError::LostCheckout(_)));
    assert!(lost(&checkout), "it is gone");
    fs::create_dir(&path).expect("a folder");
    assert!(lost(&checkout), "another folder is there");
    checkouts.remove(&checkout).expect("nothing to do");
    assert!(path.exists(), "what is not ours stays");
    fs::remove_dir(&path).expect("removed");
    symlink(&aside, &path).expect("a link");
    assert!(lost(&checkout), "a link is there");
    fs::remove_file(&path).expect("removed");
    fs::rename(&aside, &path).expect("moved back");
    assert!(!lost(&checkout));
    let identity = FolderIdentity::from_record(checkout.identity().as_str());
    let again = checkouts.find(&path, &identity, checkout.base()).expect("found");
    assert_eq!(again, checkout);
    checkouts.remove(&again).expect("removed");
    assert!(!path.exists());
}

#[test]
fn candidates_survive_a_clean_up_and_a_checkout_survives_its_repository_being_cleaned() {
    let fixture = Fixture::new();
    let base = fixture.sample.head();
    fixture.sample.repository().keep("base/r", &base).expect("kept");
    let (checkouts, checkout) = fixture.checkout();
    // The user drops the base commit of the checkout.
    fixture.sample.git(&["commit", "--quiet", "--amend", "-m", "Another"]);
    write(checkout.path(), "b.txt", "b\n");
    let collect = |sample: &Sample| {
        sample.git(&["reflog", "expire", "--expire=now", "--all"]);
        sample.git(&["gc", "--quiet", "--prune=now"]);
    };
    collect(&fixture.sample);
    let candidate = taken(&checkouts, &checkout);
    collect(&fixture.sample);
    assert_eq!(shown(&fixture, &candidate, "b.txt"), "b");
    fixture.sample.git(&["fsck", "--connectivity-only"]);
    let kept = fixture.sample.repository().all_kept("candidates").expect("git");
    assert_eq!(kept.len(), 1);
    assert_eq!(
        (kept[0].name.as_str(), &kept[0].commit),
        ("candidates/r/t1/1", &candidate.commit)
    );
}

#[test]
fn work_on_another_branch_or_in_a_stash_is_found() {
    let fixture = Fixture::new();
    let (checkouts, checkout) = fixture.checkout();
    let agent = |words: &[&str]| git_in(checkout.path(), words);
    let commit = |name: &str| {
        write(checkout.path(), name, name);
        agent(&["add", "--all"]);
        agent(&["commit", "--quiet", "-m", name]);
    };
    assert_eq!(checkouts.other_work(&checkout), [""; 0]);
    commit("here.txt");
    agent(&["branch", "behind"]);
    commit("more.txt");
    assert_eq!(checkouts.other_work(&checkout), [""; 0], "all of it is checked out");
    agent(&["checkout", "--quiet", "-b", "side"]);
    commit("side.txt");
    agent(&["checkout", "--quiet", "task"]);
    write(checkout.path(), "here.txt", "stashed");
    agent(&["stash"]);
    agent(&["pack-refs", "--all"]);
    assert_eq!(checkouts.other_work(&checkout), ["refs/heads/side", "refs/stash"]);
}

#[test]
fn odd_repositories_have_checkouts_too() {
    let mut samples = vec![
        Sample::odd("a b \"c\" ä", &[]),
        Sample::odd("sha256", &["--object-format=sha256"]),
    ];
    if git_in(Path::new("."), &["--version"])
        .split(['.', ' '])
        .nth(3)
        .and_then(|minor| minor.parse().ok())
        >= Some(45)
    {
        samples.push(Sample::odd("reftable", &["--ref-format=reftable"]));
    }
    for sample in samples {
        let fixture = Fixture::of(sample);
        fixture.sample.git(&["tag", "v1"]);
        let (checkouts, checkout) = fixture.checkout();
        write(checkout.path(), "b \"ä\n.txt", "b\n");
        let candidate = taken(&checkouts, &checkout);
        assert_eq!(candidate.touched, ["b \"ä\n.txt"]);
        assert_eq!(git_in(checkout.path(), &["tag"]), "v1");
        fixture.sample.git(&["fsck"]);
    }
}

#[test]
fn shallow_clones_and_linked_worktrees_have_checkouts_too() {
    let sample = Sample::new();
    sample.write("a.txt", "second\n");
    sample.commit("Second");
    let folder = tempfile::tempdir().expect("a folder");
    let clone = folder.path().canonicalize().expect("a path").join("clone");
    let url = format!("file://{}", sample.root.display());
    git_in(
        folder.path(),
        &["clone", "--quiet", "--depth=1", &url, &clone.display().to_string()],
    );
    sample.git(&[
        "worktree",
        "add",
        "--quiet",
        &folder.path().join("linked").display().to_string(),
    ]);
    for root in [clone, folder.path().canonicalize().expect("a path").join("linked")] {
        let repository = planwright_run::git::Repository::around(&root)
            .expect("git")
            .expect("a repository");
        let checkouts = Checkouts::open(
            &repository,
            &folder.path().join(format!("run-{}", root.ends_with("linked"))),
        );
        let checkouts = checkouts.expect("checkouts");
        let head = repository.head().expect("git").expect("a commit");
        let checkout = checkouts.create("t1.1", &head).expect("a checkout");
        assert_eq!(git_in(checkout.path(), &["log", "--format=%s", "-1"]), "Second");
        write(checkout.path(), "b.txt", "b\n");
        let candidate = taken(&checkouts, &checkout);
        assert_eq!(git_in(&root, &["show", &format!("{}:b.txt", candidate.commit)]), "b");
    }
}
