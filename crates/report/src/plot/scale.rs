//! From values to positions, and the round values that an axis names. Never hides that an axis
//! does not begin at zero: it says so.

/// How values become positions along an axis: an interval and its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    kind: Kind,
    lo: f64,
    hi: f64,
    /// Round values within the interval, ascending.
    pub ticks: Vec<f64>,
    /// Decimals of the ticks; log scales write each tick as short as it is.
    decimals: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
}

/// Values that spread over more than this factor are shown on a log scale, for on a linear one
/// the smallest could no longer be told apart.
const LOG_FROM_FACTOR: f64 = 20.0;

/// Values that all lie above this share of the largest are shown on an axis that does not begin
/// at zero, for from zero they could not be told apart.
const ZERO_BELOW_SHARE: f64 = 0.75;

/// An axis that does not begin at zero spans at least this share of its largest value, so that
/// noise does not look like an effect.
const LEAST_SPAN_SHARE: f64 = 0.2;

/// A log axis reaches this factor beyond its outermost values.
const LOG_MARGIN: f64 = 1.25;

/// About how many ticks a linear axis gets.
const TICKS: f64 = 6.0;

impl Scale {
    /// The scale of a value axis over finite values; without any, zero to one.
    pub(super) fn of_values(values: &[f64]) -> Self {
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        if values.is_empty() || (largest == 0.0 && smallest == 0.0) {
            return Self::linear(0.0, 1.0);
        }
        if smallest > 0.0 && largest / smallest > LOG_FROM_FACTOR {
            return Self::log(smallest, largest);
        }
        if smallest > largest * ZERO_BELOW_SHARE {
            let missing = (largest * LEAST_SPAN_SHARE - (largest - smallest)).max(0.0);
            return Self::linear(smallest - missing / 2.0, largest + missing / 2.0);
        }
        Self::linear(smallest.min(0.0), largest.max(0.0))
    }

    /// The scale of columns, whose length is the value: always from zero, never logarithmic. Below
    /// zero it reaches as far as intervals do.
    pub(super) fn of_columns(values: &[f64]) -> Self {
        let largest = values.iter().copied().fold(0.0, f64::max);
        let smallest = values.iter().copied().fold(0.0, f64::min);
        Self::linear(smallest, if largest > smallest { largest } else { 1.0 })
    }

    /// A logarithmic scale whose ticks are the given positive values themselves.
    pub(super) fn of_lengths(lengths: &[f64]) -> Self {
        let lo = lengths.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = lengths.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { kind: Kind::Log, lo, hi, ticks: lengths.to_vec(), decimals: Some(0) }
    }

    fn linear(lo: f64, hi: f64) -> Self {
        let raw = (hi - lo).max(f64::MIN_POSITIVE) / (TICKS - 1.0);
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .map(|factor| factor * power)
            .into_iter()
            .find(|&step| step >= raw * 0.999)
            .unwrap_or(10.0 * power);
        let first = (lo / step + 1e-9).floor();
        let last = (hi / step - 1e-9).ceil();
        let count = (last - first).round() as u32;
        let ticks = (0..=count).map(|i| (first + f64::from(i)) * step).collect();
        let decimals = (0..=12).find(|&d| is_round(step, d)).unwrap_or(12);
        Self {
            kind: Kind::Linear,
            lo: first * step,
            hi: last * step,
            ticks,
            decimals: Some(decimals as usize),
        }
    }

    fn log(smallest: f64, largest: f64) -> Self {
        let decades = (largest / smallest).log10();
        let steps: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let (lo, hi) = (smallest / LOG_MARGIN, largest * LOG_MARGIN);
        let powers = lo.log10().floor() as i32..=hi.log10().ceil() as i32;
        let ticks = powers
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(|tick| (lo..=hi).contains(tick))
            .collect();
        Self { kind: Kind::Log, lo, hi, ticks, decimals: None }
    }

    /// Whether equal ratios are equally far apart.
    pub(super) fn is_log(&self) -> bool {
        self.kind == Kind::Log
    }

    /// The values at both ends.
    pub(super) fn ends(&self) -> [f64; 2] {
        [self.lo, self.hi]
    }

    /// Where a value stands between the ends of the axis, 0 to 1.
    pub(super) fn position(&self, value: f64) -> f64 {
        if self.hi <= self.lo {
            return 0.5;
        }
        match self.kind {
            Kind::Linear => (value - self.lo) / (self.hi - self.lo),
            Kind::Log => (value / self.lo).ln() / (self.hi / self.lo).ln(),
        }
    }

    /// The text of a tick.
    pub(super) fn tick_text(&self, tick: f64) -> String {
        match self.decimals {
            Some(0) => crate::number::significant(tick.round()),
            Some(decimals) => format!("{tick:.decimals$}"),
            None => crate::number::significant(tick),
        }
    }

    /// What a reader must know about the axis, to stand beside its title.
    pub(super) fn remark(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Log => Some("log scale"),
            Kind::Linear if self.lo > 0.0 => Some("axis does not start at 0"),
            Kind::Linear => None,
        }
    }
}

/// Whether a step is a whole number of units in the given decimal place.
fn is_round(step: f64, decimals: i32) -> bool {
    let scaled = step * 10f64.powi(decimals);
    (scaled - scaled.round()).abs() < scaled * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[f64]) -> Vec<String> {
        let scale = Scale::of_values(values);
        scale.ticks.iter().map(|&tick| scale.tick_text(tick)).collect()
    }

    #[test]
    fn ticks_are_round_and_enclose_the_values() {
        assert_eq!(texts(&[542.0, 2944.0]), ["0", "1000", "2000", "3000"]);
        assert_eq!(texts(&[0.0, 0.9]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&[]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&[0.55, 21.36]), ["0.5", "1", "2", "5", "10", "20"]);
    }

    #[test]
    fn four_decades_get_a_tick_per_decade() {
        assert_eq!(texts(&[0.2, 1500.0]), ["1", "10", "100", "1000"]);
    }

    #[test]
    fn an_axis_without_zero_says_so_and_does_not_magnify_noise() {
        let scale = Scale::of_values(&[13.48, 13.49]);
        assert_eq!(scale.remark(), Some("axis does not start at 0"));
        let span = scale.ticks.last().unwrap() - scale.ticks[0];
        assert!(span > 0.2 * 13.0, "{span}");
        assert_eq!(Scale::of_values(&[1.0, 10.0]).remark(), None);
        assert_eq!(Scale::of_columns(&[13.48, 13.49]).remark(), None);
        let below = Scale::of_columns(&[10.0, -4.0]);
        assert!(below.position(-4.0) >= 0.0 && below.position(0.0) > 0.2);
    }

    #[test]
    fn every_value_lies_on_the_axis() {
        for values in [
            vec![1e-9, 5.0, 3e5],
            vec![7.0],
            vec![0.0],
            vec![99.99, 100.01],
            vec![1.0, 19.0],
            vec![1e12, 1.1e12],
        ] {
            let scale = Scale::of_values(&values);
            for &value in &values {
                let position = scale.position(value);
                assert!((-1e-6..=1.0 + 1e-6).contains(&position), "{values:?}: {position}");
            }
            assert!(scale.ticks.len() >= 2 && scale.ticks.len() < 20, "{values:?}");
        }
    }
}
