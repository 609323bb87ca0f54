//! From fields to patches: where the file stores a field, and where a new one belongs. The dialect decides the values.

use std::collections::HashMap;

use super::{Dialect, FieldTable};
use crate::document::patch::{MemberPosition, Patch, PatchRefusal, PlainValue};
use crate::document::route::{Route, RouteStep};
use crate::document::{Document, DocumentFormat, NodeKind, NodeRef};
use crate::edit::{FieldAction, FieldEdit, Owner};
use crate::plan::{Links, Plan};
use crate::text::Span;

/// A plan with its document, whose parts are found by their spans.
pub struct LocatedPlan<'d> {
    /// The plan.
    pub plan: &'d Plan,
    /// Its edges.
    pub links: &'d Links,
    /// The document.
    pub document: &'d Document,
    /// The object that holds the list of tasks.
    pub object: NodeRef<'d>,
    /// The list of tasks.
    pub tasks: NodeRef<'d>,
    object_route: Route,
    tasks_route: Route,
    /// The row of each element, in order.
    rows: Vec<usize>,
}

impl<'d> LocatedPlan<'d> {
    /// Finds a plan's parts in its document; none if the plan has no list of tasks there.
    pub fn new(plan: &'d Plan, links: &'d Links, document: &'d Document) -> Option<Self> {
        let tasks = node_at(document, plan.tasks_span?, NodeKind::Array)?;
        let tasks_route = Route::of(tasks);
        let object_route = Route::from_steps(tasks_route.steps().split_last()?.1);
        let object = object_route.find(document)?;
        Some(LocatedPlan {
            plan,
            links,
            document,
            object,
            tasks,
            object_route,
            tasks_route,
            rows: tasks.elements().map(NodeRef::row).collect(),
        })
    }

    /// Returns a task's object.
    pub fn task(&self, task_ix: usize) -> Option<NodeRef<'d>> {
        let span = self.plan.tasks().get(task_ix)?.span;
        node_at(self.document, span, NodeKind::Object)
    }

    /// Returns the route to the object with the list of tasks.
    pub(crate) fn object_route(&self) -> &Route {
        &self.object_route
    }

    pub(crate) fn tasks_route(&self) -> &Route {
        &self.tasks_route
    }

    /// Returns the route to an owner's object.
    pub fn route(&self, owner: Owner) -> Option<Route> {
        self.owner(owner).map(|(_, route)| route)
    }

    /// Returns an owner's object and its route.
    fn owner(&self, owner: Owner) -> Option<(NodeRef<'d>, Route)> {
        match owner {
            Owner::Plan => Some((self.object, self.object_route.clone())),
            Owner::Task(task_ix) => self.at_place(self.place(task_ix)?),
            Owner::Group(group_ix) => {
                let span = self.plan.groups().get(group_ix)?.span;
                let node = node_at(self.document, span, NodeKind::Object)?;
                self.at_place(self.rows.binary_search(&node.row()).ok()?)
            }
        }
    }

    fn at_place(&self, place: usize) -> Option<(NodeRef<'d>, Route)> {
        Some((self.element(place)?, self.tasks_route.clone().index(place)))
    }

    /// Returns the number of elements in the list of tasks.
    pub(crate) fn n_elements(&self) -> usize {
        self.rows.len()
    }

    /// Returns an element of the list of tasks.
    pub fn element(&self, place: usize) -> Option<NodeRef<'d>> {
        self.rows.get(place).map(|&row| self.document.at(row))
    }

    /// Returns the index of a task among the elements of the list.
    pub fn place(&self, task_ix: usize) -> Option<usize> {
        let node = self.task(task_ix)?;
        self.rows.binary_search(&node.row()).ok()
    }
}

/// Returns the node of a kind with exactly this span.
fn node_at(document: &Document, span: Span, kind: NodeKind) -> Option<NodeRef<'_>> {
    let first = document.first_row_from(span.start);
    (first..document.n_nodes())
        .map(|row| document.at(row))
        .take_while(|node| node.span().start == span.start)
        .find(|node| node.kind() == kind && node.span() == span)
}

/// Returns the patches that write the changes.
pub fn lower(
    dialect: &dyn Dialect,
    located: &LocatedPlan<'_>,
    changes: &[FieldEdit],
) -> Result<Vec<Patch>, PatchRefusal> {
    let mut patches = Vec::new();
    for (owner, own) in by_owner(changes) {
        let (Some((object, route)), Some(table)) = (located.owner(owner), dialect.table_of(located.plan, owner)) else {
            return Err(PatchRefusal::NotFound {
                route: "a task that stands elsewhere".to_owned(),
                span: located.tasks.span(),
            });
        };
        // In the order of the table, so that new members are in that order.
        for spec in table.fields {
            for change in own.iter().filter(|change| change.field == spec.field) {
                lower_change(object, &route, table, spec.name, change, &mut patches);
            }
        }
    }
    Ok(patches)
}

