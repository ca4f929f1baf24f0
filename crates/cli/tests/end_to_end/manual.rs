//! What packages have beside the program: completions of shells and manual pages.

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
fn completions_know_every_command_and_are_read_by_the_shell() {
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
    // The shell that every machine of the tests has.
    let read = Command::new("bash").arg("-n").arg(folder.path().join("bash")).status();
    assert!(read.expect("bash runs").success());
}

#[test]
fn there_is_a_manual_page_of_the_program_and_of_each_command() {
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
    let count = fs::read_dir(&pages).expect("a folder").count();
    assert_eq!(count, commands().iter().filter(|command| *command != "help").count() + 1);

    fs::write(folder.path().join("file"), "").expect("written");
    let output = inferometer(folder.path(), &["manual", "file/man1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("cannot be written"), "{}", told(&output));
}
