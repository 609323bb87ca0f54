//! Finds JSON events among other lines: one object per line, in one array, or over several lines. Knows JSON, but no agent.

use crate::diagnostic::Severity;
use crate::document::prose::BracketScan;
use crate::document::rules::{DUPLICATE_KEY, JSON_SURROGATE, TOO_DEEP};
use crate::document::{NodeKind, NodeRef, json};
use crate::text::SourceText;

/// The longest event that is parsed, in bytes. A longer one is no event.
const MAX_EVENT: usize = 16 * 1024 * 1024;

/// The longest event over several lines that is joined, in bytes.
const MAX_SPREAD: usize = 4 * 1024 * 1024;

pub(super) enum OutputLine<'l> {
    /// A JSON object with a `type`.
    Event(NodeRef<'l>),
    /// Anything else.
    Other(&'l str),
}

/// Finds the events in lines.
#[derive(Default)]
pub(super) struct Splitter {
    /// The start of an event that spans several lines.
    spread: String,
    /// How many brackets are open in it.
    depth: usize,
}

impl Splitter {
    /// Calls `take` for each part of a line.
    pub(super) fn line(&mut self, line: &str, take: &mut dyn FnMut(OutputLine<'_>)) {
        let trimmed = line.trim();
        let bare = trimmed.strip_suffix(',').unwrap_or(trimmed);
        let is_whole = bare.starts_with('{') && bare.ends_with('}');
        // No agent starts a line with a whole object inside another one: the other one was never closed.
        if is_whole && (self.spread.is_empty() || line.starts_with('{')) && event(bare, take) {
            self.forget();
        } else if !self.spread.is_empty() {
            self.go_on(line, take);
        } else if bare == "{" || bare == "[{" {
            self.go_on(bare.trim_start_matches('['), take);
        } else if matches!(trimmed, "[" | "]" | "") {
            // The brackets around an array of events, one to a line.
        } else if !(bare.starts_with('[') && elements(bare, take)) {
            take(OutputLine::Other(line));
        }
    }

    /// Returns how many bytes are held.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.spread.capacity()
    }

    fn forget(&mut self) {
        self.spread = String::new();
        self.depth = 0;
    }

    fn go_on(&mut self, line: &str, take: &mut dyn FnMut(OutputLine<'_>)) {
        if self.spread.len() + line.len() >= MAX_SPREAD {
            self.forget();
            return;
        }
        self.spread.push_str(line);
        self.spread.push('\n');
        let mut scan = BracketScan::default();
        for byte in line.bytes() {
            match scan.bracket(byte) {
                Some(b'{' | b'[') => self.depth += 1,
                Some(_) => self.depth = self.depth.saturating_sub(1),
                None => {}
            }
            if self.depth == 0 {
                break;
            }
        }
        if self.depth == 0 {
            let text = std::mem::take(&mut self.spread);
            let text = text.trim_end().trim_end_matches([',', ']']).trim_end();
            event(text, take);
        }
    }
}

/// Parses one object and passes it on; returns false if it is none.
fn event(text: &str, take: &mut dyn FnMut(OutputLine<'_>)) -> bool {
    if text.len() > MAX_EVENT {
        return false;
    }
    let parsed = json::parse(&SourceText::new(text));
    let harmless = [DUPLICATE_KEY.id, JSON_SURROGATE.id, TOO_DEEP.id];
    let is_sound = parsed
        .diagnostics
        .iter()
        .all(|finding| finding.severity < Severity::Error || harmless.contains(&finding.rule.id));
    let root = parsed
        .document
        .root()
        .filter(|root| is_sound && root.kind() == NodeKind::Object);
    let is_event = root.is_some_and(|root| root.get("type").is_some_and(|kind| kind.kind() == NodeKind::String));
    match root.filter(|_| is_event) {
        Some(root) => take(OutputLine::Event(root)),
        None => return false,
    }
    true
}

/// Parses the objects of an array on one line, closed or cut; returns false if it has none.
fn elements(text: &str, take: &mut dyn FnMut(OutputLine<'_>)) -> bool {
    let (mut scan, mut depth, mut start, mut n_events) = (BracketScan::default(), 0_usize, 0, 0_usize);
    for (at, byte) in text.bytes().enumerate() {
        match scan.bracket(byte) {
            Some(b'{' | b'[') => {
                depth += 1;
                if depth == 2 {
                    start = at;
                }
            }
            Some(_) => {
                depth = depth.saturating_sub(1);
                let element = text.get(start..=at).filter(|element| element.starts_with('{'));
                if depth == 1
                    && let Some(element) = element
                {
                    n_events += usize::from(event(element, take));
                } else if depth == 0 {
                    break;
                }
            }
            None => {}
        }
    }
    n_events > 0
}
