//! Inserts texts into a shell command line. [`insert`] and [`word`] quote a value, so the shell reads it as
//! text and never as a part of the command. No function replaces a placeholder in a comment. This module runs
//! nothing.

/// The error message for a placeholder inside backticks.
pub const IN_BACKTICKS: &str = "is inside backticks; use $(...) instead";

/// The quoting around a placeholder in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuoteContext {
    /// Outside of quotes.
    Bare,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
    /// In backticks. Other rules for quoting apply there.
    Backticks,
}

/// Replaces each `placeholder` of a line by a value, quoted for its context. Lines with a placeholder in
/// backticks must be refused before: see [`is_in_backticks`].
pub fn insert(line: &str, placeholder: &str, value: &str) -> String {
    replace(line, placeholder, |place| quoted(value, place))
}

/// Replaces each `placeholder` of a line by the result of `make`, which gets the context of the
/// placeholder.
pub fn replace(
    line: &str,
    placeholder: &str,
    mut make: impl FnMut(QuoteContext) -> String,
) -> String {
    let mut out = String::with_capacity(line.len());
    // The current context is the last one; the contexts around it come before it. For example,
    // `"$(...)"` begins a new context inside double quotes.
    let mut places = vec![QuoteContext::Bare];
    let mut rest = line;
    let mut begins_word = true;
    while let Some(character) = rest.chars().next() {
        let place = *places.last().unwrap_or(&QuoteContext::Bare);
        if rest.starts_with(placeholder) {
            out.push_str(&make(place));
            rest = &rest[placeholder.len()..];
            begins_word = false;
            continue;
        }
        // The number of bytes that are copied unchanged in this step.
        let mut taken = character.len_utf8();
        match (place, character) {
            (QuoteContext::Bare | QuoteContext::Double | QuoteContext::Backticks, '\\') => {
                taken += rest[taken..].chars().next().map_or(0, char::len_utf8);
            }
            (QuoteContext::Bare, '#') if begins_word => {
                taken = rest.find('\n').unwrap_or(rest.len())
            }
            (QuoteContext::Bare, '\'') => places.push(QuoteContext::Single),
            (QuoteContext::Bare, '"') => places.push(QuoteContext::Double),
            (QuoteContext::Bare | QuoteContext::Double, '`') => {
                places.push(QuoteContext::Backticks)
            }
            (QuoteContext::Single, '\'')
            | (QuoteContext::Double, '"')
            | (QuoteContext::Backticks, '`') => {
                places.pop();
            }
            (QuoteContext::Double, '$') if rest[1..].starts_with('(') => {
                places.push(QuoteContext::Bare);
                taken += 1;
            }
            (QuoteContext::Bare, '(') => places.push(QuoteContext::Bare),
            (QuoteContext::Bare, ')') if places.len() > 1 => {
                places.pop();
            }
            _ => {}
        }
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
        begins_word = character.is_whitespace() || ";&|(".contains(character);
    }
    out
}

/// Inserts a text, without quoting, at each `placeholder` of a line. If the line has no placeholder outside of
/// comments, the text is appended to the line.
///
/// # Errors
/// If a placeholder is in quotes or in backticks, or if the end of the line is in quotes, in backticks or in a
/// comment. The command would then not get the text as words.
pub fn fill_or_append(line: &str, placeholder: &str, text: &str) -> Result<String, &'static str> {
    let fill = |line: &str| {
        let mut places = Vec::new();
        let filled = replace(line, placeholder, |place| {
            places.push(place);
            text.to_owned()
        });
        (filled, places)
    };
    let (mut filled, mut places) = fill(line);
    if places.is_empty() {
        (filled, places) = fill(&format!("{line} {placeholder}"));
    }
    if places.is_empty() {
        return Err("is inside a comment; move it out");
    }
    if places.contains(&QuoteContext::Backticks) {
        return Err(IN_BACKTICKS);
    }
    if places.iter().any(|&place| place != QuoteContext::Bare) {
        return Err("is inside quotes, where it would be one word; move it out");
    }
    Ok(filled)
}

/// Whether a `placeholder` of a line is inside backticks, where this module cannot quote a value.
pub fn is_in_backticks(line: &str, placeholder: &str) -> bool {
    let mut is_in = false;
    replace(line, placeholder, |place| {
        is_in |= place == QuoteContext::Backticks;
        String::new()
    });
    is_in
}

