//! The parts of `--help` besides the options: groups of verbs, exit codes, and the meaning of shared options for a verb.

use std::ffi::OsString;

use clap::{ColorChoice, Command};

/// The verbs of daily use: those that `-h` shows.
const DAILY: &[&str] = &[
    "init", "plan", "import", "check", "edit", "show", "next", "run", "why", "logs", "summary", "land",
];

/// Every verb, in groups; the rare ones come last.
const GROUPS: &[(&str, &[&str])] = &[
    ("Daily use", DAILY),
    ("Looking at plans", &["list", "find", "graph", "history", "diff"]),
    (
        "Working on tasks",
        &["start", "done", "fail", "skip", "retry", "block", "reset", "verify"],
    ),
    (
        "Changing plans",
        &[
            "new",
            "adopt",
            "add",
            "set",
            "remove",
            "move",
            "rename",
            "depend",
            "undepend",
            "replan",
            "proposals",
            "undo",
        ],
    ),
    (
        "Following and controlling runs",
        &["runs", "events", "report", "pause", "resume", "stop", "worktrees"],
    ),
    ("Approval", &["submit", "approve", "reject", "cancel"]),
    ("Setting up", &["doctor", "agents", "config", "completions", "man"]),
    (
        "Rarely needed",
        &[
            "archive", "delete", "convert", "migrate", "tasks", "hash", "schema", "arbiter",
        ],
    ),
    ("Command lines of other tools", &["spec-first", "aimi-cli", "clido"]),
];

/// Other names of verbs.
const ALIASES: &[(&str, &[&str])] = &[
    ("show", &["status"]),
    ("check", &["validate", "lint"]),
    ("list", &["ls"]),
    ("logs", &["log"]),
];

/// The meaning of exit code 1, by verb; for others see [`REFUSED`].
const PROBLEMS: &[(&[&str], &str)] = &[
    (
        &["run"],
        "a task failed, is left or needs a review, or there is no such plan or task",
    ),
    (
        &["check"],
        "a plan has errors (with --deny also warnings), or no plan was found",
    ),
    (&["next"], "nothing is ready"),
    (&["find"], "no plan matches, or several do"),
    (
        &["show", "why", "graph", "history", "proposals"],
        "no such plan or task",
    ),
    (&["edit"], "the text has errors and is kept, or the editor failed"),
    (&["diff"], "no such plan, or it cannot be compared"),
    (&["arbiter"], "no such plan or agent, or nothing is left to do"),
    (&["done"], "refused, or not verified"),
    (&["verify"], "a verification failed, or there is no such task"),
    (
        &["plan", "replan", "regenerate"],
        "no answer could be used, or it was not confirmed",
    ),
    (&["derive"], "no answer could be used, or the pack exists already"),
    (&["validate"], "the pack is not valid"),
    (
        &["tasks"],
        "no pack could be made or confirmed, or an existing one is not valid",
    ),
    (&["cards"], "no such pack, or with --check: they differ"),
    (
        &["runs", "events", "logs", "summary"],
        "no such plan, run, task or attempt",
    ),
    (&["report"], "no such run, or the file exists and is not a report"),
    (&["pause", "resume", "stop"], "no run is active"),
    (
        &["land"],
        "nothing was changed: uncommitted work, a conflict, a failed verification, or nothing ran",
    ),
    (&["worktrees"], "no git repository, or no branch is checked out"),
    (&["doctor", "agents", "config"], "there are errors"),
    (&["hash"], "the plan has no hash"),
    (
        &["convert", "import"],
        "the plan has errors, or the file exists already",
    ),
    (&["migrate"], "the plan has errors, or there is nothing to migrate"),
    (&["new"], "the file exists already"),
];

/// The meaning of exit code 1 for verbs that change something.
const REFUSED: &str = "refused, and nothing has changed";

/// Verbs that never exit with code 1.
const NEVER_REFUSED: &[&str] = &["list", "schema", "completions", "man"];

/// Verbs that start processes, and end those first when they are interrupted.
const STARTING: &[&str] = &[
    "run",
    "done",
    "verify",
    "edit",
    "plan",
    "replan",
    "arbiter",
    "derive",
    "regenerate",
    "tasks",
];

/// Verbs with another tool's command line.
const OF_OTHERS: &[&str] = &["spec-first", "aimi-cli", "clido"];

/// The meaning of shared options for some verbs.
const MEANINGS: &[(&str, &[&str], &str)] = &[
    (
        "plan",
        &["arbiter", "graph", "next", "show", "why"],
        "The plan: a path, the folder of its workspace, its id or title, or part of either; - for standard input. Default: the workspace's only plan",
    ),
    (
        "force",
        &["start", "retry"],
        "Start even if it is not ready; needs --note",
    ),
    ("force", &["reset"], "Reset tasks that are done, too"),
    (
        "no_cascade",
        &["skip"],
        "Skip this task alone, even if the dialect skips its dependents too",
    ),
    (
        "no_cascade",
        &["reset"],
        "Reset this task alone, even if the dialect resets its dependents too",
    ),
];

