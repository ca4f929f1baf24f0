//! Tests of the texts in drawn charts: no text is cut at the border, no two texts overlap, and nothing is drawn on the
//! border.

use inferometer_analysis::summary::Summary;
use inferometer_report::chart::Chart;
use inferometer_report::charts;
use inferometer_report::plot::{self, Theme};
use resvg::tiny_skia::Pixmap;
use resvg::usvg::{Options, Tree};

use crate::ab_charts::compared;
use crate::charts::loads;
use crate::load_charts::{rates, traces_of};
use crate::search_charts::{answer, sweep_answer};
use crate::support::records::traces;
use crate::support::{CHATGLM3, MISTRAL, empty, full, published};

/// The overlap, in pixels, that is accepted. The rectangle of a text has the height of its line, so the
/// rectangles of neighbours may overlap although their glyphs do not.
const TOUCH: f32 = 2.0;

/// The left, upper, right and lower end of a text.
type Area = [f32; 4];

fn overlap(a: &Area, b: &Area) -> bool {
    (0..2).all(|side| a[side] + TOUCH < b[side + 2] && b[side] + TOUCH < a[side + 2])
}

/// The problems with the texts and the border of a chart, one message each.
fn mistakes(chart: &Chart) -> Vec<String> {
    let svg = plot::file(chart, Theme::Light);
    let all = plot::texts(&svg).expect("an SVG");
    assert!(!all.is_empty(), "{}: no text was found", chart.id);
    let size = Tree::from_str(&svg, &Options::default()).expect("an SVG").size();
    let (width, height) = (size.width(), size.height());
    let is_cut = |[left, top, right, bottom]: &Area| {
        *left < 0.0 || *top < 0.0 || *right > width || *bottom > height
    };
    let cut = all.iter().filter(|(_, it)| is_cut(it));
    let mut wrong: Vec<String> =
        cut.map(|(text, it)| format!("{}: `{text}` is cut: {it:?}", chart.id)).collect();
    for (at, (text, here)) in all.iter().enumerate() {
        let upon = all[at + 1..].iter().filter(|(_, there)| overlap(here, there));
        wrong.extend(upon.map(|(other, there)| {
            format!("{}: `{text}` overlaps `{other}`: {here:?}, {there:?}", chart.id)
        }));
    }
    // Each pixel of the border must have the colour of the background.
    let png = plot::png(&svg, 1.0).expect("a PNG");
    let pixels = Pixmap::decode_png(&png).expect("pixels");
    let (right, bottom) = (pixels.width() - 1, pixels.height() - 1);
    let paper = pixels.pixel(0, 0);
    let rows = (0..=right).flat_map(|x| [(x, 0), (x, bottom)]);
    let columns = (0..=bottom).flat_map(|y| [(0, y), (right, y)]);
    let is_drawn = |&(x, y): &(u32, u32)| pixels.pixel(x, y) != paper;
    if let Some(at) = rows.chain(columns).find(is_drawn) {
        wrong.push(format!("{}: something is drawn on the border, at {at:?}", chart.id));
    }
    wrong
}

#[test]
fn no_text_of_a_chart_is_cut_off_or_overlaps_another_text() {
    let mut searched =
        empty("a-model-with-a-name-of-some-length", "h100-sxm5-80gb", "vllm", "0.32.0");
    searched.searches = (1..=3).map(|cell| answer(cell * 32)).collect();
    let mut swept = empty("m", "h100-sxm5-80gb", "vllm", "0.32.0");
    swept.sweeps = vec![sweep_answer()];
    let several = [published(CHATGLM3), published(MISTRAL)].concat();
    let runs: [&[Summary]; 5] = [&[full()], &[loads()], &[searched], &[swept], &several];
    let mut wrong = Vec::new();
    for summaries in runs {
        let drawn = match summaries {
            [one] => charts::of_run(one, &traces(one, 64, 8)),
            several => charts::of_several(several),
        };
        assert!(!drawn.is_empty());
        wrong.extend(drawn.iter().flat_map(mistakes));
    }
    let many = rates(&[0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]);
    let traces = traces_of(&many, &[5, 300, 600, 900, 900, 900, 900, 900, 900, 900]);
    let drawn = [charts::of_run(&many, &traces), charts::of_ab(&compared())].concat();
    wrong.extend(drawn.iter().flat_map(mistakes));
    assert!(wrong.is_empty(), "{} problems:\n{}", wrong.len(), wrong.join("\n"));
}
