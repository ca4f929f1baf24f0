//! The stored form of samples: the metrics of a server and its cards at instants of a pass, on the run's
//! time axis. This module does not request metrics from a server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// A quantity that engines report under different names. A gauge is a value at an instant; a counter only
/// grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Gauge: requests in the batch.
    Running,
    /// Gauge: requests that wait to enter the batch.
    Waiting,
    /// Gauge: share of the KV memory in use, 0 to 1; with several engines, their mean.
    KvUse,
    /// Counter: preemptions. A preemption frees the KV memory of a request for other requests.
    Preemptions,
    /// Counter: prompt tokens that were searched for in the prefix cache.
    PrefixQueries,
    /// Counter: prompt tokens that were found in the prefix cache.
    PrefixHits,
    /// Counter: tokens that speculative decoding proposed.
    Drafted,
    /// Counter: proposed tokens that the model accepted.
    Accepted,
    /// Counter: output tokens.
    GenerationTokens,
}

/// A latency that engines report as a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Latency {
    /// From a request's arrival in the server to its first token.
    Ttft,
    /// From one token to the next.
    Itl,
    /// From a request's arrival in the server until it enters the batch.
    Queue,
    /// From then to its first token.
    Prefill,
}

/// A histogram as servers expose it: over all values since the server started, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Buckets {
    /// The number of values.
    pub count: f64,
    /// The sum of the values, in seconds.
    pub sum: f64,
    /// Ascending upper bounds in seconds, each with the number of values at or below it. The bound of
    /// infinity is not in the list: its number is `count`.
    pub below: Vec<(f64, f64)>,
}

/// The metrics of a server at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerSample {
    /// The gauges and counters that the server reports.
    pub values: BTreeMap<Quantity, f64>,
    /// The histograms that the server reports; only in the first and the last sample of a pass.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<Latency, Buckets>,
}

/// The state of a card at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CardSample {
    /// The card's number on its machine.
    pub index: u32,
    /// Share of the time in which the card was busy, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// Power in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Clock frequency of the card's processors, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Memory of the card in use, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Counter: energy in joules since the driver was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// Whether the values are the last reading of a collector; such a reading may be old. If false, they
    /// were read from the card itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// What the server and the cards reported at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When the answers of all servers were complete, on the run's time axis. If no server was asked: when the
    /// sample began.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// How long the answers of all servers took together, in microseconds.
    pub took_us: u64,
    /// The metrics of the server, or of all equal servers together; `None` if they were not requested or an
    /// answer is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSample>,
    /// Why these metrics are missing; empty if they are not missing, or were not requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Why data of cards are missing: one line for each reading that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards_missing: Vec<String>,
    /// The state of each card.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<CardSample>,
    /// The metrics of each server, in the order of [`Observed::sources`]; empty for a single server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<SourceSample>,
}

/// The metrics of one of several servers at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceSample {
    /// How long the server's answer took, in microseconds.
    pub took_us: u64,
    /// The server's metrics; `None` if there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSample>,
    /// Why the server's metrics are missing; `None` if they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// All samples of a pass. The first sample is from before the first request, the last sample from after the
/// last request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Whether the metrics of the server, or of all equal servers together, were requested.
    pub asks_server: bool,
    /// Processor time that this program spent on the sampling, in microseconds.
    pub cpu_us: u64,
    /// Whether the user named the cards. If so, the cards are known to be those of the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cards_named: bool,
    /// The names of the servers that were sampled separately; empty for a single server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The samples, ordered by time.
    pub samples: Vec<Sample>,
}

impl ServerSample {
    /// The metrics of several equal servers together. Values are summed. For the share of KV memory in use,
    /// the result is the mean over the servers that state this share. Histograms with different bounds cannot
    /// be added, so they are omitted.
    pub fn together<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        let (mut with_kv_use, mut is_alike) = (0.0, BTreeMap::<Latency, bool>::new());
        for one in all {
            if one.values.contains_key(&Quantity::KvUse) {
                with_kv_use += 1.0;
            }
            for (quantity, value) in &one.values {
                *sum.values.entry(*quantity).or_default() += value;
            }
            for (latency, buckets) in &one.histograms {
                let before = sum.histograms.entry(*latency).or_insert_with(|| buckets.empty());
                *is_alike.entry(*latency).or_insert(true) &= before.add(buckets);
            }
        }
        if let Some(mean) = sum.values.get_mut(&Quantity::KvUse) {
            *mean /= with_kv_use;
        }
        sum.histograms.retain(|latency, _| is_alike[latency]);
        sum
    }
}

