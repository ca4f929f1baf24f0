//! A corpus is the text from which text blocks are cut. It is a file of text, Markdown or JSONL, a folder
//! of such files, or one of the two corpora that the program contains. Documents are joined with an empty
//! line between them. Unusable rows, and files of other kinds in a folder, are counted by reason and
//! reported. If a file of text, Markdown or JSONL cannot be read, this is an error.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::data_set::{self, MAX_FILE_BYTES};
use crate::{LeftOut, WorkloadError};

/// Chinese texts in the public domain; `corpus/README.md` lists them.
const SHIPPED_ZH: [&str; 4] = [
    include_str!("../../corpus/lunyu.txt"),
    include_str!("../../corpus/daodejing.txt"),
    include_str!("../../corpus/caigentan.txt"),
    include_str!("../../corpus/tang-poems.txt"),
];
/// English texts in the public domain.
const SHIPPED_EN: [&str; 3] = [
    include_str!("../../corpus/alice.txt"),
    include_str!("../../corpus/king-james.txt"),
    include_str!("../../corpus/declaration.txt"),
];

/// The number of characters from one entry of [`Corpus::index`] to the next.
const STRIDE: usize = 256;

/// The fields of a JSONL row that may contain its text. The first field that exists is used.
const TEXT_FIELDS: [&str; 2] = ["text", "content"];

/// A corpus in memory, with an index to find the byte at which a character begins.
#[derive(Clone, Debug)]
pub struct Corpus {
    text: String,
    /// The number of characters of the text.
    chars: usize,
    /// The positions, in bytes, of the first character and of every [`STRIDE`]th character after it.
    index: Vec<usize>,
    left_out: LeftOut<&'static str>,
}

impl Corpus {
    /// Opens a corpus: `shipped-zh`, `shipped-en`, a file or a folder.
    ///
    /// # Errors
    /// If the corpus cannot be read, is too large, is not UTF-8, or contains no text.
    pub fn open(name: &str) -> Result<Self, WorkloadError> {
        let mut documents = Documents::default();
        match name {
            "shipped-zh" => SHIPPED_ZH.iter().for_each(|text| documents.add(text)),
            "shipped-en" => SHIPPED_EN.iter().for_each(|text| documents.add(text)),
            path => documents.read(Path::new(path))?,
        }
        let Documents { text, left_out, .. } = documents;
        if text.is_empty() {
            let (rows, none) = (left_out.total(), "it contains no text");
            return Err(WorkloadError::empty(Path::new(name), rows, none, &left_out));
        }
        let char_starts = text.char_indices().map(|(byte, _)| byte);
        let index: Vec<usize> = char_starts.step_by(STRIDE).collect();
        let chars_from_last_entry = text[index[index.len() - 1]..].chars().count();
        let chars = (index.len() - 1) * STRIDE + chars_from_last_entry;
        Ok(Self { text, chars, index, left_out })
    }

    /// The number of characters of the text.
    pub fn chars(&self) -> usize {
        self.chars
    }

    /// The rows and files that cannot be used.
    pub fn left_out(&self) -> &LeftOut<&'static str> {
        &self.left_out
    }

    /// A block of `length` characters that begins with the character `start`. After the last character of
    /// the corpus, it continues with the first one.
    pub fn block(&self, start: usize, length: usize) -> String {
        let mut block = String::new();
        let (mut start, mut missing) = (start % self.chars, length);
        while missing > 0 {
            let taken = missing.min(self.chars - start);
            block += &self.text[self.byte_of(start)..self.byte_of(start + taken)];
            missing -= taken;
            start = 0;
        }
        block
    }

    /// The byte at which a character begins. If `character` is the number of characters of the text, returns the end of
    /// the text.
    fn byte_of(&self, character: usize) -> usize {
        if character == self.chars {
            return self.text.len();
        }
        let entry = self.index[character / STRIDE];
        let within = self.text[entry..].char_indices().nth(character % STRIDE);
        entry + within.map_or(0, |(byte, _)| byte)
    }
}

/// The documents that were read so far, joined to one text.
#[derive(Default)]
struct Documents {
    text: String,
    left_out: LeftOut<&'static str>,
}

impl Documents {
    /// Appends a document. CR LF becomes LF. LFs and BOMs at its beginning and its end are removed.
    fn add(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n");
        let text = text.trim_matches(|character| character == '\n' || character == '\u{feff}');
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }

