//! Plans read from messy answers: every file of `tests/answers` with the plan that a careful person reads in it.

use std::fmt::Write as _;
use std::path::PathBuf;

use expect_test::expect_file;
use planwright_core::convert::{PlanningRequest, outlined_plan};
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::DIALECTS;
use planwright_core::outline::{Outline, read};
use planwright_core::text::SourceText;
use planwright_testkit::cpu_time::CpuStopwatch;
use planwright_testkit::{corpus, repository};

use crate::conversions::{inspect_as, with_id_source};

/// Returns the answers of the project, by name.
fn answers() -> Vec<(String, SourceText)> {
    let folder = repository().join("crates/planwright-core/tests/answers");
    let entries = std::fs::read_dir(&folder).expect("a readable folder").flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    let load = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a readable answer");
        (name, SourceText::new(text))
    };
    found.into_iter().map(load).collect()
}

fn shown(source: &SourceText, read: &Result<Outline, Vec<Diagnostic>>) -> String {
    let index = source.line_index();
    let mut out = String::new();
    let place = |at: u32| {
        let place = index.position(at);
        format!("{}:{}", place.line, place.column)
    };
    match read {
        Ok(outline) => {
            if let Some(goal) = &outline.goal {
                let _ = writeln!(out, "goal: {goal}");
            }
            for (ix, task) in outline.tasks.iter().enumerate() {
                let _ = write!(out, "{} {}", ix + 1, task.title);
                if let Some(id) = &task.id {
                    let _ = write!(out, " [{id}]");
                }
                if let Some(state) = task.state {
                    let _ = write!(out, " ({})", state.as_str());
                }
                if let Some(group) = &task.group {
                    let _ = write!(out, " {{{group}}}");
                }
                if !task.dependencies.is_empty() {
                    let on: Vec<String> = task.dependencies.iter().map(|on| (on + 1).to_string()).collect();
                    let _ = write!(out, " after {}", on.join(", "));
                }
                let _ = writeln!(out);
                for line in task.description.lines().chain(task.details.iter().map(String::as_str)) {
                    let _ = writeln!(out, "    {line}");
                }
            }
            for guess in &outline.guesses {
                let at = guess.span.map_or_else(String::new, |span| place(span.start));
                let _ = writeln!(out, "{} {at}: {}", guess.rule.id, guess.message);
            }
        }
        Err(found) => {
            for error in found {
                let at = error.span.map_or_else(String::new, |span| place(span.start));
                let _ = writeln!(out, "refused {} {at}: {}", error.rule.id, error.message);
                for related in &error.related {
                    let _ = writeln!(out, "    {}: {}", place(related.span.start), related.message);
                }
            }
        }
    }
    out
}

#[test]
fn answers_are_read_as_their_expectations() {
    let answers = answers();
    assert!(answers.len() >= 35, "{} answers", answers.len());
    for (name, source) in answers {
        let read = read(&source, false);
        assert_eq!(
            name.starts_with("refuse-"),
            read.is_err(),
            "{name}\n{}",
            shown(&source, &read)
        );
        let path = repository().join(format!("crates/planwright-core/tests/answers/{name}.expect.txt"));
        expect_file![path].assert_eq(&shown(&source, &read));
    }
}

#[test]
fn outlines_become_sound_plans_of_every_dialect() {
    for (name, source) in answers() {
        let Ok(outline) = read(&source, false) else {
            continue;
        };
        for dialect in DIALECTS {
            let wish = PlanningRequest {
                goal: "Try it",
                ..PlanningRequest::default()
            };
            let made = with_id_source(|id_source| outlined_plan(&outline, *dialect, &wish, id_source));
            let made = made.unwrap_or_else(|refused| panic!("{name} as {}: {refused}", dialect.name()));
            let inspection = inspect_as(&made.text, dialect.name());
            assert_eq!(inspection.count(Severity::Error), 0, "{name}\n{}", made.text);
            let linked = inspection.plan.expect("a plan");
            assert_eq!(linked.plan.tasks().len(), outline.tasks.len(), "{name}\n{}", made.text);
        }
    }
}

