//! The plot files of a report: their form, their colours and their names.

use std::path::Path;

use super::{Theme, file, png::Pngs};
use crate::{ReportError, chart::Chart};

/// Pixels of a PNG file for each unit of the SVG drawing.
const PNG_SCALE: f32 = 2.0;

/// The form of plot files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Pixels.
    #[default]
    Png,
    /// Lines and text, which can be scaled.
    Svg,
    /// No plot files; a page still contains its charts.
    None,
}

inferometer_model::names!(Form { Png => "png", Svg => "svg", None => "none" });

/// The plot files of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlotFiles {
    /// Their form.
    pub form: Form,
    /// Their colours.
    pub theme: Theme,
}

impl PlotFiles {
    /// The charts that have a file.
    pub fn charts(self, charts: &[Chart]) -> &[Chart] {
        if self.form == Form::None { &[] } else { charts }
    }

    /// The name and the content of the file of each chart; an error if the chart cannot be converted to PNG.
    pub fn drawn(
        self,
        charts: &[Chart],
    ) -> impl Iterator<Item = Result<(String, Vec<u8>), ReportError>> {
        let mut pngs = Pngs::default();
        self.charts(charts).iter().map(move |chart| {
            let bytes = match self.form {
                Form::Png => {
                    pngs.png(&file::clear(chart, self.theme), PNG_SCALE, self.theme.paper())?
                }
                Form::Svg | Form::None => file(chart, self.theme).into_bytes(),
            };
            Ok((format!("{}.{}", chart.id, self.form.name()), bytes))
        })
    }

    /// The place of the files in `folder`, as the end of a line that lists files; empty if there are none.
    pub fn place(self, folder: &Path) -> String {
        match self.form {
            Form::None => String::new(),
            form => format!("; plots: {}/*.{}", folder.display(), form.name()),
        }
    }
}
