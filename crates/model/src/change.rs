//! States by how much a figure differs from another one: in percent, or as a factor if it is more than twice as large.
//! Large percentages are hard to understand: `8529 % higher` is `86.3 times as high`.

use crate::digits::{Decimals, significant};

/// A ratio above this value is shown as a factor, any other ratio as a percentage.
const MOST_IN_PERCENT: f64 = 2.0;

/// The ratio of a figure to another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change(pub f64);

impl Change {
    /// The change of this many percent.
    pub fn of_percent(percent: f64) -> Self {
        Self(1.0 + percent / 100.0)
    }

    /// Whether the change is shown as a factor.
    pub fn is_factor(self) -> bool {
        self.0 > MOST_IN_PERCENT
    }

    /// Whether the change is too small for a percentage with one decimal.
    fn is_small(self) -> bool {
        (100.0 * (self.0 - 1.0)).abs() < 0.05
    }

    /// The change as a part of a sentence: `5.2 % higher`, `86.3 times as high`, `almost the same`.
    pub fn words(self) -> String {
        let percent = 100.0 * (self.0 - 1.0);
        match self.is_factor() {
            true => format!("{} times as high", significant(self.0, 3)),
            false if self.0 == 1.0 => "the same".to_owned(),
            false if self.is_small() => "almost the same".to_owned(),
            false if percent < 0.0 => format!("{:.1} % lower", -percent),
            false => format!("{percent:.1} % higher"),
        }
    }

    /// The word between [`Self::words`] and the other figure: `5.2 % higher than`, `86.3 times as high as`, `the same
    /// as`.
    pub fn than(self) -> &'static str {
        if self.is_factor() || self.is_small() { "as" } else { "than" }
    }

    /// The change with its sign: `+5.2 %`, `86.3 times`. A change that is rounded to zero has no sign.
    pub fn signed(self, decimals: usize) -> String {
        match self.is_factor() {
            true => format!("{} times", significant(self.0, 3)),
            false => percent(self.0, decimals),
        }
    }

    /// The interval of this change: `+3.1 to +7.3 %`, `84.1 to 88.2 times`.
    pub fn interval(self, [low, high]: [f64; 2], decimals: usize) -> String {
        match self.is_factor() {
            true => format!("{} times", Decimals::of(&[low, high]).interval([low, high])),
            false => {
                let (low, high) = (percent(low, decimals), Self(high).signed(decimals));
                // The upper end may be a factor although the change is not: `+80.0 % to 2.3 times`.
                let low = if high.ends_with('%') { low.trim_end_matches(" %") } else { &low };
                format!("{low} to {high}")
            }
        }
    }
}

fn percent(ratio: f64, decimals: usize) -> String {
    let text = format!("{:+.decimals$}", 100.0 * (ratio - 1.0));
    let is_zero = !text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let text = if is_zero { text.trim_start_matches(['+', '-']) } else { text.as_str() };
    format!("{text} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_more_than_twice_as_large_is_a_factor_and_a_smaller_change_is_a_percentage() {
        for (ratio, ends, words, signed, interval) in [
            (1.052, [1.031, 1.073], "5.2 % higher", "+5.2 %", "+3.1 to +7.3 %"),
            (0.948, [0.9, 0.99], "5.2 % lower", "-5.2 %", "-10.0 to -1.0 %"),
            (86.293, [84.12, 88.2], "86.3 times as high", "86.3 times", "84.1 to 88.2 times"),
            (2.0, [1.8, 2.3], "100.0 % higher", "+100.0 %", "+80.0 % to 2.3 times"),
            (2.1, [1.8, 2.3], "2.1 times as high", "2.1 times", "1.80 to 2.30 times"),
            (1.0001, [0.9999, 1.0], "almost the same", "0.0 %", "0.0 to 0.0 %"),
            (0.9999, [0.9998, 1.0], "almost the same", "0.0 %", "0.0 to 0.0 %"),
            (1.0, [1.0, 1.0], "the same", "0.0 %", "0.0 to 0.0 %"),
            (0.9994, [0.999, 1.0], "0.1 % lower", "-0.1 %", "-0.1 to 0.0 %"),
        ] {
            let change = Change(ratio);
            assert_eq!(change.words(), words);
            assert_eq!(change.signed(1), signed);
            assert_eq!(change.interval(ends, 1), interval);
        }
        let than = [1.5, 3.0, 1.0, 0.9999].map(|ratio| Change(ratio).than());
        assert_eq!(than, ["than", "as", "as", "as"]);
    }
}
