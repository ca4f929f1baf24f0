//! Plots of the grid: how input and output length move throughput and latency.
//!
//! A [`Figure`] is a plot as data, its SVG a pure function of it, and [`png`] makes pixels of
//! the SVG with the fonts that the program carries. Nothing here loads a system font.

mod axis;
mod blocks;
mod direct;
mod draw;
mod figure;
mod grid;
mod panel;
mod png;
mod scale;
mod search;
pub(crate) mod style;
pub(crate) mod svg;
pub(crate) mod text;
mod theme;
mod zoomed;

pub use axis::Axis;
pub use figure::{Figure, Key, Mark, Panel, Point, Series};
pub use grid::{Named, figures};
pub use png::png;
pub(crate) use search::SEARCH;
pub use style::Palette;
pub use svg::escape;
pub(crate) use theme::Paint;
pub use theme::Theme;
