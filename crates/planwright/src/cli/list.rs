//! `planwright list`: the plans of a workspace.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use planwright_core::diagnostic::Severity;
use planwright_core::plan::{Field, Progress, Readiness};
use planwright_run::examine::examine;
use planwright_run::store;
use serde::Serialize;

use super::exit::Exit;
use super::output::Output;
use super::plan_arg::candidates;
use super::show::{bar, counts};
use crate::render::terminal::{cut, one_line};

/// List the plans of this workspace with their progress, newest first.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also the OpenCrabs plans in the home folder.
    #[arg(long)]
    user: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One plan of the list.
#[derive(Serialize)]
struct Row {
    path: String,
    dialect: Option<&'static str>,
    title: String,
    /// When it was last changed, by its own word or the file's.
    changed: String,
    done: usize,
    skipped: usize,
    failed: usize,
    running: usize,
    total: usize,
    errors: usize,
    #[serde(skip)]
    progress: Progress,
}

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    plans: Vec<Row>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let mut rows: Vec<Row> = candidates(Path::new("."), args.user)
        .iter()
        .map(|path| row(path))
        .collect();
    rows.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.path.cmp(&b.path)));
    if args.json {
        let report = Report {
            schema_version: "planwright.list/v1",
            plans: rows,
        };
        output.json(&report)?;
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        output.remark("no plans in this workspace; `planwright check FOLDER` searches anywhere");
        return Ok(Exit::Success);
    }
    let paint = output.paint();
    for row in rows {
        let dialect = row.dialect.unwrap_or("?");
        let title = if row.title.is_empty() { "(no title)" } else { &row.title };
        let errors = match row.errors {
            0 => String::new(),
            1 => format!("  {}", paint.error("1 error")),
            n => format!("  {}", paint.error(&format!("{n} errors"))),
        };
        output.line(&paint.bold(&cut(&one_line(title), output.width())));
        output.line(&format!(
            "  {}  {}{errors}",
            bar(row.progress, paint),
            counts(row.progress)
        ));
        output.line(&format!(
            "  {}",
            paint.dim(&format!("{dialect} · {} · {}", row.changed, one_line(&row.path)))
        ));
    }
    Ok(Exit::Success)
}

fn row(path: &Path) -> Row {
    let examined = store::load(path)
        .ok()
        .map(|loaded| examine(&loaded.source, Some(path), None).inspection);
    let linked = examined.as_ref().and_then(|inspection| inspection.plan.as_ref());
    let progress = linked.map_or(Progress::default(), |linked| {
        Readiness::new(&linked.plan, &linked.links).progress()
    });
    let own_time = linked.and_then(|linked| {
        let fields = [Field::UpdatedAt, Field::CreatedAt, Field::Date];
        let time = fields.into_iter().find_map(|field| linked.plan.head_str(field))?;
        // Only what sorts as text counts: a year in front.
        time.get(..4)?
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| one_line(time))
    });
    Row {
        path: path.to_string_lossy().into_owned(),
        dialect: examined.as_ref().and_then(|inspection| inspection.dialect),
        title: linked.map_or(String::new(), |linked| linked.plan.title().to_owned()),
        changed: own_time.unwrap_or_else(|| file_time(path)),
        done: progress.done,
        skipped: progress.skipped,
        failed: progress.failed,
        running: progress.running,
        total: progress.total,
        errors: examined
            .as_ref()
            .map_or(1, |inspection| inspection.count(Severity::Error)),
        progress,
    }
}

/// Returns a file's time of change as an ISO date.
fn file_time(path: &Path) -> String {
    let modified = std::fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .unwrap_or(SystemTime::UNIX_EPOCH);
    let days = modified
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() / 86_400);
    let (year, month, day) = civil_date(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Turns days since 1970 into a date: whole 400-year cycles, then years that begin in March.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil_date(0), (1970, 1, 1));
        assert_eq!(civil_date(59), (1970, 3, 1));
        assert_eq!(civil_date(11_016), (2000, 2, 29));
        assert_eq!(civil_date(20_772), (2026, 11, 15));
    }
}
