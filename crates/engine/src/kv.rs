//! Paged KV memory: how many blocks are free. Contents and addresses are never kept, since nothing
//! here depends on which block a sequence holds; where an engine shares beginnings of prompts, which
//! of them are in memory.

use crate::prefix_cache::{Prefix, PrefixCache};

/// What a prompt can hope for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It fits now.
    Now,
    /// It fits when others have ended.
    Later,
    /// It does not fit into all the blocks there are.
    Never,
}

/// Tokens of the largest block there is.
const LARGEST_BLOCK: usize = 32;

/// Blocks of a fixed number of tokens.
#[derive(Clone, Debug)]
pub struct BlockManager {
    block_size: u32,
    total: u32,
    free: u32,
    watermark: u32,
    /// Beginnings of prompts that are known, in blocks that are held or free.
    cache: Option<PrefixCache>,
}

impl BlockManager {
    /// This many free blocks. One in a hundred is held back from prompts, so that sequences which
    /// were just let in are not evicted at once.
    #[must_use]
    pub fn new(total: u32, block_size: u32) -> Self {
        let sizes = [8, 16, LARGEST_BLOCK as u32];
        assert!(
            sizes.contains(&block_size),
            "blocks have 8, 16 or 32 tokens, as engines have them"
        );
        Self { block_size, total, free: total, watermark: total / 100, cache: None }
    }

    /// The same blocks, of which those of prompts are kept for others until they are needed.
    #[must_use]
    pub fn with_prefix_cache(mut self) -> Self {
        self.cache = Some(PrefixCache::default());
        self
    }

    /// How many blocks from the beginning of a prompt, `most` at most, are in memory, and how many
    /// of those are free.
    #[must_use]
    pub fn known(&self, prefix: &Prefix, most: u32) -> (u32, u32) {
        self.cache.as_ref().map_or((0, 0), |cache| cache.find(prefix, most as usize))
    }

    /// A sequence takes the first so many blocks of its prompt, which are in memory.
    pub fn hold(&mut self, prefix: &mut Prefix, blocks: u32) {
        let (_, idle) = self.known(prefix, blocks);
        if let Some(cache) = &mut self.cache {
            cache.hold(prefix, blocks);
            self.free -= idle;
        }
    }

    /// A sequence has computed so many tokens of its prompt: others may use its whole blocks.
    pub fn offer(&mut self, prefix: &mut Prefix, tokens: u32) {
        let blocks = tokens / self.block_size;
        if let Some(cache) = &mut self.cache {
            cache.offer(prefix, blocks);
        }
    }

    /// Gives back the blocks of a sequence, shared ones as well: they are free when the last holder
    /// lets go.
    pub fn release_shared(&mut self, prefix: &mut Prefix, held: u32) {
        let Some(cache) = &mut self.cache else { return self.release(held) };
        let freed = held - cache.let_go(prefix);
        self.release(freed);
    }

    /// Blocks that nobody holds.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Blocks that this many tokens fill.
    #[must_use]
    pub fn blocks(&self, tokens: u32) -> u32 {
        // A shift: this is asked of every sequence in every step.
        let whole = tokens >> self.block_size.trailing_zeros();
        whole + u32::from(tokens & (self.block_size - 1) > 0)
    }

    /// Whether a prompt of this many tokens can be let in.
    #[must_use]
    pub fn room(&self, tokens: u32) -> Room {
        let keep = self.blocks(tokens) + self.watermark;
        if self.total < keep {
            Room::Never
        } else if self.free < keep {
            Room::Later
        } else {
            Room::Now
        }
    }

    /// Takes the blocks of a prompt and says how many. There must be [`Room::Now`].
    pub fn allocate(&mut self, tokens: u32) -> u32 {
        let blocks = self.blocks(tokens);
        self.free = self.free.checked_sub(blocks).expect("invariant: a prompt let in has room");
        blocks
    }

    /// Whether a sequence may grow by a token. A block must be free even where the last one has
    /// room, since vLLM 0.2.x looks no closer.
    #[must_use]
    pub fn can_append(&self) -> bool {
        self.free > 0
    }

