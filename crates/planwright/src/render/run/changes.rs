//! The changes of a run's tasks in columns: size, verification, cost.

use planwright_verbs::run_history::TaskChangeReport;
use planwright_verbs::text::{columns, count, cut, money, one_line, short_commit, shown_name};

use crate::render::terminal::Paint;
use crate::render::wrap::hanging;

/// Returns changes in aligned columns, one line each. If one does not fit the width, its amounts are below its title.
pub(super) fn change_lines(changes: &[TaskChangeReport], paint: Paint, width: usize) -> Vec<String> {
    let headings: Vec<[String; 2]> = changes.iter().map(heading).collect();
    let widest = |at: usize| headings.iter().map(|cells| columns(&cells[at])).max().unwrap_or(0);
    let (names, titles) = (widest(0).min(MAX_NAME), widest(1));
    let amounts: Vec<String> = changes.iter().map(amounts).collect();
    let most = amounts.iter().map(|text| columns(text)).max().unwrap_or(0);
    let is_one_line = 2 + names + 2 + titles + 2 + most <= width;
    let lines = headings.iter().zip(&amounts).map(|([name, title], amounts)| {
        let start = format!("  {}  ", padded(name, names));
        match is_one_line {
            true => format!("{start}{}  {}", padded(title, titles), paint.dim(amounts)),
            false => {
                let below = format!("\n{}", hanging(&" ".repeat(names + 4), &paint.dim(amounts), width));
                format!("{}{below}", hanging(&start, title, width))
            }
        }
    });
    lines.collect()
}

fn heading(change: &TaskChangeReport) -> [String; 2] {
    let title = change.title.as_deref().unwrap_or_default();
    [shown_name(&change.task), one_line(title)]
}

/// Returns the size of a task's change, its verification and its cost.
fn amounts(change: &TaskChangeReport) -> String {
    let mut words = Vec::new();
    if change.no_changes {
        let reported = change.reported.as_deref().map(|text| cut(&one_line(text), 80));
        words.push(reported.map_or_else(|| "no changes".to_owned(), |text| format!("no changes: “{text}”")));
    } else if change.files > 0 || change.commit.is_some() {
        let lines = change.added.zip(change.removed);
        let lines = lines.map_or_else(String::new, |(added, removed)| format!(" +{added} −{removed}"));
        words.push(format!("{}{lines}", count(change.files, "file")));
    }
    words.extend(change.commit.iter().map(|commit| short_commit(commit).to_owned()));
    words.push(match change.verified_by {
        0 => "unverified".to_owned(),
        n if change.in_review => format!("passed {}, in review", count(n as u64, "command")),
        n => format!("verified by {}", count(n as u64, "command")),
    });
    if change.attempts > 1 {
        words.push(count(change.attempts as u64, "attempt"));
    }
    words.extend(change.cost_usd.map(money));
    words.join(", ")
}

/// The widest aligned name.
const MAX_NAME: usize = 24;

/// Returns text padded with spaces.
fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}
