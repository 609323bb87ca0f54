//! Reviews of tasks: sent to an active run, written to the plan after it, and refused if no task waits for one.

use std::path::PathBuf;
use std::time::Duration;

use planwright_run::files::DiskFiles;
use planwright_run::journal::JournalHeader;
use planwright_run::layout::{PlanPlace, make_state_folder};
use planwright_run::review::{Review, ReviewError, ReviewResult, ReviewVerdict, review};
use planwright_run::revise::ChangeTarget;
use planwright_run::runs::{
    ApprovalRecord, AttemptEndRecord, AttemptRecord, Outcome, RequestReader, RunEndRecord, RunEvent, RunLock, RunLog,
    RunPlace, TaskRecord,
};
use planwright_run::store::{PlanFile, history};

const TIME: &str = "2026-11-16T05:00:00.000Z";

const PLAN: &str = r#"{"goal": "g", "tasks": [
  {"id": "t1", "description": "a", "status": "running"},
  {"id": "t2", "description": "b", "depends_on": ["t1"]}
]}
"#;

struct Workspace {
    _folder: tempfile::TempDir,
    place: PlanPlace,
}

impl Workspace {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(".git")).expect("a folder");
        let path = folder.path().join("plan.json");
        std::fs::write(&path, PLAN).expect("a file");
        let place = PlanPlace::of(&DiskFiles, &path).expect("a place");
        make_state_folder(&DiskFiles, &place.root).expect("folders");
        Workspace { _folder: folder, place }
    }

    fn path(&self) -> PathBuf {
        self.place.target.clone()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("a file")
    }

    /// Writes the log of a run by hand.
    fn run(&self, time: &str, plan: &str, events: &[RunEvent]) -> RunPlace {
        let run = RunPlace::create(&DiskFiles, &self.place.root, time).expect("a run");
        let header = JournalHeader {
            path: plan.to_owned(),
            id: None,
        };
        let mut log = RunLog::begin(&DiskFiles, &run.log(), &header).expect("a log");
        for event in events {
            log.add(TIME, event).expect("added");
        }
        log.commit().expect("durable");
        run
    }

    fn say(&self, task: &str, verdict: ReviewVerdict, dry: bool) -> Result<ReviewResult, ReviewError> {
        let path = self.path();
        let target = ChangeTarget {
            path: &path,
            forced: None,
            dry,
        };
        let word = Review {
            task,
            verdict,
            by: Some("ada"),
            note: Some("looked at it"),
            patience: Duration::from_millis(400),
        };
        review(target, &word)
    }

    #[track_caller]
    fn waits_for_nobody(&self, expected: &[&str]) {
        match self.say("t1", ReviewVerdict::Approve, false) {
            Err(ReviewError::NothingWaits { task, waiting }) => {
                assert_eq!(task, "t1");
                assert_eq!(waiting, expected);
            }
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("nothing waits"),
        }
        assert_eq!(self.text(), PLAN);
    }
}

fn starting(task: &str) -> RunEvent {
    RunEvent::AttemptStarting(AttemptRecord {
        task: task.to_owned(),
        attempt: 1,
        ..AttemptRecord::default()
    })
}

fn finished(task: &str, outcome: &str) -> RunEvent {
    RunEvent::AttemptEnded(AttemptEndRecord {
        task: task.to_owned(),
        attempt: 1,
        outcome: Outcome::of(outcome),
        output: Some("built it".to_owned()),
        files: vec!["src/a.rs".to_owned()],
        ..AttemptEndRecord::default()
    })
}

fn to_review(task: &str) -> RunEvent {
    RunEvent::Review(TaskRecord { task: task.to_owned() })
}

fn approved(task: &str) -> RunEvent {
    RunEvent::Approved(ApprovalRecord {
        task: task.to_owned(),
        by: None,
        ..ApprovalRecord::default()
    })
}

fn ended() -> RunEvent {
    RunEvent::RunEnded(RunEndRecord::default())
}

fn left_for_review(task: &str) -> Vec<RunEvent> {
    vec![starting(task), finished(task, "done"), to_review(task), ended()]
}

#[test]
fn an_approved_task_is_done() {
    let workspace = Workspace::new();
    workspace.run(TIME, "plan.json", &left_for_review("t1"));
    let dry = workspace.say("t1", ReviewVerdict::Approve, true);
    assert!(matches!(dry, Ok(ReviewResult::Plan { .. })));
    assert_eq!(workspace.text(), PLAN);
    let Ok(ReviewResult::Plan { run, task, revised, .. }) = workspace.say("t1", ReviewVerdict::Approve, false) else {
        panic!("the plan is changed");
    };
    assert_eq!((run.as_str(), task.as_str()), ("20261116-050000", "t1"));
    assert_eq!(revised.change, Some(1));
    assert!(workspace.text().contains("\"status\": \"done\""));
    let path = workspace.path();
    let past = history(PlanFile { path: &path, id: None })
        .expect("a history")
        .changes()
        .to_vec();
    let change = &past[0].change;
    assert_eq!((change.verb.as_str(), change.by.as_deref()), ("approve", Some("ada")));
    assert_eq!(
        (change.output.as_deref(), change.files.as_slice()),
        (Some("built it"), ["src/a.rs".to_owned()].as_slice())
    );
    // A second review is refused.
    assert!(matches!(
        workspace.say("t1", ReviewVerdict::Approve, false),
        Err(ReviewError::NothingWaits { .. })
    ));
}

#[test]
fn a_rejected_task_has_failed() {
    let workspace = Workspace::new();
    workspace.run(TIME, "plan.json", &left_for_review("t1"));
    assert!(matches!(
        workspace.say("t1", ReviewVerdict::Reject, false),
        Ok(ReviewResult::Plan { .. })
    ));
    let text = workspace.text();
    assert!(
        text.contains("\"status\": \"failed\"") && text.contains("looked at it"),
        "{text}"
    );
}

