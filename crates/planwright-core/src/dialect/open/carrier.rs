//! From a text to a document: the format of its extension first, then the text as a whole, then a fragment of it.

use super::super::{CarrierKind, Dialect, DialectInput};
use super::choice::{CERTAIN, Choice, begins_as_json, best_fit, named};
use super::wrapping::{json_in_prose, prose_finding, wrapped};
use crate::diagnostic::Diagnostic;
use crate::document::{DocumentFormat, NodeKind, Parsed, json, yaml};
use crate::text::{SourceText, Span};

/// A text with its document, and the span of the document in the text.
pub(super) struct CarriedDocument {
    pub(super) carrier: CarrierKind,
    pub(super) parsed: Option<Parsed>,
    /// The span of JSON inside prose or a fence; none if the document is the whole text.
    pub(super) prose: Option<Span>,
}

impl CarriedDocument {
    /// Uses the document of a whole text that was parsed before. If the text now looks like something else, it is opened as the next
    /// command would open it.
    pub(super) fn of(parsed: Parsed, choice: &Choice<'_>) -> Self {
        let carrier = match parsed.document.format() {
            DocumentFormat::Json => CarrierKind::Json,
            DocumentFormat::Yaml => CarrierKind::Yaml,
            DocumentFormat::Own(_) => CarrierKind::Markdown,
        };
        let source = parsed.document.source();
        if choice.forced.is_none() && likely_carrier(source.as_str(), choice) != carrier {
            return CarriedDocument::new(source, choice);
        }
        CarriedDocument {
            carrier,
            parsed: Some(parsed),
            prose: None,
        }
    }

    pub(super) fn new(source: &SourceText, choice: &Choice<'_>) -> Self {
        if let Some(forced) = choice.forced
            && let [usual, ..] = forced.carriers()
        {
            return CarriedDocument::in_carrier(source, *usual);
        }
        let likely = likely_carrier(source.as_str(), choice);
        let named = named(choice.path);
        // A plan in YAML may quote anything: JSON in fences, the headings of a task pack.
        let may_be_yaml = match likely {
            CarrierKind::Json => !begins_as_json(source.as_str()),
            CarrierKind::Markdown => named != Some(CarrierKind::Markdown),
            CarrierKind::Yaml => false,
        };
        let whole = may_be_yaml.then(|| whole_yaml(source, choice, likely)).flatten();
        whole.unwrap_or_else(|| CarriedDocument::in_carrier(source, likely))
    }

    fn in_carrier(source: &SourceText, carrier: CarrierKind) -> Self {
        let prose = match carrier {
            CarrierKind::Json => json_in_prose(source),
            CarrierKind::Yaml | CarrierKind::Markdown => None,
        };
        let parsed = match (carrier, prose) {
            (CarrierKind::Markdown, _) => None,
            (CarrierKind::Yaml, _) => Some(yaml::parse(source)),
            (CarrierKind::Json, Some(span)) => Some(json::parse_span(source, span)),
            (CarrierKind::Json, None) => Some(json::parse(source)),
        };
        CarriedDocument { carrier, parsed, prose }
    }

    pub(super) fn input<'a>(&'a self, source: &'a SourceText, choice: &Choice<'a>) -> DialectInput<'a> {
        let root = self.parsed.as_ref().and_then(|parsed| parsed.document.root());
        let mut input = DialectInput {
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

    pub(super) fn syntax_errors(&self) -> Vec<Diagnostic> {
        self.parsed
            .as_ref()
            .map_or(Vec::new(), |parsed| parsed.diagnostics.clone())
    }

    /// Returns the finding about the prose around the plan.
    pub(super) fn prose_finding(&self, choice: &Choice<'_>, dialect: &dyn Dialect) -> Option<Diagnostic> {
        Some(prose_finding(self.parsed.as_ref()?, self.prose?, choice, dialect))
    }
}

/// Returns the whole text as YAML, if it is a plan in YAML. A file with a YAML name may be broken, or no plan at all: that is reported,
/// instead of errors in JSON that it quotes.
fn whole_yaml(source: &SourceText, choice: &Choice<'_>, likely: CarrierKind) -> Option<CarriedDocument> {
    let opened = CarriedDocument::in_carrier(source, CarrierKind::Yaml);
    let is_sound = opened
        .parsed
        .as_ref()
        .is_some_and(|parsed| parsed.diagnostics.is_empty());
    let is_named = named(choice.path) == Some(CarrierKind::Yaml);
    let input = opened.input(source, choice);
    let fit = best_fit(&input, choice);
    let is_object = input.root.is_some_and(|root| root.kind() == NodeKind::Object);
    let is_plan = fit > 0 && (is_sound || is_named || fit >= CERTAIN);
    let is_document = is_named && is_sound && is_object && likely == CarrierKind::Json;
    (is_plan || is_document).then_some(opened)
}

/// Returns the probable format of a text, without parsing it.
fn likely_carrier(text: &str, choice: &Choice<'_>) -> CarrierKind {
    let named = named(choice.path);
    let claimed = || choice.dialects.iter().find_map(|dialect| dialect.claims(text));
    // Braces begin JSON and YAML's flow style alike, and a Markdown page may begin with one: the file's name decides.
    if text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) {
        return match named {
            Some(CarrierKind::Yaml) => CarrierKind::Yaml,
            Some(CarrierKind::Markdown) => claimed().unwrap_or(CarrierKind::Json),
            _ => CarrierKind::Json,
        };
    }
    if let Some(carrier) = claimed() {
        return carrier;
    }
    let has_fence = memchr::memmem::find(text.as_bytes(), b"```").is_some();
    let is_page = named == Some(CarrierKind::Markdown) && text.lines().any(|line| line.starts_with("# "));
    if !has_fence && !is_page && text.trim_start_matches('\u{feff}').lines().any(yaml::is_member_line) {
        return CarrierKind::Yaml;
    }
    // A page of Markdown may quote any JSON; only a plan in it is meant.
    let quotes_plan = || {
        ["\"tasks\"", "\"steps\"", "\"userStories\""]
            .iter()
            .any(|key| text.contains(key))
    };
    if text.contains('{') && (named != Some(CarrierKind::Markdown) || quotes_plan()) {
        return CarrierKind::Json;
    }
    named.unwrap_or(CarrierKind::Yaml)
}
