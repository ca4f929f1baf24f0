//! Years of simulated nightly runs: how often a change is found that does not exist, and how soon one that exists. What is
//! found at a night depends only on the nights up to it, so one pass over a year is the same as a job of each night.

use super::*;
use inferometer_model::stats::seed;

const NIGHTS: usize = 365;
const FIGURES: usize = 20;
const DEVIATION: f64 = 0.015;
/// The nights before the step. With fewer, less than nine of ten steps are found within five runs.
const BEFORE: usize = 80;

/// How the figures of nights depend on each other.
#[derive(Clone, Copy)]
struct Noise {
    name: &'static str,
    /// The share of the variance that all figures of a night have in common.
    common: f64,
    /// The correlation of neighbouring nights: of what is common, and of the rest.
    alike: [f64; 2],
}

const INDEPENDENT: Noise = Noise { name: "independent", common: 0.0, alike: [0.0; 2] };
const COMMON: Noise = Noise { name: "70 % common", common: 0.7, alike: [0.0; 2] };
const DRIFTING: [Noise; 5] = [
    Noise { name: "each drifts, 0.3", common: 0.0, alike: [0.0, 0.3] },
    Noise { name: "each drifts, 0.6", common: 0.0, alike: [0.0, 0.6] },
    Noise { name: "each drifts, 0.9", common: 0.0, alike: [0.0, 0.9] },
    Noise { name: "70 % common drift, 0.3", common: 0.7, alike: [0.3, 0.0] },
    Noise { name: "70 % common drift, 0.6", common: 0.7, alike: [0.6, 0.0] },
];
/// A slow drift of all figures together looks like steps while few nights are known.
const SLOW: Noise = Noise { name: "70 % common drift, 0.9", common: 0.7, alike: [0.9, 0.0] };

/// The figures of a year: for each one, its nights and the logarithms of its values.
fn year(at: u64, noise: Noise) -> Vec<Vec<(usize, f64)>> {
    let mut rng = seed::rng(at, &["trend"]);
    let mut nights = |alike: f64| {
        let mut state = seed::normal(&mut rng);
        let night = |_| {
            state = alike * state + (1.0 - alike * alike).sqrt() * seed::normal(&mut rng);
            state
        };
        (0..NIGHTS).map(night).collect::<Vec<f64>>()
    };
    let [of_common, of_own] = noise.alike;
    let common = nights(of_common);
    let figure = |_| {
        let both = common.iter().zip(nights(of_own));
        let value = |(common, own): (&f64, f64)| {
            DEVIATION * (noise.common.sqrt() * common + (1.0 - noise.common).sqrt() * own)
        };
        both.map(value).enumerate().collect()
    };
    (0..FIGURES).map(figure).collect()
}

/// The share of years in which a change of any figure is found. `change` changes a year, which has no step.
fn false_alarms(years: u64, noise: Noise, change: impl Fn(&mut [(usize, f64)])) -> f64 {
    let mut limits = Limits::new(0.05, FIGURES);
    let has_any = |at: &u64| {
        let mut all = year(*at, noise);
        all.iter_mut().for_each(|values| change(values));
        let machine = machine(NIGHTS, &all, &mut limits);
        all.iter().any(|values| !levels(values, &machine, &mut limits).changes.is_empty())
    };
    (0..years).filter(has_any).count() as f64 / years as f64
}

/// The shares of steps of 5 % that are found within five runs, and of intervals that contain the step.
fn found_steps(years: u64, noise: Noise, before: usize) -> [f64; 2] {
    let mut limits = Limits::new(0.05, FIGURES);
    let (mut in_time, mut found, mut right) = (0, 0, 0);
    for at in 0..years {
        let step = if at % 2 == 0 { 1.05_f64.ln() } else { 0.95_f64.ln() };
        let mut all = year(at, noise);
        // A slower server moves all figures.
        all.iter_mut()
            .flat_map(|values| values.iter_mut().skip(before))
            .for_each(|(_, log)| *log += step);
        all.iter_mut().for_each(|values| values.truncate(before + 30));
        let machine = machine(before + 30, &all, &mut limits);
        let Levels { changes, levels, .. } = levels(&all[0], &machine, &mut limits);
        let is_it = |(since, _): &(usize, usize)| since.abs_diff(before) <= 5;
        if let Some(place) = changes.iter().position(is_it) {
            in_time += u32::from(changes[place].1 < before + 5);
            let (difference, half) = levels[place + 1].against(&levels[place]);
            found += 1;
            right += u32::from((difference - step).abs() <= half);
        }
    }
    [f64::from(in_time) / years as f64, f64::from(right) / f64::from(found)]
}

