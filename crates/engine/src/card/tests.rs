//! Tests of reading card files, and of refusing impossible figures.

use super::*;

#[test]
fn a_card_is_unchanged_after_serialization_and_is_found_by_its_name() {
    for known in cards() {
        let text = toml::to_string(known).unwrap();
        assert_eq!(&Card::parse(&text, "x").unwrap(), known);
        assert_eq!(card(&known.name).unwrap().as_ref(), Some(known));
    }
    assert_eq!(card("abacus").unwrap(), None);
}

#[test]
fn a_card_is_meant_by_its_name_in_any_case_or_by_its_family() {
    for (name, meant) in [
        ("H100", Some("h100-sxm")),
        ("h100", Some("h100-sxm")),
        ("H100-PCIe", Some("h100-pcie")),
        ("A100", Some("a100-sxm-80gb")),
        ("a100-pcie", Some("a100-pcie-80gb")),
        ("V100", Some("v100-pcie-32gb")),
        ("L4", Some("l4")),
        ("h10", None),
        ("", None),
    ] {
        assert_eq!(card_meant(name).map(|card| card.name.as_str()), meant, "{name}");
    }
}

/// The message about a card file in which the first line of a key is replaced.
fn refused(key: &str, value: &str) -> String {
    let known = cards().find(|card| card.name == "h100-sxm").unwrap();
    let text = toml::to_string(known).unwrap();
    let mut found = false;
    let lines = text.lines().map(|line| {
        let hit = !found && line.starts_with(&format!("{key} = "));
        found |= hit;
        if hit { format!("{key} = {value}\n") } else { format!("{line}\n") }
    });
    match Card::parse(&lines.collect::<String>(), "mine.toml") {
        Ok(_) => panic!("{key} = {value} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_figure_outside_of_its_range_is_refused_with_the_range_and_what_to_write() {
    for (key, value, wanted) in [
        ("bandwidth_bytes_per_s", "-1.0", "= -1: must be between 1e10 and 1e17"),
        ("bandwidth_bytes_per_s", "3350.0", "such as 3.35e12"),
        ("memory_bytes", "80", "= 80: must be between 1e8 and 1e13; write bytes"),
        ("memory_bytes", "-5", "= -5: must be between 1e8 and 1e13; write bytes"),
        ("memory_bytes", "48.5", "= 48.5: must be a whole number"),
        ("dense_flops_per_s", "989.0", "such as 9.89e14 for 989 TFLOP/s"),
        ("link_latency_us", "nan", "link_latency_us = NaN: must be between 0 and 10000"),
        ("capability", "[89, 0]", "such as [8, 9] for 8.9"),
        ("capability", "[8, 9, 0]", "capability = [8, 9, 0]: has 3 values; write 2"),
        ("capability", "{ a = 1 }", "capability = { a = 1 }: write the major and the minor number"),
        ("capability", "8.10", "capability = 8.10: a number does not keep the zero"),
        ("capability", "8.10", "write [8, 10]"),
        ("prompt_attention_tflops", "680e12", "operations.prompt_attention_tflops = 6.8e14"),
        (
            "stream_tb_per_s",
            "[[1.0, 2597.0]]",
            "operations.bf16.stream_tb_per_s, row 1 = 2597: must be between 0.00335 and 6.7",
        ),
        (
            "tflops",
            "[[512.0, 758.8], [1024.0, 805.5, 7]]",
            "operations.bf16.tflops, row 2 = [1024.0, 805.5, 7]: has 3 values; write 2: [rows, \
             TFLOP/s]",
        ),
        ("reductions", "[[2.0, 4.0]]", "operations.reductions, row 1 = [2.0, 4.0]: has 2"),
    ] {
        let message = refused(key, value);
        assert!(message.starts_with("mine.toml: "), "{message}");
        assert!(message.contains(wanted), "{key} = {value}: {message}");
    }
    for (tables, wanted) in [
        ("operations = 5", "x: operations = 5: must be a table; write [operations] and its keys"),
        ("operations.bf16 = 5", "; operations.bf16 = 5: must be a table; write [operations.bf16]"),
    ] {
        let known = Card { operations: None, ..built_in(0).clone() };
        let text = format!("{}{tables}", toml::to_string(&known).unwrap());
        let told = Card::parse(&text, "x").unwrap_err().to_string();
        assert!(told.contains(wanted), "{told}");
    }
    assert!(card("no-such-file.toml").unwrap_err().to_string().contains("cannot read"));
}

#[test]
fn one_error_names_all_missing_keys_of_a_card_file_and_every_built_in_file_is_a_valid_example() {
    let told = Card::parse("name = \"mine\"\nmemory_bytes = 48e9", "mine.toml").unwrap_err();
    let told = told.to_string();
    for key in ["source", "bandwidth_bytes_per_s", "capability", "link_latency_us"] {
        assert!(told.contains(&format!("{key} (")), "{key}: {told}");
    }
    assert!(!told.contains("name (") && told.contains("list cards l4"), "{told}");
    let text =
        format!("{}\n[operations]\nkv_bandwidth_share = 0.9", card_file(built_in(0)).unwrap());
    let told = Card::parse(&text, "mine.toml").unwrap_err().to_string();
    assert!(
        told.contains("operations.prompt_attention_tflops (") && told.contains("bf16 ("),
        "{told}"
    );
    for known in cards() {
        let file = card_file(known).expect("a file");
        assert_eq!(Card::parse(file, "copy.toml").as_ref(), Ok(known));
    }
}

#[test]
fn a_compute_capability_may_be_written_as_one_number_or_as_text() {
    let file = card_file(built_in(0)).expect("a file");
    let of = |value: &str| {
        let text = file.replace("capability = [8, 0]", &format!("capability = {value}"));
        Card::parse(&text, "x").map(|card| card.capability)
    };
    for (value, expected) in
        [("8.9", (8, 9)), ("[8, 9]", (8, 9)), ("9.0", (9, 0)), ("12", (12, 0)), ("\"8.6\"", (8, 6))]
    {
        assert_eq!(of(value), Ok(expected), "{value}");
    }
    for value in ["\"sm_89\"", "true", "-8.9"] {
        let told = of(value).unwrap_err().to_string();
        assert!(told.contains("such as 8.9 or [8, 9]"), "{value}: {told}");
    }
    assert!(of("89").unwrap_err().to_string().contains("between 0 and 30"));
}

/// The H100 has 80 GB, 3.35 TB/s, 989 TFLOP/s, 450 GB/s to another card.
#[test]
fn figures_of_a_card_in_another_unit_or_with_another_exponent_are_refused() {
    for (key, values) in [
        // In GB/s, MB/s and kB/s; as 3350 TB/s and 3.35 EB/s.
        ("bandwidth_bytes_per_s", &["3350.0", "3.35e6", "3.35e9", "3350e12", "3.35e18"][..]),
        // In TFLOP/s, GFLOP/s and MFLOP/s; as 989 PFLOP/s.
        ("dense_flops_per_s", &["989.0", "9.89e5", "9.89e8", "989e15"]),
        ("fp8_flops_per_s", &["1979.0", "1979e15"]),
        // In GB, MB and kB; as 80 TB.
        ("memory_bytes", &["80", "80_000", "80_000_000", "80e12"]),
        // In GB/s and MB/s; as 450 TB/s.
        ("link_bytes_per_s", &["450.0", "4.5e5", "450e12"]),
    ] {
        for value in values {
            let message = refused(key, value);
            assert!(message.contains("bytes") || message.contains("operations"), "{message}");
        }
    }
    let message = refused("bandwidth_bytes_per_s", "3350e12");
    assert!(message.contains("= 3.35e15 does not fit 1.979e15 operations per"), "{message}");
}

#[test]
fn the_figures_of_small_and_of_very_large_devices_are_accepted() {
    for (name, memory, bandwidth, dense, single, capability) in [
        ("jetson-nano", 4e9, 2.56e10, 4.7e11, 2.35e11, (5, 3)),
        ("p40", 24e9, 3.46e11, 1.8e11, 1.18e13, (6, 1)),
        ("processor", 64e9, 5e10, 1e11, 1e11, (0, 0)),
        ("gaudi3", 128e9, 3.7e12, 1.835e15, 2.9e13, (0, 0)),
        ("groq-lpu", 2.3e8, 8e13, 1.88e14, 1e13, (0, 0)),
        ("wse-3", 44e9, 2.1e16, 1.25e17, 1e16, (0, 0)),
    ] {
        let card = Card {
            name: name.to_owned(),
            memory_bytes: memory as u64,
            bandwidth_bytes_per_s: bandwidth,
            dense_flops_per_s: dense,
            fp8_flops_per_s: None,
            single_flops_per_s: single,
            capability,
            link_bytes_per_s: 1e6,
            operations: None,
            ..built_in(0).clone()
        };
        let text = toml::to_string(&card).unwrap();
        assert_eq!(Card::parse(&text, name).as_ref(), Ok(&card));
    }
}

#[test]
fn a_whole_number_of_bytes_may_be_written_as_a_float() {
    let text = toml::to_string(built_in(0)).unwrap();
    let bytes = format!("memory_bytes = {}", built_in(0).memory_bytes);
    let read = Card::parse(&text.replace(&bytes, "memory_bytes = 48e9"), "x").unwrap();
    assert_eq!(read.memory_bytes, 48_000_000_000);
}

#[test]
fn no_measured_operation_is_faster_than_the_data_sheet() {
    for card in cards() {
        let Some(operations) = &card.operations else { continue };
        for (curve, bytes, peak) in [
            (Some(&operations.bf16), 2.0, card.dense_flops_per_s),
            (operations.fp8.as_ref(), 1.0, card.fp8_flops_per_s.unwrap_or(1.0)),
        ] {
            for rows in [1.0, 20.0, 256.0, 300.0, 2048.0, 20_000.0] {
                let Some(curve) = curve else { continue };
                let seconds = through(&curve.points(bytes), rows);
                assert!(seconds > bytes / card.bandwidth_bytes_per_s, "{} {rows}", card.name);
                assert!(seconds > 2.0 * rows / peak, "{} {rows}", card.name);
            }
        }
    }
}
