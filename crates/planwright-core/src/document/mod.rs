//! Lossless documents: a flat table of nodes over a text, for JSON, YAML and Markdown. Does not know tasks, and is never changed.
//!
//! ```
//! use planwright_core::document::{json, yaml};
//! use planwright_core::text::SourceText;
//!
//! // What is wrong is said; the rest is read.
//! let parsed = json::parse(&SourceText::new(r#"{"tasks": ["t1", "t2",], "n": 1.50}"#));
//! assert_eq!(parsed.diagnostics[0].rule.id, "json-trailing-comma");
//! let root = parsed.document.root().expect("a value");
//! assert_eq!(root.get("tasks").map(|tasks| tasks.elements().count()), Some(2));
//! // Nothing is lost: a number is what is written.
//! assert_eq!(root.get("n").map(|n| n.slice()), Some("1.50"));
//!
//! let parsed = yaml::parse(&SourceText::new("base: &b\n  on: yes\nuse: *b\n"));
//! let root = parsed.document.root().expect("a value");
//! let on = root.get("use").and_then(|alias| alias.get("on")).expect("the alias is followed");
//! assert_eq!(on.text().as_deref(), Some("yes"), "YAML 1.2 knows `true` and `false` alone");
//! ```

mod gap;
pub mod json;
pub mod markdown;
pub(crate) mod notation;
pub mod patch;
pub(crate) mod prose;
pub mod route;
pub mod rules;
pub mod write;
pub mod yaml;

use std::borrow::Cow;

use crate::diagnostic::{Diagnostic, Severity};
use crate::text::{SourceText, Span};
pub use notation::OwnNotation;

/// The deepest nesting that is parsed. Deeper parts are skipped and reported.
pub const MAX_DEPTH: usize = 128;

/// The most nodes one document may have (24 bits of a node's link).
pub const MAX_NODES: usize = (1 << 24) - 2;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum NodeKind {
    /// A JSON object or a YAML mapping.
    Object = 0,
    /// A JSON array or a YAML sequence.
    Array,
    /// Text.
    String,
    /// A number, as written.
    Number,
    /// The boolean true.
    True,
    /// The boolean false.
    False,
    /// Null; in YAML also a missing value.
    Null,
    /// The key of the node that follows.
    Key,
    /// A YAML alias: it refers to another node.
    Alias,
    /// A part that could not be parsed; a diagnostic has the reason.
    Invalid,
}

const KINDS: [NodeKind; 16] = [
    NodeKind::Object,
    NodeKind::Array,
    NodeKind::String,
    NodeKind::Number,
    NodeKind::True,
    NodeKind::False,
    NodeKind::Null,
    NodeKind::Key,
    NodeKind::Alias,
    NodeKind::Invalid,
    // Four bits can hold sixteen kinds; the rest are never written.
    NodeKind::Invalid,
    NodeKind::Invalid,
    NodeKind::Invalid,
    NodeKind::Invalid,
    NodeKind::Invalid,
    NodeKind::Invalid,
];

/// The notation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Style {
    /// In double quotes, as every JSON string.
    Double = 0,
    /// Without quotes: JSON numbers and literals, YAML plain scalars.
    Plain,
    /// In single quotes.
    Single,
    /// A YAML block scalar that keeps its line breaks (`|`).
    Literal,
    /// A YAML block scalar that folds its line breaks (`>`).
    Folded,
    /// A collection in braces or brackets, as every JSON collection.
    Flow,
    /// A YAML collection laid out by indentation.
    Block,
}

const STYLES: [Style; 8] = [
    Style::Double,
    Style::Plain,
    Style::Single,
    Style::Literal,
    Style::Folded,
    Style::Flow,
    Style::Block,
    Style::Plain,
];

/// The notation a document is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    /// Strict JSON.
    Json,
    /// YAML 1.2.
    Yaml,
    /// That of a dialect.
    Own(OwnNotation),
}

/// One row of the table: the node's start, its kind, and the number of rows of its subtree.
#[derive(Clone, Copy)]
struct NodeRow {
    start: u32,
    end: u32,
    /// Bits 0–23: rows of the subtree; 24–27: kind; 28–30: style; 31: the value differs from the slice.
    bits: u32,
}

const ROWS_MASK: u32 = (1 << 24) - 1;

