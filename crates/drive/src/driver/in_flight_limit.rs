//! The limits of requests in flight, and of requests that wait for their first token, over all event loops of a pass.
//! If requests wait at a limit, the request that was due first begins first.

use inferometer_model::{Nanos, OverLimit};

/// The limits, the number of requests in flight, and the requests that wait.
pub(super) struct InFlightLimit {
    /// The limit of requests in flight; `None` for no limit.
    pub most: Option<u32>,
    /// What happens to a request that is due while the limit is reached.
    pub over_limit: OverLimit,
    in_flight: u32,
    /// The limit of requests that wait for their first token, if there is one, and the number of such requests.
    prefill: Option<(u32, u32)>,
    /// For each loop: the due time of its next request, if this request waits at the limit.
    waiting: Vec<Option<Nanos>>,
}

impl InFlightLimit {
    /// A limit without requests in flight.
    pub fn new(most: Option<u32>, over_limit: OverLimit) -> Self {
        Self { most, over_limit, in_flight: 0, prefill: None, waiting: Vec::new() }
    }

    /// Limits the requests that wait for their first token, too.
    #[must_use]
    pub fn with_prefill(self, most: Option<u32>) -> Self {
        Self { prefill: most.map(|most| (most, 0)), ..self }
    }

    /// The number of requests in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether a loop may begin a request with this due time now.
    pub fn is_free_for(&self, which: usize, due: Nanos) -> bool {
        self.is_free()
            && self.next().is_none_or(|next| next == which || self.waiting[next] >= Some(due))
    }

    fn is_free(&self) -> bool {
        self.most.is_none_or(|most| self.in_flight < most)
            && self.prefill.is_none_or(|(most, waiting)| waiting < most)
    }

    /// Records that a loop's next request waits at the limit.
    pub fn wait(&mut self, which: usize, due: Nanos) {
        if self.waiting.len() <= which {
            self.waiting.resize(which + 1, None);
        }
        self.waiting[which] = Some(due);
    }

    /// The loop whose waiting request may begin now: the request that was due first.
    pub fn next(&self) -> Option<usize> {
        let first =
            self.waiting.iter().enumerate().filter_map(|(at, due)| due.map(|due| (due, at)));
        first.min().map(|(_, at)| at).filter(|_| self.is_free())
    }

    /// Records that a loop has begun a request.
    pub fn begin(&mut self, which: usize) {
        self.in_flight += 1;
        if let Some((_, waiting)) = &mut self.prefill {
            *waiting += 1;
        }
        if let Some(due) = self.waiting.get_mut(which) {
            *due = None;
        }
    }

    /// Records that a request has its first token, or ends without one.
    pub fn answers(&mut self) {
        if let Some((_, waiting)) = &mut self.prefill {
            *waiting -= 1;
        }
    }

    /// Records that a request has ended.
    pub fn end(&mut self) {
        self.in_flight -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_slot_goes_to_the_earliest_due_request_of_any_event_loop() {
        let mut limit = InFlightLimit::new(Some(2), OverLimit::Queue);
        assert!(limit.is_free_for(0, Nanos(1)));
        limit.begin(0);
        limit.begin(1);
        assert!(!limit.is_free_for(1, Nanos(5)));
        limit.wait(1, Nanos(5));
        limit.wait(0, Nanos(7));
        assert_eq!(limit.next(), None, "no place is free");
        limit.end();
        assert_eq!(limit.next(), Some(1));
        assert!(!limit.is_free_for(0, Nanos(7)) && limit.is_free_for(1, Nanos(5)));
        // A request that begins to wait later, but was due earlier, begins first.
        assert!(limit.is_free_for(2, Nanos(4)));
        limit.begin(1);
        limit.end();
        assert_eq!((limit.next(), limit.in_flight()), (Some(0), 1));
        assert!(InFlightLimit::new(None, OverLimit::Queue).is_free_for(3, Nanos(0)));
    }

    #[test]
    fn a_request_without_a_token_occupies_a_place_of_both_limits() {
        let mut limit = InFlightLimit::new(Some(2), OverLimit::Queue).with_prefill(Some(1));
        limit.begin(0);
        assert!(!limit.is_free_for(0, Nanos(5)), "the first request has no token");
        limit.wait(0, Nanos(5));
        limit.answers();
        assert_eq!(limit.next(), Some(0));
        limit.begin(0);
        limit.answers();
        assert!(!limit.is_free_for(0, Nanos(7)), "two requests are in flight");
        limit.end();
        assert!(limit.is_free_for(0, Nanos(7)));
    }
}
