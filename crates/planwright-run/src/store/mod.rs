//! Plan files on disk: reads them whole, and is the only module that replaces them.

mod create;
mod error;
mod load;
mod move_plan;
mod replace;
pub mod rules;
mod temporary;
mod update;
mod versions;

pub use create::{CreateError, create, create_like, overwrite};
pub use error::{StoreError, UpdateError};
pub(crate) use load::holds;
pub use load::{LoadError, LoadedFile, load, load_stdin};
pub use move_plan::{MoveTarget, MovedPlan, PlanMoveRequest};
pub use replace::replace;
pub(crate) use temporary::{is_temporary, new_temporary_name, stale_temporaries};
pub use update::{PlanFile, PreparedChange, Store, UpdateResult, history};
pub use versions::{keep_version, versions};
