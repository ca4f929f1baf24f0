//! Spans of time in words.

/// An estimated time as text, such as `less than a second`, `about 42 s`.
pub(super) fn about(seconds: f64) -> String {
    if seconds < 1.0 { in_words(seconds) } else { format!("about {}", in_words(seconds)) }
}

/// A time as text, such as `less than a second`, `42 s`, `12 min`, `1.5 h`.
pub(super) fn in_words(seconds: f64) -> String {
    if seconds < 1.0 {
        "less than a second".to_owned()
    } else if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_of_less_than_a_second_is_not_introduced_by_about() {
        for (seconds, text) in [(0.4, "less than a second"), (42.0, "about 42 s")] {
            assert_eq!(about(seconds), text);
        }
    }
}
