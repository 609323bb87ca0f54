//! Suggests a verb for an unknown word.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use planwright_core::check::nearest_name;

/// Words of other tools, and the corresponding verbs.
const SYNONYMS: &[(&[&str], &[&str])] = &[
    (
        &["view", "cat", "info", "progress", "stat", "display", "print"],
        &["show"],
    ),
    (&["ready", "todo", "pick", "take", "claim"], &["next", "start"]),
    (&["exec", "execute", "go", "apply", "launch", "work"], &["run"]),
    (&["continue", "rerun"], &["run", "resume"]),
    (&["kill", "abort", "halt", "quit", "terminate"], &["stop"]),
    (&["begin"], &["start"]),
    (&["finish", "complete", "close", "finished"], &["done"]),
    (&["create", "make"], &["new", "plan"]),
    (&["generate", "draft"], &["plan"]),
    (&["rm", "drop"], &["remove", "delete"]),
    (&["mv"], &["move", "rename"]),
    (&["open", "vi", "vim"], &["edit"]),
    (&["update", "modify", "change"], &["set", "edit"]),
    (&["merge", "finalize", "integrate"], &["land"]),
    (&["revert", "rollback", "restore", "back"], &["undo"]),
    (&["tail", "output"], &["logs"]),
    (&["watch", "follow", "monitor"], &["events"]),
    (&["search", "grep"], &["find"]),
    (&["plans"], &["list"]),
    (&["task"], &["show", "next"]),
    (&["explain", "reason"], &["why"]),
    (&["tree", "dag", "deps", "dependencies"], &["graph"]),
    (&["test"], &["verify", "check"]),
    (&["accept", "lgtm"], &["approve"]),
    (&["setup", "install", "configure"], &["init", "config"]),
    (&["health", "diagnose"], &["doctor"]),
    (&["settings", "options"], &["config"]),
    (&["models", "providers"], &["agents"]),
    (&["export"], &["convert"]),
    (&["load", "paste"], &["import"]),
    (&["changes", "audit"], &["history"]),
    (&["results", "result"], &["summary", "report"]),
    (&["version"], &["--version"]),
];

/// Returns an error about an unknown verb with the probable verbs, or with none.
pub(super) fn improved(mut error: clap::Error, command: &Command) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    // For an inner verb, as of `tasks`, clap's suggestion stays.
    if error
        .get(ContextKind::Usage)
        .is_some_and(|usage| usage.to_string().contains("planwright tasks"))
    {
        return error;
    }
    let meant = meant(&typed.clone(), command);
    error.remove(ContextKind::SuggestedSubcommand);
    error.remove(ContextKind::Suggested);
    match meant.is_empty() {
        true => {
            let all = "`planwright help --all` lists every verb".into();
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![all]));
        }
        false => {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(meant));
        }
    }
    error
}

/// Returns the verbs that a word probably means.
fn meant(typed: &str, command: &Command) -> Vec<String> {
    let typed = typed.to_lowercase();
    let synonyms = SYNONYMS.iter().find(|(words, _)| words.contains(&typed.as_str()));
    if let Some((_, verbs)) = synonyms {
        return verbs.iter().map(|&verb| verb.to_owned()).collect();
    }
    let names = || {
        command
            .get_subcommands()
            .flat_map(Command::get_name_and_visible_aliases)
    };
    let longer: Vec<&str> = names()
        .filter(|name| typed.len() > 1 && name.starts_with(&typed))
        .collect();
    if (1..=3).contains(&longer.len()) {
        return longer.into_iter().map(str::to_owned).collect();
    }
    nearest_name(&typed, names()).map(str::to_owned).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Listed, command};

    #[test]
    fn words_of_other_tools_and_typos_suggest_verbs() {
        let command = command(Listed::Daily);
        for (typed, verbs) in [
            ("shwo", &["show"][..]),
            ("chekc", &["check"]),
            ("Show", &["show"]),
            ("statsu", &["status"]),
            ("execute", &["run"]),
            ("complete", &["done"]),
            ("summ", &["summary"]),
            ("depe", &["depend"]),
            ("frobnicate", &[]),
            ("x", &[]),
        ] {
            assert_eq!(meant(typed, &command), verbs, "{typed}");
        }
    }

    #[test]
    fn synonyms_are_not_verbs_and_suggest_verbs() {
        let command = command(Listed::Daily);
        for (words, verbs) in SYNONYMS {
            assert!(
                words.iter().all(|word| command.find_subcommand(word).is_none()),
                "{words:?}"
            );
            let is_verb = |verb: &&str| verb.starts_with('-') || command.find_subcommand(verb).is_some();
            assert!(verbs.iter().all(is_verb), "{verbs:?}");
        }
    }
}
