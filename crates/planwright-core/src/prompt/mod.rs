//! The prompt for one attempt at a task: a template filled from the plan, bounded in size. Knows neither agents nor files.
//!
//! The text of a plan is not trusted. Text from a plan or from an agent's output stands between marks that it cannot close, so
//! that it cannot pose as planwright's own words.
//!
//! ```
//! use planwright_core::dialect::{Choice, DiskFacts};
//! use planwright_core::inspect::inspect;
//! use planwright_core::prompt::{Prompt, PromptContext, Template};
//! use planwright_core::text::SourceText;
//!
//! let text = SourceText::new(r#"{"goal": "Try it", "tasks": [{"id": "t1", "description": "Read `a.txt`"}]}"#);
//! let facts = DiskFacts::default();
//! let linked = inspect(&text, &Choice::by_content(&facts)).plan.expect("a plan");
//! let template = Template::parse("Do {{task}}:\n\n{{description}}\n{{#notes}}Mind: {{notes}}{{/notes}}")
//!     .expect("a template without errors");
//! let context = PromptContext {
//!     template: Some(&template),
//!     ..PromptContext::default()
//! };
//! let prompt = Prompt::of(&linked.plan, &linked.links, 0, &context);
//! assert_eq!(prompt.text, "Do `t1`:\n\n```text\nRead `a.txt`\n```\n");
//! ```

pub(crate) mod fill;
mod placeholder;
pub(crate) mod quote;
pub mod rules;
mod template;

use std::collections::HashMap;

use crate::plan::{FieldValue, Links, Plan};
use fill::{Filling, Piece, PieceWords, Raw};
pub use placeholder::{PLACEHOLDERS, PromptPlaceholder};
use placeholder::{PromptForm, PromptValueSource};
pub(crate) use template::TemplateNames;
pub use template::{MAX_TEMPLATE_BYTES, Template};

/// The default limit for the size of a prompt, in bytes.
pub const DEFAULT_MAX_BYTES: usize = 100 * 1024;

/// The words for the outputs of dependencies.
static OUTPUTS: PieceWords = PieceWords {
    nothing: "(no output is recorded)",
    many: "tasks",
};

/// What the run knows in addition to the plan.
#[derive(Clone, Copy, Debug)]
pub struct PromptContext<'c> {
    /// The outputs of done tasks, by index in the plan. Only those of dependencies are used.
    pub outputs: &'c [(usize, &'c str)],
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// Why the previous attempt failed: the output of its verification, or the agent's message.
    pub last_failure: Option<&'c str>,
    /// The commands that will verify the work, as a user would type them.
    pub verification: &'c [String],
    /// The path of the plan in the agent's checkout; the prompt says to leave it unchanged.
    pub plan_path: &'c str,
    /// The path where the agent may write its result file; none if it must not.
    pub result_file: Option<&'c str>,
    /// The user's template; none for the dialect's built-in one, which also replaces a template for another purpose.
    pub template: Option<&'c Template>,
    /// The dialect's own part of the built-in template; none for the general one.
    pub own_part: Option<&'static str>,
    /// The size limit of the prompt, in bytes.
    pub max_bytes: usize,
}

impl Default for PromptContext<'_> {
    fn default() -> Self {
        PromptContext {
            outputs: &[],
            attempt: 1,
            last_failure: None,
            verification: &[],
            plan_path: "",
            result_file: None,
            template: None,
            own_part: None,
            max_bytes: DEFAULT_MAX_BYTES,
        }
    }
}

/// A finished prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The placeholders whose values were cut. The text also marks each cut.
    pub left_out: Vec<&'static str>,
}

impl Prompt {
    /// Returns the prompt for a task of a plan; it never exceeds the limit of the context.
    pub fn of(plan: &Plan, links: &Links, task_ix: usize, context: &PromptContext<'_>) -> Prompt {
        let built_in;
        let template = match context.template.filter(|template| template.is_for(template::TASKS)) {
            Some(template) => template,
            None => {
                built_in = Template::built_in(context.own_part);
                &built_in
            }
        };
        filling(plan, links, task_ix, context).fit(template, context.max_bytes)
    }
}

/// Returns the values of all placeholders, in their order.
fn filling<'p>(plan: &'p Plan, links: &Links, task_ix: usize, context: &PromptContext<'p>) -> Filling<'p> {
    let raw = PLACEHOLDERS
        .iter()
        .map(|placeholder| raw_value(placeholder, plan, links, task_ix, context));
    Filling::new(raw)
}

fn raw_value<'p>(
    placeholder: &PromptPlaceholder,
    plan: &'p Plan,
    links: &Links,
    task_ix: usize,
    context: &PromptContext<'p>,
) -> Raw<'p> {
    let task = plan.tasks().get(task_ix);
    let text = match placeholder.source {
        PromptValueSource::Head(field) => plan.head_value(field).map(|value| words(plan, value)),
        PromptValueSource::Task(field) => task
            .and_then(|task| plan.value(task, field))
            .map(|value| words(plan, value)),
        PromptValueSource::TaskName => Some(plan.task_name(task_ix).into_owned()),
        PromptValueSource::PlanPath => Some(context.plan_path.to_owned()),
        PromptValueSource::ResultFile => context.result_file.map(str::to_owned),
        PromptValueSource::TaskWord => return Raw::Own(plan.lifecycle.wording.task.to_owned()),
        PromptValueSource::Attempt => return own_if(context.attempt > 1, || context.attempt.to_string()),
        PromptValueSource::Dependencies => return outputs(plan, links, task_ix, context),
        PromptValueSource::Verification => {
            let commands = context.verification.iter().map(|command| format!("{command}\n"));
            return Raw::block(&commands.collect::<String>());
        }
        PromptValueSource::LastFailure => return Raw::ending(context.last_failure.unwrap_or("")),
    };
    let text = text.as_deref().unwrap_or("").trim();
    match placeholder.shape {
        PromptForm::Inline => Raw::inline(text),
        PromptForm::Block => Raw::block(text),
    }
}

fn own_if(condition: bool, words: impl FnOnce() -> String) -> Raw<'static> {
    if condition { Raw::Own(words()) } else { Raw::Absent }
}

/// Returns a value in words: text unchanged, a list one item per line, others as written.
fn words(plan: &Plan, value: FieldValue) -> String {
    match value {
        FieldValue::Text(text) => plan.str(text).to_owned(),
        FieldValue::Null(_) => String::new(),
        FieldValue::List(list) => {
            let items = plan.items(list).iter().map(|&item| words(plan, item));
            let items = items.filter(|item| !item.trim().is_empty());
            items.map(|item| format!("- {}\n", item.trim_end())).collect()
        }
        other => plan.source().slice(plan.span(other)).to_owned(),
    }
}

fn outputs<'p>(plan: &'p Plan, links: &Links, task_ix: usize, context: &PromptContext<'p>) -> Raw<'p> {
    let known: HashMap<usize, &'p str> = context.outputs.iter().copied().collect();
    let found = links.of(task_ix).iter().filter_map(|edge| {
        let dependency_ix = edge.to as usize;
        let task = plan.tasks().get(dependency_ix)?;
        let written = || plan.task_str(task, crate::plan::Field::Output);
        let output = known.get(&dependency_ix).copied().or_else(written);
        Some(Piece {
            name: plan.task_name(dependency_ix).trim().to_owned(),
            title: plan.task_title(task).trim().to_owned(),
            text: output,
        })
    });
    Raw::pieces(found, &OUTPUTS)
}
