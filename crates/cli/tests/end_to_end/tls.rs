//! Servers with TLS: trusted with an additional authority, rejected without it, and accepted without verification only
//! with a clear warning.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use crate::support::{Engine, folder, inferometer, measure, told};

pub const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../net/fixtures/tls/");

/// Starts a gate that accepts TLS connections and forwards their content to `to`. Returns its address.
pub fn gate(to: &str) -> String {
    gate_that_shows("server", to)
}

/// Like [`gate`], with the certificate and key of this name.
fn gate_that_shows(name: &str, to: &str) -> String {
    gate_by(name, to, None)
}

/// Like [`gate`], but only for clients with a certificate of the clients' authority.
pub fn gate_for_known_clients(to: &str) -> String {
    let pem = std::fs::read(format!("{FIXTURES}client-authority.pem")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    gate_by("server", to, Some(verifier.unwrap()))
}

fn gate_by(name: &str, to: &str, clients: Option<Arc<dyn ClientCertVerifier>>) -> String {
    let file = |name: &str| std::fs::read(format!("{FIXTURES}{name}")).unwrap();
    let certificates = CertificateDer::pem_slice_iter(&file(&format!("{name}.pem")))
        .collect::<Result<_, _>>()
        .unwrap();
    let key = PrivateKeyDer::from_pem_slice(&file(&format!("{name}.key"))).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(verifier) => builder.with_client_cert_verifier(verifier),
    };
    let config = builder.with_single_cert(certificates, key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let to = to.trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (config, to) = (Arc::clone(&config), to.clone());
            std::thread::spawn(move || pass_on(client.unwrap(), &to, config));
        }
    });
    address
}

/// Forwards the data of one connection until either side closes the connection. The two sockets are read in turn.
fn pass_on(mut client: TcpStream, to: &str, config: Arc<ServerConfig>) -> Option<()> {
    let mut tls = ServerConnection::new(config).ok()?;
    while tls.is_handshaking() {
        tls.complete_io(&mut client).ok()?;
    }
    let mut server = TcpStream::connect(to).ok()?;
    let mut buffer = [0; 16 << 10];
    let in_turn = Some(std::time::Duration::from_millis(1));
    client.set_read_timeout(in_turn).ok()?;
    server.set_read_timeout(in_turn).ok()?;
    let waits = |error: &std::io::Error| {
        matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
    };
    loop {
        match tls.read_tls(&mut client) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) if waits(&error) => {}
            Err(_) => return None,
        }
        // Some data may have arrived together with the end of the handshake.
        let mut bytes = vec![0; tls.process_new_packets().ok()?.plaintext_bytes_to_read()];
        tls.reader().read_exact(&mut bytes).ok()?;
        server.write_all(&bytes).ok()?;
        match server.read(&mut buffer) {
            Ok(0) => return None,
            Ok(count) => tls.writer().write_all(&buffer[..count]).ok()?,
            Err(error) if waits(&error) => {}
            Err(_) => return None,
        }
        while tls.wants_write() {
            tls.write_tls(&mut client).ok()?;
        }
    }
}

#[test]
fn a_tls_server_is_measured_if_its_authority_is_trusted_or_the_check_is_disabled() {
    let engine = Engine::start(&[]);
    let url = gate(&engine.url);
    let authority = format!("{FIXTURES}authority.pem");

    let (output, summary) = measure(&url, &["--ca-cert", &authority]);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    let passes = summary["cells"][0]["passes"].as_array().unwrap();
    assert!(passes.iter().all(|pass| pass["outcomes"]["complete"] == pass["planned"]));
    // The time stamps are those of the sockets below TLS.
    let instrument = &passes[0]["instrument"];
    assert_eq!(instrument["kernel_stamped_reads"], instrument["reads"], "{instrument}");
    assert_eq!(summary["target"]["url"], url.as_str());

    // The certificate is not signed by a trusted authority.
    let (output, _) = measure(&url, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = told(&output);
    assert!(said.contains("not signed by a trusted certificate authority"), "{said}");
    assert!(said.contains("--ca-cert") && said.contains("--insecure"), "{said}");

    let (output, summary) = measure(&url, &["--insecure"]);
    let findings = summary.unwrap_or_else(|| panic!("{}", told(&output)))["findings"].clone();
    let codes: Vec<_> = findings.as_array().unwrap().iter().map(|found| &found["code"]).collect();
    assert!(codes.iter().any(|&code| code == "certificate_unchecked"), "{codes:?}");
    assert!(told(&output).contains("was not checked"));
}

#[test]
fn a_self_signed_certificate_is_accepted_only_if_given_as_ca_cert() {
    let engine = Engine::start(&[]);
    let url = gate_that_shows("self-signed", &engine.url);
    let (output, summary) = measure(&url, &["--ca-cert", &format!("{FIXTURES}self-signed.pem")]);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    assert_eq!(summary["cells"][0]["passes"][0]["outcomes"]["complete"], 6);
    let (output, _) = measure(&url, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("its certificate is self-signed"), "{}", told(&output));
}

#[test]
fn an_address_with_the_wrong_scheme_is_reported_with_the_right_scheme() {
    let engine = Engine::start(&[]);
    let secure = gate(&engine.url);
    let plain = engine.url.replace("http://", "https://");
    for (given, words) in [
        (secure.replace("https://", "http://"), format!("uses TLS at this address; give {secure}")),
        (plain, format!("does not use TLS at this address; give {}", engine.url)),
    ] {
        let (output, summary) = measure(&given, &[]);
        assert!(summary.is_none());
        assert_eq!(output.status.code(), Some(1));
        assert!(told(&output).contains(&words), "{}", told(&output));
    }
}

#[test]
fn mistakes_in_certificate_flags_are_refused_before_anything_is_sent() {
    let folder = folder();
    std::fs::write(folder.path().join("none.pem"), "nothing").unwrap();
    std::fs::write(folder.path().join("empty.pem"), "").unwrap();
    for (flags, key) in [
        (&["--target", "http://127.0.0.1:9", "--insecure"][..], "insecure"),
        (
            &["--target", "https://127.0.0.1:9", "--ca-cert", "none.pem"],
            "it contains no certificate",
        ),
        (&["--target", "https://127.0.0.1:9", "--ca-cert", "empty.pem"], "it is empty"),
        (&["--target", "https://127.0.0.1:9", "--ca-cert", "absent.pem"], "absent.pem"),
        (&["--target", "https://127.0.0.1:9", "--ca-cert", "none.pem", "--insecure"], "insecure"),
        (&["--insecure"], "needs a target"),
    ] {
        let output = inferometer(folder.path(), &[&["run"], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(key), "{}", told(&output));
    }
}
