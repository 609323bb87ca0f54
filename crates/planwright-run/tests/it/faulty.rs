//! Files that fail on purpose, over a real folder: at a chosen step the machine stops, a write is torn, or the system returns an error.
//! Steps are the operations that change something.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use planwright_run::files::{DiskFiles, Files};

/// A kind of fault.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The process stops before the step. What it did before stays.
    Kill,
    /// The power fails before the step. Unsynced data is lost.
    PowerCut,
    /// Only this many bytes of the first write from this step on arrive, and the process stops.
    Tear(usize),
    /// The step fails with this error of the system, and later ones work again.
    Refuse(i32),
    /// The step and all after it fail with this error of the system.
    RefuseAll(i32),
}

/// The files of the machine, until a fault happens.
pub(crate) struct FaultyFiles {
    at: usize,
    fault: Fault,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    n_steps: usize,
    has_struck: bool,
    is_dead: bool,
    paths: HashMap<u64, PathBuf>,
    /// The durable content of files, if it differs from the visible one.
    durable: HashMap<u64, Vec<u8>>,
    names: Vec<Name>,
}

/// A change of a name that is not durable in its folder yet.
enum Name {
    Created(PathBuf),
    Removed(PathBuf, Vec<u8>),
    Renamed(PathBuf, PathBuf, Option<Vec<u8>>),
    Exchanged(PathBuf, PathBuf),
}

impl Name {
    fn folder(&self) -> Option<&Path> {
        match self {
            Name::Created(path) | Name::Removed(path, _) | Name::Renamed(_, path, _) | Name::Exchanged(_, path) => {
                path.parent()
            }
        }
    }
}

impl FaultyFiles {
    pub(crate) fn new(at: usize, fault: Fault) -> Self {
        FaultyFiles {
            at,
            fault,
            state: RefCell::default(),
        }
    }

    /// Returns false if the operation ended before the step was reached.
    pub(crate) fn has_struck(&self) -> bool {
        self.state.borrow().has_struck
    }

    fn alive(&self) -> io::Result<DiskFiles> {
        match self.state.borrow().is_dead {
            true => Err(io::Error::other("the machine has stopped")),
            false => Ok(DiskFiles),
        }
    }

    /// Counts a step, and applies the fault planned for it.
    fn step(&self) -> io::Result<DiskFiles> {
        self.alive()?;
        let mut state = self.state.borrow_mut();
        let step = state.n_steps;
        state.n_steps += 1;
        let is_hit = match self.fault {
            Fault::RefuseAll(_) => step >= self.at,
            Fault::Tear(_) => false,
            _ => step == self.at,
        };
        if !is_hit {
            return Ok(DiskFiles);
        }
        state.has_struck = true;
        match self.fault {
            Fault::Refuse(code) | Fault::RefuseAll(code) => return Err(io::Error::from_raw_os_error(code)),
            Fault::PowerCut => state.lose_what_is_not_synced(),
            Fault::Kill | Fault::Tear(_) => {}
        }
        state.is_dead = true;
        Err(io::Error::other("the machine has stopped"))
    }

    fn opened(&self, path: &Path, was_there: bool, file: File) -> io::Result<File> {
        let mut state = self.state.borrow_mut();
        state.paths.insert(file.metadata()?.ino(), path.to_owned());
        if !was_there {
            state.names.push(Name::Created(path.to_owned()));
        }
        Ok(file)
    }

    /// Records the durable content of a file before it is changed.
    fn before_change(&self, file: &File) -> io::Result<()> {
        let ino = file.metadata()?.ino();
        let mut state = self.state.borrow_mut();
        if !state.durable.contains_key(&ino) {
            let bytes = std::fs::read(&state.paths[&ino])?;
            state.durable.insert(ino, bytes);
        }
        Ok(())
    }

    fn synced(&self, file: &File) -> io::Result<()> {
        self.state.borrow_mut().durable.remove(&file.metadata()?.ino());
        Ok(())
    }
}

