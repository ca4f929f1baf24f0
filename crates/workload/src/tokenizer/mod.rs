//! Tokenizers from a file, from the Hugging Face hub, or inside the binary. The tokenizer that uses the
//! `/tokenize` endpoint of a server is in the crate `inferometer_drive`.

mod embedded;
mod hf;
pub mod hub;
mod plain;
mod word_texts;

use std::{path::Path, sync::Arc};

use inferometer_model::Tokenizer;

pub use embedded::embedded;
pub use hf::HfTokenizer;
pub(crate) use plain::is_han;

use crate::WorkloadError;
use hub::HubConfig;

/// Loads the tokenizer that a user names. If `spec` is an existing file or folder, the tokenizer is read
/// from it; otherwise `spec` must be a hub id `org/name`.
///
/// # Errors
/// If `spec` is neither an existing path nor a hub id, or if the path contains no tokenizer. Also if the
/// tokenizer cannot be read, or cannot be downloaded from the hub.
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
