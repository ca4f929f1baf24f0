//! The limits of a run's objectives as lines in its charts, so that a reader sees which figures meet
//! them.

use inferometer_analysis::summary::Summary;
use inferometer_metrics::{Definition, slo};

use crate::chart::{Series, Shape, Tint};

/// A limit is not drawn if it differs from all values by more than this factor, because the values would
/// look equal on the longer axis.
const FURTHEST: f64 = 3.0;

/// The objectives of a run that limit a statistic of this metric, each once.
fn of(summary: &Summary, metric: &Definition) -> Vec<slo::Objective> {
    let mut found: Vec<slo::Objective> = Vec::new();
    for result in &summary.verdict.slo {
        let objectives = slo::parse(&result.objective).unwrap_or_default();
        let own = objectives.into_iter().filter(|own| own.metric.definition() == metric);
        for objective in own.filter(|own| own.statistic.is_some()) {
            if !found.contains(&objective) {
                found.push(objective);
            }
        }
    }
    found
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
    let (near, far): (Vec<_>, Vec<_>) =
        of(summary, metric).into_iter().partition(|objective| is_near(objective.limit, values));
    let series = (!near.is_empty()).then(|| Series {
        name: "limit of an objective".to_owned(),
        tint: Tint::Alert,
        shape: Shape::Marks,
        x: near.iter().map(|objective| objective.limit).collect(),
        texts: near.into_iter().map(|objective| objective.text).collect(),
        labelled: true,
        ..Series::default()
    });
    let words = far.into_iter().map(|objective| {
        format!("The limit of {} is too far from these values to be drawn.", objective.text)
    });
    (series, words.collect())
}

/// The limits on a statistic as horizontal lines between two positions. A limit that is far from all
/// values is left out.
pub(super) fn along(
    summary: &Summary,
    (metric, statistic): (&Definition, slo::Statistic),
    positions: [f64; 2],
    values: [f64; 2],
) -> Vec<Series> {
    let all = of(summary, metric).into_iter();
    let own = all.filter(|own| own.statistic == Some(statistic) && is_near(own.limit, values));
    let line = |objective: slo::Objective| Series {
        name: objective.text,
        tint: Tint::Alert,
        x: positions.to_vec(),
        y: vec![objective.limit; 2],
        ..Series::default()
    };
    own.map(line).collect()
}
