//! What the server and its cards reported while a pass ran: samples on the run's time axis, as they
//! are stored. Nothing is asked for or summed up here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::Nanos;

/// A quantity that engines report under names of their own. Gauges hold at an instant; counters
/// only ever grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Gauge: requests in the batch.
    Running,
    /// Gauge: requests that wait for a place in it.
    Waiting,
    /// Gauge: share of the KV memory in use, 0 to 1; over several engines their mean.
    KvUse,
    /// Counter: requests that lost their KV memory to others.
    Preemptions,
    /// Counter: prompt tokens that were looked for in the prefix cache.
    PrefixQueries,
    /// Counter: prompt tokens that were found there.
    PrefixHits,
    /// Counter: tokens that speculation proposed.
    Drafted,
    /// Counter: proposed tokens that were accepted.
    Accepted,
    /// Counter: output tokens.
    GenerationTokens,
}

/// A latency that engines keep as a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Latency {
    /// From a request's arrival in the server to its first token.
    Ttft,
    /// From one token to the next.
    Itl,
    /// From a request's arrival in the server to its place in the batch.
    Queue,
}

/// A histogram as servers expose it: everything since the server started. Seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Buckets {
    /// Values counted.
    pub count: f64,
    /// Their sum.
    pub sum: f64,
    /// Upper bounds, ascending, each with how many values are not above it; the one without a
    /// bound is `count`.
    pub below: Vec<(f64, f64)>,
}

/// What a server said at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerSample {
    /// Gauges and counters.
    pub values: BTreeMap<Quantity, f64>,
    /// Histograms, in the first and the last sample of a pass.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<Latency, Buckets>,
}

/// What a card said at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CardSample {
    /// Which of the machine's cards.
    pub index: u32,
    /// Share of the time in which it was at work, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// Watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Clock of its processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Memory in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Counter: joules since its driver was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// Whether this is what a collector in between read last, which may be long ago, and not what
    /// the card itself says now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// What was said at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When the answer was there, on the run's axis.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// How long it took to get the server's answer.
    pub took_us: u64,
    /// What the server said; absent where it was not asked or gave no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSample>,
    /// Why the server's answer is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Why what cards do is missing, one line for each question that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards_missing: Vec<String>,
    /// What the cards said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<CardSample>,
    /// What each of several servers said, in the order of [`Observed::sources`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<SourceSample>,
}

/// What one of several servers said at an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceSample {
    /// How long it took to get its answer.
    pub took_us: u64,
    /// What it said; absent where it gave no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSample>,
    /// Why its answer is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// Everything that was said during a pass. The first sample is from before its first request, the
/// last from after its last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Whether the server was asked.
    pub asks_server: bool,
    /// Processor time of this program that asking took.
    pub cpu_us: u64,
    /// Whether the cards are those that the server uses, because the user named them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cards_named: bool,
    /// The names of the servers that were asked one by one, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// In the order of time.
    pub samples: Vec<Sample>,
}

impl ServerSample {
    /// What several equal servers say together: requests and counters are added up, and the use of memory is
    /// their mean. Histograms with other bounds cannot be added, and are left out.
    pub fn together<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        let (mut servers, mut is_alike) = (0.0, BTreeMap::<Latency, bool>::new());
        for one in all {
            servers += 1.0;
            for (quantity, value) in &one.values {
                *sum.values.entry(*quantity).or_default() += value;
            }
            for (latency, buckets) in &one.histograms {
                let before = sum.histograms.entry(*latency).or_insert_with(|| buckets.empty());
                *is_alike.entry(*latency).or_insert(true) &= before.add(buckets);
            }
        }
        if let Some(mean) = sum.values.get_mut(&Quantity::KvUse) {
            *mean /= servers;
        }
        sum.histograms.retain(|latency, _| is_alike[latency]);
        sum
    }
}

impl Observed {
    /// What one of several servers said, as if nobody else had been asked.
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

    /// Takes in what was said afterwards.
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
    /// The same bounds with nothing counted.
    fn empty(&self) -> Self {
        Self {
            count: 0.0,
            sum: 0.0,
            below: self.below.iter().map(|(bound, _)| (*bound, 0.0)).collect(),
        }
    }

    /// Adds what was counted elsewhere; false where the bounds differ, and nothing is added.
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

    /// What was counted since an earlier state of the same histogram; nothing where it is not one,
    /// because the server started anew.
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

    /// The mean, in seconds.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }

    /// The bounds between which a quantile lies, in seconds; the upper one is infinite above the
    /// last bound.
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
