//! The scenarios: every verb that writes, in every dialect that has it, and runs.

use planwright_core::dialect::DIALECTS;

use super::clearing::Clearing;
use super::verbs::{Again, VerbCommand};
use super::{FaultScenario, asking, landing, particular, runs};
use crate::generate::extension;
use crate::samples::{DialectSample, file, samples, words};

/// The commands that set up a scene.
type SetupCommands = Vec<Vec<String>>;

/// Returns all scenarios.
pub(super) fn all() -> Vec<Box<dyn FaultScenario>> {
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for sample in samples() {
        all.extend(transitions(&sample));
        all.extend(edits(&sample));
        all.extend(whole_plans(&sample));
        all.push(approvals(&sample));
        all.extend(conversions(&sample));
    }
    all.extend(planning());
    all.extend(particular::all());
    all.extend(asking::all());
    all.push(Box::new(Clearing));
    all.extend(runs::all());
    all.extend(landing::all());
    all
}

fn transitions(sample: &DialectSample) -> Vec<Box<dyn FaultScenario>> {
    let [first, other, dependent, _] = sample.tasks;
    let claimed = || vec![sample.does(&["start", first, "--by", "ada"])];
    let started = || vec![sample.does(&["start", first])];
    let failed = || {
        vec![
            sample.does(&["start", first]),
            sample.does(&["fail", first, "--note", "no"]),
        ]
    };
    let cases: Vec<(&str, SetupCommands, Vec<&str>)> = vec![
        ("start", Vec::new(), vec!["start", first]),
        ("start-twice", started(), vec!["start", other]),
        ("done", started(), vec!["done", first, "--note", "made it"]),
        ("fail", started(), vec!["fail", first, "--note", "no"]),
        ("skip", Vec::new(), vec!["skip", other]),
        ("retry", failed(), vec!["retry", first]),
        ("block", Vec::new(), vec!["block", first, "--note", "key"]),
        ("reset", started(), vec!["reset", first]),
        (
            "claim",
            Vec::new(),
            vec!["start", first, "--by", "ada", "--lease", "30m"],
        ),
        (
            "done-claimed",
            claimed(),
            vec!["done", first, "--by", "ada", "--claim", "1"],
        ),
        (
            "take-over",
            claimed(),
            vec!["done", first, "--by", "bob", "--take-over", "--note", "mine"],
        ),
        ("retry-start", failed(), vec!["retry", first, "--start"]),
        (
            "force",
            Vec::new(),
            vec!["start", dependent, "--force", "--note", "now"],
        ),
    ];
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for (name, before, command) in cases {
        // A forced start is a new start each time.
        let again = match name {
            "force" => Again::Another,
            _ => Again::Same,
        };
        let mut verb = sample.verb("transitions", name, before, sample.does(&command), again);
        // Only the owner can undo a claim.
        verb.can_be_undone = name != "claim";
        all.push(verb);
    }
    let next = words(&["next", "--start", sample.plan]);
    all.push(sample.verb("transitions", "next-start", Vec::new(), next, Again::Another));
    let undo = words(&["undo", sample.plan]);
    let two = vec![sample.does(&["start", first]), sample.does(&["done", first])];
    let mut undo = sample.verb("transitions", "undo", two, undo, Again::Another);
    undo.can_be_undone = false;
    all.push(undo);
    let verify = vec![sample.does(&["start", first]), sample.does(&["done", first])];
    let mut verify = sample.verb(
        "transitions",
        "verify",
        verify,
        sample.does(&["verify", first]),
        Again::Another,
    );
    verify
        .files
        .push(file("planwright.toml", "[verify]\nevery = [\"true\"]\n"));
    verify.can_be_undone = false;
    all.push(verify);
    all
}

fn edits(sample: &DialectSample) -> Vec<Box<dyn FaultScenario>> {
    let [first, other, dependent, last] = sample.tasks;
    let mut add = vec!["add", "Another one"];
    add.extend(&sample.add);
    let cases: Vec<(&str, Vec<&str>, Again)> = vec![
        ("add", add, Again::Another),
        ("set", vec!["set", last, sample.set], Again::Same),
        ("remove", vec!["remove", last], Again::Another),
        ("move", vec!["move", other, "--first"], Again::Another),
        ("rename", vec!["rename", last, sample.new_id], Again::Same),
        ("depend", vec!["depend", last, "--on", other], Again::Same),
        ("undepend", vec!["undepend", dependent, "--on", first], Again::Same),
    ];
    let edit = |(name, command, again): (&str, Vec<&str>, Again)| -> Box<dyn FaultScenario> {
        sample.verb("edits", name, Vec::new(), sample.does(&command), again)
    };
    cases.into_iter().map(edit).collect()
}

