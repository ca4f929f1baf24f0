//! The charts of an A/B comparison: two servers, measured in alternating blocks. The first chart shows the
//! deciding figure of each block in time order. The second chart shows the ratio and its interval after each
//! pair of blocks.

use inferometer_analysis::ab::{AbAnswer, Side, chart_points};

use crate::chart::{Axis, Chart, Extent, Panel, Series, Shape, Tint};

/// An interval is drawn only if the ratio of its ends is below this. Intervals from few pairs can be so
/// wide that nothing else would be visible.
const WIDEST: f64 = 1.35;
/// Height of a panel in pixels.
const HEIGHT: f64 = 200.0;

/// Both charts; empty if no pair of blocks has the deciding figure.
pub(super) fn charts(answer: &AbAnswer) -> Vec<Chart> {
    let Some(figure) = answer.deciding().filter(|_| !answer.course.is_empty()) else {
        return Vec::new();
    };
    vec![blocks(answer, &figure.figure), course(answer, &figure.figure)]
}

/// The deciding figure of each block, over the time at which the block began.
fn blocks(answer: &AbAnswer, figure: &str) -> Chart {
    let x = Axis::new("Time since the first block", "s").with_extent(Extent::Values);
    let mut chart = Chart::new("ab-blocks", "Blocks in order of time", x);
    let unit = if figure.ends_with("_per_s") { "1/s" } else { "ms" };
    let series = Side::BOTH.into_iter().map(|side| {
        let mut series = Series {
            name: answer.sides[side.index()].name.clone(),
            style_index: side.index(),
            shape: Shape::Marked,
            ..Series::default()
        };
        for (at, value) in chart_points(answer, side) {
            series.push(at, value, None);
        }
        series
    });
    let y = Axis::new(figure, unit).with_extent(Extent::Close);
    chart.panels.push(Panel::new(y, HEIGHT, series.collect()));
    chart.notes.push(
        "Each mark is a block without its uncounted requests. Changes common to both lines come \
            from the machine; the gap between the lines is the difference between the servers."
            .to_owned(),
    );
    chart
}

/// The ratio and its interval after each pair of blocks. Lines mark the smallest relevant difference.
fn course(answer: &AbAnswer, figure: &str) -> Chart {
    let x = Axis::new("Blocks of each server", "pairs").with_extent(Extent::Values);
    let [a, b] = answer.sides.each_ref().map(|side| side.name.as_str());
    let title = format!("{figure} of {b} divided by that of {a}");
    let mut chart = Chart::new("ab-ratio", title, x);
    let mut known = Series {
        name: "ratio so far, with its interval".to_owned(),
        style_index: 1,
        shape: Shape::Marked,
        ..Series::default()
    };
    let mut pairs = Series {
        name: "ratio of one pair".to_owned(),
        style_index: 3,
        shape: Shape::Dots,
        ..Series::default()
    };
    for step in &answer.course {
        let at = f64::from(step.pair);
        pairs.push(at, Some(step.of_pair), None);
        let interval = step.ratio_ci.filter(|[low, high]| high / low < WIDEST);
        known.push(at, Some(step.ratio), interval);
    }
    let ends = [1.0, answer.course.last().map_or(1.0, |step| f64::from(step.pair))];
    let line = |name: String, y: f64, tint: Tint| Series {
        name,
        style_index: 5,
        tint,
        x: ends.to_vec(),
        y: vec![y; 2],
        ..Series::default()
    };
    let limit = 1.0 + answer.minimal_effect;
    let matters = "smallest relevant difference".to_owned();
    let series = vec![
        line("no difference".to_owned(), 1.0, Tint::Named),
        line(matters.clone(), limit, Tint::Alert),
        line(matters, 1.0 / limit, Tint::Alert),
        pairs,
        known,
    ];
    let y = Axis::new("Ratio", "times A").with_extent(Extent::Close);
    chart.panels.push(Panel::new(y, HEIGHT, series));
    chart.notes.push(answer.sentence.clone());
    chart
}
