//! Migrates v2.x and `prd.json` to v3 by the specification's table, and leaves the rest of the text unchanged.

use super::super::id_source::IdSource;
use super::super::writer::{Migration, MigrationOrder, member, number, slug, text};
use super::is_branch;
use super::statuses::DEFAULT_SLOTS;
use crate::document::patch::{MemberPosition, Patch, PlainValue};
use crate::document::route::Route;
use crate::document::{NodeKind, NodeRef};
use crate::plan::{Field, Plan, Status};

/// Returns the migration of a v2 plan to v3. Layers are computed first, then the edges between them, then the numbers.
pub(super) fn migrate(plan: &Plan, root: NodeRef<'_>, order: &MigrationOrder, id_source: &IdSource<'_>) -> Migration {
    let mut migration = Migration::default();
    migrate_version(root, &mut migration);
    match root.get("metadata").map(|metadata| metadata.resolved().kind()) {
        Some(NodeKind::Object) => migrate_slots(root, order, &mut migration),
        _ => add_metadata(plan, root, order, id_source, &mut migration),
    }
    let layers = Layers::new(plan);
    migration.n_edges = match plan.has_stages {
        true => layers.n_edges(),
        false => plan.all_dependencies().len(),
    };
    // The caller refuses this many, so they are not written.
    if migration.n_edges > crate::dialect::writer::MAX_EDGES {
        return migration;
    }
    let priorities = new_priorities(plan, &mut migration);
    let stories = root.get("userStories").into_iter().flat_map(NodeRef::elements);
    for (story_ix, story) in stories.enumerate() {
        migrate_story(plan, story_ix, story, &layers, &mut migration);
        if let Some(priority) = priorities.get(story_ix) {
            migration.patches.push(Patch::ReplaceScalar {
                at: story_route(story_ix).key("priority"),
                value: number(priority),
            });
        }
    }
    migration
}

fn story_route(story_ix: usize) -> Route {
    Route::root().key("userStories").index(story_ix)
}

fn migrate_version(root: NodeRef<'_>, migration: &mut Migration) {
    migration.patches.push(match root.get("schemaVersion") {
        Some(_) => Patch::ReplaceScalar {
            at: Route::root().key("schemaVersion"),
            value: text("3.0"),
        },
        None => Patch::InsertMember {
            object: Route::root(),
            key: "schemaVersion".to_owned(),
            value: text("3.0"),
            place: MemberPosition::First,
        },
    });
}

/// Adds the number of slots. An existing one stays unless the user requests another.
fn migrate_slots(root: NodeRef<'_>, order: &MigrationOrder, migration: &mut Migration) {
    let own = root.get("metadata").and_then(|metadata| metadata.get("maxConcurrency"));
    let slots = order.max_concurrency.unwrap_or(DEFAULT_SLOTS);
    match own {
        None => migration.patches.push(Patch::InsertMember {
            object: Route::root().key("metadata"),
            key: "maxConcurrency".to_owned(),
            value: number(slots),
            place: MemberPosition::Last,
        }),
        Some(_) if order.max_concurrency.is_some() => migration.patches.push(Patch::ReplaceScalar {
            at: Route::root().key("metadata").key("maxConcurrency"),
            value: number(slots),
        }),
        Some(_) => {}
    }
}

/// Builds the metadata of a `prd.json` from the members of its root.
fn add_metadata(
    plan: &Plan,
    root: NodeRef<'_>,
    order: &MigrationOrder,
    id_source: &IdSource<'_>,
    migration: &mut Migration,
) {
    let said = |field: Field| plan.head_str(field).filter(|text| !text.trim().is_empty());
    let title = said(Field::Project)
        .or_else(|| said(Field::Description))
        .unwrap_or("Untitled plan");
    let branch = match said(Field::Branch).filter(|branch| is_branch(branch)) {
        Some(branch) => branch.to_owned(),
        None => format!(
            "feat/{}",
            Some(slug(title, 40))
                .filter(|name| !name.is_empty())
                .unwrap_or("plan".to_owned())
        ),
    };
    let place = super::super::reader::opening(root);
    migration.notes.push((
        place,
        format!(
            "`metadata` is new: type `feat`, branch `{branch}`, created {}",
            id_source.date()
        ),
    ));
    let metadata = PlainValue::Object(vec![
        member("title", text(title)),
        member("type", text("feat")),
        member("branchName", text(branch)),
        member("createdAt", text(id_source.date())),
        member("planPath", PlainValue::Null),
        member("maxConcurrency", number(order.max_concurrency.unwrap_or(DEFAULT_SLOTS))),
    ]);
    // A new version member has no span to insert after.
    let place = match root.get("schemaVersion") {
        Some(_) => MemberPosition::After("schemaVersion".to_owned()),
        None => MemberPosition::First,
    };
    let insert = Patch::InsertMember {
        object: Route::root(),
        key: "metadata".to_owned(),
        value: metadata,
        place,
    };
    migration.patches.push(insert);
    // If the title was taken from the description, the description stays: v3 has no other place for it.
    let moved = ["project", "branchName"]
        .into_iter()
        .filter(|key| root.get(key).is_some());
    migration.patches.extend(moved.map(|key| Patch::RemoveMember {
        object: Route::root(),
        key: key.to_owned(),
    }));
}

