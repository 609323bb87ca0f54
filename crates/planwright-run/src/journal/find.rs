//! Finds the journal of a plan by its path. A moved plan with an id takes its journal along; a copy begins its own.

use std::fs::Permissions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::dialect::{Choice, DiskFacts};
use planwright_core::inspect::inspect;
use planwright_core::plan::{Field, Plan};
use planwright_core::text::{MAX_BYTES, SourceText};

use super::{
    History, IdChangeRecord, Journal, JournalError, JournalEvent, JournalRepair, PathChangeRecord, read, take_apart,
};
use super::{frame, frame::JournalHeader};
use crate::digest::Digest;
use crate::files::Files;
use crate::layout::{ARCHIVE, JOURNAL_EXTENSION, PlanKey, PlanPlace, TRASH, journals_of};
use crate::lock::{self, LockError, LockHolder};

/// Returns the id of a plan, which stays the same at any path; none in dialects without an id.
pub fn plan_id(plan: &Plan) -> Option<&str> {
    let id = plan.head_str(Field::Id).or_else(|| plan.head_str(Field::SpecId));
    id.filter(|id| !id.trim().is_empty())
}

/// Opens the journal of a plan for its writer, who holds the plan's lock.
pub(crate) fn open_for<'f>(
    files: &'f dyn Files,
    place: &PlanPlace,
    id: Option<&str>,
    me: &LockHolder,
) -> Result<Journal<'f>, JournalError> {
    let path = place.journal();
    let beginning = JournalHeader {
        path: place.relative.clone(),
        id: id.map(str::to_owned),
    };
    let mut journal = Journal::open(files, path.clone(), beginning.clone())?;
    if !is_own(&journal.history, id) {
        let before = journal.history.owner().and_then(|owner| owner.id);
        if let Some(moved) = find_moved(files, place, id) {
            take_along(files, place, &moved, me)?;
            journal = Journal::open(files, path, beginning)?;
        } else if before.is_some() {
            // The history of another plan at this path is kept for its return.
            put_aside(files, place).map_err(|error| journal.failed(error))?;
            journal = Journal::open(files, path, beginning)?;
            journal.notices.push(JournalRepair::Identified { from: before });
        }
    }
    journal.permissions = permissions_like(files, &place.target);
    if let Some(owner) = journal.history.owner() {
        note_owner(&mut journal, owner, place, id);
    }
    Ok(journal)
}

/// Reads the history of a plan. Takes no lock and changes nothing: torn records are omitted, and a moved journal is read at its old place.
pub(crate) fn history_of(files: &dyn Files, place: &PlanPlace, id: Option<&str>) -> Result<History, JournalError> {
    let path = place.journal();
    let own = read_history(files, &path)?;
    if is_own(&own, id) {
        return Ok(own);
    }
    match find_moved(files, place, id) {
        Some(moved) => read_history(files, &moved.journal),
        // It is that of another plan, and stays as it is.
        None if own.owner().is_some() => Ok(take_apart(&path, Vec::new())?.0),
        None => Ok(own),
    }
}

fn read_history(files: &dyn Files, path: &Path) -> Result<History, JournalError> {
    let (mut history, n_sound) = take_apart(path, read(files, path)?)?;
    history.n_torn = history.bytes.len().saturating_sub(n_sound);
    Ok(history)
}

/// Returns whether a journal belongs to the plan with this id, or may belong to it.
fn is_own(history: &History, id: Option<&str>) -> bool {
    let owner = history.owner();
    owner.is_some_and(|owner| !matches!((owner.id.as_deref(), id), (Some(owner), Some(id)) if owner != id))
}

/// Records in a journal that it now belongs to another plan or path.
fn note_owner(journal: &mut Journal<'_>, owner: JournalHeader, place: &PlanPlace, id: Option<&str>) {
    if owner.path != place.relative {
        journal.notices.push(JournalRepair::Moved {
            from: owner.path.clone(),
        });
        journal.first.push(JournalEvent::Moved(PathChangeRecord {
            from: owner.path,
            to: place.relative.clone(),
        }));
    }
    if id.is_some() && owner.id.is_none() {
        journal.first.push(JournalEvent::Identified(IdChangeRecord {
            from: owner.id,
            to: id.map(str::to_owned),
        }));
    }
}

