//! The law of strings, tried with every verb on every plan and words of all kinds: the same in every run.

use std::panic::catch_unwind;

use planwright_laws::TARGETS;

/// Pieces with a meaning for a carrier, a dialect or a tool.
const PIECES: &[&str] = &[
    "```",
    "```json\n",
    "\n```\n",
    "~~~",
    "{",
    "}",
    "{}",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    "\\u0000",
    "\\n",
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "  ",
    "---",
    "\n---\n",
    "...",
    "#",
    " #",
    ": ",
    ":",
    "- ",
    "? ",
    "| ",
    "|\n",
    ">",
    "&a",
    "*a",
    "!!str",
    "%YAML",
    "@",
    "`",
    ",",
    "no",
    "yes",
    "~",
    "null",
    "true",
    "1e3",
    "0x1f",
    "01",
    "-",
    "=",
    "<<",
    "<!--",
    "-->",
    "## Task Pack Contract",
    "# Title",
    "## Task Cards",
    "\n- T001\n",
    "type: task-pack",
    "steps:",
    "task: x",
    "\u{0}",
    "\u{1}",
    "\u{7}",
    "\u{8}",
    "\u{b}",
    "\u{c}",
    "\u{1b}[31m",
    "\u{1e}",
    "\u{7f}",
    "\u{85}",
    "\u{9f}",
    "\u{a0}",
    "\u{2028}",
    "\u{2029}",
    "\u{feff}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{fffd}",
    "é",
    "e\u{301}",
    "😀",
    "א",
    "{\"goal\": \"g\", \"tasks\": []}",
    "Skipped: ",
    "x",
    "words",
];

/// Words that once caused an error.
const WORDS: &[&str] = &[
    "",
    " ",
    "\n",
    "x",
    "Done:\n```json\n{\"goal\": \"g\", \"tasks\": [{\"id\": \"t1\", \"description\": \"d\"}]}\n```\nBye",
    "```\n{\n```",
    "``` {",
    "---\ntype: task-pack\n---\n\n## Task Pack Contract\n\n```json\n{}\n```\n",
    "## Task Pack Contract",
    "\n## Task Pack Contract\n\n```json\n{}\n```\n",
    "task: x\nsteps:\n  - index: 0\n",
    "no",
    "~",
    "null",
    "true",
    "1e3",
    "2026-01-01",
    "0o17",
    ".inf",
    " leading",
    "trailing ",
    "trailing\n",
    "trailing\n\n",
    "\nleading",
    "\n\n  indented",
    "  indented\nless",
    "a\n\tb\n",
    "a\r\nb\r\n",
    "a\rb",
    "# comment",
    "a # comment",
    "key: value",
    "- item",
    "\"quoted\"",
    "'single'",
    "it's",
    "\\",
    "\\u12",
    "C:\\new\\table",
    "<!-- comment -->",
    "-->",
    "\u{0}",
    "a\u{0}b",
    "\u{1b}[31mred",
    "\u{85}",
    "a\u{2028}b",
    "\u{feff}",
    "a\u{feff}",
    "\u{ffff}",
    "\u{1f600}",
    "...",
    "---",
    "a\n---\nb",
    "a\n...\nb",
    "%TAG",
    "@at",
    "`tick`",
    "{{placeholder}}",
    "${HOME}",
    "T001",
    "t1",
    "0",
    "US-002",
];

/// Numbers that are random enough, and the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).expect("a small number")
    }
}

/// The minimum number of plans and verbs to choose from.
const N_PLANS: u8 = 9;
const N_VERBS: u8 = 14;

fn input(plan: u8, verb: u8, word: &str, chance: &mut Chance) -> Vec<u8> {
    let mut bytes = vec![plan, verb];
    // The separator is none of the choices.
    bytes.extend((0..10).map(|_| u8::try_from(0x20 + chance.below(64)).expect("a byte")));
    bytes.push(0x1e);
    bytes.extend_from_slice(word.as_bytes());
    bytes
}

fn check_all(words: impl Iterator<Item = String>, chance: &mut Chance) {
    let hold = TARGETS.iter().find(|(name, _)| *name == "strings").expect("the law").1;
    let mut failures = Vec::new();
    for (n, word) in words.enumerate() {
        let pairs = (0..N_PLANS).flat_map(|plan| (0..N_VERBS).map(move |verb| (plan, verb)));
        // Every other pair for each word: each pair has half of the words.
        for (plan, verb) in pairs.skip(n % 2).step_by(2) {
            let bytes = input(plan, verb, &word, chance);
            if catch_unwind(|| hold(&bytes)).is_err() {
                failures.push((plan, verb, word.clone()));
            }
        }
    }
    let shown = &failures[..failures.len().min(40)];
    assert!(
        failures.is_empty(),
        "{} failures, of plan, verb and word: {shown:?}",
        failures.len()
    );
}

#[test]
fn known_words_read_back_from_every_field() {
    check_all(
        WORDS.iter().map(|&word| word.to_owned()),
        &mut Chance(0x9e37_79b9_7f4a_7c15),
    );
}

#[test]
fn words_of_all_kinds_of_pieces_read_back_from_every_field() {
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let mut words = Vec::new();
    for _ in 0..12 {
        let n_pieces = 1 + chance.below(8);
        words.push(
            (0..n_pieces)
                .map(|_| PIECES[chance.below(PIECES.len())])
                .collect::<String>(),
        );
    }
    words.push("long ".repeat(4_000));
    check_all(words.into_iter(), &mut chance);
}
