//! Damaged fixtures: reading any file never fails, and fixing it never makes it worse. The damage is random but the same in every run; a
//! failing text is reduced before it is shown.

use std::panic::{AssertUnwindSafe, catch_unwind};

use planwright_core::check::rules::ALL as GRAPH;
use planwright_core::diagnostic::{Diagnostic, Safety, Severity};
use planwright_core::dialect::{Choice, DIALECTS};
use planwright_core::fix::fix;
use planwright_core::graph::TaskGraph;
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::plan::{FieldValue, Readiness};
use planwright_core::text::{SourceText, Span};

use crate::fixtures::{Fixture, fixtures, with_choice};
use crate::generate::Chance;

/// How many texts each law is tried on.
const N_CASES: usize = 4_000;

/// How often a failing text is reduced and tried again.
const MAX_CUTS: usize = 1_000;

/// How many kinds of failure are shown.
const MAX_KINDS: usize = 8;

impl Chance {
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let most = if self.below(3) == 0 { len } else { 24 };
        start..(start + self.below(most + 1)).min(len)
    }
}

/// Pieces with a meaning in one of the parsers.
const PIECES: &[&str] = &[
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\\u",
    "\\ud800",
    "\\u0000",
    "\0",
    "\r",
    "\n",
    "\r\n",
    "\t",
    "  ",
    "---\n",
    "...\n",
    "```",
    "```json\n",
    "\n## Task Pack Contract\n",
    "- ",
    "? ",
    "&a ",
    "*a",
    "<<: ",
    "!!x ",
    "|\n",
    ">-\n",
    "%YAML\n",
    "#",
    "//",
    "/*",
    "null",
    "true",
    "None",
    "-0",
    "01",
    "1e999",
    "9223372036854775808",
    "\u{feff}",
    "\u{2028}",
    "\u{85}",
    "\u{1b}[31m",
    "é",
    "😀",
    "\"id\": ",
    "\"tasks\": ",
    "\"status\": ",
    "dependsOn: ",
];

/// Damages one place.
fn damage(bytes: &mut Vec<u8>, others: &[Fixture], chance: &mut Chance) {
    let at = chance.below(bytes.len() + 1);
    match chance.below(8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
        1 if at < bytes.len() => bytes[at] = chance.below(256) as u8,
        2 => bytes.truncate(at),
        3 => {
            let range = chance.range(bytes.len());
            bytes.drain(range);
        }
        4 => {
            let copy = bytes[chance.range(bytes.len())].to_vec();
            bytes.splice(at..at, copy);
        }
        5 => {
            let other = &others[chance.below(others.len())].bytes;
            let range = chance.range(other.len());
            bytes.splice(at..at, other[range].iter().copied());
        }
        _ => {
            let piece = PIECES[chance.below(PIECES.len())];
            bytes.splice(at..at, piece.bytes());
        }
    }
}

/// Tries a law on damaged fixtures of all dialects.
fn check_law(law: fn(&[u8]) -> Result<(), String>) {
    let mut all = fixtures("accept");
    all.extend(fixtures("reject"));
    all.extend(fixtures("fix"));
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut failures: Vec<(String, String)> = Vec::new();
    for case in 0..N_CASES {
        let fixture = &all[case % all.len()];
        let mut bytes = fixture.bytes.clone();
        // The first time around, the fixtures themselves.
        if case >= all.len() {
            for _ in 0..=chance.below(3) {
                damage(&mut bytes, &all, &mut chance);
            }
        }
        if let Err(what) = attempt(law, &bytes)
            && failures.len() < MAX_KINDS
            && !failures.iter().any(|(known, _)| *known == headline(&what))
        {
            let small = cut_down(law, bytes, &headline(&what));
            let shown = String::from_utf8_lossy(&small).into_owned();
            let why = attempt(law, &small).err().unwrap_or_default();
            failures.push((
                headline(&what),
                format!("{}\n  {why}\n  {shown:?}", fixture.path.display()),
            ));
        }
    }
    let shown: Vec<_> = failures.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        failures.is_empty(),
        "{} kinds of failure:\n{}",
        failures.len(),
        shown.join("\n")
    );
}

