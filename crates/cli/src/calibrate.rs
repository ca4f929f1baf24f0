//! Fits the constants of a profile of the embedded engine to measured rows, and computes the errors of the fit on rows
//! that were left out. This module measures nothing and writes no file.

mod results;
mod runs;

use std::fmt::Write as _;

use inferometer_analysis::table_import::PublishedRow;
use inferometer_engine::card::is_card_file;
use inferometer_engine::confidence::MeasuredOn;
use inferometer_engine::fit::{
    MeasuredRow, MeasuredTable, RowError, SCALES, constants_of, coverage, error_percent, errors,
    fit_scaled, fit_scales, leave_lengths_out,
};
use inferometer_engine::profile::{ColumnErrors, ErrorPercent, Provenance, Role};
use inferometer_engine::{EngineConfig, Profile, Weights};
use inferometer_model::visible;
use inferometer_predict::{open_against, read_against, row};
use inferometer_run::PlanError;

use results::{differences, read_results};
use runs::{calibrate_runs, is_file_of_runs, read_csv};

/// With fewer rows than this, not all constants can be determined, so only multipliers are fitted.
const ROWS_FOR_CONSTANTS: usize = 8;
/// The number of requests in the saturated pass of the published tables.
const PUBLISHED_REQUESTS: u32 = 399;
/// With fewer rows than this, the multipliers cannot be determined.
const ROWS_FOR_SCALES: usize = 2;

/// The input of a fit.
pub struct Request<'a> {
    /// Names of stored runs, or paths of files with measurements. For vLLM 0.8 and later, a file is a CSV file of runs
    /// or a result file of another tool. For older engines, there is a single entry: a stored run or a published table
    /// (Markdown, optionally with a `#SECTION`).
    pub measured: &'a [String],
    /// The engine, with the profile from which the fit starts.
    pub config: &'a EngineConfig,
    /// The rows to use, as input x output length such as `128x128`; if empty, all rows.
    pub rows: &'a [String],
    /// The number of requests in the measured saturated pass, if the rows do not state it.
    pub requests: Option<u32>,
    /// The name of the new profile. If absent, it is `calibrated-MODEL`, or for vLLM 0.8 and later `calibrated-` and
    /// the name of the profile from which the fit starts.
    pub name: Option<&'a str>,
    /// The path of the store that contains the run. If absent, it is `inferometer.db`.
    pub store: Option<&'a str>,
}

/// The result of a fit.
pub struct Calibrated {
    /// The fitted profile.
    pub profile: Profile,
    /// A description of the fit and its errors.
    pub text: String,
}

/// Fits a profile. If the card is the user's own file, the profile contains its data.
///
/// # Errors
/// If the measurements cannot be read, are predictions, state different cards, have too few usable rows or do not
/// describe such an engine, or if a field of `request` does not apply to these measurements.
pub fn calibrate(request: &Request<'_>) -> Result<Calibrated, PlanError> {
    let Calibrated { profile, text } = fitted(request)?;
    let profile = profile.with_own_card().map_err(PlanError::new)?;
    Ok(Calibrated { profile, text })
}

fn fitted(request: &Request<'_>) -> Result<Calibrated, PlanError> {
    let config = request.config;
    refuse_two_cards(request)?;
    if config.profile.steps.is_some() || request.measured.iter().any(|it| is_file_of_runs(it)) {
        refuse_of_tables(request)?;
        return of_all_runs(request);
    }
    let [only] = request.measured else {
        return Err(PlanError::new(
            "engines before vLLM 0.8 are fitted to a single table or run; name one, or name vLLM \
                0.8 or later with --engine and a card with --card",
        ));
    };
    let (table, measured_on, left_out) = measured(request, only)?;
    let weights = config.weights.unwrap_or(config.model.weights);
    let mut profile = config.profile.clone();
    let of_start = stated(&profile, weights);
    let resolved = config.resolve().map_err(PlanError::new)?;
    if measured_on.is_unlike(&resolved).is_none() {
        // The rows may come from another version of the same release series. The new profile then states their version.
        profile.engine_version = measured_on.engine_version.unwrap_or(profile.engine_version);
    }
    profile.provenance.clear();
    let mut text = left_out;
    let is_by_multipliers = table.rows.len() < ROWS_FOR_CONSTANTS;
    let (fitted, errors_left_out) = if is_by_multipliers {
        by_multipliers(&profile, &table, &mut text)?
    } else {
        let names = constants_of(weights);
        let _ = writeln!(text, "fitted {} constants to {} rows", names.len(), table.rows.len());
        let tables = std::slice::from_ref(&table);
        let fit_to = |tables: &[MeasuredTable]| fit_scaled(&profile, tables, names);
        let fitted = fit_to(tables).map_err(PlanError::new)?;
        let left_out = leave_lengths_out(tables, fit_to).map_err(PlanError::new)?;
        (fitted, left_out.concat())
    };
    let in_sample = errors(&fitted, &table).map_err(PlanError::new)?;
    let default_name = || format!("calibrated-{}", config.model.name);
    let mut fitted =
        Profile { name: request.name.map_or_else(default_name, str::to_owned), ..fitted };
    let percent = |errors: &[RowError]| match errors {
        [] => ColumnErrors::new(),
        errors => error_percent(errors),
    };
    fitted.provenance.push(Provenance {
        table: config.model.name.clone(),
        weights,
        role: Role::Fitted,
        rows: table.rows.len() as u32,
        requests: (table.requests, 1),
        seen: coverage(&fitted, &table).map_err(PlanError::new)?,
        errors: percent(&in_sample),
        left_out_lengths: percent(&errors_left_out),
        left_out_of_start: if is_by_multipliers { of_start } else { ColumnErrors::new() },
        ..Provenance::default()
    });
    add_errors(&mut text, "rows fitted on", error_percent(&in_sample));
    add_errors(&mut text, "rows left out of the fit", percent(&errors_left_out));
    if is_by_multipliers {
        let _ = writeln!(
            text,
            "so few rows show little about the errors on other rows, so the intervals of predictions are at least as \
             wide as with {}",
            config.profile.name
        );
    }
    Ok(Calibrated { profile: fitted, text })
}

