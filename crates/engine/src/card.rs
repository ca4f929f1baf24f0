//! Cards (GPUs): the figures of the data sheet, and the speeds that were measured with single operations
//! (`data/cards/NAME.toml`). No figure is fitted to a run of an engine.

mod check;
mod operations;

use std::path::Path;
use std::sync::LazyLock;

use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::EngineError;
use check::{Figure, short, wrong_lists};
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
        let file: toml::Table =
            toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
        // A list with too many numbers would be read without the last ones.
        let wrong = wrong_lists(&file);
        if !wrong.is_empty() {
            return Err(malformed(wrong.join("; ")));
        }
        let card: Self = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
        card.check().map_err(malformed)?;
        Ok(card)
    }

    /// Rejects figures that no card can have. Most of them are in another unit.
    pub(crate) fn check(&self) -> Result<(), String> {
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
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes.join("; ")) }
    }

    /// The mistake if the bandwidth does not fit the operations per second. A figure
    /// whose exponent is too large by three may still be possible on another device, but hardly both figures together.
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

/// What to write as a bandwidth.
const BYTES_PER_S: &str = "bytes per second, such as 3.35e12 for 3.35 TB/s";
/// The fewest and the most operations per byte of bandwidth. Known devices have 2 (Groq LPU) to 1200 (TPU with eight
/// bits).
const OPERATIONS_PER_BYTE: [f64; 2] = [1.0, 10_000.0];

