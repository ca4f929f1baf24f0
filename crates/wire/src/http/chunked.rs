//! The chunked transfer coding (RFC 9112, section 7.1), for responses and requests. The input may be cut at
//! any byte. Data is passed to the caller as slices of the input, without copies.

use super::{HttpError, MAX_CHUNK_LINE_BYTES, MAX_HEAD_BYTES};

/// The maximum number of hexadecimal digits of a chunk size. Sixteen digits are 64 bits.
const MOST_DIGITS: usize = 16;

/// Decodes one body with chunked transfer coding.
#[derive(Debug)]
pub(super) struct Chunked {
    state: State,
    /// The number of bytes of the framed body so far, for error messages.
    at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Inside the digits of a size; `line` is the number of bytes of the line so far.
    Size { size: u64, line: usize },
    /// After the digits of a size, in white space or extensions.
    Extension { size: u64, line: usize },
    /// After the CR of a size line.
    SizeLf { size: u64 },
    /// Inside the data of a chunk; `left` bytes remain.
    Data { left: u64 },
    /// After the data, before the CR that must follow.
    DataCr,
    /// After the CR that follows the data, before the LF that must follow.
    DataLf,
    /// In the trailer section, at the beginning of a line; `total` is the number of bytes of trailers so far,
    /// without line ends.
    TrailerStart { total: usize },
    /// Inside a trailer field.
    Trailer { total: usize },
    /// After the CR of a trailer field.
    TrailerLf { total: usize },
    /// After the CR of the empty line that ends the body.
    EndLf,
    /// After the last chunk and its trailers.
    Done,
}

impl State {
    /// At the beginning of a size line.
    const SIZE: Self = Self::Size { size: 0, line: 0 };
}

impl Chunked {
    pub(super) fn new() -> Self {
        Self { state: State::SIZE, at: 0 }
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Decodes bytes until the body ends, and passes its data to `data`. Returns the number of bytes that
    /// belong to the body.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        data: &mut impl FnMut(&[u8]),
    ) -> Result<usize, HttpError> {
        let mut taken = 0;
        while taken < bytes.len() && self.state != State::Done {
            let rest = &bytes[taken..];
            let used = match self.state {
                State::Data { left } => {
                    let used = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    data(&rest[..used]);
                    let left = left - used as u64;
                    self.state = if left == 0 { State::DataCr } else { State::Data { left } };
                    used
                }
                // Nearly always a chunk is complete within one read. The next two arms handle framing as a whole,
                // which is faster than one state change for each byte.
                State::DataCr if rest.starts_with(b"\r\n") => {
                    self.state = State::SIZE;
                    2
                }
                State::SIZE if let Some((size, used)) = whole_size_line(rest) => {
                    match whole_chunk(&rest[used..], size) {
                        Some(chunk) => {
                            data(chunk);
                            used + chunk.len() + 2
                        }
                        None => {
                            self.state = State::Data { left: size };
                            used
                        }
                    }
                }
                _ => {
                    self.state = self.framing(rest[0])?;
                    1
                }
            };
            taken += used;
            self.at += used as u64;
        }
        Ok(taken)
    }

    /// The state after one byte outside of the data.
    fn framing(&self, byte: u8) -> Result<State, HttpError> {
        Ok(match (self.state, byte) {
            (State::Size { size, line }, _) if byte.is_ascii_hexdigit() => {
                if line >= MOST_DIGITS {
                    return Err(self.error("a chunk size of more than 16 digits"));
                }
                let digit =
                    (byte as char).to_digit(16).expect("invariant: it is a hexadecimal digit");
                State::Size { size: size << 4 | u64::from(digit), line: line + 1 }
            }
            (State::Size { line: 0, .. }, _) => {
                return Err(self.error("a chunk size was expected"));
            }
            (State::Size { size, .. } | State::Extension { size, .. }, b'\r') => {
                State::SizeLf { size }
            }
            (State::Size { size, line }, b';' | b' ' | b'\t') => {
                State::Extension { size, line: line + 1 }
            }
            (State::Extension { size, line }, _) if byte != b'\n' => {
                if line >= MAX_CHUNK_LINE_BYTES {
                    return Err(self.error("a chunk-size line that is too long"));
                }
                State::Extension { size, line: line + 1 }
            }
            (State::SizeLf { size: 0 }, b'\n') => State::TrailerStart { total: 0 },
            (State::SizeLf { size }, b'\n') => State::Data { left: size },
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::SIZE,
            (State::TrailerStart { .. }, b'\r') => State::EndLf,
            (State::Trailer { total }, b'\r') => State::TrailerLf { total },
            (State::TrailerLf { total }, b'\n') => State::TrailerStart { total },
            (State::TrailerStart { total } | State::Trailer { total }, _) if byte != b'\n' => {
                if total >= MAX_HEAD_BYTES {
                    return Err(self.error("trailers that are too long"));
                }
                State::Trailer { total: total + 1 }
            }
            (State::EndLf, b'\n') => State::Done,
            (State::Size { .. }, _) => {
                return Err(self.error("a chunk size that is not a hexadecimal number"));
            }
            (State::DataCr, _) => return Err(self.error("chunk data longer than its size")),
            _ => return Err(self.error("a line end that is not CR LF")),
        })
    }

    fn error(&self, what: &'static str) -> HttpError {
        HttpError::Chunk { what, at: self.at }
    }
}

/// Parses a complete size line without extensions at the beginning of `bytes`. Returns the chunk size and the
/// length of the line, both in bytes; `None` for other lines and for a size of zero.
fn whole_size_line(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut size = 0;
    for (at, &byte) in bytes.iter().enumerate().take(MOST_DIGITS + 1) {
        let digit = VALUES[usize::from(byte)];
        if digit > 0xf {
            return (size > 0 && byte == b'\r' && bytes.get(at + 1) == Some(&b'\n'))
                .then_some((size, at + 2));
        }
        size = size << 4 | u64::from(digit);
    }
    None
}

/// The value of each byte as a hexadecimal digit; more than 15 for other bytes.
static VALUES: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// The data of a chunk of this size at the beginning of `bytes`; `None` if the line end that must follow is not there.
fn whole_chunk(bytes: &[u8], size: u64) -> Option<&[u8]> {
    let (chunk, rest) = bytes.split_at_checked(usize::try_from(size).ok()?)?;
    rest.starts_with(b"\r\n").then_some(chunk)
}
