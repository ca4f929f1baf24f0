//! `--plots`: which plots a run writes, and which ones its report names.

use std::fs;

use crate::support::{folder, inferometer, told};

#[test]
fn plots_have_the_requested_form_and_the_report_names_only_plots_that_exist() {
    for form in ["png", "svg", "none"] {
        let folder = folder();
        let flags = ["--input-lengths", "8", "--output-lengths", "8", "--requests", "2"];
        let output = inferometer(
            folder.path(),
            &[&["predict", "--out", "out", "--plots", form][..], &flags].concat(),
        );
        assert!(output.status.success(), "{}", told(&output));
        let out = String::from_utf8_lossy(&output.stdout);
        assert_eq!(out.contains("plots: "), form != "none", "{out}");
        assert_eq!(out.contains(&format!("plots: out/*.{form}")), form != "none", "{out}");
        let report = fs::read_to_string(folder.path().join("out/report.md")).unwrap();
        for one in ["png", "svg"] {
            let exists = folder.path().join(format!("out/timeline.{one}")).exists();
            let is_named = report.contains(&format!("(./timeline.{one})"));
            assert_eq!((exists, is_named), (one == form, one == form), "{form}: {one}");
        }
    }
    let refused = inferometer(folder().path(), &["predict", "--plots", "gif"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(told(&refused).contains("plots (--plots): `gif` is unknown"), "{}", told(&refused));
}
