//! Random plans of every dialect: valid, with all their fields, and with texts as odd as JSON and YAML allow.

use planwright_core::document::patch::PlainValue;

use crate::generate::{Dice, TEXTS, json, yaml};

/// Returns a plan without errors, decided by dice.
pub(crate) fn plan(dialect: &str, dice: &mut Dice) -> String {
    match dialect {
        "opencrabs" => opencrabs(dice),
        "clido" => clido(dice),
        "aimi" if dice.one_in(3) => aimi_v2(dice),
        "aimi" => aimi_v3(dice),
        "rawko" => rawko(dice),
        "task-pack" => task_pack(dice),
        "checklist" => checklist(dice),
        other => panic!("no plans of `{other}`"),
    }
}

fn text(text: impl Into<String>) -> PlainValue {
    PlainValue::String(text.into())
}

fn number(number: impl ToString) -> PlainValue {
    PlainValue::Number(number.to_string())
}

/// Returns a text that says something.
fn filled(dice: &mut Dice) -> String {
    let odd = dice.pick(TEXTS);
    let word = dice.pick(&["", "Read the module", "Add", "x", "Ä", "Write: it", "t1"]);
    match odd.trim().is_empty() && word.is_empty() {
        true => "something".to_owned(),
        false => format!("{word}{odd}"),
    }
}

fn any_text(dice: &mut Dice) -> PlainValue {
    text(dice.pick(TEXTS))
}

fn texts(dice: &mut Dice) -> PlainValue {
    let n_texts = dice.roll(4);
    PlainValue::Array((0..n_texts).map(|_| text(filled(dice))).collect())
}

fn time(dice: &mut Dice) -> PlainValue {
    text(dice.pick(&["2026-03-22T10:00:00Z", "2026-01-23", "2025-12-31T23:59:59.5+02:00"]))
}

/// An object that is filled by dice.
struct Object<'d> {
    members: Vec<(String, PlainValue)>,
    dice: &'d mut Dice,
}

impl<'d> Object<'d> {
    fn new(dice: &'d mut Dice) -> Self {
        Object {
            members: Vec::new(),
            dice,
        }
    }

    fn with(&mut self, key: &str, value: impl FnOnce(&mut Dice) -> PlainValue) -> &mut Self {
        let value = value(self.dice);
        self.members.push((key.to_owned(), value));
        self
    }

    fn maybe(&mut self, key: &str, value: impl FnOnce(&mut Dice) -> PlainValue) -> &mut Self {
        if self.dice.roll(2) == 1 {
            self.with(key, value)
        } else {
            self
        }
    }

    /// Adds what no dialect knows.
    fn unknown(&mut self) -> &mut Self {
        if self.dice.one_in(4) {
            self.with("custom", |dice| {
                PlainValue::Object(vec![
                    ("id".to_owned(), any_text(dice)),
                    ("deep".to_owned(), texts(dice)),
                ])
            });
        }
        self
    }

    fn done(&mut self) -> PlainValue {
        PlainValue::Object(std::mem::take(&mut self.members))
    }
}

/// Returns earlier tasks for a task to depend on, each once.
fn earlier(dice: &mut Dice, task_ix: usize) -> Vec<usize> {
    (0..task_ix).filter(|_| dice.one_in(3)).collect()
}

fn uuid(number: usize) -> String {
    format!("0000000{}-aaaa-4bbb-8ccc-{:012}", number % 10, number)
}

