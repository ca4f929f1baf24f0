//! The network of the load generator: sockets in real time, or in-memory pipes in virtual time. A run has
//! the same steps on both. The sockets are in [`crate::event_loops`].

use std::io;
use std::time::Duration;

use inferometer_model::time::Nanos;
use inferometer_net::virtual_net::{VirtualNet, play, play_until};
use inferometer_net::{Actor, LoopStats, Net, StampStats, Waker};

/// Runs the load generator.
pub trait Network {
    /// The sockets and the clock that it sees.
    type Net: Net;

    /// The time, on the clock of all instants of the run.
    fn now(&self) -> Nanos;

    /// Runs an actor until it is done.
    ///
    /// # Errors
    /// When the system can no longer wait for sockets.
    fn play(&mut self, actor: &mut impl Actor<Self::Net>) -> io::Result<()>;

    /// How many actors it can run at the same time.
    fn loops(&self) -> usize {
        self.wakers().len()
    }

    /// Runs as many actors at the same time until all are done, each on an event loop of its own. If one
    /// of them cannot go on, `give_up` is called: it tells the others to end.
    ///
    /// # Errors
    /// As [`Network::play`], and when the system refuses a thread.
    fn play_all<A: Actor<Self::Net> + Send>(
        &mut self,
        actors: &mut [A],
        give_up: &(dyn Fn() + Sync),
    ) -> io::Result<()>;

    /// For each event loop: wakes it from another thread.
    fn wakers(&self) -> Vec<Waker>;

    /// Wakes all event loops from another thread.
    fn waker(&self) -> Waker {
        Waker::of_all(self.wakers())
    }

    /// How long before an instant to stay awake.
    fn set_spin(&mut self, spin: Duration);

    /// How well the event loop kept up since the last call.
    fn take_loop_stats(&mut self) -> LoopStats;

    /// Statistics of the kernel's arrival stamps so far.
    fn stamp_stats(&self) -> StampStats;
}

/// A network in memory with one server on it, in virtual time: a run over it takes milliseconds and
/// every instant of it is exact.
pub struct VirtualNetwork<S> {
    client: VirtualNet,
    /// The hosts of the other event loops.
    others: Vec<VirtualNet>,
    /// The server, and its side of the network.
    server: (S, VirtualNet),
}

impl<S: Actor<VirtualNet>> VirtualNetwork<S> {
    /// A network with a server that already listens on its side.
    pub fn new(client: VirtualNet, server: S, server_net: VirtualNet) -> Self {
        Self { client, others: Vec::new(), server: (server, server_net) }
    }

    /// The same for a client with several event loops: `others` are the hosts of the other loops.
    #[must_use]
    pub fn with_loops(self, others: Vec<VirtualNet>) -> Self {
        Self { others, ..self }
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

    fn play_all<A: Actor<VirtualNet> + Send>(
        &mut self,
        actors: &mut [A],
        _give_up: &(dyn Fn() + Sync),
    ) -> io::Result<()> {
        let leading = actors.len();
        let nets = std::iter::once(&self.client).chain(&self.others).cloned();
        let (server, server_net) = &mut self.server;
        let mut all: Vec<(&mut dyn Actor<VirtualNet>, VirtualNet)> =
            actors.iter_mut().map(|actor| actor as &mut dyn Actor<VirtualNet>).zip(nets).collect();
        all.push((server, server_net.clone()));
        play_until(&mut all, leading);
        Ok(())
    }

    fn wakers(&self) -> Vec<Waker> {
        std::iter::once(&self.client).chain(&self.others).map(VirtualNet::waker).collect()
    }

    fn set_spin(&mut self, _: Duration) {}

    fn take_loop_stats(&mut self) -> LoopStats {
        LoopStats::default()
    }

    fn stamp_stats(&self) -> StampStats {
        StampStats::default()
    }
}
