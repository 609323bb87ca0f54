//! Repositories, with the real git: where a folder is, what changed in it, and no name read as an option. Also the sample for the other
//! tests with git.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use planwright_run::git::{GitError, Repository, Snapshot};

/// A repository in a temporary folder, with a commit on `main`.
pub(crate) struct Sample {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
}

impl Sample {
    pub(crate) fn empty() -> Self {
        Self::at("repository", &[])
    }

    fn at(name: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path").join(name);
        fs::create_dir(&root).expect("a folder");
        let sample = Sample { _folder: folder, root };
        sample.git(&[&["init", "--quiet", "--initial-branch=main"], options].concat());
        sample.git(&["config", "user.name", "Somebody"]);
        sample.git(&["config", "user.email", "somebody@example.org"]);
        sample
    }

    /// Returns a repository with a commit, in a folder with this name.
    pub(crate) fn odd(name: &str, options: &[&str]) -> Self {
        Self::at(name, options).begun()
    }

    pub(crate) fn new() -> Self {
        Self::empty().begun()
    }

    fn begun(self) -> Self {
        self.write("a.txt", "one\ntwo\nthree\n");
        self.write("plan.json", "{}\n");
        self.write(".gitignore", "ignored\n.planwright\n");
        self.commit("Begin");
        self
    }

    pub(crate) fn git(&self, words: &[&str]) -> String {
        git_in(&self.root, words)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.root, path, text);
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).expect("a file")
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn repository(&self) -> Repository {
        Repository::around(&self.root).expect("git").expect("a repository")
    }

    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Everything of the user's that could have been changed: the branches, the status, the files.
    pub(crate) fn fingerprint(&self) -> Vec<String> {
        let mut all = vec![
            self.git(&["rev-parse", "HEAD"]),
            self.git(&["symbolic-ref", "HEAD"]),
            self.git(&["rev-parse", "refs/heads/main"]),
            self.git(&["status", "--porcelain", "--untracked-files=all"]),
            self.git(&["stash", "list"]),
        ];
        let mut names: Vec<_> = fs::read_dir(&self.root).expect("a folder").flatten().collect();
        names.sort_by_key(fs::DirEntry::file_name);
        for entry in names.iter().filter(|entry| entry.path().is_file()) {
            all.push(format!(
                "{:?} {:?}",
                entry.file_name(),
                fs::read(entry.path()).expect("bytes")
            ));
        }
        all
    }
}

/// Runs git for a test.
#[track_caller]
pub(crate) fn git_in(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    let output = command.args(words).current_dir(folder).output();
    let output = output.expect("git is needed for the tests of planwright: install it and put it on the PATH");
    assert!(
        output.status.success(),
        "git {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub(crate) fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// Returns a file name that is not UTF-8, if the system has such names; its displayed form is the same everywhere.
pub(crate) fn odd_name() -> &'static OsStr {
    if cfg!(target_os = "linux") {
        OsStr::from_bytes(b"n\xffn")
    } else {
        OsStr::new("n\u{fffd}n")
    }
}

pub(crate) fn nothing(_: &str) -> bool {
    false
}

fn is_ours(path: &str) -> bool {
    path == "plan.json" || path.starts_with(".planwright/")
}

#[test]
fn a_folder_in_a_repository_knows_where_it_is() {
    let sample = Sample::new();
    fs::create_dir_all(sample.root.join("x/y")).expect("folders");
    let repository = Repository::around(&sample.root.join("x/y")).expect("git").expect("one");
    assert_eq!(repository.toplevel(), sample.root);
    assert_eq!(repository.common_folder(), sample.root.join(".git"));
    assert_eq!(repository.prefix(), "x/y/");
    assert_eq!(sample.repository().prefix(), "");
    assert_eq!(repository.head().expect("git"), Some(sample.head()));
    assert_eq!(repository.branch().expect("git").as_deref(), Some("main"));
}

#[test]
fn without_a_working_tree_there_is_no_repository() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(Repository::around(folder.path()).expect("git").is_none());
    git_in(folder.path(), &["init", "--quiet", "--bare", "bare"]);
    assert!(Repository::around(&folder.path().join("bare")).expect("git").is_none());
    let sample = Sample::new();
    assert!(Repository::around(&sample.root.join(".git")).expect("git").is_none());
    let missing = Repository::around(&folder.path().join("missing"));
    assert!(matches!(missing, Err(GitError::NoFolder(_))), "{missing:?}");
}

