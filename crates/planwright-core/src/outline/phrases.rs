//! Recognises what a heading or a sentence announces: the plan, a phase, a correction, or something else.

use super::names::plain;
use super::words::{after_any, has_any, starts_with_any};

/// Returns whether a line in bold, or one such as "Phase 2: API", is a heading.
pub(super) fn is_bold_heading(text: &str) -> bool {
    let text = text.trim_end();
    let is_bold = text
        .strip_prefix("**")
        .and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    let is_whole = is_bold.is_some_and(|inner| !inner.contains("**") && !is_step_line(inner));
    is_whole || is_phase(text) && text.len() < 80 && !text.ends_with('.')
}

/// The words for a step before its number, in the languages that models answer in. Those of scripts without spaces stand right before
/// it.
#[rustfmt::skip]
pub(super) const STEP_NOUNS: &[&str] = &[
    "Step ", "Task ", "Étape ", "Etape ", "Tâche ", "Paso ", "Tarea ", "Schritt ", "Aufgabe ", "Passo ", "Etapa ",
    "Tarefa ", "Compito ", "Шаг ", "Задача ", "ステップ", "タスク", "手順", "步骤", "任务", "第",
];

/// Returns whether a line is a task by itself: "Step 2: …".
pub(super) fn is_step_line(text: &str) -> bool {
    let rest = after_any(text.trim_start_matches(['*', '_']), STEP_NOUNS).unwrap_or("");
    let number = rest.trim_start_matches(['#', ' ']);
    let after = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let words = after.trim_start_matches(['*', '_', ' ', '步']);
    after.len() < number.len() && words.starts_with([':', '：', '.', '、', ')', '-', '–', '—'])
}

/// Returns whether a line in bold begins with the number of a task: "**1. Create it**", "**2.** Test it", "**A.** Choose".
pub(super) fn is_numbered_bold(text: &str) -> bool {
    let Some((bold, _)) = text.strip_prefix("**").and_then(|rest| rest.split_once("**")) else {
        return false;
    };
    let n_digits = bold.bytes().take_while(u8::is_ascii_digit).count();
    let n_number = match n_digits {
        0 => usize::from(bold.starts_with(|c: char| c.is_ascii_uppercase())),
        n_digits => n_digits,
    };
    let after = bold.get(n_number..).and_then(|rest| rest.strip_prefix(['.', ')', ':']));
    (1..=3).contains(&n_number) && after.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Returns whether a title names a phase: "Phase 1: …", "Milestone 2".
pub(super) fn is_phase(title: &str) -> bool {
    let title = title.trim_start_matches(['*', '_', '#', ' ']).to_lowercase();
    #[rustfmt::skip]
    let nouns = [
        "phase", "stage", "milestone", "sprint", "wave", "iteration", "week", "day", "part", "epic",
    ];
    after_any(&title, &nouns)
        .filter(|rest| rest.starts_with([' ', '-']))
        .is_some_and(|rest| {
            let rest = rest.trim_start_matches([' ', '-', '#']);
            let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
            word.starts_with(|c: char| c.is_ascii_digit() || "abciv".contains(c)) && word.len() <= 3
        })
}

/// Returns whether a line stands for omitted tasks: "...", "(etc.)", "[remaining steps omitted for brevity]".
pub(super) fn is_left_out(line: &str) -> bool {
    let lower = line.trim().to_lowercase();
    let bare = lower.trim_matches([
        '(', ')', '[', ']', '*', '_', '.', '…', ' ', ',', '-', '<', '>', '!', '/', '#',
    ]);
    let has_dots = lower.contains("...") || lower.contains('…');
    if bare.is_empty() {
        return has_dots;
    }
    let is_bracketed = lower.starts_with(['(', '[', '<']) && lower.ends_with([')', ']', '>']);
    let starts = lower.trim_start_matches(['(', '[', '*', '_', ' ']);
    let starts_with_dots = starts.starts_with("...") || starts.starts_with('…');
    #[rustfmt::skip]
    let whole = [
        "etc", "and so on", "and so forth", "truncated", "continued", "usw", "and more",
    ];
    #[rustfmt::skip]
    let words = [
        "omitted for brevity", "remaining steps", "remaining tasks", "rest of the tasks", "rest of the steps",
        "more tasks", "more steps", "steps omitted", "tasks omitted", "and so on",
    ];
    whole.contains(&bare)
        || bare.len() < 100 && (is_bracketed || starts_with_dots) && has_any(bare, &words)
        || starts_with_dots && lower.starts_with("... ")
        || lower.starts_with("(more ")
}

/// Returns a text in lower case, from its first letter on.
fn from_first_letter(text: &str) -> String {
    let lower = plain(text).to_lowercase();
    lower.trim_start_matches(|c: char| !c.is_alphabetic()).to_owned()
}

/// Returns whether the words of a text begin with one of several starts.
fn begins_with(text: &str, starts: &[&str]) -> bool {
    starts_with_any(&from_first_letter(text), starts)
}

/// Returns whether a text has one of several words or phrases.
fn says(text: &str, words: &[&str]) -> bool {
    has_any(&text.to_lowercase(), words)
}

/// Returns whether a heading announces something else than work.
pub(super) fn is_other_heading(title: &str) -> bool {
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        "note", "risk", "question", "open question", "assumption", "out of scope", "non-goal", "legend", "context",
        "background", "overview", "summary", "acceptance", "success", "reference", "constraint", "finding",
        "observation", "current state", "why", "rationale", "decision", "trade", "alternatives considered",
        "dependenc", "estimate", "timeline", "requirement", "prerequisite", "goals", "benefit", "caveat",
        "what i found", "key ", "definition of done", "files", "architecture", "analysis", "approach", "design",
        "limitation", "critical path", "verification criteria", "format", "changelog", "release notes",
        "what changed", "what's changed", "what i changed", "what was done", "changes made", "meeting notes",
        "minutes", "execution order", "parallel example",
    ];
    is_version(title) || begins_with(title, STARTS)
}

