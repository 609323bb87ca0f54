//! Numbers as JavaScript writes them.

/// Returns a number as JavaScript writes it: the shortest digits that parse to it, exponents from 21 digits on.
pub(super) fn number_to_string(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    // Waves are small whole numbers, which need no search for the shortest digits.
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return (number as i64).to_string();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let shortest = format!("{:e}", number.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = mantissa.replace('.', "");
    let digits = even_digits(number.abs(), &digits, exponent).unwrap_or(digits);
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    format!("{sign}{}", place_point(&digits, point))
}

/// Returns the even digits if two shortest candidates are equally close: JavaScript prefers those.
fn even_digits(number: f64, digits: &str, exponent: &str) -> Option<String> {
    // Outside this range, no double is exactly between two candidates: its exact digits are too many or too few.
    if digits.len() < 16 || !(1e-8..1e40).contains(&number) {
        return None;
    }
    let exact = format!("{number:.45e}").replace('.', "");
    let (lower, rest) = exact.split('e').next()?.split_at_checked(digits.len())?;
    let is_tie = rest.strip_prefix('5')?.bytes().all(|digit| digit == b'0');
    let is_even = lower.bytes().last().is_some_and(|digit| digit % 2 == 0);
    let scale = exponent.parse::<i64>().ok()? - i64::try_from(lower.len()).ok()? + 1;
    let reads_back = format!("{lower}e{scale}").parse() == Ok(number);
    (is_tie && is_even && reads_back).then(|| lower.to_owned())
}

/// Writes digits with the decimal point after the first `point` of them.
fn place_point(digits: &str, point: i32) -> String {
    let n_digits = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if n_digits <= point && point <= 21 {
        return format!("{digits}{}", zeros(point - n_digits));
    }
    if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        return format!("{whole}.{fraction}");
    }
    if -6 < point && point <= 0 {
        return format!("0.{}{digits}", zeros(-point));
    }
    let (first, rest) = digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    let exponent = point - 1;
    let plus = if exponent > 0 { "+" } else { "" };
    format!("{first}{dot}{rest}e{plus}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_number(written: &str, expect: &str) {
        let number = written.parse().expect("Rust reads the numbers of JSON");
        assert_eq!(number_to_string(number), expect, "{written}");
    }

    #[test]
    fn numbers_are_written_the_javascript_way() {
        for (written, expect) in [
            ("1.0", "1"),
            ("-0", "0"),
            ("0.0", "0"),
            ("-1.50", "-1.5"),
            ("100", "100"),
            ("1e2", "100"),
            ("123e18", "123000000000000000000"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("1.5e21", "1.5e+21"),
            ("12345678901234567890", "12345678901234567000"),
            ("123456789012345678901234", "1.2345678901234569e+23"),
            ("0.1", "0.1"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("0.00000123", "0.00000123"),
            ("0.000000123", "1.23e-7"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("1e999", "Infinity"),
            ("-1e999", "-Infinity"),
            ("9007199254740993", "9007199254740992"),
            ("4.35", "4.35"),
            ("1951791297328176.25", "1951791297328176.2"),
            ("1951791297328176.75", "1951791297328176.8"),
            ("1951791297328177.25", "1951791297328177.2"),
            ("572719913365.03125", "572719913365.0312"),
            ("2.98023223876953125e-8", "2.9802322387695312e-8"),
            ("5e22", "5e+22"),
            ("36028797018963975", "36028797018963976"),
            ("1e-999", "0"),
        ] {
            check_number(written, expect);
        }
    }
}
