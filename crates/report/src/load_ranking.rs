//! States in one sentence for each cell and tier which of several servers sustains more load.

use std::fmt::Write as _;

use inferometer_analysis::load_ranking::{LoadRanking, RankedServer, SustainedLoad};
use inferometer_model::Change;
use inferometer_model::digits::{Decimals, with_unit};

use crate::significant;

/// If the ratio of two estimates differs from 1 by less than this, they count as equal: they differ only by rounding.
const EQUAL_WITHIN: f64 = 1e-9;

/// One sentence: the server with the highest load, by how much it is ahead of each other server, and the servers
/// without an answer. Absent if there are fewer than two servers.
pub(crate) fn sentence(ranking: &LoadRanking) -> Option<String> {
    let LoadRanking { cell, servers, unknown, .. } = ranking;
    if servers.len() + unknown.len() < 2 {
        return None;
    }
    let what = match &ranking.objectives {
        Some(objectives) => format!("with {objectives}"),
        None => "at saturation".to_owned(),
    };
    let mut open: String = servers.iter().filter_map(unanswered).collect();
    if !unknown.is_empty() {
        let what = match ranking.objectives {
            Some(_) => "no load is known to meet the objectives",
            None => "no saturation was found",
        };
        let _ = write!(open, "; {what} on {}", unknown.join(", "));
    }
    let confidence = significant(ranking.confidence * 100.0);
    let (best, others) = match servers.as_slice() {
        [] => return Some(format!("{cell}, {what}: no answer{open}.")),
        [only] => {
            let load = known(ranking.over.unit(), &only.load, &confidence);
            return Some(format!("{cell}, {what}: {} sustains {load}{open}.", only.name));
        }
        [best, others @ ..] => (best, others),
    };
    let apart = |other: &RankedServer| best.load.relative_to(&other.load);
    let clear = |other: &&RankedServer| apart(other).low.is_some_and(|low| low > 1.0);
    let alike: Vec<&RankedServer> = others.iter().filter(|other| !clear(other)).collect();
    let first = match alike.as_slice() {
        [] if others.len() == 1 => {
            format!("{} sustains more load than {}", best.name, others[0].name)
        }
        [] => format!("{} sustains the most load", best.name),
        alike => {
            let equal = |other: &&&RankedServer| (apart(other).value - 1.0).abs() < EQUAL_WITHIN;
            let equal: Vec<&RankedServer> = alike.iter().filter(equal).copied().collect();
            let estimate = match equal.len() {
                0 => format!("{} has the highest estimate", best.name),
                count if count == alike.len() => "their estimates are equal".to_owned(),
                _ => format!("{} and {} have the highest estimate", best.name, names(&equal)),
            };
            format!("no clear difference between {} and {}; {estimate}", best.name, names(alike))
        }
    };
    let each = others.iter().map(|other| {
        let ratio = apart(other);
        let change = Change(ratio.value);
        let interval = match (ratio.low, ratio.high) {
            (Some(low), Some(high)) => {
                format!("{confidence} % interval {}", change.interval([low, high], 1))
            }
            (Some(low), None) => {
                format!("{confidence} % interval {} or more", Change(low).signed(1))
            }
            (None, Some(high)) => {
                format!("{confidence} % interval {} or less", Change(high).signed(1))
            }
            (None, None) => "no interval".to_owned(),
        };
        format!(
            "{} ({interval}) {} {} with {}",
            change.words(),
            change.than(),
            other.name,
            known(ranking.over.unit(), &other.load, &confidence)
        )
    });
    let each: Vec<String> = each.collect();
    Some(format!(
        "{cell}, {what}: {first}: {}, {}{open}.",
        known(ranking.over.unit(), &best.load, &confidence),
        each.join("; ")
    ))
}