/// Groups the changes by owner, in the order in which the owners first occur.
fn by_owner(changes: &[FieldEdit]) -> Vec<(Owner, Vec<&FieldEdit>)> {
    let mut groups: Vec<(Owner, Vec<&FieldEdit>)> = Vec::new();
    let mut places: HashMap<Owner, usize> = HashMap::new();
    for change in changes {
        let ix = *places.entry(change.owner).or_insert_with(|| {
            groups.push((change.owner, Vec::new()));
            groups.len() - 1
        });
        groups[ix].1.push(change);
    }
    groups
}

fn lower_change(
    object: NodeRef<'_>,
    route: &Route,
    table: &FieldTable,
    key: &str,
    change: &FieldEdit,
    patches: &mut Vec<Patch>,
) {
    let Some((last, between)) = change.within.split_last() else {
        let place = |object: NodeRef<'_>| place_of(object, table, key);
        lower_action(object, route, key, &change.action, &place, patches);
        return;
    };
    let mut node = object.get(key);
    let mut inner = route.clone().key(key);
    for step in between {
        node = node.and_then(|node| follow(node, step));
        inner = inner.step(step.clone());
    }
    if let (Some(node), RouteStep::Key(key)) = (node, last) {
        lower_action(node, &inner, key, &change.action, &|_| MemberPosition::Last, patches);
    }
}

/// Changes a member of an object; a new one is inserted at the position that a function returns.
fn lower_action(
    node: NodeRef<'_>,
    route: &Route,
    key: &str,
    action: &FieldAction,
    place: &dyn Fn(NodeRef<'_>) -> MemberPosition,
    patches: &mut Vec<Patch>,
) {
    match (action, node.get(key)) {
        (FieldAction::Set(value), _) => set_member(node, route, key, value, place, patches),
        (FieldAction::Push(value), Some(list)) if list.kind() == NodeKind::Array => {
            patches.push(Patch::InsertElement {
                array: route.clone().key(key),
                index: list.elements().count(),
                value: value.clone(),
                beside: None,
            })
        }
        (FieldAction::Push(value), _) => {
            let list = PlainValue::Array(vec![value.clone()]);
            set_member(node, route, key, &list, place, patches);
        }
        (FieldAction::Remove, Some(_)) => patches.push(Patch::RemoveMember {
            object: route.clone(),
            key: key.to_owned(),
        }),
        (FieldAction::Remove, None) => {}
    }
}

fn follow<'d>(node: NodeRef<'d>, step: &RouteStep) -> Option<NodeRef<'d>> {
    match step {
        RouteStep::Key(key) => node.get(key),
        RouteStep::Index(index) => node.elements().nth(*index),
    }
}

fn set_member(
    object: NodeRef<'_>,
    route: &Route,
    key: &str,
    value: &PlainValue,
    place: &dyn Fn(NodeRef<'_>) -> MemberPosition,
    patches: &mut Vec<Patch>,
) {
    let insert = |place| Patch::InsertMember {
        object: route.clone(),
        key: key.to_owned(),
        value: value.clone(),
        place,
    };
    let Some(old) = object.get(key) else {
        patches.push(insert(place(object)));
        return;
    };
    if value.is_value_of(old) {
        return;
    }
    let is_plain = !matches!(old.kind(), NodeKind::Array | NodeKind::Object);
    if is_plain && (value.is_scalar() || object.document().format() == DocumentFormat::Json) {
        patches.push(Patch::ReplaceScalar {
            at: route.clone().key(key),
            value: value.clone(),
        });
        return;
    }
    // A collection is removed as a whole, and its replacement is inserted.
    patches.push(Patch::RemoveMember {
        object: route.clone(),
        key: key.to_owned(),
    });
    patches.push(insert(place_before(object, key)));
}

/// Returns the position right before a member.
fn place_before(object: NodeRef<'_>, key: &str) -> MemberPosition {
    let mut before = MemberPosition::First;
    for member in object.own_members() {
        let own = member.key.text().unwrap_or_default();
        if own == key {
            return before;
        }
        before = MemberPosition::After(own.into_owned());
    }
    MemberPosition::Last
}

/// Returns the position of a new member: after the nearest existing earlier field of the table, otherwise before the nearest later one.
fn place_of(object: NodeRef<'_>, table: &FieldTable, key: &str) -> MemberPosition {
    let (before, after) = match table.fields.iter().position(|spec| spec.name == key) {
        Some(ix) => (&table.fields[..ix], &table.fields[ix + 1..]),
        None => return MemberPosition::Last,
    };
    let is_there = |name: &str| object.own_members().any(|member| member.key.is_text(name));
    if let Some(earlier) = before.iter().rev().find(|spec| is_there(spec.name)) {
        return MemberPosition::After(earlier.name.to_owned());
    }
    match after.iter().find(|spec| is_there(spec.name)) {
        Some(later) => place_before(object, later.name),
        None => MemberPosition::Last,
    }
}
