//! From routes to rows: finds the target of each patch, refuses protected ones, and compares the new document with the prediction.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::scalar::ScalarContext;
use super::{MemberPosition, Patch, PatchRefusal, PlainValue};
use crate::document::route::{Route, RouteStep};
use crate::document::{Document, DocumentFormat, NodeKind, NodeRef, Parsed, is_merge_key};

/// Objects with more members than this get an index by key.
const INDEX_FROM: usize = 16;

/// The changes of a list of patches, by row.
#[derive(Default)]
pub(crate) struct Changes<'p> {
    /// Scalars and their new values.
    pub(in crate::document) scalars: BTreeMap<usize, (ScalarContext, &'p PlainValue)>,
    /// Keys and their new texts.
    pub(in crate::document) renames: BTreeMap<usize, (ScalarContext, &'p str)>,
    /// Collections with removed or new children.
    pub(crate) collections: BTreeMap<usize, CollectionChange<'p>>,
}

/// The changes of one collection's children.
#[derive(Default)]
pub(crate) struct CollectionChange<'p> {
    /// The context of the collection itself.
    pub(super) context: ScalarContext,
    /// Positions of the removed children.
    pub(crate) removed: BTreeSet<usize>,
    /// New children by the position of the next old child; the number of children for the end.
    pub(crate) inserted: BTreeMap<usize, Vec<NewChild<'p>>>,
}

impl<'p> CollectionChange<'p> {
    /// Returns the new children in their order.
    pub(super) fn new_children(&self) -> Vec<NewChild<'p>> {
        self.inserted.values().flatten().copied().collect()
    }

    /// Returns the positions of the remaining children.
    pub(super) fn kept(&self, n_children: usize) -> Vec<usize> {
        (0..n_children)
            .filter(|position| !self.removed.contains(position))
            .collect()
    }
}

/// A new member, or a new element if there is no key.
#[derive(Clone, Copy)]
pub(crate) struct NewChild<'p> {
    pub(crate) key: Option<&'p str>,
    pub(crate) value: &'p PlainValue,
    /// The old element whose level it gets.
    pub(crate) beside: Option<usize>,
}

/// Finds the targets of the patches.
pub(super) fn resolve<'p>(document: &Document, patches: &'p [Patch]) -> Result<Changes<'p>, PatchRefusal> {
    refuse_document(document)?;
    let mut resolver = Resolver {
        document,
        children: HashMap::new(),
        changes: Changes::default(),
        context: ScalarContext::Block,
    };
    for patch in patches {
        resolver.patch(patch)?;
    }
    resolver.refuse_clashes()?;
    Ok(resolver.changes)
}

/// Refuses documents that are not completely parsed or not editable.
pub(super) fn refuse_document(document: &Document) -> Result<(), PatchRefusal> {
    if let Some(damage) = document.source().damage() {
        return Err(PatchRefusal::Damaged(damage.span));
    }
    let features = document.features();
    match () {
        () if document.is_broken() => Err(PatchRefusal::Broken),
        () if features.multi_document => Err(PatchRefusal::MultiDocument),
        () if features.tabs => Err(PatchRefusal::Tabs),
        () if features.lone_returns => Err(PatchRefusal::LoneReturn),
        () => Ok(()),
    }
}

/// The children of a visited collection: rows of keys or elements, in order.
struct Children<'d> {
    rows: Vec<usize>,
    /// First position and number of occurrences of each key; empty for small objects.
    by_key: HashMap<Cow<'d, str>, (usize, usize)>,
    merge_key: Option<usize>,
}