fn opencrabs(dice: &mut Dice) -> String {
    let is_full = dice.roll(2) == 1;
    let n_tasks = 1 + dice.roll(5);
    let by_id = dice.roll(2) == 1;
    let tasks = (0..n_tasks)
        .map(|ix| opencrabs_task(dice, ix, is_full, by_id))
        .collect();
    let mut root = Object::new(dice);
    if is_full {
        root.with("id", |_| text(uuid(90)))
            .maybe("session_id", |_| text(uuid(91)));
    }
    root.with("title", |dice| text(filled(dice)))
        .with("description", |dice| text(filled(dice)))
        .with("tasks", |_| PlainValue::Array(tasks))
        .maybe("context", any_text)
        .maybe("risks", texts)
        .maybe("test_strategy", any_text)
        .maybe("technical_stack", texts)
        .unknown();
    if is_full {
        root.maybe("status", |dice| {
            text(dice.pick(&[
                "Draft",
                "PendingApproval",
                "Approved",
                "Rejected",
                "InProgress",
                "Cancelled",
            ]))
        })
        .maybe("created_at", time)
        .maybe("updated_at", time)
        .maybe("approved_at", |_| PlainValue::Null);
    }
    let root = root.done();
    json(&root, dice)
}

fn opencrabs_task(dice: &mut Dice, ix: usize, is_full: bool, by_id: bool) -> PlainValue {
    let dependencies = earlier(dice, ix);
    let mut task = Object::new(dice);
    if is_full {
        task.with("id", |_| text(uuid(ix))).with("order", |_| number(ix + 1));
    }
    task.with("title", |dice| text(filled(dice)))
        .with("description", |dice| text(filled(dice)))
        .with("task_type", |dice| {
            text(dice.pick(&["research", "Edit", "CREATE", "test", "refactor"]))
        });
    if !dependencies.is_empty() {
        let reference = |ix: usize| {
            if is_full && by_id {
                text(uuid(ix))
            } else {
                number(ix + 1)
            }
        };
        task.with("dependencies", |_| {
            PlainValue::Array(dependencies.into_iter().map(reference).collect())
        });
    }
    task.maybe("complexity", |dice| number(1 + dice.roll(5)))
        .maybe("acceptance_criteria", texts)
        .unknown();
    if is_full {
        task.maybe("status", |dice| match dice.roll(6) {
            0 => PlainValue::Object(vec![("Blocked".to_owned(), any_text(dice))]),
            n => text(["Pending", "InProgress", "Completed", "Failed", "Skipped"][n - 1]),
        })
        .maybe("notes", any_text)
        .maybe("completed_at", time)
        .maybe("execution_history", |dice| {
            let attempt = vec![
                ("success".to_owned(), PlainValue::Bool(true)),
                ("output".to_owned(), any_text(dice)),
            ];
            PlainValue::Array(vec![PlainValue::Object(attempt)])
        })
        .maybe("retry_count", |dice| number(dice.roll(3)))
        .maybe("max_retries", |dice| number(dice.roll(5)))
        .maybe("artifacts", texts)
        .maybe("reflection", any_text);
    }
    task.done()
}

fn clido(dice: &mut Dice) -> String {
    let n_tasks = dice.roll(6);
    let ids: Vec<String> = (0..n_tasks).map(|ix| format!("{}{ix}", filled(dice))).collect();
    let tasks = (0..n_tasks).map(|ix| {
        let dependencies = earlier(dice, ix);
        let mut task = Object::new(dice);
        task.with("id", |_| text(ids[ix].as_str()))
            .with("description", |dice| text(filled(dice)))
            .with("depends_on", |_| {
                PlainValue::Array(dependencies.iter().map(|&ix| text(ids[ix].as_str())).collect())
            })
            .maybe("complexity", |dice| text(dice.pick(&["low", "medium", "high"])))
            .maybe("skip", |dice| PlainValue::Bool(dice.roll(2) == 1))
            .maybe("notes", any_text)
            .maybe("status", |dice| {
                text(dice.pick(&["pending", "running", "done", "failed", "skipped"]))
            })
            .maybe("tools", |dice| {
                if dice.roll(2) == 1 {
                    texts(dice)
                } else {
                    PlainValue::Null
                }
            })
            .unknown();
        task.done()
    });
    let tasks = PlainValue::Array(tasks.collect());
    let mut root = Object::new(dice);
    if root.dice.roll(2) == 1 {
        root.with("goal", |dice| text(filled(dice)))
            .maybe("id", |dice| text(filled(dice)))
            .maybe("created_at", time)
            .with("tasks", |_| tasks);
    } else {
        let mut meta = Object::new(root.dice);
        meta.with("id", |dice| text(filled(dice)))
            .with("goal", |dice| text(filled(dice)))
            .with("created_at", time)
            .unknown();
        let meta = meta.done();
        root.with("meta", |_| meta).with("tasks", |_| tasks);
    }
    let root = root.unknown().done();
    json(&root, dice)
}

