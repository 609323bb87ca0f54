//! Runs the fixtures of every dialect: plans to accept, findings to report, fixes to apply.
//!
//! `fixtures/<dialect>/accept/NAME.ext` has no error and no warning. `reject/NAME.ext` has exactly the findings
//! in `NAME.expect`. `fix/NAME.ext` becomes `NAME.after` by safe fixes. `edit/NAME.ext` becomes `NAME.after` by the
//! patches in `NAME.patch` (see [`crate::patches`]), or is refused with the words there. Set `PLANWRIGHT_BLESS=1` to write what is
//! found as what is expected, then read the difference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use planwright_core::diagnostic::{Safety, Severity};
use planwright_core::dialect::{Choice, DIALECTS, DiskFacts, DiskLookup, Questions, SourcePlanLookup};
use planwright_core::fix::fix;
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::text::SourceText;

/// The result of running all fixtures.
#[derive(Default)]
pub struct ConformanceReport {
    /// The failures, one line or more each.
    pub failures: Vec<String>,
    /// Rules that some fixture triggers.
    pub triggered: BTreeSet<&'static str>,
    /// How many fixtures ran.
    pub n_fixtures: usize,
}

/// Runs every fixture below a folder with one folder per dialect.
pub fn run(root: &Path) -> ConformanceReport {
    let mut outcome = ConformanceReport::default();
    for dialect in DIALECTS {
        let folder = root.join(dialect.name());
        if !folder.is_dir() {
            outcome.failures.push(format!("{} has no fixtures", dialect.name()));
            continue;
        }
        for (kind, check) in [
            ("accept", accept as FixtureCheck),
            ("reject", reject),
            ("fix", fixed),
            ("edit", edited),
        ] {
            for path in files_of(&folder.join(kind), &mut outcome) {
                let case = FixtureCase::load(&path, &folder, dialect.name());
                check(&case, &mut outcome);
                outcome.n_fixtures += 1;
            }
        }
        find_orphans(&folder, &mut outcome);
    }
    outcome
}

type FixtureCheck = fn(&FixtureCase, &mut ConformanceReport);

struct FixtureCase {
    path: PathBuf,
    name: String,
    dialect: &'static str,
    source: SourceText,
    facts: DiskFacts,
}

impl FixtureCase {
    fn load(path: &Path, repository: &Path, dialect: &'static str) -> Self {
        let source = SourceText::from_bytes(std::fs::read(path).unwrap_or_default());
        let name = path.to_string_lossy().replace('\\', "/");
        let mut case = FixtureCase {
            path: path.to_owned(),
            name,
            dialect,
            source,
            facts: DiskFacts::default(),
        };
        let questions = case.inspect().questions;
        if !questions.is_empty() {
            case.facts = look_up(&questions, repository);
        }
        let beside = DIALECTS
            .iter()
            .find_map(|dialect| dialect.pointer()?.neighbours(&case.name));
        case.facts.neighbours = beside.map(|folder| names_in(&repository.join(folder)));
        case
    }

    fn choice(&self) -> Choice<'_> {
        Choice {
            path: Some(&self.name),
            ..Choice::by_content(&self.facts)
        }
    }

    fn inspect(&self) -> Inspection {
        inspect(&self.source, &self.choice())
    }

    fn fail(&self, outcome: &mut ConformanceReport, what: &str) {
        outcome.failures.push(format!("{}: {what}", self.path.display()));
    }
}

fn look_up(questions: &Questions, repository: &Path) -> DiskFacts {
    let source_plan = match &questions.source_plan {
        Some(path) => std::fs::read(repository.join(path)).map_or(SourcePlanLookup::Missing, SourcePlanLookup::Bytes),
        None => SourcePlanLookup::Missing,
    };
    DiskFacts {
        order: None,
        looked: DiskLookup::Done,
        source_plan,
        directories: questions
            .files
            .iter()
            .filter(|file| repository.join(file).is_dir())
            .cloned()
            .collect(),
        neighbours: None,
    }
}

/// Returns the names of the files in a folder. Fixtures of all kinds share the folders of their dialect.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Returns the fixtures of a folder, without the files with the expectations.
fn files_of(folder: &Path, outcome: &mut ConformanceReport) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        outcome.failures.push(format!("{} is missing", folder.display()));
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| !matches!(extension(path), "expect" | "after" | "patch"));
    files.sort();
    files
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or("")
}

fn accept(case: &FixtureCase, outcome: &mut ConformanceReport) {
    let inspection = case.inspect();
    outcome
        .triggered
        .extend(inspection.diagnostics.iter().map(|found| found.rule.id));
    if inspection.dialect_name() != Some(case.dialect) {
        case.fail(outcome, &format!("read as {:?}", inspection.dialect));
    }
    if inspection.count(Severity::Warning) > 0 {
        case.fail(outcome, &format!("must be accepted, but:\n{}", listing(&inspection)));
    }
}

