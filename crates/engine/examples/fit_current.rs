//! Fits the profiles of current engines to the runs in `data/rows/current/calibration.csv`, and writes the profiles
//! with their errors. Also fits without each set, without each half of the runs and without each card, prints these
//! errors, and writes the constants of these fits to `data/rows/current/refits.csv`.
//!
//! Run in the crate's folder: `cargo run --release --example fit_current`. It takes some minutes. With the argument
//! `quick`, only the fit to all runs is made, and the profiles are written without errors on left-out runs. With the
//! argument `stored`, nothing is fitted: the errors are computed again with the stored constants. With the argument
//! `two-rows`, a fit for each card begins with the stored constants that were fitted without this card. The fit uses
//! two rows of the card, and the errors on the other rows of the card are printed.

use std::{error::Error, fs};

use inferometer_engine::fit::runs::{
    Determined, ERROR_NAMES, FittedRuns, MeasuredRun, MeasuredStep, Refit, RunError, column_errors,
    details, fit_runs, parse_refits, parse_runs, parse_steps, refits_to_csv, replicates,
    run_errors, run_provenances,
};
use inferometer_engine::profile::{StepConstants, profile};
use inferometer_engine::{EngineError, Profile};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Each profile with the round numbers at which the search for its constants starts. The H100 PCIe has a lower factor
/// of matrix products, because its power limit is half of that of the H100 SXM.
const STARTS: [Start; 6] = inferometer_model::table! { Start { name, step, sequence, front, products }
    ("vllm-0.23-h100-sxm", 100.0, 10.0, 10_000.0, 0.93)
    ("vllm-0.11-h100-sxm", 800.0, 20.0, 10_000.0, 0.93)
    ("vllm-0.15-h100-sxm", 500.0, 10.0, 10_000.0, 0.93)
    ("vllm-0.8-h100-pcie", 1000.0, 20.0, 10_000.0, 0.75)
    ("vllm-0.8-l40s", 1000.0, 20.0, 10_000.0, 0.93)
    ("vllm-0.19-rtx-pro-6000", 500.0, 10.0, 2000.0, 0.93)
};

/// The number of requests of the run at 2 requests/s. The durations of single steps were measured only in this run.
const REQUESTS_OF_STEPS: u32 = 1212;

/// The constants of all fits without some of the runs.
const REFITS: &str = "data/rows/current/refits.csv";

struct Start {
    name: &'static str,
    step: f64,
    sequence: f64,
    front: f64,
    products: f64,
}

fn starts() -> Outcome<Vec<Profile>> {
    let start = |start: &Start| {
        let mut profile = profile(start.name)?;
        profile.provenance.clear();
        let known = profile.steps.clone().ok_or("the profile has no [steps]")?;
        profile.steps = Some(StepConstants {
            step_us: start.step,
            sequence_us: start.sequence,
            prompt_step_us: 300.0,
            waking_us: 3000.0,
            front_us: start.front,
            front_sequence_us: 100.0,
            front_service_us: 0.0,
            layer_us: 10.0,
            sequence_layer_us: 0.1,
            prompt_layer_us: 8.0,
            bandwidth_factor: 1.0,
            products_factor: start.products,
            kv_factor: 1.0,
            fp8_factor: 1.0,
            reduction_factor: 1.0,
            ..known
        });
        Ok(profile)
    };
    STARTS.iter().map(start).collect()
}

