//! NVIDIA's cards through NVML, a library of the driver that is loaded at run time. A machine without this
//! library has no such cards.

use std::ffi::OsStr;

use inferometer_model::{sample::CardSample, target::Card};
use nvml_wrapper::{Device, Nvml, enum_wrappers::device::Clock};

use super::CardSource;
use crate::observe::error::ObserveError;

/// The file name that the driver installs. The name without a version belongs to development packages.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// The cards of this machine that the driver lists.
pub struct NvmlCards {
    nvml: Nvml,
    count: u32,
}

/// NVML's readings of a card, in NVML's units. A value is `None` if it cannot be read, for example because the card
/// does not support it.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    utilisation_percent: Option<u32>,
    power_mw: Option<u32>,
    clock_mhz: Option<u32>,
    memory_bytes: Option<u64>,
    energy_mj: Option<u64>,
}

impl NvmlCards {
    /// The cards that the driver lists; `None` if there is no driver or no card.
    pub fn find() -> Option<Self> {
        let nvml = Nvml::builder().lib_path(OsStr::new(LIBRARY)).init().ok()?;
        let count = nvml.device_count().ok().filter(|&count| count > 0)?;
        Some(Self { nvml, count })
    }
}

impl CardSource for NvmlCards {
    fn cards(&self) -> Vec<Card> {
        let driver = self.nvml.sys_driver_version().ok();
        let card = |index| {
            let device = self.nvml.device_by_index(index).ok();
            Card {
                index,
                name: device.as_ref().and_then(|device| device.name().ok()),
                memory_bytes: device
                    .as_ref()
                    .and_then(|device| device.memory_info().ok().map(|memory| memory.total)),
                driver: driver.clone(),
                source: "nvml".to_owned(),
            }
        };
        (0..self.count).map(card).collect()
    }

    fn sample(&mut self) -> Vec<Result<CardSample, ObserveError>> {
        let sample = |index| {
            let device = self.nvml.device_by_index(index);
            let device = device.map_err(|source| ObserveError::Nvml { number: index, source })?;
            Ok(reading(&device).sample(index))
        };
        (0..self.count).map(sample).collect()
    }
}

fn reading(device: &Device<'_>) -> Reading {
    Reading {
        utilisation_percent: device.utilization_rates().ok().map(|rates| rates.gpu),
        power_mw: device.power_usage().ok(),
        clock_mhz: device.clock_info(Clock::SM).ok(),
        memory_bytes: device.memory_info().ok().map(|memory| memory.used),
        energy_mj: device.total_energy_consumption().ok(),
    }
}

impl Reading {
    fn sample(self, index: u32) -> CardSample {
        CardSample {
            index,
            utilisation: self.utilisation_percent.map(|percent| f64::from(percent) / 100.0),
            power_w: self.power_mw.map(|milliwatts| f64::from(milliwatts) / 1e3),
            clock_mhz: self.clock_mhz.map(f64::from),
            memory_bytes: self.memory_bytes,
            energy_j: self.energy_mj.map(|millijoules| millijoules as f64 / 1e3),
            cached: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvml_units_are_converted_and_unsupported_values_are_absent() {
        let reading = Reading {
            utilisation_percent: Some(87),
            power_mw: Some(251_500),
            clock_mhz: Some(1_410),
            memory_bytes: Some(1 << 30),
            energy_mj: None,
        };
        let sample = reading.sample(3);
        assert_eq!(
            (sample.index, sample.utilisation, sample.power_w),
            (3, Some(0.87), Some(251.5))
        );
        assert_eq!((sample.clock_mhz, sample.energy_j), (Some(1_410.0), None));
    }
}
