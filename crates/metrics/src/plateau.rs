//! The plateau of a pass by its load: the requests in flight that the load keeps constant.

/// The plateau that a load has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plateau {
    /// The load keeps nothing constant: there is no plateau.
    #[default]
    None,
    /// The load keeps this many requests in flight.
    Of(u32),
    /// The load keeps a rate: the number in flight varies around a mean.
    Around,
}