/// Runs a law; a panic breaks every law.
fn attempt(law: fn(&[u8]) -> Result<(), String>, bytes: &[u8]) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(|| law(bytes))) {
        Ok(result) => result,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", text.unwrap_or("")))
        }
    }
}

/// Returns what kind of failure it is: the words before the first colon.
fn headline(what: &str) -> String {
    let kind = what.split(": ").take(if what.starts_with("panic") { 2 } else { 1 });
    kind.collect::<Vec<_>>().join(": ").chars().take(60).collect()
}

/// Removes pieces of a failing text as long as it fails in the same way.
fn cut_down(law: fn(&[u8]) -> Result<(), String>, mut bytes: Vec<u8>, kind: &str) -> Vec<u8> {
    let mut width = bytes.len() / 2;
    let mut n_cuts = 0;
    while width > 0 {
        let mut at = 0;
        let mut has_shrunk = false;
        while at < bytes.len() && n_cuts < MAX_CUTS {
            n_cuts += 1;
            let mut smaller = bytes.clone();
            smaller.drain(at..(at + width).min(bytes.len()));
            if attempt(law, &smaller).is_err_and(|what| headline(&what) == kind) {
                bytes = smaller;
                has_shrunk = true;
            } else {
                at += width;
            }
        }
        if !has_shrunk || width > 1 {
            width /= 2;
        }
    }
    bytes
}

fn inspected(bytes: &[u8]) -> Inspection {
    let source = SourceText::from_bytes(bytes.to_vec());
    with_choice(|choice| inspect(&source, choice))
}

fn check_span(text: &str, span: Span, what: &str) -> Result<(), String> {
    match text.get(span.range()) {
        Some(_) => Ok(()),
        None => Err(format!("{what} is not in the text: {span:?} of {}", text.len())),
    }
}

fn check_finding(text: &str, found: &Diagnostic) -> Result<(), String> {
    let id = found.rule.id;
    if let Some(span) = found.span {
        check_span(text, span, &format!("the place of {id}"))?;
    }
    for place in &found.related {
        check_span(text, place.span, &format!("a related place of {id}"))?;
    }
    let mut edits: Vec<Span> = found
        .fix
        .iter()
        .flat_map(|fix| &fix.edits)
        .map(|edit| edit.span)
        .collect();
    edits.sort();
    for edit in &edits {
        check_span(text, *edit, &format!("a fix of {id}"))?;
    }
    if edits.windows(2).any(|pair| pair[0].end > pair[1].start) {
        return Err(format!("the edits of {id} overlap: {edits:?}"));
    }
    if found.message.trim().is_empty() || found.message.contains('\u{1b}') {
        return Err(format!("the message of {id} is not fit to print: {:?}", found.message));
    }
    Ok(())
}

/// Reading: it ends, in every dialect, and every finding has its span in the text.
fn reading_is_sound(bytes: &[u8]) -> Result<(), String> {
    let inspection = inspected(bytes);
    check_inspection(&inspection)?;
    if inspection.dialect.is_none() && inspection.diagnostics.is_empty() {
        return Err("silence: no dialect and no finding".to_owned());
    }
    let source = &inspection.source;
    for forced in DIALECTS {
        let forced = with_choice(|choice| {
            let forced = Some(*forced);
            inspect(source, &Choice { forced, ..*choice })
        });
        check_inspection(&forced)?;
    }
    Ok(())
}

