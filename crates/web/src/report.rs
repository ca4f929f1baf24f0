//! The charts and the plan of a run, for its report. The report crate makes the report from them.

use inferometer_analysis::Summary;
use inferometer_plan::Plan;
use inferometer_report::{ReportInput, Traces, chart::Chart, charts, plan_toml};
use inferometer_run::summarise_log;
use inferometer_store::StoredRun;

use crate::PageError;

/// The parts of a run's report that come from its log and its plan.
pub(crate) struct ReportParts {
    /// The charts of the run.
    pub(crate) charts: Vec<Chart>,
    /// The traces of its passes; empty for a run without a log, or without a plan that can be read.
    pub(crate) traces: Traces,
    plan: String,
    report_command: String,
}

impl ReportParts {
    /// Makes the charts of a run from its results and its log, and converts its plan to text.
    ///
    /// # Errors
    /// If the log exists but cannot be read.
    pub(crate) fn of(stored: &StoredRun, summary: &Summary) -> Result<Self, PageError> {
        let known_plan = Plan::from_json(&stored.plan_json).ok();
        // An imported run has no plan. The log of a run may be missing.
        let traces = match known_plan.filter(|_| stored.log.exists()) {
            Some(plan) => summarise_log(stored, &plan)?.traces,
            None => Traces::default(),
        };
        Ok(Self {
            charts: charts::of_run(summary, &traces),
            traces,
            plan: plan_text(stored),
            report_command: format!("inferometer report {}", stored.row.id),
        })
    }

    /// The parts of a run without results.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        let (plan, report_command) = (String::new(), String::new());
        Self { charts: Vec::new(), traces: Traces::default(), plan, report_command }
    }

    /// The input for the functions of the report crate that write reports.
    pub(crate) fn input<'a>(&'a self, summary: &'a Summary) -> ReportInput<'a> {
        ReportInput {
            summary,
            charts: &self.charts,
            traces: &self.traces,
            plan_toml: &self.plan,
            files: &["summary.json", "cells.csv", "table.md", "report.md"],
            report_command: &self.report_command,
            run_command: "inferometer run PLAN.toml",
        }
    }
}

/// The plan of a run as text in TOML. If another version of this program stored a plan that this version
/// cannot parse, the text is the stored JSON. For an imported run, the text is a comment: the run has no
/// plan.
pub(crate) fn plan_text(stored: &StoredRun) -> String {
    let salt = stored.environment.salt.as_deref();
    if let Some(file) = &stored.row.imported_from {
        return format!("# imported from {file}: an imported run has no plan\n");
    }
    match Plan::from_json(&stored.plan_json) {
        Ok(plan) => plan_toml(&plan, salt),
        Err(_) => format!("# plan of another version of this program\n{}\n", stored.plan_json),
    }
}
