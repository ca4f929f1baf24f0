//! Formats counts for readers: with commas between groups of three digits.

/// An integer; from five digits on, commas separate groups of three digits: `2048`, `12,345`.
pub fn count(value: u64) -> String {
    thousands(&value.to_string())
}

/// Adds commas between groups of three digits to the text of an integer that has at least five digits.
/// Lengths such as 2048 have no comma, as in the published tables.
pub fn thousands(text: &str) -> String {
    if text.trim_start_matches('-').len() < 5 {
        return text.to_owned();
    }
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
