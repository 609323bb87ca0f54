//! Converts a planner's stories to the form of a v2.x plan if the planner wrote v3.

use std::collections::BTreeMap;

use super::V2_FORM;
use crate::document::patch::PlainValue;

type AnswerMembers = Vec<(String, PlainValue)>;

/// Converts the members of a planner's plan to an older form: `passes` instead of `status`, a priority for every story, and no version if
/// the plan has none. If only priorities order the stories, a story gets a higher number than its dependencies.
pub(super) fn in_older_form(members: &mut AnswerMembers, form: &str) {
    let has_stages = form == V2_FORM;
    members.retain(|(key, _)| key != "schemaVersion");
    if has_stages {
        members.insert(0, ("schemaVersion".to_owned(), PlainValue::String("2.2".to_owned())));
    }
    let stories = members.iter_mut().find(|(key, _)| key == "userStories");
    let Some((_, PlainValue::Array(stories))) = stories else {
        return;
    };
    let mut stories: Vec<&mut AnswerMembers> = stories.iter_mut().filter_map(as_object).collect();
    let mut priorities: BTreeMap<String, i64> = BTreeMap::new();
    for story in &stories {
        if let (Some(id), Some(priority)) = (text_of(story, "id"), priority_of(story)) {
            priorities.insert(id.to_owned(), priority);
        }
    }
    let mut last = stories.iter().filter_map(|story| priority_of(story)).max().unwrap_or(0);
    for story in &mut stories {
        story.retain(|(key, _)| key != "status");
        let latest = latest_dependency(story, &priorities).filter(|_| has_stages);
        let is_late = |priority: i64| latest.is_none_or(|latest| priority > latest);
        if !priority_of(story).is_some_and(is_late) {
            last = last.saturating_add(1);
            if let Some(id) = text_of(story, "id") {
                priorities.insert(id.to_owned(), last);
            }
            story.retain(|(key, _)| key != "priority");
            story.push(("priority".to_owned(), PlainValue::Number(last.to_string())));
        }
        if get(story, "passes").is_none() {
            story.push(("passes".to_owned(), PlainValue::Bool(false)));
        }
        match has_stages {
            true => story.retain(|(key, _)| key != "dependsOn"),
            false if get(story, "dependsOn").is_none() => {
                story.push(("dependsOn".to_owned(), PlainValue::Array(Vec::new())));
            }
            false => {}
        }
    }
}

fn as_object(value: &mut PlainValue) -> Option<&mut AnswerMembers> {
    match value {
        PlainValue::Object(members) => Some(members),
        _ => None,
    }
}

fn get<'s>(story: &'s [(String, PlainValue)], key: &str) -> Option<&'s PlainValue> {
    story.iter().find(|(own, _)| own == key).map(|(_, value)| value)
}

fn text_of<'s>(story: &'s [(String, PlainValue)], key: &str) -> Option<&'s str> {
    match get(story, key) {
        Some(PlainValue::String(text)) => Some(text),
        _ => None,
    }
}

fn priority_of(story: &AnswerMembers) -> Option<i64> {
    match get(story, "priority") {
        Some(PlainValue::Number(number)) => number.parse().ok(),
        _ => None,
    }
}

/// Returns the highest number among a story's dependencies.
fn latest_dependency(story: &AnswerMembers, priorities: &BTreeMap<String, i64>) -> Option<i64> {
    let Some(PlainValue::Array(on)) = get(story, "dependsOn") else {
        return None;
    };
    let known = on.iter().filter_map(|on| match on {
        PlainValue::String(on) => priorities.get(on).copied(),
        _ => None,
    });
    known.max()
}
