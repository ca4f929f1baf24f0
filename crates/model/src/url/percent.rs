//! Percent encoding in addresses.

/// Decodes a text in which `%41` stands for `A`; `None` if a `%` is not followed by two hexadecimal
/// digits.
pub fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || (bytes.next()? as char).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    Some(decoded)
}
