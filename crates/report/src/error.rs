//! The errors of drawing. A missing figure is not an error: it is shown as missing.

use thiserror::Error;

/// Why a plot could not be made.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The text is not an SVG that the renderer understands.
    #[error("the plot is not valid SVG: {why}; pass the text that plot::file returned")]
    Svg {
        /// The parser's own message.
        why: String,
    },
    /// No image is possible at this scale.
    #[error(
        "the plot cannot be {width} x {height} pixels (scale {scale}); \
         use a scale between 0.1 and 8"
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
        /// The encoder's own message.
        why: String,
    },
}
