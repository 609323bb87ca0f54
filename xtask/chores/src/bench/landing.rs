//! Creating the checkout of a task and landing its work, against the same steps by plain git commands.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use planwright::run::config::Cleaning;
use planwright::run::git::{Checkouts, Pool, Repository, SnapshotRequest, TargetBranch, with_trailers};

use super::scratch;
use super::table::{BenchTable, interleaved};

const FILES: usize = 1_848;

pub(crate) fn run() -> anyhow::Result<BenchTable> {
    let folder = scratch()?;
    let repository = LandingRepository::new(folder.path())?;
    let mut table = BenchTable::new(
        format!("landing: a repository of {FILES} files, milliseconds"),
        &["step", "plain git", "planwright", "ratio (≤ 1.3)"],
    );
    let mut plain = || repository.plain_checkout().expect("git");
    let mut own = || repository.own_checkout().expect("git");
    add_row(&mut table, "create a checkout", &mut plain, &mut own);
    let mut plain = || repository.plain_landing().expect("git");
    let mut own = || repository.own_landing().expect("git");
    add_row(&mut table, "land one task", &mut plain, &mut own);
    Ok(table)
}

fn add_row(table: &mut BenchTable, what: &str, plain: &mut dyn FnMut(), own: &mut dyn FnMut()) {
    let samples = interleaved(&mut [plain, own]);
    let ratio = samples[1].median / samples[0].median;
    table.row(
        vec![
            what.to_owned(),
            format!("{:.1} ±{:.0} %", samples[0].median, samples[0].spread * 100.0),
            format!("{:.1} ±{:.0} %", samples[1].median, samples[1].spread * 100.0),
            format!("{ratio:.2}"),
        ],
        ratio <= 1.3,
    );
}

/// A repository, and a folder for checkouts of it.
struct LandingRepository {
    root: PathBuf,
    outside: PathBuf,
    head: String,
}

impl LandingRepository {
    fn new(folder: &Path) -> anyhow::Result<Self> {
        let root = folder.join("repository");
        for n in 0..FILES {
            let path = root.join(format!("src/{}/file-{n}.txt", n % 40));
            std::fs::create_dir_all(path.parent().context("a folder")?)?;
            std::fs::write(path, format!("{n}\n").repeat(60))?;
        }
        git(&root, &["init", "--quiet", "--initial-branch=main"])?;
        git(&root, &["config", "user.name", "User"])?;
        git(&root, &["config", "user.email", "user@example.org"])?;
        git(&root, &["add", "--all"])?;
        git(&root, &["commit", "--quiet", "-m", "Begin"])?;
        git(&root, &["branch", "plain"])?;
        git(&root, &["branch", "own"])?;
        Ok(LandingRepository {
            head: git(&root, &["rev-parse", "HEAD"])?,
            outside: folder.join("outside"),
            root,
        })
    }

    /// Creates a checkout with a separate git directory that borrows objects.
    fn plain_checkout(&self) -> anyhow::Result<()> {
        let folder = self.outside.join("plain");
        remove(&folder)?;
        self.init(&folder, &[])?;
        git(&folder, &["update-ref", "refs/heads/task", &self.head])?;
        git(&folder, &["symbolic-ref", "HEAD", "refs/heads/task"])?;
        git(&folder, &["reset", "--quiet", "--hard"])?;
        Ok(())
    }

