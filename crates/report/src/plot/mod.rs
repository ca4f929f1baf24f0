//! Charts drawn: as SVG files, as parts of pages, and as PNG. One drawing for all of them.
//!
//! [`file()`] and [`figure`] are pure functions of a [`crate::chart::Chart`]; [`png`] makes pixels of
//! an SVG with the fonts that the program carries. No system font is loaded.

mod axes;
mod data;
mod figure;
mod file;
mod font;
mod ink;
mod layout;
mod legend;
mod line_ends;
mod look;
mod png;
mod svg;
mod theme;

pub use figure::figure;
pub use file::file;
pub use png::png;
pub use theme::Theme;
