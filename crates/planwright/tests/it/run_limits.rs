//! Providers' rate limits, broken agents and their fallbacks; budgets of runs and of tasks, even after interruptions.

use std::time::{SystemTime, UNIX_EPOCH};

use planwright_run::runs::{AttemptEndRecord, RunEvent};

use crate::run::{CommandResult, Workspace, clido};

/// The final messages of agents with the output format of claude.
const WORDS: &str = r#"
ends() { echo "{\"type\":\"result\",\"is_error\":$1,$2}"; }
well() { ends false '"subtype":"success","result":"all good"'; exit 0; }
limited() { ends true "\"api_error_status\":429,\"result\":\"API Error: 429 slow down$1\""; exit 1; }
broken() { ends true '"api_error_status":401,"result":"API Error: 401 Invalid API key"'; exit 1; }
fails() { ends true '"subtype":"error_max_turns"'; exit 1; }
echo "$task $WHO" >> "$ASIDE/takers"
"#;

/// A workspace whose agents are fallbacks in this order; all run one script, and `$WHO` is their name.
fn relay(tasks: &[&str], agents: &[&str], run: &str, script: &str) -> Workspace {
    let workspace = Workspace::new(("plan.json", &clido(tasks)), &format!("{WORDS}\n{script}"));
    let (program, aside) = (workspace.aside("agent.sh"), workspace.aside(""));
    let mut text = format!(
        "[run]\nagent = \"{}\"\nbackoff = \"1ms\"\ngrace = \"2s\"\n{run}\n",
        agents[0]
    );
    for (ix, agent) in agents.iter().enumerate() {
        let fallback = agents
            .get(ix + 1)
            .map_or_else(String::new, |next| format!("fallback = \"{next}\"\n"));
        text.push_str(&format!(
            "[agents.{agent}]\ncommand = [\"sh\", \"{}\"]\noutput = \"claude-stream-json\"\n{fallback}set = {{ ASIDE = \
             \"{}\", WHO = \"{agent}\" }}\n",
            program.display(),
            aside.display()
        ));
    }
    workspace.write("planwright.toml", text);
    workspace
}

/// Returns the length of each wait of the task, in milliseconds.
fn rests(workspace: &Workspace) -> Vec<u64> {
    let records = workspace.records();
    let rests = records.iter().filter_map(|record| match &record.event {
        RunEvent::Resting(resting) => Some(resting.milliseconds),
        _ => None,
    });
    rests.collect()
}