/// Returns whether a heading of a changelog names a release: "[1.2.0] - 2025-03-02".
pub(super) fn is_version(title: &str) -> bool {
    let bare = title.trim_start_matches(['[', 'v', ' ']);
    let number: String = bare.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let is_marked = title.starts_with(['[', 'v']) || title.contains("20");
    is_marked && number.split('.').filter(|part| !part.is_empty()).count() == 3 || title.starts_with("[Unreleased]")
}

/// Returns whether a sentence says that no task depends on another: "All steps are independent."
pub(super) fn says_independent(text: &str) -> bool {
    #[rustfmt::skip]
    const SUBJECTS: &[&str] = &[
        "all", "of", "the", "these", "them", "steps", "tasks", "items", "they", "three", "four", "five", "six", "seven",
        "eight", "nine", "ten", "every", "each", "task", "step", "item", "none", "and",
    ];
    #[rustfmt::skip]
    const VERBS: &[&str] = &[
        "are", "is", "can", "could", "may", "have", "depend", "depends", "do", "don't",
    ];
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "independent", "in any order", "in parallel", "no dependencies", "none of them depend", "none of these depend",
        "none of the tasks depend", "none of the steps depend", "depend on each other", "depend on one another",
    ];
    #[rustfmt::skip]
    const OF_SOME: &[&str] = &[
        "except", "other than", "apart from", "but ", "after", "before", "once", "some", "most", "not independent",
        "are not", "aren't", "unless", "until", "within", "where",
    ];
    let lower = plain(text).to_lowercase().replace('’', "'");
    let words = lower
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty());
    let subject: Vec<&str> = words.take_while(|word| !VERBS.contains(word)).collect();
    let is_all = !subject.is_empty() && subject.iter().all(|word| SUBJECTS.contains(word));
    let is_none = subject.first() == Some(&"none") || lower.contains(" not ") || lower.contains("don't");
    let depends = lower.contains("depend on") || lower.contains("depends on");
    let bare = lower.strip_prefix("there are ").unwrap_or(&lower);
    let is_whole = starts_with_any(bare, &["no dependencies between the", "in no particular order"]);
    let is_said = is_all && has_any(&lower, WORDS) && (!depends || is_none);
    let is_limited = has_any(&lower, OF_SOME) || lower.contains(|c: char| c.is_ascii_digit());
    lower.len() < 200 && (is_said && !is_limited || is_whole)
}

/// Returns whether an answer declines the request in its first sentence.
pub(super) fn is_refusal(line: &str) -> bool {
    #[rustfmt::skip]
    const APOLOGIES: &[&str] = &[
        "i'm sorry", "i am sorry", "sorry", "i apologize", "i apologise", "unfortunately",
    ];
    #[rustfmt::skip]
    const SUBJECTS: &[&str] = &[
        "i can't ", "i cannot ", "i'm unable to ", "i am unable to ", "i'm not able to ", "i won't ",
    ];
    const VERBS: &[&str] = &["help", "assist", "do ", "plan", "provide", "create", "comply"];
    let lower = plain(line).to_lowercase().replace('’', "'");
    // "I can't do it all at once, but here is a plan".
    if has_any(&lower, &["here's", "here is", "here are", "however", "based on"]) {
        return false;
    }
    let rest = after_any(&lower, APOLOGIES).unwrap_or(&lower);
    let rest = rest.trim_start_matches([',', ' ', '.', '—', '-']);
    let rest = rest.strip_prefix("but ").unwrap_or(rest);
    after_any(rest, SUBJECTS).is_some_and(|verb| starts_with_any(verb, VERBS))
}

