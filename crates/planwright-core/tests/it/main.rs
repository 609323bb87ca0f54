//! The laws of planwright-core, checked on random input.

mod documents;
mod generate;
mod patches;
