//! How much memory a JSON text takes once it is parsed, known before it is parsed.

/// An upper bound, in bytes, of the memory of a JSON text as a value or as a list of small structs:
/// each byte may be a character, each bracket a list or an object, each comma one more element.
pub fn parsed_bytes(text: &[u8]) -> usize {
    let of_byte = |byte: &u8| match byte {
        b'{' => 512,
        b'[' => 256,
        b',' => 128,
        _ => 1,
    };
    text.iter().map(of_byte).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_commas_cost_more_than_text() {
        assert_eq!(parsed_bytes(b"\"word\""), 6);
        assert!(parsed_bytes(b"[[],[]]") > 800);
        assert!(parsed_bytes(br#"{"a":{}}"#) > 1_000);
    }
}