/// Returns the end of an attempt, by the log.
#[track_caller]
fn finished(workspace: &Workspace, task: &str, attempt: u32) -> AttemptEndRecord {
    let found = workspace.records().into_iter().find_map(|record| match record.event {
        RunEvent::AttemptEnded(event) if event.task == task && event.attempt == attempt => Some(event),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no such attempt in\n{}", workspace.log().join("\n")))
}

#[test]
fn a_limited_agents_task_goes_to_its_fallback_at_once_and_no_attempt_is_spent() {
    let workspace = relay(
        &["a"],
        &["one", "two"],
        "attempts = 1",
        "[ $WHO = one ] && limited ', try again in 3600s'\nwell",
    );
    let came = workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("takers"), ["a one", "a two"]);
    assert_eq!(workspace.states(), "a done");
    assert_eq!(rests(&workspace), [0]);
    assert_eq!(finished(&workspace, "a", 1).outcome.as_str(), "rate-limited");
    let remarks = workspace.remarks();
    assert!(
        remarks.contains("`one` is rate limited by its provider: `two` takes it"),
        "{remarks}"
    );
    came.says("instead of one").says("Taken by another agent a by two");
    let summary = workspace.does(&["summary", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&summary.text).expect("JSON");
    assert_eq!(report["fallbacks"][0]["instead_of"], "one", "{}", summary.text);
}

#[test]
fn a_broken_agents_task_goes_to_its_fallback_and_no_attempt_is_spent() {
    let workspace = relay(
        &["a"],
        &["one", "two"],
        "attempts = 1",
        "[ $WHO = one ] && broken\nwell",
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("takers"), ["a one", "a two"]);
    let log = workspace.log().join("\n");
    assert!(log.contains("finished a 1 broken\n"), "{log}");
    let remarks = workspace.remarks();
    assert!(remarks.contains("`one` could not work: `two` takes it"), "{remarks}");
}

#[test]
fn a_broken_agent_without_a_fallback_fails_the_attempt() {
    let workspace = relay(&["a"], &["one"], "attempts = 2", "broken");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.noted("takers"), ["a one", "a one"]);
    assert_eq!(finished(&workspace, "a", 1).outcome.as_str(), "failed");
    assert_eq!(workspace.states(), "a failed");
}

#[test]
fn the_last_agent_that_is_broken_spends_the_attempt() {
    let workspace = relay(&["a"], &["one", "two"], "attempts = 2", "broken");
    workspace.runs(&[]).exits(1);
    // Neither agent can work, and the second attempt starts with the first agent again.
    assert_eq!(workspace.noted("takers"), ["a one", "a two", "a one"]);
    let outcomes = [1, 2, 3].map(|attempt| finished(&workspace, "a", attempt).outcome.to_string());
    assert_eq!(outcomes, ["broken", "failed", "failed"]);
}

#[test]
fn a_fallback_that_fails_has_failed() {
    let workspace = relay(
        &["a"],
        &["one", "two"],
        "attempts = 2",
        "[ $WHO = one ] && limited ', try again in 3600s'\nfails",
    );
    workspace.runs(&[]).exits(1);
    // The first agent's limit applies to the second attempt as well.
    assert_eq!(workspace.noted("takers"), ["a one", "a two", "a two"]);
    assert_eq!(workspace.states(), "a failed");
}

#[test]
fn fallbacks_have_fallbacks() {
    let workspace = relay(
        &["a"],
        &["one", "two", "three"],
        "attempts = 1",
        "[ $WHO = one ] && limited\n[ $WHO = two ] && broken\nwell",
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("takers"), ["a one", "a two", "a three"]);
}

#[test]
fn if_all_agents_are_limited_the_shortest_wait_counts() {
    let workspace = relay(
        &["a"],
        &["one", "two", "three"],
        "attempts = 1",
        "[ $attempt -gt 3 ] && well\n[ $WHO = two ] && limited ', try again in 1s'\nlimited ', try again in 3600s'",
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("takers"), ["a one", "a two", "a three", "a two"]);
    let rests = rests(&workspace);
    assert_eq!(rests[..2], [0, 0]);
    assert!((1..=1_000).contains(&rests[2]), "{rests:?}");
}

#[test]
fn a_limit_without_a_time_uses_backoff_and_spends_no_attempt() {
    let workspace = relay(&["a"], &["one"], "attempts = 1", "[ $attempt -gt 3 ] && well\nlimited");
    workspace.runs(&[]).exits(0);
    assert_eq!(rests(&workspace), [1, 2, 4]);
}

#[test]
fn a_limit_with_a_time_applies_to_all_tasks_of_the_run() {
    let workspace = relay(
        &["a", "b"],
        &["one", "two"],
        "",
        "[ $WHO = one ] && limited ', try again in 3600s'\nwell",
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("takers"), ["a one", "a two", "b two"]);
    // The next run starts without it.
    workspace.does(&["reset", "b", "--force", "-p", "plan.json"]).exits(0);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("takers")[3..], ["b one", "b two"]);
}

#[test]
fn a_limit_without_a_time_does_not_apply_to_the_next_task() {
    let workspace = relay(
        &["a", "b"],
        &["one", "two"],
        "",
        "[ $WHO = one ] && [ $task = a ] && limited\nwell",
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("takers"), ["a one", "a two", "b one"]);
}

