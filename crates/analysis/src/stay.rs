//! The times of a request on the server, and the rate at which the server serves requests.

use inferometer_model::Nanos;

/// When a request was due, when its first token arrived, when it ended, and whether it completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    pub due: Nanos,
    /// The arrival of the first token; `ended` if there was none, or if its time is unknown.
    pub first: Nanos,
    /// When the request ended; never before `due`.
    pub ended: Nanos,
    pub complete: bool,
}

/// A value that has a [`Stay`].
pub(crate) trait HasStay {
    fn stay(&self) -> Stay;
}

impl HasStay for Stay {
    fn stay(&self) -> Stay {
        *self
    }
}

impl Stay {
    /// The stay of a request. If `ended` is before `due`, it is moved to `due`. `first` is moved between these two
    /// times.
    pub(crate) fn new(due: Nanos, first: Option<Nanos>, ended: Nanos, complete: bool) -> Self {
        let ended = ended.max(due);
        Self { due, first: first.unwrap_or(ended).clamp(due, ended), ended, complete }
    }

    /// The time from the due time to the end, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.ended.seconds_after(self.due)
    }

    /// The wait of the same request for its first token: the stay ends when this token arrives.
    pub(crate) fn waiting(&self) -> Self {
        Self { ended: self.first, ..*self }
    }
}

/// The number of requests that a server serves in each of `N` parts of equal duration, from an instant on. The output
/// of a request counts evenly between its first token and its end, because answers of equal length end in groups.
/// Requests that did not complete do not count. `weight` is the weight of each request.
pub(crate) fn served<const N: usize>(
    stays: impl Iterator<Item = (Stay, f64)>,
    from: Nanos,
    part_s: f64,
) -> [f64; N] {
    let mut parts = [0.0; N];
    for (stay, weight) in stays.filter(|(stay, _)| stay.complete) {
        let [first, end] = [stay.first, stay.ended].map(|at| at.seconds_after(from) / part_s);
        let within = |at: f64| at.clamp(0.0, N as f64);
        if end <= first {
            // The whole answer arrived at one instant. It counts in the part that contains this instant.
            if (0.0..N as f64).contains(&end) {
                parts[end as usize] += weight;
            }
            continue;
        }
        let parts = parts.iter_mut().enumerate();
        let until = within(end).ceil() as usize;
        for (part, served) in parts.take(until).skip(within(first) as usize) {
            let at = part as f64;
            *served += weight * (end.min(at + 1.0) - first.max(at)).max(0.0) / (end - first);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: f64) -> Nanos {
        Nanos::ZERO + Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_request_is_served_evenly_from_its_first_token_to_its_end() {
        let stay = |first: f64, ended: f64, complete: bool| {
            (Stay::new(at(0.0), Some(at(first)), at(ended), complete), 1.0)
        };
        let parts = |stays: &[(Stay, f64)]| served::<4>(stays.iter().copied(), at(10.0), 1.0);
        assert_eq!(parts(&[stay(9.0, 13.0, true)]), [0.25, 0.25, 0.25, 0.0]);
        assert_eq!(parts(&[stay(10.5, 12.5, true)]), [0.25, 0.5, 0.25, 0.0]);
        // The whole answer arrived at one instant.
        assert_eq!(parts(&[stay(11.5, 11.5, true)]), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(parts(&[stay(11.0, 13.0, false)]), [0.0; 4]);
        assert_eq!(parts(&[stay(8.0, 9.0, true), stay(15.0, 16.0, true)]), [0.0; 4]);
    }
}
