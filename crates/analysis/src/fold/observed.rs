//! What a pass has from samples of metrics, and how reliable its counts of tokens are.

use inferometer_model::metrics::PassData;
use inferometer_model::{Observed, TokensFrom};

use crate::observed::{HardwareUse, ServerMetrics};

/// The metrics of the server and of the cards, from the first send to the last end of a pass.
pub(super) fn observed(
    data: &PassData,
    observed: &Observed,
) -> (Option<ServerMetrics>, Option<HardwareUse>) {
    let in_flight = &data.in_flight;
    let (Some(first), Some(end)) = (in_flight.first_send(), in_flight.last_end()) else {
        return (None, None);
    };
    if observed.samples.is_empty() {
        return (None, None);
    }
    (
        ServerMetrics::of(observed, (first, end), &in_flight.steps()),
        HardwareUse::of(observed, (first, end), data.output_tokens, data.completed),
    )
}

/// How unreliable a source of token counts is; a larger value is less reliable.
pub(super) fn weakness(from: &TokensFrom) -> u8 {
    match from {
        TokensFrom::Usage => 0,
        TokensFrom::Tokenizer => 1,
        TokensFrom::Events => 2,
    }
}
