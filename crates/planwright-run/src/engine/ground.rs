//! Where tasks work: all in one folder, or each in a git worktree of its own, whose work is merged when it is proven.

use std::path::{Path, PathBuf};

use planwright_core::dialect;
use planwright_core::plan::{Field, Plan, Slots, Task};
use planwright_core::schedule::Job;
use planwright_core::text::visible;

use super::naming::listed;
use super::{PlanSnapshot, RunError, RunRequest};
use crate::config::Isolation;
use crate::git::{GitError, Integration, Merge, Repository, Snapshot, Worktree, Worktrees, valid_branch};
use crate::place::STATE_FOLDER;
use crate::programs::program;
use crate::runs::{IsolationMode, Remark, RemarkKind, RunPlace};
use crate::store::is_temporary;
use crate::workspace::slashed;

/// How many names are tried for a worktree.
const MAX_NAMES: u32 = 100;

/// What merges are tried in.
const INTEGRATION: &str = "integration";

/// How tasks are to be kept apart.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Whether each has a worktree of its own.
    pub has_worktrees: bool,
    /// How many tasks may run side by side in view of that.
    pub slots: Slots,
    /// What the user should know.
    pub remarks: Vec<Remark>,
}

/// Decides how tasks are kept apart. `slots` is how many the plan or the user allows.
pub(super) fn choose(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    jobs: &[Job],
    slots: Slots,
) -> Result<Chosen, RunError> {
    let most = match slots {
        Slots::Fixed(most) | Slots::StageWidth(most) => most,
    };
    let mut remarks = branch_remarks(snapshot);
    let wanted = request.config.run.isolation;
    let chosen = |has_worktrees, slots, remarks| Chosen {
        has_worktrees,
        slots,
        remarks,
    };
    if wanted == Isolation::Shared || (wanted == Isolation::Auto && most < 2) {
        return Ok(chosen(false, slots, remarks));
    }
    let obstacle = obstacle(snapshot, request.options.allow_dirty);
    match (wanted, obstacle) {
        (_, None) => Ok(chosen(true, slots, remarks)),
        (Isolation::Checkouts, Some(obstacle)) => Err(RunError::refused(
            format!("tasks cannot have worktrees of their own: {}", obstacle.why),
            obstacle.help,
        )),
        (_, Some(obstacle)) => {
            let declares = |(task, job): (&Task, &Job)| {
                !job.is_wanted || !snapshot.plan().task_list(task, Field::Files).is_empty()
            };
            let all_declare = snapshot.plan().tasks().iter().zip(jobs).all(declares);
            if request.config.run.slots.is_some() || all_declare {
                remarks.push(Remark::new(format!(
                    "up to {most} tasks at a time share the folder ({})",
                    obstacle.why
                )));
                return Ok(chosen(false, slots, remarks));
            }
            remarks.push(Remark::new(format!(
                "one task at a time, since all work in the same folder and do not say which files they touch ({}); -j {most} runs \
                 more all the same",
                obstacle.why
            )));
            Ok(chosen(false, Slots::Fixed(1), remarks))
        }
    }
}

/// Why tasks cannot have worktrees.
struct Obstacle {
    why: String,
    help: &'static str,
}

fn obstacle(snapshot: &PlanSnapshot, allows_dirt: bool) -> Option<Obstacle> {
    const SHARE: &str = "have them share the folder: --isolation shared";
    let obstacle = |why: String, help| Some(Obstacle { why, help });
    let root = &snapshot.place().root;
    let repository = match Repository::around(root) {
        Ok(Some(repository)) => repository,
        Ok(None) if program("git").is_none() => {
            return obstacle(
                "git is not installed".to_owned(),
                "install git; or have them share the folder: --isolation shared",
            );
        }
        Ok(None) => return obstacle("this is no git repository".to_owned(), SHARE),
        Err(error) => return obstacle(error.to_string(), SHARE),
    };
    let asked = || -> Result<Option<&'static str>, GitError> {
        Ok(if repository.head()?.is_none() {
            Some("there is no commit yet")
        } else if repository.branch()?.is_none() {
            Some("no branch is checked out")
        } else if repository.is_ignored(root)? || !repository.has_tracked(root)? {
            Some("git does not keep this folder")
        } else if repository.toplevel().join(".gitmodules").exists() {
            Some("the repository has submodules, which would be empty in worktrees")
        } else {
            None
        })
    };
    match asked() {
        Ok(None) => {}
        Ok(Some(why)) => return obstacle(why.to_owned(), SHARE),
        Err(error) => return obstacle(error.to_string(), SHARE),
    }
    if allows_dirt {
        return None;
    }
    match repository.dirt(&|path| is_ours(snapshot, &repository, path)) {
        Ok(dirt) if dirt.is_empty() => None,
        Ok(dirt) => obstacle(
            format!("there is uncommitted work: {}", listed(&dirt)),
            "commit or stash it; or --allow-dirty: tasks begin at the last commit and do not see it; or --isolation shared",
        ),
        Err(error) => obstacle(error.to_string(), SHARE),
    }
}

