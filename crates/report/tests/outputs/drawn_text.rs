//! Tests of the texts in drawn charts: no text is cut at the border, no two texts overlap, and nothing is drawn on the
//! border.

use std::path::Path;
use std::sync::Arc;

use inferometer_analysis::summary::Summary;
use inferometer_report::chart::Chart;
use inferometer_report::charts;
use inferometer_report::plot::{self, Theme};
use resvg::tiny_skia::{Pixmap, Rect};
use resvg::usvg::{self, Node, fontdb};

use crate::ab_charts::compared;
use crate::charts::loads;
use crate::load_charts::{rates, traces_of};
use crate::search_charts::{answer, sweep_answer};
use crate::support::records::traces;
use crate::support::{CHATGLM3, MISTRAL, empty, full, published};

/// The overlap, in pixels, that is accepted. The rectangle of a text has the height of its line, so the
/// rectangles of neighbours may overlap although their glyphs do not.
const TOUCH: f32 = 2.0;

/// The bundled fonts, with which charts are drawn.
fn fonts() -> Arc<fontdb::Database> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fonts");
    let mut fonts = fontdb::Database::new();
    for file in std::fs::read_dir(folder).expect("fonts").flatten() {
        if file.path().extension().is_some_and(|it| it == "ttf") {
            fonts.load_font_data(std::fs::read(file.path()).expect("a font"));
        }
    }
    fonts.set_sans_serif_family("Noto Sans");
    Arc::new(fonts)
}

/// Adds all texts of a group to `found`, each with its rectangle.
fn texts(group: &usvg::Group, found: &mut Vec<(String, Rect)>) {
    for node in group.children() {
        match node {
            Node::Group(group) => texts(group, found),
            Node::Text(text) => {
                let words: Vec<&str> = text.chunks().iter().map(usvg::TextChunk::text).collect();
                found.push((words.concat(), text.abs_bounding_box()));
            }
            Node::Path(_) | Node::Image(_) => {}
        }
    }
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    a.left() + TOUCH < b.right()
        && b.left() + TOUCH < a.right()
        && a.top() + TOUCH < b.bottom()
        && b.top() + TOUCH < a.bottom()
}

/// The problems with the texts and the border of a chart, one message each.
fn mistakes(chart: &Chart, fonts: &Arc<fontdb::Database>) -> Vec<String> {
    let svg = plot::file(chart, Theme::Light);
    let options = usvg::Options {
        font_family: "Noto Sans".to_owned(),
        fontdb: Arc::clone(fonts),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(&svg, &options).expect("an SVG");
    let mut all = Vec::new();
    texts(tree.root(), &mut all);
    assert!(!all.is_empty(), "{}: no text was found", chart.id);
    let (width, height) = (tree.size().width(), tree.size().height());
    let is_cut =
        |it: &Rect| it.left() < 0.0 || it.top() < 0.0 || it.right() > width || it.bottom() > height;
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
    let fonts = fonts();
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
        wrong.extend(drawn.iter().flat_map(|chart| mistakes(chart, &fonts)));
    }
    let many = rates(&[0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]);
    let traces = traces_of(&many, &[5, 300, 600, 900, 900, 900, 900, 900, 900, 900]);
    let drawn = [charts::of_run(&many, &traces), charts::of_ab(&compared())].concat();
    wrong.extend(drawn.iter().flat_map(|chart| mistakes(chart, &fonts)));
    assert!(wrong.is_empty(), "{} problems:\n{}", wrong.len(), wrong.join("\n"));
}
