//! Workspaces: their roots, the plans in them, and facts from the disk that a plan needs.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use planwright_core::dialect::{DIALECTS, Dialect, DiskFacts, DiskLookup, Questions, SourcePlanLookup, recognise};
use planwright_core::text::SourceText;
use toml::de::DeTable;

use crate::files::{open_to_read, read_file, read_text};
use crate::layout::{ARCHIVE, CONFIG_FILE, STATE_FOLDER, origin_of};
use crate::store::{LoadError, load};

pub use crate::layout::root_of;

/// Returns a path with `/` as separator, for dialects that match names.
pub fn slashed(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Returns the plans below a folder that git does not ignore: by their paths in known folders, and elsewhere by their content. Includes
/// unreadable folders, since they may hold plans.
pub fn plans_below(folder: &Path) -> Vec<PathBuf> {
    let mut builder = WalkBuilder::new(folder);
    // Plans may be in hidden folders, so those are searched; ignored folders are not.
    builder.hidden(false).require_git(false).filter_entry(|entry| {
        let name = entry.file_name().to_string_lossy();
        !(entry.file_type().is_some_and(|kind| kind.is_dir())
            && matches!(&*name, ".git" | ".planwright" | "node_modules"))
    });
    let mut plans = Vec::new();
    for entry in builder.build() {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                plans.extend(Some(entry.into_path()).filter(|path| is_plan(path)));
            }
            Ok(_) => {}
            Err(error) => plans.extend(path_in(&error).filter(|path| path.is_dir()).map(Path::to_owned)),
        }
    }
    plans.sort();
    plans.dedup();
    plans
}

/// Removes the paths that patterns match, as in a `.gitignore` at the root of a workspace.
pub fn without_excluded(paths: Vec<PathBuf>, root: &Path, patterns: &[String]) -> Vec<PathBuf> {
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        builder.add_line(None, pattern).ok();
    }
    let excluded = builder.build().unwrap_or_else(|_| Gitignore::empty());
    let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let is_excluded = |path: &PathBuf| {
        let whole = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let relative = whole.strip_prefix(&root).ok();
        relative.is_some_and(|path| excluded.matched_path_or_any_parents(path, false).is_ignore())
    };
    paths.into_iter().filter(|path| !is_excluded(path)).collect()
}

fn path_in(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } => path_in(err),
        _ => None,
    }
}

/// Returns the plans in the folders where the dialects keep them.
pub fn plans_at_home(root: &Path) -> Vec<PathBuf> {
    let mut plans = plans_at(root, |dialect| dialect.places());
    plans.extend(marked_plans(root));
    plans.extend(configured_plans(root));
    plans.sort();
    plans.dedup();
    plans
}

