//! The waves of a contract after an edit of its tasks: the new assignment, and the patches.

use std::collections::{HashMap, HashSet};

use super::super::{CannotFollow, Note};
use super::follow::{ContractEdit, js_name};
use super::js::JsView;
use super::rewave::{WaveTask, place};
use crate::document::patch::{Patch, PlainValue};
use crate::document::route::Route;
use crate::document::{NodeKind, NodeRef};
use crate::text::{Span, visible};

/// One entry of `execution_waves`.
#[derive(Clone)]
pub(super) struct EditedWave {
    /// What JavaScript would call it.
    name: String,
    /// What it is called.
    value: PlainValue,
    /// Its place in the list; none for a wave that is to be made.
    index: Option<usize>,
    /// The tasks it lists.
    members: Vec<Option<String>>,
}

impl EditedWave {
    fn new(value: PlainValue) -> Self {
        let name = match &value {
            PlainValue::String(text) | PlainValue::Number(text) => text.clone(),
            _ => String::new(),
        };
        EditedWave {
            name,
            value,
            index: None,
            members: Vec::new(),
        }
    }

    fn number(&self) -> Option<i64> {
        match self.value {
            PlainValue::Number(_) => self.name.parse().ok(),
            _ => None,
        }
    }
}

/// Returns the waves of a contract, or the place where they make no sense.
pub(super) fn read_waves(root: NodeRef<'_>) -> Result<Vec<EditedWave>, Span> {
    let list = root
        .get("execution_waves")
        .filter(|list| list.kind() == NodeKind::Array);
    let mut waves: Vec<EditedWave> = Vec::new();
    let mut names = HashSet::new();
    for (index, wave) in list.ok_or(root.span())?.elements().enumerate() {
        let id = wave.get("wave").filter(|id| JsView::of(*id).is_string_or_number());
        let tasks = wave.get("tasks").filter(|tasks| tasks.kind() == NodeKind::Array);
        let (Some(id), Some(tasks)) = (id, tasks) else {
            return Err(wave.span());
        };
        let name = js_name(id);
        if name.is_empty() || !names.insert(name.clone()) {
            return Err(id.span());
        }
        let member = |task: NodeRef<'_>| task.text().map(|id| id.into_owned());
        waves.push(EditedWave {
            name,
            value: PlainValue::of(id),
            index: Some(index),
            members: tasks.elements().map(member).collect(),
        });
    }
    Ok(waves)
}

/// Where a task is to go.
enum WaveChoice {
    /// It stays, unless something pushes it.
    Stay,
    /// Wherever there is room.
    Room,
    /// To the wave with this name.
    Named(String),
}

