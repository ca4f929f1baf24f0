//! The times of a request on the server, and the rate at which the server serves requests.

use inferometer_model::time::Nanos;

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
    /// The stay of a request. `ended` is moved to `due` if it is earlier, and `first` between these two.
    pub(crate) fn new(due: Nanos, first: Option<Nanos>, ended: Nanos, complete: bool) -> Self {
        let ended = ended.max(due);
        Self { due, first: first.unwrap_or(ended).clamp(due, ended), ended, complete }
    }

    /// The time from due to end, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.ended.seconds_after(self.due)
    }

    /// The same request until its first token: it ends when it no longer waits.
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
            // The whole answer came at once. It belongs to the part that ends at this instant or later.
            if (0.0..N as f64).contains(&end) {
                parts[end as usize] += weight;
            }
            continue;
        }
        for part in within(first) as usize..(within(end).ceil() as usize).min(N) {
            let at = part as f64;
            parts[part] += weight * (end.min(at + 1.0) - first.max(at)).max(0.0) / (end - first);
        }
    }
    parts
}