/// Returns the words of a text that a plan lacks. The plan's text is JSON, YAML or Markdown.
fn missing_words<'t>(text: &'t str, plan: &str) -> Vec<&'t str> {
    let words_of = |text: &'t str| {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
    };
    let plan = plan.replace("\\n", " ");
    let known: std::collections::HashSet<&str> = plan.split(|c: char| !c.is_alphanumeric()).collect();
    words_of(text).filter(|word| !known.contains(word)).collect()
}

fn planned_as(outline: &Outline, dialect: &'static dyn planwright_core::dialect::Dialect) -> String {
    let wish = PlanningRequest {
        goal: "Try it",
        ..PlanningRequest::default()
    };
    let made = with_id_source(|id_source| outlined_plan(outline, dialect, &wish, id_source));
    made.unwrap_or_else(|refused| panic!("{}: {refused}", dialect.name()))
        .text
}

#[test]
fn every_word_of_an_outline_is_in_the_plan_of_every_dialect() {
    for (name, source) in answers() {
        let Ok(outline) = read(&source, false) else {
            continue;
        };
        for dialect in DIALECTS.iter().filter(|dialect| dialect.name() != "task-pack") {
            let plan = planned_as(&outline, *dialect);
            for task in &outline.tasks {
                let lists = [&task.files, &task.criteria, &task.details];
                let texts = lists.into_iter().flatten().chain([&task.title, &task.description]);
                for text in texts.chain(&task.group) {
                    let missing = missing_words(text, &plan);
                    assert!(missing.is_empty(), "{name} as {}: {missing:?}\n{plan}", dialect.name());
                }
            }
        }
    }
}

#[test]
fn details_without_a_field_are_written_into_the_description() {
    let long = "words ".repeat(200);
    for (answer, words) in [
        (
            "1. First\n   - sub\n\n   Never drop the table.\n\n2. Second\n\n   > Quoted words\n\n   behind them\n\n3. Third\n\n   | a | b |\n   |--|--|\n   | cells | within |\n\n4. Fourth\n",
            "First sub Never drop the table Second Quoted words behind them Third cells within Fourth",
        ),
        (
            "1. **Create the exporter module**\n   - File: `src/export.py`\n   - Write rows as CSV\n2. **Use it**\n   - Files: a.py, b.py\n",
            "Create the exporter module src/export.py Write rows as CSV Use it a.py b.py",
        ),
        (
            "## Task 1: Cache it\n**Files:** `x/y.ts`\n**Estimate:** 2h\n- Acceptance: hits are counted\n## Task 2: Measure it\n**Files:** `z.ts`\n",
            "Cache it x/y.ts 2h hits are counted Measure it z.ts",
        ),
        (
            "{\"tasks\": [{\"title\": \"Cache\", \"files\": [\"cache.py\", {\"path\": \"lru.py\", \"action\": \"create\"}], \"estimate\": \"2h\", \
             \"acceptance_criteria\": [\"hits are fast\", \"misses are counted\"], \"owner\": {\"team\": \"core\"}, \"deliverable\": \"a module\", \
             \"notes\": [\"mind the clock\"], \"order\": 1}]}",
            "Cache cache.py lru.py create 2h hits are fast misses are counted core a module mind the clock",
        ),
        (
            "| ID | Task | Estimate | Owner | Acceptance criteria |\n|--|--|--|--|--|\n| T1 | Parse it | 2h | Ana | all tests pass |\n",
            "Parse it 2h Ana all tests pass",
        ),
        (
            "- [ ] T001 [P] [US1] Read [the guide](https://example.org/guide)\n- [ ] T002 Run\n\n  ```sh\n  make install\n  ```\n\n- [ ] T003 Done\n",
            "US1 Read the guide https example org Run make install Done",
        ),
        (
            "1. Set up\n   Everything here runs in Docker.\n   1. Build images\n      - File: Dockerfile\n   2. Start them\n2. Ship\n   1. Tag it\n",
            "Set up Everything here runs in Docker Build images Dockerfile Start them Tag it",
        ),
        (
            "1. Write `{\"a\": 1}` to the log\n2. Return {\"ok\": true} from the handler\n3. Ship it\n",
            "Write a 1 to the log Return ok true from the handler Ship it",
        ),
        (
            "- [ ] Build it\n  Depends on: nothing but the schema that Bob has to freeze first\n- [ ] Ship it\n  Status: waiting for Ana\n",
            "Build it Bob freeze Ship it waiting for Ana",
        ),
        (
            &format!("1. **Long** – {long}end\n   - File: long.rs\n2. {long}tail\n"),
            "Long words end long.rs tail",
        ),
    ] {
        let outline = read(&SourceText::new(answer), false).unwrap_or_else(|found| panic!("{answer}: {found:?}"));
        for dialect in DIALECTS.iter().filter(|dialect| dialect.name() != "task-pack") {
            let plan = planned_as(&outline, *dialect);
            let missing = missing_words(words, &plan);
            assert!(missing.is_empty(), "{}: {missing:?}\n{answer}\n{plan}", dialect.name());
        }
    }
}