    fn init(&self, folder: &Path, options: &[&str]) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder)?;
        git(folder, &[&["init", "--quiet", "--template="], options].concat())?;
        let git_dir = if options.is_empty() {
            folder.join(".git")
        } else {
            folder.to_owned()
        };
        std::fs::create_dir_all(git_dir.join("objects/info"))?;
        let objects = self.root.join(".git/objects");
        std::fs::write(
            git_dir.join("objects/info/alternates"),
            format!("{}\n", objects.display()),
        )?;
        Ok(())
    }

    fn own_checkout(&self) -> anyhow::Result<()> {
        let checkouts = self.checkouts()?;
        let checkout = checkouts.create("own", &self.head)?;
        checkouts.remove(&checkout)?;
        Ok(())
    }

    fn checkouts(&self) -> anyhow::Result<Checkouts> {
        let repository = Repository::around(&self.root)?.context("a repository")?;
        Ok(Checkouts::open(&repository, &self.outside.join("run"))?)
    }

    /// The work of one task by hand: a snapshot, its commit fetched into the repository, a clean checkout to verify it, and the
    /// branch moved.
    fn plain_landing(&self) -> anyhow::Result<()> {
        let tip = git(&self.root, &["rev-parse", "plain"])?;
        let work = self.outside.join("plain-work");
        if !work.exists() {
            self.init(&work, &[])?;
            git(&work, &["reset", "--quiet", "--hard", &self.head])?;
        }
        let snapshots = self.outside.join("plain-snapshots.git");
        if !snapshots.exists() {
            self.init(&snapshots, &["--bare"])?;
        }
        std::fs::write(work.join("new.txt"), format!("after {tip}\n"))?;
        let index = self.outside.join("plain-index");
        let _ = std::fs::remove_file(&index);
        let staged = [
            ("GIT_DIR", snapshots.as_path()),
            ("GIT_WORK_TREE", &work),
            ("GIT_INDEX_FILE", &index),
        ];
        let staging = |words: &[&str]| git_with(&work, words, &staged);
        staging(&["read-tree", &tip])?;
        staging(&[
            "ls-files",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
            "-z",
        ])?;
        staging(&["add", "--all"])?;
        staging(&["diff-index", "--cached", "--raw", "-z", &tip])?;
        staging(&["check-ignore", "--no-index", "-q", "none"]).ok();
        let tree = staging(&["write-tree"])?;
        let candidate = staging(&["commit-tree", "-p", &tip, "-m", "work", &tree])?;
        staging(&["update-ref", "refs/candidates/1", &candidate])?;
        let from = snapshots.display().to_string();
        git(
            &self.root,
            &[
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-auto-maintenance",
                &from,
                "+refs/candidates/1:refs/plain/1",
            ],
        )?;
        let commit = git(&self.root, &["commit-tree", "-p", &tip, "-m", "candidate", &tree])?;
        git(&self.root, &["update-ref", "refs/plain/replay", &commit])?;
        git(
            &self.root,
            &["rev-list", "--objects", "--quiet", &commit, "--not", &tip],
        )?;
        let slot = self.outside.join("plain-slot");
        let slot_git = self.outside.join("plain-slot.git");
        if !slot_git.exists() {
            self.init(&slot_git, &["--bare"])?;
            std::fs::create_dir_all(&slot)?;
        }
        let slotted = [("GIT_DIR", slot_git.as_path()), ("GIT_WORK_TREE", &slot)];
        git_with(&slot, &["read-tree", "--reset", "-u", &commit], &slotted)?;
        git_with(&slot, &["clean", "--quiet", "-ff", "-d"], &slotted)?;
        git_with(
            &slot,
            &[
                "ls-files",
                "--others",
                "--ignored",
                "--exclude-standard",
                "--directory",
                "-z",
            ],
            &slotted,
        )?;
        remove(&slot.join(".git"))?;
        self.init(&slot, &[])?;
        git(&slot, &["read-tree", &commit])?;
        let landed = git(&self.root, &["commit-tree", "-p", &tip, "-m", "landed", &tree])?;
        git(&self.root, &["worktree", "list", "--porcelain"])?;
        git(&self.root, &["update-ref", "refs/heads/plain", &landed, &tip])?;
        git(&self.root, &["rev-parse", "plain"])?;
        Ok(())
    }

    fn own_landing(&self) -> anyhow::Result<()> {
        let repository = Repository::around(&self.root)?.context("a repository")?;
        let checkouts = Checkouts::open(&repository, &self.outside.join("run"))?;
        let target = TargetBranch::current_as(&repository, "own")?;
        let tip = target.tip()?.context("a branch")?;
        let kept = self.outside.join("run/tasks/landing");
        let checkout = match planwright::run::git::FolderIdentity::of(&kept) {
            Some(identity) => checkouts.find(&kept, &identity, &tip)?,
            None => checkouts.create("landing", &self.head)?,
        };
        std::fs::write(checkout.path().join("new.txt"), format!("after {tip}\n"))?;
        let request = SnapshotRequest {
            message: "work",
            reference: "own/1",
            is_own: &|_| false,
            copied: &[],
            prepared: None,
            named: &[],
            keep_ignored: &[],
        };
        let candidate = checkouts.snapshot(&checkout, &request)?;
        let commit = repository.commit_tree(&candidate.tree, &[&tip], "candidate")?;
        repository.keep("own/replay", &commit)?;
        repository.require_whole(&commit, &tip)?;
        let slot = Pool::open(&self.outside.join("pool"))?.take(checkouts.frozen())?;
        slot.prepare(&commit, Cleaning::KeepCaches)?;
        slot.keep_caches()?;
        let message = with_trailers("landed", &[]);
        let landed = repository.commit_tree(&candidate.tree, &[&tip], &message)?;
        target.advance(&tip, &landed, "land")?;
        Ok(())
    }
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    match folder.exists() {
        true => Ok(std::fs::remove_dir_all(folder)?),
        false => Ok(()),
    }
}

fn git(folder: &Path, words: &[&str]) -> anyhow::Result<String> {
    git_with(folder, words, &[])
}

fn git_with(folder: &Path, words: &[&str], variables: &[(&str, &Path)]) -> anyhow::Result<String> {
    let mut command = Command::new("git");
    command.args(words).current_dir(folder).envs(variables.iter().copied());
    let output = command.output()?;
    anyhow::ensure!(
        output.status.success(),
        "git {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
