//! Hugging Face tokenizers from a `tokenizer.json`. They never add special tokens, truncate or pad.
//! Tokens that a server adds to a prompt are counted elsewhere ([`crate::PromptContext::reserve`]).

use std::path::{Path, PathBuf};
use std::{collections::HashSet, sync::OnceLock};

use inferometer_model::{Tokenizer, TokenizerError, sha256::sha256_hex, tokenizer::PlainWords};
use inferometer_net::file;
use tokenizers::models::bpe::BPE;
use tokenizers::{
    DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, TokenizerImpl,
};

use super::{plain, word_texts};
use crate::WorkloadError;

/// The largest accepted size of a `tokenizer.json`, in bytes (64 MiB). Published files have up to 34 MB.
const MAX_TOKENIZER_BYTES: usize = 64 << 20;

/// A tokenizer whose model is a byte-pair encoding, as nearly all have.
type OfPairs = TokenizerImpl<
    BPE,
    NormalizerWrapper,
    PreTokenizerWrapper,
    PostProcessorWrapper,
    DecoderWrapper,
>;

/// A Hugging Face tokenizer.
pub struct HfTokenizer {
    name: String,
    /// The SHA-256 of the file, in hexadecimal digits; `None` for the tokenizer inside the binary.
    sha256: Option<String>,
    inner: tokenizers::Tokenizer,
    /// For each id, whether it is in the vocabulary.
    known: Vec<bool>,
    plain: OnceLock<Vec<u32>>,
    words: OnceLock<Option<PlainWords>>,
}

impl HfTokenizer {
    /// Reads the tokenizer of a `tokenizer.json`, or of a folder that contains one.
    ///
    /// # Errors
    /// If there is no such file, or it is not a tokenizer.
    pub fn from_file(path: &Path) -> Result<Self, WorkloadError> {
        let json = if path.is_dir() { file_in(path)? } else { path.to_owned() };
        let bytes = file::read(&json, MAX_TOKENIZER_BYTES).map_err(|error| {
            WorkloadError::UnreadableTokenizer { path: json.clone(), reason: error.to_string() }
        })?;
        let read = Self::from_bytes(&path.display().to_string(), &bytes).map_err(|error| {
            WorkloadError::NotATokenizer { path: json, reason: error.to_string() }
        })?;
        Ok(Self { sha256: Some(sha256_hex(&bytes)), ..read })
    }

    /// Parses the bytes of a `tokenizer.json`.
    pub(super) fn from_bytes(name: &str, bytes: &[u8]) -> tokenizers::Result<Self> {
        // The library reads a file whose kind of model is unknown four times over.
        let of_pairs = serde_json::from_slice::<OfPairs>(bytes).map(tokenizers::Tokenizer::from);
        let mut inner = of_pairs.or_else(|_| tokenizers::Tokenizer::from_bytes(bytes))?;
        inner.with_truncation(None)?;
        inner.with_padding(None);
        let vocabulary = inner.get_vocab(true);
        let ids = vocabulary.values().map(|id| *id as usize + 1).max().unwrap_or(0);
        let mut known = vec![false; ids];
        for id in vocabulary.values() {
            known[*id as usize] = true;
        }
        let (plain, words) = (OnceLock::new(), OnceLock::new());
        Ok(Self { name: name.to_owned(), sha256: None, inner, known, plain, words })
    }

    /// The same tokenizer under another name.
    #[must_use]
    pub(super) fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Calls `ask` with the functions that decode and encode with this tokenizer.
    fn with_behaviour<T>(&self, ask: impl FnOnce(&plain::Behaviour<'_>) -> T) -> T {
        let decode = |ids: &[u32]| self.decode(ids).ok();
        let encode = |text: &str| self.encode(text).ok();
        ask(&plain::Behaviour { decode: &decode, encode: &encode })
    }

    fn error(&self, message: impl ToString) -> TokenizerError {
        TokenizerError { tokenizer: self.name.clone(), message: message.to_string() }
    }

    fn encoding(&self, text: &str) -> Result<tokenizers::Encoding, TokenizerError> {
        self.inner.encode_fast(text, false).map_err(|error| self.error(error))
    }
}

/// The `tokenizer.json` of a folder.
fn file_in(folder: &Path) -> Result<PathBuf, WorkloadError> {
    let file = folder.join("tokenizer.json");
    if file.is_file() {
        return Ok(file);
    }
    let entries = std::fs::read_dir(folder).map_err(|error| {
        WorkloadError::UnreadableTokenizer { path: folder.to_owned(), reason: error.to_string() }
    })?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let others = names.len().saturating_sub(5);
    names.truncate(5);
    let found = match others {
        _ if names.is_empty() => "nothing".to_owned(),
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    };
    Err(WorkloadError::NoTokenizerInFolder { path: folder.to_owned(), found })
}

impl Tokenizer for HfTokenizer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn sha256(&self) -> Option<String> {
        self.sha256.clone()
    }

    fn count(&self, text: &str) -> Result<u32, TokenizerError> {
        Ok(self.encoding(text)?.len() as u32)
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        Ok(self.encoding(text)?.get_ids().to_vec())
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        // The library drops unknown ids without an error.
        if let Some(id) = ids.iter().find(|id| !self.known.get(**id as usize).is_some_and(|k| *k)) {
            return Err(self.error(format!("token id {id} is not in the vocabulary")));
        }
        self.inner.decode(ids, false).map_err(|error| self.error(error))
    }

    fn plain_ids(&self) -> &[u32] {
        self.plain.get_or_init(|| {
            let added: HashSet<u32> = self.inner.get_added_tokens_decoder().into_keys().collect();
            let ids = (0..self.known.len() as u32)
                .filter(|id| self.known[*id as usize] && !added.contains(id))
                .collect();
            self.with_behaviour(|tokenizer| plain::select(ids, tokenizer))
        })
    }

    fn plain_words(&self) -> Option<&PlainWords> {
        let words = self.words.get_or_init(|| {
            let vocabulary = (0..self.known.len() as u32).filter(|id| self.known[*id as usize]);
            self.with_behaviour(|tokenizer| {
                word_texts::plain_words(vocabulary, self.plain_ids(), tokenizer)
            })
        });
        words.as_ref()
    }
}

impl std::fmt::Debug for HfTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, ids) = (&self.name, self.known.len());
        f.debug_struct("HfTokenizer").field("name", name).field("ids", &ids).finish_non_exhaustive()
    }
}
