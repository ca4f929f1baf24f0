//! A figure of the grid as a chart that a reader can go into. The same points, intervals and
//! names; never another choice of what is shown.

use super::axis::Axis;
use super::figure::{Figure, Mark};
use super::scale::Scale;
use super::style::Palette;
use crate::chart::{Across, Chart, Panel, Series, Shape, Spacing};

/// Height of a single panel, and of one of several.
const HEIGHTS: (f64, f64) = (300.0, 150.0);

impl Figure {
    /// The chart under this name; nothing where there is one position only.
    pub(super) fn to_chart(&self, name: &str) -> Option<Chart> {
        let positions = self.positions();
        if positions.len() < 2 {
            return None;
        }
        let scale = Scale::of_values(&self.values());
        let (spacing, ends) = match scale.is_log() {
            true => (Spacing::Log, None),
            false => (Spacing::Linear, Some(scale.ends())),
        };
        let single = self.panels.len() == 1;
        let panels = self.panels.iter().map(|panel| {
            let title = match panel.title.as_str() {
                "" => self.y.title.clone(),
                of => format!("{of}: {}", self.y.title),
            };
            let count = panel.series.len();
            let series = panel.series.iter().enumerate().map(|(look, series)| {
                let mut out = Series {
                    name: self.named(&series.name),
                    look,
                    shade: (self.palette == Palette::Ordered && count > 1)
                        .then(|| look as f64 / (count - 1) as f64),
                    shape: Shape::Marked,
                    ..Series::default()
                };
                for point in &series.points {
                    let [low, high] = point.whisker().unwrap_or([f64::NAN; 2]);
                    out.x.push(point.x);
                    out.y.push(point.value().unwrap_or(f64::NAN));
                    out.low.push(low);
                    out.high.push(high);
                    out.failed.push(point.mark == Mark::Partial);
                    out.texts.push(match point.mark {
                        Mark::Whole => String::new(),
                        Mark::Partial => "some requests failed".to_owned(),
                    });
                }
                out
            });
            Panel {
                axis: Axis::new(&title, &self.y.unit),
                spacing,
                ends,
                height: if single { HEIGHTS.0 } else { HEIGHTS.1 },
                series: series.collect(),
            }
        });
        let mut notes = vec![self.subtitle.clone(), self.definition.clone()];
        notes.push(self.notes().join(" "));
        notes.extend(scale.remark().map(|remark| format!("Vertical axis: {remark}.")));
        notes.retain(|note| !note.is_empty());
        Some(Chart {
            id: name.to_owned(),
            title: self.title.clone(),
            notes,
            notice: self.notice.clone(),
            x: Across { axis: self.x.clone(), spacing: Spacing::Log, named: positions },
            panels: panels.collect(),
            bands: Vec::new(),
        })
    }

    /// The name of a series with what it names, where that stands in a heading of its own.
    fn named(&self, name: &str) -> String {
        match &self.key {
            super::figure::Key::Direct(of) => format!("{of} {name}"),
            _ => name.to_owned(),
        }
    }
}
