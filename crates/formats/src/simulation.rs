//! How the result file of another tool says that the server was a simulation: in its label, which
//! is free text there. It judges nothing.

use inferometer_model::target::Target;

const SIMULATED: &str = "simulated";
const AT_SPEED: &str = "simulated at speed ";
/// The fact of a target that says how much faster than real time it played.
const SPEED: &str = "speed";

/// The label of a file; none where a real server was measured.
pub(crate) fn label(target: &Target) -> Option<String> {
    target.simulated.then(|| {
        match target.facts.get(SPEED).filter(|speed| speed.parse() != Ok(1.0)) {
            Some(speed) => format!("{AT_SPEED}{speed}"),
            None => SIMULATED.to_owned(),
        }
    })
}

/// Takes over what a label says.
pub(crate) fn read(label: Option<&str>, target: &mut Target) {
    let Some(label) = label else { return };
    let speed = label.strip_prefix(AT_SPEED);
    target.simulated |= label == SIMULATED || speed.is_some();
    target.facts.extend(speed.map(|speed| (SPEED.to_owned(), speed.to_owned())));
}
