//! Finds the active run of a plan, by a lock that its process holds.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::files::Files;
use crate::layout::{PlanKey, PlanPlace, locks_of};
use crate::lock::{self, LockError, LockHolder, PlanLock};

/// The right to run a plan, until it is dropped.
#[derive(Debug)]
pub struct RunLock {
    lock: PlanLock,
    by_id: Option<PlanLock>,
    me: LockHolder,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveRun {
    pub pid: u32,
    /// The run; none before it has a name.
    pub id: Option<String>,
    pub since: String,
    /// The namespace of its process id, if the system has namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<u64>,
}

impl RunLock {
    /// Takes the right to run a plan. If another process has it, the error names that process. The state folder must exist.
    pub fn acquire(files: &dyn Files, plan: &PlanPlace, id: &str, since: &str) -> Result<Self, LockError> {
        let me = LockHolder::new(format!("{VERB}{id}"), since.to_owned());
        let lock = lock::acquire(files, &lock_path(plan), &me, PATIENCE)?;
        let by_id = None;
        Ok(RunLock { lock, by_id, me })
    }

    /// Also takes the right to run any plan with the same id, in case the user moves the plan file meanwhile.
    pub(crate) fn hold_id(&mut self, files: &dyn Files, plan: &PlanPlace, plan_id: &str) -> Result<(), LockError> {
        let path = id_lock_path(plan, plan_id);
        self.by_id = Some(lock::acquire(files, &path, &self.me, PATIENCE)?);
        Ok(())
    }

    pub fn name(&mut self, files: &dyn Files, id: &str) -> io::Result<()> {
        self.me.verb = format!("{VERB}{id}");
        if let Some(lock) = &self.by_id {
            lock.sign(files, &self.me)?;
        }
        self.lock.sign(files, &self.me)
    }
}

/// Returns the active run of a plan.
pub fn holder(files: &dyn Files, plan: &PlanPlace) -> Option<LiveRun> {
    lock::held_by(files, &lock_path(plan)).map(LiveRun::from)
}

/// Returns the active runs of a workspace.
pub fn live_runs(files: &dyn Files, root: &Path) -> Vec<LiveRun> {
    let entries = std::fs::read_dir(locks_of(root)).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let locks = paths.filter(|path| path.extension().is_some_and(|extension| extension == "run"));
    locks
        .filter_map(|path| lock::held_by(files, &path).map(LiveRun::from))
        .collect()
}

/// Returns the active run of any plan with this id: its file may have been moved during the run.
pub(crate) fn holder_of_id(files: &dyn Files, plan: &PlanPlace, plan_id: &str) -> Option<LiveRun> {
    lock::held_by(files, &id_lock_path(plan, plan_id)).map(LiveRun::from)
}

impl From<LockHolder> for LiveRun {
    fn from(holder: LockHolder) -> Self {
        let LockHolder {
            pid,
            verb,
            since,
            namespace,
        } = holder;
        let id = verb.strip_prefix(VERB).filter(|id| !id.is_empty());
        LiveRun {
            pid,
            id: id.map(str::to_owned),
            since,
            namespace,
        }
    }
}

const VERB: &str = "run ";

/// How long a lock must be held before the plan counts as running: a process that only reads holds it briefly.
const PATIENCE: Duration = Duration::from_millis(300);

fn lock_path(plan: &PlanPlace) -> PathBuf {
    let mut path = plan.lock().into_os_string();
    path.push(".run");
    Path::new(&path).to_owned()
}

fn id_lock_path(plan: &PlanPlace, plan_id: &str) -> PathBuf {
    plan.lock_of(&PlanKey::of(&format!("plan id {plan_id}")))
        .with_extension("lock.run")
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::files::DiskFiles;
    use crate::layout::make_state_folder;

    #[test]
    fn one_run_at_a_time_holds_the_lock_and_is_identified() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(".git")).expect("a folder");
        let path = folder.path().join("plan.json");
        std::fs::write(&path, "{}").expect("a file");
        let plan = PlanPlace::of(&DiskFiles, &path).expect("a place");
        make_state_folder(&DiskFiles, &plan.root).expect("folders");
        assert_eq!(holder(&DiskFiles, &plan), None);
        let mut live = RunLock::acquire(&DiskFiles, &plan, "", "now").expect("nobody runs it");
        live.hold_id(&DiskFiles, &plan, "p-1").expect("nobody runs it");
        live.name(&DiskFiles, "20261116-053012").expect("a name");
        let found = holder(&DiskFiles, &plan).expect("a run");
        assert_eq!(
            (found.pid, found.id.as_deref()),
            (std::process::id(), Some("20261116-053012"))
        );
        assert!(matches!(
            RunLock::acquire(&DiskFiles, &plan, "another", "now"),
            Err(LockError::Held { holder: Some(_), .. })
        ));
        let moved = folder.path().join("moved.json");
        std::fs::rename(&path, &moved).expect("moved");
        let moved = PlanPlace::of(&DiskFiles, &moved).expect("a place");
        let mut other = RunLock::acquire(&DiskFiles, &moved, "", "now").expect("another path");
        assert!(matches!(
            other.hold_id(&DiskFiles, &moved, "p-1"),
            Err(LockError::Held { holder: Some(_), .. })
        ));
        drop(live);
        // A process that a test beside this one starts shares the lock until it
        // executes its program.
        let until = Instant::now() + Duration::from_secs(10);
        while holder(&DiskFiles, &plan).is_some() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(holder(&DiskFiles, &plan), None);
    }
}
