//! A request of a pass, as its course needs it.

use inferometer_model::Nanos;

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentRequest {
    pub send: Nanos,
    pub index: u32,
    pub due: Nanos,
    pub ended: Nanos,
    /// The arrival of the first token; absent if the response has no token events.
    pub first: Option<Nanos>,
    /// The number of output tokens; absent if the request did not complete.
    pub tokens: Option<u32>,
    /// The number of prompt and output tokens, as far as they were counted; 0 if the request did not complete.
    pub all_tokens: u32,
    /// Whether the request met all objectives of the goodput.
    pub met: bool,
    /// Whether its client left: it is unknown whether it would have met them.
    pub is_left: bool,
}

impl SentRequest {
    /// The time from send to end, in seconds.
    pub(crate) fn stay_s(&self) -> f64 {
        self.ended.seconds_after(self.send)
    }
}
