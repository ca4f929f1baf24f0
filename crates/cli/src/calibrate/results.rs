//! Reads runs for a fit from a stored run, or from a result file of any tool that `import` supports. This module fits
//! nothing and stores nothing.

use std::path::Path;

use inferometer_analysis::Summary;
use inferometer_engine::{
    EngineConfig, confidence::MeasuredOn, fit::runs::MeasuredRun, model::built_in,
};
use inferometer_formats::import::Import;
use inferometer_model::{PassPlan, Record, Target};
use inferometer_net::file::{self, MAX_RESULTS_BYTES};
use inferometer_predict::{MeasuredPass, Unpredictable, measured_on, measured_passes, passes_of};
use inferometer_run::PlanError;
use inferometer_store::Store;

/// The passes of a result file or of a stored run.
#[derive(Debug)]
pub(crate) struct ResultRuns {
    /// What was read, in words.
    pub(crate) origin: String,
    /// The id of the stored run; absent for a file.
    pub(crate) id: Option<String>,
    /// The measured passes.
    pub(crate) runs: Vec<MeasuredRun>,
    /// Sentences that say how the measured engine or card differs from that of the profile, or the measured model from
    /// `--model`.
    pub(crate) differences: Vec<String>,
}

/// Reads the passes of a result file or of a stored run.
///
/// # Errors
/// If `measured` is neither a file nor a stored run, if the file has no known format or does not state the load of its
/// passes, if the run is a prediction, if no request of a pass completed, or if a pass cannot be simulated.
pub(crate) fn read_results(
    measured: &str,
    store: Option<&str>,
    config: &EngineConfig,
) -> Result<ResultRuns, PlanError> {
    let path = Path::new(measured);
    let problem = |why: &dyn std::fmt::Display| PlanError::new(format!("{measured}: {why}"));
    if path.is_file() {
        let bytes = file::read(path, MAX_RESULTS_BYTES)
            .map_err(|error| problem(&format!("cannot be read: {error}")))?;
        let imports = inferometer_formats::import::read(measured, &bytes);
        let (mut runs, mut differences) = (Vec::new(), Vec::new());
        for Import { summary, records } in imports.map_err(PlanError::new)? {
            let passes = records.into_iter().map(|pass| (pass.plan, pass.records)).collect();
            runs.extend(of_import(&summary, passes, config).map_err(|why| problem(&why))?);
            differences.extend(differences_of(&summary.target, config)?);
        }
        differences.dedup();
        return Ok(ResultRuns { origin: measured.to_owned(), id: None, runs, differences });
    }
    let store = Store::open_existing(Path::new(store.unwrap_or("inferometer.db")))
        .map_err(|error| problem(&format!("is not a file, and not a stored run: {error}")))?;
    let run = store
        .run(measured)
        .map_err(|error| problem(&format!("is not a file, and not a stored run: {error}")))?;
    if run.row.predicted {
        return Err(problem(&"a profile is fitted to measured rows, and this run is a prediction"));
    }
    let passes = measured_passes(&run, config).map_err(NoRuns::from);
    let runs = passes.and_then(runs_of).map_err(|why| problem(&why))?;
    let origin = format!("run {} of {}", run.row.id, run.target.model);
    let differences = differences_of(&run.target, config)?;
    Ok(ResultRuns { origin, id: Some(run.row.id.to_string()), runs, differences })
}

fn differences_of(target: &Target, config: &EngineConfig) -> Result<Vec<String>, PlanError> {
    differences(&measured_on(target), Some(&target.model), config)
}

/// How the measured engine or card differs from that of the profile, and the model from that of `config`, as far as
/// they are known.
pub(crate) fn differences(
    measured_on: &MeasuredOn,
    model: Option<&str>,
    config: &EngineConfig,
) -> Result<Vec<String>, PlanError> {
    let resolved = config.resolve().map_err(PlanError::new)?;
    let unlike = measured_on.unlike(&resolved);
    let other = model.and_then(built_in).filter(|model| model.name != config.model.name);
    let other = other
        .map(|model| format!("{} was measured, but --model is {}", model.name, config.model.name));
    Ok(unlike.into_iter().chain(other).collect())
}

