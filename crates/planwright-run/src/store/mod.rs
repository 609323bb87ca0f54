//! Plan files on disk. The only module that reads or replaces them.

mod create;
mod error;
mod load;
mod replace;
pub mod rules;
mod temporary;
mod update;

pub use create::{CreateError, create};
pub use error::{StoreError, UpdateError};
pub use load::{LoadError, Loaded, load, load_stdin};
pub use replace::{ReplaceError, replace};
pub use update::{PlanFile, Prepared, Store, Updated, history};
