//! Findings in the style of a compiler: headline, place, excerpt with carets, related places, help.

use std::borrow::Cow;
use std::collections::HashMap;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use planwright_core::diagnostic::{Diagnostic, Safety, Severity};
use planwright_core::text::{LineIndex, SourceText, Span, is_visible, visible};
use planwright_run::shell::argument;
use planwright_verbs::FileFindings;
use planwright_verbs::text::{cut, printable};

use super::terminal::Paint;

/// How many findings of one rule in one file are shown in full before the rest is only counted.
const MAX_OF_A_RULE: usize = 5;

/// How many related places are shown.
const MAX_RELATED: usize = 8;

/// Longer lines are shown in part.
const MAX_LINE: usize = 4096;

/// The verb that shows findings, which decides the suggested options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FindingsSource {
    /// `check`, which fixes plans, and shows all findings on request.
    Check,
    /// `check --all`: every finding, including repeated ones.
    CheckAll,
    /// Another verb, with findings that `check` has as well.
    Other,
    /// A verb that reports its own effects on a plan; no other command can repeat them.
    OwnReport,
}

impl FindingsSource {
    /// Returns how to see findings that are only counted.
    fn more(self) -> &'static str {
        match self {
            FindingsSource::Check | FindingsSource::CheckAll => "--all shows them",
            FindingsSource::Other => "`planwright check --all` shows them",
            FindingsSource::OwnReport => "--json lists them",
        }
    }

    /// Returns how to apply a fix.
    fn fix(self, safety: Safety, path: &str) -> String {
        match (self, safety) {
            (FindingsSource::Check | FindingsSource::CheckAll, Safety::Safe) => "--fix".to_owned(),
            (FindingsSource::Check | FindingsSource::CheckAll, Safety::Unsafe) => "--fix --unsafe".to_owned(),
            (_, Safety::Safe) => format!("`planwright check --fix{}`", named(path)),
            (_, Safety::Unsafe) => format!("`planwright check --fix --unsafe{}`", named(path)),
        }
    }
}

/// Returns a file as an argument of a command; nothing for standard input.
fn named(path: &str) -> String {
    match path {
        "-" => String::new(),
        path if path.starts_with('<') => String::new(),
        path => format!(" {}", printable(&argument(path))),
    }
}

/// Draws an error about a file, with an excerpt of the obstacle.
pub(crate) fn refusal(
    path: &str,
    source: &SourceText,
    span: Option<Span>,
    message: &str,
    help: &str,
    paint: Paint,
    width: usize,
) -> String {
    let page = FindingsPage::new(path, source, FindingsSource::Other, paint, width);
    let title = Level::ERROR.primary_title(printable(message).replace('\n', " "));
    let mut group = title.elements(Vec::<Origin<'_>>::new());
    group = match span {
        Some(span) => page.place(group, span, "", AnnotationKind::Primary),
        None => group.element(Origin::path(visible(path).into_owned())),
    };
    if !help.is_empty() {
        group = group.element(Level::HELP.message(printable(help).into_owned()));
    }
    format!("{}\n", page.renderer.render(&[group]))
}

/// Draws the findings of one file. Repeated ones are counted, unless all are requested.
pub(crate) fn file_findings(found: &FileFindings, origin: FindingsSource, paint: Paint, width: usize) -> String {
    findings(&found.path, &found.source, &found.findings, origin, paint, width)
}

/// Draws findings in the text of one file.
pub(crate) fn findings(
    path: &str,
    source: &SourceText,
    diagnostics: &[Diagnostic],
    origin: FindingsSource,
    paint: Paint,
    width: usize,
) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    let all = origin == FindingsSource::CheckAll;
    let page = FindingsPage::new(path, source, origin, paint, width);
    let mut out = String::new();
    let mut shown: HashMap<(&str, Severity), usize> = HashMap::new();
    for diagnostic in diagnostics {
        let n_shown = shown.entry((diagnostic.rule.id, diagnostic.severity)).or_default();
        *n_shown += 1;
        if all || *n_shown <= MAX_OF_A_RULE {
            out.push_str(&page.draw(diagnostic));
            out.push_str("\n\n");
        }
    }
    if !all {
        let mut hidden: Vec<_> = shown.into_iter().filter(|&(_, n)| n > MAX_OF_A_RULE).collect();
        hidden.sort();
        for ((rule, severity), n_shown) in hidden {
            let line = format!(
                "{} more {} of `{rule}` in {path} ({})",
                n_shown - MAX_OF_A_RULE,
                plural(severity, n_shown - MAX_OF_A_RULE),
                origin.more()
            );
            out.push_str(&paint.bold(&line));
            out.push_str("\n\n");
        }
    }
    out
}

/// Returns "error" or "errors", depending on the number.
pub(crate) fn plural(severity: Severity, n: usize) -> String {
    let word = severity.as_str();
    if n == 1 { word.to_owned() } else { format!("{word}s") }
}

