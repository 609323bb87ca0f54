//! Adjusts everything that depends on the list of tasks after an edit: numbers that are positions, the current step, the plan's status.

use std::collections::HashMap;

use super::Problem;
use super::proposal::{EditedList, edges_of};
use super::tasks::Editor;
use crate::document::patch::{self, Patch, PlainValue};
use crate::document::{DocumentFormat, NodeKind, NodeRef, Parsed, json, yaml};
use crate::edit::Owner;
use crate::edit::reasons::along_parts;
use crate::plan::transition::task_to_look_at;
use crate::plan::{Field, State, StateCounts, TaskName};
use crate::text::SourceText;

impl Editor<'_> {
    /// Updates numbers and references of the new text for the new order, and the time of the change.
    pub(super) fn follow_up(&self, text: String, expected: &EditedList, now: &str) -> Result<String, Problem> {
        let is_same_order = expected.is_in_order(self.linked);
        let numbering = self.edits.numbering(self.plan()).filter(|_| !is_same_order);
        let mut head = Vec::new();
        let mut set = |field, value| head.extend(self.head_key(field).map(|key| (key, value)));
        set(Field::UpdatedAt, PlainValue::String(now.to_owned()));
        let states = self.states(expected);
        if expected.origin.contains(&None) || states.len() != self.plan().tasks().len() {
            let tasks = StateCounts::of_states(states.iter().copied());
            let status = self.edits.settled(self.plan().head_str(Field::Status), &tasks);
            if let Some(status) = status {
                set(Field::Status, PlainValue::String(status.to_owned()));
            }
        }
        if !is_same_order || expected.edges != edges_of(self.linked) {
            let on = |ix: usize| expected.edges.range((ix, 0)..(ix + 1, 0)).map(|&(_, to)| to);
            let place = task_to_look_at(&states, on);
            set(Field::CurrentTask, PlainValue::Number(place.to_string()));
        }
        if numbering.is_none() && head.is_empty() {
            return Ok(text);
        }
        let source = SourceText::new(text);
        let parsed = match self.located.document.format() {
            DocumentFormat::Json => json::parse(&source),
            DocumentFormat::Yaml => yaml::parse(&source),
            DocumentFormat::Own(notation) => notation.parse(&source),
        };
        let mut patches = Vec::new();
        if let Some(base) = numbering {
            self.renumber(&parsed, expected, base, &mut patches)?;
        }
        for (key, value) in head {
            let object = self.located.object_route().clone();
            let at = object.key(key);
            if at.find(&parsed.document).is_some() {
                patches.push(Patch::ReplaceScalar { at, value });
            }
        }
        Ok(patch::patch(&parsed.document, &patches)?)
    }

    /// Returns the states of the tasks in their new order; new tasks are pending.
    fn states(&self, expected: &EditedList) -> Vec<Option<State>> {
        let tasks = self.plan().tasks();
        let state = |old: &Option<usize>| old.map_or(Some(State::Pending), |old| tasks[old].status.state());
        expected.origin.iter().map(state).collect()
    }

    /// Returns the key of a field of the plan, if its dialect has it next to the list of tasks.
    fn head_key(&self, field: Field) -> Option<&'static str> {
        let table = self.linked.dialect.table_of(self.plan(), Owner::Plan)?;
        let spec = table.fields.iter().find(|spec| spec.field == field)?;
        Some(spec.name)
    }

    fn renumber(
        &self,
        parsed: &Parsed,
        expected: &EditedList,
        base: usize,
        patches: &mut Vec<Patch>,
    ) -> Result<(), Problem> {
        let plan = self.plan();
        let origin = expected.origin.iter().enumerate();
        let places: HashMap<i64, usize> = origin
            .filter_map(|(new, old)| match plan.tasks()[(*old)?].name {
                TaskName::Number(number) => Some((i64::from(number), new)),
                TaskName::Id(_) | TaskName::Words(_) | TaskName::Missing => None,
            })
            .collect();
        let array = self.located.tasks_route();
        let Some(list) = array.find(&parsed.document) else {
            return Err(Problem::NoPlan);
        };
        let tasks: Vec<NodeRef<'_>> = list.elements().collect();
        if tasks.len() != expected.origin.len() {
            return Err(Problem::NoPlan);
        }
        let position_key = self.key_of(Field::Position);
        let references_key = self.key_of(Field::Dependencies).unwrap_or("");
        let output_key = self.key_of(Field::Output);
        let number = |place: usize| PlainValue::Number((place + base).to_string());
        let mut replace = |at, value: PlainValue, node: NodeRef<'_>| {
            if !value.is_value_of(node) {
                patches.push(Patch::ReplaceScalar { at, value });
            }
        };
        for (new, node) in tasks.iter().enumerate() {
            let route = array.clone().index(new);
            if let Some(own) = position_key.and_then(|key| node.get(key)) {
                replace(route.clone().key(position_key.unwrap_or("")), number(new), own);
            }
            if let Some((own, output)) =
                output_key.and_then(|key| self.renumbered_output(node.get(key)?, &places, base))
            {
                replace(route.clone().key(output_key.unwrap_or("")), output, own);
            }
            let elements = node.get(references_key).into_iter().flat_map(NodeRef::elements);
            for (place, element) in elements
                .enumerate()
                .filter(|(_, element)| element.kind() == NodeKind::Number)
            {
                let Some(named) = element.as_integer() else {
                    continue;
                };
                // The numbers in the text are still the old ones.
                if let Some(&target) = places.get(&named) {
                    replace(route.clone().key(references_key).index(place), number(target), element);
                }
            }
        }
        Ok(())
    }

    /// Returns the output of a task that was skipped along with another, with the new number of that one.
    fn renumbered_output<'n>(
        &self,
        output: NodeRef<'n>,
        places: &HashMap<i64, usize>,
        base: usize,
    ) -> Option<(NodeRef<'n>, PlainValue)> {
        let text = output.text()?;
        let (before, number, after) = along_parts(self.plan(), &text)?;
        let place = places.get(&number.parse().ok()?)?;
        Some((output, PlainValue::String(format!("{before}{}{after}", place + base))))
    }
}