/// Returns the plans that tools keep per user, outside of workspaces.
pub fn plans_of_user(home: &Path) -> Vec<PathBuf> {
    let mut plans = plans_at(home, |dialect| dialect.home().map_or(&[], |home| home.user_places));
    // A profile may be a link to another.
    let mut seen = HashSet::new();
    plans.retain(|path| seen.insert(std::fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    plans
}

fn plans_at(root: &Path, places: impl Fn(&dyn Dialect) -> &'static [&'static str]) -> Vec<PathBuf> {
    let mut plans: Vec<PathBuf> = DIALECTS
        .iter()
        .flat_map(|dialect| places(*dialect))
        .flat_map(|place| expand(root, place))
        .filter(|path| is_plan(path))
        .collect();
    plans.sort();
    plans.dedup();
    plans
}

/// Returns the existing files that `plan.files` of the project's configuration names. Errors in it are reported elsewhere.
fn configured_plans(root: &Path) -> Vec<PathBuf> {
    let text = read_text(root.join(CONFIG_FILE)).unwrap_or_default();
    let parsed = DeTable::parse(&text).ok();
    let files = parsed.as_ref().and_then(|table| {
        let plan = table.get_ref().get("plan")?.get_ref().as_table()?;
        plan.get("files")?.get_ref().as_array()
    });
    let named = files
        .into_iter()
        .flat_map(|files| files.iter())
        .filter_map(|file| file.get_ref().as_str());
    let is_inside = |path: &&str| {
        Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    let paths = named.filter(is_inside).map(|path| root.join(path));
    paths.filter(|path| path.is_file()).collect()
}

/// How deep below the root files are searched that say in their first lines that they are plans.
const MARKED_DEPTH: usize = 2;

/// How many files are searched for such a line, and how many of their first bytes.
const MOST_MARKED: usize = 2_000;
const BEGINNING: u64 = 4 * 1024;

/// Returns the files that say in their first lines that they are plans, near the root of a workspace.
fn marked_plans(root: &Path) -> Vec<PathBuf> {
    let mut builder = WalkBuilder::new(root);
    builder.max_depth(Some(MARKED_DEPTH)).require_git(false);
    builder.filter_entry(|entry| entry.file_name() != "node_modules");
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let files = builder.build().flatten();
    let pages = files.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let pages = pages.map(ignore::DirEntry::into_path).filter(is_page);
    pages.take(MOST_MARKED).filter(|path| is_marked(path)).collect()
}

/// Returns whether a file at a path from the root is searched for such a line.
pub fn is_searched(relative: &Path) -> bool {
    relative.components().count() <= MARKED_DEPTH
}

fn is_marked(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = open_to_read(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
    let text = String::from_utf8_lossy(&beginning);
    read.is_ok() && DIALECTS.iter().any(|dialect| dialect.is_marked(&text))
}

/// Returns a folder of plans that cannot be read, with the system's error.
pub fn closed_home(root: &Path) -> Option<(PathBuf, std::io::Error)> {
    let places = DIALECTS.iter().flat_map(|dialect| dialect.places());
    let mut folders = places.filter_map(|place| Some(root.join(place.rsplit_once('/')?.0)));
    folders.find_map(|folder| match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Some((folder, error)),
        _ => None,
    })
}

/// Returns the archived plans of a workspace: those in the dialects' own archives, and those in planwright's.
pub fn archived_plans(root: &Path) -> Vec<PathBuf> {
    let mut plans = Vec::new();
    for dialect in DIALECTS {
        let Some(archive) = archive_of(*dialect) else {
            continue;
        };
        let homes = dialect.places().iter().filter_map(|place| place.rsplit_once('/'));
        let starred = homes.filter(|(_, pattern)| pattern.contains('*'));
        plans.extend(starred.flat_map(|(home, pattern)| expand(root, &format!("{home}/{archive}/{pattern}"))));
    }
    let walk = WalkBuilder::new(root.join(ARCHIVE)).standard_filters(false).build();
    let files = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    plans.extend(
        files
            .map(ignore::DirEntry::into_path)
            .filter(|path| has_plan_name(path)),
    );
    plans.sort();
    plans.dedup();
    plans
}

/// Returns the archive folder of a dialect's own tool.
fn archive_of(dialect: &dyn Dialect) -> Option<&'static str> {
    dialect.home().and_then(|home| home.archive)
}

/// Returns the path of a plan in the archive, both paths from the root of its workspace: in the dialect's own archive if it is in its
/// folder, otherwise in planwright's. None for a plan that is archived or deleted already.
pub fn archive_path(relative: &str) -> Option<String> {
    let (folder, name) = relative.rsplit_once('/').unwrap_or(("", relative));
    let is_aside = Path::new(relative).starts_with(STATE_FOLDER)
        || DIALECTS.iter().any(|dialect| {
            let home = archive_of(*dialect).and_then(|archive| folder.strip_suffix(archive));
            home.is_some_and(|home| dialect.lives_at(&format!("{home}{name}")))
        });
    let own = DIALECTS.iter().find(|dialect| dialect.lives_at(relative));
    (!is_aside).then(|| match own.and_then(|dialect| archive_of(*dialect)) {
        Some(archive) => format!("{folder}/{archive}/{name}"),
        None => format!("{ARCHIVE}/{relative}"),
    })
}

/// Returns the path of an archived plan before, both paths from the root of its workspace; none for a plan that is not archived.
pub fn path_before_archive(relative: &str) -> Option<String> {
    if let Some(old) = origin_of(relative) {
        return Some(old.to_owned());
    }
    let (folder, name) = relative.rsplit_once('/')?;
    DIALECTS.iter().find_map(|dialect| {
        let old = format!("{}{name}", folder.strip_suffix(archive_of(*dialect)?)?);
        dialect.lives_at(&old).then_some(old)
    })
}

/// Returns the files that match a pattern. Each part of it has at most one star.
fn expand(root: &Path, place: &str) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    for part in place.split('/') {
        found = match part.split_once('*') {
            None => found.into_iter().map(|folder| folder.join(part)).collect(),
            Some((prefix, suffix)) => {
                let fits = |name: &str| {
                    name.len() >= prefix.len() + suffix.len() && name.starts_with(prefix) && name.ends_with(suffix)
                };
                let entries = found.iter().filter_map(|folder| std::fs::read_dir(folder).ok());
                let fitting = entries
                    .flatten()
                    .flatten()
                    .filter(|entry| fits(&entry.file_name().to_string_lossy()));
                fitting.map(|entry| entry.path()).collect()
            }
        };
    }
    found.retain(|path| path.is_file());
    found
}