fn names(servers: &[&RankedServer]) -> String {
    servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// How many rounds of a server have no answer, as a part of a sentence: `; 1 of 3 rounds of slow has no answer: the
/// load of slow comes from the other rounds`. Absent if all rounds have an answer.
fn unanswered(server: &RankedServer) -> Option<String> {
    let RankedServer { name, rounds, unanswered, .. } = server;
    let has = if *unanswered == 1 { "has" } else { "have" };
    (*unanswered > 0).then(|| {
        format!(
            "; {unanswered} of {rounds} rounds of {name} {has} no answer: the load of {name} comes \
             from the other rounds"
        )
    })
}

/// A load with its unit and its interval: `27.9 requests/s (95 % interval: 26.8 to 29.1)`.
pub(crate) fn known(unit: &str, load: &SustainedLoad, confidence: &str) -> String {
    let ends: Vec<f64> = [Some(load.value), load.low, load.high].into_iter().flatten().collect();
    let digits = Decimals::of(&ends);
    let text = with_unit(&digits.text(load.value), unit);
    match (load.low, load.high) {
        (Some(low), Some(high)) => {
            format!("{text} ({confidence} % interval: {})", digits.interval([low, high]))
        }
        (Some(low), None) => {
            format!("{text} ({confidence} % interval: {} or more)", digits.text(low))
        }
        (None, Some(high)) => {
            format!("{text} ({confidence} % interval: {} or less)", digits.text(high))
        }
        (None, None) => format!("{text} (no interval)"),
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::cell::CellPlan;
    use inferometer_plan::search::Over;

    use super::*;

    fn ranking(loads: &[(&str, [f64; 3])], objectives: Option<&str>) -> LoadRanking {
        let load = |[value, low, high]: [f64; 3]| SustainedLoad {
            value,
            low: Some(low).filter(|low| *low > 0.0),
            high: Some(high).filter(|high| high.is_finite()),
        };
        LoadRanking {
            cell: CellPlan { input_length: 512, output_length: 128 },
            objectives: objectives.map(str::to_owned),
            over: Over::Rate,
            confidence: 0.95,
            servers: loads
                .iter()
                .map(|(name, ends)| RankedServer {
                    name: (*name).to_owned(),
                    load: load(*ends),
                    rounds: 3,
                    unanswered: 0,
                })
                .collect(),
            unknown: Vec::new(),
        }
    }

    #[test]
    fn one_sentence_states_which_server_sustains_more_load_and_the_difference_with_its_interval() {
        let (fast, slow) = (("fast", [27.9, 26.8, 29.1]), ("slow", [20.1, 19.5, 20.7]));
        let near = ("near", [27.0, 26.0, 28.0]);
        let first = "512 x 128, with ttft_p95<500ms: ";
        for (loads, objectives, text) in [
            (
                vec![fast, slow],
                Some("ttft_p95<500ms"),
                format!(
                    "{first}fast sustains more load than slow: 27.9 requests/s (95 % interval: 26.8 to 29.1), 38.8 \
                     % higher (95 % interval +32.1 to +46.2 %) than slow with 20.1 requests/s (95 % interval: 19.5 \
                     to 20.7)."
                ),
            ),
            (
                vec![fast, near],
                None,
                "512 x 128, at saturation: no clear difference between fast and near; fast has the highest \
                 estimate: 27.9 requests/s (95 % interval: 26.8 to 29.1), 3.3 % higher (95 % interval \
                 -2.1 to +9.3 %) than near with 27 requests/s (95 % interval: 26 to 28)."
                    .to_owned(),
            ),
            (
                vec![("fast", [270.0, 260.0, f64::INFINITY]), slow],
                None,
                "512 x 128, at saturation: fast sustains more load than slow: 270 requests/s (95 % interval: 260 or \
                 more), 13.4 times as high (95 % interval 12.8 times or more) as slow with 20.1 requests/s (95 % \
                 interval: 19.5 to 20.7)."
                    .to_owned(),
            ),
            (
                vec![("fast", [27.9, 0.0, 29.1]), slow],
                None,
                "512 x 128, at saturation: no clear difference between fast and slow; fast has the highest estimate: \
                 27.9 requests/s (95 % interval: 29.1 or less), 38.8 % higher (95 % interval +46.2 % or less) than \
                 slow with 20.1 requests/s (95 % interval: 19.5 to 20.7)."
                    .to_owned(),
            ),
        ] {
            assert_eq!(sentence(&ranking(&loads, objectives)), Some(text));
        }
    }

    #[test]
    fn a_server_without_an_answer_is_named() {
        let mut ranking = ranking(&[("fast", [1.0, 0.9, 1.1])], Some("ttft_p95<500ms"));
        ranking.unknown.push("slow".to_owned());
        let text = sentence(&ranking).unwrap();
        assert!(
            text.contains("fast sustains 1.00 requests/s (95 % interval: 0.90 to 1.10)"),
            "{text}"
        );
        assert!(text.ends_with("no load is known to meet the objectives on slow."), "{text}");
        ranking.unknown.clear();
        assert_eq!(sentence(&ranking), None, "a single server is not compared");
    }
    #[test]
    fn equal_estimates_are_not_ordered() {
        let (one, two) = (("one", [100.0, 90.0, 110.0]), ("two", [100.0, 90.0, 110.0]));
        let low = ("low", [98.0, 90.0, 110.0]);
        let text = sentence(&ranking(&[one, two], None)).unwrap();
        assert!(
            text.contains(
                "no clear difference between one and two; their estimates are equal: 100"
            ),
            "{text}"
        );
        let text = sentence(&ranking(&[one, two, low], None)).unwrap();
        assert!(text.contains("between one and two, low; one and two have the highest"), "{text}");
    }

    #[test]
    fn a_server_with_rounds_without_an_answer_is_ranked_and_their_number_is_given() {
        let loads = [("fast", [27.9, 26.8, 29.1]), ("slow", [20.1, 19.5, 20.7])];
        let mut ranking = ranking(&loads, Some("ttft_p95<500ms"));
        ranking.servers[1].unanswered = 1;
        let text = sentence(&ranking).unwrap();
        assert!(text.contains("fast sustains more load than slow"), "{text}");
        let words =
            "; 1 of 3 rounds of slow has no answer: the load of slow comes from the other rounds.";
        assert!(text.ends_with(words), "{text}");
    }
}
