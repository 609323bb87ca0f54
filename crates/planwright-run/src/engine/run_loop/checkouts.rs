//! The folders of attempts: one checkout each or one shared folder, and the work in them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use planwright_core::agent::CombinedVerdict;
use planwright_core::plan::{Field, Plan, TaskName};
use planwright_core::text::visible;

use super::super::attempt::RunningAttempt;
use super::super::drift::{below, drift};
use super::super::folder_print::FolderPrint;
use super::super::landing_site::LandingSite;
use super::super::naming::listed;
use super::super::own_files::OwnFiles;
use super::super::protected::{Protection, WatchedFiles};
use super::super::recovery::KnownCheckout;
use super::super::{PlanSnapshot, RunError};
use super::RunLoop;
use crate::config::NoChanges;
use crate::error_chain::with_causes;
use crate::faults;
use crate::files::{DiskFiles, write_own};
use crate::git::{Candidate, GitError, Repository, Snapshot, TaskCheckout, subject};
use crate::layout::{IGNORE, STATE_FOLDER, refuse_links};
use crate::runs::{self, DriftRecord, FixedSettings, IsolationMode, RunEvent};
use crate::verify;

pub(super) enum CheckoutObstacle {
    /// It may be gone after a while: the task waits.
    Passing(String),
    OfTask(String),
    OfAll(String),
}

pub(in super::super) enum WorkLocation {
    /// All in the folder of the workspace. In a repository, the run sees what they touch.
    Shared(Option<Repository>),
    Checkouts(Box<LandingSite>),
}

impl WorkLocation {
    pub(super) fn mode(&self) -> IsolationMode {
        match self {
            WorkLocation::Shared(_) => IsolationMode::Shared,
            WorkLocation::Checkouts(_) => IsolationMode::Checkouts,
        }
    }

    pub(super) fn conditions(&self) -> Option<&FixedSettings> {
        Some(self.site()?.conditions())
    }

    pub(super) fn site(&self) -> Option<&LandingSite> {
        match self {
            WorkLocation::Checkouts(site) => Some(site),
            WorkLocation::Shared(_) => None,
        }
    }

    /// Returns the branch that work lands on; empty where it stays in the folder.
    pub(super) fn branch(&self) -> &str {
        self.site().map_or("", LandingSite::branch)
    }

    /// Records the state of the folder before a task works in it.
    fn files_now(&self) -> Option<Snapshot> {
        match self {
            WorkLocation::Shared(Some(repository)) => Snapshot::take(repository).ok(),
            WorkLocation::Shared(None) | WorkLocation::Checkouts(_) => None,
        }
    }

    /// Returns the files of the workspace that differ from a snapshot.
    fn touched(&self, before: &Snapshot, snapshot: &PlanSnapshot) -> Option<Vec<String>> {
        let WorkLocation::Shared(Some(repository)) = self else {
            return None;
        };
        let own = OwnFiles::of(snapshot.place(), repository);
        let found = before.changed(repository, &|path| own.contains(path)).ok()?;
        Some(below(found, repository.prefix()))
    }
}

pub(super) struct KeptCheckouts {
    kept: HashMap<u32, TaskCheckout>,
}

impl KeptCheckouts {
    /// Finds the checkouts of interrupted attempts, if they still exist.
    pub(super) fn of(workplace: &WorkLocation, known: impl Iterator<Item = (u32, KnownCheckout)>) -> Self {
        let found = known.filter_map(|(task, known)| Some((task, find(workplace.site()?, &known)?)));
        KeptCheckouts { kept: found.collect() }
    }

    pub(super) fn keep(&mut self, task: u32, checkout: TaskCheckout) {
        self.kept.insert(task, checkout);
    }

    pub(super) fn take(&mut self, task: u32) -> Option<TaskCheckout> {
        self.kept.remove(&task)
    }

    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>) {
        super::renumber(&mut self.kept, new_of);
    }
}

/// Returns a checkout from the log, if its folder is still the original one.
pub(super) fn find(site: &LandingSite, known: &KnownCheckout) -> Option<TaskCheckout> {
    site.find(&known.folder, &known.identity, &known.base).ok()
}

