//! The axes of charts: their quantity, unit, scale, range and ticks. The script of a page has a copy of the
//! algorithm for ticks in `page/axis.js`; a test compares the results of both.

use crate::{number::decimal, significant};

/// A horizontal or vertical axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity: `Throughput`.
    pub title: String,
    /// Its unit: `requests/s`. Empty if the unit is unknown, as for an argument of a server.
    pub unit: String,
    /// How values are converted to positions.
    pub scale: Scale,
    /// The ends of the axis.
    pub extent: Extent,
    /// The ticks. If there are none, ticks are placed at round values.
    pub ticks: Vec<Tick>,
}

/// How values are converted to positions on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences have equal distances.
    Linear,
    /// Equal ratios have equal distances. Values at or below zero are left out.
    Log,
}

/// Where an axis begins and ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// On a linear scale, from zero to the largest value or a little above it; negative values extend the
    /// axis below zero. On a log scale, from a little below the smallest value to a little above the
    /// largest.
    FromZero,
    /// As [`Extent::FromZero`], unless the scale is linear and all values are above three quarters of the
    /// largest value. Then the axis covers the range of the values, or a fifth of the largest value if that is
    /// more, and a margin at both ends. On an axis from zero, such values would look equal. The title of the axis
    /// states that the axis does not start at zero.
    Close,
    /// From the smallest to the largest value exactly. If these are equal, the axis is longer.
    Values,
    /// From the first to the second of these values.
    Fixed(f64, f64),
}

/// A tick: a value of an axis, and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value.
    pub at: f64,
    /// Its text.
    pub text: String,
}

impl Axis {
    /// A linear axis of this quantity in this unit, from zero on, with round ticks.
    pub fn new(title: &str, unit: &str) -> Self {
        Self {
            title: title.to_owned(),
            unit: unit.to_owned(),
            scale: Scale::Linear,
            extent: Extent::FromZero,
            ticks: Vec::new(),
        }
    }

    /// The axis with another scale.
    #[must_use]
    pub fn with_scale(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }

    /// The axis with other ends.
    #[must_use]
    pub fn with_extent(self, extent: Extent) -> Self {
        Self { extent, ..self }
    }

    /// The axis with ticks only at these values.
    #[must_use]
    pub fn with_ticks(self, values: impl IntoIterator<Item = f64>) -> Self {
        let ticks = values.into_iter().map(|at| Tick { at, text: significant(at) });
        Self { ticks: ticks.collect(), ..self }
    }

    /// The title with the unit: `Throughput (requests/s)`.
    pub fn label(&self) -> String {
        match self.unit.as_str() {
            "" => self.title.clone(),
            unit => format!("{} ({unit})", self.title),
        }
    }

    /// Whether the unit of the axis is `count` or `pairs`. Only whole numbers have a meaning on such an axis.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.unit.as_str(), "count" | "pairs")
    }

    /// The ticks of the axis: its own ticks, otherwise about `wanted` ticks at round values of the range. In the second
    /// case, an axis of whole numbers has ticks only at whole numbers.
    pub(crate) fn ticks_of(&self, range: Range, wanted: f64) -> Vec<Tick> {
        if !self.ticks.is_empty() {
            return self.ticks.clone();
        }
        let mut ticks = range.ticks(wanted);
        ticks.retain(|tick| !self.is_whole() || tick.at.fract() == 0.0);
        ticks
    }

    /// A remark that is shown next to the title if the scale is logarithmic, or if an axis with [`Extent::Close`] does
    /// not start at zero.
    pub(crate) fn remark(&self, range: Range) -> Option<&'static str> {
        match (self.scale, self.extent) {
            (Scale::Log, _) => Some("log scale"),
            (Scale::Linear, Extent::Close) if range.from > 0.0 => Some("axis does not start at 0"),
            (Scale::Linear, _) => None,
        }
    }
}

/// The scale of an axis and its computed ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub scale: Scale,
    pub from: f64,
    pub to: f64,
}

