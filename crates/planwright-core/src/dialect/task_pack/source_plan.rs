//! The parts of a source plan that deriving needs: identity, sections, units, requirements. Follows line rules, and does not
//! judge the plan.

use std::collections::HashSet;

use super::super::writer::one_line;
use super::PACK_HOME;
use super::hash::{PlanHash, plan_hash};
use crate::document::markdown::{Markdown, fence_mark};
use crate::text::SourceText;

/// The limit of anchors of a kind: a plan with more is of another kind.
const MAX_ANCHORS: usize = 2_000;

/// The widest range of requirements in one line, like `R1–R20`.
const MAX_RANGE: u32 = 1_000;

/// A Markdown plan from which tasks are derived.
#[derive(Clone, Debug)]
pub struct SourcePlan {
    /// Its chain in the frontmatter; none if it has none.
    pub spec_id: Option<String>,
    /// Its title: the frontmatter's, otherwise its first heading.
    pub title: Option<String>,
    /// The kind of work, like `feat`.
    pub kind: Option<String>,
    /// Its date.
    pub date: Option<String>,
    /// The canonical hash of its body; none if its frontmatter is not closed.
    pub hash: Option<PlanHash>,
    /// Its sections, in order.
    pub sections: Vec<String>,
    /// Its implementation units, in order.
    pub units: Vec<PlanAnchor>,
    /// Its requirements and acceptance examples, in order.
    pub requirements: Vec<PlanAnchor>,
    /// The lines of its sections about scope.
    pub boundaries: Vec<String>,
    /// The indexes of the sections about scope, or with a part about it.
    pub scope_sections: Vec<usize>,
    words: HashSet<String>,
    ranges: Vec<(String, u32, u32)>,
}

/// A place of a plan that tasks can refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanAnchor {
    /// Its name, like `U1`.
    pub id: String,
    /// Its text, on one line.
    pub title: String,
    /// The index of its section; none before the first.
    pub section: Option<usize>,
}

/// The folder of source plans, from the root of a repository.
pub const SOURCE_HOME: &str = "docs/plans";

/// Returns the default path of the pack of a source plan: `docs/tasks/DATE-NNN-TYPE-NAME-tasks.md`, with a new date.
pub fn pack_place(plan_path: &str, plan: &SourceText, date: &str) -> String {
    let name = plan_path.rsplit('/').next().unwrap_or(plan_path);
    let stem = name.strip_suffix(".md").unwrap_or(name);
    let stem = stem.strip_suffix("-plan").unwrap_or(stem);
    let rest = match leading_date(stem) {
        Some(date) => stem.get(date.len()..).unwrap_or("").trim_start_matches('-').to_owned(),
        None => {
            let kind = SourcePlan::read(plan).kind.unwrap_or_default();
            let is_plain = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase());
            format!("001-{}-{stem}", if is_plain && kind != "plan" { &kind } else { "feat" })
        }
    };
    format!("{PACK_HOME}/{date}-{rest}-tasks.md")
}

/// Returns the date at the start of a file's name.
pub fn leading_date(name: &str) -> Option<&str> {
    let date = name.get(..10)?;
    let is_digit = |ix: &usize| date.as_bytes().get(*ix).is_some_and(u8::is_ascii_digit);
    let is_hyphen = |ix: &usize| date.as_bytes().get(*ix) == Some(&b'-');
    let is_date = [0, 1, 2, 3, 5, 6, 8, 9].iter().all(is_digit) && [4, 7].iter().all(is_hyphen);
    is_date.then_some(date)
}

impl SourcePlan {
    /// Reads a plan.
    pub fn read(source: &SourceText) -> Self {
        let markdown = Markdown::parse(source);
        let filled = |key: &str| {
            let value = markdown.value(key).filter(|value| !value.trim().is_empty());
            value.map(str::to_owned)
        };
        let mut plan = SourcePlan {
            // The check compares it exactly, so it is kept exactly.
            spec_id: markdown.value("spec_id").filter(|id| !id.is_empty()).map(str::to_owned),
            title: filled("title"),
            kind: filled("type"),
            date: filled("date"),
            hash: plan_hash(&markdown),
            sections: Vec::new(),
            units: Vec::new(),
            requirements: Vec::new(),
            boundaries: Vec::new(),
            scope_sections: Vec::new(),
            words: HashSet::new(),
            ranges: Vec::new(),
        };
        plan.read_body(source.slice(markdown.body()));
        plan
    }

