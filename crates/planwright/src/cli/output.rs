//! Writes results to standard output, everything else to standard error, with colours if wanted.

use std::io::{IsTerminal as _, Write as _};
use std::rc::Rc;

use clap::ValueEnum;
use planwright_verbs::json::{ErrorBody, ErrorReport};
use planwright_verbs::text::printable;
use planwright_verbs::{Drawn, Exit, Failure, FileFindings, Result, TypedCommand, Workspace};
use serde::Serialize;

use crate::render::findings::{FindingsSource, file_findings, findings, refusal};
use crate::render::terminal::{Audience, Paint, addressed, harmless_json, json_text};
use crate::render::workflow::LineGuard;
use crate::render::wrap::wrapped_lines;

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// The two streams of a command.
pub(crate) struct Output {
    buffer: Vec<u8>,
    workspace: Rc<Workspace>,
    /// Why the results could not be written, while a reader still wanted them.
    broken: Option<std::io::Error>,
    /// Whether the reader of the results has closed the pipe.
    is_unread: bool,
    choice: ColorChoice,
    quiet: bool,
    form: Form,
    /// Guards the lines of the results, and of standard error.
    lines: LineGuard,
    stderr_lines: LineGuard,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Text, a diff, a drawing.
    Text,
    /// One JSON document, even if the command fails.
    Json,
    /// JSON documents, one per line, even if the command fails.
    JsonLines,
}

impl Output {
    pub(crate) fn new(choice: ColorChoice, quiet: bool, form: Form) -> Self {
        Output {
            buffer: Vec::new(),
            workspace: Rc::new(Workspace::around("")),
            broken: None,
            is_unread: false,
            choice,
            quiet,
            form,
            lines: LineGuard::default(),
            stderr_lines: LineGuard::default(),
        }
    }

    /// Returns the output of a command that the user typed.
    pub(crate) fn of_command(self, typed: TypedCommand) -> Self {
        let (is_quiet, paint) = (self.quiet, self.stderr_paint());
        let remark = move |text: &str| {
            if !is_quiet {
                write_stderr(&format!("{}\n", laid_out(text)));
            }
        };
        let draw =
            move |found: &FileFindings| write_stderr(&file_findings(found, FindingsSource::Other, paint, width()));
        let workspace = Workspace::of_command(typed);
        Output {
            workspace: Rc::new(workspace.heard_by(remark).findings_drawn_by(draw)),
            ..self
        }
    }

    pub(crate) fn workspace(&self) -> Rc<Workspace> {
        Rc::clone(&self.workspace)
    }

    /// Returns the colours for results.
    pub(crate) fn paint(&self) -> Paint {
        Paint::new(wants_color(self.choice, std::io::stdout().is_terminal()))
    }

    /// Returns the colours for standard error.
    pub(crate) fn stderr_paint(&self) -> Paint {
        Paint::new(wants_color(self.choice, std::io::stderr().is_terminal()))
    }

    /// Returns whether only results are printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns the width for text: COLUMNS, or that of the terminal, or 100.
    pub(crate) fn width(&self) -> usize {
        width()
    }

    /// Returns the width for listings with a line per record. Without COLUMNS or a terminal, programs read them, and no line is broken.
    pub(crate) fn record_width(&self) -> usize {
        width_at(std::io::stdout().is_terminal())
    }

    /// Returns the width for standard error. Without COLUMNS or a terminal, no line is broken.
    pub(crate) fn stderr_width(&self) -> usize {
        width_at(std::io::stderr().is_terminal())
    }

    /// Returns the height of the screen: LINES, or that of the terminal, or 40.
    pub(crate) fn height(&self) -> usize {
        let exported = std::env::var("LINES").ok().and_then(|lines| lines.parse().ok());
        let seen = || terminal_size::terminal_size().map(|(_, height)| usize::from(height.0));
        let fits = |lines: &usize| (10..=1000).contains(lines);
        exported.filter(fits).or_else(|| seen().filter(fits)).unwrap_or(40)
    }

