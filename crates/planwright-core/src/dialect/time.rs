//! Dates and times in plans: recognises them in text; has no clock.

/// Returns whether a text is a date, or a date and time, in ISO 8601.
pub(crate) fn is_iso_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else {
        return false;
    };
    if !is_iso_date(date) {
        return false;
    }
    let Some(rest) = rest.strip_prefix(['T', 't', ' ']) else {
        return rest.is_empty();
    };
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone_at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let parts: Vec<&str> = clock.split(':').collect();
    let limits = [23, 59, 60];
    let clock_fits =
        matches!(parts.len(), 2 | 3) && parts.iter().zip(limits).all(|(part, most)| two_digits(part, most));
    let fraction_fits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let zone_fits = match zone.strip_prefix(['+', '-']) {
        Some(offset) => match offset.split_once(':') {
            Some((hours, minutes)) => two_digits(hours, 23) && two_digits(minutes, 59),
            None => offset.len() == 4 && offset.bytes().all(|byte| byte.is_ascii_digit()),
        },
        None => matches!(zone, "" | "Z" | "z"),
    };
    clock_fits && fraction_fits && zone_fits
}

/// Returns whether a text is a date like `2026-02-27`.
pub(crate) fn is_iso_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    year.len() == 4
        && year.bytes().all(|byte| byte.is_ascii_digit())
        && two_digits(month, 12)
        && two_digits(day, 31)
        && *month != "00"
        && *day != "00"
        && day.parse::<u32>().is_ok_and(|day| day <= days_of(year, month))
}

fn days_of(year: &str, month: &str) -> u32 {
    let year: u32 = year.parse().unwrap_or(0);
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        "02" if is_leap => 29,
        "02" => 28,
        "04" | "06" | "09" | "11" => 30,
        _ => 31,
    }
}

fn two_digits(text: &str, most: u8) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u8>().is_ok_and(|n| n <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_times_are_recognised() {
        for good in [
            "2026-03-22",
            "2026-03-22T10:00:00Z",
            "2026-03-22T10:00:00.123Z",
            "2026-03-22T10:00+02:00",
            "2026-03-22 10:00:00",
        ] {
            assert!(is_iso_time(good), "{good}");
        }
        for bad in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-02-30",
            "2026-03-22T25:00Z",
            "1774170000",
            "2026-03-22T",
            "22.03.2026",
        ] {
            assert!(!is_iso_time(bad), "{bad}");
        }
    }
}
