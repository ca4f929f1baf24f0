//! The token counts of a message, in the forms of OpenAI's and of Anthropic's APIs.

use inferometer_model::Usage;
use serde::Deserialize;

use super::json::tokens;

/// The object `usage`. The names of its fields differ between APIs; some gateways send the names of several APIs.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct UsageBody {
    #[serde(default, deserialize_with = "tokens")]
    prompt_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    completion_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    total_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    reasoning_tokens: Option<u32>,
    prompt_tokens_details: Option<Details>,
    completion_tokens_details: Option<Details>,
    #[serde(default, deserialize_with = "tokens")]
    input_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    output_tokens: Option<u32>,
    input_tokens_details: Option<Details>,
    output_tokens_details: Option<Details>,
    /// DeepSeek.
    #[serde(default, deserialize_with = "tokens")]
    prompt_cache_hit_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    cache_read_input_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    cache_creation_input_tokens: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "tokens")]
    cached_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    reasoning_tokens: Option<u32>,
    /// SGLang.
    #[serde(default, deserialize_with = "tokens")]
    image_tokens: Option<u32>,
    /// SGLang; OpenAI, too.
    #[serde(default, deserialize_with = "tokens")]
    audio_tokens: Option<u32>,
    /// vLLM.
    multimodal_tokens: Option<Multimodal>,
}

/// The prompt tokens of each kind of medium, as vLLM states them.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Multimodal {
    #[serde(default, deserialize_with = "tokens")]
    image: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    audio: Option<u32>,
}

impl UsageBody {
    /// The counts of OpenAI's APIs. Some servers count the reasoning on top of the completion: their total shows it.
    pub(super) fn usage(self) -> Usage {
        let prompt_details = self.prompt_tokens_details.or(self.input_tokens_details);
        let details = self.completion_tokens_details.or(self.output_tokens_details);
        let stated = details.and_then(|details| details.reasoning_tokens);
        let reasoning = stated.or(self.reasoning_tokens);
        let prompt = self.prompt_tokens.or(self.input_tokens);
        let completion = self.completion_tokens.or(self.output_tokens).map(|completion| {
            let with = completion.saturating_add(reasoning.unwrap_or(0));
            let total = prompt.map(|prompt| prompt.saturating_add(with));
            if total.is_some() && total == self.total_tokens { with } else { completion }
        });
        let cached = prompt_details.and_then(|details| details.cached_tokens);
        let cached = cached.or(self.prompt_cache_hit_tokens);
        let multimodal = prompt_details.and_then(|it| it.multimodal_tokens);
        let image = prompt_details.and_then(|it| it.image_tokens);
        let image = image.or(multimodal.and_then(|it| it.image));
        let audio = prompt_details.and_then(|it| it.audio_tokens);
        let audio = audio.or(multimodal.and_then(|it| it.audio));
        // Every request has a prompt: gateways send 0 for what they do not count.
        let prompt = prompt.filter(|prompt| *prompt > 0);
        Usage { prompt, completion, cached, reasoning, image, audio }
    }

    /// The counts of Anthropic's API. Adds the tokens that were read from the cache or written to it, because the
    /// server's prompt count does not include them.
    pub(super) fn of_anthropic(self) -> Usage {
        let beside = [self.cache_read_input_tokens, self.cache_creation_input_tokens];
        let beside: u32 = beside.into_iter().flatten().fold(0, u32::saturating_add);
        Usage {
            prompt: self.input_tokens.map(|tokens| tokens.saturating_add(beside)),
            cached: self.cache_read_input_tokens,
            ..self.usage()
        }
    }
}
