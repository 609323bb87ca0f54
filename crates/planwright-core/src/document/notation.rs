//! Notations that a dialect defines: it reads its text into the node table, and writes the patches. Does not know any of them.

use std::borrow::Cow;
use std::fmt;

use super::patch::{Changes, PatchRefusal};
use super::{Builder, Document, DocumentFormat, NodeKind, Parsed, Style};
use crate::diagnostic::Replacement;
use crate::text::{SourceText, Span};

/// A notation other than JSON and YAML.
pub(crate) trait Notation: Sync {
    fn name(&self) -> &'static str;

    fn parse(&'static self, source: &SourceText) -> Parsed;

    /// Returns the replacements of bytes that make these changes.
    fn lower(&self, document: &Document, changes: &Changes<'_>) -> Result<Vec<Replacement>, PatchRefusal>;

    /// Returns the text with some elements in another order: `order` has the old index for each position.
    fn permute(&self, document: &Document, spans: &[Span], order: &[usize]) -> Result<String, PatchRefusal>;
}

/// The notation of a dialect's files.
#[derive(Clone, Copy)]
pub struct OwnNotation(pub(crate) &'static dyn Notation);

impl fmt::Debug for OwnNotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl PartialEq for OwnNotation {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for OwnNotation {}

impl OwnNotation {
    /// Reads a text.
    pub fn parse(self, source: &SourceText) -> Parsed {
        self.0.parse(source)
    }
}

/// Fills the node table of a notation. Children follow their collection; the parts of one element need not be in the order of the text.
pub(crate) struct NodeTable {
    builder: Builder,
    values: Vec<(u32, Cow<'static, str>)>,
}

impl NodeTable {
    /// Returns a table with an open object.
    pub(crate) fn new(n_nodes: usize) -> Self {
        let mut table = NodeTable {
            builder: Builder::with_capacity(n_nodes),
            values: Vec::with_capacity(n_nodes / 2),
        };
        table.builder.open(NodeKind::Object, Style::Block, 0);
        table
    }

    /// Adds a key, which the text does not hold as such.
    pub(crate) fn key(&mut self, name: &'static str, at: usize) {
        self.values.push((self.builder.nodes.len() as u32, Cow::Borrowed(name)));
        self.builder.push(NodeKind::Key, Style::Plain, Span::at(at), true);
    }

    /// Adds a text that is in the file unchanged.
    pub(crate) fn text(&mut self, span: Span) {
        self.builder.push(NodeKind::String, Style::Plain, span, false);
    }

    /// Adds a text that differs from the file's.
    pub(crate) fn decoded(&mut self, span: Span, value: String) {
        self.values.push((self.builder.nodes.len() as u32, Cow::Owned(value)));
        self.builder.push(NodeKind::String, Style::Plain, span, true);
    }

    /// Adds a sign whose presence means yes.
    pub(crate) fn flag(&mut self, span: Span) {
        self.builder.push(NodeKind::True, Style::Plain, span, false);
    }

    pub(crate) fn open_object(&mut self, start: usize) {
        self.builder.open(NodeKind::Object, Style::Block, start);
    }

    pub(crate) fn open_array(&mut self, start: usize) {
        self.builder.open(NodeKind::Array, Style::Block, start);
    }

    /// Closes the innermost open collection.
    pub(crate) fn close(&mut self, end: usize) {
        self.builder.close(end);
    }

    pub(crate) fn finish(mut self, source: &SourceText, notation: &'static dyn Notation) -> Parsed {
        self.builder.close(source.len());
        let format = DocumentFormat::Own(OwnNotation(notation));
        let mut document = Document::empty(source.clone(), format, source.span());
        document.nodes = self.builder.nodes;
        document.decoded = self.values;
        Parsed {
            document,
            diagnostics: Vec::new(),
        }
    }
}
