//! What the load of a pass says of its plateau: the requests in flight that it holds.

/// What a load says of its plateau.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plateau {
    /// It holds no level: there is none.
    #[default]
    None,
    /// It holds this many in flight.
    Of(u32),
    /// It holds a rate: requests in flight vary around a number.
    Around,
}
