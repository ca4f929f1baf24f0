//! What the record of a request contains of the request itself.

use inferometer_model::{Record, Request, Sampling, record::JobCall};

/// The properties of a request that its record contains.
#[derive(Clone, PartialEq)]
pub(crate) struct RequestInfo {
    class: Option<Box<str>>,
    job: Option<Box<JobCall>>,
    input: u32,
    pub output: u32,
    pub output_limit: Option<u32>,
    hides_reasoning: bool,
    counted_input: Option<u32>,
}

impl RequestInfo {
    pub fn of(request: &Request, sampling: &Sampling) -> Self {
        Self {
            class: request.class.clone(),
            job: request.job.clone(),
            input: request.input_tokens,
            output: request.output_tokens,
            output_limit: request.output_limit(sampling),
            hides_reasoning: request.hides_reasoning(sampling),
            counted_input: request.counted_tokens,
        }
    }

    /// Writes the properties into the request's record.
    pub fn write_to(&self, record: &mut Record) {
        record.class.clone_from(&self.class);
        record.job.clone_from(&self.job);
        record.asked_input = self.input;
        record.asked_output = self.output;
        record.output_limit = self.output_limit;
        record.hides_reasoning = self.hides_reasoning;
        record.prompt_tokens_tokenizer = self.counted_input;
    }
}
