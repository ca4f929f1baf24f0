//! Cards (GPUs): the figures of the data sheet, and the speeds that were measured with single operations
//! (`data/cards/NAME.toml`). No figure is fitted to a run of an engine.

mod operations;

use std::path::Path;
use std::sync::LazyLock;

use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
pub use operations::{Curve, DECODE_ATTENTION_US, Operations, Reduced, through};

/// A card and the link between several cards of this kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// A short name in lower case.
    pub name: String,
    /// The source of the figures, as text.
    pub source: String,
    /// Memory in bytes, as the driver reports it.
    pub memory_bytes: u64,
    /// Memory bandwidth in bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// Throughput of dense sixteen-bit matrix products, in operations per second.
    pub dense_flops_per_s: f64,
    /// Throughput of dense eight-bit floating-point products, in operations per second; absent if the card has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp8_flops_per_s: Option<f64>,
    /// Throughput of single-precision products, in operations per second. It is not that of TF32, because engines do
    /// not use TF32.
    pub single_flops_per_s: f64,
    /// CUDA compute capability.
    pub capability: (u32, u32),
    /// Bytes per second between two cards, in one direction.
    pub link_bytes_per_s: f64,
    /// Time of an all-reduce without data over the cards, in microseconds.
    pub link_latency_us: f64,
    /// Speeds measured with single operations; absent if only the data sheet is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations>,
}

impl Card {
    /// Parses a card from the text of a file; `path` is for error messages.
    ///
    /// # Errors
    /// If the text is not a card in TOML, or has an impossible figure.
    pub fn parse(text: &str, path: &str) -> Result<Self, EngineError> {
        let malformed = |reason: String| EngineError::Malformed { path: path.to_owned(), reason };
        let card: Self = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
        card.check().map_err(malformed)?;
        Ok(card)
    }

    fn check(&self) -> Result<(), String> {
        let figures = [
            ("memory_bytes", self.memory_bytes as f64),
            ("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s),
            ("dense_flops_per_s", self.dense_flops_per_s),
            ("fp8_flops_per_s", self.fp8_flops_per_s.unwrap_or(1.0)),
            ("single_flops_per_s", self.single_flops_per_s),
            ("link_bytes_per_s", self.link_bytes_per_s),
        ];
        for (key, figure) in figures {
            if !(figure > 0.0 && figure.is_finite()) {
                return Err(format!("{key} = {figure}: must be above 0"));
            }
        }
        if !(self.link_latency_us >= 0.0 && self.link_latency_us.is_finite()) {
            return Err(format!("link_latency_us = {}: must be 0 or more", self.link_latency_us));
        }
        self.operations.as_ref().map_or(Ok(()), Operations::check)
    }
}

static CARDS: LazyLock<Vec<Card>> = LazyLock::new(|| {
    macro_rules! files {
        ($($name:literal),*) => {
            [$(($name, include_str!(concat!("../data/cards/", $name, ".toml")))),*]
        };
    }
    files!(
        "a100-pcie-40gb",
        "v100-pcie-32gb",
        "a100-sxm-40gb",
        "a100-sxm-80gb",
        "a100-pcie-80gb",
        "h100-sxm",
        "h100-pcie",
        "h200",
        "b200",
        "l40s",
        "l4",
        "rtx-4090",
        "rtx-pro-6000",
        "mi300x"
    )
    .map(|(name, text)| Card::parse(text, name).expect("invariant: embedded cards parse"))
    .to_vec()
});

/// The built-in cards.
pub fn cards() -> &'static [Card] {
    &CARDS
}

/// Whether this is the path of a card's file, and not the name of a card.
pub fn is_card_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "toml")
}

/// Returns a card by name, or from the path of a file; `None` if there is no card of that name.
///
/// # Errors
/// If the file cannot be read or does not contain a card.
pub fn card(name: &str) -> Result<Option<Card>, EngineError> {
    if is_card_file(name) {
        let text = file::read_text(Path::new(name), MAX_SETTINGS_BYTES).map_err(|error| {
            EngineError::Unreadable { path: name.to_owned(), reason: error.to_string() }
        })?;
        return Card::parse(&text, name).map(Some);
    }
    Ok(cards().iter().find(|card| card.name == name).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_unchanged_after_serialization_and_is_found_by_its_name() {
        for known in cards() {
            let text = toml::to_string(known).unwrap();
            assert_eq!(&Card::parse(&text, "x").unwrap(), known);
            assert_eq!(card(&known.name).unwrap().as_ref(), Some(known));
        }
        assert_eq!(card("abacus").unwrap(), None);
    }

    #[test]
    fn an_impossible_figure_of_a_card_is_refused_with_its_key() {
        let text = toml::to_string(&cards()[0]).unwrap();
        let wrong = text.replace("bandwidth_bytes_per_s = 1", "bandwidth_bytes_per_s = -1");
        let message = Card::parse(&wrong, "mine.toml").unwrap_err().to_string();
        assert!(message.contains("mine.toml: bandwidth_bytes_per_s"), "{message}");
        assert!(card("no-such-file.toml").unwrap_err().to_string().contains("cannot read"));
    }

    #[test]
    fn no_measured_operation_is_faster_than_the_data_sheet() {
        for card in cards() {
            let Some(operations) = &card.operations else { continue };
            for (curve, bytes, peak) in [
                (Some(&operations.bf16), 2.0, card.dense_flops_per_s),
                (operations.fp8.as_ref(), 1.0, card.fp8_flops_per_s.unwrap_or(1.0)),
            ] {
                for rows in [1.0, 20.0, 256.0, 300.0, 2048.0, 20_000.0] {
                    let Some(curve) = curve else { continue };
                    let seconds = through(&curve.points(bytes), rows);
                    assert!(seconds > bytes / card.bandwidth_bytes_per_s, "{} {rows}", card.name);
                    assert!(seconds > 2.0 * rows / peak, "{} {rows}", card.name);
                }
            }
        }
    }
}
