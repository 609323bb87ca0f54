//! The prompts for planners: make a plan, replace one, derive a pack, correct an answer. The dialect supplies the rules of a
//! valid plan.

pub use super::placeholder::{PLACEHOLDERS, PlanningPlaceholder, Purpose};

use super::derive::SourcePlan;
use super::placeholder::PlanningValueSource;
use crate::diagnostic::Diagnostic;
use crate::dialect::{CarrierKind, Dialect};
use crate::prompt::fill::{Filling, Piece, PieceWords, Raw};
use crate::prompt::{Prompt, Template, TemplateNames};
use crate::text::SourceText;

/// How many names of units, and of requirements, a prompt lists.
const MAX_ANCHORS: usize = 200;

/// What a planner is told in any case.
#[derive(Clone, Copy)]
pub struct PlanningBrief<'b> {
    /// The dialect the plan is to be in.
    pub dialect: &'static dyn Dialect,
    /// What the plan is to achieve.
    pub goal: &'b str,
    /// What must hold whatever is done.
    pub constraints: &'b [String],
    /// What earlier work taught.
    pub memories: &'b [String],
    /// The files that the user gave: path and text.
    pub context: &'b [(String, String)],
    /// The agents that a task may suggest, with a word about each.
    pub agents: &'b [(String, String)],
    /// The user's templates, each for what it was read for; the built-in one stands in for what none is for. So one brief does
    /// for a plan and for the repairs of it.
    pub templates: &'b [Template],
    /// How large the prompt may be, in bytes.
    pub max_bytes: usize,
}

/// Why a plan is to be replaced.
#[derive(Clone, Copy, Debug)]
pub struct Setback<'s> {
    /// The text of the plan as it stands.
    pub plan_text: &'s str,
    /// The form of its dialect that it has.
    pub form: &'s str,
    /// The name of the task that failed, where one did.
    pub failed_task: Option<&'s str>,
    /// How it failed.
    pub error: &'s str,
    /// The end of its log.
    pub log_tail: &'s str,
    /// What was found out in the meantime.
    pub discoveries: &'s [String],
    /// The names of the tasks that are done, and stay as they are.
    pub done: &'s [String],
}

/// What a task pack is to be derived from.
#[derive(Clone, Copy, Debug)]
pub struct Derivation<'d> {
    /// Where the source plan lies, from the root of the repository.
    pub path: &'d str,
    /// Its text.
    pub plan_text: &'d str,
    /// The text of the pack that is to be replaced; empty where there is none.
    pub previous: &'d str,
}

/// What all planning templates begin and end with: what is given, and what is asked for in which form.
macro_rules! with_frame {
    ($file:literal) => {
        concat!(
            include_str!("templates/opening.md"),
            include_str!($file),
            include_str!("templates/ending.md")
        )
    };
}

impl Purpose {
    /// All of them.
    pub const ALL: [Purpose; 4] = [Purpose::Plan, Purpose::Replan, Purpose::Repair, Purpose::Derive];

    /// Returns the word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Purpose::Plan => "plan",
            Purpose::Replan => "replan",
            Purpose::Repair => "repair",
            Purpose::Derive => "derive",
        }
    }

    /// Returns the text of the built-in template, to begin one's own with.
    pub const fn built_in_text(self) -> &'static str {
        match self {
            Purpose::Plan => with_frame!("templates/plan.md"),
            Purpose::Replan => with_frame!("templates/replan.md"),
            Purpose::Repair => with_frame!("templates/repair.md"),
            Purpose::Derive => with_frame!("templates/derive.md"),
        }
    }

    /// Returns the built-in template.
    pub fn built_in(self) -> Template {
        Template::own(self.names(), self.built_in_text())
    }

    /// Reads a template of the user's; where it has errors, returns them all, with their places.
    pub fn parse(self, text: &str) -> Result<Template, Vec<Diagnostic>> {
        Template::parse_with(self.names(), text)
    }

    /// Returns the placeholders that its templates may use.
    pub fn placeholders(self) -> impl Iterator<Item = &'static PlanningPlaceholder> {
        PLACEHOLDERS
            .iter()
            .filter(move |placeholder| placeholder.purposes.contains(&self))
    }

    fn names(self) -> TemplateNames {
        TemplateNames {
            purpose: self.word(),
            names: self.placeholders().map(|placeholder| placeholder.name).collect(),
        }
    }
}

