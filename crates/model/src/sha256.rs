//! SHA-256: identifies plans, workloads, bodies and files.
//!
//! The library has code for several kinds of processors. Without it, a request would take a fifth more instructions on
//! processors that have none for SHA-256.

use std::fmt::Write as _;

use ring::digest::{Context, SHA256, digest};

/// A hash that is being computed.
#[derive(Clone)]
pub struct Sha256(Context);

impl Default for Sha256 {
    /// The hash of no bytes.
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl Sha256 {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash.
    pub fn finish(self) -> [u8; 32] {
        array(self.0.finish().as_ref())
    }

    /// The hash, as hexadecimal digits.
    pub fn finish_hex(self) -> String {
        hex(&self.finish())
    }
}

impl std::fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sha256")
    }
}

/// SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    array(digest(&SHA256, bytes).as_ref())
}

/// SHA-256 of some bytes, as hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

fn array(digest: &[u8]) -> [u8; 32] {
    digest.try_into().expect("invariant: SHA-256 has 32 bytes")
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
