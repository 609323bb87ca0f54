//! The keys and column names that answers use for the fields of tasks, in the form of `value::plain_key`.

use super::names::one_line;
use crate::plan::State;
use crate::text::visible;

#[rustfmt::skip]
pub(super) const IDS: &[&str] = &[
    "id", "taskid", "stepid", "key", "identifier", "uid", "uuid", "ref", "code", "slug", "tasknumber", "stepnumber",
    "number", "num", "no", "nr", "#", "index", "idx", "step", "task", "seq", "sequence", "order", "position",
];

#[rustfmt::skip]
pub(super) const TITLES: &[&str] = &[
    "title", "tasktitle", "steptitle", "name", "taskname", "task", "content", "summary", "subject", "headline",
    "todo", "step", "action", "item", "what", "story", "issue", "description", "taskdescription", "desc", "text",
    "label", "instruction", "instructions", "objective", "goal", "details", "prompt", "activity", "deliverable",
    "work", "titre", "titel", "título", "titulo", "titolo",
];

/// Titles that are rarely used for anything but work.
#[rustfmt::skip]
pub(super) const WORK_TITLES: &[&str] = &[
    "title", "tasktitle", "steptitle", "taskname", "task", "content", "summary", "subject", "headline", "todo",
    "step", "action", "story", "issue", "taskdescription", "instruction", "instructions", "description", "titre",
    "titel", "título", "titulo", "titolo",
];

#[rustfmt::skip]
pub(super) const DESCRIPTIONS: &[&str] = &[
    "description", "taskdescription", "desc", "details", "detail", "body", "text", "instructions", "instruction",
    "explanation", "notes", "note", "rationale", "why", "how", "summary", "prompt",
];

#[rustfmt::skip]
pub(super) const DEPENDENCIES: &[&str] = &[
    "dependson", "deps", "dep", "depends", "dependencies", "dependency", "dependentson", "dependenton", "blockedby",
    "after", "runafter", "needs", "requires", "require", "prerequisites", "prerequisite", "prereqs", "prereq",
    "predecessors", "predecessor", "waitsfor", "waitfor", "waitson", "waitingon", "upstream", "follows", "blockers",
    "dependsontasks", "taskdependencies", "requiredtasks", "prerequisitetasks", "relieson", "buildson", "startafter",
    "startsafter", "runsafter", "comesafter", "mustfollow", "parenttasks", "abhängigvon", "abhängigkeiten",
    "abhängigkeit", "dépendde", "dépendances", "dependede", "dependencias", "dependências", "dipendeda", "dipendenze",
    "зависитот", "зависимости", "依存", "依存関係", "依存タスク", "依赖", "依赖项", "前置任务",
];

#[rustfmt::skip]
pub(super) const BLOCKS: &[&str] = &[
    "blocks", "blocking", "unblocks", "enables", "requiredby", "dependents", "precedes", "successors", "leadsto",
    "before", "neededby", "next", "unlocks", "unlock", "dependedonby", "blockstasks", "enablestasks", "downstream",
];

#[rustfmt::skip]
pub(super) const STATES: &[&str] = &[
    "status", "statut", "estado", "stato", "state", "done", "completed", "complete", "checked", "finished", "passes",
];

#[rustfmt::skip]
pub(super) const GROUPS: &[&str] = &[
    "phase", "group", "milestone", "stage", "epic", "section", "wave", "sprint",
];

#[rustfmt::skip]
pub(super) const PARALLEL: &[&str] = &[
    "parallel", "parallelizable", "canrunparallel", "canparallel", "isparallel", "concurrent",
];

/// The task that another is a part of.
pub(super) const PARENTS: &[&str] = &["parent", "parentid", "parenttask", "parenttaskid"];

pub(super) const OPTIONAL: &[&str] = &["optional", "isoptional"];

#[rustfmt::skip]
pub(super) const FILES: &[&str] = &[
    "files", "file", "affectedfiles", "filestomodify", "filestochange", "filestouched", "paths",
];

#[rustfmt::skip]
pub(super) const CRITERIA: &[&str] = &[
    "acceptancecriteria", "acceptance", "criteria", "donewhen", "definitionofdone", "successcriteria",
];

/// Lists of work.
#[rustfmt::skip]
pub(super) const LISTS: &[&str] = &[
    "tasks", "steps", "todos", "todo", "todolist", "tasklist", "subtasks", "children", "items", "stories",
    "userstories", "issues", "tickets", "actions", "actionitems", "workitems", "activities", "jobs", "substeps",
    "phases", "milestones", "stages", "epics", "sprints", "waves", "plan", "planitems", "implementationplan",
    "implementationsteps", "newplan", "backlog", "checklist", "nodes", "sections", "groups", "features", "workplan",
    "roadmap", "aufgaben", "tâches", "étapes", "tareas", "tarefas",
];

