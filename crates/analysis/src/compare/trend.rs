//! The figures of a series of runs over time, such as nightly runs: at which run a figure changed to another level, and by
//! how much. It reads no clock. The module `levels` has the statistics.

mod levels;
mod workloads;

use serde::{Deserialize, Serialize};

pub use levels::{FEWEST_FOR_CHANGE, FEWEST_RUNS};
use levels::{Levels, Limits, levels, machine};
pub use workloads::Workload;

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
    /// Facts that differ between one run and the next one of its workload, apart from what differs in every run.
    pub differing: Vec<Differing>,
    /// What the runs measured: one entry if all measured the same.
    #[serde(default)]
    pub workloads: Vec<Workload>,
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
    /// What limits the meaning of its figures, each as the predicate of a sentence: `has failed requests: 2 of 60`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
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
    /// The index of the workload. Figures of different workloads are different figures.
    #[serde(default)]
    pub workload: usize,
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
        let subjects: Vec<&Subject> = runs.iter().map(|(_, subject)| subject).collect();
        let (workloads, of_runs) = workloads::of(&subjects);
        let series = series(&subjects, &of_runs, figures);
        let values: Vec<_> = series.iter().map(|(.., values)| values.clone()).collect();
        let tests = values.iter().filter(|values| values.len() > FEWEST_RUNS).count().max(1);
        let mut limits = Limits::new(false_alarms, tests);
        let machine = machine(runs.len(), &values, &mut limits);
        let figures = series.iter().map(|(workload, one, values)| FigureTrend {
            workload: *workload,
            ..FigureTrend::of(one, values, &machine, &mut limits)
        });
        let told = |(run, subject): &(TrendRun, Subject)| {
            let warnings = [run.warnings.clone(), subject.warnings.clone()].concat();
            TrendRun { warnings, ..run.clone() }
        };
        Self {
            runs: runs.iter().map(told).collect(),
            false_alarms,
            figures: figures.collect(),
            differing: differing(&subjects, &of_runs),
            workloads,
        }
    }

    /// The figures of the newest run. A run that measured something else than the runs before has figures of its own.
    pub fn newest(&self) -> impl Iterator<Item = &FigureTrend> {
        let last = self.runs.len().saturating_sub(1);
        self.figures.iter().filter(move |one| one.values.last().is_some_and(|it| it.0 == last))
    }

    /// Whether any figure of the newest run has enough runs to show a change.
    pub fn can_show_a_change(&self) -> bool {
        self.newest().any(FigureTrend::can_show_a_change)
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
                load: figure.of_workload(&figure.load),
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
                    None if !figure.can_show_a_change() => {
                        RowVerdict::NotEnoughData { needed: FEWEST_FOR_CHANGE as u32 }
                    }
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
    fn of(series: &Series, values: &[(usize, f64)], machine: &[f64], limits: &mut Limits) -> Self {
        let Levels { changes, levels, .. } = levels(values, machine, limits);
        let changes = levels.windows(2).zip(&changes).map(|(pair, &(since, found))| {
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
            workload: 0,
            cell: series.cell,
            load: series.load.clone(),
            figure: series.figure.clone(),
            higher_is_better: series.higher_is_better,
            values: values.iter().map(|(at, log)| (*at, log.exp())).collect(),
            level: last.mean.exp(),
            deviation_pct: (values.len() >= FEWEST_RUNS).then(|| 100.0 * last.deviation().exp_m1()),
            alike: last.noise.alike(),
            changes: changes.collect(),
        }
    }

    /// Whether there are enough runs to show a change.
    pub fn can_show_a_change(&self) -> bool {
        self.values.len() >= FEWEST_FOR_CHANGE
    }

    /// The cell and the load of the figure, as text. A workload other than the first one is named.
    pub fn place(&self) -> String {
        let cell = self.cell.map_or_else(String::new, |cell| format!("{cell}, "));
        self.of_workload(&format!("{cell}{}", digits::of_load(&self.load)))
    }

    fn of_workload(&self, place: &str) -> String {
        match self.workload {
            0 => place.to_owned(),
            other => format!("workload {}, {place}", other + 1),
        }
    }
}

/// The index of each run, and the logarithm of its value.
type Values = Vec<(usize, f64)>;

/// The series of all runs, each with its workload, and with the index of each run that has it and the logarithm of its value.
fn series(
    runs: &[&Subject],
    of_runs: &[usize],
    figures: &[String],
) -> Vec<(usize, Series, Values)> {
    let mut all: Vec<(usize, Series, Values)> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let is_chosen = |one: &&Series| figures.is_empty() || figures.contains(&one.figure);
        for one in run.series.iter().filter(is_chosen) {
            let logs = one.values.iter().map(|value| value.ln());
            let value = (at, logs.sum::<f64>() / one.values.len() as f64);
            let workload = of_runs[at];
            match all.iter_mut().find(|it| it.0 == workload && it.1.is_same_figure(one)) {
                Some((.., values)) => values.push(value),
                None => all.push((workload, one.clone(), vec![value])),
            }
        }
    }
    all
}

/// The facts that differ between each run and the run of its workload before it.
fn differing(runs: &[&Subject], of_runs: &[usize]) -> Vec<Differing> {
    let of_run = |at: usize| {
        let before = (0..at).rev().find(|before| of_runs[*before] == of_runs[at])?;
        let mut facts = runs[before].differences(runs[at]).1;
        // Each night has other prompts of the same kind.
        facts.retain(|[name, ..]| name != WORKLOAD);
        (!facts.is_empty()).then_some(Differing { run: at, facts })
    };
    (0..runs.len()).filter_map(of_run).collect()
}

#[cfg(test)]
mod tests;
