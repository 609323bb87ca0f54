//! The least cost of starting processes, reading their output, and waiting for them: two at a time, and nothing else.

use std::io::{self, Read as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;

/// The number of parallel processes, here and in the benchmarks compared with this one.
pub(crate) const N_SLOTS: usize = 2;

/// Starts a program a number of times: `N PROGRAM`.
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let [n_processes, program] = args else {
        anyhow::bail!("it takes a number and a program");
    };
    let n_processes: usize = n_processes.parse().context("the first word is no number")?;
    let n_begun = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        let mut output = Vec::new();
        while n_begun.fetch_add(1, Ordering::Relaxed) < n_processes {
            one(program, &mut output)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..N_SLOTS).map(|_| scope.spawn(work)).collect();
        let own = work();
        let results = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|_| Err(io::Error::other("a thread died"))));
        results.fold(own, |result, next| result.and(next))
    })?;
    Ok(())
}

/// Runs a program once, with one pipe for all of its output.
fn one(program: &str, output: &mut Vec<u8>) -> io::Result<()> {
    let (mut reader, writer) = io::pipe()?;
    // The command owns the writing end of the pipe, and must be dropped: otherwise the pipe never ends.
    let mut child = Command::new(program)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    output.clear();
    reader.read_to_end(output)?;
    child.wait().map(drop)
}
