//! Commands that read a tasks file: its status, its metadata, the ready stories.

use std::collections::HashMap;

use planwright_core::document::NodeKind;

use super::Refused;
use super::jq::{self, Printer, Value};
use super::tasks::{AimiStory, Schema, Tasks, invalid};

/// The default number of parallel stories.
const DEFAULT_CONCURRENCY: &str = "4";

/// Returns the summary of a file.
pub(super) fn status(tasks: &Tasks) -> String {
    let mut printer = Printer::object();
    printer.key("schemaVersion");
    match tasks.member("schemaVersion") {
        version if jq::is_nothing(version) => printer.string(&tasks.version()),
        version => printer.value(version),
    }
    for (key, field) in [("title", "title"), ("branch", "branchName")] {
        printer.key(key);
        printer.value(tasks.metadata(field));
    }
    match tasks.schema {
        Schema::V3 => status_v3(tasks, &mut printer),
        Schema::V2 => status_v2(tasks, &mut printer),
    }
    printer.close('}');
    printer.finish()
}

fn status_v3(tasks: &Tasks, printer: &mut Printer) {
    printer.key("maxConcurrency");
    print_concurrency(tasks.metadata("maxConcurrency"), printer);
    for word in ["pending", "in_progress", "completed", "failed", "skipped"] {
        let count = tasks.stories().filter(|story| story.has_status(word)).count();
        print_count(word, count, printer);
    }
    print_count("total", tasks.stories().count(), printer);
    print_stories("userStories", tasks, printer, |story, printer| {
        print_fields(story, &["id", "title", "status"], printer);
        printer.key("dependsOn");
        match story.get("dependsOn") {
            written if jq::is_nothing(written) => printer.literal("[]"),
            written => printer.value(written),
        }
        print_fields(story, &["priority", "notes"], printer);
    });
}

fn status_v2(tasks: &Tasks, printer: &mut Printer) {
    print_count("pending", tasks.pending().count(), printer);
    for (key, field) in [("completed", "passes"), ("skipped", "skipped")] {
        let count = tasks.stories().filter(|story| story.is_true(field)).count();
        print_count(key, count, printer);
    }
    print_count("total", tasks.stories().count(), printer);
    print_stories("stories", tasks, printer, |story, printer| {
        print_fields(story, &["id", "title", "passes"], printer);
        printer.key("skipped");
        match story.get("skipped") {
            written if jq::is_nothing(written) => printer.literal("false"),
            written => printer.value(written),
        }
        print_fields(story, &["notes"], printer);
    });
}

fn print_count(key: &str, count: usize, printer: &mut Printer) {
    printer.key(key);
    printer.literal(&count.to_string());
}

fn print_stories(key: &str, tasks: &Tasks, printer: &mut Printer, print: fn(AimiStory<'_>, &mut Printer)) {
    printer.key(key);
    printer.open('[');
    for story in tasks.stories() {
        printer.element();
        printer.open('{');
        print(story, printer);
        printer.close('}');
    }
    printer.close(']');
}

fn print_fields(story: AimiStory<'_>, keys: &[&str], printer: &mut Printer) {
    for key in keys {
        printer.key(key);
        printer.value(story.get(key));
    }
}

/// Prints the number of parallel stories. A value that jq orders before the positive numbers becomes the default; others stay.
fn print_concurrency(written: Value<'_>, printer: &mut Printer) {
    let is_default = match jq::kind(written) {
        NodeKind::Null | NodeKind::False | NodeKind::True => true,
        NodeKind::Number => jq::number_of(written).is_none_or(|number| number <= 0.0),
        _ => false,
    };
    match is_default {
        true => printer.literal(DEFAULT_CONCURRENCY),
        false => printer.value(written),
    }
}

/// Returns the metadata; in v3 with a valid number of parallel stories.
pub(super) fn metadata(tasks: &Tasks) -> Result<String, Refused> {
    let written = tasks.member("metadata");
    if tasks.schema == Schema::V2 {
        return Ok(jq::printed(written));
    }
    refuse_odd_metadata(tasks)?;
    let mut printer = Printer::object();
    let mut has_concurrency = false;
    for (key, value) in written.map(jq::members).unwrap_or_default() {
        printer.key(&key);
        if key == "maxConcurrency" {
            has_concurrency = true;
            print_concurrency(Some(value), &mut printer);
        } else {
            printer.value(Some(value));
        }
    }
    if !has_concurrency {
        printer.key("maxConcurrency");
        printer.literal(DEFAULT_CONCURRENCY);
    }
    printer.close('}');
    Ok(printer.finish())
}

/// Returns the branch for a shell: `null` if the metadata has none.
pub(super) fn branch(tasks: &Tasks) -> Result<String, Refused> {
    refuse_odd_metadata(tasks)?;
    Ok(jq::raw(tasks.metadata("branchName")))
}

fn refuse_odd_metadata(tasks: &Tasks) -> Result<(), Refused> {
    match jq::kind(tasks.member("metadata")) {
        NodeKind::Object | NodeKind::Null => Ok(()),
        _ => Err(invalid("metadata", "Make metadata an object.")),
    }
}

/// Returns the stories that are ready, in the order of the file.
pub(super) fn list_ready(tasks: &Tasks) -> String {
    let mut printer = Printer::array();
    for story in ready(tasks) {
        printer.element();
        printer.value(Some(story.node()));
    }
    printer.close(']');
    printer.finish()
}

/// Returns the next story to work on: the ready one with the first priority.
pub(super) fn next_story(tasks: &Tasks) -> Option<AimiStory<'_>> {
    let candidates = match tasks.schema {
        Schema::V3 => ready(tasks),
        Schema::V2 => tasks.pending().collect(),
    };
    candidates
        .into_iter()
        .min_by(|a, b| jq::order(a.get("priority"), b.get("priority")))
}

/// Returns the pending stories whose dependencies all exist and are all completed or skipped. Of several stories with one id all must be.
fn ready(tasks: &Tasks) -> Vec<AimiStory<'_>> {
    let mut is_satisfied: HashMap<String, bool> = HashMap::new();
    for story in tasks.stories() {
        let satisfies = story.has_status("completed") || story.has_status("skipped");
        *is_satisfied.entry(jq::identity(story.id())).or_insert(true) &= satisfies;
    }
    let is_ready = |story: &AimiStory<'_>| {
        let dependencies = story.dependencies();
        dependencies.is_some_and(|dependencies| {
            dependencies
                .iter()
                .all(|id| is_satisfied.get(&jq::identity(Some(*id))) == Some(&true))
        })
    };
    tasks.pending().filter(is_ready).collect()
}
