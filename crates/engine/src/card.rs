//! Cards (GPUs): the figures of the data sheet, and the speeds that were measured with single operations
//! (`data/cards/NAME.toml`). No figure is fitted to a run of an engine.

mod check;
mod operations;

use std::{path::Path, sync::OnceLock};

use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::EngineError;
use check::{Figure, capability, lost_zero, missing, short, wrong_lists, wrong_tables};
use operations::DataSheet;
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
    #[serde(deserialize_with = "whole_number")]
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
    /// CUDA compute capability as (major, minor). A card file may contain 8.9 instead of [8, 9].
    #[serde(deserialize_with = "capability")]
    pub capability: (u32, u32),
    /// Bytes per second between two cards, in one direction.
    pub link_bytes_per_s: f64,
    /// Time of an all-reduce without data over the cards, in microseconds.
    pub link_latency_us: f64,
    /// Speeds measured with single operations; absent if only the data sheet is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations>,
}

/// Figures that no card can have, each with its key and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct WrongFigures(Vec<String>);

impl Card {
    /// Parses a card from the text of a file; `path` is for error messages.
    ///
    /// # Errors
    /// If the text is not a card in TOML, or has an impossible figure.
    pub fn parse(text: &str, path: &str) -> Result<Self, EngineError> {
        let malformed = |reason: String| EngineError::Malformed { path: path.to_owned(), reason };
        let file: toml::Table =
            toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
        // A list with too many numbers would be read without the last ones.
        let mut wrong = [missing(&file), wrong_tables(&file), wrong_lists(&file)].concat();
        wrong.extend(lost_zero(text));
        if !wrong.is_empty() {
            return Err(malformed(wrong.join("; ")));
        }
        let card: Self = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
        card.check().map_err(|wrong| malformed(wrong.to_string()))?;
        Ok(card)
    }

    /// Rejects figures that no card can have. Most such figures are in another unit.
    pub(crate) fn check(&self) -> Result<(), WrongFigures> {
        let flops = "operations per second, such as 9.89e14 for 989 TFLOP/s";
        let figure =
            |key: &str, value, range, write| Figure { key: key.to_owned(), value, range, write };
        let mut figures = vec![
            memory(self.memory_bytes as f64),
            figure("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s, [1e10, 1e17], BYTES_PER_S),
            figure("dense_flops_per_s", self.dense_flops_per_s, [1e10, 1e18], flops),
            figure("single_flops_per_s", self.single_flops_per_s, [1e10, 1e18], flops),
            figure(
                "link_bytes_per_s",
                self.link_bytes_per_s,
                [1e6, 1e14],
                "bytes per second in one direction, such as 4.5e11 for 450 GB/s; for a single card 1e6",
            ),
            figure(
                "link_latency_us",
                self.link_latency_us,
                [0.0, 1e4],
                "microseconds, such as 4.8",
            ),
            figure(
                "capability",
                f64::from(self.capability.0),
                [0.0, 30.0],
                "major and minor number, such as [8, 9] for 8.9, or [0, 0] for a device without CUDA",
            ),
        ];
        figures.extend(
            self.fp8_flops_per_s.map(|fp8| figure("fp8_flops_per_s", fp8, [1e10, 1e18], flops)),
        );
        let mut mistakes: Vec<String> = figures.iter().filter_map(Figure::mistake).collect();
        if mistakes.is_empty() {
            mistakes.extend(self.wrong_ratio());
        }
        if mistakes.is_empty()
            && let Some(operations) = &self.operations
        {
            let eight_bit = self.fp8_flops_per_s.unwrap_or(2.0 * self.dense_flops_per_s);
            mistakes = operations.mistakes(&DataSheet {
                bandwidth_tb_per_s: self.bandwidth_bytes_per_s * 1e-12,
                dense_tflops: self.dense_flops_per_s * 1e-12,
                fp8_tflops: eight_bit.max(self.dense_flops_per_s) * 1e-12,
            });
        }
        if mistakes.is_empty() { Ok(()) } else { Err(WrongFigures(mistakes)) }
    }

    /// The mistake if the bandwidth and the operations per second do not fit together ([`OPERATIONS_PER_BYTE`]). A
    /// figure that is 1,000 times too large can still be in its own range. Its ratio to the other figure shows the
    /// mistake.
    fn wrong_ratio(&self) -> Option<String> {
        let bandwidth = self.bandwidth_bytes_per_s;
        let fastest = self.dense_flops_per_s.max(self.single_flops_per_s);
        let eight_bit = self.fp8_flops_per_s.unwrap_or(fastest);
        let [low, high] = OPERATIONS_PER_BYTE;
        let is_plausible = fastest >= low * bandwidth && fastest.max(eight_bit) <= high * bandwidth;
        (!is_plausible).then(|| {
            format!(
                "bandwidth_bytes_per_s = {} does not fit {} operations per second: a card has between {low} and \
                 {high} operations per byte; write {BYTES_PER_S}, and operations per second",
                short(bandwidth),
                short(fastest.max(eight_bit)),
            )
        })
    }
}

/// What the user must write as a bandwidth, for error messages.
const BYTES_PER_S: &str = "bytes per second, such as 3.35e12 for 3.35 TB/s";
/// The minimum and maximum operations per byte of bandwidth. Existing devices have 2 (Groq LPU) to 1200 (TPU with eight
/// bits).
const OPERATIONS_PER_BYTE: [f64; 2] = [1.0, 10_000.0];

/// The memory of a card in bytes, with its plausible range.
fn memory(bytes: f64) -> Figure {
    Figure {
        key: "memory_bytes".to_owned(),
        value: bytes,
        range: [1e8, 1e13],
        write: "bytes, such as 48e9 for 48 GB",
    }
}

/// Reads a whole number of bytes. TOML writes `48e9` as a float.
fn whole_number<'de, D: Deserializer<'de>>(value: D) -> Result<u64, D::Error> {
    let bytes = match toml::Value::deserialize(value)? {
        toml::Value::Integer(bytes) => bytes as f64,
        toml::Value::Float(bytes) => bytes,
        _ => {
            let mistake = "memory_bytes: must be a number; write bytes, such as 48e9 for 48 GB";
            return Err(D::Error::custom(mistake));
        }
    };
    if bytes.fract() != 0.0 {
        return Err(D::Error::custom(format!(
            "memory_bytes = {}: must be a whole number; write {}",
            short(bytes),
            memory(bytes).write
        )));
    }
    memory(bytes).mistake().map_or(Ok(bytes as u64), |mistake| Err(D::Error::custom(mistake)))
}

macro_rules! files {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../data/cards/", $name, ".toml")))),*]
    };
}

