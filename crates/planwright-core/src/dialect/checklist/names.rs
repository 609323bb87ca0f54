//! The names of tasks without an id: words of their text, the same wherever the line stands; and the positions of all task lines.

use std::collections::HashMap;

use super::lines::Lines;
use super::task_line::TaskLine;
use crate::text::SourceText;

/// A name is cut after about this many characters.
const MAX_CHARS: usize = 40;

/// The names and positions of task lines.
pub(super) struct TaskNames {
    names: Vec<String>,
    positions: Vec<String>,
}

impl TaskNames {
    /// Names all task lines. Equal texts are told apart by their headings, then by their order.
    pub(super) fn of(source: &SourceText, lines: &Lines, found: &[TaskLine]) -> Self {
        let mut names: Vec<String> = found
            .iter()
            .map(|line| match line.tags.id {
                Some(id) => source.slice(id).to_owned(),
                None => words(source.slice(line.tags.title)),
            })
            .collect();
        if found.iter().any(|line| line.tags.id.is_none()) {
            let heading = |line: &TaskLine| {
                let title = lines.headings.get(line.item.heading?)?.title;
                Some(words(source.slice(title)))
            };
            for ix in repeated(&names, found) {
                if let Some(heading) = heading(&found[ix]) {
                    names[ix] = format!("{heading}/{}", names[ix]);
                }
            }
            let mut n_before: HashMap<String, usize> = HashMap::new();
            for ix in repeated(&names, found) {
                let n = n_before.entry(names[ix].clone()).or_insert(0);
                *n += 1;
                names[ix] = format!("{}#{n}", names[ix]);
            }
        }
        TaskNames {
            names,
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

/// Returns the task lines without an id whose name another line has.
fn repeated(names: &[String], found: &[TaskLine]) -> Vec<usize> {
    let mut counts: HashMap<&str, usize> = HashMap::with_capacity(names.len());
    for name in names {
        *counts.entry(name).or_insert(0) += 1;
    }
    let is_repeated = |ix: &usize| found[*ix].tags.id.is_none() && counts[names[*ix].as_str()] > 1;
    (0..names.len()).filter(is_repeated).collect()
}

fn positions(found: &[TaskLine]) -> Vec<String> {
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

/// Returns the letters and digits of a text in lower case, with hyphens between the words. A long text is cut, and told apart by a hash.
fn words(text: &str) -> String {
    let mut out = String::new();
    let mut n_chars = 0;
    let mut is_cut = false;
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let n_word = word.chars().count();
        if n_chars > 0 && n_chars + n_word + 1 > MAX_CHARS {
            is_cut = true;
            break;
        }
        if n_chars > 0 {
            out.push('-');
        }
        is_cut = n_word > MAX_CHARS;
        out.extend(word.chars().take(MAX_CHARS).flat_map(char::to_lowercase));
        n_chars += n_word + 1;
        if is_cut {
            break;
        }
    }
    let is_number = out.chars().all(|c| c.is_ascii_digit() || c == '-');
    if is_cut || is_number {
        let lead = if is_number { "task-" } else { "" };
        return format!("{lead}{out}-{:04x}", hash(text) as u16).replace("--", "-");
    }
    out
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::checklist::task_line::task_lines;
    use crate::dialect::checklist::variant::Variant;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let source = SourceText::new(text);
        let lines = Lines::read(&source);
        let found = task_lines(&source, &lines, Variant::Plain);
        let names = TaskNames::of(&source, &lines, &found);
        let shown = (0..found.len()).map(|ix| format!("{} {}", names.position(ix), names.name(ix)));
        assert_eq!(shown.collect::<Vec<_>>(), expect, "{text}");
    }

    #[test]
    fn names_are_words_of_the_text() {
        check(
            "- [ ] Add the `Store` type\n- [x] 实现环境检测\n- [ ] 42\n",
            &["1 add-the-store-type", "2 实现环境检测", "3 task-42-9223"],
        );
        check(
            "- [ ] Write down everything that is known about the old format\n",
            &["1 write-down-everything-that-is-known-e1d1"],
        );
    }

    #[test]
    fn equal_texts_are_told_apart() {
        check(
            "## A\n- [ ] Test\n## B\n- [ ] Test\n- [ ] Test\n- [ ] Else\n",
            &["1 a/test", "2 b/test#1", "3 b/test#2", "4 else"],
        );
    }

    #[test]
    fn positions_count_within_groups() {
        check(
            "- [ ] a\n  - [ ] b\n  - [ ] c\n- [ ] d\n",
            &["1 a", "1.1 b", "1.2 c", "2 d"],
        );
    }
}