/// Lists whose elements contain work.
#[rustfmt::skip]
pub(super) const GROUP_LISTS: &[&str] = &[
    "phases", "milestones", "stages", "epics", "sprints", "waves", "sections", "groups", "features", "roadmap",
];

/// Lists of one task's own small steps, if they are plain texts.
pub(super) const OWN_STEPS: &[&str] = &["steps", "actions", "checklist", "substeps", "items", "todo", "todos"];

/// Lists that never hold work.
#[rustfmt::skip]
pub(super) const NO_LISTS: &[&str] = &[
    "risks", "questions", "openquestions", "assumptions", "notes", "files", "agents", "people", "references", "edges",
    "links", "options", "acceptancecriteria", "criteria", "outofscope", "nongoals", "alternatives", "tags", "labels",
    "constraints", "technicalstack", "tools", "examples", "issuesfound", "findings", "decisions", "parameters",
    "arguments", "env", "scripts",
];

#[rustfmt::skip]
pub(super) const GOALS: &[&str] = &[
    "goal", "title", "objective", "name", "project", "feature", "plantitle", "planname", "summary", "description",
    "task",
];

/// Lists of lists of tasks: each inner list can run at once, after the one before it.
#[rustfmt::skip]
pub(super) const WAVES: &[&str] = &[
    "waves", "stages", "phases", "batches", "parallelgroups", "executionorder", "executiongroups", "levels",
];

pub(super) const EDGES: &[&str] = &["edges", "links", "dependencies", "dependencygraph", "graph", "deps"];

/// Returns whether a key or a column names dependencies.
pub(super) fn is_dependency(key: &str) -> bool {
    let is_reverse = BLOCKS.contains(&key);
    #[rustfmt::skip]
    let starts = [
        "dependson", "dependencies", "dependency", "dependenton", "blockedby", "prereq", "predecessor",
    ];
    DEPENDENCIES.contains(&key) || !is_reverse && starts.iter().any(|start| key.starts_with(start))
}

/// Returns the state that a written status means, and the guess about it, if any. An unchecked checkbox or a question mark is never done.
pub(super) fn read_status(written: &str) -> (Option<State>, Option<String>) {
    let is_doubtful =
        written.contains(['?', '☐', '⬜', '🔲', '❌', '✗', '✘']) || written.contains("[ ]") || written.contains("[]");
    let bare = written.trim_start_matches(['-', '*', ' ']);
    let checked = ["[x]", "[X]"].iter().find_map(|mark| bare.strip_prefix(mark));
    let words = checked.filter(|rest| !rest.trim().is_empty()).unwrap_or(written);
    match state_of(words) {
        Some(State::Pending) => (Some(State::Pending), None),
        Some(state) if !is_doubtful => (Some(state), None),
        None if written.trim().is_empty() || is_bare_box(written) => (None, None),
        _ => {
            let message = format!("the status `{}` is read as pending", visible(&one_line(written, 60)));
            (Some(State::Pending), Some(message))
        }
    }
}

/// Returns whether a status is only an unchecked checkbox.
fn is_bare_box(written: &str) -> bool {
    matches!(written.trim_start_matches(['-', '*', ' ']).trim(), "" | "[ ]" | "[]")
}

/// Returns the state that a word or a mark means.
pub(super) fn state_of(word: &str) -> Option<State> {
    let letters: String = word.chars().filter(|c| c.is_alphanumeric()).collect();
    Some(match letters.to_lowercase().as_str() {
        "done" | "completed" | "complete" | "finished" | "closed" | "resolved" | "merged" | "passed" | "true"
        | "yes" | "x" => State::Done,
        "inprogress" | "running" | "started" | "doing" | "active" | "wip" | "ongoing" | "current" => State::Running,
        "skipped" | "skip" | "cancelled" | "canceled" | "wontdo" | "wontfix" | "dropped" | "obsolete" => State::Skipped,
        "failed" | "failure" => State::Failed,
        "pending" | "todo" | "open" | "notstarted" | "planned" | "new" | "ready" | "queued" | "backlog" | "false"
        | "no" | "blocked" | "waiting" | "upnext" => State::Pending,
        _ => match word.trim() {
            // Tools that print a list of work cross out the checkboxes of done tasks.
            "✅" | "✔" | "✔️" | "✓" | "☑" | "☑️" | "☒" => State::Done,
            "🔄" | "⏳" | "🚧" | "🏗️" | "▶️" => State::Running,
            "⬜" | "☐" | "🔲" | "📋" => State::Pending,
            _ => return None,
        },
    })
}
