//! More than a day of a run, on a faster clock: waits of hours, limits of hours, budgets of half a day.
//!
//! `cargo test -p planwright --test it run_day -- --nocapture` prints the measurements.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use planwright_run::clock::milliseconds_of;
use planwright_run::runs::{AttemptEndRecord, RunEvent, RunRecord};

use crate::run::{CommandResult, RunningCommand, Workspace, clido};

/// A day takes half a minute. A delay of about a second in the test is an hour of the run.
const RATE: u64 = 2_880;

const HOUR: u64 = 3_600_000;

/// The time after which a running process counts as hanging.
const PATIENCE: Duration = Duration::from_secs(240);

const N_TASKS: usize = 40;

/// Most tasks take some ten minutes. Some have to wait, hang, talk without end, or fail, each the first time.
const SCRIPT: &str = r#"
says() { echo "{\"type\":\"result\",\"is_error\":$1,$2}"; }
echo '{"type":"system"}'
if [ $attempt = 1 ]; then case $task in
t5) says true '"api_error_status":429,"result":"API Error: 429 slow down, try again in 18000s"'; exit 1;;
t15) sleep 200;;
t25) while :; do echo '{"type":"system"}'; sleep 0.4; done;;
t30) says true '"subtype":"error_max_turns"'; exit 1;;
esac; fi
sleep 0.2
says false '"subtype":"success","result":"all good"'
"#;

fn workspace() -> Workspace {
    let tasks: Vec<String> = (1..=N_TASKS).map(|ix| format!("t{ix} t{}", ix - 1)).collect();
    let mut tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    tasks[0] = "t1";
    let mut workspace = Workspace::new(("plan.json", &clido(&tasks)), SCRIPT);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    workspace.set("PLANWRIGHT_CLOCK", &format!("{RATE}@{}", now.as_secs()));
    workspace
}

fn configure(workspace: &Workspace, more: &str) {
    let limits = "attempts = 2\nsilence_limit = \"6h\"\nwall_limit = \"8h\"";
    let run = format!("{limits}\n{more}\n");
    workspace.configure_agent("output = \"claude-stream-json\"", &run, "");
    let backoff = workspace
        .read("planwright.toml")
        .replace("backoff = \"1ms\"", "backoff = \"30m\"");
    workspace.write("planwright.toml", backoff);
}

/// Waits for the end of a run, and returns how many kilobytes of memory it had at each look.
#[track_caller]
fn watch(mut run: RunningCommand) -> (CommandResult, Vec<u64>) {
    let began = Instant::now();
    let mut sizes = Vec::new();
    while !run.is_over() {
        assert!(began.elapsed() < PATIENCE, "it hangs");
        sizes.extend(memory_of(run.pid()));
        std::thread::sleep(Duration::from_millis(100));
    }
    (run.ends(), sizes)
}

fn memory_of(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn time_of(record: &RunRecord) -> u64 {
    milliseconds_of(&record.time).expect("a time as we write it")
}

#[track_caller]
fn finished<'r>(records: &'r [RunRecord], task: &str) -> (&'r RunRecord, &'r AttemptEndRecord) {
    let mut ends = records.iter().filter_map(|record| match &record.event {
        RunEvent::AttemptEnded(event) if event.task == task && event.attempt == 1 => Some((record, event)),
        _ => None,
    });
    ends.next().expect("its first attempt has ended")
}

/// Returns when a task was begun a second time.
#[track_caller]
fn begun_again(records: &[RunRecord], task: &str) -> u64 {
    let mut starts = records.iter().filter(|record| match &record.event {
        RunEvent::AttemptStarting(event) => event.task == task && event.attempt == 2,
        _ => false,
    });
    time_of(starts.next().expect("a second attempt"))
}

/// Checks that the memory of a run did not grow with the hours.
#[track_caller]
fn does_not_grow(sizes: &[u64]) -> (u64, u64) {
    let quarter = sizes.len() / 4;
    let most = |sizes: &[u64]| sizes.iter().copied().max().unwrap_or(0);
    let (first, last) = (most(&sizes[..quarter]), most(&sizes[sizes.len() - quarter..]));
    assert!(last <= first + 4_096, "from {first} KiB to {last} KiB: {sizes:?}");
    (first, last)
}

#[test]
fn a_run_survives_a_day_of_limits_and_failures() {
    let workspace = workspace();
    configure(&workspace, "");
    let (came, sizes) = watch(workspace.begins(&[]));
    came.exits(0);
    let records = workspace.records();

    let (limited, end) = finished(&records, "t5");
    assert_eq!(end.outcome.as_str(), "rate-limited");
    let waited = begun_again(&records, "t5") - time_of(limited);
    assert!((5 * HOUR..8 * HOUR).contains(&waited), "waited {waited} ms");
    let meanwhile = records
        .iter()
        .filter(|record| (1..5 * HOUR).contains(&time_of(record).saturating_sub(time_of(limited))));
    assert!(meanwhile.count() <= 2, "a run that waits has nothing to write");

    for (task, hours, why) in [("t15", 6, "silence_limit"), ("t25", 8, "wall_limit")] {
        let (_, end) = finished(&records, task);
        let took = end.milliseconds.expect("it was measured");
        assert!((hours * HOUR..(hours + 2) * HOUR).contains(&took), "{task}: {took} ms");
        assert!(end.why.as_deref().is_some_and(|text| text.contains(why)), "{end:?}");
    }
    let (failed, _) = finished(&records, "t30");
    let rested = begun_again(&records, "t30") - time_of(failed);
    assert!(rested >= HOUR / 2, "rested {rested} ms");

    let times: Vec<u64> = records.iter().map(time_of).collect();
    assert!(times.is_sorted());
    let passed = times[times.len() - 1] - times[0];
    assert!(passed >= 24 * HOUR, "{passed} ms");

    let mut began = workspace.noted("began");
    began.sort();
    let mut expected: Vec<String> = (1..=N_TASKS).map(|ix| format!("t{ix}")).collect();
    expected.extend(["t5", "t15", "t25", "t30"].map(str::to_owned));
    expected.sort();
    assert_eq!(began, expected, "every task once, and those that came to nothing twice");

    let (first, last) = does_not_grow(&sizes);
    let n_bytes = std::fs::metadata(workspace.place().log()).expect("it is there").len();
    println!(
        "{:.1} hours, {} records; log {n_bytes} bytes, {} per task; memory {first} KiB in the first quarter, {last} KiB in the last",
        passed as f64 / HOUR as f64,
        records.len(),
        n_bytes / N_TASKS as u64,
    );
    workspace.is_quiet();
}

#[test]
fn hours_of_waiting_count_against_the_budget() {
    let workspace = workspace();
    configure(&workspace, "budget = { duration = \"4h\" }");
    let (came, _) = watch(workspace.begins(&[]));
    came.says("(run.budget.duration)");
    let records = workspace.records();
    let passed = time_of(&records[records.len() - 1]) - time_of(&records[0]);
    assert!((4 * HOUR..9 * HOUR).contains(&passed), "{passed} ms");
    assert!(!workspace.states().contains("t5 done"), "{}", workspace.states());
}
