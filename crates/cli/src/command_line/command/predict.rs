//! `predict`: runs the grid of a plan with the embedded engine in virtual time. Its flags, and the printed results.

use std::path::PathBuf;

use crate::command_line::{Failure, interrupt, print, screen, tell, variable};
use crate::plan_file;
use clap::Args;
use inferometer_engine::{EngineConfig, ProfileNeed, learned};
use inferometer_plan::{shell::word, spec::Spec};
use inferometer_predict::{Prediction, planned, predict as predict_plan, tables};
use inferometer_report::{json, terminal};
use inferometer_run::{Context, Strictness, judge_results};

use super::against::{Prepared, prepared};
use super::predict_targets::{Printing, predict_targets};
use super::{
    engine_flags::EngineFlags, own_profiles::own_profiles, run::tell_objectives, run_flags::given,
    settings::Settings,
};

/// The flags of `predict`. Those that describe the measurement are keys of a plan file, with underscores.
#[derive(Args)]
pub struct PredictArgs {
    /// A plan file (TOML); flags override its keys. Each of its [[target]] tables is predicted, and
    /// the predictions are compared
    plan: Option<PathBuf>,
    #[command(flatten)]
    spec: Spec,
    #[command(flatten)]
    engine: EngineFlags,
    /// Measured results to compare the prediction with: a stored run, or a file. The file is a
    /// published table (Markdown) or a result file that `import` reads (vLLM, SGLang, AIPerf,
    /// GuideLLM, ...). FILE#SECTION selects one table or result of a file. Without --input-lengths
    /// and --output-lengths, results are predicted for the lengths of the measured results. If
    /// --model or flags of the engine are absent, their values come from the run or the result file.
    /// For results of the workload `blocks`, leave out --workload
    #[arg(long, value_name = "FILE[#SECTION]|RUN", help_heading = "Comparison")]
    against: Option<String>,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long)]
    json: bool,
    /// Print only errors and the verdict on objectives on stderr
    #[arg(long, short)]
    quiet: bool,
    /// Exit with code 4 if it is undecided whether an objective is met, or if the prediction is
    /// suspect
    #[arg(long, help_heading = "Limits")]
    strict: bool,
}

/// Predicts the grid of a plan, prints the results, and evaluates the objectives.
pub fn predict(arguments: &PredictArgs) -> Result<(), Failure> {
    interrupt::handle_signals();
    let plan = arguments.plan.as_deref();
    let mut keys = given(&arguments.spec)?;
    // Use only the setting for the store, because a prediction has no server.
    Settings::read()?.add_store(plan, &mut keys)?;
    let (mut spec, multi): (Spec, _) =
        plan_file::merge_multi_target(plan, keys, plan_file::OverrideOrigin::Flags)?;
    let strictness = if arguments.strict { Strictness::Strict } else { Strictness::Lenient };
    match (multi.targets.is_empty(), &arguments.against) {
        (true, _) if multi.rounds > 1 => {
            return Err(Failure::usage(
                "rounds: a prediction has rounds only for a plan with [[target]] tables; leave out `rounds`",
            ));
        }
        (true, _) => {}
        (false, Some(_)) => {
            return Err(Failure::usage(
                "--against: a plan with [[target]] tables has several predictions; leave out --against, or predict \
                 one target with its flags",
            ));
        }
        (false, None) => {
            let (json, quiet) = (arguments.json, arguments.quiet);
            let printing = Printing { json, quiet, strictness };
            return predict_targets(&spec, &multi, &arguments.engine, printing);
        }
    }
    let Prepared { config, flags, against, told } =
        prepared(&mut spec, &arguments.engine, arguments.against.as_deref())?;
    let plan_profile = spec.profile.clone();
    let (plan, context) = planned(spec, flags.given(), against.as_ref(), &variable)?;
    let prediction = predict_plan(&plan, &context, &config, against.as_ref())?;
    if !arguments.quiet {
        eprintln!("{}", prediction.time);
        if let Some(against) = &against {
            tell(&format!("compared with {}", against.origin));
        }
        if let Some(told) = &told {
            tell(told);
        }
        let is_chosen = plan_profile.is_none();
        if let Some(own) = is_chosen.then(|| own_profile_of(&config)).flatten() {
            tell(&own);
        }
    }
    let summary = &prediction.summary;
    if arguments.json {
        print(&json::summary(summary))?;
    } else {
        let files = files(&prediction, &context);
        let table = terminal::text(std::slice::from_ref(summary), screen());
        print(&format!("{table}\n{}{files}", tables::terminal(summary)))?;
    }
    judge_results(summary, plan.max_failures, strictness).map_err(|shortfall| {
        let failure = Failure::from(shortfall);
        if plan.slo.is_empty() { failure } else { failure.judged() }
    })?;
    tell_objectives(std::slice::from_ref(summary));
    Ok(())
}

/// A line about the user's own profile of the engine, the card and the model, if there is one. Such a profile is used
/// only if --profile names it, so that a prediction depends only on its plan.
fn own_profile_of(config: &EngineConfig) -> Option<String> {
    let own = own_profiles();
    let file = &learned(&own, &ProfileNeed::of(config), None)?.file;
    let file = word(file);
    Some(format!(
        "not used: your own profile of this engine, card and model; --profile {file} uses it"
    ))
}

fn files(Prediction { folder, run, .. }: &Prediction, context: &Context) -> String {
    format!(
        "\nreport: {0}/report.html, {0}/report.md, {0}/prediction.md{1}\n\
         store:  {2}, run {run} (predicted)\n",
        folder.display(),
        context.plots.place(folder),
        context.store.display()
    )
}