/// Returns whether a sentence after a plan changes one of its tasks: "Actually, replace step 3 …".
pub(super) fn changes_task(line: &str) -> bool {
    let lower = plain(line).to_lowercase();
    #[rustfmt::skip]
    let leads = [
        "actually", "wait", "on second thought", "correction", "edit:", "update:", "hmm", "scratch", "sorry", "oops",
        "on reflection", "one change", "instead",
    ];
    let verbs = [
        "replace ", "drop ", "remove ", "delete ", "skip ", "swap ", "merge ", "ignore ", "change ",
    ];
    let nouns = ["step ", "steps ", "task ", "tasks ", "item ", "items ", "#"];
    let names_task = |after: &str| {
        let rest = after.strip_prefix("the ").unwrap_or(after);
        after_any(rest, &nouns).is_some_and(|id| id.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_changed = |verb: &&str| {
        let mut ends = lower.match_indices(*verb).take(8).map(|(at, _)| at + verb.len());
        ends.any(|end| lower.get(end..).is_some_and(names_task))
    };
    starts_with_any(&lower, &leads) && verbs.iter().any(is_changed)
}

pub(super) fn names_plan(text: &str) -> bool {
    says(
        text,
        &["plan", "tasks", "steps", "breakdown", "to-do", "you asked", "requested"],
    )
}

/// Returns whether a heading announces what can follow the plan, or advice on it.
pub(super) fn is_afterthought(title: &str) -> bool {
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        "future", "later", "stretch", "nice to have", "nice-to-have", "idea", "possible", "improvement", "enhancement",
        "recommend", "tip", "best practice", "command", "usage", "what", "how", "tech", "tool", "next", "not ", "won't",
        "implementation strategy", "strategy", "incremental", "delivery", "mvp", "parallel", "to run", "run ", "to use",
        "optional", "suggest", "consider", "let me know", "before you", "remember", "advice", "important", "warning",
    ];
    begins_with(title, STARTS)
}

/// Returns whether a heading announces how the work is checked or reverted.
pub(super) fn is_check(title: &str) -> bool {
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        "test", "verif", "validat", "rollback", "roll back", "rolling back", "monitor", "metric", "check", "qa",
    ];
    begins_with(title, STARTS)
}

/// Returns whether a text begins with a verb that tells what to do: "Add the form".
pub(super) fn begins_with_verb(text: &str) -> bool {
    #[rustfmt::skip]
    const VERBS: &[&str] = &[
        "add", "adjust", "announce", "apply", "archive", "audit", "automate", "backfill", "benchmark", "build", "bump",
        "cache", "call", "change", "choose", "clean", "collect", "compare", "configure", "connect", "convert", "copy",
        "cover", "create", "cut", "decide", "define", "delete", "deploy", "describe", "design", "determine", "develop",
        "disable", "document", "draft", "draw", "drop", "enable", "ensure", "establish", "evaluate", "expand",
        "export", "expose", "extend", "extract", "find", "finish", "fix", "generate", "handle", "hook", "implement",
        "import", "improve", "index", "initialise", "initialize", "inline", "install", "instrument", "integrate",
        "introduce", "launch", "limit", "link", "list", "load", "log", "make", "map", "measure", "merge", "migrate",
        "mock", "move", "normalise", "normalize", "optimise", "optimize", "order", "organise", "organize", "parse",
        "pick", "plan", "port", "prepare", "print", "profile", "publish", "push", "put", "record", "refactor",
        "register", "release", "remove", "rename", "render", "replace", "research", "return", "review", "revise",
        "rewrite", "roll", "run", "save", "scaffold", "schedule", "secure", "select", "send", "set", "setup", "ship",
        "show", "sketch", "sort", "split", "start", "stop", "store", "style", "support", "switch", "sync", "tag",
        "test", "tidy", "track", "train", "translate", "tune", "update", "upgrade", "upload", "use", "validate",
        "verify", "wire", "wrap", "write",
    ];
    let lower = plain(text).to_lowercase();
    let word = lower.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    VERBS.binary_search(&word).is_ok()
}

pub(super) fn is_plan_heading(title: &str) -> bool {
    let lower = plain(title).to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    #[rustfmt::skip]
    let is_plan = [
        "plan", "tasks", "steps", "todo", "todos", "checklist", "backlog", "roadmap", "breakdown",
    ];
    words.iter().any(|word| is_plan.contains(word)) && !is_other_heading(title)
}

/// Returns whether a sentence announces the plan.
pub(super) fn is_plan_sentence(text: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "plan", "tasks", "steps", "todo", "to-do", "breakdown", "broken down", "split the work",
    ];
    let is_announced = text.trim_end().trim_end_matches(['*', '_']).ends_with(':');
    is_announced && says(text, WORDS) && !is_other_intro(text) && !is_asking(text)
}

