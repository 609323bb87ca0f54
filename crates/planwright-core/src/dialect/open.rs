//! From a text to a plan: what it is written in, whose dialect it is, what it was wrapped in.

use super::rules::{AMBIGUOUS_DIALECT, EMPTY_FILE, PLAN_IN_PROSE, UNKNOWN_DIALECT, WRAPPED_PLAN};
use super::{CarrierKind, DIALECTS, Dialect, Facts, Fit, Input, Reading};
use crate::diagnostic::{Diagnostic, Replacement, Severity, sort};
use crate::document::rules::{BINARY_FILE, INVALID_UTF8};
use crate::document::{Format, Kind, NodeRef, Parsed, Style, json, yaml};
use crate::text::{SourceText, Span, visible};

/// What the caller knows about a text before it is read.
pub struct Choice<'a> {
    /// The dialects to choose from.
    pub dialects: &'a [&'static dyn Dialect],
    /// The one to use whatever the content says.
    pub forced: Option<&'static dyn Dialect>,
    /// The path of the text, with `/` as separator.
    pub path: Option<&'a str>,
    /// What the disk says.
    pub facts: &'a Facts,
}

impl<'a> Choice<'a> {
    /// Returns the choice between all dialects by the content of the text alone.
    pub fn by_content(facts: &'a Facts) -> Self {
        Choice {
            dialects: DIALECTS,
            forced: None,
            path: None,
            facts,
        }
    }
}

/// Reads a text into a plan, in the dialect that fits it.
pub fn read(source: &SourceText, choice: &Choice<'_>) -> Reading {
    read_keeping(source, choice, None).0
}

/// Does the same, and returns the document as well; takes it where the text was parsed before.
pub(crate) fn read_keeping(
    source: &SourceText,
    choice: &Choice<'_>,
    parsed: Option<Parsed>,
) -> (Reading, Option<Parsed>) {
    if let Some(stop) = unreadable(source) {
        let reading = Reading {
            diagnostics: vec![stop],
            ..Reading::default()
        };
        return (reading, None);
    }
    let opened = match parsed {
        Some(parsed) => Opened::of(parsed),
        None => Opened::new(source, choice),
    };
    let reading = read_opened(source, choice, &opened);
    (reading, opened.parsed)
}

fn read_opened(source: &SourceText, choice: &Choice<'_>, opened: &Opened) -> Reading {
    let input = opened.input(source, choice);
    let mut found = opened.syntax_errors();
    found.extend(damage(source));
    let mut reading = match decide(&input, choice, &mut found) {
        Some(dialect) => {
            found.extend(opened.wrapping(dialect));
            let reading = dialect.read(&input);
            if let (Some(plan), Some(path)) = (&reading.plan, choice.path) {
                found.extend(dialect.check_name(plan, path));
            }
            Reading {
                dialect: Some(dialect.name()),
                carrier: reading
                    .carrier
                    .or(Some((opened.carrier, opened.prose.unwrap_or(source.span())))),
                ..reading
            }
        }
        None => Reading::default(),
    };
    reading.diagnostics.append(&mut found);
    sort(&mut reading.diagnostics);
    reading
}

/// Returns why a text is not worth parsing at all.
fn unreadable(source: &SourceText) -> Option<Diagnostic> {
    let text = source.as_str();
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let what = if source.is_empty() {
            "the file is empty"
        } else {
            "the file holds nothing but white space"
        };
        return Some(
            Diagnostic::of_file(&EMPTY_FILE, what)
                .with_help("restore it, or write a plan: `planwright schema` shows how"),
        );
    }
    let damage = source.damage()?;
    text.as_bytes().contains(&0).then(|| {
        Diagnostic::of_file(
            &BINARY_FILE,
            format!(
                "this is not text: NUL bytes, and bytes that are not UTF-8 from offset {}",
                damage.byte_offset
            ),
        )
        .with_help("check the path")
    })
}

