//! The variants of checklists: how each writes ids, marks and dependencies. Decides by the marker line, the path and the content.

use super::super::id_source::is_file_id;
use super::ids;
use super::lines::{BoxItem, Lines};
use crate::text::{SourceText, Span};

/// Who writes the file, and so what its lines mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// planwright: ids with a colon. A marker line says that dependencies are explicit.
    Own,
    /// GitHub's spec-kit: `T001 [P] [US1]`, phases and checkpoints.
    SpecKit,
    /// OpenSpec: groups `## 1.`, tasks `1.1`.
    OpenSpec,
    /// Kiro and cc-sdd: tasks `1.` and `1.1`, `(P)`, optional tasks, `[-]` for a running one.
    Kiro,
    /// People and agents.
    Plain,
}

/// The words of the marker line that say that tasks wait only for what they name.
const EXPLICIT: &str = "explicit dependencies";

/// The word of the marker line before the id of the plan.
const PLAN_ID: &str = "plan ";

impl Variant {
    /// Returns the name of the form for users.
    pub(super) fn form(self) -> &'static str {
        match self {
            Variant::Own => "explicit",
            Variant::SpecKit => "spec-kit",
            Variant::OpenSpec => "openspec",
            Variant::Kiro => "kiro",
            Variant::Plain => "plain",
        }
    }

    /// Returns the variant with the name of a form.
    pub(super) fn of_form(form: &str) -> Self {
        let all = [Variant::Own, Variant::SpecKit, Variant::OpenSpec, Variant::Kiro];
        all.into_iter()
            .find(|variant| variant.form() == form)
            .unwrap_or(Variant::Plain)
    }

    /// Returns whether ids are numbers in which a task's number begins with that of its group: `2.1` in `2`.
    pub(super) fn is_numbered(self) -> bool {
        matches!(self, Variant::OpenSpec | Variant::Kiro)
    }

    /// Finds the variant of a text.
    pub(super) fn of(source: &SourceText, lines: &Lines, path: Option<&str>) -> Self {
        if Marker::of(source, lines).is_some_and(|marker| marker.is_explicit) {
            return Variant::Own;
        }
        let at = |place: &[&str]| path.is_some_and(|path| is_in(path, place));
        let n_items = lines.items.len();
        let count = |is_one: fn(&str) -> bool| {
            let ids = lines.items.iter().filter(|item| is_one(source.slice(item.text)));
            ids.count()
        };
        let (n_spec_kit, n_numbered) = (
            count(|text| ids::spec_kit_id(text).is_some()),
            count(|text| ids::number_id(text).is_some()),
        );
        if 2 * n_spec_kit > n_items {
            return Variant::SpecKit;
        }
        if count(ids::has_own_number) == n_items {
            return Variant::Own;
        }
        let is_numbered = 2 * n_numbered > n_items;
        let has_numbered_headings = || {
            let titles = lines.headings.iter().filter(|heading| heading.level == 2);
            titles
                .clone()
                .any(|heading| ids::number_id(source.slice(heading.title)).is_some())
        };
        match () {
            () if at(&["openspec", "changes"]) => Variant::OpenSpec,
            () if at(&[".kiro", "specs"]) => Variant::Kiro,
            () if is_numbered && has_numbered_headings() => Variant::OpenSpec,
            () if is_numbered && looks_like_kiro(source, &lines.items) => Variant::Kiro,
            () => Variant::Plain,
        }
    }
}

/// Returns whether some folders follow each other in a path. Names of copied files have two underscores in place of a slash.
fn is_in(path: &str, folders: &[&str]) -> bool {
    let slashes = format!("/{}/", folders.join("/"));
    let flat = format!("{}__", folders.join("__"));
    format!("/{path}").contains(&slashes) || path.contains(&flat)
}

/// Kiro's lists are nested by number, name the requirements of each task, and mark what may run in parallel.
fn looks_like_kiro(source: &SourceText, items: &[BoxItem]) -> bool {
    let is_sign = |item: &BoxItem| {
        let (text, details) = (source.slice(item.text), source.slice(item.details));
        item.star.is_some() || text.contains("(P)") || details.contains("_Requirements") || is_top_level(text)
    };
    items.iter().any(is_sign)
}

/// Returns whether a text begins with a whole number and a dot, as groups do: `2. Add the store`.
fn is_top_level(text: &str) -> bool {
    let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
    n_digits > 0 && text[n_digits..].starts_with(". ")
}

/// The order of tasks without explicit dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Each task waits for all lines above it.
    Strict,
    /// Headings and groups follow each other. In one of them, tasks that are marked as parallel do not wait for each other; without any
    /// mark in the file, none does.
    Phases,
    /// Nothing waits but by explicit dependencies.
    None,
}

