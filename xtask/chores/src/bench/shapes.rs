//! Odd shapes, each at two sizes: time must grow with the size, not with its square.

use std::hint::black_box;

use planwright::core::dialect::{Choice, DiskFacts};
use planwright::core::inspect::inspect;
use planwright::core::text::SourceText;
use planwright_testkit::generate::SHAPES;

use super::table::{BenchTable, interleaved};

const SMALL: usize = 10_000;
const LARGE: usize = 40_000;

/// The limit of the ratio for four times the size; quadratic time would take sixteen times as long.
const MOST: f64 = 8.0;

pub(crate) fn run() -> anyhow::Result<BenchTable> {
    let mut table = BenchTable::new(
        format!("shapes: {SMALL} against {LARGE}"),
        &["shape", "small", "large", "growth (≤ 8, 4 is linear)"],
    );
    for (name, shape) in SHAPES {
        let texts = [SourceText::new(shape(SMALL)), SourceText::new(shape(LARGE))];
        let facts = DiskFacts::default();
        let read = |source: &SourceText| {
            let choice = Choice::by_content(&facts);
            black_box(inspect(source, &choice).diagnostics.len());
        };
        let samples = interleaved(&mut [&mut || read(&texts[0]), &mut || read(&texts[1])]);
        let growth = samples[1].median / samples[0].median;
        table.row(
            vec![
                (*name).to_owned(),
                format!("{:.1} ms", samples[0].median),
                format!("{:.1} ms", samples[1].median),
                format!("{growth:.1}"),
            ],
            growth <= MOST,
        );
    }
    Ok(table)
}