fn story_id(ix: usize) -> String {
    format!("US-{:03}{}", ix * 7 + 1, if ix % 3 == 2 { "b" } else { "" })
}

fn aimi_v3(dice: &mut Dice) -> String {
    let n_stories = 1 + dice.roll(5);
    let stories = (0..n_stories).map(|ix| {
        let dependencies = earlier(dice, ix);
        let mut story = Object::new(dice);
        story
            .with("id", |_| text(story_id(ix)))
            .with("title", |dice| text(filled(dice)))
            .with("description", |dice| {
                text(format!("As a user, I want {}", filled(dice)))
            })
            .with("acceptanceCriteria", |dice| {
                let mut criteria = vec![text("Typecheck passes")];
                criteria.extend((0..dice.roll(3)).map(|_| any_text(dice)));
                PlainValue::Array(criteria)
            })
            // Priorities need not rise with the file.
            .with("priority", |_| number((ix * 3) % 7))
            .with("status", |dice| {
                text(dice.pick(&["pending", "in_progress", "completed", "failed", "skipped"]))
            })
            .with("dependsOn", |_| {
                PlainValue::Array(dependencies.into_iter().map(|ix| text(story_id(ix))).collect())
            })
            .maybe("notes", any_text)
            .unknown();
        story.done()
    });
    let stories = PlainValue::Array(stories.collect());
    let mut metadata = Object::new(dice);
    metadata
        .with("title", |dice| text(filled(dice)))
        .with("type", |dice| text(dice.pick(&["feat", "ref", "bug", "chore"])))
        .with("branchName", |dice| text(dice.pick(&["feat/x", "main", "a_b/c-d"])))
        .with("createdAt", |_| text("2026-02-27"))
        .maybe("planPath", |dice| {
            if dice.roll(2) == 1 {
                text("docs/plans/p.md")
            } else {
                PlainValue::Null
            }
        })
        .maybe("brainstormPath", any_text)
        .maybe("maxConcurrency", |dice| number(dice.roll(6)))
        .unknown();
    let metadata = metadata.done();
    let mut root = Object::new(dice);
    root.with("schemaVersion", |_| text("3.0"))
        .with("metadata", |_| metadata)
        .with("userStories", |_| stories)
        .unknown();
    let root = root.done();
    json(&root, dice)
}

fn aimi_v2(dice: &mut Dice) -> String {
    let n_stories = dice.roll(6);
    let stories = (0..n_stories).map(|ix| {
        let mut story = Object::new(dice);
        story
            .with("id", |_| text(story_id(ix)))
            .with("title", |dice| text(filled(dice)))
            .maybe("description", any_text)
            .maybe("acceptanceCriteria", texts)
            .with("priority", |dice| number(1 + dice.roll(3)))
            .with("passes", |dice| PlainValue::Bool(dice.roll(2) == 1))
            .maybe("skipped", |dice| PlainValue::Bool(dice.roll(2) == 1))
            .maybe("notes", any_text)
            .unknown();
        story.done()
    });
    let stories = PlainValue::Array(stories.collect());
    let mut root = Object::new(dice);
    if root.dice.roll(2) == 1 {
        root.with("project", |dice| text(filled(dice)))
            .with("branchName", |_| text("ralph/x"))
            .maybe("description", any_text);
    } else {
        let mut metadata = Object::new(root.dice);
        metadata
            .maybe("title", any_text)
            .maybe("type", |_| text("feat"))
            .maybe("branchName", |_| text("feat/x"));
        let metadata = metadata.done();
        root.with("schemaVersion", |_| text("2.2"))
            .with("metadata", |_| metadata);
    }
    let root = root.with("userStories", |_| stories).unknown().done();
    json(&root, dice)
}

