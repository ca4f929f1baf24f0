//! The cards of a machine: what they are, and what they do. A source that is not there is no
//! error; one that stops to answer is.

mod dcgm;
mod nvml;
mod sysfs;

use std::path::Path;

use inferometer_core::observed::CardSample;
use inferometer_core::summary::Card;

pub use dcgm::Dcgm;

/// A source of what cards do.
pub trait Cards: Send {
    /// What the cards are.
    fn cards(&self) -> Vec<Card>;

    /// What each of them does now. What a card does not say is absent.
    ///
    /// # Errors
    /// Why nothing can be said, in words.
    fn sample(&mut self) -> Result<Vec<CardSample>, String>;
}

/// The cards of this machine: NVIDIA's by NVML, AMD's by the system's own files.
#[must_use]
pub fn of_this_machine() -> Vec<Box<dyn Cards>> {
    let mut sources: Vec<Box<dyn Cards>> = Vec::new();
    if let Some(nvml) = nvml::NvmlCards::find() {
        sources.push(Box::new(nvml));
    }
    if let Some(amd) = sysfs::AmdCards::find(Path::new("/sys/class/drm")) {
        sources.push(Box::new(amd));
    }
    sources
}
