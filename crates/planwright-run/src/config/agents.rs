//! The agents of a configuration: presets and tables merged field by field, and contradictions.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use planwright_core::diagnostic::Diagnostic;
use planwright_core::diagnostic::nearest;
use planwright_core::text::visible;

use super::agent::{Agent, Channel, OutputFormat, PLACEHOLDERS, placeholders};
use super::assemble::{Assembly, SettingLocation, parts};
use super::presets::{PRESETS, Preset, preset};
use super::rules::CONFIG_VALUE;
use super::{Config, SettingOrigin};

struct AgentFields {
    preset: Option<(String, SettingLocation)>,
    command: Option<(Vec<String>, SettingLocation)>,
    args: Option<(Vec<String>, SettingLocation)>,
    prompt: Option<(String, SettingLocation)>,
    retries: Option<(u64, SettingLocation)>,
}

impl Assembly {
    pub(super) fn agents(&mut self) -> BTreeMap<String, Agent> {
        let mut agents: BTreeMap<String, Agent> = BTreeMap::new();
        let names = self.names(&["agents"]);
        for preset in PRESETS.iter().filter(|preset| !names.contains(preset.name)) {
            agents.insert(preset.name.to_owned(), known(preset));
        }
        for name in names {
            if let Some(agent) = self.agent(&name) {
                agents.insert(name, agent);
            }
        }
        agents
    }

    fn agent(&mut self, name: &str) -> Option<Agent> {
        let table = ["agents", name].map(str::to_owned);
        let member = |field: &str| [&table[..], &[field.to_owned()]].concat();
        let fields = AgentFields {
            preset: self.get(&member("preset")),
            command: self.get(&member("command")),
            args: self.get(&member("args")),
            prompt: self.get(&member("prompt")),
            retries: self.get(&member("retries")),
        };
        let named = fields.preset.as_ref().map(|(name, _)| name.as_str());
        // An agent with the name of a preset and no command of its own uses that preset.
        let followed = preset(match (named, &fields.command) {
            (Some(preset), _) => preset,
            (None, None) => name,
            (None, Some(_)) => "",
        });
        let mut base = match (followed, &fields.command) {
            (Some(preset), _) => known(preset),
            (None, Some((command, _))) => plain(command),
            (None, None) => {
                let message = format!("agent `{name}` has neither a command nor a preset");
                self.lacking(
                    &table,
                    &message,
                    "give it one, as in command = [\"my-agent\"] or preset = \"claude\"",
                );
                return None;
            }
        };
        name.clone_into(&mut base.name);
        base.command = command_of(&fields, followed);
        if let Some(prompt) = fields.prompt.as_ref().and_then(|(word, _)| Channel::of(word)) {
            base.prompt = prompt;
        } else if fields.command.is_some() {
            base.prompt = implied(&base.command);
        }
        let output: Option<(String, _)> = self.get(&member("output"));
        if let Some(output) = output.and_then(|(word, _)| OutputFormat::of(&word)) {
            base.output = output;
        }
        if let Some((env, _)) = self.get::<Vec<String>>(&member("env")) {
            base.env.extend(env);
        }
        if let Some((resume, _)) = self.get(&member("resume")) {
            base.resume = resume;
        }
        base.fallback = self.get(&member("fallback")).map(|(name, _)| name);
        self.set_variables(&mut base, &member("set"));
        self.set_retries(&mut base, followed, &fields);
        self.check_placeholders(&base, &fields);
        Some(base)
    }

    fn set_variables(&self, agent: &mut Agent, table: &[String]) {
        let prefix: Vec<&str> = table.iter().map(String::as_str).collect();
        for variable in self.names(&prefix) {
            if let Some((value, _)) = self.get(&[table, slice::from_ref(&variable)].concat()) {
                agent.set.insert(variable, value);
            }
        }
    }

