//! Parsers for the numbers in flags.

/// Parses a finite number. Infinity and NaN are rejected, because JSON would store them as null.
pub fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err("it is not a finite number".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
