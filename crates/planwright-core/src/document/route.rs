//! Symbolic addresses in a document: keys and indexes, such as `tasks[1].status`. Does not know bytes.

use std::fmt;

use super::{Document, NodeKind, NodeRef};

/// One step down a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RouteStep {
    /// To the value of a key.
    Key(String),
    /// To an element, by its index.
    Index(usize),
}

/// The path from the root of a document to one of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route {
    steps: Vec<RouteStep>,
}

impl Route {
    /// Returns the route to the root.
    pub fn root() -> Self {
        Route::default()
    }

    /// Returns this route with one more step, to the value of a key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.steps.push(RouteStep::Key(key.into()));
        self
    }

    /// Returns this route with one more step, to an element.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.steps.push(RouteStep::Index(index));
        self
    }

    pub(crate) fn from_steps(steps: &[RouteStep]) -> Self {
        Route { steps: steps.to_vec() }
    }

    /// Returns this route with one more step.
    #[must_use]
    pub fn step(mut self, step: RouteStep) -> Self {
        self.steps.push(step);
        self
    }

    /// Returns the index right after a prefix; none if the route has another prefix or a key there.
    pub(crate) fn index_after(&self, beginning: &Route) -> Option<usize> {
        match self.steps.strip_prefix(beginning.steps.as_slice())? {
            [RouteStep::Index(index), ..] => Some(*index),
            _ => None,
        }
    }

    /// Returns this route with another index at a depth where it has one.
    #[must_use]
    pub(crate) fn with_index(mut self, depth: usize, index: usize) -> Self {
        if let Some(step @ RouteStep::Index(_)) = self.steps.get_mut(depth) {
            *step = RouteStep::Index(index);
        }
        self
    }

    /// Returns the steps from the root.
    pub fn steps(&self) -> &[RouteStep] {
        &self.steps
    }

    /// Returns the target of the route. Aliases and merge keys are resolved; of repeated keys the first one counts.
    pub fn find<'d>(&self, document: &'d Document) -> Option<NodeRef<'d>> {
        self.steps.iter().try_fold(document.root()?, |node, step| match step {
            RouteStep::Key(key) => node.get(key),
            RouteStep::Index(index) => node.elements().nth(*index),
        })
    }

    /// Returns the route to a node; a key's route is that of its value.
    ///
    /// Takes time for every sibling on the way, so it is for messages, not for loops.
    pub fn of(node: NodeRef<'_>) -> Self {
        let row = if node.kind() == NodeKind::Key {
            node.row() + 1
        } else {
            node.row()
        };
        let mut route = Route::root();
        let mut at = node.document().root();
        while let Some(parent) = at {
            if parent.row() == row {
                break;
            }
            let holds = |child: NodeRef<'_>| child.row() <= row && row < child.row() + child.n_rows();
            at = None;
            if let Some(member) = parent.own_members().find(|member| holds(member.value)) {
                let key = member.key.text().unwrap_or_default();
                route.steps.push(RouteStep::Key(key.into_owned()));
                at = Some(member.value);
            } else if parent.kind() == NodeKind::Array
                && let Some((index, element)) = parent.elements().enumerate().find(|(_, element)| holds(*element))
            {
                route.steps.push(RouteStep::Index(index));
                at = Some(element);
            }
        }
        route
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("the document");
        }
        for (ix, step) in self.steps.iter().enumerate() {
            match step {
                RouteStep::Index(index) => write!(f, "[{index}]")?,
                RouteStep::Key(key) if !is_plain_key(key) => write!(f, "[{key:?}]")?,
                RouteStep::Key(key) if ix == 0 => f.write_str(key)?,
                RouteStep::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

fn is_plain_key(key: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    !key.is_empty() && key.chars().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{json, yaml};
    use crate::text::SourceText;

    #[test]
    fn routes_read_like_code() {
        let route = Route::root().key("tasks").index(1).key("status");
        assert_eq!(route.to_string(), "tasks[1].status");
        assert_eq!(
            Route::root().index(0).key("a b").key("").to_string(),
            "[0][\"a b\"][\"\"]"
        );
        assert_eq!(Route::root().to_string(), "the document");
    }

    #[test]
    fn routes_and_nodes_lead_to_each_other() {
        let texts = [
            "{\"a\": [1, {\"b\": [[], 2]}], \"c\": 3}",
            "a:\n- 1\n- b:\n  - []\n  - 2\nc: 3\n",
        ];
        for (text, parse) in texts.iter().zip([json::parse, yaml::parse]) {
            let document = parse(&SourceText::new(*text)).document;
            for node in document.nodes().filter(|node| node.kind() != NodeKind::Key) {
                let found = Route::of(node).find(&document).map(NodeRef::row);
                assert_eq!(found, Some(node.row()), "{} in {text}", Route::of(node));
            }
        }
    }

    #[test]
    fn routes_follow_aliases_and_merge_keys() {
        let document = yaml::parse(&SourceText::new("a: &x {b: 1}\nc: {<<: *x}\nd: [*x]\n")).document;
        for route in [
            Route::root().key("c").key("b"),
            Route::root().key("d").index(0).key("b"),
        ] {
            assert_eq!(route.find(&document).and_then(NodeRef::as_integer), Some(1), "{route}");
        }
        assert!(Route::root().key("a").index(0).find(&document).is_none());
    }
}
