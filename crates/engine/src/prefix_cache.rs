//! The prefix cache of vLLM 0.8 and later: the KV blocks of prompts that are in memory. A block is identified by the
//! hash of all tokens up to its end. The cache counts the sequences that hold a block, and evicts the least recently
//! used block. [`crate::kv`] counts the free blocks. Blocks of outputs are never cached.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The complete blocks of a sequence's prompt, and the cached blocks that the sequence holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// One hash for each complete block. The hash also depends on all earlier blocks of the prompt.
    pub hashes: Vec<u64>,
    /// Hashes of the cached blocks that the sequence holds.
    held: Vec<u64>,
    /// The number of blocks from the start of the prompt that were found in the cache or inserted since the admission.
    inserted: usize,
}

impl Prefix {
    /// The prefix of a waiting sequence, which holds no blocks; `None` if the prompt has no complete block.
    pub fn new(hashes: Vec<u64>) -> Option<Box<Self>> {
        let prefix = Self { hashes, ..Self::default() };
        (!prefix.hashes.is_empty()).then(|| Box::new(prefix))
    }

    /// The number of cached blocks that the sequence holds.
    pub fn held(&self) -> u32 {
        self.held.len() as u32
    }
}

/// Returns one hash for each complete block of `block_size` tokens. Each hash also depends on all earlier tokens.
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

/// A cached block.
#[derive(Clone, Debug)]
struct CachedBlock {
    /// The number of sequences that hold the block.
    holders: u32,
    /// When the last sequence released the block: the value of the cache's `clock`.
    idle_since: u64,
}

/// The blocks of a prefix that were found in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheHit {
    /// The number of cached blocks from the start of the prompt.
    pub blocks: u32,
    /// The number of these blocks that no sequence holds.
    pub idle: u32,
}

/// The cached blocks.
#[derive(Clone, Debug, Default)]
pub struct PrefixCache {
    blocks: HashMap<u64, CachedBlock>,
    /// The hashes of the blocks that no sequence holds, by `idle_since`.
    idle: BTreeMap<u64, u64>,
    /// The number of blocks that became idle so far.
    clock: u64,
}

impl PrefixCache {
    /// Finds the cached blocks from the start of a prompt, at most `most` blocks.
    pub fn lookup(&self, prefix: &Prefix, most: u32) -> CacheHit {
        let hashes = prefix.hashes.iter().take(most as usize);
        let cached = hashes.map_while(|hash| self.blocks.get(hash));
        cached.fold(CacheHit::default(), |hit, block| CacheHit {
            blocks: hit.blocks + 1,
            idle: hit.idle + u32::from(block.holders == 0),
        })
    }

    /// Makes a sequence hold the first `blocks` blocks of its prompt, which must be cached.
    pub fn acquire(&mut self, prefix: &mut Prefix, blocks: u32) {
        for hash in &prefix.hashes[..blocks as usize] {
            let block = self.blocks.get_mut(hash).expect("invariant: the lookup found it");
            if block.holders == 0 {
                self.idle.remove(&block.idle_since);
            }
            block.holders += 1;
            prefix.held.push(*hash);
        }
        prefix.inserted = blocks as usize;
    }

    /// Caches the first `blocks` complete blocks of a prompt, which a sequence has computed. If another sequence has
    /// already inserted an equal block, the earlier block remains in the cache.
    pub fn insert(&mut self, prefix: &mut Prefix, blocks: u32) {
        let until = prefix.hashes.len().min(blocks as usize);
        while prefix.inserted < until {
            let hash = prefix.hashes[prefix.inserted];
            self.blocks.entry(hash).or_insert_with(|| {
                prefix.held.push(hash);
                CachedBlock { holders: 1, idle_since: 0 }
            });
            prefix.inserted += 1;
        }
    }

    /// Releases all cached blocks of a sequence. The last block of the prompt is released first, so that it is evicted
    /// first. Returns how many of the blocks other sequences still hold.
    pub fn release(&mut self, prefix: &mut Prefix) -> u32 {
        prefix.inserted = 0;
        let mut still_held = 0;
        while let Some(hash) = prefix.held.pop() {
            let block = self.blocks.get_mut(&hash).expect("invariant: a held block is cached");
            block.holders -= 1;
            if block.holders == 0 {
                self.clock += 1;
                block.idle_since = self.clock;
                self.idle.insert(self.clock, hash);
            } else {
                still_held += 1;
            }
        }
        still_held
    }

    /// Evicts the blocks that have been idle for the longest time, until at most `idle_blocks` idle blocks remain.
    pub fn evict_down_to(&mut self, idle_blocks: u32) {
        while self.idle.len() > idle_blocks as usize {
            if let Some((_, hash)) = self.idle.pop_first() {
                self.blocks.remove(&hash);
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

    fn hit(blocks: u32, idle: u32) -> CacheHit {
        CacheHit { blocks, idle }
    }

    #[test]
    fn the_hash_of_a_block_depends_on_all_tokens_before_it() {
        assert_eq!(block_hashes(&[1, 2, 3, 4, 5], 2).len(), 2);
        let (one, other) = (block_hashes(&[1, 2, 3, 4], 2), block_hashes(&[9, 2, 3, 4], 2));
        assert!(one[0] != other[0] && one[1] != other[1]);
        assert_eq!(block_hashes(&[1, 2, 7, 7], 2)[0], one[0]);
        assert!(Prefix::new(block_hashes(&[1], 2)).is_none());
    }

    #[test]
    fn cached_blocks_are_found_until_they_are_evicted_from_the_end_of_their_prompt() {
        let mut cache = PrefixCache::default();
        let mut first = prefix(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(cache.lookup(&first, 3), hit(0, 0));
        cache.insert(&mut first, 2);
        let mut second = prefix(&[1, 2, 3, 4, 9, 9]);
        assert_eq!(cache.lookup(&second, 3), hit(2, 0));
        assert_eq!(cache.lookup(&second, 1), hit(1, 0));
        cache.acquire(&mut second, 2);
        cache.release(&mut first);
        assert_eq!(cache.lookup(&first, 3), hit(2, 0), "the second still holds both");
        cache.evict_down_to(0);
        assert_eq!(cache.lookup(&first, 3), hit(2, 0), "a held block is not evicted");
        cache.release(&mut second);
        assert_eq!(cache.lookup(&first, 3), hit(2, 2));
        cache.evict_down_to(1);
        assert_eq!(cache.lookup(&first, 3), hit(1, 1));
    }

    #[test]
    fn the_first_copy_of_a_block_computed_by_two_sequences_is_cached() {
        let mut cache = PrefixCache::default();
        let (mut first, mut second) = (prefix(&[1, 2]), prefix(&[1, 2]));
        cache.insert(&mut first, 1);
        cache.insert(&mut second, 1);
        cache.release(&mut second);
        cache.evict_down_to(0);
        assert_eq!(cache.lookup(&second, 1), hit(1, 0));
        cache.release(&mut first);
        assert_eq!(cache.lookup(&second, 1), hit(1, 1));
    }
}
