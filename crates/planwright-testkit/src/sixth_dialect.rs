//! A dialect that no tool uses: an example of all that a new dialect needs.

use planwright_core::diagnostic::Rule;
use planwright_core::dialect::{CarrierKind, Dialect, DialectInput, FieldTable, Fit, PlanReading};
use planwright_core::document::{NodeKind, NodeRef};
use planwright_core::plan::lifecycle::{OnFailure, PLAIN_WORDING};
use planwright_core::plan::{
    Dependency, DependencyTarget, Lifecycle, Machine, PlanBuilder, Slots, State, Status, TaskName, TaskOrder,
};

/// Plans written as `{"todo": [{"name": …, "after": […], "ticked": true}]}`.
pub struct Todo;

static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsWait,
    order: TaskOrder::File,
    slots: Slots::Fixed(2),
    may_be_empty: true,
    words: ["open", "", "ticked", "", ""],
    machine: Machine {
        written: &[State::Pending, State::Done],
        can_block: false,
        skips_attempted: true,
        counts_retries: false,
        skip_cascades: false,
        retry_stays_failed: false,
    },
    wording: &PLAIN_WORDING,
};

impl Dialect for Todo {
    fn name(&self) -> &'static str {
        "todo"
    }

    fn title(&self) -> &'static str {
        "to-do list"
    }

    fn carriers(&self) -> &'static [CarrierKind] {
        &[CarrierKind::Json]
    }

    fn places(&self) -> &'static [&'static str] {
        &["todo.json"]
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let has_list = input.root.is_some_and(|root| root.get("todo").is_some());
        if has_list { 99 } else { 0 }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        let mut builder = PlanBuilder::new(input.source, self.name(), "list", &LIFECYCLE);
        let tasks = input.root.and_then(|root| root.get("todo"));
        for task in tasks.into_iter().flat_map(NodeRef::elements) {
            read_task(&mut builder, task);
        }
        PlanReading {
            plan: Some(builder.finish()),
            ..PlanReading::default()
        }
    }

    fn tables(&self) -> &'static [&'static FieldTable] {
        &[]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        &[]
    }

    fn schema(&self) -> &'static str {
        "{}"
    }
}

fn read_task(builder: &mut PlanBuilder, task: NodeRef<'_>) {
    let text = |builder: &PlanBuilder, node: NodeRef<'_>| node.verbatim().map(|span| builder.quoted_text(span));
    let after = task.get("after").into_iter().flat_map(NodeRef::elements);
    let dependencies: Vec<_> = after
        .filter(|item| item.kind() == NodeKind::String)
        .map(|item| Dependency {
            span: item.span(),
            target: text(builder, item).map_or(DependencyTarget::Unreadable, DependencyTarget::Id),
        })
        .collect();
    let task_ix = builder.task(task.span(), [], dependencies);
    let name = task.get("name").and_then(|name| text(builder, name));
    let ticked = task.get("ticked").and_then(NodeRef::as_bool) == Some(true);
    let own = builder.task_mut(task_ix);
    own.name = name.map_or(TaskName::Missing, TaskName::Id);
    own.status = if ticked { Status::Done } else { Status::Pending };
}
