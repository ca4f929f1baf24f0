//! The text of an HTML page, as a reader sees it without charts and scripts.

/// Elements whose content is not text of the page.
const LEFT_OUT: [&str; 4] = ["head", "script", "style", "svg"];
/// Elements within a line. All others begin a line, and cells of tables are separated by `¦`.
const WITHIN_A_LINE: [&str; 11] =
    ["a", "abbr", "b", "code", "em", "i", "label", "small", "span", "strong", "sup"];

/// The text of a page: a line for each paragraph, item and row of a table.
pub fn page_text(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, tag_and_rest)) = rest.split_once('<') {
        text += before;
        let (tag, after) = tag_and_rest.split_once('>').expect("a tag ends");
        rest = after;
        let name = tag.trim_start_matches('/').split(char::is_whitespace).next().unwrap_or("");
        if LEFT_OUT.contains(&name) && !tag.starts_with('/') {
            let end = format!("</{name}>");
            rest = rest.split_once(&end).expect("the element ends").1;
        }
        text += match name {
            "td" | "th" if tag.starts_with('/') => " ¦ ",
            "td" | "th" => "",
            name if WITHIN_A_LINE.contains(&name) => "",
            _ => "\n",
        };
    }
    text += rest;
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let text = marks.iter().fold(text, |text, (mark, sign)| text.replace(mark, sign));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = text.lines().map(words).map(|line| line.trim_end_matches(" ¦").to_owned());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
