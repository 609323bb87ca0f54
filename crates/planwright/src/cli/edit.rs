//! `planwright edit`: a plan, or one task as a small form, in the user's editor.

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::text::SourceText;
use planwright_verbs::edit::{EditForm, EditFormRequest, EditRefusal, EditorFile, edit_form};
use planwright_verbs::text::one_line;

use super::answers;
use super::change::{ChangeOptions, present};
use super::editor::{Left, editor, open_in};
use super::plan_arg::PlanOption;
use super::{Exit, Failure, Output, Result};

/// Edit a plan, or one task as a form, in your editor.
///
/// Uses the editor of VISUAL or EDITOR. When the editor closes, the text is checked; a valid text is shown as a diff and written.
/// `planwright undo` reverts it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright edit                           the only plan of this workspace
  planwright edit t2                        one task of it, as a form
  planwright edit t2 -p plan-5f0c2a9e
  planwright edit t2 --from .planwright/unusable/plan-5f0c2a9e-t2.txt
  EDITOR='code --wait' planwright edit plan-5f0c2a9e --diff")]
pub(crate) struct Args {
    /// The plan: a path, an id or part of one; or a task of the plan. If both fit, the plan is meant.
    #[arg(value_name = "PLAN|TASK", value_parser = NonEmpty::new())]
    what: Option<String>,

    /// Start from this file, such as the kept text of a refused edit.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    #[command(flatten)]
    plan: PlanOption,

    #[command(flatten)]
    change: ChangeOptions,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = EditFormRequest {
        what: args.what.clone(),
        plan: args.plan.choice(),
        from: args.from.clone(),
    };
    let form = edit_form(&output.workspace(), &request)?;
    let Some(editor) = editor() else {
        return Err(Failure::usage(
            "no editor is set",
            "set VISUAL or EDITOR to the command of one, as `export EDITOR=nano`",
        ));
    };
    let file = EditorFile::create(&form)?;
    edit_until_written(&form, &file, &editor, &args.change, output)
}

/// Opens the editor until the text is accepted, or the user gives up.
fn edit_until_written(
    form: &EditForm,
    file: &EditorFile<'_>,
    editor: &str,
    change: &ChangeOptions,
    output: &mut Output,
) -> Result<Exit> {
    loop {
        output.flush();
        let status = match open_in(editor, file.path())? {
            Left::Closed(status) => status,
            Left::Ended(exit) => {
                file.leave();
                let text = file.path().to_string_lossy();
                output.remark(&format!(
                    "ended while the editor was open; the text is in {}",
                    one_line(&text)
                ));
                output.command(&edit_again(file.path(), output));
                return Err(Failure::interrupted(exit));
            }
        };
        let text = file.load()?;
        let is_same = text.as_str() == form.text;
        if !status.success() {
            // The user gave up, as with vim's `:cq`; or the editor crashed.
            output.remark(&format!("the editor ended with {status}: nothing was written"));
            if !is_same {
                file.keep(&output.workspace(), text.as_str())?;
            }
            return Ok(Exit::Problems);
        }
        if is_same {
            output.remark("the text is unchanged: nothing was written");
            return Ok(Exit::Success);
        }
        let refusal = match write(form, &text, change, output) {
            Ok(exit) => return exit,
            Err(refusal) => refusal,
        };
        let may_ask = answers::may_ask() && !change.json;
        return match refusal {
            EditRefusal::Text(failure) if may_ask => {
                output.complain(&form.placed_in(file.path(), &text, failure));
                output.note("Edit it again? [Y/n] ");
                let answer = answers::line().map(|line| line.to_lowercase());
                if matches!(answer.as_deref(), Some("" | "y" | "yes")) {
                    continue;
                }
                let kept = file.keep(&output.workspace(), text.as_str())?;
                output.command(&edit_again(&kept, output));
                Ok(Exit::Problems)
            }
            EditRefusal::Text(failure) => {
                let kept = file.keep(&output.workspace(), text.as_str())?;
                let failure = form.placed_in(&kept, &text, failure);
                Err(with_help(failure, &edit_again(&kept, output)))
            }
            EditRefusal::Final(failure) => {
                file.keep(&output.workspace(), text.as_str())?;
                Err(failure)
            }
        };
    }
}

/// Returns the command that edits a saved text again.
fn edit_again(kept: &Path, output: &Output) -> String {
    let command = output.workspace().with_value("--from", &kept.to_string_lossy());
    format!("edit that text again: `{command}`")
}

/// Writes a text, and prints its changes.
fn write(
    form: &EditForm,
    text: &SourceText,
    change: &ChangeOptions,
    output: &mut Output,
) -> Result<Result<Exit>, EditRefusal> {
    let report = form.write(&output.workspace(), text.as_str(), &change.mode())?;
    if !report.change.is_something {
        report.change.lines.iter().for_each(|line| output.remark(line));
        return Ok(Ok(Exit::Success));
    }
    if !change.json && !change.diff {
        output.write_exact(&report.diff);
    }
    Ok(present(&report.change, change, output))
}

/// Adds a help text to an error.
fn with_help(failure: Failure, help: &str) -> Failure {
    let help = match failure.help.is_empty() {
        true => help.to_owned(),
        false => format!("{}; {help}", failure.help),
    };
    Failure { help, ..failure }
}
