//! Paged KV memory: counts free blocks and tracks which prompt blocks are in the prefix cache. It stores no contents
//! and no addresses, because no cost depends on which block a sequence holds.

use crate::ResolvedConfig;
use crate::model::layout::Kept;
use crate::prefix_cache::{CacheHit, Prefix, PrefixCache};

/// Whether the blocks of a prompt can be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocStatus {
    /// Enough blocks are free, in addition to the reserved ones.
    Now,
    /// Enough blocks will be free after other sequences have ended.
    Later,
    /// The engine has too few blocks in total.
    Never,
}

/// The largest supported number of tokens in a block.
const LARGEST_BLOCK: usize = 32;

/// The memory of layers with sliding-window attention. Layers are put into groups of equal size, as in vLLM's manager
/// of hybrid KV caches. A block has the same number of bytes in each group. One block in the counts of this file stands
/// for one block in each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowShare {
    /// The number of tokens that a windowed layer reads.
    window: u32,
    /// The number of groups of layers that keep the whole sequence. For models with a layout, this number and the next
    /// two are bytes.
    whole: u64,
    /// The number of groups of layers that keep only the window.
    windowed: u64,
    /// What a sequence keeps whatever its length is.
    state: u64,
    /// The number of layers in a group.
    group: u32,
}

/// The first version of vLLM in which windowed layers keep only the window if other layers keep the whole sequence.
/// In earlier versions, all layers of such a model keep the whole sequence.
const HYBRID_FROM: (u32, u32) = (0, 10);

impl WindowShare {
    /// The groups of a configuration; `None` if every layer keeps the whole sequence.
    pub fn of(config: &ResolvedConfig) -> Option<Self> {
        let mut parts =
            config.profile.engine_version.split('.').map(|part| part.parse().unwrap_or(0));
        let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if let Some(kept) = config.kept() {
            return Self::of_layout(config, kept, version >= HYBRID_FROM);
        }
        let windows = config.windows?;
        let whole = config.model.layers - windows.layers;
        if whole > 0 && version < HYBRID_FROM {
            return None;
        }
        // The size of a group is the number of layers of the rarer kind. If the two numbers are almost equal, or if
        // there is only one kind, it is the larger number.
        let (few, many) = (whole.min(windows.layers), whole.max(windows.layers));
        let group = if few == 0 || 4 * many < 5 * few { many } else { few };
        Some(Self {
            window: windows.tokens,
            whole: u64::from(whole.div_ceil(group)),
            windowed: u64::from(windows.layers.div_ceil(group)),
            state: 0,
            group,
        })
    }

    /// The bytes of a block by what they depend on; `None` if all layers keep the whole sequence, and there is no state.
    /// The engine's padding of blocks of different sizes is not counted.
    fn of_layout(config: &ResolvedConfig, kept: Kept, is_hybrid: bool) -> Option<Self> {
        let is_windowed =
            is_hybrid && kept.windowed > 0.0 && kept.window < config.limits.max_model_len;
        if !is_windowed && kept.state == 0.0 {
            return None;
        }
        let block = f64::from(config.block_size);
        let near = if is_windowed { kept.windowed } else { 0.0 };
        let whole = kept.whole + kept.windowed - near;
        Some(Self {
            window: kept.window.max(1),
            whole: (whole * block) as u64,
            windowed: ((near * block) as u64).max(u64::from(whole * block < 1.0)),
            state: kept.state as u64,
            group: 1,
        })
    }

    /// The number of layers for which a block has memory. The last group of a kind may have fewer layers.
    pub fn layers(self) -> u32 {
        (self.whole + self.windowed) as u32 * self.group
    }

    /// The blocks of a sequence that needs `whole` blocks without windows, in a step that computes `scheduled` of its
    /// tokens. A windowed layer keeps the window and the tokens of the step.
    pub fn blocks(self, whole: u32, scheduled: u32, block_size: u32) -> u32 {
        let near = (self.window - 1).saturating_add(scheduled).div_ceil(block_size) + 1;
        let (whole, near) = (u64::from(whole), u64::from(whole.min(near)));
        let sum = self.whole * whole + self.windowed * near + self.state;
        u32::try_from(sum.div_ceil(self.whole + self.windowed)).unwrap_or(u32::MAX)
    }
}

/// Manages KV blocks of a fixed number of tokens.
#[derive(Clone, Debug)]
pub struct BlockManager {
    block_size: u32,
    total: u32,
    free: u32,
    watermark: u32,
    /// The prefix cache: prompt blocks that sequences hold, and blocks that are idle.
    cache: Option<PrefixCache>,
    windows: Option<WindowShare>,
}

