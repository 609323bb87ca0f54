//! What is wrong with a workspace: its configuration, its state folder, its journals and its plans. Mends nothing.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ignore::gitignore::GitignoreBuilder;
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::DIALECTS;
use planwright_core::plan::Status;
use planwright_core::text::visible;

use crate::causes::with_causes;
use crate::claims::Claims;
use crate::clock;
use crate::config::{self, Configuration, Surroundings, no_agent};
use crate::examine::examine;
use crate::files::{DiskFiles, Files as _, open_to_read, read_bounded};
use crate::git::Repository;
use crate::journal::{self, Header, JournalError, plan_id};
use crate::place::{JOURNAL_EXTENSION, PlanKey, STATE_FOLDER, not_a_folder, origin_of};
use crate::programs::program;
use crate::revise::{note_take_overs, take_states};
use crate::runs;
use crate::runs::state::RunState;
use crate::shell::{argument, command_line};
use crate::store::{LoadError, PlanFile, history, load, new_temporary_name, stale_temporaries};
use crate::workspace::{archived_plans, plans_at_home, slashed};

/// What the state folder may hold.
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

/// Something that is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Nothing can be written to the state folder.
    #[error("`{}` cannot be written to: {why}", .folder.display())]
    NotWritable {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        why: String,
    },
    /// Something else is where the state folder should be, or a folder in it.
    #[error("`{}` {what}, and planwright keeps what it knows of the plans in a folder of that name", .path.display())]
    NotAFolder {
        /// Where.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Git would take the state of the workspace for source code.
    #[error("`{STATE_FOLDER}` is not ignored by git")]
    NotIgnored,
    /// Git keeps the state of the workspace, and gives it to every clone.
    #[error("git tracks files of `{STATE_FOLDER}`: every clone takes that history for its own")]
    Tracked,
    /// Two writers would not exclude each other.
    #[error("files in `{}` cannot be locked: {why}", .folder.display())]
    NoLocks {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        why: String,
    },
    /// A journal cannot be added to.
    #[error("{}", with_causes(.error))]
    Journal {
        /// Why not.
        error: JournalError,
    },
    /// The end of a journal was never finished.
    #[error("the end of the journal `{}` was never finished ({})", .journal.display(), journal::counted_bytes(*.n_bytes))]
    TornJournal {
        /// The journal.
        journal: PathBuf,
        /// How many.
        n_bytes: u64,
    },
    /// A journal's plan is gone.
    #[error("the journal `{}` is of `{plan}`, which is gone", .journal.display())]
    OrphanJournal {
        /// The journal.
        journal: PathBuf,
        /// Where the plan was.
        plan: String,
    },
    /// A writer died and left its file.
    #[error("`{}` was left by a planwright that was stopped", .path.display())]
    StaleTemporary {
        /// The file.
        path: PathBuf,
    },
    /// A plan cannot be read.
    #[error("{}", with_causes(.error))]
    PlanUnreadable {
        /// The plan.
        path: PathBuf,
        /// Why not.
        error: LoadError,
    },
    /// A plan has errors.
    #[error("`{}` has {}", .path.display(), counted(*.n_errors))]
    PlanErrors {
        /// The plan.
        path: PathBuf,
        /// How many.
        n_errors: usize,
    },
    /// A file that points at the plan in work points at none.
    #[error("`{}`: {what}", .path.display())]
    PointsNowhere {
        /// The file.
        path: PathBuf,
        /// What it says.
        what: String,
    },
    /// Claims on tasks of a plan are over, or nothing was heard of their holders for a day.
    #[error("`{}`: {} held and abandoned: {}", .path.display(), counted_tasks(.claims.len()), .claims.join("; "))]
    AbandonedClaims {
        /// The plan.
        path: PathBuf,
        /// The tasks, with who holds them since when, in words.
        claims: Vec<String>,
    },
    /// A run was killed, and no process has continued it.
    #[error("run {run} of `{}` was interrupted and is not finished: {}", .path.display(), left_words(*.n_left))]
    InterruptedRun {
        /// The plan.
        path: PathBuf,
        /// The run.
        run: String,
        /// How many of its tasks are not finished.
        n_left: u64,
    },
    /// A command of `[verify]` names a program that cannot be found.
    #[error("`{program}`, which runs `{command}` to verify tasks, is {}", not_found_words(.program))]
    MissingProgram {
        /// The program.
        program: String,
        /// The command.
        command: String,
    },
    /// The program of an agent that the configuration names cannot be found.
    #[error("`{program}`, the program of the agent `{agent}`, is {}", not_found_words(.program))]
    MissingAgent {
        /// The agent.
        agent: String,
        /// The program.
        program: String,
    },
    /// No agent is configured.
    #[error("no agent is configured: `planwright run` would not know which one to start")]
    NoAgent,
    /// Nothing verifies tasks.
    #[error("nothing verifies tasks: one is done when its agent says so")]
    NoVerification,
    /// There is no plan.
    #[error("there is no plan in this workspace")]
    NoPlan,
    /// A command that verifies tasks fails before anything was changed.
    #[error("`{command}` {ended}, before any task has changed anything")]
    VerificationFails {
        /// The command.
        command: String,
        /// How it ended.
        ended: String,
    },
    /// Little space is left for checkouts.
    #[error("only {} are free where checkouts are made", megabytes(*.n_bytes))]
    LittleSpace {
        /// How much.
        n_bytes: u64,
    },
    /// A merge, rebase or the like has begun and not ended.
    #[error("git is in the middle of something: {what}")]
    UnfinishedGit {
        /// What.
        what: String,
    },
    /// It is a git repository, and there is no git.
    #[error("this is a git repository, and `git` is not on the PATH")]
    NoGit,
}