/// If the largest value is more than this many times the smallest, the scale is logarithmic. On a linear
/// scale, readers could not distinguish the smallest values.
const LOG_FROM_FACTOR: f64 = 20.0;

/// [`Extent::Close`] does not begin at zero if the smallest value is above this share of the largest.
const CLOSE_FROM_SHARE: f64 = 0.75;

/// An axis without zero covers at least this share of its largest value, so that noise does not look like
/// an effect.
const LEAST_SPAN_SHARE: f64 = 0.2;

/// An end of an axis is moved to the next tick if that adds at most this share to the range of the
/// values.
const ROUND_END_SHARE: f64 = 0.15;

/// An end that is not moved to a tick is moved outwards by this share of the range, so that the labels of
/// points have room.
const MARGIN_SHARE: f64 = 0.08;

/// A log axis has the ticks of a linear axis if the ratio of its ends is at most this.
const LOG_TICKS_FROM_FACTOR: f64 = 8.0;

/// A log axis with ticks at powers of ten has at most this many times the wanted ticks, or five ticks if that is more.
/// The texts of more ticks would touch each other.
const MOST_LOG_TICKS: f64 = 2.5;

impl Scale {
    /// The scale for these values: logarithmic if all are above zero and the largest is more than 20
    /// times the smallest, otherwise linear.
    pub(crate) fn for_values(values: impl Iterator<Item = f64>) -> Self {
        let [low, high] = ends(values);
        if low > 0.0 && high / low > LOG_FROM_FACTOR { Self::Log } else { Self::Linear }
    }
}

/// The smallest and the largest of the finite values; infinity and minus infinity if there are none.
pub(crate) fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let finite = values.filter(|value| value.is_finite());
    finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)])
}

impl Range {
    /// The range of an axis that shows these values with about `wanted` ticks. Values that the scale
    /// cannot show are ignored. Without values, the range is 0 to 1, or 0.1 to 1 on a log scale. If all values
    /// are zero, the range of a linear axis is 0 to 1, too. The range of [`Extent::Fixed`] does not depend on the
    /// values.
    pub fn of(axis: &Axis, values: impl Iterator<Item = f64>, wanted: f64) -> Self {
        let scale = axis.scale;
        if let Extent::Fixed(from, to) = axis.extent {
            return Self { scale, from, to };
        }
        let usable = |value: &f64| scale == Scale::Linear || *value > 0.0;
        let [low, high] = ends(values.filter(usable));
        let (from, to) = match (scale, axis.extent) {
            (Scale::Log, _) if low > high => (0.1, 1.0),
            (Scale::Log, Extent::Values) if low < high => (low, high),
            (Scale::Log, _) => {
                let factor = (high / low).powf(MARGIN_SHARE).max(1.02);
                (low / factor, high * factor)
            }
            (Scale::Linear, _) if low > high || (low == 0.0 && high == 0.0) => (0.0, 1.0),
            (Scale::Linear, Extent::Values) => (low, high),
            (Scale::Linear, Extent::Close) if low > high * CLOSE_FROM_SHARE => {
                let missing = (high * LEAST_SPAN_SHARE - (high - low)).max(0.0);
                rounded(low - missing / 2.0, high + missing / 2.0, wanted)
            }
            (Scale::Linear, _) => rounded(low.min(0.0), high.max(0.0), wanted),
        };
        let to = if from < to { to } else { from + from.abs().max(1.0) };
        Self { scale, from, to }
    }

    /// Extends the end of a linear axis, so that at least this share of the axis is above the largest value. The share
    /// is at least 0 and below 1. A log axis is not changed.
    pub fn with_room_above(self, values: impl Iterator<Item = f64>, share: f64) -> Self {
        let [_, high] = ends(values);
        let needed = self.from + (high - self.from) / (1.0 - share);
        let to = if self.scale == Scale::Linear { self.to.max(needed) } else { self.to };
        Self { to, ..self }
    }

