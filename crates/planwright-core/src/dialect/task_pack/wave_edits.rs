//! The waves of a contract after an edit of its tasks: the new assignment, and the patches.

use std::collections::{HashMap, HashSet};

use super::super::{CannotFollow, Note};
use super::pack_contract::{ContractEdit, ContractWave};
use super::waves::{WaveTask, place, wave_value};
use crate::document::patch::{Patch, PlainValue};
use crate::document::route::Route;
use crate::text::visible;

fn new_wave(value: PlainValue) -> ContractWave {
    let name = match &value {
        PlainValue::String(text) | PlainValue::Number(text) => text.clone(),
        _ => String::new(),
    };
    ContractWave {
        name,
        value,
        index: None,
        members: Vec::new(),
    }
}

/// Returns the numbers of waves, if all are numbers.
fn numbers(waves: &[ContractWave]) -> Option<Vec<i64>> {
    let number = |wave: &ContractWave| match wave.value {
        PlainValue::Number(_) => wave.name.parse().ok(),
        _ => None,
    };
    waves.iter().map(number).collect()
}

/// The wave of a task after an edit.
enum WaveChoice {
    /// The same wave, unless a dependency pushes it.
    Stay,
    /// The first wave with room.
    Room,
    /// The wave with this name.
    Named(String),
}

impl ContractEdit<'_> {
    fn wish(&self, new_ix: usize) -> WaveChoice {
        let row = &self.new.rows[new_ix];
        let named = || row.wave.clone().filter(|name| !name.trim().is_empty());
        match self.origin_of(new_ix) {
            None => named().map_or(WaveChoice::Room, WaveChoice::Named),
            Some(old) if old.task.get("wave") == row.task.get("wave") => WaveChoice::Stay,
            Some(_) => named().map_or(WaveChoice::Stay, WaveChoice::Named),
        }
    }

    /// Returns the patches of the contract's waves, and adds notes about moved tasks.
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
            waves.push(new_wave(value));
        }
        let arrangement = Arrangement {
            step: self,
            wishes,
            positions,
            waves,
        };
        Ok(arrangement.patches(notes))
    }

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

    /// Ensures that a wave exists: a number among numbers in its order, any other name at the end.
    fn declare(&self, name: &str, waves: &mut Vec<ContractWave>) -> Result<(), CannotFollow> {
        if waves.iter().any(|wave| wave.name == name) {
            return Ok(());
        }
        let Some(numbers) = numbers(waves) else {
            waves.push(new_wave(PlainValue::String(name.to_owned())));
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
        waves.insert(at, new_wave(PlainValue::Number(own.to_string())));
        Ok(())
    }

    fn nameless(&self, positions: &[Option<usize>], waves: &[ContractWave]) -> CannotFollow {
        let last = waves.last().map_or("", |wave| wave.name.as_str());
        let beyond = (0..positions.len()).find(|&ix| positions[ix].is_some_and(|at| at >= waves.len()));
        let task = beyond.map_or_else(|| "?".to_owned(), |ix| self.name_of(ix));
        let is_new = beyond.is_some_and(|ix| self.origin_of(ix).is_none());
        CannotFollow {
            span: self.old.waves_span,
            message: format!(
                "task `{task}` needs a wave after `{}`, and the name of that wave is unknown",
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
        waves: &[ContractWave],
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
                files: self.new.rows[ix].task.texts("files").collect(),
                on,
            }
        };
        let candidates: Vec<WaveTask<'_>> = (0..self.new.rows.len()).map(candidate).collect();
        place(&candidates)
    }
}

/// Returns a name for a new last wave: the next number, or the last name with its number incremented.
fn next_name(waves: &[ContractWave]) -> Option<PlainValue> {
    if let Some(numbers) = numbers(waves) {
        let next = numbers.into_iter().max().unwrap_or(0).checked_add(1)?;
        return Some(PlainValue::Number(next.to_string()));
    }
    let last = &waves.last()?.name;
    let stem = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let next = last[stem.len()..].parse::<u32>().ok()?.checked_add(1)?;
    let name = format!("{stem}{next}");
    (!waves.iter().any(|wave| wave.name == name)).then_some(PlainValue::String(name))
}

