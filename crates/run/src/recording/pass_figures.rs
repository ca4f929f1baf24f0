//! The figures and findings of one pass. The figures depend only on the plan and on data that the log contains, so a
//! report that is made again from the log has the same figures. Some findings also depend on the chat template, and on
//! how the server treats `ignore_eos`.

use inferometer_analysis::ab::{Block, BlockFold};
use inferometer_analysis::abandoned::abandoned_findings;
use inferometer_analysis::inspect::{
    Inspector, card_findings, part_findings, server_findings, writer_finding,
};
use inferometer_analysis::recovery::recovery_findings;
use inferometer_analysis::trials::{TrialResult, TrialResultFold};
use inferometer_analysis::{PassFold, PassSummary};
use inferometer_model::{Finding, Observed, Process, Severity, Timeline, code, record::Skipped};
use inferometer_plan::{Plan, TraceFormat, WorkloadPlan};
use inferometer_report::trace::{PassTrace, PassTracer};
use inferometer_store::PassBegin;

/// The results of a pass.
pub struct PassResult {
    /// The figures of the pass.
    pub summary: PassSummary,
    /// Findings on the pass.
    pub findings: Vec<Finding>,
    /// Why the server rejected requests: see [`Inspector::rejection`].
    pub rejection: Option<String>,
    /// The messages of streams that were skipped: see [`Inspector::skipped`].
    pub skipped: Skipped,
    /// The same results as a trial, if the plan searches or sweeps.
    pub trial: Option<TrialResult>,
    /// The same results as a block, if the plan compares two servers and the pass ran to its end.
    pub block: Option<Block>,
    /// Data for the charts of single requests, if they are drawn.
    pub trace: Option<PassTrace>,
}

/// Whether prompts share prefixes by design. A trace does if it has hashes. If only the plan is known, it may have
/// hashes unless its format has none.
fn shares_prefixes(workload: &WorkloadPlan, has_hashes: Option<bool>) -> bool {
    let may_have = |format| matches!(format, TraceFormat::Mooncake | TraceFormat::Bailian);
    match workload {
        WorkloadPlan::Trace(plan) => has_hashes.unwrap_or(plan.format.is_none_or(may_have)),
        workload if workload.has_jobs() => true,
        workload => workload.prefix_length() > 0,
    }
}

/// Collects the records of a pass.
pub struct PassFigures {
    fold: PassFold,
    inspector: Inspector,
    trial: Option<TrialResultFold>,
    block: Option<BlockFold>,
    tracer: Option<PassTracer>,
    shares_prefixes: bool,
    limits_prefill: bool,
}

impl PassFigures {
    /// Creates figures without records. `template` is the number of chat template tokens that input lengths do not
    /// include. `origin_unix_ns` is the wall-clock time of instant 0 of the records, in nanoseconds since 1970.
    pub fn new(plan: &Plan, begin: &PassBegin, template: u32, origin_unix_ns: i64) -> Self {
        let fold = PassFold::new(&begin.plan)
            .judging(&plan.goodput)
            .judging_classes(&plan.workload.class_objectives(&begin.plan))
            .with_failures_as_inf(plan.spec.failures_as_inf.unwrap_or(false))
            .with_abandoned(plan.abandon.is_some());
        let fold = match plan.procedure.chooses_loads() {
            true => fold.of_trial(begin.repeat),
            false => fold.of_repeat(begin.repeat),
        };
        let fold = match (&plan.workload, plan.workload.block_pass(begin.cell, origin_unix_ns)) {
            (_, Some(pass)) => fold.over_blocks(pass),
            (WorkloadPlan::ServingRun { .. }, None) => fold.as_serving_run(),
            _ => fold,
        };
        let fold = fold.of_media(plan.media.as_ref().map(ToString::to_string).unwrap_or_default());
        let inspector = Inspector::new(&begin.cell, &begin.plan, &plan.sampling)
            .with_prefill_limit(plan.limits_prefill(&begin.plan));
        Self {
            fold,
            limits_prefill: plan.limits_prefill(&begin.plan),
            shares_prefixes: shares_prefixes(&plan.workload, None),
            tracer: None,
            trial: TrialResultFold::of(plan, &begin.plan),
            block: plan.procedure.ab().map(|ab| BlockFold::new(&begin.plan, ab, begin.repeat)),
            inspector: match plan.procedure.chooses_loads() {
                true => inspector.of_trial(begin.repeat),
                false => inspector.of_repeat(begin.repeat),
            }
            .with_template(template),
        }
    }

    /// Sets the names of the servers that share the load, if there are several.
    #[must_use]
    pub fn of_servers(mut self, names: &[String]) -> Self {
        self.fold = self.fold.of_servers(names);
        self
    }

