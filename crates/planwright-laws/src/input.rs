//! Inputs of several parts as readable text files: a separator ends a part, and bytes make choices.

use planwright_core::dialect::id_source::IdSource;
use planwright_core::dialect::{Choice, DIALECTS, Dialect, DiskFacts};

/// Ends a part of an input: ASCII's record separator, which no plan contains.
const SEPARATOR: u8 = 0x1e;

/// The present time for all laws.
pub(crate) const NOW: &str = "2026-11-15T12:00:00.000Z";

/// Returns the parts of an input; missing ones are empty.
pub(crate) fn parts<const N: usize>(bytes: &[u8]) -> [&[u8]; N] {
    let mut rest = bytes.splitn(N, |byte| *byte == SEPARATOR);
    std::array::from_fn(|_| rest.next().unwrap_or_default())
}

/// Returns a part as text; invalid UTF-8 is replaced.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Choices, one byte each. After the last byte, every choice is the first.
#[derive(Clone)]
pub(crate) struct ByteChoices<'a>(std::slice::Iter<'a, u8>);

impl<'a> ByteChoices<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        ByteChoices(bytes.iter())
    }

    /// Returns whether no bytes are left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// Returns a number below `n`, or 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n.max(1)
    }

    pub(crate) fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.below(from.len())]
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(crate) fn dialect(&mut self) -> &'static dyn Dialect {
        DIALECTS[self.below(DIALECTS.len())]
    }
}

/// Calls a function with the choice among all dialects, or with a forced one.
pub(crate) fn with_choice<T>(forced: Option<&'static dyn Dialect>, run: impl FnOnce(&Choice<'_>) -> T) -> T {
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
    run(&Choice { forced, ..choice })
}

/// Calls a function with a constant source of ids.
pub(crate) fn with_id_source<T>(run: impl FnOnce(&mut IdSource<'_>) -> T) -> T {
    let mut counter = 0_u128;
    let mut fresh = || {
        counter = counter.wrapping_add(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        counter
    };
    run(&mut IdSource::new("2026-05-01T12:00:00Z", &mut fresh))
}
