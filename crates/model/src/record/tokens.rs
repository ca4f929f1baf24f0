//! The numbers of output tokens and of reasoning tokens of a record: their sources, and which counts are possible.

use serde::{Deserialize, Serialize};

use super::{Event, Record};

/// Where a count of output tokens comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokensFrom {
    /// The usage that the server reports.
    Usage,
    /// The tokenizer that the user named, applied to the text.
    Tokenizer,
    /// The events with output of the model.
    Events,
}

crate::names!(TokensFrom { Usage => "usage", Tokenizer => "tokenizer", Events => "events" });

impl Record {
    /// The events that are output of the model, in order.
    pub fn token_events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter().filter(|event| event.kind.is_token())
    }

    /// Output tokens, counted from the stream: the sum of the tokens that the events state. An event that
    /// states none counts as one token. If [`Record::can_have`] excludes this sum, each event counts as one.
    pub fn tokens_events(&self) -> u32 {
        let events = self.token_events().count() as u32;
        Some(self.sum_of_events()).filter(|&sum| self.can_have(sum)).unwrap_or(events)
    }

    /// Whether [`Record::can_have`] accepts the sum of the tokens that the events state. If not, the
    /// tokens of single events are not used either.
    pub fn can_have_tokens_of_events(&self) -> bool {
        self.can_have(self.sum_of_events())
    }

    fn sum_of_events(&self) -> u32 {
        let each = self.token_events().map(|event| u64::from(event.tokens.unwrap_or(1)));
        u32::try_from(each.sum::<u64>()).unwrap_or(u32::MAX)
    }

    /// Output tokens, and the source of this count: the server's usage, otherwise the tokenizer that the user
    /// named, otherwise the stream's events. A count that [`Record::can_have`] excludes is not used. The requested
    /// length is never used as the count.
    pub fn output_tokens(&self) -> (u32, TokensFrom) {
        let possible = |count: &u32| self.can_have(*count);
        if let Some(count) = self.usage.completion.filter(possible) {
            (count, TokensFrom::Usage)
        } else if let Some(count) = self.tokens_tokenizer.filter(possible) {
            (count, TokensFrom::Tokenizer)
        } else {
            (self.tokens_events(), TokensFrom::Events)
        }
    }

    /// Reasoning tokens, and the source of this count; `None` if the record has no reasoning. `output` is the count of
    /// [`Record::output_tokens`].
    pub fn reasoning_tokens(&self, output: u32) -> Option<(u32, TokensFrom)> {
        // Some servers state 0 beside events with reasoning. A part cannot be larger than the whole.
        let stated = self.usage.reasoning.filter(|tokens| (1..=output).contains(tokens));
        stated
            .map(|tokens| (tokens, TokensFrom::Usage))
            .or_else(|| Some((self.reasoning_of_events(output)?, TokensFrom::Events)))
    }

    /// The tokens of the events with reasoning. If an event does not state its tokens, all output tokens are spread evenly.
    fn reasoning_of_events(&self, output: u32) -> Option<u32> {
        let reasoning = || self.token_events().filter(|event| event.kind.is_reasoning());
        let events = reasoning().count() as u64;
        // The parts of a body that is not streamed do not show how its tokens are divided.
        if events == 0 || !self.streamed {
            return None;
        }
        let is_stated = self.token_events().all(|event| event.tokens.is_some());
        let tokens = match is_stated && self.can_have_tokens_of_events() {
            true => reasoning().filter_map(|event| event.tokens).map(u64::from).sum(),
            false => events * u64::from(output) / self.token_events().count() as u64,
        };
        u32::try_from(tokens).ok()
    }

    /// Whether the output can have this many tokens. It cannot have 0 tokens if something visible arrived. It
    /// cannot have more tokens than the request allowed, unless at least as many events arrived. It cannot have
    /// more tokens than the context of any model.
    pub fn can_have(&self, output_tokens: u32) -> bool {
        const MAX_CONTEXT: u32 = 1 << 24;
        let has_output = || self.events.iter().any(|event| event.kind.is_visible());
        let enough = output_tokens > 0 || !has_output();
        // The tokens that an event states may come from the usage that is checked here, so events are counted
        // instead.
        let came = || self.streamed && output_tokens as usize <= self.token_events().count();
        let most = self.output_limit.unwrap_or(MAX_CONTEXT).min(MAX_CONTEXT);
        enough && (output_tokens <= most || came())
    }

    /// Whether the output has more tokens than requested. A small difference is ignored, because an
    /// end-of-text token or an event without text explains it. False if [`Record::output_limit`] is `None`.
    /// `output_tokens` is the count of [`Record::output_tokens`].
    pub fn is_longer_than_asked(&self, output_tokens: u32) -> bool {
        const EDGE: f64 = 1.0;
        const SHARE: f64 = 0.01;
        let asked = f64::from(self.asked_output);
        self.output_limit.is_some() && f64::from(output_tokens) > asked + EDGE.max(SHARE * asked)
    }

    /// The number of output tokens for which memory is reserved: the requested number, or
    /// [`Record::output_limit`] if it is larger, but at most 16 times the requested number.
    pub fn planned_output(&self) -> u32 {
        let most = self.asked_output.saturating_mul(16);
        self.output_limit.unwrap_or(0).min(most).max(self.asked_output)
    }
}
