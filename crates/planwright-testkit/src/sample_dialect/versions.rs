//! The versions of a to-do list, each in a file of its own.

use planwright_core::dialect::{Successor, VersionLineage, Versions};
use planwright_core::document::patch::PlainValue;
use planwright_core::edit::{FieldEdit, Owner};
use planwright_core::plan::{Field, FieldValue, Plan};

use super::Todo;

impl Versions for Todo {
    fn lineage(&self, plan: &Plan) -> Option<VersionLineage> {
        let id = plan.head_str(Field::Id)?;
        let version = match plan.head_value(Field::Version)? {
            FieldValue::Number(span) => plan.source().slice(span).parse().ok()?,
            _ => return None,
        };
        let base = id.strip_suffix(&format!("-v{version}")).unwrap_or(id).to_owned();
        Some(VersionLineage { base, version })
    }

    fn successor(&self, plan: &Plan, _by: &str, _now: &str) -> Option<Successor> {
        let VersionLineage { base, version } = self.lineage(plan)?;
        let id = format!("{base}-v{}", version + 1);
        let number = PlainValue::Number((version + 1).to_string());
        let changes = vec![
            FieldEdit::text(Owner::Plan, Field::Id, &id),
            FieldEdit::set(Owner::Plan, Field::Version, number),
            FieldEdit::text(Owner::Plan, Field::PreviousPlan, plan.head_str(Field::Id)?),
        ];
        Some(Successor { id, changes })
    }
}
