//! The dialects: how the files of each system become a plan. Dialects do not know each other, and do no IO.
//!
//! ```
//! use planwright_core::dialect::{DIALECTS, find, recognise};
//! use planwright_core::text::SourceText;
//!
//! let names: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name()).collect();
//! assert_eq!(names, ["opencrabs", "clido", "aimi", "task-pack", "rawko"]);
//! let rawko = find("rawko").expect("one of them");
//! assert!(rawko.lives_at("project/.rawko/plans/plan-1.yaml"));
//!
//! let text = SourceText::new("task: Try it\ncurrentStepIndex: 0\nsteps:\n  - index: 0\n");
//! assert_eq!(recognise(&text, None), Some("rawko"));
//! ```

pub mod aimi;
pub(crate) mod aliases;
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

pub use facets::{BranchOfPlan, Edits, Embedded, Facets, Home, PlanPointer, Planning, Versions};
pub use follow_ups::{CannotFollow, Followed, Note, TaskListEdit};
pub use lower::{LocatedPlan, lower};
pub(crate) use open::read_keeping;
pub use open::{Choice, read, recognise};
pub(crate) use reader::ALIAS_FUEL;
pub use record::{RecordedMove, RequestHistory};
pub use registry::{DEFAULT, DIALECTS, Registry, find};
pub use table::{FieldShape, FieldSpec, FieldTable, Need};
pub use writer::DialectWriter;

/// What a change of a plan means for the file that says which plan is being worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointing {
    /// Nothing but another status, where it names the plan.
    Stays,
    /// Work on the plan begins: it names the plan from now on.
    Begins,
    /// The plan takes the place of the version before it: it names the plan where it named that one, or none. The task is the same.
    Succeeds,
    /// The plan is new: it names the plan where it named none, or one that is over.
    Made,
}

/// Why the file that says which plan is being worked on cannot be kept in step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpointed {
    /// What is in the way.
    pub refusal: PatchRefusal,
    /// Where; none where it is the whole text.
    pub span: Option<Span>,
}

/// What a dialect's files are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarrierKind {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Markdown with frontmatter.
    Markdown,
}

/// A text, parsed as far as is known without a dialect.
pub struct DialectInput<'a> {
    /// The text.
    pub source: &'a SourceText,
    /// Its path, if it has one; with `/` as separator.
    pub path: Option<&'a str>,
    /// The document, for carriers that have one.
    pub parsed: Option<&'a Parsed>,
    /// What the text is written in.
    pub carrier: CarrierKind,
    /// The node the plan begins at: the root, or a part of it where the plan was wrapped.
    pub root: Option<NodeRef<'a>>,
    /// What the disk says about paths the plan names.
    pub facts: &'a DiskFacts,
}

impl<'a> DialectInput<'a> {
    /// Returns the node the plan begins at, where it is an object.
    pub fn object(&self) -> Option<NodeRef<'a>> {
        self.root.filter(|root| root.kind() == NodeKind::Object)
    }
}

/// What the caller found on disk for a plan that refers to other files.
#[derive(Clone, Debug, Default)]
pub struct DiskFacts {
    /// Whether the caller has looked, or will.
    pub looked: DiskLookup,
    /// The plan this one is derived from.
    pub source_plan: SourcePlanLookup,
    /// Those of the paths asked for that are directories.
    pub directories: Vec<String>,
    /// The names of the files in the folder that [`PlanPointer::neighbours`] names, in order; none where the caller did not look.
    pub neighbours: Option<Vec<String>>,
}

/// Whether the disk has been looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskLookup {
    /// The caller will not look: findings that need the disk are left out.
    #[default]
    Never,
    /// Not yet: a dialect that has questions answers with them alone, and is asked again.
    NotYet,
    /// What follows was seen there.
    Done,
}

/// What became of looking for the source plan.
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

/// Paths a dialect asks the caller to look at before it reads again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// The plan this one is derived from, relative to the repository.
    pub source_plan: Option<String>,
    /// Paths that must not be directories, relative to the repository.
    pub files: Vec<String>,
}

impl Questions {
    /// Returns true where there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        self.source_plan.is_none() && self.files.is_empty()
    }
}

/// A plan and what is wrong with its text.
#[derive(Clone, Default)]
pub struct PlanReading {
    /// The plan, as far as it could be read; none for a text in no dialect and for a file that only points at a plan.
    pub plan: Option<Plan>,
    /// The dialect it was read in, where one was found.
    pub dialect: Option<&'static dyn Dialect>,
    /// What the text is written in, and where the document stands in it.
    pub carrier: Option<(CarrierKind, Span)>,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// What the dialect wants to know from the disk.
    pub questions: Questions,
}

