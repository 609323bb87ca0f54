//! Valid plans of every dialect and form, with a placeholder for one word in each text field, from the testkit's samples.

use std::path::Path;
use std::sync::LazyLock;

use planwright_core::dialect::{Choice, Dialect, DiskFacts};
use planwright_testkit::samples::{DialectSample, samples};

/// The placeholder of the word.
const PLACE: &str = "%WORD%";

/// A plan with placeholders for a word.
pub(super) struct PlanTemplate {
    dialect: &'static dyn Dialect,
    /// The path where its tool would store it.
    pub(super) path: &'static str,
    template: &'static str,
    encode: fn(&str) -> String,
    /// A part of the text, and a replacement that causes a finding with a safe fix.
    defect: (&'static str, &'static str),
}

impl PlanTemplate {
    pub(super) fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    /// Returns the plan with a word in all placeholders.
    pub(super) fn text(&self, word: &str) -> String {
        self.template.replace(PLACE, &(self.encode)(word))
    }

    /// Returns such a plan with a finding that a safe fix removes.
    pub(super) fn defective(&self, word: &str) -> String {
        let (part, defect) = self.defect;
        self.template
            .replacen(part, defect, 1)
            .replace(PLACE, &(self.encode)(word))
    }

    pub(super) fn with_choice<T>(&self, run: impl FnOnce(&Choice<'_>) -> T) -> T {
        let facts = DiskFacts::default();
        run(&Choice {
            path: Some(self.path),
            ..Choice::by_content(&facts)
        })
    }
}

/// Returns a word in the form for a JSON string.
fn in_json(word: &str) -> String {
    let quoted = serde_json::to_string(word).expect("a string");
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns a word in the form for double quotes of YAML, which need more escapes.
fn in_yaml(word: &str) -> String {
    let is_odd = |c: &char| {
        matches!(
            c,
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
    };
    let escaped = in_json(word);
    let chars = escaped.chars().map(|c| match is_odd(&c) {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    });
    chars.collect()
}

/// Returns a word in the form for JSON in a fence, which three backticks would close.
fn in_fence(word: &str) -> String {
    in_json(word).replace('`', "\\u0060")
}

/// Returns how a file holds words in double quotes, by its extension. Markdown holds JSON in fences.
fn encoding(path: &str) -> fn(&str) -> String {
    match Path::new(path).extension().and_then(|extension| extension.to_str()) {
        Some("yaml") => in_yaml,
        Some("md") => in_fence,
        _ => in_json,
    }
}

pub(super) static BASES: LazyLock<Vec<PlanTemplate>> = LazyLock::new(|| {
    let of_sample = |sample: DialectSample| {
        let templates = sample.words.into_iter();
        templates.map(move |words| PlanTemplate {
            dialect: sample.dialect,
            path: words.path,
            template: words.template,
            encode: encoding(words.path),
            defect: words.defect,
        })
    };
    samples().into_iter().flat_map(of_sample).collect()
});

#[cfg(test)]
mod tests {
    use planwright_core::dialect::DIALECTS;

    use super::BASES;

    #[test]
    fn every_dialect_has_a_base() {
        for dialect in DIALECTS {
            let has_base = BASES.iter().any(|base| base.dialect() == *dialect);
            assert!(has_base, "add a plan of {} to its `words`", dialect.name());
        }
    }
}
