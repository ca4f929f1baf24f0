//! The keys of a spec for observing the server's metrics and its cards during a measurement.

use std::{collections::BTreeMap, time::Duration};

use clap::Args;
use inferometer_model::Url;
use inferometer_model::url::{parse_url, shown_address};
use serde::{Deserialize, Serialize};

use super::{Addresses, Mistakes, Value, values};
use crate::{MetricsAt, ObservePlan};

/// The keys about the server's metrics and its cards.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObserveKeys {
    /// Do not read the server's metrics during passes
    #[arg(
        long = "no-server-metrics",
        num_args = 0,
        default_missing_value = "false",
        help_heading = "Target"
    )]
    pub server_metrics: Option<bool>,
    /// The address of the metrics, or a path on the server. If the server has several pools, one address
    /// for each pool.
    #[arg(skip)]
    pub metrics_url: Option<Addresses>,
    /// Interval at which the metrics of the server and its cards (GPUs) are read [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "Target")]
    pub metrics_period: Option<Value>,
    /// The names of metrics by quantity, for engines that this program does not know.
    #[arg(skip)]
    pub metrics_names: Option<BTreeMap<String, String>>,
    /// DCGM exporter on the server's machine, such as http://HOST:9400, for clocks, power and
    /// energy
    #[arg(long, value_name = "URL", help_heading = "Target")]
    pub dcgm_url: Option<String>,
    /// Indices of the cards that the server uses, such as 0,1; the metrics of other cards are not
    /// read. Without this flag, energy per token and per request are not reported
    #[arg(long, value_delimiter = ',', value_name = "N,...", help_heading = "Target")]
    pub cards: Option<Vec<u32>>,
}

/// The shortest allowed period. If metrics were requested more often, this would affect the measurement.
const SHORTEST: Duration = Duration::from_millis(100);

impl ObserveKeys {
    pub(crate) fn resolve(&self, mistakes: &mut Mistakes) -> ObservePlan {
        let usual = ObservePlan::default();
        let asks = self.server_metrics.unwrap_or(true);
        let given = [
            ("metrics_url", self.metrics_url.is_some()),
            ("metrics_names", self.metrics_names.is_some()),
        ];
        for (key, _) in given.into_iter().filter(|(_, given)| *given && !asks) {
            mistakes
                .add(key, "is not used, because server_metrics is false; leave out one of the two");
        }
        let metrics = match self.metrics_url.as_ref().map(Addresses::all) {
            _ if !asks => MetricsAt::Off,
            None => MetricsAt::Usual,
            Some([path]) if path.starts_with('/') => {
                if let Some(name) = values::secret_parameter(path) {
                    mistakes.add("metrics_url", values::secret_told(name));
                }
                MetricsAt::Path(path.clone())
            }
            Some([address]) => address_of("metrics_url", address, mistakes)
                .map_or(usual.metrics, MetricsAt::Address),
            Some(several) => MetricsAt::Addresses(addresses_of(several, mistakes)),
        };
        let period = mistakes.read("metrics_period", self.metrics_period.as_ref(), |value| {
            match values::span(value)? {
                period if period < SHORTEST => {
                    Err("is too short: it would disturb the measurement; give at least 100ms")
                }
                period => Ok(period),
            }
        });
        if self.cards.as_ref().is_some_and(Vec::is_empty) {
            mistakes.add("cards", "names no card; leave it out, or name the cards of the server");
        }
        let dcgm = self.dcgm_url.as_deref();
        ObservePlan {
            metrics,
            names: self.metrics_names.clone().unwrap_or_default(),
            period: period.unwrap_or(usual.period),
            dcgm: dcgm.and_then(|address| address_of("dcgm_url", address, mistakes)),
            cards: self.cards.clone().map(|cards| cards.into_iter().collect()),
        }
    }
}