fn damage(source: &SourceText) -> Option<Diagnostic> {
    let damage = source.damage()?;
    let more = match damage.n_sequences {
        1 => String::new(),
        2 => " (and in one more place)".to_owned(),
        n => format!(" (and in {} more places)", n - 1),
    };
    Some(
        Diagnostic::new(
            &INVALID_UTF8,
            damage.span,
            format!("not UTF-8: bad byte at offset {}{more}", damage.byte_offset),
        )
        .with_help("save the file as UTF-8"),
    )
}

/// A text with its document, and what had to be peeled off to get at it.
struct Opened {
    carrier: CarrierKind,
    parsed: Option<Parsed>,
    /// The JSON inside prose or a fence.
    prose: Option<Span>,
}

impl Opened {
    /// Takes the document of a whole text.
    fn of(parsed: Parsed) -> Self {
        Opened {
            carrier: match parsed.document.format() {
                Format::Json => CarrierKind::Json,
                Format::Yaml => CarrierKind::Yaml,
            },
            parsed: Some(parsed),
            prose: None,
        }
    }

    fn new(source: &SourceText, choice: &Choice<'_>) -> Self {
        let carrier = carrier_of(source.as_str(), choice);
        match carrier {
            CarrierKind::Markdown => Opened {
                carrier,
                parsed: None,
                prose: None,
            },
            CarrierKind::Yaml => Opened {
                carrier,
                parsed: Some(yaml::parse(source)),
                prose: None,
            },
            CarrierKind::Json => {
                let prose = json_in_prose(source);
                let parsed = match prose {
                    Some(span) => json::parse_span(source, span),
                    None => json::parse(source),
                };
                Opened {
                    carrier,
                    parsed: Some(parsed),
                    prose,
                }
            }
        }
    }

    fn input<'a>(&'a self, source: &'a SourceText, choice: &Choice<'a>) -> Input<'a> {
        let root = self.parsed.as_ref().and_then(|parsed| parsed.document.root());
        let mut input = Input {
            source,
            path: choice.path,
            parsed: self.parsed.as_ref(),
            carrier: self.carrier,
            root,
            facts: choice.facts,
        };
        if let Some(inner) = root.and_then(|root| wrapped(root, &input, choice)) {
            input.root = Some(inner);
        }
        input
    }

    fn syntax_errors(&self) -> Vec<Diagnostic> {
        self.parsed
            .as_ref()
            .map_or(Vec::new(), |parsed| parsed.diagnostics.clone())
    }

    /// Returns findings about what the plan was wrapped in.
    fn wrapping(&self, dialect: &dyn Dialect) -> Option<Diagnostic> {
        let parsed = self.parsed.as_ref()?;
        let source = parsed.document.source();
        let span = self.prose?;
        let around = [
            Span::new(0, span.start as usize),
            Span::new(span.end as usize, source.len()),
        ];
        let newline = if source.as_str().ends_with('\n') {
            source.newline().as_str()
        } else {
            ""
        };
        let edits = vec![Replacement::delete(around[0]), Replacement::new(around[1], newline)];
        let first = source.slice(span).chars().next().map_or(0, char::len_utf8);
        let diagnostic = Diagnostic::new(
            &PLAN_IN_PROSE,
            Span::new(span.start as usize, span.start as usize + first),
            "the plan stands inside other text",
        );
        // A plan that does not parse may end elsewhere, and what stands beside it may be another one.
        let is_whole = parsed.diagnostics.is_empty();
        let is_only = around.iter().all(|&part| !source.slice(part).contains('{'));
        let title = "keep the plan, remove the text around it";
        let diagnostic = match (is_whole, is_only) {
            (true, true) => diagnostic.with_safe_fix(title, edits),
            (true, false) => diagnostic.with_unsafe_fix(title, edits),
            (false, _) => diagnostic,
        };
        Some(if dialect.reads_prose() {
            diagnostic
                .with_severity(Severity::Note)
                .with_help("its tool imports such text; a stored plan is the JSON alone")
        } else {
            diagnostic.with_help("remove the text around it")
        })
    }
}

