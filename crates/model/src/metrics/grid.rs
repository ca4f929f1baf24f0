//! Bins of equal width over a span of time. If the span needs too many bins, the width doubles, so that
//! memory does not grow with the span. The caller defines the content of a bin.

use std::{collections::VecDeque, ops::AddAssign};

use crate::Nanos;

/// Bins of equal width over a span of time. Each bin ends at a whole multiple of the width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid<T> {
    most_bins: u64,
    pub width_ns: u64,
    /// The index of the first bin: the start of the bin divided by the width.
    pub first: u64,
    pub bins: VecDeque<T>,
}

impl<T: Copy + Default + AddAssign> Grid<T> {
    /// A grid without bins. Bins are `finest_ns` nanoseconds wide at first, and there are never more than
    /// `most_bins`.
    pub fn new(finest_ns: u64, most_bins: u64) -> Self {
        Self { most_bins, width_ns: finest_ns, first: 0, bins: VecDeque::new() }
    }

    /// The index of the bin that begins before an instant and ends at or after it; 0 for the instant 0.
    pub fn bin_of(&self, at: Nanos) -> u64 {
        at.0.saturating_sub(1) / self.width_ns
    }

    /// Extends the grid so that it covers a span of time. Returns the indices of both ends in [`Grid::bins`].
    pub fn reach(&mut self, from: Nanos, until: Nanos) -> [usize; 2] {
        loop {
            let ends = [from, until].map(|at| self.bin_of(at));
            let [mut low, mut high] = ends;
            if !self.bins.is_empty() {
                low = low.min(self.first);
                high = high.max(self.first + self.bins.len() as u64 - 1);
            }
            if high - low < self.most_bins {
                if self.bins.is_empty() {
                    self.first = low;
                }
                for _ in low..self.first {
                    self.bins.push_front(T::default());
                }
                self.first = low;
                self.bins.resize((high - low + 1) as usize, T::default());
                return ends.map(|bin| (bin - low) as usize);
            }
            self.double();
        }
    }

    /// Joins bins in pairs. A pair begins at an even index. So the result is the same as if the bins had double width
    /// from the start.
    fn double(&mut self) {
        if self.first % 2 == 1 {
            self.bins.push_front(T::default());
            self.first -= 1;
        }
        let joined = self.bins.make_contiguous().chunks(2).map(|pair| {
            let mut sum = T::default();
            pair.iter().for_each(|&part| sum += part);
            sum
        });
        self.bins = joined.collect();
        self.first /= 2;
        self.width_ns *= 2;
    }
}
