//! Shows verification on the command line while it runs.

use std::io::{self, Write as _};

use planwright_verbs::CancelToken;
use planwright_verbs::text::{cut, duration, one_line, shown_name};
use planwright_verbs::verification::{
    ReceiptReport, VerificationEvent, VerificationObserver, command_words, tail_lines,
};

use super::interrupt;
use super::output::Output;
use crate::render::terminal::{Audience, Paint};

/// Where the progress of commands is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerificationStream {
    Results,
    /// On standard error.
    Remarks,
    /// Only at a terminal: the results are for programs.
    Nowhere,
}

pub(crate) struct VerificationView<'o> {
    pub(crate) stream: VerificationStream,
    pub(crate) output: &'o mut Output,
}

impl<'o> VerificationView<'o> {
    /// Prints with the results, unless these are for programs.
    pub(crate) fn of_results(output: &'o mut Output) -> Self {
        let stream = match output.is_json() {
            true => VerificationStream::Nowhere,
            false => VerificationStream::Results,
        };
        VerificationView { stream, output }
    }

    pub(crate) fn nowhere(output: &'o mut Output) -> Self {
        let stream = VerificationStream::Nowhere;
        VerificationView { stream, output }
    }
}

impl VerificationObserver for VerificationView<'_> {
    fn happens(&mut self, event: VerificationEvent<'_>) {
        match event {
            VerificationEvent::TaskBegins { task, title } => self.task_begins(task, title),
            VerificationEvent::Restored { files } => {
                let files = one_line(&files.join(", "));
                self.output
                    .remark(&format!("restored before the next command: {files}"));
            }
            // Only a person who waits needs to see the active command.
            VerificationEvent::CommandBegins { command } if self.output.stderr_audience() == Audience::Person => {
                self.output.remark(&format!("  running {}", command_words(command)));
            }
            VerificationEvent::CommandBegins { .. } => {}
            VerificationEvent::CommandEnds { receipt } => self.command_ends(receipt),
            VerificationEvent::TaskEnds { task, gaps } => self.task_ends(task, gaps),
        }
    }

    fn cancel_token(&mut self) -> io::Result<CancelToken> {
        interrupt::cancel_token()
    }
}

impl VerificationView<'_> {
    fn task_begins(&mut self, task: &str, title: &str) {
        match self.stream {
            VerificationStream::Results => {
                let name = self.output.paint().bold(&shown_name(task));
                let heading = format!("{name}  {}", cut(&one_line(title), 60));
                self.output.line(heading.trim_end());
                self.output.flush();
            }
            VerificationStream::Remarks => self.output.remark(&format!("verifying {}", shown_name(task))),
            VerificationStream::Nowhere => {}
        }
    }

    fn command_ends(&mut self, receipt: &ReceiptReport) {
        match self.stream {
            VerificationStream::Results => {
                let paint = self.output.paint();
                for line in receipt_lines(receipt, paint) {
                    self.output.line(&line);
                }
                self.output.flush();
            }
            VerificationStream::Remarks => {
                let line = receipt_line(receipt, self.output.stderr_paint());
                self.output.remark(&line);
            }
            VerificationStream::Nowhere => {}
        }
        // A closed standard error has no reader.
        let _ = io::stderr().flush();
    }

    fn task_ends(&mut self, task: &str, gaps: &[String]) {
        for gap in gaps {
            match self.stream {
                VerificationStream::Results => self.output.line(&format!("  {gap}")),
                VerificationStream::Remarks => self.output.remark(&format!("note: {}: {gap}", shown_name(task))),
                VerificationStream::Nowhere => {}
            }
        }
    }
}

/// Returns the result of a command, and the end of its output if it failed.
fn receipt_lines(receipt: &ReceiptReport, paint: Paint) -> Vec<String> {
    let mut lines = vec![receipt_line(receipt, paint)];
    if !receipt.passed {
        let tail = tail_lines(&receipt.tail).into_iter();
        lines.extend(tail.map(|line| format!("    {} {line}", paint.dim("|"))));
    }
    lines
}

fn receipt_line(receipt: &ReceiptReport, paint: Paint) -> String {
    let time = duration(receipt.milliseconds);
    let words = command_words(&receipt.command);
    match receipt.passed {
        true => format!("  {}  {words}  ({time})", paint.good("passed")),
        false => format!("  {}  {words}  ({}, {time})", paint.error("failed"), receipt.exit),
    }
}
