//! Where output goes: results to standard output, the rest to standard error, colours only where wanted.

use std::io::{IsTerminal as _, Write as _};

use clap::ValueEnum;
use serde::Serialize;

use super::exit::{Exit, Failure};
use crate::render::terminal::{Audience, Paint, json_text, printable};

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The two streams of a command.
pub(crate) struct Output {
    buffer: Vec<u8>,
    /// Why the results could not be handed on, where somebody still wanted them.
    broken: Option<std::io::Error>,
    choice: ColorChoice,
    quiet: bool,
}

impl Output {
    pub(crate) fn new(choice: ColorChoice, quiet: bool) -> Self {
        Output {
            buffer: Vec::new(),
            broken: None,
            choice,
            quiet,
        }
    }

    /// Returns how to colour results.
    pub(crate) fn paint(&self) -> Paint {
        Paint::new(wants_color(self.choice, std::io::stdout().is_terminal()))
    }

    /// Returns how to colour what is said beside the results.
    pub(crate) fn paint_beside(&self) -> Paint {
        Paint::new(wants_color(self.choice, std::io::stderr().is_terminal()))
    }

    /// Returns true where only results are wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns the width to lay text out for: that of the terminal, or what COLUMNS says, or 100.
    pub(crate) fn width(&self) -> usize {
        let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        told.or_else(seen)
            .filter(|&columns| (40..=400).contains(&columns))
            .unwrap_or(100)
    }

    /// Adds to the results.
    pub(crate) fn write(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
        if self.buffer.len() > 64 * 1024 {
            self.flush();
        }
    }

    /// Adds a line to the results.
    pub(crate) fn line(&mut self, text: &str) {
        self.write(text);
        self.write("\n");
    }

    /// Adds a value to the results, as JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let text = json_text(value)?;
        self.write(&text);
        Ok(())
    }

    /// Returns who reads the results.
    pub(crate) fn audience(&self) -> Audience {
        audience_at(std::io::stdout().is_terminal())
    }

    /// Returns who reads what is said beside the results.
    pub(crate) fn audience_beside(&self) -> Audience {
        audience_at(std::io::stderr().is_terminal())
    }

    /// Says something beside the results.
    pub(crate) fn note(&mut self, text: &str) {
        self.flush();
        // A closed standard error leaves nobody to tell.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Says a line beside the results, unless only results are wanted.
    pub(crate) fn remark(&mut self, text: &str) {
        if !self.quiet {
            self.note(&format!("{text}\n"));
        }
    }

    /// Reports an error and returns how the command ends.
    pub(crate) fn failure(&mut self, error: &anyhow::Error) -> Exit {
        let paint = self.paint_beside();
        let mut text = format!("{}: {}\n", paint.error("error"), printable(&format!("{error:#}")));
        let failure = error.downcast_ref::<Failure>();
        if let Some(failure) = failure.filter(|failure| !failure.help.is_empty()) {
            text.push_str(&format!("{}: {}\n", paint.help("help"), printable(&failure.help)));
        }
        self.note(&text);
        failure.map_or(Exit::Environment, |failure| failure.exit)
    }

    /// Hands the results on. A reader that has gone away is no error: `planwright … | head` is ordinary.
    pub(crate) fn flush(&mut self) {
        let mut out = std::io::stdout();
        let result = out.write_all(&self.buffer).and_then(|()| out.flush());
        self.buffer.clear();
        if let Err(error) = result
            && error.kind() != std::io::ErrorKind::BrokenPipe
        {
            self.broken.get_or_insert(error);
        }
    }

    /// Hands the rest of the results on, and returns how the command ends: a full disk must not look like success.
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

fn audience_at(is_terminal: bool) -> Audience {
    if is_terminal {
        Audience::Person
    } else {
        Audience::Program
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
