//! Estimates the memory of a parsed JSON text before it is parsed.

/// An upper bound, in bytes, of the memory that a parsed JSON text needs, as a value or as a list of small
/// structs. Each byte of the text may be a character. Outside of strings, each bracket may begin a list or an
/// object, and each comma may precede another element.
pub fn parsed_bytes(text: &[u8]) -> usize {
    let (mut bytes, mut in_string, mut is_escaped) = (0, false, false);
    for byte in text {
        bytes += match byte {
            b'{' if !in_string => 512,
            b'[' if !in_string => 256,
            b',' if !in_string => 32,
            _ => 1,
        };
        in_string ^= *byte == b'"' && !is_escaped;
        is_escaped = in_string && *byte == b'\\' && !is_escaped;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_commas_cost_more_than_text() {
        assert_eq!(parsed_bytes(b"\"word\""), 6);
        assert!(parsed_bytes(b"[[],[]]") > 800);
        assert!(parsed_bytes(br#"{"a":{}}"#) > 1_000);
        assert_eq!(parsed_bytes(br#""\"{,[""#), 7, "in a string they are text");
    }
}
