//! The pure half of planwright: text in, values out.
//!
//! Modules stand in reading order, and a module imports only from those above it. Nothing here does IO,
//! reads a clock or the environment, or starts a thread; a bad plan is never an error but a partial plan
//! and a list of findings.
//!
//! # From a text to what may start
//!
//! ```
//! use planwright_core::dialect::{Choice, DiskFacts};
//! use planwright_core::inspect::inspect;
//! use planwright_core::plan::Readiness;
//! use planwright_core::text::SourceText;
//!
//! let text = SourceText::new(
//!     r#"{"goal": "Try it", "tasks": [
//!         {"id": "t1", "description": "Read", "status": "done"},
//!         {"id": "t2", "description": "Write", "depends_on": ["t1"]}
//!     ]}"#,
//! );
//! let facts = DiskFacts::default();
//! let inspection = inspect(&text, &Choice::by_content(&facts));
//! assert_eq!(inspection.dialect_name(), Some("clido"));
//! assert!(inspection.diagnostics.is_empty());
//!
//! let linked = inspection.plan.expect("a plan that could be read");
//! let ready = Readiness::new(&linked.plan, &linked.links).ready();
//! assert_eq!(linked.plan.task_name(ready[0]), "t2");
//! ```
//!
//! # Where to continue
//!
//! | To | See |
//! | --- | --- |
//! | read and check a text | [`inspect`] |
//! | fix its findings | [`mod@fix`] |
//! | ask what may start, and why the rest may not | [`plan::Readiness`], [`graph`] |
//! | start, finish, skip a task; add, move, rename tasks | [`change`], [`change::tasks`] |
//! | get to another dialect, import, migrate, begin a plan | [`mod@convert`] |
//! | decide who runs when | [`schedule`] |
//! | tell an agent what to do, and understand what it says | [`prompt`], [`agent`] |
//! | read a plan out of a model's answer or a person's notes | [`outline`] |
//! | have a plan made, replaced or derived | [`planning`] |
//! | read and edit JSON, YAML and Markdown without losing a byte | [`document`] |
//! | teach it another dialect | [`dialect::Dialect`] |

pub mod text;

pub mod diagnostic;

pub mod document;

pub mod plan;

pub mod edit;

pub mod dialect;

pub mod check;

pub mod graph;

pub mod schedule;

pub mod agent;

pub mod prompt;

pub mod arbiter;

pub mod inspect;

pub mod outline;

pub mod convert;

pub mod fix;

pub mod change;

pub mod planning;
