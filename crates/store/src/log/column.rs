//! Encodes tables of numbers as bytes, column by column. Each column is split into planes of bytes. This
//! module does not depend on records.
//!
//! The first plane of a column contains the lowest byte of each value, the next plane the second-lowest
//! byte, and so on up to the highest byte that any value needs. High bytes are nearly constant, low bytes
//! are nearly random. Each plane is compressed separately, so that the entropy code fits the bytes of this
//! plane.

use std::io;

use zstd::bulk::Compressor;

/// The compression level of zstd. The bytes of a plane are unevenly distributed, but sequences of bytes are
/// hardly ever repeated. So the longer search of higher levels would gain nothing.
const LEVEL: i32 = 3;

/// Why a payload cannot be decoded, as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub String);

impl Malformed {
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// The byte before a plane states how the plane is stored. These are its values.
mod coding {
    pub const RAW: u8 = 0;
    pub const ZSTD: u8 = 1;
    pub const CONSTANT: u8 = 2;
}

/// Encodes a payload: single numbers, tables and planes, one after the other.
pub(super) struct PayloadWriter {
    bytes: Vec<u8>,
    zstd: Compressor<'static>,
}

impl PayloadWriter {
    /// # Errors
    /// If the compressor cannot be created.
    pub fn new() -> io::Result<Self> {
        Ok(Self { bytes: Vec::new(), zstd: Compressor::new(LEVEL)? })
    }

    /// Writes a single number, as LEB128.
    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Writes a table of `N` columns. Does not write the number of rows: the reader must know it.
    ///
    /// # Errors
    /// The error of the compressor.
    pub fn table<const N: usize>(&mut self, rows: &[[u64; N]]) -> io::Result<()> {
        let mut plane = Vec::with_capacity(rows.len());
        for column in 0..N {
            let bits = rows.iter().fold(0, |bits, row| bits | row[column]);
            let planes = (64 - bits.leading_zeros()).div_ceil(8);
            self.bytes.push(planes as u8);
            for shift in (0..planes).map(|index| index * 8) {
                plane.clear();
                plane.extend(rows.iter().map(|row| (row[column] >> shift) as u8));
                self.plane(&plane)?;
            }
        }
        Ok(())
    }

    /// Writes a plane. Does not write its length: the reader must know it.
    ///
    /// # Errors
    /// The error of the compressor.
    pub fn plane(&mut self, plane: &[u8]) -> io::Result<()> {
        if let Some((&first, rest)) = plane.split_first()
            && rest.iter().all(|&byte| byte == first)
        {
            self.bytes.extend([coding::CONSTANT, first]);
            return Ok(());
        }
        let packed = self.zstd.compress(plane)?;
        if packed.len() < plane.len() {
            self.bytes.push(coding::ZSTD);
            self.varint(packed.len() as u64);
            self.bytes.extend(packed);
        } else {
            self.bytes.push(coding::RAW);
            self.bytes.extend(plane);
        }
        Ok(())
    }

