//! The cost of a fence for an attempt: the same process with and without one, started as a run does.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use planwright::run::config::{ConfigInputs, FenceMode, load};
use planwright::run::fence::{Fencing, ProcessFolders, TemporaryFolders};
use planwright::run::redaction::Redaction;
use planwright::run::worker::{ProcessLimits, ProcessMark, ProcessSpec, Stdin, WorkerEvent, Workers};

use super::table::{BenchTable, interleaved};
use super::{PROGRAM, scratch};

/// Processes per measurement: one is too short.
const BATCH: u64 = 50;

/// The limit for the cost of a fence, in milliseconds.
const MOST: f64 = 3.0;

pub(crate) fn run() -> anyhow::Result<BenchTable> {
    let binary = crate::built::shipped()?;
    let folder = scratch()?;
    let mut config = load(folder.path(), &ConfigInputs::default()).config.run;
    let mut fencing_of = |mode: FenceMode| {
        config.fence.mode = mode;
        Fencing::of(&config, Some(&binary)).context("the benchmark needs a kernel that can fence")
    };
    let (write, strict) = (fencing_of(FenceMode::Write)?, fencing_of(FenceMode::Strict)?);
    let off = Fencing::Inactive(String::new());
    let mut none = || batch(&off, folder.path());
    let mut writing = || batch(&write, folder.path());
    let mut strictly = || batch(&strict, folder.path());
    let samples = interleaved(&mut [&mut none, &mut writing, &mut strictly]);
    let mut table = BenchTable::new(
        "fence: milliseconds per process",
        &["fence", "median", "over none (\u{2264} 3 ms)"],
    );
    let base = samples[0].median / BATCH as f64;
    for (name, sample) in ["none", "write", "strict"].iter().zip(&samples) {
        let each = sample.median / BATCH as f64;
        table.row(
            vec![
                format!("`{name}`"),
                format!("{each:.2} ms \u{b1}{:.0} %", sample.spread * 100.0),
                format!("{:.2} ms", each - base),
            ],
            each - base <= MOST,
        );
    }
    Ok(table)
}

/// Starts processes one after another, each with a policy and a temporary folder, and ends them.
fn batch(fencing: &Fencing, folder: &Path) {
    let Ok(mut workers) = Workers::new() else {
        return;
    };
    let environment = vec![(OsString::from("PATH"), std::env::var_os("PATH").unwrap_or_default())];
    let mut temporary = TemporaryFolders::default();
    for key in 1..=BATCH {
        let mut fence = fencing.fence(&ProcessFolders {
            writable: &[folder.to_owned()],
            agent: Some("claude"),
            environment: &environment,
            ..ProcessFolders::default()
        });
        if let (Some(fence), Ok(made)) = (&mut fence, temporary.make(key)) {
            fence.give_temporary(made);
        }
        let spec = ProcessSpec {
            arguments: vec![PROGRAM.into()],
            folder: folder.to_owned(),
            environment: environment.clone(),
            mark: ProcessMark::default(),
            stdin: Stdin::Nothing,
            log: folder.join("log"),
            max_log_bytes: 1 << 20,
            redaction: Redaction::of([]),
            streams_output: false,
            limits: ProcessLimits {
                wall: None,
                silence: None,
                grace: Duration::ZERO,
            },
            fence,
        };
        let is_end = |event: &WorkerEvent| matches!(event, WorkerEvent::Ended(_));
        if workers.start(key, &spec).is_ok() {
            while !workers.wait(None).iter().any(is_end) {}
        }
        temporary.remove(key);
    }
}
