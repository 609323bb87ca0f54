//! The workspace of a caller: the base of names and relative paths, the meaning of `-`, and the listener for remarks.

use std::path::{Path, PathBuf};

use planwright_core::diagnostic::Diagnostic;
use planwright_core::text::SourceText;
use planwright_run::store::{self, LoadError, LoadedFile};

use crate::typed_command::TypedCommand;

pub struct Workspace {
    folder: PathBuf,
    typed: Option<TypedCommand>,
    input: Input,
    listener: Option<RemarkListener>,
    findings_listener: Option<FindingsListener>,
}

/// Receives the remarks of an active verb: one line each, without a line break.
type RemarkListener = Box<dyn Fn(&str)>;

/// Draws the findings that an active verb reports about a file.
type FindingsListener = Box<dyn Fn(&FileFindings)>;

/// The findings about one file, with the text that they are drawn in.
pub struct FileFindings {
    /// The path of the file as shown.
    pub path: String,
    pub source: SourceText,
    pub findings: Vec<Diagnostic>,
}

/// The meaning of `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing: the caller has no input.
    Nothing,
    Standard,
}

impl Workspace {
    /// Returns the workspace around a folder, for a caller without an input or a listener.
    pub fn around(folder: impl Into<PathBuf>) -> Self {
        Workspace {
            folder: folder.into(),
            typed: None,
            input: Input::Nothing,
            listener: None,
            findings_listener: None,
        }
    }

    /// Returns the workspace of a command that a user typed in the current folder.
    pub fn of_command(typed: TypedCommand) -> Self {
        Workspace {
            typed: Some(typed),
            input: Input::Standard,
            ..Workspace::around("")
        }
    }

    /// Passes remarks to a listener immediately.
    #[must_use]
    pub fn heard_by(self, listener: impl Fn(&str) + 'static) -> Self {
        Workspace {
            listener: Some(Box::new(listener)),
            ..self
        }
    }

    /// Passes findings to a listener immediately.
    #[must_use]
    pub fn findings_drawn_by(self, listener: impl Fn(&FileFindings) + 'static) -> Self {
        Workspace {
            findings_listener: Some(Box::new(listener)),
            ..self
        }
    }

    /// Returns the folder in which the user works, somewhere in the workspace.
    pub fn folder(&self) -> &Path {
        match self.folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => &self.folder,
        }
    }

    /// Returns a path that a request names.
    pub fn path(&self, named: impl AsRef<Path>) -> PathBuf {
        self.folder.join(named)
    }

    /// Reports something in addition to the result.
    pub fn remark(&self, text: &str) {
        if let Some(listener) = &self.listener {
            listener(text);
        }
    }

    /// Reports findings in addition to the result.
    pub(crate) fn report_findings(&self, found: &FileFindings) {
        if let Some(listener) = &self.findings_listener {
            listener(found);
        }
    }

    /// Reads a file of a request, or the input for `-`.
    pub fn load(&self, named: &str) -> Result<LoadedFile, LoadError> {
        match named {
            "-" => self.load_input(),
            path => store::load(&self.path(path)),
        }
    }

    /// Reads the input for `-`.
    pub(crate) fn load_input(&self) -> Result<LoadedFile, LoadError> {
        match self.input {
            Input::Standard => store::load_stdin(),
            Input::Nothing => Err(LoadError::new(
                Path::new("-"),
                std::io::Error::new(std::io::ErrorKind::Unsupported, "there is no standard input here"),
            )),
        }
    }

    /// Returns the user's command with an argument replaced; for other callers, the new argument alone.
    pub(crate) fn with_word(&self, wanted: &str, instead: &str) -> String {
        let typed = self.typed.as_ref();
        typed.map_or_else(|| instead.to_owned(), |typed| typed.with_word(wanted, instead))
    }

    /// Returns the user's command with several arguments in place of a plan; for other callers, those arguments alone.
    pub fn with_words(&self, wanted: &str, instead: &[&str]) -> String {
        let typed = self.typed.as_ref();
        typed.map_or_else(|| instead.join(" "), |typed| typed.with_words(wanted, instead))
    }

    /// Returns whether the user typed a command with this verb.
    pub fn is_verb(&self, verb: &str) -> bool {
        self.typed.as_ref().is_some_and(|typed| typed.is_verb(verb))
    }

    /// Returns the user's command with a plan; for other callers, the plan alone.
    pub fn with_plan(&self, plan: &str) -> String {
        let typed = self.typed.as_ref();
        typed.map_or_else(|| plan.to_owned(), |typed| typed.with_plan(plan))
    }

    /// Returns the user's command with a further option; for other callers, the option alone.
    pub(crate) fn with_option(&self, option: &str) -> String {
        let typed = self.typed.as_ref();
        typed.map_or_else(|| option.to_owned(), |typed| typed.with_option(option))
    }

    /// Returns the user's command with another value of an option; for other callers, the value alone.
    pub fn with_value(&self, option: &str, value: &str) -> String {
        let typed = self.typed.as_ref();
        typed.map_or_else(|| value.to_owned(), |typed| typed.with_value(option, value))
    }

    /// Returns the command that the user typed; for other callers, the name of the program.
    pub(crate) fn as_typed(&self) -> String {
        let typed = self.typed.as_ref();
        typed.map_or_else(|| "planwright".to_owned(), TypedCommand::as_typed)
    }
}

/// Returns a path for display: relative to this folder if it is below it.
pub(crate) fn from_here(path: &Path) -> PathBuf {
    let current = std::path::absolute(".").unwrap_or_default();
    let canonical = std::fs::canonicalize(".").unwrap_or_default();
    let short = path.strip_prefix(&current).or_else(|_| path.strip_prefix(&canonical));
    short.map_or(path.to_owned(), Path::to_owned)
}
