//! Masks what differs between two runs of one command: times, dates and random ids.

/// `d` is a digit, `h` a hexadecimal digit, everything else itself. Longer ones come first.
const PATTERNS: &[(&str, &str)] = &[
    ("hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh", "<id>"),
    ("dddd-dd-ddTdd:dd:dd.dddddddddZ", "<time>"),
    ("dddd-dd-ddTdd:dd:dd.ddddddZ", "<time>"),
    ("dddd-dd-ddTdd:dd:dd.dddZ", "<time>"),
    ("dddd-dd-ddTdd:dd:ddZ", "<time>"),
    ("dddd-dd-dd dd:dd:dd", "<time>"),
    ("dddd-dd-dd dd:dd", "<time>"),
    ("dddd-dd-dd", "<date>"),
    ("plan-dddddddd", "<plan>"),
    ("plan-hhhhhhhh", "<plan>"),
    ("hhhhhhhhhhhhhhhh", "<hash>"),
];

/// Returns a text with variable parts replaced by their kind.
pub(super) fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let found = PATTERNS.iter().find(|(pattern, _)| fits(rest, pattern));
        let (shown, n_bytes) = match found {
            Some((pattern, name)) => (*name, pattern.len()),
            None => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        masked.push_str(shown);
        rest = &rest[n_bytes..];
    }
    masked
}

fn fits(text: &str, pattern: &str) -> bool {
    let Some(start) = text.as_bytes().get(..pattern.len()) else {
        return false;
    };
    start.iter().zip(pattern.bytes()).all(|(&byte, wanted)| match wanted {
        b'd' => byte.is_ascii_digit(),
        b'h' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        wanted => byte == wanted,
    })
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn times_and_ids_are_masked_and_words_are_not() {
        let text =
            "plan-a1b2c3d4 at 2026-11-05T09:30:00.125Z: 6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0000 faced, née 2026-1-1";
        assert_eq!(mask(text), "<plan> at <time>: <id> faced, née 2026-1-1");
    }
}
