//! Runs a plan: the scheduler, the agents, their verification, the run's log and the plan file brought together by one loop, from
//! what happened to what to do. Prints nothing, and decides nothing about plans that the core decides.
//!
//! The order of things is what makes a run safe to kill: that an attempt begins is durable before there is a process, what came
//! of it before anybody hears of it, and the plan file follows the log, never the other way round.

mod attempt;
mod book;
mod error;
mod floor;
mod ground;
mod naming;
mod notify;
mod order;
mod past;
mod prepare;
mod preview;
mod projection;
mod spending;
mod staff;

pub use book::Book;
pub use error::RunError;
pub use floor::{Outcome, run};
pub use ground::Chosen;
pub use notify::notify;
pub use order::{Options, Order};
pub use prepare::{Prepared, prepare};
pub use preview::{Preview, prompt_of};

use crate::runs::RunRecord;

/// Who is told what happens.
pub trait Watcher {
    /// Something happened; it is durable.
    fn event(&mut self, record: &RunRecord);

    /// The process of a task wrote something: its last line, which nobody has looked at.
    fn line(&mut self, task: &str, line: &str);

    /// Time went by: called a few times per second, also when nothing happens.
    fn tick(&mut self);
}
