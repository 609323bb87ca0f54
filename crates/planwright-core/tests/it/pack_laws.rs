//! The laws of any sequence of edits of a task pack: the contract is as a naive model predicts, the cards follow exactly from the contract
//! in their layout, and no other byte changes. Real packs are edited or refused with a span.

use std::collections::BTreeMap;

use planwright_core::change::tasks::{Edit, NewTask, edit};
use planwright_core::change::{Open, Problem};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{Choice, DiskFacts};
use planwright_core::text::SourceText;
use planwright_testkit::corpus;
use serde_json::{Value, json};

use crate::generate::Chance;

const NOW: &str = "2026-11-15T12:00:00.000Z";
const N_RUNS: u64 = 24;
const N_STEPS: usize = 50;

fn choice(facts: &DiskFacts) -> Choice<'_> {
    Choice::by_content(facts)
}

fn open(text: &str) -> Open {
    Open::new(&SourceText::new(text), &choice(&DiskFacts::default()))
}

fn attempt(text: &str, change: &Edit<'_>) -> Result<String, Problem> {
    let facts = DiskFacts::default();
    let changed = edit(&open(text), &choice(&facts), change, NOW)?;
    Ok(changed.source.as_str().to_owned())
}

/// How a pack writes its cards.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    None,
    Bullets,
    Headings,
}

/// The fields of a card in the order in which these packs have them; the first is that of the head.
const ON_CARDS: [&str; 8] = [
    "source_unit",
    "goal",
    "dependencies",
    "files",
    "test_focus",
    "done_signal",
    "stop_if",
    "wave",
];

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the cards of a contract.
fn cards(layout: Layout, contract: &Value) -> String {
    let tasks = contract["tasks"].as_array().expect("tasks");
    let card = |task: &Value| {
        let mut out = match layout {
            Layout::None => return String::new(),
            Layout::Bullets => format!("- {}", text_of(&task["task_id"])),
            Layout::Headings => format!("### {}\n", text_of(&task["task_id"])),
        };
        for name in ON_CARDS {
            let mark = if name == "files" { "`" } else { "" };
            let value = match &task[name] {
                Value::Array(items) if items.is_empty() => " []".to_owned(),
                Value::Array(items) => {
                    let items = items.iter().map(|item| format!("{mark}{}{mark}", text_of(item)));
                    match layout {
                        Layout::Headings => format!(" {}", items.collect::<Vec<_>>().join(", ")),
                        _ => items.map(|item| format!("\n    - {item}")).collect(),
                    }
                }
                value => format!(" {}", text_of(value)),
            };
            out.push_str(&match layout {
                Layout::Headings => format!("\n- **{name}:**{value}"),
                _ => format!("\n  {name}:{value}"),
            });
        }
        out
    };
    let gap = if layout == Layout::Headings {
        "\n\n---\n\n"
    } else {
        "\n\n"
    };
    let cards: Vec<String> = tasks.iter().map(card).collect();
    match layout {
        Layout::None => String::new(),
        _ => format!("\n## Task Cards\n\n{}\n", cards.join(gap)),
    }
}

/// What the model knows of a task.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    id: String,
    goal: String,
    on: Vec<String>,
    files: Vec<String>,
}

struct World {
    head: String,
    tail: String,
    layout: Layout,
    newline: &'static str,
    text: String,
    rows: Vec<Row>,
    n_done: usize,
    n_refused: usize,
}

const TAIL: &str = "\n## Validation Notes\n\n- T001 goes first, T002 and  T003 follow\n";

