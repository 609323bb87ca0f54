//! Agents that change what verifies them, or other tasks: their work waits for a review, or fails.

use crate::run::{Workspace, aimi, clido};

/// What verifies the tasks of the tests below: a script of the repository.
const BY_SCRIPT: &str = "[verify]\nevery = [[\"sh\", \"check.sh\"]]\n";

#[test]
fn a_task_that_changes_what_verifies_it_waits_for_a_review() {
    for in_git in [false, true] {
        let workspace = Workspace::new(
            ("plan.json", &clido(&["a", "b a"])),
            "echo 'exit 0' > check.sh; echo x > made-$task; says done",
        );
        workspace.configure("", BY_SCRIPT);
        workspace.write("check.sh", "exit 1\n");
        let workspace = if in_git { workspace.in_git() } else { workspace };
        let came = workspace.runs(&[]).exits(1);
        let came = match in_git {
            true => came.says("it changed or removed files that verify it: `check.sh`"),
            false => came.says("files that verify it were changed or removed while it worked: `check.sh`"),
        };
        assert_eq!(workspace.ended().standing.as_str(), "awaits-review", "{}", came.text);
        assert_eq!(workspace.noted("began"), ["a"], "what depends on it waits");
        // Neither `done` nor `land` bypasses the review.
        workspace
            .does(&["done", "a", "-p", "plan.json", "--unverified"])
            .exits(1)
            .says("--take-over");
        if in_git {
            assert_eq!(landed(&workspace, "check.sh"), "exit 1\n", "it is not on the branch");
        }
        workspace.does(&["approve", "a", "-p", "plan.json"]).exits(0);
        assert!(workspace.states().starts_with("a done"), "{}", workspace.states());
        if in_git {
            workspace.does(&["land"]).exits(0);
        }
    }
}

/// Returns what a file has on the branch of the plan; nothing where it is not there.
fn landed(workspace: &Workspace, path: &str) -> String {
    let of = format!("planwright/plan-a1b2c3d4:{path}");
    let shown = workspace.command("git", &["show", &of]).output().expect("git");
    String::from_utf8(shown.stdout).expect("text")
}

/// Returns a workspace in git whose task `a` empties the script that verifies all tasks, and whose task `b` passes only with that.
fn disarmed(b: &str) -> Workspace {
    let script = format!("[ $task = a ] && echo 'exit 0' > check.sh\n{b}echo x > made-$task; says done");
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), &script);
    workspace.configure("", BY_SCRIPT);
    workspace.write("check.sh", "test -f made-a\n");
    workspace.in_git()
}

#[test]
fn work_that_waits_for_review_does_not_verify_the_work_of_others() {
    let workspace = disarmed("[ $task = b ] && awaits go\n");
    let run = workspace.begins(&["-j", "1", "--attempts", "1"]);
    workspace.until_log("review a");
    workspace.give("go");
    run.ends().exits(1);
    assert_eq!(workspace.states(), "a running, b failed");
    assert_eq!(landed(&workspace, "check.sh"), "test -f made-a\n");
}

#[test]
fn work_that_is_approved_during_the_run_lands() {
    let workspace = disarmed("[ $task = b ] && awaits go\n");
    let run = workspace.begins(&["-j", "2"]);
    workspace.until_log("review a");
    workspace
        .does(&["approve", "a", "-p", "plan.json", "--by", "ada", "--note", "as agreed"])
        .exits(0);
    workspace.until_log("merged a");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done");
    assert_eq!(landed(&workspace, "check.sh"), "exit 0\n");
    let mut began = workspace.noted("began");
    began.sort();
    assert_eq!(began, ["a", "b"], "no agent does it again");
    workspace.does(&["history", "plan.json"]).exits(0).says("by ada");
}

#[test]
fn work_that_is_rejected_is_on_no_branch() {
    let workspace = disarmed("");
    workspace
        .runs(&["--only", "a"])
        .exits(1)
        .says("needs review: `git show");
    workspace
        .does(&["reject", "a", "-p", "plan.json", "--note", "no"])
        .exits(0);
    assert_eq!(workspace.states(), "a failed, b pending");
    assert_eq!(landed(&workspace, "made-a"), "");
    workspace.runs(&["--only", "b", "--attempts", "1"]).exits(1);
    assert_eq!(workspace.states(), "a failed, b failed");
}

