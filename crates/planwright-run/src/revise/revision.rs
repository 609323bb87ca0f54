//! One change of one plan: read, prepared without a lock, prepared again if the plan has changed since, written by the store.

use planwright_core::change::{Open, Problem};
use planwright_core::dialect::{DiskFacts, PointerUpdate};
use planwright_core::plan::State;
use planwright_core::text::SourceText;

use super::error::ReviseError;
use super::pending_change::{DraftedChange, PendingChange};
use super::pointer::point;
use super::{ChangeTarget, RevisedPlan};
use crate::clock;
use crate::inspect_file::open;
use crate::journal::{History, plan_id};
use crate::store::{PlanFile, PreparedChange, Store, history, load};

/// Prepares a change on the newest text and writes it.
pub(super) fn revise(
    target: ChangeTarget<'_>,
    verb: &str,
    prepare: impl FnMut(&mut PendingChange<'_>) -> Result<(), ReviseError>,
) -> Result<RevisedPlan, ReviseError> {
    Revision::open(target, verb)?.make(prepare)
}

/// A change of one plan, from the first read to the store.
pub(super) struct Revision<'a> {
    target: ChangeTarget<'a>,
    verb: String,
    /// The text that was read before the lock was taken. Usually the file still has it then.
    source: SourceText,
    opened: Option<(Open, DiskFacts)>,
    id: Option<String>,
    /// The change prepared for that text, and the number of the journal's next record then.
    pub(super) draft: Option<(DraftedChange, u64)>,
}

impl<'a> Revision<'a> {
    /// Reads the plan.
    pub(super) fn open(target: ChangeTarget<'a>, verb: &str) -> Result<Self, ReviseError> {
        let source = load(target.path)?.source;
        let opened = open(&source, Some(target.path), target.forced);
        let linked = opened.0.inspection.plan.as_ref();
        Ok(Revision {
            id: linked.and_then(|linked| plan_id(&linked.plan)).map(str::to_owned),
            target,
            verb: verb.to_owned(),
            source,
            opened: Some(opened),
            draft: None,
        })
    }

    /// Prepares the change without a lock. [`Revision::make`] uses it, unless the plan or its journal has changed.
    pub(super) fn preview_change(
        &mut self,
        prepare: impl FnMut(&mut PendingChange<'_>) -> Result<(), ReviseError>,
    ) -> Result<(), ReviseError> {
        let file = PlanFile {
            path: self.target.path,
            id: self.id.as_deref(),
        };
        let history = history(file).map_err(ReviseError::Store)?;
        let draft = self.prepare(&self.source.clone(), &history, prepare)?;
        self.draft = Some((draft, history.next_seq()));
        Ok(())
    }

    fn prepare(
        &mut self,
        source: &SourceText,
        history: &History,
        mut prepare: impl FnMut(&mut PendingChange<'_>) -> Result<(), ReviseError>,
    ) -> Result<DraftedChange, ReviseError> {
        let is_first = self.source.as_str() == source.as_str();
        match self.draft.take() {
            Some((draft, next_seq)) if is_first && next_seq == history.next_seq() => return Ok(draft),
            _ => {}
        }
        let opened = match self.opened.take() {
            Some(opened) if is_first => opened,
            _ => open(source, Some(self.target.path), self.target.forced),
        };
        let mut pending = PendingChange::new(self.target, &self.verb, opened, history);
        prepare(&mut pending)?;
        Ok(pending.finish(source))
    }

    /// Prepares the change on the newest text, and writes it if there is one.
    pub(super) fn make(
        mut self,
        mut prepare: impl FnMut(&mut PendingChange<'_>) -> Result<(), ReviseError>,
    ) -> Result<RevisedPlan, ReviseError> {
        let target = self.target;
        if target.dry {
            if self.draft.is_none() {
                self.preview_change(prepare)?;
            }
            let (draft, _) = self.draft.ok_or(Problem::NoPlan)?;
            return Ok(RevisedPlan {
                number: None,
                ..draft.revised
            });
        }
        let (id, verb, source) = (self.id.clone(), self.verb.clone(), self.source.clone());
        let file = PlanFile {
            path: target.path,
            id: id.as_deref(),
        };
        let mut draft = None;
        let updated = Store::default().update_known(file, &verb, Some(&source), |source, history| {
            let made = draft.insert(self.prepare(source, history, &mut prepare)?);
            Ok::<_, ReviseError>(Some(PreparedChange {
                text: Some(made.revised.text.clone()),
                change: made.revised.record.clone(),
            }))
        })?;
        let DraftedChange { mut revised, is_idle } = draft.ok_or(Problem::NoPlan)?;
        if !is_idle {
            let begins = revised.steps.iter().any(|step| step.to == State::Running);
            let pointing = if begins {
                PointerUpdate::Begins
            } else {
                PointerUpdate::Stays
            };
            revised.pointer = point(target.path, &revised.after, pointing, &clock::now());
        }
        Ok(RevisedPlan {
            change: updated.change,
            number: updated.change.and(revised.number),
            recorded: updated.recorded,
            notices: updated.notices,
            ..revised
        })
    }
}
