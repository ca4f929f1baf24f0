//! The figures that are compared, with a value and a time of measurement for each repeat. They are read from the cells
//! of a run.

use crate::cell::{is_longer, table_loads};
use crate::cost::COMPARED;
use crate::{Cell, Imported, PassSummary, Summary, prediction::Columns};
use inferometer_model::metrics::{
    Direction, Value as MetricValue, latency_per_output_token, latency_per_token, registry,
};
use inferometer_model::{CellPlan, Definition, PassKind, Statistic, calendar};

/// The load of the columns of a published table, which does not state a load.
pub const TABLE_LOAD: &str = "table";

/// The values of one figure over the repeats of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The cell; absent for the geometric mean over all cells.
    pub cell: Option<CellPlan>,
    /// The load of the pass, as text.
    pub load: String,
    /// The name of the figure.
    pub figure: String,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// One value for each repeat, all above zero.
    pub values: Vec<f64>,
    /// The time of each measurement, in seconds since the Unix epoch. Empty if unknown.
    pub times_s: Vec<f64>,
}

impl Series {
    /// Whether both are the same figure of the same cell under the same load.
    pub fn is_same_figure(&self, other: &Self) -> bool {
        self.is_same_place(other) && self.figure == other.figure
    }

    /// Whether both have the same cell and the same load.
    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        (self.cell, &self.load) == (other.cell, &other.load)
    }

    /// Sorts the values by time.
    pub(super) fn sort(&mut self) {
        if self.times_s.len() == self.values.len() {
            let mut all: Vec<(f64, f64)> =
                self.times_s.iter().copied().zip(self.values.iter().copied()).collect();
            all.sort_by(|one, other| one.0.total_cmp(&other.0));
            (self.times_s, self.values) = all.into_iter().unzip();
        }
    }

    /// Whether the figure can be compared. A value of zero has no finite ratio.
    fn has_values(&self) -> bool {
        !self.values.is_empty() && self.values.iter().all(|value| *value > 0.0)
    }
}

/// The figures of requests that are compared: name, metric and statistic. Each metric has one value per request.
fn of_passes() -> impl Iterator<Item = (String, &'static Definition, Statistic)> {
    let is_of_requests = |metric: &Definition| matches!(metric.value, MetricValue::Request(_));
    let reasoning = registry::when_reasoning().filter(move |(metric, _)| is_of_requests(metric));
    let compared = registry::in_tables().filter(|(metric, _)| metric.of_classes).chain(reasoning);
    compared.map(|(metric, of)| (format!("{}_{}", metric.name, of.name()), metric, of))
}

/// The metrics of whole passes that are compared.
fn values_of_passes() -> impl Iterator<Item = &'static Definition> {
    registry::of_passes().map(|(_, metric)| metric).filter(|metric| metric.compared)
}

/// Whether a comparison of two measured runs can have this figure.
pub(super) fn is_compared(figure: &str) -> bool {
    let is_of_passes = values_of_passes().any(|metric| metric.result_key == figure);
    is_of_passes
        || COMPARED.iter().any(|(name, _)| *name == figure)
        || Columns::NAMES.contains(&figure)
        || of_passes().any(|(known, _, _)| known == figure)
}

/// The figures of a run, including those that an imported source states without a distribution.
pub(super) fn of_run(summary: &Summary) -> Vec<Series> {
    // Imported results of other programs state at most a date, which does not show the order of repeats.
    let is_ours = summary.imported.as_ref().is_none_or(Imported::is_ours);
    let began_ns = calendar::parse(&summary.started_at).filter(|_| is_ours);
    let began_s = began_ns.map(|ns| ns as f64 / 1e9);
    let mut series: Vec<Series> =
        summary.cells.iter().flat_map(|cell| of_cell(cell, began_s)).collect();
    let stated = summary.imported.as_ref().filter(|imported| !imported.is_ours());
    series.extend(stated.into_iter().flat_map(|imported| of_stated(summary, imported)));
    series.retain(Series::has_values);
    series
}

/// The load of the passes from which each column of the table is computed, for each cell that has passes.
pub(super) fn loads_of_tables(summary: &Summary) -> Vec<(CellPlan, &'static str, String)> {
    let of_cell = |cell: &Cell| {
        let [loading, alone] = table_loads(&cell.passes);
        let loads = [loading.clone(), loading, alone.clone(), alone];
        let named = Columns::NAMES.into_iter().zip(loads);
        let place = cell.plan();
        named.filter_map(move |(figure, load)| Some((place, figure, load?))).collect::<Vec<_>>()
    };
    summary.cells.iter().flat_map(of_cell).collect()
}

