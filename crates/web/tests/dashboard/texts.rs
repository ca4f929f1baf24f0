//! The texts of the pages, compared with a snapshot. Reports and the definitions of metrics are left out: the crates that
//! make them have tests of their own.

use crate::made::{Made, get};
use crate::page_text::page_text;

#[test]
fn the_texts_of_the_pages_match_their_snapshot() {
    let mut made = Made::new();
    let first = made.complete(0, 1, "chatglm3-6b", 1.0);
    let second = made.simulated(1, 2, "qwen-14b");
    let unfinished = made.begin(2, 3, "chatglm3-6b", false);
    let mut site = made.site();
    let mut told = String::new();
    for target in [
        "/",
        "/?q=nothing",
        "/?kind=simulated&sort=-model",
        "/?kind=wrong",
        "/live",
        "/records",
        "/metrics",
        "/compare",
        &format!("/compare?run={first}&run={second}"),
        &format!("/runs/{second}"),
        &format!("/runs/{unfinished}"),
        &format!("/runs/{unfinished}/live"),
        "/nothing",
    ] {
        let answer = get(&mut site, target);
        let page = answer.text();
        // The frame is the same on all pages. The report of a run begins with its heading, and the charts of a comparison
        // follow its tables.
        let begin = if target == "/" { 0 } else { page.find("<main").expect("the content") };
        let end = match target.strip_prefix("/runs/") {
            Some(run) if run == second.as_str() => page.find("<h1>"),
            _ => page.find("<div class=\"definitions\">").or_else(|| page.find("Plots</h2>")),
        };
        let text = page_text(&page[begin..end.unwrap_or(page.len())]);
        told += &format!("GET {target}\n{}\n{text}\n\n", answer.status);
    }
    // The command `compare` prints the same explanation, which another snapshot has.
    let filters = [(r"(?m)^(Intervals) are .*$", "$1 ...")];
    insta::with_settings!(
        { prepend_module_to_snapshot => false, omit_expression => true, filters => filters },
        { insta::assert_snapshot!("pages", told) }
    );
}
