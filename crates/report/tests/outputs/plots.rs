//! Tests of the plots: their structure as SVG, and their conversion to PNG.

use inferometer_analysis::cell::CellSpread;
use inferometer_analysis::summary::Summary;
use inferometer_model::load::PassKind;
use inferometer_model::metrics::latency_per_output_token;
use inferometer_model::outcome::OutcomeCounts;
use inferometer_model::stats::Spread;
use inferometer_report::chart::{Axis, Band, Chart, Extent, Panel, Series};
use inferometer_report::plot::{self, Theme};
use inferometer_report::{ReportError, charts};
use resvg::tiny_skia::Pixmap;
use resvg::usvg::roxmltree::{Document, Node};

use crate::support::{CHATGLM3, MISTRAL, cell, distribution, empty, full, pass, published};

/// The texts of a plot, in the order in which they are drawn.
fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let is_text = |node: &Node<'_, '_>| node.has_tag_name("text");
    let nodes = document.descendants().filter(is_text);
    nodes.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

/// The first four charts of these runs as SVG, each with its id: the charts of the grid.
fn figures(summaries: &[Summary]) -> Vec<(String, String)> {
    let charts = charts::of_several(summaries).into_iter();
    charts.take(4).map(|chart| (chart.id.clone(), plot::file(&chart, Theme::Light))).collect()
}

/// The position of the origin of an element: the sum of the translations of the element and of its
/// ancestors.
fn origin(node: &Node<'_, '_>) -> [f64; 2] {
    let moved = node.ancestors().filter_map(|group| {
        let (x, y) = group
            .attribute("transform")?
            .strip_prefix("translate(")?
            .strip_suffix(')')?
            .split_once(',')?;
        Some([x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap()])
    });
    moved.fold([0.0; 2], |sum, by| [sum[0] + by[0], sum[1] + by[1]])
}

fn of_shape(summaries: &[Summary], keep: impl Fn(u32, u32) -> bool) -> Vec<Summary> {
    let mut summaries = summaries.to_vec();
    for summary in &mut summaries {
        summary.cells.retain(|cell| keep(cell.input_length, cell.output_length));
    }
    summaries
}

/// Grids of several shapes, with one target and with several targets.
fn shapes() -> Vec<Vec<Summary>> {
    let (one, two) = (published(CHATGLM3), published(MISTRAL));
    let mut decades = empty("昇腾", "c", "e", "1");
    for (index, output) in [1, 10, 100, 1000].into_iter().enumerate() {
        let value = 10f64.powi(4 - 2 * index as i32);
        decades.cells.push(cell(7, output, [Some(value), None, Some(f64::NAN), Some(0.0)]));
    }
    let mut shapes = vec![vec![], vec![empty("m", "c", "e", "1")], vec![decades], vec![full()]];
    for summaries in [one, two] {
        shapes.push(of_shape(&summaries, |_, _| true));
        shapes.push(of_shape(&summaries, |input, _| input == 512));
        shapes.push(of_shape(&summaries, |_, output| output == 512));
        shapes.push(of_shape(&summaries, |input, output| input == 512 && output == 512));
        // A grid in which cells are missing: a triangle.
        shapes.push(of_shape(&summaries, |input, output| input >= output));
    }
    shapes
}

#[test]
fn the_four_plots_of_a_published_table_have_the_expected_names() {
    let names: Vec<String> =
        figures(&published(CHATGLM3)).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["throughput-req", "throughput-token-out", "pertoken", "per-out-token"]);
}

#[test]
fn every_grid_shape_gives_a_valid_plot_with_a_unit_in_every_axis_title() {
    let units = ["requests/s", "output tokens/s", "ms", "ms"];
    for summaries in shapes() {
        for ((name, svg), unit) in figures(&summaries).iter().zip(units) {
            let texts = texts(svg);
            for bad in ["NaN", "\"inf", "None", "Some"] {
                assert!(!svg.contains(bad), "{name}: {bad}");
            }
            let has = |part: &str| texts.iter().any(|text| text.contains(part));
            assert!(has(&format!("({unit})")), "{name}: {texts:?}");
            assert!(has("put length (tokens)"), "{name}: {texts:?}");
        }
    }
}