#[test]
fn the_newest_run_of_a_task_decides_if_it_waits_for_review() {
    let workspace = Workspace::new();
    workspace.waits_for_nobody(&[]);
    workspace.run("2026-11-16T04:00:00Z", "plan.json", &left_for_review("t1"));
    let later = [starting("t1"), finished("t1", "failed"), to_review("t2"), ended()];
    workspace.run("2026-11-16T05:00:00Z", "plan.json", &later);
    workspace.waits_for_nobody(&["t2"]);
    // Runs of other plans, and one that never started, do not matter for this one.
    workspace.run("2026-11-16T06:00:00Z", "other.json", &left_for_review("t1"));
    RunPlace::create(&DiskFiles, &workspace.place.root, "2026-11-16T07:00:00Z").expect("a run");
    workspace.waits_for_nobody(&["t2"]);
    let mut answered = left_for_review("t1");
    answered.insert(3, approved("t1"));
    workspace.run("2026-11-16T08:00:00Z", "plan.json", &answered);
    workspace.waits_for_nobody(&[]);
    // A run without records of the task leaves the review to the one before.
    workspace.run("2026-11-16T09:00:00Z", "plan.json", &left_for_review("t1"));
    workspace.run("2026-11-16T09:30:00Z", "plan.json", &[starting("t2"), ended()]);
    assert!(matches!(
        workspace.say("t1", ReviewVerdict::Approve, true),
        Ok(ReviewResult::Plan { run, .. }) if run == "20261116-090000"
    ));
}

#[test]
fn an_unknown_task_is_named() {
    let workspace = Workspace::new();
    assert!(matches!(
        workspace.say("t9", ReviewVerdict::Approve, false),
        Err(ReviewError::Revise(_))
    ));
}

/// Simulates a run that follows requests, or does not. Returns the result of the review, and the requests that the run received.
fn with_live_run(
    workspace: &Workspace,
    answer: Option<RunEvent>,
    say: impl FnOnce() -> Result<ReviewResult, ReviewError>,
) -> (Result<ReviewResult, ReviewError>, Option<(String, String)>) {
    let events = [starting("t1"), finished("t1", "done"), to_review("t1")];
    let run = workspace.run(TIME, "plan.json", &events);
    let live = RunLock::acquire(&DiskFiles, &workspace.place, run.id(), TIME).expect("nobody else runs it");
    let mut requests = RequestReader::from_now(&run.requests());
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let player = scope.spawn(move || {
            let _live = live;
            loop {
                if let Some(asked) = requests.more().into_iter().next() {
                    let mut log = RunLog::resume(&DiskFiles, &run.log()).expect("a log").log;
                    if let Some(answer) = &answer {
                        log.add(TIME, answer).expect("added");
                        log.commit().expect("durable");
                    }
                    // The run continues until the other side has its answer.
                    let _ = receiver.recv();
                    return Some((asked.verb, asked.task.unwrap_or_default()));
                }
                let is_over = receiver.recv_timeout(Duration::from_millis(5));
                if is_over != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                    return None;
                }
            }
        });
        let said = say();
        drop(sender);
        (said, player.join().expect("the run ends"))
    })
}

#[test]
fn a_live_run_gets_the_review_and_answers() {
    for (verdict, event, expected) in [
        (ReviewVerdict::Approve, approved("t1"), "approved"),
        (ReviewVerdict::Reject, finished("t1", "failed"), "failed"),
    ] {
        let workspace = Workspace::new();
        let (said, asked) = with_live_run(&workspace, Some(event), || workspace.say("t1", verdict, false));
        assert!(
            matches!(said, Ok(ReviewResult::Run { answer: Some(answer), .. }) if answer == expected),
            "{expected}"
        );
        assert_eq!(asked, Some((verdict.as_str().to_owned(), "t1".to_owned())));
        assert_eq!(workspace.text(), PLAN, "the run writes the plan, nobody else");
    }
}

#[test]
fn a_dry_run_sends_no_request_to_the_run() {
    let workspace = Workspace::new();
    let (said, asked) = with_live_run(&workspace, None, || workspace.say("t1", ReviewVerdict::Approve, true));
    assert!(matches!(said, Ok(ReviewResult::Run { answer: None, .. })));
    assert_eq!(asked, None);
}

#[test]
fn waiting_for_an_answer_of_a_run_times_out() {
    let workspace = Workspace::new();
    let (said, asked) = with_live_run(&workspace, None, || workspace.say("t1", ReviewVerdict::Approve, false));
    assert!(matches!(said, Err(ReviewError::NoAnswer { .. })));
    assert!(asked.is_some());
    assert_eq!(workspace.text(), PLAN);
}

#[test]
fn a_review_is_written_to_the_plan_if_the_run_ends_first() {
    let workspace = Workspace::new();
    let (said, _) = with_live_run(&workspace, Some(ended()), || {
        workspace.say("t1", ReviewVerdict::Approve, false)
    });
    assert!(matches!(said, Ok(ReviewResult::Plan { .. })));
    assert!(workspace.text().contains("\"status\": \"done\""));
}

#[test]
fn only_tasks_that_wait_for_review_can_be_reviewed() {
    let workspace = Workspace::new();
    let (said, asked) = with_live_run(&workspace, None, || workspace.say("t2", ReviewVerdict::Approve, false));
    assert!(matches!(said, Err(ReviewError::NothingWaits { waiting, .. }) if waiting == ["t1"]));
    assert_eq!(asked, None);
}
