//! A candidate: the files that an agent left in its checkout, as one commit. Made with planwright's own git directory and index.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::GitError;
use super::answers::{line_of, parts, path_of, text_of};
use super::checkout::{Checkouts, TaskCheckout};
use super::command::GitLocation;
use super::messages::commit_message;
use super::own_git_dir::{make_folder, path_error, remove_folder};
use super::repository::LIST_IGNORED;
use super::special_files::remove_special_files;

/// How often a snapshot is retried because `git gc` ran in the user's repository.
const MAX_TRIES: usize = 3;

const MAX_NAMED: usize = 100;

pub struct SnapshotRequest<'a> {
    pub message: &'a str,
    /// The ref of the candidate in the user's repository, below `refs/planwright/`.
    pub reference: &'a str,
    /// Returns whether a path from the top belongs to planwright: plans, their pointers, the configuration, the state.
    pub is_own: &'a dyn Fn(&str) -> bool,
    /// Paths from the top that were copied into the checkout and never land.
    pub copied: &'a [String],
    /// The tree of the prepared checkout. Files that are unchanged since then do not land.
    pub prepared: Option<&'a str>,
    /// Files from the top that the task or its agent names: they land, or the attempt fails.
    pub named: &'a [String],
    /// Patterns, as git's globs, of ignored files that land even if nothing names them.
    pub keep_ignored: &'a [String],
}

/// The work of an agent, as a commit in the user's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The commit; the base itself if nothing was changed.
    pub commit: String,
    pub tree: String,
    pub base: String,
    pub touched: Vec<String>,
    /// The touched files that the base has: they were changed or removed.
    pub replaced: Vec<String>,
    /// Planwright's own files that the agent changed; the candidate has their base version.
    pub own: Vec<String>,
    /// Ignored files and folders, old or new: they do not land.
    pub ignored: Vec<String>,
}

impl Candidate {
    pub fn is_empty(&self) -> bool {
        self.commit == self.base
    }
}

impl Checkouts {
    /// Takes a snapshot of a checkout and saves it in the user's repository. No process may work in the checkout any more.
    pub fn snapshot(&self, checkout: &TaskCheckout, request: &SnapshotRequest<'_>) -> Result<Candidate, GitError> {
        let mut tries = 1;
        loop {
            match self.try_snapshot(checkout, request) {
                // `git gc` in the user's repository may have removed objects that the snapshot borrowed.
                Err(GitError::Failed { .. }) if tries < MAX_TRIES => tries += 1,
                taken => return taken,
            }
        }
    }

    /// Returns the tree that a snapshot would have, and saves nothing.
    pub fn tree_of(
        &self,
        checkout: &TaskCheckout,
        is_own: &dyn Fn(&str) -> bool,
        copied: &[String],
    ) -> Result<String, GitError> {
        checkout.require_identity()?;
        let request = SnapshotRequest {
            message: "",
            reference: "",
            is_own,
            copied,
            prepared: None,
            named: &[],
            keep_ignored: &[],
        };
        Ok(SnapshotIndex::new(self, checkout)?.take(&request)?.tree)
    }

    fn try_snapshot(&self, checkout: &TaskCheckout, request: &SnapshotRequest<'_>) -> Result<Candidate, GitError> {
        checkout.require_identity()?;
        let scratch = SnapshotIndex::new(self, checkout)?;
        let taken = scratch.take(request)?;
        checkout.require_identity()?;
        let candidate = self.keep(checkout, request, taken)?;
        Ok(candidate)
    }

    /// Commits a tree and fetches it into the user's repository, under its own ref.
    fn keep(
        &self,
        checkout: &TaskCheckout,
        request: &SnapshotRequest<'_>,
        taken: SnapshotResult,
    ) -> Result<Candidate, GitError> {
        let mut candidate = Candidate {
            commit: checkout.base().to_owned(),
            tree: taken.tree,
            base: checkout.base().to_owned(),
            touched: taken.touched,
            replaced: taken.replaced,
            own: taken.own,
            ignored: taken.ignored,
        };
        if candidate.touched.is_empty() {
            return Ok(candidate);
        }
        let place = GitLocation::with_git_dir(self.folder(), &self.snapshots);
        let words = ["commit-tree", "--no-gpg-sign", "-p", checkout.base(), &candidate.tree];
        let call = self.repository.committing(place.git(&words))?;
        let call = call
            .setting("core.fsync=committed")
            .input(commit_message(request.message).into_bytes());
        candidate.commit = line_of(&call.output()?);
        let own = format!("refs/candidates/{}", request.reference);
        place
            .git(&["update-ref", "--no-deref", &own, &candidate.commit])
            .run()?;
        self.repository
            .fetch_candidate(&self.snapshots, &own, request.reference, &candidate.commit)?;
        Ok(candidate)
    }
}