fn megabytes(n_bytes: u64) -> String {
    format!("{} MB", n_bytes / 1_000_000)
}

fn left_words(n_left: u64) -> String {
    match n_left {
        1 => "1 task is left".to_owned(),
        n => format!("{n} tasks are left"),
    }
}

fn not_found_words(program: &str) -> &'static str {
    match program.contains('/') {
        true => "not a program in this workspace",
        false => "not found on PATH",
    }
}

fn counted_tasks(n_tasks: usize) -> String {
    match n_tasks {
        1 => "1 task is".to_owned(),
        n => format!("{n} tasks are"),
    }
}

fn counted(n_errors: usize) -> String {
    match n_errors {
        1 => "1 error".to_owned(),
        n => format!("{n} errors"),
    }
}

impl Trouble {
    /// Returns its id.
    pub fn id(&self) -> &'static str {
        match self {
            Trouble::NotWritable { .. } => "state-not-writable",
            Trouble::NotAFolder { .. } => "state-not-a-folder",
            Trouble::NotIgnored => "state-not-ignored",
            Trouble::Tracked => "state-tracked",
            Trouble::NoLocks { .. } => "no-locks",
            Trouble::Journal { error } => match error {
                JournalError::Newer { .. } => "journal-newer",
                JournalError::Corrupt { .. } => "journal-corrupt",
                JournalError::InUse { .. } | JournalError::Io { .. } => "journal-unreadable",
            },
            Trouble::TornJournal { .. } => "journal-torn",
            Trouble::OrphanJournal { .. } => "journal-orphan",
            Trouble::StaleTemporary { .. } => "stale-temporary",
            Trouble::PlanUnreadable { .. } => "plan-unreadable",
            Trouble::PlanErrors { .. } => "plan-errors",
            Trouble::PointsNowhere { .. } => "points-nowhere",
            Trouble::AbandonedClaims { .. } => "claims-abandoned",
            Trouble::InterruptedRun { .. } => "run-interrupted",
            Trouble::MissingProgram { .. } => "verify-program-missing",
            Trouble::MissingAgent { .. } => "agent-program-missing",
            Trouble::NoGit => "no-git",
            Trouble::NoAgent => "no-agent",
            Trouble::NoVerification => "no-verification",
            Trouble::NoPlan => "no-plan",
            Trouble::VerificationFails { .. } => "verification-fails",
            Trouble::LittleSpace { .. } => "little-space",
            Trouble::UnfinishedGit { .. } => "git-unfinished",
        }
    }

    /// Returns how bad it is: an error where something does not work until it is mended.
    pub fn severity(&self) -> Severity {
        match self {
            Trouble::NotIgnored
            | Trouble::Tracked
            | Trouble::TornJournal { .. }
            | Trouble::OrphanJournal { .. }
            | Trouble::StaleTemporary { .. }
            | Trouble::PointsNowhere { .. }
            | Trouble::AbandonedClaims { .. }
            | Trouble::InterruptedRun { .. }
            | Trouble::NoVerification
            | Trouble::LittleSpace { .. }
            | Trouble::UnfinishedGit { .. }
            | Trouble::NoGit => Severity::Warning,
            // A task may make it.
            Trouble::MissingProgram { program, .. } if program.contains('/') => Severity::Warning,
            _ => Severity::Error,
        }
    }

    /// Returns the file it is about, where it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Trouble::NotWritable { folder, .. } | Trouble::NoLocks { folder, .. } => Some(folder),
            Trouble::NotAFolder { path, .. } => Some(path),
            Trouble::NotIgnored | Trouble::Tracked => Some(Path::new(STATE_FOLDER)),
            Trouble::Journal { error } => match error {
                JournalError::Newer { path, .. }
                | JournalError::Corrupt { path, .. }
                | JournalError::Io { path, .. } => Some(path),
                JournalError::InUse { .. } => None,
            },
            Trouble::TornJournal { journal, .. } | Trouble::OrphanJournal { journal, .. } => Some(journal),
            Trouble::StaleTemporary { path }
            | Trouble::PlanUnreadable { path, .. }
            | Trouble::PlanErrors { path, .. }
            | Trouble::AbandonedClaims { path, .. }
            | Trouble::InterruptedRun { path, .. }
            | Trouble::PointsNowhere { path, .. } => Some(path),
            Trouble::MissingProgram { .. }
            | Trouble::MissingAgent { .. }
            | Trouble::NoAgent
            | Trouble::NoVerification
            | Trouble::NoPlan
            | Trouble::VerificationFails { .. }
            | Trouble::LittleSpace { .. }
            | Trouble::UnfinishedGit { .. }
            | Trouble::NoGit => None,
        }
    }

    /// Returns what to do about it.
    pub fn help(&self) -> String {
        match self {
            Trouble::NotAFolder { .. } => "move it away: plans can be read, but not changed, until then".to_owned(),
            Trouble::NotWritable { .. } => {
                "let yourself write there: plans can be read, but not changed, until then".to_owned()
            }
            Trouble::NotIgnored => format!("write a line with `*` to `{STATE_FOLDER}/.gitignore`"),
            Trouble::Tracked => format!(
                "in a repository of yours: git rm -r --cached {STATE_FOLDER}, and commit; in a stranger's, remove the folder: what \
                 it says of the tasks is the stranger's word"
            ),
            Trouble::NoLocks { .. } => {
                "keep the workspace on a file system that has locks: until then nothing can be changed safely"
                    .to_owned()
            }
            Trouble::Journal { error } => error.help().to_owned(),
            Trouble::TornJournal { .. } => {
                "nothing is lost: it was never acknowledged, and the next change of that plan cuts it off".to_owned()
            }
            Trouble::OrphanJournal { journal, .. } => format!(
                "put the plan back to go on with its history, or remove the history: rm {}",
                journal.display()
            ),
            Trouble::StaleTemporary { path } => format!("remove it: rm {}", path.display()),
            Trouble::PlanUnreadable { error, .. } => error.help().to_owned(),
            Trouble::PlanErrors { path, .. } => format!("see planwright check {}", path.display()),
            Trouble::PointsNowhere { path, .. } => format!(
                "point it at a plan that is there (planwright check {} may know which), or remove it",
                path.display()
            ),
            Trouble::AbandonedClaims { path, .. } => format!(
                "`planwright next --start {0}` claims a task whose lease is over; `planwright reset TASK -p {0} --take-over --note \"…\"` \
                 frees one",
                path.display()
            ),
            Trouble::InterruptedRun { path, run, .. } => format!(
                "`planwright run {}` resumes it; `planwright summary {run}` shows how far it got",
                argument(&path.to_string_lossy())
            ),
            Trouble::MissingAgent { agent, .. } => format!(
                "install it, correct the command in [agents.{agent}], or choose another agent: `planwright agents` lists them"
            ),
            Trouble::MissingProgram { .. } => {
                "install it, or correct the command in [verify] of planwright.toml".to_owned()
            }
            Trouble::NoGit => "install git, or put it on the PATH".to_owned(),
            Trouble::NoAgent => no_agent::help("planwright run", "run"),
            Trouble::NoVerification => {
                "`planwright init` finds the commands that verify this repository; they belong to [verify] in planwright.toml".to_owned()
            }
            Trouble::NoPlan => {
                "create one: `planwright plan \"GOAL\"`, `planwright new \"TITLE\"` or `planwright import FILE`".to_owned()
            }
            Trouble::VerificationFails { .. } => {
                "correct that first: a run refuses to begin; or correct the command in [verify] of planwright.toml".to_owned()
            }
            Trouble::LittleSpace { .. } => "free some: `planwright worktrees` lists checkouts that can be removed".to_owned(),
            Trouble::UnfinishedGit { .. } => "finish it, or end it with git's own --abort".to_owned(),
        }
    }
}

