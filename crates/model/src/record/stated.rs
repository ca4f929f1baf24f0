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

/// Times of a request as the server states them, in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTimes {
    /// The time in the server's queue.
    pub queue_ms: Option<u32>,
    /// The time of prefill and decode, without the time in the queue.
    pub inference_ms: Option<u32>,
    /// The time from the arrival of the request to its last token.
    pub total_ms: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{ms, steady};
    use crate::record::Record;

    #[test]
    fn a_record_cut_off_before_its_end_has_no_server_times() {
        let server_times = ServerTimes { queue_ms: Some(3), ..ServerTimes::default() };
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
        record.server_times.total_ms = Some(70);
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }
}
