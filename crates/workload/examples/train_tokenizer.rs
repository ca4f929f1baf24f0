//! Trains the embedded tokenizer, a byte-level BPE with 6,144 tokens, on the texts in `corpus/`. Writes
//! `assets/tokenizer.json`.
//!
//! Run it with `cargo run --release -p inferometer-workload --example train_tokenizer`. The result
//! depends only on the texts, this file and the library `tokenizers`.

use std::path::Path;

use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    SplitDelimiterBehavior, Tokenizer, models::TrainerWrapper, pre_tokenizers::PreTokenizerWrapper,
    pre_tokenizers::byte_level::ByteLevel, pre_tokenizers::sequence::Sequence,
};

const VOCABULARY: usize = 6_144;

/// The pattern that splits text into pieces. A piece is a word, a group of one to three digits, or a
/// sequence of other characters such as punctuation. A piece includes one space before it, if there is
/// one. Any other white space character is a piece by itself. The pattern has no look-around, so
/// matching takes linear time.
const PATTERN: &str = r" ?\p{L}+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s";

fn main() -> tokenizers::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<String> = std::fs::read_dir(folder.join("corpus"))?
        .map(|entry| entry.map(|entry| entry.path().display().to_string()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.ends_with(".txt"));
    files.sort();

    let pattern = SplitPattern::Regex(PATTERN.to_owned());
    let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?;
    let bytes = ByteLevel::new(false, false, false);
    let parts: Vec<PreTokenizerWrapper> = vec![split.into(), bytes.into()];

    let mut tokenizer = Tokenizer::new(BPE::default());
    tokenizer.with_pre_tokenizer(Some(Sequence::new(parts)));
    tokenizer.with_decoder(Some(bytes));
    let trainer = BpeTrainer::builder()
        .vocab_size(VOCABULARY)
        .min_frequency(2)
        .show_progress(false)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    tokenizer.train_from_files(&mut TrainerWrapper::from(trainer), files)?;
    tokenizer.save(folder.join("assets/tokenizer.json"), false)?;
    eprintln!("{} tokens", tokenizer.get_vocab_size(true));
    Ok(())
}
