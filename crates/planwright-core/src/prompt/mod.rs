//! The prompt for one attempt at a task: a template filled with what the plan says, bounded in size.
//! Knows plans, and neither agents nor files.
//!
//! The text of a plan is not trusted. Whatever comes from a plan or from an agent's output stands between marks that it
//! cannot close, so that it cannot pose as planwright's own words.

mod placeholder;
pub(crate) mod quote;
pub mod rules;
mod template;

use std::collections::HashMap;

use crate::plan::{Links, Plan, Value};
pub use placeholder::{PLACEHOLDERS, Placeholder};
use placeholder::{Shape, Source};
pub use template::{MAX_TEMPLATE_BYTES, Template};
use template::{Part, Values};

/// How large a prompt may be where nobody says otherwise, in bytes.
pub const DEFAULT_MAX_BYTES: usize = 100 * 1024;

/// The least that one output of a dependency is cut to, in bytes, before further outputs are left out altogether.
const LEAST_OUTPUT: usize = 200;

/// How much of the title of a dependency is shown, in bytes.
const MAX_TITLE: usize = 200;

/// What the run knows, and the plan does not.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c> {
    /// The outputs of tasks that are done, by place in the plan. Those of other tasks than the dependencies are not used.
    pub outputs: &'c [(usize, &'c str)],
    /// Which attempt it is, counted from 1.
    pub attempt: u32,
    /// Why the attempt before failed: the output of its verification, or what the agent said.
    pub last_failure: Option<&'c str>,
    /// Where the plan lies, as the agent sees it; it is told to leave it alone.
    pub plan_path: &'c str,
    /// Where the agent may write its result file; none where it is not to.
    pub result_file: Option<&'c str>,
    /// The user's template; none for the built-in one of the dialect.
    pub template: Option<&'c Template>,
    /// How large the prompt may be, in bytes.
    pub max_bytes: usize,
}

impl Default for Context<'_> {
    fn default() -> Self {
        Context {
            outputs: &[],
            attempt: 1,
            last_failure: None,
            plan_path: "",
            result_file: None,
            template: None,
            max_bytes: DEFAULT_MAX_BYTES,
        }
    }
}

/// A prompt, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The placeholders whose values were cut to keep it in bounds. The text says so too, at each place.
    pub left_out: Vec<&'static str>,
}

impl Prompt {
    /// Returns the prompt for a task of a plan; it is never larger than the context allows.
    pub fn of(plan: &Plan, links: &Links, task_ix: usize, context: &Context<'_>) -> Prompt {
        let built_in;
        let template = match context.template {
            Some(template) => template,
            None => {
                built_in = Template::built_in(plan.dialect);
                &built_in
            }
        };
        Facts::new(plan, links, task_ix, context).fit(template, context.max_bytes)
    }
}

