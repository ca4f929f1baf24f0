//! Paged KV memory: how many blocks are free. Contents and addresses are never kept, since nothing
//! here depends on which block a sequence holds.

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

/// Blocks of a fixed number of tokens.
#[derive(Clone, Debug)]
pub struct BlockManager {
    block_size: u32,
    total: u32,
    free: u32,
    watermark: u32,
}

impl BlockManager {
    /// This many free blocks. One in a hundred is held back from prompts, so that sequences which
    /// were just let in are not evicted at once.
    #[must_use]
    pub fn new(total: u32, block_size: u32) -> Self {
        Self { block_size, total, free: total, watermark: total / 100 }
    }

    /// Blocks that this many tokens fill.
    #[must_use]
    pub fn blocks(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.block_size)
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
    }

    /// How many times in a row, `most` at most, each of some sequences can grow by a token with a
    /// block free at its turn. `tokens` is what each is to hold after the first time; it holds the
    /// blocks of all but the last of them.
    #[must_use]
    pub fn growths(&self, tokens: impl Iterator<Item = u32>, most: u32) -> u32 {
        // A sequence takes a block when its tokens begin one: sequences by the time until then.
        let size = self.block_size;
        let mut takes_after = vec![0_u32; size as usize];
        for tokens in tokens {
            takes_after[((size + 1 - tokens % size) % size) as usize] += 1;
        }
        let mut free = self.free;
        for time in 0..most {
            let taken = takes_after[(time % size) as usize];
            // The last in turn must find a block free even where it takes none.
            if free <= taken {
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
    fn a_sequence_grows_by_a_block_only_when_its_last_is_full() {
        let mut kv = BlockManager::new(10, 16);
        let mut held = kv.allocate(15);
        kv.append(&mut held, 16);
        assert_eq!(held, 1);
        kv.append(&mut held, 17);
        assert_eq!(held, 2);
    }
}
