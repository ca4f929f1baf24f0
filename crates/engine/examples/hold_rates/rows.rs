//! Predicts the measured rows of current engines, with the constants of a fit to all rows and of fits without some of
//! the rows. Each prediction has its ranges.

use inferometer_engine::fit::runs::{
    Details, MeasuredRun, Refit, details, parse_refits, parse_runs, replicates,
};
use inferometer_engine::ranges::{FigureRange, run_ranges};
use inferometer_engine::{EngineError, Profile, choose_from, profile::profiles};
use inferometer_model::{CellPlan, PassPlan, load::SaturatedPlan, stats::percentile};

/// The fit from which the constants of a prediction come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The built-in profiles, which were fitted to the rows.
    Fitted,
    /// A fit without half of all rows.
    HalfLeftOut,
    /// A fit without the row's set. `choose_from` selects the profile; profiles of current engines are available only
    /// if they still have measured rows.
    SetLeftOut,
    /// A fit without all rows of the row's card. The profile is selected as for `SetLeftOut`.
    CardLeftOut,
    /// The built-in profiles, for rows that no fit used.
    Test,
}

/// A row and its prediction.
pub struct Predicted {
    pub fit: Fit,
    pub run: MeasuredRun,
    /// The ranges and measured values of the figures, in the order of `RunFigures::NAMES`.
    pub figures: [Option<Figure>; 5],
}

/// A predicted figure that was measured.
#[derive(Clone, Copy)]
pub struct Figure {
    pub range: FigureRange,
    pub measured: f64,
}

impl Figure {
    /// The signed error in percent of the measured value.
    pub fn error_percent(&self) -> f64 {
        100.0 * (self.range.predicted / self.measured - 1.0)
    }

    pub fn is_inside(&self) -> bool {
        let [low, high] = self.range.interval;
        (low..=high).contains(&self.measured)
    }
}

macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../data/rows/current/", $name))
    };
}

fn details_of(name: &str) -> Result<Details, EngineError> {
    let text = match name {
        "resid-rate-2rps" => file!("details/resid-rate-2rps.json"),
        "resid-rate-8rps" => file!("details/resid-rate-8rps.json"),
        _ => file!("details/lss-rtxpro6000-llama8b.json"),
    };
    details(text, name)
}

/// Predicts all rows with the constants of every fit.
pub fn predict_all() -> Result<Vec<Predicted>, EngineError> {
    let runs = parse_runs(file!("calibration.csv"), "calibration.csv", None, &details_of)?;
    let test = parse_runs(file!("test.csv"), "test.csv", None, &details_of)?;
    let refits = parse_refits(file!("refits.csv"), "refits.csv", profiles())?;
    let mut all = Vec::new();
    for (fit, runs) in [(Fit::Fitted, &runs), (Fit::Test, &test)] {
        for run in runs {
            all.push(predicted(fit, profiles(), run.clone())?);
        }
    }
    let groups = replicates(&runs);
    for Refit { left_out, profiles } in &refits {
        let (kind, name) = left_out.split_once(' ').unwrap_or_default();
        let half = |index: usize| groups.iter().skip(index).step_by(2).flatten();
        let is_left_out = |at: usize, run: &MeasuredRun| match (kind, name) {
            ("set", set) => run.set == set,
            ("card", card) => run.config.profile.card == card,
            (_, "1") => half(0).any(|&of_half| of_half == at),
            _ => half(1).any(|&of_half| of_half == at),
        };
        let out: Vec<&MeasuredRun> = runs
            .iter()
            .enumerate()
            .filter(|(at, run)| is_left_out(*at, run))
            .map(|it| it.1)
            .collect();
        let fit = match kind {
            "set" => Fit::SetLeftOut,
            "card" => Fit::CardLeftOut,
            _ => Fit::HalfLeftOut,
        };
        let known =
            if fit == Fit::HalfLeftOut { profiles.clone() } else { without(profiles, &out) };
        for run in out {
            let mut run = run.clone();
            run.config.profile = chosen(&known, &run)?;
            all.push(predicted(fit, &known, run)?);
        }
    }
    Ok(all)
}

/// Returns the profiles without the provenance of the tables that the runs `out` belong to. A profile of a current
/// engine is left out if no provenance remains.
fn without(profiles: &[Profile], out: &[&MeasuredRun]) -> Vec<Profile> {
    let keep = |profile: &Profile| {
        let mut profile = profile.clone();
        let is_of_today = profile.steps.is_some();
        profile.provenance.retain(|table| {
            !out.iter().any(|run| {
                run.config.profile.name == profile.name
                    && run.config.model.name == table.table
                    && run.weights() == table.weights
            })
        });
        (!is_of_today || !profile.provenance.is_empty()).then_some(profile)
    };
    profiles.iter().filter_map(keep).collect()
}

fn chosen(known: &[Profile], run: &MeasuredRun) -> Result<Profile, EngineError> {
    let start = known.first().expect("a profile");
    let of = (run.config.model.name.as_str(), run.weights());
    choose_from(known, start, Some(&run.engine), Some(&run.config.profile.card), of)
}

fn predicted(fit: Fit, known: &[Profile], run: MeasuredRun) -> Result<Predicted, EngineError> {
    let count = run.lengths.len() as f64;
    let mean = |of: fn(&(u32, u32)) -> u32| {
        (run.lengths.iter().map(|lengths| f64::from(of(lengths))).sum::<f64>() / count).round()
            as u32
    };
    let cell = CellPlan { input_length: mean(|it| it.0), output_length: mean(|it| it.1) };
    let ranges = run_ranges(known, &run, cell, in_flight(&run))?;
    let measured = run.measured.values();
    let figures =
        std::array::from_fn(|at| Some(Figure { range: ranges[at]?, measured: measured[at]? }));
    Ok(Predicted { fit, run, figures })
}

/// An estimate of the largest number of requests in flight. For an open load, the number is assumed to have a Poisson
/// distribution with the mean rate x E2E latency. The estimate is then three standard deviations above the mean.
fn in_flight(run: &MeasuredRun) -> u64 {
    let at_once = match run.pass {
        PassPlan::Saturated(SaturatedPlan { requests }) => Some(requests),
        _ => run.pass.most_in_flight(),
    };
    let mean = run.rate.unwrap_or(0.0) * run.measured.e2e_p50_ms.unwrap_or(0.0) * 1e-3;
    at_once.map_or((mean + 3.0 * mean.sqrt()).ceil() as u64, u64::from).max(1)
}

/// Errors of figures, and the numbers of figures as (inside their ranges, all), separately for calibrated and
/// uncalibrated ranges.
#[derive(Default)]
pub struct Counted {
    errors: Vec<f64>,
    pub calibrated: [usize; 2],
    pub uncalibrated: [usize; 2],
}

impl Counted {
    pub fn median_error(&self) -> Option<f64> {
        let mut errors = self.errors.clone();
        errors.sort_by(f64::total_cmp);
        (!errors.is_empty()).then(|| percentile(&errors, 0.5))
    }
}

/// Collects the errors of figures, and counts the figures inside their ranges.
pub fn counted(figures: impl Iterator<Item = Figure>) -> Counted {
    let mut counted = Counted::default();
    for figure in figures {
        counted.errors.push(figure.error_percent().abs());
        let kind = match figure.range.calibrated {
            true => &mut counted.calibrated,
            false => &mut counted.uncalibrated,
        };
        kind[0] += usize::from(figure.is_inside());
        kind[1] += 1;
    }
    counted
}
