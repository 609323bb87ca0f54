//! Many writers at once, and a reader that takes no lock.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use planwright_core::text::SourceText;
use planwright_run::journal::{ChangeOutcome, ChangeRecord};
use planwright_run::lock::LockError;
use planwright_run::store::{PreparedChange, Store, StoreError, UpdateError};

use crate::workspace::{Workspace, add_line, clock, impatient_store, plan_at};

const N_PROCESSES: usize = 16;
const N_CHANGES: usize = 20;

/// The variable that gives a part to this test binary when another one starts it.
const ROLE: &str = "PLANWRIGHT_TEST_ROLE";
const PLAN: &str = "PLANWRIGHT_TEST_PLAN";

fn patient() -> Store<'static> {
    Store {
        patience: Duration::from_secs(120),
        ..Store::default()
    }
}

/// Starts this binary again for one of the parts below.
fn start(part: &str, role: &str, plan: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args([part, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(PLAN, plan)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// Returns the role and the plan of a process that was started by [`start`].
fn role() -> Option<(String, PathBuf)> {
    Some((std::env::var(ROLE).ok()?, PathBuf::from(std::env::var(PLAN).ok()?)))
}

/// Adds a line between a first one with their number and a last one, so that an incomplete text is detected.
fn add_counted(store: &Store<'_>, plan: &Path, line: &str) {
    let updated = store.update(plan_at(plan), "add", |source, _| {
        let mut lines = lines_of(source.as_str()).expect("a writer never sees a part");
        lines.push(line);
        Ok::<_, std::convert::Infallible>(Some(PreparedChange {
            text: Some(SourceText::new(format!("{}\n{}\nend\n", lines.len(), lines.join("\n")))),
            change: ChangeRecord {
                verb: "add".to_owned(),
                tasks: vec![line.to_owned()],
                ..ChangeRecord::default()
            },
        }))
    });
    updated.expect("an update");
}

/// Returns the counted lines; none if the text is incomplete.
fn lines_of(text: &str) -> Option<Vec<&str>> {
    let (count, rest) = text.split_once('\n')?;
    let lines: Vec<&str> = rest
        .strip_suffix("end\n")?
        .lines()
        .filter(|line| !line.is_empty())
        .collect();
    (lines.len() == count.parse::<usize>().ok()?).then_some(lines)
}

#[test]
fn part_one_writer_of_many() {
    if let Some((role, plan)) = role().filter(|(role, _)| role != "holder") {
        for n in 0..N_CHANGES {
            add_counted(&patient(), &plan, &format!("{role}-{n}"));
        }
    }
}

#[test]
fn sixteen_processes_lose_nothing_and_a_reader_sees_whole_texts() {
    let workspace = Workspace::new();
    std::fs::write(&workspace.plan, "0\n\nend\n").expect("written");
    let mut writers: Vec<Child> = (0..N_PROCESSES)
        .map(|n| {
            start(
                "concurrency::part_one_writer_of_many",
                &format!("w{n}"),
                &workspace.plan,
            )
        })
        .collect();
    let (mut n_reads, mut n_seen) = (0_usize, 0);
    while writers
        .iter_mut()
        .any(|writer| writer.try_wait().expect("a status").is_none())
    {
        let text = workspace.text();
        let lines = lines_of(&text).unwrap_or_else(|| panic!("not whole: {text:?}"));
        assert!(lines.len() >= n_seen, "nothing disappears again");
        (n_reads, n_seen) = (n_reads + 1, lines.len());
        let n_changes = workspace.history().changes().to_vec().len();
        assert!(n_changes >= n_seen, "a change is recorded before it is seen");
    }
    for writer in &mut writers {
        assert!(writer.wait().expect("a status").success());
    }
    assert!(n_reads > 10, "{n_reads}");
    let text = workspace.text();
    let mut lines = lines_of(&text).expect("a whole text");
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..N_PROCESSES)
        .flat_map(|writer| (0..N_CHANGES).map(move |n| format!("w{writer}-{n}")))
        .collect();
    expected.sort();
    assert_eq!(lines, expected);
    let outcomes = workspace.outcomes();
    assert_eq!(outcomes.len(), N_PROCESSES * N_CHANGES);
    assert!(outcomes.iter().all(|(_, outcome)| *outcome == ChangeOutcome::Landed));
    assert_eq!(workspace.names(), ["plan.txt"]);
}

#[test]
fn threads_of_one_process_exclude_each_other() {
    let workspace = Workspace::new();
    std::fs::write(&workspace.plan, "0\n\nend\n").expect("written");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let plan = &workspace.plan;
            scope.spawn(move || {
                for n in 0..N_CHANGES {
                    add_counted(&patient(), plan, &format!("t{thread}-{n}"));
                }
            });
        }
    });
    assert_eq!(lines_of(&workspace.text()).expect("a whole text").len(), 4 * N_CHANGES);
    assert_eq!(workspace.outcomes().len(), 4 * N_CHANGES);
}

