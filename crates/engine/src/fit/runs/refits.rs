//! The constants of fits without some of the runs, as CSV. With them, tests and tools compute the errors of runs that
//! were left out, without fitting again.

use super::FITTED_CONSTANTS;
use crate::{EngineError, Profile};

/// The profiles of a fit without some of the runs.
#[derive(Clone, Debug)]
pub struct Refit {
    /// The name of the runs that were left out, such as `set auro-l40s-llama8b-fp8`, `card l40s` or `half 1`.
    pub left_out: String,
    /// The profiles with the constants of this fit.
    pub profiles: Vec<Profile>,
}

/// The constants of fits as CSV: one line for each fit and profile.
pub fn refits_to_csv(refits: &[Refit]) -> String {
    let names = FITTED_CONSTANTS.iter().map(|constant| constant.name).collect::<Vec<_>>();
    let mut text = format!("left_out,profile,{}\n", names.join(","));
    for Refit { left_out, profiles } in refits {
        for profile in profiles {
            let values = FITTED_CONSTANTS.iter().map(|it| format!("{:.5e}", it.get(profile)));
            let values = values.collect::<Vec<_>>().join(",");
            text += &format!("{left_out},{},{values}\n", profile.name);
        }
    }
    text
}

/// Parses the text that [`refits_to_csv`] returns. All other properties of a profile come from the profile in `known`
/// with the same name. `path` is for error messages.
///
/// # Errors
/// If a line does not have a known profile and a number for each constant.
pub fn parse_refits(text: &str, path: &str, known: &[Profile]) -> Result<Vec<Refit>, EngineError> {
    let mut refits: Vec<Refit> = Vec::new();
    for (at, line) in text.lines().enumerate().skip(1) {
        let mut cells = line.split(',');
        let left_out = cells.next().unwrap_or_default();
        let name = cells.next().unwrap_or_default();
        let values: Vec<f64> = cells.filter_map(|cell| cell.parse().ok()).collect();
        let found = known.iter().find(|profile| profile.name == name);
        let Some(mut profile) = found.filter(|_| values.len() == FITTED_CONSTANTS.len()).cloned()
        else {
            let reason = format!(
                "line {}: must have the name of a known profile and a number for each constant",
                at + 1
            );
            return Err(EngineError::Malformed { path: path.to_owned(), reason });
        };
        for (constant, value) in FITTED_CONSTANTS.iter().zip(values) {
            constant.set(&mut profile, value);
        }
        match refits.last_mut().filter(|refit| refit.left_out == left_out) {
            Some(refit) => refit.profiles.push(profile),
            None => refits.push(Refit { left_out: left_out.to_owned(), profiles: vec![profile] }),
        }
    }
    Ok(refits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::profile;

    #[test]
    fn refitted_constants_are_unchanged_after_serialization_and_an_invalid_line_is_named() {
        let known = vec![profile("vllm-0.23-h100-sxm").unwrap()];
        let mut changed = known[0].clone();
        FITTED_CONSTANTS[0].set(&mut changed, 0.875);
        let refit = Refit { left_out: "card l40s".to_owned(), profiles: vec![changed] };
        let text = refits_to_csv(&[refit]);
        let found = parse_refits(&text, "refits.csv", &known).unwrap();
        assert_eq!(found[0].left_out, "card l40s");
        assert_eq!(FITTED_CONSTANTS[0].get(&found[0].profiles[0]), 0.875);
        let wrong = parse_refits(&text.replace("0.23", "0.24"), "refits.csv", &known);
        assert!(wrong.unwrap_err().to_string().contains("line 2"));
    }
}