fn whole_plans(sample: &DialectSample) -> Vec<Box<dyn FaultScenario>> {
    let plan = sample.plan;
    let cases: Vec<(&str, SetupCommands, Vec<&str>, bool)> = vec![
        ("submit", Vec::new(), vec!["submit", plan], true),
        (
            "approve",
            vec![words(&["submit", plan])],
            vec!["approve", plan, "--by", "ada"],
            true,
        ),
        (
            "reject",
            vec![words(&["submit", plan])],
            vec!["reject", plan, "--note", "no"],
            true,
        ),
        ("cancel", Vec::new(), vec!["cancel", plan, "--note", "no"], true),
        (
            "archive",
            vec![sample.does(&["start", sample.tasks[0]])],
            vec!["archive", plan],
            false,
        ),
        (
            "delete",
            vec![sample.does(&["start", sample.tasks[0]])],
            vec!["delete", plan, "--yes"],
            false,
        ),
    ];
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for (name, before, command, can_be_undone) in cases {
        let mut verb = sample.verb("plans", name, before, words(&command), Again::Same);
        verb.can_be_undone = can_be_undone;
        if matches!(name, "submit" | "approve" | "reject") {
            for (_, text) in &mut verb.files {
                *text = text.replace("\"InProgress\"", "\"Draft\"");
            }
        }
        all.push(verb);
    }
    all
}

/// The approval of a plan in a workspace that requires one: if the file has no field for it, only the journal stores it.
fn approvals(sample: &DialectSample) -> Box<dyn FaultScenario> {
    let command = words(&["approve", sample.plan, "--by", "ada"]);
    let mut verb = sample.verb("plans", "approval", Vec::new(), command, Again::Another);
    verb.files
        .push(file("planwright.toml", "[approval]\nrequired = true\n"));
    verb.can_be_undone = false;
    verb
}

fn conversions(sample: &DialectSample) -> Vec<Box<dyn FaultScenario>> {
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for target in DIALECTS.iter().filter(|target| target.name() != sample.name) {
        let out = format!("out.{}", extension(*target));
        let command = words(&["convert", sample.plan, "--to", target.name(), "--out", &out, "--quiet"]);
        let name = format!("convert-to-{}", target.name());
        all.push(sample.makes("conversions", &name, command, &out));
    }
    let out = &format!("new.{}", extension(sample.dialect));
    let command = words(&["new", sample.name, "Log in", "--out", out]);
    all.push(sample.makes("conversions", "new", command, out));
    let command = words(&["plan", "Log in", "--dialect", sample.name, "--single", "--out", out]);
    all.push(sample.makes("planning", "plan-single", command, out));
    all
}

fn planning() -> Vec<Box<dyn FaultScenario>> {
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for sample in samples() {
        let Some(answer) = sample.answer else { continue };
        let failed = || {
            let [first, other, ..] = sample.tasks;
            vec![
                sample.does(&["start", other]),
                sample.does(&["done", other]),
                sample.does(&["start", first]),
                sample.does(&["fail", first, "--note", "no"]),
            ]
        };
        let replan = words(&["replan", sample.plan, "--from", "answer.md", "--yes"]);
        let mut verb = sample.verb("planning", "replan", failed(), replan, Again::Another);
        verb.files.push(file("answer.md", answer));
        let next_version = sample.next_version();
        verb.can_be_undone = next_version.is_none();
        if let Some(next) = &next_version {
            verb.plan.clone_from(next);
        }
        all.push(verb);
        // A new version waits for approval.
        let propose = words(&["replan", sample.plan, "--from", "answer.md"]);
        for word in ["approve", "reject"] {
            let mut command = words(&[word, "--proposed", sample.plan]);
            if word == "reject" {
                command.extend(words(&["--note", "no"]));
            }
            let mut before = failed();
            before.push(propose.clone());
            let name = format!("{word}-proposed");
            let mut verb = sample.verb("planning", &name, before, command, Again::Same);
            verb.files.push(file("answer.md", answer));
            verb.can_be_undone = false;
            if let Some(next) = next_version.as_ref().filter(|_| word == "approve") {
                verb.plan.clone_from(next);
            }
            all.push(verb);
        }
    }
    all
}

impl DialectSample {
    /// Returns a command about this plan.
    fn does(&self, command: &[&str]) -> Vec<String> {
        let mut words = words(command);
        words.extend(["-p".to_owned(), self.plan.to_owned()]);
        words
    }

    fn verb(
        &self,
        group: &'static str,
        name: &str,
        before: Vec<Vec<String>>,
        command: Vec<String>,
        again: Again,
    ) -> Box<VerbCommand> {
        Box::new(VerbCommand {
            name: format!("{}-{name}", self.name),
            group,
            files: self.files.clone(),
            before,
            command,
            plan: self.plan.to_owned(),
            again,
            can_be_undone: true,
        })
    }

    /// Returns a command that creates a new file.
    fn makes(&self, group: &'static str, name: &str, command: Vec<String>, out: &str) -> Box<VerbCommand> {
        let mut verb = self.verb(group, name, Vec::new(), command, Again::Same);
        verb.plan = out.to_owned();
        verb.can_be_undone = false;
        verb
    }
}