struct SnapshotResult {
    tree: String,
    touched: Vec<String>,
    /// The touched files that the base has.
    replaced: Vec<String>,
    own: Vec<String>,
    ignored: Vec<String>,
}

/// A checkout with a git directory and an index of planwright's own.
struct SnapshotIndex<'c> {
    checkouts: &'c Checkouts,
    checkout: &'c TaskCheckout,
    folder: PathBuf,
    place: GitLocation,
}

impl Drop for SnapshotIndex<'_> {
    fn drop(&mut self) {
        let _ = remove_folder(&self.folder);
    }
}

impl<'c> SnapshotIndex<'c> {
    fn new(checkouts: &'c Checkouts, checkout: &'c TaskCheckout) -> Result<Self, GitError> {
        remove_special_files(checkout.path());
        let name = checkout.path().file_name().unwrap_or_default().to_string_lossy();
        let folder = checkouts.folder().join(format!("scratch.{name}"));
        remove_folder(&folder).map_err(path_error(&folder))?;
        make_folder(&folder)?;
        let index = folder.join("index");
        let place = GitLocation::with_git_dir(checkout.path(), &checkouts.snapshots).with_index(&index);
        place.git(&["read-tree", checkout.base()]).run()?;
        Ok(SnapshotIndex {
            checkouts,
            checkout,
            folder,
            place,
        })
    }

    fn take(&self, request: &SnapshotRequest<'_>) -> Result<SnapshotResult, GitError> {
        let ignored = self.ignored()?;
        let walked = CheckoutScan::of(self.checkout.path(), &ignored)?;
        self.refuse_nested(&walked)?;
        let add = self
            .place
            .git(&["add", "--all", "--", "."])
            .setting("core.safecrlf=false");
        let add = add.setting("core.fsync=committed").setting("core.fsyncMethod=batch");
        add.setting("advice.addEmbeddedRepo=true").output_without_warnings()?;
        let staged = self.staged()?;
        let links: Vec<String> = staged
            .iter()
            .filter(|change| change.is_link)
            .map(|change| text_of(&change.path))
            .collect();
        if !links.is_empty() {
            return Err(GitError::Nested(links));
        }
        self.refuse_work_in_submodules(&staged)?;
        let is_about_submodules = staged.iter().any(|change| change.path == b".gitmodules");
        let as_folders = self.ignored_as_folders(&walked, &staged)?;
        let is_copied = |path: &[u8]| {
            let path = text_of(path);
            let mut copied = request.copied.iter().map(|copied| copied.trim_end_matches('/'));
            copied.any(|copied| path == copied || path.strip_prefix(copied).is_some_and(|rest| rest.starts_with('/')))
        };
        let own = staged.iter().filter(|change| (request.is_own)(&text_of(&change.path)));
        let own: BTreeSet<&[u8]> = own.map(|change| change.path.as_slice()).collect();
        let since_prepared = self.since(request.prepared)?;
        let is_left_out = |change: &&ChangedPath| {
            let path = change.path.as_slice();
            since_prepared.as_ref().is_some_and(|changed| !changed.contains(path))
                || own.contains(path)
                || as_folders.contains(path)
                || is_copied(path)
                || change.is_removed_submodule() && !is_about_submodules
        };
        let (left_out, touched): (Vec<&ChangedPath>, Vec<&ChangedPath>) = staged.iter().partition(is_left_out);
        let replaced = touched.iter().filter(|change| !change.is_new());
        self.restore(&left_out)?;
        self.refuse_emptied(request)?;
        let tree = line_of(&self.place.git(&["write-tree"]).output()?);
        let mut ignored: Vec<String> = ignored.iter().chain(&as_folders).map(|path| text_of(path)).collect();
        ignored.retain(|path| !(request.is_own)(path) && !is_copied(path.as_bytes()));
        ignored.truncate(MAX_NAMED);
        self.refuse_ignored(request, &as_folders)?;
        Ok(SnapshotResult {
            tree,
            touched: touched.iter().map(|change| text_of(&change.path)).collect(),
            replaced: replaced.map(|change| text_of(&change.path)).collect(),
            own: own.into_iter().map(text_of).collect(),
            ignored,
        })
    }

