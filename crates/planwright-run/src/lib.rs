//! The half of planwright that touches the world: plan files and the workspaces they live in.
//! Decides nothing about plans: that is `planwright-core`.

pub mod store;

pub mod workspace;

pub mod examine;
