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

/// Widens the figures of closed loops. The squares of the relative differences between the trials at a load are pooled
/// over all loads, for each figure. A figure that is known better than this gets this error, with its degrees of freedom.
pub(super) fn widen(levels: &mut [Level], trials: &[LevelTrial]) {
    for (of_trial, of_level) in FIGURES {
        let Some((variance, degrees)) = between(levels, trials, of_trial) else { continue };
        for level in levels.iter_mut().filter(|level| level.by == Over::Concurrency) {
            let used = f64::from(level.settled_trials);
            let Some(figure) = of_level(level) else { continue };
            let variance = variance * figure.value * figure.value / used;
            if variance > figure.variance {
                *figure = FigureEstimate { variance, degrees, ..*figure };
            }
        }
    }
}

/// The relative variance of a figure between trials at the same load, and its degrees of freedom.
fn between(
    levels: &[Level],
    trials: &[LevelTrial],
    of: fn(&LevelTrial) -> Option<FigureEstimate>,
) -> Option<(f64, f64)> {
    let (mut squares, mut degrees) = (0.0, 0.0);
    for level in levels.iter().filter(|level| level.by == Over::Concurrency) {
        let own = trials.iter().filter(|trial| (trial.by, trial.load) == (level.by, level.load));
        let own = own.filter(|trial| trial.is_settled == level.is_settled);
        let values: Vec<f64> = own.filter_map(of).map(|figure| figure.value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if values.len() > 1 && mean > 0.0 {
            squares += values.iter().map(|value| (value / mean - 1.0).powi(2)).sum::<f64>();
            degrees += (values.len() - 1) as f64;
        }
    }
    (degrees >= FEWEST_DEGREES).then(|| (squares / degrees, degrees))
}