    /// Sets whether the server continues after end-of-text if a request sets `ignore_eos`.
    #[must_use]
    pub fn with_ignore_eos(mut self, is_honoured: bool) -> Self {
        self.inspector = self.inspector.with_ignore_eos(is_honoured);
        self
    }

    /// Sets whether the trace has hashes, if its file was read.
    #[must_use]
    pub fn with_hashes(mut self, workload: &WorkloadPlan, has_hashes: Option<bool>) -> Self {
        self.shares_prefixes = shares_prefixes(workload, has_hashes);
        self
    }

    /// Also collects the data for the charts of single requests.
    #[must_use]
    pub fn traced(mut self, begin: &PassBegin) -> Self {
        self.tracer = Some(PassTracer::new(begin.cell));
        self
    }

    /// Adds a record.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        self.fold.add(timeline);
        self.add_beside_fold(timeline);
    }

    /// Adds `count` requests that differ only in their index; `timeline` is that of the first request. If
    /// `count` is above 1, none of the requests has begun.
    pub fn add_repeated(&mut self, timeline: &Timeline<'_>, count: u32) {
        if count == 1 {
            return self.add(timeline);
        }
        self.fold.add_never_begun(timeline, count);
        let mut record = timeline.record.clone();
        for _ in 0..count {
            self.add_beside_fold(&Timeline::new(&record));
            record.index = record.index.wrapping_add(1);
        }
    }

    fn add_beside_fold(&mut self, timeline: &Timeline<'_>) {
        self.inspector.add(timeline);
        if let Some(tracer) = &mut self.tracer {
            tracer.add(timeline);
        }
        if let Some(trial) = &mut self.trial {
            trial.add(timeline);
        }
        if let Some(block) = &mut self.block {
            block.add(timeline);
        }
    }

    /// Adds the metrics of the server and the cards.
    pub fn observe(&mut self, observed: Observed) {
        if let Some(tracer) = &mut self.tracer {
            tracer.observe(&observed);
        }
        self.fold.observe(observed);
    }

    /// Returns the results. `process` is the resource use of the client, which is not in the records.
    pub fn finish(self, process: Option<Process>) -> PassResult {
        let (mut summary, trace) = match self.tracer {
            None => (self.fold.finish(), None),
            Some(tracer) => {
                let (summary, drawn) = self.fold.finish_drawn();
                (summary, Some(tracer.finish(drawn)))
            }
        };
        summary.instrument.process = process;
        summary.limits_prefill = self.limits_prefill;
        let place = self.inspector.place().to_owned();
        let in_common = self.inspector.cached_in_common();
        let rejection = self.inspector.rejection();
        let skipped = self.inspector.skipped().clone();
        let mut findings = self.inspector.finish();
        let observed =
            server_findings(&summary, in_common).into_iter().chain(card_findings(&summary));
        let observed = observed.chain(part_findings(&summary));
        let observed = observed.chain(abandoned_findings(summary.abandoned.as_ref()));
        let observed = observed.chain(recovery_findings(&summary.recovery));
        let observed = observed.chain(process.as_ref().and_then(writer_finding));
        findings.extend(observed.map(|finding| finding.at(&place)));
        let of_prefixes = [code::CACHED_PROMPT_TOKENS, code::SERVER_PREFIX_HITS];
        for finding in findings.iter_mut().filter(|_| self.shares_prefixes) {
            if finding.is_one_of(&of_prefixes) {
                let by_design = "The prompts of this workload share prefixes by design.";
                *finding = finding.clone().severity(Severity::Note).advise(by_design);
            }
        }
        let stopped = summary.stopped;
        let trial = self.trial.map(|it| it.finish(stopped));
        let block = self.block.and_then(BlockFold::finish);
        PassResult { summary, findings, rejection, skipped, trial, block, trace }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_plan::{TracePlan, TraceWindow};

    #[test]
    fn a_trace_shares_prefixes_if_its_file_has_hashes() {
        for (format, has_hashes, expected) in [
            (None, Some(false), false),
            (None, Some(true), true),
            (Some(TraceFormat::Mooncake), Some(false), false),
            (None, None, true),
            (Some(TraceFormat::Azure), None, false),
        ] {
            let (dataset, window) = ("trace.csv".to_owned(), TraceWindow::default());
            let (max_tokens, block_tokens) = (None, None);
            let plan = TracePlan { dataset, format, window, scale: 1.0, max_tokens, block_tokens };
            let shares = shares_prefixes(&WorkloadPlan::Trace(plan), has_hashes);
            assert_eq!(shares, expected, "{format:?} {has_hashes:?}");
        }
    }
}
