//! Tests the documents of the root folder and of `docs/`. The commands in their `console` blocks are run. The output
//! must equal the documented output, except figures and names of runs. Links within the repository must be valid. The
//! Chinese pages must have the same structure as the English ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ranks;
use crate::support::{BINARY, Engine, command, folder};

/// The pages that only the book has: `cargo test --lib reference` writes them for it.
const ONLY_IN_THE_BOOK: [&str; 4] =
    ["reference/metrics.md", "reference/findings.md", "reference/plan.md", "reference/summary.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Every document of the root folder and of `docs/`, by its path from the root.
fn documents() -> BTreeMap<String, String> {
    let root = root();
    let mut found = BTreeMap::new();
    let mut folders = vec![root.join("docs")];
    let mut add = |path: &Path| {
        let name = path.strip_prefix(&root).expect("below the root").display().to_string();
        found.insert(name, fs::read_to_string(path).expect("a document"));
    };
    let of_root = ["README", "README.zh", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY"];
    for name in of_root {
        add(&root.join(format!("{name}.md")));
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                add(&path);
            }
        }
    }
    found
}

/// The fenced code blocks of a document in this language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    let parts = text.split(begin.as_str()).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default()).collect()
}

/// Converts a line for the comparison: figures become 0, names of runs become RUN, and white space becomes single
/// spaces.
fn comparable(line: &str) -> String {
    let is_run =
        |part: &str| part.len() > 15 && part.as_bytes()[..8].iter().all(u8::is_ascii_digit);
    let words = line.split_whitespace().map(|word| {
        let parts = word
            .split('/')
            .map(|part| if is_run(part) { "RUN".to_owned() } else { without_figures(part) });
        parts.collect::<Vec<_>>().join("/")
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Replaces each figure by 0.
fn without_figures(text: &str) -> String {
    let mut out = String::new();
    let mut in_number = false;
    for character in text.chars() {
        let is_part = character.is_ascii_digit() || (in_number && character == '.');
        if is_part && !in_number {
            out.push('0');
        }
        if !is_part {
            out.push(character);
        }
        in_number = is_part;
    }
    out
}

/// The first documented line that is missing in the output. A line `...` stands for any lines, and `...` at the end of
/// a line for the rest of the line. Horizontal lines below table headings are ignored in the output.
fn missing(shown: &[&str], came: &str) -> Option<String> {
    let is_rule = |line: &&str| line.contains('─') && line.chars().all(|it| " ─".contains(it));
    let came: Vec<String> = came.lines().filter(|line| !is_rule(line)).map(comparable).collect();
    let mut at = 0;
    let mut may_skip = false;
    for line in shown {
        if *line == "..." {
            may_skip = true;
            continue;
        }
        let is_beginning = line.ends_with("...");
        let wanted = comparable(line.trim_end_matches("..."));
        let fits = |line: &String| match is_beginning {
            true => line.starts_with(&wanted),
            false => *line == wanted,
        };
        let found = match may_skip {
            true => came[at..].iter().position(fits).map(|skipped| at + skipped),
            false => came.get(at).filter(|line| fits(line)).map(|_| at),
        };
        match found {
            Some(found) => at = found + 1,
            None => return Some((*line).to_owned()),
        }
        may_skip = false;
    }
    None
}

/// Runs the commands of a block in a separate folder, one after the other. An error describes the first difference in
/// the output.
fn play(block: &str, url: &str) -> Result<(), String> {
    let folder = folder();
    let programs = Path::new(BINARY).parent().expect("a folder").display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    for part in block.split("$ ").skip(1) {
        let mut lines = part.lines();
        let line = lines.next().unwrap_or_default();
        let shown: Vec<&str> = lines.collect();
        let mut shell = Command::new("sh");
        shell.current_dir(folder.path()).env_clear();
        // Use the environment of the other tests, without the settings of the user who runs the tests.
        for (name, value) in command(folder.path()).get_envs() {
            if let Some(value) = value {
                shell.env(name, value);
            }
        }
        // Use a free port, because another run of the tests on this machine may use the default port of ranks.
        let address = ranks::meeting();
        shell.env("MASTER_PORT", address.rsplit(':').next().expect("it has a port"));
        let line_here = line.replace("http://127.0.0.1:8000", url);
        let output = shell.env("PATH", &path).args(["-c", &line_here]).output().expect("sh runs");
        let text = String::from_utf8_lossy(&output.stdout);
        if let Some(line_missing) = missing(&shown, &text) {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{line}\ndid not print: {line_missing}\nbut:\n{text}\n{errors}"));
        }
    }
    Ok(())
}

#[test]
fn commands_in_the_documents_print_the_output_shown_there() {
    let documents = documents();
    let all: BTreeSet<&str> = documents.values().flat_map(|text| blocks(text, "console")).collect();
    assert!(all.len() >= 7, "{}", all.len());
    let engine = Engine::start(&["--model", "qwen-14b"]);
    let wrong: Vec<String> =
        all.iter().filter_map(|block| play(block, &engine.url).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn documented_output_is_compared_without_its_numbers_and_run_names() {
    let came = "run out/20261123-092501-14f5/a.png\n  64  x 2.5 ms\nlast line 7\n";
    assert_eq!(
        missing(&["run out/20250101-000000-abcd/a.png", "64 x 3 ms", "last ..."], came),
        None
    );
    assert_eq!(missing(&["...", "last line 1"], came), None);
    assert_eq!(missing(&["last line 1"], came).as_deref(), Some("last line 1"));
    assert_eq!(missing(&["...", "64 x 2 s"], came).as_deref(), Some("64 x 2 s"));
}

/// The targets of a document's links, outside of code blocks.
fn links(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    outside
        .flat_map(|part| part.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .collect()
}

/// The names with which links refer to a document's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let name = |line: &str| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        kept.map(|it| if it == ' ' { '-' } else { it }).collect()
    };
    headings.map(name).collect()
}

/// Whether this is the summary's link to a page of the book that the repository does not have.
fn is_only_in_the_book(document: &str, link: &str) -> bool {
    document == "docs/SUMMARY.md" && ONLY_IN_THE_BOOK.contains(&link)
}

#[test]
fn every_link_in_the_documents_leads_to_an_existing_file_and_heading() {
    let documents = documents();
    let mut wrong = Vec::new();
    for (name, text) in &documents {
        let is_there = |link: &&str| !link.contains("://") && !is_only_in_the_book(name, link);
        for link in links(text).into_iter().filter(is_there) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let here = root().join(name);
            let path = match file {
                "" => here,
                file => here.parent().expect("a folder").join(file),
            };
            let Ok(path) = path.canonicalize() else {
                wrong.push(format!("{name}: {link}: no such file"));
                continue;
            };
            let has_heading = || {
                let linked = fs::read_to_string(&path).unwrap_or_default();
                anchors(&linked).contains(heading)
            };
            if !heading.is_empty() && !has_heading() {
                wrong.push(format!("{name}: {link}: there is no such heading"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_summary_of_the_book_lists_every_page_of_docs() {
    let documents = documents();
    let summary = &documents["docs/SUMMARY.md"];
    let listed: BTreeSet<&str> = links(summary).into_iter().collect();
    let pages = documents.keys().filter_map(|name| name.strip_prefix("docs/"));
    let absent: Vec<&str> =
        pages.filter(|page| *page != "SUMMARY.md" && !listed.contains(page)).collect();
    assert!(absent.is_empty(), "docs/SUMMARY.md lacks {absent:?}");
}

/// The parts of a page that are equal in all languages: levels of headings, numbers of columns in rows of tables,
/// images, commands and keys.
fn shape(text: &str) -> Vec<String> {
    let mut shape = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        let is_fence = line.starts_with("```");
        if is_fence {
            in_code = !in_code;
        }
        if in_code || is_fence || line.starts_with("    ") {
            let code = line.split(" #").next().unwrap_or_default().trim_end();
            // The values of `name` may be translated.
            shape.push(if code.starts_with("name = ") { "name = ...".into() } else { code.into() });
        } else if line.starts_with('#') {
            shape.push(line.chars().take_while(|it| *it == '#').collect());
        } else if line.starts_with('|') {
            shape.push(format!("| {}", line.matches('|').count()));
        } else if line.starts_with("![") {
            shape.push("image".to_owned());
        }
    }
    shape
}

#[test]
fn the_chinese_pages_have_the_commands_tables_and_headings_of_the_english_ones() {
    let documents = documents();
    let tasks = documents.keys().filter_map(|name| name.strip_prefix("docs/tasks/"));
    let pairs = tasks.map(|page| (format!("docs/tasks/{page}"), format!("docs/zh/{page}")));
    let readme = ("README.md".to_owned(), "README.zh.md".to_owned());
    for (english, chinese) in pairs.chain([readme]) {
        let translated = documents.get(&chinese).unwrap_or_else(|| panic!("{chinese} is missing"));
        let (wanted, found) = (shape(&documents[&english]), shape(translated));
        for (wanted, found) in wanted.iter().zip(&found) {
            assert_eq!(wanted, found, "{chinese} differs from {english}");
        }
        assert_eq!(wanted.len(), found.len(), "{chinese} differs from {english}");
    }
}
