//! Constant arrivals: the first at once, then one per second. It uses no random numbers.

/// Arrivals with equal gaps. Times are counted, not summed, so they do not drift.
#[derive(Debug, Default)]
pub struct Constant {
    next: u64,
}

impl Iterator for Constant {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        let second = self.next as f64;
        self.next += 1;
        Some(second)
    }
}
