//! Checks a workspace: configuration, state folder, journals, plans. Changes nothing.

mod finding;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ignore::gitignore::GitignoreBuilder;
use planwright_core::diagnostic::Severity;
use planwright_core::plan::Status;
use planwright_core::text::visible;

use crate::claims::Claims;
use crate::clock;
use crate::config::{self, ConfigInputs, Configuration};
use crate::files::{DiskFiles, Files as _, open_to_read, read_bounded};
use crate::git::Repository;
use crate::inspect_file::inspect_file;
use crate::journal::{self, JournalHeader, plan_id};
use crate::layout::{JOURNAL_EXTENSION, PlanKey, STATE_FOLDER, not_a_folder, origin_of};
use crate::programs::program;
use crate::revise::{note_take_overs, take_states};
use crate::runs;
use crate::runs::state::RunState;
use crate::shell::command_line;
use crate::store::{PlanFile, history, load, new_temporary_name, stale_temporaries};
use crate::workspace::{archived_plans, is_pointer, plans_at_home};
pub use finding::DoctorFinding;
use finding::short;

const FOLDERS: [&str; 9] = [
    "archive",
    "checks",
    "inquiries",
    "journal",
    "locks",
    "proposals",
    "runs",
    "trash",
    "versions",
];

/// How old a claim without a lease may be before it is reported.
const LONG: Duration = Duration::from_secs(24 * 3_600);

#[derive(Debug)]
pub struct DoctorFindings {
    pub configuration: Configuration,
    pub n_plans: usize,
    pub n_journals: usize,
    pub findings: Vec<DoctorFinding>,
}

/// Checks a workspace. Writes a file to its state folder and removes it at once, to test whether the folder is writable.
pub fn diagnose(root: &Path) -> DoctorFindings {
    let mut findings = DoctorFindings {
        configuration: config::load(root, &ConfigInputs::of_process()),
        n_plans: 0,
        n_journals: 0,
        findings: Vec::new(),
    };
    findings.check_state(root);
    let ids = findings.check_plans(root);
    findings.check_journals(root, &ids);
    findings.check_runs(root);
    findings.check_verification(root);
    findings.check_agents(root);
    findings.check_leftovers(root);
    findings
}

impl DoctorFindings {
    /// Returns the number of findings, including those of the configuration.
    pub fn n_findings(&self) -> usize {
        let sources = self.configuration.sources.iter();
        self.findings.len() + sources.map(|source| source.findings.len()).sum::<usize>()
    }

    fn check_state(&mut self, root: &Path) {
        let state = root.join(STATE_FOLDER);
        let is_there = state.is_symlink() || state.exists();
        // Without a state folder, the first change must create it.
        let folder = if is_there { state.clone() } else { root.to_owned() };
        let tried = match not_a_folder(&state) {
            Some(what) if is_there => {
                self.add(DoctorFinding::not_a_folder(&short(root, &state), what));
                Ok(())
            }
            _ => try_out(&folder),
        };
        for path in FOLDERS.map(|name| state.join(name)) {
            if let Some(what) = not_a_folder(&path).filter(|_| path.symlink_metadata().is_ok()) {
                self.add(DoctorFinding::not_a_folder(&short(root, &path), what));
            }
        }
        let folder = short(root, &folder);
        match tried {
            Ok(()) => {}
            Err(TrialFailure::NotWritten(why)) => self.add(DoctorFinding::not_writable(&folder, &why)),
            Err(TrialFailure::NotLocked(why)) => self.add(DoctorFinding::no_locks(&folder, &why)),
        }
        let repository = root.ancestors().find(|folder| folder.join(".git").exists());
        let Some(repository) = repository else {
            return;
        };
        if is_there && state.is_dir() && !is_ignored(&state, repository) {
            self.add(DoctorFinding::not_ignored());
        }
        match program("git") {
            None => self.add(DoctorFinding::no_git()),
            Some(_) if is_there && is_tracked(root, &state) => self.add(DoctorFinding::tracked()),
            Some(_) => {}
        }
    }

