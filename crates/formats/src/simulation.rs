//! The mark of a simulated server in result files of other tools: one of two texts in their field `label`.
//! `export` writes the mark and `import` reads it. Any other text in this field is a label of the user.

use inferometer_model::Target;

const SIMULATED: &str = "simulated";
const AT_SPEED: &str = "simulated at speed ";

/// Returns the label of a result file; `None` if a real server was measured.
pub(crate) fn label(target: &Target) -> Option<String> {
    target.simulated.then(|| match target.facts.other_speed() {
        Some(speed) => format!("{AT_SPEED}{speed:?}"),
        None => SIMULATED.to_owned(),
    })
}

/// Marks the target as simulated if the label says so, and adds the speed that the label states.
pub(crate) fn read(label: Option<&str>, target: &mut Target) {
    let Some(label) = label else { return };
    let speed = label.strip_prefix(AT_SPEED);
    target.simulated |= label == SIMULATED || speed.is_some();
    target.facts.speed = speed.and_then(|speed| speed.parse().ok());
}