#[test]
fn work_that_waits_for_review_is_found_by_later_runs() {
    for is_killed in [false, true] {
        let workspace = disarmed("[ $task = b ] && awaits go\n");
        let run = workspace.begins(&["-j", "1", "--attempts", "1"]);
        workspace.until_log("review a");
        match is_killed {
            true => run.dies(),
            false => {
                workspace.give("go");
                run.ends().exits(1);
            }
        }
        workspace.give("go");
        workspace.runs(&["--attempts", "1"]).exits(1);
        assert_eq!(
            landed(&workspace, "check.sh"),
            "test -f made-a\n",
            "killed: {is_killed}"
        );
        workspace
            .does(&["approve", "a", "-p", "plan.json", "--json"])
            .exits(0)
            .says("\"written\": true");
        assert_eq!(landed(&workspace, "check.sh"), "exit 0\n", "killed: {is_killed}");
        workspace.runs(&["--retry-failed"]).exits(0);
        assert_eq!(workspace.states(), "a done, b done");
        let n_began = workspace.noted("began").iter().filter(|task| *task == "a").count();
        assert_eq!(n_began, 1, "killed: {is_killed}");
    }
}

#[test]
fn approved_work_that_meets_a_conflict_is_left_to_a_run() {
    let workspace = disarmed("[ $task = b ] && printf 'test -f made-b\\n' > check.sh\n");
    workspace.configure("", "[verify]\nevery = [\"true\"]\nprotect = [\"check.sh\"]\n");
    workspace.runs(&["-j", "1"]).exits(1);
    assert_eq!(workspace.states(), "a running, b running");
    workspace.does(&["approve", "a", "-p", "plan.json"]).exits(0);
    workspace
        .does(&["approve", "b", "-p", "plan.json"])
        .exits(1)
        .says("approved, and not landed yet")
        .says("it conflicts with what has landed, in `check.sh`");
    assert_eq!(workspace.states(), "a done, b running");
    assert_eq!(workspace.noted("began").len(), 2, "no agent was started");
    // Its agent resolves it, and the result is reviewed again.
    workspace.script("printf 'both\\n' > check.sh; says done");
    workspace.runs(&[]).exits(1).says("needs review");
    workspace.does(&["approve", "b", "-p", "plan.json"]).exits(0);
    assert_eq!(landed(&workspace, "check.sh"), "both\n");
}

