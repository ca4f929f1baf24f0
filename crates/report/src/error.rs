//! Errors of the conversion of a plot to PNG. A missing figure is not an error: tables show `-`, and
//! charts show a gap.

use thiserror::Error;

/// Why a plot could not be converted to PNG.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The text is not an SVG that the renderer understands.
    #[error("the plot is not valid SVG: {why}; pass the text that plot::file returned")]
    Svg {
        /// The message of the SVG parser.
        why: String,
    },
    /// The scale is not between 0.1 and 8, or the image would be too large.
    #[error(
        "the plot cannot be {width} x {height} pixels (scale {scale}); \
         use a scale between 0.1 and 8; a very large plot needs a smaller scale"
    )]
    Size {
        /// The requested scale.
        scale: f32,
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The pixels could not be encoded.
    #[error("the plot could not be encoded as PNG: {why}")]
    Png {
        /// The message of the PNG encoder.
        why: String,
    },
}