/// Refuses measurements that state different cards. A card that is the user's own file is not compared, because the
/// same card may have several files.
fn refuse_two_cards(request: &Request<'_>) -> Result<(), PlanError> {
    let stated = |measured: &String| -> Option<(String, String)> {
        if is_file_of_runs(measured) {
            return None;
        }
        let facts = open_against(measured, request.store).ok()?.facts()?;
        let card = facts.get("card").filter(|card| !is_card_file(card)).map(str::to_owned);
        let card = card.or_else(|| facts.other_card.as_deref().map(visible::name))?;
        Some((facts.origin, card))
    };
    let mut all = request.measured.iter().filter_map(stated);
    let Some((first, card)) = all.next() else { return Ok(()) };
    all.find(|(_, other)| *other != card).map_or(Ok(()), |(origin, other)| {
        Err(PlanError::new(format!(
            "{first} was measured on {card}, and {origin} on {other}: a profile is for one card; give the runs of one \
             card only"
        )))
    })
}

/// Fits a profile to the runs of all files and stored runs.
fn of_all_runs(request: &Request<'_>) -> Result<Calibrated, PlanError> {
    let (mut origins, mut runs, mut told) = (Vec::new(), Vec::new(), String::new());
    // The start profile was fitted to these runs, and its constants are in the new profile. So their ids are kept.
    let mut ids = request.config.profile.fitted_to.clone();
    for measured in request.measured {
        if is_file_of_runs(measured) {
            origins.push(measured.clone());
            runs.extend(read_csv(measured, request.config)?);
            continue;
        }
        let read = read_results(measured, request.store, request.config)?;
        for difference in read.differences {
            let _ = writeln!(told, "warning: {}: {difference}", read.origin);
        }
        origins.push(read.origin);
        ids.extend(read.id);
        runs.extend(read.runs);
    }
    let Calibrated { profile, text } = calibrate_runs(&origins.join(", "), &runs, request.name)?;
    ids.sort();
    ids.dedup();
    let profile = Profile { fitted_to: ids, ..profile };
    Ok(Calibrated { profile, text: told + &text })
}

/// Rejects `--rows` and `--requests`. They apply only to engines before vLLM 0.8, which are fitted to tables.
fn refuse_of_tables(request: &Request<'_>) -> Result<(), PlanError> {
    let given = [("--rows", !request.rows.is_empty()), ("--requests", request.requests.is_some())];
    match given.into_iter().find(|given| given.1) {
        Some((flag, _)) => Err(PlanError::new(format!(
            "{flag}: cannot be used here, because every run is used and states its number of \
                requests; leave out this flag (only engines before vLLM 0.8 are fitted to tables and use it)"
        ))),
        None => Ok(()),
    }
}

/// For each column, the errors on left-out rows that the profile states for `weights`. If the profile states errors for
/// several tables, the errors with the largest p90 are returned.
fn stated(profile: &Profile, weights: Weights) -> ColumnErrors {
    let tables = profile.provenance.iter().filter(|table| table.weights == weights);
    let mut widest = ColumnErrors::new();
    for (column, error) in tables.flat_map(|table| &table.left_out_lengths) {
        if widest.get(column).is_none_or(|known| known.p90 < error.p90) {
            widest.insert(column.clone(), *error);
        }
    }
    widest
}

