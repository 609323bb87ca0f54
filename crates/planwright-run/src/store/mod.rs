//! Plan files on disk. The only module that reads or replaces them.

mod load;
mod replace;
pub mod rules;

pub use load::{LoadError, Loaded, load, load_stdin};
pub use replace::{ReplaceError, replace};