/// The waves with the tasks in their new places.
struct Arrangement<'a> {
    step: &'a ContractEdit<'a>,
    wishes: Vec<WaveChoice>,
    /// For each task the index of its wave.
    positions: Vec<Option<usize>>,
    waves: Vec<ContractWave>,
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
                    let member = |id: &Option<String>| match id.as_deref().and_then(|id| by_old_id.get(id)) {
                        None => WaveMember::Unknown,
                        Some(Some(ix)) if !moving.contains(ix) || self.positions[*ix] == Some(at) => {
                            WaveMember::Task(*ix)
                        }
                        Some(_) => WaveMember::Leaves,
                    };
                    let members: Vec<WaveMember> = wave.members.iter().map(member).collect();
                    self.list_patches(index, wave, &members, &arriving[at], &mut patches, notes);
                }
                None => {
                    let tasks = arriving[at].iter().map(|&ix| self.id(ix)).collect();
                    notes.push(happened(format!("wave {} is new", visible(&wave.name))));
                    patches.push(Patch::InsertElement {
                        array: list(),
                        index: n_before,
                        value: wave_value(wave.value.clone(), tasks),
                        beside: None,
                    });
                }
            }
        }
        patches
    }

    fn id(&self, ix: usize) -> PlainValue {
        PlainValue::String(self.step.new.rows[ix].id.clone().unwrap_or_default())
    }

    /// Returns the fate of the task of each old id; none if it was removed.
    fn by_old_id(&self) -> HashMap<&str, Option<usize>> {
        let rows = 0..self.step.new.rows.len();
        let kept = rows.filter_map(|ix| Some((self.step.origin_of(ix)?.id.as_deref()?, Some(ix))));
        let gone = self.step.gone().into_iter();
        let gone = gone.filter_map(|row| Some((row.id.as_deref()?, None)));
        gone.chain(kept).collect()
    }

    /// Adds the patches of the tasks themselves; returns those that enter a wave.
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
            if row.task.get("wave") != Some(&wave.value) {
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
        wave: &ContractWave,
        members: &[WaveMember],
        arriving: &[usize],
        patches: &mut Vec<Patch>,
        notes: &mut Vec<Note>,
    ) {
        let task_of = |member: &WaveMember| match member {
            WaveMember::Task(ix) => Some(*ix),
            WaveMember::Leaves | WaveMember::Unknown => None,
        };
        let staying: HashSet<usize> = members.iter().filter_map(task_of).collect();
        let coming: Vec<usize> = arriving.iter().copied().filter(|ix| !staying.contains(ix)).collect();
        if coming.is_empty() && !members.is_empty() && members.iter().all(|member| *member == WaveMember::Leaves) {
            notes.push(happened(format!(
                "wave {} has no task left, and is removed",
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
        let highest = members.iter().scan(None, |highest, member| {
            *highest = task_of(member).max(*highest);
            Some(*highest)
        });
        let highest: Vec<Option<usize>> = highest.collect();
        for ix in coming {
            patches.push(Patch::InsertElement {
                array: array.clone(),
                // Before the first one that is later in the list of tasks.
                index: highest.partition_point(|highest| *highest < Some(ix)),
                value: self.id(ix),
                beside: None,
            });
        }
    }
}

/// The fate of one entry of a wave's list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WaveMember {
    /// It stays, and names this task.
    Task(usize),
    /// It is removed.
    Leaves,
    /// Its name is unknown, and it stays.
    Unknown,
}

fn list() -> Route {
    Route::root().key("execution_waves")
}

fn happened(words: String) -> Note {
    Note::Happened(words)
}
