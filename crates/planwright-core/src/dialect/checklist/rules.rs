//! The rules that only checklists have.

use crate::diagnostic::rules;

rules! {
    NO_TASK_LINE = "no-task-line", Error,
        "The file has no task line.",
        "A task of a checklist is a line with a box: `- [ ] Add the store`. Boxes in code and comments do not count. `planwright import` reads headings, tables and most other forms of plans.",
        "## Task 1: Add the store",
        "- [ ] Add the store";
    QUALITY_LIST = "quality-checklist", Error,
        "The file is a quality checklist, not a plan.",
        "spec-kit keeps lists of questions about a specification in `checklists/`. Their boxes are for reviewers: no agent works on them.",
        "specs/001-login/checklists/requirements.md",
        "specs/001-login/tasks.md";
    MARK = "checklist-mark", Note,
        "A box holds a mark without a certain meaning.",
        "`[ ]` is open and `[x]` is done. Kiro's `[-]` is in progress; elsewhere `[-]`, `[~]`, `[/]` and others mean different things to different people. Such a task counts as not done, and the mark stays until its state changes.",
        "- [~] Add the store",
        "- [ ] Add the store";
    BOX = "checklist-box", Warning,
        "A line looks like a task and is none.",
        "The brackets must hold exactly one character, and text must follow them. Lines that are indented by four spaces outside of lists are code.",
        "- [] Add the store",
        "- [ ] Add the store";
    GROUP_STATE = "checklist-group-state", Note,
        "The box of a group disagrees with its tasks.",
        "A task line with task lines below it is a group. planwright never reads its box: the group is done when its required tasks are. It ticks the box when the last of them is done.",
        "- [x] 1. Store\n  - [ ] 1.1 Add the table",
        "- [ ] 1. Store\n  - [ ] 1.1 Add the table";
    GROUP_NUMBER = "checklist-group-number", Warning,
        "A task's number does not begin with that of its group.",
        "OpenSpec and Kiro number tasks within groups: `2.1` belongs to `2`. A wrong number is usually left from a moved line.",
        "## 2. Store\n- [ ] 1.3 Add the table",
        "## 2. Store\n- [ ] 2.1 Add the table";
    MARKER = "checklist-marker", Warning,
        "The marker line has words that mean nothing.",
        "The marker line may say `plan` with an id, `explicit dependencies`, and `order` with `strict`, `phases` or `none`.",
        "<!-- planwright: order serial -->",
        "<!-- planwright: order strict -->";
    SAME_TEXT = "checklist-same-text", Error,
        "Two tasks without ids have the same headings, groups and text.",
        "A task without an id is known by its text: a state that planwright keeps for one of them could go to the other when lines move. Say what distinguishes them.",
        "- [ ] Add tests\n- [ ] Add tests",
        "- [ ] Add tests of the reader\n- [ ] Add tests of the writer";
    DEPENDENCY = "checklist-dependency", Warning,
        "Parentheses that look like dependencies are not read.",
        "The dependencies of a task stand once, at the end of its line, with commas between the ids: `(needs T1, T2)`, or `(depends on T001)` in spec-kit's files.",
        "- [ ] T2: Answer (needs T1) with 429",
        "- [ ] T2: Answer with 429 (needs T1)";
    UNCLOSED = "checklist-unclosed", Warning,
        "A code fence or a comment is never closed.",
        "Boxes in it are no tasks, so everything below it is not read.",
        "```\n- [ ] Add the store",
        "```\n```\n- [ ] Add the store";
}
