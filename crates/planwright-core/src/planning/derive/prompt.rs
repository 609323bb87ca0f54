//! What a planner is asked: to derive tasks from a plan, and to mend an answer that makes no pack.
//! All that comes from a plan, a pack or a planner stands between marks that it cannot close.

use super::source_plan::{Anchor, SourcePlan};
use crate::diagnostic::Diagnostic;
use crate::prompt::fill::largest;
use crate::prompt::quote;
use crate::text::SourceText;

/// How much of the findings about an answer a planner gets to read, in bytes.
const MAX_FINDINGS_BYTES: usize = 16 * 1024;

/// How many names of units and requirements are listed.
const MAX_LISTED: usize = 200;

const GOAL: &str = include_str!("goal.md");
const FIELDS: &str = include_str!("fields.md");

/// Returns what a planner is asked: the goal, the plan, the pack that is to be replaced, and the rules of the fields. It is
/// never larger than `max_bytes`, unless these rules alone are; the prompt says what was left out.
pub fn derive_prompt(
    source_plan_path: &str,
    source_plan_text: &str,
    previous_pack: Option<&str>,
    max_bytes: usize,
) -> String {
    Asked::new(source_plan_path, source_plan_text, previous_pack).fit(max_bytes)
}

/// Returns what a planner is asked whose answer makes no pack: the same again, with its answer and what is wrong with it.
pub fn repair_prompt(
    source_plan_path: &str,
    source_plan_text: &str,
    previous_pack: Option<&str>,
    answer: &str,
    findings: &[Diagnostic],
    max_bytes: usize,
) -> String {
    let mut asked = Asked::new(source_plan_path, source_plan_text, previous_pack);
    asked.repair = Some((answer, told(findings)));
    asked.fit(max_bytes)
}

struct Asked<'a> {
    path: &'a str,
    plan: &'a str,
    anchors: String,
    previous: Option<&'a str>,
    repair: Option<(&'a str, String)>,
}

/// How much of each text may be shown, in bytes.
#[derive(Clone, Copy)]
struct Caps {
    answer: usize,
    previous: usize,
    plan: usize,
}

impl<'a> Asked<'a> {
    fn new(path: &'a str, plan: &'a str, previous: Option<&'a str>) -> Self {
        let read = SourcePlan::read(&SourceText::new(plan));
        Asked {
            path,
            plan,
            anchors: anchor_lines(&read),
            previous,
            repair: None,
        }
    }

    /// Cuts as little as possible: first the answer before, then the pack before, then the plan.
    fn fit(&self, max_bytes: usize) -> String {
        let whole = Caps {
            answer: max_bytes,
            previous: max_bytes,
            plan: max_bytes,
        };
        let no_answer = Caps { answer: 0, ..whole };
        let plan_only = Caps {
            previous: 0,
            ..no_answer
        };
        let fits = |caps: Caps| self.render(caps).len() <= max_bytes;
        let answer = |answer| Caps { answer, ..whole };
        let previous = |previous| Caps { previous, ..no_answer };
        let plan = |plan| Caps { plan, ..plan_only };
        let caps = largest(max_bytes, |cap| fits(answer(cap)))
            .map(answer)
            .or_else(|| largest(max_bytes, |cap| fits(previous(cap))).map(previous))
            .or_else(|| largest(max_bytes, |cap| fits(plan(cap))).map(plan));
        let text = self.render(caps.unwrap_or(plan(0)));
        quote::cut_to(text, max_bytes)
    }

    fn render(&self, caps: Caps) -> String {
        let path = quote::inline(self.path, quote::MAX_INLINE);
        let mut out = GOAL.replace("{{path}}", &path);
        out.push_str(&format!(
            "\n# The source plan\n\n{}\n",
            quote::block(self.plan, caps.plan)
        ));
        if self.plan.trim_end().len() > caps.plan {
            out.push_str(&format!("Read the rest in the file {path} before you answer.\n"));
        }
        out.push_str(&self.anchors);
        if let Some(previous) = self.previous {
            out.push_str(
                "\n# The pack that is to be replaced\n\n\
                 It was derived from an older text of the plan. Keep the tasks that still hold word for word, with their ids, \
                 goals and files; leave out what the plan no longer asks for.\n\n",
            );
            out.push_str(&quote::block(previous, caps.previous));
            out.push('\n');
        }
        out.push('\n');
        out.push_str(FIELDS);
        if let Some((answer, findings)) = &self.repair {
            out.push_str("\n# Your last answer\n\n");
            out.push_str(&quote::block(answer, caps.answer));
            out.push_str("\n\n# What was wrong with it\n\n");
            out.push_str(&quote::block(findings, MAX_FINDINGS_BYTES));
            out.push_str("\n\nAnswer again with the whole block of JSON, all of this mended.\n");
        }
        out
    }
}

fn anchor_lines(plan: &SourcePlan) -> String {
    let mut out = String::new();
    let mut add = |title: &str, anchors: &[Anchor]| {
        if !anchors.is_empty() {
            let ids = anchors.iter().take(MAX_LISTED).map(|anchor| anchor.id.as_str());
            out.push_str(&format!("{title}: {}.\n", ids.collect::<Vec<_>>().join(", ")));
        }
    };
    add("Units that were found in it", &plan.units);
    add("Requirements that were found in it", &plan.requirements);
    match out.is_empty() {
        true => out,
        false => format!("\n{out}"),
    }
}

fn told(findings: &[Diagnostic]) -> String {
    let line = |found: &Diagnostic| match found.help.is_empty() {
        true => format!("- {}: {}", found.rule.id, found.message),
        false => format!("- {}: {} ({})", found.rule.id, found.message, found.help),
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}
