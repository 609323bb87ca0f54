//! The rules for configurations: ids and explanations.

use planwright_core::diagnostic::{Rule, Severity};

pub static CONFIG_UNREADABLE: Rule = Rule {
    id: "config-unreadable",
    severity: Severity::Error,
    summary: "A configuration file cannot be read.",
    details: "It is a folder or a device, is larger than a mebibyte, is not UTF-8, or the system denies access. The message names the reason.",
    wrong: "a `planwright.toml` in UTF-16",
    right: "the same file in UTF-8",
};

pub static CONFIG_SYNTAX: Rule = Rule {
    id: "config-syntax",
    severity: Severity::Error,
    summary: "A configuration file is not TOML.",
    details: "A bracket, a quote or a value is missing, or a key occurs twice. planwright ignores such a file as a whole.",
    wrong: "[run\nslots = 2",
    right: "[run]\nslots = 2",
};

pub static CONFIG_UNKNOWN_KEY: Rule = Rule {
    id: "config-unknown-key",
    severity: Severity::Error,
    summary: "There is no setting of this name.",
    details: "A setting that planwright does not know is a typing error, or belongs to another table or a later version. docs/configuration.md lists them all.",
    wrong: "[run]\nslot = 2",
    right: "[run]\nslots = 2",
};

pub static CONFIG_TYPE: Rule = Rule {
    id: "config-type",
    severity: Severity::Error,
    summary: "A setting has a value of another type than it needs.",
    details: "The message names both types. Durations and sizes are strings with a unit.",
    wrong: "[run]\nslots = \"2\"",
    right: "[run]\nslots = 2",
};

pub static CONFIG_VALUE: Rule = Rule {
    id: "config-value",
    severity: Severity::Error,
    summary: "A setting has an invalid value.",
    details: "It is none of the allowed words, is too small or too large, has no unit, names an unknown agent, or conflicts with another setting.",
    wrong: "[run]\nwall_limit = \"soon\"",
    right: "[run]\nwall_limit = \"90m\"",
};

pub static CONFIG_MISSING: Rule = Rule {
    id: "config-missing",
    severity: Severity::Error,
    summary: "A table lacks a setting that it needs.",
    details: "An agent needs a command or a preset; a rule of verification needs commands to run, and one for criteria a text or a pattern.",
    wrong: "[agents.mine]\nprompt = \"stdin\"",
    right: "[agents.mine]\ncommand = [\"my-agent\"]\nprompt = \"stdin\"",
};

pub static CONFIG_USER_ONLY: Rule = Rule {
    id: "config-user-only",
    severity: Severity::Error,
    summary: "The project's file has a setting that only the user's own file may have.",
    details: "A project's file comes with the project, from its authors. It cannot allow on your behalf that commands written inside a plan are run: put that into your own configuration file.",
    wrong: "planwright.toml:\n[verify]\nallow_plan_commands = true",
    right: "~/.config/planwright/config.toml:\n[verify]\nallow_plan_commands = true",
};

pub static CONFIG_LOOSENED: Rule = Rule {
    id: "config-loosened",
    severity: Severity::Warning,
    summary: "The project's file would loosen a setting of the user's own file, and is not followed.",
    details: "A project can require more verification, approval or fencing than your own configuration file, never less: what you have switched on applies in every project.",
    wrong: "~/.config/planwright/config.toml:\n[verify]\nrequired = true\n\nplanwright.toml:\n[verify]\nrequired = false",
    right: "~/.config/planwright/config.toml:\n[verify]\nrequired = true",
};

pub static CONFIG_WORDS: Rule = Rule {
    id: "config-command-words",
    severity: Severity::Warning,
    summary: "A list of single words is read as several commands.",
    details: "`every` and `run` are lists of commands. A string is a whole command line for the shell; a command as a list of words is a list in the list.",
    wrong: "every = [\"cargo\", \"test\"]",
    right: "every = [[\"cargo\", \"test\"]]",
};

pub static ALL: &[&Rule] = &[
    &CONFIG_UNREADABLE,
    &CONFIG_SYNTAX,
    &CONFIG_UNKNOWN_KEY,
    &CONFIG_TYPE,
    &CONFIG_VALUE,
    &CONFIG_MISSING,
    &CONFIG_USER_ONLY,
    &CONFIG_LOOSENED,
    &CONFIG_WORDS,
];
