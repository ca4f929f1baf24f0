//! Messages for arguments that are not UTF-8, because `clap` names neither the argument nor the reason.

use std::ffi::OsString;

/// A message about the first argument that is not UTF-8; None for other errors of the parser. `clap` reports no error
/// for the path of a file that is only opened, because such a path may have any bytes.
pub fn refusal(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    if error.kind() != clap::error::ErrorKind::InvalidUtf8 {
        return None;
    }
    let odd = arguments.iter().position(|argument| argument.to_str().is_none())?;
    let shown = arguments[odd].to_string_lossy();
    let (flag, value) = match shown.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (flag.to_owned(), value.to_owned()),
        _ => {
            let before = odd.checked_sub(1).map(|at| arguments[at].to_string_lossy().into_owned());
            (before.filter(|flag| flag.starts_with('-')).unwrap_or_default(), shown.into_owned())
        }
    };
    let flag = if flag.is_empty() { flag } else { format!("{flag}: ") };
    Some(format!(
        "{flag}`{value}` is not UTF-8, but the plan and the results store it as text. Use another \
            name, or a link whose name is UTF-8; plan files and imported files may have any name"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn the_error_for_an_argument_that_is_not_utf8_names_its_flag() {
        let error = clap::Error::new(clap::error::ErrorKind::InvalidUtf8);
        let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        for (arguments, begins) in [
            (vec!["run".into(), "--out".into(), odd(b"a\xff")], "--out: `a\u{fffd}` is not UTF-8"),
            (vec!["run".into(), odd(b"--out=a\xff")], "--out: `a\u{fffd}` is not UTF-8"),
            (vec!["show".into(), odd(b"a\xff")], "`a\u{fffd}` is not UTF-8"),
        ] {
            let refused = refusal(&error, &arguments).expect("a refusal");
            assert!(refused.starts_with(begins), "{refused}");
        }
        let other = clap::Error::new(clap::error::ErrorKind::UnknownArgument);
        assert_eq!(refusal(&other, &[odd(b"\xff")]), None);
    }
}
