//! From values to positions between the ends of an axis, and the round values that are named. The
//! script does the same for a part of the axis.

use super::Spacing;

/// An axis between its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ends {
    pub spacing: Spacing,
    pub from: f64,
    pub to: f64,
}

/// Fewer than so many times the smallest value, and a log axis has round values as a linear one.
const FEW_TIMES: f64 = 8.0;

impl Ends {
    /// The ends that hold all values, with a little room on a log axis; zero to one of none.
    /// A linear vertical axis begins at zero unless `exact`.
    pub fn of(values: impl Iterator<Item = f64>, spacing: Spacing, exact: bool) -> Self {
        let usable = |value: &f64| match spacing {
            Spacing::Linear => value.is_finite(),
            Spacing::Log => value.is_finite() && *value > 0.0,
        };
        let (from, to) = values
            .filter(usable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (from, to) = match spacing {
            _ if from > to => (if spacing == Spacing::Log { 0.1 } else { 0.0 }, 1.0),
            Spacing::Log if exact && from < to => (from, to),
            Spacing::Log => (from / 1.15, to * 1.15),
            Spacing::Linear if exact => (from, to),
            Spacing::Linear => (from.min(0.0), if to > 0.0 { to * 1.05 } else { to }),
        };
        let to = if from < to { to } else { from + from.abs().max(1.0) };
        Self { spacing, from, to }
    }

    /// 0 at the beginning, 1 at the end.
    pub fn share(&self, value: f64) -> f64 {
        match self.spacing {
            Spacing::Linear => (value - self.from) / (self.to - self.from),
            Spacing::Log => (value / self.from).ln() / (self.to / self.from).ln(),
        }
    }

    /// Round values between the ends, about so many.
    pub fn ticks(&self, wanted: f64) -> Vec<f64> {
        let (from, to) = (self.from, self.to);
        let within =
            |value: &f64| *value >= from - from.abs() * 1e-9 && *value <= to * (1.0 + 1e-9);
        if self.spacing == Spacing::Log && to / from > FEW_TIMES {
            let steps: &[f64] = if to / from > 1e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let powers = from.log10().floor() as i32..=to.log10().floor() as i32;
            let all =
                powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
            return all.filter(within).collect();
        }
        let raw = (to - from) / wanted.max(1.0);
        let unit = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .map(|times| times * unit)
            .into_iter()
            .find(|step| *step >= raw * 0.999)
            .unwrap_or(10.0 * unit);
        let first = (from / step - 1e-9).ceil() as i64;
        let last = (to / step + 1e-9).floor() as i64;
        (first..=last).map(|at| at as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64], spacing: Spacing, exact: bool) -> Ends {
        Ends::of(values.iter().copied(), spacing, exact)
    }

    #[test]
    fn ticks_are_round_and_lie_between_the_ends() {
        assert_eq!(
            of(&[0.0, 100.0], Spacing::Linear, true).ticks(5.0),
            [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
        );
        assert_eq!(
            of(&[3.0, 250.0], Spacing::Log, true).ticks(5.0),
            [5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
        );
        assert_eq!(of(&[0.5, 2e4], Spacing::Log, true).ticks(5.0), [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert_eq!(
            of(&[10.0, 20.0], Spacing::Log, true).ticks(5.0),
            [10.0, 12.0, 14.0, 16.0, 18.0, 20.0]
        );
    }

    #[test]
    fn every_usable_value_lies_on_the_axis_and_no_axis_is_without_length() {
        for spacing in [Spacing::Linear, Spacing::Log] {
            for values in [&[][..], &[f64::NAN], &[0.0], &[7.0], &[-1.0, 3.0], &[1e-9, 1e9]] {
                for exact in [true, false] {
                    let ends = of(values, spacing, exact);
                    assert!(ends.from < ends.to, "{values:?} {spacing:?}");
                    assert!(ends.ticks(6.0).len() < 40, "{values:?} {spacing:?}");
                    for &value in values.iter().filter(|v| spacing == Spacing::Linear || **v > 0.0)
                    {
                        let share = ends.share(value);
                        assert!(share.is_nan() || (-1e-9..=1.0 + 1e-9).contains(&share));
                    }
                }
            }
        }
    }
}
