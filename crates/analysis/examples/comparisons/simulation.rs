//! Simulated comparisons of repeats with known noise: how often the program reports a difference that does not exist,
//! and how often it finds a difference that exists. The simulation calls the program's own `compare`.

use inferometer_analysis::compare::{Comparison, Options, RowVerdict, Series, Subject, compare};
use inferometer_model::{CellPlan, stats::seed};
use rand_chacha::ChaCha8Rng;

/// The number of figures of a comparison. Any two figures have the correlation `CORRELATION`.
const FIGURES: usize = 6;
const CORRELATION: f64 = 0.6;

/// How the repeats of a server vary, apart from the difference between the servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// The repeats are independent.
    Independent,
    /// Each repeat has this correlation with the one before.
    Alike(f64),
    /// The first repeats are slower: the first one by about 10 %, later ones by less and less.
    WarmUp,
    /// Each repeat is slower than the one before, by 0.5 %.
    Drift,
}

/// All kinds of noise that are simulated.
pub const NOISES: [Noise; 5] =
    [Noise::Independent, Noise::Alike(0.5), Noise::Alike(0.9), Noise::WarmUp, Noise::Drift];

/// The order in which the repeats are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plan {
    /// Baseline and contender alternate; the baseline is always first.
    InTurn(usize),
    /// Baseline and contender alternate. Each round reverses the order of the round before, like the rounds of a plan.
    ThereAndBack(usize),
    /// Baseline and contender alternate. The order within each round is random.
    ByChance(usize),
    /// First all repeats of the baseline, then all of the contender.
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

/// Simulates a comparison. `deviation` is the standard deviation of the logarithm of one repeat. All figures of the
/// contender are higher by the share `slower`.
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

/// Whether any figure has the verdict better or worse.
pub fn is_alarm(comparison: &Comparison) -> bool {
    comparison.rows.iter().any(|row| is_called(row.verdict))
}

fn is_called(verdict: RowVerdict) -> bool {
    matches!(verdict, RowVerdict::Better | RowVerdict::Worse)
}

/// The share of the rows whose verdict is worse.
pub fn found(comparison: &Comparison) -> f64 {
    let worse = comparison.rows.iter().filter(|row| row.verdict == RowVerdict::Worse).count();
    worse as f64 / comparison.rows.len() as f64
}

/// The share of the rows whose interval contains `difference`.
pub fn held(comparison: &Comparison, difference: f64) -> f64 {
    let holds = |[low, high]: [f64; 2]| low <= 100.0 * difference && 100.0 * difference <= high;
    let rows = &comparison.rows;
    rows.iter().filter(|row| row.interval_pct.is_some_and(holds)).count() as f64 / rows.len() as f64
}

/// The mean of `of` over trials.
pub fn over(trials: u64, of: impl Fn(u64) -> f64) -> f64 {
    (0..trials).map(of).sum::<f64>() / trials as f64
}

/// The largest deviation at which a pilot reports that at most `rounds` rounds are needed (median over all rows and
/// trials). A pilot is a comparison with half as many rounds, and at least 3.
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
