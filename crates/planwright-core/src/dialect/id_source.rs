//! New ids and times for a plan, given from outside: the same source makes the same plan.

/// A source of times and new ids.
pub struct IdSource<'m> {
    /// The time as RFC 3339 writes it, like `2026-03-22T10:00:00Z`.
    pub now: String,
    /// Returns 128 bits that were not returned before.
    pub fresh: &'m mut dyn FnMut() -> u128,
    /// Returns whether a plan with this id exists.
    pub is_taken: &'m dyn Fn(&str) -> bool,
    /// The name of the plan's new file, if its tool finds plans by name.
    pub name: Option<String>,
}

/// How many ids are tried before a used one is accepted.
const MAX_TRIES: u32 = 1000;

impl<'m> IdSource<'m> {
    /// Returns a source of ids without other plans.
    pub fn new(now: impl Into<String>, fresh: &'m mut dyn FnMut() -> u128) -> Self {
        IdSource {
            now: now.into(),
            fresh,
            is_taken: &|_| false,
            name: None,
        }
    }

    /// Returns today's date, like `2026-03-22`.
    pub fn date(&self) -> &str {
        self.now.get(..10).unwrap_or(&self.now)
    }

    /// Returns a new UUID, version 4.
    pub fn uuid(&mut self) -> String {
        let bits = (self.fresh)() & !(0xf000 << 64) & !(0xc000 << 48) | (0x4000 << 64) | (0x8000 << 48);
        let hex = format!("{bits:032x}");
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| hex.get(range).unwrap_or(""));
        parts.join("-")
    }

    /// Returns the id of a new plan: the name of its file if that is valid, otherwise the first unused one, starting with the usual one.
    pub fn plan_id(&self, usual: String, other: impl Fn(u32) -> String) -> String {
        if let Some(name) = self.name.as_ref().filter(|name| is_file_id(name)) {
            return name.clone();
        }
        if !(self.is_taken)(&usual) {
            return usual;
        }
        let free = (2..MAX_TRIES).map(other).find(|id| !(self.is_taken)(id));
        free.unwrap_or(usual)
    }
}

/// Returns whether an id is a valid file name on every system.
pub(crate) fn is_file_id(id: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=120).contains(&id.len()) && id.bytes().all(is_safe) && !id.starts_with(['.', '-']) && !id.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_of_version_four() {
        let mut fresh = || u128::MAX;
        let mut id_source = IdSource::new("2026-03-22T10:00:00Z", &mut fresh);
        assert_eq!(id_source.uuid(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(id_source.date(), "2026-03-22");
    }

    #[test]
    fn ids_in_use_are_skipped() {
        let mut fresh = || 0;
        let mut id_source = IdSource::new("", &mut fresh);
        id_source.is_taken = &|id| id == "a" || id == "a-2";
        assert_eq!(id_source.plan_id("a".to_owned(), |n| format!("a-{n}")), "a-3");
        assert_eq!(id_source.plan_id("b".to_owned(), |n| format!("b-{n}")), "b");
    }

    #[test]
    fn plan_ids_come_from_valid_file_names() {
        let mut fresh = || 0;
        let mut id_source = IdSource::new("", &mut fresh);
        for (name, id) in [("mine", "mine"), ("plan 2", "a"), ("-rf", "a"), ("", "a")] {
            id_source.name = Some(name.to_owned());
            assert_eq!(id_source.plan_id("a".to_owned(), |n| format!("a-{n}")), id);
        }
    }
}
