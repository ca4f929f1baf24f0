//! Years of simulated nightly runs: how often a change is found that does not exist, and how soon one that exists.

use rand_chacha::ChaCha8Rng;

use super::*;
use inferometer_model::stats::seed;

const NIGHTS: usize = 365;
/// The figures of a series. They are independent, which gives more false alarms than figures that depend on each other.
const FIGURES: usize = 20;
const DEVIATION: f64 = 0.015;

/// A year of nights around a level of 100, whose noise has this correlation from night to night.
fn year(rng: &mut ChaCha8Rng, alike: f64) -> Vec<f64> {
    let mut noise = seed::normal(rng);
    let night = |_| {
        noise = alike * noise + (1.0 - alike * alike).sqrt() * seed::normal(rng);
        100_f64.ln() + DEVIATION * noise
    };
    (0..NIGHTS).map(night).collect()
}

fn limits() -> Limits {
    Limits::new(0.05, FIGURES)
}

/// The share of years in which a change of any figure is found. `change` changes a year, which has no step.
fn false_alarms(years: u64, alike: f64, change: impl Fn(&mut ChaCha8Rng, &mut [f64])) -> f64 {
    let mut limits = limits();
    let has_any = |at: &u64| {
        let mut rng = seed::rng(*at, &["trend", "false alarms"]);
        let mut figure = || {
            let mut logs = year(&mut rng, alike);
            change(&mut rng, &mut logs);
            logs
        };
        let all: Vec<Vec<f64>> = (0..FIGURES).map(|_| figure()).collect();
        let machine = machine(&all, &mut limits);
        all.iter().any(|logs| !levels(logs, machine, &mut limits).0.is_empty())
    };
    (0..years).filter(has_any).count() as f64 / years as f64
}

#[test]
fn without_a_change_at_most_one_year_in_twenty_has_a_false_alarm() {
    let found = false_alarms(1_000, 0.0, |_, _| {});
    assert!(found <= 0.05, "{found}");
}

#[test]
fn a_machine_that_drifts_slowly_or_has_single_bad_nights_is_no_change() {
    for alike in [0.3, 0.6, 0.9] {
        let found = false_alarms(200, alike, |_, _| {});
        assert!(found <= 0.1, "nights that are alike by {alike}: {found}");
    }
    let found = false_alarms(100, 0.0, |_, logs| {
        (0..).zip(logs).for_each(|(night, log)| *log += 3e-5 * f64::from(night));
    });
    assert!(found <= 0.1, "1 % a year: {found}");
    let found = false_alarms(100, 0.0, |rng, logs| {
        logs[seed::below(rng, NIGHTS as u64) as usize] += 0.3;
    });
    assert!(found <= 0.1, "a night that is 35 % off: {found}");
}

#[test]
fn a_step_of_5_percent_is_found_within_5_runs_in_nine_years_of_ten() {
    let mut limits = limits();
    let (mut in_time, mut of_interval) = (0, 0);
    let years = 1_000;
    for at in 0..years {
        let mut rng = seed::rng(at, &["trend", "step"]);
        let mut logs = year(&mut rng, 0.0);
        let first = 60 + seed::below(&mut rng, 250) as usize;
        let step = if at % 2 == 0 { 1.05_f64.ln() } else { -1.05_f64.ln() };
        logs[first..].iter_mut().for_each(|log| *log += step);
        let mut all = vec![logs];
        all.extend((1..FIGURES).map(|_| year(&mut rng, 0.0)));
        let machine = machine(&all, &mut limits);
        let (found, levels) = levels(&all[0], machine, &mut limits);
        let is_it = |(since, found): &&(usize, usize)| {
            since.abs_diff(first) <= 5 && (first..first + 5).contains(found)
        };
        if let Some(place) = found.iter().position(|one| is_it(&one)) {
            let (difference, half) = levels[place + 1].against(&levels[place]);
            in_time += 1;
            of_interval += u32::from((difference - step).abs() <= half);
        }
    }
    assert!(f64::from(in_time) >= 0.9 * years as f64, "{in_time} of {years}");
    // The first run of the new level is a choice, so the interval is right slightly less often than stated.
    assert!(f64::from(of_interval) >= 0.9 * f64::from(in_time), "{of_interval} of {in_time}");
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
    assert_eq!(Trend::of(&runs[..5], &[], 0.05).figures[0].changes, []);
}
