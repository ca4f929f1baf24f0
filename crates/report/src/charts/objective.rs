//! The limits of a run's objectives as lines in its charts, so that a reader sees which figures meet
//! them.

use inferometer_analysis::Summary;
use inferometer_model::{Definition, Statistic, metrics::slo};

use crate::chart::{Scale, Series, Shape, Tint};

/// A limit is not drawn if it would make the axis longer and differs from all values by more than this factor. On such
/// a long axis, the values would look equal.
const FURTHEST: f64 = 3.0;

/// The objectives of a run and of its searches that limit a statistic of this metric, each once.
fn of(summary: &Summary, metric: &Definition) -> Vec<slo::Objective> {
    let mut found: Vec<slo::Objective> = Vec::new();
    let of_run = summary.verdict.slo.iter().map(|result| &result.objective);
    let of_searches = summary.searches.iter().flat_map(|search| &search.objectives);
    for text in of_run.chain(of_searches.map(|objective| &objective.text)) {
        let objectives = slo::parse(text).unwrap_or_default();
        let own = objectives.into_iter().filter(|own| own.metric.definition() == metric);
        for objective in own.filter(|own| own.statistic.is_some()) {
            if !found.contains(&objective) {
                found.push(objective);
            }
        }
    }
    found
}

/// The statistics of a metric to draw, in the order of [`Statistic::ALL`]: `always`, and each statistic with an
/// objective.
pub(super) fn statistics(
    summary: &Summary,
    metric: &Definition,
    always: &[Statistic],
) -> Vec<Statistic> {
    let limited: Vec<Statistic> =
        of(summary, metric).into_iter().filter_map(|objective| objective.statistic).collect();
    let is_drawn =
        |statistic: &Statistic| always.contains(statistic) || limited.contains(statistic);
    Statistic::ALL.into_iter().filter(is_drawn).collect()
}

/// Whether an objective limits a statistic of this metric.
pub(super) fn is_limited(summary: &Summary, metric: &Definition) -> bool {
    !of(summary, metric).is_empty()
}

fn too_far(objective: &slo::Objective) -> String {
    format!("The limit of {} is too far from these values to be drawn.", objective.text)
}

fn is_near(limit: f64, values: [f64; 2]) -> bool {
    values[0] / FURTHEST <= limit && limit <= values[1] * FURTHEST
}

/// The limits on a metric as vertical lines over the range of values, and a sentence for each limit that
/// is too far away to be drawn.
pub(super) fn across(
    summary: &Summary,
    metric: &Definition,
    values: [f64; 2],
) -> (Option<Series>, Vec<String>) {
    let (mut near, far): (Vec<_>, Vec<_>) =
        of(summary, metric).into_iter().partition(|objective| is_near(objective.limit, values));
    near.sort_by(|one, other| one.limit.total_cmp(&other.limit));
    let series = (!near.is_empty()).then(|| Series {
        tint: Tint::Alert,
        x: near.iter().map(|objective| objective.limit).collect(),
        texts: near.into_iter().map(|objective| objective.text).collect(),
        labelled: true,
        ..Series::new("limit of an objective", 0, Shape::Marks)
    });
    (series, far.iter().map(too_far).collect())
}

/// The limits on a statistic as horizontal lines between two positions, and a sentence for each limit that is too far
/// away to be drawn. On a linear scale, every limit below the values counts as near: the axis begins at zero if the
/// limit is far below the values.
pub(super) fn along(
    summary: &Summary,
    (metric, statistic): (&Definition, Statistic),
    positions: [f64; 2],
    values: [f64; 2],
    scale: Scale,
) -> (Vec<Series>, Vec<String>) {
    let all = of(summary, metric).into_iter();
    let own = all.filter(|own| own.statistic == Some(statistic));
    let lowest = if scale == Scale::Linear { 0.0 } else { values[0] };
    let (near, far): (Vec<_>, Vec<_>) =
        own.partition(|own| is_near(own.limit, [lowest, values[1]]));
    // The name begins with `limit of`, because the chart of a search has another series with the name of the objective:
    // the share of requests that meet the objective.
    let line = |objective: slo::Objective| {
        level(format!("limit of {}", objective.text), positions, objective.limit)
    };
    (near.into_iter().map(line).collect(), far.iter().map(too_far).collect())
}

/// A horizontal line in the alert colour between two positions. Its name is at its right end if there is space. The
/// line shows a limit or a required share.
pub(super) fn level(name: String, positions: [f64; 2], value: f64) -> Series {
    Series {
        tint: Tint::Alert,
        x: positions.to_vec(),
        y: vec![value; 2],
        texts: vec![String::new(), name.clone()],
        name,
        labelled: true,
        ..Series::default()
    }
}
