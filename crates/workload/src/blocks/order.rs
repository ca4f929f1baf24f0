//! Computes the order in which the blocks of a corpus are used, as positions in the corpus. The text is
//! not read here.

use inferometer_model::stats::seed;

/// The order of the blocks of one size, for a whole run.
///
/// In each round, the corpus is treated as a ring and cut into as many blocks as fit, and the blocks are
/// shuffled. The first cut of the first round is at an offset that depends on the seed, the salt and the
/// block size. Later rounds cut at other characters. In the first `block` rounds, no two blocks begin at the
/// same character.
pub(crate) struct BlockOrder<'a> {
    /// The number of characters of the corpus, at least `block`.
    pub chars: usize,
    /// The number of characters of a block, at least 1.
    pub block: usize,
    /// The seed of the plan.
    pub seed: u64,
    /// The salt of the run.
    pub salt: &'a str,
}

impl BlockOrder<'_> {
    /// The number of blocks in a round.
    pub fn per_round(&self) -> u64 {
        (self.chars / self.block) as u64
    }

    /// The positions, in characters, at which the next `count` blocks begin, after the first `taken`
    /// blocks of the run.
    pub fn starts(&self, taken: u64, count: usize) -> Vec<usize> {
        let per_round = self.per_round();
        let mut starts = Vec::with_capacity(count);
        let mut at = taken;
        while starts.len() < count {
            let (round, position) = (at / per_round, (at % per_round) as usize);
            let order = self.order(round);
            let missing = count - starts.len();
            let next = order[position..].iter().take(missing);
            starts.extend(next.map(|&block| self.start(round, block)));
            at = taken + starts.len() as u64;
        }
        starts
    }

    /// The number of blocks that may overlap an earlier block of the run, among the `count` blocks after
    /// the first `taken` blocks. These are the blocks after the first round.
    pub fn overlapping(&self, taken: u64, count: usize) -> u64 {
        (taken + count as u64).saturating_sub(self.per_round().max(taken))
    }

    /// The indices of the blocks of a round, shuffled.
    fn order(&self, round: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.per_round() as usize).collect();
        let mut rng = self.rng(&["order", &round.to_string()]);
        for last in (1..order.len()).rev() {
            order.swap(last, seed::below(&mut rng, last as u64 + 1) as usize);
        }
        order
    }

    fn start(&self, round: u64, block: usize) -> usize {
        let origin = seed::below(&mut self.rng(&["origin"]), self.chars as u64) as usize;
        let offset = (round as u128 * self.stride() as u128 % self.block as u128) as usize;
        (origin + offset + block * self.block) % self.chars
    }

    /// The number of characters by which the cuts move from round to round. Its only common divisor with the
    /// block size is 1, so the cuts repeat only after `block` rounds.
    fn stride(&self) -> usize {
        let golden = (self.block * 618 / 1_000).max(1);
        (golden..).find(|&stride| gcd(stride, self.block) == 1).unwrap_or(1)
    }

    fn rng(&self, labels: &[&str]) -> rand_chacha::ChaCha8Rng {
        let block = self.block.to_string();
        seed::rng(self.seed, &[&["blocks", self.salt, &block], labels].concat())
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn blocks_of_a_round_do_not_overlap_and_blocks_of_several_rounds_have_distinct_starts(
            chars in 20usize..3_000,
            share in 1usize..20,
            seed: u64,
        ) {
            let block = (chars / share).max(1);
            let order = BlockOrder { chars, block, seed, salt: "s" };
            let per_round = order.per_round() as usize;
            let round = order.starts(0, per_round);
            let of = |start: usize| (0..block).map(move |at| (start + at) % chars);
            let used: BTreeSet<usize> = round.iter().flat_map(|&start| of(start)).collect();
            prop_assert_eq!(used.len(), per_round * block);
            let rounds = block.min(4);
            let all = order.starts(0, rounds * per_round);
            prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), rounds * per_round);
        }

        #[test]
        fn consecutive_passes_get_the_same_blocks_as_one_long_pass(
            first in 0u64..50,
            count in 0usize..50,
        ) {
            let order = BlockOrder { chars: 1_000, block: 70, seed: 1, salt: "s" };
            let whole = order.starts(0, first as usize + count);
            prop_assert_eq!(&order.starts(first, count)[..], &whole[first as usize..]);
        }
    }

    #[test]
    fn blocks_that_overlap_earlier_ones_are_counted() {
        let order = BlockOrder { chars: 100, block: 10, seed: 1, salt: "s" };
        assert_eq!(order.per_round(), 10);
        assert_eq!(
            [(0, 10), (0, 13), (8, 4), (12, 5)].map(|(a, b)| order.overlapping(a, b)),
            [0, 3, 2, 5]
        );
    }

    #[test]
    fn seed_and_salt_decide_where_blocks_begin() {
        let starts =
            |seed, salt| BlockOrder { chars: 70_000, block: 100, seed, salt }.starts(0, 20);
        assert_eq!(starts(1, "a"), starts(1, "a"));
        assert_ne!(starts(1, "a"), starts(1, "b"));
        assert_ne!(starts(1, "a"), starts(2, "a"));
    }
}
