//! Draws charts: as SVG files, as parts of pages, and as PNG. All three use the same drawing code.
//!
//! [`file()`] and [`figure`] are pure functions of a [`crate::chart::Chart`]. [`png`] converts an SVG
//! file to pixels with the bundled fonts. System fonts are not used.

mod axes;
mod data;
mod figure;
mod file;
mod files;
mod font;
mod ink;
mod labels;
mod layout;
mod legend;
mod lettering;
mod line_ends;
mod look;
mod png;
mod svg;
mod theme;

pub use figure::figure;
pub use file::file;
pub use files::{Form, PlotFiles};
pub use png::{png, texts};
pub use theme::Theme;
