//! Fills templates: quotes values, and cuts them if the prompt would be too large. Does not know the source of the values.

use super::template::{PlaceholderValues, Template};
use super::{Prompt, quote};

/// The least size of one piece, in bytes, before further pieces are omitted.
const LEAST_PIECE: usize = 200;

/// How much of the title of a piece is shown, in bytes.
const MAX_TITLE: usize = 200;

/// The value of one placeholder, before it is cut and quoted.
pub(crate) enum Raw<'p> {
    Absent,
    /// Planwright's own words.
    Own(String),
    /// Short foreign text, inside a sentence.
    Inline(String),
    /// Foreign text.
    Block(String),
    /// Named texts. They are cut first.
    Pieces(Vec<Piece<'p>>, &'static PieceWords),
    /// Text whose end matters most: the output of a failed command. Cut first.
    Ending(&'p str),
    /// Text whose start matters most: an answer that may be endless. Cut first.
    Beginning(&'p str),
}

/// One of several texts.
pub(crate) struct Piece<'p> {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) text: Option<&'p str>,
}

pub(crate) struct PieceWords {
    /// The text for a missing piece.
    pub(crate) nothing: &'static str,
    /// The plural.
    pub(crate) many: &'static str,
}

/// The size limits of values, in bytes.
#[derive(Clone, Copy)]
struct Caps {
    /// Of values that are cut first.
    soft: usize,
    /// Of other values.
    hard: usize,
}

/// The values for a template, in the order of its names.
pub(crate) struct Filling<'p> {
    raw: Vec<Raw<'p>>,
}

impl<'p> Filling<'p> {
    pub(crate) fn new(raw: impl Iterator<Item = Raw<'p>>) -> Self {
        Filling { raw: raw.collect() }
    }

    /// Fills the template, and cuts as little as possible: first long foreign texts, then the rest.
    pub(crate) fn fit(&self, template: &Template, max_bytes: usize) -> Prompt {
        let render = |caps: Caps| template.render(&self.values(caps));
        // A value above the limit can never fit, so nothing is copied to find that out.
        let whole = Caps {
            soft: max_bytes,
            hard: max_bytes,
        };
        let text = render(whole);
        if text.len() <= max_bytes && self.cut_by(template, whole).is_empty() {
            let left_out = Vec::new();
            return Prompt { text, left_out };
        }
        let soft = |soft| Caps { soft, ..whole };
        let hard = |hard| Caps { soft: 0, hard };
        let best = largest(max_bytes, |cap| render(soft(cap)).len() <= max_bytes).map(soft);
        let best = best.or_else(|| largest(max_bytes, |cap| render(hard(cap)).len() <= max_bytes).map(hard));
        let caps = best.unwrap_or(hard(0));
        Prompt {
            text: quote::cut_to(render(caps), max_bytes),
            left_out: self.cut_by(template, caps),
        }
    }

    /// Returns the values in the form for the prompt.
    fn values(&self, caps: Caps) -> PlaceholderValues {
        PlaceholderValues::new(self.raw.iter().map(|raw| raw.quoted(caps)))
    }

    /// Returns the placeholders of a template whose values are cut.
    fn cut_by(&self, template: &Template, caps: Caps) -> Vec<&'static str> {
        let raw = self.raw.iter().enumerate();
        let cut = raw.filter(|(ix, raw)| raw.is_cut_by(caps) && template.uses(*ix));
        cut.map(|(ix, _)| template.name(ix)).collect()
    }
}

/// Returns the largest number up to `max` that fits, if every smaller one fits too; none if not even 0 does.
pub(crate) fn largest(max: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    if !fits(0) {
        return None;
    }
    let (mut low, mut high) = (0, max);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(low)
}

impl<'p> Raw<'p> {
    /// Returns short text, if it is not empty.
    pub(crate) fn inline(text: &str) -> Self {
        match text.trim() {
            "" => Raw::Absent,
            text => Raw::Inline(text.to_owned()),
        }
    }