    /// Returns the ids of all plans.
    fn check_plans(&mut self, root: &Path) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        for path in plans_at_home(root) {
            self.check_plan(root, &path, &mut ids);
        }
        for path in archived_plans(root) {
            let id = load(&path)
                .ok()
                .and_then(|loaded| id_of(&inspect_file(&loaded.source, Some(&path), None).inspection));
            ids.extend(id);
        }
        ids
    }

    fn check_plan(&mut self, root: &Path, path: &Path, ids: &mut BTreeSet<String>) {
        let shown = short(root, path);
        let source = match load(path) {
            Ok(loaded) => loaded.source,
            Err(error) => {
                self.n_plans += 1;
                return self.add(DoctorFinding::plan_unreadable(root, &shown, error));
            }
        };
        let inspection = inspect_file(&source, Some(path), None).inspection;
        // A pointer file names a plan next to it, and holds no plan itself.
        let is_pointer = is_pointer(path);
        let mut warnings = inspection
            .diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Warning);
        if let Some(finding) = warnings.next().filter(|_| is_pointer) {
            self.add(DoctorFinding::points_nowhere(&shown, &finding.message));
        }
        self.n_plans += usize::from(inspection.plan.is_some());
        ids.extend(id_of(&inspection));
        let n_errors = inspection.count(Severity::Error);
        if n_errors > 0 {
            self.add(DoctorFinding::plan_errors(&shown, n_errors));
        }
    }

    fn check_journals(&mut self, root: &Path, ids: &BTreeSet<String>) {
        let folder = root.join(STATE_FOLDER).join("journal");
        let mut names = DiskFiles.list_folder(&folder).unwrap_or_default();
        names.sort();
        let paths = names.iter().map(|name| folder.join(name));
        for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == JOURNAL_EXTENSION)) {
            self.n_journals += 1;
            self.check_journal(root, &path, ids);
        }
    }

    fn check_journal(&mut self, root: &Path, journal: &Path, ids: &BTreeSet<String>) {
        let sight = match journal::look(&DiskFiles, journal) {
            Ok(sight) => sight,
            Err(error) => return self.add(DoctorFinding::journal(root, error)),
        };
        if sight.n_torn > 0 {
            self.add(DoctorFinding::torn_journal(&short(root, journal), sight.n_torn));
        }
        let Some(JournalHeader { path: plan, id }) = sight.owner else {
            return;
        };
        // The journal of a plan that was moved by hand is found by its id, and that of a plan that was restored by its path.
        let is_known = id.is_some_and(|id| ids.contains(&id));
        let is_back = origin_of(&plan).is_some_and(|path| is_without_journal(root, path));
        if !is_known && !is_back && !root.join(&plan).exists() {
            return self.add(DoctorFinding::orphan_journal(&short(root, journal), &plan));
        }
        self.check_claims(root, &root.join(plan));
    }

    /// Reports claims with an expired lease, and claims without one that are older than a day.
    fn check_claims(&mut self, root: &Path, path: &Path) {
        let Ok(source) = load(path).map(|loaded| loaded.source) else {
            return;
        };
        let mut inspection = inspect_file(&source, Some(path), None).inspection;
        if take_states(&mut inspection, path).is_err() {
            return;
        }
        let Some(plan) = inspection.plan.as_ref().map(|linked| &linked.plan) else {
            return;
        };
        let file = PlanFile {
            path,
            id: plan_id(plan),
        };
        let Ok(history) = history(file) else {
            return;
        };
        let claims = Claims::of(&history);
        let (now, a_day_ago) = (clock::now(), clock::before(LONG));
        let words = |ix: usize| {
            let name = plan.task_name(ix);
            let claim = claims.on(&name)?;
            let owner = claim.owner()?;
            let name = visible(&name);
            match claim.until() {
                Some(until) if claim.is_expired(&now) => Some(format!(
                    "`{name}` by {}, whose lease was over at {}",
                    visible(owner),
                    clock::to_the_second(until)
                )),
                None if claim.since < a_day_ago => {
                    let since = clock::to_the_second(&claim.since);
                    Some(format!("`{name}` by {} since {since}", visible(owner)))
                }
                _ => None,
            }
        };
        let running = (0..plan.tasks().len()).filter(|ix| plan.tasks()[*ix].status == Status::Running);
        let claims: Vec<String> = running.filter_map(words).collect();
        if !claims.is_empty() {
            self.add(DoctorFinding::abandoned_claims(&short(root, path), &claims));
        }
    }

    fn check_runs(&mut self, root: &Path) {
        // Before the logs are read: a run that ends in the meantime is not interrupted.
        let live: BTreeSet<String> = runs::live_runs(&DiskFiles, root)
            .into_iter()
            .filter_map(|live| live.id)
            .collect();
        let mut seen = BTreeSet::new();
        let places = runs::list(&DiskFiles, root).unwrap_or_default();
        // The newest first: only the newest run of a plan is resumed.
        for place in places.iter().rev().filter(|place| place.log().exists()) {
            // A torn record was never acknowledged. It is cut when the run is resumed.
            match runs::records(&DiskFiles, &place.log()) {
                Err(error) => self.add(DoctorFinding::journal(root, error)),
                Ok(records) => {
                    let plan = runs::header(&place.log()).map(|header| header.path).unwrap_or_default();
                    let mut state = RunState::of(&records);
                    let is_newest = seen.insert(plan.clone());
                    let is_open = state.begun.is_some() && state.ended.is_none() && !live.contains(place.id());
                    let path = root.join(plan);
                    if is_newest && is_open && path.is_file() {
                        state.mark_interrupted();
                        let id = runs::header(&place.log()).ok().and_then(|header| header.id);
                        note_take_overs(&mut state, &path, id.as_deref());
                        let path = short(root, &path);
                        self.add(DoctorFinding::interrupted_run(&path, place.id(), state.n_left()));
                    }
                }
            }
        }
    }

    /// Checks the programs of the commands that verify tasks. For a shell line, checks only the shell.
    fn check_verification(&mut self, root: &Path) {
        let verify = &self.configuration.config.verify;
        let of_types = verify.types.values().flat_map(|checks| &checks.run);
        let of_criteria = verify.criteria.iter().flat_map(|rule| &rule.checks.run);
        let mut seen = BTreeSet::new();
        let mut missing = Vec::new();
        for command in verify.every.iter().chain(of_types).chain(of_criteria) {
            let words = command.arguments();
            let Some(name) = words.first() else {
                continue;
            };
            let is_there = match name.contains('/') {
                true => root.join(name).is_file(),
                false => program(name).is_some(),
            };
            if !is_there && seen.insert(name.clone()) {
                let command = command_line(&words);
                missing.push(DoctorFinding::missing_program(&visible(name), &visible(&command)));
            }
        }
        self.findings.append(&mut missing);
    }

    /// Checks the programs of the agents that take tasks, and of their fallbacks.
    fn check_agents(&mut self, root: &Path) {
        let config = &self.configuration.config;
        let chosen = config.run.agent.iter().chain(config.run.types.values());
        let chosen = chosen.filter_map(|name| config.agents.get(name));
        let fallbacks = chosen.clone().flat_map(|agent| &agent.fallback);
        let all = chosen.chain(fallbacks.filter_map(|name| config.agents.get(name)));
        let mut seen = BTreeSet::new();
        let missing = all.filter(|agent| seen.insert(&agent.name) && agent.find_program(root).is_none());
        let missing =
            missing.map(|agent| DoctorFinding::missing_agent(&visible(&agent.name), &visible(agent.program())));
        let mut missing: Vec<DoctorFinding> = missing.collect();
        self.findings.append(&mut missing);
        let config = &self.configuration.config;
        if config.run.agent.is_none() && config.only_agent().is_none() {
            self.findings.push(DoctorFinding::no_agent());
        }
        if !config.verify.has_rules() {
            self.findings.push(DoctorFinding::no_verification());
        }
        if self.n_plans == 0 {
            self.add(DoctorFinding::no_plan());
        }
    }

    pub fn add(&mut self, finding: DoctorFinding) {
        self.findings.push(finding);
    }

    /// Returns whether an error prevents plans from being changed or run.
    pub fn has_errors(&self) -> bool {
        let sources = self.configuration.sources.iter();
        let mut of_configuration = sources.flat_map(|source| &source.findings);
        of_configuration.any(|found| found.severity == Severity::Error)
            || self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    fn check_leftovers(&mut self, root: &Path) {
        let plans = plans_at_home(root).into_iter().chain(archived_plans(root));
        let mut folders: BTreeSet<PathBuf> = plans.filter_map(|path| Some(path.parent()?.to_owned())).collect();
        folders.extend([root.to_owned(), root.join(STATE_FOLDER)]);
        for folder in folders {
            let stale = stale_temporaries(&DiskFiles, &folder, clock::of_files()).into_iter();
            self.findings
                .extend(stale.map(|path| DoctorFinding::stale_temporary(&short(root, &path))));
        }
    }
}

