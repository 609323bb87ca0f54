//! Reads dependencies by title in brackets, such as "Printer (needs Parser)", if every name in the brackets is the title of
//! another task.

use super::names::key_words;
use super::raw::{RawPlan, RawTask, Reference};
use super::titles::TitleIndex;
use super::words::start_of;

const WORDS: [&str; 6] = ["needs", "requires", "after", "builds on", "once", "follows"];

/// Reads the brackets at the end of titles of tasks without other dependencies.
pub(super) fn read_bracketed_titles(plan: &mut RawPlan) {
    let brackets: Vec<Option<(String, String)>> = plan.tasks.iter().map(bracket_of).collect();
    if brackets.iter().all(Option::is_none) {
        return;
    }
    let titles = plan.tasks.iter().zip(&brackets).map(|(raw, bracket)| match bracket {
        Some((title, _)) => title.clone(),
        None => raw.task.title.clone(),
    });
    let titles: Vec<String> = titles.collect();
    let index = TitleIndex::new(titles.iter().map(String::as_str));
    let mut guess = None;
    for (task_ix, bracket) in brackets.into_iter().enumerate() {
        let (Some((title, names)), Some(raw)) = (bracket, plan.tasks.get_mut(task_ix)) else {
            continue;
        };
        let place_of = |name: &str| match index.with_title(name.trim().trim_start_matches("the ")) {
            Some([only]) if *only != task_ix => Some((*only, true)),
            // "(after the export)" names "Export the icons", where no other earlier title has these words.
            _ => {
                let mut alike = index.with_words(&key_words(name), MAX_ALIKE);
                alike.retain(|on| *on < task_ix);
                alike.first().filter(|_| alike.len() == 1).map(|on| (*on, false))
            }
        };
        let parts = names.split([',', '&', '+']).flat_map(|part| part.split(" and "));
        let parts = parts.map(str::trim).filter(|part| !part.is_empty());
        let Some(on) = parts.map(place_of).collect::<Option<Vec<(usize, bool)>>>() else {
            continue;
        };
        let place = raw.task.place;
        guess = guess.or(Some(place).filter(|_| on.iter().any(|(_, is_exact)| !is_exact)));
        let references = on
            .into_iter()
            .filter_map(|(on, _)| Some(Reference::certain(titles.get(on)?, place)));
        raw.dependencies = Some(references.collect());
        let whole = std::mem::replace(&mut raw.task.title, title);
        if raw.task.description.is_empty() {
            raw.task.description = whole;
        }
    }
    if let Some(place) = guess {
        plan.guess(
            place,
            "words in brackets are read as the names of tasks whose titles have these words",
        );
    }
}

/// How many titles with one word are compared.
const MAX_ALIKE: usize = 50;

/// Returns the title before a bracket with possible dependencies, and the names in it.
fn bracket_of(raw: &RawTask) -> Option<(String, String)> {
    if raw.dependencies.is_some() || !raw.blocks.is_empty() {
        return None;
    }
    let (title, inner) = raw.task.title.strip_suffix(')')?.rsplit_once('(')?;
    let lower = inner.to_lowercase();
    let word = start_of(&lower, &WORDS)?;
    let names = inner.get(word.len()..)?;
    let names = names
        .strip_prefix(':')
        .or_else(|| names.starts_with(' ').then_some(names))?;
    let is_named = !title.trim().is_empty() && !names.trim().is_empty();
    is_named.then(|| (title.trim().to_owned(), names.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::text::SourceText;

    fn dependencies(text: &str) -> Vec<(String, Vec<usize>)> {
        let outline = read(&SourceText::new(text), false).expect("a plan");
        let tasks = outline.tasks.into_iter();
        tasks.map(|task| (task.title, task.dependencies)).collect()
    }

    #[test]
    fn titles_in_brackets_are_dependencies() {
        let found = dependencies(
            "- [ ] Parser\n- [ ] Lexer\n- [ ] Printer (needs Parser)\n- [ ] Ship (after the printer and Lexer)\n",
        );
        let expected = [
            ("Parser", vec![]),
            ("Lexer", vec![]),
            ("Printer", vec![0]),
            ("Ship", vec![1, 2]),
        ];
        assert_eq!(found, expected.map(|(title, on)| (title.to_owned(), on)));
    }

    #[test]
    fn other_brackets_stay_words() {
        let found = dependencies("- [ ] Parser\n- [ ] Printer (needs a fuzz corpus)\n");
        assert_eq!(found[1].0, "Printer (needs a fuzz corpus)");
    }
}
