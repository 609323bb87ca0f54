//! Edits of unusual packs: cards with other values or in an unknown form, waves with names, drafts, other fences, errors.

use planwright_core::change::Open;
use planwright_core::change::tasks::{Edit, NewTask, edit};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{Choice, DiskFacts};
use planwright_core::text::SourceText;

use crate::packs::{
    BULLETS, HEADINGS, NOW, check, check_refused, difference, edited, new_task, pack, set, text_of, with_place,
};

#[test]
fn a_card_that_contradicts_the_contract_is_not_overwritten() {
    let drifted = pack(BULLETS).replace("  goal: Show photos", "  goal: Show some photos");
    check_refused(
        &drifted,
        &set(1, "goal", "Show all"),
        "line 104, column 3: the card of `T002` and the contract differ in `goal`",
    );
    // Other fields are free, and so is what the card says already.
    edited(&drifted, &set(1, "files", "src/wall.rs"));
    edited(&drifted, &set(0, "goal", "Read all"));
    check(
        &drifted,
        &set(1, "goal", "Show some photos"),
        &[
            "-      \"goal\": \"Show photos\",",
            "+      \"goal\": \"Show some photos\",",
        ],
        &[],
    );
    let annotated = pack(HEADINGS).replace("  - `src/read.rs`", "  - `src/read.rs` — the reader");
    check_refused(
        &annotated,
        &set(0, "files", "src/all.rs"),
        "line 98, column 5: the card of `T001` and the contract differ in `files`",
    );
}

#[test]
fn cards_in_an_unknown_form_are_left_alone() {
    let fenced = pack("## Task Cards\n\n```yaml\nT001:\n  goal: Read photos\n```\n\n");
    check_refused(
        &fenced,
        &set(0, "goal", "Read all"),
        "line 93, column 1: the cards mention `T001` in a form that cannot be read",
    );
    edited(&fenced, &set(1, "goal", "Show all"));
    check_refused(
        &fenced,
        &Edit::Add(new_task("Print photos", 4)),
        "line 93, column 1: the cards mention `T001` in a form that cannot be read",
    );
    let joined = pack("## Task Cards\n\n### T001\n- files: `src/read.rs` — wave: 1\n- dep: none\n\n");
    check_refused(
        &joined,
        &set(0, "wave", "2"),
        "line 93, column 26: the card of `T001` mentions `wave` in a way that cannot be edited",
    );
    let depend = Edit::Depend {
        task_ix: 0,
        on: vec![1],
    };
    check_refused(
        &joined,
        &depend,
        "line 94, column 3: the card of `T001` mentions `dependencies` in a way that cannot be edited",
    );
    let spelled =
        pack("## Task Cards\n\n### T001\n\n- **Test Focus**: Odd files\n- goal: Read photos\n- goal: Read photos\n\n");
    check_refused(
        &spelled,
        &set(0, "test_focus", "Even files"),
        "line 94, column 5: the card of `T001` mentions `test_focus` in a way that cannot be edited",
    );
    check_refused(
        &spelled,
        &set(0, "goal", "Read all"),
        "line 96, column 3: the card of `T001` has `goal` twice",
    );
    let orphan = pack(&format!("{BULLETS}- T005\n  goal: Print photos\n\n"));
    check_refused(
        &orphan,
        &Edit::Add(new_task("Print photos", 4)),
        "line 130, column 3: a card of `T005` already exists, but no such task",
    );
    check_refused(
        &orphan,
        &Edit::Rename { task_ix: 0, to: "T005" },
        "line 130, column 3: a card of `T005` already exists, but no such task",
    );
    let twice = pack("## Task Cards\n\n- T001\n  goal: Read photos\n\n- T001\n  goal: Read photos\n\n");
    check_refused(
        &twice,
        &set(0, "goal", "Read all"),
        "line 95, column 3: `T001` has two cards",
    );
}

#[test]
fn headings_in_fences_are_not_cards() {
    let cards = format!("{BULLETS}Like this:\n\n```\n- T001\n  goal: Show photos\n```\n\n");
    let (text, _) = edited(&pack(&cards), &set(0, "goal", "Read all"));
    assert!(
        text.contains("Like this:\n\n```\n- T001\n  goal: Show photos\n```\n"),
        "{text}"
    );
    assert!(text.contains("  goal: Read all\n"), "{text}");
}

#[test]
fn waves_with_names_need_one_for_a_new_wave() {
    let named = |text: String| text.replace("\"wave\": 3", "\"wave\": \"share\"");
    let text = named(pack(""));
    let new = NewTask {
        on: vec![3],
        ..new_task("Print photos", 4)
    };
    check_refused(
        &text,
        &Edit::Add(new.clone()),
        "line 34, column 22: task `T005` needs a wave after `share`, and the name of that wave is unknown",
    );
    let fields = [new.fields, &[("wave", "print")]].concat();
    let new = NewTask { fields: &fields, ..new };
    let (text, notes) = edited(&text, &Edit::Add(new.clone()));
    assert!(
        text.contains("    { \"wave\": \"print\", \"tasks\": [\"T005\"] }\n"),
        "{text}"
    );
    assert_eq!(notes, ["wave print is new"]);
    let numbered = pack("").replace("\"wave\": 3", "\"wave\": \"step 3\"");
    let new = NewTask {
        fields: &fields[..5],
        ..new
    };
    let (text, notes) = edited(&numbered, &Edit::Add(new));
    assert!(
        text.contains("    { \"wave\": \"step 4\", \"tasks\": [\"T005\"] }\n"),
        "{text}"
    );
    assert_eq!(notes, ["`T005` is in wave step 4", "wave step 4 is new"]);
}

