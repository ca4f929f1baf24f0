//! Determines which of several servers is best in each figure, and how far the others are behind it. The differences
//! and their intervals come from [`mod@crate::compare`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compare::{Options, Row, Subject, compare};

/// The figures that are ranked, in the order of the rankings.
pub const FIGURES: [&str; 8] = [
    "requests_per_s", "output_tokens_per_s", "ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99",
    "e2e_p50", "e2e_p99",
];

/// The servers ranked by one figure at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// The cell and the load, such as `128 x 32, closed loop, 8 in flight`.
    pub place: String,
    /// The figure, such as `ttft_p99`.
    pub figure: String,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// The server with the best mean over its runs.
    pub best: String,
    /// The mean of the best server, in the figure's unit.
    pub value: f64,
    /// The other servers, in the order of their means, the best first.
    pub others: Vec<RankedServer>,
}

/// A server that is not the best one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedServer {
    /// The name of the server.
    pub name: String,
    /// The mean of this server, in the figure's unit.
    pub value: f64,
    /// The figure of the best server divided by the figure of this one.
    pub ratio: f64,
    /// 95 % interval of the ratio; absent with fewer than three runs of a server or three rounds, and for predictions.
    pub ratio_ci: Option<[f64; 2]>,
    /// Whether the interval excludes 1. For two predictions: whether they come from different profiles and their ranges
    /// do not overlap.
    #[serde(rename = "told_apart")]
    pub is_significant: bool,
    /// How reliable the ratio of two predictions is; absent for measured figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<PredictedRatio>,
}

/// How reliable the ratio of two predictions is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredictedRatio {
    /// Whether both predictions come from one profile, for one model on one card, so that they differ only in arguments
    /// of the engine. Their errors are then partly the same, so the error of the ratio is unknown.
    pub same_profile: bool,
    /// Whether one of the predictions is uncalibrated, so that its range is only a guess.
    pub uncalibrated: bool,
}

/// The rankings of all figures at all loads that every server has. Empty for a single server.
pub fn rankings(servers: &[Subject]) -> Vec<Ranking> {
    let [first, _, ..] = servers else { return Vec::new() };
    // The rows that compare a server with each of the servers; computed when this server is the best in a figure.
    let mut beside: BTreeMap<usize, Vec<Vec<Row>>> = BTreeMap::new();
    let mut found = Vec::new();
    for figure in FIGURES {
        for series in first.series.iter().filter(|one| one.figure == figure && one.cell.is_some()) {
            let mean_of = |server: &Subject| {
                let own = server.series.iter().find(|own| own.is_same_figure(series))?;
                Some(own.values.iter().sum::<f64>() / own.values.len() as f64)
            };
            let means: Option<Vec<f64>> = servers.iter().map(mean_of).collect();
            let Some(means) = means else { continue };
            let sign = if series.higher_is_better { -1.0 } else { 1.0 };
            let mut order: Vec<usize> = (0..servers.len()).collect();
            order.sort_by(|&a, &b| (sign * means[a]).total_cmp(&(sign * means[b])));
            let best = order.remove(0);
            let beside = beside.entry(best).or_insert_with(|| {
                servers.iter().map(|other| rows(&servers[best], other)).collect()
            });
            let is_same = |row: &&Row| {
                (row.cell, &row.load, &row.figure) == (series.cell, &series.load, &series.figure)
            };
            let row = |at: usize| beside[at].iter().find(is_same);
            let place = order.iter().find_map(|&at| Some(row(at)?.place()));
            let others = order.iter().map(|&at| Some(behind(&servers[at].name, row(at)?)));
            // If one server cannot be compared, the figure is not ranked.
            let others = others.collect::<Option<Vec<RankedServer>>>();
            let Some((place, others)) = place.zip(others) else { continue };
            found.push(Ranking {
                place,
                figure: figure.to_owned(),
                higher_is_better: series.higher_is_better,
                best: servers[best].name.clone(),
                value: means[best],
                others,
            });
        }
    }
    found
}

/// The rows that compare one server with another; empty if the two cannot be compared.
fn rows(best: &Subject, other: &Subject) -> Vec<Row> {
    compare(best, other, Options::default()).map_or_else(|_| Vec::new(), |found| found.rows)
}

