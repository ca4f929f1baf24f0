//! Tests of pages as functions, with a small store.

use inferometer_net::http::pages::Body;
use inferometer_net::wall_clock_ns;
use inferometer_store::{Ending, LiveNote, RunState, Store};
use inferometer_web::Site;

use crate::made::{CHINESE, EVIL, Made, event, get, streamed};
use crate::markup::check;

/// A store with three runs with results (the second one with markup in its model's name), and a
/// prediction without results.
fn filled() -> (Made, [String; 4]) {
    let mut made = Made::new();
    let ids = [
        made.complete(0, 1, "chatglm3-6b", 1.0),
        made.complete(1, 2, EVIL, 1.2),
        made.complete(2, 3, CHINESE, 1.0),
        made.begin(3, 4, "chatglm3-6b", true),
    ];
    (made, ids.map(|id| id.to_string()))
}

#[test]
fn every_page_is_well_formed_and_no_text_becomes_markup() {
    let (made, [a, b, c, d]) = filled();
    drop(made.log(&made.store.run(&d).unwrap().row.id));
    let mut site = made.site();
    for target in [
        "/".to_owned(),
        format!("/?q=%3Cscript%3E&model={}&page=7&sort=-model", "%22%3E%3Cb%3E"),
        "/live".to_owned(),
        "/records".to_owned(),
        "/metrics".to_owned(),
        "/compare".to_owned(),
        format!("/compare?run={b}&run={a}&run={c}"),
        "/trend".to_owned(),
        "/trend?tag=%3Cscript%3E".to_owned(),
        format!("/runs/{b}"),
        format!("/runs/{c}"),
        format!("/runs/{d}"),
        format!("/runs/{d}/live"),
        "/runs/%3Cscript%3E".to_owned(),
        "/nothing".to_owned(),
    ] {
        let answer = get(&mut site, &target);
        let text = answer.text();
        if answer.status != 303 {
            assert!(!text.contains("<script>alert") && !text.contains("\"><b>"), "{target}");
            check(&text);
            assert!(text.contains("href=\"#content\"") && text.contains("id=\"content\""));
        }
    }
    let names = [(&b, "&lt;script&gt;alert(&#39;1&#39;)"), (&c, CHINESE)];
    for (run, name) in names {
        assert!(get(&mut site, "/").text().contains(name));
        assert!(get(&mut site, &format!("/runs/{run}")).text().contains(name));
    }
}

#[test]
fn each_engine_that_the_filter_offers_finds_its_runs() {
    let mut made = Made::new();
    let unknown = made.begin_of_unknown_engine(0, 1).to_string();
    let known = made.complete(1, 2, "chatglm3-6b", 1.0).to_string();
    let mut site = made.site();
    let list = get(&mut site, "/").text();
    for (engine, found, other) in
        [("unknown engine", &unknown, &known), ("vllm 0.2.7", &known, &unknown)]
    {
        assert!(list.contains(&format!("<option value=\"{engine}\">")), "{engine}");
        let page = get(&mut site, &format!("/?engine={}", engine.replace(' ', "+"))).text();
        assert!(page.contains(found.as_str()) && !page.contains(other.as_str()), "{engine}");
    }
}

#[test]
fn a_run_without_a_log_has_no_link_to_its_records_and_its_live_page_says_so() {
    let mut made = Made::new();
    let id = made.begin(0, 1, "chatglm3-6b", false);
    let mut site = made.site();
    let page = get(&mut site, &format!("/runs/{id}")).text();
    let link = format!("/runs/{id}/live");
    assert!(!page.contains(&link) && page.contains("its log does not exist"), "{page}");
    let live = get(&mut site, &link);
    assert_eq!(live.status, 404);
    assert!(live.text().contains("its log does not exist"));
    drop(made.log(&id));
    let page = get(&mut site, &format!("/runs/{id}")).text();
    assert!(page.contains(&link), "{page}");
    assert_eq!(get(&mut site, &link).status, 200);
}