impl ContractEdit<'_> {
    fn wish(&self, new_ix: usize) -> WaveChoice {
        let row = &self.new.rows[new_ix];
        let named = || row.wave.clone().filter(|name| !name.trim().is_empty());
        match self.origin_of(new_ix) {
            None => named().map_or(WaveChoice::Room, WaveChoice::Named),
            Some(old) if old.get("wave") == row.get("wave") => WaveChoice::Stay,
            Some(_) => named().map_or(WaveChoice::Stay, WaveChoice::Named),
        }
    }

    /// Returns what the contract's waves need, and says what moves.
    pub(super) fn wave_patches(&self, notes: &mut Vec<Note>) -> Result<Vec<Patch>, CannotFollow> {
        let rows = &self.new.rows;
        let wishes: Vec<WaveChoice> = (0..rows.len()).map(|ix| self.wish(ix)).collect();
        let new_edges = self.new_edges();
        let is_concerned = |ix: usize| {
            let is_renamed = self.origin_of(ix).is_some_and(|old| old.id != rows[ix].id);
            is_renamed || !matches!(wishes[ix], WaveChoice::Stay)
        };
        if self.gone().is_empty() && new_edges.is_empty() && !(0..rows.len()).any(is_concerned) {
            return Ok(Vec::new());
        }
        let mut waves = match (&self.new.waves, &self.old.waves) {
            (Ok(waves), _) => waves.clone(),
            (Err(_), Err(span)) | (Err(span), Ok(_)) => {
                return Err(CannotFollow {
                    span: *span,
                    message: "the waves cannot follow, as `execution_waves` is not in order".to_owned(),
                    help: "edit that place by hand; `planwright check` shows what is wrong".to_owned(),
                });
            }
        };
        for wish in &wishes {
            if let WaveChoice::Named(name) = wish {
                self.declare(name, &mut waves)?;
            }
        }
        let positions = self.positions(&wishes, &new_edges, &waves);
        let n_waves = positions.iter().flatten().max().map_or(0, |last| last + 1);
        while waves.len() < n_waves {
            let value = next_name(&waves).ok_or_else(|| self.nameless(&positions, &waves))?;
            waves.push(EditedWave::new(value));
        }
        let arrangement = Arrangement {
            step: self,
            wishes,
            positions,
            waves,
        };
        Ok(arrangement.patches(notes))
    }

    /// Returns the dependencies that are new.
    fn new_edges(&self) -> HashSet<(usize, usize)> {
        let n_old = self.old.rows.len();
        let edges = |ix: usize| self.old.edges(ix).into_iter().map(move |on| (ix, on));
        let old: HashSet<(usize, usize)> = (0..n_old).flat_map(edges).collect();
        let origin = self.edited.origin;
        let is_new = |&(ix, on): &(usize, usize)| match (origin[ix], origin[on]) {
            (Some(ix), Some(on)) => !old.contains(&(ix, on)),
            _ => true,
        };
        let edges = |ix: usize| self.new.edges(ix).into_iter().map(move |on| (ix, on));
        (0..self.new.rows.len()).flat_map(edges).filter(is_new).collect()
    }

    /// Makes sure that there is a wave with a name: a number among numbers in its order, any other at the end.
    fn declare(&self, name: &str, waves: &mut Vec<EditedWave>) -> Result<(), CannotFollow> {
        if waves.iter().any(|wave| wave.name == name) {
            return Ok(());
        }
        let numbers: Option<Vec<i64>> = waves.iter().map(EditedWave::number).collect();
        let Some(numbers) = numbers else {
            waves.push(EditedWave::new(PlainValue::String(name.to_owned())));
            return Ok(());
        };
        let Ok(own) = name.parse::<i64>() else {
            let names: Vec<_> = waves.iter().map(|wave| visible(&wave.name)).collect();
            return Err(CannotFollow {
                span: self.old.waves_span,
                message: format!("there is no wave `{}`, and the waves are numbered", visible(name)),
                help: format!("the waves are {}; another number makes a new one", names.join(", ")),
            });
        };
        let at = numbers.iter().position(|number| *number > own).unwrap_or(numbers.len());
        waves.insert(at, EditedWave::new(PlainValue::Number(own.to_string())));
        Ok(())
    }

    fn nameless(&self, positions: &[Option<usize>], waves: &[EditedWave]) -> CannotFollow {
        let last = waves.last().map_or("", |wave| wave.name.as_str());
        let beyond = (0..positions.len()).find(|&ix| positions[ix].is_some_and(|at| at >= waves.len()));
        let task = beyond.map_or_else(|| "?".to_owned(), |ix| self.name_of(ix));
        let is_new = beyond.is_some_and(|ix| self.origin_of(ix).is_none());
        CannotFollow {
            span: self.old.waves_span,
            message: format!(
                "task `{task}` would need a wave after `{}`, and nothing says what to call it",
                visible(last)
            ),
            help: match is_new {
                true => "add wave=NAME, which makes one at the end".to_owned(),
                false => format!("`planwright set {task} wave=NAME` makes one at the end; then do this again"),
            },
        }
    }

    fn positions(
        &self,
        wishes: &[WaveChoice],
        new_edges: &HashSet<(usize, usize)>,
        waves: &[EditedWave],
    ) -> Vec<Option<usize>> {
        let names = waves.iter().map(|wave| wave.name.as_str());
        let position: HashMap<&str, usize> = names.zip(0..).collect();
        let at = |ix: usize| position.get(self.new.rows[ix].wave.as_deref()?).copied();
        let is_late = |ix: usize, on: usize| {
            let is_late = at(ix).zip(at(on)).is_some_and(|(own, theirs)| theirs >= own);
            is_late && new_edges.contains(&(ix, on))
        };
        let candidate = |ix: usize| {
            let on = self.new.edges(ix);
            WaveTask {
                at: at(ix),
                is_new: matches!(wishes[ix], WaveChoice::Room),
                has_new_dependency: matches!(wishes[ix], WaveChoice::Stay) && on.iter().any(|&on| is_late(ix, on)),
                files: self.new.rows[ix].texts("files"),
                on,
            }
        };
        let candidates: Vec<WaveTask<'_>> = (0..self.new.rows.len()).map(candidate).collect();
        place(&candidates)
    }
}

