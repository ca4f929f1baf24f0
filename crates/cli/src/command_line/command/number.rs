//! Numbers of flags. Knows no flag.

/// A number that is finite: JSON has no other, and would drop it.
pub fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err("it is not a finite number".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
