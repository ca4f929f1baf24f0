//! Makes the pages of `docs/reference/` from the program's tables of commands, flags, metrics and findings, from the keys of
//! a plan file, and from the schema of results, and tests that
//! the page of commands is up to date. The other pages are only in the book, because `inferometer list` prints the same.
//! `INFEROMETER_WRITE_PAGES=1 cargo test --lib reference` writes the pages.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::{Arg, Args as _, Command};
use inferometer_analysis::inspect::codes;
use inferometer_model::metrics::definitions;
use inferometer_plan::spec::{AbSpec, SearchSpec, Spec, SweepSpec};
use serde_json::Value;

use super::command;

const MADE: &str = "This page is generated from the program's own tables.\n";

/// Converts a text for a cell of a Markdown table: special characters are escaped, and `<br>` separates lines.
fn cell(text: &str) -> String {
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let escaped = |text: String| text.replace('|', "\\|").replace('<', "&lt;");
    text.lines().map(|text| escaped(line(text))).collect::<Vec<_>>().join("<br>")
}

/// A flag of a command, as the page shows it.
#[derive(Clone, PartialEq)]
struct Row {
    heading: String,
    flag: String,
    help: String,
    /// Whether this is the name of a value and not of a flag.
    is_value: bool,
}

/// The rows of a command's visible arguments.
fn rows(command: &Command) -> Vec<Row> {
    let shown = |argument: &&Arg| !argument.is_hide_set() && argument.get_id() != "help";
    let row = |argument: &Arg| {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        // Most flags of `bench serve` begin with this, so the page says it in fewer words.
        let help = help.replace("as in vLLM; with `run`, use", "as `run`");
        Row {
            heading: argument.get_help_heading().unwrap_or("Options").to_owned(),
            flag: flag(argument),
            help: cell(&format!("{help}{}", values(argument))),
            is_value: argument.get_long().is_none(),
        }
    };
    command.get_arguments().filter(shown).map(row).collect()
}

/// The visible commands at all levels, with their whole names.
fn all_commands(name: &str, command: &Command, found: &mut Vec<(String, Command)>) {
    for below in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let name = format!("{name} {}", below.get_name());
        found.push((name.clone(), below.clone()));
        all_commands(&name, below, found);
    }
}

/// The rows by their headings, in the order of the first row of each heading.
fn by_heading(rows: &[Row]) -> Vec<(&str, Vec<&Row>)> {
    let mut groups: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|(heading, _)| *heading == row.heading) {
            Some((_, group)) => group.push(row),
            None => groups.push((&row.heading, vec![row])),
        }
    }
    groups
}

fn add_lists(rows: &[Row], page: &mut String) {
    for (heading, group) in by_heading(rows) {
        let _ = write!(page, "\n**{heading}**\n\n");
        for row in group {
            let _ = writeln!(page, "- `{}`: {}", row.flag, row.help);
        }
    }
}

/// The rows that several commands have.
fn shared(commands: &[(String, Command)]) -> Vec<Row> {
    let all: Vec<Vec<Row>> = commands.iter().map(|(_, command)| rows(command)).collect();
    let mut found: Vec<Row> = Vec::new();
    for row in all.iter().flatten().filter(|row| !row.is_value) {
        let users = all.iter().filter(|rows| rows.contains(row)).count();
        if users > 1 && !found.contains(row) {
            found.push(row.clone());
        }
    }
    found
}

/// One line about the shared flags that a command has, group by group.
fn groups_of(own: &[Row], shared: &[Row]) -> String {
    let names = |rows: &[&&Row]| {
        let names = rows
            .iter()
            .map(|row| format!("`{}`", row.flag.split([' ', '[']).next().unwrap_or_default()));
        names.collect::<Vec<_>>().join(", ")
    };
    let mut text = Vec::new();
    for (heading, group) in by_heading(shared) {
        let (has, lacks): (Vec<&&Row>, Vec<&&Row>) =
            group.iter().partition(|row| own.contains(row));
        text.extend(match (has.len(), lacks.len()) {
            (0, _) => None,
            (_, 0) => Some(heading.to_owned()),
            (has_count, lack_count) if lack_count < has_count => {
                Some(format!("{heading} without {}", names(&lacks)))
            }
            _ => Some(format!("{heading}: {}", names(&has))),
        });
    }
    text.join("; ")
}

fn commands() -> String {
    let mut page = format!(
        "# Commands\n\n{MADE}In a plan file, each flag of `run` that describes the measurement is a \
         key, with underscores in place of hyphens. A flag `--no-X` is written `x = false`. Flags \
         that only control the command, such as `--yes` and `--dry-run`, are not keys. \
         `run --dry-run` prints a plan with every default.\n"
    );
    let mut whole = command().disable_help_subcommand(true);
    whole.build();
    let mut all = Vec::new();
    all_commands("inferometer", &whole, &mut all);
    let shared = shared(&all);
    for (name, command) in &all {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ");
        let _ = write!(page, "\n## {name}\n{about}.\n\n    {usage}\n");
        let rows = rows(command);
        let groups = groups_of(&rows, &shared);
        if !groups.is_empty() {
            let _ = write!(page, "\n[Shared flags](#shared-flags): {groups}.\n");
        }
        let own: Vec<Row> = rows.into_iter().filter(|row| !shared.contains(row)).collect();
        add_lists(&own, &mut page);
    }
    page += "\n## Shared flags\nFlags that several commands have. Each command names its groups.\n";
    add_lists(&shared, &mut page);
    page
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
    .to_owned()
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
    for it in codes() {
        let advice = it.advice.unwrap_or_default();
        let _ = writeln!(page, "| `{}` | {} | {} |", it.name, cell(it.means), cell(advice));
    }
    page
}

