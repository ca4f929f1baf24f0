//! Tables of positive numbers as CSV. Lines that begin with `#` are ignored.

use crate::EngineError;

/// Parses the rows of a table with `N` columns. `path` is used only in messages.
///
/// # Errors
/// If the header is not `header`, or a row does not have `N` positive finite numbers.
pub(super) fn parse<const N: usize>(
    text: &str,
    path: &str,
    header: &str,
) -> Result<Vec<[f64; N]>, EngineError> {
    let malformed = |line: usize, reason: &str| EngineError::Malformed {
        path: path.to_owned(),
        reason: format!("line {line}: {reason}"),
    };
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.starts_with('#'));
    let (first, number) = lines.next().unwrap_or(("", 1));
    if first != header {
        return Err(malformed(number, &format!("the header must be {header}")));
    }
    let row = |(line, number): (&str, usize)| {
        let fields: Result<Vec<f64>, _> = line.split(',').map(str::parse).collect();
        let fields = fields.map_err(|_| malformed(number, "a field is not a number"))?;
        let fields = <[f64; N]>::try_from(fields)
            .map_err(|_| malformed(number, &format!("there must be {N} fields")))?;
        if !fields.iter().all(|&field| field > 0.0 && field.is_finite()) {
            return Err(malformed(number, "every field must be above 0 and finite"));
        }
        Ok(fields)
    };
    lines.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_header_is_reported_with_its_line_after_comments() {
        let told = |text: &str| parse::<2>(text, "rows.csv", "a,b").unwrap_err().to_string();
        assert!(told("# one\n# two\nb,a\n1,2\n").contains("line 3: the header must be a,b"));
        assert!(told("").contains("line 1: the header must be a,b"));
        assert!(told("# one\na,b\n1,x\n").contains("line 3: a field is not a number"));
    }

    #[test]
    fn a_field_that_is_not_a_positive_finite_number_is_refused() {
        for field in ["0", "-1", "NaN", "inf"] {
            let told = parse::<2>(&format!("a,b\n1,{field}\n"), "rows.csv", "a,b").unwrap_err();
            assert!(told.to_string().contains("line 2: every field must be above 0"), "{told}");
        }
    }
}
