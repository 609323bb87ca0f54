//! TEXT on the command line: the text itself, `@FILE` for a file, `-` for standard input.

use std::fs::File;
use std::io::{self, Read};

use planwright_verbs::{Failure, Result};

/// The limit of a note: a longer text belongs in a file of its own.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

/// The help for an unreadable file: if text could have been meant, and if only a file could.
const AT_SIGN: &str = "to begin the text with an at sign, write it twice: @@";
const NAME: &str = "check that it exists, and that you may read it";

/// Returns the text that an argument means. Only one of several can be standard input, which `stdin_is_taken` records.
pub(crate) fn text_of(option: &str, typed: &str, stdin_is_taken: &mut bool) -> Result<String> {
    let text = match typed.strip_prefix('@') {
        _ if typed == "-" => {
            if std::mem::replace(stdin_is_taken, true) {
                return Err(Failure::usage(
                    "standard input can be read only once",
                    "give one of the two as text, or as @FILE",
                ));
            }
            read(option, "standard input", io::stdin().lock(), MAX_BYTES)?
        }
        // A literal at sign is written twice.
        Some(words) if words.starts_with('@') => return bounded(option, words.to_owned()),
        Some(path) => {
            let name = format!("`{path}`");
            let file = File::open(path).map_err(|error| unreadable(option, &name, &error, AT_SIGN))?;
            read(option, &name, file, MAX_BYTES)?
        }
        None => return bounded(option, typed.to_owned()),
    };
    Ok(without_last_end(text))
}

/// Returns the content of standard input.
pub(crate) fn input_of(option: &str, max_bytes: usize) -> Result<String> {
    read(option, "standard input", io::stdin().lock(), max_bytes).map(without_last_end)
}

/// Returns the content of the file that an option names.
pub(crate) fn file_of(option: &str, path: &str, max_bytes: usize) -> Result<String> {
    let name = format!("the file `{path}`");
    let file = File::open(path).map_err(|error| unreadable(option, &name, &error, NAME))?;
    read(option, &name, file, max_bytes).map(without_last_end)
}

/// Returns a text without its last line break, which an editor or `echo` adds.
fn without_last_end(mut text: String) -> String {
    let end = text
        .strip_suffix('\n')
        .map(|text| text.strip_suffix('\r').unwrap_or(text));
    if let Some(n_bytes) = end.map(str::len) {
        text.truncate(n_bytes);
    }
    text
}

fn bounded(option: &str, text: String) -> Result<String> {
    match text.len() > MAX_BYTES {
        true => Err(too_long(option, "the text", MAX_BYTES)),
        false => Ok(text),
    }
}

fn read(option: &str, name: &str, input: impl Read, max_bytes: usize) -> Result<String> {
    let mut bytes = Vec::new();
    let read = input.take(max_bytes as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(option, name, &error, NAME))?;
    if bytes.len() > max_bytes {
        return Err(too_long(option, name, max_bytes));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::problem(
            format!("{name} is not UTF-8, and cannot be the text of {}", called(option)),
            "nothing was written; convert it first",
        )
    })
}

/// Returns the user's name for it: an option, or the unnamed argument.
fn called(option: &str) -> String {
    match option {
        "goal" => "GOAL".to_owned(),
        option => format!("--{option}"),
    }
}

fn too_long(option: &str, name: &str, max_bytes: usize) -> Failure {
    Failure::problem(
        format!(
            "{name} is too long for {}, which takes up to {max_bytes} bytes",
            called(option)
        ),
        "nothing was written; give a summary, or a part of it",
    )
}

fn unreadable(option: &str, name: &str, error: &io::Error, help: &str) -> Failure {
    Failure::outside(
        format!("{name} cannot be read for {}: {error}", called(option)),
        format!("nothing was written; {help}"),
    )
}
