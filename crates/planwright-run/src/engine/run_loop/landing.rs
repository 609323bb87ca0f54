//! Where attempts work, and how their work gets onto the branch: worktrees, commits and merges of a run. The rest of the loop
//! knows no git.

use std::collections::{HashMap, VecDeque};

use planwright_core::agent::Conclusion;
use planwright_core::plan::{Field, Plan, State};
use planwright_core::text::visible;

use super::super::RunError;
use super::super::attempt::{Attempt, Candidate, Checking, Ending, Stage};
use super::super::ground::{Ground, Merging, Tree, Trees, drift};
use super::super::naming::listed;
use super::super::recovery::Proven;
use super::RunLoop;
use super::results::Failure;
use crate::causes::with_causes;
use crate::faults;
use crate::files::{DiskFiles, write_own};
use crate::git::GitError;
use crate::place::{IGNORE, STATE_FOLDER, refuse_links};
use crate::runs::state::failed_commands;
use crate::runs::{Drifted, IsolationMode, Merged, RunEvent};
use crate::verify;
use crate::worker::Ended;

/// How often a merge is tried anew because another process moved the branch meanwhile.
const MAX_TRIES: usize = 5;

/// Why there is nowhere to work, in words.
pub(super) enum Obstacle {
    /// For this task.
    OfTask(String),
    /// For any task.
    OfAll(String),
}

/// The worktrees of a run, and the work that waits to be merged.
pub(super) struct Landing {
    ground: Ground,
    /// Worktrees of tasks between two attempts.
    trees: HashMap<u32, Tree>,
    /// Work that was verified in an earlier run and not merged.
    proven: HashMap<u32, Proven>,
    /// Work that is verified and waits to be merged.
    queue: VecDeque<(Attempt, Box<Checking>)>,
    /// Whether a merge is being verified.
    is_verifying: bool,
}

impl Landing {
    pub(super) fn new(ground: Ground, proven: HashMap<u32, Proven>) -> Self {
        Landing {
            ground,
            trees: HashMap::new(),
            proven,
            queue: VecDeque::new(),
            is_verifying: false,
        }
    }

    /// Returns how the log calls the isolation of tasks.
    pub(super) fn mode(&self) -> IsolationMode {
        self.ground.mode()
    }

    /// Returns whether the work on a task only has to be merged.
    pub(super) fn has_proven(&self, task: u32) -> bool {
        self.proven.contains_key(&task)
    }

    pub(super) fn take_proven(&mut self, task: u32) -> Option<Proven> {
        self.proven.remove(&task)
    }

    /// Has the next attempt at a task begin in a new worktree.
    pub(super) fn forget_tree(&mut self, task: u32) {
        self.trees.remove(&task);
    }

    /// Returns how many attempts wait to be merged.
    pub(super) fn n_queued(&self) -> usize {
        self.queue.len()
    }

    /// Returns whether the work on a task waits to be merged.
    pub(super) fn is_queued(&self, task: u32) -> bool {
        self.queue.iter().any(|(attempt, _)| attempt.task == task)
    }

    /// Has work that waits to be merged follow another process that moved its task. Returns whether there is any.
    pub(super) fn follow(&mut self, task: u32, to: State) -> bool {
        let mut queued = self.queue.iter_mut().map(|(attempt, _)| attempt);
        let Some(attempt) = queued.find(|attempt| attempt.task == task) else {
            return false;
        };
        if !matches!(to, State::Running | State::Done) {
            attempt.ending.get_or_insert(Ending::TakenAway);
        }
        attempt.moved = Some(to).filter(|to| *to != State::Running);
        true
    }

    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>) {
        super::renumber(&mut self.trees, new_of);
        super::renumber(&mut self.proven, new_of);
        for (attempt, _) in &mut self.queue {
            attempt.renumber(new_of);
        }
    }

    fn trees(&self) -> Option<&Trees> {
        match &self.ground {
            Ground::Worktrees(trees) => Some(trees),
            Ground::Shared(_) => None,
        }
    }
}

