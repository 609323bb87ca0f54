//! The dialects: how the files of each system become a plan. Dialects do not know each other, and do no IO.
//!
//! ```
//! use planwright_core::dialect::{DIALECTS, find, recognise};
//! use planwright_core::text::SourceText;
//!
//! let names: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name()).collect();
//! assert_eq!(names, ["opencrabs", "clido", "aimi", "task-pack", "rawko", "checklist"]);
//! let rawko = find("rawko").expect("one of them");
//! assert!(rawko.lives_at("project/.rawko/plans/plan-1.yaml"));
//!
//! let text = SourceText::new("task: Try it\ncurrentStepIndex: 0\nsteps:\n  - index: 0\n");
//! assert_eq!(recognise(&text, None), Some("rawko"));
//! ```

pub mod aimi;
pub(crate) mod aliases;
pub mod checklist;
pub mod clido;
pub mod draft;
mod facets;
mod follow_ups;
pub mod id_source;
mod lower;
mod open;
pub mod opencrabs;
pub mod rawko;
pub mod reader;
mod record;
mod registry;
pub mod rules;
mod table;
pub mod task_pack;
mod time;
mod words;
pub mod writer;

use std::fmt;

use crate::diagnostic::{Diagnostic, Rule};
use crate::document::patch::PatchRefusal;
use crate::document::{NodeKind, NodeRef, Parsed};
use crate::edit::{FieldEdit, Owner};
use crate::plan::{Field, FieldValue, Plan, PlanMachine, RunRefusal};
use crate::text::{SourceText, Span, visible};

pub use facets::{
    BranchOfPlan, Edits, Embedded, Facets, GroupChange, Home, NotationOfText, PlanPointer, Planning, Versions,
};
pub use follow_ups::{CannotFollow, Followed, Note, TaskListEdit};
pub use lower::{LocatedPlan, lower};
pub(crate) use open::read_keeping;
pub use open::{Choice, read, recognise};
pub(crate) use reader::ALIAS_FUEL;
pub use record::{RecordedMove, RequestHistory};
pub use registry::{DEFAULT, DIALECTS, Registry, find};
pub use table::{FieldShape, FieldSpec, FieldTable, Need};
pub use writer::DialectWriter;

/// The effect of a change of a plan on the pointer file, which names the active plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerUpdate {
    /// Only its status changes, if it names the plan.
    Stays,
    /// Work on the plan starts: the pointer names it from now on.
    Begins,
    /// The plan replaces an earlier version of the same task: the pointer names it if it named that version, or none.
    Succeeds,
    /// The plan is new: the pointer names it if it named none, or a finished one.
    Made,
}

/// Why the pointer file cannot be updated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerRefusal {
    /// The obstacle.
    pub refusal: PatchRefusal,
    /// Its span; none for the whole text.
    pub span: Option<Span>,
}

/// The format of a dialect's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarrierKind {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Markdown with frontmatter.
    Markdown,
}

impl CarrierKind {
    /// Returns the format that the extension of a path names.
    pub fn of_path(path: &str) -> Option<Self> {
        match path.rsplit_once('.')?.1 {
            "json" => Some(CarrierKind::Json),
            "yaml" | "yml" => Some(CarrierKind::Yaml),
            "md" | "markdown" => Some(CarrierKind::Markdown),
            _ => None,
        }
    }
}

/// A text, parsed as far as possible without a dialect.
pub struct DialectInput<'a> {
    /// The text.
    pub source: &'a SourceText,
    /// Its path, if it has one, with `/` as separator.
    pub path: Option<&'a str>,
    /// The document, for carriers that have one.
    pub parsed: Option<&'a Parsed>,
    /// The format of the text.
    pub carrier: CarrierKind,
    /// The root node of the plan: the document's root, or a part of it if the plan was wrapped.
    pub root: Option<NodeRef<'a>>,
    /// Facts from the disk about paths in the plan.
    pub facts: &'a DiskFacts,
}

impl<'a> DialectInput<'a> {
    /// Returns the root node of the plan if it is an object.
    pub fn object(&self) -> Option<NodeRef<'a>> {
        self.root.filter(|root| root.kind() == NodeKind::Object)
    }
}

/// The caller's facts from the disk for a plan that refers to other files.
#[derive(Clone, Debug, Default)]
pub struct DiskFacts {
    /// Whether the caller has looked on the disk, or will.
    pub looked: DiskLookup,
    /// The plan this one is derived from.
    pub source_plan: SourcePlanLookup,
    /// The requested paths that are directories.
    pub directories: Vec<String>,
    /// The names of the files in the folder of [`PlanPointer::neighbours`], in order; none if the caller did not look.
    pub neighbours: Option<Vec<String>>,
    /// The order of tasks that the settings name for this file, if its dialect has a choice.
    pub order: Option<String>,
}

