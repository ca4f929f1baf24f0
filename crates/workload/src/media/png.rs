//! PNG files whose strips can be exchanged: each strip is compressed on its own, and stands in its own chunk.

use std::sync::Arc;

use flate2::{Compress, Compression, FlushCompress};

/// A file without one of its strips.
pub(super) struct Around {
    width: usize,
    before: Arc<[u8]>,
    after: Arc<[u8]>,
    sums: [Sum; 2],
}

/// The Adler checksum of some bytes, and their number: RFC 1950.
#[derive(Clone, Copy)]
struct Sum {
    a: u64,
    b: u64,
    bytes: u64,
}

impl Around {
    /// The file of these pixels (RGB) without the strip from the row `from` to `until`.
    pub(super) fn of(
        pixels: &[u8],
        (width, height): (u32, u32),
        (from, until): (u32, u32),
    ) -> Self {
        let mut before = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
        // Eight bits per channel, RGB, without interlacing.
        header.extend([8, 2, 0, 0, 0]);
        chunk(&mut before, *b"IHDR", &header);
        let width = width as usize;
        let at = |row: u32| row as usize * width * 3;
        let [above, below] = [&pixels[..at(from)], &pixels[at(until)..]];
        let [above, below] = [above, below].map(|pixels| filtered(pixels, width));
        // The two bytes announce a stream of the fastest level.
        chunk(&mut before, *b"IDAT", &[b"\x78\x01", &*compressed(&above)].concat());
        let mut after = Vec::new();
        chunk(&mut after, *b"IDAT", &compressed(&below));
        let sums = [Sum::of(&above), Sum::of(&below)];
        Self { width, before: before.into(), after: after.into(), sums }
    }

    /// The file with these pixels in the place of the strip.
    pub(super) fn with(&self, strip: &[u8]) -> Vec<Arc<[u8]>> {
        let strip = filtered(strip, self.width);
        let (mut own, mut end) = (Vec::new(), Vec::new());
        chunk(&mut own, *b"IDAT", &compressed(&strip));
        let [above, below] = self.sums;
        let sum = above.then(Sum::of(&strip)).then(below);
        let sum = (sum.b << 16 | sum.a) as u32;
        // An empty last block, and the checksum.
        chunk(&mut end, *b"IDAT", &[&[3, 0], &sum.to_be_bytes()[..]].concat());
        chunk(&mut end, *b"IEND", &[]);
        vec![Arc::clone(&self.before), own.into(), Arc::clone(&self.after), end.into()]
    }
}

/// The rows with the filter `Sub` (1): differences to the pixels on the left.
fn filtered(pixels: &[u8], width: usize) -> Vec<u8> {
    let mut rows = Vec::with_capacity(pixels.len() + pixels.len() / (width * 3));
    for row in pixels.chunks_exact(width * 3) {
        rows.push(1);
        rows.extend_from_slice(&row[..3]);
        rows.extend(row[3..].iter().zip(row).map(|(byte, left)| byte.wrapping_sub(*left)));
    }
    rows
}

/// Blocks that depend on no others, and end at the boundary of a byte.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut compress = Compress::new(Compression::fast(), false);
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 8 + 64);
    loop {
        let from = compress.total_in() as usize;
        compress
            .compress_vec(&bytes[from..], &mut out, FlushCompress::Full)
            .expect("invariant: compressing has no wrong input");
        if compress.total_in() as usize == bytes.len() && out.len() < out.capacity() {
            return out;
        }
        out.reserve(bytes.len() / 2 + 64);
    }
}

fn chunk(file: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    let from = file.len();
    file.extend(kind);
    file.extend_from_slice(data);
    let sum = crc32fast::hash(&file[from..]);
    file.extend(sum.to_be_bytes());
}

/// The modulus of the checksum.
const BASE: u64 = 65_521;

impl Sum {
    fn of(bytes: &[u8]) -> Self {
        let (mut a, mut b) = (1, 0);
        // So few sums fit into 64 bits without the modulus.
        for part in bytes.chunks(1 << 20) {
            for byte in part {
                a += u64::from(*byte);
                b += a;
            }
            a %= BASE;
            b %= BASE;
        }
        Self { a, b, bytes: bytes.len() as u64 }
    }

    /// The checksum of these bytes, followed by others.
    fn then(self, next: Self) -> Self {
        let a = (self.a + next.a + BASE - 1) % BASE;
        let of_first = (next.bytes % BASE) * ((self.a + BASE - 1) % BASE) % BASE;
        Self { a, b: (self.b + next.b + of_first) % BASE, bytes: self.bytes + next.bytes }
    }
}
