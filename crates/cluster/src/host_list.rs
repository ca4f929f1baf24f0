//! Expands Slurm's lists of host names: `n[1-3,07-09],gpu1` is `n1`, `n2`, `n3`, `n07`, `n08`, `n09` and `gpu1`.

/// The maximum number of names in a list. The largest clusters have fewer hosts.
const MOST_NAMES: usize = 100_000;

/// Why a list of host names cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostListError {
    /// The list has no name.
    #[error("there is no host name")]
    Empty,
    /// A bracket is not opened.
    #[error("a `]` has no `[`")]
    NotOpened,
    /// A bracket is not closed.
    #[error("a `[` has no `]`")]
    NotClosed,
    /// The list is longer than that of any cluster.
    #[error("it has more than {MOST_NAMES} names")]
    TooLong,
    /// The text in brackets is not a range of numbers.
    #[error("`{0}` is not a range of numbers")]
    NoRange(String),
    /// The numbers of a range descend.
    #[error("the range `{0}` ends before it begins")]
    Descending(String),
}

/// Returns the names of a list, in order.
///
/// # Errors
/// If the list is malformed, too long or without a host name.
pub fn expand(list: &str) -> Result<Vec<String>, HostListError> {
    let mut names = Vec::new();
    for part in split(list)? {
        expand_part(part, &mut names)?;
    }
    if names.is_empty() {
        return Err(HostListError::Empty);
    }
    Ok(names)
}

/// Splits at commas outside brackets. Empty parts are dropped.
fn split(list: &str) -> Result<Vec<&str>, HostListError> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, char) in list.char_indices() {
        match char {
            '[' => depth += 1,
            ']' if depth == 0 => return Err(HostListError::NotOpened),
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(HostListError::NotClosed);
    }
    parts.push(&list[begin..]);
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect())
}

/// Appends the names of a part of a list. Brackets are expanded from left to right.
fn expand_part(part: &str, names: &mut Vec<String>) -> Result<(), HostListError> {
    let Some((before, rest)) = part.split_once('[') else {
        if names.len() >= MOST_NAMES {
            return Err(HostListError::TooLong);
        }
        names.push(part.to_owned());
        return Ok(());
    };
    let (numbers, after) = rest.split_once(']').ok_or(HostListError::NotClosed)?;
    for range in numbers.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let wrong = || HostListError::NoRange(range.to_owned());
            if is_number { text.parse::<u32>().map_err(|_| wrong()) } else { Err(wrong()) }
        };
        let (low, high) = (number(first)?, number(last)?);
        if low > high {
            return Err(HostListError::Descending(range.to_owned()));
        }
        if (high - low) as usize >= MOST_NAMES {
            return Err(HostListError::TooLong);
        }
        for value in low..=high {
            // Numbers keep their leading zeros: `07` remains two digits wide.
            let width = first.len();
            expand_part(&format!("{before}{value:0width$}{after}"), names)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_hosts_are_expanded_in_order() {
        let cases: [(&str, &[&str]); 8] = [
            ("n1", &["n1"]),
            ("n[1-3]", &["n1", "n2", "n3"]),
            ("n[1,3-4],login", &["n1", "n3", "n4", "login"]),
            ("gpu[008-010]", &["gpu008", "gpu009", "gpu010"]),
            ("a[1-2]b[3-4].x", &["a1b3.x", "a1b4.x", "a2b3.x", "a2b4.x"]),
            ("n[9-11]", &["n9", "n10", "n11"]),
            ("n1,n2", &["n1", "n2"]),
            ("n[7]", &["n7"]),
        ];
        for (list, names) in cases {
            assert_eq!(expand(list).as_deref(), Ok(&names.map_to_owned()[..]), "{list}");
        }
    }

    #[test]
    fn an_invalid_host_list_is_an_error_with_the_reason() {
        let cases = [
            ("", "there is no host name"),
            (",", "there is no host name"),
            ("n[1-3", "has no `]`"),
            ("n1-3]", "has no `[`"),
            ("n[3-1]", "ends before it begins"),
            ("n[a-b]", "not a range of numbers"),
            ("n[1-]", "not a range of numbers"),
            ("n[1-99999999]", "more than 100000 names"),
            ("n[1-1000][1-1000]", "more than 100000 names"),
        ];
        for (list, why) in cases {
            let error = expand(list).expect_err(list).to_string();
            assert!(error.contains(why), "{list}: {error}");
        }
    }

    trait Owned {
        fn map_to_owned(&self) -> Vec<String>;
    }

    impl Owned for &[&str] {
        fn map_to_owned(&self) -> Vec<String> {
            self.iter().map(|name| (*name).to_owned()).collect()
        }
    }
}
