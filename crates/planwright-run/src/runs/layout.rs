//! Paths of runs: one folder per run in `.planwright/runs`, whose names sort by time.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::{Files, RealFolder};
use crate::layout::{PlanKey, STATE_FOLDER, make_dated_folder, refuse_links};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPlace {
    root: PathBuf,
    id: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptPlace {
    stem: PathBuf,
}

impl RunPlace {
    /// Returns the place of a run by its name, which need not exist. The name must be that of a folder.
    pub fn of(root: &Path, id: &str) -> Option<Self> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_safe = !id.is_empty() && id.len() <= 64 && id.chars().all(is_name);
        is_safe.then(|| RunPlace {
            root: root.to_owned(),
            id: id.to_owned(),
        })
    }

    /// Creates the folder of a new run. `time` is the present as RFC 3339.
    pub fn create(files: &dyn Files, root: &Path, time: &str) -> io::Result<Self> {
        let runs = runs_folder(root);
        // After a clock was set back, a new run must not sort before an older one.
        let last = list(files, root)?.pop().map(|last| order_of(&last.id).0);
        let now: String = time.chars().filter(char::is_ascii_digit).take(14).collect();
        let time = last.filter(|last| *last > now).unwrap_or(now);
        let id = make_dated_folder(files, root, &runs, &time)?;
        files.sync_folder(&runs)?;
        let place = RunPlace {
            root: root.to_owned(),
            id,
        };
        files.create_folder(&place.attempts())?;
        Ok(place)
    }

    /// Creates the folder of its attempts again, if a task removed it.
    pub(crate) fn restore_attempts_folder(&self) {
        // An entry in its place is checked when an attempt starts.
        if let Ok(below) = self.attempts().strip_prefix(&self.root) {
            let _ = RealFolder::make(&self.root, below);
        }
    }

    /// Refuses a run whose folders are links, before anything is added to it.
    pub fn refuse_links(&self, files: &dyn Files) -> io::Result<()> {
        let folders = [self.attempts(), self.worktrees()];
        folders
            .iter()
            .try_for_each(|folder| refuse_links(files, &self.root, folder))
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn folder(&self) -> PathBuf {
        runs_folder(&self.root).join(&self.id)
    }

    pub fn log(&self) -> PathBuf {
        self.folder().join("run.journal")
    }

    pub fn plan_at_end(&self) -> PathBuf {
        self.folder().join("plan-at-end")
    }

    /// Returns the path of the file with the requests of other processes.
    pub fn requests(&self) -> PathBuf {
        self.folder().join("requests")
    }

    pub fn worktrees(&self) -> PathBuf {
        self.folder().join("worktrees")
    }

    fn attempts(&self) -> PathBuf {
        self.folder().join("attempts")
    }

    pub fn attempt(&self, task: &str, attempt: u32) -> AttemptPlace {
        let key = PlanKey::of(task);
        AttemptPlace {
            stem: self.attempts().join(format!("{key}.{attempt}")),
        }
    }
}

impl AttemptPlace {
    pub fn output(&self) -> PathBuf {
        self.with(".log")
    }

    pub fn prompt(&self) -> PathBuf {
        self.with(".prompt.md")
    }

    /// Returns the path of the file in which the agent may report.
    pub fn result(&self) -> PathBuf {
        self.with(".result.json")
    }

    /// Returns the path of the file with the policy of the agent's fence.
    pub fn fence(&self) -> PathBuf {
        self.with(".fence.json")
    }

    /// Returns the path of the output of a verification, counted from 1.
    pub fn check(&self, number: usize) -> PathBuf {
        self.with(&format!(".check-{number}.log"))
    }

    fn with(&self, ending: &str) -> PathBuf {
        let mut path = self.stem.clone().into_os_string();
        path.push(ending);
        path.into()
    }
}

/// Returns all runs of a workspace, the oldest first.
pub fn list(files: &dyn Files, root: &Path) -> io::Result<Vec<RunPlace>> {
    let names = match files.list_folder(&runs_folder(root)) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let places = names.iter().filter_map(|name| RunPlace::of(root, name.to_str()?));
    let mut places: Vec<RunPlace> = places.collect();
    places.sort_by_cached_key(|place| order_of(&place.id));
    Ok(places)
}

/// Sorts runs of one second by their number.
fn order_of(id: &str) -> (String, u32) {
    let mut parts = id.splitn(3, '-');
    let time = [parts.next(), parts.next()].map(Option::unwrap_or_default).concat();
    (time, parts.next().and_then(|number| number.parse().ok()).unwrap_or(1))
}

/// Returns the folder of a workspace's runs, which need not exist.
pub(crate) fn runs_folder(root: &Path) -> PathBuf {
    root.join(STATE_FOLDER).join("runs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::DiskFiles;

    #[test]
    fn run_ids_sort_by_start_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let time = "2026-11-16T05:30:12.250Z";
        let made: Vec<_> = (0..12)
            .map(|_| RunPlace::create(&DiskFiles, folder.path(), time).expect("a place"))
            .collect();
        assert_eq!(made[0].id(), "20261116-053012");
        assert_eq!(made[11].id(), "20261116-053012-12");
        assert_eq!(list(&DiskFiles, folder.path()).expect("a list"), made);
    }

    #[test]
    fn a_run_id_sorts_after_one_dated_in_the_future() {
        let folder = tempfile::tempdir().expect("a folder");
        let create = |time| RunPlace::create(&DiskFiles, folder.path(), time).expect("a place");
        let made = [
            create("2031-01-02T03:04:05Z"),
            create("2026-11-16T05:30:12Z"),
            create("2026-11-16T05:30:13Z"),
            create("2031-01-02T03:04:06Z"),
        ];
        assert_eq!(made[1].id(), "20310102-030405-2");
        assert_eq!(list(&DiskFiles, folder.path()).expect("a list"), made);
    }

    #[test]
    fn names_of_runs_and_tasks_cannot_escape() {
        let root = Path::new("/somewhere");
        for id in ["", "..", "a/b", "a\\b", "a b", ".", &"x".repeat(65)] {
            assert_eq!(RunPlace::of(root, id), None, "{id}");
        }
        let place = RunPlace::of(root, "20261116-053012").expect("a name");
        let output = place.attempt("../../etc/passwd", 2).output();
        assert_eq!(output.parent(), Some(place.attempts().as_path()));
        assert!(output.to_string_lossy().ends_with(".2.log"), "{output:?}");
    }
}
