//! Generates pages of `docs/` from the code.

use planwright::core::diagnostic::{Rule, TOO_MANY_FINDINGS};
use planwright::core::dialect::DIALECTS;
use planwright::core::planning::derive::{self, drift};
use planwright::core::{check, convert, dialect, document, outline, planning};
use planwright_testkit::module_headers;

/// Writes the generated pages.
pub(crate) fn write() -> anyhow::Result<()> {
    for (name, text) in pages()? {
        std::fs::write(planwright_testkit::repository().join(name), text)?;
    }
    Ok(())
}

/// Returns the generated pages, each with its path.
fn pages() -> anyhow::Result<[(&'static str, String); 2]> {
    Ok([
        ("docs/diagnostics.md", diagnostics()),
        ("docs/modules.md", module_headers::modules_page()?),
    ])
}

/// Returns the page of all findings, one heading per id.
fn diagnostics() -> String {
    let mut out = String::from(
        "# Findings\n\n\
         After reading a section of this page you can fix the finding that it explains: each has a wrong and a right example.\n\n\
         Every finding of `planwright check` has an id that does not change. `planwright check --explain ID` prints the same\n\
         text. `cargo xtask docs` writes this page.\n\n\
         An **error** breaks a rule of the dialect and fails the check; a **warning** is probably a mistake and fails it with\n\
         `--deny warnings`; a **note** never does. Some findings have another severity in certain places; their text names it.\n",
    );
    section(&mut out, "Tasks and their graph", check::rules::ALL);
    section(
        &mut out,
        "Fields, dialects, habits of language models",
        dialect::rules::ALL,
    );
    let text_rules: Vec<&Rule> = document::rules::ALL
        .iter()
        .copied()
        .chain([&TOO_MANY_FINDINGS])
        .collect();
    section(&mut out, "The text itself", &text_rules);
    section(&mut out, "The file", planwright::run::store::rules::ALL);
    section(&mut out, "The configuration", planwright::run::config::rules::ALL);
    section(&mut out, "Conversion, import, migration", convert::rules::ALL);
    section(&mut out, "Plans read out of answers", outline::rules::ALL);
    section(&mut out, "Planning", planning::rules::ALL);
    let pack_rules: Vec<&Rule> = drift::ALL.iter().chain(derive::rules::ALL).copied().collect();
    section(&mut out, "Task packs: deriving and cards", &pack_rules);
    for dialect in DIALECTS {
        if !dialect.rules().is_empty() {
            section(&mut out, dialect.title(), dialect.rules());
        }
    }
    out
}

fn section(out: &mut String, title: &str, rules: &[&Rule]) {
    out.push_str(&format!("\n## {title}\n"));
    for rule in rules {
        out.push_str(&format!(
            "\n### {}\n\n*{}.* {}\n\n{}\n\nWrong:\n\n````text\n{}\n````\n\nRight:\n\n````text\n{}\n````\n",
            rule.id,
            capitalised(rule.severity.as_str()),
            rule.summary,
            rule.details,
            rule.wrong,
            rule.right
        ));
    }
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_pages_are_current() {
        for (name, text) in pages().expect("the pages") {
            let path = planwright_testkit::repository().join(name);
            let current = std::fs::read_to_string(path).unwrap_or_default();
            assert!(current == text, "{name} is out of date: run `cargo xtask docs`");
        }
    }
}