/// What was looked at, and what is wrong.
#[derive(Debug)]
pub struct Health {
    /// The configuration, with what is wrong about it.
    pub configuration: Configuration,
    /// How many plans there are, archived ones left out.
    pub n_plans: usize,
    /// How many journals there are.
    pub n_journals: usize,
    /// What else is wrong.
    pub troubles: Vec<Trouble>,
}

/// Looks at a workspace. Whether its state folder can be written to is tried out with a file that is removed at once.
pub fn examine_workspace(root: &Path) -> Health {
    let mut health = Health {
        configuration: config::load(root, &Surroundings::of_process()),
        n_plans: 0,
        n_journals: 0,
        troubles: Vec::new(),
    };
    health.look_at_state(root);
    let ids = health.look_at_plans(root);
    health.look_at_journals(root, &ids);
    health.look_at_runs(root);
    health.look_at_verification(root);
    health.look_at_agents(root);
    health.look_for_litter(root);
    for trouble in &mut health.troubles {
        trouble.shorten(root);
    }
    health
}

impl Health {
    /// Returns how many things are wrong, those about the configuration included.
    pub fn n_findings(&self) -> usize {
        let sources = self.configuration.sources.iter();
        self.troubles.len() + sources.map(|source| source.findings.len()).sum::<usize>()
    }

