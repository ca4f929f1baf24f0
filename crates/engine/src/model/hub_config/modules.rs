//! Collects the weights of a model by module, in the formats in which they are stored.

use super::quantised::{Format, Of, Quantised};
use crate::model::layout::{Feed, Module, Role, Routed};

/// Matrices of the same shape in a layer.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    module: &'static str,
    name: String,
    shape: (u64, u64),
    copies: u64,
    role: Role,
    routed: Option<Routed>,
    is_split: bool,
    format: Option<Format>,
}

impl Matrix {
    /// A matrix of a layer that engines quantise and split over cards. `name` is its name in the checkpoint, and
    /// `shape` its numbers of outputs and inputs.
    pub fn of(module: &'static str, name: impl Into<String>, shape: (u64, u64)) -> Self {
        Self {
            module,
            name: name.into(),
            shape,
            copies: 1,
            role: Role::Product,
            routed: None,
            is_split: true,
            format: None,
        }
    }

    /// The same matrix in each of the experts of a layer.
    pub fn experts(self, routed: Routed) -> Self {
        Self { copies: u64::from(routed.count), routed: Some(routed), ..self }
    }

    /// Each tensor-parallel card has the whole matrix.
    pub fn on_each_card(self) -> Self {
        Self { is_split: false, ..self }
    }

    /// Another role, without quantisation.
    pub fn plain(self, role: Role) -> Self {
        Self { role, format: Some(Format::SIXTEEN), ..self }
    }

    /// A table from which tokens take rows, in the format of the checkpoint.
    pub fn table(self) -> Self {
        Self { role: Role::Table, ..self }
    }

    /// Single precision.
    pub fn single(self, role: Role) -> Self {
        Self { role, format: Some(Format::SINGLE), is_split: false, ..self }
    }
}

/// The modules so far.
pub(super) struct Modules<'a> {
    quantised: &'a Quantised,
    /// Whether the added modules are only for drafting tokens.
    pub is_draft: bool,
    pub all: Vec<Module>,
}

impl<'a> Modules<'a> {
    pub fn new(quantised: &'a Quantised) -> Self {
        Self { quantised, is_draft: false, all: Vec::new() }
    }

    /// Adds matrices to their module.
    pub fn add(&mut self, matrix: Matrix) {
        let Matrix { module, name, shape, copies, role, routed, is_split, format } = matrix;
        let of = if routed.is_some() { Of::Experts } else { Of::Layer };
        let stored = format.unwrap_or_else(|| self.quantised.format(&name, of));
        let format = if role == Role::Table { stored.by_row() } else { stored };
        let parameters = copies.saturating_mul(shape.0).saturating_mul(shape.1);
        let bytes = copies.saturating_mul(format.bytes(shape));
        let (module, role, routed) = if self.is_draft {
            ("layers that draft tokens", Role::Draft, None)
        } else {
            (module, role, routed)
        };
        let is_same = |known: &&mut Module| {
            known.name == module
                && known.weights == format.weights
                && (known.role, known.routed, known.is_split) == (role, routed, is_split)
        };
        if let Some(known) = self.all.iter_mut().find(is_same) {
            known.parameters = known.parameters.saturating_add(parameters);
            known.bytes = known.bytes.saturating_add(bytes);
            return;
        }
        let (name, weights) = (module.to_owned(), format.weights);
        self.all.push(Module { name, role, parameters, bytes, weights, routed, is_split });
    }

    /// Adds several matrices that engines quantise and split.
    pub fn split(&mut self, module: &'static str, at: &str, of: &[(&str, (u64, u64))]) {
        for (name, shape) in of {
            self.add(Matrix::of(module, format!("{at}.{name}"), *shape));
        }
    }

    /// Adds vectors with this number of parameters in total.
    pub fn vectors(&mut self, parameters: u64) {
        let matrix = Matrix::of("norms and biases", "", (parameters, 1));
        self.add(matrix.plain(Role::Vector).on_each_card());
    }

    /// Adds input embedding, output projection and the last norm.
    pub fn embeddings(&mut self, vocabulary: u32, hidden: u32, is_tied: bool) {
        let shape = (u64::from(vocabulary), u64::from(hidden));
        if is_tied {
            // The tokens are multiplied with the same matrix from which they take their rows.
            self.add(Matrix::of("embedding", "embed_tokens", shape).plain(Role::Head));
        } else {
            self.add(Matrix::of("embedding", "embed_tokens", shape).plain(Role::Table));
            self.add(Matrix::of("output projection", "lm_head", shape).plain(Role::Head));
        }
        self.vectors(u64::from(hidden));
    }

    /// Adds the feed-forward block at `at`, such as `model.layers.3.mlp`, with gate, up and down projections.
    pub fn feed(&mut self, at: &str, hidden: u32, feed: Feed) {
        let hidden = u64::from(hidden);
        let gated = |width: u32| {
            let width = u64::from(width);
            let wide = [("gate_proj", (width, hidden)), ("up_proj", (width, hidden))];
            [wide[0], wide[1], ("down_proj", (hidden, width))]
        };
        match feed {
            Feed::None => {}
            Feed::Linear => {
                self.split("feed-forward", at, &[("linear_mlp", (hidden, hidden))]);
            }
            Feed::Dense { width } => self.split("feed-forward", at, &gated(width)),
            Feed::Experts { count, per_token, width, shared } => {
                let router = Matrix::of("router", format!("{at}.gate"), (u64::from(count), hidden));
                self.add(router.plain(Role::Plain).on_each_card());
                for (name, shape) in gated(width) {
                    let name = format!("{at}.experts.0.{name}");
                    let routed = Routed { count, per_token };
                    self.add(Matrix::of("routed experts", name, shape).experts(routed));
                }
                if shared > 0 {
                    let at = format!("{at}.shared_experts");
                    self.split("shared experts", &at, &gated(shared));
                }
            }
        }
    }
}