/// A journal whose plan was moved.
struct MovedJournal {
    journal: PathBuf,
    /// The last recorded path.
    path: String,
}

/// Returns the journal of a plan that was moved to `place`.
fn find_moved(files: &dyn Files, place: &PlanPlace, id: Option<&str>) -> Option<MovedJournal> {
    find_left_behind(files, place)
        .or_else(|| find_put_aside(files, place))
        .or_else(|| find_by_id(files, place, id))
}

/// Returns the journal of a plan that was archived and restored, unchanged, to its old path.
fn find_put_aside(files: &dyn Files, place: &PlanPlace) -> Option<MovedJournal> {
    let numbers = files.list_folder(&place.root.join(TRASH)).unwrap_or_default();
    let trash = numbers
        .iter()
        .map(|n| format!("{TRASH}/{}/{}", n.to_string_lossy(), place.relative));
    let mut asides = [format!("{ARCHIVE}/{}", place.relative)].into_iter().chain(trash);
    asides.find_map(|path| {
        let aside = place.elsewhere(&path);
        let is_empty = files.link_metadata(&aside.target).is_err() && files.metadata(&aside.journal()).is_ok();
        let bytes = is_empty.then(|| read(files, &aside.journal()).ok()).flatten()?;
        let history = take_apart(&aside.journal(), bytes).ok()?.0;
        let is_its = history.owner()?.path == path && is_what_left(files, place, &history);
        is_its.then_some(MovedJournal {
            journal: aside.journal(),
            path,
        })
    })
}

/// Returns the journal of a plan that planwright itself moved before it was killed, without its journal.
fn find_left_behind(files: &dyn Files, place: &PlanPlace) -> Option<MovedJournal> {
    let origin = place.origin()?;
    // A plan in the trash may have been in the archive before.
    let old = [origin.to_owned(), format!("{ARCHIVE}/{origin}")];
    old.iter().find_map(|old| {
        let old = place.elsewhere(old);
        let history = take_apart(&old.journal(), read(files, &old.journal()).ok()?).ok()?.0;
        let is_ours = history.last_own_move()?.to == place.relative && files.link_metadata(&old.target).is_err();
        is_ours.then_some(MovedJournal {
            journal: old.journal(),
            path: history.owner()?.path,
        })
    })
}

/// Returns whether the plan of a journal was deleted, unless the plan at `place` is the deleted one. A plan that is created again has the
/// id of the old one, but another text.
fn is_of_deleted(files: &dyn Files, place: &PlanPlace, history: &History, owner: &JournalHeader) -> bool {
    Path::new(&owner.path).starts_with(TRASH) && !is_what_left(files, place, history)
}

/// Returns whether the plan at `place` has the same text as when it was moved away.
fn is_what_left(files: &dyn Files, place: &PlanPlace, history: &History) -> bool {
    let left = history.last_own_move().and_then(|leaving| leaving.text);
    let bytes = files.read(&place.target, MAX_BYTES as u64).unwrap_or_default();
    left.is_some() && left == str::from_utf8(&bytes).ok().map(Digest::of)
}

/// Returns the journal of a moved plan with this id; none if several match.
fn find_by_id(files: &dyn Files, place: &PlanPlace, id: Option<&str>) -> Option<MovedJournal> {
    let (id, own) = (id?, place.journal());
    let mut candidates = begun_for(files, &place.journals(), id)
        .filter(|path| *path != own)
        .filter_map(|journal| {
            let history = take_apart(&journal, read(files, &journal).ok()?).ok()?.0;
            let owner = history.owner().filter(|owner| owner.id.as_deref() == Some(id))?;
            let is_left = owner.path == place.relative || !is_at(files, &place.root.join(&owner.path), id);
            let is_gone = is_left && is_of_deleted(files, place, &history, &owner);
            (is_left && !is_gone).then_some(MovedJournal {
                journal,
                path: owner.path,
            })
        });
    let only = candidates.next()?;
    candidates.next().is_none().then_some(only)
}

/// Returns whether a journal of a workspace was begun for a plan with this id, which may be gone.
pub fn is_known_id(files: &dyn Files, root: &Path, id: &str) -> bool {
    begun_for(files, &journals_of(root), id).next().is_some()
}