impl Observed {
    /// The samples of one of several servers, in the form of samples of a single server.
    pub fn of_source(&self, source: usize) -> Self {
        let only = |sample: &Sample| {
            let one = sample.each.get(source).cloned().unwrap_or_default();
            Sample {
                at: sample.at,
                took_us: one.took_us,
                server: one.server,
                missing: one.missing.into_iter().collect(),
                ..Sample::default()
            }
        };
        let samples = self.samples.iter().map(only).collect();
        Self { asks_server: true, samples, ..Self::default() }
    }

    /// Appends samples of a later time.
    pub fn extend(&mut self, after: Self) {
        self.asks_server |= after.asks_server;
        self.cards_named |= after.cards_named;
        self.cpu_us += after.cpu_us;
        if self.sources.is_empty() {
            self.sources = after.sources;
        }
        self.samples.extend(after.samples);
    }
}

impl Buckets {
    /// The same bounds with zero counts.
    fn empty(&self) -> Self {
        Self {
            count: 0.0,
            sum: 0.0,
            below: self.below.iter().map(|(bound, _)| (*bound, 0.0)).collect(),
        }
    }

    /// Adds the counts of another histogram. If its bounds differ, adds nothing and returns false.
    fn add(&mut self, other: &Self) -> bool {
        let bounds =
            |of: &Self| of.below.iter().map(|(bound, _)| bound.to_bits()).collect::<Vec<_>>();
        let is_alike = bounds(self) == bounds(other);
        if is_alike {
            self.count += other.count;
            self.sum += other.sum;
            self.below.iter_mut().zip(&other.below).for_each(|(own, (_, below))| own.1 += below);
        }
        is_alike
    }

    /// The values that were counted since an earlier state of the same histogram. `None` if the bounds
    /// differ, or if the count is smaller than before: then the server was restarted.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let same = self.below.len() == earlier.below.len()
            && self.below.iter().zip(&earlier.below).all(|(a, b)| a.0.to_bits() == b.0.to_bits());
        if !same || self.count < earlier.count {
            return None;
        }
        let pairs = self.below.iter().zip(&earlier.below);
        Some(Self {
            count: self.count - earlier.count,
            sum: self.sum - earlier.sum,
            below: pairs.map(|(now, then)| (now.0, now.1 - then.1)).collect(),
        })
    }

    /// The mean of the values, in seconds; `None` if there are no values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }

    /// The lower and the upper bound of a quantile from 0 to 1, in seconds: the edges of its bucket. The
    /// upper bound is infinite if the quantile is above the last bound. `None` if there are no values.
    pub fn quantile_within(&self, quantile: f64) -> Option<[f64; 2]> {
        if self.count <= 0.0 {
            return None;
        }
        let rank = quantile * self.count;
        let at = self.below.iter().position(|&(_, below)| below >= rank);
        let upper = at.map_or(f64::INFINITY, |at| self.below[at].0);
        let lower = match at.unwrap_or(self.below.len()) {
            0 => 0.0,
            at => self.below[at - 1].0,
        };
        Some([lower, upper])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kv_use_of_servers_together_is_the_mean_of_those_that_state_it() {
        let of = |values: &[(Quantity, f64)]| ServerSample {
            values: values.iter().copied().collect(),
            ..ServerSample::default()
        };
        let busy = of(&[(Quantity::KvUse, 0.8), (Quantity::Running, 3.0)]);
        let free = of(&[(Quantity::KvUse, 0.2), (Quantity::Running, 1.0)]);
        let silent = of(&[(Quantity::Running, 2.0)]);
        let together = ServerSample::together([&busy, &free, &silent]);
        assert_eq!(together.values[&Quantity::KvUse], 0.5);
        assert_eq!(together.values[&Quantity::Running], 6.0);
        assert!(!ServerSample::together([&silent]).values.contains_key(&Quantity::KvUse));
    }
}
