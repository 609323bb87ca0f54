//! `-p PLAN` for the verbs that take plans only as arguments: converts the option to the argument.

use std::ffi::{OsStr, OsString};

/// The verbs whose arguments are plans, and that have no option for them.
const VERBS: &[&str] = &[
    "archive", "check", "convert", "delete", "diff", "hash", "lint", "migrate", "pause", "resume", "runs", "stop",
    "validate",
];

/// Converts `-p PLAN`, `--plan PLAN` or `--plan=PLAN` to an argument, if the verb takes plans as arguments.
pub(super) fn as_argument(args: Vec<OsString>) -> Vec<OsString> {
    let is_verb = |word: &&OsString| !word.to_string_lossy().starts_with('-');
    let place = args.iter().skip(1).position(|word| is_verb(&word));
    let Some(place) = place.map(|place| place + 1) else {
        return args;
    };
    // `--color never` may be before a verb, too.
    let place = match args.get(place - 1).is_some_and(|word| word == "--color") {
        true => place + 1,
        false => place,
    };
    let verb = args.get(place).and_then(|word| word.to_str());
    if !verb.is_some_and(|verb| VERBS.contains(&verb)) {
        return args;
    }
    let mut kept: Vec<OsString> = args[..=place].to_vec();
    let mut plans: Vec<OsString> = Vec::new();
    let mut rest = args[place + 1..].iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            kept.push(word.clone());
            kept.extend(rest.by_ref().cloned());
        } else if word == "-p" || word == "--plan" {
            match rest.next() {
                Some(plan) => plans.push(plan.clone()),
                None => kept.push(word.clone()),
            }
        } else if let Some(plan) = joined(word) {
            plans.push(plan);
        } else {
            kept.push(word.clone());
        }
    }
    // A plan that is named twice is one plan.
    plans.retain(|plan| !kept[place + 1..].contains(plan));
    kept.splice(place + 1..place + 1, plans);
    kept
}

/// Returns the plan in `--plan=PLAN`.
fn joined(word: &OsStr) -> Option<OsString> {
    word.to_str()?.strip_prefix("--plan=").map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, meant: &str) {
        let words = typed.split(' ').map(OsString::from).collect();
        let found: Vec<String> = as_argument(words)
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        assert_eq!(found.join(" "), meant);
    }

    #[test]
    fn the_option_becomes_the_argument() {
        check("pw runs -p a.json --json", "pw runs a.json --json");
        check(
            "pw --color never stop --now --plan=a.json",
            "pw --color never stop a.json --now",
        );
        check("pw check --plan a.json -p b.json", "pw check a.json b.json");
        check("pw runs a.json -p a.json", "pw runs a.json");
        check("pw runs a.json -p b.json", "pw runs b.json a.json");
        check("pw hash -- -p", "pw hash -- -p");
        check("pw runs -p", "pw runs -p");
        check("pw show -p a.json", "pw show -p a.json");
        check("pw -q", "pw -q");
    }
}
