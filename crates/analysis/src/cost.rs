//! What the passes of a run cost, as stored in results. These are types; the module `billing` computes them.

use inferometer_model::stats;
use serde::{Deserialize, Serialize};

/// The price at which the results of a run are billed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bill {
    /// The price as the user wrote it, such as `2.5/gpu-hour, quote of 2026-11-02`.
    pub price: String,
    /// What the whole server costs per hour, in dollars. Absent if the price or the number of GPUs is not known.
    pub usd_per_hour: Option<f64>,
    /// The number of GPUs that are paid; absent if the price is that of the whole server, or if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// From what the number of GPUs is known; absent as that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus_from: Option<String>,
    /// How the bill is split into input and output tokens, in words.
    pub split: String,
}

/// What a pass costs, in dollars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassCost {
    /// The bill of the pass.
    pub total: f64,
    /// Per million prompt and output tokens of the completed requests.
    pub per_million_tokens: Option<Money>,
    /// The share of the prompt tokens, per million of them; absent if the output tokens pay everything.
    pub per_million_input_tokens: Option<Money>,
    /// The share of the output tokens, per million of them.
    pub per_million_output_tokens: Option<Money>,
    /// Per completed request.
    pub per_request: Option<Money>,
    /// Per completed job or conversation; absent if requests belong to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_job: Option<Money>,
    /// Per million prompt and output tokens of the requests that met every objective on requests; absent without such
    /// objectives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_million_tokens_within: Option<Money>,
    /// Per request that met every objective on requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_request_within: Option<Money>,
}

/// An amount in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Money {
    /// The amount.
    pub usd: f64,
    /// Its 95 % interval; absent if the rate below the line has none. Of a prediction: the range in which nine of ten
    /// measurements are expected.
    pub ci: Option<[f64; 2]>,
}

/// A cost that comparisons have: its name, and its amount.
pub type NamedCost = (&'static str, fn(&PassCost) -> Option<Money>);

/// The costs that comparisons have.
pub static COMPARED: [NamedCost; 4] = [
    ("cost_per_million_tokens", |cost| cost.per_million_tokens),
    ("cost_per_request", |cost| cost.per_request),
    ("cost_per_job", |cost| cost.per_job),
    ("cost_per_million_tokens_within", |cost| cost.per_million_tokens_within),
];

/// A rate per second, with its interval.
pub(crate) type Rate = (f64, Option<[f64; 2]>);

impl Money {
    /// `usd_per_s` / the rate.
    pub(crate) fn per(usd_per_s: f64, (rate, ci): Rate) -> Option<Self> {
        let over = |rate: f64| usd_per_s / rate;
        let ci = ci.filter(|[low, _]| *low > 0.0).map(|[low, high]| [over(high), over(low)]);
        (rate > 0.0).then(|| Self { usd: over(rate), ci })
    }

    /// The cost over several repeats, from the mean of their rates; the interval is that of this mean. `None` without
    /// repeats.
    pub fn over_repeats(all: &[Self]) -> Option<Self> {
        let rates: Vec<f64> = all.iter().map(|one| 1.0 / one.usd).collect();
        match all {
            [one] => Some(*one),
            _ => stats::spread(&rates).and_then(|spread| Self::per(1.0, (spread.mean, spread.ci))),
        }
    }

    pub(crate) fn times(self, factor: f64) -> Self {
        Self { usd: self.usd * factor, ci: self.ci.map(|ends| ends.map(|end| end * factor)) }
    }
}