fn check_inspection(inspection: &Inspection) -> Result<(), String> {
    let text = inspection.source.as_str();
    let index = inspection.source.line_index();
    for found in &inspection.diagnostics {
        check_finding(text, found)?;
        if let Some(span) = found.span {
            let (start, end) = (index.position(span.start), index.position(span.end));
            if start.line == 0 || start.column == 0 || (end.line, end.column) < (start.line, start.column) {
                return Err(format!("positions run backwards: {start:?} {end:?}"));
            }
        }
    }
    let Some(linked) = &inspection.plan else {
        return Ok(());
    };
    let plan = &linked.plan;
    for (task_ix, task) in plan.tasks().iter().enumerate() {
        check_span(text, task.span, "a task")?;
        check_span(text, task.status_span, "a status")?;
        check_span(text, plan.name_span(task), "a name")?;
        for dependency in plan.dependencies(task) {
            check_span(text, dependency.span, "a dependency")?;
        }
        for entry in plan.entries(task).iter().chain(plan.head()) {
            check_span(text, plan.span(entry.value), "a field")?;
            if let FieldValue::List(list) = entry.value {
                for &item in plan.items(list) {
                    check_span(text, plan.span(item), "an item")?;
                }
            }
        }
        let _ = (plan.task_name(task_ix), plan.task_title(task));
    }
    let readiness = Readiness::new(plan, &linked.links);
    for task_ix in 0..plan.tasks().len() {
        let _ = readiness.verdict(task_ix);
    }
    let _ = (
        readiness.ready(),
        readiness.free_slots(),
        TaskGraph::new(plan, &linked.links),
    );
    Ok(())
}

/// Fixing: never more errors, nothing to do for a second time, no change without a finding.
fn fixing_is_sound(bytes: &[u8]) -> Result<(), String> {
    let before = inspected(bytes);
    for safety in [Safety::Safe, Safety::Unsafe] {
        let fixed = with_choice(|choice| fix(&before.source, choice, safety));
        let (old, new) = (before.source.as_str(), fixed.source.as_str());
        let may_apply = |found: &&Diagnostic| {
            let fix = found.fix.as_ref();
            fix.is_some_and(|fix| safety == Safety::Unsafe || fix.safety == Safety::Safe)
        };
        if !before.diagnostics.iter().any(|found| may_apply(&found)) && (old != new || !fixed.applied.is_empty()) {
            return Err(format!("{safety:?} fixes out of nothing: {:?}", fixed.applied));
        }
        if fixed.applied.is_empty() != (old == new) {
            return Err(format!("{safety:?} fixes and the text disagree: {:?}", fixed.applied));
        }
        if before.source.damage().is_some() && old != new {
            return Err("a text that is not UTF-8 was changed".to_owned());
        }
        let after = with_choice(|choice| inspect(&fixed.source, choice));
        // Errors of form may not increase. A fix may bring to light that a lost dependency is on an unknown task.
        let of_form = |inspection: &Inspection| {
            let errors = inspection
                .diagnostics
                .iter()
                .filter(|found| found.severity == Severity::Error);
            errors.filter(|found| !GRAPH.contains(&found.rule)).count()
        };
        let (n_before, n_after) = (of_form(&before), of_form(&after));
        if n_after > n_before {
            return Err(format!(
                "{safety:?} fixes made more errors: {n_before} became {n_after}"
            ));
        }
        let again = with_choice(|choice| fix(&fixed.source, choice, safety));
        if again.source.as_str() != new {
            return Err(format!("{safety:?} fixes of the fixed text: {:?}", again.applied));
        }
    }
    Ok(())
}

#[test]
fn any_input_can_be_read() {
    check_law(reading_is_sound);
}

#[test]
fn fixes_add_no_errors() {
    check_law(fixing_is_sound);
}

#[test]
fn a_wrapped_plan_may_be_cut_off_behind_any_character() {
    let whole = "{\"plan\": {\n  \"goal\": \"Gr\u{fc}\u{df}e\", \"tasks\": [\n{\"id\": \"\u{e4}\", \"description\": \"\u{e9}\u{65e5}\"}]}}";
    for (end, _) in whole.char_indices() {
        let cut = &whole[..end];
        let read = attempt(reading_is_sound, cut.as_bytes());
        assert_eq!(read, Ok(()), "{cut:?}");
    }
}

#[test]
fn a_broken_law_is_found_and_minimised() {
    let law = |bytes: &[u8]| match bytes.contains(&b'x') {
        true => Err("an x: there it is".to_owned()),
        false => Ok(()),
    };
    assert_eq!(cut_down(law, b"abc x def".to_vec(), "an x"), b"x");
    let panics = attempt(|_| panic!("for the test: 1"), b"");
    assert_eq!(panics, Err("panic: for the test: 1".to_owned()));
}