impl NodeRow {
    #[inline]
    fn new(kind: NodeKind, style: Style, span: Span, decoded: bool) -> Self {
        NodeRow {
            start: span.start,
            end: span.end,
            bits: 1 | ((kind as u32) << 24) | ((style as u32) << 28) | (u32::from(decoded) << 31),
        }
    }

    #[inline]
    fn rows(self) -> usize {
        (self.bits & ROWS_MASK) as usize
    }

    #[inline]
    fn kind(self) -> NodeKind {
        KINDS[((self.bits >> 24) & 0xf) as usize]
    }

    #[inline]
    fn style(self) -> Style {
        STYLES[((self.bits >> 28) & 0x7) as usize]
    }

    #[inline]
    fn decoded(self) -> bool {
        self.bits >> 31 == 1
    }

    fn close(&mut self, end: usize, rows: usize) {
        self.end = u32::try_from(end).unwrap_or(u32::MAX);
        self.bits = (self.bits & !ROWS_MASK) | (rows as u32 & ROWS_MASK);
    }
}

/// A parsed text. Rows are in the order of the text; each collection is followed by its children.
#[derive(Clone)]
pub struct Document {
    source: SourceText,
    format: DocumentFormat,
    /// The part of the text that was parsed.
    extent: Span,
    /// Syntax errors left parts of the text unread.
    is_broken: bool,
    /// Parsing stopped before the end of the text: the collections that were open may lack members.
    is_cut: bool,
    /// Parts were guessed, or not parsed.
    is_doubtful: bool,
    nodes: Vec<NodeRow>,
    /// Values that differ from their slice, by row: YAML scalars only (JSON decodes on demand).
    decoded: Vec<(u32, Cow<'static, str>)>,
    /// Alias rows and their target rows.
    aliases: Vec<(u32, u32)>,
    features: Features,
    /// Simple YAML: each line means the same wherever its collection is.
    is_tidy: bool,
}

/// Features of a YAML document that edits must not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Rows with an anchor, a tag or the form `? key`; sorted.
    pub unpatchable: Vec<u32>,
    /// More than one document in the stream.
    pub multi_document: bool,
    /// A tab in the white space that indents or separates.
    pub tabs: bool,
    /// A carriage return without a line feed: YAML ends a line there, most tools do not.
    pub lone_returns: bool,
}

/// A document and the findings about its text.
#[derive(Clone)]
pub struct Parsed {
    /// The parsed part.
    pub document: Document,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
}

impl Document {
    pub(crate) fn empty(source: SourceText, format: DocumentFormat, extent: Span) -> Self {
        Document {
            source,
            format,
            extent,
            is_broken: false,
            is_cut: false,
            is_doubtful: false,
            nodes: Vec::new(),
            decoded: Vec::new(),
            aliases: Vec::new(),
            features: Features::default(),
            is_tidy: false,
        }
    }

    /// Returns whether a whole value means the same anywhere: in JSON, and in YAML in which every scalar ends on its line and nothing
    /// refers to another node.
    pub(crate) fn is_context_free(&self) -> bool {
        self.format == DocumentFormat::Json || self.is_tidy
    }

    /// Returns the text it was parsed from.
    pub fn source(&self) -> &SourceText {
        &self.source
    }

    /// Returns the notation.
    pub fn format(&self) -> DocumentFormat {
        self.format
    }

    /// Returns the span that was parsed: less than the whole text for an embedded document.
    pub fn extent(&self) -> Span {
        self.extent
    }

    /// Returns whether syntax errors left parts of the text unread. Such a text is not edited.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Returns whether the nesting was guessed or the rest is unread. A missing part may be in an unread one, and a parsed part may belong
    /// elsewhere. Errors with a certain fix do not count.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Returns whether parsing stopped inside this collection, so that a missing member may only be unread.
    pub(crate) fn may_go_on(&self, node: NodeRef<'_>) -> bool {
        self.is_cut && node.ix + node.n_rows() == self.nodes.len()
    }

    /// Records whether the text has findings other than repeated keys and warnings.
    fn set_broken(&mut self, diagnostics: &[Diagnostic]) {
        self.is_broken = diagnostics
            .iter()
            .any(|finding| finding.severity == Severity::Error && finding.rule.id != rules::DUPLICATE_KEY.id);
    }

    /// Returns whether another parse of the same text had no findings and the same rows.
    fn has_same_rows(&self, other: &Parsed) -> bool {
        let (ours, theirs) = (self, &other.document);
        let bits = |node: &NodeRow| (node.start, node.end, node.bits);
        ours.nodes.iter().map(bits).eq(theirs.nodes.iter().map(bits))
            && ours.decoded == theirs.decoded
            && ours.aliases == theirs.aliases
            && ours.features == theirs.features
            && ours.is_doubtful == theirs.is_doubtful
            && other.diagnostics.is_empty()
    }

