//! Constant arrivals: the first at once, then one a second. Never a random number.

/// Arrivals at equal gaps. Counted, not summed up, so that nothing drifts.
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
