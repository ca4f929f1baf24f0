//! Shows a resolved plan, for people and for programs. This module sends nothing.

use inferometer_plan::{Plan, Procedure, spec::Spec};
use inferometer_report::{progress::Notice, spec_toml};

use super::resolve::spelled_out;
use crate::estimate::bound::{self, LongestRun};
use crate::estimate::duration;
use crate::estimate::memory::PlanMemory;
use crate::pass::event_loops::event_loops;
use crate::{RunError, prompts};

/// The kind of time in which a plan runs: real or virtual.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Real time, against a server.
    Real,
    /// Virtual time: the embedded engine simulates the run, which takes only seconds of real time.
    Virtual,
}

/// The format in which a plan is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanFormat {
    /// A plan file with comments.
    Toml,
    /// A JSON document.
    Json,
}

/// A resolved plan as text, with its hash and its estimated duration. As JSON, and for real time, the text also states
/// the memory of the plan and the number of event loops.
///
/// # Errors
/// When the data set cannot be read, or the embedded engine does not know the model or the profile.
pub fn dry_run(plan: &Plan, form: PlanFormat, clock: Clock) -> Result<String, RunError> {
    prompts::check_dataset(plan)?;
    let longest = LongestRun::of(plan);
    let estimate = match clock {
        Clock::Real => {
            duration::of_plan(&longest.plan)?.and_then(|times| longest.time(times.all.0))
        }
        Clock::Virtual => None,
    };
    let memory = PlanMemory::of(&longest.plan);
    let loops = event_loops(plan);
    if form == PlanFormat::Json {
        let seconds = estimate.map(|span| span.as_secs_f64());
        let is_bound = plan.procedure != Procedure::Passes;
        let (estimate_s, at_most_s) = if is_bound { (None, seconds) } else { (seconds, None) };
        let document = serde_json::json!({
            "plan": plan,
            "plan_hash": plan.hash(),
            "estimate_s": estimate_s,
            "at_most_s": at_most_s,
            "memory_bytes": memory,
            "event_loops": loops,
        });
        return Ok(format!("{document:#}\n"));
    }
    let asked = spelled_out(&plan.spec)?;
    let toml = spec_toml(&Spec { seed: Some(plan.seed), ..asked });
    let estimate = match &plan.procedure {
        Procedure::Search(search) => Some(bound::of_search(plan, search, estimate)),
        Procedure::Sweep(sweep) => Some(bound::of_sweep(plan, sweep, estimate)),
        Procedure::Ab(ab) => Some(bound::of_ab(plan, ab, estimate)),
        Procedure::Passes if clock == Clock::Virtual => None,
        Procedure::Passes => Some(estimate.map_or(Notice::EstimateLater, |span| {
            let span_s = span.as_secs_f64();
            Notice::Estimate { least_s: span_s, most_s: span_s }
        })),
    };
    let estimate = estimate.map_or_else(String::new, |estimate| format!("# {estimate}\n"));
    let advice = match clock {
        Clock::Real if plan.procedure.chooses_loads() => {
            bound::advice(plan).map(|advice| advice.to_string())
        }
        Clock::Real => None,
        Clock::Virtual => {
            Some("in virtual time, which takes seconds: no server is contacted".to_owned())
        }
    };
    let advice = advice.map_or_else(String::new, |advice| format!("# {advice}\n"));
    let memory = match clock {
        Clock::Real => {
            format!("# {}\n# event loops: {} ({})\n", memory.words(), loops.count, loops.why)
        }
        Clock::Virtual => String::new(),
    };
    Ok(format!("{toml}\n# plan_hash {}\n{estimate}{memory}{advice}", plan.hash()))
}

#[cfg(test)]
mod tests {
    use inferometer_plan::spec::Known;

    use super::*;

    #[test]
    fn the_dry_run_of_a_prediction_does_not_speak_of_answers_of_a_server() {
        let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
        let plan = Spec::default().resolve(&known).unwrap();
        for (clock, has_estimate) in [(Clock::Real, true), (Clock::Virtual, false)] {
            let text = dry_run(&plan, PlanFormat::Toml, clock).unwrap();
            assert_eq!(text.contains("# estimate: "), has_estimate, "{text}");
            assert_eq!(text.contains("no server is contacted"), !has_estimate, "{text}");
            assert!(!text.contains("# \n"), "{text}");
        }
    }
}
