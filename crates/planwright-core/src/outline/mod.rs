//! Reads a plan out of a model's answer or a person's notes: JSON, YAML, graphs, tables, lists in any prose. Names every guess;
//! knows no dialect.
//!
//! ```
//! use planwright_core::outline::read;
//! use planwright_core::text::SourceText;
//!
//! let answer = SourceText::new("Sure!\n1. Write the parser\n2. Use it (depends on 1)\n");
//! let outline = read(&answer, false).expect("two tasks");
//! assert_eq!(outline.tasks[1].title, "Use it");
//! assert_eq!(outline.tasks[1].dependencies, [0]);
//! ```

mod bracketed_titles;
mod candidates;
mod choice;
mod cleanup;
mod cycles;
mod dependency_sentences;
mod dependency_words;
mod dot;
mod edge_lists;
mod ends;
mod goal;
mod index;
mod item_text;
mod json_in_text;
mod json_values;
mod list_reader;
mod lists;
mod mapped_text;
mod markdown_lines;
mod mermaid;
mod name_tokens;
mod names;
mod other_markup;
mod parts;
mod phrases;
mod questions;
mod raw;
mod read;
mod references;
mod resolve;
pub mod rules;
mod sections;
mod structure;
mod tables;
mod tags;
mod task_fields;
mod task_keys;
mod titles;
mod value;
mod words;
mod work_lists;
mod written_links;
mod yaml_values;

pub use questions::questions;
pub use read::{MAX_ANSWER_BYTES, read};

use crate::diagnostic::Diagnostic;
use crate::plan::State;
use crate::text::Span;

/// A plan that was read from an answer. Its dependencies have no cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// The goal of the plan, if the answer has one.
    pub goal: Option<String>,
    /// The tasks in the order of the answer; at least one.
    pub tasks: Vec<OutlineTask>,
    /// Notes about guesses and omissions, with their spans.
    pub guesses: Vec<Diagnostic>,
    /// The span of the answer that was read: a block, a value, or the first task of a list.
    pub place: Span,
}

impl Outline {
    /// Removes all states, with a note if there were any: all tasks of a planner's plan start pending.
    #[must_use]
    pub fn without_states(mut self) -> Self {
        let is_stated = |task: &&OutlineTask| task.state.is_some_and(|state| state != State::Pending);
        if let Some(stated) = self.tasks.iter().find(is_stated) {
            let message = "the states of the tasks are left out: nothing is done yet";
            self.guesses.push(Diagnostic::new(&rules::GUESS, stated.place, message));
        }
        self.tasks.iter_mut().for_each(|task| task.state = None);
        self
    }
}

/// A task of an outline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutlineTask {
    /// Its id as written.
    pub id: Option<String>,
    /// One line.
    pub title: String,
    /// Its further text; may be empty.
    pub description: String,
    /// Its written state; none if the answer has none.
    pub state: Option<State>,
    /// Its phase or parent.
    pub group: Option<String>,
    /// Whether it is marked as parallel.
    pub is_parallel: bool,
    /// Whether it is marked as optional.
    pub is_optional: bool,
    /// The files that it names.
    pub files: Vec<String>,
    /// Its acceptance criteria.
    pub criteria: Vec<String>,
    /// Further fields, as lines: `Estimate: 2h`.
    pub details: Vec<String>,
    /// The indexes of its dependencies, ascending.
    pub dependencies: Vec<usize>,
    /// Its span in the answer.
    pub place: Span,
}
