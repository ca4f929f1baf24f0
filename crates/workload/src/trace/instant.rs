//! Instants as traces write them: seconds, milliseconds, or a date and a time of day. Time zones
//! count; the calendar is the Gregorian one.

/// Nanoseconds in a second.
const SECOND_NS: i64 = 1_000_000_000;

/// An instant in nanoseconds, from a number of seconds or a date and a time of day.
pub fn seconds_or_date(text: &str) -> Option<i64> {
    decimal(text, SECOND_NS).or_else(|| date_time(text))
}

/// A decimal number of units of so many nanoseconds, exact to the nanosecond.
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
    let mut place = unit_ns;
    for digit in fraction.bytes() {
        place /= 10;
        ns = ns.checked_add(i64::from(digit - b'0') * place)?;
    }
    Some(if negative { -ns } else { ns })
}

/// A number such as `1.5e3`, as exact as a binary fraction is.
fn scientific(text: &str, unit_ns: i64) -> Option<i64> {
    let ns = text.parse::<f64>().ok()? * unit_ns as f64;
    (ns.is_finite() && ns.abs() < 9e18).then_some(ns.round() as i64)
}

/// `2023-11-16 18:17:03.9799600`, with `T` or a space between, and perhaps `Z` or `+08:00` behind.
fn date_time(text: &str) -> Option<i64> {
    // Zones are cut by bytes.
    let text = Some(text.trim()).filter(|text| text.is_ascii())?;
    let (date, time) = text.split_once([' ', 'T'])?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    if !(1..=12).contains(&month) || !(1900..2200).contains(&year) {
        return None;
    }
    if !(1..=days_of(year, month)).contains(&day) {
        return None;
    }
    let (time, zone_s) = zone(time.trim())?;
    let mut time = time.splitn(3, ':');
    let (hour, minute) = (whole(time.next()?, 23)?, whole(time.next()?, 59)?);
    let second_ns = decimal(time.next().unwrap_or("0"), SECOND_NS)?;
    if !(0..61 * SECOND_NS).contains(&second_ns) {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 - zone_s;
    seconds.checked_mul(SECOND_NS)?.checked_add(second_ns)
}

fn whole(text: &str, most: i64) -> Option<i64> {
    text.parse().ok().filter(|number| (0..=most).contains(number))
}

/// A time of day without its zone, and the seconds that the zone is ahead.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = time.find(['+', '-']) else { return Some((time, 0)) };
    let (time, zone) = time.split_at(at);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits: String = zone[1..].chars().filter(|&c| c != ':').collect();
    if digits.len() != 4 {
        return None;
    }
    let (hours, minutes) = (whole(&digits[..2], 14)?, whole(&digits[2..], 59)?);
    Some((time, sign * (hours * 3_600 + minutes * 60)))
}

/// The days of a month.
fn days_of(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days(next_year, next, 1) - days(year, month, 1)
}

/// Days from 1970-01-01, after Howard Hinnant, chrono-Compatible Low-Level Date Algorithms.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_exact_however_they_are_written() {
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
    fn what_is_no_instant_is_none() {
        for wrong in [
            "",
            "soon",
            "12:00",
            "2024-13-01 00:00:00",
            "2024-01-01 25:00:00",
            "2024-02-31 00:00:00",
            "2023-02-29 00:00:00",
            "2024-04-31 00:00:00",
            "2024-12-32 00:00:00",
            "2024-01-00 00:00:00",
            "2024-01-01 00:00:00+€1",
            "2024-01-01 00:00:00+1€",
            "2024-01-01 00:00:00时",
            "1..2",
            "NaN",
            "inf",
        ] {
            assert_eq!(seconds_or_date(wrong), None, "{wrong}");
        }
    }
}
