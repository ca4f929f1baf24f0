//! Constant arrivals: the first at 0 s, then one per second. No random numbers are used.

/// Arrivals with equal gaps. Each time is computed from the index of its arrival. It is not a sum of
/// gaps, so rounding errors do not add up.
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