    fn read_body(&mut self, body: &str) {
        let mut fence: Option<String> = None;
        let mut boundary: Option<usize> = None;
        for line in body.lines() {
            self.read_words(line);
            let mark = fence_mark(line);
            match (&fence, mark) {
                (None, Some(mark)) => fence = Some(mark.to_owned()),
                (Some(open), Some(mark)) if mark.starts_with(open.as_str()) => fence = None,
                _ => {}
            }
            if fence.is_some() || mark.is_some() {
                continue;
            }
            if let Some((level, title)) = heading(line) {
                if level == 1 && self.title.is_none() {
                    self.title = Some(one_line(title));
                }
                if level == 2 {
                    self.sections.push(one_line(title));
                }
                // Headings below one about scope also concern scope.
                if boundary.is_none_or(|above| level <= above) {
                    boundary = is_about_scope(level, title).then_some(level);
                    let section = self.sections.len().checked_sub(1);
                    self.scope_sections.extend(section.filter(|_| boundary.is_some()));
                }
            } else if boundary.is_some() {
                self.read_boundary(line);
            }
            self.read_anchor(line);
        }
    }

    /// Reads the items of a list about scope.
    fn read_boundary(&mut self, line: &str) {
        let item = line.trim_start().strip_prefix(['-', '*', '+']);
        let item = item.and_then(|item| item.strip_prefix([' ', '\t'])).map(str::trim);
        if let Some(item) = item.filter(|item| !item.is_empty() && self.boundaries.len() < MAX_ANCHORS) {
            self.boundaries.push(one_line(item));
        }
    }

    /// Reads a line that begins with the name of a unit or a requirement.
    fn read_anchor(&mut self, line: &str) {
        let Some((id, title)) = anchor_of(line) else {
            return;
        };
        let prefix = id.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
        let list = match prefix {
            "U" | "IU" | "Unit" => &mut self.units,
            "R" | "AE" | "AC" | "FR" | "NFR" => &mut self.requirements,
            _ => return,
        };
        if list.len() < MAX_ANCHORS && !list.iter().any(|known| known.id == id) {
            list.push(PlanAnchor {
                id: id.to_owned(),
                title: one_line(title),
                section: self.sections.len().checked_sub(1),
            });
        }
    }

    fn read_words(&mut self, line: &str) {
        for word in line.split(|c: char| !is_word_part(c)).filter(|word| !word.is_empty()) {
            for part in [word, word.trim_matches(['-', '.', '_'])] {
                if !part.is_empty() && !self.words.contains(part) {
                    self.words.insert(part.to_owned());
                }
            }
            // Scripts without spaces join words: the letters before them are a word, too.
            let ascii = word.split(|c: char| !c.is_ascii()).filter(|part| !part.is_empty());
            for part in ascii.flat_map(|part| [part, part.trim_matches(['-', '.', '_'])]) {
                if part.len() < word.len() && !part.is_empty() {
                    self.words.insert(part.to_owned());
                }
            }
        }
        self.read_ranges(line);
    }

    /// Records a range such as `R1–R20`.
    fn read_ranges(&mut self, line: &str) {
        let numbered = |word: &str| -> Option<(String, u32)> {
            let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
            let is_stem = stem.chars().all(|c| c.is_ascii_uppercase());
            let number = word.get(stem.len()..)?.parse().ok()?;
            is_stem.then(|| (stem.to_owned(), number))
        };
        for mark in ['–', '—', '-', '~', '～', '至', '到'] {
            for (at, _) in line.match_indices(mark) {
                let before = line[..at].trim_end();
                let from = before.rfind(|c: char| !c.is_ascii_alphanumeric());
                let first =
                    &before[from.map_or(0, |from| from + before[from..].chars().next().map_or(1, char::len_utf8))..];
                let after = line[at + mark.len_utf8()..].trim_start();
                let to = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
                let (Some((stem, first)), Some((other, last))) = (numbered(first), numbered(&after[..to])) else {
                    continue;
                };
                let is_same = stem == other || other.is_empty();
                let is_range = !stem.is_empty() && first < last && last - first <= MAX_RANGE;
                if is_same && is_range && self.ranges.len() < MAX_ANCHORS {
                    self.ranges.push((stem, first, last));
                }
            }
        }
    }

    /// Returns whether the plan contains a task's reference: its name, or all of its words.
    pub fn names(&self, reference: &str) -> bool {
        let reference = reference.trim();
        let mut words = reference
            .split(|c: char| !is_word_part(c))
            .filter(|word| !word.is_empty())
            .peekable();
        words.peek().is_some() && words.all(|word| self.words.contains(word) || self.is_in_range(word))
    }