    /// Adds text for people to the results. No line of it can be a command for a workflow's runner.
    pub(crate) fn write(&mut self, text: &str) {
        self.write_lines(text.as_bytes());
    }

    /// Adds the output of a program to the results. No line of it can be a command for a workflow's runner.
    pub(crate) fn write_lines(&mut self, bytes: &[u8]) {
        let guarded = self.lines.guarded(bytes);
        self.add(&guarded);
    }

    /// Adds a text to the results that must be exact for programs, such as a plan or a diff. At a terminal, control sequences are removed.
    pub(crate) fn write_exact(&mut self, text: &str) {
        let audience = self.audience();
        self.write_bytes(addressed(text, audience).as_bytes());
    }

    /// Adds bytes to the results that need not be text, only for programs.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) {
        self.lines.pass(bytes);
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() > 64 * 1024 {
            self.flush();
        }
    }

    pub(crate) fn line(&mut self, text: &str) {
        self.write(text);
        self.write("\n");
    }

    /// Prints a report: as JSON if requested, otherwise with `draw`.
    pub(crate) fn show<R: Serialize>(&mut self, report: &R, draw: impl FnOnce(&R, &mut Output)) -> Result<()> {
        if !self.printed_json(report)? {
            draw(report, self);
        }
        Ok(())
    }

    /// Prints a report as JSON if requested, and returns whether it did.
    pub(crate) fn printed_json(&mut self, report: &impl Serialize) -> Result<bool> {
        if self.is_json() {
            self.json(report)?;
        }
        Ok(self.is_json())
    }

    /// Returns whether the results are for programs: `--json`.
    pub(crate) fn is_json(&self) -> bool {
        self.form != Form::Text
    }

    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let text = json_text(value)?;
        self.write_bytes(text.as_bytes());
        Ok(())
    }

    pub(crate) fn json_line(&mut self, json: &str) {
        self.write_bytes(harmless_json(json).as_bytes());
        self.write_bytes(b"\n");
    }

    /// Returns the audience of the results.
    pub(crate) fn audience(&self) -> Audience {
        audience_at(std::io::stdout().is_terminal())
    }

    /// Returns the audience of standard error.
    pub(crate) fn stderr_audience(&self) -> Audience {
        audience_at(std::io::stderr().is_terminal())
    }

    /// Prints a text to standard error.
    pub(crate) fn note(&mut self, text: &str) {
        self.flush();
        let guarded = self.stderr_lines.guarded(text.as_bytes());
        // A closed standard error has no reader.
        let _ = std::io::stderr().write_all(&guarded);
    }

    /// Prints a text to standard error that must be exact for programs.
    pub(crate) fn note_exact(&mut self, text: &str) {
        self.flush();
        self.stderr_lines.pass(text.as_bytes());
        let _ = std::io::stderr().write_all(addressed(text, self.stderr_audience()).as_bytes());
    }

    /// Prints a line to standard error, unless in quiet mode.
    pub(crate) fn remark(&mut self, text: &str) {
        if !self.quiet {
            let text = laid_out(text);
            self.note(&format!("{text}\n"));
        }
    }

    /// Prints a line with a command to standard error, unless in quiet mode. It is not wrapped, so that it can be pasted.
    pub(crate) fn command(&mut self, line: &str) {
        if !self.quiet {
            self.note(&format!("{line}\n"));
        }
    }

    /// Reports the error that ends a command: in words on standard error, and as the result if that is JSON.
    pub(crate) fn failure(&mut self, error: &Failure) -> Exit {
        // The user cancelled it.
        if error.message.is_empty() {
            return error.exit;
        }
        let exit = self.complain(error);
        if self.form != Form::Text
            && let Err(error) = self.report(&ErrorReport::new(ErrorBody::of(error)))
        {
            self.note(&format!("error: {error}\n"));
        }
        exit
    }

    /// Adds the error to the results, if programs read them.
    pub(crate) fn report(&mut self, report: &ErrorReport) -> Result<()> {
        match self.form {
            Form::Text => Ok(()),
            Form::Json => self.json(report),
            Form::JsonLines => {
                let line = serde_json::to_string(report)?;
                self.json_line(&line);
                Ok(())
            }
        }
    }

    /// Prints the error to standard error, and returns its exit.
    pub(crate) fn complain(&mut self, error: &Failure) -> Exit {
        let text = self.words_of(error);
        self.note(&text);
        error.exit
    }

    fn words_of(&self, failure: &Failure) -> String {
        let paint = self.stderr_paint();
        let (message, help) = (failure.message.as_str(), failure.help.as_str());
        let mut text = String::new();
        for evidence in &failure.evidence {
            let (path, source) = (evidence.path.as_str(), &evidence.source);
            match evidence.drawn {
                Drawn::Place => return refusal(path, source, evidence.span, message, help, paint, self.width()),
                Drawn::Findings => {
                    let drawn = findings(
                        path,
                        source,
                        &evidence.findings,
                        FindingsSource::Other,
                        paint,
                        self.width(),
                    );
                    text.push_str(&drawn);
                }
                Drawn::Nothing => {}
            }
        }
        for (label, words) in [("error", message), ("help", help)] {
            // The label is coloured after wrapping, because colour sequences have no width.
            let laid_out = laid_out(&format!("{label}: {}", printable(words)));
            let rest = laid_out.strip_prefix(label).unwrap_or(&laid_out);
            let label = if label == "error" {
                paint.error(label)
            } else {
                paint.help(label)
            };
            if !words.is_empty() {
                text.push_str(&format!("{label}{rest}\n"));
            }
        }
        text
    }

    /// Writes the results. A closed pipe is no error: `planwright … | head` is ordinary.
    pub(crate) fn flush(&mut self) {
        let mut out = std::io::stdout();
        let result = out.write_all(&self.buffer).and_then(|()| out.flush());
        self.buffer.clear();
        match result {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => self.is_unread = true,
            Err(error) => {
                self.broken.get_or_insert(error);
            }
            Ok(()) => {}
        }
    }

    /// Returns whether the reader of the results is gone, or they cannot be written, so that a follower may stop.
    pub(crate) fn is_unread(&self) -> bool {
        self.is_unread || self.broken.is_some()
    }

    /// Writes the remaining results, and returns the exit of the command: a full disk must not look like success.
    pub(crate) fn finish(mut self, exit: Exit) -> Exit {
        self.flush();
        match self.broken.take() {
            None => exit,
            Some(error) => {
                self.note(&format!("error: standard output cannot be written: {error}\n"));
                Exit::Environment
            }
        }
    }
}