/// What one placeholder stands for, before it is cut and quoted.
enum Raw<'p> {
    Absent,
    /// Words of planwright's own.
    Own(String),
    /// Short text of a plan, to stand within a sentence.
    Inline(String),
    /// Text of a plan.
    Block(String),
    /// Outputs of dependencies: name, title, output.
    Outputs(Vec<(String, String, Option<&'p str>)>),
    /// The end matters most: the output of what failed.
    Ending(&'p str),
}

/// How much of each value may be used, in bytes.
#[derive(Clone, Copy)]
struct Caps {
    /// Of what others have written: outputs and failures.
    soft: usize,
    /// Of what the task and the plan say.
    hard: usize,
}

struct Facts<'p> {
    raw: Vec<Raw<'p>>,
}

impl<'p> Facts<'p> {
    fn new(plan: &'p Plan, links: &Links, task_ix: usize, context: &Context<'p>) -> Self {
        let raw = PLACEHOLDERS
            .iter()
            .map(|placeholder| raw_value(placeholder, plan, links, task_ix, context));
        Facts { raw: raw.collect() }
    }

    /// Fills the template, cutting as little as possible: first what others have written, then what the plan says.
    fn fit(&self, template: &Template, max_bytes: usize) -> Prompt {
        let render = |caps: Caps| template.render(&self.values(caps));
        // What is larger than the bound cannot be in it, so nothing needs to be copied to find that out.
        let whole = Caps {
            soft: max_bytes,
            hard: max_bytes,
        };
        let text = render(whole);
        if text.len() <= max_bytes && self.cut_by(template, whole).is_empty() {
            let left_out = Vec::new();
            return Prompt { text, left_out };
        }
        let soft = |soft| Caps { soft, ..whole };
        let hard = |hard| Caps { soft: 0, hard };
        let best = largest(max_bytes, |cap| render(soft(cap)).len() <= max_bytes).map(soft);
        let best = best.or_else(|| largest(max_bytes, |cap| render(hard(cap)).len() <= max_bytes).map(hard));
        let caps = best.unwrap_or(hard(0));
        Prompt {
            text: quote::cut_to(render(caps), max_bytes),
            left_out: self.cut_by(template, caps),
        }
    }

    /// Returns the values as they stand in the prompt.
    fn values(&self, caps: Caps) -> Values {
        Values::new(self.raw.iter().map(|raw| raw.quoted(caps)))
    }

    /// Returns the placeholders of a template whose values are cut.
    fn cut_by(&self, template: &Template, caps: Caps) -> Vec<&'static str> {
        let is_used = |ix: usize| {
            template
                .parts()
                .iter()
                .any(|part| matches!(part, Part::Value(used) if *used == ix))
        };
        let cut = self
            .raw
            .iter()
            .enumerate()
            .filter(|(ix, raw)| raw.is_cut_by(caps) && is_used(*ix));
        cut.filter_map(|(ix, _)| Some(PLACEHOLDERS.get(ix)?.name)).collect()
    }
}

/// Returns the largest number up to `max` that fits, where less fits if more does; none where not even 0 does.
pub(crate) fn largest(max: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    if !fits(0) {
        return None;
    }
    let (mut low, mut high) = (0, max);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(low)
}

impl Raw<'_> {
    fn quoted(&self, caps: Caps) -> String {
        match self {
            Raw::Absent => String::new(),
            Raw::Own(text) => text.clone(),
            Raw::Inline(text) => quote::inline(text, caps.hard),
            Raw::Block(text) => quote::block(text, caps.hard),
            Raw::Ending(text) => quote::ending(text, caps.soft),
            Raw::Outputs(outputs) => quoted_outputs(outputs, caps.soft),
        }
    }

    fn is_cut_by(&self, caps: Caps) -> bool {
        match self {
            Raw::Absent | Raw::Own(_) => false,
            Raw::Inline(text) => text.len() > caps.hard.min(quote::MAX_INLINE),
            Raw::Block(text) => text.len() > caps.hard,
            Raw::Ending(text) => text.len() > caps.soft,
            Raw::Outputs(outputs) => {
                let (each, n_shown) = shares(outputs, caps.soft);
                let is_cut = |(name, title, output): &(String, String, Option<&str>)| {
                    name.len() > quote::MAX_INLINE
                        || title.len() > MAX_TITLE
                        || output.is_some_and(|output| output.trim_end().len() > each)
                };
                n_shown < outputs.len() || outputs.iter().any(is_cut)
            }
        }
    }
}

/// Returns how many bytes each output may have, and of how many tasks outputs are shown.
fn shares(outputs: &[(String, String, Option<&str>)], cap: usize) -> (usize, usize) {
    let total: usize = outputs.iter().map(|(.., output)| output.map_or(0, str::len)).sum();
    let head: usize = outputs.iter().map(|(name, title, _)| name.len() + title.len()).sum();
    if total + head <= cap {
        return (usize::MAX, outputs.len());
    }
    let each = (cap / outputs.len().max(1)).max(LEAST_OUTPUT);
    let n_shown = (cap / each).min(outputs.len());
    (each, n_shown)
}

