//! Moves a plan file, with its history, to an archive or the trash.
//!
//! The file is renamed, never copied: it is whole at every time, and keeps what other processes write to it until then.

use std::io;
use std::path::PathBuf;

use super::error::StoreError;
use super::load::LoadError;
use super::temporary::new_temporary_name;
use super::update::{PlanFile, Store, UpdateSession};
use crate::digest::Digest;
use crate::files::Files;
use crate::journal::{
    self, ChangeOutcomeRecord, Journal, JournalEvent, JournalRepair, PathChangeRecord, PlanMoveRecord,
};
use crate::layout::{PlanPlace, TRASH};
use crate::runs::holder;

#[derive(Clone, Copy, Debug)]
pub enum MoveTarget<'a> {
    /// To this path from the root of its workspace. An existing file is never replaced.
    Path(&'a str),
    Trash,
}

#[derive(Clone, Copy, Debug)]
pub struct PlanMoveRequest<'a> {
    /// The verb, for the history.
    pub verb: &'a str,
    pub by: Option<&'a str>,
    pub target: MoveTarget<'a>,
}

/// A plan that was moved, or would be in a dry run.
#[derive(Clone, Debug)]
pub struct MovedPlan {
    /// Its path before, from the root of its workspace.
    pub from: String,
    /// Its path now, from there.
    pub to: String,
    pub path: PathBuf,
    /// Repairs and discoveries while the journal was opened.
    pub notices: Vec<JournalRepair>,
}

impl Store<'_> {
    /// Moves a plan with its history. When this returns, both are durable at their new place.
    pub fn move_plan(&self, plan: PlanFile<'_>, request: PlanMoveRequest<'_>) -> Result<MovedPlan, StoreError> {
        refuse_link(self.files, plan)?;
        let session = UpdateSession::open(self, plan, request.verb)?;
        refuse_being_run(&session)?;
        let _lock = session.lock()?;
        let there = destination(&session, request.target)?;
        // No process takes two locks in the other order: plans go to the archive and from both to the trash, never back.
        let _lock_there = session.lock_at(&there)?;
        try_folder(&session)?;
        let mut journal = session.journal()?;
        let text = text_of(&session, &mut journal)?;
        claim(&session, &there)?;
        let leaving = JournalEvent::Leaving(PlanMoveRecord {
            verb: request.verb.to_owned(),
            to: there.relative.clone(),
            by: request.by.map(str::to_owned),
            text,
        });
        let begun = journal.append(&(self.clock)(), leaving).map_err(|error| {
            unclaim(&session, &there);
            session.journal_error(error)
        })?;
        if let Err(error) = self.files.rename(&session.place.target, &there.target) {
            unclaim(&session, &there);
            // The failed move is recorded at once; if that fails too, it stays open.
            let void = JournalEvent::Void(ChangeOutcomeRecord { change: begun });
            journal.append(&(self.clock)(), void).ok();
            return Err(session.untouched(error));
        }
        let confirmed = confirm(&session, &there);
        if record_move(&session, &mut journal, &there).is_err() {
            journal.notice(JournalRepair::NotMarked);
        }
        confirmed.map_err(|source| StoreError::MoveNotConfirmed {
            path: plan.path.to_owned(),
            to: there.relative.clone(),
            source,
        })?;
        Ok(MovedPlan {
            from: session.place.relative.clone(),
            to: there.relative,
            path: there.target,
            notices: journal.into_notices(),
        })
    }

    /// Returns what [`Store::move_plan`] would do, and writes nothing.
    pub fn preview_move(&self, plan: PlanFile<'_>, request: PlanMoveRequest<'_>) -> Result<MovedPlan, StoreError> {
        refuse_link(self.files, plan)?;
        let session = UpdateSession::open(self, plan, request.verb)?;
        refuse_being_run(&session)?;
        let there = destination(&session, request.target)?;
        Ok(MovedPlan {
            from: session.place.relative.clone(),
            to: there.relative,
            path: there.target,
            notices: Vec::new(),
        })
    }
}

/// Refuses a plan with an active run, which cannot continue without it.
fn refuse_being_run(session: &UpdateSession<'_>) -> Result<(), StoreError> {
    match holder(session.store.files, &session.place) {
        Some(run) => Err(StoreError::BeingRun {
            path: session.plan.path.to_owned(),
            pid: run.pid,
        }),
        None => Ok(()),
    }
}

