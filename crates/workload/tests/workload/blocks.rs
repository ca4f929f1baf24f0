//! Tests of text blocks: how a corpus is read, the prompts, and the findings.

use std::path::Path;

use inferometer_model::cell::CellPlan;
use inferometer_model::request::{Prompt, Request};
use inferometer_plan::WorkloadPlan;
use inferometer_plan::template::Template;
use inferometer_workload::blocks::Corpus;
use inferometer_workload::{Note, PromptForm, WorkloadError, embedded};

use crate::support::{compare_with_golden, place, spec};

/// A folder of texts that were written for these tests.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/blocks");

fn blocks(corpus: &str, template: &str) -> WorkloadPlan {
    WorkloadPlan::Blocks {
        corpus: corpus.to_owned(),
        template: Template::named(template).expect("a built-in template"),
        in_flight: Vec::new(),
        max_output_tokens: None,
    }
}

fn cell(block: u32, wanted: u32) -> CellPlan {
    CellPlan { input_length: block, output_length: wanted }
}

fn text(request: &Request) -> &str {
    let Prompt::Text(text) = &request.prompt else { panic!("a text prompt") };
    text
}

#[test]
fn the_first_block_prompts_of_seed_1_equal_the_golden_files() {
    for (corpus, template) in
        [("shipped-zh", "continue-zh"), ("shipped-en", "summarise-en"), (FOLDER, "repeat-zh")]
    {
        let spec = spec(&blocks(corpus, template), "golden");
        let found = spec.requests(cell(60, 100), &place(), 3).unwrap().requests;
        compare_with_golden(&format!("blocks-{template}"), &found);
    }
}

#[test]
fn a_prompt_is_a_block_of_the_requested_number_of_characters_inserted_in_the_template() {
    let spec = spec(&blocks("shipped-zh", "continue-zh"), "salt");
    let built = spec.requests(cell(500, 1_000), &place(), 8).unwrap();
    assert!(built.notes.is_empty());
    let whole = Corpus::open("shipped-zh").unwrap();
    let whole = whole.block(0, whole.chars() * 2);
    for request in &built.requests {
        let prompt = text(request);
        assert_eq!(prompt.chars().count(), 543);
        let block: String = prompt.chars().skip(4).take(500).collect();
        assert!(whole.contains(&block), "{block}");
        let tokens = embedded().count(prompt).unwrap();
        assert_eq!((request.input_tokens, request.counted_tokens), (tokens, Some(tokens)));
        assert_eq!(request.output_tokens, 4_096);
    }
}

#[test]
fn a_prompt_as_token_ids_decodes_to_the_same_text() {
    let mut spec = spec(&blocks("shipped-en", "continue-en"), "salt");
    let texts = spec.requests(cell(200, 50), &place(), 3).unwrap().requests;
    spec.context.form = PromptForm::TokenIds;
    let ids = spec.requests(cell(200, 50), &place(), 3).unwrap().requests;
    for (with_text, with_ids) in texts.iter().zip(&ids) {
        let Prompt::TokenIds(ids) = &with_ids.prompt else { panic!("token ids") };
        assert_eq!(embedded().decode(ids).unwrap(), text(with_text));
        assert_eq!(with_ids.output_tokens, 456);
    }
}

#[test]
fn overlapping_blocks_are_noted_and_blocks_longer_than_the_corpus_are_an_error() {
    let spec = spec(&blocks(FOLDER, "continue-en"), "salt");
    let chars = Corpus::open(FOLDER).unwrap().chars() as u32;
    let built = spec.requests(cell(chars / 2, 10), &place(), 5).unwrap();
    assert_eq!(built.notes, [Note::Overlapping { prompts: 3, available: 2 }]);
    let error = spec.requests(cell(chars + 1, 10), &place(), 1).unwrap_err();
    assert!(matches!(error, WorkloadError::BlockBeyondCorpus { .. }), "{error}");
    assert!(error.to_string().contains("fixtures/blocks"));
}

#[test]
fn unusable_rows_and_files_of_a_corpus_are_counted_with_reason_and_location() {
    let corpus = Corpus::open(FOLDER).unwrap();
    let told = corpus.left_out().to_string();
    assert_eq!(corpus.left_out().total(), 6, "{told}");
    for part in [
        "that is not text (",
        "rows.jsonl, row 6)",
        "1 x an empty text (",
        "rows.jsonl, row 4)",
        "nor an object (",
        "rows.jsonl, row 7)",
        "1 x neither text, Markdown nor JSONL (",
        "picture.svg)",
        "`text` or `content` (",
        "rows.jsonl, row 5)",
        "1 x not JSON (",
        "rows.jsonl, row 3)",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let spec = spec(&blocks(FOLDER, "continue-en"), "salt");
    assert!(spec.findings()[0].message.contains("corpus: 6"));
    // Files and folders are read in the order of their names. An empty line separates documents.
    let text = corpus.block(0, corpus.chars());
    let expected =
        "# 河\n\n河水清且涟猗。\n\nA row of its own.\n\n第二行。\n\nThe last of them, in a folder.";
    assert_eq!(text, expected);
}

#[test]
fn a_corpus_without_usable_text_is_an_error_with_the_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, "{\"txt\": 1}\n").unwrap();
    let told = Corpus::open(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(told.contains("`text` or `content`") && told.contains("row 1"), "{told}");
    assert!(Corpus::open(Path::new("/no/such").to_str().unwrap()).is_err());
}
