//! Sample plans of every dialect, from the folder `samples` of this crate: the files, and the names in them.

use std::path::{Path, PathBuf};

use planwright_core::dialect::{Choice, DIALECTS, Dialect, DiskFacts};
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::plan::Slots;
use planwright_core::text::SourceText;
use serde_json::Value;

/// A dialect for scenarios: a plan of its own, and the names in it.
pub struct DialectSample {
    /// The dialect.
    pub dialect: &'static dyn Dialect,
    /// Its name.
    pub name: &'static str,
    /// The path of the plan.
    pub plan: &'static str,
    /// All files of its workspace, by path.
    pub files: Vec<(String, String)>,
    /// A ready task, another, one that depends on the first, and one without dependents.
    pub tasks: [&'static str; 4],
    /// A field of a task with a new value.
    pub set: &'static str,
    /// The required fields of a new task besides its title.
    pub add: Vec<&'static str>,
    /// A valid new id for a task.
    pub new_id: &'static str,
    /// A planner's answer: the second task is done and stays, the rest is new.
    pub answer: Option<&'static str>,
    /// A plan of eight independent tasks for many processes: its path in a workspace, and all files.
    pub contended: (&'static str, Vec<(String, String)>),
    /// Plans in every form, with a placeholder for a word in each text field.
    pub words: Vec<WordTemplate>,
}

/// A plan with placeholders for a word.
pub struct WordTemplate {
    /// The path where its tool would store it.
    pub path: &'static str,
    /// Its text.
    pub template: &'static str,
    /// A part of the text, and a replacement that causes a finding with a safe fix.
    pub defect: (&'static str, &'static str),
}

/// Returns the samples of all dialects. They live as long as the process.
pub fn samples() -> Vec<DialectSample> {
    DIALECTS.iter().map(|dialect| DialectSample::of(*dialect)).collect()
}

impl DialectSample {
    fn of(dialect: &'static dyn Dialect) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("samples")
            .join(dialect.name());
        let facts: Value = serde_json::from_str(&read(&folder.join("sample.json"))).expect("JSON");
        let text = |value: &Value| -> &'static str { value.as_str().expect("a text").to_owned().leak() };
        let texts = |key: &str| -> Vec<_> { facts[key].as_array().expect("a list").iter().map(text).collect() };
        let answer = std::fs::read_to_string(folder.join("answer.md"));
        let mut files = Vec::new();
        add_files(&folder.join("workspace"), Path::new(""), &mut files);
        let templates = facts["words"].as_array().expect("a list").iter();
        let words = templates.map(|template| WordTemplate {
            path: text(&template["path"]),
            template: read(&folder.join("words").join(text(&template["file"]))).leak(),
            defect: (text(&template["part"]), text(&template["defect"])),
        });
        let mut contended = Vec::new();
        add_files(&folder.join("contended"), Path::new(""), &mut contended);
        DialectSample {
            dialect,
            name: dialect.name(),
            plan: text(&facts["plan"]),
            files,
            tasks: texts("tasks").try_into().expect("four tasks"),
            set: text(&facts["set"]),
            add: texts("add"),
            new_id: text(&facts["new_id"]),
            answer: answer.ok().map(|answer| &*answer.leak()),
            contended: (text(&facts["contended"]), contended),
            words: words.collect(),
        }
    }

    /// Returns the text of its plan.
    pub fn text(&self) -> &str {
        let own = self.files.iter().find(|(path, _)| path == self.plan);
        own.map_or("", |(_, text)| text)
    }

    fn inspection(&self) -> Inspection {
        let facts = DiskFacts::default();
        inspect(&SourceText::new(self.text()), &Choice::by_content(&facts))
    }

    /// Returns the path of its plan's next version, if versions have their own files.
    pub fn next_version(&self) -> Option<String> {
        let linked = self.inspection().plan?;
        let successor = self.dialect.versions()?.successor(&linked.plan, "", "")?;
        let extension = crate::generate::extension(self.dialect);
        let path = Path::new(self.plan).with_file_name(format!("{}.{extension}", successor.id));
        Some(path.to_string_lossy().into_owned())
    }

    /// Returns whether several of its tasks may run in parallel, regardless of stages.
    pub fn runs_side_by_side(&self) -> bool {
        let plan = self.inspection().plan;
        plan.is_some_and(|linked| matches!(linked.plan.slots, Slots::Fixed(slots) if slots > 1))
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Adds the files below a folder, by their paths relative to the workspace.
fn add_files(folder: &Path, below: &Path, files: &mut Vec<(String, String)>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let relative = below.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true => add_files(&path, &relative, files),
            false => files.push((relative.to_string_lossy().into_owned(), read(&path))),
        }
    }
}

/// Returns a file of a scenario.
pub fn file(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

/// Returns the words of a command.
pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