/// Returns the prompt that asks for a plan.
pub fn plan_prompt(brief: &PlanningBrief<'_>) -> Prompt {
    PromptContent::new(brief).prompt(Purpose::Plan)
}

/// Returns the prompt that asks for a new version of a plan.
pub fn replan_prompt(brief: &PlanningBrief<'_>, setback: &Setback<'_>) -> Prompt {
    let setback = Some(setback);
    let matter = PromptContent {
        setback,
        ..PromptContent::new(brief)
    };
    matter.prompt(Purpose::Replan)
}

/// Returns the prompt that sends an answer back: what came, and why it cannot be used.
pub fn repair_prompt(brief: &PlanningBrief<'_>, answer: &str, findings: &str) -> Prompt {
    let matter = PromptContent {
        answer,
        findings,
        ..PromptContent::new(brief)
    };
    matter.prompt(Purpose::Repair)
}

/// Returns the same for an answer that was to replace a plan. A planner may remember nothing of what it was told before, so
/// that it gets to see again what it must not change.
pub fn repair_replan_prompt(brief: &PlanningBrief<'_>, setback: &Setback<'_>, answer: &str, findings: &str) -> Prompt {
    let matter = PromptContent {
        setback: Some(setback),
        answer,
        findings,
        ..PromptContent::new(brief)
    };
    matter.prompt(Purpose::Repair)
}

/// Returns the prompt that asks for the tasks of a pack.
pub fn derive_prompt(brief: &PlanningBrief<'_>, derivation: &Derivation<'_>) -> Prompt {
    repair_derive_prompt(brief, derivation, "", "")
}

/// Returns the prompt that sends an answer back which makes no pack, with all that it was made from.
pub fn repair_derive_prompt(
    brief: &PlanningBrief<'_>,
    derivation: &Derivation<'_>,
    answer: &str,
    findings: &str,
) -> Prompt {
    let derivation = Some(derivation);
    let matter = PromptContent {
        derivation,
        answer,
        findings,
        ..PromptContent::new(brief)
    };
    matter.prompt(Purpose::Derive)
}

/// How the files that the user gave are spoken of.
static FILES: PieceWords = PieceWords {
    nothing: "(the file is empty)",
    many: "files",
};

/// Everything that one prompt may tell.
#[derive(Clone, Copy)]
struct PromptContent<'m> {
    brief: &'m PlanningBrief<'m>,
    setback: Option<&'m Setback<'m>>,
    derivation: Option<&'m Derivation<'m>>,
    answer: &'m str,
    findings: &'m str,
}

impl<'m> PromptContent<'m> {
    fn new(brief: &'m PlanningBrief<'m>) -> Self {
        PromptContent {
            brief,
            setback: None,
            derivation: None,
            answer: "",
            findings: "",
        }
    }

    fn prompt(&self, purpose: Purpose) -> Prompt {
        let says_all = |template: &&Template| self.findings.is_empty() || template.uses_name("findings");
        let mut own = self.brief.templates.iter().filter(|own| own.is_for(purpose.word()));
        let own = own.find(says_all);
        let built_in;
        let template = match own {
            Some(template) => template,
            None => {
                built_in = purpose.built_in();
                &built_in
            }
        };
        let values = purpose.placeholders().map(|placeholder| self.value(placeholder.source));
        Filling::new(values).fit(template, self.brief.max_bytes)
    }

