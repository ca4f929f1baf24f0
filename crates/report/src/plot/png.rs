//! Converts an SVG to pixels.

use std::{collections::HashMap, io::Write as _};

use ab_glyph::Rect;
use flate2::{Compression, write::ZlibEncoder};
use png::{BitDepth, ColorType, Encoder, EncodingError, chunk};
use resvg::tiny_skia::{Color, IntSize, Pixmap, PremultipliedColorU8, Transform};
use resvg::usvg::{self, roxmltree};

use super::lettering::{DrawnGlyphs, Lettering, letterings};
use crate::ReportError;

/// The first byte of a row in a PNG. The bytes of a row are indices or colours, or the differences to the row above if
/// both rows are equal.
const NO_FILTER: u8 = 0;
const EQUAL: u8 = 2;
/// The number of pixels that are compared at once with those above.
const PART: usize = 64;
/// The number of entries of the cache of recently seen colours.
const RECENT: usize = 64;
/// The largest number of compressed bytes in one chunk of a PNG; the format allows 2^31 - 1.
const LARGEST_CHUNK: usize = 1 << 30;

/// The accepted scales: smaller images cannot be read, and larger images may not fit into memory.
const SCALES: std::ops::RangeInclusive<f32> = 0.1..=8.0;

/// Converts a plot to PNG. Where the plot has no background, the image is black. At scale 1, one SVG pixel becomes one
/// pixel of the image. Scale 2 is for high-resolution screens and for print.
///
/// # Errors
/// [`ReportError::Svg`] if the text is not an SVG. [`ReportError::Size`] if the scale is not between 0.1
/// and 8, or the image would be too large. [`ReportError::Png`] if the pixels cannot be encoded.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, ReportError> {
    Pngs::default().png(svg, scale, [0; 3])
}

/// Converts plots to PNG one after the other, with the memory and the glyphs of the plots before.
#[derive(Default)]
pub(super) struct Pngs {
    pixels: Vec<u8>,
    glyphs: DrawnGlyphs,
}

impl Pngs {
    /// As [`png()`], with a background of this colour.
    pub(super) fn png(
        &mut self,
        svg: &str,
        scale: f32,
        paper: [u8; 3],
    ) -> Result<Vec<u8>, ReportError> {
        let document = document(svg)?;
        let tree =
            usvg::Tree::from_xmltree(&document, &usvg::Options::default()).map_err(invalid)?;
        let width = (tree.size().width() * scale).ceil() as u32;
        let height = (tree.size().height() * scale).ceil() as u32;
        let unusable = || ReportError::Size { scale, width, height };
        if !SCALES.contains(&scale) {
            return Err(unusable());
        }
        let mut pixmap = self.pixmap(width, height).ok_or_else(unusable)?;
        let [red, green, blue] = paper;
        pixmap.fill(Color::from_rgba8(red, green, blue, u8::MAX));
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
        let texts = letterings(&document, scale);
        texts.iter().for_each(|text| text.draw(&mut pixmap, &mut self.glyphs));
        let file = encoded(&pixmap).map_err(|error| ReportError::Png { why: error.to_string() });
        self.pixels = pixmap.take();
        file
    }

    /// An image with any pixels.
    fn pixmap(&mut self, width: u32, height: u32) -> Option<Pixmap> {
        let bytes = 4 * width as usize * height as usize;
        if self.pixels.len() < bytes {
            return Pixmap::new(width, height);
        }
        self.pixels.truncate(bytes);
        Pixmap::from_vec(std::mem::take(&mut self.pixels), IntSize::from_wh(width, height)?)
    }
}

/// The texts of a plot, each with the left, upper, right and lower end of its line in pixels of the SVG.
///
/// # Errors
/// [`ReportError::Svg`] if the text is not an SVG.
pub fn texts(svg: &str) -> Result<Vec<(String, [f32; 4])>, ReportError> {
    let text = |it: &Lettering<'_>| {
        let Rect { min, max } = it.area();
        (it.text.to_owned(), [min.x, min.y, max.x, max.y])
    };
    Ok(letterings(&document(svg)?, 1.0).iter().map(text).collect())
}

fn document(svg: &str) -> Result<roxmltree::Document<'_>, ReportError> {
    roxmltree::Document::parse(svg).map_err(invalid)
}

fn invalid(error: impl ToString) -> ReportError {
    ReportError::Svg { why: error.to_string() }
}

