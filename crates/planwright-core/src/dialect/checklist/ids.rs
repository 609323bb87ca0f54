//! The ids at the start of a task's text, in the form of each variant.

/// Returns the length of an id in planwright's own files: it ends with a colon and a space.
pub(super) fn own_id(text: &str) -> Option<usize> {
    let end = text.find(':')?;
    (is_own_id(&text[..end]) && text[end + 1..].starts_with([' ', '\t'])).then_some(end)
}

/// Returns whether a text begins with an id of letters and a number, and a colon: `T3: Add it`.
pub(super) fn has_own_number(text: &str) -> bool {
    let id = own_id(text).map_or("", |len| &text[..len]);
    let n_letters = id.bytes().take_while(u8::is_ascii_uppercase).count();
    let number = id[n_letters..].trim_start_matches('-');
    (1..=4).contains(&n_letters) && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a text can be an id in planwright's own files.
pub(super) fn is_own_id(id: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '#');
    id.len() <= 120 && id.starts_with(char::is_alphanumeric) && id.chars().all(is_part)
}

/// Returns the length of spec-kit's id at the start of a text: `T001`, `T012a`.
pub(super) fn spec_kit_id(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('T')?;
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let letter = usize::from(rest[n_digits..].starts_with(|c: char| c.is_ascii_lowercase()));
    let n_id = 1 + n_digits + letter;
    (n_digits >= 3 && ends_word(&text[n_id..])).then_some(n_id)
}

/// Returns the length of a number at the start of a text, without a dot after it: `2` in `2. Store`, `2.1`.
pub(super) fn number_id(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut n_id = 0;
    loop {
        let n_digits = bytes[n_id..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if n_digits == 0 || n_digits > 9 {
            return None;
        }
        n_id += n_digits;
        let goes_on = bytes.get(n_id) == Some(&b'.') && bytes.get(n_id + 1).is_some_and(u8::is_ascii_digit);
        if !goes_on {
            break;
        }
        n_id += 1;
    }
    let is_whole = !text[..n_id].contains('.');
    n_id += text[n_id..].bytes().take(2).take_while(u8::is_ascii_alphabetic).count();
    let rest = &text[n_id..];
    // A whole number may count something: `3 tests fail`.
    let ends = match rest.strip_prefix('.') {
        Some(rest) => rest.starts_with([' ', '\t']),
        None => !is_whole && ends_word(rest),
    };
    ends.then_some(n_id)
}

fn ends_word(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([' ', '\t', ':'])
}
