//! A log is a sequence of frames. A frame is written and checked as a whole: an incomplete frame counts as
//! missing.
//!
//! ```text
//! length   u32, little-endian: bytes of the payload
//! kind     u8
//! payload  u32, CRC-32 (IEEE) of the payload
//! head     u32, CRC-32 of the nine bytes before it
//! ...      the payload
//! ```
//!
//! The head has its own checksum, so that a flipped bit in the length is detected as damage. Without this
//! checksum, a wrong length could make a damaged log look like a truncated log.

/// The bytes of a file before its first frame. They identify a run log, and the layout of its frames.
pub(super) const MAGIC: [u8; 8] = *b"INFRLOG1";

/// The number of bytes of a frame before its payload.
pub(super) const HEAD_BYTES: usize = 13;

/// The longest payload. The largest batch, with the largest possible numbers, takes 185 MiB.
pub(super) const MAX_PAYLOAD_BYTES: usize = 256 << 20;

/// The kind of the content of a frame. The number of a kind is its code in the file. Codes never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Header = 1,
    PassBegin = 2,
    Records = 3,
    PassEnd = 4,
    RunEnd = 5,
    Observed = 6,
    NeverBegun = 7,
}

impl Kind {
    fn from_code(code: u8) -> Option<Self> {
        let records = [Self::Records, Self::NeverBegun, Self::Observed];
        let marks = [Self::Header, Self::PassBegin, Self::PassEnd, Self::RunEnd];
        marks.into_iter().chain(records).find(|kind| *kind as u8 == code)
    }
}

/// The checked head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub kind: Kind,
    pub payload_bytes: usize,
    payload_crc: u32,
}

/// Encodes a frame.
pub(super) fn encode(kind: Kind, payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() <= MAX_PAYLOAD_BYTES, "invariant: each batch has a limited size");
    let length = payload.len() as u32;
    let mut frame = Vec::with_capacity(HEAD_BYTES + payload.len());
    frame.extend(length.to_le_bytes());
    frame.push(kind as u8);
    frame.extend(crc32fast::hash(payload).to_le_bytes());
    frame.extend(crc32fast::hash(&frame).to_le_bytes());
    frame.extend(payload);
    frame
}

/// Why a frame is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The head is damaged.
    #[error("the checksum of its head does not match")]
    Head,
    /// The head states more bytes than a frame can have.
    #[error("{0} bytes are more than a frame can hold")]
    TooLong(usize),
    /// The head states an unknown kind.
    #[error("no frame has kind {0}")]
    Kind(u8),
    /// The payload is damaged.
    #[error("the checksum of its payload does not match")]
    Payload,
}

impl Head {
    /// Parses and checks the head of a frame.
    ///
    /// # Errors
    /// If the head is invalid.
    pub fn decode(bytes: &[u8; HEAD_BYTES]) -> Result<Self, FrameError> {
        let [l0, l1, l2, l3, code, p0, p1, p2, p3, h0, h1, h2, h3] = *bytes;
        if crc32fast::hash(&bytes[..9]) != u32::from_le_bytes([h0, h1, h2, h3]) {
            return Err(FrameError::Head);
        }
        let payload_bytes = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if payload_bytes > MAX_PAYLOAD_BYTES {
            return Err(FrameError::TooLong(payload_bytes));
        }
        let kind = Kind::from_code(code).ok_or(FrameError::Kind(code))?;
        Ok(Self { kind, payload_bytes, payload_crc: u32::from_le_bytes([p0, p1, p2, p3]) })
    }

    /// Compares the payload with its checksum.
    ///
    /// # Errors
    /// If the checksum does not match.
    pub fn check(&self, payload: &[u8]) -> Result<(), FrameError> {
        if crc32fast::hash(payload) == self.payload_crc { Ok(()) } else { Err(FrameError::Payload) }
    }
}
