//! Parses YAML 1.2 into the node table, from a parser's events: read once, nothing expanded, no recursion.
//!
//! Plain scalars follow the core schema. A node's span begins at its content, after any anchor or tag;
//! quotes and brackets belong to it. A block scalar's span runs from its `|` or `>` to the end of its last
//! line that is not blank, without that line's break; one that keeps its trailing breaks (`|+`) ends after
//! them, because they are part of its value. A block collection runs from its first key or dash to the end
//! of its last child. A value left out is an empty span after its colon or dash.

mod explain;
mod schema;
#[cfg(test)]
mod tests;
mod tidy;

pub(crate) use schema::{number, plain_kind};

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, StrInput, StructureStyle, Tag};

use super::gap::{self, GapToken};
use super::json::{digest, duplicate_key};
use super::{Builder, Document, DocumentFormat, Features, MAX_DEPTH, NodeKind, Parsed, Style, rules};
use crate::diagnostic::{Diagnostic, Rule, push_bounded};
use crate::text::{SourceText, Span, visible};

/// The depth at which the event parser stops; between [`MAX_DEPTH`] and this, parts are skipped one by one.
const EVENT_DEPTH: usize = 2 * MAX_DEPTH;

/// Returns the comments in a text, up to the first error in it.
pub fn comments(source: &SourceText) -> Vec<Span> {
    let base = source.bom_len();
    let options = granit_parser::options! {
        emit_comments: true,
        emit_unresolved_aliases: true,
        flow_nesting_limit: EVENT_DEPTH,
        block_nesting_limit: EVENT_DEPTH,
    };
    let text = source.as_str().get(base..).unwrap_or_default();
    let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str_with_options(text, options);
    let mut found = Vec::new();
    while let Some(Ok((event, span))) = parser.next_event() {
        if let Event::Comment(..) = event {
            let range = span.byte_range().unwrap_or_default();
            found.push(Span::new(base + range.start, base + range.end));
        }
    }
    found
}

/// Parses a whole text. Only the first document of a stream is read.
pub fn parse(source: &SourceText) -> Parsed {
    parse_span(source, source.span())
}

/// Parses a part of a text, with spans of the whole text. An invalid part is empty.
pub fn parse_span(source: &SourceText, span: Span) -> Parsed {
    let is_part = source.as_str().get(span.range()).is_some();
    let span = if is_part { span } else { Span::at(source.len()) };
    match tidy::parse(source, span) {
        Some(parsed) => {
            debug_assert!(
                parsed.document.has_same_rows(&parse_events(source, span)),
                "both ways lead to the same rows"
            );
            parsed
        }
        None => parse_events(source, span),
    }
}

/// Parses a valid part of a text with the event parser.
fn parse_events(source: &SourceText, span: Span) -> Parsed {
    let text = &source.as_str()[..span.end as usize];
    let mut reader = YamlReader::new(text, span.start as usize);
    reader.run();
    reader.finish(source, span)
}

/// An open collection.
struct YamlFrame {
    is_object: bool,
    /// The next node of a mapping is a key.
    expects_key: bool,
    /// The start of this mapping's keys in `OpenCollections::keys`.
    first_key: usize,
}

/// An unread subtree: a key that is no scalar, or one nested too deeply.
struct SkippedSubtree {
    start: usize,
    is_key: bool,
    /// The number of its open collections.
    depth: usize,
}

/// The properties of a node event, without spans.
struct Properties<'e> {
    anchor: usize,
    tag: Option<&'e Tag>,
}

#[derive(Default)]
struct OpenCollections {
    frames: Vec<YamlFrame>,
    /// A digest and row per key of the open mappings, for finding duplicates.
    keys: Vec<(u64, u32)>,
}

#[derive(Default)]
struct Anchors {
    /// Anchor numbers, ascending, and their rows.
    rows: Vec<(usize, u32)>,
    /// The rows of aliases, and of their anchors.
    aliases: Vec<(u32, u32)>,
}