/// Why measurements have no runs to which a profile can be fitted.
#[derive(Debug, thiserror::Error)]
enum NoRuns {
    #[error(transparent)]
    Unpredictable(#[from] Unpredictable),
    #[error("the file does not state the load of its passes")]
    NoLoad,
    #[error(
        "no request of pass {0} completed, so this pass has no speed; give a run without this pass"
    )]
    NothingCompleted(usize),
}

/// The passes of a result file. Returns an error if the file does not state the load of its passes, because a pass
/// without a known load cannot be simulated.
fn of_import(
    summary: &Summary,
    passes: Vec<(PassPlan, Vec<Record>)>,
    config: &EngineConfig,
) -> Result<Vec<MeasuredRun>, NoRuns> {
    if passes.is_empty() {
        return Err(NoRuns::NoLoad);
    }
    runs_of(passes_of(summary, passes, config)?)
}

fn runs_of(passes: Vec<MeasuredPass>) -> Result<Vec<MeasuredRun>, NoRuns> {
    let completed_none = |pass: &MeasuredPass| pass.run.measured.requests_per_s == Some(0.0);
    if let Some(at) = passes.iter().position(completed_none) {
        return Err(NoRuns::NothingCompleted(at + 1));
    }
    Ok(passes.into_iter().map(|pass| pass.run).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> Result<ResultRuns, PlanError> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/fixtures");
        let config = EngineConfig::of("llama-3.1-8b", Some("vllm-0.11-h100-sxm")).expect("known");
        read_results(&format!("{folder}/{name}"), None, &config)
    }

    #[test]
    fn results_of_other_tools_are_read_as_runs_with_request_counts_and_lengths() {
        for name in ["vllm.json", "vllm-detailed.json", "sglang-detailed.jsonl", "guidellm.json"] {
            let ResultRuns { runs, .. } = read(name).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(!runs.is_empty(), "{name}");
            for run in runs {
                assert!(run.pass.requests().is_some_and(|requests| requests > 0), "{name}");
                assert!(run.lengths.iter().all(|(input, output)| *input > 0 && *output > 0));
                assert!(run.measured.requests_per_s.is_some(), "{name}");
                // SGLang's files have no median TPOT that matches this program's definition.
                let figures = run.measured;
                let latency = figures.tpot_p50_ms.or(figures.e2e_p50_ms).or(figures.ttft_p50_ms);
                assert!(latency.is_some(), "{name}");
            }
        }
    }

    #[test]
    fn a_file_of_another_engine_is_read_with_a_sentence_about_the_difference() {
        let read = read("sglang-detailed.jsonl").expect("a file");
        let told = read.differences.join("; ");
        assert!(told.contains("sglang was measured"), "{told}");
    }

    #[test]
    fn every_difference_in_engine_card_and_model_is_stated() {
        let config = EngineConfig::of("llama-3.1-8b", Some("vllm-0.11-h100-sxm")).expect("known");
        let on = |version: &str, card: &str| MeasuredOn {
            engine: Some("vllm".to_owned()),
            engine_version: Some(version.to_owned()),
            card: Some(card.to_owned()),
        };
        let told =
            |on: MeasuredOn, model| differences(&on, Some(model), &config).expect("resolved");
        let all = told(on("0.2.7", "a100-pcie-40gb"), "qwen3-8b");
        let words = ["vllm 0.2.7 was measured", "a100-pcie-40gb was measured", "qwen3-8b was"];
        assert_eq!(all.len(), words.len(), "{all:?}");
        assert!(all.iter().zip(words).all(|(told, word)| told.contains(word)), "{all:?}");
        let version = config.profile.engine_version.clone();
        assert_eq!(told(on(&version, "h100-sxm"), "llama-3.1-8b"), Vec::<String>::new());
    }

    #[test]
    fn a_name_that_is_neither_a_file_nor_a_stored_run_is_refused() {
        let why = read("nothing.json").expect_err("there is none").to_string();
        assert!(why.contains("nothing.json: is not a file, and not a stored run"), "{why}");
    }
}