/// Returns what a text is written in.
fn carrier_of(text: &str, choice: &Choice<'_>) -> CarrierKind {
    if let Some(forced) = choice.forced
        && let [usual, ..] = forced.carriers()
    {
        return *usual;
    }
    let extension = choice
        .path
        .and_then(|path| path.rsplit_once('.'))
        .map(|(_, extension)| extension);
    let is_yaml_file = matches!(extension, Some("yaml" | "yml"));
    let body = text.trim_start_matches('\u{feff}').trim_start();
    // Braces begin JSON and YAML's flow style alike: the name of the file decides.
    if body.starts_with(['{', '[']) {
        return if is_yaml_file {
            CarrierKind::Yaml
        } else {
            CarrierKind::Json
        };
    }
    if let Some(carrier) = choice.dialects.iter().find_map(|dialect| dialect.claims(text)) {
        return carrier;
    }
    let has_fence = memchr::memmem::find(text.as_bytes(), b"```").is_some();
    if !has_fence && text.trim_start_matches('\u{feff}').lines().any(yaml::is_member_line) {
        return CarrierKind::Yaml;
    }
    if text.contains('{') {
        return CarrierKind::Json;
    }
    match extension {
        Some("md" | "markdown") => CarrierKind::Markdown,
        Some("json") => CarrierKind::Json,
        _ => CarrierKind::Yaml,
    }
}

/// Returns true where a line is this heading, at the second level. Finds the words first: most of a long text is none.
pub(super) fn has_heading(text: &str, title: &str) -> bool {
    memchr::memmem::find_iter(text.as_bytes(), title.as_bytes()).any(|at| {
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..].lines().next().unwrap_or("");
        line.strip_prefix("##")
            .is_some_and(|rest| rest.starts_with(' ') && rest.trim() == title)
    })
}

/// Returns the lines between the first line of a text and the next `---`.
pub(super) fn frontmatter_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().skip(1).take_while(|line| line.trim_end() != "---")
}

/// Returns the JSON inside prose or a code fence, found as clido finds it; none where the text is JSON alone.
fn json_in_prose(source: &SourceText) -> Option<Span> {
    let start = source.bom_len();
    let text = &source.as_str()[start..];
    let body = text.trim_start();
    // A comment in front is a fault of JSON, not a sentence about it.
    if body.starts_with(['{', '[']) || body.starts_with("//") || body.starts_with("/*") {
        return None;
    }
    let inner = |from: usize| {
        // The fence that closes stands at the beginning of a line; three backticks inside a string do not close.
        let at_line = text[from..].find("\n```").map(|at| at + 1);
        let to = from + at_line.or_else(|| text[from..].find("```"))?;
        let inside = &text[from..to];
        let lead = inside.len() - inside.trim_start().len();
        Some((from + lead, from + inside.trim_end().len().max(lead)))
    };
    let fenced_json = text.find("```json").and_then(|at| inner(at + 7));
    let fenced = || {
        let (from, to) = text.find("```").and_then(|at| inner(at + 3))?;
        text[from..to].starts_with('{').then_some((from, to))
    };
    let braces = || {
        let (from, to) = (text.find('{')?, text.rfind('}')? + 1);
        (from < to).then_some((from, to))
    };
    let (from, to) = fenced_json.or_else(fenced).or_else(braces)?;
    Some(Span::new(start + from, start + to))
}

/// Keys under which language models hide a whole plan.
const WRAPPERS: &[&str] = &[
    "plan",
    "prd",
    "tasks",
    "data",
    "result",
    "output",
    "response",
    "json",
    "task_graph",
    "tasksJson",
];

