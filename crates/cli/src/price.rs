//! The price of a server's hardware as a user gives it: by flags, in a plan, or in a file of prices. Stored runs keep the
//! text of the file, so that their reports need no file.

use std::path::Path;

use inferometer_analysis::Summary;
use inferometer_model::code;
use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use inferometer_plan::{Plan, spec::PriceKeys};
use inferometer_run::PlanError;

/// The text of a price, with the lines of the file that it names. A text that is neither a price nor an existing file is
/// returned unchanged; it is refused when it is read.
///
/// # Errors
/// If the file cannot be read.
pub fn with_file(text: String) -> Result<String, String> {
    let path = Path::new(&text);
    if !PriceKeys::is_file(&text) || !path.is_file() {
        return Ok(text);
    }
    let bytes = file::read(path, MAX_SETTINGS_BYTES)
        .map_err(|error| format!("price (--price): {text}: cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| format!("price (--price): {text}: is not UTF-8"))
}

/// The keys that a user gives for stored results, with the lines of the file that the price names.
///
/// # Errors
/// If the file cannot be read, or a key has a mistake.
pub fn given(keys: &PriceKeys) -> Result<PriceKeys, PlanError> {
    let price = keys.price.clone().map(with_file).transpose().map_err(PlanError::new)?;
    let keys = PriceKeys { price, ..keys.clone() };
    if keys.price.is_some() {
        checked(&keys)?;
    }
    Ok(keys)
}

/// The keys that a user gives for a stored run, and those of the run for keys that are not given.
///
/// # Errors
/// If the keys together have a mistake, for example a number of GPUs without a price.
pub fn of_run(given: &PriceKeys, plan: Option<&Plan>) -> Result<PriceKeys, PlanError> {
    let stored = plan.map(|plan| plan.spec.price.clone()).unwrap_or_default();
    let given = given.clone();
    let keys = PriceKeys {
        price: given.price.or(stored.price),
        gpus: given.gpus.or(stored.gpus),
        price_split: given.price_split.or(stored.price_split),
    };
    checked(&keys)?;
    Ok(keys)
}

fn checked(keys: &PriceKeys) -> Result<(), PlanError> {
    let told = |(key, problem): (&str, String)| {
        PlanError::new(format!("{key} (--{}): {problem}", key.replace('_', "-")))
    };
    keys.price().map(|_| ()).map_err(told)
}

/// Bills results for a comparison. Does nothing if no key is given: the results then keep the costs with which they were
/// stored.
///
/// # Errors
/// If the keys have a mistake, or if the price of an hour is not known.
pub fn bill(
    summary: &mut Summary,
    given: &PriceKeys,
    plan: Option<&Plan>,
    name: &str,
) -> Result<(), PlanError> {
    if *given == PriceKeys::default() {
        return Ok(());
    }
    let keys = of_run(given, plan)?;
    summary.set_price(&keys, plan);
    match summary.findings.iter().find(|finding| finding.is(code::COST_UNKNOWN)) {
        Some(finding) => Err(PlanError::new(format!(
            "--price: {name}: {}; give --gpus N, or another price",
            finding.message
        ))),
        None => Ok(()),
    }
}
