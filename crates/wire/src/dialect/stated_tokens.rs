//! The numbers of tokens that the chunks of an OpenAI stream state.

use inferometer_model::{Usage, record::Event};

/// The numbers of tokens that the chunks of a stream state.
#[derive(Debug)]
pub(super) struct StatedTokens {
    /// The number of completion tokens up to the last output, from usage in mid-stream. `None` after a token without
    /// usage: the next count then covers more than one event.
    counted: Option<u32>,
    /// The number of chunks with output and usage.
    with_usage: u32,
    /// The sum of the counts if each chunk counts only its own tokens.
    of_each: Option<u32>,
    /// The event of the second chunk and its count if it is the same as the first count. If the next count is larger,
    /// a chunk counts all tokens so far, and this event has 0 tokens.
    repeated: Option<(usize, u32)>,
}

impl Default for StatedTokens {
    fn default() -> Self {
        Self { counted: Some(0), with_usage: 0, of_each: None, repeated: None }
    }
}

impl StatedTokens {
    /// The number of tokens of a chunk whose usage counts `now` tokens. If usage does not determine it, the number is
    /// `ids`. The output of the chunk, if it has any, becomes the next of the events.
    pub(super) fn tokens(
        &mut self,
        now: u32,
        has_output: bool,
        events: &mut [Event],
        ids: Option<u32>,
    ) -> Option<u32> {
        if has_output
            && let Some((at, count)) = self.repeated.take()
            && now > count
        {
            self.of_each = None;
            let event = events.get_mut(at).filter(|event| event.tokens == Some(count));
            event.into_iter().for_each(|event| event.tokens = Some(0));
        }
        if let Some(sum) = self.of_each {
            let own = if has_output { now } else { 0 };
            self.of_each = Some(sum.saturating_add(own));
            return Some(own);
        }
        let Some(before) = self.counted else { return ids };
        // A count of all tokens so far grows with each output.
        if self.with_usage == 1 && now > 0 && now <= before && has_output {
            self.of_each = Some(before.saturating_add(now));
            self.repeated = (now == before).then_some((events.len(), now));
            return Some(now);
        }
        now.checked_sub(before)
    }

    /// Ends a chunk. The tokens that a chunk without output counts belong to the next output.
    pub(super) fn end_of_chunk(&mut self, has_output: bool, usage: Option<Usage>) {
        match (has_output, usage) {
            (true, None) => (self.counted, self.repeated) = (None, None),
            (true, Some(usage)) => {
                self.with_usage = self.with_usage.saturating_add(1);
                self.counted = self.counted.map(|before| usage.completion.unwrap_or(before));
            }
            (false, _) => {}
        }
    }

    /// The completion tokens of the whole answer so far, from the count that a chunk states. A count in a chunk without
    /// output is of the whole answer if each output may have a token.
    pub(super) fn in_total(&self, stated: Option<u32>, has_output: bool) -> Option<u32> {
        let is_of_all = !has_output && stated.is_some_and(|stated| stated >= self.with_usage);
        if is_of_all { stated } else { stated.max(self.of_each) }
    }
}