#[test]
fn no_task_starts_on_an_agent_with_a_known_limit() {
    let workspace = relay(
        &["a", "b"],
        &["one"],
        "isolation = \"worktrees\"",
        "[ $task = a ] && [ $attempt = 1 ] && limited ', try again in 2s'\nwell",
    )
    .in_git();
    workspace.runs(&["-j", "1"]).exits(0);
    assert_eq!(workspace.noted("takers").len(), 3, "{:?}", workspace.noted("takers"));
    assert_eq!(workspace.noted("takers")[0], "a one");
    let log = workspace.log().join("\n");
    assert!(log.contains("resting b 0"), "{log}");
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_resumed_run_respects_known_limits() {
    let workspace = relay(
        &["a", "b"],
        &["one", "two"],
        "",
        "[ $WHO = one ] && limited ', try again in 3600s'\n[ $task = b ] && awaits go\nwell",
    );
    let run = workspace.begins(&[]);
    workspace.until_log("started b");
    run.dies();
    workspace.give("go");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("takers"), ["a one", "a two", "b two", "b two"]);
}

#[test]
fn a_fallback_without_its_program_is_left_out_and_reported() {
    let workspace = relay(
        &["a"],
        &["one", "two"],
        "",
        "[ $attempt = 1 ] && limited ', try again in 1s'\nwell",
    );
    let text = workspace.read("planwright.toml");
    let (before, after) = text
        .split_once("[agents.two]\ncommand = [\"sh\"")
        .expect("a second agent");
    workspace.write(
        "planwright.toml",
        format!("{before}[agents.two]\ncommand = [\"no-such-program\"{after}"),
    );
    workspace
        .runs(&[])
        .exits(0)
        .says("the program `no-such-program` of the fallback `two` was not found");
    assert_eq!(workspace.noted("takers"), ["a one", "a one"]);
}

#[test]
fn uncounted_attempts_stay_uncounted_when_the_run_resumes() {
    let workspace = relay(
        &["a"],
        &["one"],
        "attempts = 2",
        "[ $attempt = 1 ] && limited ', try again in 2s'\n[ $attempt = 2 ] && fails\nwell",
    );
    let run = workspace.begins(&[]);
    workspace.until_log("resting a 1");
    run.dies();
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("takers").len(), 3);
    assert_eq!(workspace.states(), "a done");
}

#[test]
fn a_time_of_day_is_waited_for() {
    let mut workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        r#"at=$(date -d '+2 hours' '+%-I:%M %p')
echo '{"type":"turn.started"}'
echo "{\"type\":\"turn.failed\",\"error\":{\"message\":\"You’ve hit your usage limit. Try again at $at.\"}}"
exit 1"#,
    );
    workspace.configure_agent("output = \"codex-json\"", "", "");
    // Whatever time it is, it is ten in the morning somewhere.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let hour = i64::try_from(now / 3_600 % 24).expect("an hour");
    workspace.set("TZ", &format!("TST{:+}", hour - 10));
    let run = workspace.begins(&[]);
    workspace.until_log("resting a 1");
    run.signal("INT");
    run.ends();
    let rests = rests(&workspace);
    assert!((7_100_000..=7_260_000).contains(&rests[0]), "{rests:?}");
}

/// An agent that fails, and reports its cost.
const DEAR: &str = "result '{\"planwright_result\": 1, \"outcome\": \"failed\", \"notes\": \"no luck\", \"cost\": {\"usd\": \
                    0.30, \"tokens_in\": 600, \"tokens_out\": 400}}'";

