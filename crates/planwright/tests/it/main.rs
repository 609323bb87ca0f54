//! Runs of the real binary.

mod spec_first;
mod transcripts;
