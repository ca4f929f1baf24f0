//! Tests the advice about arguments, and that the pages in `docs/coming-from/` agree with the tables of flags.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;
use crate::other_tools::TOOLS;
use crate::other_tools::Tool;
use crate::other_tools::vllm::{Answer, Flag};

fn told(arguments: &str) -> Option<String> {
    let words: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
    let words = [vec!["inferometer".into()], words].concat();
    let error = crate::command_line::command().try_get_matches_from(&words).expect_err(arguments);
    advice(&error, &words)
}

#[test]
fn a_flag_of_another_tool_gets_advice_on_the_flag_to_use_here() {
    for (arguments, says) in [
        ("run --num-prompts 100", "--requests N"),
        ("run --num_prompts=100", "--requests N"),
        ("run --max-concurrency 8", "--concurrency N"),
        ("run --request-rate inf", "--rate R (inf: all at once)"),
        ("run --base-url http://h", "--target URL"),
        ("run --url http://h", "--target URL"),
        ("run --random-input-len 9", "--input-lengths N"),
        ("run --random-output-len 9", "--output-lengths N"),
        ("run --sharegpt-output-len 9", "--output-length N"),
        ("run --rate-type sweep", "`inferometer sweep`"),
        ("run --max-seconds 60", "--duration TIME"),
        ("run --max-requests 60", "--requests N"),
        ("run --data prompt_tokens=9", "--input-lengths and --output-lengths"),
        ("run --processor a/b", "--tokenizer PATH or ID"),
        ("run --isl 9", "--input-lengths N"),
        ("run --osl-stddev 9", "--output-distribution normal"),
        ("run --request-count 9", "--requests N"),
        ("run --streaming", "nothing: answers are streamed"),
        ("run -p 512", "--input-lengths N,N"),
        ("run -n 128", "--output-lengths N,N"),
        ("run -n 128", "wrk or k6: `inferometer run` has --requests N"),
        ("run -m x.gguf", "llama-server -m FILE"),
        ("run -ngl 99", "a flag of llama-server"),
        ("run -c 8", "--concurrency N"),
        ("run --config_file x.yaml", "a plan file"),
        ("search --num-prompts 100", "`inferometer run` has --requests N"),
        ("predict --num-prompts 100", "`inferometer predict` has --requests N"),
        ("report --num-prompts 100", "`inferometer run` has --requests N"),
        ("search --max-concurrency 3", "between --from and --to: --over rate"),
        ("search --request-rate 3", "a search chooses the load itself"),
        ("run --num-prompt 3", "similar to --num-prompts"),
        ("run --num-prompt 3", "`inferometer run` has --requests N"),
        ("bench serve --target http://h", "--base-url or --host or --port"),
        ("bench serve --requests 5", "is --num-prompts here"),
        ("bench serve --slo ttft", "with its own flags"),
        ("serve", "`inferometer engine` serves the embedded engine"),
        ("benchmark", "`inferometer run`"),
        ("report --percentile-metrics ttft", "the report has all metrics"),
        ("run --backend vllm", "--dialect"),
        ("run --num-prompts 5", "`inferometer bench serve` takes the flags"),
        ("predict --target x", "target (--target): has no effect on a prediction"),
        ("sweep --repeat 2", "repeat (--repeat): cannot be set: a sweep chooses the loads"),
        ("ab --tui", "tui (--tui): shows one run, but a comparison has two"),
        ("report --rate 3", "did you mean `inferometer run --rate`?"),
    ] {
        let text = told(arguments).unwrap_or_else(|| panic!("{arguments}: nothing"));
        assert!(text.contains(says), "{arguments}: {text}");
    }
    // Misspelt flags of this program and completely unknown flags are left to the parser.
    assert_eq!(told("run --reqests 5"), None);
    assert_eq!(told("run --nobody-has-this 5"), None);
    assert_eq!(told("bench serve --num-promts 5"), None);
    assert_eq!(told("sarch"), None);
}

#[test]
fn every_command_with_advice_is_unknown_to_the_parser() {
    for name in COMMANDS.iter().flat_map(|(names, _)| names.iter().copied()) {
        let text = told(name).unwrap_or_else(|| panic!("{name}: nothing"));
        assert!(text.starts_with(&format!("{name}: there is no such command")), "{text}");
    }
}

#[test]
fn every_flag_in_the_advice_exists() {
    let command = crate::command_line::command();
    let known: BTreeSet<String> = command
        .get_subcommands()
        .filter(|sub| ["run", "search", "export"].contains(&sub.get_name()))
        .flat_map(|sub| sub.get_arguments().filter_map(|flag| flag.get_long()))
        .map(str::to_owned)
        .collect();
    let mut looked_at = 0;
    for tool in TOOLS.iter() {
        for (flag, here) in &tool.flags {
            assert!(!here.is_empty(), "{}: {flag}", tool.name);
            let words = here.split([' ', ',', ';', '`', '(', ')', ':', '\'']);
            for word in words.filter_map(|word| word.strip_prefix("--")) {
                looked_at += 1;
                assert!(known.contains(word), "{}: {flag}: there is no --{word}", tool.name);
            }
        }
    }
    assert!(looked_at > 200, "{looked_at}");
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coming-from").join(name)
}

/// The marks around the table of a page.
const MARKS: (&str, &str) = ("<!-- flags -->\n", "<!-- end of flags -->\n");

fn in_bench_serve(flag: &Flag) -> String {
    match flag.answer {
        Answer::Same => "same".to_owned(),
        Answer::Near(words) => format!("near: {words}"),
        Answer::Refused(words) => format!("refused: {words}"),
    }
}

/// The table of flags for a page, generated from the data of the program.
fn table(tool: &Tool) -> String {
    let mut text = String::new();
    if tool.name == "vllm bench serve" {
        text += "| flag | `inferometer bench serve` | `inferometer run` |\n|---|---|---|\n";
        for flag in FLAGS.iter() {
            let bench = in_bench_serve(flag);
            text += &format!("| `{}` | {bench} | {} |\n", flag.name, flag.here);
        }
    } else {
        text += "| flag | `inferometer run` |\n|---|---|\n";
        for (flag, here) in &tool.flags {
            text += &format!("| `{flag}` | {here} |\n");
        }
    }
    text
}

/// With `INFEROMETER_WRITE_PAGES=1`, this test writes the tables instead of comparing them.
#[test]
fn the_tables_in_the_pages_equal_those_generated_by_the_program() {
    for tool in TOOLS.iter() {
        let Some(name) = tool.page else { continue };
        let path = page(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let begin = text.find(MARKS.0).expect("a mark") + MARKS.0.len();
        let end = text.find(MARKS.1).expect("an end");
        let expected = table(tool);
        if std::env::var_os("INFEROMETER_WRITE_PAGES").is_some() {
            let written = format!("{}{expected}{}", &text[..begin], &text[end..]);
            std::fs::write(&path, written).expect("written");
            continue;
        }
        let advice = "is not up to date; INFEROMETER_WRITE_PAGES=1 writes it";
        assert_eq!(text[begin..end], expected, "{name} {advice}");
    }
}
