//! What a content security policy names a style or a script by. Never a nonce: a file has no
//! server that could make one.

use sha2::{Digest, Sha256};

/// The source expression of a text: `'sha256-...'` (CSP 3, section 2.3.1).
pub(super) fn source(text: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())))
}

/// RFC 4648, section 4, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits: u32, at| {
            bits << 8 | u32::from(chunk.get(at).copied().unwrap_or_default())
        });
        for digit in 0..4 {
            let six = (bits >> (18 - 6 * digit) & 63) as usize;
            out.push(if digit <= chunk.len() { char::from(ALPHABET[six]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(source(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }
}
