//! Generates plans of any size, for benchmarks and tests of growth.

use std::fmt::Write as _;

use planwright_core::convert::{ConversionOptions, convert};
use planwright_core::dialect::id_source::IdSource;
use planwright_core::dialect::{CarrierKind, Choice, Dialect, DiskFacts, find};
use planwright_core::inspect::inspect;
use planwright_core::text::SourceText;

/// Returns a valid plan in a dialect: a chain, with a second edge per task if the dialect has edges. For a dialect without its own
/// generator, converts a plan.
pub fn plan(dialect: &str, n_tasks: usize) -> String {
    match dialect {
        "opencrabs" => opencrabs(n_tasks),
        "clido" => clido(n_tasks),
        "aimi" => aimi(n_tasks),
        "task-pack" => task_pack(n_tasks, WAVE_WIDTH),
        "rawko" => rawko(n_tasks),
        other => find(other).map_or(String::new(), |dialect| converted(dialect, n_tasks)),
    }
}

fn converted(dialect: &'static dyn Dialect, n_tasks: usize) -> String {
    let facts = DiskFacts::default();
    let source = inspect(&SourceText::new(clido(n_tasks)), &Choice::by_content(&facts));
    let mut fresh = || 0u128;
    let mut id_source = IdSource::new("2026-03-22T10:00:00Z", &mut fresh);
    let converted = convert(&source, dialect, &ConversionOptions::default(), &mut id_source);
    converted.map_or(String::new(), |converted| converted.text)
}

/// Returns the usual extension of a dialect's files.
pub fn extension(dialect: &dyn Dialect) -> &'static str {
    match dialect.carriers().first() {
        Some(CarrierKind::Yaml) => "yaml",
        Some(CarrierKind::Markdown) => "md",
        Some(CarrierKind::Json) | None => "json",
    }
}

/// The plan that generated packs are derived from, and its hash.
const SOURCE_PLAN: &str = "---\ntitle: P\nspec_id: 2026-04-26-001-generated\n---\n\n# P\n\n## U1\n";
const SOURCE_PLAN_HASH: &str = "e93948db69ca6fb6a59e7c23bddd8a5ef3950100e0eb73b89f65124f33768684";