    fn set_retries(&mut self, agent: &mut Agent, followed: Option<&Preset>, fields: &AgentFields) {
        let Some((n, place)) = fields.retries else {
            return;
        };
        match followed.and_then(|preset| preset.retries) {
            Some(knob) => drop(agent.set.insert(knob.variable.to_owned(), n.to_string())),
            None => {
                let message = format!(
                    "planwright knows no way to tell agent `{}` how often to retry",
                    agent.name
                );
                let help = "leave it out; `args` and `set` can tell the agent, and `run.wall_limit` bounds it";
                self.find_fault(
                    place,
                    Diagnostic::new(&CONFIG_VALUE, place.span, message).with_help(help),
                );
            }
        }
    }

    /// Reports unknown placeholders, and those that a shell would execute.
    fn check_placeholders(&mut self, agent: &Agent, fields: &AgentFields) {
        let mut faults = misplaced(agent);
        let has_placeholder = |name: &str| agent.command.iter().any(|word| holds(word, name));
        match (agent.prompt, has_placeholder("prompt_file")) {
            (Channel::File, false) => faults.push(CommandProblem {
                word_ix: None,
                message: "the prompt is in a file, and `{prompt_file}` is missing from the command".to_owned(),
                help: "write it where the agent wants the path of the file".to_owned(),
            }),
            (Channel::Stdin | Channel::Argument, true) => faults.push(CommandProblem {
                word_ix: None,
                message: format!(
                    "`{{prompt_file}}` is in the command, and prompt is \"{}\"",
                    agent.prompt.as_str()
                ),
                help: "set prompt = \"file\", or leave `{prompt_file}` out".to_owned(),
            }),
            _ => {}
        }
        for fault in faults {
            if let Some(place) = fields.place_of(fault.word_ix) {
                let finding = Diagnostic::new(&CONFIG_VALUE, place.span, fault.message).with_help(fault.help);
                self.find_fault(place, finding);
            }
        }
    }

    pub(super) fn check_agents(&mut self, config: &Config) {
        let mut named: Vec<(String, SettingLocation)> = self.get(&parts("run.agent")).into_iter().collect();
        for name in self.names(&["run", "types"]) {
            named.extend(self.get(&["run", "types", &name].map(str::to_owned)));
        }
        // An agent with an invalid table exists; its own finding reports the error.
        let tables = self.names(&["agents"]);
        for name in &tables {
            named.extend(self.fallback(name));
        }
        let known: Vec<&str> = config.agents.keys().chain(&tables).map(String::as_str).collect();
        let is_known = |name: &String| config.agents.contains_key(name) || tables.contains(name);
        for (ix, (name, place)) in named.into_iter().filter(|(name, _)| !is_known(name)).enumerate() {
            let message = format!("there is no agent `{}`", visible(&name));
            let finding = Diagnostic::new(&CONFIG_VALUE, place.span, message);
            let likely = known.iter().copied().take(if ix < MAX_SUGGESTIONS { 1_000 } else { 0 });
            let finding = match nearest(&name, likely) {
                Some(word) => finding.with_label(format!("did you mean `{word}`?")),
                None => {
                    finding.with_help("configure it as [agents.NAME]; `planwright agents` lists those that are there")
                }
            };
            self.find_fault(place, finding);
        }
    }
}

impl Assembly {
    /// Returns the fallback of an agent, and where it is configured.
    fn fallback(&self, agent: &str) -> Option<(String, SettingLocation)> {
        self.get(&["agents", agent, "fallback"].map(str::to_owned))
    }