fn is_without_journal(root: &Path, plan: &str) -> bool {
    let journal = root
        .join(STATE_FOLDER)
        .join("journal")
        .join(PlanKey::of(plan).journal());
    root.join(plan).exists() && !journal.exists()
}

fn id_of(inspection: &planwright_core::inspect::Inspection) -> Option<String> {
    let linked = inspection.plan.as_ref()?;
    plan_id(&linked.plan).map(str::to_owned)
}

enum TrialFailure {
    NotWritten(String),
    NotLocked(String),
}

/// Writes a file, locks it, and checks that a second lock is refused.
fn try_out(folder: &Path) -> Result<(), TrialFailure> {
    let path = folder.join(new_temporary_name());
    let tried = try_file(&path);
    DiskFiles.remove(&path).ok();
    tried
}

fn try_file(path: &Path) -> Result<(), TrialFailure> {
    let failed = |error: io::Error| TrialFailure::NotWritten(error.to_string());
    let one = DiskFiles.create_private(path).map_err(failed)?;
    let other = DiskFiles.open_shared(path).map_err(failed)?;
    one.try_lock()
        .map_err(|error| TrialFailure::NotLocked(error.to_string()))?;
    match other.try_lock() {
        Err(std::fs::TryLockError::WouldBlock) => Ok(()),
        Err(std::fs::TryLockError::Error(error)) => Err(TrialFailure::NotLocked(error.to_string())),
        Ok(()) => Err(TrialFailure::NotLocked(
            "a lock does not exclude other processes".to_owned(),
        )),
    }
}

