//! The indices of the requests that have a value, in little memory.

use std::ops::Range;

/// Indices in ascending order. Nearly every request has a value, so nearly all indices are in few ranges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    ranges: Vec<Range<u32>>,
    count: usize,
}

impl Places {
    /// Adds an index, which must be above all others.
    pub fn push(&mut self, at: u32) {
        self.count += 1;
        match self.ranges.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => self.ranges.push(at..at + 1),
        }
    }

    /// The number of indices.
    pub fn len(&self) -> usize {
        self.count
    }

    /// All indices.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.ranges.iter().cloned().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_come_back_in_their_order_with_their_gaps() {
        for indices in [vec![], vec![0, 1, 2, 3], vec![2, 3, 7, 9, 10, 11]] {
            let mut places = Places::default();
            indices.iter().for_each(|at| places.push(*at));
            assert_eq!(places.len(), indices.len());
            assert_eq!(places.iter().collect::<Vec<_>>(), indices);
        }
    }
}
