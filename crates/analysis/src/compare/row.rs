//! Compares one figure: its difference, the interval, and the verdict that the design allows.

use super::model::{FigureContrasts, Model};
use super::order::{Design, Order};
use super::over_time::{OverTime, Shuffles, alike_at_most, over_time};
use super::power::{self, Limits};
use super::rotation::{self, Test};
use super::{FALSE_ALARMS, FEWEST_REPEATS, Options, Row, RowVerdict, Series, interval, mean};

/// A baseline with at least this many repeats shows how much it drifts by itself.
pub const BOUNDS_DRIFT: usize = 20;
/// The fewest repeats of each run, and the fewest rounds with both runs, for an interval.
const FEWEST_FOR_INTERVAL: usize = 3;

/// A figure of both runs in the order of time, with the model of its design.
struct Figure<'a> {
    series: &'a (Series, Series),
    order: Order,
    design: Design,
    /// The model for the difference; absent if there are too few repeats to estimate the noise.
    means: Option<(Model, FigureContrasts)>,
    /// Two models: one has a mean for each run; the other has a linear trend over time, plus a step between the runs.
    /// *Better* or *worse* needs a significant difference with the same sign in both models. Present only if one run
    /// was measured after the other, with at least [`BOUNDS_DRIFT`] repeats of the baseline and [`FEWEST_REPEATS`] of
    /// the contender.
    bounded: Option<[(Model, FigureContrasts); 2]>,
}

/// Computes the rows of all figures, judged together. `is_fixed`: at least one side cannot be measured again.
pub(super) fn rows(pairs: &[(Series, Series)], options: Options, is_fixed: bool) -> Vec<Row> {
    let figures: Vec<Figure<'_>> = pairs.iter().map(Figure::new).collect();
    let judged = judge(&figures, options.seed, |figure| figure.means.as_ref());
    let bounded = [0, 1]
        .map(|at| judge(&figures, options.seed, |figure| Some(&figure.bounded.as_ref()?[at])));
    let (mut limits, mut shuffles) = (Limits::default(), Shuffles::new(options.seed));
    let rows = figures.iter().enumerate().map(|(at, figure)| {
        let p = judged.p[at];
        let beyond_drift = figure.bounded.as_ref().is_some_and(|models| {
            let agree = models[0].1.difference.signum() == models[1].1.difference.signum();
            agree && bounded.iter().all(|judged| judged.p[at].is_some_and(|p| p <= FALSE_ALARMS))
        });
        let needed = || figure.needed(&mut limits, options.margin, judged.critical);
        let (a, b) = figure.series;
        let of_runs = [a, b].map(|series| over_time(&series.values, &mut shuffles));
        figure.row(p, beyond_drift, of_runs, needed, options, is_fixed)
    });
    rows.collect()
}

/// The corrected probability of each figure; `None` for a figure with too few repeats. The correction covers all
/// figures with enough repeats. `critical` is the limit that the test statistic must reach. If no figure has enough
/// repeats, `critical` is still computed, over all figures.
struct FigureProbabilities {
    p: Vec<Option<f64>>,
    critical: Option<f64>,
}

