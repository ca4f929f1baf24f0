//! Computes the edge of a tier from trials: the highest load at which all criteria of the tier are met. This module
//! requests no trial.

use super::capacity::{Capacity, shown_by};
use super::crossing::{Crossing, Of, Point, crossing};
use super::evidence::{Groups, Measure};
use super::flat::{bounded_without_curve, extended_without_curve};
use super::overwhelmed::{INDEPENDENT, Overwhelmed, are_beyond, misses_to_claim};
use super::trial::Trial;
use inferometer_plan::search::{Criterion, SearchPlan};

/// A trial without a steady state counts as overloaded under two conditions. It has at least `LONG_ENOUGH` requests,
/// and its odds of a miss are at least `FAR_MORE` times the allowed odds.
const LONG_ENOUGH: u64 = 100;
const FAR_MORE: f64 = 2.0;
/// Degrees of freedom of the result of a trial that was cut off.
const OF_CUT_OFF: f64 = 4.0;

/// The edge of a tier. Loads are stored as such, not as logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct TierEdge {
    /// The highest load of a trial that reached a steady state and whose measured values meet all criteria; absent if
    /// there is none.
    pub good: Option<f64>,
    /// The lowest load of a trial that misses a criterion by its measured values, or that counts as missing it because
    /// its queue grows or its load is above the capacity; absent if there is none.
    pub bad: Option<f64>,
    /// The best estimate of the edge; absent unless both `good` and `bad` are present.
    pub estimate: Option<f64>,
    /// The lower end of the interval of the edge; absent if no trial bounds it.
    pub low: Option<f64>,
    /// The upper end of the interval of the edge; absent if no trial bounds it.
    pub high: Option<f64>,
    /// Index of the criterion that is missed first as the load grows; absent if none is missed.
    pub first: Option<usize>,
}

/// The smallest share of misses that is assumed for a trial that counts as overloaded, whose queue grows, or whose load
/// is above the capacity. If the trial were longer, nearly all later requests would miss.
const EVER_MORE: f64 = 0.9;
/// For an objective on a mean: the logarithm of the mean divided by its limit. This value is assumed for a trial whose
/// queue grows or whose load is above the capacity. In other trials, the logarithm is limited to this distance from 0.
const FAR_ABOVE: f64 = 1.0;

/// The capacity of the server, if trials at rates show it.
pub(super) fn capacity(
    plan: &SearchPlan,
    trials: &[(Trial, Option<Overwhelmed>)],
) -> Option<Capacity> {
    Capacity::of(trials.iter().filter(|_| !plan.is_whole()).map(|(trial, _)| trial))
}

/// Computes the edge of a tier. `tier` contains the indices of its criteria.
pub(super) fn edge(
    plan: &SearchPlan,
    tier: &[usize],
    trials: &[(Trial, Option<Overwhelmed>)],
) -> TierEdge {
    let mut edge =
        TierEdge { good: None, bad: None, estimate: None, low: None, high: None, first: None };
    let capacity = capacity(plan, trials);
    let most = capacity.map_or(f64::INFINITY, |capacity| capacity.high());
    let point = |index: usize, trial: &Trial, overwhelmed: Option<Overwhelmed>| {
        point(plan, index, trial, overwhelmed, trial.load > most)
    };
    let mut shown: f64 = 0.0;
    for (trial, overwhelmed) in trials {
        let is_good = |&index: &usize| {
            point(index, trial, *overwhelmed).is_none_or(|(point, of)| match of {
                Of::Share(allowed) => point.y <= allowed,
                Of::Mean => point.y <= 0.0,
            })
        };
        if tier.iter().all(is_good) {
            // A trial without a steady state does not show that a load meets the criteria.
            if !trial.is_settled {
                continue;
            }
            edge.good = Some(edge.good.map_or(trial.load, |good| good.max(trial.load)));
            shown = shown_by(trial).max(shown);
        } else {
            edge.bad = Some(edge.bad.map_or(trial.load, |bad| bad.min(trial.load)));
        }
    }
    // Each of several criteria may have a wrong interval, so they share the allowed probability of a wrong interval.
    let wrong = (1.0 - plan.confidence) / tier.len().max(1) as f64;
    let found: Vec<(usize, Crossing)> = tier
        .iter()
        .filter_map(|&index| {
            let points = || trials.iter().filter_map(|(t, o)| point(index, t, *o));
            let of = points().next()?.1;
            let mut points: Vec<Point> = points().map(|(point, _)| point).collect();
            let first = crossing(&points, of, wrong)?;
            weigh_alike(&mut points, first.at);
            let found = crossing(&points, of, wrong)?;
            let bounded = match plan.over.is_of_jobs() {
                true => bounded_without_curve(found, &points, of, wrong),
                false => extended_without_curve(found, &points, of, wrong),
            };
            Some((index, bounded))
        })
        .collect();
    let least = |of: fn(&Crossing) -> Option<f64>| {
        found.iter().filter_map(|(_, it)| of(it)).min_by(f64::total_cmp)
    };
    let is_bounded_below =
        found.len() == tier.len() && found.iter().all(|(_, it)| it.low.is_some());
    edge.low = least(|it| it.low).filter(|_| is_bounded_below).map(f64::exp);
    edge.high = least(|it| it.high).map(f64::exp);
    // Far from the limit, the curve is not reliable. A load that is certainly beyond the edge bounds the interval from
    // above, for any curve.
    let sure = trials.iter().filter_map(|(trial, overwhelmed)| overwhelmed.map(|_| trial.load));
    if let Some(beyond) = sure.min_by(f64::total_cmp) {
        edge.high = Some(edge.high.map_or(beyond, |high| high.min(beyond)));
        edge.low = edge.low.filter(|low| *low < beyond);
    }
    if let (false, Some(_), Some(bad)) = (plan.is_whole(), edge.good, edge.bad) {
        // The curve may rise steeply anywhere between two tried loads.
        edge.high = edge.high.map(|high| high.max(bad));
        edge.low = edge.low.map(|low| low.min(shown)).filter(|low| *low > 0.0);
    }
    if let (false, Some(good), None) = (plan.is_whole(), edge.good, edge.bad) {
        // No trial missed a criterion, so nothing is known about loads above the highest load that met all of them.
        edge.low = edge.low.map(|low| low.min(good));
    }
    if capacity.is_some() {
        edge.high = Some(edge.high.map_or(most, |high| high.min(most)));
    }
    if let (Some(_), Some(_)) = (edge.good, edge.bad) {
        let first = found.iter().min_by(|a, b| a.1.at.total_cmp(&b.1.at));
        let most = capacity.map_or(f64::INFINITY, |capacity| capacity.per_s);
        edge.estimate = first.map(|(_, it)| it.at.exp().min(most));
        edge.first = first.map(|(index, _)| *index);
    } else if edge.bad.is_some() {
        edge.first = found.iter().min_by(|a, b| a.1.at.total_cmp(&b.1.at)).map(|(it, _)| *it);
    }
    edge
}