impl<'d> Children<'d> {
    fn of(node: NodeRef<'d>) -> Self {
        let mut children = Children {
            rows: Vec::new(),
            by_key: HashMap::new(),
            merge_key: None,
        };
        if node.kind() == NodeKind::Array {
            children.rows.extend(node.elements().map(NodeRef::row));
            return children;
        }
        for member in node.own_members() {
            if node.document().format() == DocumentFormat::Yaml && is_merge_key(member.key) {
                children.merge_key = Some(member.key.row());
            }
            children.rows.push(member.key.row());
        }
        if children.rows.len() > INDEX_FROM {
            for (position, member) in node.own_members().enumerate() {
                let key = member.key.text().unwrap_or_default();
                children.by_key.entry(key).or_insert((position, 0)).1 += 1;
            }
        }
        children
    }

    /// Returns the first position of a key and its number of occurrences.
    fn find(&self, document: &Document, key: &str) -> Option<(usize, usize)> {
        if self.rows.len() > INDEX_FROM {
            return self.by_key.get(key).copied();
        }
        let mut positions = (0..self.rows.len()).filter(|&position| document.at(self.rows[position]).is_text(key));
        let first = positions.next()?;
        Some((first, 1 + positions.count()))
    }
}

struct Resolver<'d, 'p> {
    document: &'d Document,
    children: HashMap<usize, Children<'d>>,
    changes: Changes<'p>,
    /// The context of the last visited node.
    context: ScalarContext,
}

impl<'d, 'p> Resolver<'d, 'p> {
    fn patch(&mut self, patch: &'p Patch) -> Result<(), PatchRefusal> {
        match patch {
            Patch::ReplaceScalar { at, value } => self.replace(at, value),
            Patch::InsertMember {
                object,
                key,
                value,
                place,
            } => self.insert_member(object, key, value, place),
            Patch::RemoveMember { object, key } => {
                let node = self.collection(object, NodeKind::Object)?;
                let position = self.member(node, object, key)?;
                let key_row = self.children(node).rows[position];
                self.refuse_node(self.document.at(key_row))?;
                self.remove(node, position, key_row + 1)
            }
            Patch::RenameKey { object, key, to } => self.rename(object, key, to),
            Patch::InsertElement {
                array,
                index,
                value,
                beside,
            } => {
                let node = self.collection(array, NodeKind::Array)?;
                self.check_index(node, *index, 1)?;
                let beside = *beside;
                let key = None;
                self.insert(node, *index, NewChild { key, value, beside })
            }
            Patch::RemoveElement { array, index } => {
                let node = self.collection(array, NodeKind::Array)?;
                self.check_index(node, *index, 0)?;
                let row = self.children(node).rows[*index];
                self.remove(node, *index, row)
            }
        }
    }

    fn children(&mut self, node: NodeRef<'d>) -> &Children<'d> {
        self.children.entry(node.row()).or_insert_with(|| Children::of(node))
    }

    fn not_found(&self, route: &Route, at: NodeRef<'_>) -> PatchRefusal {
        PatchRefusal::NotFound {
            route: route.to_string(),
            span: at.span(),
        }
    }

    /// Follows a route, and refuses nodes that edits must not pass through.
    fn walk(&mut self, route: &Route) -> Result<NodeRef<'d>, PatchRefusal> {
        let Some(mut node) = self.document.root() else {
            return Err(PatchRefusal::NotFound {
                route: route.to_string(),
                span: self.document.extent(),
            });
        };
        self.refuse_node(node)?;
        self.context = ScalarContext::Block;
        for step in route.steps() {
            self.context = ScalarContext::within(node);
            node = match (step, node.kind()) {
                (RouteStep::Key(key), NodeKind::Object) => {
                    let position = self.member(node, route, key)?;
                    let key_row = self.children(node).rows[position];
                    self.refuse_node(self.document.at(key_row))?;
                    self.document.at(key_row + 1)
                }
                (RouteStep::Index(index), NodeKind::Array) => {
                    let row = self.children(node).rows.get(*index).copied();
                    self.document.at(row.ok_or_else(|| self.not_found(route, node))?)
                }
                _ => return Err(self.not_found(route, node)),
            };
            self.refuse_node(node)?;
        }
        Ok(node)
    }

