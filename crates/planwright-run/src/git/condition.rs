//! Properties of a repository that checkouts depend on.

use std::path::{Path, PathBuf};

use super::GitError;
use super::answers::{line_of, parts, path_of, text_of};
use super::repository::Repository;

impl Repository {
    /// Returns the version of git, as its first two numbers; none if unknown.
    pub(crate) fn git_version(&self) -> Result<Option<(u32, u32)>, GitError> {
        let output = line_of(&self.place.git(&["version"]).output()?);
        let mut numbers = output.split(' ').nth(2).unwrap_or_default().split('.').map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok(Some((major, minor))),
            _ => Ok(None),
        }
    }

    pub fn hook(&self, name: &str) -> Result<Option<PathBuf>, GitError> {
        // The settings of our own commands come last.
        let words = ["config", "--type=path", "-z", "--get-all", "core.hooksPath"];
        let output = self.place.git(&words).output()?;
        let configured: Vec<&[u8]> = parts(&output).collect();
        let folder = match configured.iter().nth_back(1) {
            Some(folder) => self.toplevel().join(path_of(folder)),
            None => self.common_folder().join("hooks"),
        };
        let hook = folder.join(name);
        Ok(is_program(&hook).then_some(hook))
    }

    /// Returns the submodules of the checked-out commit that have files in the user's checkout.
    pub(crate) fn checked_out_submodules(&self) -> Result<Vec<String>, GitError> {
        if !self.toplevel().join(".gitmodules").exists() {
            return Ok(Vec::new());
        }
        let output = self.place.git(&["ls-files", "-z", "--stage"]).output()?;
        let links = parts(&output).filter(|entry| entry.starts_with(b"160000 "));
        let paths = links.filter_map(|entry| entry.iter().position(|byte| *byte == b'\t').map(|at| &entry[at + 1..]));
        let has_files = |path: &&[u8]| {
            let folder = self.toplevel().join(path_of(path));
            folder.read_dir().is_ok_and(|mut entries| entries.next().is_some())
        };
        Ok(paths.filter(has_files).map(text_of).collect())
    }

    /// Returns whether the repository is a partial clone that lacks objects of the checked-out commit.
    pub(crate) fn lacks_objects(&self) -> Result<bool, GitError> {
        let pattern = r"^(extensions\.partialclone|remote\..*\.promisor)$";
        if self.place.git(&["config", "--get-regexp", pattern]).line()?.is_none() {
            return Ok(false);
        }
        let words = ["rev-list", "--objects", "--no-walk", "--missing=print", "HEAD"];
        let output = self.place.git(&words).variable("GIT_NO_LAZY_FETCH", "1").output()?;
        Ok(output.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"?")))
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let found = path.metadata();
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