/// Returns a generated plan in the stored form, and the other files that it needs. If a dialect has stages, `wave_width` tasks are in each.
pub fn stored(dialect: &dyn Dialect, n_tasks: usize, wave_width: usize) -> (String, Vec<(&'static str, String)>) {
    match dialect.name() {
        // The import form has no states.
        "opencrabs" => {
            let text = opencrabs(n_tasks);
            let text = text.replacen("\"title\"", "\"status\": \"InProgress\", \"title\"", 1);
            (text, Vec::new())
        }
        "task-pack" => {
            let text = task_pack(n_tasks, wave_width).replacen(&"0".repeat(64), SOURCE_PLAN_HASH, 1);
            (text, vec![("docs/plans/p.md", SOURCE_PLAN.to_owned())])
        }
        name => (plan(name, n_tasks), Vec::new()),
    }
}

fn opencrabs(n_tasks: usize) -> String {
    let tasks = joined(n_tasks, |ix| {
        let dependencies = match ix {
            0 => String::new(),
            1 | 2 => format!(", \"dependencies\": [{ix}]"),
            ix => format!(", \"dependencies\": [{}, {ix}]", ix / 2),
        };
        format!(
            "    {{\"title\": \"Task {ix}\", \"description\": \"Change module {ix} and its tests\", \"task_type\": \"edit\", \
             \"complexity\": {}, \"acceptance_criteria\": [\"tests pass\"]{dependencies}}}",
            ix % 5 + 1
        )
    });
    format!(
        "{{\n  \"title\": \"Generated\", \"description\": \"A generated plan\",\n  \"tasks\": [\n{tasks}\n  ]\n}}\n"
    )
}

fn clido(n_tasks: usize) -> String {
    let tasks = joined(n_tasks, |ix| {
        let dependencies = match ix {
            0 => String::new(),
            1 | 2 => format!("\"t{}\"", ix - 1),
            ix => format!("\"t{}\", \"t{}\"", ix / 2, ix - 1),
        };
        format!(
            "    {{\"id\": \"t{ix}\", \"description\": \"Change module {ix} and its tests\", \"depends_on\": [{dependencies}], \
             \"complexity\": \"low\", \"skip\": false, \"notes\": \"\", \"status\": \"pending\"}}"
        )
    });
    format!(
        "{{\n  \"meta\": {{\"id\": \"plan-a1b2c3d4\", \"goal\": \"A generated plan\", \"created_at\": \"2026-03-22T10:00:00Z\"}},\n  \
         \"tasks\": [\n{tasks}\n  ]\n}}\n"
    )
}

fn aimi(n_tasks: usize) -> String {
    let stories = joined(n_tasks, |ix| {
        let dependencies = match ix {
            0 => String::new(),
            ix => format!("\"US-{:06}\"", ix - 1),
        };
        format!(
            "    {{\"id\": \"US-{ix:06}\", \"title\": \"Story {ix}\", \"description\": \"As a user, I want story {ix}\", \
             \"acceptanceCriteria\": [\"Typecheck passes\"], \"priority\": {}, \"status\": \"pending\", \
             \"dependsOn\": [{dependencies}], \"notes\": \"\"}}",
            ix + 1
        )
    });
    format!(
        "{{\n  \"schemaVersion\": \"3.0\",\n  \"metadata\": {{\"title\": \"feat: Generated\", \"type\": \"feat\", \
         \"branchName\": \"feat/generated\", \"createdAt\": \"2026-02-27\"}},\n  \"userStories\": [\n{stories}\n  ]\n}}\n"
    )
}

/// Tasks per wave of a generated pack.
pub const WAVE_WIDTH: usize = 50;

/// Returns a valid task pack with this many tasks in each of its waves.
pub fn task_pack(n_tasks: usize, width: usize) -> String {
    let waves = joined(n_tasks.div_ceil(width), |wave| {
        let tasks = (wave * width..n_tasks.min((wave + 1) * width)).map(|ix| format!("\"T{ix:06}\""));
        format!(
            "    {{\"wave\": {}, \"tasks\": [{}]}}",
            wave + 1,
            tasks.collect::<Vec<_>>().join(", ")
        )
    });
    let tasks = joined(n_tasks, |ix| {
        let dependencies = if ix < width {
            String::new()
        } else {
            format!("\"T{:06}\"", ix - width)
        };
        format!(
            "    {{\"task_id\": \"T{ix:06}\", \"source_unit\": \"U1\", \"goal\": \"Change module {ix}\", \
             \"dependencies\": [{dependencies}], \"files\": [\"src/m{ix}.rs\"], \"test_focus\": \"module {ix}\", \
             \"done_signal\": \"tests pass\", \"wave\": {}, \"stop_if\": \"the scope grows\"}}",
            ix / width + 1
        )
    });
    pack(&waves, &tasks)
}

fn pack(waves: &str, tasks: &str) -> String {
    format!(
        "---\ntitle: Generated\ntype: task-pack\nstatus: derived\ndate: 2026-04-26\nspec_id: 2026-04-26-001-generated\n\
         source_plan: docs/plans/p.md\nsource_plan_hash: sha256:{}\ngenerated_by: spec-write-tasks\nmode: derived\n---\n\n\
         ## Task Pack Contract\n\n```json\n{{\n  \"schema_version\": \"task-pack/v1\",\n  \"execution_waves\": [\n{waves}\n  ],\n  \
         \"tasks\": [\n{tasks}\n  ]\n}}\n```\n",
        "0".repeat(64)
    )
}

fn rawko(n_tasks: usize) -> String {
    let mut text = String::from(
        "id: plan-20260123-generated\ntask: \"A generated plan\"\nstatus: draft\nversion: 1\ncurrentStepIndex: 0\n\
         createdAt: \"2026-01-23T10:00:00Z\"\nupdatedAt: \"2026-01-23T10:35:00Z\"\ncreatedBy: planner\nsteps:\n",
    );
    for ix in 0..n_tasks {
        let _ = write!(
            text,
            "  - index: {ix}\n    description: \"Change module {ix} and its tests\"\n    status: pending\n    suggestedAgent: developer\n"
        );
        if ix > 0 {
            let _ = writeln!(text, "    dependsOn: [{}]", ix - 1);
        }
        text.push_str("    acceptanceCriteria:\n      - tests pass\n");
    }
    text
}

fn joined(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(",\n")
}

/// A clido task with the given dependencies.
fn clido_task(id: &str, dependencies: &str) -> String {
    format!("{{\"id\": \"{id}\", \"description\": \"x\", \"depends_on\": [{dependencies}]}}")
}

fn clido_of(tasks: &str) -> String {
    format!("{{\"goal\": \"shape\", \"tasks\": [\n{tasks}\n]}}\n")
}

/// Makes a text of a given size.
pub type TextGenerator = fn(usize) -> String;

/// Texts that would be slow to read if any code were quadratic.
pub static SHAPES: &[(&str, TextGenerator)] = &[
    ("v2 stories", |n| {
        let stories = joined(n, |ix| {
            format!("{{\"id\": \"US-{ix:06}\", \"title\": \"x\", \"priority\": {ix}, \"passes\": false}}")
        });
        format!("{{\"schemaVersion\": \"2.2\", \"userStories\": [\n{stories}\n]}}\n")
    }),
    ("dependencies of one task", |n| {
        let all = joined(n, |ix| clido_task(&format!("t{ix}"), ""));
        let names = joined(n, |ix| format!("\"t{ix}\""));
        clido_of(&format!("{all},\n{}", clido_task("last", &names)))
    }),
    ("dependents of one task", |n| {
        clido_of(&format!(
            "{},\n{}",
            clido_task("root", ""),
            joined(n, |ix| clido_task(&format!("t{ix}"), "\"root\""))
        ))
    }),
    ("files in one wave", |n| {
        let names = joined(n, |ix| format!("\"T{ix}\""));
        let tasks = joined(n, |ix| {
            format!(
                "{{\"task_id\": \"T{ix}\", \"source_unit\": \"U1\", \"goal\": \"g\", \"dependencies\": [], \
                 \"files\": [\"src/{}.rs\"], \"test_focus\": \"t\", \"done_signal\": \"d\", \"wave\": 1, \"stop_if\": \"s\"}}",
                ix / 2
            )
        });
        pack(&format!("{{\"wave\": 1, \"tasks\": [{names}]}}"), &tasks)
    }),
    ("duplicate ids", |n| clido_of(&joined(n, |_| clido_task("t", "")))),
    ("unknown dependencies", |n| {
        clido_of(&joined(n, |ix| clido_task(&format!("t{ix}"), &format!("\"x{ix}\""))))
    }),
    ("one cycle", |n| {
        clido_of(&joined(n, |ix| {
            clido_task(&format!("t{ix}"), &format!("\"t{}\"", (ix + 1) % n))
        }))
    }),
    ("cycles of two", |n| {
        clido_of(&joined(n, |ix| {
            clido_task(&format!("t{ix}"), &format!("\"t{}\"", ix ^ 1))
        }))
    }),
    ("cycles in one knot", |n| {
        clido_of(&joined(n, |ix| {
            clido_task(&format!("t{ix}"), &format!("\"t{}\", \"t{}\"", ix ^ 1, (ix + 2) % n))
        }))
    }),
    ("chain behind a cycle", |n| {
        let chain = joined(n, |ix| {
            clido_task(&format!("t{ix}"), &format!("\"t{}\"", ix.max(1) - 1))
        });
        clido_of(&chain)
    }),
    ("done before its dependency", |n| {
        clido_of(&joined(n, |ix| {
            let task = clido_task(
                &format!("t{ix}"),
                &if ix == 0 { String::new() } else { "\"t0\"".to_owned() },
            );
            if ix == 0 {
                task
            } else {
                task.replacen("\"description\"", "\"status\": \"done\", \"description\"", 1)
            }
        }))
    }),
    ("duplicate keys", |n| {
        format!(
            "{{\"goal\": \"x\", {}, \"tasks\": []}}",
            joined(n, |_| "\"k\": 1".to_owned())
        )
    }),
    ("members of one object", |n| {
        format!(
            "{{\"goal\": \"x\", {}, \"tasks\": []}}",
            joined(n, |ix| format!("\"k{ix}\": 1"))
        )
    }),
    ("levels of nesting", |n| {
        format!(
            "{{\"goal\": \"x\", \"deep\": {}{}, \"tasks\": []}}",
            "[".repeat(n),
            "]".repeat(n)
        )
    }),
    ("unclosed brackets", |n| {
        format!("{{\"goal\": \"x\", \"tasks\": {}", "[{\"a\":".repeat(n))
    }),
    ("commas too many", |n| {
        clido_of(&joined(n, |ix| format!("{},", clido_task(&format!("t{ix}"), ""))))
    }),
    ("characters of one string", |n| {
        clido_of(&clido_task("t1", "").replace("\"x\"", &format!("\"{}\"", "é\\n".repeat(n))))
    }),
    ("fences", |n| {
        format!(
            "Here it is:\n{}\n{{\"goal\": \"x\", \"tasks\": []}}\n",
            "```\ntext\n```\n".repeat(n)
        )
    }),
    ("yaml aliases", |n| {
        let mut text = String::from("id: a\ntask: x\nsteps:\n  - &s {index: 0, description: x, status: pending}\n");
        for _ in 1..n {
            text.push_str("  - *s\n");
        }
        text
    }),
    ("yaml levels of nesting", |n| {
        format!("id: a\ntask: x\nsteps: {}\n", "[".repeat(n))
    }),
    ("yaml block levels", |n| {
        format!("id: a\ntask: x\nsteps:\n  {}x\n", "- ".repeat(n))
    }),
    ("yaml duplicate keys", |n| {
        format!("id: a\ntask: x\nsteps: []\n{}", "k: 1\n".repeat(n))
    }),
    ("yaml comment lines", |n| {
        format!("id: a\ntask: x\n{}steps: []\n", "# remark\n".repeat(n))
    }),
    ("yaml lines of one scalar", |n| {
        format!("id: a\ntask: |\n{}steps: []\n", "  text\n".repeat(n))
    }),
];
