//! Tests that the parser accepts the command lines of this program in the READMEs and in `docs/`. Command lines with
//! placeholders are not tested.

use std::fs;
use std::path::{Path, PathBuf};

use super::command;
use super::command::list::with_list;

/// Languages of code blocks whose lines are command lines.
const OF_SHELLS: [&str; 4] = ["sh", "bash", "console", "shell"];

/// The paths of the READMEs and of all Markdown files in `docs/`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md"), root.join("README.zh.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The command lines of this program in a document, from indented blocks and shell blocks.
fn command_lines(text: &str) -> Vec<String> {
    let mut fence: Option<&str> = None;
    let mut found: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(language) };
            continue;
        }
        let is_block = match fence {
            Some(language) => OF_SHELLS.contains(&language),
            None => line.starts_with("    "),
        };
        let line = line.trim();
        let line = line.strip_prefix("$ ").unwrap_or(line);
        if !is_block {
            goes_on = false;
            continue;
        }
        let part = line.trim_end_matches('\\');
        if goes_on {
            let last = found.last_mut().expect("invariant: a continued line has a first part");
            *last = format!("{last} {part}");
        } else if line.starts_with("inferometer ") {
            found.push(part.to_owned());
        } else {
            continue;
        }
        goes_on = line.ends_with('\\');
    }
    found
}

/// The words of a line up to the first pipe, redirection or separator. The rest of the line belongs to other programs.
fn words(line: &str) -> Vec<String> {
    let all = shlex::split(line).unwrap_or_else(|| panic!("cannot be split into words: {line}"));
    let ends = |word: &String| ["|", ">", "&&", "&", ";"].contains(&word.as_str());
    all.into_iter().take_while(|word| !ends(word)).collect()
}

#[test]
fn every_command_line_in_the_documents_is_accepted_by_the_parser() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document");
        for line in command_lines(&text) {
            let words = words(&line);
            // Command lines with placeholders are skipped.
            if words.iter().any(|word| word == "..." || word.starts_with(['[', '<'])) {
                continue;
            }
            checked += 1;
            let arguments = with_list(words.into_iter().map(Into::into).collect());
            if let Err(error) = command().try_get_matches_from(arguments)
                && error.use_stderr()
            {
                let first = error.to_string().lines().next().unwrap_or_default().to_owned();
                wrong.push(format!("{}: {line}: {first}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 100, "only {checked} command lines were found");
}

#[test]
fn a_command_line_ends_at_a_pipe_and_continues_after_a_backslash() {
    let text = "text\n\n    inferometer run --rate 2 \\\n        --json | jq .\n\n```console\n$ inferometer runs\nID\n```\n";
    let found: Vec<_> = command_lines(text).iter().map(|line| words(line)).collect();
    assert_eq!(found[0], ["inferometer", "run", "--rate", "2", "--json"]);
    assert_eq!(found[1], ["inferometer", "runs"]);
    assert_eq!(found.len(), 2);
}
