//! `planwright __complete WORDS…`: prints the matching words, for shell completion. Unreadable files complete to nothing.

use std::ffi::OsString;

use clap::{Arg, Command};
use planwright_verbs::text::{cut, one_line};
use planwright_verbs::{Workspace, names};

use super::output::Output;

/// The hidden command for completions.
pub(super) const VERB: &str = "__complete";

/// The line that tells a completion script to add paths.
const FILES: &str = ":files";

/// A matching word, and its meaning.
struct Completion {
    word: String,
    help: String,
}

impl Completion {
    fn new(word: impl Into<String>, help: impl Into<String>) -> Self {
        Completion {
            word: word.into(),
            help: help.into(),
        }
    }
}

/// The kind of object at a position of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    Plan,
    Task,
    Run,
    Agent,
    Verb,
    File,
}

/// Prints the matching words, one per line, each with its meaning after a tab.
pub(super) fn run(words: &[OsString], command: &Command, output: &mut Output) {
    let mut words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if words.first().is_some_and(|word| word == "--empty") {
        words.remove(0);
        words.push(String::new());
    }
    let current = words.pop().unwrap_or_default();
    let line = TypedLine::read(&words, command);
    for candidate in line.candidates(&current) {
        match candidate.help.is_empty() {
            true => output.line(&one_line(&candidate.word)),
            false => output.line(&format!(
                "{}\t{}",
                one_line(&candidate.word),
                cut(&one_line(&candidate.help), 60)
            )),
        }
    }
}

/// A command line up to the word to complete.
struct TypedLine<'c> {
    /// The verb, or the whole command before the verb.
    verb: &'c Command,
    top: &'c Command,
    /// The option whose value is completed.
    option: Option<&'c Arg>,
    n_positional: usize,
    /// The plan from `-p` or an argument.
    plan: Option<String>,
    /// Whether `--` was typed.
    is_over: bool,
}

impl<'c> TypedLine<'c> {
    fn read(words: &[String], top: &'c Command) -> Self {
        let mut line = TypedLine {
            verb: top,
            top,
            option: None,
            n_positional: 0,
            plan: None,
            is_over: false,
        };
        for word in words {
            line.take(word);
        }
        line
    }

    fn take(&mut self, word: &str) {
        if word == "=" && self.option.is_some() {
            // bash splits `--plan=x` into words.
            return;
        }
        if let Some(option) = self.option.take() {
            if option.get_id() == "plan" || option.get_id() == "named" {
                self.plan = Some(word.to_owned());
            }
            return;
        }
        match word {
            _ if self.is_over => self.n_positional += 1,
            "--" => self.is_over = true,
            word if word.starts_with('-') && word != "-" => {
                let (name, value) = word
                    .split_once('=')
                    .map_or((word, None), |(name, value)| (name, Some(value)));
                let option = self
                    .option_named(name)
                    .filter(|option| option.get_action().takes_values());
                match value {
                    Some(value) if option.is_some_and(is_plan) => self.plan = Some(value.to_owned()),
                    Some(_) => {}
                    None => self.option = option,
                }
            }
            word => match self.verb.find_subcommand(word).filter(|_| self.n_positional == 0) {
                Some(verb) => self.verb = verb,
                None => {
                    let objects = self.positional().map(objects_of).unwrap_or_default();
                    if objects == [Object::Plan] && self.plan.is_none() {
                        self.plan = Some(word.to_owned());
                    }
                    self.n_positional += 1;
                }
            },
        }
    }