#[test]
fn a_task_over_its_budget_fails_and_others_continue() {
    for (budget, n_attempts) in [
        ("cost = 0.5", 2),
        ("tokens = 3000", 3),
        ("attempts = 2", 2),
        ("cost = 100, tokens = 1", 1),
    ] {
        let workspace = Workspace::new(
            ("plan.json", &clido(&["a", "b"])),
            &format!("[ $task = b ] && says done && exit 0\n{DEAR}"),
        );
        workspace.configure(&format!("attempts = 5\ntask_budget = {{ {budget} }}"), "");
        workspace.runs(&[]).exits(1);
        let n_tried = workspace.noted("began").iter().filter(|task| *task == "a").count();
        assert_eq!(n_tried, n_attempts, "{budget}");
        assert_eq!(workspace.states(), "a failed, b done", "{budget}");
        let notes = workspace.json()["tasks"][0]["notes"].to_string();
        assert!(
            notes.contains("(run.task_budget.") && notes.contains("no luck"),
            "{notes}"
        );
        assert!(workspace.remarks().contains("(run.task_budget."), "{budget}");
    }
}

#[test]
fn a_task_over_its_time_fails() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "sleep 2.5; exit 1");
    workspace.configure("attempts = 50\ntask_budget = { duration = \"4s\" }", "");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.noted("began").len(), 2);
    assert!(
        workspace
            .remarks()
            .contains("its budget of 4s is spent (run.task_budget.duration)")
    );
}

/// Checks that a run has ended because a budget was spent.
#[track_caller]
fn stopped_by(workspace: &Workspace, came: CommandResult, setting: &str) {
    came.says(&format!("(run.budget.{setting})"));
    let ended = workspace.ended();
    assert_eq!(ended.standing.as_str(), "stopped");
    assert!(ended.why.expect("a reason").contains(setting));
    let log = workspace.log().join("\n");
    assert!(log.contains("stopping budget\n"), "{log}");
}

#[test]
fn the_run_ends_when_its_attempts_are_spent() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b", "c"])), "says done");
    let came = workspace.runs(&["--max-attempts", "2"]).exits(1);
    assert_eq!(workspace.states(), "a done, b done, c pending");
    stopped_by(&workspace, came, "attempts");
    // Another run has its own budget.
    workspace.runs(&["--max-attempts", "1"]).exits(0);
}

#[test]
fn parallel_attempts_do_not_exceed_the_remaining_ones() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b", "c"])), "awaits go\nsays done");
    let run = workspace.begins(&["--max-attempts", "2", "-j", "3"]);
    workspace.until_begun(2);
    workspace.give("go");
    run.ends().exits(1);
    assert_eq!(workspace.noted("began").len(), 2);
    assert_eq!(workspace.states(), "a done, b done, c pending");
}

#[test]
fn an_attempt_that_does_not_count_leaves_the_runs_budget_alone() {
    let workspace = relay(&["a"], &["one"], "", "[ $attempt -lt 3 ] && limited\nwell");
    workspace.runs(&["--max-attempts", "1"]).exits(0);
    assert_eq!(workspace.noted("takers").len(), 3);
}

#[test]
fn a_failed_task_is_not_tried_again_when_the_runs_attempts_are_spent() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "exit 1");
    workspace.configure("attempts = 5\nbudget = { attempts = 2 }", "");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.noted("began").len(), 2);
    assert_eq!(workspace.states(), "a failed");
}

#[test]
fn the_run_ends_when_its_time_is_spent() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "sleep 1.2; says done");
    let came = workspace.runs(&["--max-duration", "1s"]).exits(1);
    assert_eq!(workspace.states(), "a done, b pending");
    stopped_by(&workspace, came, "duration");
}

#[test]
fn attempts_and_time_stay_spent_when_a_run_resumes() {
    for (flag, most, more) in [("--max-attempts", "2", "3"), ("--max-duration", "1s", "1h")] {
        let workspace = Workspace::new(
            ("plan.json", &clido(&["a", "b"])),
            "[ $task = a ] && sleep 1.2\n[ $task = b ] && awaits go\nsays done",
        );
        let run = workspace.begins(&[]);
        workspace.until_begun(2);
        workspace.until_log("started b");
        run.dies();
        let came = workspace.runs(&[flag, most]).exits(1);
        assert_eq!(workspace.noted("began"), ["a", "b"], "nothing begins");
        stopped_by(&workspace, came, flag.trim_start_matches("--max-"));
        workspace.give("go");
        workspace.runs(&[flag, more]).exits(0);
        assert_eq!(workspace.states(), "a done, b done");
    }
}

