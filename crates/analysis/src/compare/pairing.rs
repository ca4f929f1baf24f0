//! Pairs the cells of results that different tools measured. Tools count the lengths of the same requests differently, and
//! not every file states the requested lengths. So cells with nearly the same lengths are paired, and the counted lengths
//! are told.

use inferometer_model::CellPlan;

use super::Subject;

/// Lengths are nearly the same if they differ by at most this share of the larger one.
const SHARE: f64 = 0.1;
/// Input lengths are nearly the same also if they differ by at most this many tokens, which a chat template adds.
const TEMPLATE: f64 = 16.0;

/// Returns the contender with the cells of the baseline, where the contender has another cell with nearly the same lengths.
/// Also returns a fact for each cell in which the two counted different lengths. Does nothing if one tool measured both.
pub(super) fn paired(baseline: &Subject, contender: &Subject) -> (Subject, Vec<[String; 3]>) {
    let mut paired = contender.clone();
    let mut told = Vec::new();
    if baseline.tool == contender.tool {
        return (paired, told);
    }
    let lacks = |subject: &Subject, cell: CellPlan| !subject.cells().contains(&Some(cell));
    for &(own, lengths) in &contender.counted {
        let of_same = |(cell, _): &&(CellPlan, [f64; 2])| *cell == own;
        let is_near = |(cell, counted): &&(CellPlan, [f64; 2])| {
            lacks(contender, *cell)
                && lacks(baseline, own)
                && near((own, lengths), (*cell, *counted))
        };
        let found = baseline.counted.iter();
        let Some(&(cell, counted)) =
            found.clone().find(of_same).or_else(|| found.clone().find(is_near))
        else {
            continue;
        };
        for series in paired.series.iter_mut().filter(|series| series.cell == Some(own)) {
            series.cell = Some(cell);
        }
        for place in paired.loads_of_tables.iter_mut().filter(|(known, ..)| *known == own) {
            place.0 = cell;
        }
        let text = |[input, output]: [f64; 2]| format!("{input:.1} x {output:.1}");
        if cell != own || text(counted) != text(lengths) {
            let name = format!("counted tokens per request, {cell}");
            told.push([name, text(counted), text(lengths)]);
        }
    }
    (paired, told)
}

/// Whether each length is the same in both cells, or nearly the same as requested or as counted.
fn near(one: (CellPlan, [f64; 2]), other: (CellPlan, [f64; 2])) -> bool {
    let lengths = |(cell, counted): (CellPlan, [f64; 2])| {
        let asked = |asked: u32, counted: f64| if asked == 0 { counted } else { f64::from(asked) };
        [asked(cell.input_length, counted[0]), asked(cell.output_length, counted[1])]
    };
    let ([input, output], [other_input, other_output]) = (lengths(one), lengths(other));
    let is_near = |one: f64, other: f64, added: f64| {
        (one - other).abs() <= (SHARE * one.max(other)).max(added.min(one.min(other)))
    };
    is_near(input, other_input, TEMPLATE) && is_near(output, other_output, 0.0)
}