/// Returns the journals in a folder that were begun for a plan with this id.
fn begun_for<'f>(files: &'f dyn Files, folder: &Path, id: &'f str) -> impl Iterator<Item = PathBuf> + use<'f> {
    let names = files.list_folder(folder).unwrap_or_default();
    let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    paths.into_iter().filter(move |path| {
        path.extension().is_some_and(|extension| extension == JOURNAL_EXTENSION) && is_begun_for(files, path, id)
    })
}

/// Reads only the first line: journals can be long, and there can be many.
fn is_begun_for(files: &dyn Files, journal: &Path, id: &str) -> bool {
    const MAX_HEADER: u64 = 64 * 1024;
    let Ok(mut bytes) = files.read(journal, MAX_HEADER) else {
        return false;
    };
    let end = bytes.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    bytes.truncate(end);
    let header = frame::scan(&bytes).ok().and_then(|scan| scan.header);
    header.is_some_and(|header| header.id.as_deref() == Some(id))
}

/// Returns whether the file at a path is a plan with this id.
fn is_at(files: &dyn Files, path: &Path, id: &str) -> bool {
    let is_file = files.metadata(path).is_ok_and(|metadata| metadata.is_file());
    let Some(bytes) = is_file.then(|| files.read(path, MAX_BYTES as u64).ok()).flatten() else {
        return false;
    };
    let name = path.to_string_lossy();
    let facts = DiskFacts::default();
    let choice = Choice {
        path: Some(&name),
        ..Choice::by_content(&facts)
    };
    let inspection = inspect(&SourceText::from_bytes(bytes), &choice);
    inspection.plan.is_some_and(|linked| plan_id(&linked.plan) == Some(id))
}

/// How long to wait for the lock of a plan's old place.
const OLD_LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// Renames a journal to its plan's new place. A journal that is already there belonged to a plan that is gone, and is kept under a number.
fn take_along(files: &dyn Files, place: &PlanPlace, moved: &MovedJournal, me: &LockHolder) -> Result<(), JournalError> {
    let failed = |source| JournalError::Io {
        path: moved.journal.clone(),
        source,
    };
    let old_lock = place.lock_of(&PlanKey::of(&moved.path));
    // Waits only briefly: its holder may be waiting for ours. A process that is being started holds the locks of its parent for a moment.
    let _guard = match old_lock == place.lock() {
        true => None,
        false => match lock::acquire(files, &old_lock, me, OLD_LOCK_PATIENCE) {
            Ok(guard) => Some(guard),
            Err(LockError::Io { source, .. }) => return Err(failed(source)),
            Err(LockError::Held { .. }) => {
                let from = moved.path.clone();
                return Err(JournalError::InUse { from });
            }
        },
    };
    bring(files, &moved.journal, place).map_err(failed)
}

/// Moves the journal of a plan along with it from one place to another. The caller holds the locks of both.
pub(crate) fn follow(files: &dyn Files, from: &PlanPlace, to: &PlanPlace) -> std::io::Result<()> {
    bring(files, &from.journal(), to)
}

fn bring(files: &dyn Files, journal: &Path, place: &PlanPlace) -> std::io::Result<()> {
    let own = place.journal();
    if files.metadata(&own).is_ok_and(|metadata| metadata.len() > 0) {
        files.rename(&own, &free_name(files, place))?;
    }
    files.rename(journal, &own)?;
    files.sync_folder(&place.journals())
}

/// Keeps the journal of another plan at the same path under a number.
fn put_aside(files: &dyn Files, place: &PlanPlace) -> std::io::Result<()> {
    files.rename(&place.journal(), &free_name(files, place))?;
    files.sync_folder(&place.journals())
}

/// Returns a free name for a journal whose place is taken.
fn free_name(files: &dyn Files, place: &PlanPlace) -> PathBuf {
    let name = |n: u64| place.journals().join(format!("{}.{n}.{JOURNAL_EXTENSION}", place.key));
    let is_free = |path: &PathBuf| files.metadata(path).is_err();
    (1..).map(name).find(is_free).unwrap_or_else(|| name(0))
}

/// The journal gets the permissions of the plan file, and its owner may always read and write it.
#[cfg(unix)]
fn permissions_like(files: &dyn Files, target: &Path) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = files.metadata(target).ok()?.permissions().mode();
    Some(Permissions::from_mode(mode & 0o666 | 0o600))
}

#[cfg(not(unix))]
fn permissions_like(_files: &dyn Files, _target: &Path) -> Option<Permissions> {
    None
}
