//! The names of tasks without an id: words of their text, and a hash of their headings, groups and text; and the positions of all task
//! lines. A name stays the same wherever the line stands below its heading.

use super::lines::Lines;
use super::task_line::TaggedLine;
use crate::text::SourceText;

/// A name has about this many characters before its hash.
const MAX_CHARS: usize = 32;

/// The names and positions of task lines.
pub(super) struct ChecklistNames {
    names: Vec<String>,
    positions: Vec<String>,
}

impl ChecklistNames {
    /// Names all task lines. Lines with the same headings, groups and text have the same name.
    pub(super) fn of(source: &SourceText, lines: &Lines, found: &[TaggedLine]) -> Self {
        let name = |line: &TaggedLine| match line.tags.id {
            Some(_) => String::new(),
            None => {
                let title = source.slice(line.tags.title);
                let place = place_hash(source, lines, found, line);
                format!(
                    "{}-{:05x}",
                    words(title),
                    (hash(title.as_bytes(), place) ^ (place >> 40)) & 0xf_ffff
                )
            }
        };
        ChecklistNames {
            names: found.iter().map(name).collect(),
            positions: positions(found),
        }
    }

    /// Returns the name of a task line without an id.
    pub(super) fn name(&self, ix: usize) -> &str {
        &self.names[ix]
    }

    /// Returns the position of a task line: `3`, or `2.3` in a group.
    pub(super) fn position(&self, ix: usize) -> &str {
        &self.positions[ix]
    }
}

/// Returns a hash of the headings and groups around a line.
fn place_hash(source: &SourceText, lines: &Lines, found: &[TaggedLine], line: &TaggedLine) -> u64 {
    let mut value = SEED;
    let mut heading = line.item.heading;
    while let Some(own) = heading.and_then(|heading| lines.headings.get(heading)) {
        if own.level > 1 {
            value = hash(source.slice(own.title).as_bytes(), value);
        }
        heading = own.parent;
    }
    let mut around = line.parent;
    while let Some(group) = around.and_then(|parent| found.get(parent)) {
        value = hash(source.slice(group.tags.title).as_bytes(), value ^ 1);
        around = group.parent;
    }
    value
}

fn positions(found: &[TaggedLine]) -> Vec<String> {
    let mut n_children = vec![0usize; found.len()];
    let mut n_top = 0;
    let mut positions: Vec<String> = Vec::with_capacity(found.len());
    for line in found {
        match line.parent {
            Some(parent) => {
                n_children[parent] += 1;
                positions.push(format!("{}.{}", positions[parent], n_children[parent]));
            }
            None => {
                n_top += 1;
                positions.push(n_top.to_string());
            }
        }
    }
    positions
}

/// Returns the first letters and digits of a text in lower case, with hyphens between the words.
fn words(text: &str) -> String {
    let mut out = String::new();
    let mut n_chars = 0;
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let n_word = word.chars().count();
        if n_chars > 0 && n_chars + n_word + 1 > MAX_CHARS {
            break;
        }
        if n_chars > 0 {
            out.push('-');
        }
        out.extend(word.chars().take(MAX_CHARS).flat_map(char::to_lowercase));
        n_chars += n_word + 1;
    }
    match out.is_empty() {
        true => "task".to_owned(),
        false => out,
    }
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn hash(bytes: &[u8], seed: u64) -> u64 {
    bytes.iter().fold(seed, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::checklist::task_line::task_lines;
    use crate::dialect::checklist::variant::Variant;

    fn names_of(text: &str) -> Vec<String> {
        let source = SourceText::new(text);
        let lines = Lines::read(&source);
        let found = task_lines(&source, &lines, Variant::Plain);
        let names = ChecklistNames::of(&source, &lines, &found);
        (0..found.len())
            .map(|ix| format!("{} {}", names.position(ix), names.name(ix)))
            .collect()
    }

    #[test]
    fn names_have_words_of_the_text_and_a_hash() {
        let names = names_of("- [ ] Add the `Store` type\n- [x] 实现环境检测\n- [ ] !\n");
        let begins = ["1 add-the-store-type-", "2 实现环境检测-", "3 task-"];
        assert!(
            names.iter().zip(begins).all(|(name, begin)| name.starts_with(begin)),
            "{names:?}"
        );
        assert!(names.iter().all(|name| name.len() > 7), "{names:?}");
    }

    #[test]
    fn different_places_and_texts_have_different_names() {
        let names =
            names_of("- [ ] Fix C\n- [ ] Fix C++\n- [ ] a\n  - [ ] Fix C\n## A\n- [ ] Fix C\n## B\n- [ ] Fix C\n");
        let mut bare: Vec<&str> = names.iter().filter_map(|name| Some(name.split_once(' ')?.1)).collect();
        bare.sort_unstable();
        bare.dedup();
        assert_eq!(bare.len(), names.len(), "{names:?}");
    }

    #[test]
    fn a_name_does_not_depend_on_other_lines() {
        let name = |text: &str, ix: usize| names_of(text)[ix].split_once(' ').map(|(_, name)| name.to_owned());
        let text = "## A\n- [ ] one\n- [ ] two\n";
        assert_eq!(name(text, 1), name("## A\n- [ ] two\n- [ ] two\n- [ ] one\n", 0));
        assert_ne!(name(text, 1), name("## B\n- [ ] two\n", 0));
    }

    #[test]
    fn positions_count_within_groups() {
        let names = names_of("- [ ] a\n  - [ ] b\n  - [ ] c\n- [ ] d\n");
        let positions: Vec<&str> = names.iter().filter_map(|name| Some(name.split_once(' ')?.0)).collect();
        assert_eq!(positions, ["1", "1.1", "1.2", "2"]);
    }
}