#[test]
fn spending_of_a_task_stays_when_a_run_resumes() {
    for budget in ["cost = 0.3", "tokens = 1000", "attempts = 1"] {
        let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), DEAR);
        workspace.configure("attempts = 3", "");
        let text = workspace.read("planwright.toml").replace("\"1ms\"", "\"1h\"");
        workspace.write("planwright.toml", text);
        let run = workspace.begins(&[]);
        workspace.until_log("resting a 1");
        run.dies();
        workspace.configure(&format!("attempts = 3\ntask_budget = {{ {budget} }}"), "");
        workspace.script("says done");
        workspace.runs(&["--accept-config"]).exits(1);
        assert_eq!(workspace.noted("began"), ["a", "b"], "{budget}");
        assert_eq!(workspace.states(), "a failed, b done", "{budget}");
        let notes = workspace.json()["tasks"][0]["notes"].to_string();
        assert!(notes.contains("(run.task_budget."), "{notes}");
    }
}

/// Adds an arbiter that chooses the agent `one`, and reports its cost.
fn with_judge(workspace: &Workspace) {
    let script = r#"echo asked >> "$ASIDE/asked"
echo '{"type":"result","is_error":false,"result":"{\"agent\": \"one\", \"reason\": \"it is idle\"}","total_cost_usd":0.4}'"#;
    let path = workspace.aside("judge.sh");
    std::fs::write(&path, script).expect("the folder is ours");
    let text = format!(
        "{}[agents.judge]\ncommand = [\"sh\", \"{}\"]\noutput = \"claude-stream-json\"\nset = {{ ASIDE = \"{}\" }}\n",
        workspace.read("planwright.toml"),
        path.display(),
        workspace.aside("").display()
    );
    workspace.write("planwright.toml", text);
}

#[test]
fn an_arbiter_is_not_asked_about_a_fallback() {
    let workspace = relay(
        &["a", "b"],
        &["one", "two"],
        "",
        "[ $WHO = one ] && [ $task = a ] && limited ', try again in 3600s'\nwell",
    );
    with_judge(&workspace);
    workspace.runs(&["--arbiter", "judge"]).exits(0);
    assert_eq!(workspace.noted("takers"), ["a one", "a two", "b two"]);
    assert_eq!(workspace.noted("asked").len(), 2);
    assert_eq!(workspace.ended().cost_usd, Some(0.8));
}

#[test]
fn costs_of_an_arbiter_stay_spent_when_a_run_resumes() {
    let workspace = relay(&["a", "b"], &["one"], "", "[ $task = b ] && awaits go\nwell");
    with_judge(&workspace);
    let run = workspace.begins(&["--arbiter", "judge"]);
    workspace.until_begun(2);
    run.dies();
    let came = workspace.runs(&["--arbiter", "judge", "--max-cost", "0.75"]).exits(1);
    assert_eq!(workspace.noted("asked").len(), 2, "nobody is asked");
    stopped_by(&workspace, came, "cost");
}

/// An agent that is done, and reports its cost: 0.60, and 1,000 tokens. All but the first task wait to be released.
const PRICED: &str = "[ $task = a ] || awaits go\nresult '{\"planwright_result\": 1, \"outcome\": \"done\", \"cost\": {\"usd\": 0.60, \
                      \"tokens_in\": 600, \"tokens_out\": 400}}'";

/// Returns what the agents of the last run cost, in cents.
fn cents(workspace: &Workspace) -> u64 {
    let records = workspace.records();
    let costs = records.iter().filter_map(|record| match &record.event {
        RunEvent::AttemptEnded(finished) => finished.cost_usd,
        _ => None,
    });
    (costs.sum::<f64>() * 100.0).round() as u64
}