/// Returns the plan inside `{"plan": { … }}`, where the outer object is no plan and the inner one is.
fn wrapped<'a>(root: NodeRef<'a>, input: &Input<'a>, choice: &Choice<'_>) -> Option<NodeRef<'a>> {
    if root.kind() != Kind::Object || best_fit(input, choice) > 0 {
        return None;
    }
    let mut candidates = root.members().filter(|member| {
        let is_wrapper = WRAPPERS.iter().any(|name| member.key.is_text(name));
        is_wrapper && member.value.resolved().kind() == Kind::Object
    });
    let inner = candidates.next()?.value.resolved();
    let inside = Input {
        root: Some(inner),
        ..*input
    };
    (candidates.next().is_none() && best_fit(&inside, choice) > 0).then_some(inner)
}

fn best_fit(input: &Input<'_>, choice: &Choice<'_>) -> Fit {
    let fits = choice
        .dialects
        .iter()
        .filter(|dialect| dialect.carriers().contains(&input.carrier));
    fits.map(|dialect| dialect.sniff(input)).max().unwrap_or(0)
}

/// Chooses the dialect: the forced one, else the best fit, with the path as tie-break.
fn decide(input: &Input<'_>, choice: &Choice<'_>, found: &mut Vec<Diagnostic>) -> Option<&'static dyn Dialect> {
    let whole = input.parsed.and_then(|parsed| parsed.document.root());
    let decided = choice.forced.or_else(|| sniff(input, choice, found));
    if let (Some(outer), Some(inner), Some(_)) = (whole, input.root, decided)
        && outer.row() != inner.row()
    {
        found.push(unwrapping(outer, inner));
    }
    decided
}

fn unwrapping(outer: NodeRef<'_>, inner: NodeRef<'_>) -> Diagnostic {
    let key = outer
        .members()
        .find(|member| member.value.resolved().row() == inner.row())
        .map(|member| member.key);
    let name = key.map_or(String::new(), |key| visible(&key.value()).into_owned());
    let span = key.map_or(outer.span(), NodeRef::span);
    let (outer_span, inner_span) = (outer.span(), inner.span());
    let mut edits = vec![
        Replacement::delete(Span::new(outer_span.start as usize, inner_span.start as usize)),
        Replacement::delete(Span::new(inner_span.end as usize, outer_span.end as usize)),
    ];
    edits.extend(dedent(inner));
    let diagnostic = Diagnostic::new(&WRAPPED_PLAN, span, format!("the plan is wrapped in `{name}`"))
        .with_help("put the plan at the root of the file");
    if outer.members().count() == 1 {
        diagnostic.with_safe_fix("remove the wrapper", edits)
    } else {
        diagnostic.with_unsafe_fix("remove the wrapper and what stands beside the plan", edits)
    }
}

/// Moves the lines of a collection to the left: a block by as much as its first line is indented, one in braces by
/// as much as the line of its closing brace is.
fn dedent(inner: NodeRef<'_>) -> Vec<Replacement> {
    let source = inner.document().source();
    let span = inner.span();
    let measured = match inner.style() {
        Style::Block => span.start as usize,
        // Where the closing brace is missing, any character may stand there.
        _ => source
            .as_str()
            .floor_char_boundary((span.end as usize).saturating_sub(1)),
    };
    let line = &source.as_str()[source.line_start(measured)..measured];
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    if inner.style() != Style::Block && !line.bytes().all(|byte| is_space(&byte)) {
        return Vec::new();
    }
    let mut edits = Vec::new();
    let mut at = span.start as usize;
    for text in source.slice(span).split_inclusive('\n') {
        at += text.len();
        let next = &source.as_str().as_bytes()[at..span.end as usize];
        let n_spaces = next.iter().take_while(|byte| is_space(byte)).count().min(line.len());
        if text.ends_with('\n') && n_spaces > 0 {
            edits.push(Replacement::delete(Span::new(at, at + n_spaces)));
        }
    }
    edits
}

