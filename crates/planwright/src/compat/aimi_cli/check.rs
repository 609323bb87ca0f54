//! The two checks of the original, and the rules of the specification in its own words.

use std::collections::HashMap;

use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::aimi::suspicious_part;
use planwright_core::document::{NodeKind, NodeRef};

use super::jq::{self, Printer, Value};
use super::tasks::{AimiStory, Tasks};

/// The findings of a check, in the original's order.
pub(super) struct StoryVerdict {
    errors: Vec<String>,
}

impl StoryVerdict {
    /// Returns whether there are no findings.
    pub(super) fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns the output of the original.
    pub(super) fn printed(&self) -> String {
        let mut printer = Printer::object();
        printer.key("valid");
        printer.literal(if self.is_valid() { "true" } else { "false" });
        printer.key("errors");
        printer.open('[');
        for error in &self.errors {
            printer.element();
            printer.string(error);
        }
        printer.close(']');
        printer.close('}');
        printer.finish()
    }
}

/// Checks the dependencies: none on itself, none on a missing story, no cycle.
pub(super) fn dependencies(tasks: &Tasks) -> StoryVerdict {
    let stories: Vec<CheckedStories<'_>> = tasks.stories().map(CheckedStories::of).collect();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for story in &stories {
        let next = numbers.len();
        numbers.entry(&story.identity).or_insert(next);
    }
    let mut errors: Vec<String> = stories.iter().filter_map(CheckedStories::self_reference).collect();
    errors.extend(stories.iter().flat_map(|story| story.missing(&numbers)));
    errors.extend(stories.iter().filter_map(CheckedStories::unreadable));
    errors.extend(circles(&stories, &numbers));
    StoryVerdict { errors }
}

/// A story with its dependencies, each by a comparable identity.
struct CheckedStories<'t> {
    name: String,
    identity: String,
    is_readable: bool,
    dependencies: Vec<(NodeRef<'t>, String)>,
}

impl<'t> CheckedStories<'t> {
    fn of(story: AimiStory<'t>) -> Self {
        let dependencies = story.dependencies();
        CheckedStories {
            name: jq::interpolated(story.id()),
            identity: jq::identity(story.id()),
            is_readable: dependencies.is_some(),
            dependencies: dependencies
                .into_iter()
                .flatten()
                .map(|node| (node, jq::identity(Some(node))))
                .collect(),
        }
    }

    fn self_reference(&self) -> Option<String> {
        let is_own = |(_, id): &(NodeRef<'_>, String)| *id == self.identity;
        let found = self.dependencies.iter().any(is_own);
        found.then(|| format!("Self-reference: {} depends on itself", self.name))
    }

    fn missing(&self, numbers: &HashMap<&str, usize>) -> Vec<String> {
        self.dependencies
            .iter()
            .filter(|(_, id)| !numbers.contains_key(id.as_str()))
            .map(|(node, _)| {
                let reference = jq::interpolated(Some(*node));
                format!("Missing ID: {} depends on {reference} which does not exist", self.name)
            })
            .collect()
    }

    fn unreadable(&self) -> Option<String> {
        (!self.is_readable).then(|| format!("Invalid dependsOn: {} does not have a list of story IDs", self.name))
    }
}

/// Returns every story that can reach itself.
fn circles(stories: &[CheckedStories<'_>], numbers: &HashMap<&str, usize>) -> Vec<String> {
    let number_of = |id: &str| numbers.get(id).copied();
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); numbers.len()];
    for story in stories {
        let targets = story.dependencies.iter().filter_map(|(_, id)| number_of(id));
        if let Some(from) = number_of(&story.identity) {
            edges[from].extend(targets);
        }
    }
    let knots = knots(&edges);
    let knot_of = |id: &str| number_of(id).map(|number| knots[number]);
    let is_in_circle = |story: &&CheckedStories<'_>| {
        let own = knot_of(&story.identity);
        story
            .dependencies
            .iter()
            .any(|(_, id)| own.is_some() && knot_of(id) == own)
    };
    let circular = stories.iter().filter(is_in_circle);
    circular
        .map(|story| format!("Circular dependency: {} is part of a dependency cycle", story.name))
        .collect()
}

