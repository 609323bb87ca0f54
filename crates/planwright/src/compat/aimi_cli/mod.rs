//! `aimi-cli.sh …`: the original's commands, output, state files and exit codes. v3 files as version 1.21 answers, v2.x files as version
//! 1.10.

mod check;
mod help;
mod jq;
mod mark;
mod report;
mod state;
mod tasks;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::dialect::DIALECTS;
use planwright_core::dialect::aimi::is_branch;
use planwright_run::inspect_file::inspect_file;
use planwright_run::store;

use super::Answer;
use help::HELP;
use mark::{Mark, Target};
use tasks::{Located, Schema, Tasks};

/// Why a command is refused: the text for standard error; the exit code is 1.
struct Refused {
    message: String,
}

/// Refuses with an `Error:` line, and a `Fix:` line if there is a fix.
fn refused(message: impl AsRef<str>, fix: impl AsRef<str>) -> Refused {
    let (message, fix) = (message.as_ref(), fix.as_ref());
    let mut lines = format!("Error: {message}\n");
    if !fix.is_empty() {
        lines.push_str(&format!("Fix: {fix}\n"));
    }
    Refused { message: lines }
}

impl From<Refused> for Answer {
    fn from(refused: Refused) -> Self {
        Answer::err(1, refused.message)
    }
}

impl From<io::Error> for Answer {
    fn from(error: io::Error) -> Self {
        let message = format!("the state in {}/ cannot be written: {error}", state::FOLDER);
        refused(message, "Check that you may write there.").into()
    }
}

/// Runs a command. `called_as` is the name of the binary if it has the original's name.
pub(crate) fn run(args: &[OsString], called_as: Option<&OsStr>) -> Answer {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let mut session = Session {
        called_as,
        remarks: String::new(),
    };
    let mut answer = session.answer(&args).unwrap_or_else(|answer| answer);
    answer.stderr.insert_str(0, &session.remarks);
    answer
}

/// One run of a command.
struct Session<'a> {
    called_as: Option<&'a OsStr>,
    /// Further text for standard error.
    remarks: String,
}

/// A tasks file that was found and read.
struct Opened {
    path: PathBuf,
    shown: String,
    tasks: Tasks,
}

