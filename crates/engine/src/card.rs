//! Cards: what a data sheet says about a device. Nothing here is calibrated.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// A device and the link between several of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// A short name in lower case.
    pub name: String,
    /// Memory in bytes, as the driver reports it.
    pub memory_bytes: u64,
    /// Memory bandwidth in bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// Dense sixteen-bit products in operations per second.
    pub dense_flops_per_s: f64,
    /// Products of single precision in operations per second, without the shorter mantissa (TF32)
    /// that engines leave off.
    pub single_flops_per_s: f64,
    /// CUDA compute capability.
    pub capability: (u32, u32),
    /// Bytes per second between two cards, in one direction.
    pub link_bytes_per_s: f64,
    /// Time of a reduction of nothing over the cards, in microseconds.
    pub link_latency_us: f64,
}

#[derive(Deserialize)]
struct CardFile {
    card: Vec<Card>,
}

static CARDS: LazyLock<Vec<Card>> = LazyLock::new(|| {
    let file: CardFile = toml::from_str(include_str!("../data/cards.toml"))
        .expect("invariant: the embedded cards parse");
    file.card
});

/// The cards that are known by name.
pub fn cards() -> &'static [Card] {
    &CARDS
}

/// A card by name.
pub fn card(name: &str) -> Option<&'static Card> {
    cards().iter().find(|card| card.name == name)
}
