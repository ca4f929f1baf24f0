//! The token of a run: only processes that have it meet. It is never sent: each side proves that it has it by
//! a keyed hash (HMAC-SHA-256) over what the other side has just drawn at random.

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes that are drawn for each proof.
const NONCE_BYTES: usize = 32;
/// The fewest bytes of a token from a file.
const LEAST_BYTES: usize = 16;

/// The token of a run.
#[derive(Clone)]
pub struct Token(hmac::Key);

/// Why a token cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is too short to be secret.
    #[error("it has fewer than {LEAST_BYTES} bytes; `openssl rand -hex 32` makes a good one")]
    Short,
    /// The system gives no random numbers.
    #[error("the system provides no random numbers")]
    NoRandom,
}

impl Token {
    /// The token of a job, by what its launcher says of it. It keeps runs apart; who can see the job's number
    /// can make it.
    pub fn of_job(job: &str) -> Self {
        Self::of_bytes(format!("inferometer job\n{job}").as_bytes())
    }

    /// A secret token, as a file holds it. White space around it does not count.
    ///
    /// # Errors
    /// When it is too short.
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

    /// The proof of having the token: `role` says who proves it, so that no proof serves the other side.
    pub(crate) fn prove(&self, role: &str, nonces: [&str; 2], said: &str) -> String {
        hex(hmac::sign(&self.0, signed(role, nonces, said).as_bytes()).as_ref())
    }

    /// Whether a proof is one. The comparison takes equally long whatever differs.
    pub(crate) fn is_proven(&self, proof: &str, role: &str, nonces: [&str; 2], said: &str) -> bool {
        let Some(proof) = bytes(proof) else { return false };
        hmac::verify(&self.0, signed(role, nonces, said).as_bytes(), &proof).is_ok()
    }
}

/// What is signed: each part with its length, so that no two sets of parts are the same bytes.
fn signed(role: &str, nonces: [&str; 2], said: &str) -> String {
    let parts = [role, nonces[0], nonces[1], said];
    parts.map(|part| format!("{}:{part}", part.len())).concat()
}

/// Random bytes that were never drawn before, in hexadecimal digits.
///
/// # Errors
/// When the system has none.
pub(crate) fn nonce() -> Result<String, TokenError> {
    let mut drawn = [0; NONCE_BYTES];
    SystemRandom::new().fill(&mut drawn).map_err(|_| TokenError::NoRandom)?;
    Ok(hex(&drawn))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_token_proves_the_same_words_for_the_same_role() {
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
