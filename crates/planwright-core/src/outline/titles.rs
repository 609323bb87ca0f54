//! Finds tasks by the words of their titles.

use std::collections::HashMap;

use super::names::{folded, key_words};

/// The titles of all tasks of an answer.
#[derive(Default)]
pub(super) struct TitleIndex {
    whole: HashMap<String, Vec<usize>>,
    words: HashMap<String, Vec<usize>>,
    word_sets: HashMap<Vec<String>, Vec<usize>>,
}

impl TitleIndex {
    pub(super) fn new<'p>(titles: impl IntoIterator<Item = &'p str>) -> Self {
        let mut index = TitleIndex::default();
        for (task_ix, title) in titles.into_iter().enumerate() {
            index.whole.entry(folded(title)).or_default().push(task_ix);
            let words = key_words(title);
            for word in &words {
                index.words.entry(word.clone()).or_default().push(task_ix);
            }
            index.word_sets.entry(words).or_default().push(task_ix);
        }
        index
    }

    /// Returns the tasks with a title, but for case and marks.
    pub(super) fn with_title(&self, title: &str) -> Option<&[usize]> {
        self.whole.get(&folded(title)).map(Vec::as_slice)
    }

    /// Returns the tasks whose titles have these words, and no others.
    pub(super) fn with_word_set(&self, words: &[String]) -> Option<&[usize]> {
        self.word_sets.get(words).map(Vec::as_slice)
    }

    /// Returns the tasks whose titles have all of some words; none if even the rarest of these is in more than `most` titles.
    pub(super) fn with_words(&self, words: &[String], most: usize) -> Vec<usize> {
        let lists = words
            .iter()
            .map(|word| self.words.get(word).map_or(&[][..], Vec::as_slice));
        let lists: Vec<&[usize]> = lists.collect();
        let rarest = lists.iter().min_by_key(|tasks| tasks.len());
        let rarest = rarest
            .filter(|tasks| tasks.len() <= most)
            .into_iter()
            .copied()
            .flatten();
        let has_all = |task: &usize| lists.iter().all(|tasks| tasks.binary_search(task).is_ok());
        rarest.copied().filter(has_all).collect()
    }

    /// Returns the tasks whose titles differ from a text in at most `most` letters, the nearest first.
    pub(super) fn near(&self, text: &str, most: usize) -> Vec<usize> {
        let own = folded(text);
        let distances = self.whole.iter().flat_map(|(title, tasks)| {
            let distance = strsim::damerau_levenshtein(&own, title);
            tasks.iter().map(move |task| (distance, *task))
        });
        let mut near: Vec<(usize, usize)> = distances.filter(|(distance, _)| *distance <= most).collect();
        near.sort_unstable();
        near.into_iter().map(|(_, task)| task).collect()
    }
}