/// Tells of a plan that is meant for another branch than the one that is checked out.
fn branch_remarks(snapshot: &PlanSnapshot) -> Vec<Remark> {
    let Some(wanted) = snapshot
        .plan()
        .head_str(Field::Branch)
        .filter(|branch| !branch.trim().is_empty())
    else {
        return Vec::new();
    };
    let root = &snapshot.place().root;
    let found = Repository::around(root).ok().flatten();
    // A repository that does not keep this folder has nothing to do with it.
    let found = found.filter(|repository| !repository.is_ignored(root).unwrap_or(false));
    let Some(branch) = found.and_then(|repository| repository.branch().ok()).flatten() else {
        return Vec::new();
    };
    if branch == wanted {
        return Vec::new();
    }
    let text = format!(
        "warning: the plan is for the branch `{}`, and `{branch}` is checked out; --switch goes there",
        visible(wanted)
    );
    vec![Remark {
        kind: Some(RemarkKind::OtherBranch),
        ..Remark::new(text)
    }]
}

/// Goes to the plan's own branch, which is made where there is none.
pub(super) fn switch_branch(snapshot: &PlanSnapshot) -> Result<Option<String>, RunError> {
    let Some(wanted) = snapshot
        .plan()
        .head_str(Field::Branch)
        .filter(|branch| !branch.trim().is_empty())
    else {
        return Err(RunError::refused(
            "the plan names no branch to switch to",
            "leave --switch out",
        ));
    };
    let refused = |why: String| RunError::refused(why, "switch by hand, and leave --switch out");
    if !valid_branch(wanted) {
        return Err(refused(format!("`{}` cannot be the name of a branch", visible(wanted))));
    }
    let failed = |error: GitError| refused(format!("the branch `{wanted}` cannot be switched to: {error}"));
    let repository = Repository::around(&snapshot.place().root).map_err(failed)?;
    let repository = repository.ok_or_else(|| refused("this is no git repository".to_owned()))?;
    if repository.branch().map_err(failed)?.as_deref() == Some(wanted) {
        return Ok(None);
    }
    if repository.branch_exists(wanted).map_err(failed)? {
        repository.switch(wanted).map_err(failed)?;
        Ok(Some(format!("switched to the branch `{wanted}`")))
    } else {
        repository.switch_to_new(wanted).map_err(failed)?;
        Ok(Some(format!("made the branch `{wanted}`, and switched to it")))
    }
}

/// Tells whether a path from the top of the repository is planwright's own: it is no dirt, and no work of a task.
fn is_ours(snapshot: &PlanSnapshot, repository: &Repository, path: &str) -> bool {
    let Some(below) = path.strip_prefix(repository.prefix()) else {
        return false;
    };
    let place = snapshot.place();
    let pointer = || {
        let absolute = slashed(&place.target);
        let relative = dialect::find(snapshot.plan().dialect)?.pointer(&absolute)?;
        let mut folder = place.folder().to_owned();
        for part in relative.split('/') {
            match part {
                ".." => drop(folder.pop()),
                part => folder.push(part),
            }
        }
        Some(slashed(folder.strip_prefix(&place.root).ok()?))
    };
    below == place.relative
        || below
            .strip_prefix(STATE_FOLDER)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || pointer().is_some_and(|pointer| pointer == below)
        || Path::new(below)
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(is_temporary)
}

/// Where the tasks of a run work.
pub(super) enum Ground {
    /// All in the same folder; in a repository it is seen what they touch.
    Shared(Option<Repository>),
    /// Each in a worktree.
    Worktrees(Trees),
}

/// The worktrees of a run.
pub(super) struct Trees {
    worktrees: Worktrees,
    /// The branch that work is merged into.
    target: String,
    run: String,
}

/// The worktree of a task.
pub(super) struct Tree {
    pub(super) worktree: Worktree,
    /// The commit that it began at.
    pub(super) base: String,
}

/// What came of a merge so far.
pub(super) enum Merging {
    /// Everything was there already.
    Nothing,
    /// To be looked at in this folder, and then to be given to the branch.
    Candidate {
        commit: String,
        from: String,
        folder: PathBuf,
    },
    /// It cannot be merged.
    Conflict(String),
}