    /// Reports cycles of fallbacks, each cycle once.
    pub(super) fn check_circles(&mut self, config: &Config) {
        for circle in circles(&config.agents) {
            let Some((_, place)) = circle.first().and_then(|first| self.fallback(first)) else {
                continue;
            };
            let message = match circle.as_slice() {
                [only] => format!("agent `{only}` is its own fallback"),
                [first, ..] => {
                    let more = if circle.len() > MAX_NAMED { "…, " } else { "" };
                    let named: Vec<String> = circle.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
                    let round = named.join(", ");
                    format!("the fallbacks form a cycle: {round}, {more}`{first}`")
                }
                [] => continue,
            };
            let help = "remove one of them: the last agent has no fallback";
            self.find_fault(
                place,
                Diagnostic::new(&CONFIG_VALUE, place.span, message).with_help(help),
            );
        }
    }
}

const MAX_NAMED: usize = 8;

/// Returns the cycles of fallbacks, each starting with its first name.
fn circles(agents: &BTreeMap<String, Agent>) -> Vec<Vec<&str>> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut circles = Vec::new();
    for name in agents.keys() {
        let mut way: Vec<&str> = Vec::new();
        let mut next = Some(name.as_str());
        while let Some(at) = next.filter(|at| seen.insert(at)) {
            way.push(at);
            next = agents.get(at).and_then(|agent| agent.fallback.as_deref());
        }
        // An agent that was seen on an earlier path leads to no new cycle.
        let Some(start) = next.and_then(|at| way.iter().position(|one| *one == at)) else {
            continue;
        };
        let mut circle = way.split_off(start);
        let first = circle.iter().enumerate().min_by_key(|(_, name)| **name);
        let first = first.map_or(0, |(ix, _)| ix);
        circle.rotate_left(first);
        circles.push(circle);
    }
    circles
}

const MAX_CHAIN: usize = 16;

/// Returns an agent and its chain of fallbacks, each once.
pub(crate) fn chain_of<'c>(agents: &'c BTreeMap<String, Agent>, first: &'c str) -> Vec<&'c str> {
    let mut chain = vec![first];
    while let Some(next) = chain.last().and_then(|last| agents.get(*last)?.fallback.as_deref())
        && !chain.contains(&next)
        && chain.len() < MAX_CHAIN
    {
        chain.push(next);
    }
    chain
}

/// How many unknown agents get a did-you-mean.
const MAX_SUGGESTIONS: usize = 20;

impl AgentFields {
    /// Returns where an argument of the whole command was written. For a preset's argument, returns the setting that was written instead.
    fn place_of(&self, word_ix: Option<usize>) -> Option<SettingLocation> {
        let [command, args] = [&self.command, &self.args].map(|field| field.as_ref().map(|(_, place)| *place));
        let n_command = self.command.as_ref().map_or(0, |(words, _)| words.len());
        match word_ix {
            Some(ix) if ix >= n_command => args.or(command),
            Some(_) => command.or(args),
            None => command.or(self.prompt.as_ref().map(|(_, place)| *place)).or(args),
        }
    }
}

struct CommandProblem {
    word_ix: Option<usize>,
    message: String,
    help: String,
}

fn holds(word: &str, name: &str) -> bool {
    placeholders(word).any(|found| found.name == name && !found.is_escaped)
}

/// Returns the placeholders that are not allowed in their position.
fn misplaced(agent: &Agent) -> Vec<CommandProblem> {
    let script = script_of(&agent.command);
    let mut faults = Vec::new();
    for (ix, word) in agent.command.iter().enumerate() {
        for found in placeholders(word).filter(|found| !found.is_escaped) {
            let name = found.name;
            let (message, help) = match name {
                _ if !PLACEHOLDERS.contains(&name) => (format!("`{{{name}}}` is unknown"), meant(name)),
                _ if script == Some(ix) => (
                    format!("`{{{name}}}` would become part of a script of the shell"),
                    "pass it to the script as an argument (`$0`, `$1`, …), or use variables like PLANWRIGHT_TASK"
                        .to_owned(),
                ),
                "prompt" if agent.prompt != Channel::Argument => (
                    "`{prompt}` is filled only where the prompt is an argument".to_owned(),
                    "set prompt = \"argument\", or use `{prompt_file}`".to_owned(),
                ),
                _ => continue,
            };
            let word_ix = Some(ix);
            faults.push(CommandProblem { word_ix, message, help });
        }
    }
    faults
}

