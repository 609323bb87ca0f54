//! The core schema of YAML 1.2: the meaning of a scalar without quotes.

use crate::document::NodeKind;

/// Returns the value of a number in the core schema's notation.
pub(crate) fn number(slice: &str) -> Option<f64> {
    let (sign, digits) = match slice.as_bytes().first()? {
        b'-' => (-1.0, &slice[1..]),
        b'+' => (1.0, &slice[1..]),
        _ => (1.0, slice),
    };
    match digits.as_bytes() {
        b".inf" | b".Inf" | b".INF" => Some(sign * f64::INFINITY),
        b".nan" | b".NaN" | b".NAN" => Some(f64::NAN),
        [b'0', b'x', ..] => radix_number(&digits[2..], 16),
        [b'0', b'o', ..] => radix_number(&digits[2..], 8),
        _ => digits.parse::<f64>().ok().map(|number| sign * number),
    }
}

fn radix_number(digits: &str, radix: u32) -> Option<f64> {
    digits.chars().try_fold(0.0, |number, digit| {
        Some(number * f64::from(radix) + f64::from(digit.to_digit(radix)?))
    })
}

/// Returns the kind of a plain scalar in the core schema.
pub(crate) fn plain_kind(value: &str) -> NodeKind {
    let bytes = value.as_bytes();
    match bytes.first() {
        None => NodeKind::Null,
        Some(b'~') if bytes.len() == 1 => NodeKind::Null,
        Some(b'n' | b'N') if matches!(value, "null" | "Null" | "NULL") => NodeKind::Null,
        Some(b't' | b'T') if matches!(value, "true" | "True" | "TRUE") => NodeKind::True,
        Some(b'f' | b'F') if matches!(value, "false" | "False" | "FALSE") => NodeKind::False,
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') if is_number(bytes) => NodeKind::Number,
        _ => NodeKind::String,
    }
}

fn is_number(bytes: &[u8]) -> bool {
    match bytes {
        [b'0', b'o', digits @ ..] => !digits.is_empty() && digits.iter().all(|digit| matches!(digit, b'0'..=b'7')),
        [b'0', b'x', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit),
        b".nan" | b".NaN" | b".NAN" => true,
        [b'+' | b'-', unsigned @ ..] => is_decimal(unsigned),
        unsigned => is_decimal(unsigned),
    }
}

fn is_decimal(bytes: &[u8]) -> bool {
    if matches!(bytes, b".inf" | b".Inf" | b".INF") {
        return true;
    }
    let digits_from = |at: usize| bytes.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count();
    let n_whole = digits_from(0);
    let mut at = n_whole;
    if bytes.get(at) == Some(&b'.') {
        let n_fraction = digits_from(at + 1);
        if n_whole + n_fraction == 0 {
            return false;
        }
        at += 1 + n_fraction;
    } else if n_whole == 0 {
        return false;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let n_exponent = digits_from(at);
        if n_exponent == 0 {
            return false;
        }
        at += n_exponent;
    }
    at == bytes.len()
}
