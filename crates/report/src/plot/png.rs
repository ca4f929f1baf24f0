//! Converts an SVG to pixels with the bundled fonts, so that a plot looks the same on every machine. No
//! font and no file of the machine is loaded.

use std::sync::{Arc, OnceLock};

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError};
use resvg::tiny_skia::{Color, Pixmap, PremultipliedColorU8, Transform};
use resvg::usvg::{self, fontdb};

use crate::error::ReportError;

/// The fonts of charts; `fonts/README.md` lists where they come from and how they were cut.
const FONTS: [&[u8]; 3] = [
    include_bytes!("../../fonts/NotoSans-Regular-subset.ttf"),
    include_bytes!("../../fonts/NotoSans-Bold-subset.ttf"),
    include_bytes!("../../fonts/DroidSansFallback-subset.ttf"),
];

/// Scales at which an image can be read and fits into memory.
const SCALES: std::ops::RangeInclusive<f32> = 0.1..=8.0;

/// A PNG of a plot. At scale 1 an SVG pixel is a pixel; 2 is for high-resolution screens and print.
///
/// # Errors
/// [`ReportError::Svg`] if the text is not an SVG, [`ReportError::Size`] if the scale is not between 0.1
/// and 8, [`ReportError::Png`] if the pixels cannot be encoded.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, ReportError> {
    let options = usvg::Options {
        font_family: "Noto Sans".to_owned(),
        fontdb: Arc::clone(fonts()),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options)
        .map_err(|error| ReportError::Svg { why: error.to_string() })?;
    let width = (tree.size().width() * scale).ceil() as u32;
    let height = (tree.size().height() * scale).ceil() as u32;
    let unusable = || ReportError::Size { scale, width, height };
    if !SCALES.contains(&scale) {
        return Err(unusable());
    }
    let mut pixmap = Pixmap::new(width, height).ok_or_else(unusable)?;
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    encoded(&pixmap).map_err(|error| ReportError::Png { why: error.to_string() })
}

/// The pixels as a PNG: without transparency, which no chart has, and compressed fast, because a run draws a dozen
/// charts. The files are about half as large again as with the default compression.
fn encoded(pixmap: &Pixmap) -> Result<Vec<u8>, EncodingError> {
    let colours = |pixel: &PremultipliedColorU8| [pixel.red(), pixel.green(), pixel.blue()];
    let pixels: Vec<u8> = pixmap.pixels().iter().flat_map(colours).collect();
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, pixmap.width(), pixmap.height());
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Fast);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(file)
}

/// The bundled fonts, parsed once.
fn fonts() -> &'static Arc<fontdb::Database> {
    static DATABASE: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    DATABASE.get_or_init(|| {
        let mut database = fontdb::Database::new();
        for font in FONTS {
            database.load_font_data(font.to_vec());
        }
        database.set_sans_serif_family("Noto Sans");
        Arc::new(database)
    })
}
