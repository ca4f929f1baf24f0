//! The token of a run: only processes that have the token can join. The token itself is never sent. Each side proves
//! that it has the token by a keyed hash (HMAC-SHA-256) over random text that the other side has just generated.

use inferometer_model::sha256::hex;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// The number of random bytes of a nonce. Each proof covers two nonces, one from each side.
const NONCE_BYTES: usize = 32;
/// The shortest token that a file may contain, in bytes.
const LEAST_BYTES: usize = 16;

/// The token of a run.
#[derive(Clone)]
pub struct Token(hmac::Key);

/// Why a token cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The token is too short to be secret.
    #[error(
        "it has fewer than {LEAST_BYTES} bytes; `openssl rand -hex 32` prints a suitable token"
    )]
    Short,
    /// The operating system provides no random numbers.
    #[error("the system provides no random numbers")]
    NoRandom,
}

impl Token {
    /// The token of a job, derived from the launcher's description of the job. This token separates runs from each
    /// other. It is not secret, because it can be computed from the job's number.
    pub fn of_job(job: &str) -> Self {
        Self::of_bytes(format!("inferometer job\n{job}").as_bytes())
    }

    /// A secret token, from the content of a file. White space at both ends is ignored.
    ///
    /// # Errors
    /// If the token is shorter than 16 bytes.
    pub fn of_secret(text: &[u8]) -> Result<Self, TokenError> {
        let secret = text.trim_ascii();
        if secret.len() < LEAST_BYTES {
            return Err(TokenError::Short);
        }
        Ok(Self::of_bytes(secret))
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// The proof that this process has the token. `role` names the side that makes the proof, so that a process without
    /// the token cannot send a proof back to its author.
    pub(crate) fn prove(&self, role: &str, nonces: [&str; 2], said: &str) -> String {
        hex(hmac::sign(&self.0, signed(role, nonces, said).as_bytes()).as_ref())
    }

    /// Whether the proof is valid. The comparison runs in constant time.
    pub(crate) fn is_proven(&self, proof: &str, role: &str, nonces: [&str; 2], said: &str) -> bool {
        let Some(proof) = bytes(proof) else { return false };
        hmac::verify(&self.0, signed(role, nonces, said).as_bytes(), &proof).is_ok()
    }
}

/// The text that is signed. Each part is preceded by its length, so that different parts never give the same text.
fn signed(role: &str, nonces: [&str; 2], said: &str) -> String {
    let parts = [role, nonces[0], nonces[1], said];
    parts.map(|part| format!("{}:{part}", part.len())).concat()
}

/// Returns random bytes that are used only once, in hexadecimal digits.
///
/// # Errors
/// If the operating system provides no random bytes.
pub(crate) fn nonce() -> Result<String, TokenError> {
    let mut drawn = [0; NONCE_BYTES];
    SystemRandom::new().fill(&mut drawn).map_err(|_| TokenError::NoRandom)?;
    Ok(hex(&drawn))
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_valid_only_for_the_same_token_role_nonces_and_message() {
        let token = Token::of_secret(b"0123456789abcdef\n").unwrap();
        let same = Token::of_secret(b"  0123456789abcdef").unwrap();
        let proof = token.prove("member", ["a", "b"], "words");
        assert!(same.is_proven(&proof, "member", ["a", "b"], "words"));
        let other = Token::of_job("17.0");
        assert!(!other.is_proven(&proof, "member", ["a", "b"], "words"));
        for (role, nonces, said) in [
            ("lead", ["a", "b"], "words"),
            ("member", ["b", "a"], "words"),
            ("member", ["a", "b"], "other"),
            ("member", ["ab", ""], "words"),
        ] {
            assert!(!token.is_proven(&proof, role, nonces, said), "{role} {nonces:?} {said}");
        }
        for wrong in ["", "zz", &proof[2..], "é"] {
            assert!(!token.is_proven(wrong, "member", ["a", "b"], "words"), "{wrong}");
        }
    }

    #[test]
    fn a_short_token_is_refused_and_nonces_differ() {
        assert_eq!(Token::of_secret(b"too short\n").err(), Some(TokenError::Short));
        assert_ne!(nonce().unwrap(), nonce().unwrap());
    }
}