/// Returns the help for an unknown placeholder.
fn meant(name: &str) -> String {
    let likely = match nearest(name, PLACEHOLDERS.iter().copied()) {
        Some(word) => format!("did you mean `{{{word}}}`?"),
        None => format!("known are {}", PLACEHOLDERS.join(", ")),
    };
    format!("{likely} Braces that mean themselves are doubled: `{{{{{name}}}}}`")
}

/// Returns the agent that a preset gives without configuration.
fn known(preset: &'static Preset) -> Agent {
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let set = preset
        .set
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    let retries = preset
        .retries
        .map(|knob| (knob.variable.to_owned(), knob.usual.to_string()));
    Agent {
        name: preset.name.to_owned(),
        preset: Some(preset.name),
        origin: SettingOrigin::Preset(preset.name),
        command: owned(&[preset.command, preset.last].concat()),
        prompt: preset.prompt,
        output: preset.output,
        env: owned(preset.env),
        set: set.chain(retries).collect(),
        resume: owned(preset.resume),
        fallback: None,
    }
}

fn plain(command: &[String]) -> Agent {
    Agent {
        name: String::new(),
        preset: None,
        origin: SettingOrigin::Default,
        command: command.to_vec(),
        prompt: implied(command),
        output: OutputFormat::Plain,
        env: Vec::new(),
        set: BTreeMap::new(),
        resume: Vec::new(),
        fallback: None,
    }
}

/// Returns the whole command: the user's own, or the preset's with the arguments that must come last.
fn command_of(fields: &AgentFields, followed: Option<&Preset>) -> Vec<String> {
    let mut words = Vec::new();
    let preset_words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    match (&fields.command, followed) {
        (Some((command, _)), _) => words.extend(command.iter().cloned()),
        (None, Some(preset)) => words.extend(preset_words(preset.command)),
        (None, None) => {}
    }
    words.extend(fields.args.iter().flat_map(|(args, _)| args.iter().cloned()));
    if let (None, Some(preset)) = (&fields.command, followed) {
        words.extend(preset_words(preset.last));
    }
    words
}

/// Returns how a command takes its prompt, by its placeholders.
fn implied(command: &[String]) -> Channel {
    let has_placeholder = |name: &str| command.iter().any(|word| holds(word, name));
    match () {
        () if has_placeholder("prompt_file") => Channel::File,
        () if has_placeholder("prompt") => Channel::Argument,
        () => Channel::Stdin,
    }
}

/// Returns which argument is a shell script, even if other programs come before the shell, as in `timeout 60 sh -c`.
fn script_of(command: &[String]) -> Option<usize> {
    let is_shell = |word: &String| {
        let name = word.rsplit('/').next().unwrap_or_default();
        ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"].contains(&name)
    };
    let shells = command.iter().enumerate().filter(|(_, word)| is_shell(word));
    shells.filter_map(|(at, _)| script_behind(command, at)).next()
}

/// Returns the script of the shell at an index: the first argument after `-c` that is neither an option of the shell nor an option's value.
fn script_behind(command: &[String], shell: usize) -> Option<usize> {
    let is_option = |word: &str| word.len() > 1 && word.starts_with(['-', '+']);
    let takes_script = |word: &str| word == "--command" || (!word.starts_with("--") && word.contains('c'));
    let mut words = command.iter().enumerate().skip(shell + 1);
    words.find(|(_, word)| word.starts_with('-') && takes_script(word))?;
    let mut is_value = false;
    let script = words.find(|(_, word)| {
        let is_skipped = is_option(word) || is_value;
        is_value = !is_value && matches!(word.as_str(), "-o" | "+o" | "-O" | "+O");
        !is_skipped
    });
    script.map(|(at, _)| at)
}
