//! What the load generator is played over: sockets in real time, or pipes in memory in virtual time.
//! The order of a run is the same over both.

use std::io;
use std::time::Duration;

use inferometer_model::time::Nanos;
use inferometer_net::virtual_net::{VirtualNet, play};
use inferometer_net::{Actor, EpollNet, LoopStats, Net, StampStats, Waker};

/// Plays the load generator.
pub trait Network {
    /// The sockets and the clock that it sees.
    type Net: Net;

    /// The time, on the axis of all instants of the run.
    fn now(&self) -> Nanos;

    /// Plays an actor until it is done.
    ///
    /// # Errors
    /// When the system cannot wait for sockets any more.
    fn play(&mut self, actor: &mut impl Actor<Self::Net>) -> io::Result<()>;

    /// Gives the load generator a turn from another thread, where it can sleep.
    fn waker(&self) -> Option<Waker>;

    /// How long before an instant to stay awake.
    fn set_spin(&mut self, spin: Duration);

    /// How the event loop kept up since it was asked last.
    fn take_loop_stats(&mut self) -> LoopStats;

    /// What happened to the kernel's arrival stamps so far.
    fn stamp_stats(&self) -> StampStats;
}

impl Network for EpollNet {
    type Net = Self;

    fn now(&self) -> Nanos {
        Net::now(self)
    }

    fn play(&mut self, actor: &mut impl Actor<Self>) -> io::Result<()> {
        self.play(actor)
    }

    fn waker(&self) -> Option<Waker> {
        Some(self.waker())
    }

    fn set_spin(&mut self, spin: Duration) {
        self.set_spin(spin);
    }

    fn take_loop_stats(&mut self) -> LoopStats {
        self.take_loop_stats()
    }

    fn stamp_stats(&self) -> StampStats {
        self.stamp_stats()
    }
}

/// A network in memory with one server on it, in virtual time: a run over it takes milliseconds and
/// every instant of it is exact.
pub struct VirtualNetwork<S> {
    client: VirtualNet,
    /// The server, and its side of the network.
    server: (S, VirtualNet),
}

impl<S: Actor<VirtualNet>> VirtualNetwork<S> {
    /// A server that listens already on its side of the network.
    pub fn new(client: VirtualNet, server: S, server_net: VirtualNet) -> Self {
        Self { client, server: (server, server_net) }
    }
}

impl<S: Actor<VirtualNet>> Network for VirtualNetwork<S> {
    type Net = VirtualNet;

    fn now(&self) -> Nanos {
        self.client.now()
    }

    fn play(&mut self, actor: &mut impl Actor<VirtualNet>) -> io::Result<()> {
        let (server, server_net) = &mut self.server;
        play(&mut [(actor, self.client.clone()), (server, server_net.clone())]);
        Ok(())
    }

    fn waker(&self) -> Option<Waker> {
        None
    }

    fn set_spin(&mut self, _: Duration) {}

    fn take_loop_stats(&mut self) -> LoopStats {
        LoopStats::default()
    }

    fn stamp_stats(&self) -> StampStats {
        StampStats::default()
    }
}
