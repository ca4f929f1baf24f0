//! Combines the predicted figures of a pass with their ranges, which follow from the errors of measured rows. It
//! predicts nothing itself.

use inferometer_analysis::prediction::{FigurePrediction, PassPrediction};
use inferometer_engine::ResolvedConfig;
use inferometer_engine::confidence::{ErrorColumn, MeasuredOn, confidence};
use inferometer_engine::fit::runs::RunFigures;
use inferometer_model::cell::CellPlan;

/// The facts of a pass that its ranges depend on.
pub(crate) struct PassPlace {
    /// Its load, in words.
    pub load: String,
    /// The lengths of its requests, or their means.
    pub lengths: CellPlan,
    /// The maximum number of requests in flight.
    pub in_flight: u64,
    /// Whether the client limits the requests in flight, to two or more.
    pub is_limited: bool,
}

/// Returns each predicted figure with its range, compared with the measured figure if there is one.
pub(crate) fn with_ranges(
    resolved: &ResolvedConfig,
    measured_on: &MeasuredOn,
    place: PassPlace,
    found: &RunFigures,
    measured: &RunFigures,
) -> PassPrediction {
    let slots = u64::from(resolved.limits.max_num_seqs);
    let sequences = slots.min(place.in_flight) as u32;
    let sure = confidence(resolved, place.lengths, sequences, measured_on);
    let is_full = place.in_flight > slots;
    let mut columns = match place.is_limited {
        true => LIMITED,
        false => OPEN,
    };
    if is_full {
        columns[0] = ErrorColumn::Latency;
    }
    let (found, measured) = (found.values(), measured.values());
    let figures = std::array::from_fn(|at| {
        let (predicted, column) = (found[at]?, columns[at]);
        // If the engine is full, the TTFT mostly consists of waiting in the queue. No measured row covers that.
        let is_of_queue = RunFigures::NAMES[at].starts_with("ttft") && is_full;
        let calibrated = sure.is_calibrated(column) && !is_of_queue;
        let interval = match calibrated {
            true => sure.interval(column, predicted),
            false => sure.guess(predicted),
        };
        let figure =
            FigurePrediction { predicted, interval, calibrated, measured: None, error_pct: None };
        Some(figure.against(measured[at]))
    });
    PassPrediction::of(place.load, figures)
}

/// The error column of each figure for loads without a limit, in the order of the figures.
const OPEN: [ErrorColumn; 5] = [
    ErrorColumn::Throughput,
    ErrorColumn::Tpot,
    ErrorColumn::TtftP50,
    ErrorColumn::TtftP99,
    ErrorColumn::Latency,
];
/// The same for loads with a limit. There, requests per second are the requests in flight divided by the latency, so
/// they have the errors of the latency.
const LIMITED: [ErrorColumn; 5] = [
    ErrorColumn::Latency,
    ErrorColumn::Tpot,
    ErrorColumn::TtftP50Limited,
    ErrorColumn::TtftP99Limited,
    ErrorColumn::Latency,
];