fn rawko(dice: &mut Dice) -> String {
    let n_steps = 1 + dice.roll(5);
    let steps = (0..n_steps).map(|ix| {
        let dependencies = earlier(dice, ix);
        let mut step = Object::new(dice);
        step.with("index", |_| number(ix))
            .with("description", |dice| text(filled(dice)))
            .with("status", |dice| {
                text(dice.pick(&["pending", "in_progress", "complete", "failed", "skipped"]))
            })
            .maybe("suggestedAgent", any_text)
            .maybe("executedBy", any_text)
            .maybe("startedAt", time)
            .maybe("completedAt", time)
            .maybe("output", any_text)
            .maybe("error", any_text)
            .maybe("affectedFiles", |dice| {
                let files = ["src/a.rs", "src/b.rs", "/etc/passwd", "src/*.rs", ".env", "a b/c"];
                PlainValue::Array((0..dice.roll(4)).map(|_| text(dice.pick(&files))).collect())
            })
            .maybe("dependsOn", |_| {
                PlainValue::Array(dependencies.into_iter().map(number).collect())
            })
            .maybe("instructions", any_text)
            .maybe("acceptanceCriteria", texts)
            .unknown();
        step.done()
    });
    let steps = PlainValue::Array(steps.collect());
    let is_later = dice.one_in(3);
    let mut root = Object::new(dice);
    root.with("id", |dice| text(dice.pick(&["plan-20260123-auth", "odd id", "p"])))
        .with("task", |dice| text(filled(dice)))
        .with("status", |dice| {
            text(dice.pick(&["in_progress", "failed", "replanning"]))
        })
        .with("steps", |_| steps)
        .with("currentStepIndex", |_| number(0))
        .with("createdAt", time)
        .with("updatedAt", time)
        .with("createdBy", any_text)
        .with("version", |_| number(if is_later { 2 } else { 1 }));
    if is_later {
        root.with("previousPlanId", |_| text("plan-before"));
    }
    root.maybe("metadata", |dice| {
        let mut metadata = Object::new(dice);
        metadata
            .maybe("complexity", |dice| number(1 + dice.roll(10)))
            .maybe("tags", texts)
            .maybe("constraints", texts)
            .maybe("informedByMemories", texts);
        metadata.done()
    })
    .unknown();
    let root = root.done();
    yaml(&root, dice)
}

