//! Parses and prints dates and times of day. The whole program uses this calendar: the proleptic
//! Gregorian calendar of the crate `time`. Instants are nanoseconds since 1970 in UTC. No clock is read.

use time::{Date, Month, OffsetDateTime};

const SECOND_NS: i64 = 1_000_000_000;

/// Formats an instant as RFC 3339 with milliseconds, truncated and not rounded: `2026-11-20T05:12:33.250Z`.
pub fn rfc3339(unix_ns: i64) -> String {
    let at = utc(unix_ns);
    let (date, hour, minute, second) = (at.date(), at.hour(), at.minute(), at.second());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    let ms = at.millisecond();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Formats an instant to the second, in a form that sorts by time: `20261120-051233`.
pub fn compact(unix_ns: i64) -> String {
    rfc3339(unix_ns)[..19].replace(['-', ':'], "").replace('T', "-")
}

fn utc(unix_ns: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ns))
        .expect("invariant: 64 bits of nanoseconds are the years 1677 to 2262")
}

/// Parses a number of seconds since 1970, or a date and a time of day. Returns ns since 1970; `None` for any
/// other text.
pub fn seconds_or_date(text: &str) -> Option<i64> {
    decimal(text, SECOND_NS).or_else(|| parse(text))
}

/// Parses a decimal number. Its unit is `unit_ns` nanoseconds. Returns whole nanoseconds and drops
/// smaller fractions. A number with an exponent is only as exact as a 64-bit float, and is rounded. `None` if
/// the text is no number, has no digit before its point, or if the result does not fit into 64 bits.
pub fn decimal(text: &str, unit_ns: i64) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() {
        return None;
    }
    if !is_digits(whole) || !is_digits(fraction) {
        return scientific(text, unit_ns);
    }
    let mut ns = whole.parse::<i64>().ok()?.checked_mul(unit_ns)?;
    let mut digit_ns = unit_ns;
    for digit in fraction.bytes() {
        digit_ns /= 10;
        ns = ns.checked_add(i64::from(digit - b'0') * digit_ns)?;
    }
    Some(if negative { -ns } else { ns })
}

fn scientific(text: &str, unit_ns: i64) -> Option<i64> {
    let ns = text.parse::<f64>().ok()? * unit_ns as f64;
    (ns.is_finite() && ns.abs() < 9e18).then_some(ns.round() as i64)
}

/// Parses a date and a time of day, such as `2023-11-16 18:17:03.9799600`. Returns ns since 1970; `None` for
/// any other text. The separator is a `T` or spaces. Seconds and their fraction (after a point or a comma) are
/// optional. The text ends with `Z`, an offset such as `+08:00`, or nothing for UTC. Second 60, a leap second,
/// is the first second of the next minute.
pub fn parse(text: &str) -> Option<i64> {
    // Offsets are split at byte positions, so the text must be ASCII.
    let text = Some(text.trim()).filter(|text| text.is_ascii())?;
    let (date, time) = text.split_once([' ', 'T'])?;
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
    let date = Date::from_calendar_date(year.parse().ok()?, month, day.parse().ok()?).ok()?;
    let (time, offset_s) = split_offset(time.trim())?;
    let mut parts = time.splitn(3, ':');
    let (hour, minute) = (whole(parts.next()?, 23)?, whole(parts.next()?, 59)?);
    let second_ns = decimal(&parts.next().unwrap_or("0").replace(',', "."), SECOND_NS)?;
    if !(0..61 * SECOND_NS).contains(&second_ns) {
        return None;
    }
    let midnight_s = date.midnight().assume_utc().unix_timestamp();
    let seconds = midnight_s + hour * 3_600 + minute * 60 - offset_s;
    seconds.checked_mul(SECOND_NS)?.checked_add(second_ns)
}

fn whole(text: &str, most: i64) -> Option<i64> {
    text.parse().ok().filter(|number| (0..=most).contains(number))
}

/// Splits a time of day with an offset from UTC. Returns the time without the offset, and the offset in
/// seconds.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if time.ends_with(['Z', 'z']) {
        return Some((time.trim_end_matches(['Z', 'z']), 0));
    }
    let Some(at) = time.find(['+', '-']) else { return Some((time, 0)) };
    let (time, offset) = time.split_at(at);
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let digits: String = offset[1..].chars().filter(|&c| c != ':').collect();
    if digits.len() != 4 {
        return None;
    }
    let (hours, minutes) = (whole(&digits[..2], 14)?, whole(&digits[2..], 59)?);
    Some((time, sign * (hours * 3_600 + minutes * 60)))
}

