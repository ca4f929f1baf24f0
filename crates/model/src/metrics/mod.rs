//! The meaning of every metric. A file has one metric, or a few related ones, with the definition as data next to the
//! formula.
//!
//! A metric is a pure function of recorded instants and token counts. Words such as "ITL" mean different
//! things in different tools, so each name has a definition. `inferometer list metrics` prints the
//! definitions, and they are stored with the figures. To add a metric, write its file and name it
//! in this file.
//!
//! This module reads no clock.

mod arrival_widths;
mod bundles;
mod definition;
mod grid;
mod hidden;
mod in_flight;
mod origin;
mod pass_data;
mod plateau;
mod request_figures;
mod statistic;
mod timeline;
mod token_curve;
mod token_event;

pub mod live_histograms;
pub mod registry;
pub mod request_objective;
pub mod slo;

pub mod concurrency;
pub mod duration;
pub mod e2e;
pub mod failures;
mod gaps;
pub mod goodput;
pub mod icl;
pub mod itl;
pub mod job_data;
pub mod jobs;
pub mod latency_per_output_token;
pub mod latency_per_token;
pub mod per_user_speed;
pub mod reasoning;
pub mod send_delay;
pub mod steady_state;
pub mod throughput;
pub mod tool_call;
pub mod tpot;
pub mod ttfot;
pub mod ttfr;
pub mod ttft;

/// Every metric. A new metric needs its file and two lines here: its `mod` and its definition.
static DEFINITIONS: &[&Definition] = &[
    &ttft::FROM_SENT,
    &tpot::DEFINITION,
    &itl::DEFINITION,
    &e2e::FROM_SENT,
    &ttft::FROM_DUE,
    &e2e::FROM_DUE,
    &send_delay::DEFINITION,
    &latency_per_token::DEFINITION,
    &latency_per_output_token::DEFINITION,
    &ttfr::FROM_SENT,
    &ttfr::FROM_DUE,
    &ttfot::FROM_SENT,
    &ttfot::FROM_DUE,
    &tool_call::BEGIN,
    &tool_call::END,
    &icl::DEFINITION,
    &per_user_speed::DEFINITION,
    &reasoning::TOKENS,
    &reasoning::SHARE,
    &throughput::REQUESTS,
    &throughput::INPUT_TOKENS,
    &throughput::OUTPUT_TOKENS,
    &throughput::TOTAL_TOKENS,
    &failures::DEFINITION,
    &steady_state::REQUESTS,
    &steady_state::OUTPUT_TOKENS,
    &goodput::DEFINITION,
    &goodput::ATTAINMENT,
    &concurrency::PEAK,
    &concurrency::MEAN,
    &duration::DEFINITION,
    &jobs::PER_HOUR,
    &jobs::DURATION_P50,
    &jobs::DURATION_P95,
    &jobs::SLOWDOWN_P50,
    &jobs::SLOWDOWN_P95,
];

pub use bundles::Bundles;
pub use definition::{
    CoveredRequests, Definition, Direction, Equals, ErrorBound, ErrorMargin, JudgedOn, Live,
    OnJobs, OnRequests, Pending, Unit, Value,
};
pub use gaps::Gaps;
pub use hidden::HiddenTokens;
pub use in_flight::{InFlight, SPANS_KEPT, Span};
pub use origin::Origin;
pub use pass_data::{PassData, SteadyState};
pub use plateau::Plateau;
pub use registry::definitions;
pub use request_figures::{Fate, RequestFigures};
pub use statistic::Statistic;
pub use timeline::Timeline;
pub use token_curve::{EVENTS_KEPT, TokenCurve};
pub use token_event::TokenEvent;

#[cfg(test)]
mod tests;