/// Whether facts from the disk are available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskLookup {
    /// The caller will not look: findings that need the disk are omitted.
    #[default]
    Never,
    /// Not yet: a dialect with questions returns only them, and is called again.
    NotYet,
    /// The caller has looked, and these are the facts.
    Done,
}

/// The result of looking for the source plan.
#[derive(Clone, Debug, Default)]
pub enum SourcePlanLookup {
    /// It does not exist, or the caller did not look.
    #[default]
    Missing,
    /// It exists but cannot be read.
    Unreadable(String),
    /// Its bytes.
    Bytes(Vec<u8>),
}

/// Paths that a dialect asks the caller to look at before it reads again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// The plan this one is derived from, relative to the repository.
    pub source_plan: Option<String>,
    /// Paths that must not be directories, relative to the repository.
    pub files: Vec<String>,
}

impl Questions {
    /// Returns whether there are no questions.
    pub fn is_empty(&self) -> bool {
        self.source_plan.is_none() && self.files.is_empty()
    }
}

/// A plan and the findings about its text.
#[derive(Clone, Default)]
pub struct PlanReading {
    /// The plan, as far as it could be read; none for a text in no dialect and for a pointer file.
    pub plan: Option<Plan>,
    /// The dialect of the text, if one was found.
    pub dialect: Option<&'static dyn Dialect>,
    /// The format of the text, and the span of its document.
    pub carrier: Option<(CarrierKind, Span)>,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// The facts that the dialect needs from the disk.
    pub questions: Questions,
}

/// One version among those of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionLineage {
    /// The id of the first version, which all ids begin with.
    pub base: String,
    /// The number of this version, from 1.
    pub version: u64,
}

/// The next version of a plan, in a separate file.
#[derive(Clone, Debug, PartialEq)]
pub struct Successor {
    /// Its id.
    pub id: String,
    /// The fields in which it differs from the version before.
    pub changes: Vec<FieldEdit>,
}

/// How well a text matches a dialect: 0 not at all, 100 certainly.
pub type Fit = u8;

/// Defines the functions of a dialect that return a part of its profile.
macro_rules! parts {
    ($($name:ident: $type:ty = $($part:ident).+;)*) => {
        $(
            #[doc = concat!("Returns `", stringify!($($part).+), "` of its profile.")]
            fn $name(&self) -> $type {
                self.profile().$($part).+
            }
        )*
    };
}

/// The constant parts of a dialect: its names, fields and rules, and its optional parts.
pub struct DialectProfile {
    /// The name used on the command line.
    pub name: &'static str,
    /// The name of its files in prose.
    pub title: &'static str,
    /// The formats of its files, the usual one first.
    pub carriers: &'static [CarrierKind],
    /// The paths of its files, relative to a workspace, as globs.
    pub places: &'static [&'static str],
    /// Whether its own tool extracts plans from prose and code fences.
    pub reads_prose: bool,
    /// Every field that it knows, by object.
    pub tables: &'static [&'static FieldTable],
    /// The rules of this dialect only.
    pub rules: &'static [&'static Rule],
    /// Its JSON Schema.
    pub schema: &'static str,
    /// The transitions of its plans as a whole.
    pub plan_machine: &'static PlanMachine,
    /// Its optional parts.
    pub facets: Facets,
}

/// One system's plan files. A dialect only defines the functions above the accessors.
pub trait Dialect: Sync {
    /// Returns its constant parts.
    fn profile(&self) -> &'static DialectProfile;

    /// Returns the path where its tool would store a new plan, relative to a workspace: by the plan's id, or by the day and a short name.
    fn new_place(&self, _id: Option<&str>, _date: &str, name: &str) -> String {
        format!("{name}.plan.json")
    }

    /// Returns whether its files are stored at a path, with `/` as separator.
    fn lives_at(&self, path: &str) -> bool {
        open::fits_place(self.places(), path)
    }

    /// Returns the carrier of a text that is certainly of this dialect, if that is visible without parsing. Called only for texts that do
    /// not begin like JSON, and for dialects whose files look like another carrier at first sight.
    fn claims(&self, _text: &str) -> Option<CarrierKind> {
        None
    }

    /// Returns whether the first lines of a file say that it is a plan, wherever it is.
    fn is_marked(&self, _beginning: &str) -> bool {
        false
    }