impl Session<'_> {
    fn answer(&mut self, args: &[String]) -> Result<Answer, Answer> {
        let argument = |at: usize| args.get(at).map_or("", String::as_str);
        let (command, id) = (argument(0), argument(1));
        match command {
            "" | "help" | "--help" | "-h" => Ok(Answer::out(0, HELP)),
            "find-tasks" => find_tasks(),
            "init-session" => self.init_session(),
            "status" => self.say(|tasks| Ok(report::status(tasks))),
            "metadata" => self.say(report::metadata),
            "list-ready" => self.list_ready(),
            "next-story" => self.next_story(),
            "current-story" => self.current_story(),
            "count-pending" => self.say(|tasks| Ok(format!("{}\n", tasks.pending().count()))),
            "detect-schema" => self.detect_schema(),
            "validate-deps" => self.validate_deps(),
            "validate-stories" => self.validate_stories(),
            "validate" => self.validate(),
            "mark-in-progress" => self.mark(command, Mark::InProgress, id, ""),
            "mark-complete" => self.mark(command, Mark::Complete, id, ""),
            "mark-failed" => self.mark(command, Mark::Failed, id, argument(2)),
            "mark-skipped" => self.mark(command, Mark::Skipped, id, ""),
            "cascade-skip" => self.cascade_skip(id),
            "reset-orphaned" => self.reset_orphaned(),
            "get-branch" => self.get_branch(),
            "get-state" => Ok(Answer::out(0, get_state())),
            "clear-state" => clear_state(),
            left_out if help::is_left_out(left_out) => Err(help::left_out(left_out)),
            unknown => Err(help::unknown(unknown)),
        }
    }

    /// Finds and reads the tasks file. Like version 1.21, fixes a pointer to a missing file.
    fn open(&mut self) -> Result<Opened, Answer> {
        let located = Located::find()?;
        let tasks = located.open()?;
        let shown = located.shown(tasks.schema);
        if let Some(stale) = located.stale_pointer().filter(|_| tasks.schema == Schema::V3) {
            self.remarks.push_str(&format!(
                "Warning: state file pointed to {stale} which no longer exists. Using {shown} instead.\n"
            ));
            state::write(state::TASKS, &shown)?;
        }
        let path = located.path;
        Ok(Opened { path, shown, tasks })
    }

    /// Finds and reads a tasks file for a command that version 1.10 only has for v3.
    fn open_v3(&mut self, command: &str) -> Result<Opened, Answer> {
        let opened = self.open()?;
        match opened.tasks.schema {
            Schema::V3 => Ok(opened),
            Schema::V2 => Err(refused(format!("{command} is only available for v3 schema files"), "").into()),
        }
    }

    fn say(&mut self, say: fn(&Tasks) -> Result<String, Refused>) -> Result<Answer, Answer> {
        let opened = self.open()?;
        Ok(Answer::out(0, say(&opened.tasks)?))
    }

    fn init_session(&mut self) -> Result<Answer, Answer> {
        let located = Located::newest()?;
        let tasks = located.open()?;
        let shown = located.shown(tasks.schema);
        state::write(state::TASKS, &shown)?;
        if tasks.schema == Schema::V3
            && let Some(path) = self.called_as.and_then(own_path)
        {
            state::write(state::CLI_PATH, &path)?;
        }
        let branch = report::branch(&tasks)?;
        if !is_branch(&branch) {
            return Err(refused(format!("Invalid branch name: {branch}"), "").into());
        }
        state::write(state::BRANCH, &branch)?;
        let mut printer = jq::Printer::object();
        printer.key("tasks");
        printer.string(&shown);
        printer.key("branch");
        printer.string(&branch);
        printer.key("pending");
        printer.literal(&tasks.pending().count().to_string());
        printer.key("schemaVersion");
        printer.string(&tasks.version());
        printer.close('}');
        Ok(Answer::out(0, printer.finish()))
    }

    fn list_ready(&mut self) -> Result<Answer, Answer> {
        let opened = self.open_v3("list-ready")?;
        Ok(Answer::out(0, report::list_ready(&opened.tasks)))
    }

    fn next_story(&mut self) -> Result<Answer, Answer> {
        let opened = self.open()?;
        let Some(story) = report::next_story(&opened.tasks) else {
            state::remove(state::STORY)?;
            return Ok(Answer::out(0, "null\n"));
        };
        state::write(state::STORY, &jq::raw(story.id()))?;
        Ok(Answer::out(0, jq::printed(Some(story.node()))))
    }

    fn current_story(&mut self) -> Result<Answer, Answer> {
        match state::read(state::STORY).as_str() {
            "" => Ok(Answer::out(0, "null\n")),
            id => Ok(Answer::out(0, printed_story(&self.open()?.tasks, id))),
        }
    }

    fn detect_schema(&mut self) -> Result<Answer, Answer> {
        let opened = self.open()?;
        match opened.tasks.schema {
            Schema::V2 => Ok(Answer::out(0, format!("{}\n", opened.tasks.version()))),
            Schema::V3 => Err(help::unknown("detect-schema")),
        }
    }

    fn validate_deps(&mut self) -> Result<Answer, Answer> {
        let opened = self.open_v3("validate-deps")?;
        let verdict = check::dependencies(&opened.tasks);
        Ok(Answer::out(u8::from(!verdict.is_valid()), verdict.printed()))
    }

    fn validate_stories(&mut self) -> Result<Answer, Answer> {
        let opened = self.open()?;
        match opened.tasks.schema {
            Schema::V3 => Ok(Answer::out(0, check::stories(&opened.tasks).printed())),
            Schema::V2 => Err(help::unknown("validate-stories")),
        }
    }

    /// Checks every rule of the specification, also for files that no other command accepts.
    fn validate(&mut self) -> Result<Answer, Answer> {
        let located = Located::find()?;
        let loaded = store::load(&located.path).map_err(|error| refused(error.to_string(), error.help()))?;
        let aimi = DIALECTS.iter().copied().find(|dialect| dialect.name() == "aimi");
        let examined = inspect_file(&loaded.source, Some(&located.path), aimi);
        let errors = check::messages(&examined.inspection.diagnostics);
        if errors.is_empty() {
            let shown = located.shown(Schema::V2);
            return Ok(Answer::out(0, format!("{shown} is valid.\n")));
        }
        Ok(Answer::out(1, errors.join("\n")))
    }

    fn mark(&mut self, command: &str, mark: Mark, id: &str, notes: &str) -> Result<Answer, Answer> {
        let opened = self.open_for(command, id)?;
        if mark == Mark::InProgress && opened.tasks.schema == Schema::V2 {
            return Err(refused(format!("{command} is only available for v3 schema files"), "").into());
        }
        let tasks = mark::mark(opened.target(command), mark, id, notes)?;
        let answer = printed_story(&tasks, id);
        if answer.is_empty() {
            let shown = &opened.shown;
            let remark = format!("Warning: Story {id} not found in {shown}: nothing was changed.\n");
            self.remarks.push_str(&remark);
        }
        match mark {
            Mark::InProgress => state::write(state::STORY, id)?,
            Mark::Complete => end_story("success")?,
            Mark::Failed => end_story("failed")?,
            Mark::Skipped => end_story("skipped")?,
        }
        Ok(Answer::out(0, answer))
    }

    /// Opens the tasks file for a command about a story, whose id must be valid.
    fn open_for(&mut self, command: &str, id: &str) -> Result<Opened, Answer> {
        if id.is_empty() {
            let notes = if command == "mark-failed" { " [notes]" } else { "" };
            let usage = format!("Usage: aimi-cli.sh {command} <story-id>{notes}\n");
            return Err(Answer::err(1, usage));
        }
        let opened = self.open()?;
        if opened.tasks.schema == Schema::V3 && !is_story_id(id) {
            let message = format!("Invalid story ID format: {id} (expected US-NNN)");
            return Err(refused(message, "").into());
        }
        Ok(opened)
    }

    fn cascade_skip(&mut self, id: &str) -> Result<Answer, Answer> {
        let command = "cascade-skip";
        let opened = self.open_for(command, id)?;
        if opened.tasks.schema == Schema::V2 {
            return Err(refused(format!("{command} is only available for v3 schema files"), "").into());
        }
        Ok(Answer::out(0, mark::cascade_skip(opened.target(command), id)?))
    }

    fn reset_orphaned(&mut self) -> Result<Answer, Answer> {
        let command = "reset-orphaned";
        let opened = self.open()?;
        match opened.tasks.schema {
            Schema::V3 => Ok(Answer::out(0, mark::reset_orphaned(opened.target(command))?)),
            Schema::V2 => Err(help::unknown(command)),
        }
    }

    fn get_branch(&mut self) -> Result<Answer, Answer> {
        let branch = match state::read(state::BRANCH) {
            branch if branch.is_empty() => report::branch(&self.open()?.tasks)?,
            branch => branch,
        };
        Ok(Answer::out(0, format!("{branch}\n")))
    }
}