#[test]
fn the_kind_filter_lists_simulated_runs_and_stays_selected_in_the_form() {
    let mut made = Made::new();
    let measured = made.complete(0, 1, "chatglm3-6b", 1.0).to_string();
    let simulated = made.simulated(1, 2, "chatglm3-6b").to_string();
    let mut site = made.site();
    let told = get(&mut site, "/?kind=good").text();
    assert!(told.contains("is not one of measured, predicted, imported, simulated"), "{told}");
    for (kind, both) in [("measured", true), ("simulated", false)] {
        let text = get(&mut site, &format!("/?kind={kind}")).text();
        assert!(text.contains(&simulated), "{kind}");
        assert_eq!(text.contains(&measured), both, "{kind}");
        assert!(text.contains(&format!("<option value=\"{kind}\" selected")), "{text}");
    }
}

#[test]
fn no_prediction_is_listed_as_valid() {
    let mut made = Made::new();
    let id = made.complete_predicted(0, 1, "chatglm3-6b").to_string();
    let text = get(&mut made.site(), "/").text();
    let row = text.split("<tr>").find(|row| row.contains(&id)).unwrap();
    assert!(!row.contains("valid<") && row.contains(">-</span>"), "{row}");
    assert!(!row.contains(" disabled"), "{row}");
}

#[test]
fn the_list_of_runs_is_filtered_sorted_and_paged_as_requested() {
    let (made, ids) = filled();
    let mut site = made.site();
    let mut shown = |target: &str| {
        let text = get(&mut site, target).text();
        let mut found: Vec<(usize, usize)> = ids
            .iter()
            .enumerate()
            .filter_map(|(run, id)| Some((text.find(&format!("href=\"/runs/{id}\""))?, run)))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, run)| run).collect::<Vec<_>>()
    };
    for (target, expected) in [
        ("/", vec![3, 2, 1, 0]),
        ("/?sort=started", vec![0, 1, 2, 3]),
        ("/?sort=model", vec![1, 3, 0, 2]),
        ("/?sort=-model", vec![2, 3, 0, 1]),
        ("/?model=chatglm3-6b", vec![3, 0]),
        ("/?model=GLM", vec![3, 0]),
        ("/?from=2026-11-21T00:00&to=2026-11-22", vec![2, 1]),
        ("/?kind=predicted", vec![3]),
        ("/?kind=measured", vec![2, 1, 0]),
        ("/?state=complete&q=glm", vec![0]),
        ("/?q=SCRIPT+vllm", vec![1]),
        ("/?q=%E6%B5%A6%E8%AF%AD", vec![2]),
        ("/?from=2026-11-21&to=2026-11-22", vec![2, 1]),
        ("/?size=2&page=2", vec![1, 0]),
        ("/?size=3&page=9", vec![0]),
        ("/?engine=sglang", vec![]),
    ] {
        assert_eq!(shown(target), expected, "{target}");
    }
    let mut site = made.site();
    for wrong in [
        "/?sort=colour",
        "/?page=x",
        "/?page=0",
        "/?size=0",
        "/?from=yesterday",
        "/?from=2026-02-31",
        "/?from=2026-11-22&to=2026-11-21",
        "/?kind=good",
        "/?state=good",
    ] {
        assert_eq!(get(&mut site, wrong).status, 400, "{wrong}");
    }
    assert!(get(&mut site, "/?kind=predicted").text().contains("1 run. The store has 4."));
    let moved = get(&mut site, "/runs?kind=predicted&q=a+b");
    assert_eq!((moved.status, &*moved.headers[0].1), (303, "/?kind=predicted&q=a%20b"));
}

