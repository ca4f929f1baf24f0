//! Estimates the memory of a parsed JSON text before it is parsed.

/// An upper bound, in bytes, of the memory that a JSON text needs after parsing into a value or a list
/// of small structs. The bound assumes that each byte of the text is stored. Outside of strings, it
/// assumes that each opening bracket begins a list or an object, and that each comma precedes another
/// element.
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
    fn brackets_and_commas_add_more_to_the_estimated_memory_than_text() {
        assert_eq!(parsed_bytes(b"\"word\""), 6);
        assert!(parsed_bytes(b"[[],[]]") > 800);
        assert!(parsed_bytes(br#"{"a":{}}"#) > 1_000);
        assert_eq!(
            parsed_bytes(br#""\"{,[""#),
            7,
            "in a string, brackets and commas count as text"
        );
    }
}
