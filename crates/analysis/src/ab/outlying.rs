//! Finds pairs of blocks whose ratio is far from the median of all pairs. The reason: the interval assumes that the
//! logarithms of the ratios are roughly normal.

use inferometer_model::{Finding, code, stats::median};
use inferometer_plan::ab::AbPlan;

/// The fewest pairs for this finding. With fewer pairs, the spread is too uncertain.
const FEWEST: usize = 12;
/// A pair is far from the median if its distance from it exceeds this many standard deviations. The standard
/// deviation is estimated from the median absolute deviation.
const DEVIATIONS: f64 = 6.0;
/// The standard deviation of a normal distribution, divided by its median absolute deviation.
const OF_NORMAL: f64 = 1.4826;
/// The most pairs that the message names.
const MOST_NAMED: usize = 3;

/// The finding on pairs that are far from the median. `differences` has the number of each pair and the logarithm of
/// its ratio. A pair is never far if its distance from the median is within the smallest relevant difference.
pub(super) fn finding(plan: &AbPlan, differences: &[(u32, f64)]) -> Option<Finding> {
    if differences.len() < FEWEST {
        return None;
    }
    let middle = median(differences.iter().map(|(_, one)| *one))?;
    let spread = median(differences.iter().map(|(_, one)| (one - middle).abs()))?;
    let limit = (DEVIATIONS * OF_NORMAL * spread).max(plan.minimal_effect.ln_1p());
    let far: Vec<&(u32, f64)> =
        differences.iter().filter(|(_, one)| (one - middle).abs() > limit).collect();
    if far.is_empty() {
        return None;
    }
    let percent = |log: f64| format!("{:+.0} %", 100.0 * log.exp_m1());
    let named = far.iter().take(MOST_NAMED);
    let named: Vec<String> =
        named.map(|(pair, one)| format!("pair {pair}: {}", percent(*one))).collect();
    let more = if far.len() > MOST_NAMED { ", ..." } else { "" };
    let message = format!(
        "In {} of {} pairs of blocks the ratio B / A of {} is far from that of all other pairs \
            ({}{more}; the median of all pairs: {}). The interval assumes that the logarithms of \
            the ratios are roughly normal. With such outliers, the interval covers the true ratio less \
            often than its level states, and a narrow interval needs more pairs.",
        far.len(),
        differences.len(),
        plan.figures.first().map(|figure| figure.name()).unwrap_or_default(),
        named.join(", "),
        percent(middle)
    );
    Some(Finding::of(code::AB_OUTLYING_PAIRS, message))
}

#[cfg(test)]
mod tests {
    use inferometer_model::metrics::slo::quantity;
    use inferometer_model::stats::seed;
    use inferometer_plan::ab::AbFigure;

    use super::*;

    fn plan() -> AbPlan {
        let (metric, statistic) = quantity("", "output_tokens_per_s").expect("a figure");
        AbPlan {
            figures: vec![AbFigure { metric, statistic }],
            minimal_effect: 0.05,
            uncounted: 8,
            max_requests: 10_000,
            max_time: None,
        }
    }

    fn normal(pairs: u32, seed: u64) -> Vec<(u32, f64)> {
        let mut rng = seed::rng(seed, &["pairs"]);
        (1..=pairs).map(|pair| (pair, 0.03 * seed::normal(&mut rng))).collect()
    }

    #[test]
    fn an_outlying_pair_is_reported_with_its_number_and_normal_pairs_seldom_are() {
        let mut stalled = normal(20, 1);
        stalled[6].1 = -0.7;
        let found = finding(&plan(), &stalled).expect("a finding");
        assert!(found.message.contains("In 1 of 20 pairs"), "{}", found.message);
        assert!(found.message.contains("(pair 7: -50 %;"), "{}", found.message);
        let called = (0..400).filter(|seed| finding(&plan(), &normal(12, *seed)).is_some()).count();
        assert!(called <= 8, "{called} of 400");
        assert_eq!(finding(&plan(), &stalled[..11]), None, "too few pairs");
        // Without noise the median deviation is 0, but a deviation below the relevant difference is never far.
        let mut exact = vec![(1, 0.0); 20];
        exact[3].1 = 0.01;
        assert_eq!(finding(&plan(), &exact), None);
    }
}
