//! Tests of downloads from a mirror on this machine: requests, checksums, the cache and errors.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::thread;

use inferometer_model::sha256::sha256_hex;
use inferometer_workload::fetch::{self, ChecksumOrigin, DataSet, DownloadSource, FetchConfig};
use inferometer_workload::tokenizer::hub::{HubAccess, HubConfig};

const TRACE: DataSet = DataSet {
    name: "a-trace",
    what: "a file of this test",
    workload: "trace",
    origin: DownloadSource::Web("raw.example.org/traces/a.csv"),
    sha256: None,
};

/// Starts a server that sends these answers, one per request, and then ends. Its thread returns the
/// requested paths.
fn mirror(answers: Vec<(u16, &'static str)>) -> (SocketAddr, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a client on this machine");
    let address = listener.local_addr().expect("a client on this machine");
    let serve = move || {
        answers
            .into_iter()
            .map(|(status, body)| {
                let (mut stream, _) = listener.accept().expect("a client on this machine");
                let (mut asked, mut chunk) = (String::new(), [0; 1_024]);
                while !asked.contains("\r\n\r\n") {
                    let count = stream.read(&mut chunk).expect("a client on this machine");
                    asked +=
                        std::str::from_utf8(&chunk[..count]).expect("a client on this machine");
                }
                let length = body.len();
                let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n");
                write!(stream, "{head}connection: close\r\n\r\n{body}")
                    .expect("a client on this machine");
                asked.split(' ').nth(1).expect("a request line").to_owned()
            })
            .collect()
    };
    (address, thread::spawn(serve))
}

fn config(cache: &Path, address: SocketAddr) -> FetchConfig {
    let endpoint = format!("http://{address}");
    FetchConfig {
        cache: cache.to_owned(),
        mirror: Some(endpoint.clone()),
        hub: HubConfig {
            endpoint,
            cache: cache.to_owned(),
            access: HubAccess::Online,
            token: None,
        },
    }
}

fn get(data_set: &DataSet, config: &FetchConfig) -> Result<fetch::Fetched, String> {
    fetch::fetch(data_set, config, &mut |_, _| {}).map_err(|error| error.to_string())
}

#[test]
fn a_data_set_is_downloaded_once_and_its_checksum_is_stored_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let (address, server) = mirror(vec![(200, "1,2,3\n")]);
    let config = config(folder.path(), address);
    let first = get(&TRACE, &config).unwrap();
    assert_eq!(server.join().unwrap(), ["/raw.example.org/traces/a.csv"]);
    assert_eq!((first.checked, first.is_new), (ChecksumOrigin::First, true));
    assert_eq!(first.sha256, sha256_hex(b"1,2,3\n"));
    assert_eq!(std::fs::read(&first.path).unwrap(), b"1,2,3\n");
    // The mirror no longer runs, so this call can only check the file in the cache.
    let again = get(&TRACE, &config).unwrap();
    assert_eq!((again.checked, again.is_new), (ChecksumOrigin::Recorded, false));
    std::fs::write(&first.path, "1,2,4\n").unwrap();
    let told = get(&TRACE, &config).unwrap_err();
    assert!(told.contains(&first.sha256) && told.contains("a.csv"), "{told}");
}

#[test]
fn a_download_with_a_wrong_checksum_is_refused_and_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let known = "a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447";
    let origin = DownloadSource::Hub { repository: "org/data", revision: "r1", file: "sub/b.json" };
    let data_set = DataSet { name: "b", origin, sha256: Some(known), ..TRACE };
    let (address, server) = mirror(vec![(200, "something else"), (200, "hello world\n")]);
    let config = config(folder.path(), address);
    let told = get(&data_set, &config).unwrap_err();
    assert!(told.contains(known), "{told}");
    assert_eq!(std::fs::read_dir(folder.path().join("b")).unwrap().count(), 0);
    assert_eq!(get(&data_set, &config).unwrap().checked, ChecksumOrigin::Known);
    assert_eq!(server.join().unwrap(), ["/datasets/org/data/resolve/r1/sub/b.json"; 2]);
}

#[test]
fn errors_of_refused_and_offline_downloads_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (address, server) = mirror(vec![(404, "no")]);
    let mut config = config(folder.path(), address);
    let told = get(&TRACE, &config).unwrap_err();
    assert!(told.contains("404") && told.contains("INFEROMETER_MIRROR"), "{told}");
    server.join().unwrap();
    config.hub.access = HubAccess::Offline;
    let told = get(&TRACE, &config).unwrap_err();
    assert!(told.contains("HF_HUB_OFFLINE") && told.contains("a.csv"), "{told}");
}

#[test]
fn a_data_set_in_a_plan_is_a_path_or_the_name_of_a_fetched_data_set() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), SocketAddr::from(([127, 0, 0, 1], 1)));
    let file = folder.path().join("my.json");
    assert_eq!(fetch::local(file.to_str().unwrap(), &config), Ok(file));
    let told = fetch::local("sharegpt", &config).unwrap_err().to_string();
    assert!(told.contains("inferometer fetch sharegpt"), "{told}");
    let sharegpt = fetch::data_set("sharegpt").unwrap();
    let path = config.path(sharegpt);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "[]").unwrap();
    assert_eq!(fetch::local("sharegpt", &config), Ok(path));
}

#[test]
fn catalogue_entries_have_unique_names_known_extensions_and_valid_checksums() {
    let names: std::collections::BTreeSet<_> =
        fetch::DATA_SETS.iter().map(|data_set| data_set.name).collect();
    assert_eq!(names.len(), fetch::DATA_SETS.len());
    for data_set in &fetch::DATA_SETS {
        assert!(
            data_set.file().ends_with(".json")
                || data_set.file().ends_with(".jsonl")
                || data_set.file().ends_with(".csv"),
            "{}",
            data_set.name
        );
        assert!(data_set.sha256.is_none_or(|sha256| sha256.len() == 64), "{}", data_set.name);
        assert!(
            !data_set.origin.to_string().contains(char::is_whitespace)
                || data_set.name == "sharegpt"
        );
    }
}