impl State {
    fn lose_what_is_not_synced(&mut self) {
        for (ino, bytes) in self.durable.drain() {
            // A file that was removed has nothing to lose.
            if self.paths[&ino].exists() {
                std::fs::write(&self.paths[&ino], bytes).expect("written");
            }
        }
        for name in self.names.drain(..).rev() {
            match name {
                Name::Created(path) if path.is_dir() => std::fs::remove_dir_all(path).expect("removed"),
                Name::Created(path) => std::fs::remove_file(path).unwrap_or(()),
                Name::Removed(path, bytes) => std::fs::write(path, bytes).expect("written"),
                Name::Exchanged(one, other) => DiskFiles.exchange(&one, &other).expect("exchanged"),
                Name::Renamed(from, to, old) => {
                    std::fs::rename(&to, from).expect("renamed");
                    if let Some(old) = old {
                        std::fs::write(to, old).expect("written");
                    }
                }
            }
        }
    }
}

impl Files for FaultyFiles {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.alive()?.canonical(path)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.alive()?.metadata(path)
    }

    fn link_metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.alive()?.link_metadata(path)
    }

    fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
        self.alive()?.read(path, max_bytes)
    }

    fn list_folder(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.alive()?.list_folder(folder)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.step()?.create_folder(folder)?;
        self.state.borrow_mut().names.push(Name::Created(folder.to_owned()));
        Ok(())
    }

    fn create_private(&self, path: &Path) -> io::Result<File> {
        let file = self.step()?.create_private(path)?;
        self.opened(path, false, file)
    }

    fn open_append(&self, path: &Path) -> io::Result<File> {
        let was_there = path.exists();
        let file = self.step()?.open_append(path)?;
        self.opened(path, was_there, file)
    }

    fn open_shared(&self, path: &Path) -> io::Result<File> {
        let was_there = path.exists();
        let file = self.step()?.open_shared(path)?;
        self.opened(path, was_there, file)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let step = self.state.borrow().n_steps;
        let files = self.step()?;
        self.before_change(file)?;
        match self.fault {
            Fault::Tear(n_bytes) if step >= self.at => {
                files.write(file, &bytes[..n_bytes.min(bytes.len())])?;
                let mut state = self.state.borrow_mut();
                (state.has_struck, state.is_dead) = (true, true);
                Err(io::Error::other("the machine has stopped"))
            }
            _ => files.write(file, bytes),
        }
    }

    fn truncate(&self, file: &File, n_bytes: u64) -> io::Result<()> {
        let files = self.step()?;
        self.before_change(file)?;
        files.truncate(file, n_bytes)
    }

    fn set_permissions(&self, file: &File, permissions: Permissions) -> io::Result<()> {
        self.step()?.set_permissions(file, permissions)
    }

    fn set_owner_like(&self, file: &File, model: &Metadata) -> io::Result<()> {
        self.step()?.set_owner_like(file, model)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.step()?.sync(file)?;
        self.synced(file)
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        self.step()?.sync_data(file)?;
        self.synced(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let files = self.step()?;
        let old = std::fs::read(to).ok();
        files.rename(from, to)?;
        let mut state = self.state.borrow_mut();
        let ino = std::fs::metadata(to)?.ino();
        state.paths.insert(ino, to.to_owned());
        state.names.push(Name::Renamed(from.to_owned(), to.to_owned(), old));
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.step()?.exchange(one, other)?;
        let mut state = self.state.borrow_mut();
        for path in [one, other] {
            state.paths.insert(std::fs::metadata(path)?.ino(), path.to_owned());
        }
        state.names.push(Name::Exchanged(one.to_owned(), other.to_owned()));
        Ok(())
    }

    fn name_anew(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?.name_anew(from, to)?;
        let renamed = Name::Renamed(from.to_owned(), to.to_owned(), None);
        self.state.borrow_mut().names.push(renamed);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let files = self.step()?;
        let old = std::fs::read(path)?;
        files.remove(path)?;
        self.state.borrow_mut().names.push(Name::Removed(path.to_owned(), old));
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step()?.sync_folder(folder)?;
        self.state
            .borrow_mut()
            .names
            .retain(|name| name.folder() != Some(folder));
        Ok(())
    }
}
