//! Which server is best, as one sentence for each load and as a table.

use inferometer_analysis::ranking::{PredictedRatio, RankedServer, Ranking};
use inferometer_model::{Change, digits::Decimals};

use crate::{Table, left, right, significant};

/// One sentence for each load. It states which server is best in which figures, how far it is ahead of the second best,
/// and in which figures no server is clearly the best. For predictions by one profile, it states only the differences.
pub(crate) fn answers(rankings: &[Ranking]) -> Vec<String> {
    let mut places: Vec<&str> = Vec::new();
    for ranking in rankings {
        if !places.contains(&ranking.place.as_str()) {
            places.push(&ranking.place);
        }
    }
    let of_place = |place: &&str| {
        let own: Vec<&Ranking> = rankings.iter().filter(|one| one.place == *place).collect();
        format!("{place}: {}", answer(&own))
    };
    places.iter().map(of_place).collect()
}

fn answer(rankings: &[&Ranking]) -> String {
    let mut winners: Vec<(&str, Vec<String>)> = Vec::new();
    let mut differences: Vec<([&str; 2], Vec<String>)> = Vec::new();
    let mut open = Vec::new();
    let predicted = || rankings.iter().flat_map(|one| &one.others).filter_map(|it| it.predicted);
    for ranking in rankings {
        let Some(second) = ranking.others.first() else { continue };
        if second.predicted.is_some_and(|predicted| predicted.same_profile) {
            let pair = [ranking.best.as_str(), second.name.as_str()];
            let is_pair = |[a, b]: [&str; 2]| [a, b] == pair || [b, a] == pair;
            let at = differences.iter().position(|(known, _)| is_pair(*known));
            let at = at.unwrap_or_else(|| {
                differences.push((pair, Vec::new()));
                differences.len() - 1
            });
            let (known, texts) = &mut differences[at];
            let change = Change(if *known == pair { second.ratio } else { 1.0 / second.ratio });
            texts.push(format!("{} {}", name(&ranking.figure), change.words()));
            continue;
        }
        let alike = ranking.others.iter().filter(|other| !other.is_significant);
        let alike: Vec<&str> = alike.map(|other| other.name.as_str()).collect();
        if !alike.is_empty() {
            let figure = name(&ranking.figure);
            open.push(match alike.len() == ranking.others.len() {
                true => figure,
                false => format!("{figure} ({}, {})", ranking.best, alike.join(", ")),
            });
            continue;
        }
        let lead = format!("{} ({})", name(&ranking.figure), before(second));
        match winners.iter_mut().find(|(best, _)| *best == ranking.best) {
            Some((_, leads)) => leads.push(lead),
            None => winners.push((&ranking.best, vec![lead])),
        }
    }
    let mut parts: Vec<String> = winners
        .iter()
        .map(|(best, leads)| format!("{best} is best by {}", leads.join(", ")))
        .collect();
    parts.extend(differences.iter().map(|([one, other], texts)| {
        format!(
            "{one} against {other}: {}; one profile predicts both, so the error of these differences is unknown",
            texts.join(", ")
        )
    }));
    if !open.is_empty() {
        let are_few = rankings.iter().flat_map(|one| &one.others).all(|it| it.ratio_ci.is_none());
        let why = match predicted().next() {
            Some(_) => " (the ranges of the predictions overlap or are not stated)",
            None if are_few => {
                " (this takes at least three runs of each server: `rounds = 3` in the plan)"
            }
            None => "",
        };
        parts.push(format!("no server is clearly the best by {}{why}", open.join(", ")));
    }
    if predicted().any(|predicted| predicted.uncalibrated) {
        parts.push("the predictions are uncalibrated, so their ranges are only guesses".to_owned());
    }
    parts.join("; ")
}

/// Compares the best server with another server, B. The text has the difference and its interval:
/// `60.0 % higher than B, +44.0 to +76.0 %`. A figure of B that is more than twice as high is stated as a factor:
/// `86.3 times as high for B, 84.1 to 88.2 times`.
fn before(other: &RankedServer) -> String {
    let inverse = Change(1.0 / other.ratio);
    let (change, ends, link) = match inverse.is_factor() {
        true => (inverse, other.ratio_ci.map(|[low, high]| [1.0 / high, 1.0 / low]), "for"),
        false => (Change(other.ratio), other.ratio_ci, Change(other.ratio).than()),
    };
    let interval = ends.map_or(String::new(), |ends| format!(", {}", change.interval(ends, 1)));
    format!("{} {link} {}{interval}", change.words(), other.name)
}

