//! Formats counts and figures for readers. All texts for people use these functions, so that the same figure has the
//! same digits everywhere.

use std::fmt::Display;

/// An integer; from five digits on, commas separate groups of three digits: `2048`, `12,345`.
pub fn count(value: u64) -> String {
    thousands(&value.to_string())
}

/// A number and its noun: `1 cell`, `2 cells`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Adds commas between groups of three digits to the text of an integer that has at least five digits.
/// Lengths such as 2048 have no comma, as in the published tables.
pub fn thousands(text: &str) -> String {
    if text.trim_start_matches('-').len() < 5 {
        return text.to_owned();
    }
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The maximum number of decimals of a figure.
const MOST_DECIMALS: f64 = 9.0;

/// The number of decimals with which a value has this many significant digits.
fn decimals(value: f64, digits: f64) -> usize {
    let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    (digits - 1.0 - magnitude).clamp(0.0, MOST_DECIMALS) as usize
}

/// A finite value with at most `decimals` decimals and without trailing zeros: `1.5`, `12,346`. The script of a page
/// has the same function in `page/axis.js`.
pub fn decimal(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A finite value with exactly `decimals` decimals: `10.0`, `12,346`. Zero has no sign.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
    let text = if is_zero { text.trim_start_matches('-') } else { text.as_str() };
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", thousands(whole)),
        None => thousands(text),
    }
}

/// A finite value with this many significant digits and without trailing zeros. Digits before the decimal point are
/// never replaced by zeros: `0.00123`, `13.5`, `12,346`.
pub fn significant(value: f64, digits: u8) -> String {
    decimal(value, decimals(value, f64::from(digits)))
}

/// A share in percent, without the sign `%`. It has up to six decimals, so that 99.99 % does not become 100 %.
pub fn percent(share: f64) -> String {
    decimal(share * 100.0, 6)
}

/// The number of decimals of a figure and of its interval. They have the same number, so that a reader can compare
/// them digit by digit: `12.1 (9.7 to 14.5)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimals(usize);

impl Decimals {
    /// The decimals of values that are shown together: the largest one has three significant digits, and each one has
    /// at least one. Whole numbers, such as requests in flight, have no decimals.
    pub fn of(values: &[f64]) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        if finite().all(|value| value.fract() == 0.0) {
            return Self(0);
        }
        let largest = finite().map(f64::abs).fold(0.0, f64::max);
        let visible = finite().filter(|value| *value != 0.0).map(|value| decimals(value, 1.0));
        Self(visible.fold(decimals(largest, 3.0), usize::max))
    }

    /// One of the values as text.
    pub fn text(self, value: f64) -> String {
        fixed(value, self.0)
    }

    /// An interval as text: `9.7 to 14.5`.
    pub fn interval(self, [low, high]: [f64; 2]) -> String {
        format!("{} to {}", self.text(low), self.text(high))
    }
}

/// The ends of an interval with the same number of decimals: `9.7 to 14.5`.
pub fn interval(ends: [f64; 2]) -> String {
    Decimals::of(&ends).interval(ends)
}

/// A figure with its unit, and with its interval if it has one: `52.1 ms (50.3 to 54.9)`.
pub fn with_ends(value: f64, ends: Option<[f64; 2]>, unit: &str) -> String {
    let digits = Decimals::of(&ends.map_or(vec![value], |[low, high]| vec![value, low, high]));
    let ends = ends.map_or_else(String::new, |ends| format!(" ({})", digits.interval(ends)));
    format!("{} {unit}{ends}", digits.text(value))
}

/// A number, already as text, with its unit. After exactly one, requests are in the singular: `1 request/s`,
/// `7.5 requests/s`.
pub fn with_unit(number: &str, unit: &str) -> String {
    match unit.strip_prefix("requests") {
        Some(rest) if number == "1" => format!("1 request{rest}"),
        _ => format!("{number} {unit}"),
    }
}

/// The text of a load for people: `open loop, 1 request/s`. In results, the load is a name that does not change with
/// its number: `open loop, 1 requests/s`.
pub fn of_load(name: &str) -> String {
    name.replace(", 1 requests/s", ", 1 request/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_and_the_ends_of_its_interval_have_the_same_number_of_decimals() {
        for (values, texts) in [
            ([12.06, 9.68, 14.5], ["12.1", "9.7", "14.5"]),
            // Without trailing zeros, this interval would look less exact than the one above.
            ([12.5, 10.04, 15.02], ["12.5", "10.0", "15.0"]),
            ([7.671, 7.52, 7.83], ["7.67", "7.52", "7.83"]),
            ([12.0, 10.0, 15.0], ["12", "10", "15"]),
            ([97.4, 91.2, 102.3], ["97", "91", "102"]),
            ([12_345.6, 11_000.2, 13_000.9], ["12,346", "11,000", "13,001"]),
            ([5.5, 0.04, 14.5], ["5.50", "0.04", "14.50"]),
            ([0.5, 0.0, 1.0], ["0.50", "0.00", "1.00"]),
        ] {
            let decimals = Decimals::of(&values);
            assert_eq!(values.map(|value| decimals.text(value)), texts, "{values:?}");
        }
        assert_eq!(interval([9.68, 14.5]), "9.7 to 14.5");
        assert_eq!(interval([10.0, 15.0]), "10 to 15");
    }

    #[test]
    fn zero_has_no_sign_and_no_decimals_where_trailing_zeros_are_cut() {
        assert_eq!(decimal(-0.001, 2), "0");
        assert_eq!(significant(0.0, 4), "0");
        assert_eq!(significant(-12_345.6, 4), "-12,346");
        assert_eq!(significant(0.001_234_56, 4), "0.001235");
    }

    #[test]
    fn a_share_in_percent_has_the_digits_that_a_user_gave() {
        for (share, text) in [(0.07, "7"), (0.57, "57"), (0.9999, "99.99"), (0.000_001, "0.0001")] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn exactly_one_request_is_in_the_singular() {
        for (number, unit, text) in [
            ("1", "requests/s", "1 request/s"),
            ("1.5", "requests/s", "1.5 requests/s"),
            ("10", "requests/s", "10 requests/s"),
            ("1", "requests in flight", "1 request in flight"),
            ("1", "in flight", "1 in flight"),
            ("1", "ms", "1 ms"),
        ] {
            assert_eq!(with_unit(number, unit), text);
        }
        assert_eq!(of_load("open loop, 1 requests/s"), "open loop, 1 request/s");
        assert_eq!(of_load("open loop, 11 requests/s"), "open loop, 11 requests/s");
    }
}
