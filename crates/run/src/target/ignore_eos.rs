//! Whether a server supports `ignore_eos`, which makes it continue after end-of-text. This depends on the
//! dialect, the engine, and the answer to the first request.

use inferometer_model::{Finding, code};
use inferometer_wire::dialect::Dialect;

/// Engines that accept the field in an OpenAI dialect but ignore it.
const IGNORE_IT: [&str; 4] = ["tgi", "ollama", "mlx_lm", "llama-cpp-python"];
/// Engines that refuse a request with the field.
const REFUSE_IT: [&str; 1] = ["transformers"];

/// How a server treats the field `ignore_eos`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IgnoreEos {
    /// The field is sent. The server honours it, or it is not known whether the server honours it.
    Honoured,
    /// The dialect has no field for it.
    NoField,
    /// The field is sent, and the server ignores it.
    Ignored,
    /// The field is left out, because the server refuses it; with the reason.
    Refused(String),
}

impl IgnoreEos {
    /// How the server is expected to treat the field, before any request is sent.
    pub(crate) fn of(dialect: &Dialect, engine: Option<&str>) -> Self {
        match engine {
            engine if !dialect.honours_ignore_eos => {
                let takes = engine.is_some_and(|engine| dialect.ignore_eos_with.contains(&engine));
                if takes { Self::Honoured } else { Self::NoField }
            }
            Some(engine) if REFUSE_IT.contains(&engine) => {
                Self::Refused(format!("{engine} is known to reject it"))
            }
            Some(engine) if IGNORE_IT.contains(&engine) => Self::Ignored,
            _ => Self::Honoured,
        }
    }

    /// Whether the field is sent.
    pub(crate) fn is_sent(&self) -> bool {
        matches!(self, Self::Honoured | Self::Ignored)
    }

    /// The finding for readers of the results; `None` for [`IgnoreEos::Honoured`].
    pub(crate) fn finding(&self, dialect: &Dialect, engine: Option<&str>) -> Option<Finding> {
        let what = match self {
            Self::Honoured => return None,
            Self::NoField => format!("{} cannot continue after end-of-text", dialect.name),
            Self::Ignored => {
                let engine = engine.unwrap_or("the server");
                format!("{engine} accepts `ignore_eos` but ignores it")
            }
            Self::Refused(why) => {
                format!("the server rejects `ignore_eos` ({why}), so requests are sent without it")
            }
        };
        let message = format!("{what}: the model decides the output lengths");
        Some(Finding::of(code::IGNORE_EOS_NOT_SUPPORTED, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_wire::dialect::dialect;

    #[test]
    fn ignore_eos_is_sent_or_omitted_by_kind_of_server_and_a_finding_explains_it() {
        for (name, engine, is_sent, words) in [
            ("openai-completions", Some("vllm"), true, None),
            ("openai-completions", None, true, None),
            ("tgi", Some("tgi"), false, Some("tgi cannot continue after end-of-text: the model")),
            ("openai-responses", Some("vllm"), true, None),
            (
                "openai-responses",
                Some("sglang"),
                false,
                Some("openai-responses cannot continue after end-of-text: the model"),
            ),
            ("openai-chat", Some("tgi"), true, Some("tgi accepts `ignore_eos` but ignores it")),
            (
                "openai-completions",
                Some("transformers"),
                false,
                Some(
                    "the server rejects `ignore_eos` (transformers is known to reject it), so \
                     requests are",
                ),
            ),
        ] {
            let dialect = dialect(name).expect("a dialect");
            let becomes = IgnoreEos::of(dialect, engine);
            assert_eq!(becomes.is_sent(), is_sent, "{name}, {engine:?}");
            let told = becomes.finding(dialect, engine).map(|finding| finding.message);
            assert_eq!(told.is_some(), words.is_some(), "{name}, {engine:?}");
            assert!(told.unwrap_or_default().starts_with(words.unwrap_or_default()));
        }
    }
}