    /// Grows the blocks that a sequence holds to this many tokens.
    pub fn append(&mut self, held: &mut u32, tokens: u32) {
        let more = self.blocks(tokens).saturating_sub(*held);
        self.free = self.free.checked_sub(more).expect("invariant: can_append was asked");
        *held += more;
        if let Some(cache) = &mut self.cache {
            cache.forget_down_to(self.free);
        }
    }

    /// How many times in a row, `most` at most, each of some sequences can grow by a token with
    /// `spare` blocks free at its turn beside the one that it may take. `tokens` is what each is to
    /// hold after the first time; it holds the blocks of all but the last of them.
    #[must_use]
    pub fn growths(&self, tokens: impl Iterator<Item = u32>, most: u32, spare: u32) -> u32 {
        // A sequence takes a block when its tokens begin one: sequences by the time until then.
        let size = self.block_size;
        let mask = size - 1;
        let mut takes_after = [0_u32; LARGEST_BLOCK];
        let mut per_round = 0;
        for tokens in tokens {
            takes_after[(1_u32.wrapping_sub(tokens) & mask) as usize] += 1;
            per_round += 1;
        }
        // Every round of as many times as a block has tokens, each sequence takes one block.
        let rounds = match self.free.saturating_sub(spare).checked_div(per_round) {
            None => return most,
            Some(enough_for) => enough_for.min(most / size),
        };
        let mut free = self.free - rounds * per_round;
        for time in rounds * size..most {
            let taken = takes_after[(time & mask) as usize];
            // With one to spare, the last in turn finds a block free even where it takes none.
            if free < taken + spare {
                return time;
            }
            free -= taken;
        }
        most
    }

    /// Gives blocks back.
    pub fn release(&mut self, held: u32) {
        self.free += held;
        assert!(self.free <= self.total, "invariant: no block is given back twice");
    }

    /// Blocks there are.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Blocks that sequences hold.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.total - self.free
    }

    /// Tokens of a block.
    #[must_use]
    pub fn block_size(&self) -> u32 {
        self.block_size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watermark_is_kept_from_prompts_but_not_from_growth() {
        let mut kv = BlockManager::new(200, 16);
        assert_eq!(kv.room(198 * 16), Room::Now);
        assert_eq!(kv.room(198 * 16 + 1), Room::Never);
        let mut held = kv.allocate(197 * 16);
        assert_eq!(kv.room(16), Room::Now);
        assert_eq!(kv.room(17), Room::Later);
        for tokens in 197 * 16 + 1..=200 * 16 {
            kv.append(&mut held, tokens);
        }
        assert_eq!((held, kv.used(), kv.can_append()), (200, 200, false));
        kv.release(held);
        assert_eq!(kv.used(), 0);
    }

    #[test]
    fn growths_are_those_of_growing_one_token_after_the_other() {
        for (size, total, prompts, most) in [
            (16, 40, &[1_u32, 16, 17, 31, 32, 33][..], 1000),
            (8, 100, &[5, 5, 5], 1000),
            (32, 9, &[64, 65], 1000),
            (16, 1000, &[100, 200], 77),
            (16, 2, &[20], 50),
            (16, 10, &[], 50),
        ] {
            let mut kv = BlockManager::new(total, size);
            let mut held: Vec<u32> = prompts.iter().map(|&tokens| kv.allocate(tokens)).collect();
            let found = kv.growths(prompts.iter().map(|&tokens| tokens + 1), most, 1);
            let mut times = 0;
            'growing: while times < most {
                for (held, prompt) in held.iter_mut().zip(prompts) {
                    if !kv.can_append() {
                        break 'growing;
                    }
                    kv.append(held, prompt + 1 + times);
                }
                times += 1;
            }
            // Where the last block goes to the last in turn, it says one time too few.
            let near = found <= times && times <= found + 1;
            assert!(near, "{total} blocks of {size}, {prompts:?}: {found}, not {times}");
        }
    }

    #[test]
    fn a_sequence_grows_by_a_block_only_when_its_last_is_full() {
        let mut kv = BlockManager::new(10, 16);
        let mut held = kv.allocate(15);
        kv.append(&mut held, 16);
        assert_eq!(held, 1);
        kv.append(&mut held, 17);
        assert_eq!(held, 2);
    }
}