/// A row for each figure at each load.
pub(crate) fn table(rankings: &[Ranking]) -> Table {
    let is_predicted = |other: &RankedServer| other.predicted.is_some();
    let best = match rankings.iter().flat_map(|one| &one.others).any(is_predicted) {
        true => "Best prediction",
        false => "Best",
    };
    Table::of(rankings.iter().map(|ranking| {
        let other = |other: &RankedServer| {
            let ends = other.ratio_ci.unwrap_or([other.ratio; 2]);
            let digits = Decimals::of(&[other.ratio, ends[0], ends[1]]);
            let interval =
                other.ratio_ci.map_or(String::new(), |ends| format!(", {}", digits.interval(ends)));
            let apart = match other.predicted {
                _ if other.is_significant => "",
                Some(PredictedRatio { same_profile: true, .. }) => "; error unknown",
                Some(_) => "; ranges overlap or are not stated",
                None => "; not distinguishable",
            };
            let (value, ratio) = (significant(other.value), digits.text(other.ratio));
            format!("{} {value} ({ratio}{interval}{apart})", other.name)
        };
        let others = ranking.others.iter().map(other).collect::<Vec<_>>().join("; ");
        [
            left("Load", &ranking.place),
            left("Figure", name(&ranking.figure)),
            left(best, &ranking.best),
            right("Mean", significant(ranking.value)),
            left(
                "The other servers in order, each with its mean and the ratio of the best server to it",
                others,
            ),
        ]
    }))
}

/// A figure as people write it: `TTFT p99`, `requests/s`.
fn name(figure: &str) -> String {
    match figure {
        "requests_per_s" => "requests/s".to_owned(),
        "output_tokens_per_s" => "output tokens/s".to_owned(),
        latency => match latency.split_once('_') {
            Some((metric, statistic)) => format!("{} {statistic}", metric.to_uppercase()),
            None => latency.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(figure: &str, best: &str, ratio: f64, is_significant: bool) -> Ranking {
        let higher_is_better = figure.ends_with("_per_s");
        let ends = [ratio * 0.9, ratio * 1.1];
        let other = if best == "A" { "B" } else { "A" };
        Ranking {
            place: "64 x 16, 8 in flight".to_owned(),
            figure: figure.to_owned(),
            higher_is_better,
            best: best.to_owned(),
            value: 100.0,
            others: vec![RankedServer {
                name: other.to_owned(),
                value: 100.0 / ratio,
                ratio,
                ratio_ci: Some(ends),
                is_significant,
                predicted: None,
            }],
        }
    }

    #[test]
    fn one_sentence_names_the_best_target_by_metric_and_the_undecided_metrics() {
        let rankings = [
            ranking("requests_per_s", "A", 1.6, true),
            ranking("ttft_p99", "B", 0.8, true),
            ranking("tpot_p50", "A", 0.25, true),
            ranking("e2e_p99", "A", 0.99, false),
        ];
        assert_eq!(
            answers(&rankings),
            [
                "64 x 16, 8 in flight: A is best by requests/s (60.0 % higher than B, +44.0 to +76.0 %), \
              TPOT p50 (4 times as high for B, 3.64 to 4.44 times); B is best by TTFT p99 (20.0 % lower \
              than A, -28.0 to -12.0 %); no server is clearly the best by E2E p99"
            ]
        );
        assert_eq!(table(&rankings).rows().len(), 4);
        assert!(table(&rankings).has("B 101 (0.99, 0.89 to 1.09; not distinguishable)"));
    }

    #[test]
    fn predictions_by_one_profile_have_differences_without_a_best_server() {
        let predicted = |ranking: Ranking, same_profile, uncalibrated| {
            let predicted = Some(PredictedRatio { same_profile, uncalibrated });
            let of = |other| RankedServer { predicted, ratio_ci: None, ..other };
            Ranking { others: ranking.others.into_iter().map(of).collect(), ..ranking }
        };
        let by_one = [
            predicted(ranking("requests_per_s", "B", 1.003, false), true, true),
            predicted(ranking("ttft_p99", "A", 0.8, false), true, true),
            predicted(ranking("e2e_p99", "A", 1.0, false), true, true),
        ];
        assert_eq!(
            answers(&by_one),
            [
                "64 x 16, 8 in flight: B against A: requests/s 0.3 % higher, TTFT p99 25.0 % higher, E2E p99 the \
              same; one profile predicts both, so the error of these differences is unknown; the predictions are \
              uncalibrated, so their ranges are only guesses"
            ]
        );
        assert!(table(&by_one).has("A 99.7 (1.00; error unknown)"));
        let by_two = [
            predicted(ranking("requests_per_s", "B", 1.6, true), false, false),
            predicted(ranking("e2e_p99", "B", 0.9, false), false, false),
        ];
        assert_eq!(
            answers(&by_two),
            [
                "64 x 16, 8 in flight: B is best by requests/s (60.0 % higher than A); no server is clearly the best \
              by E2E p99 (the ranges of the predictions overlap or are not stated)"
            ]
        );
    }
}
