//! Errors of the conversion of a plot to PNG. A missing figure is not an error: tables show `-`, and
//! charts show a gap.

use thiserror::Error;

/// Why a plot could not be converted to PNG.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum ReportError {
    /// The text is not an SVG that the renderer understands.
    #[error("the plot is not valid SVG: {why}; pass the text that plot::file returned")]
    Svg { why: String },
    /// The scale is not between 0.1 and 8, or the image would be too large.
    #[error(
        "the plot cannot be {width} x {height} pixels (scale {scale}); \
         use a scale between 0.1 and 8; a very large plot needs a smaller scale"
    )]
    Size { scale: f32, width: u32, height: u32 },
    /// The pixels could not be encoded.
    #[error("the plot could not be encoded as PNG: {why}")]
    Png { why: String },
}
