//! Which blocks of prompts are in memory already, by the hash of all that stands up to their end, as
//! vLLM since 0.8 keeps them. It counts references and picks what is forgotten first; blocks
//! themselves are counted elsewhere, and those of outputs are never kept.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The whole blocks of a prompt, and those of them that a sequence holds by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// A hash for each whole block, which depends on all blocks before it.
    pub hashes: Vec<u64>,
    /// Those of which the sequence holds the block that is known by it.
    held: Vec<u64>,
    /// How many of the hashes have been offered to the cache since the sequence was let in.
    offered: usize,
}

impl Prefix {
    /// The prefix of a prompt that holds nothing yet; nothing for a prompt without a whole block.
    #[must_use]
    pub fn new(hashes: Vec<u64>) -> Option<Box<Self>> {
        let prefix = Self { hashes, ..Self::default() };
        (!prefix.hashes.is_empty()).then(|| Box::new(prefix))
    }
}

/// A hash for each whole block of so many tokens.
#[must_use]
pub fn block_hashes(tokens: &[u32], block_size: u32) -> Vec<u64> {
    let mut before = 0_u64;
    let blocks = tokens.chunks_exact(block_size as usize);
    let hash = |block: &[u32]| {
        let mut hasher = DefaultHasher::new();
        (before, block).hash(&mut hasher);
        before = hasher.finish();
        before
    };
    blocks.map(hash).collect()
}

/// A block whose contents are known.
#[derive(Clone, Debug)]
struct Known {
    /// Sequences that hold it.
    holders: u32,
    /// When the last of them let go.
    idle_since: u64,
}

/// The blocks that are known.
#[derive(Clone, Debug, Default)]
pub struct PrefixCache {
    known: HashMap<u64, Known>,
    /// Those that nobody holds, the longest idle first.
    idle: BTreeMap<u64, u64>,
    clock: u64,
}

impl PrefixCache {
    /// How many blocks from the beginning, `most` at most, are known, and how many of those nobody
    /// holds.
    #[must_use]
    pub fn find(&self, prefix: &Prefix, most: usize) -> (u32, u32) {
        let known = prefix.hashes.iter().take(most).map_while(|hash| self.known.get(hash));
        known.fold((0, 0), |(found, idle), known| (found + 1, idle + u32::from(known.holders == 0)))
    }

    /// A sequence takes the first so many blocks of its prompt, which are all known.
    pub fn hold(&mut self, prefix: &mut Prefix, blocks: u32) {
        for hash in &prefix.hashes[..blocks as usize] {
            let known = self.known.get_mut(hash).expect("invariant: it was found");
            if known.holders == 0 {
                self.idle.remove(&known.idle_since);
            }
            known.holders += 1;
            prefix.held.push(*hash);
        }
        prefix.offered = blocks as usize;
    }

    /// A sequence has computed this many whole blocks of its prompt. What another has computed at
    /// the same time is known by the other's block.
    pub fn offer(&mut self, prefix: &mut Prefix, blocks: u32) {
        let until = prefix.hashes.len().min(blocks as usize);
        while prefix.offered < until {
            let hash = prefix.hashes[prefix.offered];
            self.known.entry(hash).or_insert_with(|| {
                prefix.held.push(hash);
                Known { holders: 1, idle_since: 0 }
            });
            prefix.offered += 1;
        }
    }

    /// A sequence lets go of all its blocks; the last of a prompt is forgotten first. Says how many
    /// of them others hold still.
    pub fn let_go(&mut self, prefix: &mut Prefix) -> u32 {
        prefix.offered = 0;
        let mut kept = 0;
        while let Some(hash) = prefix.held.pop() {
            let known = self.known.get_mut(&hash).expect("invariant: what is held is known");
            known.holders -= 1;
            if known.holders == 0 {
                self.clock += 1;
                known.idle_since = self.clock;
                self.idle.insert(self.clock, hash);
            } else {
                kept += 1;
            }
        }
        kept
    }

    /// Forgets the longest idle until at most so many are.
    pub fn forget_down_to(&mut self, blocks: u32) {
        while self.idle.len() > blocks as usize {
            if let Some((_, hash)) = self.idle.pop_first() {
                self.known.remove(&hash);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(tokens: &[u32]) -> Prefix {
        *Prefix::new(block_hashes(tokens, 2)).unwrap()
    }

    #[test]
    fn a_block_is_known_by_all_that_stands_before_it() {
        assert_eq!(block_hashes(&[1, 2, 3, 4, 5], 2).len(), 2);
        let (one, other) = (block_hashes(&[1, 2, 3, 4], 2), block_hashes(&[9, 2, 3, 4], 2));
        assert!(one[0] != other[0] && one[1] != other[1]);
        assert_eq!(block_hashes(&[1, 2, 7, 7], 2)[0], one[0]);
        assert!(Prefix::new(block_hashes(&[1], 2)).is_none());
    }

    #[test]
    fn what_was_computed_is_found_until_it_is_forgotten_from_its_end() {
        let mut cache = PrefixCache::default();
        let mut first = prefix(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(cache.find(&first, 3), (0, 0));
        cache.offer(&mut first, 2);
        let mut second = prefix(&[1, 2, 3, 4, 9, 9]);
        assert_eq!(cache.find(&second, 3), (2, 0));
        assert_eq!(cache.find(&second, 1), (1, 0));
        cache.hold(&mut second, 2);
        cache.let_go(&mut first);
        assert_eq!(cache.find(&first, 3), (2, 0), "the second still holds both");
        cache.forget_down_to(0);
        assert_eq!(cache.find(&first, 3), (2, 0), "what is held is not forgotten");
        cache.let_go(&mut second);
        assert_eq!(cache.find(&first, 3), (2, 2));
        cache.forget_down_to(1);
        assert_eq!(cache.find(&first, 3), (1, 1));
    }

    #[test]
    fn what_two_compute_at_once_is_known_by_the_first_of_them() {
        let mut cache = PrefixCache::default();
        let (mut first, mut second) = (prefix(&[1, 2]), prefix(&[1, 2]));
        cache.offer(&mut first, 1);
        cache.offer(&mut second, 1);
        cache.let_go(&mut second);
        cache.forget_down_to(0);
        assert_eq!(cache.find(&second, 1), (1, 0));
        cache.let_go(&mut first);
        assert_eq!(cache.find(&second, 1), (1, 1));
    }
}