fn runs(file: &str) -> Outcome<Vec<MeasuredRun>> {
    let path = format!("data/rows/current/{file}.csv");
    let details_of = |name: &str| {
        let path = format!("data/rows/current/details/{name}.json");
        let text = fs::read_to_string(&path).map_err(|error| EngineError::Unreadable {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        details(&text, &path)
    };
    Ok(parse_runs(&fs::read_to_string(&path)?, &path, None, &details_of)?)
}

struct Rows {
    runs: Vec<MeasuredRun>,
    steps: Vec<MeasuredStep>,
}

impl Rows {
    fn fit(&self, starts: &[Profile], keep: &dyn Fn(usize) -> bool) -> Outcome<FittedRuns> {
        let kept: Vec<MeasuredRun> =
            (0..self.runs.len()).filter(|&at| keep(at)).map(|at| self.runs[at].clone()).collect();
        // The run whose steps were measured. If this run is left out, the steps are left out too.
        let is_of_steps = |run: &MeasuredRun| {
            run.set == "resid-h100-qwen14b-rate" && run.pass.requests() == Some(REQUESTS_OF_STEPS)
        };
        let of_steps = kept.iter().position(is_of_steps);
        let steps = of_steps.map_or_else(Vec::new, |run| {
            self.steps.iter().map(|step| (run, *step)).collect::<Vec<_>>()
        });
        Ok(fit_runs(starts, &kept, &steps)?)
    }
}

fn main() -> Outcome<()> {
    let rows = Rows {
        runs: runs("calibration")?,
        steps: parse_steps(&fs::read_to_string("data/rows/current/steps.csv")?, "steps.csv")?,
    };
    let mode = std::env::args().nth(1).unwrap_or_default();
    if mode == "two-rows" {
        return with_two_rows(&rows.runs);
    }
    let starts = starts()?;
    let mut profiles = match mode.as_str() {
        "stored" => STARTS.iter().map(|start| profile(start.name)).collect::<Result<_, _>>()?,
        "" | "quick" => fitted(&rows, &starts)?,
        other => {
            return Err(format!("{other}: give `quick`, `stored`, `two-rows` or no word").into());
        }
    };
    let outs = left_out_runs(&rows.runs);
    // The errors are computed with the constants as the file stores them: rounded.
    let stored = match mode.as_str() {
        "quick" => String::new(),
        "stored" => fs::read_to_string(REFITS)?,
        _ => refits_to_csv(&without_each(&rows, &starts, &outs)?),
    };
    let refits = parse_refits(&stored, REFITS, &profiles)?;
    let mut left_out = vec![[None; 7]; rows.runs.len()];
    let mut halves = left_out.clone();
    for (Refit { left_out: name, profiles }, Out { runs, .. }) in refits.iter().zip(&outs) {
        let left: Vec<MeasuredRun> = runs.iter().map(|&at| rows.runs[at].clone()).collect();
        let errors = run_errors(profiles, &left)?;
        print!("without {name}: ");
        print_columns(&errors);
        let into = match name.split_once(' ') {
            Some(("set", _)) => Some(&mut left_out),
            Some(("half", _)) => Some(&mut halves),
            _ => None,
        };
        if let Some(into) = into {
            runs.iter().zip(errors).for_each(|(&at, error)| into[at] = error);
        }
    }
    if mode.is_empty() {
        print!("without half of the rows: ");
        print_columns(&halves);
        fs::write(REFITS, &stored)?;
    }
    for profile in &mut profiles {
        rounded(profile);
    }
    let errors = run_errors(&profiles, &rows.runs)?;
    for profile in &mut profiles {
        let is_own = |run: &MeasuredRun| {
            run.config.profile.card == profile.card
                && run.config.profile.engine_version == profile.engine_version
        };
        let own: Vec<usize> = (0..rows.runs.len()).filter(|&at| is_own(&rows.runs[at])).collect();
        let of = |from: &[RunError]| own.iter().map(|&at| from[at]).collect::<Vec<_>>();
        let runs: Vec<MeasuredRun> = own.iter().map(|&at| rows.runs[at].clone()).collect();
        profile.provenance = run_provenances(&runs, [&of(&errors), &of(&halves), &of(&left_out)]);
        let path = format!("data/profiles/{}.toml", profile.name);
        let notes: String = fs::read_to_string(&path)?
            .lines()
            .take_while(|line| line.starts_with('#'))
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(path, notes + &toml::to_string(profile)?)?;
    }
    Ok(())
}

/// The maximum number of pairs of rows that are tried for each card.
const PAIRS: usize = 9;

/// For each card, fits to several pairs of its rows, and prints the errors on the other rows of the card.
fn with_two_rows(runs: &[MeasuredRun]) -> Outcome<()> {
    let known = STARTS.iter().map(|start| profile(start.name)).collect::<Result<Vec<_>, _>>()?;
    for Refit { left_out, profiles } in parse_refits(&fs::read_to_string(REFITS)?, REFITS, &known)?
    {
        let Some(("card", card)) = left_out.split_once(' ') else { continue };
        let own = places(runs, |run| run.config.profile.card == card);
        if own.len() <= 2 {
            println!("{card}: too few rows");
            continue;
        }
        // The rows of a pair are far apart, so that their loads differ.
        let apart = own.len() / 2;
        let mut errors = Vec::new();
        for at in 0..apart.min(PAIRS) {
            let pair = [own[at], own[at + apart]];
            let others: Vec<MeasuredRun> =
                own.iter().filter(|at| !pair.contains(at)).map(|&at| runs[at].clone()).collect();
            let fitted = fit_runs(&profiles, &pair.map(|at| runs[at].clone()), &[])?.profiles;
            errors.extend(run_errors(&fitted, &others)?);
        }
        print!("{card}, fitted to two of {} rows: ", own.len());
        print_columns(&errors);
    }
    Ok(())
}

/// Fits to all rows, and prints the constants, the errors on these rows and the errors on the rows of `test.csv`.
fn fitted(rows: &Rows, starts: &[Profile]) -> Outcome<Vec<Profile>> {
    let fitted = rows.fit(starts, &|_| true)?;
    for Determined { name, owner, value, prior, remaining } in &fitted.constants {
        println!(
            "{name:20} {owner:14} {value:10.4} from {prior:8.2}, remaining spread {remaining:.2}"
        );
    }
    table("fitted", &rows.runs, &run_errors(&fitted.profiles, &rows.runs)?);
    let test = runs("test")?;
    table("test", &test, &run_errors(&fitted.profiles, &test)?);
    Ok(fitted.profiles)
}

/// Runs that are left out of a fit together.
struct Out {
    name: String,
    runs: Vec<usize>,
}

/// The groups of runs to leave out: the runs of each set, of each half, and of each card. Each half consists of every
/// second group of replicates.
fn left_out_runs(runs: &[MeasuredRun]) -> Vec<Out> {
    let of_set =
        |set: &&str| Out { name: format!("set {set}"), runs: places(runs, |run| run.set == **set) };
    let of_card = |card: &&str| Out {
        name: format!("card {card}"),
        runs: places(runs, |run| run.config.profile.card == **card),
    };
    let groups = replicates(runs);
    let half = |half: usize| Out {
        name: format!("half {}", half + 1),
        runs: groups.iter().skip(half).step_by(2).flatten().copied().collect(),
    };
    let mut outs: Vec<Out> = distinct(runs, |run| &run.set).iter().map(of_set).collect();
    outs.extend([half(0), half(1)]);
    outs.extend(distinct(runs, |run| &run.config.profile.card).iter().map(of_card));
    outs
}

/// For each group in `outs`, fits to all other runs. Two fits run in parallel.
fn without_each(rows: &Rows, starts: &[Profile], outs: &[Out]) -> Outcome<Vec<Refit>> {
    let without = |out: &Out| -> Result<Refit, String> {
        let fitted = rows.fit(starts, &|at| !out.runs.contains(&at));
        let profiles = fitted.map_err(|error| error.to_string())?.profiles;
        Ok(Refit { left_out: out.name.clone(), profiles })
    };
    let mut found = Vec::new();
    for pair in outs.chunks(2) {
        let of_pair: Vec<Result<Refit, String>> = std::thread::scope(|scope| {
            let threads: Vec<_> = pair.iter().map(|out| scope.spawn(|| without(out))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err("a fit failed".to_owned()))
            };
            threads.into_iter().map(join).collect()
        });
        for one in of_pair {
            found.push(one?);
        }
    }
    Ok(found)
}

fn places(runs: &[MeasuredRun], is: impl Fn(&MeasuredRun) -> bool) -> Vec<usize> {
    (0..runs.len()).filter(|&at| is(&runs[at])).collect()
}

fn distinct<'a>(
    runs: &'a [MeasuredRun],
    of: impl Fn(&'a MeasuredRun) -> &'a String,
) -> Vec<&'a str> {
    let mut all: Vec<&str> = runs.iter().map(|run| of(run).as_str()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Rounds constants to four significant digits. The rows do not determine further digits, and the files are easier to
/// read.
fn rounded(profile: &mut Profile) {
    for constant in &inferometer_engine::fit::runs::FITTED_CONSTANTS {
        let value = constant.get(profile);
        let text = format!("{value:.3e}");
        constant.set(profile, text.parse().unwrap_or(value));
    }
}

fn table(what: &str, runs: &[MeasuredRun], errors: &[RunError]) {
    println!(
        "{what}: errors in % of requests/s, TPOT, TTFT p50, TTFT p99, E2E p50, and TTFT of limited loads"
    );
    for (run, errors) in runs.iter().zip(errors) {
        let load = &run.pass;
        let text =
            errors.map(|error| error.map_or("     -".to_owned(), |e| format!("{:6.1}", 100.0 * e)));
        let (input, output) = run.lengths.last().copied().unwrap_or_default();
        println!("  {:30} {input:>5} x {output:<4} {} {load}", run.set, text.join(" "));
    }
    print_columns(errors);
}

fn print_columns(errors: &[RunError]) {
    let columns = column_errors(errors);
    let words = ERROR_NAMES.map(|name| match columns.get(name) {
        Some(error) => format!("{name} {:.1} (max {:.1})", error.median, error.max),
        None => format!("{name} -"),
    });
    println!("median absolute errors: {}", words.join(", "));
}
