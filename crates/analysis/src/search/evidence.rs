//! Measures a criterion over a series of requests: a share or a mean, and its uncertainty. Consecutive requests are not
//! independent. The slow fluctuations of the series show how many independent requests would give the same uncertainty
//! ([`inferometer_model::stats::serial`]).

use serde::{Deserialize, Serialize};

use inferometer_model::stats::serial::long_run;
use inferometer_model::stats::{student_975, wilson};
use inferometer_plan::search::{Criterion, CriterionResult};

/// Whether a load is shown to meet its criteria.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The 95 % intervals of all criteria show that the criteria are met. A load is only `Met` if a trial was also long
    /// enough for a steady state, and if the load is not above the capacity.
    Met,
    /// The 95 % interval of at least one criterion shows that the criterion is missed. A load is also `NotMet` if its
    /// queue kept growing, or if so many requests missed a criterion that the load is far beyond the edge.
    NotMet,
    /// The trials show neither of the two.
    Open,
}

/// The estimate for one criterion at a load, from all trials at this load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriterionEstimate {
    /// The share of requests that met the criterion, or the mean in milliseconds.
    pub value: f64,
    /// The 95 % interval of `value`; absent if there is too little data for an interval.
    pub interval: Option<[f64; 2]>,
    /// The share of requests that must meet the criterion, or the limit of the mean in milliseconds.
    pub limit: f64,
    /// The number of requests that count.
    pub counted: u64,
    /// The number of independent requests that would give the same uncertainty.
    pub independent: f64,
    /// Whether the criterion is shown to be met or missed.
    pub claim: Claim,
}

/// The result of one trial for one criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    /// The share of requests that met the criterion, or the mean in milliseconds.
    pub value: f64,
    /// The number of requests that count.
    pub counted: u64,
    /// The number of independent requests that would give the same uncertainty.
    pub independent: f64,
    /// Standard error of a mean in milliseconds; 0 for a share.
    pub error: f64,
    /// Degrees of freedom of the variance estimate for this measure.
    pub degrees: f64,
    /// The groups of misses; empty for a mean.
    pub groups: Groups,
}

/// Misses that follow each other closely, such as those of one pause of the server, form a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Groups {
    /// The number of groups.
    pub count: f64,
    /// The sum of the squares of their sizes.
    pub squares: f64,
}

/// Whether a criterion allows so few misses that they are rare: at most 2 %. The limit has a tolerance: `1.0 - 0.98` is
/// slightly more than 0.02.
pub(super) fn is_rare(allowed: f64) -> bool {
    allowed < 0.02 + 1e-9
}

/// Whether the misses among so many requests may come from a few pauses of the server: from at most `most` groups. An
/// overloaded server has long groups of misses, too, but then a large part of the requests misses.
fn are_few_pauses(allowed: f64, most: f64, groups: f64, misses: f64, requests: f64) -> bool {
    let is_part = requests < FEWEST || misses < PART_OF_PAUSES * requests;
    is_rare(allowed) && groups <= most && is_part
}

impl Groups {
    /// The mean size of a group, weighted by the size, for this number of misses. This size is the variance of the
    /// number of misses, divided by the number of misses.
    pub(super) fn size(&self, misses: f64) -> f64 {
        if misses > 0.0 { (self.squares / misses).max(1.0) } else { 1.0 }
    }

    /// Finds the groups of misses in a series of requests.
    fn of(judged: &[CriterionResult]) -> Self {
        let (mut groups, mut size, mut met) = (Self::default(), 0.0, usize::MAX);
        for one in judged {
            if one.met {
                met = met.saturating_add(1);
                continue;
            }
            let is_new = met > BETWEEN;
            groups.count += f64::from(u8::from(is_new));
            size = if is_new { 1.0 } else { size + 1.0 };
            // The difference of two consecutive squares.
            groups.squares += 2.0 * size - 1.0;
            met = 0;
        }
        groups
    }
}

/// The correlation of requests is estimated from at least this many misses or slowest requests. In a series of fewer
/// than 20 requests, it is estimated from half of the requests.
const ENOUGH: usize = 10;
/// The numbers of cosines for `long_run`. `COSINES_OF_TAIL` is for needed shares above 0.9, because rare misses occur
/// in shorter groups.
const COSINES: usize = 6;
const COSINES_OF_TAIL: usize = 12;
/// At most this many requests meet the criterion between two misses of one group.
const BETWEEN: usize = 4;
/// With at most this many groups of rare misses in a trial, a group counts as one miss.
const FEW_GROUPS: f64 = 3.0;
/// With at most this many groups, rare misses do not show that a load misses a criterion. A single pause does not show
/// how often the server pauses.
const ONE_GROUP: f64 = 1.0;
/// Misses come from a few pauses only if a smaller share of the requests than this misses. With fewer than `FEWEST`
/// requests, the share may be larger.
const PART_OF_PAUSES: f64 = 0.25;
const FEWEST: f64 = 20.0;
/// For a share over fewer than `SHORT` requests, at most a quarter (`OF_SHORT`) of the requests count as independent.
const SHORT: usize = 100;
const OF_SHORT: f64 = 0.25;