    /// Returns the ignored files and folders; a folder that is ignored as a whole ends in `/` and is not searched.
    fn ignored(&self) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let output = self.place.git(LIST_IGNORED).output_without_warnings()?;
        let found: BTreeSet<&[u8]> = parts(&output).collect();
        // Git also lists a folder with only ignored files, which is not ignored itself.
        let holds_another = |folder: &[u8]| {
            let mut next = found.range::<[u8], _>((Bound::Excluded(folder), Bound::Unbounded));
            folder.ends_with(b"/") && next.next().is_some_and(|next| next.starts_with(folder))
        };
        Ok(found
            .iter()
            .filter(|path| !holds_another(path))
            .map(|path| path.to_vec())
            .collect())
    }

    /// Returns the differences between the index and the base.
    fn staged(&self) -> Result<Vec<ChangedPath>, GitError> {
        let words = [
            "diff-index",
            "--cached",
            "--raw",
            "-z",
            "--no-abbrev",
            "--no-renames",
            "--no-ext-diff",
        ];
        let output = self.place.git(&words).arg(self.checkout.base()).arg("--").output()?;
        let mut parts = parts(&output);
        let mut changes = Vec::new();
        while let (Some(kinds), Some(path)) = (parts.next(), parts.next()) {
            changes.extend(ChangedPath::of(kinds, path));
        }
        Ok(changes)
    }

    /// Returns the paths that differ from the tree of the prepared checkout.
    fn since(&self, prepared: Option<&str>) -> Result<Option<BTreeSet<Vec<u8>>>, GitError> {
        let Some(prepared) = prepared else {
            return Ok(None);
        };
        let words = [
            "diff-index",
            "--cached",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            prepared,
            "--",
        ];
        let output = self.place.git(&words).output()?;
        Ok(Some(parts(&output).map(<[u8]>::to_vec).collect()))
    }

    /// Refuses repositories inside the checkout, except submodules of the base.
    fn refuse_nested(&self, walked: &CheckoutScan) -> Result<(), GitError> {
        let nested = walked.nested.iter().filter(|path| !self.is_submodule(path));
        let nested: Vec<String> = nested.map(|path| text_of(path)).collect();
        match nested.is_empty() {
            true => Ok(()),
            false => Err(GitError::Nested(nested)),
        }
    }

    fn is_submodule(&self, path: &[u8]) -> bool {
        let words = ["ls-tree", "-z", self.checkout.base(), "--"];
        let output = self.place.git(&words).arg(path_of(path)).output();
        output.is_ok_and(|output| output.starts_with(b"160000 "))
    }

    /// Refuses work that git would not include: files in a submodule that is not checked out, and commits in one that is.
    fn refuse_work_in_submodules(&self, staged: &[ChangedPath]) -> Result<(), GitError> {
        let has_files = |path: &&Vec<u8>| {
            let folder = self.checkout.path().join(path_of(path));
            let is_checked_out = folder.join(".git").symlink_metadata().is_ok();
            !is_checked_out && folder.read_dir().is_ok_and(|mut entries| entries.next().is_some())
        };
        let moved = staged.iter().filter(|change| change.is_moved_submodule);
        let mut paths: Vec<String> = moved.map(|change| text_of(&change.path)).collect();
        paths.extend(self.submodules()?.iter().filter(has_files).map(|path| text_of(path)));
        match paths.is_empty() {
            true => Ok(()),
            false => Err(GitError::InSubmodule(paths)),
        }
    }

    fn submodules(&self) -> Result<&[Vec<u8>], GitError> {
        if let Some(known) = self.checkouts.submodules.get() {
            return Ok(known);
        }
        let words = ["ls-tree", "-r", "-z", self.checkout.base()];
        let output = self.place.git(&words).output()?;
        let links = parts(&output).filter(|entry| entry.starts_with(b"160000 "));
        let path = |entry: &[u8]| Some(entry.splitn(2, |byte| *byte == b'\t').nth(1)?.to_vec());
        let found = links.filter_map(path).collect();
        Ok(self.checkouts.submodules.get_or_init(|| found))
    }

    /// Refuses a checkout without any files, even without its git directory: it was removed as a whole, not by an agent's edits.
    fn refuse_emptied(&self, request: &SnapshotRequest<'_>) -> Result<(), GitError> {
        if self.checkout.path().join(".git").symlink_metadata().is_ok() {
            return Ok(());
        }
        let output = self.place.git(&["ls-files", "-z"]).output()?;
        match parts(&output).map(text_of).all(|path| (request.is_own)(&path)) {
            true => Err(GitError::LostCheckout(self.checkout.path().to_owned())),
            false => Ok(()),
        }
    }

    /// Returns new files and links that would be ignored if they were folders: `node_modules/` in a `.gitignore` is meant for a link of
    /// that name too. Git checks a path below each, in a folder that has only the `.gitignore` files.
    fn ignored_as_folders(&self, walked: &CheckoutScan, staged: &[ChangedPath]) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let new: Vec<&[u8]> = staged
            .iter()
            .filter(|change| change.is_new())
            .map(|change| change.path.as_slice())
            .collect();
        if new.is_empty() {
            return Ok(BTreeSet::new());
        }
        let rules = self.folder.join("rules");
        make_folder(&rules)?;
        for path in &walked.ignore_files {
            let to = rules.join(path_of(path));
            make_folder(to.parent().unwrap_or(&rules))?;
            fs::copy(self.checkout.path().join(path_of(path)), &to).map_err(path_error(&to))?;
        }
        let mut input = Vec::new();
        for path in &new {
            // A name such as `:!x` means something else to git.
            input.extend_from_slice(b"./");
            input.extend_from_slice(path);
            input.extend_from_slice(b"/x\0");
        }
        let place = GitLocation::with_git_dir(&rules, &self.checkouts.snapshots);
        let call = place
            .git(&["check-ignore", "--no-index", "-z", "--stdin"])
            .with_common_paths();
        let answer = call.input(input).answer()?;
        match answer.code {
            Some(0 | 1) => {
                let found = parts(&answer.output).filter_map(|path| path.strip_prefix(b"./")?.strip_suffix(b"/x"));
                Ok(found.map(<[u8]>::to_vec).collect())
            }
            _ => Err(answer.failure()),
        }
    }

    /// Restores the base version of paths in the index.
    fn restore(&self, changes: &[&ChangedPath]) -> Result<(), GitError> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut input = Vec::new();
        for change in changes {
            input.extend(format!("{} {}\t", change.old_mode, change.old_id).bytes());
            input.extend_from_slice(&change.path);
            input.push(0);
        }
        let words = ["update-index", "--replace", "-z", "--index-info"];
        self.place.git(&words).input(input).run()
    }

    /// Refuses to omit files that must land.
    fn refuse_ignored(&self, request: &SnapshotRequest<'_>, as_folders: &BTreeSet<Vec<u8>>) -> Result<(), GitError> {
        let is_lost = |path: &&String| {
            let is_there = self
                .checkout
                .path()
                .join(path.as_str())
                .symlink_metadata()
                .is_ok_and(|found| !found.is_dir());
            is_there && !(request.is_own)(path)
        };
        let named = request
            .named
            .iter()
            .filter(is_lost)
            .map(|path| path.trim_start_matches("./"));
        let mut named: BTreeSet<Vec<u8>> = named.map(|path| path.as_bytes().to_vec()).collect();
        for pattern in request.keep_ignored {
            let words = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"];
            let call = self.place.git(&words).arg(format!(":(top,glob){pattern}"));
            named.extend(parts(&call.with_common_paths().output()?).map(<[u8]>::to_vec));
        }
        if named.is_empty() {
            return Ok(());
        }
        let words = ["ls-files", "--cached", "-z"];
        let staged = self.place.git(&words).output()?;
        let staged: BTreeSet<&[u8]> = parts(&staged).collect();
        match named.iter().find(|path| !staged.contains(path.as_slice())) {
            Some(path) => Err(self.rule_that_ignores(path, as_folders)),
            None => Ok(()),
        }
    }

    fn rule_that_ignores(&self, path: &[u8], as_folders: &BTreeSet<Vec<u8>>) -> GitError {
        let place = match as_folders.contains(path) {
            true => GitLocation::with_git_dir(&self.folder.join("rules"), &self.checkouts.snapshots),
            false => self.place.clone(),
        };
        let mut asked = b"./".to_vec();
        asked.extend_from_slice(path);
        asked.extend_from_slice(if as_folders.contains(path) { b"/x\0" } else { b"\0" });
        let words = ["check-ignore", "--no-index", "--verbose", "-z", "--stdin"];
        let answer = place.git(&words).with_common_paths().input(asked).answer();
        let output = answer.map(|answer| answer.output).unwrap_or_default();
        let mut fields = output.split(|byte| *byte == 0).map(text_of);
        let source = fields.next().unwrap_or_default();
        let line = fields.next().unwrap_or_default();
        let pattern = fields.next().unwrap_or_default();
        // The copies of the user's own files are named as the user knows them.
        let source = match Path::new(&source).file_name().and_then(|name| name.to_str()) {
            Some("planwright-excludes") => "core.excludesFile".to_owned(),
            Some("exclude") => "info/exclude".to_owned(),
            _ => source,
        };
        GitError::Ignored {
            path: text_of(path),
            pattern,
            source_file: format!("{source}:{line}"),
        }
    }
}