#[test]
fn the_first_heading_above_the_tasks_is_the_goal() {
    for (answer, goal) in [
        ("## Migration plan\n\n1. Write it\n2. Ship it\n", Some("Migration plan")),
        (
            "# Tasks\n## Add CSV export\n- [ ] Write it\n- [ ] Ship it\n",
            Some("Add CSV export"),
        ),
        (
            "### Cache\n\n| Task | Depends on |\n|--|--|\n| Write it | - |\n",
            Some("Cache"),
        ),
        (
            "## Log in\n```json\n{\"tasks\": [{\"title\": \"Write it\"}]}\n```\n",
            Some("Log in"),
        ),
        ("## Backend\n- [ ] Write it\n## Frontend\n- [ ] Ship it\n", None),
        ("## The plan\n1. Write it\n2. Ship it\n\n## Questions\n", None),
    ] {
        let outline = read(&SourceText::new(answer), false).unwrap_or_else(|found| panic!("{answer}: {found:?}"));
        assert_eq!(outline.goal.as_deref(), goal, "{answer}");
    }
}

#[test]
fn the_complete_tasks_of_a_cut_answer_can_be_read() {
    for (text, titles) in [
        (
            "{\"tasks\":[{\"title\":\"One\"},{\"title\":\"Two\"},{\"title\":\"Thr",
            vec!["One", "Two"],
        ),
        (
            "```yaml\ntasks:\n  - title: One\n  - title: Two\n  - title: Thr",
            vec!["One", "Two"],
        ),
        ("```md\n- [ ] One\n- [ ] Two\n- [ ] Thr", vec!["One", "Two"]),
        ("1. One\n2. Two\n3. ...\n", vec!["One", "Two"]),
        ("1. One\n2. Two\n...\n9. Nine\n", vec!["One", "Two", "Nine"]),
        ("Step 1: One\nStep 2: Two\nStep 4: Four\n", vec!["One", "Two", "Four"]),
        (
            "{\"title\":\"One\",\"status\":\"open\"}\n{\"title\":\"Two\",\"status\":\"open\"}\n{\"title\":\"Th",
            vec!["One", "Two"],
        ),
    ] {
        let source = SourceText::new(text);
        let found = read(&source, false).expect_err("it is cut off");
        assert_eq!(found[0].rule.id, "answer-cut-off", "{text}");
        let outline = read(&source, true).unwrap_or_else(|found| panic!("{text}: {found:?}"));
        let read: Vec<&str> = outline.tasks.iter().map(|task| task.title.as_str()).collect();
        assert_eq!(read, titles, "{text}");
    }
}

