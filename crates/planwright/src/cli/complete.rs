//! `planwright __complete WORDS…`: prints the words that fit, for shell completion. Unreadable files complete to nothing.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, Command};
use planwright_core::plan::Plan;
use planwright_run::config::{self, Surroundings};
use planwright_run::workspace::root_of;

use super::output::Output;
use super::plan_arg::{candidates, found, open_file};
use super::run_arg::Scope;
use crate::render::terminal::{cut, one_line};

/// The word that asks for completions.
pub(super) const VERB: &str = "__complete";

/// The word by which scripts know that paths may stand there, too.
const FILES: &str = ":files";

/// How many plans are looked through for tasks where none is named.
const MOST_PLANS: usize = 20;

/// A word that fits, and what it means.
struct Candidate {
    word: String,
    help: String,
}

impl Candidate {
    fn new(word: impl Into<String>, help: impl Into<String>) -> Self {
        Candidate {
            word: word.into(),
            help: help.into(),
        }
    }
}

/// What stands in a place of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    Plan,
    Task,
    Run,
    Agent,
    Verb,
    File,
}

/// Prints the words that fit, one per line, each with its meaning after a tab.
pub(super) fn run(words: &[OsString], command: &Command, output: &mut Output) {
    let mut words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if words.first().is_some_and(|word| word == "--empty") {
        words.remove(0);
        words.push(String::new());
    }
    let current = words.pop().unwrap_or_default();
    let line = Line::read(&words, command);
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

/// A command line up to the word that is completed.
struct Line<'c> {
    /// The verb, or the whole command before there is one.
    verb: &'c Command,
    top: &'c Command,
    /// The option whose value is to come.
    option: Option<&'c Arg>,
    n_positional: usize,
    /// The plan that `-p` names, or an argument.
    plan: Option<String>,
    /// Whether `--` was there.
    is_over: bool,
}

impl<'c> Line<'c> {
    fn read(words: &[String], top: &'c Command) -> Self {
        let mut line = Line {
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
            // bash takes `--plan=x` apart.
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

    /// Returns the argument that comes next; the last one may take several.
    fn positional(&self) -> Option<&'c Arg> {
        let all: Vec<&'c Arg> = self.verb.get_positionals().collect();
        let several = all.last().copied().filter(|last| {
            let most = last.get_num_args().map_or(1, |range| range.max_values());
            most > 1 || matches!(last.get_action(), clap::ArgAction::Append)
        });
        all.get(self.n_positional).copied().or(several)
    }

    fn candidates(&self, current: &str) -> Vec<Candidate> {
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
                .map(|value| Candidate::new(format!("{name}={}", value.word), value.help))
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

    fn options(&self, current: &str) -> Vec<Candidate> {
        let options = self.verb.get_arguments().chain(self.top.get_opts());
        let shown = options.filter(|option| !option.is_hide_set());
        let named = shown.filter_map(|option| {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            Some(Candidate::new(format!("--{}", option.get_long()?), help))
        });
        let help = Candidate::new("--help", "Print help");
        let mut all = fitting(named.chain([help]).collect(), current);
        all.dedup_by(|a, b| a.word == b.word);
        all
    }

    /// Returns what an option or an argument may be.
    fn values(&self, argument: &Arg, current: &str) -> Vec<Candidate> {
        let possible = argument.get_possible_values();
        let possible = possible.iter().filter(|value| !value.is_hide_set());
        let possible: Vec<Candidate> = possible
            .map(|value| {
                let help = value.get_help().map(ToString::to_string).unwrap_or_default();
                Candidate::new(value.get_name(), help)
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
            found.push(Candidate::new(FILES, ""));
        }
        found
    }

    /// Returns the tasks of the plan that is named; those of every plan where none is, and there are several.
    fn tasks(&self) -> Vec<Candidate> {
        let paths = match found(self.plan.as_deref()) {
            Ok(found) => vec![found.path],
            Err(_) if self.plan.is_none() => candidates(Path::new("."), false),
            Err(_) => Vec::new(),
        };
        let opened = paths.iter().take(MOST_PLANS).filter_map(|path| open_file(path).ok());
        let tasks = opened.flat_map(|opened| {
            let plan = opened.inspection.plan.as_ref().map(|linked| &linked.plan);
            plan.map_or_else(Vec::new, tasks_of)
        });
        tasks.collect()
    }

    fn runs(&self) -> Vec<Candidate> {
        let Ok(scope) = Scope::of(self.plan.as_deref()) else {
            return Vec::new();
        };
        let ids = scope.runs().into_iter().flatten().flatten();
        let ids = ids.map(|run| Candidate::new(run.place.id(), run.header.path.clone()));
        let mut runs: Vec<Candidate> = ids.take(100).collect();
        if !runs.is_empty() {
            runs.push(Candidate::new("last", "the newest run"));
        }
        runs
    }
}

fn is_plan(option: &Arg) -> bool {
    objects_of(option) == [Object::Plan]
}

/// Returns what an argument stands for, by the name of its value.
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

fn fitting(found: Vec<Candidate>, current: &str) -> Vec<Candidate> {
    let fits = |candidate: &Candidate| candidate.word == FILES || candidate.word.starts_with(current);
    found.into_iter().filter(fits).collect()
}

fn verbs_of(command: &Command) -> Vec<Candidate> {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = verbs.map(|verb| {
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        Candidate::new(verb.get_name(), about)
    });
    verbs.collect()
}

/// Returns the plans of the workspace by their files without the endings; by their paths where a path is typed.
fn plans(current: &str) -> Vec<Candidate> {
    let paths = candidates(Path::new("."), false);
    let plans = paths.iter().filter_map(|path| {
        let shown = path.to_string_lossy();
        let shown = shown.strip_prefix("./").unwrap_or(&shown);
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        Some(match current.contains('/') {
            true => Candidate::new(shown, ""),
            false => Candidate::new(stem, shown),
        })
    });
    plans.collect()
}

fn tasks_of(plan: &Plan) -> Vec<Candidate> {
    let tasks = plan.tasks().iter().enumerate();
    let tasks = tasks.map(|(ix, task)| Candidate::new(plan.task_name(ix), plan.task_subject(task)));
    tasks.collect()
}

fn agents() -> Vec<Candidate> {
    let config = config::load(&root_of(Path::new(".")), &Surroundings::of_process()).config;
    config.agents.into_keys().map(|name| Candidate::new(name, "")).collect()
}