    fn look_at_state(&mut self, root: &Path) {
        let state = root.join(STATE_FOLDER);
        let is_there = state.is_symlink() || state.exists();
        // Where there is no state yet, the first change has to make the folder.
        let folder = if is_there { state.clone() } else { root.to_owned() };
        let tried = match not_a_folder(&state) {
            Some(what) if is_there => {
                self.troubles.push(Trouble::NotAFolder {
                    path: state.clone(),
                    what,
                });
                Ok(())
            }
            _ => try_out(&folder),
        };
        for path in FOLDERS.map(|name| state.join(name)) {
            if let Some(what) = not_a_folder(&path).filter(|_| path.symlink_metadata().is_ok()) {
                self.troubles.push(Trouble::NotAFolder { path, what });
            }
        }
        match tried {
            Ok(()) => {}
            Err(Tried::NotWritten(why)) => self.troubles.push(Trouble::NotWritable { folder, why }),
            Err(Tried::NotLocked(why)) => self.troubles.push(Trouble::NoLocks { folder, why }),
        }
        let repository = root.ancestors().find(|folder| folder.join(".git").exists());
        let Some(repository) = repository else {
            return;
        };
        if is_there && state.is_dir() && !is_ignored(&state, repository) {
            self.troubles.push(Trouble::NotIgnored);
        }
        match program("git") {
            None => self.troubles.push(Trouble::NoGit),
            Some(_) if is_there && is_tracked(root, &state) => self.troubles.push(Trouble::Tracked),
            Some(_) => {}
        }
    }