struct FindingsPage<'a> {
    path: &'a str,
    index: LineIndex<'a>,
    renderer: Renderer,
    origin: FindingsSource,
}

impl<'a> FindingsPage<'a> {
    fn new(path: &'a str, source: &'a SourceText, origin: FindingsSource, paint: Paint, width: usize) -> Self {
        let renderer = if paint.is_on() {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        FindingsPage {
            path,
            index: source.line_index(),
            renderer: renderer.term_width(width),
            origin,
        }
    }

    fn draw(&self, diagnostic: &Diagnostic) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let message = printable(&diagnostic.message).replace('\n', " ");
        let mut group = level
            .primary_title(message)
            .id(diagnostic.rule.id)
            .elements(Vec::<Origin<'_>>::new());
        match diagnostic.span {
            Some(span) => group = self.place(group, span, &diagnostic.label, AnnotationKind::Primary),
            None => group = group.element(Origin::path(visible(self.path).into_owned())),
        }
        for related in diagnostic.related.iter().take(MAX_RELATED) {
            group = self.place(group, related.span, &related.message, AnnotationKind::Context);
        }
        if diagnostic.related.len() > MAX_RELATED {
            let more = format!("{} more places", diagnostic.related.len() - MAX_RELATED);
            group = group.element(Level::NOTE.message(more));
        }
        if !diagnostic.help.is_empty() {
            group = group.element(Level::HELP.message(printable(&diagnostic.help).into_owned()));
        }
        if let Some(fix) = &diagnostic.fix {
            let how = self.origin.fix(fix.safety, self.path);
            let offer = format!("{} with {how}", printable(&fix.title));
            group = group.element(Level::HELP.with_name(Some("fix")).message(offer));
        }
        let drawn = self.renderer.render(&[group]);
        // For a part of a line, the drawing leaves the location open, on a line of its own.
        let lines = drawn.lines().filter(|line| !is_open_place(line));
        lines.collect::<Vec<&str>>().join("\n")
    }

    /// Adds a place with its line; if the line is very long, with only the part around the place.
    fn place<'g>(&self, group: Group<'g>, span: Span, label: &str, kind: AnnotationKind) -> Group<'g> {
        let position = self.index.position(span.start);
        let line = self.index.line_span(position.line);
        let text = self.index.line(position.line);
        // A byte order mark has no width, and is not shown.
        let (text, mark) = match text.strip_prefix('\u{feff}') {
            Some(rest) if position.line == 1 => (rest, text.len() - rest.len()),
            _ => (text, 0),
        };
        let start = ((span.start - line.start) as usize).saturating_sub(mark);
        let end = ((span.end - line.start) as usize)
            .saturating_sub(mark)
            .clamp(start, text.len().max(start));
        let (window, start, end) = window(text, start, end);
        let mut annotation = kind.span(start..end);
        if !label.is_empty() {
            annotation = annotation.label(cut(&printable(label).replace('\n', " "), 160));
        }
        let path = visible(self.path).into_owned();
        let is_whole = window.len() == text.len();
        let snippet = Snippet::source(window).line_start(position.line).annotation(annotation);
        if is_whole {
            return group.element(snippet.path(path));
        }
        // The drawing would count columns in the shown part, so the location is passed separately.
        let origin = Origin::path(path).line(position.line).char_column(position.column);
        group.element(origin).element(snippet)
    }
}

/// Returns whether a line of a drawing, with or without colours, consists only of the mark for a location.
fn is_open_place(line: &str) -> bool {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default();
    // Each other part begins with a colour, which ends with an `m`.
    let others = parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    let visible: String = std::iter::once(first).chain(others).collect();
    visible.trim() == ":::"
}

/// Returns the part of a line with the marked bytes, safe to print and with the same byte length.
fn window(text: &str, start: usize, end: usize) -> (String, usize, usize) {
    let start = text.floor_char_boundary(start.min(text.len()));
    let end = text.floor_char_boundary(end.clamp(start, text.len()));
    if text.len() <= MAX_LINE {
        return (harmless(text).into_owned(), start, end);
    }
    let from = text.floor_char_boundary(start.saturating_sub(400));
    let to = text.floor_char_boundary((from + MAX_LINE / 4).min(text.len()));
    let shown = harmless(&text[from..to]).into_owned();
    (shown, start - from, end.min(to) - from)
}

/// Replaces characters that the drawing does not escape by others of the same length, so that carets stay in place.
fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| is_visible(c) || c == '\t') {
        return Cow::Borrowed(text);
    }
    let stand_in = |c: char| match c.len_utf8() {
        _ if is_visible(c) || c == '\t' => c,
        1 => '?',
        2 => '¤',
        3 => '\u{fffd}',
        _ => c,
    };
    Cow::Owned(text.chars().map(stand_in).collect())
}
