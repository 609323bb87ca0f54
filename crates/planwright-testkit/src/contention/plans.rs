//! The plans of the contention test: changed by all processes, run at the same time, or edited by hand.

use std::io;
use std::path::{Path, PathBuf};

use planwright_core::dialect::{Choice, DiskFacts};
use planwright_core::inspect::inspect;
use planwright_core::text::SourceText;

use crate::TempFolder;
use crate::generate::extension;
use crate::samples::{DialectSample, samples};

/// The text before the six-digit counter of edits by hand. Plans that contain it are also edited by hand.
pub(super) const MARK: &str = "Edit ";

/// How a user edits a plan by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByHand {
    /// A new file replaces the old one.
    Rename,
    /// Bytes of the file are overwritten.
    InPlace,
}

/// A plan on disk.
#[derive(Clone, Debug)]
pub(super) struct Contended {
    pub(super) dialect: &'static str,
    /// From the root of the workspace.
    pub(super) path: &'static str,
    /// Whether runs work on it. Other processes then only add tasks.
    pub(super) is_run: bool,
    pub(super) by_hand: Option<ByHand>,
    /// The names of its initial tasks.
    pub(super) tasks: Vec<String>,
    /// A field of a task that holds any text.
    pub(super) field: &'static str,
    /// The required fields of a new task besides its title.
    pub(super) add: Vec<&'static str>,
}

impl Contended {
    /// Returns a plan that only verbs change.
    fn of(sample: &DialectSample, path: &'static str, text: &str) -> Self {
        let facts = DiskFacts::default();
        let choice = Choice {
            forced: Some(sample.dialect),
            ..Choice::by_content(&facts)
        };
        let linked = inspect(&SourceText::new(text), &choice).plan.expect("a plan");
        let names = (0..linked.plan.tasks().len()).map(|ix| linked.plan.task_name(ix).into_owned());
        Contended {
            dialect: sample.name,
            path,
            is_run: false,
            by_hand: None,
            tasks: names.collect(),
            field: sample.set.split('=').next().unwrap_or_default(),
            add: sample.add.clone(),
        }
    }

    /// Returns whether acknowledged changes can be checked against the plan: edits by hand may overwrite them.
    pub(super) fn is_accounted(&self) -> bool {
        self.by_hand.is_none()
    }
}

/// Creates the workspace. Agents of its runs record the plan and the task in the file `ledger`.
pub(super) fn write(folder: &TempFolder) -> io::Result<Vec<Contended>> {
    std::fs::create_dir(folder.path().join(".git"))?;
    let ledger = folder.path().join("ledger");
    folder.write(
        "planwright.toml",
        format!(
            "[agents.mock]\ncommand = [\"sh\", \"-c\", \"echo \\\"$PLANWRIGHT_PLAN $PLANWRIGHT_TASK\\\" >> '{}'\"]\n\n\
             [run]\nagent = \"mock\"\nbackoff = \"1ms\"\ngrace = \"2s\"\n",
            ledger.display()
        ),
    )?;
    std::fs::write(&ledger, "")?;
    let mut plans = Vec::new();
    for sample in samples() {
        let (written, files) = &sample.contended;
        for (path, text) in files {
            folder.write(path, text)?;
        }
        let (_, text) = files
            .iter()
            .find(|(path, _)| path == written)
            .expect("the plan is one of the files");
        plans.push(Contended::of(&sample, written, text));
        // A plan at a path of its tool's has no second place.
        if let Some(name) = written.strip_prefix("written/") {
            let path = format!("run/{name}");
            folder.write(&path, text)?;
            plans.push(Contended {
                is_run: true,
                ..Contended::of(&sample, path.leak(), text)
            });
        }
        if text.contains(MARK) {
            let (path, how) = match extension(sample.dialect) {
                "yaml" => ("edited/in-place.yaml", ByHand::InPlace),
                // One plan for each way of writing is enough.
                "md" => continue,
                _ => ("edited/renamed.json", ByHand::Rename),
            };
            folder.write(path, text)?;
            plans.push(Contended {
                by_hand: Some(how),
                ..Contended::of(&sample, path, text)
            });
        }
    }
    Ok(plans)
}

/// Returns the path of a plan.
pub(super) fn place(root: &Path, plan: &Contended) -> PathBuf {
    root.join(plan.path)
}