impl World {
    fn new(layout: Layout, newline: &'static str, chance: &mut Chance) -> Self {
        let n_tasks = 3 + chance.below(5);
        let task = |n: usize| {
            json!({
                "task_id": format!("T{n:03}"), "source_unit": format!("U{n}"), "goal": format!("goal {n}"),
                "dependencies": if n > 2 { vec![format!("T{:03}", n - 2)] } else { vec![] },
                "files": [format!("src/f{n}.rs")], "test_focus": "focus", "done_signal": "done", "stop_if": "stop",
                "wave": n.div_ceil(2),
            })
        };
        let tasks: Vec<Value> = (1..=n_tasks).map(task).collect();
        let in_wave = |wave: usize| {
            let own = tasks.iter().filter(|task| task["wave"] == wave);
            own.map(|task| task["task_id"].clone()).collect::<Vec<_>>()
        };
        let waves: Vec<Value> = (1..=n_tasks.div_ceil(2))
            .map(|wave| json!({"wave": wave, "tasks": in_wave(wave)}))
            .collect();
        let contract = json!({"schema_version": "task-pack/v1", "execution_waves": waves, "tasks": tasks});
        let head = format!(
            "---\ntype: task-pack\nstatus: derived\nspec_id: 2026-04-26-001-x\nsource_plan: docs/plans/p.md\n\
             source_plan_hash: sha256:{}\ngenerated_by: spec-write-tasks\nmode: derived\n---\n\n## Task Pack Contract\n\n```json\n",
            "0".repeat(64)
        );
        let written = serde_json::to_string_pretty(&contract).expect("JSON");
        let tail = TAIL.replace('\n', newline);
        let text = format!("{head}{written}\n```\n{}", cards(layout, &contract)).replace('\n', newline) + &tail;
        World {
            head: head.replace('\n', newline),
            tail,
            layout,
            newline,
            rows: rows_of(&contract),
            text,
            n_done: 0,
            n_refused: 0,
        }
    }

    fn contract(&self) -> Value {
        let json = self.text.strip_prefix(&self.head).expect("the head is as it was");
        let end = json.find("```").expect("the fence ends");
        serde_json::from_str(&json[..end]).expect("the contract is JSON")
    }

    fn step(&mut self, chance: &mut Chance, n: usize) {
        let (ix, other) = (chance.below(self.rows.len()), chance.below(self.rows.len()));
        let mut rows = self.rows.clone();
        let other_id = rows[other].id.clone();
        let (title, id) = (format!("new goal {n}"), format!("N{n}"));
        let files = format!("src/n{}.rs\nsrc/m{n}.rs", chance.below(3));
        let wave = (1 + chance.below(4)).to_string();
        let fields = [
            ("source_unit", "U9"),
            ("files", files.as_str()),
            ("test_focus", "focus"),
            ("done_signal", "done"),
            ("stop_if", "stop"),
        ];
        let listed: Vec<String> = files.lines().map(str::to_owned).collect();
        let waves = waves_of(&self.contract());
        let mut may_move = false;
        let change = match chance.below(9) {
            0 => {
                let at = chance.below(rows.len() + 1);
                let new = Row {
                    id: String::new(),
                    goal: title.clone(),
                    on: vec![other_id],
                    files: listed,
                };
                rows.insert(at, new);
                Edit::Add(NewTask {
                    beside: None,
                    replaces: None,

                    id: None,
                    title: &title,
                    fields: &fields,
                    on: vec![other],
                    at,
                    minted: "",
                })
            }
            1 if rows.len() > 2 => {
                let gone = rows.remove(ix).id;
                for row in &mut rows {
                    row.on.retain(|on| *on != gone);
                }
                Edit::Remove {
                    task_ix: ix,
                    detach: true,
                }
            }
            2 => {
                let row = rows.remove(ix);
                rows.insert(other, row);
                Edit::Move { task_ix: ix, to: other }
            }
            3 => {
                if !rows[ix].on.contains(&other_id) {
                    rows[ix].on.push(other_id);
                }
                may_move = true;
                Edit::Depend {
                    task_ix: ix,
                    on: vec![other],
                }
            }
            4 => {
                rows[ix].on.retain(|on| *on != other_id);
                Edit::Undepend {
                    task_ix: ix,
                    on: vec![other],
                }
            }
            5 => {
                let old = std::mem::replace(&mut rows[ix].id, id.clone());
                for on in rows.iter_mut().flat_map(|row| &mut row.on).filter(|on| **on == old) {
                    on.clone_from(&id);
                }
                Edit::Rename { task_ix: ix, to: &id }
            }
            6 => {
                rows[ix].goal.clone_from(&title);
                set(ix, "goal", &title)
            }
            7 => {
                rows[ix].files = listed;
                set(ix, "files", &files)
            }
            _ => {
                may_move = true;
                set(ix, "wave", &wave)
            }
        };
        match attempt(&self.text, &change) {
            Ok(text) => {
                self.n_done += 1;
                self.text = text;
            }
            Err(problem @ (Problem::Mismatch(_) | Problem::Place { .. })) => {
                panic!("{problem}\n{change:?}\n{}", self.text)
            }
            Err(_) => {
                self.n_refused += 1;
                return;
            }
        }
        let contract = self.contract();
        let found = rows_of(&contract);
        for (row, found) in rows.iter_mut().zip(&found).filter(|(row, _)| row.id.is_empty()) {
            row.id.clone_from(&found.id);
        }
        assert_eq!(found, rows, "{change:?}");
        self.rows = rows;
        let errors = open(&self.text).inspection.count(Severity::Error);
        assert_eq!(errors, 0, "{change:?}\n{}", self.text);
        let expect = cards(self.layout, &contract).replace('\n', self.newline) + &self.tail;
        let fence = self.text.rfind("}").map_or(0, |end| end + 1);
        let rest = self.text[fence..]
            .trim_start()
            .strip_prefix("```")
            .expect("the fence ends");
        assert_eq!(rest.strip_prefix(self.newline), Some(expect.as_str()), "{change:?}");
        if !may_move {
            let stay = waves_of(&contract);
            for (goal, wave) in waves.iter().filter(|(goal, _)| stay.contains_key(*goal)) {
                assert_eq!(stay[goal], *wave, "{goal} moved: {change:?}");
            }
        }
    }
}

