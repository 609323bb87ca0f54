//! The command that the user typed with one argument changed, for advice that can be pasted.

use clap::CommandFactory as _;
use planwright_run::shell::argument;

use super::Cli;
use crate::render::terminal::one_line;

/// Returns the command of this process with another word in the place of one that fits several things.
pub(crate) fn with_word(wanted: &str, instead: &str) -> String {
    replaced(typed(), wanted, instead)
}

/// Returns the command of this process with a plan: as an argument where its verb takes the plan as one, else with `-p`.
pub(crate) fn with_plan(plan: &str) -> String {
    let typed = typed();
    let cli = Cli::command();
    let verb = typed.first().and_then(|verb| cli.find_subcommand(verb));
    let is_option = |argument: &clap::Arg| argument.get_short() == Some('p') && !argument.is_hide_set();
    let option = verb.is_some_and(|verb| verb.get_arguments().any(is_option));
    let option = option.then(|| "-p".to_owned());
    words_of(typed.into_iter().chain(option).chain([plan.to_owned()]))
}

/// Returns the command of this process.
pub(crate) fn as_typed() -> String {
    words_of(typed().into_iter())
}

/// Returns the command of this process with an option at its end.
pub(crate) fn with_option(option: &str) -> String {
    words_of(typed().into_iter().chain([option.to_owned()]))
}

/// Returns the command of this process with an option that has this value, in place of another value.
pub(crate) fn with_value(option: &str, value: &str) -> String {
    with_value_of(typed(), option, value)
}

fn with_value_of(typed: Vec<String>, option: &str, value: &str) -> String {
    let mut kept = Vec::new();
    let mut words = typed.into_iter();
    while let Some(word) = words.next() {
        match word.strip_prefix(option) {
            Some("") => drop(words.next()),
            Some(rest) if rest.starts_with('=') => {}
            _ => kept.push(word),
        }
    }
    words_of(kept.into_iter().chain([option.to_owned(), value.to_owned()]))
}

/// Returns what was typed after the name of the program.
fn typed() -> Vec<String> {
    let typed = std::env::args_os().skip(1);
    typed.map(|word| word.to_string_lossy().into_owned()).collect()
}

fn replaced(typed: Vec<String>, wanted: &str, instead: &str) -> String {
    let words = typed.into_iter().map(|word| match word.rsplit_once('=') {
        _ if word == wanted => instead.to_owned(),
        Some((option, value)) if option.starts_with('-') && value == wanted => format!("{option}={instead}"),
        _ => word,
    });
    words_of(words)
}

fn words_of(words: impl Iterator<Item = String>) -> String {
    // An option is one, and nothing else that begins like it can have been typed.
    let words = words.map(|word| match word.starts_with('-') {
        true => one_line(&word),
        false => one_line(&argument(&word)),
    });
    std::iter::once("planwright".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_that_fits_several_things_is_replaced() {
        let typed = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let shown = typed(&["done", "t1", "-p", "plan", "--note", "a plan"]);
        assert_eq!(
            replaced(shown, "plan", "plans/my plan.json"),
            "planwright done t1 -p 'plans/my plan.json' --note 'a plan'"
        );
        for given in [
            &["edit", "t2"][..],
            &["edit", "--from", "a", "t2"],
            &["edit", "t2", "--from=a"],
        ] {
            assert_eq!(
                with_value_of(typed(given), "--from", "my b"),
                "planwright edit t2 --from 'my b'"
            );
        }
        assert_eq!(
            replaced(typed(&["show", "--plan=plan"]), "plan", "a.json"),
            "planwright show --plan=a.json"
        );
    }
}
