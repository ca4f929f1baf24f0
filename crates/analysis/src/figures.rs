//! Values of metrics of whole passes, in the order and under the keys of the registry of metrics.

use std::fmt;

use inferometer_model::metrics::{Definition, PassData, registry};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The value of each metric of whole passes that has one, under the metric's `result_key`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(Vec<(&'static str, f64)>);

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
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Figures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = Figures;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("values by the keys of metrics")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Figures, A::Error> {
                let mut found = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    match registry::of_passes().find(|(known, _)| *known == key) {
                        Some((key, _)) => {
                            let value: Option<f64> = map.next_value()?;
                            found.extend(value.map(|value| (key, value)));
                        }
                        // Other fields of the document are in the same map; they are skipped.
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(Figures(found))
            }
        }

        deserializer.deserialize_map(Keys)
    }
}