/// How often a hostile piece is repeated.
const N_PIECES: usize = 2_000;
/// Less than this is noise.
const LEAST_TIME: std::time::Duration = std::time::Duration::from_millis(2);

#[test]
fn hostile_answers_are_read_in_linear_time_and_without_a_panic() {
    for piece in [
        "{",
        "[",
        "{\"a\":",
        "[{",
        "- [ ] a\n",
        "1. a (after 1)\n",
        "  - a\n",
        "```\n",
        "```json\n{\n",
        "| a | b |\n",
        "|-|\n",
        "graph TD\n",
        "subgraph a\n",
        "a-->",
        "a & ",
        "\"",
        "“",
        "**",
        "# a\n",
        "tasks:\n- id: 1\n",
        "depends on ",
        "after all tasks ",
        "{\"id\":1,\"title\":\"a\"}\n",
        "é",
        "\u{0}",
        "\t",
        "…",
        "~~~",
        "a: b\n",
        "> - [x] a\n",
        "{\"tasks\":[{\"title\":\"a\",\"deps\":[\"all\"]},",
        "<think>\n",
        "</think>",
        "\u{1b}[",
        "[0m",
        "T1 → T2, ",
        "T1 depends on T2 and ",
        "Dependencies:\n- 1 needs 2\n",
        "Dependencies: a → b\n",
        "**1. a**\n",
        "a | b\n---|---\n",
        "+--+\n",
        "digraph { a -> {b ",
        "I. a\nII. b\n",
        "[a](",
        "- a: b: c\n",
        "{\"output\":[{",
        "(",
    ] {
        for before in ["", "graph TD\n", "```json\n{\"tasks\": [", "- [ ] x\n"] {
            let time = |n_pieces: usize| {
                let text = SourceText::new(format!("{before}{}", piece.repeat(n_pieces)));
                let started = CpuStopwatch::start();
                let _ = read(&text, true);
                started.elapsed()
            };
            // Eight times as much takes eight times as long; if each piece were compared with all others, it would be 64 times.
            let is_linear = || time(N_PIECES) < 32 * time(N_PIECES / 8).max(LEAST_TIME);
            assert!((0..3).any(|_| is_linear()), "{piece:?} after {before:?}");
        }
    }
}

/// The plans that a careful person reads in the answers of the corpus.
#[test]
fn answers_of_the_corpus_are_read() {
    let Some(corpus) = corpus("answers_of_the_corpus_are_read") else {
        return;
    };
    let folder = corpus.join("answers");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return;
    };
    let (mut n_read, mut wrong) = (0, Vec::new());
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".expect.json") else {
            continue;
        };
        let expected: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&path).expect("readable")).expect("JSON");
        let text = std::fs::read_to_string(folder.join(format!("{name}.md"))).expect("an answer");
        let outline = read(&SourceText::new(text), false);
        n_read += 1;
        match (&expected["refuse"], outline) {
            (serde_json::Value::Null, Ok(outline)) => {
                let tasks = expected["tasks"].as_array().expect("tasks");
                let parents: Vec<_> = tasks.iter().filter_map(|task| task["parent"].as_u64()).collect();
                let leaves = tasks
                    .iter()
                    .filter(|task| !parents.contains(&task["n"].as_u64().unwrap_or(0)));
                if leaves.count() != outline.tasks.len() {
                    wrong.push(format!("{name}: {} tasks", outline.tasks.len()));
                }
            }
            (serde_json::Value::Null, Err(found)) => wrong.push(format!("{name}: {}", found[0].message)),
            (_, Ok(_)) => wrong.push(format!("{name}: not refused")),
            (_, Err(_)) => {}
        }
    }
    assert!(wrong.is_empty(), "{n_read} answers, {wrong:#?}");
}
