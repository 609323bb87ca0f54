//! Migrates an older form of a dialect to the newest, by patches of the text: all of them or none.

use super::source::{ConversionSource, owned};
use super::{ConversionRefusal, MAX_EDGES, errors_of, rules};
use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::dialect::id_source::IdSource;
use crate::dialect::writer::{Migration, MigrationOrder};
use crate::document::patch::patch;
use crate::document::write;
use crate::inspect::{Inspection, inspect_as};
use crate::text::{SourceText, visible};

/// A plan in the newest form of its dialect.
pub struct Migrated {
    /// The text.
    pub text: String,
    /// Changes beyond the form, as findings in the old text.
    pub notes: Vec<Diagnostic>,
    /// The inspection of the new text, without errors.
    pub inspection: Inspection,
}

/// Migrates an inspected plan to the newest form of its dialect. Unknown members and the layout of the text stay.
///
/// The new text passes [`inspect`](crate::inspect::inspect) without errors, or the migration is refused.
pub fn migrate(
    inspection: &Inspection,
    dialect: &'static dyn Dialect,
    order: &MigrationOrder,
    id_source: &IdSource<'_>,
) -> Result<Migrated, ConversionRefusal> {
    let writer = dialect.writer().ok_or(ConversionRefusal::NotWritable(dialect.name()))?;
    let errors = errors_of(inspection);
    if !errors.is_empty() {
        return Err(ConversionRefusal::Unsound(errors));
    }
    let source = ConversionSource::new(inspection).ok_or(ConversionRefusal::NoPlan)?;
    let migration = writer
        .migrate(&source.linked.plan, source.root(), order, id_source)
        .ok_or(ConversionRefusal::UpToDate(dialect.name()))?;
    if migration.n_edges > MAX_EDGES {
        return Err(ConversionRefusal::TooManyEdges(migration.n_edges));
    }
    let text = apply(&source, &migration).ok_or(ConversionRefusal::NoPlan)?;
    let migrated = inspect_as(&SourceText::new(text.as_str()), dialect);
    let errors = errors_of(&migrated);
    if !errors.is_empty() || migrated.plan.is_none() {
        return Err(ConversionRefusal::Invalid {
            text,
            diagnostics: errors,
        });
    }
    let notes = migration.notes.into_iter();
    Ok(Migrated {
        text,
        notes: notes
            .map(|(span, message)| Diagnostic::new(&rules::MIGRATION, span, visible(&message)))
            .collect(),
        inspection: migrated,
    })
}

/// Patches the text; if that is not possible, changes its value, which is then formatted again.
fn apply(source: &ConversionSource<'_>, migration: &Migration) -> Option<String> {
    if let Ok(text) = patch(source.root().document(), &migration.patches) {
        return Some(text);
    }
    let mut value = owned(source.root(), &mut 0);
    for patch in &migration.patches {
        patch.apply_to(&mut value).ok()?;
    }
    Some(write::json(&value))
}
