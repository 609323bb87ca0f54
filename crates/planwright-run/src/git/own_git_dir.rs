//! Git directories of planwright's own. They borrow the objects of the user's repository and share nothing else with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::GitError;
use super::answers::{line_of, parts, path_of, require_id, text_of};
use super::command::GitLocation;
use super::repository::Repository;
use crate::faults;
use crate::files::{open_folders, read_file};

/// The folder, in the first git directory of a run, with the settings of the user's repository when the run started.
const FROZEN: &str = "planwright";

/// The folder next to these, with a git directory made by git without any settings.
const TEMPLATE: &str = "template";

/// The configuration that git wrote for a new git directory, before any addition.
const PLAIN_CONFIG: &str = "config.plain";

/// Settings of the user that mean the same in every checkout: the identity, line endings, filters, merges.
const COPIED: &[&str] = &[
    "author.",
    "committer.",
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.eol",
    "core.whitespace",
    "diff.",
    "filter.",
    "i18n.",
    "lfs.",
    "merge.",
    "user.",
];

/// What is copied from the user's repository into every git directory of a run, as it was when the run started.
#[derive(Clone, Debug)]
pub struct FrozenSettings {
    folder: PathBuf,
    object_format: String,
}

/// The files of [`FrozenSettings`], and their paths in a git directory.
const FILES: &[(&str, &str)] = &[
    ("exclude", "info/exclude"),
    ("excludes-file", "info/planwright-excludes"),
    ("attributes", "info/attributes"),
    ("attributes-file", "info/planwright-attributes"),
    ("shallow", "shallow"),
    // The last one: if it exists, all of them do.
    ("alternates", "objects/info/alternates"),
];

impl FrozenSettings {
    /// Copies the settings of a repository into a folder, or returns those that already exist.
    pub fn freeze(repository: &Repository, folder: &Path) -> Result<Self, GitError> {
        let folder = folder.join(FROZEN);
        let object_format = object_format(repository)?;
        let frozen = FrozenSettings { folder, object_format };
        if frozen.folder.is_dir() {
            return Ok(frozen);
        }
        // Written under a temporary name first: under its own name it is complete.
        let draft = frozen.folder.with_extension("draft");
        remove_folder(&draft).map_err(path_error(&draft))?;
        make_folder(&draft)?;
        write(&draft.join("config"), &copied_settings(repository)?)?;
        for (name, bytes) in contents(repository)? {
            write(&draft.join(name), &bytes)?;
        }
        frozen.init(&draft.join(TEMPLATE), false)?;
        faults::point("settings are copied");
        fs::rename(&draft, &frozen.folder).map_err(path_error(&frozen.folder))?;
        Ok(frozen)
    }

    /// Has git create a git directory without settings: for a work tree `folder/.git`, or the bare `folder` itself.
    fn init(&self, folder: &Path, is_bare: bool) -> Result<PathBuf, GitError> {
        let above = folder.parent().unwrap_or(folder);
        make_folder(above)?;
        let format = format!("--object-format={}", self.object_format);
        let mut words = vec!["init", "--quiet", "--template=", "--initial-branch=planwright", &format];
        words.extend(is_bare.then_some("--bare"));
        // Ignore a repository that encloses the folder.
        let place = GitLocation::at(above);
        let call = place.git(&words).setting("core.sharedRepository=false");
        call.variable("GIT_DEFAULT_REF_FORMAT", "files")
            .arg("--")
            .arg(folder)
            .run()?;
        let git_dir = if is_bare {
            folder.to_owned()
        } else {
            folder.join(".git")
        };
        let config = git_dir.join("config");
        let plain = git_dir.join(PLAIN_CONFIG);
        fs::copy(&config, &plain).map_err(path_error(&plain))?;
        Ok(git_dir)
    }

    /// Creates the git directory of a new work tree as a copy of the one that git made when the settings were frozen.
    pub(super) fn init_work_tree(&self, folder: &Path) -> Result<PathBuf, GitError> {
        let git_dir = folder.join(".git");
        let template = self.folder.join(TEMPLATE).join(".git");
        match template.is_dir() {
            true => copy_folder(&template, &git_dir)?,
            // An earlier version of planwright froze the settings.
            false => drop(self.init(folder, false)?),
        }
        self.settle(&git_dir)?;
        Ok(git_dir)
    }