/// Describes how far a server is behind the best server. In `row`, the best server is the baseline, and this server is
/// the contender.
fn behind(name: &str, row: &Row) -> RankedServer {
    // A change of -20 % is a ratio of 1 / 0.8.
    let ratio = |change_pct: f64| 1.0 / (1.0 + change_pct / 100.0);
    RankedServer {
        name: name.to_owned(),
        value: row.contender,
        ratio: ratio(row.difference_pct),
        ratio_ci: row.interval_pct.map(|[low, high]| [ratio(high), ratio(low)]),
        is_significant: row.interval_pct.is_some_and(|[low, high]| low > 0.0 || high < 0.0),
        predicted: None,
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::cell::CellPlan;

    use super::*;
    use crate::compare::Series;

    /// A server with these figures in its rounds. The first round is at `from_s` seconds; later rounds follow every
    /// 100 s.
    fn server(name: &str, from_s: f64, rates: &[f64], ttft_p99: &[f64]) -> Subject {
        let series = |figure: &str, higher_is_better, values: &[f64]| Series {
            cell: Some(CellPlan { input_length: 64, output_length: 16 }),
            load: "closed loop, 8 in flight".to_owned(),
            figure: figure.to_owned(),
            higher_is_better,
            values: values.to_vec(),
            times_s: (0..values.len()).map(|round| from_s + 100.0 * round as f64).collect(),
        };
        let both = [series("requests_per_s", true, rates), series("ttft_p99", false, ttft_p99)];
        Subject::of_series(name, both.to_vec())
    }

    #[test]
    fn servers_are_ranked_for_each_figure_from_the_best_to_the_worst() {
        let servers = [
            server(
                "a",
                0.0,
                &[10.0, 10.1, 9.9, 10.0, 10.1, 9.9],
                &[50.0, 51.0, 49.0, 50.0, 51.0, 49.0],
            ),
            server(
                "b",
                30.0,
                &[20.0, 20.2, 19.8, 20.0, 20.2, 19.8],
                &[80.0, 81.0, 79.0, 80.0, 81.0, 79.0],
            ),
            server(
                "c",
                60.0,
                &[19.9, 20.3, 19.7, 20.1, 20.0, 19.9],
                &[99.0, 98.0, 97.0, 99.0, 98.0, 97.0],
            ),
        ];
        let found = rankings(&servers);
        assert_eq!(found.len(), 2);
        let [rate, ttft] = [&found[0], &found[1]];
        assert_eq!((rate.figure.as_str(), rate.best.as_str()), ("requests_per_s", "b"));
        assert_eq!(rate.place, "64 x 16, closed loop, 8 in flight");
        let names: Vec<&str> = rate.others.iter().map(|other| other.name.as_str()).collect();
        assert_eq!(names, ["c", "a"]);
        let [c, a] = [&rate.others[0], &rate.others[1]];
        assert!(!c.is_significant, "within chance: {c:?}");
        assert!(a.is_significant && (a.ratio - 2.0).abs() < 0.02, "{a:?}");
        let [low, high] = a.ratio_ci.unwrap();
        assert!(low > 1.9 && low < a.ratio && a.ratio < high && high < 2.1, "{a:?}");
        // For a latency the best value is the lowest, and the ratio is below one.
        assert_eq!((ttft.best.as_str(), ttft.others[0].name.as_str()), ("a", "b"));
        assert!((ttft.others[0].ratio - 50.0 / 80.0).abs() < 0.01, "{ttft:?}");
    }

    #[test]
    fn a_ranking_needs_two_servers_that_both_have_the_figure() {
        let a = server("a", 0.0, &[1.0; 3], &[1.0; 3]);
        let mut b = server("b", 50.0, &[2.0; 3], &[2.0; 3]);
        b.series.remove(1);
        let figures = |servers: &[Subject]| -> Vec<String> {
            rankings(servers).into_iter().map(|one| one.figure).collect()
        };
        assert_eq!(figures(&[a.clone(), b]), ["requests_per_s"]);
        assert!(figures(&[a]).is_empty());
    }
}
