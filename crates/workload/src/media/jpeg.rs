//! JPEG files whose strips can be exchanged: a restart mark stands between two strips, so the bytes of a strip depend
//! on no other strip.

use std::sync::Arc;

use inferometer_plan::JPEG_QUALITY;
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

/// A file without one of its strips.
pub(super) struct Around {
    size: (u32, u32),
    before: Arc<[u8]>,
    after: Arc<[u8]>,
}

impl Around {
    /// The file of these pixels (RGB) without the strip from the row `from` to `until`.
    pub(super) fn of(pixels: &[u8], size: (u32, u32), (from, _): (u32, u32)) -> Self {
        let file = whole(pixels, size);
        let strips = strips(&file);
        let (begin, end) = strips[(from / 16) as usize];
        Self { size, before: file[..begin].into(), after: file[end..].into() }
    }

    /// The file with these pixels in the place of the strip.
    pub(super) fn with(&self, strip: &[u8]) -> Vec<Arc<[u8]>> {
        let rows = strip.len() as u32 / 3 / self.size.0;
        let file = whole(strip, (self.size.0, rows));
        let (begin, end) = strips(&file)[0];
        vec![Arc::clone(&self.before), file[begin..end].into(), Arc::clone(&self.after)]
    }
}

/// The whole file of some pixels.
pub(super) fn whole(pixels: &[u8], (width, height): (u32, u32)) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, JPEG_QUALITY);
    encoder.set_sampling_factor(SamplingFactor::R_4_2_0);
    encoder.set_restart_interval(width.div_ceil(16) as u16);
    encoder
        .encode(pixels, width as u16, height as u16, ColorType::Rgb)
        .expect("invariant: the number of pixels is that of the size, and memory can be written");
    file
}

/// The beginning and the end of the bytes of each strip, without the mark after it.
fn strips(file: &[u8]) -> Vec<(usize, usize)> {
    const SCAN: u8 = 0xda;
    const RESTARTS: std::ops::RangeInclusive<u8> = 0xd0..=0xd7;
    // The segments before the scan, each with its length, follow the two bytes of the first mark.
    let mut at = 2;
    loop {
        let is_scan = file[at + 1] == SCAN;
        at += 2 + usize::from(u16::from_be_bytes([file[at + 2], file[at + 3]]));
        if is_scan {
            break;
        }
    }
    let (mut begin, mut strips) = (at, Vec::new());
    while at + 1 < file.len() {
        // Within the scan, 0xff is followed by 0 if it is no mark.
        if file[at] == 0xff && file[at + 1] != 0 {
            strips.push((begin, at));
            begin = at + 2;
            if !RESTARTS.contains(&file[at + 1]) {
                break;
            }
        }
        at += 1;
    }
    strips
}