/// The content of larger files is searched only in folders where a dialect keeps its plans.
const MAX_SEARCHED_BYTES: u64 = 32 * 1024 * 1024;

fn has_plan_name(path: &Path) -> bool {
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    matches!(extension.as_deref(), Some("json" | "yaml" | "yml" | "md"))
}

fn is_plan(path: &Path) -> bool {
    if !has_plan_name(path) {
        return false;
    }
    let name = slashed(path);
    if DIALECTS.iter().any(|dialect| dialect.lives_at(&name)) {
        return true;
    }
    let small = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() <= MAX_SEARCHED_BYTES);
    small && load(path).is_ok_and(|loaded| recognise(&loaded.source, Some(&name)).is_some())
}

/// Looks up on disk the facts that a dialect requests; paths are relative to the workspace's root.
pub fn look_up(questions: &Questions, root: &Path) -> DiskFacts {
    let source_plan = match &questions.source_plan {
        None => SourcePlanLookup::Missing,
        Some(path) => match load(&root.join(path)) {
            Ok(loaded) => SourcePlanLookup::Bytes(bytes_of(&root.join(path), &loaded.source)),
            Err(LoadError::Missing { .. }) => SourcePlanLookup::Missing,
            // The path as in the plan: the message does not reveal the location of the workspace.
            Err(error) => {
                SourcePlanLookup::Unreadable(error.to_string().replace(&root.join("").display().to_string(), ""))
            }
        },
    };
    // Many files share a folder, and nothing exists below a missing folder.
    let mut folders: HashMap<&Path, bool> = HashMap::new();
    let mut directories = Vec::new();
    for file in &questions.files {
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let exists = *folders.entry(folder).or_insert_with(|| root.join(folder).is_dir());
        if exists && root.join(file).is_dir() {
            directories.push(file.clone());
        }
    }
    DiskFacts {
        looked: DiskLookup::Done,
        source_plan,
        directories,
        neighbours: None,
        order: None,
    }
}

/// Returns whether a path is that of a pointer file, which names the active plan.
pub fn is_pointer(path: &Path) -> bool {
    let name = slashed(path);
    let mut pointers = DIALECTS.iter().filter_map(|dialect| dialect.pointer());
    pointers.any(|pointer| pointer.neighbours(&name).is_some())
}

/// Returns the names of the files next to a path that a dialect must know to judge it; none if no dialect does. A missing folder holds no
/// files.
pub(crate) fn neighbours_of(path: &Path) -> Option<Vec<String>> {
    let name = slashed(path);
    let beside = DIALECTS
        .iter()
        .find_map(|dialect| dialect.pointer()?.neighbours(&name))?;
    let folder = path.parent()?.join(beside);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Some(names)
}

/// Returns the bytes on disk for the hash, which differ from the text if they are not UTF-8.
fn bytes_of(path: &Path, source: &SourceText) -> Vec<u8> {
    match source.damage() {
        None => source.as_str().as_bytes().to_vec(),
        Some(_) => read_file(path).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_archived_where_their_own_tool_does_it() {
        for (plan, archived) in [
            (".rawko/plans/a.yaml", Some(".rawko/plans/archive/a.yaml")),
            ("sub/.rawko/plans/a.yaml", Some("sub/.rawko/plans/archive/a.yaml")),
            ("a.yaml", Some(".planwright/archive/a.yaml")),
            (".clido/plans/a.json", Some(".planwright/archive/.clido/plans/a.json")),
            (".rawko/plans/archive/a.yaml", None),
            (".planwright/archive/a.yaml", None),
            (".planwright/trash/1/a.yaml", None),
        ] {
            assert_eq!(archive_path(plan).as_deref(), archived, "{plan}");
        }
    }
}
