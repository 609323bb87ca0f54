//! Law for any template and any text: prompts keep their limits, and quoted text cannot end its quotation.

use planwright_core::dialect::{DIALECTS, find};
use planwright_core::inspect::{LinkedPlan, inspect};
use planwright_core::planning::prompt::{
    PlanningBrief, Purpose, ReplanCause, plan_prompt, repair_prompt, replan_prompt,
};
use planwright_core::prompt::{Prompt, PromptContext, Template};
use planwright_core::text::SourceText;
use planwright_testkit::judge::outside;

use crate::findings;
use crate::input::{ByteChoices, parts, text, with_choice};

/// A word with which foreign text poses as planwright's own.
const EVIL: &str = "EVIL";

/// Below this a template itself may be cut, and with it a fence.
const LEAST_WHOLE: usize = 20_000;

pub(crate) fn hold(bytes: &[u8]) {
    let [template, words, choices] = parts(bytes);
    let (template, words) = (text(template), format!("{EVIL}{}{EVIL}", text(words)));
    let mut dice = ByteChoices::new(choices);
    let plan = plan_of(&words);
    let max_bytes = dice.below(256) * 256;
    check_task_prompt(&plan, &words, None, max_bytes);
    check_planning_prompts(&words, &[], max_bytes, &mut dice);
    match Template::parse(&template) {
        Ok(template) => check_task_prompt(&plan, &words, Some(&template), max_bytes),
        Err(found) => {
            assert!(!found.is_empty(), "refused without a reason");
            findings::check(&SourceText::new(template.as_str()), &found);
        }
    }
    for purpose in Purpose::ALL {
        match purpose.parse(&template) {
            Ok(template) => check_planning_prompts(&words, &[template], max_bytes, &mut dice),
            Err(found) => findings::check(&SourceText::new(template.as_str()), &found),
        }
    }
}

fn plan_of(words: &str) -> LinkedPlan {
    let plan = serde_json::json!({"goal": words, "tasks": [
        {"id": "a", "description": words, "output": words},
        {"id": "b", "description": words, "notes": words, "depends_on": ["a"], "tools": [words, words]},
    ]});
    let source = SourceText::new(plan.to_string());
    let inspection = with_choice(find("clido"), |choice| inspect(&source, choice));
    inspection.plan.expect("a plan of two tasks")
}

fn check_task_prompt(plan: &LinkedPlan, words: &str, template: Option<&Template>, max_bytes: usize) {
    let context = PromptContext {
        outputs: &[(0, words)],
        attempt: 2,
        last_failure: Some(words),
        verification: &[words.to_owned()],
        plan_path: words,
        result_file: Some(words),
        template,
        own_part: plan.dialect.prompt(),
        max_bytes,
    };
    let prompt = Prompt::of(&plan.plan, &plan.links, 1, &context);
    // The text of a user's template is the user's own, including fences.
    check(&prompt, max_bytes, template.is_none());
}

fn check_planning_prompts(words: &str, templates: &[Template], max_bytes: usize, dice: &mut ByteChoices<'_>) {
    let list = [words.to_owned()];
    let pairs = [(words.to_owned(), words.to_owned())];
    let brief = PlanningBrief {
        dialect: DIALECTS[dice.below(DIALECTS.len())],
        goal: words,
        constraints: &list,
        memories: &list,
        context: &pairs,
        agents: &pairs,
        templates,
        max_bytes,
    };
    let setback = ReplanCause {
        plan_text: words,
        form: words,
        failed_task: Some(words),
        error: words,
        log_tail: words,
        discoveries: &list,
        done: &list,
    };
    let is_built_in = templates.is_empty();
    check(&plan_prompt(&brief), max_bytes, is_built_in);
    check(&replan_prompt(&brief, &setback), max_bytes, is_built_in);
    check(&repair_prompt(&brief, words, "a finding"), max_bytes, is_built_in);
}

fn check(prompt: &Prompt, max_bytes: usize, is_built_in: bool) {
    assert!(
        prompt.text.len() <= max_bytes,
        "{} bytes of {max_bytes}",
        prompt.text.len()
    );
    if is_built_in && max_bytes >= LEAST_WHOLE {
        let outside = outside(&prompt.text, |words| !words.contains('`'));
        assert!(!outside.contains(EVIL), "{outside}");
    }
}
