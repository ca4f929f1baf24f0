//! Draws the texts of a plot with the bundled fonts, so that a plot looks the same on every machine. No font or other
//! file of the machine is loaded.
//!
//! A text is drawn glyph by glyph, each next to the one before, without kerning: plots have many short texts in few
//! sizes, and a library that shapes text takes ten times as long.

use std::collections::HashMap;

use ab_glyph::{Font as _, FontRef, GlyphId, PxScale, Rect, point};
use resvg::tiny_skia::Pixmap;
use resvg::usvg::roxmltree::{Document, Node};

use super::theme::channels;

/// The fonts of charts. `fonts/README.md` states their sources and how they were reduced to subsets.
const REGULAR: &[u8] = include_bytes!("../../fonts/NotoSans-Regular-subset.ttf");
const BOLD: &[u8] = include_bytes!("../../fonts/NotoSans-Bold-subset.ttf");
const FALLBACK: &[u8] = include_bytes!("../../fonts/DroidSansFallback-subset.ttf");

/// The weights from this one on are bold.
const BOLD_FROM: f32 = 600.0;
/// The width of a character that no font has, as a share of the size.
const UNKNOWN: f32 = 0.6;
/// The number of shades of an edge. With few shades, the colours of a plot fit into a palette.
const SHADES: i32 = 16;
/// The parts of a pixel at which a glyph can begin.
const PARTS: i32 = 4;
/// The number of copies that a rim is made of.
const RIM_COPIES: usize = 16;

/// A text of a plot, with its place in pixels of the image.
pub(super) struct Lettering<'a> {
    /// The text.
    pub text: &'a str,
    size: f32,
    /// The start of the baseline.
    at: (f32, f32),
    glyphs: Vec<Placed<'a>>,
    width: f32,
    colour: [u8; 3],
    /// The colour and the width of an outline outside of the glyphs.
    rim: Option<([u8; 3], f32)>,
}

/// One of the fonts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Face {
    Regular,
    Bold,
    Fallback,
}

/// A glyph, and its distance from the start of the text in pixels.
struct Placed<'a> {
    face: Face,
    font: FontRef<'a>,
    id: GlyphId,
    x: f32,
}

/// The texts of an SVG that [`super::file()`] wrote: elements `text`, moved by the groups around them.
pub(super) fn letterings<'a>(document: &'a Document<'a>, scale: f32) -> Vec<Lettering<'a>> {
    let font = |bytes| FontRef::try_from_slice(bytes).expect("invariant: a bundled font");
    let [regular, bold, fallback] = [REGULAR, BOLD, FALLBACK].map(font);
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    let lettering = |node: Node<'a, 'a>| {
        let number = |name, usual| attribute(node, name, usual);
        let is_bold = number("font-weight", 400.0) >= BOLD_FROM;
        let own = if is_bold { (Face::Bold, &bold) } else { (Face::Regular, &regular) };
        let size = scale * number("font-size", 16.0);
        let text = node.text().unwrap_or_default();
        let (glyphs, width) = placed(text, [own, (Face::Fallback, &fallback)], size);
        let (left, top) = node.ancestors().map(translation).fold((0.0, 0.0), add);
        let (x, y) = (scale * (left + number("x", 0.0)), scale * (top + number("y", 0.0)));
        let start = match node.attribute("text-anchor") {
            Some("middle") => x - width / 2.0,
            Some("end") => x - width,
            _ => x,
        };
        let rim = node.attribute("stroke").and_then(channels);
        let rim = rim.map(|rim| (rim, scale * number("stroke-width", 1.0) / 2.0));
        let colour = node.attribute("fill").and_then(channels).unwrap_or_default();
        Lettering { text, size, at: (start, y), glyphs, width, colour, rim }
    };
    texts.map(lettering).collect()
}

fn attribute(node: Node<'_, '_>, name: &str, usual: f32) -> f32 {
    node.attribute(name).and_then(|value| value.parse().ok()).unwrap_or(usual)
}

fn add(a: (f32, f32), b: (f32, f32)) -> (f32, f32) {
    (a.0 + b.0, a.1 + b.1)
}

/// By how much a group moves its elements: `transform="translate(3,4)"`.
fn translation(node: Node<'_, '_>) -> (f32, f32) {
    let inner = node.attribute("transform").and_then(|it| it.strip_prefix("translate("));
    let both = inner.and_then(|it| it.strip_suffix(')')?.split_once(','));
    let both = both.and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
    both.unwrap_or_default()
}

