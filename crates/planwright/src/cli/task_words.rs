//! The mark for the state of a task, as `show`, `why` and `graph` print it.

use planwright_verbs::plans::TaskStanding;

use crate::render::terminal::Paint;

pub(crate) fn mark(standing: TaskStanding, paint: Paint) -> String {
    match standing {
        TaskStanding::Done => paint.good("✓"),
        TaskStanding::Running => paint.active("▶"),
        TaskStanding::Failed => paint.error("✗"),
        TaskStanding::Skipped => paint.dim("⊘"),
        TaskStanding::Blocked => paint.warning("■"),
        TaskStanding::Unknown => paint.error("?"),
        TaskStanding::Ready => paint.bold("○"),
        TaskStanding::Waiting => paint.dim("·"),
    }
}
