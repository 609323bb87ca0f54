//! Plans from a model's answer, for `import` and `plan --from`: shown as a table with every guess, and confirmed.

use std::path::Path;

use planwright_core::outline::OutlineTask;
use planwright_core::outline::rules::IN_DESCRIPTION;

use super::answers;
use super::output::Output;
use crate::render::wrap::{cut_at_word, hanging};
use planwright_verbs::plan::PlannedTask;
use planwright_verbs::planning::{Confirmation, OutlineObserver, OutlineReading, line_of};
use planwright_verbs::text::{columns, cut, one_line};

/// How many characters of a title the table shows.
const MAX_TITLE: usize = 60;

/// Shows the reading of an answer on the command line, and asks.
pub(crate) struct OutlineView<'o> {
    /// Whether only programs read the results, so that no table is shown.
    pub(crate) is_silent: bool,
    pub(crate) output: &'o mut Output,
}

impl<'o> OutlineView<'o> {
    pub(crate) fn new(output: &'o mut Output) -> Self {
        OutlineView {
            is_silent: output.is_json(),
            output,
        }
    }
}

impl OutlineObserver for OutlineView<'_> {
    fn shows_outline(&mut self, reading: &OutlineReading<'_>) {
        if !self.is_silent {
            show(reading, self.output);
        }
    }

    fn confirms_outline(&mut self, reading: &OutlineReading<'_>, out: Option<&Path>) -> Confirmation {
        if !answers::may_ask() {
            return Confirmation::CannotAsk;
        }
        let tasks = match reading.outline.tasks.len() {
            1 => "this task".to_owned(),
            n => format!("these {n} tasks"),
        };
        let place = out.map_or_else(String::new, |out| format!(" as {}", one_line(&out.to_string_lossy())));
        self.output.note(&format!("Import {tasks}{place}? [Y/n] "));
        match answers::line().map(|line| line.to_lowercase()).as_deref() {
            Some("" | "y" | "yes") => Confirmation::Yes,
            _ => Confirmation::No,
        }
    }
}

/// Shows an outline as a table, with every guess below it. Tasks have their names in the plan.
fn show(reading: &OutlineReading<'_>, output: &mut Output) {
    let OutlineReading { outline, source, names } = *reading;
    let index = source.line_index();
    let name = |ix: usize| names.get(ix).cloned().unwrap_or_else(|| (ix + 1).to_string());
    let row = |(ix, task): (usize, &OutlineTask)| TaskRow {
        name: name(ix),
        title: task.title.clone(),
        state: task.state.map_or("", |state| state.as_str()),
        after: task.dependencies.iter().map(|&place| name(place)).collect(),
        line: Some(line_of(&index, task)),
    };
    let rows: Vec<TaskRow> = outline.tasks.iter().enumerate().map(row).collect();
    let mut text = table(&rows, output);
    let paint = output.stderr_paint();
    let width = output.stderr_width();
    for guess in &outline.guesses {
        let word = if guess.rule.id == IN_DESCRIPTION.id {
            "note"
        } else {
            "guess"
        };
        let place = guess.span.map_or_else(String::new, |span| {
            format!(" (line {})", index.position(span.start).line)
        });
        let words = format!("{}{place}", one_line(&guess.message));
        text.push_str(&hanging(&format!("{}: ", paint.warning(word)), &words, width));
        text.push('\n');
    }
    output.note(&text);
}

/// Shows the tasks of a new plan as a table.
pub(crate) fn show_tasks(tasks: &[PlannedTask], output: &mut Output) {
    let rows = tasks.iter().map(|task| TaskRow {
        name: task.name.clone(),
        title: task.title.clone(),
        state: "",
        after: task.depends_on.clone(),
        line: None,
    });
    let text = table(&rows.collect::<Vec<_>>(), output);
    output.note(&text);
}

struct TaskRow {
    name: String,
    title: String,
    state: &'static str,
    after: Vec<String>,
    /// The line of the answer.
    line: Option<usize>,
}

/// The smallest width of the title column.
const MIN_TITLE: usize = 16;

fn table(rows: &[TaskRow], output: &Output) -> String {
    let cells = rows.iter().map(|row| {
        let after = match row.after.is_empty() {
            true => "–".to_owned(),
            false => cut(&one_line(&row.after.join(", ")), 24),
        };
        let line = row.line.map_or_else(String::new, |line| format!("line {line}"));
        [cut(&one_line(&row.name), 36), after, line]
    });
    let cells: Vec<[String; 3]> = cells.collect();
    let head_line = if rows.iter().any(|row| row.line.is_some()) {
        "read from"
    } else {
        ""
    };
    let head = ["", "after", head_line].map(str::to_owned);
    let widths = [0, 1, 2].map(|column| {
        let cells = cells.iter().chain([&head]).filter_map(|row| row.get(column));
        cells.map(|cell| columns(cell)).max().unwrap_or(0)
    });
    let others: usize = widths.iter().sum();
    let room = output
        .stderr_width()
        .saturating_sub(others + 6)
        .clamp(MIN_TITLE, MAX_TITLE);
    let title_of = |row: &TaskRow| {
        let state = match row.state {
            "" | "pending" => String::new(),
            state => format!(" ({state})"),
        };
        format!(
            "{}{state}",
            cut_at_word(&one_line(&row.title), room.saturating_sub(state.len()))
        )
    };
    let titles: Vec<String> = rows.iter().map(title_of).collect();
    let w_title = titles.iter().map(|title| columns(title)).max().unwrap_or(0).max(4);
    let padded = |text: &str, width: usize| format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))));
    let drawn = |[name, after, line]: &[String; 3], title: &str| {
        let [w_name, w_after, _] = widths;
        let drawn = format!(
            "{}  {}  {}  {line}",
            padded(name, w_name),
            padded(title, w_title),
            padded(after, w_after)
        );
        drawn.trim_end().to_owned()
    };
    let mut text = format!("{}\n", output.stderr_paint().dim(&drawn(&head, "task")));
    for (row, title) in cells.iter().zip(&titles) {
        text.push_str(&drawn(row, title));
        text.push('\n');
    }
    text
}