/// The stories of equal priority, lowest first.
struct Layers {
    members: Vec<Vec<usize>>,
}

impl Layers {
    fn new(plan: &Plan) -> Self {
        let n_layers = plan
            .tasks()
            .iter()
            .map(|story| story.stage as usize + 1)
            .max()
            .unwrap_or(0);
        let mut members = vec![Vec::new(); n_layers];
        for (story_ix, story) in plan.tasks().iter().enumerate() {
            members[story.stage as usize].push(story_ix);
        }
        Layers { members }
    }

    fn n_edges(&self) -> usize {
        let pairs = self
            .members
            .windows(2)
            .map(|pair| pair[0].len().saturating_mul(pair[1].len()));
        pairs.fold(0, usize::saturating_add)
    }

    /// Returns the stories of the previous layer.
    fn before(&self, plan: &Plan, story_ix: usize) -> &[usize] {
        let stage = plan.tasks().get(story_ix).map_or(0, |story| story.stage as usize);
        let layer = stage.checked_sub(1).and_then(|before| self.members.get(before));
        layer.map_or(&[], Vec::as_slice)
    }
}

fn migrate_story(plan: &Plan, story_ix: usize, story: NodeRef<'_>, layers: &Layers, migration: &mut Migration) {
    let status = match plan.tasks().get(story_ix).map(|story| story.status) {
        Some(Status::Done) => "completed",
        Some(Status::Skipped) => "skipped",
        // Until now known from the journal alone.
        Some(Status::Running) => "in_progress",
        Some(Status::Failed) => "failed",
        _ => "pending",
    };
    let before = layers.before(plan, story_ix).iter().filter(|_| plan.has_stages);
    let names = before.map(|&before| text(plan.task_name(before)));
    let depends_on = PlainValue::Array(names.collect());
    let route = story_route(story_ix);
    let has = |key: &str| story.get(key).is_some();
    let patches = &mut migration.patches;
    let remove = |key: &str| Patch::RemoveMember {
        object: route.clone(),
        key: key.to_owned(),
    };
    let insert = |key: &str, value: PlainValue, place: MemberPosition| Patch::InsertMember {
        object: route.clone(),
        key: key.to_owned(),
        value,
        place,
    };
    // This form ignores the other version's member, which is removed.
    let keeps_dependencies = !plan.has_stages && has("dependsOn");
    let in_vain = ["status", "dependsOn"].into_iter().filter(|key| has(key));
    patches.extend(
        in_vain
            .filter(|key| *key == "status" || !keeps_dependencies)
            .map(remove),
    );
    patches.push(Patch::ReplaceScalar {
        at: route.clone().key("passes"),
        value: text(status),
    });
    if !keeps_dependencies {
        patches.push(insert(
            "dependsOn",
            depends_on,
            MemberPosition::After("passes".to_owned()),
        ));
    }
    if has("skipped") {
        patches.push(remove("skipped"));
    }
    patches.push(Patch::RenameKey {
        object: route.clone(),
        key: "passes".to_owned(),
        to: "status".to_owned(),
    });
}

/// Returns new numbers if two stories have the same: by layer, then by position.
fn new_priorities(plan: &Plan, migration: &mut Migration) -> Vec<usize> {
    let mut order: Vec<usize> = (0..plan.tasks().len()).collect();
    order.sort_by_key(|&ix| plan.tasks()[ix].stage);
    let stage = |ix: usize| plan.tasks()[ix].stage;
    let Some(twins) = order.windows(2).find(|pair| stage(pair[0]) == stage(pair[1])) else {
        return Vec::new();
    };
    let message = format!(
        "`{}` and `{}` have the same priority: the stories are numbered again from 1 to {}",
        plan.task_name(twins[0]),
        plan.task_name(twins[1]),
        order.len()
    );
    let span = plan
        .value(&plan.tasks()[twins[1]], Field::Priority)
        .map(|value| plan.span(value));
    migration
        .notes
        .push((span.unwrap_or(plan.tasks()[twins[1]].span), message));
    let mut priorities = vec![0; order.len()];
    for (place, ix) in order.into_iter().enumerate() {
        priorities[ix] = place + 1;
    }
    priorities
}