#[test]
fn without_a_change_at_most_one_year_in_twenty_has_a_false_alarm() {
    for noise in [INDEPENDENT, COMMON] {
        let found = false_alarms(200, noise, |_| {});
        assert!(found <= 0.05, "{}: {found}", noise.name);
    }
}

#[test]
fn a_machine_that_drifts_or_has_single_bad_nights_is_no_change() {
    for noise in DRIFTING {
        // One of twenty, and two standard errors of 100 years.
        let found = false_alarms(100, noise, |_| {});
        assert!(found <= 0.09, "{}: {found}", noise.name);
    }
    let found = false_alarms(100, INDEPENDENT, |values| {
        values.iter_mut().for_each(|(night, log)| *log += 3e-5 * *night as f64);
    });
    assert!(found <= 0.15, "1 % a year, which is little but no noise: {found}");
    let found = false_alarms(100, INDEPENDENT, |values| values[200].1 += 0.3);
    assert!(found <= 0.09, "a night that is 35 % off: {found}");
}

#[test]
fn two_bad_nights_are_never_a_change_even_for_one_figure_and_many_false_alarms() {
    let mut limits = Limits::new(0.2, 1);
    for before in [13, 40, 200] {
        let log = |night| if night % 2 == 0 { DEVIATION } else { -DEVIATION };
        let mut values: Vec<(usize, f64)> = (0..before).map(|night| (night, log(night))).collect();
        values.extend([before, before + 1].map(|night| (night, 0.5)));
        values.extend((before + 2..before + 20).map(|night| (night, log(night))));
        assert_eq!(levels(&values, &[0.0; NIGHTS], &mut limits).changes, [], "{before}");
    }
}

#[test]
fn a_step_of_5_percent_is_found_within_5_runs_in_nine_years_of_ten() {
    for noise in [INDEPENDENT, COMMON] {
        let [in_time, right] = found_steps(200, noise, BEFORE);
        assert!(in_time >= 0.9 && right >= 0.93, "{}: {in_time}, {right}", noise.name);
    }
}

#[test]
#[ignore = "1,000 years of each kind take minutes; prints the rates of docs/trend.md"]
fn rates_of_a_thousand_years() {
    for noise in [INDEPENDENT, COMMON] {
        for before in [20, 30, 40, 60, BEFORE, 120] {
            let [in_time, right] = found_steps(1_000, noise, before).map(|share| 100.0 * share);
            println!(
                "{}, step after {before} runs: {in_time:.1} % in time, {right:.1} % of intervals right",
                noise.name
            );
        }
    }
    for noise in [INDEPENDENT, COMMON].into_iter().chain(DRIFTING).chain([SLOW]) {
        let found = false_alarms(1_000, noise, |_| {});
        println!("{}: a false alarm in {:.1} % of years", noise.name, 100.0 * found);
        assert!(found <= 0.05 || noise.name == SLOW.name);
    }
}

#[test]
fn what_is_found_at_a_night_does_not_depend_on_later_nights() {
    let mut all = year(1, COMMON);
    all[3].iter_mut().skip(80).for_each(|(_, log)| *log += 0.08);
    let of = |nights: usize| {
        let known: Vec<_> = all.iter().map(|values| values[..nights].to_vec()).collect();
        let mut limits = Limits::new(0.05, FIGURES);
        let machine = machine(nights, &known, &mut limits);
        levels(&known[3], &machine, &mut limits).changes
    };
    let whole = of(NIGHTS);
    assert!(whole.iter().any(|(since, _)| since.abs_diff(80) <= 2), "{whole:?}");
    for nights in [20, 82, 84, 86, 120, 300] {
        let so_far: Vec<_> = whole.iter().copied().filter(|(_, found)| *found < nights).collect();
        assert_eq!(of(nights), so_far, "after {nights} nights");
    }
}

