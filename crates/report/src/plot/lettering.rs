//! Draws the texts of a plot with the bundled fonts, so that a plot looks the same on every machine. No font or other
//! file of the machine is loaded.
//!
//! A text is drawn glyph by glyph, each next to the one before, without kerning: plots have many short texts in few
//! sizes, and a library that shapes text takes ten times as long.

use ab_glyph::{Font as _, FontRef, GlyphId, PxScale, Rect, point};
use resvg::tiny_skia::Pixmap;
use resvg::usvg::roxmltree::{Document, Node};

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

/// A glyph, and its distance from the start of the text in pixels.
struct Placed<'a> {
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
        let own = if number("font-weight", 400.0) >= BOLD_FROM { &bold } else { &regular };
        let size = scale * number("font-size", 16.0);
        let text = node.text().unwrap_or_default();
        let (glyphs, width) = placed(text, [own, &fallback], size);
        let (left, top) = node.ancestors().map(translation).fold((0.0, 0.0), add);
        let (x, y) = (scale * (left + number("x", 0.0)), scale * (top + number("y", 0.0)));
        let start = match node.attribute("text-anchor") {
            Some("middle") => x - width / 2.0,
            Some("end") => x - width,
            _ => x,
        };
        let rim = node.attribute("stroke").and_then(colour);
        let rim = rim.map(|rim| (rim, scale * number("stroke-width", 1.0) / 2.0));
        let colour = node.attribute("fill").and_then(colour).unwrap_or_default();
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

/// Red, green and blue of `#rrggbb`.
fn colour(css: &str) -> Option<[u8; 3]> {
    let [_, red, green, blue] = u32::from_str_radix(css.strip_prefix('#')?, 16).ok()?.to_be_bytes();
    Some([red, green, blue])
}

/// The glyphs of a text, each from the first font that has it, and the width of the text.
fn placed<'a>(text: &str, fonts: [&FontRef<'a>; 2], size: f32) -> (Vec<Placed<'a>>, f32) {
    let mut x = 0.0;
    let mut glyphs = Vec::with_capacity(text.len());
    for character in text.chars() {
        let has = |font: &&&FontRef<'a>| font.glyph_id(character).0 != 0;
        let Some(font) = fonts.iter().find(has) else {
            x += UNKNOWN * size;
            continue;
        };
        let id = font.glyph_id(character);
        glyphs.push(Placed { font: (*font).clone(), id, x });
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
    pub(super) fn draw(&self, pixmap: &mut Pixmap) {
        if let Some((colour, width)) = self.rim {
            for copy in 0..RIM_COPIES {
                let angle = copy as f32 / RIM_COPIES as f32 * std::f32::consts::TAU;
                self.stamp(pixmap, (width * angle.cos(), width * angle.sin()), colour);
            }
        }
        self.stamp(pixmap, (0.0, 0.0), self.colour);
    }

    /// Draws the glyphs, moved by some pixels.
    fn stamp(&self, pixmap: &mut Pixmap, moved: (f32, f32), colour: [u8; 3]) {
        let (x, y) = add(self.at, moved);
        let (width, height) = (pixmap.width(), pixmap.height());
        for Placed { font, id, x: from_start } in &self.glyphs {
            let height_of_em = self.size * font.height_unscaled() / per_em(font);
            let at = point(x + from_start, y);
            let glyph = id.with_scale_and_position(PxScale::from(height_of_em), at);
            let Some(outline) = font.outline_glyph(glyph) else { continue };
            let corner = outline.px_bounds().min;
            outline.draw(|right, down, covered| {
                let (x, y) =
                    (corner.x as i64 + i64::from(right), corner.y as i64 + i64::from(down));
                let is_inside =
                    (0..i64::from(width)).contains(&x) && (0..i64::from(height)).contains(&y);
                let covered = ((covered * SHADES as f32 + 0.5) as i32).min(SHADES);
                if is_inside && covered > 0 {
                    let pixel = (y as usize * width as usize + x as usize) * 4;
                    let channels = &mut pixmap.data_mut()[pixel..pixel + 3];
                    for (channel, ink) in channels.iter_mut().zip(colour) {
                        let (under, ink) = (i32::from(*channel), i32::from(ink));
                        *channel = (under + (ink - under) * covered / SHADES) as u8;
                    }
                }
            });
        }
    }
}