impl Opened {
    fn target<'a>(&'a self, command: &'a str) -> Target<'a> {
        Target {
            path: &self.path,
            shown: &self.shown,
            command,
        }
    }
}

fn find_tasks() -> Result<Answer, Answer> {
    let located = Located::newest()?;
    // An invalid file is still found, and the newer version reports its path.
    let schema = located.open().map_or(Schema::V3, |tasks| tasks.schema);
    Ok(Answer::out(0, format!("{}\n", located.shown(schema))))
}

fn printed_story(tasks: &Tasks, id: &str) -> String {
    tasks
        .with_id(id)
        .map(|(_, story)| jq::printed(Some(story.node())))
        .collect()
}

fn end_story(result: &str) -> io::Result<()> {
    state::remove(state::STORY)?;
    state::write(state::LAST_RESULT, result)
}

fn get_state() -> String {
    let mut printer = jq::Printer::object();
    for (key, name) in [
        ("tasks", state::TASKS),
        ("branch", state::BRANCH),
        ("story", state::STORY),
        ("last", state::LAST_RESULT),
    ] {
        printer.key(key);
        match state::read(name).as_str() {
            "" => printer.literal("null"),
            value => printer.string(value),
        }
    }
    printer.close('}');
    printer.finish()
}

fn clear_state() -> Result<Answer, Answer> {
    state::clear()?;
    Ok(Answer::out(0, "State cleared.\n"))
}

/// Returns whether an id is `US-`, three digits and an optional lower-case letter.
fn is_story_id(id: &str) -> bool {
    let Some((digits, letter)) = id.strip_prefix("US-").and_then(|rest| rest.split_at_checked(3)) else {
        return false;
    };
    let is_suffix = letter.is_empty() || (letter.len() == 1 && letter.bytes().all(|byte| byte.is_ascii_lowercase()));
    digits.bytes().all(|byte| byte.is_ascii_digit()) && is_suffix
}

/// Returns the absolute path under which this binary was called, without following links: the name of a link selects this command line.
fn own_path(called_as: &OsStr) -> Option<String> {
    let called = Path::new(called_as);
    let is_plain_name = called.components().count() == 1;
    let path = if is_plain_name {
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders)
            .map(|folder| folder.join(called))
            .find(|path| path.is_file())?
    } else {
        called.to_owned()
    };
    let absolute = std::path::absolute(path).ok()?;
    Some(absolute.to_string_lossy().into_owned())
}