impl RunLoop<'_> {
    /// Prepares the folder of an attempt, and creates it if the attempt has its own.
    pub(super) fn prepare_checkout(&mut self, attempt: &mut RunningAttempt) -> Result<(), CheckoutObstacle> {
        let mut root = self.root();
        let kept = self.folders.checkouts.take(attempt.task);
        if let Some(site) = self.folders.workplace.site() {
            // A folder that was removed or replaced is not this task's any more: the task starts again.
            let is_usable = |checkout: &TaskCheckout| {
                site.checkouts().reopen(checkout).is_ok() && state_folder(site, checkout).is_ok()
            };
            let kept = kept.filter(is_usable);
            let is_new = kept.is_none();
            let checkout = match kept {
                Some(checkout) => checkout,
                None => {
                    attempt.location.setup = site.preparation().setup.iter().cloned().collect();
                    site.make(&attempt.name, attempt.number).map_err(|error| {
                        let (name, why) = (&attempt.name, words(&error));
                        let why = format!("the checkout of `{name}` cannot be made: {why}");
                        match error.is_passing() {
                            true => CheckoutObstacle::Passing(why),
                            false => CheckoutObstacle::OfAll(why),
                        }
                    })?
                }
            };
            root = site.root_in(checkout.path());
            let checkout = attempt.location.checkout.insert(checkout);
            // A fence may keep agents from writing outside of their folder.
            let state = state_folder(site, checkout).map_err(|why| {
                if is_new {
                    site.discard(checkout);
                }
                CheckoutObstacle::OfAll(why)
            })?;
            attempt.location.result = state.join(format!("result-{}.json", attempt.number));
        }
        let folder = verify::folder(&root, self.snapshot.plan(), attempt.task as usize);
        attempt.location.folder = folder.map_err(|error| CheckoutObstacle::OfTask(error.to_string()))?;
        attempt.location.files_before = self.folders.workplace.files_now();
        if attempt.location.checkout.is_none() && !self.folders.watched.contains_key(&attempt.task) {
            let protection = self.protection(attempt.task, &attempt.name);
            let known = self.state().task(&attempt.name).and_then(|run| run.contract.as_ref());
            let known = known.and_then(|contract| contract.watched.as_ref());
            let watched = match known {
                // An attempt may have changed them before the run was killed.
                Some(known) => WatchedFiles::from_record(known),
                None if protection.is_empty() => WatchedFiles::default(),
                None => protection.watch(&self.root()),
            };
            self.folders.watched.insert(attempt.task, watched);
        }
        if matches!(self.folders.workplace, WorkLocation::Shared(None)) {
            attempt.location.print_before = self.folder_print();
        }
        Ok(())
    }

    /// Returns the files that decide whether a task passes.
    fn protection(&self, task: u32, name: &str) -> Protection {
        let checks = self.checks_of(task, name);
        let run = self.state().task(self.snapshot.name(task));
        let contract = run.and_then(|run| run.contract.as_ref());
        let expected = contract.map_or(&[][..], |contract| &contract.expected);
        let plan = self.snapshot.plan();
        let own = plan.tasks().get(task as usize);
        let folder = own
            .and_then(|task| verify::named_folder(plan, task))
            .unwrap_or_default();
        let patterns = &self.request.config.verify.protect;
        let protection = Protection::of(&checks.checks, patterns, folder);
        protection.following_links(&self.root(), patterns).without(expected)
    }

    fn changed_watched(&self, task: u32) -> Vec<String> {
        let watched = self.folders.watched.get(&task);
        watched.map_or_else(Vec::new, |files| files.changed(&self.root()))
    }

    /// Returns the files that verify a task and that changed in the shared folder since its first attempt.
    pub(super) fn changed_in_folder(&self, task: u32, name: &str) -> Vec<String> {
        let changed = self.changed_watched(task);
        self.protection(task, name).among(&changed)
    }

    /// Returns the files that verify a task and that an attempt changed or removed.
    pub(super) fn changed_protected(&self, attempt: &RunningAttempt, candidate: Option<&Candidate>) -> Vec<String> {
        let protection = self.protection(attempt.task, &attempt.name);
        let changed = match candidate {
            Some(candidate) => self.seen_from_workspace(&candidate.replaced),
            None => self.changed_watched(attempt.task),
        };
        let mut changed = protection.among(&changed);
        if let Some(candidate) = candidate {
            let touched = self.seen_from_workspace(&candidate.touched);
            changed.extend(protection.overriding(&touched));
            changed.sort();
            changed.dedup();
        }
        changed
    }

    /// Scans the files of a folder without git, if changes to them matter.
    fn folder_print(&self) -> Option<FolderPrint> {
        let place = self.snapshot.place();
        let matters = self.request.config.run.no_changes != NoChanges::Allow;
        matters.then(|| FolderPrint::of(&place.root, &place.target)).flatten()
    }

    /// Returns whether an attempt that reported success changed no file, as far as that is known.
    pub(super) fn is_unchanged(
        &self,
        attempt: &RunningAttempt,
        conclusion: &CombinedVerdict,
        candidate: Option<&Candidate>,
    ) -> bool {
        let without_git = |before: &FolderPrint| self.folder_print().is_some_and(|now| now == *before);
        match candidate {
            _ if self.request.config.run.no_changes == NoChanges::Allow || attempt.resolution.is_some() => false,
            Some(candidate) => candidate.is_empty(),
            None if attempt.location.files_before.is_some() => conclusion.affected_files.is_empty(),
            None => attempt.location.print_before.as_ref().is_some_and(without_git),
        }
    }

    /// Collects the work of an attempt: a candidate if it has a checkout, and the files that it touched.
    pub(super) fn gather(
        &mut self,
        attempt: &RunningAttempt,
        conclusion: &mut CombinedVerdict,
    ) -> Result<Option<Candidate>, String> {
        if attempt.location.checkout.is_some() {
            let named = self.named_files(attempt, conclusion);
            let candidate = match self.snapshot_of(attempt, Some(&named)) {
                Ok(candidate) => candidate,
                Err(error) => {
                    // The file stays in the checkout, which is kept because of it.
                    if let GitError::Ignored { path, .. } = &error {
                        conclusion.affected_files = self.seen_from_workspace(std::slice::from_ref(path));
                    }
                    return Err(format!("its work cannot be taken: {}", words(&error)));
                }
            };
            conclusion.affected_files = self.seen_from_workspace(&candidate.touched);
            return Ok(Some(candidate));
        }
        let before = attempt.location.files_before.as_ref();
        if let Some(mut touched) = before.and_then(|before| self.folders.workplace.touched(before, &self.snapshot)) {
            let own = self.files_of(attempt.task);
            touched.retain(|path| own.contains(path) || !attempt.location.of_others.contains(path));
            conclusion.affected_files = touched;
        }
        Ok(None)
    }

    fn seen_from_workspace(&self, paths: &[String]) -> Vec<String> {
        self.folders
            .workplace
            .site()
            .map_or_else(Vec::new, |site| site.below(paths))
    }

    pub(super) fn snapshot_of(
        &self,
        attempt: &RunningAttempt,
        named: Option<&[String]>,
    ) -> Result<Candidate, GitError> {
        let (Some(site), Some(checkout)) = (self.folders.workplace.site(), &attempt.location.checkout) else {
            return Err(GitError::LostCheckout(attempt.location.folder.clone()));
        };
        let message = commit_message(self.snapshot.plan(), attempt);
        site.snapshot(checkout, &attempt.name, attempt.number, &message, named)
    }

    /// Records a candidate, and reports which of the agent's files are not in it.
    pub(super) fn record_candidate(&mut self, attempt: &RunningAttempt, candidate: &Candidate) -> Result<(), RunError> {
        let other_work = match (self.folders.workplace.site(), &attempt.location.checkout) {
            (Some(site), Some(checkout)) => site.checkouts().other_work(checkout),
            _ => Vec::new(),
        };
        if !candidate.own.is_empty() {
            let own = visible(&candidate.own.join(", ")).into_owned();
            self.remark(
                Some(attempt.task),
                format!("it changed its copy of {own}, which does not land"),
            )?;
        }
        if !other_work.is_empty() {
            let text = format!(
                "it left commits that are not part of its files, in {}: its checkout is kept ({})",
                listed(&other_work),
                attempt
                    .location
                    .checkout
                    .as_ref()
                    .map_or(Path::new(""), TaskCheckout::path)
                    .display()
            );
            self.remark(Some(attempt.task), text)?;
        }
        self.record(RunEvent::Candidate(runs::CandidateRecord {
            other_work,
            ..kept_candidate(attempt, candidate)
        }))
    }

    /// Returns the files that must land: those that the task names and those that its agent reports.
    fn named_files(&self, attempt: &RunningAttempt, conclusion: &CombinedVerdict) -> Vec<String> {
        let mut named = self.files_of(attempt.task);
        named.extend(conclusion.affected_files.iter().cloned());
        named.retain(|path| !Path::new(path).is_absolute() && !path.split('/').any(|part| part == ".."));
        named
    }

    /// Keeps the checkout of an attempt that failed, and saves its files as a commit that `git gc` keeps. Returns where they are, in words.
    pub(super) fn keep_checkout(&mut self, attempt: &mut RunningAttempt) -> Result<Option<String>, RunError> {
        let Some(checkout) = attempt.location.checkout.clone() else {
            return Ok(None);
        };
        let taken = match checkout.require_identity() {
            Ok(()) => self.snapshot_of(attempt, None),
            Err(error) => Err(error),
        };
        attempt.location.checkout = None;
        let path = checkout.path().display().to_string();
        let kept = match taken {
            Ok(candidate) if candidate.is_empty() => None,
            // The summary names the checkout.
            Ok(candidate) => Some(format!("its work is kept: commit {}", short(&candidate.commit))),
            Err(error @ GitError::LostCheckout(_)) => {
                self.remark(Some(attempt.task), words(&error))?;
                return Ok(None);
            }
            Err(error) => {
                let text = format!("its work could not be kept as a commit: {}", words(&error));
                self.remark(Some(attempt.task), text)?;
                Some(format!("its work is kept in its checkout `{path}`"))
            }
        };
        self.disarm(attempt.task, &checkout)?;
        self.folders.checkouts.keep(attempt.task, checkout);
        Ok(kept)
    }

    /// Removes from a kept checkout the settings and hooks that git would execute.
    pub(super) fn disarm(&mut self, task: u32, checkout: &TaskCheckout) -> Result<(), RunError> {
        match self
            .folders
            .workplace
            .site()
            .map(|site| site.checkouts().disarm(checkout))
        {
            Some(Err(error)) => {
                let path = checkout.path().display();
                let why = words(&error);
                self.remark(
                    Some(task),
                    format!("its checkout may have settings and hooks of the agent ({why}): look at them before you use git in `{path}`"),
                )
            }
            _ => Ok(()),
        }
    }

    /// Records for attempts that share a folder which files belong to the other.
    pub(super) fn meet(&mut self, attempt: &mut RunningAttempt) {
        let own = self.files_of(attempt.task);
        let others: Vec<u32> = self.attempts.running().map(|other| other.task).collect();
        for task in others {
            attempt.location.of_others.extend(self.files_of(task));
        }
        for other in self.attempts.running_mut() {
            other.location.of_others.extend(own.iter().cloned());
        }
    }

    fn files_of(&self, task: u32) -> Vec<String> {
        let plan = self.snapshot.plan();
        let task = plan.tasks().get(task as usize);
        let files = task.into_iter().flat_map(|task| plan.task_list(task, Field::Files));
        files.map(|path| path.trim_start_matches("./").to_owned()).collect()
    }

    /// Compares the touched files with those that the task declares. Returns the failure, if that fails the task.
    pub(super) fn look_for_drift(
        &mut self,
        attempt: &RunningAttempt,
        conclusion: &CombinedVerdict,
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
        self.record(RunEvent::Drifted(DriftRecord {
            task: attempt.name.clone(),
            attempt: attempt.number,
            files,
        }))?;
        Ok(self.request.options.flags.strict_files.then_some(why))
    }
}