#[test]
fn nothing_is_drawn_outside_of_the_page() {
    for summaries in shapes() {
        for (name, svg) in figures(&summaries) {
            let document = Document::parse(&svg).unwrap();
            let size =
                |node: &Node<'_, '_>, key| -> Option<f64> { node.attribute(key)?.parse().ok() };
            let root = document.root_element();
            let (width, height) = (size(&root, "width").unwrap(), size(&root, "height").unwrap());
            for node in document.descendants() {
                let [right, down] = origin(&node);
                for (keys, from, limit) in [
                    (["x", "x1", "x2", "cx"], right, width),
                    (["y", "y1", "y2", "cy"], down, height),
                ] {
                    for value in keys.iter().filter_map(|key| size(&node, *key)) {
                        let value = from + value;
                        assert!((0.0..=limit).contains(&value), "{name}: {value} of {limit}");
                    }
                }
            }
        }
    }
}

#[test]
fn lines_are_named_by_input_length_for_one_target_and_by_target_for_several() {
    for (name, svg) in figures(&published(CHATGLM3)) {
        let texts = texts(&svg);
        let from = texts.iter().position(|text| text == "Input length (tokens)");
        assert!(from.is_some(), "{name}: {texts:?}");
        for length in ["128", "512", "1024", "2048"] {
            let times = texts.iter().filter(|text| *text == length).count();
            assert!(times >= 2, "{name}: {length} is a tick and a line");
        }
    }
    for (name, svg) in figures(&published(MISTRAL)) {
        let texts = texts(&svg);
        for entry in ["vllm v0.2.5", "tgi v1.3.4", "Input length 2048 tokens"] {
            let times = texts.iter().filter(|text| *text == entry).count();
            assert_eq!(times, 1, "{name}: {entry} in {texts:?}");
        }
    }
}

#[test]
fn every_cell_is_drawn_as_a_point() {
    let count = |svg: &str| svg.matches("stroke=\"#ffffff\" stroke-width=\"1\"").count();
    let (_, svg) = figures(&published(CHATGLM3)).remove(0);
    assert_eq!(count(&svg), 16 + 4, "16 cells and 4 names of lines");
    let (_, svg) = figures(&published(MISTRAL)).remove(0);
    assert_eq!(count(&svg), 32 + 2, "32 cells and 2 names in the legend");
}

#[test]
fn text_is_escaped_and_every_plot_of_a_simulation_is_labelled() {
    for (_, svg) in figures(&[full()]) {
        assert!(svg.contains("书生·浦语-7B &lt;b&gt;|*x*"));
        let texts = texts(&svg);
        assert!(texts.iter().any(|text| text.starts_with("SIMULATED")), "{texts:?}");
    }
}

#[test]
fn the_points_of_a_single_line_are_labelled_with_their_values() {
    let mut summary = empty("m", "c", "e", "1");
    for (output, value) in [(32, 1.23), (64, 2.47), (128, 3.71)] {
        summary.cells.push(cell(128, output, [Some(value), Some(2.0), Some(3.0), Some(10.0)]));
    }
    let svg = &figures(&[summary])[0].1;
    let document = Document::parse(svg).unwrap();
    let height = |wanted: &str| {
        let mut nodes = document.descendants().filter(|node| node.has_tag_name("text"));
        let label = nodes.find(|node| node.text() == Some(wanted));
        let label = label.unwrap_or_else(|| panic!("{wanted}: {:?}", texts(svg)));
        origin(&label)[1] + label.attribute("y").map_or(0.0, |y| y.parse::<f64>().unwrap())
    };
    assert!(height("1.23") > height("2.47"));
    // The highest point is at the top of the panel: its label does not cover the name of the axis.
    assert!(height("3.71") > height("Throughput (requests/s)") + 12.0);
}