    pub(super) fn init_bare(&self, folder: &Path) -> Result<PathBuf, GitError> {
        let git_dir = self.init(folder, true)?;
        self.settle(&git_dir)?;
        Ok(git_dir)
    }

    /// Removes settings and hooks of an agent from the git directory of a work tree, because git would execute them. They are kept next to
    /// it under other names.
    pub(super) fn disarm(&self, git_dir: &Path) -> Result<(), GitError> {
        // Renamed, never followed: an agent may have put links there.
        for name in ["hooks", "config.worktree", "config"] {
            let (from, to) = (git_dir.join(name), git_dir.join(format!("{name}.of-agent")));
            let is_empty = fs::read_dir(&from).is_ok_and(|mut entries| entries.next().is_none());
            if from.symlink_metadata().is_ok() && !is_empty {
                fs::remove_dir_all(&to).or_else(|_| fs::remove_file(&to)).ok();
                fs::rename(&from, &to).map_err(path_error(&to))?;
            }
        }
        // The original configuration is read from a place where no agent can write.
        let plain = self.folder.join(TEMPLATE).join(".git").join(PLAIN_CONFIG);
        self.write_settings(git_dir, &plain)
    }

    /// Replaces the settings of a git directory by these.
    pub(super) fn settle(&self, git_dir: &Path) -> Result<(), GitError> {
        self.write_settings(git_dir, &git_dir.join(PLAIN_CONFIG))?;
        for (name, to) in FILES {
            let from = self.folder.join(name);
            let to = git_dir.join(to);
            if from.exists() {
                make_folder(to.parent().unwrap_or(git_dir))?;
                fs::copy(&from, &to).map_err(path_error(&to))?;
            }
        }
        Ok(())
    }

    fn write_settings(&self, git_dir: &Path, plain: &Path) -> Result<(), GitError> {
        let mut text = read_file(plain).map_err(path_error(plain))?;
        let copied = self.folder.join("config");
        text.extend(read_file(&copied).map_err(path_error(&copied))?);
        let own = [
            ("excludesFile", git_dir.join("info/planwright-excludes")),
            ("attributesFile", git_dir.join("info/planwright-attributes")),
        ];
        text.extend_from_slice(b"[core]\n\tfsmonitor = false\n\tuntrackedCache = false\n");
        for (name, path) in own {
            text.extend(format!("\t{name} = {}\n", quoted(&path.to_string_lossy())).bytes());
        }
        write(&git_dir.join("config"), &text)
    }
}

/// Returns the files to copy, with their names.
fn contents(repository: &Repository) -> Result<Vec<(&'static str, Vec<u8>)>, GitError> {
    let common = repository.common_folder();
    let objects = repository.place.git(&["rev-parse", "--git-path", "objects"]).output()?;
    let objects = repository
        .place
        .folder
        .join(path_of(objects.strip_suffix(b"\n").unwrap_or(&objects)));
    let objects = super::repository::canonical(&objects)?;
    let mut alternates = alternate_line(&objects);
    alternates.push(b'\n');
    let global = |key: &str, name: &str| -> Result<Vec<u8>, GitError> {
        Ok(read_optional(global_file(repository, key, name)?.as_deref()))
    };
    let mut files = vec![
        ("alternates", alternates),
        ("exclude", read_optional(Some(&common.join("info/exclude")))),
        ("attributes", read_optional(Some(&common.join("info/attributes")))),
        ("excludes-file", global("core.excludesFile", "ignore")?),
        ("attributes-file", global("core.attributesFile", "attributes")?),
    ];
    let shallow = common.join("shallow");
    if shallow.exists() {
        files.push(("shallow", read_file(&shallow).map_err(path_error(&shallow))?));
    }
    Ok(files)
}

