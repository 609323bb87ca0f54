//! Names tasks and files in sentences: the first ones, and how many more there are.

use planwright_core::text::{self, visible};

const MAX_NAMED: usize = 5;

pub(super) fn listed(names: &[impl AsRef<str>]) -> String {
    let quoted = names.iter().map(|name| format!("`{}`", visible(name.as_ref())));
    and_more(quoted)
}

pub(super) fn and_more(words: impl ExactSizeIterator<Item = String>) -> String {
    text::listed(words, MAX_NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_are_named_and_the_others_counted() {
        assert_eq!(listed(&["a"]), "`a`");
        assert_eq!(listed(&["a", "b\u{1b}"]), "`a`, `b\\u{1b}`");
        assert_eq!(listed(&["a"; 5]), "`a`, `a`, `a`, `a`, `a`");
        assert_eq!(listed(&["a"; 7]), "`a`, `a`, `a`, `a`, `a` and 2 more");
    }
}
