//! A plan file of any text: a plan, or mistakes that each name their key. A plan that was resolved is
//! resolved to the same one again.
#![no_main]

use inferometer_plan::spec::{Known, Spec};
use libfuzzer_sys::fuzz_target;

const KNOWN: Known<'_> = Known { dialects: &["openai-chat"], models: &["chatglm3-6b"] };

fuzz_target!(|text: &str| {
    let Ok(spec) = toml::from_str::<Spec>(text) else { return };
    match spec.resolve(&KNOWN) {
        Ok(plan) => assert_eq!(Some(plan), spec.resolve(&KNOWN).ok()),
        Err(mistakes) => assert!(!mistakes.is_empty()),
    }
});
