//! Creates heat maps of the grid of lengths: one tile for each pair of lengths that has the figure. A tile with
//! more contrast to the background has a higher value: it is darker in the light theme, and lighter in the dark
//! theme. Only runs with at least three input lengths and three output lengths have heat maps. For fewer
//! lengths, a line chart is clearer.

use inferometer_analysis::{Cell, Summary};

use super::grid::{Length, Metric, mapped};
use crate::chart::{Axis, Chart, Extent, Legend, Panel, Series, Shape, Tick, Tint, ends};
use crate::{Traces, answers, count, significant};

/// The minimum number of input lengths, and of output lengths, of a run with heat maps.
const MIN_LENGTHS: usize = 3;
/// Height of a row, and the maximum height of all rows together, in pixels.
const ROW_HEIGHT: f64 = 44.0;
const MAX_HEIGHT: f64 = 480.0;

/// A heat map for each figure of [`mapped`] that at least two cells have. Empty if the run has too few lengths,
/// and for searches and sweeps.
pub(super) fn charts(summary: &Summary, _: &Traces) -> Vec<Chart> {
    let run = std::slice::from_ref(summary);
    let [inputs, outputs] = [Length::Input, Length::Output].map(|length| length.values(run));
    let is_map = inputs.len() >= MIN_LENGTHS
        && outputs.len() >= MIN_LENGTHS
        && !answers::has_answers(summary);
    mapped().filter(|_| is_map).filter_map(|of| map(of, summary, &inputs, &outputs)).collect()
}

fn map(metric: &Metric, summary: &Summary, inputs: &[u32], outputs: &[u32]) -> Option<Chart> {
    let figures: Vec<(&Cell, f64)> = summary
        .cells
        .iter()
        .filter_map(|cell| Some((cell, (metric.value)(cell).filter(|value| value.is_finite())?)))
        .collect();
    let ends = ends(figures.iter().map(|(_, value)| *value));
    if figures.len() < 2 {
        return None;
    }
    let place = |lengths: &[u32], length| lengths.iter().position(|it| *it == length).unwrap_or(0);
    let series = figures.iter().map(|(cell, value)| {
        let (x, y) = (place(outputs, cell.output_length), place(inputs, cell.input_length));
        tile((x as f64, y as f64), cell.plan().to_string(), shade(*value, ends), *value)
    });
    let height = (inputs.len() as f64 * ROW_HEIGHT).min(MAX_HEIGHT);
    let [x, y] = [(Length::Output, outputs), (Length::Input, inputs)].map(named);
    let id = format!("heat-{}", metric.name);
    let mut chart = Chart::new(id, format!("{}, over both lengths", metric.title), x);
    chart.notes = vec![format!(
        "{} In {}. A tile with more contrast to the background has a higher value.",
        metric.definition, metric.unit
    )];
    chart.legend = Legend::Absent;
    chart.panels = vec![Panel::new(y, height, series.collect())];
    Some(chart)
}

/// The position of a value between the smallest value (0) and the largest (1). It is logarithmic if the
/// largest is more than 20 times the smallest and both are above zero, otherwise linear. 0.5 if all values are
/// equal.
fn shade(value: f64, [low, high]: [f64; 2]) -> f64 {
    let is_log = low > 0.0 && high / low > 20.0;
    let [value, low, high] =
        [value, low, high].map(|value| if is_log { value.ln() } else { value });
    if high > low { (value - low) / (high - low) } else { 0.5 }
}

/// An axis with the positions 0, 1, 2, ... Each position is labelled with a length.
fn named((length, values): (Length, &[u32])) -> Axis {
    let ticks = values.iter().enumerate();
    let ticks = ticks.map(|(at, value)| Tick { at: at as f64, text: count(u64::from(*value)) });
    let axis = Axis::new(length.title(), "tokens");
    Axis { ticks: ticks.collect(), ..axis }
        .with_extent(Extent::Fixed(-0.5, values.len() as f64 - 0.5))
}

fn tile((x, y): (f64, f64), name: String, shade: f64, value: f64) -> Series {
    Series {
        tint: Tint::Ramp(shade),
        x: vec![x],
        y: vec![y],
        low: vec![y - 0.5],
        high: vec![y + 0.5],
        left: vec![x - 0.5],
        right: vec![x + 0.5],
        texts: vec![significant(value)],
        labelled: true,
        ..Series::new(name, 0, Shape::Tiles)
    }
}