/// Returns a path as a line of `objects/info/alternates`, quoted if git would misread it.
fn alternate_line(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if !bytes.iter().any(|byte| matches!(byte, b'\n' | b'"')) && !bytes.starts_with(b"#") {
        return bytes.to_vec();
    }
    let mut line = vec![b'"'];
    for byte in bytes {
        match byte {
            b'\n' => line.extend_from_slice(b"\\n"),
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
            byte => line.push(*byte),
        }
    }
    line.push(b'"');
    line
}

/// Returns the path of a file for all repositories of the user: as configured, otherwise its default.
fn global_file(repository: &Repository, key: &str, name: &str) -> Result<Option<PathBuf>, GitError> {
    if let Some(path) = repository.place.git(&["config", "--type=path", "--get", key]).line()? {
        return Ok(Some(repository.place.folder.join(path)));
    }
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
    let folder = folder.map(PathBuf::from).or_else(home);
    Ok(folder.map(|folder| folder.join("git").join(name)))
}

fn read_optional(path: Option<&Path>) -> Vec<u8> {
    path.and_then(|path| read_file(path).ok()).unwrap_or_default()
}

fn object_format(repository: &Repository) -> Result<String, GitError> {
    let output = repository.place.git(&["rev-parse", "--show-object-format"]).output()?;
    Ok(line_of(&output))
}

/// Returns the settings to copy, as the text of a configuration file.
fn copied_settings(repository: &Repository) -> Result<Vec<u8>, GitError> {
    let output = repository.place.git(&["config", "--list", "-z"]).output()?;
    let mut text = String::new();
    let mut uses_lfs = false;
    for entry in parts(&output) {
        let entry = text_of(entry);
        let (key, value) = match entry.split_once('\n') {
            Some((key, value)) => (key, Some(value)),
            None => (entry.as_str(), None),
        };
        if COPIED
            .iter()
            .any(|copied| key == *copied || (copied.ends_with('.') && key.starts_with(copied)))
        {
            uses_lfs |= key.starts_with("filter.lfs.");
            text.push_str(&setting(key, value));
        }
    }
    if uses_lfs {
        // New objects go to the user's own store, where the branch with them is.
        let store = repository.common_folder().join("lfs");
        text.push_str(&setting("lfs.storage", Some(&store.to_string_lossy())));
    }
    Ok(text.into_bytes())
}

/// Returns one setting as lines of a configuration file.
fn setting(key: &str, value: Option<&str>) -> String {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let (subsection, name) = match rest.rsplit_once('.') {
        Some((subsection, name)) => (Some(subsection), name),
        None => (None, rest),
    };
    let section = match subsection {
        Some(subsection) => format!("{section} {}", quoted(subsection)),
        None => section.to_owned(),
    };
    match value {
        Some(value) => format!("[{section}]\n\t{name} = {}\n", quoted(value)),
        None => format!("[{section}]\n\t{name}\n"),
    }
}

fn quoted(value: &str) -> String {
    let mut quoted = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Points a git directory at a commit, on its own branch, with the tags of the user's repository.
pub(super) fn set_refs(git_dir: &Path, branch: &str, commit: &str, tags: &[u8]) -> Result<(), GitError> {
    require_id(commit)?;
    let packed = git_dir.join("packed-refs");
    let mut text = b"# pack-refs with: sorted \n".to_vec();
    text.extend_from_slice(tags);
    write(&packed, &text)?;
    let heads = git_dir.join("refs/heads").join(branch);
    make_folder(heads.parent().unwrap_or(git_dir))?;
    write(&heads, format!("{commit}\n").as_bytes())?;
    write(&git_dir.join("HEAD"), format!("ref: refs/heads/{branch}\n").as_bytes())
}

/// Returns the tags of a repository as lines of a `packed-refs` file.
pub(super) fn tags_of(repository: &Repository) -> Result<Vec<u8>, GitError> {
    let words = [
        "for-each-ref",
        "--sort=refname",
        "--format=%(objectname) %(refname)",
        "refs/tags",
    ];
    repository.place.git(&words).output()
}

/// Removes the locks that a killed git left in a git directory of ours. No git may be working in it.
pub(super) fn remove_locks(git_dir: &Path) {
    for entry in fs::read_dir(git_dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_file() && path.extension().is_some_and(|end| end == "lock") {
            let _ = fs::remove_file(path);
        }
    }
    remove_locks_below(&git_dir.join("refs"));
}

pub(super) fn remove_locks_below(folder: &Path) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                // If one cannot be removed, the next git command reports it.
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "lock") => {
                    let _ = fs::remove_file(path);
                }
                _ => {}
            }
        }
    }
}