#[test]
fn a_link_to_a_repository_that_is_gone_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(".git"), "gitdir: /nowhere/at/all\n").expect("a file");
    let found = Repository::around(folder.path());
    assert!(matches!(found, Err(GitError::Failed { .. })), "{found:?}");
}

#[test]
fn unborn_and_detached_heads_are_reported() {
    let sample = Sample::empty();
    let repository = sample.repository();
    assert_eq!(repository.head().expect("git"), None);
    assert_eq!(repository.branch().expect("git").as_deref(), Some("main"));
    assert!(!repository.branch_exists("main").expect("git"));
    sample.write("a", "a");
    assert_eq!(repository.dirt(&nothing).expect("git"), ["a"]);
    let commit = sample.commit("Begin");
    sample.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(repository.branch().expect("git"), None);
    assert_eq!(repository.head().expect("git"), Some(commit));
}

#[test]
fn ignored_and_tracked_paths_are_recognised() {
    let sample = Sample::new();
    let repository = sample.repository();
    sample.write(":(glob)odd", "x");
    sample.write("-x", "x");
    for (path, is_ignored) in [
        ("ignored", true),
        ("a.txt", false),
        (":(glob)odd", false),
        ("-x", false),
    ] {
        assert_eq!(
            repository.is_ignored(Path::new(path)).expect("git"),
            is_ignored,
            "{path}"
        );
    }
    assert!(repository.has_tracked(Path::new("a.txt")).expect("git"));
    assert!(!repository.has_tracked(Path::new("*.txt")).expect("git"));
    assert!(!repository.has_tracked(Path::new("-x")).expect("git"));
    sample.write("folder/b", "b");
    assert!(!repository.has_tracked(Path::new("folder")).expect("git"));
    sample.git(&["add", "folder"]);
    assert!(repository.has_tracked(Path::new("folder")).expect("git"));
}

#[test]
fn uncommitted_files_are_listed_without_the_excluded_ones() {
    let sample = Sample::new();
    let repository = sample.repository();
    assert_eq!(repository.dirt(&nothing).expect("git"), [""; 0]);
    sample.git(&["mv", "a.txt", "b.txt"]);
    sample.write("plan.json", "{ }\n");
    sample.write("new folder/line\nbreak", "x");
    sample.write("ignored", "x");
    fs::write(sample.root.join(odd_name()), "x").expect("a file");
    let expected = ["a.txt", "b.txt", "new folder/line\nbreak", "n\u{fffd}n"];
    assert_eq!(repository.dirt(&is_ours).expect("git"), expected);
    assert_eq!(repository.dirt(&nothing).expect("git").len(), 5);
}

#[test]
fn commits_are_given_by_their_full_ids_alone() {
    let sample = Sample::new();
    let repository = sample.repository();
    let head = sample.head();
    assert!(repository.is_ancestor(&head, &head).expect("git"));
    for id in ["HEAD", "main", "--all", "", "abc"] {
        assert!(matches!(repository.touched(id), Err(GitError::NotAnId(_))), "{id}");
        assert!(
            matches!(repository.is_ancestor(id, &head), Err(GitError::NotAnId(_))),
            "{id}"
        );
        assert!(repository.keep("x", id).is_err(), "{id}");
    }
    assert_eq!(repository.all_kept("x").expect("git"), []);
    for name in ["--upload-pack=x", "-f", "--detach", "a b", "", "@{-1}", "a\0b", "-"] {
        assert!(repository.branch_exists(name).is_err(), "{name:?}");
    }
}

