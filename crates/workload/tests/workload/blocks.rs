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
        template: Template::named(template).expect("a template of our own"),
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
fn the_first_blocks_of_seed_one_are_those_of_the_fixtures() {
    for (corpus, template) in
        [("shipped-zh", "continue-zh"), ("shipped-en", "summarise-en"), (FOLDER, "repeat-zh")]
    {
        let spec = spec(&blocks(corpus, template), "golden");
        let found = spec.requests(cell(60, 100), &place(), 3).unwrap().requests;
        compare_with_golden(&format!("blocks-{template}"), &found);
    }
}

#[test]
fn a_prompt_is_a_block_of_so_many_characters_in_the_template() {
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
fn as_token_ids_a_prompt_is_the_same_text() {
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
fn blocks_that_overlap_and_blocks_that_are_too_long_are_told() {
    let spec = spec(&blocks(FOLDER, "continue-en"), "salt");
    let chars = Corpus::open(FOLDER).unwrap().chars() as u32;
    let built = spec.requests(cell(chars / 2, 10), &place(), 5).unwrap();
    assert_eq!(built.notes, [Note::Overlapping { prompts: 3, available: 2 }]);
    let error = spec.requests(cell(chars + 1, 10), &place(), 1).unwrap_err();
    assert!(matches!(error, WorkloadError::BlockBeyondCorpus { .. }), "{error}");
    assert!(error.to_string().contains("fixtures/blocks"));
}

#[test]
fn rows_and_files_that_are_no_text_are_counted_with_their_places() {
    let corpus = Corpus::open(FOLDER).unwrap();
    let told = corpus.left_out().to_string();
    assert_eq!(corpus.left_out().total(), 6, "{told}");
    for part in [
        "1 x a field that is not text (",
        "rows.jsonl, row 6)",
        "1 x an empty text (",
        "rows.jsonl, row 4)",
        "1 x neither text nor an object (",
        "rows.jsonl, row 7)",
        "1 x neither text, Markdown nor JSONL (",
        "picture.svg)",
        "1 x no field `text` or `content` (",
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
fn a_corpus_of_nothing_usable_is_an_error_with_the_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, "{\"txt\": 1}\n").unwrap();
    let told = Corpus::open(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(told.contains("no field `text` or `content`") && told.contains("row 1"), "{told}");
    assert!(Corpus::open(Path::new("/no/such").to_str().unwrap()).is_err());
}
