//! Checks that HTML is well formed: elements are closed in the right order, values of attributes are quoted,
//! attributes are unique, and text contains no `<` or `>`. No attribute may contain a script or a style.

/// Elements without an end tag.
const VOID: [&str; 6] = ["meta", "link", "input", "br", "hr", "img"];

/// Panics if a page is not well formed, with a message that shows where.
pub fn check(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a document");
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains('>'), "a stray '>' in {text:?}");
        let tag_and_rest = &rest[at + 1..];
        let (tag, after) = tag_and_rest.split_once('>').expect("a tag ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes another element");
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric());
        assert!(!name.is_empty() && is_name, "<{tag}> is not an element");
        check_attributes(name, attributes);
        if !closed && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
}

fn check_attributes(element: &str, attributes: &str) {
    let mut seen = Vec::new();
    let mut rest = attributes.trim();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let name = &rest[..end];
        assert!(!name.contains(['"', '\'', '<']), "{element}: {name:?} is not an attribute");
        assert!(!name.starts_with("on") && name != "style", "{element} has {name}");
        assert!(!seen.contains(&name), "{element} has {name} twice");
        seen.push(name);
        rest = match rest[end..].strip_prefix("=\"") {
            Some(value) => value.split_once('"').expect("a value ends").1.trim_start(),
            None => rest[end..].trim_start(),
        };
        assert!(!rest.starts_with('='), "{element}: {name} is not quoted");
    }
}