pub(super) fn is_other_intro(text: &str) -> bool {
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        "note", "risk", "assum", "out of scope", "legend", "files", "i looked", "i checked", "i found",
        "i considered", "i read", "caveat", "dependenc", "execution order", "critical path", "meeting notes",
        "minutes of", "all done",
    ];
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "not in scope", "out of scope", "i considered", "things i noticed", "i assumed", "acceptance criteria",
        "definition of done", "non-goals", "what i changed", "what i did", "what changed", "changes i made",
        "changes made", "made the following changes", "can't help with", "cannot help with", "can’t help with",
        "can't assist", "unable to help",
    ];
    begins_with(text, STARTS) || says(text, WORDS)
}

pub(super) fn is_asking(text: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "need to know", "questions", "clarif", "could you tell", "please answer", "let me know which",
        "need more information", "need some more information", "need a bit more information",
        "more information before", "more details before", "please provide", "please send",
    ];
    says(text, WORDS)
}

/// Returns whether a title names one of several plans.
pub(super) fn is_option(text: &str) -> bool {
    #[rustfmt::skip]
    const NUMBERED: &[&str] = &[
        "option ", "alternative ", "variant ", "approach ", "plan ", "draft ", "version ", "attempt ",
    ];
    let bare = from_first_letter(text);
    let rest = after_any(&bare, NUMBERED).unwrap_or("");
    let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    word.len() == 1
        || ["one", "two", "three"].contains(&word)
        || starts_with_any(&bare, &["alternatively", "or, ", "or:", "either "])
}

/// Returns whether a sentence announces a corrected version.
pub(super) fn is_revision(text: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "corrected", "revised", "updated plan", "updated version", "updated list", "here is the update",
        "here's the update", "final plan", "final version", "ignore the", "instead of the", "better version",
        "improved", "new version", "fixed version", "second attempt", "please use this", "use this one", "wait,",
        "actually,", "scratch that", "replaces the", "supersedes", "refined", "v2", "disregard", "this is better",
        "final answer", "after review", "use this", "(better", "(final", "(revised",
    ];
    says(text, WORDS)
}

/// Returns whether a sentence announces an outdated plan.
pub(super) fn is_outdated(text: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "old plan", "old version", "previous plan", "previous version", "earlier plan", "earlier version",
        "original plan", "no longer", "rejected", "discarded", "outdated", "obsolete", "deprecated", "superseded",
        "do not use", "don't use", "not recommended", "ignore this", "for comparison",
    ];
    says(text, WORDS) && !is_revision(text)
}

/// Returns whether a sentence announces an example and not the plan itself.
pub(super) fn is_example(text: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "example", "sample", "the shape", "this shape", "format", "schema", "currently", "current flow",
        "current architecture", "current state", "data flow", "existing", "for instance", "e.g.", "template",
        "look like this", "looks like this", "end up with", "ci file", "payload", "response body", "fixture", "input file", "config",
    ];
    says(text, WORDS)
}

/// Returns whether a label announces acceptance criteria.
pub(super) fn is_criteria_label(text: &str) -> bool {
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        "acceptance", "definition of done", "done when", "success criteria", "exit criteria", "criteria",
        "verification", "verify", "how to verify", "test plan", "acceptance checklist",
    ];
    let bare = plain(text).to_lowercase();
    ["checklist", "checks", "dod"].contains(&bare.as_str()) || begins_with(text, STARTS)
}

/// Returns whether a line announces the text below it: "**Acceptance criteria:**".
pub(super) fn is_label(text: &str) -> bool {
    text.trim_end().trim_end_matches('*').ends_with(':')
}

/// Returns whether an item is a field of the task above it: "Depends on: 1", "Files: …".
pub(super) fn is_field(text: &str) -> bool {
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        "estimate", "effort", "status", "priority", "owner", "assignee", "complexity", "deliverable", "verif", "goal",
        "description", "what", "why", "how", "time", "duration", "scope", "size",
    ];
    let has_colon = plain(text).find(':').is_some_and(|at| at <= 30) || is_label(text);
    is_dependency_field(text)
        || has_colon && (is_label_of_details(text) || is_criteria_label(text) || begins_with(text, STARTS))
}

/// Returns whether an item lists dependencies of the task above it.
pub(super) fn is_dependency_field(text: &str) -> bool {
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        "depends on", "dependencies", "dependency", "blocked by", "deps:", "prerequisite", "dépend", "abhängig",
        "depende", "dipende", "зависит", "зависимост", "依存", "依赖",
    ];
    begins_with(text, STARTS)
}

/// Returns whether the text below a label describes the task above it.
pub(super) fn is_label_of_details(title: &str) -> bool {
    const STARTS: &[&str] = &[
        "note", "detail", "file", "accept", "criteria", "depend", "risk", "output", "input", "test",
    ];
    begins_with(title, STARTS)
}