struct YamlReader<'t> {
    text: &'t str,
    /// The start of the document in the text, which is added to the parser's offsets.
    base: usize,
    builder: Builder,
    decoded: Vec<(u32, Cow<'static, str>)>,
    features: Features,
    anchors: Anchors,
    open: OpenCollections,
    diagnostics: Vec<Diagnostic>,
    /// The end of the last scalar, bracket or alias: the start of the gap before the next node.
    last_end: usize,
    skipped: Option<SkippedSubtree>,
    n_documents: usize,
    /// A syntax error ended the reading.
    is_cut: bool,
}

impl<'t> YamlReader<'t> {
    fn new(text: &'t str, base: usize) -> Self {
        YamlReader {
            text,
            base,
            builder: Builder::with_capacity((text.len() - base) / 16 + 8),
            decoded: Vec::new(),
            features: Features::default(),
            anchors: Anchors::default(),
            open: OpenCollections::default(),
            diagnostics: Vec::new(),
            is_cut: false,
            last_end: base,
            skipped: None,
            n_documents: 0,
        }
    }

    fn run(&mut self) {
        // An edit that needs comments finds them in the gaps between nodes; as events they only cost time.
        let options = granit_parser::options! {
            emit_comments: false,
            emit_unresolved_aliases: true,
            flow_nesting_limit: EVENT_DEPTH,
            block_nesting_limit: EVENT_DEPTH,
        };
        let text = self.text;
        let mut parser: Parser<'t, StrInput<'t>> = Parser::new_from_str_with_options(&text[self.base..], options);
        while let Some(event) = parser.next_event() {
            match event {
                Ok((event, span)) => {
                    let range = span.byte_range().unwrap_or_default();
                    let (start, end) = (self.base + range.start, self.base + range.end);
                    if !self.event(&event, start, end, span.indent) {
                        break;
                    }
                }
                Err(error) => {
                    self.syntax_error(&error);
                    break;
                }
            }
            if self.builder.is_full() {
                let message = "more than 16 million values: the rest is not read";
                self.report(&rules::TOO_LARGE, Span::at(self.last_end), message);
                self.is_cut = true;
                break;
            }
        }
        self.close_all();
    }

    fn finish(mut self, source: &SourceText, extent: Span) -> Parsed {
        let mut document = Document::empty(source.clone(), DocumentFormat::Yaml, extent);
        document.nodes = self.builder.nodes;
        document.decoded = self.decoded;
        document.aliases = self.anchors.aliases;
        self.features.unpatchable.dedup();
        self.features.lone_returns = has_lone_return(&self.text.as_bytes()[self.base..]);
        document.features = self.features;
        if memchr::memchr(b'\t', &self.text.as_bytes()[self.base..]).is_some() {
            document.features.tabs = gap::has_tab(&document);
        }
        document.is_cut = self.is_cut;
        document.is_doubtful = self.is_cut;
        document.set_broken(&self.diagnostics);
        Parsed {
            document,
            diagnostics: self.diagnostics,
        }
    }

    /// Handles one event; returns false if parsing ends.
    fn event(&mut self, event: &Event<'t>, start: usize, end: usize, indent: Option<usize>) -> bool {
        match event {
            Event::DocumentStart(explicit, _) => return self.document_start(*explicit, Span::new(start, end)),
            Event::StreamEnd => return false,
            Event::Scalar(value, style, anchor, tag) => {
                let properties = Properties {
                    anchor: *anchor,
                    tag: tag.as_deref(),
                };
                self.scalar(value, *style, &properties, Span::new(start, end), indent);
            }
            Event::MappingStart(style, anchor, tag) | Event::SequenceStart(style, anchor, tag) => {
                let properties = Properties {
                    anchor: *anchor,
                    tag: tag.as_deref(),
                };
                let is_object = matches!(event, Event::MappingStart(..));
                self.open(is_object, *style, &properties, Span::new(start, end));
            }
            Event::MappingEnd | Event::SequenceEnd => self.close(Span::new(start, end)),
            Event::Alias(anchor) => self.alias(*anchor, Span::new(start, end)),
            Event::UnresolvedAlias(name) => self.unresolved_alias(name, Span::new(start, end)),
            _ => {}
        }
        true
    }