#[test]
fn figures_of_other_models_and_other_work_are_not_joined() {
    let run = |at: usize| {
        let other = at % 3 == 2;
        let series = Series {
            figure: "e2e_p50".to_owned(),
            values: vec![if other { 200.0 } else { 100.0 } + (at % 4) as f64],
            ..Series::default()
        };
        let mut subject = Subject::of_series("a run", vec![series]);
        let model = if other { "large" } else { "small" };
        subject.facts.insert("model".to_owned(), model.to_owned());
        subject.warnings = vec!["has failed requests: 1 of 8".to_owned()];
        (TrendRun::default(), subject)
    };
    let runs: Vec<_> = (0..45).map(run).collect();
    let trend = Trend::of(&runs, &[], 0.05);
    let places: Vec<_> = trend.figures.iter().map(|one| (one.workload, one.values.len())).collect();
    assert_eq!(places, [(0, 30), (1, 15)]);
    assert!(trend.figures.iter().all(|figure| figure.changes.is_empty()), "{:?}", trend.figures);
    assert!(trend.figures[1].place().starts_with("workload 2"));
    assert_eq!((trend.workloads[1].first, trend.workloads[1].runs), (2, 15));
    assert_eq!(trend.workloads[1].differing, [["model", "small", "large"].map(str::to_owned)]);
    assert_eq!(trend.differing, []);
    assert_eq!(trend.runs[0].warnings, ["has failed requests: 1 of 8"]);
}

#[test]
fn the_rows_of_a_trend_are_the_changes_of_the_last_runs() {
    let run = |at: usize| {
        let slow = if (20..).contains(&at) { 1.2 } else { 1.0 };
        let noise = 1.0 + 0.01 * [0.3, -0.8, 0.5, 1.1, -1.2, 0.1, -0.4][at % 7];
        let series = Series {
            load: "saturated".to_owned(),
            figure: "ttft_p99".to_owned(),
            values: vec![100.0 * slow * noise],
            ..Series::default()
        };
        let label =
            TrendRun { run: format!("run-{at}"), label: format!("c{at}"), ..TrendRun::default() };
        (label, Subject::of_series("a run", vec![series]))
    };
    let runs: Vec<(TrendRun, Subject)> = (0..25).map(run).collect();
    let trend = Trend::of(&runs, &[], 0.05);
    let [change] = trend.figures[0].changes.as_slice() else { panic!("{:?}", trend.figures) };
    assert_eq!((change.since, change.is_worse), (20, true));
    assert!((22..25).contains(&change.found), "{change:?}");
    assert!(change.interval_pct[0] < 20.0 && 20.0 < change.interval_pct[1], "{change:?}");
    let verdict = |within| trend.rows(within)[0].verdict;
    let ago = runs.len() - change.found;
    assert_eq!((verdict(ago - 1), verdict(ago)), (RowVerdict::NoDifference, RowVerdict::Worse));
    assert_eq!(Trend::of(&runs, &["e2e_p50".to_owned()], 0.05).figures, []);
    let short = Trend::of(&runs[..5], &[], 0.05);
    assert!(short.figures[0].changes.is_empty() && !short.can_show_a_change());
    assert_eq!(short.rows(5)[0].verdict, RowVerdict::NotEnoughData { needed: 13 });
}

#[test]
fn a_step_of_all_figures_together_is_not_taken_for_a_drift_of_the_machine() {
    let mut all = year(5, COMMON);
    for values in &mut all {
        values.truncate(32);
        values.iter_mut().skip(27).for_each(|(_, log)| *log -= 0.3);
    }
    let mut limits = Limits::new(0.05, FIGURES);
    let machine = machine(32, &all, &mut limits);
    for values in &all {
        let found = levels(values, &machine, &mut limits).changes;
        assert!(matches!(found.as_slice(), [(27, 29..=31)]), "{found:?}");
    }
}
