//! Finds problems in the records of a pass that a reader must know before using its figures.
//!
//! This module stores no record, and makes no finding for a single request. Each finding is about the whole pass, so
//! the number of findings does not grow with the number of requests.

mod arrivals;
mod bundles;
mod cached;
mod cards;
mod connections;
mod context;
mod cut_off;
mod failures;
mod forms;
mod hidden;
mod lengths;
mod parts;
mod pooled;
mod reasons;
mod saturated;
mod server;
mod server_times;
mod skipped;
mod think;
mod unstated_cache;
mod writer;

use inferometer_model::record::Skipped;
use inferometer_model::{CellPlan, Code, Finding, PassPlan, Sampling, Timeline, TokensFrom, code};

pub use bundles::{SOME_STREAMS_IN_BUNDLES, STREAM_IN_BUNDLES};
pub use cards::card_findings;
pub use parts::part_findings;
pub use server::server_findings;
pub use skipped::skipped_finding;
pub use writer::writer_finding;

use arrivals::ArrivalRate;
use cached::CachedPrompts;
use context::FullContexts;
use cut_off::CutOff;
use failures::Failures;
use lengths::{Counts, InputLengths, OutputLengths};
use reasons::UnknownReasons;
use saturated::over_saturated;

use crate::stop::GrowthFold;

/// Defines [`Checks`] from a list of modules and types. A module has the codes of its findings in `ALL`, made by
/// [`inferometer_model::codes`]. Its type implements `Default` and has two methods: `add` gets each completed request,
/// and `findings` returns the findings.
macro_rules! checks {
    ($($module:ident::$check:ident,)*) => {
        /// Checks of completed requests that need nothing but their records.
        #[derive(Clone, Debug, Default)]
        struct Checks {
            $($module: $module::$check,)*
        }

        impl Checks {
            fn add(&mut self, timeline: &Timeline<'_>) {
                $(self.$module.add(timeline);)*
            }

            fn findings(self) -> Vec<Finding> {
                let mut findings = Vec::new();
                $(findings.extend(self.$module.findings());)*
                findings
            }
        }

        /// Every kind of finding, by name: those of [`code`], and those of these checks.
        pub fn codes() -> Vec<Code> {
            let mut codes = [code::ALL, $($module::ALL),*].concat();
            codes.sort_by_key(|code| code.name);
            codes
        }
    };
}

checks! {
    bundles::BundledStreams,
    hidden::HiddenOutput,
    connections::KeptConnections,
    server_times::TimesOfServer,
    think::ThinkInText,
    forms::Forms,
    unstated_cache::UnstatedCache,
    pooled::PooledInputs,
}

/// Checks the records of one pass, in any order.
#[derive(Clone, Debug, Default)]
pub struct Inspector {
    place: String,
    ignore_eos: bool,
    honours_ignore_eos: bool,
    streamed: bool,
    completed: u64,
    arrivals: ArrivalRate,
    failures: Failures,
    cut_off: CutOff,
    /// The growth of the number in flight; absent if the arrival rate is not constant, and in trials of a
    /// search or a sweep.
    growth: Option<GrowthFold>,
    /// The maximum number in flight that the plan sets for arrivals.
    limit: Option<u32>,
    inputs: InputLengths,
    contexts: FullContexts,
    reasons: UnknownReasons,
    outputs: OutputLengths,
    counts: Counts,
    checks: Checks,
    without_usage: u64,
    without_any_count: u64,
    without_input: u64,
    cached: CachedPrompts,
    skipped: Skipped,
}

impl Inspector {
    /// Starts an inspection without records.
    pub fn new(cell: &CellPlan, pass: &PassPlan, sampling: &Sampling) -> Self {
        Self {
            place: format!("{cell}, {pass}"),
            ignore_eos: sampling.asks_to_ignore_eos(),
            honours_ignore_eos: true,
            arrivals: ArrivalRate::of(pass),
            growth: GrowthFold::of(pass),
            limit: pass.limit().0,
            contexts: FullContexts::of(sampling),
            ..Self::default()
        }
    }

    /// States whether the plan limits the requests without a token, so that requests may wait for it.
    #[must_use]
    pub fn with_prefill_limit(mut self, is_limited: bool) -> Self {
        self.arrivals.is_limited |= is_limited;
        self
    }

    /// Sets the number of the repeat to which the pass belongs, from 1. Findings state this number if it is above 1.
    #[must_use]
    pub fn of_repeat(mut self, repeat: u32) -> Self {
        if repeat > 1 {
            self.place = format!("{}, repeat {repeat}", self.place);
        }
        self
    }

    /// Sets the number of the trial of a search or a sweep to which the pass belongs, from 1. Findings state
    /// this number.
    #[must_use]
    pub fn of_trial(mut self, trial: u32) -> Self {
        self.place = format!("{}, trial {trial}", self.place);
        // A trial may overload the server on purpose, because searches and sweeps look for the limit of the
        // server.
        self.growth = None;
        self
    }