/// The figures of a cell: those of each load, or the columns of the table if there are no passes.
fn of_cell(cell: &Cell, began_s: Option<f64>) -> Vec<Series> {
    let mut series = Vec::new();
    if cell.passes.is_empty() {
        for (at, (figure, value)) in Columns::NAMES.iter().zip(cell.columns().values()).enumerate()
        {
            let values = value.map(|value| (value, began_s)).into_iter();
            series.push(of_pass(TABLE_LOAD, figure, at < 2, values));
        }
    }
    let mut loads: Vec<(&str, PassKind)> = Vec::new();
    for pass in &cell.passes {
        if !loads.contains(&(pass.load.as_str(), pass.kind)) {
            loads.push((pass.load.as_str(), pass.kind));
        }
    }
    let has_alone = loads.iter().any(|(_, kind)| *kind == PassKind::OneByOne);
    for (load, kind) in loads {
        let mut passes: Vec<&PassSummary> =
            cell.passes.iter().filter(|pass| pass.load == load).collect();
        // As in a cell, a pass that ended early is no repeat of whole ones.
        if passes.iter().any(|pass| pass.is_whole()) {
            passes.retain(|pass| pass.is_whole());
        }
        let over = |figure: &str, more: bool, of: &dyn Fn(&PassSummary) -> Option<f64>| {
            let values = passes.iter().zip(0..).filter_map(|(pass, at)| {
                // A pass without a start time counts as measured after the pass before it.
                let within_s = pass.started_s.unwrap_or(1e-3 * f64::from(at));
                Some((of(pass)?, began_s.map(|began_s| began_s + within_s)))
            });
            of_pass(load, figure, more, values)
        };
        let mean = |metric: &'static Definition| {
            move |pass: &PassSummary| pass.latency(metric).map(|latency| latency.mean)
        };
        let [_, _, per_token, per_output_token] = Columns::NAMES;
        // A pass whose outputs are longer than requested measures another output length.
        if !passes.iter().any(|pass| is_longer(pass)) {
            if kind != PassKind::OneByOne {
                for metric in values_of_passes() {
                    let more = metric.direction == Some(Direction::Higher);
                    series.push(over(metric.result_key, more, &|pass| pass.figure(metric)));
                }
                for (name, of) in &COMPARED {
                    series.push(over(name, false, &|pass| Some(of(pass.cost.as_ref()?)?.usd)));
                }
            }
            if kind == PassKind::OneByOne || !has_alone {
                series.push(over(per_token, false, &mean(&latency_per_token::DEFINITION)));
                let of = mean(&latency_per_output_token::DEFINITION);
                series.push(over(per_output_token, false, &of));
            }
        }
        for (figure, metric, statistic) in of_passes() {
            let more = metric.direction == Some(Direction::Higher);
            series.push(over(&figure, more, &|pass| {
                statistic.of(pass.latency(metric).filter(|_| pass.shows(metric))?)
            }));
        }
    }
    series.iter_mut().for_each(|series| series.cell = Some(cell.plan()));
    series
}

/// The figures of passes that an imported source states without a distribution.
fn of_stated(summary: &Summary, imported: &Imported) -> Vec<Series> {
    let mut series = Vec::new();
    for ((cell, pass), stated) in summary.passes().zip(&imported.passes) {
        for (figure, metric, statistic) in of_passes() {
            let missing = pass.latency(metric).and_then(|of| statistic.of(of)).is_none();
            if let Some(value) = stated.agreeing.get(&figure).filter(|_| missing) {
                let values = [(*value, None)].into_iter();
                let of_pass = of_pass(&pass.load, &figure, false, values);
                series.push(Series { cell: Some(cell.plan()), ..of_pass });
            }
        }
    }
    series
}

fn of_pass(
    load: &str,
    figure: &str,
    higher_is_better: bool,
    values: impl Iterator<Item = (f64, Option<f64>)>,
) -> Series {
    let (values, times): (Vec<f64>, Vec<Option<f64>>) = values.unzip();
    let times_s = times.into_iter().collect::<Option<Vec<f64>>>().unwrap_or_default();
    let (load, figure) = (load.to_owned(), figure.to_owned());
    Series { cell: None, load, figure, higher_is_better, values, times_s }
}

/// The geometric mean over all cells, for each repeat. It is computed for each figure of a load that several cells have
/// with the same number of repeats.
pub(super) fn overall(pairs: &[(Series, Series)]) -> Vec<(Series, Series)> {
    let mut groups: Vec<Vec<&(Series, Series)>> = Vec::new();
    for pair in pairs {
        let key = |(a, b): &(Series, Series)| {
            (a.load.clone(), a.figure.clone(), a.values.len(), b.values.len())
        };
        match groups.iter_mut().find(|group| key(group[0]) == key(pair)) {
            Some(group) => group.push(pair),
            None => groups.push(vec![pair]),
        }
    }
    let groups = groups.into_iter().filter(|group| group.len() > 1);
    groups
        .map(|group| {
            let over = |side: fn(&(Series, Series)) -> &Series| {
                let first = side(group[0]);
                let at = |repeat: usize| {
                    let logs = group.iter().map(|pair| side(pair).values[repeat].ln());
                    (logs.sum::<f64>() / group.len() as f64).exp()
                };
                let values = (0..first.values.len()).map(at).collect();
                Series { cell: None, values, ..first.clone() }
            };
            (over(|pair| &pair.0), over(|pair| &pair.1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::steady;
    use inferometer_model::load::{Bound, PassPlan};
    use inferometer_model::{StopReason, Timeline};

    use super::*;
    use crate::{fold::PassFold, pass::PassSummary};

    #[test]
    fn a_repeat_that_was_cut_off_is_no_value_beside_whole_ones() {
        let mut fold = PassFold::new(&PassPlan::closed(1, Bound::requests(1)));
        fold.add(&Timeline::new(&steady(0.0, 20.0, 10.0, 8)));
        let pass = fold.finish();
        let of = |rates: &[f64], stopped: &[bool]| {
            let repeat = |((rate, stopped), repeat): ((&f64, &bool), _)| PassSummary {
                repeat,
                requests_per_s: Some(*rate),
                stopped: stopped.then_some(StopReason::MaxTime),
                ..pass.clone()
            };
            let passes = rates.iter().zip(stopped).zip(1..).map(repeat).collect();
            let series = of_cell(&crate::cell::cell(16, 8, passes), None);
            series.into_iter().find(|it| it.figure == "requests_per_s").map(|it| it.values)
        };
        assert_eq!(of(&[17.0, 17.5, 14.0], &[false, false, true]), Some(vec![17.0, 17.5]));
        assert_eq!(of(&[17.0, 17.5], &[true, true]), Some(vec![17.0, 17.5]));
    }
}