impl RunLoop<'_> {
    /// Prepares the folder that an attempt works in, and makes it where the attempt has its own.
    pub(super) fn prepare_checkout(&mut self, attempt: &mut Attempt) -> Result<(), Obstacle> {
        let mut root = self.root();
        if let Ground::Worktrees(trees) = &self.landing.ground {
            let tree = match self.landing.trees.remove(&attempt.task) {
                Some(tree) => tree,
                None => trees.make(&attempt.name, attempt.number).map_err(|error| {
                    Obstacle::OfAll(format!(
                        "the worktree of `{}` cannot be made: {}",
                        attempt.name,
                        words(&error)
                    ))
                })?,
            };
            root = trees.root_in(&tree.worktree);
            attempt.tree = Some(tree);
            // Agents may be kept from writing outside of their folder.
            let state = state_folder(&root).map_err(Obstacle::OfAll)?;
            attempt.result = state.join(format!("result-{}.json", attempt.number));
        }
        let folder = verify::folder(&root, self.snapshot.plan(), attempt.task as usize);
        attempt.folder = folder.map_err(|error| Obstacle::OfTask(error.to_string()))?;
        attempt.files_before = self.landing.ground.files_now();
        Ok(())
    }

    /// Finds the worktree of an attempt of the run before, with what it made. Returns whether it is there.
    pub(super) fn reopen(&mut self, attempt: &mut Attempt, proven: &Proven) -> bool {
        let Ground::Worktrees(trees) = &self.landing.ground else {
            return false;
        };
        let Ok(tree) = trees.reopen(&proven.folder, &proven.branch) else {
            return false;
        };
        let root = trees.root_in(&tree.worktree);
        let Ok(folder) = verify::folder(&root, self.snapshot.plan(), attempt.task as usize) else {
            return false;
        };
        attempt.tree = Some(tree);
        attempt.folder = folder;
        true
    }

    /// Gathers what an attempt made: commits what lies in its worktree, and finds the files that it touched. Returns the commit.
    pub(super) fn gather(
        &mut self,
        attempt: &mut Attempt,
        conclusion: &mut Conclusion,
    ) -> Result<Option<String>, String> {
        if let (Ground::Worktrees(trees), Some(tree)) = (&self.landing.ground, &attempt.tree) {
            let message = commit_message(self.snapshot.plan(), attempt);
            let (commit, touched, aside) = trees
                .commit(tree, &message, &self.snapshot)
                .map_err(|error| format!("what it made cannot be committed: {}", words(&error)))?;
            conclusion.affected_files = touched;
            if !aside.is_empty() {
                let text = format!(
                    "it changed its copy of {}, which is not merged",
                    visible(&aside.join(", "))
                );
                // Written down when something else is; it is no reason to fail.
                self.remark(Some(attempt.task), text)
                    .map_err(|error| error.to_string())?;
            }
            return Ok(Some(commit));
        }
        let touched = attempt
            .files_before
            .as_ref()
            .and_then(|before| self.landing.ground.touched(before, &self.snapshot));
        if let Some(mut touched) = touched {
            let own = self.files_of(attempt.task);
            touched.retain(|path| own.contains(path) || !attempt.of_others.contains(path));
            conclusion.affected_files = touched;
        }
        Ok(None)
    }

    /// Tells attempts in the same folder which files belong to the other.
    pub(super) fn meet(&mut self, attempt: &mut Attempt) {
        let own = self.files_of(attempt.task);
        let others: Vec<u32> = self.attempts.running().map(|other| other.task).collect();
        for task in others {
            attempt.of_others.extend(self.files_of(task));
        }
        for other in self.attempts.running_mut() {
            other.of_others.extend(own.iter().cloned());
        }
    }

    /// Returns the files that a task names.
    fn files_of(&self, task: u32) -> Vec<String> {
        let plan = self.snapshot.plan();
        let task = plan.tasks().get(task as usize);
        let files = task.into_iter().flat_map(|task| plan.task_list(task, Field::Files));
        files.map(|path| path.trim_start_matches("./").to_owned()).collect()
    }

    /// Compares the files that were touched with those that the task declares. Returns why it has failed, where that counts.
    pub(super) fn look_for_drift(
        &mut self,
        attempt: &Attempt,
        conclusion: &Conclusion,
    ) -> Result<Option<String>, RunError> {
        let plan = self.snapshot.plan();
        let Some(task) = plan.tasks().get(attempt.task as usize) else {
            return Ok(None);
        };
        let target = plan
            .task_str(task, Field::TargetRepo)
            .or_else(|| plan.head_str(Field::TargetRepo));
        let files = drift(plan, task, target, &conclusion.affected_files);
        if files.is_empty() {
            return Ok(None);
        }
        let why = format!("it touched files that the plan does not name: {}", listed(&files));
        self.record(RunEvent::Drifted(Drifted {
            task: attempt.name.clone(),
            attempt: attempt.number,
            files,
        }))?;
        Ok(self.request.options.strict_files.then_some(why))
    }

    /// Keeps the worktree of an attempt that did not get through: all of it is committed to its branch. Returns where it is, in
    /// words.
    pub(super) fn keep_tree(&mut self, attempt: &mut Attempt) -> Result<Option<String>, RunError> {
        let Some(tree) = attempt.tree.take() else {
            return Ok(None);
        };
        let message = commit_message(self.snapshot.plan(), attempt);
        let committed = match &self.landing.ground {
            Ground::Worktrees(trees) => trees.commit(&tree, &message, &self.snapshot).map(drop),
            Ground::Shared(_) => Ok(()),
        };
        if let Err(error) = committed {
            let text = format!(
                "what it made is in its worktree and could not be committed: {}",
                words(&error)
            );
            self.remark(Some(attempt.task), text)?;
        }
        let kept = format!(
            "its work is kept: branch `{}`, worktree `{}`",
            tree.worktree.branch(),
            tree.worktree.path().display()
        );
        self.landing.trees.insert(attempt.task, tree);
        Ok(Some(kept))
    }

    /// Queues verified work for the branch.
    pub(super) fn land(&mut self, attempt: Attempt, checking: Box<Checking>) -> Result<(), RunError> {
        self.landing.queue.push_back((attempt, checking));
        self.merge_next()
    }

    /// Merges what is proven, one after another, as long as nothing has to be verified again.
    fn merge_next(&mut self) -> Result<(), RunError> {
        while !self.landing.is_verifying {
            let Some((attempt, checking)) = self.landing.queue.pop_front() else {
                return Ok(());
            };
            if self.stops.ends_attempts() || attempt.ending == Some(Ending::TakenAway) {
                self.interrupted(attempt, None)?;
                continue;
            }
            self.merge(attempt, checking)?;
        }
        Ok(())
    }

    fn merge(&mut self, attempt: Attempt, mut checking: Box<Checking>) -> Result<(), RunError> {
        // A later run that finds the branch merged must find in the log that the work was verified.
        self.commit()?;
        let commit = checking.commit.clone().unwrap_or_default();
        let message = format!("Merge {}", one_line(&attempt.name));
        for _ in 0..MAX_TRIES {
            let Some(trees) = self.landing.trees() else {
                return self.accept(attempt, &checking);
            };
            let base = attempt.tree.as_ref().map_or("", |tree| tree.base.as_str());
            match trees.try_merge(&commit, &message) {
                Ok(Merging::Nothing) => return self.merged(attempt, &checking, None),
                Ok(Merging::Conflict(why)) => return self.not_merged(attempt, &why),
                Ok(Merging::Candidate { commit, from, folder }) => {
                    // What stands on nothing new was verified as it is.
                    let is_proven = from == base || checking.checks.is_empty();
                    if !is_proven {
                        checking.receipts.clear();
                        checking.commit = Some(commit.clone());
                        return self.verify_merge(attempt, checking, Candidate { commit, from, folder });
                    }
                    match trees.advance(&from, &commit) {
                        Ok(()) => return self.merged(attempt, &checking, Some(commit)),
                        Err(GitError::Moved { .. }) => {}
                        Err(error) => return self.not_merged(attempt, &words(&error)),
                    }
                }
                Err(error) => return self.not_merged(attempt, &words(&error)),
            }
        }
        self.not_merged(attempt, "somebody else keeps moving the branch")
    }

    /// Runs the next command on a merge, or draws the conclusion.
    fn verify_merge(
        &mut self,
        mut attempt: Attempt,
        mut checking: Box<Checking>,
        candidate: Candidate,
    ) -> Result<(), RunError> {
        let folder = verify::folder(&candidate.folder, self.snapshot.plan(), attempt.task as usize);
        let folder = folder.unwrap_or_else(|_| candidate.folder.clone());
        if let Some(key) = self.start_check(&attempt, &mut checking, folder) {
            self.landing.is_verifying = true;
            attempt.stage = Stage::Merging(checking, candidate);
            self.attempts.insert(key, attempt);
            return Ok(());
        }
        self.landing.is_verifying = false;
        if !self.record_verified(&attempt, &checking)? {
            let failed = failed_commands(&checking.receipts);
            let why = format!("together with what was merged before it, verification failed\n\n{failed}");
            self.not_merged(attempt, &why)?;
            return self.merge_next();
        }
        self.commit()?;
        let advanced = match self.landing.trees() {
            Some(trees) => trees.advance(&candidate.from, &candidate.commit),
            None => Ok(()),
        };
        match advanced {
            Ok(()) => self.merged(attempt, &checking, Some(candidate.commit))?,
            // Another process moved the branch: the work is merged with that, and verified again.
            Err(GitError::Moved { .. }) => self.landing.queue.push_front((attempt, checking)),
            Err(error) => self.not_merged(attempt, &words(&error))?,
        }
        self.merge_next()
    }

    pub(super) fn merge_checked(
        &mut self,
        attempt: Attempt,
        ended: &Ended,
        mut checking: Box<Checking>,
        candidate: Candidate,
    ) -> Result<(), RunError> {
        if matches!(attempt.ending, Some(Ending::Interrupted | Ending::TakenAway)) {
            self.landing.is_verifying = false;
            self.interrupted(attempt, None)?;
            return self.merge_next();
        }
        if ended.was_outlived {
            self.end_what_is_left(&attempt)?;
        }
        self.keep_receipt(&attempt, ended, &mut checking);
        self.verify_merge(attempt, checking, candidate)
    }

    fn merged(&mut self, mut attempt: Attempt, checking: &Checking, commit: Option<String>) -> Result<(), RunError> {
        let tree = attempt.tree.take();
        let branch = tree.as_ref().map_or("", |tree| tree.worktree.branch()).to_owned();
        self.record(RunEvent::Merged(Merged {
            task: attempt.name.clone(),
            attempt: attempt.number,
            branch,
            passed: true,
            commit,
            why: None,
        }))?;
        // The work is in, and must not be done again whatever happens from here.
        self.commit()?;
        if let (Some(tree), Some(trees)) = (&tree, self.landing.trees())
            && let Err(error) = trees.remove(tree)
        {
            self.remark(Some(attempt.task), words(&error))?;
        }
        self.accept(attempt, checking)
    }

    /// The work stays on its branch; the next attempt begins anew, on the present state of the target branch.
    fn not_merged(&mut self, attempt: Attempt, why: &str) -> Result<(), RunError> {
        let tree = attempt.tree.as_ref();
        let branch = tree.map_or("", |tree| tree.worktree.branch()).to_owned();
        let path = tree.map_or_else(String::new, |tree| tree.worktree.path().display().to_string());
        let target = self.landing.trees().map_or("", Trees::target).to_owned();
        let task = attempt.task;
        let why = format!("it was not merged into `{target}`: {why}\n(branch `{branch}`, worktree `{path}`)");
        self.record(RunEvent::Merged(Merged {
            task: attempt.name.clone(),
            attempt: attempt.number,
            branch,
            passed: false,
            commit: None,
            why: Some(why.clone()),
        }))?;
        self.failed(attempt, &Failure::Other(why), true)?;
        self.landing.trees.remove(&task);
        Ok(())
    }

    /// Removes what only the run itself needed.
    pub(super) fn close_landing(&mut self) -> Result<(), RunError> {
        if let Some(Err(error)) = self.landing.trees().map(Trees::close) {
            self.remark(None, words(&error))?;
        }
        Ok(())
    }
}

fn commit_message(plan: &Plan, attempt: &Attempt) -> String {
    let title = plan
        .tasks()
        .get(attempt.task as usize)
        .map_or("", |task| plan.task_title(task));
    let title = one_line(title);
    match title.is_empty() {
        true => one_line(&attempt.name),
        false => format!("{}: {title}", one_line(&attempt.name)),
    }
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(100).collect();
    visible(&line).into_owned()
}

fn words(error: &GitError) -> String {
    if let GitError::Failed { reason, .. } | GitError::Locked { reason, .. } = error {
        // The command is long, and what git says is what matters.
        return format!("git: {reason}");
    }
    with_causes(error)
}

/// Makes the state folder in a worktree, which git does not look at.
fn state_folder(root: &std::path::Path) -> Result<std::path::PathBuf, String> {
    let folder = root.join(STATE_FOLDER);
    let made = faults::step("make state folder")
        .and_then(|()| refuse_links(&DiskFiles, root, &folder))
        .and_then(|()| std::fs::create_dir_all(&folder))
        .and_then(|()| write_own(&folder.join(".gitignore"), IGNORE.as_bytes()));
    made.map(|()| folder.clone())
        .map_err(|error| format!("`{}` cannot be made: {error}", folder.display()))
}