fn set<'a>(task_ix: usize, key: &'a str, value: &'a str) -> Edit<'a> {
    Edit::Set {
        task_ix,
        key,
        value: Some(value),
    }
}

fn rows_of(contract: &Value) -> Vec<Row> {
    let texts = |value: &Value| value.as_array().expect("a list").iter().map(text_of).collect();
    let row = |task: &Value| Row {
        id: text_of(&task["task_id"]),
        goal: text_of(&task["goal"]),
        on: texts(&task["dependencies"]),
        files: texts(&task["files"]),
    };
    contract["tasks"].as_array().expect("tasks").iter().map(row).collect()
}

/// Returns the wave of each task by its goal.
fn waves_of(contract: &Value) -> BTreeMap<String, String> {
    let tasks = contract["tasks"].as_array().expect("tasks").iter();
    tasks
        .map(|task| (text_of(&task["goal"]), text_of(&task["wave"])))
        .collect()
}

#[test]
fn pack_edits_equal_the_model() {
    let (mut n_done, mut n_refused) = (0, 0);
    let layouts = [Layout::None, Layout::Bullets, Layout::Headings];
    for (seed, layout) in (1..=N_RUNS).zip(layouts.into_iter().cycle()) {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let newline = if seed % 2 == 0 { "\n" } else { "\r\n" };
        let mut world = World::new(layout, newline, &mut chance);
        for n in 0..N_STEPS {
            world.step(&mut chance, n);
        }
        n_done += world.n_done;
        n_refused += world.n_refused;
    }
    assert!(n_done > n_refused, "{n_done} done, {n_refused} refused");
    assert!(n_done > 400, "{n_done} done");
}

/// Damaged cards are edited correctly or refused; nothing panics, and nothing else changes.
#[test]
fn edits_of_damaged_cards_lose_nothing() {
    const PIECES: [&str; 16] = [
        "- ", "  ", "T001", "T002", "`", "```\n", "\n", "### ", "：", "é", "**", ": ", "[", ", ", "---\n", "goal:",
    ];
    let (mut n_done, mut n_refused) = (0, 0);
    let layouts = [Layout::Bullets, Layout::Headings];
    for (seed, layout) in (1..=16).zip(layouts.into_iter().cycle()) {
        let mut chance = Chance(0x2545_f491_4f6c_dd1d_u64.wrapping_mul(seed));
        let mut world = World::new(layout, "\n", &mut chance);
        for _ in 0..1 + chance.below(6) {
            let cards = world.text.find("## Task Cards").expect("there are cards") + 14;
            let length = world.text.len() - world.tail.len() - cards;
            let mut at = cards + chance.below(length);
            while !world.text.is_char_boundary(at) {
                at -= 1;
            }
            match chance.below(2) {
                0 => world.text.insert_str(at, PIECES[chance.below(PIECES.len())]),
                _ => drop(world.text.remove(at)),
            }
        }
        for ix in 0..world.rows.len() {
            for change in edits_of(ix, world.rows.len()) {
                match attempt(&world.text, &change) {
                    Ok(new) => {
                        n_done += 1;
                        assert_eq!(
                            other_parts(&new),
                            other_parts(&world.text),
                            "{change:?}\n{}",
                            world.text
                        );
                    }
                    Err(Problem::Mismatch(what)) => panic!("{what}: {change:?}\n{}", world.text),
                    Err(_) => n_refused += 1,
                }
            }
        }
    }
    assert!(n_done > 200 && n_refused > 50, "{n_done} done, {n_refused} refused");
}