/// Reads the measured rows. Returns the rows that the fit can use, the measured engine and card, and a text. The text
/// names the origin of the rows and the rows that were left out, and warns about another engine, card or model.
fn measured(
    request: &Request<'_>,
    measured: &str,
) -> Result<(MeasuredTable, MeasuredOn, String), PlanError> {
    let config = request.config;
    let against = read_against(measured, request.store, config)?;
    if against.counts.is_some_and(|counts| counts.predicted) {
        return Err(PlanError::new(format!(
            "{}: a profile is fitted to measured rows, and this run is a prediction",
            against.origin
        )));
    }
    let mut text = String::new();
    for difference in differences(&against.measured_on, against.model.as_deref(), config)? {
        let _ = writeln!(text, "warning: {}: {difference}", against.origin);
    }
    let _ = writeln!(text, "measured: {}", against.origin);
    let name = |row: &PublishedRow| format!("{}x{}", row.cell.input_length, row.cell.output_length);
    if let Some(none) =
        request.rows.iter().find(|asked| against.rows.iter().all(|row| name(row) != **asked))
    {
        let known: Vec<String> = against.rows.iter().map(name).collect();
        return Err(PlanError::new(format!(
            "--rows: {none}: {} has no such row; it has {}",
            against.origin,
            known.join(", ")
        )));
    }
    let wanted = |cell: &str| request.rows.is_empty() || request.rows.iter().any(|r| r == cell);
    let mut rows = Vec::new();
    for found in &against.rows {
        if !wanted(&name(found)) {
            continue;
        }
        let judged = row(config, found.cell, Some(&found.measured))?;
        for finding in &judged.findings {
            let _ = writeln!(text, "  {}: {}", found.cell, finding.message);
        }
        let figures = &found.measured;
        let both = figures.output_tokens_per_s.zip(figures.latency_per_output_token_ms);
        let Some((output_tokens_per_s, latency_per_output_token_ms)) = both else {
            let _ = writeln!(text, "  {}: left out, tokens/s or latency is missing", found.cell);
            continue;
        };
        if judged.comparable {
            let resolved = judged.config.resolve().map_err(PlanError::new)?;
            rows.push(MeasuredRow {
                cell: found.cell,
                output_tokens_per_s,
                latency_per_output_token_ms,
                max_model_len: resolved.limits.max_model_len,
                mean_output: judged.mean_output,
            });
        }
    }
    if rows.len() < ROWS_FOR_SCALES {
        return Err(PlanError::new(format!(
            "{}: {} rows are usable; at least {ROWS_FOR_SCALES} are needed, one with short inputs \
                and a batch of 200 or more, and one with long context",
            measured,
            rows.len()
        )));
    }
    let saturated = against.counts.map(|counts| counts.saturated);
    let requests = match (request.requests, saturated) {
        (Some(given), Some(sent)) if given != sent => {
            return Err(PlanError::new(format!(
                "--requests: {given}, but the run sent {sent} in its saturated pass"
            )));
        }
        (given, sent) => given.or(sent).unwrap_or(PUBLISHED_REQUESTS),
    };
    let table = MeasuredTable { config: config.clone(), rows, requests };
    Ok((table, against.measured_on, text))
}

/// Fits multipliers for the constants of a profile, and describes them in `text`. Also returns the prediction errors on
/// each row, from a fit to all other rows. The list of errors is empty if there are only two rows.
fn by_multipliers(
    start: &Profile,
    table: &MeasuredTable,
    text: &mut String,
) -> Result<(Profile, Vec<RowError>), PlanError> {
    let (fitted, factors) =
        fit_scales(start, std::slice::from_ref(table)).map_err(PlanError::new)?;
    let words: Vec<String> =
        SCALES.iter().zip(factors).map(|(name, factor)| format!("{name} x {factor:.3}")).collect();
    let _ = writeln!(
        text,
        "fitted three multipliers over {} to {} rows: {}",
        start.name,
        table.rows.len(),
        words.join(", ")
    );
    let mut left_out = Vec::new();
    // With only two rows, each of these fits would have one row, which is too few.
    for out in table.rows.iter().filter(|_| table.rows.len() > ROWS_FOR_SCALES) {
        let others = [table.only(|row| row != out)];
        let (fitted, _) = fit_scales(start, &others).map_err(PlanError::new)?;
        left_out.extend(errors(&fitted, &table.only(|row| row == out)).map_err(PlanError::new)?);
    }
    Ok((fitted, left_out))
}

/// Adds a line for each column with its errors.
fn add_errors(
    text: &mut String,
    what: &str,
    columns: impl IntoIterator<Item = (String, ErrorPercent)>,
) {
    let before = text.len();
    for (column, e) in columns {
        let _ = writeln!(
            text,
            "{what}: {column}: mean {:.2} %, median {:.2} %, p90 {:.2} %, max {:.2} %",
            e.mean, e.median, e.p90, e.max
        );
    }
    if text.len() == before {
        let _ = writeln!(text, "{what}: none available; give more rows");
    }
}