impl BlockManager {
    /// A manager of `total` free blocks. One in a hundred is reserved and not available to prompts (vLLM's watermark),
    /// so that sequences are not preempted directly after their admission.
    ///
    /// # Panics
    /// If `block_size` is not 8, 16 or 32 tokens.
    pub fn new(total: u32, block_size: u32) -> Self {
        let sizes = [8, 16, LARGEST_BLOCK as u32];
        assert!(
            sizes.contains(&block_size),
            "a block must have 8, 16 or 32 tokens, as in real engines"
        );
        Self { block_size, total, free: total, watermark: total / 100, cache: None, windows: None }
    }

    /// Adds a prefix cache: the blocks of prompts remain cached until their memory is needed.
    #[must_use]
    pub fn with_prefix_cache(mut self) -> Self {
        self.cache = Some(PrefixCache::default());
        self
    }

    /// Whether there is a prefix cache.
    pub fn has_prefix_cache(&self) -> bool {
        self.cache.is_some()
    }

    /// Counts layers with sliding-window attention: sequences hold fewer blocks.
    #[must_use]
    pub fn with_windows(mut self, windows: WindowShare) -> Self {
        self.windows = Some(windows);
        self
    }

    /// The number of blocks that a sequence needs for its first `tokens` tokens, in a step that computes `scheduled` of
    /// them.
    #[inline]
    pub fn needed(&self, (tokens, scheduled): (u32, u32)) -> u32 {
        let whole = self.blocks(tokens);
        match self.windows {
            None => whole,
            Some(windows) => windows.blocks(whole, scheduled, self.block_size),
        }
    }

    /// Changes the number `held` of a sequence's blocks to the number that it needs ([`Self::needed`]). Blocks outside
    /// of windows are freed, except cached blocks of the prompt.
    #[inline]
    pub fn hold(&mut self, prefix: Option<&Prefix>, held: &mut u32, of: (u32, u32)) {
        let needed = self.needed(of);
        if needed < *held && self.windows.is_some() {
            let least = needed.max(prefix.map_or(0, Prefix::held)).min(*held);
            self.free += *held - least;
            *held = least;
        }
        self.grow(held, needed);
    }

    /// Whether a sequence with `held` blocks holds more blocks than its next decode step needs, so that the step frees
    /// some.
    pub fn frees_some(&self, prefix: Option<&Prefix>, held: u32, tokens: u32) -> bool {
        self.windows.is_some()
            && held > self.needed((tokens, 1)).max(prefix.map_or(0, Prefix::held))
    }

    /// Returns how many blocks from the start of a prompt are cached; at most `most` blocks count.
    pub fn cached(&self, prefix: &Prefix, most: u32) -> CacheHit {
        self.cache.as_ref().map_or_else(CacheHit::default, |cache| cache.lookup(prefix, most))
    }

    /// Makes a sequence hold the first `blocks` blocks of its prompt, which must be cached.
    pub fn acquire_cached(&mut self, prefix: &mut Prefix, blocks: u32) {
        let CacheHit { idle, .. } = self.cached(prefix, blocks);
        if let Some(cache) = &mut self.cache {
            cache.acquire(prefix, blocks);
            self.free -= idle;
        }
    }

    /// Caches the complete blocks within the first `tokens` tokens of a prompt. A sequence must have computed these
    /// tokens, and holds `held` blocks. Blocks beyond this number are outside of windows and are not cached.
    #[inline]
    pub fn cache_computed(&mut self, prefix: &mut Prefix, tokens: u32, held: u32) {
        let blocks = (tokens / self.block_size).min(held);
        if let Some(cache) = &mut self.cache {
            cache.insert(prefix, blocks);
        }
    }

    /// Frees the `held` blocks of a sequence, except shared ones that another sequence still holds.
    pub fn release_prefix(&mut self, prefix: &mut Prefix, held: u32) {
        let Some(cache) = &mut self.cache else { return self.release(held) };
        let freed = held - cache.release(prefix);
        self.release(freed);
    }

    /// The number of blocks that no sequence holds.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// The number of blocks that this many tokens need.
    #[inline]
    pub fn blocks(&self, tokens: u32) -> u32 {
        // A shift instead of a division, because this is computed for every sequence in every step.
        let whole = tokens >> self.block_size.trailing_zeros();
        whole + u32::from(tokens & (self.block_size - 1) > 0)
    }

    /// Whether a prompt of this many tokens can be admitted.
    pub fn can_allocate(&self, tokens: u32) -> AllocStatus {
        let needed = self.blocks(tokens) + self.watermark;
        if self.total < needed {
            AllocStatus::Never
        } else if self.free < needed {
            AllocStatus::Later
        } else {
            AllocStatus::Now
        }
    }