impl Measure {
    /// Measures a criterion over the requests that count, which must be in the order of their due times.
    pub fn of(criterion: &Criterion, judged: &[CriterionResult]) -> Self {
        match criterion.needed() {
            Some(needed) => Self::share(judged, needed),
            None => Self::mean(judged),
        }
    }

    fn share(judged: &[CriterionResult], needed: f64) -> Self {
        let n = judged.len();
        let met = judged.iter().filter(|one| one.met).count();
        let (together, degrees) = clustering(judged, needed).unwrap_or((1.0, 1.0));
        let groups = Groups::of(judged);
        let misses = (n - met) as f64;
        let are_few = are_few_pauses(1.0 - needed, FEW_GROUPS, groups.count, misses, n as f64);
        let together = if are_few { together.max(groups.size(misses)) } else { together };
        let worth = n as f64 / together.max(1.0);
        Self {
            value: met as f64 / n.max(1) as f64,
            counted: n as u64,
            independent: if n < SHORT { worth.min(n as f64 * OF_SHORT) } else { worth },
            error: 0.0,
            degrees,
            groups,
        }
    }

    fn mean(judged: &[CriterionResult]) -> Self {
        let values: Vec<f64> =
            judged.iter().map(|one| one.value).filter(|value| value.is_finite()).collect();
        let n = values.len() as f64;
        let value = values.iter().sum::<f64>() / n.max(1.0);
        let alone = values.iter().map(|one| (one - value).powi(2)).sum::<f64>() / n.max(1.0);
        let Some(long) = long_run(&values, None, COSINES, 0.0) else {
            return Self { value, counted: values.len() as u64, ..Self::default() };
        };
        let variance = long.variance.max(alone);
        Self {
            value,
            counted: values.len() as u64,
            independent: if variance > 0.0 { n * alone / variance } else { n },
            // The error of a mean is at least a thousandth of the mean, because every server varies.
            error: (variance / n).sqrt().max(1e-3 * value),
            degrees: long.degrees as f64,
            groups: Groups::default(),
        }
    }
}

/// Returns the variance of a share divided by its variance for independent requests, and the degrees of freedom of
/// this ratio. The ratio is computed from the misses if all of these hold for their number:
///
/// - It is at least `ENOUGH`.
/// - It is at least half of the allowed number of misses.
/// - It is at most half of the number of requests.
///
/// Otherwise the ratio is computed from the slowest requests. Their number is the allowed number of misses, limited to
/// the range from `ENOUGH` to half of the requests.
fn clustering(judged: &[CriterionResult], needed: f64) -> Option<(f64, f64)> {
    let n = judged.len();
    let misses = judged.iter().filter(|one| !one.met).count();
    let allowed = (1.0 - needed) * n as f64;
    let is_near = misses >= ENOUGH && 2.0 * misses as f64 >= allowed && 2 * misses <= n;
    let series: Vec<f64> = if is_near {
        judged.iter().map(|one| f64::from(u8::from(!one.met))).collect()
    } else {
        let mut sorted: Vec<f64> = judged.iter().map(|one| one.value).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let beyond = (allowed as usize).max(ENOUGH).min(n / 2);
        let threshold = *sorted.get(n.checked_sub(beyond + 1)?)?;
        judged.iter().map(|one| f64::from(u8::from(one.value > threshold))).collect()
    };
    let share = series.iter().sum::<f64>() / n as f64;
    let alone = share * (1.0 - share);
    let cosines = if needed > 0.9 { COSINES_OF_TAIL } else { COSINES };
    let long = long_run(&series, None, cosines, 0.0)?;
    (alone > 0.0).then(|| (long.variance / alone, long.degrees as f64))
}

