//! From a text to a plan: first the carrier of its extension, then the whole text, and a fragment of it last. Also what a fix may remove.

use planwright_core::change::{Open, transition};
use planwright_core::diagnostic::{Safety, Severity};
use planwright_core::dialect::{CarrierKind, Choice, DiskFacts, recognise};
use planwright_core::edit::VerbRequest;
use planwright_core::fix::fix;
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::plan::Verb;
use planwright_core::text::SourceText;

use crate::fixtures::{fixtures, with_choice};

/// Text as agents print it: a fence with another plan in it.
const FENCED: &str =
    "Done:\n```json\n{\"goal\": \"g\", \"tasks\": [{\"id\": \"t1\", \"description\": \"d\"}]}\n```\nBye";

fn inspected(text: &str, path: Option<&str>) -> Inspection {
    let facts = DiskFacts::default();
    let choice = Choice {
        path,
        ..Choice::by_content(&facts)
    };
    inspect(&SourceText::new(text), &choice)
}

fn fixed(text: &str, path: Option<&str>, safety: Safety) -> String {
    let facts = DiskFacts::default();
    let choice = Choice {
        path,
        ..Choice::by_content(&facts)
    };
    fix(&SourceText::new(text), &choice, safety).source.as_str().to_owned()
}

/// Returns a rawko plan whose step has an output, with a header and each line indented as a literal block.
fn rawko(output: &str) -> String {
    let indent = |text: &str| text.lines().map(|line| format!("      {line}\n")).collect::<String>();
    format!(
        "id: plan-cellar\ntask: Tidy the cellar\nstatus: in_progress\nsteps:\n  - index: 0\n    description: Sweep\n    \
         status: complete\n    output: |\n{}  - index: 1\n    description: Paint\n    status: pending\n    \
         dependsOn: [0]\ncurrentStepIndex: 1\ncreatedAt: \"2026-05-01T08:00:00Z\"\nupdatedAt: \
         \"2026-05-01T08:00:00Z\"\ncreatedBy: planner\nversion: 1\n",
        indent(output)
    )
}

#[track_caller]
fn check_whole(text: &str, path: Option<&str>, dialect: &str, n_tasks: usize) {
    let inspection = inspected(text, path);
    assert_eq!(
        inspection.dialect_name(),
        Some(dialect),
        "{path:?}: {:?}",
        inspection.diagnostics
    );
    assert_eq!(inspection.count(Severity::Error), 0, "{:?}", inspection.diagnostics);
    let n_read = inspection.plan.map_or(0, |linked| linked.plan.tasks().len());
    assert_eq!(n_read, n_tasks, "{path:?}");
    assert_eq!(recognise(&SourceText::new(text), path), Some(dialect), "{path:?}");
    for safety in [Safety::Safe, Safety::Unsafe] {
        assert_eq!(
            fixed(text, path, safety),
            text,
            "{safety:?} fixes with the path {path:?}"
        );
    }
}

#[test]
fn a_yaml_plan_with_a_fence_in_it_is_read_as_yaml() {
    let outputs = [
        FENCED,
        "```\n{\n```",
        "``` {",
        "```json\n{\"plan\": 1}\n```",
        "## Task Pack Contract\n```json\n{}\n```",
    ];
    for output in outputs {
        for path in [
            Some(".rawko/plans/plan-cellar.yaml"),
            Some("plan-cellar.yml"),
            Some("plan-cellar"),
            None,
        ] {
            check_whole(&rawko(output), path, "rawko", 2);
        }
    }
}

#[test]
fn a_yaml_plan_in_quotes_with_a_fence_in_it_is_read_as_yaml() {
    let quoted = rawko("x").replace(
        "output: |\n      x\n",
        "output: \"```json\\n{\\\"goal\\\": 1}\\n```\"\n",
    );
    assert!(quoted.contains("```json"));
    check_whole(&quoted, Some("plan-cellar.yaml"), "rawko", 2);
    check_whole(&quoted, None, "rawko", 2);
}

#[test]
fn a_yaml_plan_with_the_heading_of_a_pack_as_a_comment_is_read_as_yaml() {
    let text = rawko("swept").replace("steps:\n", "## Task Pack Contract\nsteps:\n");
    check_whole(&text, Some("plan-cellar.yaml"), "rawko", 2);
    check_whole(&text, None, "rawko", 2);
}

#[test]
fn a_broken_yaml_plan_is_not_taken_for_its_fence() {
    let text = rawko(FENCED).replace("task: Tidy the cellar\n", "task: Tidy: the: cellar\n");
    let inspection = inspected(&text, Some("plan-cellar.yaml"));
    assert_eq!(inspection.carrier.map(|(carrier, _)| carrier), Some(CarrierKind::Yaml));
    assert!(inspection.count(Severity::Error) > 0);
    let after = fixed(&text, Some("plan-cellar.yaml"), Safety::Safe);
    assert!(after.contains("Done:") && after.contains("Paint"), "{after}");
}

