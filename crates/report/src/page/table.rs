//! A table as HTML. The script of a page can sort and filter it. Without the script, the whole table is
//! shown.

use std::fmt::Write as _;

use super::escape;
use crate::{Align, MISSING, Table};

/// A left-aligned column with a text longer than this number of characters is wrapped. All other columns
/// are not.
const LONG: usize = 44;

/// The table as HTML, in an element that can be scrolled.
pub fn table(table: &Table) -> String {
    let columns = table.columns();
    let classes: Vec<&str> = (0..columns.len())
        .map(|index| {
            let long = table.rows().iter().any(|row| row[index].chars().count() > LONG);
            match (columns[index].1, long) {
                (Align::Left, false) => " class=\"l\"",
                (Align::Left, true) => " class=\"w\"",
                (Align::Centre | Align::Right, _) => "",
            }
        })
        .collect();
    let mut out = String::from(
        "<div class=\"table\" tabindex=\"0\"><table class=\"sort figures\">\n<thead><tr>",
    );
    for ((name, _), class) in columns.iter().zip(&classes) {
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (index, row) in table.rows().iter().enumerate() {
        out.push_str("<tr>");
        for (column, (text, class)) in row.iter().zip(&classes).enumerate() {
            let shown = escape(text);
            // Without a figure there is nothing to link to.
            let _ = match table.link(index, column).filter(|_| text != MISSING) {
                Some(to) => {
                    write!(out, "<td{class}><a href=\"{}\">{shown}</a></td>", escape(to))
                }
                None => write!(out, "<td{class}>{shown}</td>"),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_cells_and_their_links_are_html_escaped() {
        let mut of = Table::new([("a<b", Align::Left), ("n", Align::Right)]);
        of.push(vec!["<script>".to_owned(), "1".to_owned()]);
        of.push(vec!["模型".repeat(30), "2".to_owned()]);
        of.set_link(1, 1, "#p1\"");
        let text = table(&of);
        assert!(text.contains("<th scope=\"col\" class=\"w\">a&lt;b</th>"));
        assert!(text.contains("<td class=\"w\">&lt;script&gt;</td><td>1</td>"));
        assert!(text.contains("<td><a href=\"#p1&quot;\">2</a></td>"));
    }
}
