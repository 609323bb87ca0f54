//! The versions of a rawko plan, each in a file of its own.

use super::super::{Successor, VersionLineage, Versions};
use super::Rawko;
use crate::document::patch::PlainValue;
use crate::edit::{FieldEdit, Owner};
use crate::plan::{Field, FieldValue, Plan};

impl Versions for Rawko {
    /// The second version of `base` is called `base-v2`, the third `base-v3`. A name may end like that by itself, so the ending counts only
    /// if the plan has that version number.
    fn lineage(&self, plan: &Plan) -> Option<VersionLineage> {
        let id = plan.head_str(Field::Id).filter(|id| !id.trim().is_empty())?;
        let version = match plan.head_value(Field::Version)? {
            FieldValue::Number(span) => plan.source().slice(span).parse::<u64>().ok()?,
            _ => return None,
        };
        let suffix = format!("-v{version}");
        let base = id.strip_suffix(&suffix).filter(|base| version > 1 && !base.is_empty());
        Some(VersionLineage {
            base: base.unwrap_or(id).to_owned(),
            version,
        })
    }

    fn successor(&self, plan: &Plan, by: &str, now: &str) -> Option<Successor> {
        let VersionLineage { base, version } = self.lineage(plan)?;
        let id = format!("{base}-v{}", version + 1);
        let old = plan.head_str(Field::Id)?;
        let text = |field, text: &str| FieldEdit::text(Owner::Plan, field, text);
        let number = PlainValue::Number((version + 1).to_string());
        let changes = vec![
            text(Field::Id, &id),
            text(Field::Status, "draft"),
            FieldEdit::set(Owner::Plan, Field::Version, number),
            text(Field::CreatedAt, now),
            text(Field::UpdatedAt, now),
            text(Field::CreatedBy, by),
            text(Field::PreviousPlan, old),
        ];
        Some(Successor { id, changes })
    }
}