/// The files of the built-in cards: their names and their texts, in TOML.
const FILES: [(&str, &str); 14] = files!(
    "a100-pcie-40gb", "v100-pcie-32gb", "a100-sxm-40gb", "a100-sxm-80gb", "a100-pcie-80gb",
    "h100-sxm", "h100-pcie", "h200", "b200", "l40s", "l4", "rtx-4090", "rtx-pro-6000", "mi300x"
);

/// The cards of [`FILES`]. Each is parsed when it is first needed, because most commands need one of them.
static CARDS: [OnceLock<Card>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

fn built_in(place: usize) -> &'static Card {
    let (name, text) = FILES[place];
    CARDS[place].get_or_init(|| Card::parse(text, name).expect("invariant: embedded cards parse"))
}

/// The built-in cards.
pub fn cards() -> impl Iterator<Item = &'static Card> {
    (0..FILES.len()).map(built_in)
}

/// The text of a built-in card's file; `None` if no built-in card has the name of this card.
pub fn card_file(card: &Card) -> Option<&'static str> {
    FILES.into_iter().find(|(name, _)| *name == card.name).map(|(_, text)| text)
}

/// Whether `name` is the path of a card's file, and not the name of a card.
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
    let place = FILES.iter().position(|file| file.0 == name);
    Ok(place.map(|place| built_in(place).clone()))
}

/// The built-in card that a user means by a name in any case, also without form factor and memory: `H100` is `h100-sxm`.
/// If several cards have the name, an SXM card with the most memory is meant. `None` if there is none.
pub fn card_meant(name: &str) -> Option<&'static Card> {
    let lower = name.to_lowercase();
    let family = format!("{lower}-");
    let exact = cards().find(|card| card.name == lower);
    let of_family = cards().filter(|card| card.name.starts_with(&family));
    let usual = |card: &&Card| (card.name.contains("sxm"), card.memory_bytes);
    exact.or_else(|| of_family.max_by_key(usual))
}

#[cfg(test)]
mod tests;
