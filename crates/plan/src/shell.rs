//! Puts values into a line for the shell, quoted so that the shell reads each as text and never as a
//! part of the command. Runs nothing.

/// Where in a line a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Outside of quotes.
    Bare,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
}

/// Replaces each `placeholder` of a line by a value, quoted for the place where it stands.
pub fn insert(line: &str, placeholder: &str, value: &str) -> String {
    replace(line, placeholder, |place| quoted(value, place))
}

/// Replaces each `placeholder` of a line by what is made for its place.
pub fn replace(line: &str, placeholder: &str, mut make: impl FnMut(Place) -> String) -> String {
    let mut out = String::with_capacity(line.len());
    // The place, within those that enclose it: `"$(...)"` begins anew inside of double quotes.
    let mut places = vec![Place::Bare];
    let mut rest = line;
    let mut begins_word = true;
    while let Some(character) = rest.chars().next() {
        let place = *places.last().unwrap_or(&Place::Bare);
        if rest.starts_with(placeholder) {
            out.push_str(&make(place));
            rest = &rest[placeholder.len()..];
            begins_word = false;
            continue;
        }
        // How many bytes are taken over unread.
        let mut taken = character.len_utf8();
        match (place, character) {
            (Place::Bare | Place::Double, '\\') => {
                taken += rest[taken..].chars().next().map_or(0, char::len_utf8);
            }
            (Place::Bare, '#') if begins_word => taken = rest.find('\n').unwrap_or(rest.len()),
            (Place::Bare, '\'') => places.push(Place::Single),
            (Place::Bare, '"') => places.push(Place::Double),
            (Place::Single, '\'') | (Place::Double, '"') => drop(places.pop()),
            (Place::Double, '$') if rest[1..].starts_with('(') => {
                places.push(Place::Bare);
                taken += 1;
            }
            (Place::Bare, '(') => places.push(Place::Bare),
            (Place::Bare, ')') if places.len() > 1 => drop(places.pop()),
            _ => {}
        }
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
        begins_word = character.is_whitespace() || ";&|(".contains(character);
    }
    out
}

/// Whether a word of a command is a line that a shell reads: what follows `sh -c`.
pub fn is_line(command: &[String], at: usize) -> bool {
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let is_shell = |word: &String| ["sh", "bash", "dash", "ksh", "zsh"].contains(&&*name(word));
    at >= 2 && command[at - 1] == "-c" && is_shell(&command[at - 2])
}

fn quoted(value: &str, place: Place) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match place {
        Place::Bare if !value.is_empty() && value.chars().all(is_plain) => value.to_owned(),
        Place::Bare => format!("'{}'", value.replace('\'', r"'\''")),
        Place::Single => value.replace('\'', r"'\''"),
        Place::Double => value.chars().fold(String::new(), |mut text, character| {
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

    /// What a shell makes of a line.
    fn said(line: &str) -> String {
        let output = Command::new("sh").args(["-c", line]).output().expect("a shell");
        assert!(output.status.success(), "{line}");
        String::from_utf8(output.stdout).expect("text")
    }

    #[test]
    fn a_shell_reads_a_value_as_text_wherever_it_stands() {
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
    fn a_plain_value_stands_in_a_line_as_it_is() {
        assert_eq!(insert("serve {model} &", "{model}", "a/b-1.0"), "serve a/b-1.0 &");
    }

    #[test]
    fn a_line_of_a_shell_is_told_from_other_words() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(is_line(&words("sh -c line"), 2) && is_line(&words("nice /bin/bash -c line"), 3));
        assert!(!is_line(&words("serve -c file"), 2) && !is_line(&words("sh -c line sh"), 3));
    }
}