    fn report(&mut self, rule: &'static Rule, span: Span, message: impl Into<String>) {
        push_bounded(&mut self.diagnostics, || Diagnostic::new(rule, span, message));
    }

    fn document_start(&mut self, explicit: bool, span: Span) -> bool {
        self.n_documents += 1;
        if self.n_documents > 1 {
            self.features.multi_document = true;
            push_bounded(&mut self.diagnostics, || {
                let message = "a second document begins here: it is not read";
                Diagnostic::new(&rules::YAML_UNSUPPORTED, span, message).with_help("keep one document per file")
            });
            return false;
        }
        if explicit {
            self.last_end = span.end as usize;
        }
        true
    }

    /// Returns whether the next node is a key, and advances its mapping.
    fn take_place(&mut self) -> bool {
        match self.open.frames.last_mut() {
            Some(frame) if frame.is_object => {
                let is_key = frame.expects_key;
                frame.expects_key = !is_key;
                is_key
            }
            _ => false,
        }
    }

    fn row(&self) -> u32 {
        self.builder.nodes.len() as u32
    }

    fn remember(&mut self, properties: &Properties<'_>, row: u32) {
        if properties.anchor != 0 {
            self.anchors.rows.push((properties.anchor, row));
        }
        if properties.anchor != 0 || properties.tag.is_some() {
            self.features.unpatchable.push(row);
        }
    }