struct ChangedPath {
    path: Vec<u8>,
    /// The file mode in the base: `0` if it is not there.
    old_mode: String,
    old_id: String,
    /// Whether it is now a link to a commit of another repository.
    is_link: bool,
    is_moved_submodule: bool,
    is_removed: bool,
}

impl ChangedPath {
    /// Parses the `git diff-index --raw` output for a path.
    fn of(kinds: &[u8], path: &[u8]) -> Option<Self> {
        let kinds = text_of(kinds);
        let mut words = kinds.strip_prefix(':')?.split(' ');
        let old_mode = words.next()?.to_owned();
        let new_mode = words.next()?;
        let old_id = words.next()?.to_owned();
        let is_link = new_mode == "160000" && old_mode != "160000";
        let is_moved_submodule = new_mode == "160000" && old_mode == "160000";
        let is_removed = new_mode == "000000";
        let old_mode = if old_mode == "000000" { "0".to_owned() } else { old_mode };
        Some(ChangedPath {
            path: path.to_vec(),
            old_mode,
            old_id,
            is_link,
            is_moved_submodule,
            is_removed,
        })
    }

    fn is_new(&self) -> bool {
        self.old_mode == "0"
    }

    /// Returns whether a submodule was removed. In a checkout it is an empty folder, which tools remove.
    fn is_removed_submodule(&self) -> bool {
        self.is_removed && self.old_mode == "160000"
    }
}

