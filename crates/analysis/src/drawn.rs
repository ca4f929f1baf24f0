//! What the charts of a pass show beside its summary, from the same records.

use inferometer_model::metrics::{InFlight, TokenCurve};
use inferometer_model::{Definition, stats::Curve};

use crate::tail::Tail;

/// The approximate maximum number of points of a cumulative distribution.
pub(crate) const POINTS: usize = 160;

/// The distributions and the course over time of a pass.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The requests that were sent, with any outcome, over time.
    pub in_flight: InFlight,
    /// Output tokens of the completed requests over time.
    pub tokens: TokenCurve,
    /// Whether tokens arrived in bundles, so that the times between tokens are unknown.
    pub lacks_gaps: bool,
    /// The distributions of latencies that charts show. Latencies without values are left out.
    pub latencies: Vec<Latency>,
}

/// The distribution of a latency in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// The metric.
    pub metric: &'static Definition,
    /// The distribution: points of its cumulative curve, and columns of its histogram.
    pub curve: Curve,
    /// The indices of the requests with the largest values, and these values, the largest first. For times between
    /// tokens, the value is the largest time within the request.
    pub tail: Vec<(u32, f64)>,
}

/// The requests with the largest values of each metric that charts show. The others have none.
pub(crate) fn tail_of(metric: &Definition) -> Option<Tail> {
    (!metric.in_tables.is_empty()).then(Tail::default)
}