    fn scalar(
        &mut self,
        value: &str,
        style: ScalarStyle,
        properties: &Properties<'_>,
        span: Span,
        indent: Option<usize>,
    ) {
        if self.skipped.is_some() {
            self.last_end = (span.end as usize).max(self.last_end);
            return;
        }
        let is_key = self.take_place();
        let left_out = style == ScalarStyle::Plain && span.is_empty();
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        // A key has the indentation of its mapping.
        let content_indent = indent.filter(|_| !is_key);
        let value = if is_block && self.ends_without_break(span, value, content_indent) {
            &value[..value.len() - 1]
        } else {
            value
        };
        let span = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => self.block_scalar_span(span, indent),
            _ if left_out => self.left_out_span(span, is_key),
            _ => span,
        };
        let value: &str = if left_out { "" } else { value };
        let (style, quote) = match style {
            ScalarStyle::Plain => (Style::Plain, 0),
            ScalarStyle::SingleQuoted => (Style::Single, 1),
            ScalarStyle::DoubleQuoted => (Style::Double, 1),
            ScalarStyle::Literal => (Style::Literal, 0),
            ScalarStyle::Folded => (Style::Folded, 0),
        };
        let kind = if is_key {
            NodeKind::Key
        } else {
            scalar_kind(value, style, properties.tag)
        };
        let range = span.range();
        let decoded = self.text.get(range.start + quote..range.end.saturating_sub(quote)) != Some(value);
        let row = self.row();
        self.remember(properties, row);
        if is_key {
            self.find_explicit_key(span);
            self.open.keys.push((digest(value.as_bytes()), row));
        }
        self.builder.push(kind, style, span, decoded);
        if decoded {
            self.decoded.push((row, Cow::Owned(value.to_owned())));
        }
        self.last_end = range.end.max(self.last_end);
    }

    /// Marks the next key if it was written with `?`.
    fn find_explicit_key(&mut self, span: Span) {
        let gap = Span::new(self.last_end, span.start as usize);
        let may_be = memchr::memchr(b'?', &self.text.as_bytes()[gap.range()]).is_some();
        if may_be && gap::tokens(self.text, gap).any(|(token, _)| token == GapToken::Question) {
            self.features.unpatchable.push(self.row());
        }
    }

    /// Returns whether the event parser adds a break to the last line of a block scalar that the text, which ends there, does not have. A
    /// last line of mere indentation has no content, and the break before it is real.
    fn ends_without_break(&self, content: Span, value: &str, indent: Option<usize>) -> bool {
        let reaches_end = content.end as usize >= self.text.len() && !self.text.ends_with(['\n', '\r']);
        if !reaches_end || !value.ends_with('\n') {
            return false;
        }
        let last_line = self.text.rsplit(['\n', '\r']).next().unwrap_or_default();
        let n_spaces = last_line.len() - last_line.trim_start_matches(' ').len();
        let has_content = n_spaces < last_line.len() || indent.is_some_and(|indent| n_spaces > indent);
        has_content || (value.bytes().all(|byte| byte == b'\n') && value.len() >= self.n_last_breaks())
    }

    /// Returns the number of line breaks in the white space at the end of the text.
    fn n_last_breaks(&self) -> usize {
        let bytes = self.text.as_bytes().iter().rev();
        let space = bytes.take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r'));
        space.filter(|byte| **byte == b'\n').count()
    }

    /// Returns the span of a block scalar, whose content the event parser reports from its first character on.
    fn block_scalar_span(&self, content: Span, indent: Option<usize>) -> Span {
        let gap = Span::new(self.last_end, content.start as usize);
        let start = gap::tokens(self.text, gap)
            .find(|(token, _)| *token == GapToken::BlockScalar)
            .map_or(content.start as usize, |(_, at)| at);
        let bytes = self.text.as_bytes();
        let header_len = bytes[start..]
            .iter()
            .take_while(|byte| matches!(byte, b'|' | b'>' | b'+' | b'-' | b'0'..=b'9'))
            .count();
        let header = start..(start + header_len).min(self.text.len());
        if bytes[header.clone()].contains(&b'+') {
            // The reported content includes the indentation of the next line.
            let content = &self.text[..content.end as usize];
            let trimmed = content.trim_end_matches(' ');
            let kept = if trimmed.ends_with('\n') { trimmed } else { content };
            return Span::new(start, kept.len().max(header.end));
        }
        let end = trim_blank_lines(bytes, content.range(), indent.unwrap_or(usize::MAX));
        Span::new(start, if end > content.start as usize { end } else { header.end })
    }

    /// Returns the span of a missing value. The event parser reports it before its colon or at the next line. It belongs right after the
    /// colon or dash, or after the key without a colon. After an anchor or tag the reported span is right.
    fn left_out_span(&self, span: Span, is_key: bool) -> Span {
        let Some(frame) = self.open.frames.last() else {
            return span;
        };
        let indicator = match (frame.is_object, is_key) {
            (true, true) => GapToken::Question,
            (true, false) => GapToken::Colon,
            (false, _) => GapToken::Dash,
        };
        let mut tokens = gap::tokens(self.text, Span::new(self.last_end, self.text.len()));
        // A colon that starts the next key, as in `:x`, does not belong to this value.
        let is_indicator = |at: usize| match self.text.as_bytes().get(at + 1) {
            None | Some(b' ' | b'\t' | b'\n' | b'\r') => true,
            Some(b',' | b']' | b'}') => self.open_bracket().is_some(),
            Some(_) => false,
        };
        let first = tokens.find(|(token, _)| *token != GapToken::Comment);
        match first.filter(|(_, at)| is_indicator(*at)) {
            Some(_) if tokens.is_at_property() => span,
            // A colon on a later line may belong to an outer mapping with a missing key.
            Some((GapToken::Colon, at)) if indicator == GapToken::Colon && !self.is_own_colon(at) => {
                Span::at(self.last_end)
            }
            Some((token, at)) if token == indicator => Span::at(at + 1),
            Some((GapToken::Colon, at)) if is_key => Span::at(at),
            _ if is_key => span,
            _ if frame.is_object => Span::at(self.last_end),
            _ => span,
        }
    }

    /// Returns whether a colon belongs to the innermost mapping: after its key, or in the column of its keys.
    fn is_own_colon(&self, at: usize) -> bool {
        let start = self
            .builder
            .open
            .last()
            .map(|&row| self.builder.nodes[row as usize].start as usize);
        let column =
            |at: usize| at - memchr::memrchr2(b'\n', b'\r', &self.text.as_bytes()[..at]).map_or(0, |end| end + 1);
        let gap = self.text.as_bytes().get(self.last_end..at).unwrap_or_default();
        let is_same_line = memchr::memchr2(b'\n', b'\r', gap).is_none();
        is_same_line || self.open_bracket().is_some() || start.is_none_or(|start| column(start) == column(at))
    }

    fn open(&mut self, is_object: bool, style: StructureStyle, properties: &Properties<'_>, span: Span) {
        let is_flow_bracket = style == StructureStyle::Flow && !span.is_empty();
        if let Some(skipped) = &mut self.skipped {
            skipped.depth += 1;
            self.last_end = (span.end as usize).max(self.last_end);
            return;
        }
        let follows_key = self
            .open
            .frames
            .last()
            .is_some_and(|frame| frame.is_object && !frame.expects_key);
        let is_key = self.take_place();
        let start = if follows_key && !is_object && style == StructureStyle::Block {
            self.first_dash(span)
        } else {
            span.start as usize
        };
        if is_key || self.builder.open.len() >= MAX_DEPTH {
            return self.skip(is_key, start, span);
        }
        let row = self.row();
        self.remember(properties, row);
        let kind = if is_object { NodeKind::Object } else { NodeKind::Array };
        let style = match style {
            StructureStyle::Flow => Style::Flow,
            StructureStyle::Block => Style::Block,
        };
        self.builder.open(kind, style, start);
        self.open.frames.push(YamlFrame {
            is_object,
            expects_key: true,
            first_key: self.open.keys.len(),
        });
        if is_flow_bracket {
            self.last_end = span.end as usize;
        } else {
            self.last_end = self.last_end.max(start);
        }
    }

    /// Starts to skip a collection that is a key or too deep.
    fn skip(&mut self, is_key: bool, start: usize, span: Span) {
        let (rule, message) = if is_key {
            (
                &rules::YAML_UNSUPPORTED,
                "a key that is itself a list or mapping: it is kept as text".to_owned(),
            )
        } else {
            (
                &rules::TOO_DEEP,
                format!("nested more than {MAX_DEPTH} levels deep: this value is skipped"),
            )
        };
        self.report(rule, Span::new(start, start + span.len()), message);
        if is_key {
            self.features.unpatchable.push(self.row());
        }
        self.last_end = (span.end as usize).max(self.last_end);
        self.skipped = Some(SkippedSubtree {
            start,
            is_key,
            depth: 1,
        });
    }

    /// Returns the first dash of a list. The parser reports a list without indentation at its first entry's content.
    fn first_dash(&self, span: Span) -> usize {
        gap::tokens(self.text, Span::new(self.last_end, self.text.len()))
            .find(|(token, _)| *token == GapToken::Dash)
            .map_or(span.start as usize, |(_, at)| at)
    }

    fn close(&mut self, span: Span) {
        if !span.is_empty() {
            // Only brackets have a width; the ends of block collections are reported at the next node.
            self.last_end = (span.end as usize).max(self.last_end);
        }
        match &mut self.skipped {
            Some(skipped) if skipped.depth > 1 => skipped.depth -= 1,
            Some(_) => self.close_skipped(),
            None => self.close_collection(),
        }
    }

    fn close_skipped(&mut self) {
        let Some(skipped) = self.skipped.take() else {
            return;
        };
        let span = Span::new(skipped.start, self.last_end);
        let row = self.row();
        if skipped.is_key {
            self.open.keys.push((digest(self.text[span.range()].as_bytes()), row));
            self.builder.push(NodeKind::Key, Style::Plain, span, false);
        } else {
            self.builder.push(NodeKind::Invalid, Style::Plain, span, false);
        }
    }

    fn close_collection(&mut self) {
        if let Some(frame) = self.open.frames.pop() {
            self.builder.close(self.last_end);
            if frame.is_object {
                self.find_duplicates(frame.first_key);
            }
        }
    }

    /// Closes the collections that an error or a limit left open; a key without a value gets an unreadable one.
    fn close_all(&mut self) {
        if self.skipped.is_some() {
            self.close_skipped();
        }
        while let Some(frame) = self.open.frames.last() {
            let last_is_key = self
                .builder
                .nodes
                .last()
                .is_some_and(|node| node.kind() == NodeKind::Key);
            if frame.is_object && last_is_key {
                self.builder
                    .push(NodeKind::Invalid, Style::Plain, Span::at(self.last_end), false);
            }
            self.close_collection();
        }
    }

    fn alias(&mut self, anchor: usize, span: Span) {
        self.last_end = (span.end as usize).max(self.last_end);
        if self.skipped.is_some() {
            return;
        }
        let is_key = self.take_place();
        let found = self.anchors.rows.binary_search_by_key(&anchor, |&(number, _)| number);
        let target = found.ok().map(|at| self.anchors.rows[at].1);
        let name = visible(&self.text[span.range()]).into_owned();
        match target {
            _ if is_key => self.alias_key(target, span),
            Some(row) if self.builder.open.binary_search(&row).is_ok() => {
                self.report(
                    &rules::YAML_UNSUPPORTED,
                    span,
                    format!("`{name}` stands inside the part it names"),
                );
                self.builder.push(NodeKind::Invalid, Style::Plain, span, false);
            }
            Some(row) => {
                self.anchors.aliases.push((self.row(), row));
                self.builder.push(NodeKind::Alias, Style::Plain, span, false);
            }
            None => {
                self.report(
                    &rules::YAML_UNSUPPORTED,
                    span,
                    format!("`{name}` names a part that is not read"),
                );
                self.builder.push(NodeKind::Invalid, Style::Plain, span, false);
            }
        }
    }

    /// Adds an alias that is a key, with the text of its target scalar.
    fn alias_key(&mut self, target: Option<u32>, span: Span) {
        let row = self.row();
        let text = target.and_then(|target| self.scalar_text(target)).map(str::to_owned);
        if text.is_none() {
            let message = "a key that is itself a list or mapping: it is kept as text";
            self.report(&rules::YAML_UNSUPPORTED, span, message);
        }
        let text = text.unwrap_or_else(|| self.text[span.range()].to_owned());
        self.features.unpatchable.push(row);
        self.open.keys.push((digest(text.as_bytes()), row));
        self.builder.push(NodeKind::Key, Style::Plain, span, true);
        self.decoded.push((row, Cow::Owned(text)));
    }

    fn unresolved_alias(&mut self, name: &str, span: Span) {
        self.last_end = (span.end as usize).max(self.last_end);
        if self.skipped.is_some() {
            return;
        }
        push_bounded(&mut self.diagnostics, || {
            let message = format!("`*{}` names no anchor above it", visible(name));
            Diagnostic::new(&rules::YAML_SYNTAX, span, message)
                .with_help("put text that begins with `*` in quotes, or define the anchor first")
        });
        if self.take_place() {
            self.alias_key_text(span);
        } else {
            self.builder.push(NodeKind::Invalid, Style::Plain, span, false);
        }
    }

    fn alias_key_text(&mut self, span: Span) {
        let row = self.row();
        self.features.unpatchable.push(row);
        self.open.keys.push((digest(self.text[span.range()].as_bytes()), row));
        self.builder.push(NodeKind::Key, Style::Plain, span, false);
    }

    /// Returns the value of a scalar row.
    fn scalar_text(&self, row: u32) -> Option<&str> {
        let node = *self.builder.nodes.get(row as usize)?;
        if matches!(
            node.kind(),
            NodeKind::Object | NodeKind::Array | NodeKind::Alias | NodeKind::Invalid
        ) {
            return None;
        }
        if node.decoded() {
            let at = self.decoded.binary_search_by_key(&row, |(row, _)| *row).ok()?;
            return Some(&self.decoded[at].1);
        }
        let quote = usize::from(matches!(node.style(), Style::Double | Style::Single));
        self.text
            .get(node.start as usize + quote..(node.end as usize).saturating_sub(quote))
    }

    /// Reports keys that occur twice in the mapping whose keys start at `first`.
    fn find_duplicates(&mut self, first: usize) {
        let keys = &self.open.keys[first..];
        let may_repeat = match keys.len() {
            0 | 1 => false,
            2..=24 => keys
                .iter()
                .enumerate()
                .any(|(ix, (digest, _))| keys[..ix].iter().any(|(other, _)| other == digest)),
            _ => true,
        };
        if may_repeat {
            self.report_duplicates(first);
        }
        self.open.keys.truncate(first);
    }

    fn report_duplicates(&mut self, first: usize) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        for &(_, row) in &self.open.keys[first..] {
            let Some(key) = self.scalar_text(row) else {
                continue;
            };
            let node = self.builder.nodes[row as usize];
            let span = Span {
                start: node.start,
                end: node.end,
            };
            match seen.get(key) {
                Some(&earlier) => push_bounded(&mut diagnostics, || duplicate_key(key, span, earlier)),
                None => {
                    seen.insert(key, span);
                }
            }
        }
        self.diagnostics = diagnostics;
    }

    /// Returns the innermost open bracket, except single pairs without braces.
    fn open_bracket(&self) -> Option<usize> {
        let rows = self.builder.open.iter().rev();
        let flow = rows
            .map(|&row| self.builder.nodes[row as usize])
            .take_while(|node| node.style() == Style::Flow);
        flow.map(|node| node.start as usize)
            .find(|&start| matches!(self.text.as_bytes().get(start), Some(b'[' | b'{')))
    }
}

