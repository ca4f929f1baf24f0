//! Computes how many rounds are needed to find a difference. It uses the power of the test: Student's t, at the level
//! that remains for one row after the correction for all rows.

use std::{collections::BTreeMap, ops::Range, sync::OnceLock};

use super::{FEWEST_REPEATS, model::Model, order::Order};

/// The power of the test: the share of comparisons in which the difference must be found.
const FOUND: f64 = 0.8;
/// Designs of up to this many rounds are computed; longer ones are extrapolated.
const MADE: usize = 60;
/// The largest number of rounds that is returned.
const MOST: usize = 1_000_000;

/// The properties of a design that determine its power. It has one repeat of each run per round.
#[derive(Clone, Copy, Debug)]
struct Reach {
    scale: f64,
    widening: f64,
    freedom: f64,
}

/// The distribution of an estimated standard deviation, divided by the true one: pairs of a value and its weight. The
/// weights are relative.
struct Deviations(Vec<[f64; 2]>);

impl Deviations {
    fn of(freedom: f64) -> Self {
        const STEPS: u32 = 200;
        const NEVER: f64 = -25.0;
        // The values are near 1; their standard deviation is about 1 / sqrt(2 freedom).
        let reach = 1.0 + 6.0 / freedom.sqrt();
        let pair = |step: u32| {
            let deviation = reach * (f64::from(step) + 0.5) / f64::from(STEPS);
            let log =
                (freedom - 1.0) * deviation.ln() - freedom * (deviation * deviation - 1.0) / 2.0;
            // Less likely deviations do not change the result.
            (log >= NEVER).then(|| [deviation, log.exp()])
        };
        Self((0..STEPS).filter_map(pair).collect())
    }

    /// The probability that |T| exceeds `limit`, for T = (normal + `off`) / sqrt(chi squared / freedom). This is the
    /// noncentral t distribution. It is integrated over the estimated deviation, with an error below 1e-4.
    fn beyond(&self, limit: f64, off: f64) -> f64 {
        let (mut weights, mut sum) = (0.0, 0.0);
        for [deviation, weight] in &self.0 {
            let at = limit * deviation;
            let both = if off == 0.0 { 2.0 * tail(at) } else { tail(at + off) + tail(at - off) };
            weights += weight;
            sum += weight * both;
        }
        sum / weights
    }

    /// The limit that |T| exceeds with the probability `level` if nothing differs.
    fn limit(&self, level: f64) -> f64 {
        // The error is below 1e-4, which is small enough to compute a number of rounds.
        let (mut low, mut high) = (0.0, 1e3);
        for _ in 0..24 {
            let middle = (low + high) / 2.0;
            if self.beyond(middle, 0.0) > level { low = middle } else { high = middle }
        }
        high
    }
}

/// The probability that |T| of Student's t exceeds `limit` if nothing differs.
pub(super) fn beyond(limit: f64, freedom: f64) -> f64 {
    Deviations::of(freedom).beyond(limit, 0.0)
}

/// Distributions and limits of |T| that were computed before. The rows of a comparison share them.
#[derive(Default)]
pub(super) struct Limits {
    /// By degrees of freedom.
    deviations: BTreeMap<u64, Deviations>,
    /// By level and degrees of freedom.
    limits: BTreeMap<[u64; 2], f64>,
}

impl Limits {
    /// The probability that |T| exceeds `widening` times its limit at `level`, with an offset of `off`.
    fn power(&mut self, level: f64, freedom: f64, widening: f64, off: f64) -> f64 {
        let of = || Deviations::of(freedom);
        let deviations = self.deviations.entry(freedom.to_bits()).or_insert_with(of);
        let key = [level, freedom].map(f64::to_bits);
        let limit = self.limits.entry(key).or_insert_with(|| deviations.limit(level));
        deviations.beyond(*limit * widening, off)
    }
}

/// The probability that a standard normal variable exceeds `x`.
fn tail(x: f64) -> f64 {
    // Beyond this, the probability is below 1e-18.
    const FAR: f64 = 9.0;
    if x.abs() > FAR {
        return if x > 0.0 { 0.0 } else { 1.0 };
    }
    0.5 * libm::erfc(x / std::f64::consts::SQRT_2)
}

/// The number of rounds, with one repeat of each run, at which four of five comparisons find the given difference of
/// the logarithms. `deviation` is the standard deviation of one repeat, and `level` is the significance level of the
/// test. With `in_turn`, all rounds have the same order. Otherwise, each round has the opposite order of the round
/// before.
pub(super) fn rounds(
    limits: &mut Limits,
    difference: f64,
    deviation: f64,
    level: f64,
    in_turn: bool,
) -> u32 {
    let mut finds = |rounds: usize| {
        let Reach { scale, widening, freedom } = reach(rounds, in_turn);
        limits.power(level, freedom, widening, difference * scale / deviation) >= FOUND
    };
    let mut range: Range<usize> = FEWEST_REPEATS - 1..FEWEST_REPEATS;
    while range.end < MOST && !finds(range.end) {
        range = range.end..2 * range.end;
    }
    while range.end - range.start > 1 {
        let middle = range.start.midpoint(range.end);
        if finds(middle) { range.end = middle } else { range.start = middle }
    }
    range.end.min(MOST) as u32
}

/// The properties of a design, from its model. Each model is computed only once.
fn reach(rounds: usize, in_turn: bool) -> Reach {
    static KNOWN: [OnceLock<Vec<Reach>>; 2] = [const { OnceLock::new() }; 2];
    let known = KNOWN[usize::from(in_turn)].get_or_init(|| {
        let made = (FEWEST_REPEATS..=MADE).map(|rounds| {
            let model = Model::in_turn(&Order::of_rounds(rounds, in_turn));
            let model = model.expect("invariant: FEWEST_REPEATS rounds or more have a model");
            let freedom = model.freedom() as f64;
            Reach { scale: model.scale, widening: model.widening, freedom }
        });
        made.collect()
    });
    let longest = known[MADE - FEWEST_REPEATS];
    let longer = rounds.saturating_sub(MADE) as f64;
    known.get(rounds - FEWEST_REPEATS).copied().unwrap_or(Reach {
        scale: longest.scale * (rounds as f64 / MADE as f64).sqrt(),
        freedom: longest.freedom + longer,
        ..longest
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, StudentsT};

    #[test]
    fn the_tail_probability_without_an_offset_is_that_of_students_t_distribution() {
        for freedom in [1.0, 2.0, 5.0, 30.0, 200.0] {
            let law = StudentsT::new(0.0, 1.0, freedom).unwrap();
            for limit in [0.5, 2.0, 4.0] {
                let got = beyond(limit, freedom);
                assert!((got - 2.0 * law.sf(limit)).abs() < 1e-3, "{freedom}, {limit}: {got}");
            }
        }
    }

    #[test]
    fn the_power_of_a_comparison_agrees_with_published_tables() {
        // Two groups of 17 and a difference of one standard deviation have a power of 0.807 at 5 %.
        let got = Limits::default().power(0.05, 32.0, 1.0, (17.0_f64 / 2.0).sqrt());
        assert!((got - 0.807).abs() < 2e-3, "{got}");
    }
}