/// Asks git whether it tracks files of the state folder. If git cannot answer, as for a repository that it does not trust, the workspace
/// has no finding.
fn is_tracked(root: &Path, state: &Path) -> bool {
    let repository = Repository::around(root).ok().flatten();
    repository.is_some_and(|repository| repository.has_tracked(state).unwrap_or(false))
}

/// How much of a `.gitignore` is read.
const MAX_IGNORE_BYTES: usize = 1024 * 1024;

/// Checks the state folder's own `.gitignore`, then those of the repository.
fn is_ignored(state: &Path, repository: &Path) -> bool {
    let own = open_to_read(&state.join(".gitignore")).and_then(|file| read_bounded(file, MAX_IGNORE_BYTES));
    let own = own.unwrap_or_default();
    if String::from_utf8_lossy(&own)
        .lines()
        .any(|line| matches!(line.trim(), "*" | "/*" | "**"))
    {
        return true;
    }
    let mut builder = GitignoreBuilder::new(repository);
    builder.add(repository.join(".git/info/exclude"));
    let folders = state
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(repository));
    let files: Vec<PathBuf> = folders.map(|folder| folder.join(".gitignore")).collect();
    for file in files.iter().rev() {
        builder.add(file);
    }
    let rules = builder.build();
    rules.is_ok_and(|rules| rules.matched_path_or_any_parents(state, true).is_ignore())
}
