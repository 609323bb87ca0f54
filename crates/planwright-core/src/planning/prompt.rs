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

/// The common input of a planner's prompt.
#[derive(Clone, Copy)]
pub struct PlanningBrief<'b> {
    /// The dialect of the plan.
    pub dialect: &'static dyn Dialect,
    /// The goal of the plan.
    pub goal: &'b str,
    /// The constraints.
    pub constraints: &'b [String],
    /// Lessons of earlier work.
    pub memories: &'b [String],
    /// The user's files: path and text.
    pub context: &'b [(String, String)],
    /// The agents that a task may suggest, with a short description of each.
    pub agents: &'b [(String, String)],
    /// The user's templates, each for the purpose it was parsed for; built-in ones are used for other purposes. So one brief serves a plan
    /// and its corrections.
    pub templates: &'b [Template],
    /// The size limit of the prompt, in bytes.
    pub max_bytes: usize,
}

/// Why a plan is replaced.
#[derive(Clone, Copy, Debug)]
pub struct ReplanCause<'s> {
    /// The present text of the plan.
    pub plan_text: &'s str,
    /// Its form in the dialect.
    pub form: &'s str,
    /// The name of the failed task, if there is one.
    pub failed_task: Option<&'s str>,
    /// Its error.
    pub error: &'s str,
    /// The end of its log.
    pub log_tail: &'s str,
    /// Discoveries since the plan was made.
    pub discoveries: &'s [String],
    /// The names of the done tasks, which stay unchanged.
    pub done: &'s [String],
}

/// The inputs of a task pack.
#[derive(Clone, Copy, Debug)]
pub struct Derivation<'d> {
    /// The path of the source plan, from the root of the repository.
    pub path: &'d str,
    /// Its text.
    pub plan_text: &'d str,
    /// The text of the pack to replace; empty if there is none.
    pub previous: &'d str,
}

/// The common start and end of all planning templates: the input, the request and its form.
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

    /// Returns the text of the built-in template, as a start for one's own.
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

    /// Parses a template of the user's; returns all of its errors, with their spans.
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
pub fn replan_prompt(brief: &PlanningBrief<'_>, setback: &ReplanCause<'_>) -> Prompt {
    let setback = Some(setback);
    let matter = PromptContent {
        setback,
        ..PromptContent::new(brief)
    };
    matter.prompt(Purpose::Replan)
}

/// Returns the prompt that returns an answer: the answer, and why it is unusable.
pub fn repair_prompt(brief: &PlanningBrief<'_>, answer: &str, findings: &str) -> Prompt {
    let matter = PromptContent {
        answer,
        findings,
        ..PromptContent::new(brief)
    };
    matter.prompt(Purpose::Repair)
}

/// Returns the prompt that returns an answer for a new version. A planner may not remember the earlier prompt, so this one repeats what
/// must not change.
pub fn repair_replan_prompt(
    brief: &PlanningBrief<'_>,
    setback: &ReplanCause<'_>,
    answer: &str,
    findings: &str,
) -> Prompt {
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

/// Returns the prompt that returns an unusable answer for a pack, with all of its input.
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

/// The words for the user's files.
static FILES: PieceWords = PieceWords {
    nothing: "(the file is empty)",
    many: "files",
};

#[derive(Clone, Copy)]
struct PromptContent<'m> {
    brief: &'m PlanningBrief<'m>,
    setback: Option<&'m ReplanCause<'m>>,
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

/// Returns the names that tasks of a pack can refer to. They are plain words: the reader of source plans accepts no others.
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

fn setback_value<'s>(setback: &'s ReplanCause<'s>, source: PlanningValueSource) -> Raw<'s> {
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

/// Returns the info string of the code block with the plan. Of a Markdown file with an embedded document, the planner only writes that.
fn fence(dialect: &dyn Dialect) -> &'static str {
    match dialect.carriers().first() {
        Some(CarrierKind::Yaml) => "yaml",
        Some(CarrierKind::Markdown) if dialect.notation().is_some() => "markdown",
        Some(CarrierKind::Json | CarrierKind::Markdown) | None => "json",
    }
}

/// Returns the rules of a valid plan, in the form of the old plan if there is one: in the dialect's words, or its schema if it has none.
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
