//! Formats figures for people. CSV and JSON do not use these functions, because they contain all digits.

use inferometer_model::digits;
pub(crate) use inferometer_model::digits::{count, decimal, with_unit};

/// The number of significant digits with which the text of every `f64` is exact: the text parses to the same number.
const MOST_DIGITS: u8 = 17;

/// The text for an absent figure.
pub(crate) const MISSING: &str = "-";

/// A figure with two decimals, as in the published tables; [`MISSING`] if it is absent or not finite.
pub(crate) fn two_decimals(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_finite() => format!("{value:.2}"),
        _ => MISSING.to_owned(),
    }
}

/// A figure with three significant digits, or more if more are before the decimal point; [`MISSING`] if it is absent or
/// not finite.
pub(crate) fn three_digits(value: Option<f64>) -> String {
    let finite = value.filter(|value| value.is_finite());
    finite.map_or(MISSING.to_owned(), |value| digits::Decimals::of(&[value]).text(value))
}

/// A figure with two decimals if its absolute value is at least 1, otherwise with four significant
/// digits.
pub(crate) fn in_table(value: f64) -> String {
    if value.abs() < 1.0 { significant(value) } else { two_decimals(Some(value)) }
}

/// A figure with four significant digits and without trailing zeros: `0.00123`, `13.48`, `2734`. Digits
/// before the decimal point are never replaced by zeros: `12,346`. It has at most nine decimals. [`MISSING`]
/// if it is not finite.
pub(crate) fn significant(value: f64) -> String {
    if value.is_finite() { digits::significant(value, 4) } else { MISSING.to_owned() }
}

/// A figure that is shown beside its limit. The text has four significant digits, or more if the rounded figure would
/// not be on the same side of the limit as the figure. 499.97 beside a limit of 500 is `499.97`, not `500`.
pub(crate) fn beside(value: f64, limit: Option<f64>) -> String {
    let Some(limit) = limit.filter(|_| value.is_finite()) else { return significant(value) };
    let texts = (4..=MOST_DIGITS).map(|digits| digits::significant(value, digits));
    let is_alike = |text: &String| compares_alike(text, value, limit);
    texts.into_iter().find(is_alike).unwrap_or_else(|| value.to_string())
}

/// The smallest number of decimals, from 2 on, with which the text of each value is on the same side of the limit as
/// the value. 2 if there is no limit, or if no number of decimals up to 17 is enough.
pub(crate) fn decimals_beside(values: &[f64], limit: Option<f64>) -> usize {
    let Some(limit) = limit else { return 2 };
    let is_alike = |decimals: usize| {
        values.iter().all(|value| compares_alike(&format!("{value:.decimals$}"), *value, limit))
    };
    (2..=usize::from(MOST_DIGITS)).find(|&decimals| is_alike(decimals)).unwrap_or(2)
}

/// Whether a text of a value is on the same side of the limit as the value.
fn compares_alike(text: &str, value: f64, limit: f64) -> bool {
    let shown = text.replace(',', "").parse::<f64>();
    shown.is_ok_and(|shown| shown.partial_cmp(&limit) == value.partial_cmp(&limit))
}

/// The number and the unit of a limit: `500` and `ms` of `500ms`.
pub(crate) fn number_and_unit(limit: &str) -> Option<(&str, &str)> {
    let unit = limit.trim_start_matches(|c: char| c.is_ascii_digit() || ".+-".contains(c)).trim();
    Some((limit.strip_suffix(unit)?.trim(), unit))
}

/// A rough value with two significant digits and without trailing zeros. Digits before the decimal point
/// are never replaced by zeros. [`MISSING`] if it is not finite.
pub(crate) fn two_significant(value: f64) -> String {
    if value.is_finite() { digits::significant(value, 2) } else { MISSING.to_owned() }
}

/// A length of the grid in tokens; `own` if it is 0, because then each request has its own length.
pub(crate) fn length(tokens: u32) -> String {
    if tokens == 0 { "own".to_owned() } else { tokens.to_string() }
}

/// A number of bytes in the largest binary unit, up to TiB, in which it is at least 1: `40 GiB`.
pub(crate) fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", significant(scaled), UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_at_most_four_significant_digits_but_all_digits_before_the_decimal_point() {
        for (value, text) in [
            (0.0, "0"),
            (0.001_234_56, "0.001235"),
            (13.48, "13.48"),
            (13.5, "13.5"),
            (999.96, "1000"),
            (2733.53, "2734"),
            (-12_345.6, "-12,346"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(significant(value), text, "{value}");
        }
    }

    #[test]
    fn a_missing_or_undefined_figure_is_a_dash() {
        for value in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            assert_eq!(two_decimals(value), "-");
        }
        assert_eq!(two_decimals(Some(10.9)), "10.90");
    }

    #[test]
    fn counts_have_thousands_separators_and_bytes_have_units() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(42_949_672_960), "40 GiB");
    }
}
