//! Names of files in a bundle: relative paths of ASCII letters, digits, `.`, `_`, `-` and `/`.

/// The maximum length of a name, in characters.
const MOST_CHARS: usize = 99;
/// The name of a data file in the bundle keeps at most this number of characters from the end of its original name.
const MOST_DATA_CHARS: usize = 40;

/// Returns why a name is not allowed in a bundle; `None` if it is allowed.
pub fn problem(name: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if name.is_empty() || name.len() > MOST_CHARS {
        return Some("its name is empty or too long");
    }
    if name.starts_with('/') || name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Some("its name has an empty part, or a part `.` or `..`");
    }
    (!name.chars().all(is_plain)).then_some("its name has a character that is not allowed")
}

/// Returns the name of a data file in a bundle: the number, then the end of the file's original name, without
/// its folder. Characters that are not allowed become `-`.
pub fn data_name(number: usize, file: &str) -> String {
    let own = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let kept: Vec<char> = own.chars().map(plain).collect();
    // The end of the name is used, because it contains the extension.
    let kept: String = kept[kept.len().saturating_sub(MOST_DATA_CHARS)..].iter().collect();
    format!("data/{number}-{kept}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_bundle_are_refused_and_generated_data_names_are_always_valid() {
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../../b",
            "a//b",
            "a/./b",
            "a/",
            "C:\\x",
            "a\\b",
            "a b",
            "a\nb",
            "é",
            &"x".repeat(100),
        ] {
            assert!(problem(bad).is_some(), "{bad:?}");
        }
        for good in ["SHA256SUMS", "runs/20261120-051233-ab12/records.log", "data/1-a.jsonl"] {
            assert_eq!(problem(good), None, "{good}");
        }
        let long = format!("{}.jsonl", "x".repeat(300));
        for file in ["/home/me/rows of mine.jsonl", "..", "C:\\data\\é.csv", "", &long] {
            let name = data_name(1, file);
            assert_eq!(problem(&name), None, "{name}");
            assert!(name.starts_with("data/1-"), "{name}");
        }
        assert!(data_name(2, &long).ends_with(".jsonl"));
    }
}