/// The entries of a checkout, apart from ignored ones.
struct CheckoutScan {
    /// Folders with a `.git` of their own.
    nested: Vec<Vec<u8>>,
    /// The `.gitignore` files.
    ignore_files: Vec<Vec<u8>>,
}

impl CheckoutScan {
    fn of(top: &Path, ignored: &BTreeSet<Vec<u8>>) -> Result<Self, GitError> {
        let mut walk = CheckoutScan {
            nested: Vec::new(),
            ignore_files: Vec::new(),
        };
        let mut folders = vec![Vec::new()];
        while let Some(folder) = folders.pop() {
            let path = top.join(path_of(&folder));
            for entry in fs::read_dir(&path).map_err(path_error(&path))? {
                let entry = entry.map_err(path_error(&path))?;
                let kind = entry.file_type().map_err(path_error(&path))?;
                let mut name = folder.clone();
                name.extend_from_slice(entry.file_name().as_encoded_bytes());
                match entry.file_name().as_encoded_bytes() {
                    b".git" if folder.is_empty() => {}
                    b".git" => walk.nested.push(folder.strip_suffix(b"/").unwrap_or(&folder).to_vec()),
                    b".gitignore" if kind.is_file() => walk.ignore_files.push(name),
                    _ if kind.is_dir() => {
                        name.push(b'/');
                        if !ignored.contains(&name) {
                            folders.push(name);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(walk)
    }
}