    /// Returns the number of aliases. They are never expanded here; code that expands them needs a budget.
    pub fn n_aliases(&self) -> usize {
        self.aliases.len()
    }

    /// Returns the number of rows.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the first row that starts at an offset or after it; rows are in text order.
    pub(crate) fn first_row_from(&self, offset: u32) -> usize {
        self.nodes.partition_point(|node| node.start < offset)
    }

    /// Returns the features that edits must not touch.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Returns the outermost node; none if the text has no value.
    pub fn root(&self) -> Option<NodeRef<'_>> {
        (!self.nodes.is_empty()).then_some(NodeRef { doc: self, ix: 0 })
    }

    /// Returns the node of an existing row.
    #[inline]
    pub(crate) fn at(&self, row: usize) -> NodeRef<'_> {
        NodeRef { doc: self, ix: row }
    }

    /// Returns all nodes in text order, keys included.
    pub fn nodes(&self) -> impl Iterator<Item = NodeRef<'_>> {
        (0..self.nodes.len()).map(|ix| NodeRef { doc: self, ix })
    }
}

/// One node of a document.
#[derive(Clone, Copy)]
pub struct NodeRef<'d> {
    doc: &'d Document,
    ix: usize,
}

#[derive(Clone, Copy)]
pub(crate) struct RowView {
    pub(crate) kind: NodeKind,
    pub(crate) style: Style,
    /// For texts: whether the characters are in the file unescaped.
    pub(crate) is_verbatim: bool,
    pub(crate) span: Span,
}

/// A key and its value.
#[derive(Clone, Copy)]
pub struct Member<'d> {
    /// The key.
    pub key: NodeRef<'d>,
    /// The value, with aliases unresolved.
    pub value: NodeRef<'d>,
}

impl<'d> NodeRef<'d> {
    #[inline]
    fn node(self) -> NodeRow {
        self.doc.nodes[self.ix]
    }

    /// Returns all data of the node at once.
    #[inline]
    pub(crate) fn view(self) -> RowView {
        let node = self.node();
        RowView {
            kind: node.kind(),
            style: node.style(),
            is_verbatim: !node.decoded(),
            span: Span {
                start: node.start,
                end: node.end,
            },
        }
    }

    /// Returns the row number, unique within the document.
    pub fn row(self) -> usize {
        self.ix
    }

