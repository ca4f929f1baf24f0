//! A model layer by layer: which attention and which feed-forward block each layer has, and the weights by module.
//! Models whose layers differ, or whose modules are stored in different formats, are described in this way. All other
//! models are described by the sizes in [`super::ModelSpec`] alone.

mod attention;
mod feed;
mod module;
mod peak;

use std::fmt::Write;

use serde::{Deserialize, Serialize};

pub use attention::{Attention, Index, Kept, Part, Recurrence};
pub use feed::Feed;
pub use module::{Module, Role, Routed};

/// One layer of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// How the tokens of a sequence see each other.
    pub attention: Attention,
    /// The block that each token passes through on its own.
    pub feed: Feed,
}

/// The layers of a model and its weights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The layers in their order, without those that only draft tokens.
    pub layers: Vec<Layer>,
    /// The weights by module. Modules that only speculative decoding needs have the role [`Role::Draft`].
    pub modules: Vec<Module>,
    /// What is part of the model, but not counted, as sentences.
    pub left_out: Vec<String>,
}

impl Layout {
    /// The modules that an engine loads without speculative decoding.
    pub fn loaded(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter().filter(|module| module.role != Role::Draft)
    }

    /// The number of parameters that an engine loads.
    pub fn parameters(&self) -> u64 {
        self.loaded().map(|module| module.parameters).sum()
    }

    /// The number of parameters that one token of text is multiplied with: without those experts that it is not routed
    /// to, and without tables and the modules for images.
    pub fn active_parameters(&self) -> f64 {
        self.modules.iter().map(Module::active).sum()
    }

    /// The bytes of a sequence in the cache of one of `cards` tensor-parallel cards, by what they depend on. `number` is
    /// the bytes of a number of the cache.
    pub fn kept(&self, number: f64, cards: u32) -> Kept {
        let none = Kept::default();
        self.layers.iter().fold(none, |sum, layer| sum.and(layer.attention.kept(number, cards)))
    }

    /// The parts of the cache that one step of one sequence reads, in bytes per token on one card.
    pub fn reads(&self, number: f64, cards: u32) -> Vec<Part> {
        Part::merged(self.layers.iter().flat_map(|it| it.attention.reads(number, cards)))
    }

    /// The operations of attention for each pair of a token and an earlier token that it sees, on one card.
    pub fn pairs(&self, cards: u32) -> Vec<Part> {
        Part::merged(self.layers.iter().flat_map(|it| it.attention.pairs(cards)))
    }

    /// The kinds of layers with their numbers, such as `3 x latent attention, dense 18432`.
    pub fn kinds(&self) -> Vec<(u32, Layer)> {
        let mut kinds: Vec<(u32, Layer)> = Vec::new();
        for layer in &self.layers {
            match kinds.iter_mut().find(|(_, known)| known == layer) {
                Some((count, _)) => *count += 1,
                None => kinds.push((1, *layer)),
            }
        }
        kinds
    }

    /// The kinds of layers as text, one line for each.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for (count, Layer { attention, feed }) in self.kinds() {
            let _ = writeln!(text, "{count:>4} x {attention}; {feed}");
        }
        text
    }
}
