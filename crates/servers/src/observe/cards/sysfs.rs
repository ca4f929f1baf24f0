//! AMD's cards, from the files of the driver in `/sys`. Files are only read.

use std::path::{Path, PathBuf};
use std::{fs, str::FromStr};

use inferometer_model::{sample::CardSample, target::Card};

use super::CardSource;
use crate::observe::error::ObserveError;

/// AMD's PCI vendor id.
const AMD: &str = "0x1002";

/// The AMD cards of this machine.
pub struct AmdCards {
    devices: Vec<Device>,
}

struct Device {
    index: u32,
    folder: PathBuf,
    /// The folder of the card's sensors; `None` without sensors.
    sensors: Option<PathBuf>,
}

impl AmdCards {
    /// The cards below the folder `drm`, which is `/sys/class/drm`; `None` if there are none.
    pub fn find(drm: &Path) -> Option<Self> {
        let mut folders: Vec<(u32, PathBuf)> = entries(drm)
            .into_iter()
            .filter_map(|entry| {
                let name = entry.file_name()?.to_str()?.strip_prefix("card")?.to_owned();
                // A name such as `card0-DP-1` is a connector of the card; it is not a number and is skipped.
                Some((name.parse().ok()?, entry.join("device")))
            })
            .filter(|(_, folder)| line(&folder.join("vendor")).as_deref() == Some(AMD))
            // A display adapter without this file is not a compute card.
            .filter(|(_, folder)| folder.join("gpu_busy_percent").exists())
            .collect();
        folders.sort_unstable();
        let devices: Vec<Device> = folders
            .into_iter()
            .zip(0..)
            .map(|((_, folder), index)| {
                let sensors = entries(&folder.join("hwmon")).into_iter().next();
                Device { index, folder, sensors }
            })
            .collect();
        (!devices.is_empty()).then_some(Self { devices })
    }
}

impl CardSource for AmdCards {
    fn cards(&self) -> Vec<Card> {
        let card = |device: &Device| Card {
            index: device.index,
            name: line(&device.folder.join("product_name"))
                .or_else(|| line(&device.folder.join("device")).map(|id| format!("AMD {id}"))),
            memory_bytes: number(&device.folder.join("mem_info_vram_total")),
            driver: line(Path::new("/sys/module/amdgpu/version")),
            source: "sysfs".to_owned(),
        };
        self.devices.iter().map(card).collect()
    }

    fn sample(&mut self) -> Vec<Result<CardSample, ObserveError>> {
        self.devices.iter().map(Device::sample).collect()
    }
}

impl Device {
    fn sample(&self) -> Result<CardSample, ObserveError> {
        if !self.folder.exists() {
            return Err(ObserveError::Gone(self.folder.clone()));
        }
        let sensor = |name: &str| number::<f64>(&self.sensors.as_ref()?.join(name));
        // Older drivers report a mean over some milliseconds, newer drivers the current power.
        let power_uw = sensor("power1_average").or_else(|| sensor("power1_input"));
        let busy: Option<f64> = number(&self.folder.join("gpu_busy_percent"));
        Ok(CardSample {
            index: self.index,
            utilisation: busy.map(|percent| percent / 100.0),
            power_w: power_uw.map(|microwatts| microwatts / 1e6),
            clock_mhz: sensor("freq1_input").map(|hertz| hertz / 1e6),
            memory_bytes: number(&self.folder.join("mem_info_vram_used")),
            energy_j: None,
            cached: false,
        })
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn line(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn number<T: FromStr>(file: &Path) -> Option<T> {
    line(file)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }

    #[test]
    fn amd_cards_are_found_among_others_and_their_values_are_converted_to_our_units() {
        let drm = tempfile::tempdir().unwrap();
        write(
            drm.path(),
            &[
                ("card0/device/vendor", "0x10de\n"),
                ("card0/device/gpu_busy_percent", "99\n"),
                ("card1-DP-1/device/vendor", "0x1002\n"),
                ("card1/device/vendor", "0x1002\n"),
                ("card1/device/product_name", "AMD Instinct MI300X\n"),
                ("card1/device/gpu_busy_percent", "42\n"),
                ("card1/device/mem_info_vram_total", "206141652992\n"),
                ("card1/device/mem_info_vram_used", "1048576\n"),
                ("card1/device/hwmon/hwmon3/power1_average", "350000000\n"),
                ("card1/device/hwmon/hwmon3/freq1_input", "2100000000\n"),
                ("card2/device/vendor", "0x1002\n"),
                ("card2/device/device", "0x74a1\n"),
                ("card2/device/gpu_busy_percent", "0\n"),
                ("card2/device/hwmon/hwmon4/power1_input", "90500000\n"),
            ],
        );
        let mut amd = AmdCards::find(drm.path()).unwrap();
        let cards = amd.cards();
        let names: Vec<_> = cards.iter().filter_map(|card| card.name.as_deref()).collect();
        assert_eq!(names, ["AMD Instinct MI300X", "AMD 0x74a1"]);
        assert_eq!(cards[0].memory_bytes, Some(206_141_652_992));
        let samples = amd.sample().into_iter().collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!((samples[0].index, samples[0].utilisation), (0, Some(0.42)));
        assert_eq!((samples[0].power_w, samples[0].clock_mhz), (Some(350.0), Some(2_100.0)));
        assert_eq!((samples[1].power_w, samples[1].memory_bytes), (Some(90.5), None));
        fs::remove_dir_all(drm.path().join("card2")).unwrap();
        let samples = amd.sample();
        assert!(samples[0].is_ok(), "a card that is gone does not affect the other");
        assert!(samples[1].as_ref().unwrap_err().to_string().contains("is gone"));
    }

    #[test]
    fn no_amd_cards_are_found_on_a_machine_without_one() {
        let drm = tempfile::tempdir().unwrap();
        write(drm.path(), &[("card0/device/vendor", "0x8086\n")]);
        assert!(AmdCards::find(drm.path()).is_none());
        assert!(AmdCards::find(&drm.path().join("nothing")).is_none());
    }
}