    /// The position of a value on the axis: 0 at its beginning, 1 at its end.
    pub fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log => (value / self.from).ln() / (self.to / self.from).ln(),
        }
    }

    /// Ticks at about `wanted` round values between the ends. If the ratio of the ends of a log axis is above
    /// 8, its ticks are at powers of ten. Up to a ratio of 1000, there are also ticks at 2 and 5 times these
    /// powers. They are left out if there would be too many ticks and the axis has at least two powers of ten, which
    /// are enough to read the axis. If there are still too many ticks, and more than five, only every second, third ...
    /// of them is kept.
    pub fn ticks(&self, wanted: f64) -> Vec<Tick> {
        let (from, to) = (self.from, self.to);
        if self.scale == Scale::Log && to / from > LOG_TICKS_FROM_FACTOR {
            let powers = from.log10().floor() as i32..=to.log10().floor() as i32;
            let at = |steps: &[f64]| -> Vec<f64> {
                let all = powers.clone().flat_map(|power| {
                    steps.iter().map(move |step| step * 10f64.powi(power)).collect::<Vec<f64>>()
                });
                all.filter(|at| *at >= from * (1.0 - 1e-9) && *at <= to * (1.0 + 1e-9)).collect()
            };
            let (tens, all) = (at(&[1.0]), at(&[1.0, 2.0, 5.0]));
            let most = (wanted * MOST_LOG_TICKS).floor().max(2.0) as usize;
            let are_many = all.len() > most && tens.len() > 1;
            let values = if to / from > 1e3 || are_many { tens } else { all };
            let every = if values.len() > 5 { values.len().div_ceil(most) } else { 1 };
            return values
                .into_iter()
                .step_by(every)
                .map(|at| Tick { at, text: significant(at) })
                .collect();
        }
        let (step, decimals) = step(to - from, wanted);
        let first = (from / step - 1e-9).ceil() as i64;
        let last = (to / step + 1e-9).floor() as i64;
        let at = (first..=last).map(|multiple| multiple as f64 * step);
        at.map(|at| Tick { at, text: decimal(at, decimals) }).collect()
    }
}

/// Returns the distance between ticks, and the number of decimals that ticks need. The distance is 1, 2, 2.5
/// or 5 times a power of ten. It is the smallest such distance that divides `span` into at most `wanted`
/// steps.
fn step(span: f64, wanted: f64) -> (f64, usize) {
    let raw = span / wanted.max(1.0);
    let power = raw.log10().floor();
    let unit = 10f64.powf(power);
    let times = [1.0, 2.0, 2.5, 5.0].into_iter().find(|times| times * unit >= raw * 0.999);
    let (times, power) = times.map_or((1.0, power + 1.0), |times| (times, power));
    let decimals = -power + if times == 2.5 { 1.0 } else { 0.0 };
    (times * 10f64.powf(power), decimals.clamp(0.0, 15.0) as usize)
}