/// The keys of a plan file: those at the top, and those of its tables.
fn plan() -> String {
    let mut page = format!(
        "# Keys of a plan file\n\n{MADE}A plan file is TOML. Each key but the tables below is also a flag of `run`, with \
         hyphens in place of underscores; a flag `--no-x` is written `x = false`. `inferometer run --dry-run` prints a \
         plan with every default. [The table `[server]` and the targets](../servers.md), and [the table `[[target]]` of \
         a comparison](../comparison.md), have pages of their own.\n"
    );
    for (name, keys) in [
        ("At the top", Spec::augment_args(Command::new("plan"))),
        ("`[search]`", SearchSpec::augment_args(Command::new("search"))),
        ("`[sweep]`", SweepSpec::augment_args(Command::new("sweep"))),
        ("`[ab]`", AbSpec::augment_args(Command::new("ab"))),
    ] {
        let _ = write!(page, "\n## {name}\n\n| key | value | meaning |\n|---|---|---|\n");
        for argument in keys.get_arguments() {
            let value = match flag(argument).split_once([' ', '[']) {
                Some((_, value)) => cell(value.trim_matches(['=', ']'])),
                None => "true or false".to_owned(),
            };
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let key = argument.get_id().as_str();
            let is_off = argument.get_long().is_some_and(|long| long.starts_with("no-"));
            let help =
                if is_off && !key.starts_with("no_") { format!("false: {help}") } else { help };
            let _ = writeln!(page, "| `{key}` | {value} | {} |", cell(&(help + &values(argument))));
        }
    }
    page
}

/// The keys of `summary.json`, from its schema.
fn summary() -> String {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../schema/summary.schema.json")).expect("JSON");
    let mut page = format!(
        "# Keys of summary.json\n\n{MADE}`--json` prints the same document. `schema/summary.schema.json` is its JSON \
         Schema. A key that was not measured is absent or null, never 0.\n"
    );
    let parts = &schema["$defs"];
    add_keys(&mut page, "The document", &schema, parts);
    for (name, of) in parts.as_object().expect("definitions") {
        if of["properties"].is_object() {
            add_keys(&mut page, name, of, parts);
        }
    }
    page
}

/// A table of the keys of an object in a schema with these parts.
fn add_keys(page: &mut String, name: &str, object: &Value, parts: &Value) {
    let _ = write!(page, "\n## {name}\n");
    if let Some(about) = object["description"].as_str() {
        let _ = writeln!(page, "{about}");
    }
    let _ = write!(page, "\n| key | value | meaning |\n|---|---|---|\n");
    for (key, of) in object["properties"].as_object().expect("properties") {
        let part = of["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        let of_part = part.and_then(|part| parts[part]["description"].as_str());
        let meaning = of["description"].as_str().or(of_part).unwrap_or_default();
        let _ = writeln!(page, "| `{key}` | {} | {} |", kind(of, parts), cell(meaning));
    }
    for (key, of) in object["properties"].as_object().expect("properties") {
        let inner = if of["items"]["properties"].is_object() { &of["items"] } else { of };
        if inner["properties"].is_object() {
            add_keys(page, &format!("{name}: {key}"), inner, parts);
        }
    }
}

/// The kind of a value in a schema with these parts, with a link to the table of its keys.
fn kind(of: &Value, parts: &Value) -> String {
    if let Some(path) = of["$ref"].as_str() {
        let name = path.rsplit('/').next().unwrap_or_default();
        return match parts[name]["properties"].is_object() {
            true => format!("[{name}](#{name})"),
            false => kind(&parts[name], parts),
        };
    }
    let any: Vec<String> = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| of[*key].as_array())
        .flatten()
        .map(|of| kind(of, parts))
        .collect();
    match &of["type"] {
        _ if !any.is_empty() => any.join(" or "),
        Value::String(name) if name == "array" => format!("list of {}", kind(&of["items"], parts)),
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        _ => "any".to_owned(),
    }
}

#[test]
fn the_reference_page_of_commands_equals_the_page_generated_by_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let pages = [
        ("commands.md", commands()),
        ("metrics.md", metrics()),
        ("findings.md", findings()),
        ("plan.md", plan()),
        ("summary.md", summary()),
    ];
    // Only the book has the other pages: here, their tables are checked.
    let bars = |row: &str| row.replace("\\|", "").matches('|').count();
    for (name, page) in &pages[1..] {
        let mut rows = page.lines().filter(|line| line.starts_with('|')).map(bars);
        let first = rows.next();
        assert!(first.is_some() && rows.all(|count| Some(count) == first), "{name}");
        let empty: Vec<&str> = page.lines().filter(|line| line.ends_with("|  |")).collect();
        assert!(empty.is_empty() || *name != "plan.md", "{name}: no meaning: {empty:?}");
    }
    assert!(!pages[3].1.contains("| `no_"), "a flag that is no key");
    if std::env::var_os("INFEROMETER_WRITE_PAGES").is_some() {
        for (name, page) in &pages {
            fs::write(folder.join(name), page).expect("it is written");
        }
    }
    let found = fs::read_to_string(folder.join("commands.md")).unwrap_or_default();
    assert!(found == pages[0].1, "it is not up to date; INFEROMETER_WRITE_PAGES=1 writes it");
}
