//! The plateau of a load: the number of requests in flight that the load keeps constant.

/// The kind of plateau that a load has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plateau {
    /// The load keeps neither the number in flight nor the rate constant: there is no plateau.
    #[default]
    None,
    /// The load keeps this many requests in flight.
    Of(u32),
    /// The load keeps a rate constant: the number in flight varies around a middle value.
    Around,
}