    /// Returns the document it belongs to.
    pub fn document(self) -> &'d Document {
        self.doc
    }

    /// Returns its kind. An alias is an alias: see [`NodeRef::resolved`].
    pub fn kind(self) -> NodeKind {
        self.node().kind()
    }

    /// Returns its notation.
    pub fn style(self) -> Style {
        self.node().style()
    }

    /// Returns its span, with quotes and brackets.
    #[inline]
    pub fn span(self) -> Span {
        let node = self.node();
        Span {
            start: node.start,
            end: node.end,
        }
    }

    /// Returns the node as written.
    pub fn slice(self) -> &'d str {
        self.doc.source.slice(self.span())
    }

    /// Returns the target of an alias, or the node itself.
    #[inline]
    pub fn resolved(self) -> NodeRef<'d> {
        if self.kind() != NodeKind::Alias {
            return self;
        }
        let found = self
            .doc
            .aliases
            .binary_search_by_key(&(self.ix as u32), |&(row, _)| row);
        match found {
            Ok(at) => NodeRef {
                doc: self.doc,
                ix: self.doc.aliases[at].1 as usize,
            },
            Err(_) => self,
        }
    }

    /// Returns the text of a string or key; none for other kinds.
    pub fn text(self) -> Option<Cow<'d, str>> {
        let node = self.resolved();
        match node.kind() {
            NodeKind::String | NodeKind::Key => Some(node.value()),
            _ => None,
        }
    }

    /// Returns the span of a string's characters if they are in the file unescaped.
    #[inline]
    pub fn verbatim(self) -> Option<Span> {
        let node = self.resolved();
        let row = node.node();
        let is_text = matches!(row.kind(), NodeKind::String | NodeKind::Key);
        if !is_text || row.decoded() {
            return None;
        }
        Some(match row.style() {
            Style::Double | Style::Single => Span {
                start: row.start + 1,
                end: row.end.max(row.start + 2) - 1,
            },
            _ => node.span(),
        })
    }

    /// Returns a scalar's value as text: strings decoded, other scalars as written.
    pub fn value(self) -> Cow<'d, str> {
        let node = self.resolved();
        if let Some(span) = node.verbatim() {
            return Cow::Borrowed(node.doc.source.slice(span));
        }
        if !node.node().decoded() {
            return Cow::Borrowed(node.slice());
        }
        if node.doc.format == DocumentFormat::Json {
            return Cow::Owned(json::decode(node.slice()));
        }
        let found = node
            .doc
            .decoded
            .binary_search_by_key(&(node.ix as u32), |(row, _)| *row);
        match found {
            Ok(at) => Cow::Borrowed(&node.doc.decoded[at].1),
            Err(_) => Cow::Borrowed(""),
        }
    }

    /// Returns the members of an object, in order; none for other kinds. Merge keys are resolved last.
    #[inline]
    pub fn members(self) -> MemberIter<'d> {
        MemberIter::new(self.resolved())
    }

    /// Returns the members of an object as written, in order: a merge key is a member like any other, and an
    /// alias has none.
    #[inline]
    pub fn own_members(self) -> OwnMembers<'d> {
        let is_object = self.kind() == NodeKind::Object;
        OwnMembers {
            doc: self.doc,
            next: self.ix + 1,
            end: if is_object { self.ix + self.node().rows() } else { 0 },
        }
    }

    /// Returns the elements of an array, in order; none for other kinds.
    #[inline]
    pub fn elements(self) -> Elements<'d> {
        let node = self.resolved();
        let is_array = node.kind() == NodeKind::Array;
        Elements {
            doc: node.doc,
            next: node.ix + 1,
            end: if is_array { node.ix + node.node().rows() } else { 0 },
        }
    }

    /// Returns the number of rows of this node and its children.
    pub fn n_rows(self) -> usize {
        self.node().rows()
    }

    /// Returns the value of the first member with this key.
    pub fn get(self, key: &str) -> Option<NodeRef<'d>> {
        self.members()
            .find(|member| member.key.is_text(key))
            .map(|member| member.value)
    }

    /// Returns true for a string or key with exactly this text.
    #[inline]
    pub fn is_text(self, text: &str) -> bool {
        let node = self.node();
        // JSON keys and strings are compared most: their lengths usually differ, and are known without reading the text.
        if matches!(node.kind(), NodeKind::Key | NodeKind::String) && node.style() == Style::Double && !node.decoded() {
            let inner = node.start as usize + 1..(node.end as usize).saturating_sub(1);
            return inner.len() == text.len()
                && self.doc.source.as_str().as_bytes().get(inner) == Some(text.as_bytes());
        }
        match self.verbatim() {
            Some(span) => self.doc.source.as_str().as_bytes().get(span.range()) == Some(text.as_bytes()),
            None => self.text().is_some_and(|own| own == text),
        }
    }

    /// Returns a boolean's value.
    pub fn as_bool(self) -> Option<bool> {
        match self.resolved().kind() {
            NodeKind::True => Some(true),
            NodeKind::False => Some(false),
            _ => None,
        }
    }

    /// Returns an integer's value if it fits 64 bits; `3.0` and `3e0` are the integer 3.
    pub fn as_integer(self) -> Option<i64> {
        let node = self.resolved();
        if node.kind() != NodeKind::Number {
            return None;
        }
        let slice = node.slice();
        slice.parse().ok().or_else(|| whole_number(node.as_number()?))
    }

    /// Returns a number's value as the nearest double.
    pub fn as_number(self) -> Option<f64> {
        let node = self.resolved();
        match node.kind() {
            NodeKind::Number if self.doc.format == DocumentFormat::Yaml => yaml::number(node.slice()),
            // Most numbers in plans are small and whole, which is faster to parse.
            NodeKind::Number => match node.slice().parse::<i32>() {
                Ok(whole) if whole != 0 => Some(f64::from(whole)),
                _ => node.slice().parse().ok(),
            },
            _ => None,
        }
    }

    /// Returns a word for messages: "a string", "an object".
    pub fn describe(self) -> &'static str {
        let mapping = self.doc.format == DocumentFormat::Yaml;
        match self.resolved().kind() {
            NodeKind::Object if mapping => "a mapping",
            NodeKind::Object => "an object",
            NodeKind::Array if mapping => "a list",
            NodeKind::Array => "an array",
            NodeKind::String | NodeKind::Key => "a string",
            NodeKind::Number => "a number",
            NodeKind::True | NodeKind::False => "a boolean",
            NodeKind::Null => "null",
            NodeKind::Alias => "an alias",
            NodeKind::Invalid => "something unreadable",
        }
    }
}

