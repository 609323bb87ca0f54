//! The half of planwright that touches the world: plan files, their journals and the workspaces they live in.
//! Decides nothing about plans: that is `planwright-core`.
//!
//! A module imports only from those above it.

pub mod faults;

pub mod files;

pub mod clock;

pub mod digest;

pub mod place;

pub mod lock;

pub mod journal;

pub mod runs;

pub mod store;

pub mod workspace;

pub mod examine;

pub mod revise;

pub mod review;

pub mod proposals;

pub mod setup;

pub mod duplicate;

pub mod config;

pub mod worker;

pub mod git;
pub mod health;

pub mod verify;

pub mod hearing;

pub mod inquiry;

pub mod planner;

pub mod arbitration;

pub mod engine;