/// The pixels as a PNG without transparency, because no chart is transparent.
///
/// A chart has about two hundred colours, so each pixel is an index into a palette. Compared with RGB pixels,
/// the file is a third as large, and encoding takes a third of the time. Images with more than 256 colours
/// have RGB pixels.
fn encoded(pixmap: &Pixmap) -> Result<Vec<u8>, EncodingError> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, pixmap.width(), pixmap.height());
    encoder.set_depth(BitDepth::Eight);
    let rows = match indexed(pixmap) {
        Some((palette, rows)) => {
            encoder.set_color(ColorType::Indexed);
            encoder.set_palette(palette);
            rows
        }
        None => {
            encoder.set_color(ColorType::Rgb);
            coloured(pixmap)
        }
    };
    // The encoder compresses one row at a time, and clears a buffer of 32 KiB for each row. Clearing takes
    // longer than the compression, so this function compresses all rows in one call.
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(&rows)?;
    let compressed = zlib.finish()?;
    let mut writer = encoder.write_header()?;
    for part in compressed.chunks(LARGEST_CHUNK) {
        writer.write_chunk(chunk::IDAT, part)?;
    }
    writer.finish()?;
    Ok(file)
}

fn colour(pixel: &PremultipliedColorU8) -> [u8; 3] {
    [pixel.red(), pixel.green(), pixel.blue()]
}

/// The palette of an image (three bytes per colour), and its rows: `NO_FILTER`, then the index of the colour of each
/// pixel; or `EQUAL`, then zeros. `None` if there are more than 256 colours.
fn indexed(pixmap: &Pixmap) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut known = HashMap::new();
    let mut palette = Vec::new();
    let mut rows = Vec::with_capacity(pixmap.pixels().len() + pixmap.height() as usize);
    // Text and lines alternate between a few colours. For a recently seen colour, this cache saves the search
    // in the map.
    let mut recent = [None; RECENT];
    let width = pixmap.width() as usize;
    // The bytes of the row above, and where its indices begin.
    let mut above: Option<(&[u8], usize)> = None;
    let all = pixmap.pixels().chunks_exact(width).zip(pixmap.data().chunks_exact(4 * width));
    for (row, bytes) in all {
        // Many rows of a chart are equal to the row above, and most parts of the others. Comparing bytes detects them.
        if above.is_some_and(|(above, _)| above == bytes) {
            rows.push(EQUAL);
            rows.resize(rows.len() + width, 0);
            continue;
        }
        rows.push(NO_FILTER);
        let begin = rows.len();
        for (part, from) in row.chunks(PART).zip((0..).step_by(PART)) {
            let here = 4 * from..4 * (from + part.len());
            if let Some((above, indices)) = above
                && above[here.clone()] == bytes[here]
            {
                rows.extend_from_within(indices + from..indices + from + part.len());
                continue;
            }
            let (mut last, mut last_index) = (None, 0);
            let mut indices = [0; PART];
            for (pixel, index) in part.iter().zip(&mut indices) {
                if last != Some(pixel) {
                    let place = &mut recent[usize::from(pixel.green()) % RECENT];
                    let index = match *place {
                        Some((same, index)) if same == *pixel => index,
                        _ => *known.entry(colour(pixel)).or_insert_with_key(|colour| {
                            palette.extend_from_slice(colour);
                            palette.len() / 3 - 1
                        }),
                    };
                    *place = Some((*pixel, index));
                    (last, last_index) = (Some(pixel), u8::try_from(index).ok()?);
                }
                *index = last_index;
            }
            rows.extend_from_slice(&indices[..part.len()]);
        }
        above = Some((bytes, begin));
    }
    Some((palette, rows))
}

/// The rows of an image: `NO_FILTER`, then red, green and blue of each pixel.
fn coloured(pixmap: &Pixmap) -> Vec<u8> {
    let width = pixmap.width() as usize;
    let mut rows = vec![NO_FILTER; (1 + 3 * width) * pixmap.height() as usize];
    let both = rows.chunks_exact_mut(1 + 3 * width).zip(pixmap.pixels().chunks_exact(width));
    for (row, pixels) in both {
        for (bytes, pixel) in row[1..].chunks_exact_mut(3).zip(pixels) {
            bytes.copy_from_slice(&colour(pixel));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of four rows with one pixel for each of `colours` colours. The first two rows are equal; the last two
    /// differ in their last pixel.
    fn image(colours: u32) -> Pixmap {
        let mut pixmap = Pixmap::new(colours, 4).unwrap();
        for (pixel, place) in pixmap.pixels_mut().iter_mut().zip(0_u32..) {
            let column = if place + 1 == 4 * colours { 0 } else { place };
            let [low, high, ..] = ((column + place / colours / 2) % colours).to_le_bytes();
            *pixel = PremultipliedColorU8::from_rgba(low, high, 7, u8::MAX).unwrap();
        }
        pixmap
    }

    #[test]
    fn a_png_keeps_all_colours_with_a_palette_or_without_one_above_256_colours() {
        for (colours, has_palette) in [(1, true), (256, true), (257, false)] {
            let image = image(colours);
            assert_eq!(indexed(&image).is_some(), has_palette, "{colours}");
            assert_eq!(Pixmap::decode_png(&encoded(&image).unwrap()).unwrap(), image, "{colours}");
        }
    }
}