/// One version among those of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionLineage {
    /// The id that all versions begin with: that of the first.
    pub base: String,
    /// The number of this version, from 1.
    pub version: u64,
}

/// The next version of a plan that has a file of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Successor {
    /// Its id.
    pub id: String,
    /// What it says of itself otherwise than the version before.
    pub changes: Vec<FieldEdit>,
}

/// How well a text fits a dialect: 0 not at all, 100 beyond doubt.
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

/// What is constant about a dialect: its names, its fields, its rules, and the optional parts that it has.
pub struct DialectProfile {
    /// The name used on the command line.
    pub name: &'static str,
    /// What its files are called in prose.
    pub title: &'static str,
    /// What its files may be written in, the usual first.
    pub carriers: &'static [CarrierKind],
    /// The places its files live in, relative to a workspace, as globs.
    pub places: &'static [&'static str],
    /// Whether its own tool takes plans out of prose and code fences.
    pub reads_prose: bool,
    /// Every field it knows, by object.
    pub tables: &'static [&'static FieldTable],
    /// The rules that are its own.
    pub rules: &'static [&'static Rule],
    /// Its JSON Schema.
    pub schema: &'static str,
    /// How its plans move as a whole.
    pub plan_machine: &'static PlanMachine,
    /// The optional parts that it has.
    pub facets: Facets,
}

/// One system's plan files. Only the functions above the accessors are for a dialect to define.
pub trait Dialect: Sync {
    /// Returns what is constant about it.
    fn profile(&self) -> &'static DialectProfile;

    /// Returns where its tool would keep a new plan, relative to a workspace: by the plan's id, or by the day and a short
    /// name.
    fn new_place(&self, _id: Option<&str>, _date: &str, name: &str) -> String {
        format!("{name}.plan.json")
    }

    /// Returns whether a path, with `/` as separator, is one it keeps its files at.
    fn lives_at(&self, path: &str) -> bool {
        open::fits_place(self.places(), path)
    }

    /// Returns the carrier of a text that is beyond doubt its own, where that can be seen without parsing. Asked only about
    /// texts that do not begin as JSON does, and for dialects whose files look like another carrier at first sight.
    fn claims(&self, _text: &str) -> Option<CarrierKind> {
        None
    }

    /// Returns how well a text fits, by its content.
    fn sniff(&self, input: &DialectInput<'_>) -> Fit;

    /// Reads a text as this dialect, whatever it is.
    fn read(&self, input: &DialectInput<'_>) -> PlanReading;

    /// Returns findings where the file's name does not fit the plan in it.
    fn check_name(&self, _plan: &Plan, _path: &str) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Returns the fields of a plan's tasks, or of the object that holds them, in the form the plan is in; none where
    /// planwright changes nothing there.
    fn table_of(&self, _plan: &Plan, _owner: Owner) -> Option<&'static FieldTable> {
        None
    }

    /// Returns why no task of a plan may be worked on, and what lifts that; none where they may. The findings are those of its
    /// inspection.
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

/// Returns what a dialect calls a field; none where it has no place for it.
pub(crate) fn name_of(dialect: &dyn Dialect, field: Field) -> Option<&'static str> {
    let mut specs = dialect.tables().iter().flat_map(|table| table.fields);
    specs.find(|spec| spec.field == field).map(|spec| spec.name)
}

/// Returns the id after the highest of those made of a prefix and a number: `t4` after `t1`, `t3`.
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

/// Returns the file name of a path, without its folders.
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

/// Returns a note where a plan's id is not the name of its file, for tools that find plans by it.
pub(crate) fn id_against_name(plan: &Plan, path: &str, tool: &str) -> Option<Diagnostic> {
    // After a bad bracket the id of a task may look like that of the plan.
    let Some(FieldValue::Text(id)) = plan.head_value(Field::Id).filter(|_| !plan.is_doubtful) else {
        return None;
    };
    let (stem, written) = (file_stem(path), plan.str(id));
    if stem == written {
        return None;
    }
    let message = format!(
        "the plan's id is `{}`, its file is called `{}`",
        visible(written),
        visible(stem)
    );
    let help = format!("{tool} finds plans by file name: rename the file or the plan");
    Some(Diagnostic::new(&rules::FILE_NAME, plan.text_span(id), message).with_help(help))
}
