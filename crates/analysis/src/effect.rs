//! Estimates the effect of a server argument on a figure, from pairs of runs that differ in that argument. It never
//! compares runs that also differ in another argument.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Cell, cell::CellSpread};
use inferometer_model::stats::{Spread, spread};

/// A run of a sweep over server arguments.
#[derive(Clone, Copy, Debug)]
pub struct SweptRun<'a> {
    /// The swept arguments with their values in this run.
    pub settings: &'a BTreeMap<String, String>,
    /// The round of the run, from 1.
    pub round: u32,
    /// The measured cells.
    pub cells: &'a [Cell],
}

/// A figure of a cell for which effects are computed.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The name of the figure in results.
    pub name: &'static str,
    /// Reads the figure from a cell.
    pub of: fn(&Cell) -> Option<f64>,
}

/// The four figures of the published tables.
pub const FIGURES: [Figure; 4] = [
    Figure { name: "requests_per_s", of: |cell| cell.requests_per_s },
    Figure { name: "output_tokens_per_s", of: |cell| cell.output_tokens_per_s },
    Figure { name: "latency_per_token_ms", of: |cell| cell.latency_per_token_ms },
    Figure { name: "latency_per_output_token_ms", of: |cell| cell.latency_per_output_token_ms },
];

/// The effect of one value of an argument on a figure of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The name of the argument.
    pub argument: String,
    /// The value of the argument.
    pub value: String,
    /// Prompt tokens of the cell.
    pub input_length: u32,
    /// Output tokens of the cell.
    pub output_length: u32,
    /// The name of the figure: [`Figure::name`].
    pub figure: String,
    /// The spread of the figure over all paired runs with this value.
    pub over_runs: Option<Spread>,
    /// The value of the argument in the other run of each pair: the value that was tried first.
    pub baseline: String,
    /// The relative change of the figure compared with the baseline: 0.1 is 10 % more. The change is the geometric mean
    /// over pairs of runs of the same round that differ only in this argument. 0 for the baseline itself. Absent if no
    /// pair has the figure.
    pub change: Option<f64>,
    /// The 95 % confidence interval of `change`, by Student's t over the logarithms of the pairs' ratios. Absent for
    /// the baseline, for one pair, and for predictions. The interval includes the variation between rounds, and the
    /// dependence of the effect on the other arguments.
    pub change_ci: Option<[f64; 2]>,
    /// The number of pairs that have the figure; for the baseline, the number of its runs that have it.
    pub pairs: u64,
    /// The number of repeats in a run with this value; the smallest number, if runs have different numbers. The figure
    /// of a run is the mean over its repeats, so repeats do not count as pairs.
    #[serde(default = "once")]
    pub repeats: u64,
}

/// The number of repeats of a run whose document does not state the number.
fn once() -> u64 {
    1
}

/// Computes the effect of each argument that has several values, on each figure of each cell.
pub fn effects(runs: &[SweptRun<'_>]) -> Vec<Effect> {
    let mut found = Vec::new();
    for argument in arguments(runs) {
        let values = values(runs, argument);
        let Some((baseline, others)) = values.split_first() else { continue };
        if others.is_empty() {
            continue;
        }
        for place in cells(runs) {
            let (input_length, output_length) = place;
            for figure in FIGURES {
                let at = |run: &SweptRun<'_>| {
                    run.cells.iter().find(|cell| lengths(cell) == place).and_then(figure.of)
                };
                // Only runs with a partner count. A partner differs in this argument and in no other.
                let paired: Vec<&SweptRun<'_>> =
                    runs.iter().filter(|run| has_partner(runs, run, argument, baseline)).collect();
                for value in &values {
                    let of_value =
                        |run: &&&SweptRun<'_>| run.settings.get(argument) == Some(*value);
                    let of_value: Vec<&SweptRun<'_>> =
                        paired.iter().filter(of_value).copied().collect();
                    if of_value.is_empty() {
                        continue;
                    }
                    let ratios = log_ratios(runs, argument, value, baseline, &at);
                    let change = spread(&ratios);
                    let repeats = of_value.iter().filter_map(|run| {
                        run.cells.iter().find(|cell| lengths(cell) == place).map(repeats)
                    });
                    let repeats = repeats.min().unwrap_or(1);
                    let figures: Vec<f64> = of_value.into_iter().filter_map(at).collect();
                    let is_baseline = value == baseline;
                    found.push(Effect {
                        argument: argument.clone(),
                        value: (*value).clone(),
                        input_length,
                        output_length,
                        figure: figure.name.to_owned(),
                        over_runs: spread(&figures),
                        baseline: (*baseline).clone(),
                        change: change.map(|change| change.mean.exp_m1()),
                        change_ci: change
                            .filter(|_| !is_baseline)
                            .and_then(|change| change.ci)
                            .map(|ends| ends.map(f64::exp_m1)),
                        pairs: ratios.len() as u64,
                        repeats,
                    });
                }
            }
        }
    }
    found
}