#[test]
fn the_dashboard_serves_the_report_and_files_of_a_run_and_no_other_files() {
    let (made, [a, ..]) = filled();
    let mut site = made.site();
    let page = get(&mut site, &format!("/runs/{a}")).text();
    assert!(page.contains("Settings") && page.contains("128"));
    let beginning = get(&mut site, &format!("/runs/{}", &a[..10]));
    assert_eq!((beginning.status, &beginning.headers[0].1), (303, &format!("/runs/{a}")));
    let mut files = 0;
    for part in page.split(&format!("href=\"/runs/{a}/")).skip(1) {
        let name = part.split('"').next().unwrap();
        let answer = get(&mut site, &format!("/runs/{a}/{name}"));
        let Body::Complete(bytes) = &answer.body else { panic!("{name}") };
        assert!(answer.status == 200 && !bytes.is_empty(), "{name}");
        files += 1;
    }
    // Every run has six text files. This run has a single cell and no log, so it has no charts.
    assert!(files >= 6, "{files}");
    let png = get(&mut site, &format!("/runs/{a}/requests-per-s.png"));
    assert!(png.status == 404 || png.content_type == "image/png");
    for missing in ["blocks.log", "x.png", "..", "%2e%2e%2fruns.db", "runs.db", "report.html.bak"] {
        let answer = get(&mut site, &format!("/runs/{a}/{missing}"));
        assert_eq!(answer.status, 404, "{missing}");
    }
    assert_eq!(get(&mut site, "/../../etc/passwd").status, 404);
    assert_eq!(get(&mut site, "/runs/none").status, 404);
}

#[test]
fn tags_link_to_their_runs_and_notes_are_shown_on_the_page_of_their_run() {
    let (mut made, [a, b, ..]) = filled();
    let [a, b] = [a, b].map(|id| made.store.run(&id).unwrap().row.id);
    made.store.tag(&a, &["基线".to_owned()], &[]).unwrap();
    made.store.note(&a, "after the <b>driver</b>", 0).unwrap();
    let mut site = made.site();
    let page = get(&mut site, &format!("/runs/{a}")).text();
    check(&page);
    assert!(page.contains("href=\"/?tag=%E5%9F%BA%E7%BA%BF\">基线</a>"));
    assert!(page.contains("<li>after the &lt;b&gt;driver&lt;/b&gt; <span"));
    let list = get(&mut site, "/?tag=%E5%9F%BA%E7%BA%BF").text();
    assert!(list.contains(a.as_str()) && !list.contains(b.as_str()));
}

#[test]
fn selected_runs_are_compared_with_the_oldest_or_with_the_named_baseline() {
    let (made, [a, b, c, d]) = filled();
    let mut site = made.site();
    let text = get(&mut site, &format!("/compare?run={c}&run={b}&run={a}")).text();
    assert!(
        text.contains(&format!("{b} against {a}")) && text.contains(&format!("{c} against {a}"))
    );
    assert!(text.contains("DIFFERS") && text.contains("no difference"));
    assert!(text.contains("<figure"));
    let swapped = get(&mut site, &format!("/compare?a={b}&b={a}")).text();
    assert!(swapped.contains(&format!("{a} against {b}")) && swapped.contains("DIFFERS"));
    assert!(text.contains("one after the other") && text.contains("measure both in turn"));
    let part = &c[c.len() - 4..];
    let by_part = get(&mut site, &format!("/compare?run={part}&run={a}")).text();
    assert!(by_part.contains(&format!("{c} against {a}")), "the oldest is the baseline");
    assert_eq!(get(&mut site, "/runs/latest-imported").status, 404, "no run was imported");
    assert_eq!(get(&mut site, &format!("/compare?a={a}&b={d}")).status, 400, "without results");
    assert_eq!(get(&mut site, &format!("/compare?a={a}&b={b}&margin=200")).status, 400);
    let wide = get(&mut site, &format!("/compare?a={a}&b={b}&margin=40")).text();
    assert!(wide.contains("is within 40 %"));
}