/// Checks the beginning of an instant in the form of [`rfc3339`]: a date, or a date with hours, minutes or
/// seconds, such as `2026-11-20` or `2026-11-20 05:12`. Returns the text with a `T` as separator and without
/// a `Z` at the end. `None` if the text has another form, or if there is no such day or time.
pub fn beginning(text: &str) -> Option<String> {
    const WHOLE: &str = "0000-00-00T00:00:00";
    let given = text.trim_end_matches('Z').replace(' ', "T");
    let fits = |(given, form): (char, char)| match form {
        '0' => given.is_ascii_digit(),
        other => given == other,
    };
    let has_form =
        [10, 13, 16, 19].contains(&given.len()) && given.chars().zip(WHOLE.chars()).all(fits);
    let whole = has_form.then(|| given.clone() + &WHOLE[given.len()..])?;
    rfc3339(parse(&whole)?).starts_with(&whole).then_some(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_timestamps_agree_with_the_date_command() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_795_151_553, "2026-11-20T05:12:33.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(rfc3339(seconds * 1_000_000_000), expected);
        }
    }

    #[test]
    fn milliseconds_are_truncated_and_not_rounded() {
        assert_eq!(rfc3339(1_999_999), "1970-01-01T00:00:00.001Z");
        assert_eq!(compact(1_795_151_553_999_999_999), "20261120-051233");
    }

    #[test]
    fn formatted_timestamps_are_parsed_back_and_invalid_dates_are_rejected() {
        for ns in
            [0_i64, 951_782_399_000_000_000, 1_703_064_928_585_000_000, 4_107_542_399_999_000_000]
        {
            assert_eq!(parse(&rfc3339(ns)), Some(ns));
        }
        assert_eq!(parse("2023-12-20 09:35:28,585"), Some(1_703_064_928_585_000_000));
        for text in ["2023-02-29 00:00:00", "2026-04-31 00:00:00", "0000-00-10 00:00:00"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("2023-12-20 9:35"), parse("2023-12-20T09:35:00Z"));
        for text in ["", "2023-13-01 00:00:00", "2023-12-20", "09:35:28", "a-b-c d:e:f"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn valid_dates_and_times_are_accepted_and_everything_else_is_rejected() {
        for (given, expected) in [
            ("2026-11-20", "2026-11-20"),
            ("2028-02-29", "2028-02-29"),
            ("2026-11-20T05", "2026-11-20T05"),
            ("2026-11-20T05:12", "2026-11-20T05:12"),
            ("2026-11-20 05:12:33", "2026-11-20T05:12:33"),
            ("2026-11-20T05:12:33Z", "2026-11-20T05:12:33"),
        ] {
            assert_eq!(beginning(given).as_deref(), Some(expected));
        }
        for given in [
            "", "2026", "2026-11", "20.11.2026", "2026-11-20T5:12", "yesterday", "2026-02-31",
            "2026-02-29", "2026-13-01", "2026-00-10", "2026-11-20T24", "2026-11-20T05:60",
            "2026-11-20T05:12:60", "２０２６-11-20",
        ] {
            assert_eq!(beginning(given), None, "{given}");
        }
    }

    #[test]
    fn timestamps_in_every_notation_are_parsed_to_the_exact_nanosecond() {
        for (text, ns) in [
            ("0", 0),
            ("5.25", 5_250_000_000),
            ("1700000000.123456789", 1_700_000_000_123_456_789),
            ("1.5e3", 1_500_000_000_000),
            ("1970-01-01 00:00:00", 0),
            ("2023-11-16 18:17:03.9799600", 1_700_158_623_979_960_000),
            ("2024-05-10 00:00:00.009930+00:00", 1_715_299_200_009_930_000),
            ("2024-02-29T08:00:00+08:00", 1_709_164_800_000_000_000),
            ("2024-02-29T00:00Z", 1_709_164_800_000_000_000),
            ("1970-12-31 00:00:00", 364 * 86_400_000_000_000),
        ] {
            assert_eq!(seconds_or_date(text), Some(ns), "{text}");
        }
        assert_eq!(decimal("27482.5", 1_000_000), Some(27_482_500_000));
    }

    #[test]
    fn invalid_timestamps_are_rejected() {
        for wrong in [
            "", "soon", "12:00", "2024-13-01 00:00:00", "2024-01-01 25:00:00",
            "2024-02-31 00:00:00", "2023-02-29 00:00:00", "2024-04-31 00:00:00",
            "2024-12-32 00:00:00", "2024-01-00 00:00:00", "2024-01-01 00:00:00+€1",
            "2024-01-01 00:00:00+1€", "2024-01-01 00:00:00时", "1..2", "NaN", "inf",
        ] {
            assert_eq!(seconds_or_date(wrong), None, "{wrong}");
        }
    }
}
