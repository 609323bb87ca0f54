//! Many verbs for many tasks as one change: the file, the history, and the result of each verb.

use std::path::{Path, PathBuf};

use planwright_core::change::Problem;
use planwright_core::edit::VerbRequest;
use planwright_core::plan::{State, Verb};
use planwright_run::journal::History;
use planwright_run::revise::{self, BatchRequest, ChangeTarget, ReviseError, RevisedPlan};
use planwright_run::store::{self, PlanFile};
use planwright_testkit::{TempFolder, generate};

const NOW: &str = "2026-11-15T12:00:00.000Z";

struct Space {
    folder: TempFolder,
    plan: PathBuf,
    id: Option<&'static str>,
}

impl Space {
    fn new(name: &str, text: &str) -> Self {
        let folder = TempFolder::new().expect("a folder");
        folder.write("planwright.toml", "").expect("a file");
        let plan = folder.write(name, text).expect("a file");
        let id = text.contains("plan-a1b2c3d4").then_some("plan-a1b2c3d4");
        Space { folder, plan, id }
    }

    fn target(&self) -> ChangeTarget<'_> {
        ChangeTarget {
            path: &self.plan,
            forced: None,
            dry: false,
        }
    }

    fn make(&self, requests: &[BatchRequest<'_>]) -> (RevisedPlan, Vec<Result<(), ReviseError>>) {
        revise::transitions(self.target(), "batch", requests).expect("a change")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.plan).expect("the plan is there")
    }

    fn history(&self) -> History {
        let file = PlanFile {
            path: &self.plan,
            id: self.id,
        };
        store::history(file).expect("a history")
    }

    fn journal_len(&self) -> u64 {
        let folder: &Path = &self.folder.path().join(".planwright/journal");
        let entries = std::fs::read_dir(folder).expect("a folder");
        entries
            .map(|entry| entry.expect("an entry").metadata().expect("a size").len())
            .sum()
    }
}

fn batch_request(task: &str, verb: Verb) -> BatchRequest<'static> {
    BatchRequest {
        task: task.to_owned(),
        request: VerbRequest {
            starts: true,
            ..VerbRequest::new(verb, NOW)
        },
        decided_by: None,
        verified: None,
    }
}

#[test]
fn many_verbs_are_one_change_and_each_is_refused_by_itself() {
    let before = generate::plan("clido", 4);
    let space = Space::new("docs/plan.json", &before);
    let requests = [
        batch_request("t0", Verb::Start),
        batch_request("t2", Verb::Start),
        batch_request("nobody", Verb::Start),
        batch_request("t0", Verb::Done),
        BatchRequest {
            request: VerbRequest {
                note: Some("look at t0"),
                ..VerbRequest::new(Verb::Start, NOW)
            },
            ..batch_request("t1", Verb::Start)
        },
        batch_request("t1", Verb::Fail),
    ];
    let (revised, results) = space.make(&requests);
    let is_made: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(is_made, [true, false, false, true, true, true]);
    assert!(matches!(&results[1], Err(ReviseError::Problem(Problem::Refused(_)))));
    assert!(matches!(&results[2], Err(ReviseError::NoSuchTask { name, .. }) if name == "nobody"));
    let steps: Vec<String> = revised
        .steps
        .iter()
        .map(|step| format!("{} {}", step.task, step.to.as_str()))
        .collect();
    let expected = [
        "t0 running",
        "t0 done",
        "t1 running",
        "t1 failed",
        "t2 skipped",
        "t3 skipped",
    ];
    assert_eq!(steps, expected);
    // The returned plan is the present one.
    assert_eq!(revised.after.source.as_str(), space.text());
    assert_eq!(revised.text.as_str(), space.text());
    let changes = space.history().changes().to_vec();
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (changes[0].change.verb.as_str(), revised.change),
        ("batch", Some(changes[0].seq))
    );
    assert_eq!(changes[0].change.tasks, ["t0", "t1"]);
    revise::undo(space.target(), revise::UndoCall::default()).expect("it is taken back");
    assert_eq!(space.text(), before);
}