    /// Allocates the blocks of a prompt and returns their number; requires [`AllocStatus::Now`].
    pub fn allocate(&mut self, tokens: u32) -> u32 {
        let blocks = self.blocks(tokens);
        self.free = self.free.checked_sub(blocks).expect("invariant: an admitted prompt has room");
        blocks
    }

    /// Whether a sequence may grow by a token. A block must be free even if the sequence's last block has room, because
    /// vLLM 0.2.x checks only for a free block.
    pub fn can_append(&self) -> bool {
        self.free > 0
    }

    /// Allocates the additional blocks that a sequence with `held` blocks needs for this many tokens, and adds them to
    /// `held`.
    #[inline]
    pub fn append(&mut self, held: &mut u32, tokens: u32) {
        self.grow(held, self.blocks(tokens));
    }

    #[inline]
    fn grow(&mut self, held: &mut u32, needed: u32) {
        let more = needed.saturating_sub(*held);
        if more == 0 {
            return;
        }
        self.free = self.free.checked_sub(more).expect("invariant: can_append was true");
        *held += more;
        if let Some(cache) = &mut self.cache {
            cache.evict_down_to(self.free);
        }
    }

    /// Returns the number of consecutive decode steps for which there are enough blocks, at most `most`. `tokens` are
    /// the numbers of stored tokens of the sequences after the first step. Each sequence already has blocks for all of
    /// its tokens except the last. Each sequence requires `spare` free blocks in addition to the block that it may
    /// need.
    pub fn steps_with_room(&self, tokens: impl Iterator<Item = u32>, most: u32, spare: u32) -> u32 {
        // A sequence needs a new block if its next token is the first of a block. Count the sequences by the number of
        // steps until then.
        let size = self.block_size;
        let mask = size - 1;
        let mut takes_after = [0_u32; LARGEST_BLOCK];
        let mut per_round = 0;
        for tokens in tokens {
            takes_after[(1_u32.wrapping_sub(tokens) & mask) as usize] += 1;
            per_round += 1;
        }
        // In each round of `size` steps, every sequence needs one new block.
        let rounds = match self.free.saturating_sub(spare).checked_div(per_round) {
            None => return most,
            Some(rounds) => rounds.min(most / size),
        };
        let mut free = self.free - rounds * per_round;
        for step in rounds * size..most {
            let taken = takes_after[(step & mask) as usize];
            // The last sequence requires the spare block to be free even if it needs no new block.
            if free < taken + spare {
                return step;
            }
            free -= taken;
        }
        most
    }

    /// Frees this many blocks.
    pub fn release(&mut self, held: u32) {
        self.free += held;
        assert!(self.free <= self.total, "invariant: no block is freed twice");
    }

    /// The total number of blocks.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// The number of blocks that sequences hold.
    pub fn used(&self) -> u32 {
        self.total - self.free
    }

    /// The number of tokens in a block.
    pub fn block_size(&self) -> u32 {
        self.block_size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watermark_limits_blocks_for_prompts_but_not_for_growing_sequences() {
        let mut kv = BlockManager::new(200, 16);
        assert_eq!(kv.can_allocate(198 * 16), AllocStatus::Now);
        assert_eq!(kv.can_allocate(198 * 16 + 1), AllocStatus::Never);
        let mut held = kv.allocate(197 * 16);
        assert_eq!(kv.can_allocate(16), AllocStatus::Now);
        assert_eq!(kv.can_allocate(17), AllocStatus::Later);
        for tokens in 197 * 16 + 1..=200 * 16 {
            kv.append(&mut held, tokens);
        }
        assert_eq!((held, kv.used(), kv.can_append()), (200, 200, false));
        kv.release(held);
        assert_eq!(kv.used(), 0);
    }

    #[test]
    fn steps_with_room_matches_a_simulation_that_grows_sequences_token_by_token() {
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
            let found = kv.steps_with_room(prompts.iter().map(|&tokens| tokens + 1), most, 1);
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
            // If the last sequence would get the last block, the result is one step too small.
            let near = found <= times && times <= found + 1;
            assert!(near, "{total} blocks of {size}, {prompts:?}: {found}, not {times}");
        }
    }

    #[test]
    fn a_sequence_gets_a_further_block_only_when_its_last_block_is_full() {
        let mut kv = BlockManager::new(10, 16);
        let mut held = kv.allocate(15);
        kv.append(&mut held, 16);
        assert_eq!(held, 1);
        kv.append(&mut held, 17);
        assert_eq!(held, 2);
    }
}