#[test]
fn a_snapshot_shows_changes_since_it_was_taken() {
    let sample = Sample::new();
    let repository = sample.repository();
    for (path, text) in [
        ("dirty", "1"),
        ("dirty2", "1"),
        ("same", "1"),
        ("gone", "1"),
        ("mode", "1"),
    ] {
        sample.write(path, text);
    }
    sample.write("plan.json", "{ }\n");
    symlink("here", sample.root.join("link")).expect("a link");
    fs::write(sample.root.join(odd_name()), "1").expect("a file");
    let before = sample.fingerprint();
    let snapshot = Snapshot::take(&repository).expect("a snapshot");
    assert_eq!(snapshot.changed(&repository, &nothing).expect("git"), [""; 0]);
    assert_eq!(sample.fingerprint(), before);

    sample.write("dirty", "2");
    sample.write("same", "1");
    sample.write("a.txt", "changed\n");
    sample.write("new\nfile", "x");
    sample.write("ignored", "x");
    sample.write("plan.json", "{  }\n");
    fs::remove_file(sample.root.join("gone")).expect("removed");
    fs::remove_file(sample.root.join("link")).expect("removed");
    symlink("there", sample.root.join("link")).expect("a link");
    fs::set_permissions(sample.root.join("mode"), fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::write(sample.root.join(odd_name()), "2").expect("a file");
    let expected = ["a.txt", "dirty", "gone", "link", "mode", "new\nfile", "n\u{fffd}n"];
    assert_eq!(snapshot.changed(&repository, &is_ours).expect("git"), expected);
    // Committing all of it changes nothing.
    sample.commit("All");
    assert_eq!(snapshot.changed(&repository, &is_ours).expect("git"), expected);
}

#[test]
fn a_snapshot_is_taken_before_the_first_commit() {
    let sample = Sample::empty();
    let repository = sample.repository();
    sample.write("a", "1");
    let snapshot = Snapshot::take(&repository).expect("a snapshot");
    sample.write("b", "1");
    assert_eq!(snapshot.changed(&repository, &nothing).expect("git"), ["b"]);
    sample.commit("Begin");
    assert_eq!(snapshot.changed(&repository, &nothing).expect("git"), ["b"]);
}

#[test]
fn differences_from_a_commit_include_new_files() {
    let sample = Sample::new();
    let begin = sample.head();
    sample.write("b", "b");
    sample.commit("More");
    sample.write("c", "c");
    fs::remove_file(sample.root.join("a.txt")).expect("removed");
    assert_eq!(sample.repository().touched(&begin).expect("git"), ["a.txt", "b", "c"]);
}

#[test]
fn errors_name_the_command_and_the_reason() {
    let sample = Sample::new();
    let missing = "a1".repeat(20);
    let error = sample.repository().keep("x", &missing).expect_err("no such commit");
    let message = error.to_string();
    assert!(
        message.starts_with("`git update-ref --no-deref refs/planwright/x a1a1"),
        "{message}"
    );
    assert!(message.contains("nonexistent object"), "{message}");
}

/// Runs a test of this file again with other environment variables, which cannot be changed in this process.
fn again(test: &str, variables: &[(&str, &str)]) {
    let program = std::env::current_exe().expect("a program");
    let mut command = Command::new(program);
    command.args(["--exact", test]).envs(variables.iter().copied());
    let output = command.output().expect("a program that runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{test}: {text}");
}

#[test]
fn git_variables_of_the_environment_have_no_effect() {
    let variables = [
        ("GIT_DIR", "/nowhere"),
        ("GIT_WORK_TREE", "/nowhere"),
        ("GIT_INDEX_FILE", "/nowhere/index"),
        ("GIT_TRACE", "1"),
        ("LC_ALL", "de_DE.UTF-8"),
        ("GIT_EDITOR", "false"),
    ];
    again("git::a_folder_in_a_repository_knows_where_it_is", &variables);
    again(
        "git_checkouts::a_candidate_has_the_files_of_the_checkout_whatever_was_committed",
        &variables,
    );
    again("git_landing::a_conflict_is_brought_into_the_checkout", &variables);
    again(
        "git_landing::a_slot_has_the_commit_and_the_caches_of_landed_work_alone",
        &variables,
    );
}

#[test]
fn without_git_there_is_no_repository() {
    const MARK: &str = "PLANWRIGHT_TEST_WITHOUT_GIT";
    if std::env::var_os(MARK).is_none() {
        return again(
            "git::without_git_there_is_no_repository",
            &[("PATH", "/nowhere"), (MARK, "1")],
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    assert!(Repository::around(folder.path()).expect("no error").is_none());
    assert!(!planwright_run::git::valid_branch("main"));
}
