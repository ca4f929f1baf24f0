//! Writes a bundle: first the checksum list, then the parts in the given order.

use std::io::{self, Read, Write};

use flate2::{Compression, GzBuilder};
use inferometer_model::sha256::{Sha256, sha256_hex};
use tar::{Builder, EntryType, Header};

use super::{BundleError, FOLDER, SUMS};

/// A part of a bundle. Its checksum is computed before the part is written.
pub struct Part<'a> {
    /// The name in the bundle.
    pub name: String,
    /// The size and the checksum of the content.
    pub sum: Checksum,
    /// A reader of the content.
    pub content: Box<dyn Read + 'a>,
}

/// The size and the checksum of the content of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// The number of bytes.
    pub bytes: u64,
    /// The SHA-256, in hexadecimal digits.
    pub sha256: String,
}

impl Checksum {
    /// Reads `content` to its end and returns its size and checksum.
    ///
    /// # Errors
    /// If `content` cannot be read.
    pub fn of(content: impl Read) -> io::Result<Self> {
        let mut counted = HashingReader::new(content);
        io::copy(&mut counted, &mut io::sink())?;
        Ok(counted.sum())
    }
}

impl Part<'static> {
    /// Makes a part from bytes in memory.
    pub fn of_bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        let sum = Checksum { bytes: bytes.len() as u64, sha256: sha256_hex(&bytes) };
        Self { name: name.into(), sum, content: Box::new(io::Cursor::new(bytes)) }
    }
}

/// Writes a bundle of the parts to `to`, and returns `to`.
///
/// # Errors
/// [`BundleError::Unwritable`] if reading or writing fails, or if a part no longer matches its checksum.
pub fn write<W: Write>(to: W, parts: Vec<Part<'_>>) -> Result<W, BundleError> {
    written(to, parts).map_err(BundleError::Unwritable)
}

fn written<W: Write>(to: W, parts: Vec<Part<'_>>) -> io::Result<W> {
    // The header states no time and no operating system (255 means unknown), because equal parts must give
    // equal bytes.
    let zipped = GzBuilder::new().mtime(0).operating_system(255).write(to, Compression::default());
    let mut archive = Builder::new(zipped);
    let mut sums = String::new();
    sums.extend(parts.iter().map(|Part { name, sum, .. }| format!("{}  {name}\n", sum.sha256)));
    append(&mut archive, Part::of_bytes(SUMS, sums))?;
    parts.into_iter().try_for_each(|part| append(&mut archive, part))?;
    archive.into_inner()?.finish()
}

fn append<W: Write>(archive: &mut Builder<W>, part: Part<'_>) -> io::Result<()> {
    let Part { name, sum, content } = part;
    let mut header = Header::new_ustar();
    header.set_path(format!("{FOLDER}/{name}"))?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(sum.bytes);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_cksum();
    let mut counted = HashingReader::new(content.take(sum.bytes));
    archive.append(&header, &mut counted)?;
    match counted.sum() == sum {
        true => Ok(()),
        false => Err(io::Error::other(format!("{name} changed while it was read"))),
    }
}

/// A reader that counts the bytes that are read from it and computes their SHA-256.
pub(super) struct HashingReader<R> {
    content: R,
    bytes: u64,
    hasher: Sha256,
}

impl<R> HashingReader<R> {
    pub(super) fn new(content: R) -> Self {
        Self { content, bytes: 0, hasher: Sha256::default() }
    }

    /// Returns the size and the checksum of all bytes that were read.
    pub(super) fn sum(self) -> Checksum {
        Checksum { bytes: self.bytes, sha256: self.hasher.finish_hex() }
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
