//! The tokenizer that sets the lengths of a run's prompts. It is the tokenizer that the user named, or else the
//! tokenizer of the server, or else the tokenizer that is built into this program.

use std::sync::Arc;

use inferometer_model::{Finding, Tokenizer, code};
use inferometer_net::http::client::Client;
use inferometer_plan::{Plan, TargetPlan};
use inferometer_servers::tokenize::ServerTokenizer;

use crate::RunError;

/// The tokenizer for prompts, and how far its counts can be trusted.
#[derive(Clone)]
pub struct PromptTokenizer {
    /// The tokenizer.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Whether this is the model's own tokenizer: the user named it, the server offers it, or the server is the
    /// embedded engine. Only then are its counts compared with the server's counts.
    pub is_models_own: bool,
    /// Whether each call sends a request to the server under test, which must not happen during the
    /// measurement.
    pub asks_the_server: bool,
}

/// The tokenizer that the user named, or the built-in tokenizer for the embedded engine; otherwise `None`. It
/// is loaded before anything is sent.
///
/// # Errors
/// When the tokenizer that the user named cannot be loaded.
pub fn named_tokenizer(plan: &Plan) -> Result<Option<PromptTokenizer>, RunError> {
    if let Some(name) = &plan.tokenizer {
        let tokenizer = inferometer_workload::load(name)
            .map_err(|error| RunError::plan(format!("tokenizer (--tokenizer): {error}")))?;
        return Ok(Some(PromptTokenizer {
            tokenizer,
            is_models_own: true,
            asks_the_server: false,
        }));
    }
    if matches!(plan.target, TargetPlan::Embedded { .. }) {
        let tokenizer = inferometer_workload::embedded();
        return Ok(Some(PromptTokenizer {
            tokenizer,
            is_models_own: true,
            asks_the_server: false,
        }));
    }
    Ok(None)
}

/// The server's own tokenizer. If it has none, returns the tokenizer that is built into this program, and adds a
/// finding.
pub fn servers_tokenizer(
    server: Option<&Client>,
    model: &str,
    findings: &mut Vec<Finding>,
) -> PromptTokenizer {
    if let Some(tokenizer) = server.and_then(|server| ServerTokenizer::of(server, model)) {
        let tokenizer = Arc::new(tokenizer);
        return PromptTokenizer { tokenizer, is_models_own: true, asks_the_server: true };
    }
    findings.push(Finding::of(
        code::PROMPTS_SHAPED_BY_THE_EMBEDDED_TOKENIZER,
        "no tokenizer was given and the server offers none: prompt lengths are counted with the \
            built-in tokenizer, and differ from those of the model",
    ));
    let tokenizer = inferometer_workload::embedded();
    PromptTokenizer { tokenizer, is_models_own: false, asks_the_server: false }
}