#[test]
fn intervals_and_failures_are_drawn_and_explained() {
    let mut summary = empty("m", "c", "e", "1");
    for (index, output) in [32, 64, 128].into_iter().enumerate() {
        let mut cell = cell(128, output, [Some(1.0), Some(2.0), Some(3.0), Some(10.0)]);
        let mut single = pass(PassKind::OneByOne, 10);
        *single.latencies.entry(&latency_per_output_token::DEFINITION) = Some(distribution(10.0));
        let mut loaded = pass(PassKind::Saturated, 10);
        if index == 1 {
            loaded.outcomes = OutcomeCounts { complete: 9, rejected: 1, ..Default::default() };
        }
        cell.passes = vec![single, loaded];
        summary.cells.push(cell);
    }
    let plots = figures(&[summary]);
    let hollow = "fill=\"#ffffff\" stroke=\"#0072b2\"";
    assert_eq!(plots[0].1.matches(hollow).count(), 1);
    assert!(plots[0].1.contains("Hollow:") && !plots[0].1.contains("Whiskers:"));
    assert_eq!(plots[3].1.matches("M-4,0h8").count(), 3 * 2, "caps");
    assert!(plots[3].1.contains("Whiskers:") && !plots[3].1.contains("Hollow:"));
}

#[test]
fn an_interval_of_a_rate_that_reaches_below_zero_is_drawn_from_zero() {
    let mut summary = empty("m", "c", "e", "1");
    let mut only = cell(128, 32, [Some(10.0), None, None, None]);
    let spread = Spread { mean: 10.0, ci: Some([-6.0, 26.0]), cv: Some(0.5), n: 2 };
    only.over_repeats = Some(CellSpread {
        requests_per_s: Some(spread),
        output_tokens_per_s: None,
        latency_per_token_ms: None,
        latency_per_output_token_ms: None,
    });
    only.passes = vec![pass(PassKind::Saturated, 10)];
    summary.cells.push(only);
    summary.cells.push(cell(128, 64, [Some(9.0), None, None, None]));
    let svg = figures(&[summary]).remove(0).1;
    let document = Document::parse(&svg).unwrap();
    let axis = document.descendants().find(|node| node.has_tag_name("line")).unwrap();
    let axis: f64 = axis.attribute("y1").unwrap().parse().unwrap();
    let is_cap = |node: &Node<'_, '_>| node.attribute("d") == Some("M-4,0h8");
    let caps: Vec<Node<'_, '_>> = document.descendants().filter(is_cap).collect();
    assert_eq!(caps.len(), 2);
    assert!(caps.iter().all(|cap| origin(cap)[1] <= axis));
    // A rate cannot be negative: the axis and the whisker begin at zero.
    let texts = texts(&svg);
    assert!(texts.contains(&"0".to_owned()), "{texts:?}");
    assert!(!texts.iter().any(|text| text.starts_with('-')), "{texts:?}");
}

#[test]
fn the_size_of_a_png_follows_the_scale_and_the_png_is_not_blank() {
    for summaries in [published(CHATGLM3), published(MISTRAL)] {
        let (_, svg) = figures(&summaries).remove(0);
        let once = Pixmap::decode_png(&plot::png(&svg, 0.5).unwrap()).unwrap();
        let twice = Pixmap::decode_png(&plot::png(&svg, 1.0).unwrap()).unwrap();
        assert!(twice.width().abs_diff(once.width() * 2) <= 1);
        let inked = twice.pixels().iter().filter(|pixel| pixel.red() < 250).count();
        let share = inked as f64 / twice.pixels().len() as f64;
        assert!((0.01..0.5).contains(&share), "{share}");
    }
}