fn write_stderr(text: &str) {
    let guarded = LineGuard::default().guarded(text.as_bytes());
    // A closed standard error has no reader.
    let _ = std::io::stderr().write_all(&guarded);
}

fn audience_at(is_terminal: bool) -> Audience {
    if is_terminal {
        Audience::Person
    } else {
        Audience::Program
    }
}

/// Wraps a text for people at a terminal; programs get it unchanged.
fn laid_out(text: &str) -> String {
    match std::io::stderr().is_terminal() {
        true => wrapped_lines(text, width()),
        false => text.to_owned(),
    }
}

/// Returns the width for text: COLUMNS, or that of the terminal, or 100.
fn width() -> usize {
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let fits = |columns: &usize| (40..=400).contains(columns);
    set.filter(fits).or_else(|| seen().filter(fits)).unwrap_or(100)
}

/// Returns the width of a stream that programs may read: then a line is never broken.
fn width_at(is_terminal: bool) -> usize {
    match std::env::var_os("COLUMNS").is_some() || is_terminal {
        true => width(),
        false => usize::MAX,
    }
}

fn wants_color(choice: ColorChoice, is_terminal: bool) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        // By its own convention, any value of NO_COLOR counts.
        ColorChoice::Auto if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
        ColorChoice::Auto if is_set("CLICOLOR_FORCE") || is_set("FORCE_COLOR") => true,
        ColorChoice::Auto => is_terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
    }
}