    /// Returns the ids of all plans.
    fn look_at_plans(&mut self, root: &Path) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        for path in plans_at_home(root) {
            self.look_at_plan(path, &mut ids);
        }
        for path in archived_plans(root) {
            let id = load(&path)
                .ok()
                .and_then(|loaded| id_of(&examine(&loaded.source, Some(&path), None).inspection));
            ids.extend(id);
        }
        ids
    }

    fn look_at_plan(&mut self, path: PathBuf, ids: &mut BTreeSet<String>) {
        let source = match load(&path) {
            Ok(loaded) => loaded.source,
            Err(error) => {
                self.n_plans += 1;
                return self.troubles.push(Trouble::PlanUnreadable { path, error });
            }
        };
        let inspection = examine(&source, Some(&path), None).inspection;
        // What is judged by the files beside it points at one of them, and holds no plan itself.
        let is_pointer = DIALECTS
            .iter()
            .any(|dialect| dialect.neighbours(&slashed(&path)).is_some());
        let mut warnings = inspection
            .diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Warning);
        if let Some(finding) = warnings.next().filter(|_| is_pointer) {
            let what = finding.message.clone();
            let path = path.clone();
            self.troubles.push(Trouble::PointsNowhere { path, what });
        }
        self.n_plans += usize::from(inspection.plan.is_some());
        ids.extend(id_of(&inspection));
        let n_errors = inspection.count(Severity::Error);
        if n_errors > 0 {
            self.troubles.push(Trouble::PlanErrors { path, n_errors });
        }
    }

    fn look_at_journals(&mut self, root: &Path, ids: &BTreeSet<String>) {
        let folder = root.join(STATE_FOLDER).join("journal");
        let mut names = DiskFiles.list_folder(&folder).unwrap_or_default();
        names.sort();
        let paths = names.iter().map(|name| folder.join(name));
        for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == JOURNAL_EXTENSION)) {
            self.n_journals += 1;
            self.look_at_journal(root, path, ids);
        }
    }

    fn look_at_journal(&mut self, root: &Path, journal: PathBuf, ids: &BTreeSet<String>) {
        let sight = match journal::look(&DiskFiles, &journal) {
            Ok(sight) => sight,
            Err(error) => return self.troubles.push(Trouble::Journal { error }),
        };
        if sight.n_torn > 0 {
            self.troubles.push(Trouble::TornJournal {
                journal: journal.clone(),
                n_bytes: sight.n_torn,
            });
        }
        let Some(Header { path: plan, id }) = sight.owner else {
            return;
        };
        // A plan that was moved by hand finds its journal by its id, and one that was taken back by its path.
        let is_known = id.is_some_and(|id| ids.contains(&id));
        let is_back = origin_of(&plan).is_some_and(|path| is_without_journal(root, path));
        if !is_known && !is_back && !root.join(&plan).exists() {
            return self.troubles.push(Trouble::OrphanJournal { journal, plan });
        }
        self.look_at_claims(root.join(plan));
    }

    /// Looks for claims whose lease is over, and for those without one that are older than a day.
    fn look_at_claims(&mut self, path: PathBuf) {
        let Ok(source) = load(&path).map(|loaded| loaded.source) else {
            return;
        };
        let mut inspection = examine(&source, Some(&path), None).inspection;
        if take_states(&mut inspection, &path).is_err() {
            return;
        }
        let Some(plan) = inspection.plan.as_ref().map(|linked| &linked.plan) else {
            return;
        };
        let file = PlanFile {
            path: &path,
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
            self.troubles.push(Trouble::AbandonedClaims { path, claims });
        }
    }

    fn look_at_runs(&mut self, root: &Path) {
        // Before the logs are read: a run that ends meanwhile is not interrupted.
        let live: BTreeSet<String> = runs::live_runs(&DiskFiles, root)
            .into_iter()
            .filter_map(|live| live.id)
            .collect();
        let mut seen = BTreeSet::new();
        let places = runs::list(&DiskFiles, root).unwrap_or_default();
        // The newest first: only that of a plan is resumed.
        for place in places.iter().rev().filter(|place| place.log().exists()) {
            // What is torn was never acknowledged, and is cut when the run is resumed.
            match runs::records(&DiskFiles, &place.log()) {
                Err(error) => self.troubles.push(Trouble::Journal { error }),
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
                        self.troubles.push(Trouble::InterruptedRun {
                            path,
                            run: place.id().to_owned(),
                            n_left: state.n_left(),
                        });
                    }
                }
            }
        }
    }

    /// Looks for the programs of the commands that verify tasks. Of a line for the shell only the shell is known.
    fn look_at_verification(&mut self, root: &Path) {
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
                missing.push(Trouble::MissingProgram {
                    program: visible(name).into_owned(),
                    command: visible(&command_line(&words)).into_owned(),
                });
            }
        }
        self.troubles.append(&mut missing);
    }

    /// Looks for the programs of the agents that take tasks, and of those that take over from them.
    fn look_at_agents(&mut self, root: &Path) {
        let config = &self.configuration.config;
        let chosen = config.run.agent.iter().chain(config.run.types.values());
        let chosen = chosen.filter_map(|name| config.agents.get(name));
        let fallbacks = chosen.clone().flat_map(|agent| &agent.fallback);
        let all = chosen.chain(fallbacks.filter_map(|name| config.agents.get(name)));
        let mut seen = BTreeSet::new();
        let missing = all.filter(|agent| seen.insert(&agent.name) && agent.find_program(root).is_none());
        let missing = missing.map(|agent| Trouble::MissingAgent {
            agent: visible(&agent.name).into_owned(),
            program: visible(agent.program()).into_owned(),
        });
        let mut missing: Vec<Trouble> = missing.collect();
        self.troubles.append(&mut missing);
        let config = &self.configuration.config;
        if config.run.agent.is_none() && config.only_agent().is_none() {
            self.troubles.push(Trouble::NoAgent);
        }
        if !config.verify.has_rules() {
            self.troubles.push(Trouble::NoVerification);
        }
        if self.n_plans == 0 {
            self.troubles.push(Trouble::NoPlan);
        }
    }

    /// Adds something that the caller found.
    pub fn add(&mut self, trouble: Trouble) {
        self.troubles.push(trouble);
    }

    /// Returns whether anything keeps plans from being changed or run.
    pub fn has_errors(&self) -> bool {
        let sources = self.configuration.sources.iter();
        let mut of_configuration = sources.flat_map(|source| &source.findings);
        of_configuration.any(|found| found.severity == Severity::Error)
            || self
                .troubles
                .iter()
                .any(|trouble| trouble.severity() == Severity::Error)
    }

    fn look_for_litter(&mut self, root: &Path) {
        let plans = plans_at_home(root).into_iter().chain(archived_plans(root));
        let mut folders: BTreeSet<PathBuf> = plans.filter_map(|path| Some(path.parent()?.to_owned())).collect();
        folders.extend([root.to_owned(), root.join(STATE_FOLDER)]);
        for folder in folders {
            let stale = stale_temporaries(&DiskFiles, &folder, SystemTime::now()).into_iter();
            self.troubles.extend(stale.map(|path| Trouble::StaleTemporary { path }));
        }
    }
}

