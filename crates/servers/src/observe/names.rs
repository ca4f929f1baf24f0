//! The names of metrics of each engine (`names.toml`), and a parser that finds these metrics in a server's
//! text. A new engine needs a table in `names.toml`. This module does no I/O.

use std::collections::{BTreeMap, BTreeSet};

use inferometer_model::sample::{Buckets, Latency, Quantity, ServerSample};

use inferometer_net::http::prometheus::{Metric, metrics};

use crate::observe::error::ObserveError;

/// The built-in names.
const KNOWN: &str = include_str!("names.toml");

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Meaning {
    Value(Quantity),
    Latency(Latency),
}

/// One way to compute a quantity: the sum of the metrics with these names.
#[derive(Clone, Debug)]
struct Formula {
    meaning: Meaning,
    names: Vec<String>,
    /// The origin of the names. A formula of the user is only used if the server has all its names.
    origin: NameOrigin,
}

/// The origin of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameOrigin {
    BuiltIn,
    User,
}

/// Formulas for quantities; earlier formulas are preferred.
#[derive(Clone, Debug)]
pub struct MetricNames {
    formulas: Vec<Formula>,
}

/// Whether to parse histograms too. Histograms have many lines, so parsing them takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histograms {
    /// Histograms, gauges and counters.
    Read,
    /// Gauges and counters only.
    Skip,
}

impl MetricNames {
    /// The built-in names and the user's names. `own` maps a quantity to the user's name, or to a sum of
    /// names. A quantity in `own` replaces the built-in names of this quantity.
    ///
    /// # Errors
    /// When a key of `own` is not a known quantity.
    pub fn with(own: &BTreeMap<String, String>) -> Result<Self, ObserveError> {
        let mut formulas = Vec::new();
        for (quantity, name) in own {
            let origin = NameOrigin::User;
            formulas.push(Formula { meaning: meaning(quantity)?, names: terms(name), origin });
        }
        let is_own = |formula: &Formula| formulas.iter().any(|own| own.meaning == formula.meaning);
        let known: Vec<Formula> =
            Self::known().formulas.into_iter().filter(|formula| !is_own(formula)).collect();
        formulas.extend(known);
        Ok(Self { formulas })
    }

    /// The built-in names.
    pub fn known() -> Self {
        let engines: BTreeMap<String, BTreeMap<String, toml::Value>> =
            toml::from_str(KNOWN).expect("invariant: the built-in names parse");
        let mut formulas = Vec::new();
        for (quantity, spelling) in engines.into_values().flatten() {
            let meaning =
                meaning(&quantity).expect("invariant: the built-in names have known quantities");
            // One name, or alternative names in order of preference.
            let spellings: Vec<String> = match spelling {
                toml::Value::String(name) => vec![name],
                names => names.try_into().expect("invariant: the built-in names are texts"),
            };
            let origin = NameOrigin::BuiltIn;
            formulas.extend(spellings.iter().map(|name| Formula {
                meaning,
                names: terms(name),
                origin,
            }));
        }
        Self { formulas }
    }

    /// The user's names that do not occur in a text. Comments are searched, too: a counter that has no value
    /// yet may occur only in a comment.
    pub(crate) fn unknown_to(&self, text: &str) -> Vec<&str> {
        let base = |name: &str| histogram_of(name).map(str::to_owned);
        let samples = metrics(text).flat_map(|m| [Some(m.name.to_owned()), base(m.name)]);
        let comments = text.lines().filter_map(|line| line.strip_prefix("# "));
        let announced = comments.filter_map(|line| line.split_whitespace().nth(1));
        let known: BTreeSet<String> =
            samples.flatten().chain(announced.map(str::to_owned)).collect();
        let is_there = |name: &str| {
            let without_total = name.strip_suffix("_total").unwrap_or(name);
            known.contains(name) || known.contains(without_total)
        };
        let own = self.formulas.iter().filter(|formula| formula.origin == NameOrigin::User);
        own.flat_map(|formula| &formula.names)
            .map(String::as_str)
            .filter(|name| !is_there(name))
            .collect()
    }