/// The memory of a card in bytes, as a check sees it.
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
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Whole(u64),
        Float(f64),
    }
    match Number::deserialize(value) {
        Ok(Number::Whole(bytes)) => Ok(bytes),
        Ok(Number::Float(bytes)) if bytes.fract() == 0.0 => match memory(bytes).mistake() {
            Some(mistake) => Err(D::Error::custom(mistake)),
            None => Ok(bytes as u64),
        },
        Ok(Number::Float(bytes)) => Err(D::Error::custom(format!(
            "memory_bytes = {}: must be a whole number; write {}",
            short(bytes),
            memory(bytes).write
        ))),
        Err(_) => Err(D::Error::custom(
            "memory_bytes: must be a number; write bytes, such as 48e9 for 48 GB",
        )),
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

    /// The message about a card file in which the first line of a key is replaced.
    fn refused(key: &str, value: &str) -> String {
        let known = cards().iter().find(|card| card.name == "h100-sxm").unwrap();
        let text = toml::to_string(known).unwrap();
        let mut found = false;
        let lines = text.lines().map(|line| {
            let hit = !found && line.starts_with(&format!("{key} = "));
            found |= hit;
            if hit { format!("{key} = {value}\n") } else { format!("{line}\n") }
        });
        match Card::parse(&lines.collect::<String>(), "mine.toml") {
            Ok(_) => panic!("{key} = {value} is accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_figure_outside_of_its_range_is_refused_with_the_range_and_what_to_write() {
        for (key, value, wanted) in [
            ("bandwidth_bytes_per_s", "-1.0", "= -1: must be between 1e10 and 1e17"),
            ("bandwidth_bytes_per_s", "3350.0", "write bytes per second, such as 3.35e12"),
            ("memory_bytes", "80", "= 80: must be between 1e8 and 1e13; write bytes"),
            ("memory_bytes", "-5", "= -5: must be between 1e8 and 1e13; write bytes"),
            ("memory_bytes", "48.5", "= 48.5: must be a whole number"),
            ("dense_flops_per_s", "989.0", "such as 9.89e14 for 989 TFLOP/s"),
            ("link_latency_us", "nan", "link_latency_us = NaN: must be between 0 and 10000"),
            ("capability", "[89, 0]", "such as [8, 9] for 8.9"),
            ("capability", "[8, 9, 0]", "capability = [8, 9, 0]: has 3 values; write 2"),
            ("prompt_attention_tflops", "680e12", "operations.prompt_attention_tflops = 6.8e14"),
            (
                "stream_tb_per_s",
                "[[1.0, 2597.0]]",
                "operations.bf16.stream_tb_per_s, row 1 = 2597: must be between 0.00335 and 6.7",
            ),
            (
                "tflops",
                "[[512.0, 758.8], [1024.0, 805.5, 7]]",
                "operations.bf16.tflops, row 2 = [1024.0, 805.5, 7]: has 3 values; write 2: [rows, \
                 TFLOP/s]",
            ),
            ("reductions", "[[2.0, 4.0]]", "operations.reductions, row 1 = [2.0, 4.0]: has 2"),
        ] {
            let message = refused(key, value);
            assert!(message.starts_with("mine.toml: "), "{message}");
            assert!(message.contains(wanted), "{key} = {value}: {message}");
        }
        assert!(card("no-such-file.toml").unwrap_err().to_string().contains("cannot read"));
    }

    /// The H100 has 80 GB, 3.35 TB/s, 989 TFLOP/s, 450 GB/s to another card.
    #[test]
    fn figures_of_a_card_in_another_unit_or_with_another_exponent_are_refused() {
        for (key, values) in [
            // In GB/s, MB/s and kB/s; as 3350 TB/s and 3.35 EB/s.
            ("bandwidth_bytes_per_s", &["3350.0", "3.35e6", "3.35e9", "3350e12", "3.35e18"][..]),
            // In TFLOP/s, GFLOP/s and MFLOP/s; as 989 PFLOP/s.
            ("dense_flops_per_s", &["989.0", "9.89e5", "9.89e8", "989e15"]),
            ("fp8_flops_per_s", &["1979.0", "1979e15"]),
            // In GB, MB and kB; as 80 TB.
            ("memory_bytes", &["80", "80_000", "80_000_000", "80e12"]),
            // In GB/s and MB/s; as 450 TB/s.
            ("link_bytes_per_s", &["450.0", "4.5e5", "450e12"]),
        ] {
            for value in values {
                let message = refused(key, value);
                assert!(message.contains("bytes") || message.contains("operations"), "{message}");
            }
        }
        let message = refused("bandwidth_bytes_per_s", "3350e12");
        assert!(message.contains("= 3.35e15 does not fit 1.979e15 operations per"), "{message}");
    }

    #[test]
    fn the_figures_of_small_and_of_very_large_devices_are_accepted() {
        for (name, memory, bandwidth, dense, single, capability) in [
            ("jetson-nano", 4e9, 2.56e10, 4.7e11, 2.35e11, (5, 3)),
            ("p40", 24e9, 3.46e11, 1.8e11, 1.18e13, (6, 1)),
            ("processor", 64e9, 5e10, 1e11, 1e11, (0, 0)),
            ("gaudi3", 128e9, 3.7e12, 1.835e15, 2.9e13, (0, 0)),
            ("groq-lpu", 2.3e8, 8e13, 1.88e14, 1e13, (0, 0)),
            ("wse-3", 44e9, 2.1e16, 1.25e17, 1e16, (0, 0)),
        ] {
            let card = Card {
                name: name.to_owned(),
                memory_bytes: memory as u64,
                bandwidth_bytes_per_s: bandwidth,
                dense_flops_per_s: dense,
                fp8_flops_per_s: None,
                single_flops_per_s: single,
                capability,
                link_bytes_per_s: 1e6,
                operations: None,
                ..cards()[0].clone()
            };
            let text = toml::to_string(&card).unwrap();
            assert_eq!(Card::parse(&text, name).as_ref(), Ok(&card));
        }
    }

    #[test]
    fn a_whole_number_of_bytes_may_be_written_as_a_float() {
        let text = toml::to_string(&cards()[0]).unwrap();
        let bytes = format!("memory_bytes = {}", cards()[0].memory_bytes);
        let read = Card::parse(&text.replace(&bytes, "memory_bytes = 48e9"), "x").unwrap();
        assert_eq!(read.memory_bytes, 48_000_000_000);
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
