//! The half of planwright with IO: plan files, journals, workspaces, configuration, git, processes, runs. `planwright-core`
//! decides about plans.
//!
//! A module imports only from those above it.
//!
//! # Changing a plan
//!
//! [`revise`] takes a verb from a path to a durable change: it takes the plan's lock, reads the newest text, has the core make the
//! new one, and writes it by way of [`store::Store::update`], with a journal next to it.
//!
//! ```
//! use planwright_core::edit::VerbRequest;
//! use planwright_core::plan::{State, Verb};
//! use planwright_run::clock;
//! use planwright_run::revise::{self, ChangeTarget, TaskSelector};
//! use planwright_run::store::{self, PlanFile};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("plan.json");
//! std::fs::write(&path, r#"{"goal": "Try it", "tasks": [{"id": "t1", "description": "Read"}]}"#)?;
//!
//! let target = ChangeTarget { path: &path, forced: None, dry: false };
//! let now = clock::now();
//! let names = ["t1".to_owned()];
//! let revised = revise::transition(target, TaskSelector::Named(&names), &VerbRequest::new(Verb::Start, &now));
//! let revised = revised.expect("the task is ready");
//! assert_eq!(revised.steps[0].to, State::Running);
//!
//! let history = store::history(PlanFile { path: &path, id: None })?;
//! assert_eq!(history.changes()[0].change.verb, "start");
//! # Ok(())
//! # }
//! ```
//!
//! # Reading the state of a run
//!
//! Every process may read the log of a run, also while it runs: readers take no lock. [`runs::LogFollower`] waits for more.
//!
//! ```
//! use planwright_run::files::DiskFiles;
//! use planwright_run::journal::JournalHeader;
//! use planwright_run::runs::state::{RunState, TaskState};
//! use planwright_run::runs::{self, AttemptRecord, RunEvent, RunLog, RunPlace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! # let time = "2026-11-16T05:30:00.000Z";
//! # let place = RunPlace::create(&DiskFiles, root, time)?;
//! # let header = JournalHeader { path: "plan.json".to_owned(), id: None };
//! # let mut log = RunLog::begin(&DiskFiles, &place.log(), &header)?;
//! # let attempt = AttemptRecord { task: "t1".to_owned(), attempt: 1, ..AttemptRecord::default() };
//! # log.add(time, &RunEvent::AttemptStarting(attempt))?;
//! # log.commit()?;
//! // `root` is the root of a workspace, as `place::root_of` finds it.
//! for run in runs::list(&DiskFiles, root)? {
//!     let records = runs::records(&DiskFiles, &run.log())?;
//!     let run_state = RunState::of(&records);
//!     for task in run_state.tasks() {
//!         println!("{}: {} is {}", run.id(), task.task, task.state.name());
//! #       assert_eq!(task.state, TaskState::Running);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

#![expect(
    missing_docs,
    reason = "names of fields and messages of errors say what they are; comments say what names cannot"
)]

pub mod error_chain;

pub mod faults;

pub mod files;

pub mod programs;

pub mod shell;

pub mod failure_line;

pub mod clock;
#[cfg(unix)]
pub(crate) mod process_table;

pub mod digest;

pub mod redaction;

pub mod layout;

pub mod lock;

pub mod journal;

pub mod runs;

pub mod caller;
pub mod store;

pub mod workspace;

pub mod inspect_file;

pub mod user;

pub mod config;

pub mod claims;
pub mod proofs;

pub mod gate;

pub mod revise;

pub mod review;

pub mod proposals;

pub mod copy_workspace;

pub mod fence;

pub mod worker;

pub mod git;

pub mod checkout_home;
pub mod preparation;

pub mod doctor;

pub mod verify;

pub mod setup;

pub mod agent_output;

pub(crate) mod agent_process;

pub mod agent_query;

pub mod fallback;

pub mod planner;

pub mod arbitration;

pub mod engine;