fn reject(case: &FixtureCase, outcome: &mut ConformanceReport) {
    let inspection = case.inspect();
    outcome
        .triggered
        .extend(inspection.diagnostics.iter().map(|found| found.rule.id));
    if inspection.diagnostics.is_empty() {
        case.fail(outcome, "nothing is wrong with it");
    }
    compare(case, "expect", &listing(&inspection), outcome);
}

fn fixed(case: &FixtureCase, outcome: &mut ConformanceReport) {
    let fixed = fix(&case.source, &case.choice(), Safety::Safe);
    if fixed.applied.is_empty() && fixed.source.as_str() != case.source.as_str() {
        case.fail(outcome, "it changed although no fix applies to it");
    }
    let again = fix(&fixed.source, &case.choice(), Safety::Safe);
    if !again.applied.is_empty() {
        case.fail(outcome, "fixing it twice changes it twice");
    }
    compare(case, "after", fixed.source.as_str(), outcome);
}

fn edited(case: &FixtureCase, outcome: &mut ConformanceReport) {
    let patches = match std::fs::read_to_string(case.path.with_extension("patch")) {
        Ok(text) => text,
        Err(error) => return case.fail(outcome, &format!("its patches cannot be read: {error}")),
    };
    match crate::patches::apply(&case.source, &case.inspect(), &patches) {
        Ok(after) => compare(case, "after", &after, outcome),
        Err(problem) => case.fail(outcome, &problem),
    }
}

/// Compares with the file next to the fixture, or writes it with `PLANWRIGHT_BLESS`.
fn compare(case: &FixtureCase, extension: &str, found: &str, outcome: &mut ConformanceReport) {
    let beside = case.path.with_extension(extension);
    if std::env::var_os("PLANWRIGHT_BLESS").is_some() {
        if let Err(error) = std::fs::write(&beside, found) {
            case.fail(outcome, &error.to_string());
        }
        return;
    }
    match std::fs::read_to_string(&beside) {
        Ok(expected) if expected == found => {}
        Ok(expected) => case.fail(outcome, &format!("expected\n{expected}\nfound\n{found}")),
        Err(_) => case.fail(outcome, &format!("{} is missing; found\n{found}", beside.display())),
    }
}

/// Returns one line per finding: severity, id, place, message; help and fix below it.
pub fn listing(inspection: &Inspection) -> String {
    let index = inspection.source.line_index();
    let mut out = String::new();
    for found in &inspection.diagnostics {
        let place = found.span.map_or("-".to_owned(), |span| {
            let (start, end) = (index.position(span.start), index.position(span.end));
            format!("{}:{}-{}:{}", start.line, start.column, end.line, end.column)
        });
        out.push_str(&format!(
            "{} {} {place} {}\n",
            found.severity.as_str(),
            found.rule.id,
            found.message
        ));
        for related in &found.related {
            let at = index.position(related.span.start);
            out.push_str(&format!("  at {}:{} {}\n", at.line, at.column, related.message));
        }
        if !found.help.is_empty() {
            out.push_str(&format!("  help {}\n", found.help));
        }
        if let Some(fix) = &found.fix {
            let safety = if fix.safety == Safety::Safe { "safe" } else { "unsafe" };
            out.push_str(&format!("  fix ({safety}) {}\n", fix.title));
        }
    }
    out
}

/// Reports files that no fixture uses.
fn find_orphans(folder: &Path, outcome: &mut ConformanceReport) {
    let kinds: [(&str, &[&str]); 4] = [
        ("accept", &[]),
        ("reject", &["expect"]),
        ("fix", &["after"]),
        ("edit", &["after", "patch"]),
    ];
    for (kind, extras) in kinds {
        let Ok(entries) = std::fs::read_dir(folder.join(kind)) else {
            continue;
        };
        let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        for path in files
            .iter()
            .filter(|path| matches!(extension(path), "expect" | "after" | "patch"))
        {
            let is_owner = |other: &&PathBuf| {
                other.file_stem() == path.file_stem() && !matches!(extension(other), "expect" | "after" | "patch")
            };
            if !extras.contains(&extension(path)) || !files.iter().any(|other| is_owner(&other)) {
                outcome
                    .failures
                    .push(format!("{} belongs to no fixture", path.display()));
            }
        }
    }
    let known = ["accept", "reject", "fix", "edit", "plans"];
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if !known.contains(&&*entry.file_name().to_string_lossy()) {
            outcome
                .failures
                .push(format!("{} is not a folder of fixtures", entry.path().display()));
        }
    }
}
