//! Sorts many values in few passes. The values of a pass are times in ticks, so that a part of their bits tells nearly
//! all of them apart: these bits are sorted by counting, and the result is checked.

/// The number of bits by which one pass sorts, and the number of passes.
const DIGIT: u32 = 11;
const PASSES: u32 = 3;
/// The smallest number of values for which sorting by counting is faster.
const FEWEST: usize = 512;

/// The values in ascending order of [`f64::total_cmp`].
pub(super) fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut keys: Vec<i64> = values.map(|value| order_key(value.to_bits())).collect();
    if keys.len() >= FEWEST {
        keys = by_counting(keys);
    }
    if !insert(&mut keys) {
        keys.sort_unstable();
    }
    keys.into_iter().map(|key| f64::from_bits(order_key(key as u64) as u64)).collect()
}

/// Values that are put in order only as far as a few ascending ranks need it, which is less work than sorting.
pub(super) struct Selected {
    keys: Vec<i64>,
    /// The number of values up to the last rank that was asked for.
    done: usize,
}

impl Selected {
    pub fn new(values: impl Iterator<Item = f64>) -> Self {
        Self { keys: values.map(|value| order_key(value.to_bits())).collect(), done: 0 }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The value at a rank; ranks start at 0. It must have been asked for before, or follow all ranks so far.
    ///
    /// # Panics
    /// If there are not so many values.
    pub fn value(&mut self, rank: usize) -> f64 {
        if rank >= self.done {
            self.keys[self.done..].select_nth_unstable(rank - self.done);
            self.done = rank + 1;
        }
        f64::from_bits(order_key(self.keys[rank] as u64) as u64)
    }
}

/// The keys in ascending order of their highest bits that differ.
fn by_counting(mut keys: Vec<i64>) -> Vec<i64> {
    let (least, most) = keys
        .iter()
        .fold((i64::MAX, i64::MIN), |(least, most), key| (least.min(*key), most.max(*key)));
    let above = |key: i64| key.wrapping_sub(least) as u64;
    let bits = u64::BITS - above(most).leading_zeros();
    let ignored = bits.saturating_sub(PASSES * DIGIT);
    let mut other = vec![0; keys.len()];
    for pass in (0..bits - ignored).step_by(DIGIT as usize) {
        let digit = |key: i64| (above(key) >> (ignored + pass)) as usize & ((1 << DIGIT) - 1);
        let mut begins = [0_u32; 1 << DIGIT];
        keys.iter().for_each(|key| begins[digit(*key)] += 1);
        let mut sum = 0;
        for begin in &mut begins {
            sum += std::mem::replace(begin, sum);
        }
        for key in &keys {
            let place = &mut begins[digit(*key)];
            other[*place as usize] = *key;
            *place += 1;
        }
        std::mem::swap(&mut keys, &mut other);
    }
    keys
}

/// Sorts keys that are nearly in order, such as sums of times whose last bits differ. Returns false if that takes too many
/// steps; then the keys are not in order.
fn insert(keys: &mut [i64]) -> bool {
    let mut steps = 4 * keys.len();
    for end in 1..keys.len() {
        let mut at = end;
        while at > 0 && keys[at - 1] > keys[at] {
            keys.swap(at - 1, at);
            at -= 1;
            if steps == 0 {
                return false;
            }
            steps -= 1;
        }
    }
    true
}

/// Converts the bits of a float into a whole number, such that the whole numbers have the order of [`f64::total_cmp`].
/// If the float is negative, all bits except the sign are inverted. The function is its own inverse.
fn order_key(bits: u64) -> i64 {
    let bits = bits as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::seed;
    use proptest::prelude::*;

    fn is_order_of_the_standard_library(values: &[f64]) {
        let mut expected = values.to_vec();
        expected.sort_by(f64::total_cmp);
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(sorted(values.iter().copied())), bits(expected));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn values_of_all_kinds_are_sorted(
            values in prop::collection::vec(
                prop_oneof![-9.0f64..9.0, any::<f64>(), Just(0.0), Just(-0.0), Just(f64::MAX)],
                1..2 * FEWEST,
            ),
        ) {
            is_order_of_the_standard_library(&values);
        }
    }

    #[test]
    fn ticks_with_outliers_equal_values_and_values_that_differ_in_their_last_bits_are_sorted() {
        let mut rng = seed::rng(3, &["order"]);
        let mut unit = || seed::unit(&mut rng);
        let ticks: Vec<f64> = (0..5_000)
            .map(|at| (unit() * if at % 99 == 0 { 1e9 } else { 2e5 }).floor() / 1e4)
            .collect();
        is_order_of_the_standard_library(&ticks);
        is_order_of_the_standard_library(&[7.0; 2 * FEWEST]);
        let close: Vec<f64> =
            (0..5_000).map(|at| if at == 0 { 1e300 } else { 20.0 + unit() * 1e-12 }).collect();
        is_order_of_the_standard_library(&close);
    }
}