impl Ground {
    pub(super) fn open(snapshot: &PlanSnapshot, chosen: &Chosen, run: &RunPlace) -> Result<Self, RunError> {
        let repository = Repository::around(&snapshot.place().root).ok().flatten();
        if !chosen.has_worktrees {
            return Ok(Ground::Shared(repository));
        }
        let failed = |error: GitError| {
            RunError::refused(
                format!("the worktrees of the run cannot be made: {error}"),
                "have tasks share the folder: --isolation shared",
            )
        };
        let refused = || RunError::refused("no branch is checked out any more", "check one out");
        let repository = repository.ok_or_else(refused)?;
        let target = repository.branch().map_err(failed)?.ok_or_else(refused)?;
        let worktrees = Worktrees::new(&repository, &run.worktrees()).map_err(failed)?;
        Ok(Ground::Worktrees(Trees {
            worktrees,
            target,
            run: run.id().to_owned(),
        }))
    }

    /// Returns what the log calls it.
    pub(super) fn mode(&self) -> IsolationMode {
        match self {
            Ground::Shared(_) => IsolationMode::Shared,
            Ground::Worktrees(_) => IsolationMode::Worktrees,
        }
    }

    /// Remembers what the folder is like before a task works in it.
    pub(super) fn files_now(&self) -> Option<Snapshot> {
        match self {
            Ground::Shared(Some(repository)) => Snapshot::take(repository).ok(),
            Ground::Shared(None) | Ground::Worktrees(_) => None,
        }
    }

    /// Returns the files of the workspace that are not what they were.
    pub(super) fn touched(&self, before: &Snapshot, snapshot: &PlanSnapshot) -> Option<Vec<String>> {
        let Ground::Shared(Some(repository)) = self else {
            return None;
        };
        let found = before
            .changed(repository, &|path| is_ours(snapshot, repository, path))
            .ok()?;
        Some(below(found, repository.prefix()))
    }
}

impl Trees {
    pub(super) fn target(&self) -> &str {
        &self.target
    }

    /// Makes a worktree for a task, which begins with all that was merged so far.
    pub(super) fn make(&self, task: &str, number: u32) -> Result<Tree, GitError> {
        let repository = self.worktrees.repository();
        let base = self.tip()?;
        let branch = repository.task_branch(&self.run, task)?;
        let key = crate::place::PlanKey::of(task);
        let name = |nth: u32| match nth {
            1 => format!("{key}.{number}"),
            nth => format!("{key}.{number}-{nth}"),
        };
        // A run that was killed may have left one that it never came to use.
        let mut nth = 1;
        loop {
            match self.worktrees.create(&name(nth), &branch, &base) {
                Err(GitError::Exists(_)) if nth < MAX_NAMES => nth += 1,
                made => return made.map(|worktree| Tree { worktree, base }),
            }
        }
    }

    /// Finds a worktree of an earlier attempt again.
    pub(super) fn reopen(&self, folder: &Path, branch: &str) -> Result<Tree, GitError> {
        let worktree = self.worktrees.open(folder, branch)?;
        let repository = self.worktrees.repository();
        let gone = || GitError::NoBranch(branch.to_owned());
        let made = repository.tip(branch)?.ok_or_else(gone)?;
        let base = repository.merge_base(&made, &self.tip()?)?.ok_or_else(gone)?;
        Ok(Tree { worktree, base })
    }

    fn tip(&self) -> Result<String, GitError> {
        let tip = self.worktrees.repository().tip(&self.target)?;
        tip.ok_or_else(|| GitError::NoBranch(self.target.clone()))
    }

    /// Returns the folder of the workspace in a worktree.
    pub(super) fn root_in(&self, worktree: &Worktree) -> PathBuf {
        worktree.path().join(self.worktrees.repository().prefix())
    }

    /// Commits all that a task left in its worktree. Returns the commit, the files that it touched, and those of planwright's own
    /// that it had no business with.
    pub(super) fn commit(
        &self,
        tree: &Tree,
        message: &str,
        snapshot: &PlanSnapshot,
    ) -> Result<(String, Vec<String>, Vec<String>), GitError> {
        let repository = self.worktrees.repository();
        let exclude = |path: &str| is_ours(snapshot, repository, path);
        // A git that was ended in the middle leaves its locks; by now nobody works here.
        self.worktrees.move_locks_aside(&tree.worktree)?;
        let committed = self
            .worktrees
            .commit_all(&tree.worktree, &tree.base, message, &exclude)?;
        let mut touched = self.worktrees.changed_paths(&tree.worktree, &tree.base)?;
        touched.retain(|path| !exclude(path));
        Ok((
            committed.commit,
            below(touched, repository.prefix()),
            committed.put_aside,
        ))
    }