/// Trials within this distance of the edge, as a logarithm of the load, show how strongly misses are correlated at the
/// edge.
const NEAR: f64 = 0.2;

/// Gives all trials the same correlation of misses: that of all trials near the edge. A trial with a queue fluctuation
/// has both more misses and a stronger correlation. If each trial had its own weight, such trials would weigh less than
/// trials without a fluctuation, and the edge would be overestimated.
fn weigh_alike(points: &mut [Point], at: f64) {
    let (mut requests, mut variance) = (0.0, 0.0);
    for point in points.iter().filter(|point| (point.x - at).abs() <= NEAR && point.requests > 0.0)
    {
        requests += point.requests;
        variance += point.requests * point.requests / point.weight;
    }
    if requests > 0.0 {
        let together = variance / requests;
        for point in points.iter_mut().filter(|point| point.requests > 0.0) {
            point.weight = point.requests / together;
        }
    }
}

/// The result of a trial for a criterion; `None` if the trial shows nothing about the criterion.
fn point(
    plan: &SearchPlan,
    index: usize,
    trial: &Trial,
    overwhelmed: Option<Overwhelmed>,
    is_above_capacity: bool,
) -> Option<(Point, Of)> {
    let criterion: &Criterion = &plan.criteria[index];
    let x = trial.load.ln();
    if let (Some(by), Some(needed), 1..) = (overwhelmed, criterion.needed(), trial.cut_off) {
        // The requests that were cut off might have missed too. So the misses either show that too many requests miss,
        // or they show nothing.
        let y = trial.missed[index] as f64 / by.planned.max(1) as f64;
        let weight = INDEPENDENT.min(by.planned / 8) as f64;
        let (degrees, groups) = (OF_CUT_OFF, Groups::default());
        let point = Point { x, y, weight, requests: 0.0, degrees, groups };
        return (y > 1.0 - needed).then_some((point, Of::Share(1.0 - needed)));
    }
    let measure = trial.measured[index];
    if measure.counted == 0 || trial.cut_off > 0 {
        return None;
    }
    let requests = if trial.is_settled { measure.counted as f64 } else { 0.0 };
    let Measure { degrees, groups, .. } = measure;
    let found = match (criterion.needed(), criterion.mean_limit_ms()) {
        (Some(needed), _) => {
            let misses = 1.0 - measure.value;
            // A trial without a steady state also counts as overloaded if it has far more misses than allowed.
            let odds = |share: f64| share / (1.0 - share);
            let is_beyond = !trial.is_settled
                && trial.requests >= LONG_ENOUGH
                && odds(misses) >= FAR_MORE * odds(1.0 - needed);
            let grows = trial.saturation.is_some() || is_beyond || is_above_capacity;
            let y = if grows { misses.max(EVER_MORE) } else { misses };
            let weight = measure.independent;
            (Point { x, y, weight, requests, degrees, groups }, Of::Share(1.0 - needed))
        }
        (None, limit) => {
            if measure.value <= 0.0 || measure.error <= 0.0 {
                return None;
            }
            let weight = (measure.value / measure.error).powi(2);
            let y = (measure.value / limit.unwrap_or(f64::INFINITY)).ln();
            // Above the capacity, a mean grows with the length of the trial.
            let grows = trial.saturation.is_some() || is_above_capacity;
            let y = if grows { FAR_ABOVE } else { y.clamp(-FAR_ABOVE, FAR_ABOVE) };
            (Point { x, y, weight, requests, degrees, groups }, Of::Mean)
        }
    };
    let allowed = if let Of::Share(allowed) = found.1 { allowed } else { 0.0 };
    (trial.is_settled || found.0.y > allowed).then_some(found)
}

/// For each tier, the evidence that the load of a trial is far beyond the edge of the tier. `None` unless there is
/// evidence for every tier.
pub(super) fn overwhelmed(plan: &SearchPlan, trial: &Trial) -> Option<Vec<Overwhelmed>> {
    let needed = misses_to_claim(&plan.criteria, trial.planned);
    let criteria = are_beyond(&plan.criteria_of_tiers(), &trial.missed, &needed)?;
    let of = |criterion: usize| Overwhelmed {
        criterion,
        missed: trial.missed[criterion],
        planned: trial.planned,
        cut_off: trial.cut_off,
    };
    Some(criteria.into_iter().map(of).collect())
}