/// Whether another run of the same round differs only in this argument, and exactly one of the two runs has the
/// baseline value.
fn has_partner(runs: &[SweptRun<'_>], run: &SweptRun<'_>, argument: &str, baseline: &str) -> bool {
    let value = |run: &SweptRun<'_>| run.settings.get(argument).cloned();
    let rest = |run: &SweptRun<'_>| {
        let mut rest = run.settings.clone();
        rest.remove(argument);
        rest
    };
    let is_baseline = |run: &SweptRun<'_>| value(run).as_deref() == Some(baseline);
    value(run).is_some()
        && runs.iter().any(|other| {
            other.round == run.round
                && is_baseline(other) != is_baseline(run)
                && value(other).is_some()
                && rest(other) == rest(run)
        })
}

/// The logarithms of the ratios `value` / `baseline` of a figure, for pairs of runs of the same round that differ only
/// in this argument.
fn log_ratios(
    runs: &[SweptRun<'_>],
    argument: &str,
    value: &str,
    baseline: &str,
    at: &impl Fn(&SweptRun<'_>) -> Option<f64>,
) -> Vec<f64> {
    let without = |run: &SweptRun<'_>| {
        let mut others = run.settings.clone();
        (others.remove(argument), others)
    };
    runs.iter()
        .filter_map(|run| {
            let (own, others) = without(run);
            let is_partner = |other: &&SweptRun<'_>| {
                let (its, rest) = without(other);
                other.round == run.round && its.as_deref() == Some(baseline) && rest == others
            };
            let partner = runs.iter().find(is_partner).filter(|_| own.as_deref() == Some(value))?;
            let ratio = (at(run)? / at(partner)?).ln();
            ratio.is_finite().then_some(ratio)
        })
        .collect()
}

/// The names of all arguments, sorted.
fn arguments<'a>(runs: &[SweptRun<'a>]) -> Vec<&'a String> {
    let mut all: Vec<&String> = runs.iter().flat_map(|run| run.settings.keys()).collect();
    all.sort();
    all.dedup();
    all
}

/// The different values of an argument, in the order in which they were tried.
fn values<'a>(runs: &[SweptRun<'a>], argument: &str) -> Vec<&'a String> {
    let mut all: Vec<&String> = Vec::new();
    for value in runs.iter().filter_map(|run| run.settings.get(argument)) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// The lengths of all cells, in the order in which they first occur.
