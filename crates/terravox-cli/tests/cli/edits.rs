//! Editing worlds: operations, scripts, undo, and what is refused.

use super::{Folder, text};
use serde_json::Value;

fn world() -> Folder {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64", "--seed", "9"]);
    folder
}

fn digest(report: &Value) -> String {
    report["digest"].as_str().expect("a digest").to_owned()
}

#[test]
fn edits_persist_and_are_undone_and_redone_across_runs() {
    let folder = world();
    let before = digest(&folder.report(&["info", "w.tvx"]));
    let ops = ["dig ball 0,10,0 r=8", "fill Rock box 0,20,0 size=6,4,6 turn=30"];
    let edit = folder.report(&["edit", "w.tvx", ops[0], ops[1]]);
    assert_eq!(edit["operations"], 2);
    assert_eq!(edit["can_undo"], 2);
    let added = edit["added_m3"]["Rock"].as_f64().expect("rock was added");
    assert!((added - 144.0).abs() < 1.5, "{edit}");
    let after = digest(&edit);
    assert_ne!(after, before);
    assert_eq!(digest(&folder.report(&["info", "w.tvx"])), after);
    let undone = folder.report(&["edit", "w.tvx", "--undo", "2"]);
    let volumes = |report: &Value| ["removed_m3", "added_m3"].map(|key| report[key].clone());
    let [removed, added] = volumes(&edit);
    assert_eq!(volumes(&undone), [added, removed], "an undo removes what was added");
    assert_eq!(digest(&undone), before);
    assert_eq!(digest(&folder.report(&["info", "w.tvx"])), before);
    let redone = folder.report(&["edit", "w.tvx", "--redo", "2"]);
    assert_eq!(volumes(&redone), volumes(&edit));
    assert_eq!((digest(&redone), &redone["can_undo"]), (after, &edit["can_undo"]));
    let people = folder.run(&["edit", "w.tvx", "dig ball 0,10,0 r=8"]);
    assert!(text(&people.stdout).contains("can undo"), "{}", text(&people.stdout));
}

#[test]
fn a_script_replays_to_the_same_world() {
    let folder = world();
    std::fs::copy(folder.path("w.tvx"), folder.path("v.tvx")).expect("a copy");
    let script = "# a comment\n\
        dig ball 5,12,3 r=6\n\n\
        {\"brush\":{\"brush\":{\"ball\":{\"centre\":[0,12,0],\"radius\":5}},\
        \"action\":{\"fill\":{\"material\":8}},\"falloff\":1.5}}\n\
        roughen 0.5 ball 0,12,0 r=9 bumps=4 seed=3\n\
        copy -8,0,-8 8,20,8 to=10,5,10 turn=90\n";
    folder.put("s.jsonl", script.as_bytes());
    let first = folder.report(&["edit", "w.tvx", "--script", "s.jsonl"]);
    let second = folder.report(&["edit", "v.tvx", "--script", "s.jsonl"]);
    assert_eq!(first["operations"], 4);
    assert_eq!(digest(&first), digest(&second));
}

#[test]
fn invalid_operations_are_one_line_and_change_nothing() {
    let folder = world();
    let bytes = super::read(folder.path("w.tvx"));
    folder.put("half.jsonl", b"dig ball 0,10,0 r=8\n{\"brush\":{\"brush\":{\"ball\":{\"cen");
    folder.put("unknown.jsonl", b"dig ball 0,10,0 r=8\nexplode ball 0,0,0 r=3\n");
    folder.put(
        "field.jsonl",
        b"{\"brush\":{\"brush\":{\"ball\":{\"centre\":[0,0,0],\"size\":2}},\"action\":\"dig\"}}",
    );
    folder.put("binary.jsonl", &[0xff, 0xfe, 0, 7]);
    for (arguments, words) in [
        (vec![], vec!["nothing to do"]),
        (vec!["dig ball 0,10,0"], vec!["dig ball", "r= is missing"]),
        (vec!["dig ball 0,10,0 r=8", "fill Cheese ball 0,0,0 r=2"], vec!["Cheese", "known are"]),
        (vec!["dig ball 0,10,0 r=8", "dig ball 0,0,0 r=-2"], vec!["radius"]),
        (vec!["dig ball 0,0,0 r=99999"], vec!["one call may touch at most", " m has "]),
        (vec!["dig ball 1e12,0,0 r=9"], vec!["centre", "1000000000000 m"]),
        (vec!["copy 0,0,0 600,600,600 to=0,0,0"], vec!["one call may touch at most"]),
        (vec!["--undo", "1"], vec!["w.tvx", "no operation"]),
        (vec!["--redo", "3"], vec!["w.tvx", "no operation"]),
        (vec!["--script", "half.jsonl"], vec!["half.jsonl", "line 2"]),
        (vec!["--script", "unknown.jsonl"], vec!["line 2", "explode", "give dig"]),
        (vec!["--script", "field.jsonl"], vec!["line 1", "size"]),
        (vec!["--script", "binary.jsonl"], vec!["binary.jsonl"]),
        (vec!["--script", "none.jsonl"], vec!["none.jsonl"]),
    ] {
        folder.refused(&[&["edit", "w.tvx"], &arguments[..]].concat(), &words);
    }
    folder.refused(&["edit", "none.tvx", "dig ball 0,0,0 r=2"], &["none.tvx"]);
    folder.refused(&["edit", "half.jsonl", "dig ball 0,0,0 r=2"], &[".tvx"]);
    let same = digest(&folder.report(&["info", "w.tvx"]));
    std::fs::write(folder.path("old.tvx"), bytes).expect("a file for the test");
    assert_eq!(same, digest(&folder.report(&["info", "old.tvx"])));
}

#[test]
fn refused_operations_are_quoted_in_part_and_in_the_words_of_the_user() {
    let folder = world();
    let many: Vec<String> = (0..2000).map(|i| format!("{i},0,0")).collect();
    let long = format!("dig path {} r=-1", many.join(" "));
    let line = folder.refused(&["edit", "w.tvx", &long], &["operation \"dig path 0,0,0 1,0,0"]);
    assert!(line.len() < 600, "{} characters: {line}", line.len());
    folder.put(
        "mask.jsonl",
        b"{\"brush\":{\"brush\":{\"ball\":{\"centre\":[0,0,0],\"radius\":2}},\"action\":\"dig\",\
          \"mask\":{\"heights\":[9,1]}}}",
    );
    for (arguments, words) in [
        (["--script", "mask.jsonl"], "line 1: heights must be two numbers, the lower first"),
        (["dig ball 0,0,0 r=2 slope=3..1", "smooth ball 0,0,0 r=2"], "slope must be two numbers"),
        (["fill Air ball 0,0,0 r=2", "smooth ball 0,0,0 r=2"], "use dig"),
    ] {
        let line = folder.refused(&[&["edit", "w.tvx"], &arguments[..]].concat(), &[words]);
        assert!(!line.contains("::"), "{line}");
    }
}

#[test]
fn costly_operations_are_refused_and_name_the_option() {
    let folder = world();
    let before = digest(&folder.report(&["info", "w.tvx"]));
    let rod = "fill Rock box 0,90,0 size=600000,1,1";
    let refused = folder.run(&["edit", "w.tvx", rod]);
    assert_eq!(refused.status.code(), Some(2));
    let line = text(&refused.stderr);
    assert!(line.contains("chunks, more than the 16384 allowed"), "{line}");
    assert!(line.trim_end().ends_with("or pass a --limit-factor above 1"), "{line}");
    assert_eq!(digest(&folder.report(&["info", "w.tvx"])), before);
}