    /// Reads a file, or a folder of files.
    fn read(&mut self, path: &Path) -> Result<(), WorkloadError> {
        if path.is_dir() {
            return self.read_folder(path);
        }
        if self.text.len() as u64 > MAX_FILE_BYTES {
            let why = format!(
                "the texts read before this file already have more than {} MiB, which is the limit",
                MAX_FILE_BYTES >> 20
            );
            return Err(WorkloadError::unreadable(path, why));
        }
        data_set::open_file(path)?;
        let bytes = fs::read(path).map_err(|error| WorkloadError::unreadable(path, error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to() + 1;
            WorkloadError::unreadable(path, format!("is not UTF-8 from byte {byte} on"))
        })?;
        match path.extension().is_some_and(|extension| extension == "jsonl") {
            true => self.read_rows(path, &text),
            false => self.add(&text),
        }
        Ok(())
    }

    /// Reads a folder: its subfolders and its files of known kinds, in the order of their paths. Files of
    /// other kinds are counted.
    fn read_folder(&mut self, folder: &Path) -> Result<(), WorkloadError> {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let mut paths: Vec<PathBuf> = entries
            .map_err(|error| WorkloadError::unreadable(folder, error))?
            .into_iter()
            .map(|entry| entry.path())
            .collect();
        paths.sort();
        for path in paths {
            let kind = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
            if path.is_dir() || ["txt", "text", "md", "markdown", "jsonl"].contains(&kind) {
                self.read(&path)?;
            } else {
                let reason = "neither text, Markdown nor JSONL";
                self.left_out.add(reason, || path.display().to_string());
            }
        }
        Ok(())
    }

    /// Reads the rows of a JSONL file.
    fn read_rows(&mut self, path: &Path, text: &str) {
        for (row, line) in (1..).zip(text.lines()) {
            match row_text(line) {
                Ok(Some(text)) => self.add(&text),
                // An empty line is not a row.
                Ok(None) => {}
                Err(reason) => {
                    self.left_out.add(reason, || format!("{}, row {row}", path.display()));
                }
            }
        }
    }
}

/// The text of a row. A row is a JSON string, or an object with one of [`TEXT_FIELDS`]. `None` if the
/// line is empty. The error is the reason why the row cannot be used.
fn row_text(line: &str) -> Result<Option<String>, &'static str> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    let text = match serde_json::from_str(line).map_err(|_| "not JSON")? {
        Value::String(text) => text,
        Value::Object(mut fields) => {
            let field = TEXT_FIELDS.iter().find_map(|name| fields.remove(*name));
            match field.ok_or("no field `text` or `content`")? {
                Value::String(text) => text,
                _ => return Err("a field that is not text"),
            }
        }
        _ => return Err("neither text nor an object"),
    };
    if text.trim().is_empty() { Err("an empty text") } else { Ok(Some(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus_of(text: &str) -> Corpus {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus.txt");
        fs::write(&path, text).unwrap();
        Corpus::open(path.to_str().unwrap()).unwrap()
    }

    #[test]
    fn a_block_has_the_requested_characters_at_any_offset_and_wraps_at_the_end_of_the_corpus() {
        let text: String =
            ('a'..='z').chain("子曰学而时习之😀é".chars()).cycle().take(1_000).collect();
        let corpus = corpus_of(&text);
        let characters: Vec<char> = text.chars().collect();
        assert_eq!(corpus.chars(), 1_000);
        for (start, length) in [(0, 1), (0, 1_000), (255, 2), (256, 300), (511, 1), (999, 1)] {
            let expected: String = characters[start..start + length].iter().collect();
            assert_eq!(corpus.block(start, length), expected, "{length} from {start}");
        }
        let wrapped: String = characters[990..].iter().chain(&characters[..10]).collect();
        assert_eq!(corpus.block(990, 20), wrapped);
    }

    #[test]
    fn the_shipped_corpora_exist_in_chinese_and_english() {
        for (name, least, word) in
            [("shipped-zh", 70_000, "学而"), ("shipped-en", 190_000, "Alice")]
        {
            let corpus = Corpus::open(name).unwrap();
            assert!(corpus.chars() > least, "{name}: {}", corpus.chars());
            assert!(corpus.block(0, corpus.chars()).contains(word), "{name}");
        }
    }

    #[test]
    fn a_missing_file_invalid_utf8_and_an_empty_file_are_errors_that_say_what_is_wrong() {
        let message = |name: &str| Corpus::open(name).unwrap_err().to_string();
        assert!(message("no/such/file.txt").contains("no/such/file.txt"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latin1.txt");
        fs::write(&path, b"caf\xe9").unwrap();
        assert!(message(path.to_str().unwrap()).contains("not UTF-8 from byte 4 on"));
        fs::write(&path, "").unwrap();
        assert!(message(path.to_str().unwrap()).contains("it contains no text"));
    }
}
