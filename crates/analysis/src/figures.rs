//! Values of metrics of whole passes, in the order and under the keys of the registry of metrics.

use inferometer_model::Definition;
use inferometer_model::metrics::{PassData, registry};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::keyed::{self, Keyed};

/// The value of each metric of whole passes that has one, under the metric's `result_key`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(Keyed<f64>);

impl Figures {
    /// Computes every metric of whole passes.
    pub fn of(data: &PassData) -> Self {
        Self::each(|metric| metric.value.of_pass(data))
    }

    /// The value that `of` returns for each metric of whole passes.
    pub fn each(mut of: impl FnMut(&'static Definition) -> Option<f64>) -> Self {
        let values = registry::of_passes().filter_map(|(key, metric)| Some((key, of(metric)?)));
        Self(values.collect())
    }

    /// The value of a metric, if there is one.
    pub fn get(&self, metric: &Definition) -> Option<f64> {
        self.0.iter().find(|(key, _)| *key == metric.result_key).map(|(_, value)| *value)
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

impl<'de> Deserialize<'de> for Figures {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let key = |key: &str| registry::of_passes().map(|(key, _)| key).find(|known| *known == key);
        let found: Keyed<Option<f64>> = keyed::deserialize(from, key)?;
        Ok(Self(found.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()))
    }
}