pub(super) fn kept_candidate(attempt: &RunningAttempt, candidate: &Candidate) -> runs::CandidateRecord {
    runs::CandidateRecord {
        task: attempt.name.clone(),
        attempt: attempt.number,
        commit: candidate.commit.clone(),
        tree: candidate.tree.clone(),
        base: candidate.base.clone(),
        ignored: candidate.ignored.clone(),
        other_work: Vec::new(),
        protected: attempt.work.protected.clone(),
    }
}

/// Returns the message of a candidate: the task and its title. A name that was made of the title is left out.
pub(super) fn commit_message(plan: &Plan, attempt: &RunningAttempt) -> String {
    let title = subject(title_of(plan, attempt.task));
    let name = plan.tasks().get(attempt.task as usize).map(|task| task.name);
    match (title.is_empty(), name) {
        (true, _) => subject(&attempt.name),
        (false, Some(TaskName::Words(_))) => title,
        (false, _) => format!("{}: {title}", subject(&attempt.name)),
    }
}

pub(super) fn title_of(plan: &Plan, task: u32) -> &str {
    plan.tasks()
        .get(task as usize)
        .map_or("", |task| plan.task_subject(task))
}

/// Returns a shortened commit id.
pub(super) fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

pub(super) fn words(error: &GitError) -> String {
    // Commands and paths are long; the message of git or the system matters.
    match error {
        GitError::Failed { reason, .. } | GitError::Locked { reason, .. } => format!("git: {reason}"),
        GitError::Path { path, source } => format!("{source}: `{}`", path.display()),
        error => with_causes(error),
    }
}

/// Creates the state folder in a checkout, which git ignores. Removes what an agent put in its place, and follows no link.
fn state_folder(site: &LandingSite, checkout: &TaskCheckout) -> Result<PathBuf, String> {
    let folder = site.root_in(checkout.path()).join(STATE_FOLDER);
    let above = folder.parent().unwrap_or(&folder);
    let is_in_the_way = || folder.symlink_metadata().is_ok_and(|found| !found.is_dir());
    let made = faults::step("make state folder")
        .and_then(|()| refuse_links(&DiskFiles, checkout.path(), above))
        .and_then(|()| match is_in_the_way() {
            true => std::fs::remove_file(&folder),
            false => Ok(()),
        })
        .and_then(|()| std::fs::create_dir_all(&folder))
        .and_then(|()| write_own(&folder.join(".gitignore"), IGNORE.as_bytes()));
    made.map(|()| folder.clone())
        .map_err(|error| format!("`{}` cannot be made: {error}", folder.display()))
}
