//! A planner's stories in the form of the v2.x plan that they are for. Planners write v3, where they write no older form by themselves.

use super::v2;
use crate::document::patch::Value;

/// Brings the members of a planner's plan to an older form: `passes` instead of `status`, a priority for every story, and no version where
/// the plan has none.
pub(super) fn in_older_form(members: &mut Vec<(String, Value)>, form: &str) {
    let has_stages = form == v2::FORM;
    members.retain(|(key, _)| key != "schemaVersion");
    if has_stages {
        members.insert(0, ("schemaVersion".to_owned(), Value::String("2.2".to_owned())));
    }
    let stories = members.iter_mut().find(|(key, _)| key == "userStories");
    let Some((_, Value::Array(stories))) = stories else {
        return;
    };
    let mut last = stories.iter().filter_map(priority_of).max().unwrap_or(0);
    for story in stories {
        let Value::Object(story) = story else {
            continue;
        };
        let has = |story: &[(String, Value)], key: &str| story.iter().any(|(own, _)| own == key);
        story.retain(|(key, _)| key != "status");
        if !has(story, "priority") {
            last = last.saturating_add(1);
            story.push(("priority".to_owned(), Value::Number(last.to_string())));
        }
        if !has(story, "passes") {
            story.push(("passes".to_owned(), Value::Bool(false)));
        }
        if !has_stages && !has(story, "dependsOn") {
            story.push(("dependsOn".to_owned(), Value::Array(Vec::new())));
        }
    }
}

fn priority_of(story: &Value) -> Option<i64> {
    let Value::Object(story) = story else {
        return None;
    };
    let number = story.iter().find(|(key, _)| key == "priority").map(|(_, value)| value);
    match number {
        Some(Value::Number(number)) => number.parse().ok(),
        _ => None,
    }
}