/// Refuses a link: it has no text to keep, and its target may be in use under other names.
fn refuse_link(files: &dyn Files, plan: PlanFile<'_>) -> Result<(), StoreError> {
    let metadata = files.link_metadata(plan.path);
    let metadata = metadata.map_err(|source| LoadError::new(plan.path, source))?;
    match metadata.is_symlink() {
        true => Err(StoreError::Link {
            path: plan.path.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Returns the new place of a plan.
fn destination(session: &UpdateSession<'_>, target: MoveTarget<'_>) -> Result<PlanPlace, StoreError> {
    let (files, place) = (session.store.files, &session.place);
    let there = match target {
        MoveTarget::Path(path) => place.elsewhere(path),
        MoveTarget::Trash => {
            // Under its original path: a state folder inside of another would look like a workspace.
            let path = place.origin().unwrap_or(&place.relative);
            let numbered = |n: u64| place.elsewhere(&format!("{TRASH}/{n}/{path}"));
            let free = (1..).map(numbered).find(|there| is_free(files, there));
            free.unwrap_or_else(|| numbered(0))
        }
    };
    match is_free(files, &there) {
        true => Ok(there),
        false => Err(occupied(session, &there)),
    }
}

/// Returns whether the path is free. An empty file is the leftover of an interrupted move.
fn is_free(files: &dyn Files, there: &PlanPlace) -> bool {
    let found = files.link_metadata(&there.target);
    found.map_or_else(
        |error| error.kind() == io::ErrorKind::NotFound,
        |metadata| metadata.is_file() && metadata.len() == 0,
    )
}

fn occupied(session: &UpdateSession<'_>, there: &PlanPlace) -> StoreError {
    StoreError::Occupied {
        path: session.plan.path.to_owned(),
        to: there.relative.clone(),
    }
}

/// Returns the digest of the plan's text; none if it is no text, or too long.
fn text_of(session: &UpdateSession<'_>, journal: &mut Journal<'_>) -> Result<Option<Digest>, StoreError> {
    match session.load(journal, None) {
        Ok(source) => Ok(source.damage().is_none().then(|| Digest::of(source.as_str()))),
        Err(StoreError::Load(LoadError::TooLarge { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Checks that a name can be removed from the folder of a plan, before anything is recorded.
fn try_folder(session: &UpdateSession<'_>) -> Result<(), StoreError> {
    let files = session.store.files;
    let probe = session.place.target.with_file_name(new_temporary_name());
    let tried = files.create_private(&probe).and_then(|_| files.remove(&probe));
    tried.map_err(|source| session.untouched(source))
}

/// Reserves the new name with an empty file, which the rename then replaces: a rename alone would replace any file.
fn claim(session: &UpdateSession<'_>, there: &PlanPlace) -> Result<(), StoreError> {
    let files = session.store.files;
    if !is_inside(files, there).map_err(|source| session.untouched(source))? {
        return Err(StoreError::Outside {
            path: session.plan.path.to_owned(),
            to: there.relative.clone(),
        });
    }
    let made = there.make_folders(files);
    made.map_err(|source| session.untouched(source))?;
    match files.create_private(&there.target) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match is_free(files, there) {
            true => Ok(()),
            false => Err(occupied(session, there)),
        },
        Err(error) => Err(session.untouched(error)),
    }
}

/// Returns whether a place is in the workspace, by its existing folders.
fn is_inside(files: &dyn Files, there: &PlanPlace) -> io::Result<bool> {
    let root = files.canonical(&there.root)?;
    let mut folders = there.folder().ancestors();
    let nearest = folders.find_map(|folder| files.canonical(folder).ok());
    Ok(nearest.is_some_and(|folder| folder.starts_with(root)))
}

/// Releases the name. An error does not prove that nothing happened: while the plan is at its old place, the name is ours.
fn unclaim(session: &UpdateSession<'_>, there: &PlanPlace) {
    let files = session.store.files;
    if files.link_metadata(&session.place.target).is_ok() && is_free(files, there) {
        files.remove(&there.target).ok();
    }
}

/// Syncs the new name first: a plan with two names after a power cut is better than one without a name.
fn confirm(session: &UpdateSession<'_>, there: &PlanPlace) -> io::Result<()> {
    session.store.files.sync_folder(there.folder())?;
    session.store.files.sync_folder(session.place.folder())
}

/// Records that the plan has moved, and moves the journal. If this fails, the next process that opens the journal completes it.
fn record_move(session: &UpdateSession<'_>, journal: &mut Journal<'_>, there: &PlanPlace) -> Result<(), StoreError> {
    let moved = JournalEvent::Moved(PathChangeRecord {
        from: session.place.relative.clone(),
        to: there.relative.clone(),
    });
    let recorded = journal.append(&(session.store.clock)(), moved);
    recorded.map_err(|error| session.journal_error(error))?;
    let brought = journal::follow(session.store.files, &session.place, there);
    brought.map_err(|source| session.untouched(source))
}