/// Returns whether a line looks like a member of a mapping at the left margin. A guess: not every such line is YAML.
pub(crate) fn is_member_line(line: &str) -> bool {
    let Some((key, rest)) = line.split_once(':') else {
        return false;
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !key.is_empty() && key.bytes().all(is_name) && (rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Returns the kind of a scalar value; a tag of the core schema overrides it for strings.
fn scalar_kind(value: &str, style: Style, tag: Option<&Tag>) -> NodeKind {
    let is_string = match tag {
        Some(tag) => tag.is_yaml_core_schema_tag("str") || (tag.suffix().is_empty() && tag.original_handle() == "!"),
        None => false,
    };
    if style == Style::Plain && !is_string {
        plain_kind(value)
    } else {
        NodeKind::String
    }
}

/// Returns the end of the last non-blank line of a block scalar's content, without its break. A line of spaces is blank unless it is longer
/// than the indentation.
fn trim_blank_lines(bytes: &[u8], content: std::ops::Range<usize>, indent: usize) -> usize {
    let mut end = content.end;
    loop {
        let before_feed = end - usize::from(end > content.start && bytes[end - 1] == b'\n');
        let trimmed = before_feed - usize::from(before_feed > content.start && bytes[before_feed - 1] == b'\r');
        let n_spaces = bytes[content.start..trimmed]
            .iter()
            .rev()
            .take_while(|&&byte| byte == b' ')
            .count();
        let line_start = trimmed - n_spaces;
        // The first line's indentation is before the content, so that line is never blank.
        let is_whole_line = line_start > content.start && matches!(bytes[line_start - 1], b'\n' | b'\r');
        if !is_whole_line || n_spaces > indent {
            return trimmed;
        }
        end = line_start;
    }
}

fn has_lone_return(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'))
}
