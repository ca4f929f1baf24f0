//! Widens the errors of figures by how much the trials at the same load differ: a server may change between two trials by
//! more than the series of one trial shows.

use inferometer_plan::search::Over;

use super::{estimate::FigureEstimate, fold::LevelTrial, level::Level};

/// With fewer degrees of freedom, the trials say too little about how much the server changes.
const FEWEST_DEGREES: f64 = 2.0;

/// A figure of a trial, and the same figure of a level.
type Figure =
    (fn(&LevelTrial) -> Option<FigureEstimate>, fn(&mut Level) -> &mut Option<FigureEstimate>);

const FIGURES: [Figure; 5] = [
    (|trial| trial.requests_per_s, |level| &mut level.requests_per_s),
    (|trial| trial.output_tokens_per_s, |level| &mut level.output_tokens_per_s),
    (|trial| trial.ttft_ms, |level| &mut level.ttft_ms),
    (|trial| trial.tpot_ms, |level| &mut level.tpot_ms),
    (|trial| trial.latency_ms, |level| &mut level.latency_ms),
];

/// Widens the figures of closed loops, whose trials at a load have about the same length. The squares of the relative
/// differences between the trials at a load are pooled over all loads, for each figure. If this gives a wider interval of
/// a figure, it replaces the error of the figure.
pub(super) fn widen(levels: &mut [Level], trials: &[LevelTrial], confidence: f64) {
    for (of_trial, of_level) in FIGURES {
        let of_levels = levels.iter().map(|level| Visits::of(level, trials, of_trial));
        let of_levels: Vec<Visits> = of_levels.collect();
        let degrees: f64 = of_levels.iter().map(|visits| visits.degrees).sum();
        if degrees < FEWEST_DEGREES {
            continue;
        }
        let relative = of_levels.iter().map(|visits| visits.squares).sum::<f64>() / degrees;
        for (level, visits) in levels.iter_mut().zip(of_levels) {
            let Some(figure) = of_level(level).as_mut().filter(|_| visits.of_mean > 0.0) else {
                continue;
            };
            let variance = relative * figure.value * figure.value * visits.of_mean;
            let other = FigureEstimate { variance, degrees, ..*figure };
            if other.interval(confidence)[1] > figure.interval(confidence)[1] {
                *figure = other;
            }
        }
    }
}

/// How much a figure differs between the trials at a load.
#[derive(Default)]
struct Visits {
    /// The sum of the squares of the relative differences from their mean.
    squares: f64,
    /// The degrees of freedom of this sum.
    degrees: f64,
    /// The variance of the mean as a share of that of a trial; 0 if no trial has the figure.
    of_mean: f64,
}

impl Visits {
    fn of(
        level: &Level,
        trials: &[LevelTrial],
        figure: fn(&LevelTrial) -> Option<FigureEstimate>,
    ) -> Self {
        let own = |trial: &&LevelTrial| {
            level.by == Over::Concurrency
                && (trial.by, trial.load) == (level.by, level.load)
                && trial.is_settled == level.is_settled
        };
        let known = trials.iter().filter(own);
        let known = known.filter_map(|trial| Some((figure(trial)?.value, trial.counted as f64)));
        let known: Vec<(f64, f64)> = known.collect();
        let weight: f64 = known.iter().map(|(_, weight)| weight).sum();
        let mean = known.iter().map(|(value, _)| value).sum::<f64>() / known.len() as f64;
        if known.is_empty() || weight <= 0.0 || mean <= 0.0 {
            return Self::default();
        }
        Self {
            squares: known.iter().map(|(value, _)| (value / mean - 1.0).powi(2)).sum(),
            degrees: (known.len() - 1) as f64,
            of_mean: known.iter().map(|(_, own)| (own / weight).powi(2)).sum(),
        }
    }
}