    /// Returns whether a plan's text has no form of its own: what it says in other words may matter as much as its tasks.
    fn is_free_form(&self, _plan: &Plan) -> bool {
        false
    }

    /// Returns how well a text matches, by its content.
    fn sniff(&self, input: &DialectInput<'_>) -> Fit;

    /// Reads any text as this dialect.
    fn read(&self, input: &DialectInput<'_>) -> PlanReading;

    /// Returns findings if the file's name does not match its plan.
    fn check_name(&self, _plan: &Plan, _path: &str) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Returns the fields of a plan's tasks, or of the object with the tasks, for the plan's form; none if planwright changes nothing
    /// there.
    fn table_of(&self, _plan: &Plan, _owner: Owner) -> Option<&'static FieldTable> {
        None
    }

    /// Returns why no task of a plan may be worked on, and how to change that; none if tasks may. The findings are those of its inspection.
    fn refuses_work(&self, _plan: &Plan, _findings: &[Diagnostic]) -> Option<RunRefusal> {
        None
    }

    parts! {
        name: &'static str = name;
        title: &'static str = title;
        carriers: &'static [CarrierKind] = carriers;
        places: &'static [&'static str] = places;
        reads_prose: bool = reads_prose;
        tables: &'static [&'static FieldTable] = tables;
        rules: &'static [&'static Rule] = rules;
        schema: &'static str = schema;
        plan_machine: &'static PlanMachine = plan_machine;
        writer: Option<&'static dyn DialectWriter> = facets.writer;
        prompt: Option<&'static str> = facets.prompt;
        edits: Option<&'static dyn Edits> = facets.edits;
        versions: Option<&'static dyn Versions> = facets.versions;
        pointer: Option<&'static dyn PlanPointer> = facets.pointer;
        embedded: Option<&'static dyn Embedded> = facets.embedded;
        notation: Option<NotationOfText> = facets.notation;
        planning: Option<&'static Planning> = facets.planning;
        home: Option<&'static Home> = facets.home;
        branch: Option<BranchOfPlan> = facets.branch;
    }
}

impl fmt::Debug for dyn Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for dyn Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

/// Returns the dialect's name of a field; none if it has no such field.
pub(crate) fn name_of(dialect: &dyn Dialect, field: Field) -> Option<&'static str> {
    let mut specs = dialect.tables().iter().flat_map(|table| table.fields);
    specs.find(|spec| spec.field == field).map(|spec| spec.name)
}

/// Returns the next id after the highest one with a prefix and a number: `t4` after `t1`, `t3`.
pub(crate) fn next_id(plan: &Plan, prefix: &str, n_digits: usize) -> String {
    let ids = plan.tasks().iter().filter_map(|task| plan.task_id(task));
    let numbers = ids.filter_map(|id| {
        let digits = plan.str(id).strip_prefix(prefix)?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse::<u64>().ok()
    });
    let next = numbers.max().unwrap_or(0).saturating_add(1);
    format!("{prefix}{next:0n_digits$}")
}

/// Returns the id of a new task in the style of the last task's: `5` after `4`, `T04` after `T03`, else with a prefix.
pub(crate) fn next_id_in_style(plan: &Plan, prefix: &str) -> String {
    let last = plan.tasks().last().and_then(|task| plan.task_id(task));
    let last = last.map_or("", |id| plan.str(id));
    let style = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &last[style.len()..];
    match digits {
        "" => next_id(plan, prefix, 0),
        padded if padded.starts_with('0') => next_id(plan, style, padded.len()),
        _ => next_id(plan, style, 0),
    }
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the file name without its last extension.
pub(crate) fn file_stem(path: &str) -> &str {
    let name = file_name(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// Returns a note if a plan's id is not the name of its file, for tools that find plans by name.
pub(crate) fn id_against_name(plan: &Plan, path: &str, tool: &str) -> Option<Diagnostic> {
    // After an unbalanced bracket, the id of a task may look like that of the plan.
    let Some(FieldValue::Text(id)) = plan.head_value(Field::Id).filter(|_| !plan.is_doubtful) else {
        return None;
    };
    let (stem, written) = (file_stem(path), plan.str(id));
    if stem == written {
        return None;
    }
    let message = format!(
        "the plan's id is `{}`, the name of its file `{}`",
        visible(written),
        visible(stem)
    );
    let help = format!("{tool} finds plans by file name: rename the file or the plan");
    Some(Diagnostic::new(&rules::FILE_NAME, plan.text_span(id), message).with_help(help))
}
