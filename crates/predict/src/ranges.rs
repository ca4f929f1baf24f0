//! Combines the predicted figures of a pass, which have ranges, with the measured figures. It predicts nothing itself.

use inferometer_analysis::prediction::{FigurePrediction, PassPrediction};
use inferometer_engine::fit::runs::RunFigures;
use inferometer_engine::ranges::FigureRange;

/// Compares each figure with the measured figure, if there is one. `load` is the load of the pass, as text.
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