/// Verbs with options that only some of their relatives use; the others ignore them.
const IDLE: &[(&str, &[&str])] = &[
    ("force", &["done", "fail", "skip", "block"]),
    ("no_cascade", &["start", "done", "fail", "retry", "block"]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// The verbs of daily use.
    Daily,
    /// All verbs, in groups.
    All,
}

/// Returns a command line with these parts in its help.
pub(super) fn explained(command: Command, listed: Listed) -> Command {
    let command = ALIASES.iter().fold(command, |command, (verb, aliases)| {
        command.mut_subcommand(verb, |verb| verb.visible_aliases(*aliases))
    });
    let template = template(&command, listed);
    command
        .help_template(template)
        .after_help(
            "\
Examples:
  planwright check                          every plan below this folder
  planwright show                           the only plan of this workspace
  planwright run --agent claude             have an agent do it
  planwright help run                       more about a verb

Exit status: 0 success; 1 the plan has errors, or nothing was found;
2 wrong usage; 3 the environment failed; 130 and 143 interrupted and terminated.
Documentation: docs/; `planwright check --explain ID` for findings.",
        )
        .mut_subcommands(with_statuses)
        .mut_subcommand("tasks", |tasks| tasks.mut_subcommands(with_statuses))
}

fn template(command: &Command, listed: Listed) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    let line = |name: &str, about: &str| {
        let pad = " ".repeat(13_usize.saturating_sub(name.len()));
        format!("  {literal}{name}{literal:#}{pad}{about}\n")
    };
    let groups = match listed {
        Listed::Daily => &[("Verbs of daily use", DAILY)][..],
        Listed::All => GROUPS,
    };
    for (heading, verbs) in groups {
        text.push_str(&format!("\n{header}{heading}:{header:#}\n"));
        for verb in verbs.iter().filter_map(|verb| command.find_subcommand(verb)) {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&line(verb.get_name(), &about));
        }
    }
    let help = match listed {
        Listed::Daily => line("help --all", "List every verb; `help VERB` has more about one"),
        Listed::All => {
            let aliases = ALIASES
                .iter()
                .map(|(verb, aliases)| format!("{} → {verb}", aliases.join(", ")));
            let aliases = aliases.collect::<Vec<_>>().join("; ");
            format!(
                "{}\nAliases: {aliases}.\nVerbs that take a plan also accept it as -p PLAN.\n",
                line("help", "Print the help of a verb")
            )
        }
    };
    text.push_str(&format!(
        "\n{help}\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    ));
    text
}

/// Adds the meaning of each exit code to the help of a verb, and hides options without effect.
fn with_statuses(verb: Command) -> Command {
    let name = verb.get_name().to_owned();
    if OF_OTHERS.contains(&name.as_str()) {
        let more = format!("Its commands, examples and exit statuses: `planwright {name} --help`.");
        return verb.after_help(more);
    }
    // Negative numbers are accepted here: the code that uses the option refuses them.
    let verb = verb.mut_args(
        |option| match option.get_action().takes_values() && option.get_long().is_some() {
            true => option.allow_negative_numbers(true),
            false => option,
        },
    );
    let meanings = MEANINGS.iter().filter(|(_, verbs, _)| verbs.contains(&name.as_str()));
    let verb = meanings.fold(verb, |verb, (option, _, meaning)| {
        verb.mut_arg(option, |option| option.help(*meaning))
    });
    let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
    let verb = verb.after_help(format!("{examples}\n\n{}", statuses(&name)).trim_start().to_owned());
    IDLE.iter()
        .filter(|(_, verbs)| verbs.contains(&name.as_str()))
        .fold(verb, |verb, (option, _)| {
            verb.mut_arg(option, |option| option.hide(true))
        })
}

fn statuses(verb: &str) -> String {
    let mut parts = vec!["0 success".to_owned()];
    let special = PROBLEMS.iter().find(|(verbs, _)| verbs.contains(&verb));
    match special {
        Some((_, meaning)) => parts.push(format!("1 {meaning}")),
        None if NEVER_REFUSED.contains(&verb) => {}
        None => parts.push(format!("1 {REFUSED}")),
    }
    parts.push("2 wrong usage".to_owned());
    parts.push("3 the environment failed".to_owned());
    if STARTING.contains(&verb) {
        parts.push("130 and 143 interrupted and terminated".to_owned());
    }
    format!("Exit status: {}.", parts.join("; "))
}

/// Returns whether a command line requests the list of every verb.
pub(super) fn wants_all(args: &[OsString]) -> bool {
    matches!(args, [_, help, all] if (help == "help" || help == "--help" || help == "-h") && (all == "--all" || all == "-a"))
}

/// Returns the intended command line if a user requests help about `help`, or about the command line of another tool.
pub(super) fn asked_otherwise(args: &[OsString]) -> Option<Vec<OsString>> {
    let [own, help, about, ..] = args else {
        return None;
    };
    let about = about.to_str().filter(|_| help == "help")?;
    match about {
        "-h" | "--help" | "help" => Some(vec![own.clone(), "--help".into()]),
        about if OF_OTHERS.contains(&about) => Some(vec![own.clone(), about.into(), "--help".into()]),
        _ => None,
    }
}

/// Returns when help and errors about the command line are coloured, by a `--color` that is not parsed yet.
pub(super) fn coloured(args: &[OsString]) -> ColorChoice {
    let typed: Vec<_> = args
        .iter()
        .take_while(|arg| *arg != "--")
        .filter_map(|arg| arg.to_str())
        .collect();
    let after = |option: &str| {
        let place = typed.iter().position(|arg| *arg == option)?;
        typed.get(place + 1).copied()
    };
    let joined = || typed.iter().find_map(|arg| arg.strip_prefix("--color="));
    match joined().or_else(|| after("--color")) {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Command {
        super::super::command(Listed::Daily)
    }

    #[test]
    fn every_verb_is_in_one_group_and_fits_a_line() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        let command = all();
        for verb in command.get_subcommands() {
            let name = verb.get_name();
            assert_eq!(grouped.iter().filter(|other| **other == name).count(), 1, "{name}");
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            assert!((10..=65).contains(&about.chars().count()), "{name}: {about}");
        }
        assert_eq!(grouped.len(), command.get_subcommands().count());
        assert_eq!(DAILY.len(), 12);
    }

    #[test]
    fn names_in_the_tables_are_those_of_verbs() {
        let command = all();
        let tasks = command.find_subcommand("tasks").expect("it is there");
        let special = PROBLEMS.iter().flat_map(|(verbs, _)| verbs.iter());
        let idle = IDLE.iter().flat_map(|(_, verbs)| verbs.iter());
        let meant = MEANINGS.iter().flat_map(|(_, verbs, _)| verbs.iter());
        let others = OF_OTHERS.iter();
        for verb in special
            .chain(NEVER_REFUSED)
            .chain(STARTING)
            .chain(idle)
            .chain(meant)
            .chain(others)
        {
            let found = command.find_subcommand(verb).or_else(|| tasks.find_subcommand(verb));
            assert!(found.is_some(), "{verb}");
        }
    }

    #[test]
    fn every_verb_has_examples_and_statuses_and_every_option_words() {
        let command = all();
        let tasks = command.find_subcommand("tasks").expect("it is there");
        for verb in command.get_subcommands().chain(tasks.get_subcommands()) {
            if OF_OTHERS.contains(&verb.get_name()) {
                continue;
            }
            let after = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.starts_with("Examples:\n  "), "{}: {after}", verb.get_name());
            assert!(after.contains("Exit status: 0"), "{after}");
            // A terminal of 80 columns breaks no line of an example.
            let most = if verb.get_name() == "list" { 84 } else { 78 };
            for line in after.lines().filter(|line| line.starts_with("  ")) {
                assert!(line.chars().count() <= most, "{}: {line}", verb.get_name());
            }
            for option in verb.get_arguments().filter(|option| !option.is_hide_set()) {
                let words = option.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(words.len() > 5, "{} {}: {words}", verb.get_name(), option.get_id());
            }
        }
    }

    #[test]
    fn every_spelling_of_help_works() {
        let of = |words: &[&str]| {
            let meant = asked_otherwise(&words.iter().map(OsString::from).collect::<Vec<_>>());
            meant.map(|words| words.join(" ".as_ref()).to_string_lossy().into_owned())
        };
        assert_eq!(of(&["pw", "help", "--help"]).as_deref(), Some("pw --help"));
        assert_eq!(of(&["pw", "help", "clido"]).as_deref(), Some("pw clido --help"));
        assert_eq!(of(&["pw", "help", "run"]), None);
        assert_eq!(of(&["pw", "run", "--help"]), None);
        assert_eq!(of(&["pw", "help"]), None);
    }

    #[test]
    fn a_colour_is_seen_in_a_command_line_that_is_not_understood() {
        let of = |words: &[&str]| coloured(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of(&["planwright", "--color", "never", "chekc"]), ColorChoice::Never);
        assert_eq!(of(&["planwright", "show", "--color=always"]), ColorChoice::Always);
        assert_eq!(of(&["planwright", "show", "--color"]), ColorChoice::Auto);
        assert_eq!(of(&["planwright", "show", "--", "--color=never"]), ColorChoice::Auto);
    }
}
