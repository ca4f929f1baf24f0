//! Distributions of metrics, in the order and under the keys of the registry of metrics.

use inferometer_model::{Definition, metrics::registry, stats::Distribution};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::keyed::{self, Keyed};

/// The distribution of each metric in results; absent if the metric was not measured. In JSON, its key is the metric's
/// `result_key`. Distributions of the bounds of the client's error have separate keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Distributions(Keyed<Option<Distribution>>);

impl Default for Distributions {
    /// No distribution for any metric in the results of a pass.
    fn default() -> Self {
        Self::of(registry::in_results().map(|(_, metric)| (metric, None)))
    }
}

impl Distributions {
    /// The given distributions, in this order. A metric that only requests with reasoning have is left out if it was not
    /// measured.
    pub fn of(
        values: impl IntoIterator<Item = (&'static Definition, Option<Distribution>)>,
    ) -> Self {
        let stated = values.into_iter().filter(|(metric, of)| of.is_some() || !metric.optional);
        Self(stated.map(|(metric, of)| (metric.result_key, of)).collect())
    }

    /// The distributions of the bounds of the client's error, for each metric that has such a bound, in the order of
    /// the registry.
    pub(crate) fn of_bounds(mut of: impl FnMut(&Definition) -> Option<Distribution>) -> Self {
        Self(registry::bounded().map(|(metric, key)| (key, of(metric))).collect())
    }

    /// The distribution of a metric, if it was measured.
    pub fn get(&self, metric: &Definition) -> Option<&Distribution> {
        self.keyed(metric.result_key)
    }

    /// The distribution of the bound of the client's error in a metric, if there is one.
    pub fn bound(&self, metric: &Definition) -> Option<&Distribution> {
        self.keyed(metric.bound?.key?)
    }

    /// Whether the document has this key, with a distribution or without.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == key)
    }

    fn keyed(&self, key: &str) -> Option<&Distribution> {
        self.0.iter().find(|(known, _)| *known == key)?.1.as_ref()
    }

    /// A mutable reference to the distribution of a metric of requests.
    pub fn entry(&mut self, metric: &Definition) -> &mut Option<Distribution> {
        let key = metric.result_key;
        let at = self.0.iter().position(|(known, _)| *known == key);
        let at = at.unwrap_or_else(|| {
            self.0.push((key, None));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Each metric in results that was measured, with its distribution.
    pub fn measured(&self) -> impl Iterator<Item = (&'static Definition, &Distribution)> {
        registry::in_results().filter_map(|(_, metric)| Some((metric, self.get(metric)?)))
    }
}

impl Serialize for Distributions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, of)| (key, of)))
    }
}

impl<'de> Deserialize<'de> for Distributions {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let results = || registry::in_results().map(|(key, _)| key);
        let all = || results().chain(registry::bounded().map(|(_, key)| key));
        keyed::deserialize(from, |key| all().find(|known| *known == key)).map(Self)
    }
}
