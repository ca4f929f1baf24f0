//! Tokenizers from a file, from the Hugging Face hub, or inside the binary. The one that uses the
//! `/tokenize` endpoint of a server is in the crate `inferometer_drive`.

mod embedded;
mod hf;
pub mod hub;
mod plain;
mod word_texts;

use std::path::Path;
use std::sync::Arc;

use inferometer_model::tokenizer::Tokenizer;

pub use embedded::embedded;
pub use hf::HfTokenizer;
pub(crate) use plain::is_han;

use crate::error::WorkloadError;
use hub::HubConfig;

/// Loads the tokenizer that a user names: an existing file or folder, else a hub id `org/name`.
///
/// # Errors
/// If the path does not exist or contains no tokenizer, or the hub's tokenizer cannot be found or read.
pub fn load(spec: &str) -> Result<Arc<dyn Tokenizer>, WorkloadError> {
    load_with(spec, &HubConfig::from_env())
}

/// As [`load`], with a given configuration of the hub.
fn load_with(spec: &str, hub: &HubConfig) -> Result<Arc<dyn Tokenizer>, WorkloadError> {
    let path = Path::new(spec);
    if path.exists() {
        return Ok(Arc::new(HfTokenizer::from_file(path)?));
    }
    if !hub::is_id(spec) {
        return Err(WorkloadError::NoSuchTokenizer { spec: spec.to_owned() });
    }
    let file = hub::fetch(spec, hub)?;
    Ok(Arc::new(HfTokenizer::from_file(&file)?.named(spec)))
}

#[cfg(test)]
mod tests;