#[test]
fn chinese_text_has_glyphs_in_the_bundled_fonts() {
    let ink = |text: &str| {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\" \
             font-family=\"Noto Sans\"><rect width=\"200\" height=\"40\" fill=\"#ffffff\"/><text x=\"5\" y=\"30\" font-size=\"24\">{text}</text></svg>"
        );
        let pixmap = Pixmap::decode_png(&plot::png(&svg, 1.0).unwrap()).unwrap();
        pixmap.pixels().iter().filter(|pixel| pixel.red() < 128).count()
    };
    assert_eq!(ink(" "), 0);
    for character in "模型书生浦语通义千问百川智谱昇腾，。（）：éμ±".chars()
    {
        assert!(ink(&character.to_string()) > 5, "{character}");
    }
}

#[test]
fn a_text_is_as_wide_as_its_font_says_and_begins_at_its_anchor() {
    // Four letters H of Noto Sans Regular are 4 x 0.741 em wide, of Noto Sans Bold 4 x 0.765 em.
    for (anchor, weight, left, width) in [
        ("start", 400, 100.0, 59.3),
        ("middle", 400, 70.4, 59.3),
        ("end", 400, 40.7, 59.3),
        ("start", 700, 100.0, 61.2),
    ] {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\"><rect width=\"200\" \
             height=\"40\" fill=\"#ffffff\"/><g transform=\"translate(60,10)\"><text x=\"40\" y=\"20\" \
             font-size=\"20\" font-weight=\"{weight}\" text-anchor=\"{anchor}\">HHHH</text></g></svg>"
        );
        let [(text, area)] = &plot::texts(&svg).unwrap()[..] else { panic!("one text") };
        assert_eq!(text, "HHHH");
        assert!((area[0] - left).abs() < 0.3 && (area[2] - left - width).abs() < 0.3, "{area:?}");
        let pixmap = Pixmap::decode_png(&plot::png(&svg, 1.0).unwrap()).unwrap();
        let is_inked = |x: &u32| (0..40).any(|y| pixmap.pixel(*x, y).unwrap().red() < 128);
        let (first, last) = ((0..200).find(is_inked).unwrap(), (0..200).rfind(is_inked).unwrap());
        // The stems of the first and the last letter are a tenth of an em from the ends.
        let (first, last) = (first as f32, last as f32 + 1.0);
        assert!((first - left - 2.0).abs() < 1.1, "{anchor} {weight}: {first}");
        assert!((last - left - width + 2.0).abs() < 1.1, "{anchor} {weight}: {last}");
    }
}

#[test]
fn an_invalid_svg_or_an_invalid_scale_is_an_error() {
    assert!(matches!(plot::png("<svg", 1.0), Err(ReportError::Svg { .. })));
    let (_, svg) = figures(&published(CHATGLM3)).remove(0);
    for scale in [0.0, -1.0, 1000.0, f32::NAN] {
        let error = plot::png(&svg, scale).unwrap_err();
        assert!(matches!(error, ReportError::Size { .. }), "{scale}");
    }
}

#[test]
fn a_band_shows_its_full_name_or_its_number_or_nothing_depending_on_its_width() {
    let band = |from: f64, to: f64| Band {
        from,
        to,
        name: "12: 128 x 32, one by one".to_owned(),
        is_result: false,
    };
    let line = Series { x: vec![0.0, 100.0], y: vec![1.0, 2.0], ..Series::default() };
    let mut panel = Panel::new(Axis::new("Requests", "count"), 100.0, vec![line]);
    panel.bands = vec![band(0.0, 60.0), band(60.0, 62.5), band(62.5, 64.0), band(75.0, 75.1)];
    let mut chart = Chart::new("c", "Title", Axis::new("Time", "s").with_extent(Extent::Values));
    chart.panels = vec![panel];
    let svg = plot::file(&chart, Theme::Light);
    let named: Vec<String> =
        texts(&svg).into_iter().filter(|text| text.starts_with("12")).collect();
    assert_eq!(named, ["12: 128 x 32, one by one", "12"]);
}
