//! The words that name dependencies in sentences, in the languages of models' answers.

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Strength {
    /// Names dependencies in any case.
    Strong,
    /// Names them if a colon or names of tasks follow.
    Label,
    /// Is an ordinary word as well.
    Weak,
}

/// Words of one kind before a dependency.
pub(super) struct Markers {
    pub(super) strength: Strength,
    /// Whether the named task depends on the sentence's task.
    pub(super) is_reverse: bool,
    pub(super) words: &'static [&'static str],
}

/// The words before a dependency in English, German, French, Spanish, Portuguese, Italian and Russian. A prefix of another comes after it.
pub(super) const MARKERS: &[Markers] = &[
    Markers {
        strength: Strength::Strong,
        is_reverse: true,
        words: STRONG_REVERSE,
    },
    Markers {
        strength: Strength::Strong,
        is_reverse: false,
        words: STRONG,
    },
    Markers {
        strength: Strength::Label,
        is_reverse: false,
        words: LABEL,
    },
    Markers {
        strength: Strength::Weak,
        is_reverse: true,
        words: WEAK_REVERSE,
    },
    Markers {
        strength: Strength::Weak,
        is_reverse: false,
        words: WEAK,
    },
];

const STRONG_REVERSE: &[&str] = &["must come before", "must be done before", "must run before"];

#[rustfmt::skip]
const STRONG: &[&str] = &[
    "dependent on", "depending on", "depends on", "depends upon", "blocked by", "blocked on", "depend on",
    "waits for", "waits on", "wait for", "hängt ab von", "haengt ab von", "hängt von", "abhängig von",
    "blockiert durch", "blockiert von", "dépend de", "dépend des", "dépend du", "depend de", "bloqué par",
    "depende de", "depende del", "depende da", "depende das", "depende do", "depende dos", "dependen de",
    "dependem de", "bloqueado por", "bloqueada por", "dipende da", "dipende dal", "dipende dalla", "dipende dai",
    "зависит от", "зависят от",
];

#[rustfmt::skip]
const LABEL: &[&str] = &[
    "dependencies", "predecessors", "prerequisites", "prerequisite", "predecessor", "dependency", "prereqs",
    "depends", "prereq", "deps", "dep", "dépendances", "dépendance", "prérequis", "abhängigkeiten", "abhängigkeit",
    "voraussetzungen", "voraussetzung", "dependencias", "dependencia", "dependências", "dependência", "dipendenze",
    "dipendenza", "зависимости",
];

const WEAK_REVERSE: &[&str] = &["comes before", "unblocks", "blocks", "before"];

#[rustfmt::skip]
const WEAK: &[&str] = &[
    "as soon as", "builds on", "following", "requires", "until", "after", "needs", "once", "setzt voraus", "benötigt",
    "erfordert", "braucht", "nach", "nécessite", "requiert", "après", "después de", "despues de", "depois de",
    "requiere", "necesita", "tras", "dopo", "após", "requer", "precisa de", "richiede", "после",
];

/// Words before a dependency in Chinese and Japanese, which have no spaces around them.
pub(super) const MARKERS_WITHOUT_SPACES: &[&str] = &[
    "依存タスク",
    "依存関係",
    "依存",
    "依赖于",
    "依赖",
    "取决于",
    "前置任务",
    "前提",
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
