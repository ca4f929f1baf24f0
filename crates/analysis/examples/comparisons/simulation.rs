//! Comparisons of repeats that were never measured, whose noise is known: how often the program
//! sees what is not there, and what is. It asks the program's own `compare`.

use inferometer_analysis::compare::{Comparison, Options, RowVerdict, Series, Subject, compare};
use inferometer_model::cell::CellPlan;
use inferometer_stats::seed;
use rand_chacha::ChaCha8Rng;

/// The figures of a comparison, and the correlation of any two of them.
const FIGURES: usize = 6;
const CORRELATION: f64 = 0.6;

/// What repeats of a server have beside what they measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Each is by itself.
    Independent,
    /// Each is like the one before, with this correlation.
    Alike(f64),
    /// The first ones are slower, by a tenth and then ever less.
    WarmUp,
    /// Each is slower than the one before, by 0.5 %.
    Drift,
}

/// All of them.
pub const NOISES: [Noise; 5] =
    [Noise::Independent, Noise::Alike(0.5), Noise::Alike(0.9), Noise::WarmUp, Noise::Drift];

/// In which order the repeats are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plan {
    /// Baseline and contender, again and again.
    InTurn(usize),
    /// The same, each round in the contrary order of the one before, as rounds of a plan are.
    ThereAndBack(usize),
    /// The same, each round in an order by chance.
    ByChance(usize),
    /// All of the baseline, then all of the other.
    BeforeAfter(usize, usize),
}

impl Plan {
    fn order(self, rng: &mut ChaCha8Rng) -> Vec<bool> {
        let round = |is_turned: bool| [is_turned, !is_turned];
        match self {
            Self::InTurn(rounds) => (0..rounds).flat_map(|_| round(false)).collect(),
            Self::ThereAndBack(rounds) => (0..rounds).flat_map(|at| round(at % 2 == 1)).collect(),
            Self::ByChance(rounds) => {
                (0..rounds).flat_map(|_| round(seed::below(rng, 2) == 1)).collect()
            }
            Self::BeforeAfter(before, after) => {
                (0..before + after).map(|at| at >= before).collect()
            }
        }
    }
}

/// A comparison of repeats that scatter by `deviation`, of a contender that is `slower`, which shows in
/// all figures.
pub fn simulate(plan: Plan, noise: Noise, deviation: f64, slower: f64, trial: u64) -> Comparison {
    let mut rng = seed::rng(trial, &["comparison"]);
    let order = plan.order(&mut rng);
    let mut states = [0.0; FIGURES];
    let mut sides = [false, true].map(|_| -> Vec<Series> {
        let figure = |at| Series {
            cell: Some(CellPlan { input_length: 128, output_length: 32 }),
            load: "saturated".to_owned(),
            figure: format!("figure_{at}"),
            ..Series::default()
        };
        (0..FIGURES).map(figure).collect()
    });
    for (at, is_contender) in order.into_iter().enumerate() {
        let common = seed::normal(&mut rng);
        let alike = match noise {
            Noise::Alike(alike) if at > 0 => alike,
            _ => 0.0,
        };
        let over_time = match noise {
            Noise::WarmUp => 0.1 * (-(at as f64) / 3.0).exp(),
            Noise::Drift => 0.005 * at as f64,
            _ => 0.0,
        };
        for (state, series) in states.iter_mut().zip(&mut sides[usize::from(is_contender)]) {
            let own = seed::normal(&mut rng);
            let fresh = CORRELATION.sqrt() * common + (1.0 - CORRELATION).sqrt() * own;
            *state = alike * *state + (1.0 - alike * alike).sqrt() * fresh;
            let change = if is_contender { slower.ln_1p() } else { 0.0 };
            series.values.push((deviation * *state + over_time + change).exp());
            series.times_s.push(10.0 * at as f64);
        }
    }
    let [baseline, contender] = sides.map(|series| Subject::of_series("server", series));
    let options = Options { seed: trial, ..Options::default() };
    compare(&baseline, &contender, options).expect("invariant: they have all figures in common")
}

/// Whether any figure is called better or worse.
pub fn is_alarm(comparison: &Comparison) -> bool {
    comparison.rows.iter().any(|row| is_called(row.verdict))
}

fn is_called(verdict: RowVerdict) -> bool {
    matches!(verdict, RowVerdict::Better | RowVerdict::Worse)
}

/// The share of the rows that are called worse.
pub fn found(comparison: &Comparison) -> f64 {
    let worse = comparison.rows.iter().filter(|row| row.verdict == RowVerdict::Worse).count();
    worse as f64 / comparison.rows.len() as f64
}

/// The share of the intervals that hold a difference.
pub fn held(comparison: &Comparison, difference: f64) -> f64 {
    let holds = |[low, high]: [f64; 2]| low <= 100.0 * difference && 100.0 * difference <= high;
    let rows = &comparison.rows;
    rows.iter().filter(|row| row.interval_pct.is_some_and(holds)).count() as f64 / rows.len() as f64
}

/// The mean over trials.
pub fn over(trials: u64, of: impl Fn(u64) -> f64) -> f64 {
    (0..trials).map(of).sum::<f64>() / trials as f64
}

/// The largest deviation at which the number of rounds that is stated, after a few of them, is in the
/// middle this one.
pub fn deviation_for(plan: fn(usize) -> Plan, noise: Noise, rounds: u32, trials: u64) -> f64 {
    let few = (rounds as usize / 2).max(3);
    let stated = |deviation: f64| {
        let mut all: Vec<u32> = Vec::new();
        for trial in 0..trials {
            let pilot = simulate(plan(few), noise, deviation, 0.0, trial + 1_000_000);
            all.extend(pilot.rows.iter().map(|row| match row.verdict {
                RowVerdict::NotEnoughData { needed } => needed,
                _ => 0,
            }));
        }
        all.sort_unstable();
        all[all.len() / 2]
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..12 {
        let middle = f64::midpoint(low, high);
        if stated(middle) > rounds { high = middle } else { low = middle }
    }
    low
}
