//! Tests of the parts of the guard that need no server.

use super::*;

#[test]
fn a_signal_is_not_lost_if_the_event_queue_is_full() {
    // The other thread could make room in the queue before the signal, so there are many tries.
    for _ in 0..50 {
        let (sender, events) = sync_channel(1);
        sender.send(GuardEvent::LogEnded).expect("room for one event");
        let count = move || events.iter().filter(|event| matches!(event, GuardEvent::End)).count();
        let reading = spawn(count).expect("a thread");
        end_on_signal(&sender);
        drop(sender);
        assert_eq!(reading.join().expect("no panic"), 1);
    }
}

#[test]
fn only_secret_values_of_the_environment_and_headers_are_redacted_in_the_log() {
    let headers = [("authorization".to_owned(), "Bearer sk-of-the-header".to_owned())];
    let environment = [
        ("HF_TOKEN", "hf_abcdefghijklmnop"),
        ("DB_PASSWORD", "correct horse battery"),
        ("GITHUB_TOKEN", "ghp_0123456789"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/somebody/gcp.json"),
        ("HOME", "/home/somebody"),
    ];
    let environment = environment.map(|(name, value)| (name.into(), value.into()));
    let command = ["serve", "--header", "Authorization: Bearer sk-of-the-command"];
    let config = GuardConfig {
        headers: headers.to_vec(),
        command: command.map(str::to_owned).to_vec(),
        ..GuardConfig::default()
    };
    let secrets = secrets(&config, environment.into_iter());
    let line = "hf_abcdefghijklmnop sk-of-the-header 'correct horse battery' ghp_0123456789 \
                /home/somebody correct Bearer sk-of-the-command";
    assert_eq!(secrets.redact(line), "*** *** '***' *** /home/somebody correct Bearer ***");
}
