//! Builds a searchable book from the pages in docs/: `cargo run -p inferometer-book`.

use std::error::Error;
use std::path::{Path, PathBuf};

use mdbook_driver::MDBook;

/// The folder with the pages and `book.toml`.
const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", build(None)?.join("index.html").display());
    Ok(())
}

/// Builds the book in `folder`, or in the folder that `book.toml` names. Returns the folder of the HTML
/// pages.
fn build(folder: Option<&Path>) -> Result<PathBuf, Box<dyn Error>> {
    let mut book = MDBook::load(PAGES)?;
    if let Some(folder) = folder {
        book.config.build.build_dir = folder.to_path_buf();
    }
    book.build()?;
    Ok(book.build_dir_for("html"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_book_contains_every_page_and_its_search_index_has_chinese_and_english_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = build(Some(folder.path())).expect("the pages make a book");
        let summary = fs::read_to_string(Path::new(PAGES).join("SUMMARY.md")).expect("text");
        let pages = summary.split("](").skip(1).filter_map(|rest| rest.split(".md)").next());
        let file = |page: &str| page.replace("README", "index") + ".html";
        let missing: Vec<&str> = pages.filter(|page| !made.join(file(page)).is_file()).collect();
        assert!(missing.is_empty(), "not in the book: {missing:?}");
        let names = fs::read_dir(&made).expect("a folder").flatten().map(|file| file.file_name());
        let mut index = names.map(|name| name.to_string_lossy().into_owned());
        let index = index.find(|name| name.starts_with("searchindex"));
        let index = fs::read_to_string(made.join(index.expect("a search index"))).expect("text");
        for word in ["coordinated omission", "\u{541e}\u{5410}"] {
            assert!(index.contains(word), "the search index lacks {word}");
        }
    }
}
