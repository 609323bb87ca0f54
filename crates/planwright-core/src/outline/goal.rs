//! Finds the goal of a plan without a field for it: the first heading above its tasks that is more than "Plan".

use super::markdown_lines::{LineKind, MarkdownLine};
use super::names::plain;
use super::phrases::{is_option, is_other_heading, is_outdated, is_phase};
use super::raw::{RawGroup, RawPlan};

/// Returns the goal in the lines above the first task of a plan.
pub(super) fn goal_above(lines: &[MarkdownLine<'_>], plan: &RawPlan) -> Option<String> {
    let first = plan.tasks.iter().map(|raw| raw.task.place.start).min()?;
    let above = lines.iter().take_while(|line| line.at < first as usize);
    let headings = above.filter(|line| matches!(line.kind, LineKind::Heading(_)));
    let is_group = |line: &MarkdownLine<'_>, title: &str| {
        let is_own = |group: &RawGroup| group.name == title || group.place.start as usize == line.at;
        plan.groups.iter().any(is_own)
    };
    let titles = headings.map(|line| (line, plain(line.text)));
    let mut titles = titles.filter(|(line, title)| !is_group(line, title));
    titles.find_map(|(_, title)| goal_of(&title))
}

/// Returns the goal in a heading.
fn goal_of(title: &str) -> Option<String> {
    #[rustfmt::skip]
    const LABELS: [&str; 8] = [
        "implementation plan:", "implementation plan for", "plan:", "plan for", "tasks:", "tasks for", "goal:",
        "objective:",
    ];
    let after = |label: &&str| {
        let (start, rest) = title.split_at_checked(label.len())?;
        start.eq_ignore_ascii_case(label).then_some(rest)
    };
    let labelled = LABELS.iter().find_map(after);
    let goal = labelled.unwrap_or(title).trim();
    let is_other = is_bare(goal)
        || is_phase(goal)
        || is_option(goal)
        || is_outdated(goal)
        || labelled.is_none() && is_other_heading(goal);
    (!is_other).then(|| goal.to_owned())
}

/// Returns whether a heading only states that this is a plan.
fn is_bare(title: &str) -> bool {
    #[rustfmt::skip]
    const BARE: [&str; 36] = [
        "a", "action", "actions", "breakdown", "checklist", "corrected", "detailed", "development", "do", "final",
        "goal", "here", "implementation", "is", "item", "items", "list", "my", "new", "objective", "our", "plan",
        "proposed", "proposal", "revised", "s", "step", "steps", "task", "tasks", "the", "to", "todo", "todos",
        "updated", "work",
    ];
    let lower = title.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.all(|word| BARE.contains(&word) || word.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_with_more_words_than_plan_are_goals() {
        for (title, goal) in [
            ("Migration plan", Some("Migration plan")),
            ("Plan: Add CSV export", Some("Add CSV export")),
            ("Implementation Plan for the cache", Some("the cache")),
            ("Implementation plan", None),
            ("Here's the plan", None),
            ("Tasks", None),
            ("Phase 1: Schema", None),
            ("Overview", None),
            ("", None),
        ] {
            assert_eq!(goal_of(title).as_deref(), goal, "{title}");
        }
    }
}