/// The glyphs of a text, each from the first font that has it, and the width of the text.
fn placed<'a>(text: &str, fonts: [(Face, &FontRef<'a>); 2], size: f32) -> (Vec<Placed<'a>>, f32) {
    let mut x = 0.0;
    let mut glyphs = Vec::with_capacity(text.len());
    for character in text.chars() {
        let has = |(_, font): &&(Face, &FontRef<'a>)| font.glyph_id(character).0 != 0;
        let Some((face, font)) = fonts.iter().find(has) else {
            x += UNKNOWN * size;
            continue;
        };
        let id = font.glyph_id(character);
        glyphs.push(Placed { face: *face, font: (*font).clone(), id, x });
        x += font.h_advance_unscaled(id) / per_em(font) * size;
    }
    (glyphs, x)
}

fn per_em(font: &FontRef<'_>) -> f32 {
    font.units_per_em().expect("invariant: a bundled font states its units")
}

impl Lettering<'_> {
    /// The rectangle of the line of text, in pixels of the image.
    pub(super) fn area(&self) -> Rect {
        let (x, y) = self.at;
        let font = FontRef::try_from_slice(REGULAR).expect("invariant: a bundled font");
        let below = font.descent_unscaled() / per_em(&font) * self.size;
        let above = font.ascent_unscaled() / per_em(&font) * self.size;
        Rect { min: point(x, y - above), max: point(x + self.width, y - below) }
    }

    /// Draws the text onto the image.
    pub(super) fn draw(&self, pixmap: &mut Pixmap, drawn: &mut DrawnGlyphs) {
        if let Some((colour, width)) = self.rim {
            for copy in 0..RIM_COPIES {
                let angle = copy as f32 / RIM_COPIES as f32 * std::f32::consts::TAU;
                self.stamp(pixmap, drawn, (width * angle.cos(), width * angle.sin()), colour);
            }
        }
        self.stamp(pixmap, drawn, (0.0, 0.0), self.colour);
    }

    /// Draws the glyphs, moved by some pixels.
    fn stamp(
        &self,
        pixmap: &mut Pixmap,
        drawn: &mut DrawnGlyphs,
        moved: (f32, f32),
        colour: [u8; 3],
    ) {
        let (x, y) = add(self.at, moved);
        for glyph in &self.glyphs {
            let parts = [x + glyph.x, y].map(|at| (at * PARTS as f32).round() as i32);
            let key = (glyph.face, glyph.id, self.size.to_bits(), parts.map(|at| at % PARTS));
            let shades = drawn.0.entry(key).or_insert_with(|| Shades::of(glyph, self.size, key.3));
            shades.stamp(pixmap, parts.map(|at| at / PARTS), colour);
        }
    }
}

/// The glyphs that were drawn before: by font, glyph, size, and parts of a pixel in both directions.
#[derive(Default)]
pub(super) struct DrawnGlyphs(HashMap<(Face, GlyphId, u32, [i32; 2]), Shades>);

/// How much of each pixel a glyph covers, from 0 to [`SHADES`].
struct Shades {
    /// The first pixel, from the start of the baseline.
    corner: [i32; 2],
    width: usize,
    covered: Vec<u8>,
}

impl Shades {
    fn of(glyph: &Placed<'_>, size: f32, [right, down]: [i32; 2]) -> Self {
        let font = &glyph.font;
        let height_of_em = PxScale::from(size * font.height_unscaled() / per_em(font));
        let at = point(right as f32 / PARTS as f32, down as f32 / PARTS as f32);
        let glyph = glyph.id.with_scale_and_position(height_of_em, at);
        let Some(outline) = font.outline_glyph(glyph) else {
            return Self { corner: [0, 0], width: 1, covered: Vec::new() };
        };
        let bounds = outline.px_bounds();
        let (width, height) = (bounds.width() as usize, bounds.height() as usize);
        let mut covered = vec![0; width * height];
        outline.draw(|x, y, share| {
            let shades = (share * SHADES as f32 + 0.5) as u8;
            covered[y as usize * width + x as usize] = shades.min(SHADES as u8);
        });
        Self { corner: [bounds.min.x as i32, bounds.min.y as i32], width, covered }
    }

    /// Draws the glyph with its start at a pixel. What lies outside of the image is left out.
    fn stamp(&self, pixmap: &mut Pixmap, at: [i32; 2], colour: [u8; 3]) {
        let (width, height) = (pixmap.width() as i32, pixmap.height() as i32);
        let [left, top] = [0, 1].map(|axis| at[axis] + self.corner[axis]);
        let column = |x: i32| (x - left).clamp(0, self.width as i32) as usize;
        let columns = column(0)..column(width);
        if columns.is_empty() {
            return;
        }
        for (row, y) in self.covered.chunks(self.width).zip(top..) {
            if !(0..height).contains(&y) {
                continue;
            }
            let row = &row[columns.clone()];
            let first = 4 * (y * width + left.max(0)) as usize;
            let pixels = pixmap.data_mut()[first..][..4 * row.len()].chunks_exact_mut(4);
            for (pixel, covered) in pixels.zip(row).filter(|(_, covered)| **covered > 0) {
                for (channel, ink) in pixel[..3].iter_mut().zip(colour) {
                    let (under, ink) = (i32::from(*channel), i32::from(ink));
                    *channel = (under + (ink - under) * i32::from(*covered) / SHADES) as u8;
                }
            }
        }
    }
}
