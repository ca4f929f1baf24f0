//! Opens the workload of a plan, and makes its requests.

use std::sync::Arc;

use inferometer_model::{CellPlan, Finding, Prompt, Tokenizer};
use inferometer_plan::{Plan, PoolingPlan, WorkloadPlan};

use crate::{
    AdapterMix, MediaMaker, PromptContext, PromptScope, RequestBatch, RequestsNeeded, TooLong,
    Workload, WorkloadError, batch, definition, fit::require_plain_words, random::RandomWords,
};

/// Makes the requests of a run: an opened workload with the context of its prompts.
#[derive(Clone)]
pub struct OpenWorkload {
    workload: Arc<dyn Workload>,
    /// The settings that all prompts share.
    pub context: PromptContext,
    /// Makes the pictures and sounds of requests; `None` if they have none.
    pub media: Option<MediaMaker>,
    /// Names the adapters of requests; `None` if they name only the model.
    pub adapters: Option<AdapterMix>,
    /// The inputs of each request; `None` if requests generate text.
    pub pooling: Option<PoolingPlan>,
}

impl OpenWorkload {
    /// Opens the workload of a plan. At first, prompts are sent as text (`context.form`), and the server
    /// is assumed to add no tokens to a prompt (`context.reserve`). The caller can change both fields.
    ///
    /// # Errors
    /// If the data set, a histogram of lengths or a template cannot be used, or the tokenizer has too few
    /// plain words.
    pub fn open(
        plan: &WorkloadPlan,
        tokenizer: Arc<dyn Tokenizer>,
        seed: u64,
        salt: impl Into<String>,
    ) -> Result<Self, WorkloadError> {
        require_plain_words(tokenizer.as_ref())?;
        let context = PromptContext::new(tokenizer, seed, salt);
        Ok(Self::plain(definition(plan).open(&context)?, context))
    }

    fn plain(workload: Arc<dyn Workload>, context: PromptContext) -> Self {
        Self { workload, context, media: None, adapters: None, pooling: None }
    }

    /// The workload `random` with the same context and without media. It makes the prompts of requests outside of the
    /// measurement, such as those of the warm-up. A data set may have no prompts for them.
    pub fn random_words(&self) -> Self {
        Self::plain(Arc::new(RandomWords), self.context.clone())
    }

    /// Makes the first `count` requests of a pass, in the order in which they are sent.
    ///
    /// # Errors
    /// The errors of [`Workload::requests`].
    pub fn requests(
        &self,
        cell: CellPlan,
        scope: &PromptScope,
        count: usize,
    ) -> Result<RequestBatch, WorkloadError> {
        self.requests_from(cell, scope, 0, count)
    }

    /// Makes `count` requests of a pass, from the index `first` on: 0 if [`Workload::can_begin_anywhere`] is false.
    ///
    /// # Errors
    /// The errors of [`Workload::requests`].
    pub fn requests_from(
        &self,
        cell: CellPlan,
        scope: &PromptScope,
        first: u64,
        count: usize,
    ) -> Result<RequestBatch, WorkloadError> {
        let context = &self.context;
        let wanted = RequestsNeeded { context, cell, scope, first, count };
        let mut made = match self.pooling {
            Some(pooling) => batch::requests(&*self.workload, pooling, &wanted)?,
            None => self.workload.requests(&wanted)?,
        };
        if let Some(media) = &self.media {
            media.add_to(&mut made, scope, first);
        }
        if let Some(adapters) = &self.adapters {
            adapters.add_to(&mut made, scope, first)?;
        }
        Ok(made)
    }

    /// See [`Workload::beyond`].
    ///
    /// # Errors
    /// The errors of [`Workload::beyond`].
    pub fn beyond(&self, cell: CellPlan, scope: &PromptScope, count: usize, limit: u64) -> TooLong {
        let context = &self.context;
        self.workload.beyond(&RequestsNeeded { context, cell, scope, first: 0, count }, limit)
    }

    /// See [`Workload::verbatim_prompts`].
    pub fn verbatim_prompts(&self) -> Vec<&Prompt> {
        self.workload.verbatim_prompts()
    }

    /// The opened workload, without its context.
    pub fn workload(&self) -> &dyn Workload {
        self.workload.as_ref()
    }

    /// See [`Workload::findings`].
    pub fn findings(&self) -> Vec<Finding> {
        self.workload.findings()
    }
}

/// Whether the data set of a plan has chat messages, which only some dialects can send; false if it cannot be
/// read.
pub fn has_messages(plan: &WorkloadPlan) -> bool {
    definition(plan).has_messages()
}

/// Writes data of the workload into the passes of a plan. For a trace, rows with times or a replayed
/// file, these are the arrival times. For conversations, these are the number of turns and the think
/// times.
///
/// # Errors
/// If the data set cannot be used.
pub fn prepare(plan: &mut Plan) -> Result<(), WorkloadError> {
    let definition = definition(&plan.workload);
    definition.prepare(&mut plan.passes, plan.seed)?;
    let mut criteria = plan.procedure.search().into_iter().flat_map(|search| &search.criteria);
    match criteria.find(|criterion| criterion.needs_recorded_times()) {
        Some(criterion) if !definition.has_recorded_times() => Err(WorkloadError::Agents(format!(
            "it does not state when all calls started and ended, so no job has a slowdown for `{}`; give \
                    job_duration_p50 or job_duration_p95",
            criterion.text
        ))),
        _ => Ok(()),
    }
}
