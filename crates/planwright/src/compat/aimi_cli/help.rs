//! The help of `aimi-cli`.

use super::super::Answer;
use super::refused;

pub(super) const HELP: &str = "\
aimi-cli.sh: the tasks of Aimi, answered by planwright

USAGE:
    aimi-cli.sh <command> [args]

THE TASKS FILE:
    find-tasks                Print the newest tasks file
    init-session              Begin with the newest tasks file and its branch
    status                    Count the stories by status, and list them
    metadata                  Print the metadata
    get-branch                Print the branch
    detect-schema             Print the schema version (v2.x files)
    validate                  Check every rule of the specification: Error: and Fix: lines
    validate-deps             Check the dependencies (v3 files)
    validate-stories          Check lengths and suspicious texts (v3 files)

STORIES:
    next-story                Print the next story, and remember it
    current-story             Print the story that is remembered
    list-ready                Print every story that may start (v3 files)
    count-pending             Count the pending stories
    mark-in-progress <id>     Begin a story, or try it again (v3 files)
    mark-complete <id>        Finish a story
    mark-failed <id> [notes]  Give up a story for now, with the reason
    mark-skipped <id>         Leave a story out
    cascade-skip <id>         Skip all that wait for a story (v3 files)
    reset-orphaned            Fail all stories left in progress (v3 files)

THE SESSION:
    get-state                 Print what is remembered
    clear-state               Forget it; the tasks stay
    help                      Print this

Completed and skipped stories are final. What is remembered lies in .aimi/: current-tasks,
current-branch, current-story, last-result, cli-path.

EXAMPLES:
    planwright aimi-cli init-session
    planwright aimi-cli next-story
    planwright aimi-cli mark-failed US-002 \"the tests do not build\"

EXIT STATUS:
    0 success; 1 refused, with Error: and Fix: lines
";

/// Returns whether a command of the original is not supported here.
pub(super) fn is_left_out(command: &str) -> bool {
    const SWARM: [&str; 7] = ["init", "add", "update", "remove", "status", "list", "cleanup"];
    let swarm = command.strip_prefix("swarm-");
    matches!(command, "check-version" | "cleanup-versions") || swarm.is_some_and(|rest| SWARM.contains(&rest))
}

/// Returns the answer to an unsupported command.
pub(super) fn left_out(command: &str) -> Answer {
    let why = match command.strip_prefix("swarm-") {
        Some(_) => "planwright keeps no containers. Use the plugin's own aimi-cli.sh for them.",
        None => "planwright is not installed by the plugin. Use the plugin's own aimi-cli.sh for its versions.",
    };
    refused(format!("{command} is not part of planwright's aimi-cli"), why).into()
}

/// Returns the answer to an unknown command, or one that the version for this file does not have.
pub(super) fn unknown(command: &str) -> Answer {
    Answer {
        status: 1,
        stdout: HELP.to_owned(),
        stderr: format!("Unknown command: {command}\n"),
    }
}