    /// Tries to merge a commit into what the target branch is now.
    pub(super) fn try_merge(&self, commit: &str, message: &str) -> Result<Merging, GitError> {
        let from = self.tip()?;
        let integration = Integration::open(&self.worktrees, INTEGRATION, &from)?;
        Ok(match integration.merge(&from, commit, message)? {
            Merge::Nothing => Merging::Nothing,
            Merge::Candidate(commit) => Merging::Candidate {
                commit,
                from,
                folder: self.root_in(integration.worktree()),
            },
            Merge::Conflict(paths) => Merging::Conflict(format!(
                "it conflicts with what was merged before it, in {}",
                listed(&paths)
            )),
        })
    }

    /// Gives a candidate to the target branch.
    pub(super) fn advance(&self, from: &str, to: &str) -> Result<(), GitError> {
        let integration = Integration::open(&self.worktrees, INTEGRATION, to)?;
        integration.advance(&self.target, from, to)
    }

    /// Removes a worktree whose work is merged, and its branch.
    pub(super) fn remove(&self, tree: &Tree) -> Result<(), GitError> {
        self.worktrees.remove(&tree.worktree)?;
        self.worktrees.delete_branch(tree.worktree.branch(), &self.target)
    }

    /// Removes what merges were tried in.
    pub(super) fn close(&self) -> Result<(), GitError> {
        let at = self.tip()?;
        Integration::open(&self.worktrees, INTEGRATION, &at)?.close()
    }
}

/// Returns the paths below a folder as seen from there; others from the top, with a way out in front.
fn below(paths: Vec<String>, prefix: &str) -> Vec<String> {
    let relative = |path: String| match path.strip_prefix(prefix) {
        Some(below) => below.to_owned(),
        None => format!("{}{path}", "../".repeat(prefix.matches('/').count())),
    };
    paths.into_iter().map(relative).collect()
}

/// Returns the files among those touched that a task does not declare; none where it declares nothing.
pub(super) fn drift(plan: &Plan, task: &Task, target: Option<&str>, touched: &[String]) -> Vec<String> {
    let declared = plan.task_list(task, Field::Files);
    if declared.is_empty() {
        return Vec::new();
    }
    let effects = plan.task_list(task, Field::SideEffects);
    let fits = |path: &str| {
        let is_declared = declared.iter().any(|known| known.trim_start_matches("./") == path);
        is_declared
            || effects
                .iter()
                .any(|pattern| fits(pattern.trim_start_matches("./"), path))
    };
    let is_expected = |path: &&String| {
        let inside = target.and_then(|target| Path::new(path.as_str()).strip_prefix(target).ok());
        fits(path) || inside.is_some_and(|inside| fits(&slashed(inside)))
    };
    touched.iter().filter(|path| !is_expected(path)).cloned().collect()
}

/// Tells whether a path fits a pattern: `*` stands for any text and `?` for a character, neither for a `/`.
fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<char>, Vec<char>) = (pattern.chars().collect(), path.chars().collect());
    // Where the last star stands, and how much of the path it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    let (mut at, mut seen) = (0, 0);
    while seen < path.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
                continue;
            }
            Some('?') if path[seen] != '/' => {}
            Some(c) if *c == path[seen] => {}
            _ => match star {
                Some((place, taken)) if path[taken] != '/' => {
                    star = Some((place, taken + 1));
                    (at, seen) = (place + 1, taken + 1);
                    continue;
                }
                _ => return false,
            },
        }
        at += 1;
        seen += 1;
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stay_within_a_folder() {
        for (pattern, path, expected) in [
            ("src/a.rs", "src/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("*/a.rs", "src/a.rs", true),
            ("?.rs", "a.rs", true),
            ("?.rs", "ab.rs", false),
            ("a?b", "a/b", false),
            ("*", "a", true),
            ("*", "a/b", false),
            ("a*b*c", "axbxbc", true),
            ("a*", "a", true),
            ("", "a", false),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn paths_are_told_from_the_workspace() {
        let paths = ["sub/a", "b", "sub/deep/c"].map(str::to_owned).to_vec();
        assert_eq!(below(paths.clone(), ""), paths);
        assert_eq!(below(paths, "sub/"), ["a", "../b", "deep/c"]);
    }
}
