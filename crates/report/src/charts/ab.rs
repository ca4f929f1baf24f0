//! The charts of an A/B comparison: two servers, measured in alternating blocks. The first chart shows the
//! deciding figure of each block in time order. The second chart shows the ratio and its interval after each
//! pair of blocks.

use inferometer_analysis::ab::{AbAnswer, Side, chart_points};

use crate::chart::{Axis, Chart, Extent, Panel, Scale, Series, Shape, Tint};
use crate::{count, significant};

/// An interval is drawn only if its upper end divided by its lower end is below this. Intervals from few pairs
/// can be so wide that nothing else would be visible.
const WIDEST: f64 = 1.35;
/// Height of a panel in pixels.
const HEIGHT: f64 = 240.0;

/// Both charts; empty if no pair of blocks has the deciding figure.
pub(super) fn charts(answer: &AbAnswer) -> Vec<Chart> {
    let Some(figure) = answer.deciding().filter(|_| !answer.course.is_empty()) else {
        return Vec::new();
    };
    vec![blocks(answer, &figure.figure), course(answer, &figure.figure)]
}

/// The deciding figure of each block, over the time at which the block began.
fn blocks(answer: &AbAnswer, figure: &str) -> Chart {
    let x = Axis::new("Time since the first block", "s");
    let mut chart = Chart::new("ab-blocks", "Blocks in order of time", x);
    let unit = match figure {
        "output_tokens_per_s" => "output tokens/s",
        "requests_per_s" => "requests/s",
        other if other.ends_with("_per_s") => "1/s",
        _ => "ms",
    };
    let series = Side::ALL.into_iter().map(|side| {
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

/// The ratio and its interval after each pair of blocks. Lines mark a ratio of 1 and the smallest relevant difference.
/// The scale is logarithmic, so that B twice as fast and B half as fast have the same distance from 1.
fn course(answer: &AbAnswer, figure: &str) -> Chart {
    let last = answer.course.last().map_or(1.0, |step| f64::from(step.pair));
    let ends = [0.5, last + 0.5];
    let x = Axis::new("Blocks of each server", "pairs");
    let x = x.with_extent(Extent::Fixed(ends[0], ends[1]));
    let [a, b] = answer.sides.each_ref().map(|side| side.name.as_str());
    let title = format!("{figure} of {b} divided by that of {a}");
    let mut chart = Chart::new("ab-ratio", title, x);
    let mut known = Series { style_index: 1, shape: Shape::Marked, ..Series::default() };
    let mut pairs = Series::new("ratio of one pair", 3, Shape::Dots);
    for step in &answer.course {
        let at = f64::from(step.pair);
        pairs.push(at, Some(step.of_pair), None);
        let interval = step.ratio_ci.filter(|ends| !answer.without_noise && is_drawn(ends));
        known.push(at, Some(step.ratio), interval);
    }
    known.name = match known.has_intervals() {
        true => "ratio so far, with its interval".to_owned(),
        false => "ratio so far".to_owned(),
    };
    let line = |name: &str, y: f64, tint: Tint| Series {
        name: name.to_owned(),
        style_index: 5,
        tint,
        x: ends.to_vec(),
        y: vec![y; 2],
        texts: vec![String::new(), format!("{}: {name}", significant(y))],
        labelled: true,
        ..Series::default()
    };
    let limit = 1.0 + answer.minimal_effect;
    let matters = "smallest relevant difference";
    let series = vec![
        line("no difference", 1.0, Tint::Named),
        line(matters, limit, Tint::Alert),
        line(matters, 1.0 / limit, Tint::Alert),
        pairs,
        known,
    ];
    let y = Axis::new("Ratio", "times A").with_scale(Scale::Log);
    chart.panels.push(Panel::new(y, HEIGHT, series));
    chart.notes.push(answer.sentence.clone());
    let too_wide = answer
        .course
        .iter()
        .filter_map(|step| step.ratio_ci)
        .filter(|ends| !is_drawn(ends))
        .count();
    if too_wide > 0 {
        chart.notes.push(format!(
            "Not drawn: intervals after {} of {} pairs, because they are so wide that nothing else \
                would be visible.",
            count(too_wide as u64),
            count(answer.course.len() as u64)
        ));
    }
    chart
}

/// Whether an interval of the ratio is narrow enough to be drawn.
fn is_drawn([low, high]: &[f64; 2]) -> bool {
    high / low < WIDEST
}