impl CriterionEstimate {
    /// Pools all trials of a load.
    pub fn pooled(criterion: &Criterion, trials: &[Measure]) -> Self {
        let sum = |of: fn(&Measure) -> f64| trials.iter().map(of).sum::<f64>();
        let counted = sum(|one| one.counted as f64);
        let mean = |of: fn(&Measure) -> f64| {
            trials.iter().map(|one| of(one) * one.counted as f64).sum::<f64>() / counted.max(1.0)
        };
        let (value, independent) = (mean(|one| one.value), sum(|one| one.independent));
        let t = student_975(sum(|one| one.degrees).max(1.0) as usize);
        let (interval, limit) = match (criterion.needed(), criterion.mean_limit_ms()) {
            (Some(needed), _) => (Some(wilson(value * independent, independent, t)), needed),
            (None, limit) => {
                let squares =
                    trials.iter().map(|one| (one.error * one.counted as f64).powi(2)).sum::<f64>();
                let half = t * squares.sqrt() / counted.max(1.0);
                let known = independent > 4.0;
                (known.then_some([value - half, value + half]), limit.unwrap_or(f64::INFINITY))
            }
        };
        let is_share = criterion.needed().is_some();
        let groups = sum(|one| one.groups.count);
        let misses = (1.0 - value) * counted;
        let is_one_group =
            is_share && are_few_pauses(1.0 - limit, ONE_GROUP, groups, misses, counted);
        let claim = match interval {
            Some([low, _]) if is_share && low >= limit => Claim::Met,
            Some([_, high]) if is_share && high < limit && !is_one_group => Claim::NotMet,
            Some([_, high]) if !is_share && high < limit => Claim::Met,
            Some([low, _]) if !is_share && low >= limit => Claim::NotMet,
            _ => Claim::Open,
        };
        Self { value, interval, limit, counted: counted as u64, independent, claim }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::stats::seed::{normal, rng};
    use inferometer_plan::search::criteria;

    /// An autoregression x' = a x + noise. A request misses if x exceeds 1.28 standard deviations, so 10 % miss.
    fn series(a: f64, n: usize, seed: u64) -> Vec<CriterionResult> {
        let mut rng = rng(seed, &["series"]);
        let mut x = 0.0;
        (0..n)
            .map(|_| {
                x = a * x + (1.0 - a * a).sqrt() * normal(&mut rng);
                CriterionResult { value: x, met: x < 1.2816 }
            })
            .collect()
    }

    #[test]
    fn the_effective_number_of_correlated_requests_matches_the_variance_of_their_share() {
        for a in [0.0, 0.9] {
            let trials: Vec<Measure> =
                (0..200).map(|seed| Measure::share(&series(a, 2_000, seed), 0.9)).collect();
            let mean = trials.iter().map(|one| one.value).sum::<f64>() / 200.0;
            let spread = trials.iter().map(|one| (one.value - mean).powi(2)).sum::<f64>() / 200.0;
            let worth = trials.iter().map(|one| 0.09 / one.independent).sum::<f64>() / 200.0;
            assert!((0.8..1.5).contains(&(worth / spread)), "{a}: {worth} for {spread}");
        }
    }

    #[test]
    fn one_group_of_rare_misses_does_not_show_that_a_load_misses_a_criterion() {
        let claim = |slo: &str, series: &[bool]| {
            let wanted = inferometer_model::metrics::slo::parse(slo).unwrap();
            let criterion = &criteria(&wanted, &[], 0.9, None).unwrap()[0];
            let judged = series.iter().map(|&met| CriterionResult { value: 1.0, met });
            let measure = Measure::of(criterion, &judged.collect::<Vec<_>>());
            CriterionEstimate::pooled(criterion, &[measure]).claim
        };
        // A series of 100 requests with groups of misses. `starts` has the index of the first miss of each group, and
        // each group has `size` misses.
        let series = |starts: &[usize], size: usize| -> Vec<bool> {
            let misses = |at| starts.iter().any(|from| (*from..from + size).contains(&at));
            (0..100).map(|at| !misses(at)).collect()
        };
        let each_tenth: Vec<usize> = (0..10).map(|at| 10 * at + 5).collect();
        for (starts, size, expected) in [
            (&[45][..], 10, Claim::Open),
            (&[25, 65], 5, Claim::NotMet),
            (&each_tenth, 1, Claim::NotMet),
            // Too many misses for a pause: the server is overloaded.
            (&[40], 60, Claim::NotMet),
            (&[0], 100, Claim::NotMet),
        ] {
            assert_eq!(claim("ttft_p99<1s", &series(starts, size)), expected, "{starts:?} {size}");
        }
        // Misses are rare if exactly 2 % of the requests may miss.
        assert!(is_rare(1.0 - 0.98) && !is_rare(1.0 - 0.979));
    }

    #[test]
    fn misses_with_at_most_four_other_requests_between_them_form_a_group() {
        let series = |text: &str| -> Vec<CriterionResult> {
            text.chars().map(|it| CriterionResult { value: 1.0, met: it == '.' }).collect()
        };
        let found = Measure::share(&series("xx....x.....x..........xxx"), 0.9).groups;
        assert_eq!(found, Groups { count: 3.0, squares: 9.0 + 1.0 + 9.0 });
    }
}
