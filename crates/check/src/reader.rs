//! The bare reader of a check: it reads the same streams as the client, and does as little else as
//! possible.

use crate::document::{ReaderMeasure, Ttft};
use crate::{CheckError, Load, truth::BareReader};
use inferometer_model::stats::percentile;
use inferometer_net::{EpollNet, Net, process_cpu_time};

/// Reads the load with a bare reader.
///
/// # Errors
/// If sockets or a connection fail, if the server closes a connection, or if a connection accepts only a part of a
/// request.
pub fn reader(load: &Load) -> Result<ReaderMeasure, CheckError> {
    let Load { server, streams, requests, tokens } = *load;
    let mut net = EpollNet::new().map_err(CheckError::Sockets)?.with_user_stamps();
    let mut reader = BareReader::new(server, streams, requests, tokens);
    let (began, cpu_before) = (net.now(), process_cpu_time());
    net.run(&mut reader).map_err(CheckError::Sockets)?;
    let (tokens, mut ttft_ms) = reader.read().map_err(CheckError::new)?;
    let cpu_s = (process_cpu_time() - cpu_before).as_secs_f64();
    let wall_s = net.now().since(began).as_secs_f64();
    ttft_ms.sort_unstable_by(f64::total_cmp);
    let mean = ttft_ms.iter().sum::<f64>() / ttft_ms.len() as f64;
    let ttft = Ttft { mean, p99: percentile(&ttft_ms, 0.99) };
    Ok(ReaderMeasure { tokens, wall_s, cpu_s, ttft })
}
