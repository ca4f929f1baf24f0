//! What a run says about a candidate: the figure that decides, and whether the objectives are met.

use inferometer_model::metrics::slo::Objective;
use inferometer_plan::ab::AbFigure;

use crate::{Cell, judge::judge, judge::measure};

/// What a run says about a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TuneReading {
    /// The figure that decides, in its unit; above 0. With several passes, their mean.
    pub value: f64,
    /// Whether each pass meets each objective.
    pub meets: bool,
}

impl TuneReading {
    /// Reads the results of a run.
    ///
    /// # Errors
    /// If a pass lacks the figure, or if it is 0.
    pub fn of(figure: AbFigure, slo: &[Objective], cells: &[Cell]) -> Result<Self, String> {
        let passes = cells.iter().flat_map(|cell| &cell.passes);
        let values: Option<Vec<f64>> =
            passes.map(|pass| measure(figure.metric, figure.statistic, pass)).collect();
        let values = values.unwrap_or_default();
        let value = values.iter().sum::<f64>() / values.len() as f64;
        match value.is_finite() && value > 0.0 {
            true => Ok(Self { value, meets: judge(slo, cells).iter().all(|one| one.met) }),
            false => Err(format!("{} was not measured, or is 0", figure.name())),
        }
    }
}