fn task_pack(dice: &mut Dice) -> String {
    let n_tasks = 1 + dice.roll(5);
    let mut waves: Vec<Vec<PlainValue>> = vec![Vec::new(); 2 * n_tasks];
    let mut wave_of: Vec<usize> = Vec::new();
    let mut tasks = Vec::new();
    for ix in 0..n_tasks {
        let dependencies = earlier(dice, ix);
        let first = dependencies
            .iter()
            .map(|&before| wave_of[before] + 1)
            .max()
            .unwrap_or(0);
        let wave = first + dice.roll(2);
        wave_of.push(wave);
        waves[wave].push(text(format!("T{ix}")));
        let mut task = Object::new(dice);
        task.with("task_id", |_| text(format!("T{ix}")))
            .with("source_unit", |_| text("U1"))
            .maybe("requirement_refs", texts)
            .with("goal", |dice| text(filled(dice)))
            .with("dependencies", |_| {
                PlainValue::Array(dependencies.iter().map(|ix| text(format!("T{ix}"))).collect())
            })
            .with("files", |_| PlainValue::Array(vec![text(format!("src/f{ix}.rs"))]))
            .with("test_focus", |dice| text(filled(dice)))
            .with("done_signal", |dice| text(filled(dice)))
            .with("stop_if", |dice| text(filled(dice)))
            .with("wave", |_| number(wave + 1))
            .maybe("context_refs", texts)
            .maybe("entry_hint", |dice| text(filled(dice)))
            .maybe("parallelizable", |dice| PlainValue::Bool(dice.roll(2) == 1))
            .maybe("expected_side_effects", |_| {
                PlainValue::Array(vec![text("package-lock.json"), text("gen/*.rs")])
            })
            .maybe("risk_note", |dice| text(filled(dice)))
            .maybe("notes", |dice| text(filled(dice)))
            .maybe("review_gate", |dice| text(dice.pick(&["optional", "required"])))
            .maybe("review_focus", |dice| text(filled(dice)))
            .maybe("handoff_owner", |dice| text(filled(dice)))
            .maybe("target_repo", |_| text("packages/a"))
            .unknown();
        tasks.push(task.done());
    }
    let waves = waves.into_iter().enumerate().filter(|(_, tasks)| !tasks.is_empty());
    let waves = waves.map(|(ix, tasks)| {
        PlainValue::Object(vec![
            ("wave".to_owned(), number(ix + 1)),
            ("tasks".to_owned(), PlainValue::Array(tasks)),
        ])
    });
    let contract = PlainValue::Object(vec![
        ("schema_version".to_owned(), text("task-pack/v1")),
        ("execution_waves".to_owned(), PlainValue::Array(waves.collect())),
        ("tasks".to_owned(), PlainValue::Array(tasks)),
    ]);
    let contract = json(&contract, dice);
    let title = dice.pick(&["Import photos", "\"Quoted: title\"", "'Single'"]);
    format!(
        "---\ntitle: {title}\ntype: task-pack\nstatus: derived\ndate: 2026-04-26\nspec_id: 2026-04-26-001-photos\n\
         source_plan: docs/plans/p.md\nsource_plan_hash: \"sha256:{}\"\ngenerated_by: spec-write-tasks\nmode: derived\n\
         source_sections:\n  - \"Requirements\"\n  - Scope\ncustom: kept\n---\n\n# Photos\n\n## Overview\n\nSome prose.\n\n\
         ## Task Pack Contract\n\n```json\n{contract}\n```\n\n## Task Cards\n\n- T0\n",
        "ab".repeat(32)
    )
}

/// Returns a checklist of any variant, with other text between its lines.
fn checklist(dice: &mut Dice) -> String {
    let newline = dice.pick(&["\n", "\n", "\r\n"]);
    let variant = dice.roll(4);
    let mut out = String::new();
    if variant == 0 {
        out.push_str("<!-- planwright: explicit dependencies -->\n\n");
    }
    if dice.one_in(2) {
        out.push_str("# Plan\n\nAbout it.\n\n");
    }
    let n_tasks = 1 + dice.roll(6);
    for ix in 0..n_tasks {
        if dice.one_in(5) && variant > 0 {
            out.push_str(&format!("## Phase {ix}: more\n\n"));
        }
        let mark = dice.pick(&[" ", "x"]);
        let star = dice.pick(&["", "", "*"]);
        let word = dice.pick(&["Read it", "Write: it", "Ä (b)", "`code` and *more*", "a (needs care"]);
        let id = match variant {
            0 => format!("T{ix}: "),
            1 => format!("T{:03} {}", ix + 1, dice.pick(&["", "[P] ", "[P] [US1] "])),
            _ => String::new(),
        };
        out.push_str(&format!("- [{mark}]{star} {id}{word} {ix}"));
        if variant == 0 && ix > 0 && dice.one_in(2) {
            out.push_str(&format!(" (needs T{})", dice.roll(ix)));
        }
        out.push('\n');
        for detail in [
            "  Some text.",
            "  - it works",
            "  - files: a.rs, b.rs",
            "",
            "  > quoted",
        ] {
            if dice.one_in(5) {
                out.push_str(&format!("{detail}\n"));
            }
        }
        if dice.one_in(8) {
            out.push_str("\n<!-- a remark -->\n");
        }
    }
    if dice.one_in(4) {
        out.truncate(out.trim_end().len());
    }
    out.replace('\n', newline)
}