/// Whether the word at index `at` of a command is a shell line: the text that a shell runs, as in
/// `sh -c LINE`. The shell may have more options, such as `bash -euo pipefail -c` and `bash -lc`.
pub fn is_line(command: &[String], at: usize) -> bool {
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let is_shell = |word: &String| ["sh", "bash", "dash", "ksh", "zsh"].contains(&&*name(word));
    let is_line_of = |shell: usize| {
        let (mut next, mut reads_a_line) = (shell + 1, false);
        while let Some(word) = command.get(next).filter(|word| word.starts_with(['-', '+'])) {
            let letters = if word.starts_with("--") { "" } else { &word[1..] };
            reads_a_line |= word.starts_with('-') && letters.contains('c');
            let takes_a_word = letters.contains(['o', 'O']);
            next += 1 + usize::from(takes_a_word);
        }
        reads_a_line && next == at
    };
    (0..at.min(command.len())).any(|shell| is_shell(&command[shell]) && is_line_of(shell))
}

/// Returns a value, quoted as one word of a shell line.
pub fn word(value: &str) -> String {
    quoted(value, QuoteContext::Bare)
}

fn quoted(value: &str, place: QuoteContext) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match place {
        QuoteContext::Bare if !value.is_empty() && value.chars().all(is_plain) => value.to_owned(),
        // The result in backticks is not used: callers refuse such a line, see `is_in_backticks`.
        QuoteContext::Bare | QuoteContext::Backticks => {
            format!("'{}'", value.replace('\'', r"'\''"))
        }
        QuoteContext::Single => value.replace('\'', r"'\''"),
        QuoteContext::Double => value.chars().fold(String::new(), |mut text, character| {
            if "\\\"$`".contains(character) {
                text.push('\\');
            }
            text.push(character);
            text
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs a line in a shell, and returns its output.
    fn said(line: &str) -> String {
        let output = Command::new("sh").args(["-c", line]).output().expect("a shell");
        assert!(output.status.success(), "{line}");
        String::from_utf8(output.stdout).expect("text")
    }

    #[test]
    fn the_shell_reads_an_inserted_value_as_plain_text_in_any_context_except_backticks() {
        for value in
            ["plain/model-1.5", "two words", "$(echo ran)", "`echo ran`", "it's; echo \"x\\", ""]
        {
            for (line, before, after) in [
                ("printf %s {model}", "", ""),
                ("printf %s --model={model}/x", "--model=", "/x"),
                ("printf %s \"a {model} b\"", "a ", " b"),
                ("printf %s 'a {model} b'", "a ", " b"),
                ("printf %s \"$(printf %s {model})\"", "", ""),
                ("printf %s \"$(printf '%s' \"{model}\")\"", "", ""),
                ("true # don't read this\nprintf %s {model}", "", ""),
                ("printf %s \\'{model}", "'", ""),
                ("(printf %s {model})", "", ""),
            ] {
                let line = insert(line, "{model}", value);
                assert_eq!(said(&line), format!("{before}{value}{after}"), "{line}");
            }
        }
    }

    #[test]
    fn a_value_without_special_characters_is_inserted_unquoted() {
        assert_eq!(insert("serve {model} &", "{model}", "a/b-1.0"), "serve a/b-1.0 &");
    }

    #[test]
    fn the_shell_line_of_a_command_is_distinguished_from_its_other_arguments() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (command, line) in [
            ("sh -c line", Some(2)),
            ("nice /bin/bash -c line", Some(3)),
            ("bash -lc line", Some(2)),
            ("sh -ec line sh", Some(2)),
            ("bash -x -c line", Some(3)),
            ("bash --login -euo pipefail -c line", Some(5)),
            ("bash -c -x line", Some(3)),
            ("serve -c file", None),
            ("bash script -c file", None),
            ("bash --rc file", None),
        ] {
            let command = words(command);
            let found = (0..command.len()).find(|&at| is_line(&command, at));
            assert_eq!(found, line, "{command:?}");
        }
        assert!(!is_line(&words("sh -c line sh"), 3));
    }

    #[test]
    fn a_text_replaces_its_placeholder_or_is_appended_and_is_refused_in_quotes_and_comments() {
        for (line, filled) in [
            ("serve {a} --last", Ok("serve X --last")),
            ("serve", Ok("serve X")),
            ("true # {a}\nserve", Ok("true # {a}\nserve X")),
            ("echo `date` {a}", Ok("echo `date` X")),
            ("serve # {a}", Err("comment")),
            ("serve '{a}'", Err("quotes")),
            ("echo `serve {a}`", Err("backticks")),
            ("echo \"`serve \\`{a}`\"", Err("backticks")),
        ] {
            match (fill_or_append(line, "{a}", "X"), filled) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected),
                (Err(told), Err(word)) => assert!(told.contains(word), "{line}: {told}"),
                (got, _) => panic!("{line}: {got:?}"),
            }
        }
        assert!(is_in_backticks("echo `x {a}`", "{a}") && !is_in_backticks("echo `x` {a}", "{a}"));
    }
}