/// Parses several addresses, each with its path. Adds a mistake for each invalid or repeated address.
fn addresses_of(several: &[String], mistakes: &mut Mistakes) -> Vec<Url> {
    let mut found: Vec<Url> = Vec::new();
    if several.is_empty() {
        mistakes.add("metrics_url", "names no address; leave it out, or give an address");
    }
    for address in several {
        match address_of("metrics_url", address, mistakes) {
            Some(url) if found.contains(&url) => {
                mistakes.add("metrics_url", format!("{url} is given twice"));
            }
            url => found.extend(url),
        }
    }
    found
}

/// Parses an address with its path; the path is `/metrics` if the address has none.
fn address_of(key: &'static str, address: &str, mistakes: &mut Mistakes) -> Option<Url> {
    match parse_url(address) {
        Ok(url) if url.prefix.is_empty() => Some(Url { prefix: "/metrics".to_owned(), ..url }),
        Ok(url) => Some(url),
        Err(problem) => {
            mistakes.add(key, format!("`{}` {problem}", shown_address(address)));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn resolved(keys: &ObserveKeys) -> (ObservePlan, Vec<String>) {
        let mut mistakes = Mistakes::default();
        let plan = keys.resolve(&mut mistakes);
        (plan, mistakes.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn metrics_are_read_at_the_default_path_or_at_a_given_path_or_not_at_all() {
        for (url, asks, expected) in [
            (None, None, Some(MetricsAt::Usual)),
            (None, Some(false), Some(MetricsAt::Off)),
            (Some("/m"), None, Some(MetricsAt::Path("/m".to_owned()))),
            (Some("/m"), Some(false), None),
            (Some("nowhere"), None, None),
        ] {
            let metrics_url = url.map(|url| url.to_owned().into());
            let keys = ObserveKeys { metrics_url, server_metrics: asks, ..Default::default() };
            let (plan, told) = resolved(&keys);
            assert_eq!(expected.as_ref().map(|_| &plan.metrics), expected.as_ref(), "{url:?}");
            assert_eq!(told.is_empty(), expected.is_some(), "{told:?}");
        }
    }

    #[test]
    fn several_metrics_addresses_are_resolved_and_duplicates_are_refused() {
        let of = |urls: [&str; 2]| {
            let metrics_url = serde_json::from_value(serde_json::json!(urls)).unwrap();
            resolved(&ObserveKeys { metrics_url: Some(metrics_url), ..Default::default() })
        };
        let (plan, told) = of(["http://prefill:1", "http://decode:2/m"]);
        let MetricsAt::Addresses(urls) = plan.metrics else { panic!("{:?}", plan.metrics) };
        assert_eq!(
            urls.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["http://prefill:1/metrics", "http://decode:2/m"]
        );
        assert!(told.is_empty(), "{told:?}");
        assert!(of(["http://a:1", "http://a:1/metrics"]).1[0].contains("is given twice"));
        assert!(of(["http://a:1", "/metrics"]).1[0].contains("is not the address of a server"));
    }

    #[test]
    fn card_numbers_are_sorted_and_deduplicated_and_an_empty_list_is_refused() {
        let of =
            |cards: Vec<u32>| resolved(&ObserveKeys { cards: Some(cards), ..Default::default() });
        let (plan, told) = of(vec![3, 1, 3]);
        assert_eq!((plan.cards, told.len()), (Some(BTreeSet::from([1, 3])), 0));
        assert!(of(Vec::new()).1[0].contains("cards"));
        assert_eq!(resolved(&ObserveKeys::default()).0.cards, None);
    }

    #[test]
    fn the_dcgm_address_keeps_its_path_or_gets_the_default_and_a_short_period_is_refused() {
        for (given, prefix) in [("http://a:9400", "/metrics"), ("http://a:9400/x/y", "/x/y")] {
            let keys = ObserveKeys { dcgm_url: Some(given.to_owned()), ..Default::default() };
            let (plan, told) = resolved(&keys);
            assert_eq!((plan.dcgm.unwrap().prefix.as_str(), told.len()), (prefix, 0));
        }
        let keys = ObserveKeys {
            metrics_period: Some(Value::Text("1ms".to_owned())),
            ..Default::default()
        };
        assert!(resolved(&keys).1[0].contains("100ms"));
    }
}