#[test]
fn a_json_plan_with_fences_and_markdown_in_it_is_read_as_json() {
    let said = FENCED.replace('"', "\\\"").replace('\n', "\\n");
    let text = format!(
        "{{\"goal\": \"g\", \"tasks\": [{{\"id\": \"t1\", \"description\": \"{said}\"}}, {{\"id\": \"t2\", \"description\": \
         \"---\\ntype: task-pack\\n---\\n## Task Pack Contract\\n\"}}]}}\n"
    );
    for path in [Some("plan.json"), Some("plan.txt"), Some("plan.md"), None] {
        check_whole(&text, path, "clido", 2);
    }
}

#[test]
fn a_pack_with_other_plans_in_its_prose_is_read_as_a_pack() {
    let packs = fixtures("accept");
    let pack = packs
        .iter()
        .find(|fixture| fixture.path.ends_with("task-pack/accept/three-waves.md"))
        .expect("the fixture");
    let text = String::from_utf8(pack.bytes.clone()).expect("UTF-8");
    let (head, tail) = text.split_once("\n## ").expect("a section");
    let others = format!("{FENCED}\n\n```yaml\n{}```\n", rawko(FENCED));
    let text = format!("{head}\n{others}\n## {tail}");
    for path in [Some("docs/tasks/three-waves.md"), None] {
        let inspection = inspected(&text, path);
        assert_eq!(inspection.dialect_name(), Some("task-pack"));
        assert_eq!(
            inspection.carrier.map(|(carrier, _)| carrier),
            Some(CarrierKind::Markdown)
        );
        assert_eq!(fixed(&text, path, Safety::Unsafe), text);
    }
}

/// `check --fix` is what `run` recommends: it must not take prose away.
#[test]
fn prose_around_a_plan_is_removed_on_request_only() {
    let plan = "{\"goal\": \"g\", \"tasks\": [{\"id\": \"t1\", \"description\": \"d\"}]}\n";
    let cases = [
        (format!("Here it is:\n```json\n{plan}```\n"), Safety::Unsafe),
        (format!("Here it is: {plan}"), Safety::Unsafe),
        (format!("\n```json\n{plan}```\n\n"), Safety::Safe),
        (format!("```\n{plan}```\n"), Safety::Safe),
        (format!("✓\n```\n{plan}```\n"), Safety::Unsafe),
    ];
    for (text, needed) in cases {
        let safe = fixed(&text, Some("plan.json"), Safety::Safe);
        assert_eq!(safe == plan, needed == Safety::Safe, "{text}\n---- became\n{safe}");
        assert!(safe == plan || safe == text, "{text}\n---- became\n{safe}");
        assert_eq!(fixed(&text, Some("plan.json"), Safety::Unsafe), plan, "{text}");
    }
}

#[test]
fn a_document_around_a_plan_is_never_removed() {
    let plan = "{\"goal\": \"g\", \"tasks\": [{\"id\": \"t1\", \"description\": \"d\"}]}";
    let page = format!("# Notes\n\nThis is how a plan looks:\n\n```json\n{plan}\n```\n");
    let settings = format!("name: demo\nexample: |\n  ```json\n  {plan}\n  ```\n");
    for (text, path) in [
        (&page, Some("notes.md")),
        (&settings, Some("settings.yaml")),
        (&settings, None),
    ] {
        assert_eq!(fixed(text, path, Safety::Unsafe), *text, "{path:?}");
    }
}

/// Output of an agent is written to the plan: every written text is parsed as the same plan.
#[test]
fn a_plan_stays_a_plan_when_output_with_a_fence_is_written() {
    let facts = DiskFacts::default();
    for path in [Some(".rawko/plans/plan-cellar.yaml"), None] {
        let choice = Choice {
            path,
            ..Choice::by_content(&facts)
        };
        let mut open = Open::new(&SourceText::new(rawko("swept")), &choice);
        for verb in [Verb::Start, Verb::Done] {
            let request = VerbRequest {
                output: Some(FENCED),
                note: Some(FENCED),
                ..VerbRequest::new(verb, "2026-05-02T08:00:00Z")
            };
            let changed = transition(&open, &choice, 1, &request).unwrap_or_else(|problem| panic!("{problem}"));
            open.take(changed);
            let text = open.source().as_str().to_owned();
            check_whole(&text, path, "rawko", 2);
            open = Open::new(&SourceText::new(text), &choice);
        }
        assert!(open.source().as_str().contains("```json"));
    }
}

/// Each safe fix of each fixture: it only removes white space, punctuation, a fence, or text named by its finding.
#[test]
fn safe_fixes_drop_no_content() {
    let mut n_fixes = 0;
    for folder in ["accept", "reject", "fix"] {
        for fixture in fixtures(folder) {
            let source = fixture.source();
            let inspection = with_choice(|choice| inspect(&source, choice));
            for found in &inspection.diagnostics {
                let Some(fix) = found.fix.as_ref().filter(|fix| fix.safety == Safety::Safe) else {
                    continue;
                };
                n_fixes += 1;
                let dropped = found.dropped_content(&source);
                assert_eq!(dropped, None, "{}: {}", fixture.path.display(), fix.title);
            }
        }
    }
    assert!(n_fixes > 60, "only {n_fixes} safe fixes in all fixtures");
}
