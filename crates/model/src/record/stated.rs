//! Token counts and times of a request as the server reports them. The client measures none of them.

use serde::{Deserialize, Serialize};

/// Token counts as the server states them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt: Option<u32>,
    /// Tokens of the output, including the tokens of the reasoning.
    pub completion: Option<u32>,
    /// Tokens of the prompt that came from a prefix cache.
    pub cached: Option<u32>,
    /// Tokens of the reasoning, which [`Usage::completion`] includes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u32>,
    /// Tokens of pictures, which [`Usage::prompt`] includes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<u32>,
    /// Tokens of sounds, which [`Usage::prompt`] includes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<u32>,
}

impl Usage {
    /// Tokens of pictures and sounds; `None` if the server states neither.
    pub fn media(&self) -> Option<u32> {
        let stated = [self.image, self.audio];
        stated.iter().flatten().copied().reduce(u32::saturating_add)
    }
}

/// What a time holds that a server states for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerTime {
    /// Waiting in the server's queue.
    Queue,
    /// Prefill and decode, without the queue.
    Inference,
    /// From the arrival of the request to its last token, with the queue.
    Total,
    /// From the begin of the request in the batch to its first token, without the queue.
    Prefill,
    /// From the arrival of the request to its first token, with the queue.
    FirstToken,
    /// From the first token to the last one.
    Decode,
    /// From the arrival of the request until its model is loaded, which includes waiting for a place.
    Load,
}

// The run log stores the times in this order. So the order never changes, and a new one goes to the end.
crate::names!(ServerTime {
    Queue => "queue", Inference => "inference", Total => "total", Prefill => "prefill",
    FirstToken => "first_token", Decode => "decode", Load => "load",
});

/// Times of a request as the server states them, in whole microseconds, in the order of [`ServerTime::ALL`]. A time
/// that the server does not state is `None`, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTimes(pub [Option<u32>; ServerTime::ALL.len()]);

impl ServerTimes {
    /// A time in milliseconds.
    pub fn ms(&self, time: ServerTime) -> Option<f64> {
        self.0[time as usize].map(|us| f64::from(us) / 1e3)
    }

    /// These times, with one more, in microseconds; `None` changes nothing.
    #[must_use]
    pub fn with(mut self, time: ServerTime, us: Option<u32>) -> Self {
        self.0[time as usize] = us.or(self.0[time as usize]);
        self
    }

    /// These times, replaced by those that `later` has.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        ServerTime::ALL.into_iter().fold(self, |all, time| all.with(time, later.0[time as usize]))
    }

    /// The time from the arrival of the request to its first token, in milliseconds: as stated, otherwise the sum of
    /// the stated parts before it, which is at most the whole.
    pub fn to_first_token_ms(&self) -> Option<f64> {
        let parts = [ServerTime::Load, ServerTime::Queue, ServerTime::Prefill];
        self.ms(ServerTime::FirstToken).or_else(|| self.sum_ms(&parts))
    }

    /// The time from the arrival of the request to its last token, in milliseconds: as stated, otherwise the sum of
    /// the stated parts, which is at most the whole.
    pub fn in_all_ms(&self) -> Option<f64> {
        let waiting = [ServerTime::Load, ServerTime::Queue, ServerTime::Inference];
        let tokens = self.to_first_token_ms().into_iter().chain(self.ms(ServerTime::Decode));
        let inference = self.ms(ServerTime::Inference).and(self.sum_ms(&waiting));
        self.ms(ServerTime::Total).or(inference).or_else(|| tokens.reduce(|a, b| a + b))
    }

    fn sum_ms(&self, times: &[ServerTime]) -> Option<f64> {
        times.iter().filter_map(|&time| self.ms(time)).reduce(|a, b| a + b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{ms, steady};
    use crate::record::Record;

    #[test]
    fn a_record_cut_off_before_its_end_has_no_server_times() {
        let server_times = ServerTimes::default().with(ServerTime::Queue, Some(3));
        let record = Record { server_times, ..steady(0.0, 40.0, 10.0, 3) };
        assert_eq!(
            record.clone().cut_off(ms(60.0), crate::record::Detail::said("why")).server_times,
            server_times
        );
        let cut_off = record.cut_off(ms(59.0), crate::record::Detail::said("why"));
        assert_eq!(cut_off.server_times, ServerTimes::default());
    }

    #[test]
    fn a_request_that_is_cut_off_has_no_instant_after_its_end() {
        let mut record = steady(10.0, 40.0, 10.0, 3);
        (record.picked, record.connected) = (Some(ms(8.0)), Some(ms(9.5)));
        let cut = record.cut_off(ms(9.0), crate::record::Detail::said("why"));
        assert_eq!((cut.picked, cut.connected, cut.ended), (None, None, None), "it never began");
        let mut waiting = steady(10.0, 40.0, 10.0, 3);
        (waiting.picked, waiting.connected) = (Some(ms(5.0)), Some(ms(30.0)));
        let cut = waiting.cut_off(ms(20.0), crate::record::Detail::said("why"));
        assert_eq!((cut.picked, cut.connected), (Some(ms(5.0)), None));
    }

    #[test]
    fn absent_server_times_are_omitted_from_the_json_of_a_record() {
        let mut record = steady(0.0, 40.0, 10.0, 3);
        let json = serde_json::to_string(&record).unwrap();
        assert!(!json.contains("server_times"), "{json}");
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
        record.server_times = record.server_times.with(ServerTime::Total, Some(70_000));
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }

    #[test]
    fn stated_parts_are_added_only_if_the_server_does_not_state_their_sum() {
        use ServerTime::{Decode, FirstToken, Inference, Load, Prefill, Queue, Total};
        let cases: [(&[(ServerTime, u32)], _, _); 5] = [
            (&[(Prefill, 4), (Decode, 9)], Some(4.0), Some(13.0)),
            (&[(Queue, 2), (Prefill, 4), (FirstToken, 7), (Decode, 9)], Some(7.0), Some(16.0)),
            (&[(Queue, 2), (Inference, 9)], Some(2.0), Some(11.0)),
            (&[(Load, 1), (Prefill, 4), (Decode, 9), (Total, 20)], Some(5.0), Some(20.0)),
            (&[], None, None),
        ];
        for (stated, first, all) in cases {
            let times = stated.iter().fold(ServerTimes::default(), |times, &(time, ms)| {
                times.with(time, Some(1_000 * ms))
            });
            assert_eq!((times.to_first_token_ms(), times.in_all_ms()), (first, all), "{stated:?}");
        }
    }
}
