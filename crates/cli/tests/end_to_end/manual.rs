//! The files that packages contain in addition to the program: shell completions and manual pages.

use std::fs;
use std::process::Command;

use super::support::{folder, inferometer, told};

/// The commands that the help lists.
fn commands() -> Vec<String> {
    let output = inferometer(folder().path(), &["--help"]);
    let help = String::from_utf8(output.stdout).expect("text");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| line.starts_with("  "));
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    names.filter(|line| !line.starts_with("   ")).filter_map(name).collect()
}

#[test]
fn help_with_the_flag_help_prints_the_help_of_the_program() {
    let text = |arguments: &[&str]| inferometer(folder().path(), arguments).stdout;
    assert_eq!(text(&["help", "--help"]), text(&["--help"]));
    assert_eq!(text(&["help", "-h"]), text(&["-h"]));
}

#[test]
fn completions_contain_every_command_and_bash_can_parse_them() {
    let folder = folder();
    let commands = commands();
    assert!(commands.len() > 20, "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let output = inferometer(folder.path(), &["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let script = String::from_utf8(output.stdout).expect("text");
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
        assert!(script.contains("input-lengths"), "{shell}");
        fs::write(folder.path().join(shell), script).expect("written");
    }
    // Every machine that runs the tests has bash.
    let read = Command::new("bash").arg("-n").arg(folder.path().join("bash")).status();
    assert!(read.expect("bash runs").success());
}

#[test]
fn completions_offer_fixed_values_and_offer_files_only_for_file_arguments() {
    let folder = folder();
    let script = |shell| {
        let output = inferometer(folder.path(), &["completions", shell]);
        String::from_utf8(output.stdout).expect("text")
    };
    let line = |script: &str, holds: &str, word: &str| {
        let found = script.lines().find(|line| line.contains(holds) && line.contains(word));
        found.unwrap_or_else(|| panic!("no line has {holds} and {word}")).to_owned()
    };
    // In fish, the text of a flag ends where the next flag begins, because values are on separate lines.
    let fish = script("fish");
    let of_fish = |flag: &str| {
        let mut all = fish.split("complete -c");
        let found = all.find(|one| one.contains("subcommand run\"") && one.contains(flag));
        found.unwrap_or_else(|| panic!("fish has no {flag}")).to_owned()
    };
    assert!(of_fish("-l dialect ").contains("openai-chat"));
    assert!(of_fish("-l store ").contains("-r -F"));
    assert!(!of_fish("-l requests ").contains("-F"));
    let zsh = script("zsh");
    assert!(line(&zsh, "--dialect=", "openai-chat").contains("sglang"));
    assert!(line(&zsh, "--over-limit=", "queue").contains("drop"));

    // The values that bash offers after a flag.
    fs::write(folder.path().join("bash"), script("bash")).expect("written");
    fs::write(folder.path().join("plan.toml"), "").expect("written");
    let offered = |flag: &str, word: &str| {
        let line = format!(
            ". ./bash; COMP_WORDS=(inferometer run {flag} '{word}'); COMP_CWORD=3; \
             _inferometer inferometer '{word}' {flag} 2>/dev/null; echo \"${{COMPREPLY[*]}}\""
        );
        let asked = Command::new("bash").args(["-c", &line]).current_dir(folder.path()).output();
        String::from_utf8(asked.expect("bash runs").stdout).expect("text")
    };
    assert_eq!(offered("--dialect", "openai-ch").trim(), "openai-chat");
    assert_eq!(offered("--over-limit", "").trim(), "queue drop");
    assert_eq!(offered("--replay", "pl").trim(), "plan.toml");
    assert_eq!(offered("--requests", "").trim(), "");
}

#[test]
fn the_program_and_each_command_have_a_manual_page() {
    let folder = folder();
    let pages = folder.path().join("man1");
    let output = inferometer(folder.path(), &["manual", "man1"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let page = |name: &str| fs::read_to_string(pages.join(name)).expect("a page");
    assert!(page("inferometer.1").contains("inferometer"));
    for command in commands().iter().filter(|command| *command != "help") {
        let page = page(&format!("inferometer-{command}.1"));
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{command}");
    }
    assert!(page("inferometer-run.1").contains("\\-\\-input\\-lengths"));
    let of_serve = page("inferometer-bench-serve.1");
    assert!(of_serve.contains("\\-\\-num\\-prompts"), "{of_serve}");
    assert!(of_serve.contains("inferometer bench serve"), "{of_serve}");
    let count = fs::read_dir(&pages).expect("a folder").count();
    assert_eq!(count, commands().iter().filter(|command| *command != "help").count() + 2);

    fs::write(folder.path().join("file"), "").expect("written");
    let output = inferometer(folder.path(), &["manual", "file/man1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("cannot be written"), "{}", told(&output));
}
