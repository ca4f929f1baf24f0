//! The meaning of every metric. A file has one metric, or a few related ones, with the definition as data next to the
//! formula.
//!
//! A metric is a pure function of recorded instants and token counts. Words such as "ITL" mean different
//! things in different tools, so each name has a definition. `inferometer list metrics` prints the
//! definitions, and they are stored with the figures. To add a metric, write its file and name its
//! definitions in [`registry`].
//!
//! This crate reads no clock.

mod arrival_widths;
mod bundles;
mod definition;
mod grid;
mod in_flight;
mod origin;
mod pass_data;
mod plateau;
mod request_figures;
mod statistic;
mod timeline;
mod token_curve;

pub mod live_histograms;
pub mod registry;
pub mod request_objective;
pub mod slo;

pub mod e2e;
pub mod tpot;
pub mod ttfot;
pub mod ttft;

pub mod icl;
pub mod itl;

pub mod latency_per_output_token;
pub mod latency_per_token;
pub mod per_user_speed;

pub mod send_delay;

pub mod concurrency;
pub mod duration;
pub mod failures;
pub mod goodput;
pub mod steady_state;
pub mod throughput;

pub use arrival_widths::{Widths, arrival_widths};
pub use bundles::{Bundles, Gaps};
pub use definition::{
    CoveredRequests, Definition, Direction, ErrorBound, ErrorMargin, Exported, JudgedOn, Live,
    OnRequests, Pending, Unit, Value,
};
pub use in_flight::{InFlight, SPANS_KEPT, Span};
pub use origin::Origin;
pub use pass_data::PassData;
pub use plateau::Plateau;
pub use registry::definitions;
pub use request_figures::{Fate, RequestFigures};
pub use statistic::Statistic;
pub use steady_state::SteadyState;
pub use timeline::{Timeline, TokenEvent};
pub use token_curve::{EVENTS_KEPT, TokenCurve};

#[cfg(test)]
mod tests;
