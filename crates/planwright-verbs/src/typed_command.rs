//! The command that the user typed, with one changed argument, for help texts that can be pasted.

use planwright_run::shell::argument;

use crate::text::one_line;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedCommand {
    /// The words after the name of the program.
    pub words: Vec<String>,
    /// Whether its verb takes the plan with `-p`, not as an argument.
    pub takes_plan_as_option: bool,
}

impl TypedCommand {
    /// Returns the command with an ambiguous argument replaced.
    pub(crate) fn with_word(&self, wanted: &str, instead: &str) -> String {
        let words = self.words.iter().map(|word| match word.rsplit_once('=') {
            _ if word == wanted => instead.to_owned(),
            Some((option, value)) if option.starts_with('-') && value == wanted => format!("{option}={instead}"),
            _ => word.clone(),
        });
        command_line(words)
    }

    /// Returns the command with several arguments in place of the plan's name; removes a `-p` before it.
    pub fn with_words(&self, wanted: &str, instead: &[&str]) -> String {
        let mut words: Vec<String> = Vec::new();
        for word in &self.words {
            if word != wanted {
                words.push(word.clone());
                continue;
            }
            words.pop_if(|before| matches!(before.as_str(), "-p" | "--plan"));
            words.extend(instead.iter().map(|&word| word.to_owned()));
        }
        command_line(words.into_iter())
    }

    pub fn is_verb(&self, verb: &str) -> bool {
        let first = self.words.iter().find(|word| !word.starts_with('-'));
        first.is_some_and(|word| word == verb)
    }

    /// Returns the command with a plan: as an argument if its verb takes one, otherwise with `-p`.
    pub fn with_plan(&self, plan: &str) -> String {
        let option = self.takes_plan_as_option.then(|| "-p".to_owned());
        command_line(self.words.iter().cloned().chain(option).chain([plan.to_owned()]))
    }

    pub(crate) fn as_typed(&self) -> String {
        command_line(self.words.iter().cloned())
    }

    pub(crate) fn with_option(&self, option: &str) -> String {
        command_line(self.words.iter().cloned().chain([option.to_owned()]))
    }

    /// Returns the command with another value of an option.
    pub fn with_value(&self, option: &str, value: &str) -> String {
        let mut kept = Vec::new();
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix(option) {
                Some("") => drop(words.next()),
                Some(rest) if rest.starts_with('=') => {}
                _ => kept.push(word.clone()),
            }
        }
        command_line(kept.into_iter().chain([option.to_owned(), value.to_owned()]))
    }
}

fn command_line(words: impl Iterator<Item = String>) -> String {
    // A word that begins with a dash is an option, which needs no quotes.
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

    fn typed(words: &[&str]) -> TypedCommand {
        TypedCommand {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            takes_plan_as_option: true,
        }
    }

    #[test]
    fn the_ambiguous_argument_is_replaced() {
        let command = typed(&["done", "t1", "-p", "plan", "--note", "a plan"]);
        assert_eq!(
            command.with_word("plan", "plans/my plan.json"),
            "planwright done t1 -p 'plans/my plan.json' --note 'a plan'"
        );
        let command = typed(&["show", "--plan=plan"]);
        assert_eq!(command.with_word("plan", "a.json"), "planwright show --plan=a.json");
    }

    #[test]
    fn a_plan_is_replaced_by_an_option() {
        for given in [&["run", "t 1", "-j", "2"][..], &["run", "-p", "t 1", "-j", "2"]] {
            assert!(typed(given).is_verb("run"));
            assert_eq!(
                typed(given).with_words("t 1", &["--only", "t 1"]),
                "planwright run --only 't 1' -j 2"
            );
        }
    }

    #[test]
    fn the_value_of_an_option_is_replaced() {
        for given in [
            &["edit", "t2"][..],
            &["edit", "--from", "a", "t2"],
            &["edit", "t2", "--from=a"],
        ] {
            assert_eq!(
                typed(given).with_value("--from", "my b"),
                "planwright edit t2 --from 'my b'"
            );
        }
    }
}