#[test]
fn the_live_page_of_a_run_follows_its_growing_log() {
    let mut made = Made::new();
    let id = made.begin(0, 1, "chatglm3-6b", false);
    let mut log = made.log(&id);
    log.flush().unwrap();
    let mut site = made.site();
    let page = get(&mut site, "/live");
    assert_eq!(page.headers[0].1, format!("/runs/{id}/live"));
    let target = format!("/runs/{id}/live");
    let page = get(&mut site, &target).text();
    assert!(page.contains("0 of 8 requests have ended") && page.contains("http-equiv=\"refresh\""));
    assert!(page.contains(&format!("data-events=\"/runs/{id}/events\"")));
    for index in 0..3 {
        log.append(&streamed(index, 1.0)).unwrap();
    }
    log.flush().unwrap();
    let (markup, is_last) = event(&mut site, &id);
    assert!(markup.contains("3 of 8 requests have ended") && !is_last);
    assert!(markup.contains("50.") && markup.contains("live-ttft"));
    check(&format!("<!DOCTYPE html>{}", markup));
    let note = made.store.live_note(&id);
    for (at_unix_ns, is_shown) in [(wall_clock_ns(), true), (wall_clock_ns() / 2, false)] {
        let (begun, ended) = (8, 3);
        LiveNote { at_unix_ns, begun, ended, ..LiveNote::default() }.write(&note).unwrap();
        let (markup, _) = event(&mut site, &id);
        let is_there = markup.contains("<b>5</b> <span>in flight now</span>");
        assert_eq!(is_there, is_shown, "an old note is not shown");
    }
    log.end_pass(Ending::Complete, None).unwrap();
    log.finish(Ending::Complete).unwrap();
    let (markup, is_last) = event(&mut site, &id);
    assert!(markup.contains("1 of 1 passes have ended") && is_last);
}

#[test]
fn an_unreadable_run_is_reported_and_its_event_stream_ends() {
    let mut made = Made::new();
    let id = made.begin(0, 1, "chatglm3-6b", false);
    let mut site = made.site();
    assert_eq!(get(&mut site, &format!("/runs/{id}/live")).status, 404, "it has no log yet");
    let (markup, is_last) = event(&mut site, &id);
    assert!(is_last && markup.contains("its log does not exist"), "{markup}");
}

#[test]
fn the_dashboard_reads_a_store_while_others_write_and_never_writes_to_it() {
    let mut made = Made::new();
    let mut site = made.site();
    assert!(get(&mut site, "/").text().contains("no runs yet"));
    let id = made.complete(0, 1, "new", 1.0);
    assert!(get(&mut site, "/").text().contains(id.as_str()));
    let mut reader = Store::open_to_read(made.path()).unwrap();
    let summary = reader.run(id.as_str()).unwrap().summary.unwrap();
    assert!(reader.finish_run(&id, &summary, RunState::Complete, 0).is_err());
    let nowhere = made.folder.path().join("none.db");
    assert!(Site::open(&nowhere).is_err() && !nowhere.exists());
}

#[test]
fn the_page_of_a_trend_names_the_run_since_which_figures_are_worse() {
    let mut made = Made::new();
    let mut ids = Vec::new();
    for at in 0_u32..30 {
        let slower = if at < 20 { 1.0 } else { 1.3 };
        let noise = 1.0 + 0.01 * [0.3, -0.8, 0.5, 1.1, -1.2, 0.1, -0.4][at as usize % 7];
        ids.push(made.complete(i64::from(at), at as u16, "chatglm3-6b", slower * noise));
    }
    for (at, id) in ids.iter().enumerate() {
        let tags = ["nightly".to_owned(), format!("commit=c{at}")];
        made.store.tag(id, &tags, &[]).unwrap();
    }
    let mut site = made.site();
    let list = get(&mut site, "/trend").text();
    assert!(list.contains("/trend?tag=nightly") && list.contains("(30 runs)"), "{list}");
    assert!(!list.contains("commit="), "the tags of single runs are no series");
    let page = get(&mut site, "/trend?tag=nightly").text();
    check(&page);
    assert!(
        page.contains("since c20") && page.contains("worse (") && page.contains("<svg"),
        "{page}"
    );
    let days = get(&mut site, "/trend?tag=nightly&by=run").text();
    assert!(days.contains(&format!("since {}", ids[20])), "{days}");
}