/// Returns the number of each node's strongly connected component: two nodes share one if each can reach the other. Tarjan's algorithm,
/// without recursion.
fn knots(edges: &[Vec<usize>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let mut knot = vec![UNSEEN; edges.len()];
    let mut seen = vec![UNSEEN; edges.len()];
    let mut lowest = vec![UNSEEN; edges.len()];
    let (mut n_seen, mut n_knots) = (0, 0);
    let mut open: Vec<usize> = Vec::new();
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..edges.len() {
        if seen[start] == UNSEEN {
            path.push((start, 0));
        }
        while let Some((node, next)) = path.pop() {
            if next == 0 {
                (seen[node], lowest[node]) = (n_seen, n_seen);
                n_seen += 1;
                open.push(node);
            }
            if let Some(&target) = edges[node].get(next) {
                path.push((node, next + 1));
                if seen[target] == UNSEEN {
                    path.push((target, 0));
                } else if knot[target] == UNSEEN {
                    lowest[node] = lowest[node].min(seen[target]);
                }
                continue;
            }
            if lowest[node] == seen[node] {
                while let Some(member) = open.pop() {
                    knot[member] = n_knots;
                    if member == node {
                        break;
                    }
                }
                n_knots += 1;
            }
            if let Some(&(parent, _)) = path.last() {
                lowest[parent] = lowest[parent].min(lowest[node]);
            }
        }
    }
    knot
}

/// Checks the texts of the stories: their lengths, and words that an agent might treat as instructions.
pub(super) fn stories(tasks: &Tasks) -> StoryVerdict {
    StoryVerdict {
        errors: tasks.stories().flat_map(check_story).collect(),
    }
}

fn check_story(story: AimiStory<'_>) -> Vec<String> {
    let name = jq::interpolated(story.id());
    let mut errors = Vec::new();
    let texts = [("title", 200), ("description", 500)];
    for (field, most) in texts {
        match text_of(story.get(field)) {
            None => errors.push(format!("{name}: {field} is missing")),
            Some(text) if text.chars().count() > most => errors.push(format!("{name}: {field} exceeds {most} chars")),
            Some(_) => {}
        }
    }
    match story
        .get("acceptanceCriteria")
        .filter(|list| list.kind() == NodeKind::Array)
    {
        None => errors.push(format!("{name}: acceptanceCriteria is missing")),
        Some(criteria) if criteria.elements().any(is_long_criterion) => {
            errors.push(format!("{name}: acceptance criterion exceeds 300 chars"));
        }
        Some(_) => {}
    }
    for (field, _) in texts {
        if text_of(story.get(field)).is_some_and(|text| is_suspicious(&text)) {
            errors.push(format!("{name}: {field} contains suspicious content"));
        }
    }
    errors
}

fn text_of(value: Value<'_>) -> Option<String> {
    value
        .filter(|node| node.kind() == NodeKind::String)
        .map(|node| node.value().into_owned())
}

fn is_long_criterion(criterion: NodeRef<'_>) -> bool {
    text_of(Some(criterion)).is_some_and(|text| text.chars().count() > 300)
}

fn is_suspicious(text: &str) -> bool {
    suspicious_part(text).is_some()
}

/// Returns the errors among findings in the words of the specification.
pub(super) fn messages(findings: &[Diagnostic]) -> Vec<String> {
    findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| match finding.help.as_str() {
            "" => format!("Error: {}\n", finding.message),
            help => format!("Error: {}\nFix: {help}\n", finding.message),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use planwright_core::text::SourceText;

    use super::*;

    fn verdict(stories: &str, check: fn(&Tasks) -> StoryVerdict) -> Vec<String> {
        let text = format!("{{\"schemaVersion\": \"3.0\", \"userStories\": [{stories}]}}");
        let tasks = Tasks::read(&SourceText::new(text)).unwrap_or_else(|refused| panic!("{}", refused.message));
        check(&tasks).errors
    }

    #[test]
    fn tasks_behind_a_cycle_are_not_in_it() {
        let stories = r#"{"id": "a", "dependsOn": ["b"]}, {"id": "b", "dependsOn": ["c", "a"]}, {"id": "c"},
            {"id": "d", "dependsOn": ["a"]}, {"id": "e", "dependsOn": ["e"]}, {"id": "f", "dependsOn": ["g"]},
            {"id": "g", "dependsOn": ["h"]}, {"id": "h", "dependsOn": ["f", "c"]}"#;
        let found = verdict(stories, dependencies);
        let named: Vec<_> = found
            .iter()
            .filter_map(|error| error.strip_prefix("Circular dependency: "))
            .map(|rest| &rest[..1])
            .collect();
        assert_eq!(named, ["a", "b", "e", "f", "g", "h"]);
    }

    #[test]
    fn a_long_chain_and_a_large_cycle_take_no_stack() {
        let circle = |n: usize, last: usize| {
            let story = |ix: usize| {
                format!(
                    r#"{{"id": {ix}, "dependsOn": [{}]}}"#,
                    if ix == n { last } else { ix + 1 }
                )
            };
            (0..=n).map(story).collect::<Vec<_>>().join(",")
        };
        assert_eq!(verdict(&circle(50_000, 0), dependencies).len(), 50_001);
        assert_eq!(verdict(&circle(50_000, 50_001), dependencies).len(), 1);
    }

    #[test]
    fn letters_that_fold_into_others_are_suspicious_too() {
        for text in [
            "a SYSTEM: b",
            "syſtem:",
            "inﬆructions",
            "run `ls`",
            "$(x)",
            "Ignore Previous",
        ] {
            assert!(is_suspicious(text), "{text}");
        }
        for text in ["system", "ignore  previous", "$ (", "instruction"] {
            assert!(!is_suspicious(text), "{text}");
        }
    }
}
