//! Servers under test, outside of the load generator: [`launch`] starts them and ends them, [`probe`] identifies them,
//! [`tokenize`] uses their tokenizers, and [`observe`] samples their metrics and their machines during passes.

pub mod launch;
pub mod observe;
pub mod probe;
pub mod tokenize;
