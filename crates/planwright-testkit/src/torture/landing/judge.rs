//! The conditions that hold after every run with checkouts. Asks git and the file system, not planwright.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::super::place::WorkerFolder;
use super::super::runs::{BRANCH, begun, ledger, records};
use super::super::{Harm, Wrong};
use super::{PLAN, git, locks};

/// Everything of the user's that planwright must not change: files with their bytes, the index, HEAD, settings, reflogs, refs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserView(BTreeMap<String, Vec<u8>>);

/// What planwright may write in the workspace and in its git directory, and what `for-each-ref` shows better.
const OWN: [&str; 8] = [
    PLAN,
    ".planwright",
    ".git/objects",
    ".git/refs",
    ".git/packed-refs",
    ".git/worktrees",
    ".git/logs/refs/heads/planwright",
    ".git/logs/refs/planwright",
];

impl UserView {
    pub(super) fn of(place: &WorkerFolder) -> Result<Self, Wrong> {
        let mut all = BTreeMap::new();
        collect(&place.root(), "", &mut all);
        let refs = git(place, &["for-each-ref", "--format=%(refname) %(objectname)"])?;
        let own = |line: &&str| !line.contains("refs/heads/planwright/") && !line.contains("refs/planwright/");
        let refs: Vec<&str> = refs.lines().filter(own).collect();
        all.insert("refs".to_owned(), refs.join("\n").into_bytes());
        Ok(UserView(all))
    }

    /// Checks that nothing has changed.
    pub(super) fn is_untouched(&self, place: &WorkerFolder) -> Result<(), Wrong> {
        self.is_untouched_but_for(place, &|_| false)
    }

    /// Checks that nothing has changed except the named files.
    pub(super) fn is_untouched_but_for(&self, place: &WorkerFolder, moves: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        let now = Self::of(place)?;
        let names: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        let differs = |name: &&&String| self.0.get(**name) != now.0.get(**name) && !moves(name);
        let shown = |bytes: Option<&Vec<u8>>| {
            bytes.map(|bytes| String::from_utf8_lossy(bytes).chars().take(300).collect::<String>())
        };
        match names.iter().find(differs) {
            None => Ok(()),
            Some(name) => Err((
                Harm::Touched,
                format!(
                    "`{name}` was {:?} and is {:?}",
                    shown(self.0.get(*name)),
                    shown(now.0.get(*name))
                ),
            )),
        }
    }
}

fn collect(folder: &Path, prefix: &str, all: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        // A plan is written to a file next to it first.
        let is_draft = name.starts_with(".planwright-") && name.ends_with(".tmp");
        if OWN.contains(&name.as_str()) || name.ends_with(".lock") || is_draft {
            continue;
        }
        let kind = entry.file_type();
        if kind.as_ref().is_ok_and(std::fs::FileType::is_symlink) {
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            all.insert(name, target.display().to_string().into_bytes());
        } else if kind.is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), &format!("{name}/"), all);
        } else {
            all.insert(name, std::fs::read(entry.path()).unwrap_or_default());
        }
    }
}

/// What was durable at a moment: work that must not be lost, and agents that must not start again.
pub(super) struct DurableWork {
    /// The tasks of candidates.
    candidates: BTreeSet<String>,
    /// How often agents had started each task.
    begun: BTreeMap<String, usize>,
}

impl DurableWork {
    /// Reads the logs after a fault, and checks that a ref keeps each candidate.
    pub(super) fn look(place: &WorkerFolder) -> Result<Self, Wrong> {
        let mut candidates = BTreeSet::new();
        let records = records(&place.root());
        for body in of_kind(&records, "candidate") {
            candidates.insert(text(&body["task"]));
            let commit = text(&body["commit"]);
            if body["commit"] == body["base"] || is_landed(&records, &text(&body["task"])) {
                continue;
            }
            let by = git(
                place,
                &["for-each-ref", "--contains", &commit, "refs/planwright", "refs/heads"],
            )?;
            let is_given_up = !git(place, &["for-each-ref", &format!("refs/heads/{BRANCH}")])?.is_empty();
            if by.is_empty() && is_given_up && !has_landed_since(place, &records, &text(&body["task"])) {
                return Err((Harm::WorkLost, format!("no ref keeps the candidate {body}")));
            }
        }
        Ok(DurableWork {
            candidates,
            begun: begun(place),
        })
    }

    /// Checks that no agent of a candidate was started again, and that its work has landed.
    pub(super) fn holds(&self, place: &WorkerFolder) -> Result<(), Wrong> {
        let begun = begun(place);
        let records = records(&place.root());
        for task in &self.candidates {
            if begun.get(task) != self.begun.get(task) {
                let what = format!("`{task}` was a candidate, and its agent was started again");
                return Err((Harm::Duplicated, what));
            }
            if !is_landed(&records, task) {
                return Err((Harm::WorkLost, format!("the candidate of `{task}` never landed")));
            }
        }
        Ok(())
    }
}

/// Returns whether the commit that was about to land is on the branch although the log lacks it.
fn has_landed_since(place: &WorkerFolder, records: &[Value], task: &str) -> bool {
    let landing = of_kind(records, "landing").rfind(|body| body["task"] == task);
    landing.is_some_and(|body| is_on_branch(place, &text(&body["commit"]), BRANCH))
}

