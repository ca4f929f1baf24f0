//! Reads any text as a plan file. If the text can be parsed, resolving it must give a plan or at least one mistake.
//! Resolving it again must give the same plan.

use inferometer_plan::spec::{Known, Spec};

const KNOWN: Known<'_> =
    Known { dialects: &["openai-chat"], models: &["chatglm3-6b"], model_of_hub_id: |_| None };

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(spec) = toml::from_str::<Spec>(text) else { return };
    match spec.resolve(&KNOWN) {
        Ok(plan) => assert_eq!(Some(plan), spec.resolve(&KNOWN).ok()),
        Err(mistakes) => assert!(!mistakes.is_empty()),
    }
}
