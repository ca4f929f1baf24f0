//! The requests with the largest values of a metric, by index.

/// The maximum number of requests in the result.
const NAMED: usize = 8;

/// The requests with the largest values so far, as pairs of index and value. The largest value comes
/// first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail(Vec<(u32, f64)>);

impl Tail {
    /// Adds the value of a request. A value that is absent or not finite is ignored. Among equal values, the
    /// smaller index comes first, so that the order of records does not matter.
    pub fn add(&mut self, index: u32, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let before = |other: &(u32, f64)| {
            other.1.total_cmp(&value).reverse().then(other.0.cmp(&index)).is_lt()
        };
        let at = self.0.partition_point(before);
        if at < NAMED {
            self.0.insert(at, (index, value));
            self.0.truncate(NAMED);
        }
    }

    pub fn finish(self) -> Vec<(u32, f64)> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_holds_the_largest_values_independent_of_input_order() {
        let of = |indices: &mut dyn Iterator<Item = u32>| {
            let mut tail = Tail::default();
            indices.for_each(|index| tail.add(index, Some(f64::from(index % 50))));
            tail.add(999, None);
            tail.finish()
        };
        let forward = of(&mut (0..100));
        assert_eq!(forward, of(&mut (0..100).rev()));
        assert_eq!(forward[..3], [(49, 49.0), (99, 49.0), (48, 48.0)]);
        assert_eq!(forward.len(), NAMED);
    }
}