pub(super) fn make_folder(folder: &Path) -> Result<(), GitError> {
    let made = faults::step("make folder").and_then(|()| fs::create_dir_all(folder));
    made.map_err(path_error(folder))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), GitError> {
    make_folder(to)?;
    for entry in fs::read_dir(from).map_err(path_error(from))? {
        let entry = entry.map_err(path_error(from))?;
        let target = to.join(entry.file_name());
        match entry.file_type().map_err(path_error(from))?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => {
                let copied = faults::step("copy git file").and_then(|()| fs::copy(entry.path(), &target));
                copied.map_err(path_error(&target))?;
            }
        }
    }
    Ok(())
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    let written = faults::step("write git file").and_then(|()| fs::write(path, bytes));
    written.map_err(path_error(path))
}

/// Removes a folder of ours with its content; one that does not exist counts as removed. Build tools make folders read-only: these are made
/// writable first.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    faults::step("remove folder")?;
    if let Some(mounted) = mounted_below(folder) {
        return Err(io::Error::other(format!(
            "`{}` is mounted below it, and is not removed",
            mounted.display()
        )));
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_folders(folder);
            fs::remove_dir_all(folder)
        }
        removed => removed,
    }
}

/// Returns a mount point below a folder: a removal would continue in the other file system.
#[cfg(target_os = "linux")]
pub(super) fn mounted_below(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let table = fs::read("/proc/self/mountinfo").ok()?;
    let points = table.split(|byte| *byte == b'\n').filter_map(mount_point);
    points.into_iter().find(|point| point.starts_with(&folder))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn mounted_below(_folder: &Path) -> Option<PathBuf> {
    None
}

/// Returns the fifth field of a line, in which spaces and other special characters are written as three octal digits.
#[cfg(target_os = "linux")]
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let mut field = line.split(|byte| *byte == b' ').nth(4)?;
    let mut point = Vec::new();
    while let Some((first, rest)) = field.split_first() {
        let digits = rest.get(..3).filter(|_| *first == b'\\');
        let value = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        point.push(value.unwrap_or(*first));
        field = rest.get(if value.is_some() { 3 } else { 0 }..).unwrap_or_default();
    }
    Some(path_of(&point))
}

pub(super) fn path_error(path: &Path) -> impl Fn(io::Error) -> GitError {
    move |source| GitError::Path {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_as_git_reads_them() {
        assert_eq!(
            setting("user.name", Some("A \"b\"\\c")),
            "[user]\n\tname = \"A \\\"b\\\"\\\\c\"\n"
        );
        assert_eq!(
            setting("filter.my.filter.clean", Some("sed\ts/a/b/\n")),
            "[filter \"my.filter\"]\n\tclean = \"sed\\ts/a/b/\\n\"\n"
        );
        assert_eq!(setting("core.autocrlf", None), "[core]\n\tautocrlf\n");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn mount_points_are_read_with_their_escapes() {
        let line = br"36 35 98:0 /mnt1 /a\040b\134c rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(mount_point(line).as_deref(), Some(Path::new("/a b\\c")));
        assert_eq!(mount_point(b"36 35"), None);
        assert_eq!(
            mounted_below(Path::new("/proc")).is_some(),
            Path::new("/proc/self").exists()
        );
    }

    #[test]
    fn odd_paths_of_objects_are_quoted() {
        assert_eq!(alternate_line(Path::new("/a b/objects")), b"/a b/objects");
        assert_eq!(alternate_line(Path::new("/a\nb")), b"\"/a\\nb\"");
        assert_eq!(alternate_line(Path::new("/a\"b")), b"\"/a\\\"b\"");
    }
}
