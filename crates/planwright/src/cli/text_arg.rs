//! TEXT on the command line: the words themselves, `@FILE` for what a file holds, `-` for standard input.

use std::fs::File;
use std::io::{self, Read};

use super::exit::{Exit, Failure};

/// No note is longer: what is more belongs in a file of its own.
const MAX_BYTES: u64 = 1024 * 1024;

/// Returns a text as it is meant. Only one of several can be standard input, which `stdin_is_taken` remembers.
pub(crate) fn text_of(option: &str, typed: &str, stdin_is_taken: &mut bool) -> anyhow::Result<String> {
    let text = match typed.strip_prefix('@') {
        _ if typed == "-" => {
            if std::mem::replace(stdin_is_taken, true) {
                return Err(Failure::usage(
                    "standard input can be read only once",
                    "give one of the two as words, or as @FILE",
                ));
            }
            read(option, "standard input", io::stdin().lock())?
        }
        // An at sign of its own is written twice.
        Some(words) if words.starts_with('@') => return bounded(option, words.to_owned()),
        Some(path) => {
            let name = format!("`{path}`");
            let file = File::open(path).map_err(|error| unreadable(option, &name, &error))?;
            read(option, &name, file)?
        }
        None => return bounded(option, typed.to_owned()),
    };
    // The line that an editor or `echo` ends is not meant to end in the plan.
    let end = text
        .strip_suffix('\n')
        .map(|text| text.strip_suffix('\r').unwrap_or(text));
    Ok(end.map_or(text.clone(), str::to_owned))
}

fn bounded(option: &str, text: String) -> anyhow::Result<String> {
    match text.len() as u64 > MAX_BYTES {
        true => Err(too_long(option, "the text")),
        false => Ok(text),
    }
}

fn read(option: &str, name: &str, input: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = input.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(option, name, &error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_long(option, name));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::problem(
            format!("{name} is not UTF-8, and cannot be the text of --{option}"),
            "nothing was written; convert it first",
        )
    })
}

fn too_long(option: &str, name: &str) -> anyhow::Error {
    Failure::problem(
        format!("{name} is too long for --{option}, which takes up to {MAX_BYTES} bytes"),
        "nothing was written; give a summary, or a part of it",
    )
}

fn unreadable(option: &str, name: &str, error: &io::Error) -> anyhow::Error {
    Failure {
        exit: Exit::Environment,
        message: format!("{name} cannot be read for --{option}: {error}"),
        help: "nothing was written; to begin the text with an at sign, write it twice: @@".to_owned(),
        evidence: None,
    }
    .into()
}