    fn derived(&self, value: impl FnOnce(&'m Derivation<'m>) -> Raw<'m>) -> Raw<'m> {
        self.derivation.map_or(Raw::Absent, value)
    }

    fn value(&self, source: PlanningValueSource) -> Raw<'m> {
        let brief = self.brief;
        match source {
            PlanningValueSource::Dialect => Raw::Own(brief.dialect.title().to_owned()),
            PlanningValueSource::Fence => Raw::Own(fence(brief.dialect).to_owned()),
            PlanningValueSource::Guide => Raw::Own(guide(brief.dialect, self.setback.map(|setback| setback.form))),
            PlanningValueSource::Schema => Raw::block(brief.dialect.schema()),
            PlanningValueSource::Goal => Raw::block(brief.goal),
            PlanningValueSource::Constraints => Raw::block(&list(brief.constraints)),
            PlanningValueSource::Memories => Raw::block(&list(brief.memories)),
            PlanningValueSource::Context => Raw::pieces(brief.context.iter().map(file), &FILES),
            PlanningValueSource::Agents => Raw::block(&agents(brief.agents)),
            PlanningValueSource::Answer => Raw::beginning(self.answer),
            PlanningValueSource::Findings => Raw::block(self.findings),
            PlanningValueSource::Origin => self.derived(|source| Raw::inline(source.path)),
            PlanningValueSource::OriginText => self.derived(|source| Raw::block(source.plan_text)),
            PlanningValueSource::Anchors => self.derived(|source| anchors(source.plan_text)),
            PlanningValueSource::Plan if self.derivation.is_some() => {
                self.derived(|source| Raw::beginning(source.previous))
            }
            PlanningValueSource::Plan
            | PlanningValueSource::FailedTask
            | PlanningValueSource::Error
            | PlanningValueSource::LogTail
            | PlanningValueSource::Discoveries
            | PlanningValueSource::Done => self
                .setback
                .map_or(Raw::Absent, |setback| setback_value(setback, source)),
        }
    }
}

/// Returns the names that tasks of a pack can refer to. They are plain words: the reader of source plans takes no others.
fn anchors(plan_text: &str) -> Raw<'static> {
    let plan = SourcePlan::read(&SourceText::new(plan_text));
    let mut lines = Vec::new();
    for (title, anchors) in [("Units", &plan.units), ("Requirements", &plan.requirements)] {
        let ids: Vec<&str> = anchors
            .iter()
            .take(MAX_ANCHORS)
            .map(|anchor| anchor.id.as_str())
            .collect();
        if !ids.is_empty() {
            lines.push(format!("{title} that were found in it: {}.", ids.join(", ")));
        }
    }
    match lines.is_empty() {
        true => Raw::Absent,
        false => Raw::Own(lines.join("\n")),
    }
}

/// Returns what a setback says.
fn setback_value<'s>(setback: &'s Setback<'s>, source: PlanningValueSource) -> Raw<'s> {
    match source {
        PlanningValueSource::Plan => Raw::block(setback.plan_text),
        PlanningValueSource::FailedTask => Raw::inline(setback.failed_task.unwrap_or("")),
        PlanningValueSource::Error => Raw::block(setback.error),
        PlanningValueSource::LogTail => Raw::ending(setback.log_tail),
        PlanningValueSource::Discoveries => Raw::block(&list(setback.discoveries)),
        PlanningValueSource::Done => Raw::block(&list(setback.done)),
        _ => Raw::Absent,
    }
}

/// Returns the word that marks the block with the plan. Of a Markdown file the planner writes the part that is JSON.
fn fence(dialect: &dyn Dialect) -> &'static str {
    match dialect.carriers().first() {
        Some(CarrierKind::Yaml) => "yaml",
        Some(CarrierKind::Json | CarrierKind::Markdown) | None => "json",
    }
}

/// Returns what a valid plan is, in the form of the plan so far where there is one: in the dialect's words, or by its schema where it has
/// none.
fn guide(dialect: &dyn Dialect, form: Option<&str>) -> String {
    let planning = dialect.planning();
    let guide = planning.map_or("", |planning| {
        form.map_or(planning.guide, |form| planning.guide_of(form))
    });
    match guide.trim_end() {
        "" => format!(
            "The plan follows this JSON Schema:\n\n```json\n{}\n```",
            dialect.schema().trim_end()
        ),
        guide => guide.to_owned(),
    }
}

fn list(items: &[String]) -> String {
    let items = items.iter().filter(|item| !item.trim().is_empty());
    items.map(|item| format!("- {}\n", item.trim())).collect()
}

fn agents(agents: &[(String, String)]) -> String {
    let line = |(name, about): &(String, String)| match about.trim() {
        "" => format!("- {}\n", name.trim()),
        about => format!("- {}: {about}\n", name.trim()),
    };
    agents.iter().map(line).collect()
}

fn file<'f>((path, text): &'f (String, String)) -> Piece<'f> {
    Piece {
        name: path.clone(),
        title: String::new(),
        text: Some(text),
    }
}