impl Trouble {
    /// Names files from the root of the workspace: where that lies is known to whoever asked.
    fn shorten(&mut self, root: &Path) {
        let path = match self {
            Trouble::NotWritable { folder, .. } | Trouble::NoLocks { folder, .. } => folder,
            Trouble::Journal { error } => match error {
                JournalError::Newer { path, .. }
                | JournalError::Corrupt { path, .. }
                | JournalError::Io { path, .. } => path,
                JournalError::InUse { .. } => return,
            },
            Trouble::TornJournal { journal, .. } | Trouble::OrphanJournal { journal, .. } => journal,
            Trouble::NotAFolder { path, .. }
            | Trouble::AbandonedClaims { path, .. }
            | Trouble::InterruptedRun { path, .. }
            | Trouble::StaleTemporary { path }
            | Trouble::PlanErrors { path, .. }
            | Trouble::PointsNowhere { path, .. } => path,
            Trouble::PlanUnreadable { path, error } => {
                error.shorten(root);
                path
            }
            _ => return,
        };
        if let Ok(short) = path.strip_prefix(root) {
            *path = match short.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => short.to_owned(),
            };
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

enum Tried {
    NotWritten(String),
    NotLocked(String),
}

/// Writes a file, locks it, and sees whether a second lock is refused.
fn try_out(folder: &Path) -> Result<(), Tried> {
    let path = folder.join(new_temporary_name());
    let tried = try_file(&path);
    DiskFiles.remove(&path).ok();
    tried
}

fn try_file(path: &Path) -> Result<(), Tried> {
    let failed = |error: io::Error| Tried::NotWritten(error.to_string());
    let one = DiskFiles.create_private(path).map_err(failed)?;
    let other = DiskFiles.open_shared(path).map_err(failed)?;
    one.try_lock().map_err(|error| Tried::NotLocked(error.to_string()))?;
    match other.try_lock() {
        Err(std::fs::TryLockError::WouldBlock) => Ok(()),
        Err(std::fs::TryLockError::Error(error)) => Err(Tried::NotLocked(error.to_string())),
        Ok(()) => Err(Tried::NotLocked("a lock does not exclude other processes".to_owned())),
    }
}

/// Asks git whether it keeps anything of the state folder. Where it cannot say, as of a repository that it does not trust,
/// nothing is wrong with the workspace itself.
fn is_tracked(root: &Path, state: &Path) -> bool {
    let repository = Repository::around(root).ok().flatten();
    repository.is_some_and(|repository| repository.has_tracked(state).unwrap_or(false))
}

/// How much of a `.gitignore` is looked at.
const MAX_IGNORE_BYTES: usize = 1024 * 1024;

/// Asks the state folder's own file, then those of the repository.
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
