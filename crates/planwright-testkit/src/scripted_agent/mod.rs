//! A small agent without installation: asks a model on loopback, uses two tools, and prints in the format of a known agent. Never
//! retries.

mod conversation;
mod voice;

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use conversation::{Conversation, ModelFailure, ModelReply};
use serde_json::Value;
use voice::EventPrinter;

use crate::model_server::Wire;

/// The limit of tools in one session; a model that wants more repeats itself.
const MAX_TOOLS: usize = 100;

/// Works on a prompt in a folder, writes events, and returns the exit status.
pub fn run(wire: Wire, url: &str, prompt: &str, folder: &Path, out: &mut dyn Write) -> io::Result<i32> {
    let mut voice = EventPrinter::new(wire, out);
    let mut conversation = Conversation::new(wire, url, prompt);
    voice.begin()?;
    for _ in 0..MAX_TOOLS {
        match conversation.ask() {
            Ok(ModelReply::Text(text)) => return voice.done(&text),
            Ok(ModelReply::Tool { name, input }) => {
                let (result, is_error) = use_tool(folder, &name, &input);
                voice.tool(&name, &input, &result, is_error)?;
                conversation.add(name, input, result);
            }
            Err(failure) => return voice.failed(&failure),
        }
    }
    voice.failed(&ModelFailure::Unreachable("it was in a loop".to_owned()))
}

/// Uses a tool, and returns the result, and whether it is an error.
fn use_tool(folder: &Path, name: &str, input: &Value) -> (String, bool) {
    let word = |key: &str| input[key].as_str().unwrap_or_default();
    let outcome = match name {
        "write" => std::fs::write(folder.join(word("path")), word("content")).map(|()| "written".to_owned()),
        "shell" => shell(folder, word("command")),
        _ => Err(io::Error::other(format!("there is no tool {name}"))),
    };
    match outcome {
        Ok(result) => (result, false),
        Err(error) => (error.to_string(), true),
    }
}

fn shell(folder: &Path, command: &str) -> io::Result<String> {
    let output = Command::new("sh").args(["-c", command]).current_dir(folder).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(io::Error::other(format!("{}: {text}", output.status))),
    }
}