fn whole_number(number: f64) -> Option<i64> {
    // Doubles hold every integer below 2^53; beyond that the written digits are already lost.
    let exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    exact.then_some(number as i64)
}

/// Iterates over members as written. See [`NodeRef::own_members`].
#[derive(Clone)]
pub struct OwnMembers<'d> {
    doc: &'d Document,
    next: usize,
    end: usize,
}

impl<'d> Iterator for OwnMembers<'d> {
    type Item = Member<'d>;

    #[inline]
    fn next(&mut self) -> Option<Member<'d>> {
        if self.next >= self.end {
            return None;
        }
        let key = self.doc.at(self.next);
        let value = self.doc.at(self.next + 1);
        self.next += 1 + value.node().rows();
        Some(Member { key, value })
    }
}

/// Iterates over members. See [`NodeRef::members`].
pub struct MemberIter<'d> {
    own: OwnMembers<'d>,
    follows_merges: bool,
    /// The targets of merge keys, to visit after the mapping's own members.
    merged: Vec<NodeRef<'d>>,
    /// Merge keys inside merged mappings are resolved too; this bounds a chain of them.
    fuel: usize,
}

impl<'d> MemberIter<'d> {
    #[inline]
    fn new(node: NodeRef<'d>) -> Self {
        MemberIter {
            own: node.own_members(),
            follows_merges: node.doc.format == DocumentFormat::Yaml,
            merged: Vec::new(),
            fuel: MAX_DEPTH,
        }
    }

    fn queue_merge(&mut self, value: NodeRef<'d>) {
        match value.resolved().kind() {
            NodeKind::Object => self.merged.push(value.resolved()),
            NodeKind::Array => self.merged.extend(value.elements().map(NodeRef::resolved)),
            _ => {}
        }
    }
}

impl<'d> Iterator for MemberIter<'d> {
    type Item = Member<'d>;

    #[inline]
    fn next(&mut self) -> Option<Member<'d>> {
        loop {
            match self.own.next() {
                Some(member) if self.follows_merges && is_merge_key(member.key) => self.queue_merge(member.value),
                Some(member) => return Some(member),
                None if self.merged.is_empty() || self.fuel == 0 => return None,
                None => {
                    self.fuel -= 1;
                    self.own = self.merged.remove(0).own_members();
                }
            }
        }
    }
}

/// Returns true for YAML's plain `<<` key.
pub(crate) fn is_merge_key(key: NodeRef<'_>) -> bool {
    key.style() == Style::Plain && key.slice() == "<<"
}

/// Iterates over elements. See [`NodeRef::elements`].
pub struct Elements<'d> {
    doc: &'d Document,
    next: usize,
    end: usize,
}

impl<'d> Iterator for Elements<'d> {
    type Item = NodeRef<'d>;

    #[inline]
    fn next(&mut self) -> Option<NodeRef<'d>> {
        if self.next >= self.end {
            return None;
        }
        let node = NodeRef {
            doc: self.doc,
            ix: self.next,
        };
        self.next += node.node().rows();
        Some(node)
    }
}

/// Fills the node table, and updates the sizes of open collections. Shared by the parsers.
struct Builder {
    nodes: Vec<NodeRow>,
    /// Rows of the open collections, outermost first.
    open: Vec<u32>,
}

impl Builder {
    fn with_capacity(n_nodes: usize) -> Self {
        Builder {
            nodes: Vec::with_capacity(n_nodes),
            open: Vec::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.nodes.len() >= MAX_NODES
    }

    #[inline]
    fn push(&mut self, kind: NodeKind, style: Style, span: Span, decoded: bool) {
        self.nodes.push(NodeRow::new(kind, style, span, decoded));
    }

    fn open(&mut self, kind: NodeKind, style: Style, start: usize) {
        self.open.push(self.nodes.len() as u32);
        self.push(kind, style, Span::at(start), false);
    }

    fn close(&mut self, end: usize) {
        if let Some(row) = self.open.pop() {
            let row = row as usize;
            let rows = self.nodes.len() - row;
            self.nodes[row].close(end, rows);
        }
    }
}
