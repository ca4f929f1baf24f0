//! Load models: what is due when. Pure: no I/O and no clock; instants are offsets from the start
//! of the pass.
//!
//! The same model drives sockets in real time, the embedded engine in virtual time, and tests.

mod at_once;
mod closed;
mod open;

pub use at_once::AtOnce;
pub use closed::Closed;
pub use open::Open;

use crate::plan::PassPlan;
use crate::time::Nanos;

/// When the next request is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// At this offset from the start of the pass, which may have passed already.
    At(Nanos),
    /// Not before a request in flight has ended.
    AfterEnd,
    /// There is no further request.
    Never,
}

/// Decides when requests are due.
pub trait LoadModel: Send {
    /// When the next request is due. Asking changes nothing.
    fn next_due(&self) -> Due;

    /// The request that [`LoadModel::next_due`] spoke of has been taken up.
    fn take(&mut self);

    /// A request ended at this offset, whatever its outcome.
    fn ended(&mut self, at: Nanos);
}

/// The load model of a pass.
#[must_use]
pub fn load_model(pass: &PassPlan, seed: u64) -> Box<dyn LoadModel> {
    match *pass {
        PassPlan::OneByOne { bound } => Box::new(Closed::new(1, bound)),
        PassPlan::Saturated { requests } => Box::new(AtOnce::new(requests)),
        PassPlan::Closed { concurrency, bound } => Box::new(Closed::new(concurrency, bound)),
        PassPlan::Open { rate, bound, .. } => {
            Box::new(Open::new(crate::arrival::Poisson::new(rate, seed), bound))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Bound;
    use std::time::Duration;

    fn ms(value: u64) -> Nanos {
        Nanos(value * 1_000_000)
    }

    #[test]
    fn a_closed_loop_makes_the_next_request_due_when_one_ends() {
        let mut load = Closed::new(2, Bound::requests(3));
        assert_eq!(load.next_due(), Due::At(Nanos::ZERO));
        load.take();
        assert_eq!(load.next_due(), Due::At(Nanos::ZERO));
        load.take();
        assert_eq!(load.next_due(), Due::AfterEnd);
        load.ended(ms(7));
        assert_eq!(load.next_due(), Due::At(ms(7)));
        load.take();
        load.ended(ms(9));
        assert_eq!(load.next_due(), Due::Never);
    }

    #[test]
    fn a_closed_loop_starts_no_more_than_its_count() {
        let mut load = Closed::new(8, Bound::requests(2));
        load.take();
        load.take();
        assert_eq!(load.next_due(), Due::Never);
    }

    #[test]
    fn a_time_bound_ends_a_closed_loop() {
        let duration = Some(Duration::from_millis(10));
        let mut load = Closed::new(1, Bound { requests: None, duration });
        load.take();
        load.ended(ms(9));
        assert_eq!(load.next_due(), Due::At(ms(9)));
        load.take();
        load.ended(ms(10));
        assert_eq!(load.next_due(), Due::Never);
    }

    #[test]
    fn all_at_once_is_due_at_the_start_whatever_ends() {
        let mut load = AtOnce::new(2);
        load.take();
        load.ended(ms(5));
        assert_eq!(load.next_due(), Due::At(Nanos::ZERO));
        load.take();
        assert_eq!(load.next_due(), Due::Never);
    }

    #[test]
    fn an_open_loop_does_not_wait_for_ends() {
        let arrivals = [ms(1), ms(4), ms(4), ms(9)].into_iter();
        let mut load = Open::new(arrivals, Bound::requests(3));
        for expected in [1, 4, 4] {
            assert_eq!(load.next_due(), Due::At(ms(expected)));
            load.take();
        }
        assert_eq!(load.next_due(), Due::Never);
    }
}
