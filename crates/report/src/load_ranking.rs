//! Which of several servers bears more load, in one sentence for each cell and tier.

use inferometer_analysis::load_ranking::{BorneLoad, LoadRanking};
use inferometer_model::change::Change;
use inferometer_model::digits::{Decimals, with_unit};

use crate::number::significant;

/// One sentence: the server with the highest load, and by how much it is ahead of each other server. Absent if there
/// are fewer than two servers.
pub(crate) fn sentence(ranking: &LoadRanking) -> Option<String> {
    let LoadRanking { cell, servers, unknown, .. } = ranking;
    if servers.len() + unknown.len() < 2 {
        return None;
    }
    let what = match &ranking.objectives {
        Some(objectives) => format!("with {objectives}"),
        None => "at saturation".to_owned(),
    };
    let open = match (ranking.objectives.is_some(), unknown.as_slice()) {
        (_, []) => String::new(),
        (true, servers) => {
            format!("; no load is known to meet the objectives on {}", servers.join(", "))
        }
        (false, servers) => format!("; no saturation was found on {}", servers.join(", ")),
    };
    let confidence = significant(ranking.confidence * 100.0);
    let (best, others) = match servers.as_slice() {
        [] => return Some(format!("{cell}, {what}: no answer{open}.")),
        [(only, load)] => {
            let load = known(ranking, load, &confidence);
            return Some(format!("{cell}, {what}: {only} bears {load}{open}."));
        }
        [best, others @ ..] => (best, others),
    };
    let apart = |(_, load): &(String, BorneLoad)| best.1.relative_to(load);
    let clear = |other: &&(String, BorneLoad)| apart(other).low.is_some_and(|low| low > 1.0);
    let alike: Vec<&str> =
        others.iter().filter(|other| !clear(other)).map(|other| other.0.as_str()).collect();
    let first = match alike.as_slice() {
        [] if others.len() == 1 => format!("{} bears more load than {}", best.0, others[0].0),
        [] => format!("{} bears the most load", best.0),
        alike => format!(
            "no clear difference between {} and {}; {} has the highest estimate",
            best.0,
            alike.join(", "),
            best.0
        ),
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
            (None, _) => "no interval".to_owned(),
        };
        format!(
            "{} ({interval}) {} {} with {}",
            change.words(),
            change.than(),
            other.0,
            known(ranking, &other.1, &confidence)
        )
    });
    let each: Vec<String> = each.collect();
    Some(format!(
        "{cell}, {what}: {first}: {}, {}{open}.",
        known(ranking, &best.1, &confidence),
        each.join("; ")
    ))
}

/// A load with its unit and its interval: `27.9 requests/s (95 % interval: 26.8 to 29.1)`.
fn known(ranking: &LoadRanking, load: &BorneLoad, confidence: &str) -> String {
    let ends: Vec<f64> = [Some(load.value), load.low, load.high].into_iter().flatten().collect();
    let digits = Decimals::of(&ends);
    let text = with_unit(&digits.text(load.value), ranking.over.unit());
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
        let load = |[value, low, high]: [f64; 3]| BorneLoad {
            value,
            low: Some(low),
            high: Some(high).filter(|high| high.is_finite()),
        };
        LoadRanking {
            cell: CellPlan { input_length: 512, output_length: 128 },
            objectives: objectives.map(str::to_owned),
            over: Over::Rate,
            confidence: 0.95,
            servers: loads.iter().map(|(name, ends)| ((*name).to_owned(), load(*ends))).collect(),
            unknown: Vec::new(),
        }
    }

    #[test]
    fn one_sentence_says_which_server_bears_more_load_by_how_much_with_the_interval() {
        let (fast, slow) = (("fast", [27.9, 26.8, 29.1]), ("slow", [20.1, 19.5, 20.7]));
        let near = ("near", [27.0, 26.0, 28.0]);
        let first = "512 x 128, with ttft_p95<500ms: ";
        for (loads, objectives, text) in [
            (
                vec![fast, slow],
                Some("ttft_p95<500ms"),
                format!(
                    "{first}fast bears more load than slow: 27.9 requests/s (95 % interval: 26.8 to 29.1), \
                     38.8 % higher (95 % interval +32.1 to +46.2 %) than slow with 20.1 requests/s \
                     (95 % interval: 19.5 to 20.7)."
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
                "512 x 128, at saturation: fast bears more load than slow: 270 requests/s (95 % interval: 260 \
                 or more), 13.4 times as high (95 % interval 12.8 times or more) as slow with 20.1 requests/s \
                 (95 % interval: 19.5 to 20.7)."
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
            text.contains("fast bears 1.00 requests/s (95 % interval: 0.90 to 1.10)"),
            "{text}"
        );
        assert!(text.ends_with("no load is known to meet the objectives on slow."), "{text}");
        ranking.unknown.clear();
        assert_eq!(sentence(&ranking), None, "a single server is not compared");
    }
}