    /// Returns text, if it is not empty.
    pub(crate) fn block(text: &str) -> Self {
        match text.trim_end().trim_start_matches(['\n', '\r']) {
            "" => Raw::Absent,
            text => Raw::Block(text.to_owned()),
        }
    }

    /// Returns pieces, if there are any.
    pub(crate) fn pieces(pieces: impl Iterator<Item = Piece<'p>>, words: &'static PieceWords) -> Self {
        let pieces: Vec<_> = pieces.collect();
        if pieces.is_empty() {
            Raw::Absent
        } else {
            Raw::Pieces(pieces, words)
        }
    }

    /// Returns text whose end matters most, if it is not empty.
    pub(crate) fn ending(text: &'p str) -> Self {
        match text.trim_end() {
            "" => Raw::Absent,
            text => Raw::Ending(text),
        }
    }

    /// Returns text whose start matters most, if it is not empty.
    pub(crate) fn beginning(text: &'p str) -> Self {
        match text.trim_end() {
            "" => Raw::Absent,
            text => Raw::Beginning(text),
        }
    }

    fn quoted(&self, caps: Caps) -> String {
        match self {
            Raw::Absent => String::new(),
            Raw::Own(text) => text.clone(),
            Raw::Inline(text) => quote::inline(text, caps.hard),
            Raw::Block(text) => quote::block(text, caps.hard),
            Raw::Ending(text) => quote::ending(text, caps.soft),
            Raw::Beginning(text) => quote::block(text, caps.soft),
            Raw::Pieces(pieces, words) => quoted_pieces(pieces, words, caps.soft),
        }
    }

    fn is_cut_by(&self, caps: Caps) -> bool {
        match self {
            Raw::Absent | Raw::Own(_) => false,
            Raw::Inline(text) => text.len() > caps.hard.min(quote::MAX_INLINE),
            Raw::Block(text) => text.len() > caps.hard,
            Raw::Ending(text) | Raw::Beginning(text) => text.len() > caps.soft,
            Raw::Pieces(pieces, _) => {
                let (each, n_shown) = shares(pieces, caps.soft);
                n_shown < pieces.len() || pieces.iter().any(|piece| piece.is_cut_by(each))
            }
        }
    }
}

impl Piece<'_> {
    fn is_cut_by(&self, cap: usize) -> bool {
        self.name.len() > quote::MAX_INLINE
            || self.title.len() > MAX_TITLE
            || self.text.is_some_and(|text| text.trim_end().len() > cap)
    }
}

/// Returns the size limit of each piece, and how many pieces are included.
fn shares(pieces: &[Piece<'_>], cap: usize) -> (usize, usize) {
    let total: usize = pieces.iter().map(|piece| piece.text.map_or(0, str::len)).sum();
    let head: usize = pieces.iter().map(|piece| piece.name.len() + piece.title.len()).sum();
    if total + head <= cap {
        return (usize::MAX, pieces.len());
    }
    let each = (cap / pieces.len().max(1)).max(LEAST_PIECE);
    let n_shown = (cap / each).min(pieces.len());
    (each, n_shown)
}

fn quoted_pieces(pieces: &[Piece<'_>], words: &PieceWords, cap: usize) -> String {
    let (each, n_shown) = shares(pieces, cap);
    let mut out = String::new();
    for piece in pieces.iter().take(n_shown) {
        out.push_str(&quote::inline(&piece.name, quote::MAX_INLINE));
        if !piece.title.is_empty() {
            out.push_str(": ");
            out.push_str(&quote::inline(&piece.title, MAX_TITLE));
        }
        out.push('\n');
        match piece.text.filter(|text| !text.trim().is_empty()) {
            Some(text) => out.push_str(&quote::block(text, each)),
            None => out.push_str(words.nothing),
        }
        out.push_str("\n\n");
    }
    let n_hidden = pieces.len() - n_shown;
    if n_hidden > 0 {
        out.push_str(&format!(
            "(planwright left out {n_hidden} of {} {} here.)",
            pieces.len(),
            words.many
        ));
    }
    out.trim_end().to_owned()
}
