//! Valid plans of every dialect and form, with a placeholder for one word in each text field.

use planwright_core::dialect::{Choice, Dialect, DiskFacts, find};

/// The placeholder of the word.
const PLACE: &str = "%WORD%";

/// A plan with placeholders for a word.
pub(super) struct PlanTemplate {
    dialect: &'static str,
    /// The path where its tool would store it.
    pub(super) path: &'static str,
    template: &'static str,
    encode: fn(&str) -> String,
    /// A part of the text, and a replacement that causes a finding with a safe fix.
    defect: (&'static str, &'static str),
}

impl PlanTemplate {
    pub(super) fn dialect(&self) -> &'static dyn Dialect {
        find(self.dialect).expect("a known dialect")
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

pub(super) const BASES: &[PlanTemplate] = &[
    PlanTemplate {
        dialect: "rawko",
        path: ".rawko/plans/plan-words.yaml",
        template: include_str!("rawko-quoted.yaml"),
        encode: in_yaml,
        defect: ("version: 1\n", "version: \"1\"\n"),
    },
    PlanTemplate {
        dialect: "rawko",
        path: ".rawko/plans/plan-words.yaml",
        template: include_str!("rawko-plain.yaml"),
        encode: in_yaml,
        defect: ("version: 1\n", "version: \"1\"\n"),
    },
    PlanTemplate {
        dialect: "rawko",
        path: "plan-words.json",
        template: include_str!("rawko.json"),
        encode: in_json,
        defect: ("\"version\": 1", "\"version\": \"1\""),
    },
    PlanTemplate {
        dialect: "clido",
        path: ".clido/plans/plan-words.json",
        template: include_str!("clido-saved.json"),
        encode: in_json,
        defect: ("\"depends_on\"", "\"dependsOn\""),
    },
    PlanTemplate {
        dialect: "clido",
        path: "plan-words.json",
        template: include_str!("clido-flat.json"),
        encode: in_json,
        defect: ("\"goal\":", "goal:"),
    },
    PlanTemplate {
        dialect: "opencrabs",
        path: "plan-words.json",
        template: include_str!("opencrabs.json"),
        encode: in_json,
        defect: ("\"status\": \"Draft\"", "\"status\": \"draft\""),
    },
    PlanTemplate {
        dialect: "aimi",
        path: "docs/tasks/2026-03-03-words-tasks.json",
        template: include_str!("aimi-3.json"),
        encode: in_json,
        defect: ("\"schemaVersion\": \"3.0\"", "\"schemaVersion\": 3"),
    },
    PlanTemplate {
        dialect: "aimi",
        path: "docs/tasks/2026-03-03-words-tasks.json",
        template: include_str!("aimi-2.json"),
        encode: in_json,
        defect: ("\"passes\": false", "\"passes\": \"false\""),
    },
    PlanTemplate {
        dialect: "task-pack",
        path: "docs/tasks/2026-05-11-001-feat-words-tasks.md",
        template: include_str!("task-pack.md"),
        encode: in_fence,
        defect: (
            "\"wave\": 2, \"tasks\": [\"T002\"] }",
            "\"wave\": 2, \"tasks\": [\"T002\"], }",
        ),
    },
];

#[cfg(test)]
mod tests {
    use planwright_core::dialect::DIALECTS;

    use super::BASES;

    #[test]
    fn every_dialect_has_a_base() {
        for dialect in DIALECTS {
            let has_base = BASES.iter().any(|base| base.dialect == dialect.name());
            assert!(has_base, "add a plan of {} to `strings`", dialect.name());
        }
    }
}