    fn is_in_range(&self, word: &str) -> bool {
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: Option<u32> = word.get(stem.len()..).and_then(|digits| digits.parse().ok());
        let is_in = |(own, first, last): &(String, u32, u32)| {
            own == stem && number.is_some_and(|number| (*first..=*last).contains(&number))
        };
        self.ranges.iter().any(is_in)
    }

    /// Returns the unit or requirement with a name.
    pub fn anchor(&self, id: &str) -> Option<&PlanAnchor> {
        self.units
            .iter()
            .chain(&self.requirements)
            .find(|anchor| anchor.id == id)
    }
}

fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Returns whether a section's title concerns scope. Deeper headings count only if they have no other subject.
fn is_about_scope(level: usize, title: &str) -> bool {
    let title = title.to_lowercase();
    let title = title.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
    let words = [
        "scope",
        "boundar",
        "non-goal",
        "non goal",
        "out of scope",
        "边界",
        "非目标",
        "范围",
    ];
    words.iter().any(|word| match level {
        1 | 2 => title.contains(word),
        _ => title.starts_with(word),
    })
}

/// Returns the level and the title of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let title = rest.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && rest.starts_with([' ', '\t'])).then_some((level, title))
}

/// Returns the name at the start of a heading, an item, a row of a table or a bold line, and the rest.
fn anchor_of(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start();
    let start = text.trim_start_matches(['#', '-', '*', '+', '|', ' ', '\t', '`', '[', ']', '_', 'x']);
    if start.len() == text.len() {
        return None;
    }
    let end = start
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .unwrap_or(start.len());
    let id = start[..end].trim_end_matches('-');
    let letters = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = letters.trim_end_matches('-');
    let has_number = letters.len() < id.len();
    let is_stem = (1..=4).contains(&stem.len()) && stem.chars().all(|c| c.is_ascii_uppercase());
    let title =
        start[id.len()..].trim_matches(['.', ':', '*', '`', '|', ']', ' ', '\t', '—', '–', '-', '：', '、', ')']);
    (has_number && is_stem).then_some((id, title))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "---\ntitle: \"Photos\"\ntype: feat\nspec_id: 2026-05-11-004-photos\n---\n\n# Import photos\n\n\
        ## Requirements\n\n- R1. One reader.\n- **R2**: Two cards.\n| AE1 | A card is read |\n- R4–R6 are old\n\n\
        ## Scope Boundaries\n\n- No video.\n\n### Deferred\n\n- Sound.\n\n---\n\n## Implementation Units\n\n\
        ### U1. Core types\n\n- R1 first\n\nSee R9.\n\n### U3. Module boundaries\n\n- **Goal:** x\n\n\
        - U2. **Reader**\n\n```md\n### U7. Not a unit\n```\n";

    fn ids(anchors: &[PlanAnchor]) -> Vec<&str> {
        anchors.iter().map(|anchor| anchor.id.as_str()).collect()
    }

    #[test]
    fn units_requirements_and_boundaries_are_found_where_they_are_defined() {
        let plan = SourcePlan::read(&SourceText::new(PLAN));
        assert_eq!(plan.spec_id.as_deref(), Some("2026-05-11-004-photos"));
        assert_eq!(plan.title.as_deref(), Some("Photos"));
        assert_eq!(
            plan.sections,
            ["Requirements", "Scope Boundaries", "Implementation Units"]
        );
        assert_eq!(ids(&plan.units), ["U1", "U3", "U2"]);
        assert_eq!(ids(&plan.requirements), ["R1", "R2", "AE1", "R4"]);
        assert_eq!(plan.boundaries, ["No video.", "Sound."]);
        assert_eq!(plan.anchor("U1").map(|unit| unit.title.as_str()), Some("Core types"));
        assert_eq!(plan.anchor("U2").and_then(|unit| unit.section), Some(2));
    }

    #[test]
    fn a_plan_defines_its_ids_and_those_of_its_ranges() {
        let plan = SourcePlan::read(&SourceText::new(PLAN));
        for known in ["U1", "R2", "AE1", "R5", "R9", "Scope Boundaries", " R1 "] {
            assert!(plan.names(known), "{known}");
        }
        for unknown in ["U4", "R7", "R", "", "…", "R1000", "Scope Creep"] {
            assert!(!plan.names(unknown), "{unknown}");
        }
    }

    #[test]
    fn any_text_is_read() {
        for text in [
            "",
            "---",
            "---\n",
            "# ",
            "##",
            "- ",
            "|",
            "```",
            "R1–",
            "–R1",
            "R1–R99999999999",
            "é–R2",
            "R1至R3",
        ] {
            SourcePlan::read(&SourceText::new(text));
        }
        assert!(SourcePlan::read(&SourceText::new("R1至R3")).names("R2"));
    }
}