fn sniff(input: &Input<'_>, choice: &Choice<'_>, found: &mut Vec<Diagnostic>) -> Option<&'static dyn Dialect> {
    let fits: Vec<(Fit, &'static dyn Dialect)> = choice
        .dialects
        .iter()
        .filter(|dialect| dialect.carriers().contains(&input.carrier))
        .map(|&dialect| (dialect.sniff(input), dialect))
        .filter(|&(fit, _)| fit > 0)
        .collect();
    let best = fits.iter().map(|&(fit, _)| fit).max().unwrap_or(0);
    let mut equals: Vec<_> = fits
        .iter()
        .filter(|&&(fit, _)| fit == best)
        .map(|&(_, dialect)| dialect)
        .collect();
    if equals.len() > 1
        && let Some(path) = input.path
    {
        let at_home: Vec<_> = equals
            .iter()
            .copied()
            .filter(|dialect| dialect.lives_at(path))
            .collect();
        if !at_home.is_empty() {
            equals = at_home;
        }
    }
    // A path alone decides where the content says nothing at all.
    if equals.is_empty()
        && let Some(path) = input.path
    {
        let carried = choice
            .dialects
            .iter()
            .filter(|dialect| dialect.carriers().contains(&input.carrier));
        equals = carried.copied().filter(|dialect| dialect.lives_at(path)).collect();
    }
    match equals.as_slice() {
        [only] => Some(*only),
        [] => {
            found.push(no_dialect(input, choice));
            None
        }
        several => {
            let names: Vec<_> = several.iter().map(|dialect| format!("`{}`", dialect.name())).collect();
            found.push(
                Diagnostic::of_file(&AMBIGUOUS_DIALECT, format!("this could be {}", names.join(" or ")))
                    .with_help("name one with --dialect"),
            );
            None
        }
    }
}

fn no_dialect(input: &Input<'_>, choice: &Choice<'_>) -> Diagnostic {
    let names: Vec<_> = choice.dialects.iter().map(|dialect| dialect.name()).collect();
    let what = match input.root.map(NodeRef::kind) {
        Some(Kind::Object) | None => "this is no plan in a dialect planwright knows".to_owned(),
        Some(Kind::String) => "this is text, not a plan".to_owned(),
        Some(_) => format!(
            "this is no plan: the root is {}, not an object",
            input.root.map_or("", NodeRef::describe)
        ),
    };
    let diagnostic = Diagnostic::of_file(&UNKNOWN_DIALECT, what).with_help(format!(
        "known dialects: {}; force one with --dialect",
        names.join(", ")
    ));
    Diagnostic {
        span: input.root.map(super::reader::opening),
        ..diagnostic
    }
}

/// Returns true where a path fits one of these places, at any depth.
pub(super) fn fits_place(places: &[&str], path: &str) -> bool {
    places.iter().any(|place| {
        let (own_folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match place.rsplit_once('/') {
            Some((folder, pattern)) => {
                let at_home = own_folder == folder || own_folder.ends_with(&format!("/{folder}"));
                at_home && glob(pattern, name)
            }
            None => glob(place, name),
        }
    })
}

/// A fit from which on a file is a plan wherever it lies.
const CERTAIN: Fit = 70;

/// Returns the dialect of a text that is certainly a plan.
pub fn recognise(source: &SourceText, path: Option<&str>) -> Option<&'static str> {
    let choice = Choice {
        dialects: super::DIALECTS,
        forced: None,
        path,
        facts: &Facts::default(),
    };
    if unreadable(source).is_some() {
        return None;
    }
    let opened = Opened::new(source, &choice);
    let input = opened.input(source, &choice);
    let fits = choice
        .dialects
        .iter()
        .filter(|dialect| dialect.carriers().contains(&input.carrier));
    let certain = fits
        .map(|dialect| (dialect.sniff(&input), dialect.name()))
        .filter(|&(fit, _)| fit >= CERTAIN);
    // A document that merely quotes a plan is not one.
    if opened.prose.is_some() {
        return None;
    }
    certain.max().map(|(_, name)| name)
}

/// Matches a pattern with at most one star.
fn glob(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((prefix, suffix)) => {
            name.len() >= prefix.len() + suffix.len() && name.starts_with(prefix) && name.ends_with(suffix)
        }
        None => pattern == name,
    }
}