    /// Sets the number of tokens that a chat template adds to each prompt beyond the requested input length. This
    /// excess is not reported as a difference.
    #[must_use]
    pub fn with_template(mut self, tokens: u32) -> Self {
        self.inputs.template = tokens;
        self
    }

    /// Sets whether the server continues after end-of-text if a request sets `ignore_eos`. The default is `true`.
    #[must_use]
    pub fn with_ignore_eos(mut self, is_honoured: bool) -> Self {
        self.honours_ignore_eos = is_honoured;
        self
    }

    /// The cell and the load that findings name, such as `128 x 32, saturated`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The number of cached prompt tokens that nearly every request has because of the chat template. If the records
    /// show no such tokens: the number of tokens that the template adds.
    pub fn cached_in_common(&self) -> u32 {
        match self.cached.in_common() {
            0 => self.inputs.template,
            tokens => tokens,
        }
    }

    /// Adds the record of one planned request, whatever its outcome.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        let is_cut = self.cut_off.takes(record);
        if let (Some(growth), true) = (&mut self.growth, record.send_start.is_some()) {
            let ended = record.ended.filter(|_| !is_cut);
            let mut visible = record.token_events().filter(|event| event.kind.is_visible());
            let first = visible.next().filter(|_| record.streamed);
            let first = first.map(|event| record.arrival(event));
            growth.add(record.due, first, ended, !record.outcome.kind().is_failed());
        }
        if is_cut {
            return;
        }
        self.arrivals.add(record);
        self.skipped.add_all(&record.skipped);
        if !record.outcome.is_complete() {
            if record.outcome.kind().is_failed() {
                self.failures.add(record);
            }
            return;
        }
        self.completed += 1;
        let (_, from) = timeline.counted;
        let is_missing = record.usage.completion.is_none() && record.pooled.is_none();
        self.without_usage += u64::from(is_missing);
        self.without_any_count += u64::from(is_missing && from == TokensFrom::Events);
        self.without_input += u64::from(record.input_tokens().is_none());
        self.cached.add(record);
        self.reasons.add(record);
        self.inputs.add(record);
        self.contexts.add(record);
        self.outputs.add(timeline);
        self.counts.add(timeline);
        self.checks.add(timeline);
        self.streamed |= record.streamed;
    }

    /// Why the server rejected requests: the most frequent HTTP status, with the first error text. `None` if it
    /// rejected none.
    pub fn rejection(&self) -> Option<String> {
        self.failures.rejection()
    }

    /// The messages of streams that were skipped. A finding names them once for the whole run.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Returns the findings: at most one of each code, and up to nine on failed requests.
    pub fn finish(mut self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.completed == 0 {
            findings.extend(self.nothing_completed());
        }
        let uncounted = self.uncounted();
        findings.extend(self.failures.findings());
        findings.extend(self.cut_off.finding());
        let growth = self.growth.take().and_then(GrowthFold::finish);
        findings.extend(growth.and_then(|growth| over_saturated(growth, self.limit)));
        findings.extend(self.arrivals.findings());
        findings.extend(self.reasons.findings());
        findings.extend(self.outputs.empty());
        if self.ignore_eos {
            findings.extend(self.outputs.short(self.honours_ignore_eos));
        }
        findings.extend(self.outputs.long());
        findings.extend(self.inputs.differing());
        findings.extend(self.contexts.finding());
        findings.extend(uncounted);
        findings.extend(self.cached.finding());
        findings.extend(self.counts.not_possible());
        findings.extend(self.checks.findings());
        findings.extend(self.counts.chunks());
        findings.extend(self.counts.tokenizer(self.inputs.tokenizer_agrees()));
        findings.into_iter().map(|finding| finding.at(self.place.clone())).collect()
    }

    fn nothing_completed(&self) -> Option<Finding> {
        let planned = self.failures.total();
        let message = format!("None of the {planned} planned requests completed.");
        Some(Finding::of(code::NOTHING_COMPLETED, message))
            .filter(|_| planned > 0 && self.cut_off == CutOff::default())
            .filter(|_| !self.failures.are_of_an_interruption())
    }

    fn uncounted(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.without_usage > 0 {
            let counted = if self.without_any_count > 0 && !self.streamed {
                format!(
                    "{} of them were not counted, so metrics per output token are absent",
                    self.without_any_count
                )
            } else if self.without_any_count > 0 {
                format!(
                    "for {} of them, stream events were counted instead; an event can have more \
                        or less than one token",
                    self.without_any_count
                )
            } else {
                "the tokenizer of --tokenizer counted them instead".to_owned()
            };
            let message = format!(
                "The server sent no count of output tokens for {} of {} completed requests; \
                    {counted}.",
                self.without_usage, self.completed
            );
            findings.push(Finding::of(code::USAGE_MISSING, message));
        }
        if self.without_input > 0 {
            let message = format!(
                "For {} of {} completed requests, the number of prompt tokens is unknown. So they have \
                    no latency per token, and the number of input tokens of the pass is unknown.",
                self.without_input, self.completed
            );
            findings.push(Finding::of(code::INPUT_TOKENS_UNKNOWN, message));
        }
        findings
    }
}

#[cfg(test)]
mod tests;
