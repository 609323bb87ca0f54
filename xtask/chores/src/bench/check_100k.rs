//! Read, check everything, find cycles, compute the ready set of 100,000 tasks, in each JSON dialect,
//! against a borrowed parse of the same bytes by serde_json.

use std::borrow::Cow;
use std::hint::black_box;

use planwright::core::dialect::{Choice, DiskFacts};
use planwright::core::inspect::inspect;
use planwright::core::plan::Readiness;
use planwright::core::text::SourceText;
use planwright_testkit::generate;
use serde::Deserialize;

use super::table::{BenchTable, interleaved};
use super::{peak_of_check, scratch};

const N_TASKS: usize = 100_000;

/// Types for the floor: every field of the generated files, strings borrowed if possible.
mod floor {
    #![expect(dead_code, reason = "parsed for their cost only")]

    use super::{Cow, Deserialize};

    #[derive(Deserialize)]
    pub(super) struct ClidoFloor<'a> {
        #[serde(borrow)]
        meta: ClidoFloorMeta<'a>,
        #[serde(borrow)]
        tasks: Vec<ClidoFloorTask<'a>>,
    }

    #[derive(Deserialize)]
    struct ClidoFloorMeta<'a> {
        id: Cow<'a, str>,
        goal: Cow<'a, str>,
        created_at: Cow<'a, str>,
    }

    #[derive(Deserialize)]
    struct ClidoFloorTask<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        description: Cow<'a, str>,
        #[serde(borrow)]
        depends_on: Vec<&'a str>,
        #[serde(borrow)]
        complexity: &'a str,
        skip: bool,
        #[serde(borrow)]
        notes: Cow<'a, str>,
        #[serde(borrow)]
        status: &'a str,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct AimiFloor<'a> {
        #[serde(borrow)]
        schema_version: &'a str,
        #[serde(borrow)]
        user_stories: Vec<AimiFloorStory<'a>>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct AimiFloorStory<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        title: Cow<'a, str>,
        #[serde(borrow)]
        description: Cow<'a, str>,
        #[serde(borrow)]
        acceptance_criteria: Vec<&'a str>,
        priority: f64,
        #[serde(borrow)]
        status: &'a str,
        #[serde(borrow)]
        depends_on: Vec<&'a str>,
        #[serde(borrow)]
        notes: Cow<'a, str>,
    }

    #[derive(Deserialize)]
    pub(super) struct OpenCrabsFloor<'a> {
        #[serde(borrow)]
        title: Cow<'a, str>,
        #[serde(borrow)]
        description: Cow<'a, str>,
        #[serde(borrow)]
        tasks: Vec<OpenCrabsFloorTask<'a>>,
    }

    #[derive(Deserialize)]
    struct OpenCrabsFloorTask<'a> {
        #[serde(borrow)]
        title: Cow<'a, str>,
        #[serde(borrow)]
        description: Cow<'a, str>,
        #[serde(borrow)]
        task_type: &'a str,
        #[serde(default)]
        dependencies: Vec<u32>,
        complexity: u8,
        #[serde(borrow, default)]
        acceptance_criteria: Vec<&'a str>,
    }
}

pub(crate) fn run() -> anyhow::Result<BenchTable> {
    let mut table = BenchTable::new(
        format!("check-100k: {N_TASKS} tasks, in one process"),
        &[
            "dialect",
            "MB",
            "serde_json borrowed",
            "planwright",
            "ratio (≤ 2)",
            "peak / file (≤ 4)",
        ],
    );
    let folder = scratch()?;
    for dialect in ["opencrabs", "clido", "aimi"] {
        let text = generate::plan(dialect, N_TASKS);
        let parse = |text: &str| match dialect {
            "opencrabs" => black_box(serde_json::from_str::<floor::OpenCrabsFloor<'_>>(text).map(drop)),
            "clido" => black_box(serde_json::from_str::<floor::ClidoFloor<'_>>(text).map(drop)),
            _ => black_box(serde_json::from_str::<floor::AimiFloor<'_>>(text).map(drop)),
        };
        parse(&text)?;
        let source = SourceText::new(text.clone());
        let facts = DiskFacts::default();
        let choice = Choice::by_content(&facts);
        let first = inspect(&source, &choice);
        anyhow::ensure!(
            first.diagnostics.is_empty(),
            "the generated plan is sound: {:?}",
            first.diagnostics.first()
        );
        drop(first);
        let samples = interleaved(&mut [
            &mut || {
                let _ = black_box(parse(&text));
            },
            &mut || {
                let inspection = inspect(&source, &choice);
                let ready = inspection
                    .plan
                    .as_ref()
                    .map(|linked| Readiness::new(&linked.plan, &linked.links).ready());
                black_box((&inspection, ready));
            },
        ]);
        let path = folder.write(&format!("{dialect}.json"), &text)?;
        let megabytes = text.len() as f64 / 1e6;
        let memory = peak_of_check(&path)? * 1.048_576 / megabytes;
        let ratio = samples[1].median / samples[0].median;
        table.row(
            vec![
                dialect.to_owned(),
                format!("{megabytes:.1}"),
                format!("{:.1} ms ±{:.0} %", samples[0].median, samples[0].spread * 100.0),
                format!("{:.1} ms ±{:.0} %", samples[1].median, samples[1].spread * 100.0),
                format!("{ratio:.2}"),
                format!("{memory:.1}"),
            ],
            ratio <= 2.0 && memory <= 4.0,
        );
    }
    Ok(table)
}
