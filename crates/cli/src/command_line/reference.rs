//! Tests that the pages of `docs/reference/` agree with the program's tables of commands, flags, metrics and findings.
//! `INFEROMETER_WRITE_PAGES=1 cargo test --lib reference` writes the pages.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::{Arg, Command};
use inferometer_metrics::definitions;
use inferometer_model::finding::code;

use super::command;

const MADE: &str = "This page is generated from the program's own tables.\n";

/// Converts a text for a cell of a Markdown table: special characters are escaped, and `<br>` separates lines.
fn cell(text: &str) -> String {
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let escaped = |text: String| text.replace('|', "\\|").replace('<', "&lt;");
    text.lines().map(|text| escaped(line(text))).collect::<Vec<_>>().join("<br>")
}

fn commands() -> String {
    let mut page = format!(
        "# Commands\n\n{MADE}In a plan file, each flag of `run` that describes the measurement is a \
         key, with underscores in place of hyphens. A flag `--no-X` is written `x = false`. Flags \
         that only control the command, such as `--yes` and `--dry-run`, are not keys. \
         `run --dry-run` prints a plan with every default.\n"
    );
    let mut all = command().disable_help_subcommand(true);
    all.build();
    add_commands("inferometer", &all, &mut page);
    page
}

fn add_commands(name: &str, command: &Command, page: &mut String) {
    for below in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let name = format!("{name} {}", below.get_name());
        let about = below.get_about().map(ToString::to_string).unwrap_or_default();
        let usage = below.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ");
        let _ = write!(page, "\n## {name}\n{about}.\n\n    {usage}\n");
        let shown = |argument: &&Arg| !argument.is_hide_set() && argument.get_id() != "help";
        let arguments: Vec<&Arg> = below.get_arguments().filter(shown).collect();
        let heading = |argument: &Arg| argument.get_help_heading().unwrap_or("Options").to_owned();
        let mut headings: Vec<String> = Vec::new();
        for argument in &arguments {
            if !headings.contains(&heading(argument)) {
                headings.push(heading(argument));
            }
        }
        for title in headings {
            let _ = write!(page, "\n| {title} | |\n|---|---|\n");
            for argument in arguments.iter().filter(|argument| heading(argument) == title) {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                let help = format!("{help}{}", values(argument));
                let _ = writeln!(page, "| `{}` | {} |", flag(argument), cell(&help));
            }
        }
        add_commands(&name, below, page);
    }
}

/// The possible values of an argument and its default, as text.
fn values(argument: &Arg) -> String {
    let mut text = String::new();
    let all = argument.get_possible_values();
    let named: Vec<&str> = all
        .iter()
        .filter(|it| !it.is_hide_set())
        .map(clap::builder::PossibleValue::get_name)
        .collect();
    if takes_a_value(argument) && !named.is_empty() {
        let _ = write!(text, " [values: {}]", named.join(", "));
    }
    let default: Vec<_> =
        argument.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
    if takes_a_value(argument) && !default.is_empty() {
        let _ = write!(text, " [default: {}]", default.join(","));
    }
    text
}

/// Whether an argument takes a value; switches take none.
fn takes_a_value(argument: &Arg) -> bool {
    let count = argument.get_num_args();
    argument.get_action().takes_values() && count.is_none_or(|it| it.takes_values())
}

/// A flag with the placeholder of its value, or the name of a positional argument.
fn flag(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let value = names.first().map(ToString::to_string).unwrap_or_default();
    match argument.get_long() {
        Some(long) if argument.is_require_equals_set() => format!("--{long}[={value}]"),
        Some(long) if takes_a_value(argument) => format!("--{long} {value}"),
        Some(long) => format!("--{long}"),
        None => value,
    }
    .trim()
    .replace('|', "\\|")
}

fn metrics() -> String {
    let mut page = format!(
        "# Metrics\n\n{MADE}`inferometer list metrics` also has the definitions of other tools.\n\n\
         | name | unit | formula | notes | source |\n|---|---|---|---|---|\n"
    );
    for it in definitions() {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            it.name,
            cell(&it.unit.to_string()),
            cell(it.formula),
            cell(it.notes),
            cell(it.source)
        );
    }
    page
}

fn findings() -> String {
    let mut page = format!(
        "# Findings\n\n{MADE}A finding says that some figure needs care, why, and what to do.\n\n| \
         name | meaning | what to do |\n|---|---|---|\n"
    );
    for it in code::ALL {
        let advice = it.advice.unwrap_or_default();
        let _ = writeln!(page, "| `{}` | {} | {} |", it.name, cell(it.means), cell(advice));
    }
    page
}

#[test]
fn the_reference_pages_equal_the_pages_generated_by_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    for (name, page) in
        [("commands.md", commands()), ("metrics.md", metrics()), ("findings.md", findings())]
    {
        let path = folder.join(name);
        if std::env::var_os("INFEROMETER_WRITE_PAGES").is_some() {
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(&path, &page).expect("it is written");
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == page, "{name} is not up to date; INFEROMETER_WRITE_PAGES=1 writes it");
    }
}
