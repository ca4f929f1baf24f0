//! Combines the predicted figures of a pass, with their ranges, and the measured figures of the pass.

use inferometer_analysis::prediction::{FigurePrediction, PassPrediction};
use inferometer_engine::{fit::runs::RunFigures, ranges::FigureRange};

/// Compares each predicted figure with the measured figure, if there is one. `figures` are in the order of
/// [`RunFigures::values`]. `load` is the load of the pass, as text.
pub(crate) fn compared(
    load: String,
    figures: [Option<FigureRange>; 5],
    measured: &RunFigures,
) -> PassPrediction {
    let measured = measured.values();
    let figures = std::array::from_fn(|at| {
        let FigureRange { predicted, interval, calibrated } = figures[at]?;
        let figure =
            FigurePrediction { predicted, interval, calibrated, measured: None, error_pct: None };
        Some(figure.against(measured[at]))
    });
    PassPrediction::of(load, figures)
}
