//! `.todo/now.json`, the file that names the active list.

use planwright_core::dialect::{PlanPointer, PointerRefusal, PointerUpdate};
use planwright_core::document::json;
use planwright_core::plan::{Field, Plan};
use planwright_core::text::SourceText;

use super::Todo;

/// Its path, relative to a workspace.
pub(super) const PLACE: &str = ".todo/now.json";

impl PlanPointer for Todo {
    fn place(&self) -> &'static str {
        PLACE
    }

    fn file(&self, path: &str) -> Option<&'static str> {
        let (folder, _) = path.rsplit_once('/')?;
        folder.ends_with(".todo/lists").then_some("../now.json")
    }

    fn neighbours(&self, path: &str) -> Option<&'static str> {
        path.ends_with(PLACE).then_some("lists")
    }

    fn target(&self, source: &SourceText) -> Option<String> {
        let parsed = json::parse(source);
        let id = parsed.document.root()?.get("current_list")?.text()?.into_owned();
        Some(format!("lists/{id}.json"))
    }

    fn update(
        &self,
        old: Option<&SourceText>,
        plan: &Plan,
        pointing: PointerUpdate,
        _now: &str,
    ) -> Result<Option<String>, PointerRefusal> {
        let Some(id) = plan.head_str(Field::Id).filter(|_| pointing != PointerUpdate::Stays) else {
            return Ok(None);
        };
        let new = format!("{{\"current_list\": \"{id}\"}}\n");
        Ok(Some(new).filter(|new| old.is_none_or(|old| old.as_str() != new)))
    }
}