#[test]
fn a_draft_pack_may_omit_fields_of_a_new_task() {
    let draft = pack("")
        .replace("status: derived", "status: draft")
        .replace("mode: derived", "mode: transient")
        .replace(
            "sha256:9ac7e5078de92e2900d4232473a3d7490a7aebf61f576a289fa9d87183984786",
            "pending",
        );
    let new = NewTask {
        fields: &[],
        ..new_task("Print photos", 4)
    };
    let (text, _) = edited(&draft, &Edit::Add(new));
    assert!(text.contains("\"task_id\": \"T005\",\n      \"goal\": \"Print photos\",\n      \"dependencies\": [],\n      \"wave\": 1\n"), "{text}");
}

#[test]
fn text_that_would_end_the_fence_is_escaped() {
    let (text, _) = edited(&pack(BULLETS), &set(0, "goal", "Use ``` here"));
    assert!(
        text.contains(r#""goal": "Use \u0060\u0060\u0060 here""#) && text.contains("goal: Use ``` here"),
        "{text}"
    );
    // On a card it is harmless, and so are characters that mean something elsewhere.
    for goal in [
        "- [] none",
        "a: b # c",
        "`one` \"two\"",
        "x\ny",
        "## no heading",
        "none",
        "[]",
    ] {
        let (text, _) = edited(&pack(BULLETS), &set(0, "goal", goal));
        let (back, _) = edited(&text, &set(0, "goal", "Read photos"));
        assert_eq!(back, pack(BULLETS), "{goal}");
    }
}

#[test]
fn other_fences_are_left_alone() {
    let text = pack(BULLETS)
        .replace(
            "## Task Pack Contract\n",
            "## Task Pack Contract\n\n```text\n- T001\n  goal: Read photos\n```\n",
        )
        .replace("Photos.\n", "Photos.\n\n```json\n{\"goal\": \"Read photos\"}\n```\n");
    check(
        &text,
        &set(0, "goal", "Read all"),
        &[
            "-      \"goal\": \"Read photos\",",
            "+      \"goal\": \"Read all\",",
            "-  goal: Read photos",
            "+  goal: Read all",
        ],
        &[],
    );
}

#[test]
fn converted_drafts_can_be_edited() {
    let text = include_str!("../../fixtures/convert/clido/to-task-pack.md");
    let (new, _) = edited(text, &set(0, "goal", "Something else"));
    let found = difference(text, &new);
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found[3], "+  goal: Something else");
    edited(
        text,
        &Edit::Rename {
            task_ix: 0,
            to: "first",
        },
    );
    edited(text, &Edit::Move { task_ix: 0, to: 1 });
    let new = NewTask {
        fields: &[],
        on: vec![0],
        ..new_task("Print photos", 1)
    };
    let (new, _) = edited(text, &Edit::Add(new));
    let card = "\n- T001\n  goal: Print photos\n  dependencies:\n    - t1\n  wave: 2\n- t2\n";
    assert!(new.contains(card), "{new}");
    let remove = Edit::Remove {
        task_ix: 1,
        detach: true,
    };
    let (back, _) = edited(&new, &remove);
    assert_eq!(back, text);
}

/// Makes an edit of a pack that has errors already.
fn attempt_broken(text: &str, change: &Edit<'_>) -> Result<String, String> {
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
    let open = Open::new(&SourceText::new(text), &choice);
    assert!(open.inspection.count(Severity::Error) > 0);
    match edit(&open, &choice, change, NOW) {
        Ok(changed) => Ok(text_of(&changed)),
        Err(problem) => Err(with_place(text, &problem)),
    }
}

#[test]
fn a_pack_with_unrelated_errors_can_be_edited() {
    let double = pack("").replace("{ \"wave\": 3,", "{ \"wave\": \"2\",");
    let set_goal = set(0, "goal", "Read all");
    assert!(attempt_broken(&double, &set_goal).is_ok());
    let waves = "the waves cannot follow, as `execution_waves` is not in order";
    assert_eq!(
        attempt_broken(&double, &set(0, "wave", "2")),
        Err(format!("line 37, column 15: {waves}"))
    );
    let same = pack("").replace("\"task_id\": \"T003\"", "\"task_id\": \"T002\"");
    assert!(attempt_broken(&same, &set_goal).is_ok());
    let twice = "two tasks have the id `T002`, by which waves and cards name them";
    assert_eq!(
        attempt_broken(&same, &set(1, "goal", "Show all")),
        Err(format!("line 52, column 5: {twice}"))
    );
    let cut = pack("").replace("\"wave\": 1,\n", "\"wave\": 1\n");
    let problem = attempt_broken(&cut, &set_goal).expect_err("it is no JSON");
    assert!(problem.contains("syntax errors"), "{problem}");
}