#[test]
fn parallel_tasks_do_not_overspend_a_budget() {
    for (budget, setting, n_begun) in [
        ("cost = 1.50", "cost", 2),
        ("cost = 1.80", "cost", 3),
        ("cost = 0.60", "cost", 1),
        ("tokens = 2500", "tokens", 2),
        ("cost = 9, tokens = 3999", "tokens", 3),
    ] {
        let workspace = Workspace::new(("plan.json", &clido(&["a", "b", "c", "d"])), PRICED);
        workspace.configure(&format!("slots = 4\nbudget = {{ {budget} }}"), "");
        let run = workspace.begins(&["-j", "4"]);
        // All tasks that may start do so before any of them ends.
        workspace.until_begun(n_begun);
        workspace.give("go");
        let came = run.ends().exits(1);
        assert_eq!(workspace.noted("began").len(), n_begun, "{budget}");
        assert_eq!(cents(&workspace), 60 * n_begun as u64, "{budget}");
        stopped_by(&workspace, came, setting);
        let remarks = workspace.remarks();
        assert!(remarks.contains("it waits for the budget: "), "{budget}: {remarks}");
    }
}

#[test]
fn a_large_enough_budget_lets_all_tasks_run_in_parallel() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b", "c", "d"])), PRICED);
    workspace.configure("slots = 4\nbudget = { cost = 2.40 }", "");
    let run = workspace.begins(&["-j", "4"]);
    workspace.until_begun(4);
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(cents(&workspace), 240);
}

#[test]
fn agents_without_reported_costs_are_not_held_by_a_budget() {
    let script = "[ $task = a ] || awaits go\nsays done";
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b", "c", "d"])), script);
    workspace.configure("slots = 4\nbudget = { cost = 0.01 }", "");
    let run = workspace.begins(&["-j", "4"]);
    workspace.until_begun(4);
    workspace.give("go");
    run.ends().exits(0);
}

#[test]
fn a_budget_is_not_overspent_when_a_run_resumes() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b", "c", "d"])), PRICED);
    workspace.configure("slots = 4\nbudget = { cost = 1.50 }", "");
    let run = workspace.begins(&["-j", "4"]);
    workspace.until_begun(2);
    workspace.until_log("started b");
    run.dies();
    let run = workspace.begins(&["-j", "4"]);
    // The cost of an attempt is known from before: one more fits, and it starts at once.
    workspace.until_begun(3);
    workspace.give("go");
    let came = run.ends().exits(1);
    assert_eq!(workspace.noted("began").len(), 3);
    assert_eq!(cents(&workspace), 120);
    stopped_by(&workspace, came, "cost");
}

#[test]
fn a_task_waiting_for_the_budget_is_reported() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b", "c"])), PRICED);
    workspace.configure("slots = 3\nbudget = { cost = 1.50 }", "");
    let run = workspace.begins(&["-j", "3"]);
    workspace.until_begun(2);
    workspace.until_log("started b");
    let why =
        "it waits for the budget: $0.60 of $1.50 is spent, $0.60 is reserved, and an attempt has cost up to $0.60";
    workspace.until("it is said", |workspace| {
        workspace.remarks().contains("waits for the budget")
    });
    let told = workspace.does(&["why", "c", "-p", "plan.json"]).exits(0);
    told.says("it waits for the budget");
    let told = workspace.does(&["why", "c", "-p", "plan.json", "--json"]).exits(0);
    told.says("\"awaits_budget\"");
    workspace.give("go");
    let came = run.ends().exits(1);
    came.says("it waits for the budget").says(&why[..24]);
    let told = workspace.does(&["why", "c", "-p", "plan.json"]).exits(0);
    assert!(
        !told.text.contains("waits for the budget"),
        "the run is over: {}",
        told.text
    );
}