fn is_on_branch(place: &WorkerFolder, commit: &str, branch: &str) -> bool {
    place.git(&["merge-base", "--is-ancestor", commit, branch]).is_ok()
}

fn of_kind<'r>(records: &'r [Value], kind: &'r str) -> impl DoubleEndedIterator<Item = &'r Value> {
    let of_kind = records.iter().filter(move |record| record["kind"] == kind);
    of_kind.map(|record| &record["body"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn is_landed(records: &[Value], task: &str) -> bool {
    of_kind(records, "merged").any(|body| body["task"] == task && body["passed"] == true)
}

/// Checks that every landed commit is on a branch, unless the user removed it, and has the tree of its receipts.
pub(super) fn landed_trees_are_verified(place: &WorkerFolder, branch: &str, removed: &[String]) -> Result<(), Wrong> {
    let records = records(&place.root());
    for body in of_kind(&records, "merged").filter(|body| body["passed"] == true) {
        let unverified = |what: &str| Err((Harm::Unverified, format!("{what}: {body}")));
        let (Some(commit), Some(tree)) = (body["commit"].as_str(), body["tree"].as_str()) else {
            continue;
        };
        if !removed.iter().any(|gone| gone == commit) {
            if git(place, &["rev-parse", &format!("{commit}^{{tree}}")])? != tree {
                return unverified("the commit has another tree");
            }
            if !is_on_branch(place, commit, branch) {
                return Err((Harm::WorkLost, format!("the commit is not on the branch: {body}")));
            }
        }
        let verified = of_kind(&records, "verified").rfind(|verified| {
            verified["task"] == body["task"] && verified["attempt"] == body["attempt"] && verified["passed"] == true
        });
        let receipts = verified.and_then(|verified| verified["receipts"].as_array());
        let Some(receipts) = receipts.filter(|receipts| !receipts.is_empty()) else {
            return unverified("it has no receipts");
        };
        if receipts.iter().any(|receipt| receipt["tree"] != tree) {
            return unverified("its receipts name another tree");
        }
    }
    Ok(())
}

/// Checks that the branch has each task's change exactly once, as its agent recorded it, unless the user removed it.
pub(super) fn is_made(place: &WorkerFolder, states: &[(String, String)], removed: &[String]) -> Result<(), Wrong> {
    let ledger = ledger(place);
    let log = git(
        place,
        &[
            "log",
            "--format=%H %(trailers:key=Planwright-Task,valueonly,separator=)",
            BRANCH,
        ],
    )?;
    let on_branch: Vec<(&str, &str)> = log.lines().filter_map(|line| line.split_once(' ')).collect();
    if let Some((commit, _)) = on_branch
        .iter()
        .find(|(commit, _)| removed.iter().any(|gone| gone == commit))
    {
        return Err((
            Harm::Duplicated,
            format!("{commit} was removed by the user and is back"),
        ));
    }
    let records = records(&place.root());
    for (task, _) in states.iter().filter(|(_, state)| state == "done") {
        let landed = of_kind(&records, "merged").rfind(|body| body["task"] == **task && body["passed"] == true);
        let commit = landed.map(|body| text(&body["commit"])).unwrap_or_default();
        let is_removed = removed.contains(&commit);
        let n_times = on_branch.iter().filter(|(_, of)| of == task).count();
        if n_times != usize::from(!is_removed) {
            let harm = if n_times == 0 { Harm::WorkLost } else { Harm::Duplicated };
            return Err((harm, format!("`{task}` is {n_times} times on the branch:\n{log}")));
        }
        let made = place
            .git(&["show", &format!("{BRANCH}:out-{task}")])
            .unwrap_or_default();
        let is_noted = ledger.iter().any(|line| *line == format!("end {}", made.trim()));
        if is_noted == is_removed {
            let what = format!("`out-{task}` is {made:?}, and the agents made {ledger:?}");
            return Err((Harm::WorkLost, what));
        }
    }
    Ok(())
}

/// Checks that the repository is valid, and that no worktree and no lock of ours remains.
pub(super) fn nothing_is_left(place: &WorkerFolder, planted: &[String]) -> Result<(), Wrong> {
    place
        .git(&["fsck", "--connectivity-only", "--no-dangling", "--no-progress"])
        .map_err(|what| (Harm::WorkLost, what))?;
    let worktrees = git(place, &["worktree", "list", "--porcelain"])?;
    let n_worktrees = worktrees.lines().filter(|line| line.starts_with("worktree ")).count();
    if n_worktrees != 1 {
        return Err((Harm::LeftBehind, worktrees));
    }
    let records = records(&place.root());
    let known: Vec<String> = of_kind(&records, "starting")
        .map(|body| text(&body["folder"]))
        .collect();
    for folder in locks::checkouts(place) {
        // The earlier git directories of a checkout with conflicts are next to it.
        let mut rests = known.iter().filter_map(|known| folder.strip_prefix(known.as_str()));
        if !rests.any(|rest| rest.is_empty() || rest.starts_with(".git")) {
            return Err((Harm::LeftBehind, format!("no record names the checkout {folder}")));
        }
    }
    let mut left = locks::all(place);
    left.retain(|lock| !planted.contains(lock));
    match left.is_empty() {
        true => Ok(()),
        false => Err((Harm::LeftBehind, format!("{left:?}"))),
    }
}