    fn refuse_node(&self, node: NodeRef<'_>) -> Result<(), PatchRefusal> {
        if node.kind() == NodeKind::Alias {
            return Err(PatchRefusal::Alias(node.span()));
        }
        if node.kind() == NodeKind::Invalid {
            return Err(PatchRefusal::Broken);
        }
        if self.document.format() == DocumentFormat::Yaml && node.kind() == NodeKind::Key && is_merge_key(node) {
            return Err(PatchRefusal::MergeKey(node.span()));
        }
        self.refuse_decorated_rows(node.row(), 1)
    }

    fn refuse_decorated_rows(&self, first: usize, n_rows: usize) -> Result<(), PatchRefusal> {
        let decorated = &self.document.features().unpatchable;
        let at = decorated.partition_point(|&row| (row as usize) < first);
        match decorated.get(at) {
            Some(&row) if (row as usize) < first + n_rows => {
                Err(PatchRefusal::Decorated(self.document.at(row as usize).span()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the position of a member that exists exactly once.
    fn member(&mut self, node: NodeRef<'d>, route: &Route, key: &str) -> Result<usize, PatchRefusal> {
        let document = self.document;
        let children = self.children(node);
        let merge_key = children.merge_key;
        match children.find(document, key) {
            Some((position, 1)) => Ok(position),
            Some((position, _)) => Err(PatchRefusal::RepeatedKey {
                key: key.to_owned(),
                span: document.at(children.rows[position]).span(),
            }),
            None => match merge_key {
                Some(row) if node.get(key).is_some() => Err(PatchRefusal::MergeKey(document.at(row).span())),
                _ => Err(self.not_found(route, node)),
            },
        }
    }

    /// Returns a collection whose children may change.
    fn collection(&mut self, route: &Route, kind: NodeKind) -> Result<NodeRef<'d>, PatchRefusal> {
        let node = self.walk(route)?;
        let left_out =
            self.document.format() == DocumentFormat::Yaml && node.kind() == NodeKind::Null && node.span().is_empty();
        if node.kind() != kind && !left_out {
            let expected = if kind == NodeKind::Object {
                "an object"
            } else {
                "an array"
            };
            return Err(PatchRefusal::WrongKind {
                expected,
                found: node.describe(),
                span: node.span(),
            });
        }
        match self.children(node).merge_key {
            Some(row) => Err(PatchRefusal::MergeKey(self.document.at(row).span())),
            None => Ok(node),
        }
    }

    fn replace(&mut self, at: &Route, value: &'p PlainValue) -> Result<(), PatchRefusal> {
        let node = self.walk(at)?;
        if matches!(node.kind(), NodeKind::Object | NodeKind::Array) {
            return Err(PatchRefusal::WrongKind {
                expected: "a scalar",
                found: node.describe(),
                span: node.span(),
            });
        }
        match self.changes.scalars.insert(node.row(), (self.context, value)) {
            Some(_) => Err(PatchRefusal::Overlap(node.span())),
            None => Ok(()),
        }
    }

    fn insert_member(
        &mut self,
        object: &Route,
        key: &'p str,
        value: &'p PlainValue,
        place: &MemberPosition,
    ) -> Result<(), PatchRefusal> {
        let node = self.collection(object, NodeKind::Object)?;
        let slot = match place {
            MemberPosition::First => 0,
            MemberPosition::Last => self.children(node).rows.len(),
            MemberPosition::After(other) => self.member(node, &object.clone().key(other.as_str()), other)? + 1,
        };
        self.insert(
            node,
            slot,
            NewChild {
                key: Some(key),
                value,
                beside: None,
            },
        )
    }

    fn rename(&mut self, object: &Route, key: &str, to: &'p str) -> Result<(), PatchRefusal> {
        let node = self.collection(object, NodeKind::Object)?;
        let position = self.member(node, &object.clone().key(key), key)?;
        let row = self.children(node).rows[position];
        self.refuse_node(self.document.at(row))?;
        if key == to {
            return Ok(());
        }
        match self.changes.renames.insert(row, (ScalarContext::within(node), to)) {
            Some(_) => Err(PatchRefusal::Overlap(self.document.at(row).span())),
            None => {
                // An entry for the object, so that its keys are checked for clashes.
                self.change(node);
                Ok(())
            }
        }
    }

    /// Returns the changes of the last visited collection.
    fn change(&mut self, node: NodeRef<'_>) -> &mut CollectionChange<'p> {
        let change = self.changes.collections.entry(node.row()).or_default();
        change.context = self.context;
        change
    }

    fn check_index(&mut self, node: NodeRef<'d>, index: usize, extra: usize) -> Result<(), PatchRefusal> {
        let n_elements = self.children(node).rows.len();
        if index < n_elements + extra {
            return Ok(());
        }
        Err(PatchRefusal::IndexOutOfRange {
            index,
            n_elements,
            span: node.span(),
        })
    }

    fn insert(&mut self, node: NodeRef<'d>, slot: usize, child: NewChild<'p>) -> Result<(), PatchRefusal> {
        self.change(node).inserted.entry(slot).or_default().push(child);
        Ok(())
    }

    fn remove(&mut self, node: NodeRef<'d>, position: usize, value_row: usize) -> Result<(), PatchRefusal> {
        let value = self.document.at(value_row);
        if value.kind() == NodeKind::Alias {
            return Err(PatchRefusal::Alias(value.span()));
        }
        self.refuse_decorated_rows(value_row, value.n_rows())?;
        if self.change(node).removed.insert(position) {
            Ok(())
        } else {
            Err(PatchRefusal::Overlap(value.span()))
        }
    }

    /// Refuses new keys that already exist, and changes inside removed parts.
    fn refuse_clashes(&mut self) -> Result<(), PatchRefusal> {
        let rows: Vec<usize> = self.changes.collections.keys().copied().collect();
        for row in rows {
            self.refuse_key_clashes(self.document.at(row))?;
        }
        Ok(())
    }

    fn refuse_key_clashes(&mut self, node: NodeRef<'d>) -> Result<(), PatchRefusal> {
        self.children(node);
        let document = self.document;
        let Some((children, change)) = self
            .children
            .get(&node.row())
            .zip(self.changes.collections.get(&node.row()))
        else {
            return Ok(());
        };
        let renamed = children
            .rows
            .iter()
            .filter_map(|row| self.changes.renames.get(row).map(|(_, key)| *key));
        let inserted = change.inserted.values().flatten().filter_map(|child| child.key);
        let mut seen = BTreeSet::new();
        for key in renamed.chain(inserted) {
            let there = children.find(document, key).filter(|(position, count)| {
                let goes =
                    change.removed.contains(position) || self.changes.renames.contains_key(&children.rows[*position]);
                *count > 1 || !goes
            });
            if there.is_some() || !seen.insert(key) {
                let span = there.map_or(node.span(), |(position, _)| document.at(children.rows[position]).span());
                return Err(PatchRefusal::KeyExists {
                    key: key.to_owned(),
                    span,
                });
            }
        }
        Ok(())
    }
}

impl Changes<'_> {
    /// Returns the new value of a scalar, by its row.
    pub(crate) fn scalar(&self, row: usize) -> Option<&PlainValue> {
        self.scalars.get(&row).map(|(_, value)| *value)
    }

    /// Returns the rows of the scalars with new values.
    pub(crate) fn scalar_rows(&self) -> impl Iterator<Item = usize> {
        self.scalars.keys().copied()
    }

    /// Returns whether the new document has exactly the predicted content.
    pub(super) fn agree_with(&self, old: &Document, new: &Parsed) -> bool {
        if new.document.is_broken() || new.document.features().multi_document {
            return false;
        }
        match (old.root(), new.document.root()) {
            (Some(old), Some(new)) => self.agree(old, new),
            (None, None) => true,
            _ => false,
        }
    }

    fn agree(&self, old: NodeRef<'_>, new: NodeRef<'_>) -> bool {
        if let Some((_, value)) = self.scalars.get(&old.row()) {
            return value.is_value_of(new);
        }
        let change = self.collections.get(&old.row());
        // JSON means the same everywhere: an unchanged node with the same bytes has the same value.
        if old.document().format() == DocumentFormat::Json && !self.is_within(old) && old.slice() == new.slice() {
            return true;
        }
        match old.kind() {
            NodeKind::Object | NodeKind::Array => {}
            NodeKind::Null if change.is_some() => {}
            kind => return kind == new.kind() && same_scalar(old, new),
        }
        let nothing = CollectionChange::default();
        self.children_agree(old, new, change.unwrap_or(&nothing))
    }

    /// Returns whether a change concerns a node or a part of it.
    fn is_within(&self, node: NodeRef<'_>) -> bool {
        let rows = node.row()..node.row() + node.n_rows();
        self.scalars.range(rows.clone()).next().is_some()
            || self.renames.range(rows.clone()).next().is_some()
            || self.collections.range(rows).next().is_some()
    }

    fn children_agree(&self, old: NodeRef<'_>, new: NodeRef<'_>, change: &CollectionChange<'_>) -> bool {
        let is_object = match old.kind() {
            NodeKind::Object => true,
            NodeKind::Array => false,
            _ => change.inserted.values().flatten().any(|child| child.key.is_some()),
        };
        if new.kind() != if is_object { NodeKind::Object } else { NodeKind::Array } {
            return false;
        }
        let mut new_members = new.own_members();
        let mut new_elements = new.elements();
        let mut next = || {
            if is_object {
                new_members.next().map(|member| (Some(member.key), member.value))
            } else {
                new_elements.next().map(|element| (None, element))
            }
        };
        let old_children = old.own_members().map(|member| (Some(member.key), member.value)).chain(
            (!is_object)
                .then(|| old.elements().map(|element| (None, element)))
                .into_iter()
                .flatten(),
        );
        let mut position = 0;
        for (old_key, old_value) in old_children {
            if !inserted_agree(change, position, &mut next) {
                return false;
            }
            if !change.removed.contains(&position) {
                let Some((new_key, new_value)) = next() else {
                    return false;
                };
                if !self.keys_agree(old_key, new_key) || !self.agree(old_value, new_value) {
                    return false;
                }
            }
            position += 1;
        }
        inserted_agree(change, position, &mut next) && next().is_none()
    }

    fn keys_agree(&self, old: Option<NodeRef<'_>>, new: Option<NodeRef<'_>>) -> bool {
        match (old, new) {
            (None, None) => true,
            (Some(old), Some(new)) => match self.renames.get(&old.row()) {
                Some((_, key)) => new.is_text(key),
                None => old.text() == new.text(),
            },
            _ => false,
        }
    }
}

fn inserted_agree<'d>(
    change: &CollectionChange<'_>,
    position: usize,
    next: &mut impl FnMut() -> Option<(Option<NodeRef<'d>>, NodeRef<'d>)>,
) -> bool {
    let children = change.inserted.get(&position).map_or(&[][..], Vec::as_slice);
    children.iter().all(|child| {
        next().is_some_and(|(key, value)| {
            let same_key = match (child.key, key) {
                (Some(wanted), Some(key)) => key.is_text(wanted),
                (None, None) => true,
                _ => false,
            };
            same_key && child.value.is_value_of(value)
        })
    })
}

fn same_scalar(old: NodeRef<'_>, new: NodeRef<'_>) -> bool {
    match old.kind() {
        NodeKind::String => old.value() == new.value(),
        NodeKind::Number | NodeKind::Alias => old.slice() == new.slice(),
        _ => true,
    }
}
