//! The rules for result files.

use crate::diagnostic::rules;

rules! {
    RESULT_TOO_LARGE = "result-too-large", Error,
        "The result file is too large.",
        "A result file is a short account of up to 1 MiB. Long output belongs on standard output, which is kept as the log of the attempt.",
        "{\"planwright_result\": 1, \"outcome\": \"done\", \"output\": \"… two million characters …\"}",
        "{\"planwright_result\": 1, \"outcome\": \"done\", \"output\": \"Added the parser; 12 tests pass.\"}";
    RESULT_VERSION = "result-version", Error,
        "The result file does not say which version of the protocol it follows, or one that is not known.",
        "The member planwright_result is the number of the version: 1. A file of a later version is refused, because what it says could mean something else.",
        "{\"outcome\": \"done\"}",
        "{\"planwright_result\": 1, \"outcome\": \"done\"}";
    RESULT_FIELD = "result-field", Error,
        "A member of the result file is missing or not what it must be.",
        "The outcome is one of done, failed and stop; texts are strings, lists are arrays, costs are numbers of at least 0. Whatever the agent meant is not guessed: the result file is refused, and the attempt with it.",
        "{\"planwright_result\": 1, \"outcome\": \"success\"}",
        "{\"planwright_result\": 1, \"outcome\": \"done\"}";
    RESULT_UNKNOWN_MEMBER = "result-unknown-member", Warning,
        "The result file has a member that planwright does not know.",
        "It is ignored. Usually it is a slip of the pen.",
        "{\"planwright_result\": 1, \"outcome\": \"done\", \"note\": \"x\"}",
        "{\"planwright_result\": 1, \"outcome\": \"done\", \"notes\": \"x\"}";
    RESULT_PATH = "result-path", Warning,
        "An affected file is not a path inside the workspace.",
        "Paths are relative to the folder that the agent works in and stay inside it. This one is left out of the list.",
        "\"affected_files\": [\"/etc/passwd\", \"../other/a.rs\"]",
        "\"affected_files\": [\"src/a.rs\"]";
    RESULT_STOP = "result-stop", Warning,
        "The result file asks to stop without naming the condition, or names one without asking to stop.",
        "An agent that meets a stop condition of its task reports the outcome stop and quotes the condition in stop_condition. People read it the next morning.",
        "{\"planwright_result\": 1, \"outcome\": \"stop\"}",
        "{\"planwright_result\": 1, \"outcome\": \"stop\", \"stop_condition\": \"the schema must change\"}";
}