    /// The values of all known quantities in a server's text; empty if no known name occurs.
    pub fn read(&self, text: &str, histograms: Histograms) -> ServerSample {
        // A server with several engines has one line for each engine, with different labels.
        let mut found: BTreeMap<&str, Vec<Metric<'_>>> = BTreeMap::new();
        for formula in &self.formulas {
            for name in &formula.names {
                found.entry(name).or_default();
            }
        }
        for metric in metrics(text) {
            let base = match histograms {
                Histograms::Read => histogram_of(metric.name),
                Histograms::Skip => None,
            };
            let name = if found.contains_key(metric.name) { Some(metric.name) } else { base };
            if let Some(lines) = name.and_then(|name| found.get_mut(name)) {
                lines.push(metric);
            }
        }
        let mut sample = ServerSample::default();
        for formula in &self.formulas {
            let lines: Vec<Metric<'_>> =
                formula.names.iter().flat_map(|name| &found[name.as_str()]).copied().collect();
            let has_lines = |name: &String| !found[name.as_str()].is_empty();
            let is_whole =
                formula.origin == NameOrigin::BuiltIn || formula.names.iter().all(has_lines);
            if lines.is_empty() || !is_whole {
                continue;
            }
            match formula.meaning {
                Meaning::Value(quantity) => {
                    if let Some(value) = value(quantity, &lines) {
                        sample.values.entry(quantity).or_insert(value);
                    }
                }
                Meaning::Latency(latency) => {
                    if let Some(buckets) = buckets(&lines) {
                        sample.histograms.entry(latency).or_insert(buckets);
                    }
                }
            }
        }
        sample
    }
}

/// The quantity or latency that a key of a table names.
fn meaning(quantity: &str) -> Result<Meaning, ObserveError> {
    let name = toml::Value::String(quantity.to_owned());
    let latency = || name.clone().try_into().map(Meaning::Latency);
    let value = name.clone().try_into().map(Meaning::Value);
    value.or_else(|_| latency()).map_err(|_| ObserveError::UnknownQuantity(quantity.to_owned()))
}

fn terms(name: &str) -> Vec<String> {
    name.split('+').map(|term| term.trim().to_owned()).collect()
}

/// The name of the histogram that a line may belong to; `None` if the line has no suffix of a histogram.
fn histogram_of(name: &str) -> Option<&str> {
    ["_bucket", "_sum", "_count"].into_iter().find_map(|suffix| name.strip_suffix(suffix))
}

/// The value over all lines: the share of KV memory is averaged, other quantities are added.
fn value(quantity: Quantity, lines: &[Metric<'_>]) -> Option<f64> {
    let values: Vec<f64> =
        lines.iter().map(|metric| metric.value).filter(|value| value.is_finite()).collect();
    let sum: f64 = values.iter().sum();
    match (quantity, values.len()) {
        (_, 0) => None,
        (Quantity::KvUse, count) => Some(sum / count as f64),
        _ => Some(sum),
    }
}

/// The sum of the histograms of all label sets. `None` if there is no count, or if a value is not a finite
/// number.
fn buckets(lines: &[Metric<'_>]) -> Option<Buckets> {
    let mut buckets = Buckets::default();
    let mut counted = false;
    for metric in lines {
        let is_in_ms =
            histogram_of(metric.name).is_some_and(|name| name.ends_with("_milliseconds"));
        let unit = if is_in_ms { 1e-3 } else { 1.0 };
        if metric.name.ends_with("_sum") {
            buckets.sum += metric.value * unit;
        } else if metric.name.ends_with("_count") {
            buckets.count += metric.value;
            counted = true;
        } else if let Some(bound) = metric.label("le").and_then(|bound| bound.parse::<f64>().ok())
            && bound.is_finite()
        {
            let bound = bound * unit;
            match buckets.below.iter_mut().find(|(known, _)| known.to_bits() == bound.to_bits()) {
                Some((_, below)) => *below += metric.value,
                None => buckets.below.push((bound, metric.value)),
            }
        }
    }
    buckets.below.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut values = buckets.below.iter().map(|(_, below)| *below);
    let is_finite = buckets.sum.is_finite() && buckets.count.is_finite();
    (counted && is_finite && values.all(f64::is_finite)).then_some(buckets)
}

#[cfg(test)]
mod tests;
