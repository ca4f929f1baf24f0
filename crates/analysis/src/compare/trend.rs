//! The figures of a series of runs over time, such as nightly runs: at which run a figure changed to another level, and by
//! how much. It reads no clock. The module `levels` has the statistics.

mod levels;

use serde::{Deserialize, Serialize};

pub use levels::FEWEST_RUNS;
use levels::{Limits, levels, machine};

use super::series::Series;
use super::subject::WORKLOAD;
use super::{FALSE_ALARMS, Row, RowVerdict, Subject};
use inferometer_model::{CellPlan, digits};

/// The trend of all figures of a series of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// The runs in the order in which they began.
    pub runs: Vec<TrendRun>,
    /// The highest rate of false alarms: the share of years of daily runs with a change that is found although nothing
    /// changed, over all figures together.
    pub false_alarms: f64,
    /// The figures, in the order of the first run.
    pub figures: Vec<FigureTrend>,
    /// Facts that differ between one run and the next one, apart from what differs in every run.
    pub differing: Vec<Differing>,
}

/// A run of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrendRun {
    /// The id of the run.
    pub run: String,
    /// How the run is called in sentences: its commit, its version or its day.
    pub label: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
}

/// Facts that differ between a run and the run before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differing {
    /// The index of the run.
    pub run: usize,
    /// For each fact: its name, its value before, and its value in this run.
    pub facts: Vec<[String; 3]>,
}

/// One figure over the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureTrend {
    /// The cell.
    pub cell: Option<CellPlan>,
    /// The load of the pass, as text.
    pub load: String,
    /// The name of the figure, such as `ttft_p99`.
    pub figure: String,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// The index of each run with the figure, and its value: the geometric mean over the repeats of the run.
    pub values: Vec<(usize, f64)>,
    /// The present level: the mean since the last change.
    pub level: f64,
    /// The standard deviation of one run around its level, in percent. Absent with fewer than [`FEWEST_RUNS`] runs.
    pub deviation_pct: Option<f64>,
    /// The correlation of neighbouring runs around their level, at least 0.
    pub alike: f64,
    /// The changes, the oldest first.
    pub changes: Vec<LevelChange>,
}

/// A change of a figure to another level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelChange {
    /// The index of the first run at the new level.
    pub since: usize,
    /// The index of the run at which the change was found.
    pub found: usize,
    /// The level before.
    pub before: f64,
    /// The level after, up to the next change.
    pub after: f64,
    /// How much higher the level is, in percent.
    pub change_pct: f64,
    /// 95 % interval of `change_pct`, for this change alone.
    pub interval_pct: [f64; 2],
    /// Whether the new level is worse.
    pub is_worse: bool,
}

impl Trend {
    /// The trend of runs, which must be in the order in which they began. `figures`: only these figures; all if empty.
    pub fn of(runs: &[(TrendRun, Subject)], figures: &[String], false_alarms: f64) -> Self {
        let mut series: Vec<(Series, Vec<(usize, f64)>)> = Vec::new();
        for (at, (_, subject)) in runs.iter().enumerate() {
            for one in &subject.series {
                if !figures.is_empty() && !figures.contains(&one.figure) {
                    continue;
                }
                let log = one.values.iter().map(|value| value.ln()).sum::<f64>()
                    / one.values.len() as f64;
                match series.iter_mut().find(|(known, _)| known.is_same_figure(one)) {
                    Some((_, logs)) => logs.push((at, log)),
                    None => series.push((one.clone(), vec![(at, log)])),
                }
            }
        }
        let tests = series.iter().filter(|(_, logs)| logs.len() > FEWEST_RUNS).count().max(1);
        let mut limits = Limits::new(false_alarms, tests);
        let all: Vec<Vec<f64>> = series.iter().map(|(_, values)| logs(values)).collect();
        let machine = machine(&all, &mut limits);
        let pairs = runs.windows(2).enumerate();
        let differing = pairs.map(|(at, pair)| {
            let mut facts = pair[0].1.differences(&pair[1].1).1;
            // Each night has other prompts of the same kind.
            facts.retain(|[name, ..]| name != WORKLOAD);
            Differing { run: at + 1, facts }
        });
        Self {
            runs: runs.iter().map(|(run, _)| run.clone()).collect(),
            false_alarms,
            figures: series
                .into_iter()
                .map(|(one, values)| FigureTrend::of(&one, &values, machine, &mut limits))
                .collect(),
            differing: differing.filter(|one| !one.facts.is_empty()).collect(),
        }
    }

    /// One row for each figure, in which its last change is a difference, if it was found in the last `within` runs. So
    /// conditions of a gate can be judged as in a comparison. A figure without such a change has a difference of 0.
    pub fn rows(&self, within: usize) -> Vec<Row> {
        let first = self.runs.len().saturating_sub(within);
        let row = |figure: &FigureTrend| {
            let change = figure.changes.last().filter(|change| change.found >= first);
            let is_same = |change: &LevelChange| change.is_worse;
            Row {
                cell: figure.cell,
                load: figure.load.clone(),
                figure: figure.figure.clone(),
                higher_is_better: figure.higher_is_better,
                baseline: change.map_or(figure.level, |change| change.before),
                contender: change.map_or(figure.level, |change| change.after),
                repeats: [figure.values.len(); 2],
                difference_pct: change.map_or(0.0, |change| change.change_pct),
                interval_pct: change.map(|change| change.interval_pct),
                p: change.map(|_| FALSE_ALARMS.min(self.false_alarms)),
                design: super::Design::BeforeAfter { drift_is_bounded: true },
                over_time: [None, None],
                verdict: match change.map(is_same) {
                    None => RowVerdict::NoDifference,
                    Some(true) => RowVerdict::Worse,
                    Some(false) => RowVerdict::Better,
                },
            }
        };
        self.figures.iter().map(row).collect()
    }
}

impl FigureTrend {
    fn of(series: &Series, values: &[(usize, f64)], machine: f64, limits: &mut Limits) -> Self {
        let logs = logs(values);
        let (found, levels) = levels(&logs, machine, limits);
        let changes = levels.windows(2).zip(&found).map(|(pair, &(since, found))| {
            let [before, after] = [&pair[0], &pair[1]];
            let (difference, half) = after.against(before);
            let percent = |log: f64| 100.0 * log.exp_m1();
            LevelChange {
                since: values[since].0,
                found: values[found].0,
                before: before.mean.exp(),
                after: after.mean.exp(),
                change_pct: percent(difference),
                interval_pct: [difference - half, difference + half].map(percent),
                is_worse: (difference > 0.0) != series.higher_is_better,
            }
        });
        let last = levels.last().expect("invariant: a series has at least one value");
        Self {
            cell: series.cell,
            load: series.load.clone(),
            figure: series.figure.clone(),
            higher_is_better: series.higher_is_better,
            values: values.iter().map(|(at, log)| (*at, log.exp())).collect(),
            level: last.mean.exp(),
            deviation_pct: (logs.len() >= FEWEST_RUNS).then(|| 100.0 * last.deviation().exp_m1()),
            alike: last.noise.alike(),
            changes: changes.collect(),
        }
    }

    /// The cell and the load of the figure, as text.
    pub fn place(&self) -> String {
        let cell = self.cell.map_or_else(String::new, |cell| format!("{cell}, "));
        format!("{cell}{}", digits::of_load(&self.load))
    }
}

fn logs(values: &[(usize, f64)]) -> Vec<f64> {
    values.iter().map(|(_, log)| *log).collect()
}

#[cfg(test)]
mod tests;