fn quoted_outputs(outputs: &[(String, String, Option<&str>)], cap: usize) -> String {
    let (each, n_shown) = shares(outputs, cap);
    let mut out = String::new();
    for (name, title, output) in outputs.iter().take(n_shown) {
        out.push_str(&quote::inline(name, quote::MAX_INLINE));
        if !title.is_empty() {
            out.push_str(": ");
            out.push_str(&quote::inline(title, MAX_TITLE));
        }
        out.push('\n');
        match output.filter(|output| !output.trim().is_empty()) {
            Some(output) => out.push_str(&quote::block(output, each)),
            None => out.push_str("(no output is recorded)"),
        }
        out.push_str("\n\n");
    }
    let n_hidden = outputs.len() - n_shown;
    if n_hidden > 0 {
        out.push_str(&format!(
            "(planwright left out {n_hidden} of {} tasks here.)",
            outputs.len()
        ));
    }
    out.trim_end().to_owned()
}

fn raw_value<'p>(
    placeholder: &Placeholder,
    plan: &'p Plan,
    links: &Links,
    task_ix: usize,
    context: &Context<'p>,
) -> Raw<'p> {
    let task = plan.tasks().get(task_ix);
    let text = match placeholder.source {
        Source::Head(field) => plan.head_value(field).map(|value| words(plan, value)),
        Source::Task(field) => task
            .and_then(|task| plan.value(task, field))
            .map(|value| words(plan, value)),
        Source::TaskName => Some(plan.task_name(task_ix).into_owned()),
        Source::PlanPath => Some(context.plan_path.to_owned()),
        Source::ResultFile => context.result_file.map(str::to_owned),
        Source::TaskWord => return Raw::Own(plan.lifecycle.wording.task.to_owned()),
        Source::Attempt => return own_if(context.attempt > 1, || context.attempt.to_string()),
        Source::Dependencies => return outputs(plan, links, task_ix, context),
        Source::LastFailure => {
            return match context
                .last_failure
                .map(str::trim_end)
                .filter(|failure| !failure.is_empty())
            {
                Some(failure) => Raw::Ending(failure),
                None => Raw::Absent,
            };
        }
    };
    let text = text.map(|text| text.trim().to_owned());
    match (text.filter(|text| !text.is_empty()), placeholder.shape) {
        (None, _) => Raw::Absent,
        (Some(text), Shape::Inline) => Raw::Inline(text),
        (Some(text), Shape::Block) => Raw::Block(text),
    }
}

fn own_if(condition: bool, words: impl FnOnce() -> String) -> Raw<'static> {
    if condition { Raw::Own(words()) } else { Raw::Absent }
}

/// Returns what a value says: text as it is, a list one item to a line, anything else as it is written.
fn words(plan: &Plan, value: Value) -> String {
    match value {
        Value::Text(text) => plan.str(text).to_owned(),
        Value::Null(_) => String::new(),
        Value::List(list) => {
            let items = plan.items(list).iter().map(|&item| words(plan, item));
            let items = items.filter(|item| !item.trim().is_empty());
            items.map(|item| format!("- {}\n", item.trim_end())).collect()
        }
        other => plan.source().slice(plan.span(other)).to_owned(),
    }
}

fn outputs<'p>(plan: &'p Plan, links: &Links, task_ix: usize, context: &Context<'p>) -> Raw<'p> {
    let known: HashMap<usize, &'p str> = context.outputs.iter().copied().collect();
    let found = links.of(task_ix).iter().filter_map(|edge| {
        let dependency_ix = edge.to as usize;
        let task = plan.tasks().get(dependency_ix)?;
        let written = || plan.task_str(task, crate::plan::Field::Output);
        let output = known.get(&dependency_ix).copied().or_else(written);
        let name = plan.task_name(dependency_ix).trim().to_owned();
        Some((name, plan.task_title(task).trim().to_owned(), output))
    });
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        Raw::Absent
    } else {
        Raw::Outputs(found)
    }
}