    fn option_named(&self, name: &str) -> Option<&'c Arg> {
        let options = self.verb.get_opts().chain(self.top.get_opts());
        let mut named = options.filter(|option| {
            let long = option.get_long().map(|long| format!("--{long}"));
            let short = option.get_short().map(|short| format!("-{short}"));
            [long, short].contains(&Some(name.to_owned()))
        });
        named.next()
    }

    /// Returns the next positional argument; the last one may take several.
    fn positional(&self) -> Option<&'c Arg> {
        let all: Vec<&'c Arg> = self.verb.get_positionals().collect();
        let several = all.last().copied().filter(|last| {
            let most = last.get_num_args().map_or(1, |range| range.max_values());
            most > 1 || matches!(last.get_action(), clap::ArgAction::Append)
        });
        all.get(self.n_positional).copied().or(several)
    }

    fn candidates(&self, current: &str) -> Vec<Completion> {
        let current = if current == "=" && self.option.is_some() {
            ""
        } else {
            current
        };
        if let Some(option) = self.option {
            return self.values(option, current);
        }
        if let Some((name, value)) = current.split_once('=').filter(|(name, _)| name.starts_with("--")) {
            let option = self.option_named(name).filter(|_| !self.is_over);
            let values = option.map_or_else(Vec::new, |option| self.values(option, value));
            let joined = values.into_iter().filter(|value| value.word != FILES);
            return joined
                .map(|value| Completion::new(format!("{name}={}", value.word), value.help))
                .collect();
        }
        if current.starts_with('-') && !self.is_over {
            return self.options(current);
        }
        let mut found = Vec::new();
        if self.verb.has_subcommands() && self.n_positional == 0 {
            found.extend(verbs_of(self.verb));
        }
        if let Some(argument) = self.positional() {
            found.extend(self.values(argument, current));
        }
        fitting(found, current)
    }

    fn options(&self, current: &str) -> Vec<Completion> {
        let options = self.verb.get_arguments().chain(self.top.get_opts());
        let shown = options.filter(|option| !option.is_hide_set());
        let named = shown.filter_map(|option| {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            Some(Completion::new(format!("--{}", option.get_long()?), help))
        });
        let help = Completion::new("--help", "Print help");
        let mut all = fitting(named.chain([help]).collect(), current);
        all.dedup_by(|a, b| a.word == b.word);
        all
    }

    /// Returns the possible values of an option or an argument.
    fn values(&self, argument: &Arg, current: &str) -> Vec<Completion> {
        let possible = argument.get_possible_values();
        let possible = possible.iter().filter(|value| !value.is_hide_set());
        let possible: Vec<Completion> = possible
            .map(|value| {
                let help = value.get_help().map(ToString::to_string).unwrap_or_default();
                Completion::new(value.get_name(), help)
            })
            .collect();
        if !possible.is_empty() {
            return fitting(possible, current);
        }
        let objects = objects_of(argument);
        let found = objects.iter().flat_map(|object| match object {
            Object::Plan => plans(current),
            Object::Task => self.tasks(),
            Object::Run => self.runs(),
            Object::Agent => agents(),
            Object::Verb => verbs_of(self.top),
            Object::File => Vec::new(),
        });
        let mut found = fitting(found.collect(), current);
        if objects
            .iter()
            .any(|object| matches!(object, Object::Plan | Object::File))
        {
            found.push(Completion::new(FILES, ""));
        }
        found
    }

    fn tasks(&self) -> Vec<Completion> {
        let tasks = names::tasks(&Workspace::around(""), self.plan.as_deref()).into_iter();
        tasks.map(|task| Completion::new(task.name, task.about)).collect()
    }

    fn runs(&self) -> Vec<Completion> {
        let runs = names::runs(&Workspace::around(""), self.plan.as_deref()).into_iter();
        let mut runs: Vec<Completion> = runs.map(|run| Completion::new(run.name, run.about)).collect();
        if !runs.is_empty() {
            runs.push(Completion::new("last", "the newest run"));
        }
        runs
    }
}

fn is_plan(option: &Arg) -> bool {
    objects_of(option) == [Object::Plan]
}

/// Returns the kinds of objects of an argument, by the name of its value.
fn objects_of(argument: &Arg) -> Vec<Object> {
    let names = argument.get_value_names().unwrap_or_default();
    let names = names.iter().flat_map(|name| name.split('|'));
    let is_agent = matches!(argument.get_id().as_str(), "agent" | "agents");
    let objects = names.filter_map(|name| match name {
        _ if is_agent => Some(Object::Agent),
        "PLAN" | "A" | "B" | "PACK" => Some(Object::Plan),
        "TASK" | "TASKS" => Some(Object::Task),
        "RUN" => Some(Object::Run),
        "AGENT" => Some(Object::Agent),
        "VERB" => Some(Object::Verb),
        "FILE" | "PATH" | "PATHS" | "FOLDER" => Some(Object::File),
        _ => None,
    });
    objects.collect()
}

fn fitting(found: Vec<Completion>, current: &str) -> Vec<Completion> {
    let fits = |candidate: &Completion| candidate.word == FILES || candidate.word.starts_with(current);
    found.into_iter().filter(fits).collect()
}

fn verbs_of(command: &Command) -> Vec<Completion> {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = verbs.map(|verb| {
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        Completion::new(verb.get_name(), about)
    });
    verbs.collect()
}

/// Returns the plans of the workspace by file names without extensions; by paths if a path is typed.
fn plans(current: &str) -> Vec<Completion> {
    let paths = names::plan_files(&Workspace::around(""));
    let plans = paths.iter().filter_map(|path| {
        let shown = path.to_string_lossy();
        let shown = shown.strip_prefix("./").unwrap_or(&shown);
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        Some(match current.contains('/') {
            true => Completion::new(shown, ""),
            false => Completion::new(stem, shown),
        })
    });
    plans.collect()
}

fn agents() -> Vec<Completion> {
    let agents = names::agents(&Workspace::around("")).into_iter();
    agents.map(|name| Completion::new(name, "")).collect()
}
