//! Quotes words for a shell, in commands that users can paste.

/// Quotes a word for a shell, if it is no option.
pub fn argument(word: &str) -> String {
    match word.starts_with('-') {
        true => quoted(word),
        false => shell_word(word),
    }
}

/// Returns a planwright command for a task of a plan. A task whose name begins with `-` follows `--`, so that it is no option.
pub fn task_command(verb: &str, task: &str, plan: &str, options: &str) -> String {
    let mut rest = String::new();
    if plan.starts_with('-') {
        rest = format!(" -p={}", argument(plan));
    } else if !plan.is_empty() {
        rest = format!(" -p {}", argument(plan));
    }
    if !options.is_empty() {
        rest = format!("{rest} {options}");
    }
    match task.starts_with('-') {
        true => format!("planwright {verb}{rest} -- {}", argument(task)),
        false => format!("planwright {verb} {}{rest}", argument(task)),
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

/// Returns a command as its user would write it; a line for the shell stays unchanged.
pub fn command_line(command: &[String]) -> String {
    match command {
        [shell, option, line] if shell == "sh" && option == "-c" => line.clone(),
        words => words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
    }
}

/// The word that stands for the plan's file in the help texts of dialects.
pub(crate) const FILE_PLACEHOLDER: &str = "PLAN_FILE";

/// Replaces the placeholder by the path of a plan in the commands of a help text.
pub fn with_file(help: &str, path: &str) -> String {
    let path = argument(path);
    let parts = help.split('`').enumerate();
    let parts = parts.map(|(ix, part)| match ix % 2 == 1 && part.starts_with("planwright ") {
        true => {
            let words = part
                .split(' ')
                .map(|word| if word == FILE_PLACEHOLDER { path.as_str() } else { word });
            words.collect::<Vec<_>>().join(" ")
        }
        false => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Adds the plan to the commands of a help text: there may be others in the workspace.
pub fn with_plan(help: &str, path: &str) -> String {
    let help = with_file(help, path);
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