/// Returns a name for a wave after these: the next number, or the last name with its number raised.
fn next_name(waves: &[EditedWave]) -> Option<PlainValue> {
    let numbers: Option<Vec<i64>> = waves.iter().map(EditedWave::number).collect();
    if let Some(numbers) = numbers {
        let next = numbers.into_iter().max().unwrap_or(0).checked_add(1)?;
        return Some(PlainValue::Number(next.to_string()));
    }
    let last = &waves.last()?.name;
    let stem = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let next = last[stem.len()..].parse::<u32>().ok()?.checked_add(1)?;
    let name = format!("{stem}{next}");
    (!waves.iter().any(|wave| wave.name == name)).then_some(PlainValue::String(name))
}

/// The waves with the tasks where they are to be.
struct Arrangement<'a> {
    step: &'a ContractEdit<'a>,
    wishes: Vec<WaveChoice>,
    /// For each task the place of its wave among the waves.
    positions: Vec<Option<usize>>,
    waves: Vec<EditedWave>,
}

impl Arrangement<'_> {
    fn patches(&self, notes: &mut Vec<Note>) -> Vec<Patch> {
        let mut patches = Vec::new();
        let moving = self.task_patches(&mut patches, notes);
        let mut arriving: Vec<Vec<usize>> = vec![Vec::new(); self.waves.len()];
        for &ix in &moving {
            if let Some(at) = self.positions[ix] {
                arriving[at].push(ix);
            }
        }
        let moving: HashSet<usize> = moving.into_iter().collect();
        let by_old_id = self.by_old_id();
        let mut n_before = 0;
        for (at, wave) in self.waves.iter().enumerate() {
            match wave.index {
                Some(index) => {
                    n_before += 1;
                    let goes_on = |id: &Option<String>| {
                        let ix = by_old_id.get(id.as_deref()?).copied()?;
                        ix.filter(|ix| !moving.contains(ix) || self.positions[*ix] == Some(at))
                    };
                    let is_known = |id: &Option<String>| id.as_deref().is_some_and(|id| by_old_id.contains_key(id));
                    let members: Vec<WaveMember> = wave
                        .members
                        .iter()
                        .map(|id| match goes_on(id) {
                            Some(ix) => WaveMember::Task(ix),
                            None if is_known(id) => WaveMember::Leaves,
                            None => WaveMember::Unknown,
                        })
                        .collect();
                    self.list_patches(index, wave, &members, &arriving[at], &mut patches, notes);
                }
                None => {
                    let tasks = arriving[at].iter().map(|&ix| self.id(ix)).collect();
                    notes.push(happened(format!("wave {} is new", visible(&wave.name))));
                    patches.push(Patch::InsertElement {
                        array: list(),
                        index: n_before,
                        value: PlainValue::Object(vec![
                            ("wave".to_owned(), wave.value.clone()),
                            ("tasks".to_owned(), PlainValue::Array(tasks)),
                        ]),
                    });
                }
            }
        }
        patches
    }

    fn id(&self, ix: usize) -> PlainValue {
        PlainValue::String(self.step.new.rows[ix].id.clone().unwrap_or_default())
    }

    /// Returns for each old id what has become of its task; none where it is gone.
    fn by_old_id(&self) -> HashMap<&str, Option<usize>> {
        let rows = 0..self.step.new.rows.len();
        let kept = rows.filter_map(|ix| Some((self.step.origin_of(ix)?.id.as_deref()?, Some(ix))));
        let gone = self.step.gone().into_iter();
        let gone = gone.filter_map(|row| Some((row.id.as_deref()?, None)));
        gone.chain(kept).collect()
    }

    /// Adds the patches of the tasks themselves; returns those that come to a wave.
    fn task_patches(&self, patches: &mut Vec<Patch>, notes: &mut Vec<Note>) -> Vec<usize> {
        let mut moving = Vec::new();
        for (ix, row) in self.step.new.rows.iter().enumerate() {
            let Some(wave) = self.positions[ix].and_then(|at| self.waves.get(at)) else {
                continue;
            };
            let (task, name) = (self.step.name_of(ix), visible(&wave.name));
            match (&self.wishes[ix], &row.wave) {
                (WaveChoice::Stay, Some(before)) if *before == wave.name => continue,
                (WaveChoice::Stay, Some(before)) => {
                    notes.push(happened(format!(
                        "`{task}` moves from wave {} to wave {name}",
                        visible(before)
                    )));
                }
                (WaveChoice::Room, _) => notes.push(happened(format!("`{task}` is in wave {name}"))),
                (WaveChoice::Stay, None) | (WaveChoice::Named(_), _) => {}
            }
            if row.id.is_some() {
                moving.push(ix);
            }
            if row.get("wave") != Some(&wave.value) {
                patches.push(Patch::ReplaceScalar {
                    at: Route::root().key("tasks").index(row.index).key("wave"),
                    value: wave.value.clone(),
                });
            }
        }
        moving
    }

    /// Adds the patches of one wave's list.
    fn list_patches(
        &self,
        index: usize,
        wave: &EditedWave,
        members: &[WaveMember],
        arriving: &[usize],
        patches: &mut Vec<Patch>,
        notes: &mut Vec<Note>,
    ) {
        let staying = members.iter().filter_map(|member| match member {
            WaveMember::Task(ix) => Some(*ix),
            WaveMember::Leaves | WaveMember::Unknown => None,
        });
        let staying: HashSet<usize> = staying.collect();
        let coming: Vec<usize> = arriving.iter().copied().filter(|ix| !staying.contains(ix)).collect();
        if coming.is_empty() && !members.is_empty() && members.iter().all(|member| *member == WaveMember::Leaves) {
            notes.push(happened(format!(
                "wave {} has no task left, and goes",
                visible(&wave.name)
            )));
            patches.push(Patch::RemoveElement { array: list(), index });
            return;
        }
        let array = list().index(index).key("tasks");
        for (place, member) in members.iter().enumerate() {
            match member {
                WaveMember::Leaves => patches.push(Patch::RemoveElement {
                    array: array.clone(),
                    index: place,
                }),
                WaveMember::Task(ix) if wave.members[place] != self.step.new.rows[*ix].id => {
                    patches.push(Patch::ReplaceScalar {
                        at: array.clone().index(place),
                        value: self.id(*ix),
                    });
                }
                WaveMember::Task(_) | WaveMember::Unknown => {}
            }
        }
        let mut highest = None;
        let highest: Vec<Option<usize>> = members
            .iter()
            .map(|member| {
                if let WaveMember::Task(ix) = member {
                    highest = highest.max(Some(*ix));
                }
                highest
            })
            .collect();
        for ix in coming {
            patches.push(Patch::InsertElement {
                array: array.clone(),
                // Before the first that comes after it in the list of tasks.
                index: highest.partition_point(|highest| *highest < Some(ix)),
                value: self.id(ix),
            });
        }
    }
}

/// What becomes of one entry of a wave's list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WaveMember {
    /// It stays, and names this task.
    Task(usize),
    /// It goes.
    Leaves,
    /// It names nothing that is known, and stays.
    Unknown,
}

fn list() -> Route {
    Route::root().key("execution_waves")
}

fn happened(words: String) -> Note {
    Note::Happened(words)
}