impl Order {
    /// Returns its name for users.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Order::Strict => "strict",
            Order::Phases => "phases",
            Order::None => "none",
        }
    }

    /// Returns the order with a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Order::Strict, Order::Phases, Order::None]
            .into_iter()
            .find(|order| order.as_str() == name)
    }

    /// Returns the order that a variant has without a setting.
    pub(super) fn usual(variant: Variant, is_explicit: bool, has_parallel_marks: bool) -> Self {
        match variant {
            Variant::Own if is_explicit => Order::None,
            Variant::Own => Order::Strict,
            Variant::SpecKit | Variant::Kiro | Variant::OpenSpec | Variant::Plain if has_parallel_marks => {
                Order::Phases
            }
            Variant::SpecKit | Variant::Kiro | Variant::OpenSpec | Variant::Plain => Order::Strict,
        }
    }
}

/// The settings in a marker line: any of `plan ID`, `explicit dependencies` and `order phases`.
#[derive(Default)]
pub(super) struct Marker {
    /// The id of the plan: two plans that were at the same path one after the other are not taken for each other.
    pub(super) id: Option<Span>,
    pub(super) is_explicit: bool,
    pub(super) order: Option<Order>,
    /// Words that mean nothing.
    pub(super) unknown: Vec<Span>,
}

impl Marker {
    /// Returns the marker of a file, if it has one.
    pub(super) fn of(source: &SourceText, lines: &Lines) -> Option<Self> {
        Some(Marker::read(source, lines.marker?))
    }

    /// Writes a marker line.
    pub(super) fn line(id: Option<&str>, is_explicit: bool, order: Option<Order>) -> String {
        let words: Vec<String> = [
            id.map(|id| format!("{PLAN_ID}{id}")),
            is_explicit.then(|| EXPLICIT.to_owned()),
            order.map(|order| format!("order {}", order.as_str())),
        ]
        .into_iter()
        .flatten()
        .collect();
        match words.is_empty() {
            true => "<!-- planwright -->".to_owned(),
            false => format!("<!-- planwright: {} -->", words.join(", ")),
        }
    }

    fn read(source: &SourceText, words: Span) -> Self {
        let mut marker = Marker::default();
        let text = source.slice(words);
        let mut at = words.start as usize;
        for part in text.split([',', ';']) {
            let word = part.trim();
            let start = at + (part.len() - part.trim_start().len());
            at += part.len() + 1;
            let span = Span::new(start, start + word.len());
            let order = word
                .strip_prefix("order")
                .and_then(|rest| Order::named(rest.trim_start_matches([':', ' ', '='])));
            let id = word.strip_prefix(PLAN_ID).map(str::trim_start);
            match (order, id) {
                (Some(order), _) => marker.order = Some(order),
                (None, Some(id)) if marker.id.is_none() && is_file_id(id) => {
                    marker.id = Some(Span::new(start + word.len() - id.len(), start + word.len()));
                }
                _ if word == EXPLICIT => marker.is_explicit = true,
                _ if word.is_empty() => {}
                _ => marker.unknown.push(span),
            }
        }
        marker
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, path: Option<&str>, expect: Variant) {
        let source = SourceText::new(text);
        assert_eq!(Variant::of(&source, &Lines::read(&source), path), expect, "{text}");
    }

    #[test]
    fn variants_are_found_by_marker_content_and_path() {
        check(
            "<!-- planwright: explicit dependencies -->\n- [ ] T1: a\n",
            None,
            Variant::Own,
        );
        check("- [ ] T001 a\n- [ ] T002 [P] b\n", None, Variant::SpecKit);
        check("## 1. A\n- [ ] 1.1 a\n", None, Variant::OpenSpec);
        check(
            "- [ ] a\n",
            Some("x/openspec/changes/add-a/tasks.md"),
            Variant::OpenSpec,
        );
        check("- [ ] 1. A\n- [ ] 1.1 a\n  - _Requirements: 1_\n", None, Variant::Kiro);
        check("- [ ] a\n", Some(".kiro/specs/a/tasks.md"), Variant::Kiro);
        check("- [ ] a\n- [ ] T001 b\n- [ ] c\n", None, Variant::Plain);
    }

    #[test]
    fn marker_lines_have_settings() {
        let source = SourceText::new("explicit dependencies, order phases; ordr none, plan  a-2, plan b, plan c d");
        let marker = Marker::read(&source, source.span());
        assert!(marker.is_explicit);
        assert_eq!(marker.order, Some(Order::Phases));
        assert_eq!(marker.id.map(|id| source.slice(id)), Some("a-2"));
        let unknown: Vec<&str> = marker.unknown.iter().map(|span| source.slice(*span)).collect();
        assert_eq!(unknown, ["ordr none", "plan b", "plan c d"]);
    }
}
