//! A plan as it was resolved, for people and for programs. Nothing is sent.

use inferometer_plan::Plan;
use inferometer_plan::spec::Spec;
use inferometer_report::spec_toml;

use crate::error::RunError;
use crate::plan_memory::PlanMemory;
use crate::resolve::spelled_out;
use crate::search_bound::{self, LongestRun};
use crate::{estimate, prompts};

/// In which time a plan is played.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Against a server.
    Real,
    /// By the embedded engine's own arithmetic, which takes seconds.
    Virtual,
}

/// In which form a plan is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A plan file with comments.
    Toml,
    /// A JSON document.
    Json,
}

/// A plan as it was resolved, and how long it will take.
///
/// # Errors
/// When the data set cannot be read, or the embedded engine does not know the model.
pub fn dry_run(plan: &Plan, form: Form, clock: Clock) -> Result<String, RunError> {
    prompts::check_dataset(plan)?;
    let longest = LongestRun::of(plan);
    let estimate = match clock {
        Clock::Real => estimate::of_plan(&longest.plan)?.and_then(|once| longest.time(once)),
        Clock::Virtual => None,
    };
    let memory = PlanMemory::of(&longest.plan);
    if form == Form::Json {
        let seconds = estimate.map(|span| span.as_secs_f64());
        let (estimate_s, at_most_s) =
            if plan.search.is_some() { (None, seconds) } else { (seconds, None) };
        let document = serde_json::json!({
            "plan": plan,
            "plan_hash": plan.hash(),
            "estimate_s": estimate_s,
            "at_most_s": at_most_s,
            "memory_bytes": memory,
        });
        return Ok(format!("{document:#}\n"));
    }
    let asked = spelled_out(&plan.asked)?;
    let toml = spec_toml(&Spec { seed: Some(plan.seed), ..asked });
    let estimate = match &plan.search {
        None => estimate::words(estimate),
        Some(search) => search_bound::words(plan, search, estimate),
    };
    let advice = match clock {
        Clock::Real if plan.search.is_some() => search_bound::advice(plan),
        Clock::Real => None,
        Clock::Virtual => Some("in virtual time, which takes seconds: nothing is sent"),
    };
    let advice = advice.map_or_else(String::new, |advice| format!("# {advice}\n"));
    let memory = match clock {
        Clock::Real => format!("# {}\n", memory.words()),
        Clock::Virtual => String::new(),
    };
    Ok(format!("{toml}\n# plan_hash {}\n# {estimate}\n{memory}{advice}", plan.hash()))
}
