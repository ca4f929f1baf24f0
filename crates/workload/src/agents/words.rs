//! The prompts of a trace without texts: seeded words in pieces, which prompts share as they did when they were
//! recorded, and nothing more. Pieces that may follow the same beginning have different first words, so a server shares
//! exactly the recorded part, whatever the size of its blocks.

use std::collections::HashMap;

use inferometer_model::stats::seed;

use super::Recorded;
use crate::fit::{self, SizedPrompt, Words};
use crate::jobs::{Call, Content};
use crate::{PromptContext, PromptScope, WorkloadError};

/// Words that always occur together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    key: Key,
    /// The number of words.
    pub tokens: u32,
}

impl Piece {
    /// What a call adds to the prompt and the answer before it.
    pub fn new(at: u32, tokens: u32) -> Self {
        Self { key: Key::New(at), tokens }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// A block of ids, by its node in the tree of blocks.
    Block(u32),
    /// What follows the last block of a prompt: the node of this block, and the call.
    Tail(u32, u32),
    /// What a call adds to the prompt and the answer before it.
    New(u32),
    /// The answer of a call.
    Answer(u32),
}

/// A prompt as pieces, and the places of its words among the plain words of the tokenizer.
#[derive(Debug, Default)]
pub struct Drawn {
    pieces: Vec<Piece>,
    positions: Vec<usize>,
}

/// What distinguishes pieces with the same beginning.
#[derive(Debug, Default)]
pub struct Order {
    /// The place of each node among those with the same parent.
    nodes: Vec<u32>,
    /// The number of nodes with this parent.
    children: Vec<u32>,
    /// The place of the prompt of each call among those that end with the same node.
    tails: Vec<u32>,
}

impl Order {
    pub fn of(recorded: &Recorded) -> Self {
        let blocks = &recorded.trace.blocks;
        let mut order = Self { children: vec![0; blocks.count()], ..Self::default() };
        order.nodes = vec![0; blocks.count()];
        for node in 1..blocks.count() as u32 {
            let children = &mut order.children[blocks.parent(node) as usize];
            order.nodes[node as usize] = *children;
            *children += 1;
        }
        let mut ends: HashMap<u32, u32> = HashMap::new();
        for call in &recorded.trace.calls {
            let mut next = |node| {
                let count = ends.entry(node).or_default();
                std::mem::replace(count, *count + 1)
            };
            let of_node = |content| match content {
                Content::Blocks(node) => Some(node),
                Content::Messages(_) => None,
            };
            order.tails.push(call.content.get().and_then(of_node).map_or(0, &mut next));
        }
        order
    }
}

impl Recorded {
    /// The pieces of the prompt of a call.
    pub fn pieces(&self, at: u32) -> Vec<Piece> {
        let calls = &self.trace.calls;
        // The calls before it in its session whose prompts begin it.
        let (mut chain, mut first) = (Vec::new(), at);
        let mut pieces = loop {
            let call = &calls[first as usize];
            if let Some(Content::Blocks(node)) = call.content.get() {
                break self.blocks(call, first, node);
            }
            let kept = self.kept(first);
            let Some((before, tokens)) = kept.filter(|(_, tokens)| *tokens > 0) else {
                break vec![Piece::new(first, self.prompt(first))];
            };
            chain.push((first, tokens));
            first = before;
        };
        let mut before = first;
        for (at, kept) in chain.into_iter().rev() {
            pieces.push(Piece { key: Key::Answer(before), tokens: self.output(before) });
            cut(&mut pieces, kept);
            pieces.push(Piece::new(at, self.prompt(at).saturating_sub(kept)));
            before = at;
        }
        pieces
    }

    fn blocks(&self, call: &Call, at: u32, node: u32) -> Vec<Piece> {
        let block = self.trace.block_tokens.get().unwrap_or(1);
        let path = self.trace.blocks.path(node).into_iter();
        let mut pieces: Vec<Piece> =
            path.map(|node| Piece { key: Key::Block(node), tokens: block }).collect();
        let prompt = call.prompt.get().unwrap_or(1);
        let hashed = pieces.len() as u32 * block;
        cut(&mut pieces, prompt);
        pieces.push(Piece { key: Key::Tail(node, at), tokens: prompt.saturating_sub(hashed) });
        pieces
    }

    /// The prompt of a call as words. `copy` is the number of the copy of its job. `before` has the words of an earlier
    /// prompt of the same copy, and then those of this one: words of equal pieces are not drawn again.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn words(
        &self,
        (context, scope): (&PromptContext, &PromptScope),
        copy: u32,
        (at, pieces): (u32, &[Piece]),
        before: &mut Drawn,
    ) -> Result<SizedPrompt, WorkloadError> {
        let tokenizer = context.tokenizer.as_ref();
        let (copy, repeat) = (copy.to_string(), scope.repeat.to_string());
        let rng = |what: &str, number: u32| {
            let of = ["agents", &context.salt, &scope.cell, &scope.pass, &repeat, &copy, what];
            seed::rng(context.seed, &[&of[..], &[&number.to_string()]].concat())
        };
        let length = pieces.iter().map(|piece| piece.tokens).sum::<u32>();
        let length = length.saturating_sub(context.reserve).max(1) as usize;
        let Drawn { pieces: known, positions } = before;
        let (mut same, mut kept) = (0, 0);
        for (piece, other) in pieces.iter().zip(&*known) {
            // The last words of the earlier prompt may be missing, because the server adds tokens.
            let end = kept + piece.tokens as usize;
            if piece != other || end > positions.len() {
                break;
            }
            (same, kept) = (same + 1, end);
        }
        positions.truncate(kept);
        for Piece { key, tokens } in &pieces[same..] {
            let (what, number) = match *key {
                Key::Block(node) => ("block", node),
                Key::Tail(_, at) => ("tail", at),
                Key::New(at) => ("new", at),
                Key::Answer(at) => ("answer", at),
            };
            let (begin, plain) = (positions.len(), tokenizer.plain_ids().len());
            positions.extend(Words::new(tokenizer, rng(what, number)).positions(*tokens));
            if *tokens > 0 {
                let ((what, number), place) = self.among(*key);
                let base = Words::new(tokenizer, rng(what, number)).positions(1)[0];
                positions[begin] = (base + place as usize) % plain;
            }
        }
        positions.truncate(length);
        pieces.clone_into(known);
        let mut more = Words::new(tokenizer, rng("more", at));
        Ok(fit::at_positions(tokenizer, &mut more, positions, context.form)?)
    }

    /// The pieces with the same beginning as this one, and its place among them.
    fn among(&self, key: Key) -> ((&'static str, u32), u32) {
        let (blocks, order) = (&self.trace.blocks, &self.order);
        match key {
            Key::Block(node) => (("after", blocks.parent(node)), order.nodes[node as usize]),
            Key::Tail(node, at) => {
                let place = order.children[node as usize] + order.tails[at as usize];
                (("after", node), place)
            }
            Key::New(at) => {
                let (job, call) = self.shape.places[at as usize];
                (("job", job), 2 * call)
            }
            Key::Answer(at) => {
                let (job, call) = self.shape.places[at as usize];
                (("job", job), 2 * call + 1)
            }
        }
    }
}

/// Keeps the first tokens of pieces.
fn cut(pieces: &mut Vec<Piece>, tokens: u32) {
    let mut left = tokens;
    for piece in pieces.iter_mut() {
        piece.tokens = piece.tokens.min(left);
        left -= piece.tokens;
    }
    pieces.retain(|piece| piece.tokens > 0);
}