#[test]
fn no_task_starts_in_a_shared_folder_while_its_verification_waits_for_review() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = a ] && echo 'exit 0' > check.sh; echo x > made-$task; says done",
    );
    workspace.configure("", BY_SCRIPT);
    workspace.write("check.sh", "test -f made-a\n");
    for _ in 0..2 {
        workspace.runs(&["-j", "1"]).exits(1);
        assert_eq!(workspace.noted("began"), ["a"]);
    }
    workspace.does(&["approve", "a", "-p", "plan.json"]).exits(0);
    workspace.runs(&["-j", "1"]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_task_with_an_earlier_decision_cannot_be_approved() {
    for decide in [
        &[&["reject", "a", "--note", "no"][..]][..],
        &[&["reject", "a", "--note", "no"], &["retry", "a"]],
        &[&["reset", "a"]],
        &[&["skip", "a"]],
        &[&["fail", "a", "--take-over", "--note", "no"]],
    ] {
        let workspace = disarmed("");
        workspace.runs(&["--only", "a"]).exits(1);
        for words in decide {
            let words: Vec<&str> = words.iter().copied().chain(["-p", "plan.json"]).collect();
            workspace.does(&words).exits(0);
        }
        workspace
            .does(&["approve", "a", "-p", "plan.json"])
            .exits(1)
            .says("does not wait for review");
        assert_eq!(landed(&workspace, "made-a"), "", "{decide:?}");
        let text = workspace.does(&["summary"]).text;
        assert!(!text.contains("approve a") || decide[0][0] != "reject", "{text}");
        // The waiting work is not resumed without a new review.
        workspace.runs(&["--only", "a", "--retry-failed", "--attempts", "1"]);
        assert_eq!(landed(&workspace, "check.sh"), "test -f made-a\n", "{decide:?}");
    }
}

#[test]
fn a_task_that_waits_for_review_keeps_its_name() {
    let workspace = disarmed("");
    workspace.runs(&["--only", "a"]).exits(1);
    for words in [&["rename", "a", "z"][..], &["remove", "a"]] {
        let words: Vec<&str> = words.iter().copied().chain(["-p", "plan.json"]).collect();
        workspace.does(&words).exits(1).says("waits for review");
    }
    workspace.does(&["approve", "a", "-p", "plan.json"]).exits(0);
    workspace.does(&["rename", "a", "z", "-p", "plan.json"]).exits(0);
}

#[test]
fn a_refused_approval_is_not_recorded_and_one_that_has_not_landed_can_be_taken_back() {
    let workspace = disarmed("");
    workspace.runs(&["--only", "a"]).exits(1);
    workspace.write(
        "planwright.toml",
        format!("{}\n[approval]\nrequired = true\n", workspace.read("planwright.toml")),
    );
    workspace.does(&["approve", "a", "-p", "plan.json"]).exits(1);
    workspace.does(&["approve", "plan.json"]).exits(0);
    workspace.runs(&["--only", "a"]).exits(1).says("needs review");
    assert_eq!(landed(&workspace, "made-a"), "", "it was not approved");
    // Its branch is in use: the approval is kept, and can be undone.
    let elsewhere = workspace.aside("elsewhere").display().to_string();
    let added = workspace
        .command(
            "git",
            &[
                "worktree",
                "add",
                "-q",
                "--force",
                &elsewhere,
                "planwright/plan-a1b2c3d4",
            ],
        )
        .status();
    assert!(added.expect("git").success());
    workspace
        .does(&["approve", "a", "-p", "plan.json"])
        .exits(1)
        .says("not landed yet");
    workspace
        .does(&["reject", "a", "-p", "plan.json", "--note", "no"])
        .exits(0);
    assert_eq!(workspace.states(), "a failed, b pending");
    workspace.runs(&["--retry-failed", "--only", "a"]);
    assert_eq!(landed(&workspace, "made-a"), "", "the approval was taken back");
}

#[test]
fn a_task_cannot_change_what_verifies_it_through_attributes_or_links() {
    for (check, script) in [
        // Attributes decide what git writes into a checkout.
        ("check.sh", "printf 'check.sh text eol=crlf\\n' > .gitattributes"),
        // The file that a link leads to.
        ("link.sh", "echo 'exit 0' > check.sh"),
    ] {
        let script = format!("{script}; echo x > made-$task; says done");
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), &script);
        workspace.configure("", &format!("[verify]\nevery = [[\"sh\", \"{check}\"]]\n"));
        workspace.write("check.sh", "true #\n");
        std::os::unix::fs::symlink("check.sh", workspace.root().join("link.sh")).expect("a link");
        let workspace = workspace.in_git();
        workspace
            .runs(&["--attempts", "1"])
            .exits(1)
            .says("files that verify it");
        assert_eq!(workspace.states(), "a running", "{check}");
    }
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "printf 'all:\\n\\ttrue\\n' > GNUmakefile; echo x > made-$task; says done",
    );
    workspace.configure("", "[verify]\nevery = [\"test -f Makefile # make\"]\n");
    workspace.write("Makefile", "all:\n\tfalse\n");
    let workspace = workspace.in_git();
    workspace.runs(&["--attempts", "1"]).exits(1).says("`GNUmakefile`");
    assert_eq!(workspace.states(), "a running");
}

#[test]
fn a_failed_task_that_changed_what_verifies_others_ends_a_run_in_a_shared_folder() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = a ] && echo 'exit 0' > check.sh && exit 1; echo x > made-$task; says done",
    );
    workspace.configure("", BY_SCRIPT);
    workspace.write("check.sh", "test -f made-a\n");
    workspace
        .runs(&["-j", "1", "--attempts", "1"])
        .exits(1)
        .says("restore it, and run again");
    assert_eq!(workspace.states(), "a failed, b pending");
}

#[test]
fn what_verifies_a_task_in_a_shared_folder_is_that_of_its_first_start_also_after_a_kill() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "echo 'exit 0' > check.sh; touch \"$ASIDE/here\"; awaits go; says done",
    );
    workspace.configure("", BY_SCRIPT);
    workspace.write("check.sh", "test -f made-a\n");
    let run = workspace.begins(&[]);
    workspace.until("the agent", |workspace| workspace.aside("here").exists());
    run.dies();
    workspace.give("go");
    workspace.runs(&[]).exits(1).says("files that verify it were changed");
    assert_eq!(workspace.states(), "a running");
}

