//! Wall times as text: the proleptic Gregorian calendar in UTC. No clock is read here.

/// A wall time taken apart.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

/// Days to a date by counting in eras of 400 years that begin on the first of March, so that the
/// day that leap years add is the last of a year (Hinnant, "chrono-compatible low-level date
/// algorithms", `civil_from_days`).
fn civil(unix_ns: i64) -> Civil {
    let seconds = unix_ns.div_euclid(1_000_000_000);
    let (days, second_of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    Civil {
        year: year_of_era + era * 400 + i64::from(month <= 2),
        month,
        day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
        hour: second_of_day / 3_600,
        minute: second_of_day / 60 % 60,
        second: second_of_day % 60,
    }
}

/// RFC 3339 with milliseconds, UTC: `2026-11-20T05:12:33.250Z`.
#[must_use]
pub fn rfc3339(unix_ns: i64) -> String {
    let Civil { year, month, day, hour, minute, second } = civil(unix_ns);
    let ms = unix_ns.rem_euclid(1_000_000_000) / 1_000_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Date and time to the second, without separators but one: `20261120-051233`. Sorts by time.
#[must_use]
pub fn compact(unix_ns: i64) -> String {
    let Civil { year, month, day, hour, minute, second } = civil(unix_ns);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

/// Nanoseconds since 1970 of a date and a time to the second or finer, such as
/// `2023-12-20 09:35:28,585`, read as UTC; nothing where it is none. The inverse of `civil`
/// (Hinnant, `days_from_civil`).
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let (date, time) = text.trim_end_matches('Z').split_once([' ', 'T'])?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, fraction) = time.split_once([',', '.']).unwrap_or((time, "0"));
    let mut time = time.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let digits = fraction.len() <= 9 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let in_range = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second)
        && (0..=9999).contains(&year);
    if !(digits && in_range) {
        return None;
    }
    let year_from_march = year - i64::from(month <= 2);
    let era = year_from_march.div_euclid(400);
    let year_of_era = year_from_march.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    // Of what has the form of a day, only one that the calendar has comes back as it went in.
    let back = civil(days.checked_mul(86_400_000_000_000)?);
    if (back.year, back.month, back.day) != (year, month, day) {
        return None;
    }
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    let nanoseconds: i64 = format!("{fraction:0<9}").parse().ok()?;
    Some(seconds * 1_000_000_000 + nanoseconds)
}

/// The beginning of an instant in UTC as [`rfc3339`] writes it: a date, or one with hours, minutes or
/// seconds, such as `2026-11-20` or `2026-11-20 05:12`; a `Z` may end it. Nothing where it has another
/// form, or where the calendar has no such day or the day no such time.
#[must_use]
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
    fn dates_agree_with_those_of_date_1() {
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
    fn milliseconds_are_cut_not_rounded() {
        assert_eq!(rfc3339(1_999_999), "1970-01-01T00:00:00.001Z");
        assert_eq!(compact(1_795_151_553_999_999_999), "20261120-051233");
    }

    #[test]
    fn what_is_written_is_read_again_and_what_is_no_date_is_none() {
        for ns in
            [0_i64, 951_782_399_000_000_000, 1_703_064_928_585_000_000, 4_107_542_399_999_000_000]
        {
            assert_eq!(parse(&rfc3339(ns)), Some(ns));
        }
        assert_eq!(parse("2023-12-20 09:35:28,585"), Some(1_703_064_928_585_000_000));
        for text in ["2023-02-29 00:00:00", "2026-04-31 00:00:00", "0000-00-10 00:00:00"] {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in
            ["", "2023-13-01 00:00:00", "2023-12-20", "09:35:28", "2023-12-20 9:35", "a-b-c d:e:f"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn dates_and_instants_of_the_calendar_are_taken_and_nothing_else() {
        for (given, kept) in [
            ("2026-11-20", "2026-11-20"),
            ("2028-02-29", "2028-02-29"),
            ("2026-11-20T05", "2026-11-20T05"),
            ("2026-11-20T05:12", "2026-11-20T05:12"),
            ("2026-11-20 05:12:33", "2026-11-20T05:12:33"),
            ("2026-11-20T05:12:33Z", "2026-11-20T05:12:33"),
        ] {
            assert_eq!(beginning(given).as_deref(), Some(kept));
        }
        for given in [
            "",
            "2026",
            "2026-11",
            "20.11.2026",
            "2026-11-20T5:12",
            "yesterday",
            "2026-02-31",
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-11-20T24",
            "2026-11-20T05:60",
            "2026-11-20T05:12:60",
            "２０２６-11-20",
        ] {
            assert_eq!(beginning(given), None, "{given}");
        }
    }
}
