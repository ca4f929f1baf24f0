//! The figures of a predicted pass with the ranges that errors of measured rows give them. It predicts nothing.

use inferometer_analysis::prediction::{FigurePrediction, PassPrediction};
use inferometer_engine::ResolvedConfig;
use inferometer_engine::confidence::{ErrorColumn, MeasuredOn, confidence};
use inferometer_engine::fit::runs::RunFigures;
use inferometer_model::cell::CellPlan;

/// A pass, as far as its ranges depend on it.
pub(crate) struct PassPlace {
    /// Its load, in words.
    pub load: String,
    /// The lengths of its requests, or their means.
    pub lengths: CellPlan,
    /// The most requests in flight.
    pub in_flight: u64,
    /// Whether the client limits them, to two or more.
    pub is_limited: bool,
}

/// Each figure with its range, and beside what was measured of it.
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
        // Times to the first token of a full engine are those of its queue, of which no row speaks.
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

/// The columns of the figures, in their order.
const OPEN: [ErrorColumn; 5] = [
    ErrorColumn::Throughput,
    ErrorColumn::Tpot,
    ErrorColumn::TtftP50,
    ErrorColumn::TtftP99,
    ErrorColumn::Latency,
];
/// Requests per second are those in flight over their latency, of which they have the errors.
const LIMITED: [ErrorColumn; 5] = [
    ErrorColumn::Latency,
    ErrorColumn::Tpot,
    ErrorColumn::TtftP50Limited,
    ErrorColumn::TtftP99Limited,
    ErrorColumn::Latency,
];
