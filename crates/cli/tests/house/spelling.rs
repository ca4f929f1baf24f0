//! Tests the spelling of documents: each word of their prose must be in the word list `docs/words.txt`.
//! `INFEROMETER_WRITE_PAGES=1 cargo test --test house spelling` writes the list again. New words in the list must be
//! reviewed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const LIST: &str = "docs/words.txt";
const DOCUMENTS: [&str; 6] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs"];

/// The words of prose in a Markdown text, in lower case. Code, addresses and names are left out; a word with a capital
/// letter (except the first), a digit or an underscore counts as a name.
fn words(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_fenced = false;
    let mut is_indented = false;
    let mut before = "";
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        is_indented = line.starts_with("    ") && (is_indented || before.trim().is_empty());
        before = line;
        if is_fenced || is_indented {
            continue;
        }
        // Every second part is between backticks.
        for part in line.split('`').step_by(2) {
            let part = part.replace("](", " ](");
            let is_address = |word: &&str| word.contains("://") || word.contains("](");
            for word in part.split_whitespace().filter(|word| !is_address(word)) {
                let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
                let words = word.split(|c| !is_inside(c)).map(|word| word.trim_matches('\''));
                let words = words.map(|word| word.trim_end_matches("'s"));
                found.extend(words.filter(|word| is_prose(word)).map(str::to_lowercase));
            }
        }
    }
    found
}

/// Whether a word has at least two letters, of which only the first may be a capital letter.
fn is_prose(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && word.len() > 1
        && letters.all(|letter| letter.is_ascii_lowercase() || letter == '\'')
}

fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = DOCUMENTS.iter().map(|name| root.join(name)).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path()));
        } else if path.extension().is_some_and(|it| it == "md") {
            found.push(path);
        }
    }
    found
}

#[test]
fn documents_contain_only_words_of_the_word_list() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root");
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    for path in documents(&root) {
        let name = path.strip_prefix(&root).expect("below the root").display().to_string();
        for word in words(&fs::read_to_string(&path).expect("a document")) {
            places.entry(word).or_insert_with(|| name.clone());
        }
    }
    let list = root.join(LIST);
    if std::env::var_os("INFEROMETER_WRITE_PAGES").is_some() {
        let text: String = places.keys().map(|word| format!("{word}\n")).collect();
        fs::write(&list, text).expect("the list is written");
        return;
    }
    let text = fs::read_to_string(&list).expect("the list of words");
    let known: BTreeSet<&str> = text.lines().collect();
    let new: Vec<String> = places
        .iter()
        .filter(|(word, _)| !known.contains(word.as_str()))
        .map(|(word, place)| format!("{word} ({place})"))
        .collect();
    assert!(
        new.is_empty(),
        "unknown words: {}. Correct them, or add them to {LIST} with INFEROMETER_WRITE_PAGES=1",
        new.join(", ")
    );
}

#[test]
fn code_links_and_names_are_excluded_from_the_spelling_check() {
    let text = "Some `cod` in [a pag](https://exampel.org/x) of vLLM 0.23's `--flg`.\n\n    indnted code\n\n```text\nfencd\n```\nThe server's ITL\n";
    let expected = ["Some", "in", "pag", "of", "The", "server"].map(str::to_lowercase);
    assert_eq!(words(text), expected.into_iter().collect());
}