#[test]
fn a_held_lock_names_its_holder() {
    let workspace = Workspace::new();
    let (is_inside, inside) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let plan = &workspace.plan;
        scope.spawn(move || {
            let store = Store {
                clock: &clock,
                ..Store::default()
            };
            let updated = store.update(plan_at(plan), "start", |_, _| {
                is_inside.send(()).expect("somebody waits");
                may_leave.recv().ok();
                Ok::<_, std::convert::Infallible>(None)
            });
            updated.expect("an update");
        });
        inside.recv().expect("it is inside");
        let refused = add_line(&impatient_store(), plan_at(plan), "x");
        drop(leave);
        let Err(UpdateError::Store(error @ StoreError::Locked { .. })) = refused else {
            panic!("it is held");
        };
        let StoreError::Locked {
            lock: LockError::Held { holder, waited },
            ..
        } = &error
        else {
            panic!("{error}");
        };
        let holder = holder.as_ref().expect("it has signed");
        assert_eq!((holder.pid, holder.verb.as_str()), (std::process::id(), "start"));
        assert_eq!(holder.since, clock());
        assert!(*waited >= Duration::from_millis(20));
        assert!(
            error.to_string().contains(&format!("process {}", holder.pid)),
            "{error}"
        );
    });
    workspace.add("afterwards");
}

#[test]
fn part_one_holder_that_dies() {
    let Some((_, plan)) = role().filter(|(role, _)| role == "holder") else {
        return;
    };
    let updated = patient().update(plan_at(&plan), "start", |_, _| {
        println!("\ninside");
        // Until it is killed.
        std::io::stdin().lock().lines().next();
        Ok::<_, std::convert::Infallible>(None)
    });
    updated.expect("an update");
}

#[test]
fn the_lock_of_a_killed_process_is_free() {
    let workspace = Workspace::new();
    let mut holder = start("concurrency::part_one_holder_that_dies", "holder", &workspace.plan);
    let output = BufReader::new(holder.stdout.take().expect("its output"));
    let mut lines = output.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("inside")), "it holds the lock");
    let refused = add_line(&impatient_store(), plan_at(&workspace.plan), "x");
    let Err(UpdateError::Store(error)) = refused else {
        panic!("it is held");
    };
    assert!(
        error
            .to_string()
            .contains(&format!("process {} (`start`)", holder.id())),
        "{error}"
    );
    holder.kill().expect("killed");
    holder.wait().expect("a status");
    workspace.add("afterwards");
    assert_eq!(workspace.text(), "first\nafterwards\n");
}

#[test]
fn a_lock_file_of_a_dead_process_can_be_locked() {
    let workspace = Workspace::new();
    workspace.add("second");
    let locks = workspace.path().join(".planwright/locks");
    for entry in std::fs::read_dir(locks).expect("a folder") {
        let stale = "{\"pid\":999999,\"verb\":\"done\",\"since\":\"2020-01-01T00:00:00Z\"}\n";
        std::fs::write(entry.expect("an entry").path(), stale).expect("written");
    }
    workspace.add("third");
    assert_eq!(workspace.text(), "first\nsecond\nthird\n");
}