fn judge<'a>(
    figures: &'a [Figure<'_>],
    seed: u64,
    model: impl Fn(&'a Figure<'_>) -> Option<&'a (Model, FigureContrasts)>,
) -> FigureProbabilities {
    let is_enough = figures.iter().any(|figure| figure.has(FEWEST_REPEATS));
    let part: Vec<(usize, Test<'_>)> = figures
        .iter()
        .enumerate()
        .filter(|(_, figure)| figure.has(FEWEST_REPEATS) || !is_enough)
        .filter_map(|(at, figure)| {
            let (model, measured) = model(figure)?;
            Some((at, Test { model, measured }))
        })
        .collect();
    let (places, tests): (Vec<usize>, Vec<Test<'_>>) = part.into_iter().unzip();
    let mut p = vec![None; figures.len()];
    if tests.is_empty() {
        return FigureProbabilities { p, critical: None };
    }
    let judged = rotation::judge(&tests, FALSE_ALARMS, seed);
    if is_enough {
        places.iter().zip(&judged.p).for_each(|(&at, one)| p[at] = Some(*one));
    }
    FigureProbabilities { p, critical: Some(judged.critical) }
}

impl<'a> Figure<'a> {
    fn new(series: &'a (Series, Series)) -> Self {
        let (a, b) = series;
        let order = Order::of(a, b);
        let logs = order.logs(a, b);
        let measured = |model: Model| {
            let measured = model.measure(&logs);
            (model, measured)
        };
        let mut design = order.design();
        let mut bounded = None;
        let mut means = match design {
            Design::Alternated { .. } => Model::in_turn(&order).map(measured),
            _ => Model::of_means(&order).map(measured),
        };
        if let Design::BeforeAfter { drift_is_bounded } = &mut design
            && a.values.len() >= BOUNDS_DRIFT
            && b.values.len() >= FEWEST_REPEATS
        {
            *drift_is_bounded = true;
            let alike = alike_at_most(&a.values);
            let wide = |model: Option<Model>| Some(measured(model?.widened_for(alike)));
            let both = [wide(Model::of_means(&order)), wide(Model::of_a_step(&order))];
            if let [Some(mean), Some(step)] = both {
                means = Some(mean.clone());
                bounded = Some([mean, step]);
            }
        }
        Self { series, order, design, means, bounded }
    }

    /// Whether there are at least `fewest` repeats of each run. For runs in turn, there must also be `fewest` rounds.
    fn has(&self, fewest: usize) -> bool {
        let (a, b) = self.series;
        let rounds = match self.design {
            Design::Alternated { rounds } => rounds,
            _ => usize::MAX,
        };
        rounds.min(a.values.len()).min(b.values.len()) >= fewest
    }

    fn row(
        &self,
        p: Option<f64>,
        beyond_drift: bool,
        over_time: [Option<OverTime>; 2],
        needed: impl FnOnce() -> u32,
        options: Options,
        is_fixed: bool,
    ) -> Row {
        let (a, b) = self.series;
        let (baseline, contender) = (mean(&a.values), mean(&b.values));
        let measured = self.means.as_ref().filter(|_| self.has(FEWEST_FOR_INTERVAL));
        let difference = match &self.means {
            Some((_, measured)) => measured.difference.exp_m1(),
            None => contender / baseline - 1.0,
        };
        let interval = measured.map(|(model, measured)| interval::of(measured, model.freedom()));
        let within = |[low, high]: [f64; 2]| low > -options.margin && high < options.margin;
        let is_beyond = p.is_some_and(|p| p <= FALSE_ALARMS);
        let one_each = [a, b].iter().any(|series| series.values.len() == 1);
        let verdict = if is_beyond && (self.design.is_alternated() || beyond_drift) {
            match (difference > 0.0) == a.higher_is_better {
                true => RowVerdict::Better,
                false => RowVerdict::Worse,
            }
        } else if is_beyond {
            RowVerdict::Differs
        } else if p.is_some() && interval.is_some_and(within) {
            RowVerdict::NoDifference
        } else if is_fixed && one_each {
            RowVerdict::NoInterval
        } else {
            RowVerdict::NotEnoughData { needed: needed() }
        };
        Row {
            cell: a.cell,
            load: a.load.clone(),
            figure: a.figure.clone(),
            higher_is_better: a.higher_is_better,
            baseline,
            contender,
            repeats: [a.values.len(), b.values.len()],
            difference_pct: 100.0 * difference,
            interval_pct: interval.map(|ends| ends.map(|end| 100.0 * end)),
            p,
            design: self.design,
            over_time,
            verdict,
        }
    }

    /// The number of rounds, with one repeat of each run, at which four of five comparisons would find a difference as
    /// large as the margin.
    fn needed(&self, limits: &mut Limits, margin: f64, critical: Option<f64>) -> u32 {
        let (a, b) = self.series;
        let Some((model, measured)) = &self.means else { return FEWEST_REPEATS as u32 + 1 };
        let freedom = model.freedom() as f64;
        let alone = critical.map_or(FALSE_ALARMS, |limit| power::beyond(limit, freedom));
        // A row is judged at the level `alone` if it is the only one that differs, and at `FALSE_ALARMS` if all rows
        // differ. `level` is the geometric mean of the two.
        let level = (alone * FALSE_ALARMS).sqrt();
        // The deviation is corrected, because the median of an estimated variance is below the true variance. Then the
        // number of rounds is too large as often as it is too small (Wilson and Hilferty).
        let median = (1.0 - 2.0 / (9.0 * freedom)).powi(3);
        let deviation = measured.deviation / median.sqrt();
        let changes = self.order.is_contender.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let in_turn = self.design.is_alternated() && changes + 1 == 2 * self.order.rounds.len();
        let found = power::rounds(limits, margin.ln_1p(), deviation.max(1e-9), level, in_turn);
        let have = match self.design {
            Design::Alternated { rounds } => rounds,
            _ => a.values.len().min(b.values.len()),
        };
        // If there are already that many rounds and no difference was found, more rounds are needed than estimated.
        let least = if have >= FEWEST_REPEATS { have + 1 } else { FEWEST_REPEATS };
        found.max(least as u32)
    }
}
