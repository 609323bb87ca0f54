//! Medians with their spread, as a Markdown table.

use std::fmt;
use std::time::{Duration, Instant};

pub(crate) const RUNS: usize = 9;

/// The median of some measurements, and their spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Median {
    pub(crate) median: f64,
    /// Half the distance between the quartiles, as a fraction of the median.
    pub(crate) spread: f64,
}

impl Median {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |part: f64| values[((values.len() - 1) as f64 * part).round() as usize];
        let median = at(0.5);
        Median {
            median,
            spread: if median > 0.0 {
                (at(0.75) - at(0.25)) / 2.0 / median
            } else {
                0.0
            },
        }
    }
}

/// Runs functions in turn, so that other load on the machine affects them equally; returns milliseconds.
pub(crate) fn interleaved(contenders: &mut [&mut dyn FnMut()]) -> Vec<Median> {
    let mut times = vec![Vec::with_capacity(RUNS); contenders.len()];
    for round in 0..=RUNS {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let start = Instant::now();
            contender();
            // The first round is the warm-up of caches and allocators.
            if round > 0 {
                times.push(milliseconds(start.elapsed()));
            }
        }
    }
    times.into_iter().map(Median::of).collect()
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

struct BenchRow {
    cells: Vec<String>,
    met: bool,
}

/// A table of results; each row has whether its target was met.
pub(crate) struct BenchTable {
    title: String,
    head: Vec<&'static str>,
    rows: Vec<BenchRow>,
    /// Explanations for the reader.
    remarks: Vec<String>,
}

impl BenchTable {
    pub(crate) fn new(title: impl Into<String>, head: &[&'static str]) -> Self {
        BenchTable {
            title: title.into(),
            head: head.to_vec(),
            rows: Vec::new(),
            remarks: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>, met: bool) {
        self.rows.push(BenchRow { cells, met });
    }

    pub(crate) fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    /// Returns the rows that missed their target.
    pub(crate) fn missed(&self) -> impl Iterator<Item = String> {
        self.rows.iter().filter(|row| !row.met).map(|row| row.cells.join(" | "))
    }
}

impl fmt::Display for BenchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### {}\n", self.title)?;
        writeln!(f, "| {} | met |", self.head.join(" | "))?;
        writeln!(f, "|{}", " --- |".repeat(self.head.len() + 1))?;
        for row in &self.rows {
            writeln!(
                f,
                "| {} | {} |",
                row.cells.join(" | "),
                if row.met { "yes" } else { "no" }
            )?;
        }
        self.remarks.iter().try_for_each(|remark| writeln!(f, "\n{remark}"))
    }
}
