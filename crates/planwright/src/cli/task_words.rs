//! The mark for the state of a task, as `show`, `why` and `graph` print it.

use planwright_verbs::plans::ShownState;

use crate::render::terminal::Paint;

pub(crate) fn mark(state: ShownState, paint: Paint) -> String {
    match state {
        ShownState::Done => paint.good("✓"),
        ShownState::Running => paint.active("▶"),
        ShownState::Failed => paint.error("✗"),
        ShownState::Skipped => paint.dim("⊘"),
        ShownState::Blocked => paint.warning("■"),
        ShownState::Unknown => paint.error("?"),
        ShownState::Ready => paint.bold("○"),
        ShownState::Waiting => paint.dim("·"),
    }
}
