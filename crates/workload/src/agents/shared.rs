//! What the prompts of a trace have in common, if its answers are the recorded ones: a server then has computed prompts,
//! but not these answers.

use super::Recorded;
use crate::jobs::Content;

/// For each call: how many tokens at the begin of its prompt an earlier prompt has, too, and the first call with them; 0
/// if there is none. Jobs follow one another, and each call follows those that it waits for.
pub fn shared(recorded: &Recorded) -> Vec<(u32, u32)> {
    let Recorded { trace, shape, .. } = recorded;
    let (blocks, size) = (&trace.blocks, trace.block_tokens.get().unwrap_or(1));
    // The first call whose prompt has each node of the tree of blocks.
    let mut first: Vec<Option<u32>> = vec![None; blocks.count()];
    let mut shared = vec![(0, 0); trace.calls.len()];
    for &at in shape.jobs.iter().flat_map(|job| &job.calls) {
        let found = if let Some(Content::Blocks(mut node)) = trace.calls[at as usize].content.get()
        {
            while blocks.depth(node) > 0 && first[node as usize].is_none() {
                first[node as usize] = Some(at);
                node = blocks.parent(node);
            }
            first[node as usize].map(|with| (blocks.depth(node) * size, with))
        } else {
            recorded.kept(at).map(|(before, tokens)| (tokens, before))
        };
        if let Some((tokens, with)) = found {
            let prompts = recorded.prompt(at).min(recorded.prompt(with));
            shared[at as usize] = (tokens.min(prompts), with);
        }
    }
    shared
}
