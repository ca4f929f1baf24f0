//! NVIDIA's cards of the server's machine, from the DCGM exporter that runs on that machine. The exporter is
//! scraped like a server's metrics.

use std::collections::BTreeMap;

use inferometer_model::{sample::CardSample, target::Card};

use inferometer_net::http::prometheus::{Metric, metrics};

use super::CardSource;
use crate::{observe::error::ObserveError, observe::scrape::Scrape};

/// The cards that an exporter reports.
pub struct Dcgm {
    scrape: Scrape,
    cards: Vec<Card>,
}

impl Dcgm {
    /// Connects to an exporter and finds its cards.
    ///
    /// # Errors
    /// When the exporter does not answer, or reports no card.
    pub fn reach(scrape: Scrape) -> Result<Self, ObserveError> {
        let cards = cards(&scrape.text()?);
        if cards.is_empty() {
            return Err(ObserveError::NoCards(scrape.address()));
        }
        Ok(Self { scrape, cards })
    }
}

impl CardSource for Dcgm {
    fn cards(&self) -> Vec<Card> {
        self.cards.clone()
    }

    fn sample(&mut self) -> Vec<Result<CardSample, ObserveError>> {
        let text = match self.scrape.text() {
            Ok(text) => text,
            Err(why) => return vec![Err(why)],
        };
        let samples = samples(&text);
        let has_sample = |card: &Card| samples.iter().any(|sample| sample.index == card.index);
        let gone = self.cards.iter().filter(|card| !has_sample(card)).map(|card| {
            Err(ObserveError::NotReported { address: self.scrape.address(), number: card.index })
        });
        samples.iter().copied().map(Ok).chain(gone).collect()
    }
}

/// The number of the card that a line belongs to; `None` for lines of other metrics. Lines of MIG instances
/// belong to their card.
fn card_of(metric: &Metric<'_>) -> Option<u32> {
    metric.name.starts_with("DCGM_FI_").then(|| metric.label("gpu"))??.parse().ok()
}

/// The value of a line; `None` if it means "no value". DCGM has such numbers: `DCGM_INT32_BLANK`,
/// `DCGM_INT64_BLANK`, `DCGM_FP64_BLANK`, and the three numbers after each of them (not found, not supported,
/// not permitted). As floats, all 64-bit integers among them are 2^63.
fn value_of(metric: &Metric<'_>) -> Option<f64> {
    let blanks = [f64::from(0x7fff_fff0_u32), (1_u64 << 47) as f64];
    let value = metric.value;
    let is_blank = blanks.iter().any(|blank| (*blank..=blank + 3.0).contains(&value))
        || value.abs() >= (1_u64 << 63) as f64;
    (value.is_finite() && !is_blank).then_some(value)
}

fn cards(text: &str) -> Vec<Card> {
    let mut found: BTreeMap<u32, (Card, f64)> = BTreeMap::new();
    for metric in metrics(text) {
        let Some(index) = card_of(&metric) else { continue };
        let (card, memory_mib) = found
            .entry(index)
            .or_insert_with(|| (Card { index, source: "dcgm".to_owned(), ..Card::default() }, 0.0));
        let named = |label| metric.label(label).map(str::to_owned);
        card.name = card.name.take().or_else(|| named("modelName"));
        card.driver = card.driver.take().or_else(|| named("DCGM_FI_DRIVER_VERSION"));
        if ["DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED"]
            .contains(&metric.name)
        {
            *memory_mib += value_of(&metric).unwrap_or(0.0);
        }
    }
    let with_memory = |(mut card, memory_mib): (Card, f64)| {
        card.memory_bytes = (memory_mib > 0.0).then(|| mib(memory_mib));
        card
    };
    found.into_values().map(with_memory).collect()
}

fn samples(text: &str) -> Vec<CardSample> {
    let mut found: BTreeMap<u32, CardSample> = BTreeMap::new();
    for metric in metrics(text) {
        let Some(index) = card_of(&metric) else { continue };
        let new = || CardSample { index, cached: true, ..CardSample::default() };
        let sample = found.entry(index).or_insert_with(new);
        let value = value_of(&metric);
        match metric.name {
            "DCGM_FI_DEV_GPU_UTIL" => sample.utilisation = value.map(|percent| percent / 100.0),
            "DCGM_FI_DEV_POWER_USAGE" => sample.power_w = value,
            "DCGM_FI_DEV_SM_CLOCK" => sample.clock_mhz = value,
            "DCGM_FI_DEV_FB_USED" => sample.memory_bytes = value.map(mib),
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" => {
                sample.energy_j = value.map(|millijoules| millijoules / 1e3);
            }
            _ => {}
        }
    }
    found.into_values().collect()
}

fn mib(count: f64) -> u64 {
    (count * f64::from(1 << 20)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines in the form that the exporter's documentation shows.
    const TEXT: &str = r#"# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA H100",Hostname="h",DCGM_FI_DRIVER_VERSION="550.1"} 1980
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-b",device="nvidia1",modelName="NVIDIA H100",Hostname="h",DCGM_FI_DRIVER_VERSION="550.1"} 345
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a"} 64
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 412.5
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-a"} 90000500
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-a"} 1024
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a"} 3072
another_metric{gpu="7"} 1
"#;

    #[test]
    fn cards_and_samples_are_parsed_from_the_output_of_the_dcgm_exporter() {
        let found = cards(TEXT);
        assert_eq!(found.iter().map(|card| card.index).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(found[0].name.as_deref(), Some("NVIDIA H100"));
        assert_eq!(found[0].driver.as_deref(), Some("550.1"));
        assert_eq!((found[0].memory_bytes, found[1].memory_bytes), (Some(4 << 30), None));
        let samples = samples(TEXT);
        assert_eq!((samples[0].utilisation, samples[0].power_w), (Some(0.64), Some(412.5)));
        assert_eq!((samples[0].energy_j, samples[0].memory_bytes), (Some(90_000.5), Some(3 << 30)));
        assert_eq!((samples[1].clock_mhz, samples[1].power_w), (Some(345.0), None));
        assert!(samples.iter().all(|card| card.cached));
    }

    #[test]
    fn placeholder_values_of_the_dcgm_exporter_are_treated_as_absent() {
        for blank in [
            "NaN", "+Inf", "2147483632", "2147483634", "140737488355328", "140737488355330.000000",
            "9223372036854775792", "9223372036854775794",
        ] {
            let names =
                ["POWER_USAGE", "TOTAL_ENERGY_CONSUMPTION", "FB_USED", "GPU_UTIL", "SM_CLOCK"];
            let line = |name: &&str| format!("DCGM_FI_DEV_{name}{{gpu=\"0\"}} {blank}\n");
            let text: String = names.iter().map(line).collect();
            let nothing = CardSample { cached: true, ..CardSample::default() };
            assert_eq!(samples(&text), [nothing], "{blank}");
            assert_eq!(cards(&text)[0].memory_bytes, None, "{blank}");
        }
    }
}