/// Returns the parts of a pack that no edit may touch: all but the contract and the cards.
fn other_parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\n## ") {
        let (before, section) = rest.split_at(at + 1);
        parts.push(before);
        let end = section[1..].find("\n## ").map_or(section.len(), |end| end + 1);
        if !section.starts_with("## Task Pack Contract") && !section.starts_with("## Task Cards") {
            parts.push(&section[..end]);
        }
        rest = &section[end..];
    }
    parts.push(rest);
    parts
}

#[test]
fn real_packs_are_edited_or_refused_with_a_place() {
    let Some(corpus) = corpus("pack_laws::real_packs_are_edited_or_refused_with_a_place") else {
        return;
    };
    let folder = corpus.join("task-pack/real/docs/tasks");
    let (mut n_done, mut n_placed, mut n_packs) = (0, 0, 0);
    for entry in std::fs::read_dir(folder).expect("a readable folder").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("a pack");
        let before = open(&text);
        let Some(linked) = before
            .inspection
            .plan
            .as_ref()
            .filter(|linked| !linked.plan.tasks().is_empty())
        else {
            continue;
        };
        n_packs += 1;
        let n_tasks = linked.plan.tasks().len();
        for ix in 0..n_tasks {
            for change in edits_of(ix, n_tasks) {
                match attempt(&text, &change) {
                    Ok(new) => {
                        n_done += 1;
                        assert_eq!(other_parts(&new), other_parts(&text), "{change:?}");
                        let errors = open(&new).inspection.count(Severity::Error);
                        assert!(errors <= before.inspection.count(Severity::Error), "{change:?}");
                    }
                    Err(Problem::Place { span, .. }) => {
                        n_placed += 1;
                        assert!(span.start > 0, "{change:?}");
                    }
                    Err(Problem::Regressions(found)) => assert!(!found.is_empty()),
                    Err(Problem::Field { .. }) => {}
                    Err(problem) => panic!("{}: {change:?}: {problem}", entry.path().display()),
                }
            }
        }
    }
    assert!(n_packs >= 5, "{n_packs} packs");
    assert!(
        n_done > 200 && n_placed > 20,
        "{n_done} edits done, {n_placed} refused with a place"
    );
}

fn edits_of(ix: usize, n_tasks: usize) -> Vec<Edit<'static>> {
    const FIELDS: &[(&str, &str)] = &[
        ("source_unit", "U99"),
        ("files", "src/new.js\ntests/new.test.js"),
        ("test_focus", "It works"),
        ("done_signal", "Tests pass"),
        ("stop_if", "It grows"),
    ];
    let mut edits = vec![
        set(ix, "goal", "Another goal"),
        set(ix, "files", "src/another.js"),
        set(ix, "requirement_refs", "R1\nR99"),
        set(ix, "done_signal", "It is done"),
        set(ix, "review_gate", "optional"),
        set(ix, "parallelizable", "false"),
        set(ix, "wave", "9"),
        set(ix, "wave", "1"),
        Edit::Rename {
            task_ix: ix,
            to: "X001",
        },
        Edit::Remove {
            task_ix: ix,
            detach: true,
        },
        Edit::Move {
            task_ix: ix,
            to: n_tasks - 1 - ix,
        },
        Edit::Add(NewTask {
            beside: None,
            replaces: None,

            id: None,
            title: "A new task",
            fields: FIELDS,
            on: vec![ix],
            at: ix,
            minted: "",
        }),
    ];
    for other in [0, n_tasks / 2, n_tasks - 1].into_iter().filter(|&other| other != ix) {
        edits.push(Edit::Depend {
            task_ix: ix,
            on: vec![other],
        });
        edits.push(Edit::Undepend {
            task_ix: ix,
            on: vec![other],
        });
    }
    edits
}