    /// Returns the payload so far and leaves the writer empty.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

/// Decodes a payload. It allocates memory only for the lengths that its caller passes, never for a length
/// in the payload.
pub(super) struct PayloadReader<'a> {
    bytes: &'a [u8],
}

impl<'a> PayloadReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Checks that the whole payload was read.
    ///
    /// # Errors
    /// If bytes are left over.
    pub fn end(self) -> Result<(), Malformed> {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err(Malformed::new(format!("{left} bytes are left over"))),
        }
    }

    /// The bytes that were not read yet.
    pub fn rest(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the next `count` bytes.
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) =
            self.bytes.split_at_checked(count).ok_or_else(|| Malformed::new("it ends early"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        self.take(1).map(|taken| taken[0])
    }

    /// Reads a single number.
    ///
    /// # Errors
    /// If the payload ends within the number, or the number has more than 64 bits.
    pub fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed::new("a number has more than 64 bits"))
    }

    /// Reads a single number, which must not exceed `limit`. `what` names the counted items in the error
    /// message.
    ///
    /// # Errors
    /// As [`PayloadReader::varint`], and if the number exceeds `limit`.
    pub fn count(&mut self, what: &str, limit: usize) -> Result<usize, Malformed> {
        let found = self.varint()?;
        usize::try_from(found)
            .ok()
            .filter(|&count| count <= limit)
            .ok_or_else(|| Malformed::new(format!("it has {found} {what}, more than {limit}")))
    }

    /// Reads a table of `N` columns and `rows` rows.
    ///
    /// # Errors
    /// If the payload ends within the table, or a plane cannot be decoded.
    pub fn table<const N: usize>(&mut self, rows: usize) -> Result<Vec<[u64; N]>, Malformed> {
        let mut table = vec![[0; N]; rows];
        for column in 0..N {
            let planes = self.byte()?;
            if planes > 8 {
                return Err(Malformed::new(format!("a column has {planes} planes, more than 8")));
            }
            for shift in (0..planes).map(|index| u32::from(index) * 8) {
                let plane = self.plane(rows)?;
                for (row, byte) in table.iter_mut().zip(plane) {
                    row[column] |= u64::from(byte) << shift;
                }
            }
        }
        Ok(table)
    }

    /// Reads a plane of `length` bytes.
    ///
    /// # Errors
    /// If the plane cannot be decoded, or has another length.
    pub fn plane(&mut self, length: usize) -> Result<Vec<u8>, Malformed> {
        match self.byte()? {
            coding::RAW => Ok(self.take(length)?.to_vec()),
            coding::CONSTANT => Ok(vec![self.byte()?; length]),
            coding::ZSTD => {
                let packed_bytes = self.count("bytes of a plane", self.bytes.len())?;
                let packed = self.take(packed_bytes)?;
                let plane = zstd::bulk::decompress(packed, length)
                    .map_err(|error| Malformed::new(format!("cannot unpack a plane: {error}")))?;
                if plane.len() == length {
                    Ok(plane)
                } else {
                    Err(Malformed::new(format!("a plane has {} bytes, not {length}", plane.len())))
                }
            }
            other => Err(Malformed::new(format!("a plane has the unknown coding {other}"))),
        }
    }
}

/// Encodes a signed number as an unsigned number: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... A number
/// near 0 stays small.
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub(super) fn unzigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_tables_are_read_back_unchanged(
            rows in prop::collection::vec(
                (any::<u64>(), 0_u64..70_000, 0_u64..3), 0..300),
            single in any::<u64>(),
        ) {
            let rows: Vec<_> = rows.into_iter().map(|(a, b, c)| [a, b, 7, c]).collect();
            let mut writer = PayloadWriter::new().unwrap();
            writer.varint(single);
            writer.table(&rows).unwrap();
            let bytes = writer.take();
            let mut reader = PayloadReader::new(&bytes);
            prop_assert_eq!(reader.varint().unwrap(), single);
            prop_assert_eq!(reader.table::<4>(rows.len()).unwrap(), rows);
            reader.end().unwrap();
        }

        #[test]
        fn reading_arbitrary_bytes_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = PayloadReader::new(&bytes);
            let _ = reader.varint();
            let _ = reader.table::<3>(50);
        }

        #[test]
        fn unzigzag_inverts_zigzag(value in any::<i64>()) {
            prop_assert_eq!(unzigzag(zigzag(value)), value);
        }
    }

    #[test]
    fn a_varint_of_more_than_64_bits_is_refused() {
        let mut largest = PayloadReader::new(&[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        assert_eq!(largest.varint(), Ok(u64::MAX));
        let mut too_large = PayloadReader::new(&[255, 255, 255, 255, 255, 255, 255, 255, 255, 2]);
        assert!(too_large.varint().is_err());
    }
}
