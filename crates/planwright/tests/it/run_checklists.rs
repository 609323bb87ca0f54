//! Runs of checklists whose file other hands change: texts, boxes, whole plans at the same path.

use crate::run::Workspace;

const TWO: &str = "# P\n\n- [ ] alpha\n- [ ] beta\n";

const EXPLICIT: &str =
    "# P\n\n<!-- planwright: plan aaa, explicit dependencies -->\n\n- [ ] T1: one\n- [ ] T2: two (needs T1)\n";

/// Returns the names of the tasks that agents have worked on, without their hashes.
fn worked(workspace: &Workspace) -> String {
    let names = workspace.noted("worked");
    let bare = names
        .iter()
        .map(|name| name.rsplit_once('-').map_or(name.as_str(), |(name, _)| name));
    bare.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_new_text_is_another_task_and_not_done_by_the_work_for_the_old_one() {
    for edit in [
        "s/^- \\[ \\] alpha/- [ ] drop the old tables/",
        "s/^- \\[ \\] alpha/&\\n  - [ ] drop the old tables/",
    ] {
        let script = format!(
            "echo $task >> $ASIDE/worked\ncase $task in alpha*) sed -i '{edit}' PLAN.md; sleep 1 ;; esac\nsays done made-$task"
        );
        let workspace = Workspace::new(("PLAN.md", TWO), &script);
        let text = workspace.runs(&[]).text;
        assert!(worked(&workspace).contains("drop-the-old-tables"), "{edit}: {text}");
        assert!(
            workspace.read("PLAN.md").contains("[x] drop the old tables"),
            "{edit}: {text}"
        );
    }
}

#[test]
fn lines_that_change_places_keep_their_own_results() {
    let script = "echo $task >> $ASIDE/worked\ncase $task in alpha*) printf '# P\\n\\n## H\\n\\n- [ ] beta\\n- [ ] gamma\\n' > PLAN.md; sleep 1 ;; esac\nsays done made-$task";
    let workspace = Workspace::new(("PLAN.md", TWO), script);
    let text = workspace.runs(&[]).text;
    let worked = worked(&workspace);
    assert!(
        worked.contains("beta") && worked.contains("gamma"),
        "{worked}: {text}\n{}\n{}",
        workspace.log().join("\n"),
        workspace.read("PLAN.md")
    );
}

#[test]
fn boxes_that_an_agent_ticks_in_a_broken_plan_are_set_back_after_a_stop() {
    let script =
        "touch $ASIDE/made-$task\n[ $task = T1 ] && sed -i 's/\\[ \\]/[x]/; s/needs T1/needs T99/' PLAN.md\nsays done";
    let workspace = Workspace::new(("PLAN.md", EXPLICIT), script);
    let run = workspace.begins(&[]);
    workspace.until("the plan is broken", |workspace| {
        workspace.read("PLAN.md").contains("T99") && workspace.aside("made-T1").exists()
    });
    workspace.does(&["stop"]);
    run.ends();
    workspace.write("PLAN.md", workspace.read("PLAN.md").replace("T99", "T1"));
    assert!(workspace.read("PLAN.md").contains("[x] T2"), "the claim is in the file");
    workspace.script("touch $ASIDE/made-$task\nsays done");
    let text = workspace.runs(&[]).text;
    assert!(workspace.aside("made-T2").exists(), "nobody has worked on it: {text}");
}

#[test]
fn a_new_text_of_a_running_task_is_reported() {
    let script = "[ $task = T1 ] && sed -i 's/T1: one/T1: drop the tables/' PLAN.md && sleep 1\nsays done made-$task";
    let workspace = Workspace::new(("PLAN.md", EXPLICIT), script);
    let text = workspace.runs(&[]).text;
    assert!(text.contains("the text of `T1` changed"), "{text}");
}

#[test]
fn plans_that_take_turns_at_one_path_have_histories_of_their_own() {
    let workspace = Workspace::new(("PLAN.md", EXPLICIT), "says done");
    let other = EXPLICIT.replace("plan aaa", "plan bbb");
    workspace.does(&["start", "T1"]).exits(0);
    workspace.does(&["skip", "T2"]).exits(0);
    let first = workspace.read("PLAN.md");
    // As after `git checkout` of a branch with another plan.
    workspace.write("PLAN.md", &other);
    let undone = workspace.does(&["undo"]);
    assert_eq!(undone.status, Some(1), "{}", undone.text);
    assert_eq!(workspace.read("PLAN.md"), other);
    workspace.does(&["start", "T1"]).exits(0);
    workspace.write("PLAN.md", &first);
    let shown = workspace.does(&["show", "--all"]).text;
    assert!(shown.contains("1 running · 1 skipped"), "the states came back: {shown}");
}