#[test]
fn a_batch_of_refused_verbs_writes_nothing() {
    let before = generate::plan("rawko", 3);
    let space = Space::new(".rawko/plans/plan-20260123-generated.yaml", &before);
    let (revised, results) = space.make(&[batch_request("1", Verb::Start), batch_request("0", Verb::Done)]);
    assert!(results.iter().all(Result::is_err));
    assert_eq!((revised.change, revised.steps.len()), (None, 0));
    assert_eq!(space.text(), before);
    assert_eq!(space.history().changes().to_vec().len(), 0);
    assert!(!space.folder.path().join(".rawko/current-task.yaml").exists());
    let (revised, results) = space.make(&[]);
    assert_eq!((revised.change, results.len()), (None, 0));
}

#[test]
fn states_outside_of_the_file_keep_output_and_note_and_can_be_undone() {
    let before = generate::plan("task-pack", 3);
    let space = Space::new("docs/tasks/pack.md", &before);
    let words = |task: &str| (format!("{task} is there"), format!("about {task}"));
    let words = ["T000000", "T000001", "T000002"].map(|task| (task, words(task)));
    let done = |ix: usize| {
        let (task, (output, note)) = &words[ix];
        BatchRequest {
            request: VerbRequest {
                output: Some(output),
                note: Some(note),
                ..VerbRequest::new(Verb::Done, NOW)
            },
            ..batch_request(task, Verb::Done)
        }
    };
    let (first, _) = space.make(&[batch_request("T000001", Verb::Start)]);
    assert_eq!(first.change, Some(1));
    let requests = [batch_request("T000000", Verb::Start), done(0), done(1), done(2)];
    let (revised, results) = space.make(&requests);
    let is_made: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(is_made, [true, true, true, false]);
    let plan = &revised.after.plan.as_ref().expect("a plan").plan;
    let states: Vec<Option<State>> = plan.tasks().iter().map(|task| task.status.state()).collect();
    assert_eq!(states, [Some(State::Done), Some(State::Done), Some(State::Pending)]);
    assert_eq!(space.text(), before);
    let known = space.history().task_states();
    let first = &known["T000000"];
    assert_eq!(first.state.to, "done");
    assert_eq!(first.output.as_deref(), Some("T000000 is there"));
    assert_eq!(first.note.as_deref(), Some("about T000000"));
    revise::undo(space.target(), revise::UndoCall::default()).expect("it is taken back");
    let known = space.history().task_states();
    assert_eq!(known["T000000"].state.to, "pending");
    assert_eq!(known["T000001"].state.to, "running");
}

#[test]
fn the_history_of_thousands_of_verbs_is_about_as_large_as_what_they_change() {
    const N_TASKS: usize = 2_000;
    for (dialect, name, task) in [
        ("clido", "docs/plan.json", "t"),
        ("rawko", ".rawko/plans/plan-20260123-generated.yaml", ""),
    ] {
        let before = generate::plan(dialect, N_TASKS);
        let space = Space::new(name, &before);
        let verbs = |n: usize| [Verb::Start, Verb::Done].map(|verb| batch_request(&format!("{task}{n}"), verb));
        let (revised, results) = space.make(&(0..N_TASKS).flat_map(verbs).collect::<Vec<_>>());
        assert!(results.iter().all(Result::is_ok));
        assert_eq!(revised.steps.len(), 2 * N_TASKS);
        let change = space.history().changes().to_vec().remove(0).change;
        let text = change.text.expect("a text");
        assert!(text.hunks.len() >= N_TASKS, "{dialect}: {} hunks", text.hunks.len());
        let n_bytes: usize = text.hunks.iter().map(|hunk| hunk.old.len() + hunk.new.len()).sum();
        assert!(
            n_bytes < 250 * N_TASKS,
            "{dialect}: {n_bytes} bytes for {N_TASKS} tasks"
        );
        assert!(
            space.journal_len() < 400 * N_TASKS as u64,
            "{dialect}: {}",
            space.journal_len()
        );
        revise::undo(space.target(), revise::UndoCall::default()).expect("it is taken back");
        assert_eq!(space.text(), before);
    }
}