fn cells(runs: &[SweptRun<'_>]) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = Vec::new();
    for cell in runs.iter().flat_map(|run| run.cells) {
        if !all.contains(&lengths(cell)) {
            all.push(lengths(cell));
        }
    }
    all
}

fn lengths(cell: &Cell) -> (u32, u32) {
    (cell.input_length, cell.output_length)
}

/// The number of repeats over which the figures of a cell are means. A cell that has only the load one_by_one has no
/// throughput, so its latencies state the number.
fn repeats(cell: &Cell) -> u64 {
    let of_any = |all: CellSpread| {
        all.requests_per_s.or(all.latency_per_output_token_ms).or(all.latency_per_token_ms)
    };
    cell.over_repeats.and_then(of_any).map_or(1, |spread| spread.n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(requests_per_s: f64) -> Vec<Cell> {
        vec![Cell {
            input_length: 64,
            output_length: 16,
            requests_per_s: Some(requests_per_s),
            output_tokens_per_s: None,
            latency_per_token_ms: None,
            latency_per_output_token_ms: None,
            figures: Default::default(),
            over_repeats: None,
            passes: Vec::new(),
            prediction: Default::default(),
        }]
    }

    fn settings(a: &str, b: &str) -> BTreeMap<String, String> {
        [("a", a), ("b", b)].map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn an_effect_is_the_geometric_mean_over_pairs_of_runs_that_differ_in_one_argument() {
        // a = 2 multiplies the figure by 3 and by 12, in the geometric mean by 6. b = y multiplies it by 2 and by 8, in
        // the geometric mean by 4.
        let plan = [("1", "x", 1.0), ("1", "y", 2.0), ("2", "x", 3.0), ("2", "y", 24.0)];
        let tried: Vec<_> =
            plan.iter().map(|&(a, b, figure)| (settings(a, b), cell(figure))).collect();
        let runs: Vec<SweptRun<'_>> =
            tried.iter().map(|(settings, cells)| SweptRun { settings, round: 1, cells }).collect();
        let found = effects(&runs);
        let of = |argument: &str, value: &str| {
            found
                .iter()
                .find(|effect| {
                    effect.argument == argument
                        && effect.value == value
                        && effect.figure == "requests_per_s"
                })
                .unwrap()
        };
        let effect = of("a", "2");
        assert!((effect.change.unwrap() - 5.0).abs() < 1e-12, "{effect:?}");
        assert_eq!((effect.pairs, effect.over_runs.unwrap().mean), (2, 13.5));
        let [low, high] = effect.change_ci.unwrap();
        // ln 6 +- 12.7062 x s / sqrt 2, where s is the standard deviation of ln 3 and ln 12.
        let half = 12.706_205 * (4.0_f64.ln() / 2.0_f64.sqrt()) / 2.0_f64.sqrt();
        assert!(((low + 1.0).ln() - (6.0_f64.ln() - half)).abs() < 1e-6);
        assert!(((high + 1.0).ln() - (6.0_f64.ln() + half)).abs() < 1e-6);
        let baseline = of("a", "1");
        assert_eq!((baseline.change, baseline.change_ci), (Some(0.0), None));
        assert!((of("b", "y").change.unwrap() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn repeats_of_a_run_are_stated_but_do_not_count_as_pairs() {
        let measured = |rates: &[f64]| {
            let mut cells = cell(spread(rates).unwrap().mean);
            cells[0].over_repeats = Some(CellSpread {
                requests_per_s: spread(rates),
                output_tokens_per_s: None,
                latency_per_token_ms: None,
                latency_per_output_token_ms: None,
            });
            cells
        };
        let (one, two) = (settings("1", "x"), settings("2", "x"));
        let (low, high) = (measured(&[1.0, 1.1, 0.9]), measured(&[2.0, 2.2]));
        let runs = [
            SweptRun { settings: &one, round: 1, cells: &low },
            SweptRun { settings: &two, round: 1, cells: &high },
        ];
        let found = effects(&runs);
        let counts = |value: &str| {
            let effect =
                found.iter().find(|effect| effect.argument == "a" && effect.value == value);
            effect.map(|effect| (effect.pairs, effect.repeats))
        };
        assert_eq!((counts("1"), counts("2")), (Some((1, 3)), Some((1, 2))));
        let once = effects(&[SweptRun { cells: &cell(1.0), ..runs[0] }, runs[1]]);
        assert_eq!((once[0].pairs, once[0].repeats), (1, 1));
    }

    #[test]
    fn repeats_are_stated_for_a_cell_that_has_latencies_but_no_throughput() {
        let alone = |latency_ms: f64| {
            let over_repeats = CellSpread {
                requests_per_s: None,
                output_tokens_per_s: None,
                latency_per_token_ms: None,
                latency_per_output_token_ms: spread(&[latency_ms; 3]),
            };
            vec![Cell {
                requests_per_s: None,
                latency_per_output_token_ms: Some(latency_ms),
                over_repeats: Some(over_repeats),
                ..cell(1.0).remove(0)
            }]
        };
        let (one, two) = (settings("1", "x"), settings("2", "x"));
        let (low, high) = (alone(10.0), alone(20.0));
        let runs = [
            SweptRun { settings: &one, round: 1, cells: &low },
            SweptRun { settings: &two, round: 1, cells: &high },
        ];
        assert!(effects(&runs).iter().all(|effect| effect.repeats == 3));
    }

    #[test]
    fn runs_of_different_rounds_or_with_two_different_arguments_are_not_paired() {
        let (one, two) = (settings("1", "x"), settings("2", "y"));
        let (low, high) = (cell(1.0), cell(2.0));
        let runs = [
            SweptRun { settings: &one, round: 1, cells: &low },
            SweptRun { settings: &two, round: 1, cells: &high },
        ];
        assert_eq!(effects(&runs), []);
        let other = settings("2", "x");
        let runs = [runs[0], SweptRun { settings: &other, round: 2, cells: &high }];
        assert_eq!(effects(&runs), []);
    }
}