/// The ends `low` and `high`, moved outwards: to the next tick if it is near, otherwise by a margin. An
/// end at zero does not move.
fn rounded(low: f64, high: f64, wanted: f64) -> (f64, f64) {
    let span = high - low;
    let (step, _) = step(span.max(f64::MIN_POSITIVE), wanted);
    let outwards = |end: f64, tick: f64, away: f64| match (tick - end).abs() {
        _ if end == 0.0 => end,
        gap if gap <= span * ROUND_END_SHARE => tick,
        _ => end + away * span * MARGIN_SHARE,
    };
    let down = (low / step + 1e-9).floor() * step;
    let up = (high / step - 1e-9).ceil() * step;
    (outwards(low, down, -1.0), outwards(high, up, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(values: &[f64], scale: Scale, extent: Extent) -> Range {
        let axis = Axis::new("a", "b").with_scale(scale).with_extent(extent);
        Range::of(&axis, values.iter().copied(), 6.0)
    }

    fn texts(values: &[f64], scale: Scale, extent: Extent, wanted: f64) -> Vec<String> {
        let ticks = range(values, scale, extent).ticks(wanted);
        ticks.into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn ticks_are_round_numbers_within_the_range_of_the_axis() {
        let linear = |values: &[f64]| texts(values, Scale::Linear, Extent::Values, 5.0);
        assert_eq!(linear(&[0.0, 100.0]), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(linear(&[0.0, 0.9]), ["0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(linear(&[12_345.0, 12_345.6]), ["12,345", "12,345.2", "12,345.4", "12,345.6"]);
        let log = |values: &[f64]| texts(values, Scale::Log, Extent::Values, 5.0);
        assert_eq!(log(&[3.0, 250.0]), ["5", "10", "20", "50", "100", "200"]);
        assert_eq!(log(&[0.5, 2e4]), ["1", "10", "100", "1000", "10,000"]);
        assert_eq!(log(&[10.0, 20.0]), ["10", "12", "14", "16", "18", "20"]);
    }

    #[test]
    fn the_ticks_of_a_low_log_axis_are_far_enough_apart_and_two_of_them_remain() {
        let log = |values: &[f64]| texts(values, Scale::Log, Extent::Values, 2.25);
        assert_eq!(log(&[30.0, 5000.0]), ["100", "1000"]);
        assert_eq!(log(&[12.0, 950.0]), ["20", "50", "100", "200", "500"]);
        assert_eq!(log(&[1.0, 1e5]), ["1", "100", "10,000"]);
    }

    #[test]
    fn an_axis_that_counts_has_ticks_only_at_whole_numbers() {
        for (unit, wanted) in [
            ("count", ["0", "5"].as_slice()),
            ("pairs", &["0", "5"]),
            ("s", &["0", "2.5", "5", "7.5"]),
        ] {
            let axis = Axis::new("a", unit);
            let ticks = axis.ticks_of(Range { scale: Scale::Linear, from: 0.0, to: 7.5 }, 3.0);
            let texts: Vec<&str> = ticks.iter().map(|tick| tick.text.as_str()).collect();
            assert_eq!(texts, wanted, "{unit}");
        }
    }

    #[test]
    fn an_axis_ends_at_a_tick_if_one_is_near_and_otherwise_has_a_margin() {
        let to = |values: &[f64]| range(values, Scale::Linear, Extent::FromZero).to;
        assert_eq!(to(&[542.0, 2944.0]), 3000.0);
        assert_eq!(to(&[5.0, 100.5]), 108.54);
        assert_eq!(range(&[-6.0, 26.0], Scale::Linear, Extent::FromZero).from, -10.0);
        assert_eq!(to(&[]), 1.0);
    }

    #[test]
    fn an_axis_without_zero_says_so_and_does_not_magnify_noise() {
        let axis = Axis::new("a", "b").with_extent(Extent::Close);
        let close = |values: &[f64]| Range::of(&axis, values.iter().copied(), 6.0);
        let range = close(&[13.48, 13.49]);
        assert_eq!(axis.remark(range), Some("axis does not start at 0"));
        assert!(range.to - range.from > 0.2 * 13.0, "{range:?}");
        assert_eq!(axis.remark(close(&[1.0, 10.0])), None);
    }

    #[test]
    fn values_that_span_more_than_a_factor_of_twenty_get_a_log_scale() {
        let scale = |values: &[f64]| Scale::for_values(values.iter().copied());
        assert_eq!(scale(&[0.55, 21.36]), Scale::Log);
        assert_eq!(scale(&[0.0, 21.36]), Scale::Linear);
        assert_eq!(scale(&[]), Scale::Linear);
    }

    #[test]
    fn every_usable_value_is_within_the_axis_and_no_axis_has_zero_length() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in
                [&[][..], &[f64::NAN], &[0.0], &[7.0], &[-1.0, 3.0], &[1e-9, 1e9], &[99.9, 100.1]]
            {
                for extent in [Extent::FromZero, Extent::Close, Extent::Values] {
                    let range = range(values, scale, extent);
                    assert!(range.from < range.to, "{values:?} {scale:?}");
                    assert!(range.ticks(6.0).len() < 40, "{values:?} {scale:?}");
                    for &value in values.iter().filter(|v| scale == Scale::Linear || **v > 0.0) {
                        let share = range.share(value);
                        assert!(share.is_nan() || (-1e-9..=1.0 + 1e-9).contains(&share));
                    }
                }
            }
        }
    }
}