#[test]
fn a_task_that_changes_what_verifies_it_fails_on_request() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "rm tests/one.txt; says done");
    let rules = "[verify]\nevery = [\"true\"]\nprotect = [\"tests/**\"]\non_protected = \"fail\"\n";
    workspace.configure("", rules);
    workspace.write("tests/one.txt", "1\n");
    let workspace = workspace.in_git();
    workspace
        .runs(&[])
        .exits(1)
        .says("`tests/one.txt` (verify.on_protected)");
    // Added files do not count.
    workspace.script("echo 2 > tests/two.txt; says done");
    workspace.runs(&["--retry-failed"]).exits(0);
}

#[test]
fn a_dry_run_shows_what_verifies_the_tasks_and_what_that_protects() {
    let plan = aimi(1, &["1", "2"]).replacen("\"Typecheck passes\"", "\"Typecheck passes\", \"Docs are there\"", 1);
    let workspace = Workspace::new(("tasks.json", &plan), "says done");
    workspace.write("tests/check.sh", "");
    workspace.configure(
        "",
        "[verify]\nevery = [\"sh tests/check.sh -q\"]\nprotect = [\"ci/**\"]\n\n[[verify.criteria]]\ntext = \"Docs are there\"\nrun = [[\"test\", \"-e\", \"docs\"]]",
    );
    let shown = workspace.runs(&["--dry-run"]).exits(0).text;
    for line in [
        "US-001: `sh tests/check.sh -q`, `test -e docs`",
        "US-002: `sh tests/check.sh -q`\n                no rule verifies “Typecheck passes”",
        "a change to tests/check.sh, ci/** needs a review",
    ] {
        assert!(shown.contains(line), "`{line}` in\n{shown}");
    }
    let report = workspace.runs(&["--dry-run", "--json"]).exits(0).as_json();
    assert_eq!(
        report["tasks"][0]["verified_by"][1],
        serde_json::json!(["test", "-e", "docs"])
    );
    assert_eq!(
        report["tasks"][1]["protected"],
        serde_json::json!(["tests/check.sh", "ci/**"])
    );
    assert_eq!(report["on_protected"], "review");
}

#[test]
fn code_of_a_task_does_not_rewrite_the_next_command_that_verifies_it() {
    let script = "echo 'echo true > check.sh' > lib.sh; touch bad; says done";
    for isolation in ["checkouts", "shared"] {
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), script);
        workspace.write("main.sh", "test ! -e lib.sh || . ./lib.sh\n");
        workspace.write("check.sh", "test ! -e bad\n");
        workspace.configure(
            &format!("isolation = \"{isolation}\""),
            "[verify]\nevery = [\"sh main.sh\", \"sh check.sh\"]\n",
        );
        let workspace = workspace.in_git();
        let came = workspace.runs(&[]);
        assert!(!workspace.states().contains("done"), "{isolation}: {}", came.text);
        if isolation == "checkouts" {
            came.exits(1)
                .says("restored before the next command: an earlier one changed `check.sh`");
        }
    }
}

#[test]
fn hidden_processes_do_not_change_verified_work() {
    let script = "touch made; env -i setsid sh -c \"(sleep 0.4; touch $PWD/late) >/dev/null 2>&1 </dev/null &\" >/dev/null 2>&1 </dev/null; says done";
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), script);
    workspace.configure("", "[verify]\nevery = [\"sleep 1\"]\n");
    let workspace = workspace.in_git();
    workspace
        .runs(&["--isolation", "shared"])
        .exits(0)
        .says("that its agent left running");
    assert!(!workspace.exists("late"));
}

#[test]
fn pipes_and_processes_of_one_command_do_not_reach_the_next() {
    for evil in [
        "mkfifo .gitignore; mkfifo sub/.gitattributes; rm check.sh; mkfifo check.sh",
        "env -i setsid sh -c 'while :; do echo true > check.sh; done' </dev/null >/dev/null 2>&1 & sleep 0.2",
    ] {
        let script = format!("cat > lib.sh <<'X'\n{evil}\nX\ntouch bad; says done");
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), &script);
        workspace.write("main.sh", "test ! -e lib.sh || . ./lib.sh\n");
        workspace.write("sub/file", "text\n");
        workspace.write("check.sh", "test ! -e bad\n");
        workspace.configure("", "[verify]\nevery = [\"sh main.sh\", \"sh check.sh\"]\n");
        let workspace = workspace.in_git();
        let came = workspace.runs(&["--isolation", "checkouts"]).exits(1);
        assert!(!workspace.states().contains("done"), "{evil}: {}", came.text);
    }
}
