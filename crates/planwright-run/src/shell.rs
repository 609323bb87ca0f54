//! Quotes words for a shell, in commands that users can paste.

/// Returns a word as a shell would have to read it, where it is no option.
pub fn argument(word: &str) -> String {
    match word.starts_with('-') {
        true => quoted(word),
        false => shell_word(word),
    }
}

pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:+@%=,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => quoted(word),
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns a command as its user would write it: a line for the shell is that line.
pub fn command_line(command: &[String]) -> String {
    match command {
        [shell, option, line] if shell == "sh" && option == "-c" => line.clone(),
        words => words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
    }
}

/// Returns advice whose commands have the path of a task pack in the place of `PACK`.
pub fn with_pack(help: &str, path: &str) -> String {
    let path = argument(path);
    let parts = help.split('`').enumerate();
    let parts = parts.map(|(ix, part)| match ix % 2 == 1 && part.starts_with("planwright ") {
        true => {
            let words = part
                .split(' ')
                .map(|word| if word == "PACK" { path.as_str() } else { word });
            words.collect::<Vec<_>>().join(" ")
        }
        false => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Returns advice whose commands name the plan: there may be others in the workspace.
pub fn with_plan(help: &str, path: &str) -> String {
    let help = with_pack(help, path);
    let path = argument(path);
    let parts = help.split('`').enumerate();
    let parts = parts.map(|(ix, part)| match part.strip_prefix("planwright ") {
        Some(verb) if ix % 2 == 1 && !verb.contains(' ') => format!("{part} {path}"),
        Some(verb) if ix % 2 == 1 && (verb == "retry STEP" || verb.starts_with("add \"TITLE\"")) => {
            format!("{part} -p {path}")
        }
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}
