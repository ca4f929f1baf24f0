//! The limits on numbers in a plan that make memory or run time grow. `docs/limits.md` lists most of them.

/// The longest prompt or output that is accepted, in tokens: in plans, traces and histograms.
pub const MAX_LENGTH: u32 = 10_000_000;
/// The maximum number of cells of a grid.
pub const MAX_CELLS: usize = 4_096;
/// The maximum number of passes of a run: cells x loads x repeats.
pub const MAX_PASSES: usize = 16_384;
/// The maximum number of servers of a plan: the combinations of arguments of all targets. Also the maximum
/// number of addresses of one target.
pub const MAX_SERVERS: usize = 1_024;
/// The maximum number of requests in flight, and of conversations at the same time. An IP address has no
/// more ports than this.
pub const MAX_IN_FLIGHT: u32 = 65_536;
/// The maximum number of requests, or of conversations, of a pass with a count. Also the maximum number of
/// repeats.
pub const MAX_REQUESTS: u32 = 10_000_000;
/// The highest rate of arrivals, in requests per second, except `inf`.
pub const MAX_RATE: f64 = 1e6;
/// The lowest rate, in requests per second: one request in 11.6 days.
pub(crate) const MIN_RATE: f64 = 1e-6;
/// The maximum number of event loops of a client.
pub const MAX_LOOPS: u32 = 64;
/// The longest name of a model or of a server's card, in characters.
pub const MAX_NAME: usize = 500;
/// The maximum number of classes of traffic.
pub const MAX_CLASSES: usize = 32;
/// The maximum number of characters in the name of a class of traffic.
pub const MAX_CLASS_NAME: usize = 64;
