//! The words that name dependencies in sentences, in the languages of models' answers.

/// How certainly words name a dependency of the task in whose text they stand.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Strength {
    /// Names dependencies in any case.
    Strong,
    /// Names them if a colon or names of tasks follow.
    Label,
    /// Is an ordinary word as well.
    Weak,
}

/// Words of one kind before the name of a task.
pub(super) struct Markers {
    /// Their strength in the text of a task; none where they say nothing there.
    pub(super) in_task: Option<Strength>,
    /// Whether they also stand between two tasks, as in "T2 depends on T1".
    pub(super) is_between: bool,
    /// Whether the task after them depends on the one before them, or on that of the text.
    pub(super) is_reverse: bool,
    pub(super) words: &'static [&'static str],
}

const fn alone(strength: Strength, words: &'static [&'static str]) -> Markers {
    Markers {
        in_task: Some(strength),
        is_between: false,
        is_reverse: false,
        words,
    }
}

const fn between(in_task: Option<Strength>, words: &'static [&'static str]) -> Markers {
    Markers {
        in_task,
        is_between: true,
        is_reverse: false,
        words,
    }
}

const fn reversed(markers: Markers) -> Markers {
    Markers {
        is_reverse: true,
        ..markers
    }
}

/// The words before a dependency in English, German, French, Spanish, Portuguese, Italian and Russian. A prefix of another comes after it.
#[rustfmt::skip]
pub(super) const MARKERS: &[Markers] = &[
    reversed(alone(Strength::Strong, &["must come before", "must be done before", "must run before"])),
    between(Some(Strength::Strong), &[
        "depends on", "depends upon", "blocked by", "depend on", "waits for", "waits on", "wait for",
    ]),
    alone(Strength::Strong, &[
        "dependent on", "depending on", "blocked on", "hängt ab von", "haengt ab von", "hängt von", "abhängig von",
        "blockiert durch", "blockiert von", "dépend de", "dépend des", "dépend du", "depend de", "bloqué par",
        "depende de", "depende del", "depende da", "depende das", "depende do", "depende dos", "dependen de",
        "dependem de", "bloqueado por", "bloqueada por", "dipende da", "dipende dal", "dipende dalla", "dipende dai",
        "зависит от", "зависят от",
    ]),
    alone(Strength::Label, &[
        "dependencies", "predecessors", "prerequisites", "prerequisite", "predecessor", "dependency", "prereqs",
        "depends", "prereq", "deps", "dep", "dépendances", "dépendance", "prérequis", "abhängigkeiten",
        "abhängigkeit", "voraussetzungen", "voraussetzung", "dependencias", "dependencia", "dependências",
        "dependência", "dipendenze", "dipendenza", "зависимости",
    ]),
    reversed(alone(Strength::Weak, &["comes before"])),
    reversed(between(Some(Strength::Weak), &["unblocks", "blocks", "before"])),
    reversed(between(None, &["precedes", "precede", "unlocks", "enables", "block"])),
    between(Some(Strength::Weak), &["builds on", "requires", "until", "after", "needs", "once"]),
    between(None, &[
        "is dependent on", "are dependent on", "relies on", "rely on", "build on", "require", "follows", "follow",
        "need",
    ]),
    alone(Strength::Weak, &[
        "as soon as", "following", "setzt voraus", "benötigt", "erfordert", "braucht", "nach", "nécessite",
        "requiert", "après", "después de", "despues de", "depois de", "requiere", "necesita", "tras", "dopo", "após",
        "requer", "precisa de", "richiede", "после",
    ]),
];

/// Words before a dependency in Chinese and Japanese, which have no spaces around them.
#[rustfmt::skip]
pub(super) const MARKERS_WITHOUT_SPACES: &[&str] = &[
    "依存タスク", "依存関係", "依存", "依赖于", "依赖", "取决于", "前置任务", "前提",
    // "Modal component ← Parser".
    "←",
];

/// Words after a dependency in Chinese and Japanese.
#[rustfmt::skip]
pub(super) const MARKERS_AFTER: &[&str] = &[
    "に依存", "が完了した後", "完了後", "の後", "の完了後", "完成后", "完成之后", "之后", "以后",
];

/// Phrases that name several tasks at once.
#[rustfmt::skip]
pub(super) const PHRASES: &[&str] = &[
    "all of the above", "all the previous", "all the above", "all previous steps", "all previous tasks",
    "all other tasks", "all other steps", "everything above", "everything else", "all previous", "all others",
    "all above", "all tasks", "all steps", "the previous step", "the previous task", "the previous one",
    "previous step", "previous task", "the preceding step", "the preceding task", "the step before", "the task before",
    "the one before", "the above", "all earlier tasks", "all earlier steps", "all earlier ones",
    "all of them", "everything", "all",
];

/// Words that give the number next to them another meaning than a task.
#[rustfmt::skip]
pub(super) const OTHER_WORDS: &[&str] = &[
    "of", "the", "in", "for", "with", "a", "and", "or", "to", "at", "by", "per", "is", "see", "via", "using", "about",
    "approx", "est", "estimate", "estimated", "least", "most", "max", "min", "mins", "minutes", "hour", "hours", "h",
    "hr", "hrs", "day", "days", "week", "weeks", "point", "points", "pt", "pts", "sp", "priority", "prio", "level",
    "tier", "option", "version", "v", "phase", "stage", "sprint", "milestone", "part", "section", "chapter", "page",
    "pages", "line", "lines", "file", "files", "test", "tests", "http", "python", "node", "java", "web", "oauth",
    "api", "rfc", "pr", "issue", "ticket", "x", "times", "retries", "optional", "parallel", "size", "effort",
    "figure", "table", "appendix", "layer", "round", "step", "steps", "task", "tasks", "new", "total", "only", "up",
];

/// Arrows from a task to one that depends on it, if nothing says otherwise.
pub(super) const ARROWS: [&str; 8] = ["-->", "->", "=>", "→", "⇒", "➡", "⟶", "➔"];

/// Words that may be between the names and the verb.
#[rustfmt::skip]
pub(super) const FILLERS: &[&str] = &[
    "must", "should", "be", "is", "are", "has", "have", "to", "done", "finished", "completed", "complete", "come",
    "comes", "can", "cannot", "can't", "not", "only", "start", "starts", "started", "begin", "begins", "run", "runs",
    "finish", "both", "all", "each", "also", "then", "in", "parallel", "concurrently", "simultaneously", "together",
    "directly", "strictly", "and", "may", "will", "does", "do", "wait", "independent", "independently", "of", "other",
    "executed", "happen", "land", "merged", "be-done",
];
