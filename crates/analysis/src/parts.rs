//! Computes the figures of a pass by server and by rank. Finds servers and ranks whose means differ from those of the
//! whole pass by more than chance explains.

use std::collections::BTreeMap;

use inferometer_model::metrics::{e2e, tpot, ttft};
use inferometer_model::stats::{Distribution, normal_quantile_above};
use inferometer_model::{Definition, Timeline};
use serde::{Deserialize, Serialize};

use crate::part::{PartFigures, PartFold};
use crate::{Distributions, interval::Layout};

/// The figures of the requests to one of several servers within a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerFigures {
    /// The name of the server, such as its address.
    pub server: String,
    /// The figures of its requests.
    #[serde(flatten)]
    pub figures: PartFigures,
}

/// The figures of the requests of one rank within a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankFigures {
    /// The number of the rank, from 0.
    pub rank: u32,
    /// The figures of its requests.
    #[serde(flatten)]
    pub figures: PartFigures,
}

/// The largest number of differing ranks in results.
const MOST_RANKS: usize = 16;
/// The largest probability that a difference is reported in a pass whose parts are equal.
const WRONG: f64 = 0.01;
/// The metrics whose means are compared.
const COMPARED: [&Definition; 3] = [&ttft::FROM_SENT, &tpot::DEFINITION, &e2e::FROM_SENT];

/// Collects the records of a pass by server and by rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartsFold {
    servers: BTreeMap<u32, PartFold>,
    ranks: BTreeMap<u32, PartFold>,
}

impl PartsFold {
    /// Adds a record. A record of the only server, or of the only process, has no number and is skipped: the figures of
    /// the whole pass contain it.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>, place: Option<u32>) {
        let of =
            [(&mut self.servers, timeline.record.server), (&mut self.ranks, timeline.record.rank)];
        for (parts, number) in of {
            if let Some(number) = number {
                parts.entry(number).or_default().add(timeline, place);
            }
        }
    }

    /// Computes the figures of each server, and of at most [`MOST_RANKS`] ranks that differ from the whole.
    pub(crate) fn finish(
        self,
        names: &[String],
        whole: &Distributions,
        layout: Option<&Layout>,
    ) -> (Vec<ServerFigures>, Vec<RankFigures>) {
        let name = |number: u32| {
            let known = names.get(number as usize).cloned();
            known.unwrap_or_else(|| format!("server {}", u64::from(number) + 1))
        };
        let server = |(number, fold): (u32, PartFold)| ServerFigures {
            server: name(number),
            figures: fold.finish(layout),
        };
        let servers = self.servers.into_iter().map(server).collect();
        let parts = self.ranks.len();
        let rank =
            |(rank, fold): (u32, PartFold)| RankFigures { rank, figures: fold.finish(layout) };
        let ranks = self.ranks.into_iter().map(rank);
        let differ =
            |one: &RankFigures| differences(&one.figures.latencies, whole, parts).next().is_some();
        (servers, ranks.filter(differ).take(MOST_RANKS).collect())
    }
}

/// The mean of a metric over a part, if it differs from the mean over the whole.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// The metric.
    pub metric: &'static Definition,
    /// The mean of the part, in the metric's unit.
    pub of_part: f64,
    /// The mean of the whole, in the metric's unit.
    pub of_whole: f64,
}

/// The means of a part that differ from the means of the whole by more than chance explains. If all `parts` parts are
/// equal, the probability of any difference in a pass is at most 0.01. A mean without a confidence interval never
/// differs.
pub fn differences(
    part: &Distributions,
    whole: &Distributions,
    parts: usize,
) -> impl Iterator<Item = Difference> {
    let tries = (parts.max(1) * COMPARED.len()) as f64;
    let farthest = normal_quantile_above(WRONG / 2.0 / tries);
    let usual = normal_quantile_above(0.025);
    COMPARED.into_iter().filter_map(move |metric| {
        let (of_part, of_whole) = (part.get(metric)?, whole.get(metric)?);
        let half = |of: &Distribution| of.mean_ci.map(|[low, high]| (high - low) / 2.0);
        // The error is that of two independent means. The part is contained in the whole, so the true error is smaller.
        let error = (half(of_part)?.powi(2) + half(of_whole)?.powi(2)).sqrt() / usual;
        let (of_part, of_whole) = (of_part.mean, of_whole.mean);
        ((of_part - of_whole).abs() > farthest * error).then_some(Difference {
            metric,
            of_part,
            of_whole,
        })
    })
}

#[cfg(test)]
mod tests;
