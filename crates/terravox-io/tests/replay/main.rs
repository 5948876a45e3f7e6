//! Runs the seeds and findings of the fuzz targets, without a fuzzer.

#[path = "../../src/anvil/sample.rs"]
mod anvil_sample;
#[path = "../../../../fuzz/src/checks.rs"]
mod checks;
#[path = "../../../../fuzz/src/mesh_checks.rs"]
mod mesh_checks;
#[path = "../../../../fuzz/src/region_checks.rs"]
mod region_checks;
mod seeds;
#[path = "../../../../fuzz/src/value_checks.rs"]
mod value_checks;

use std::fs;
use std::path::PathBuf;

fn fuzz_folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz"))
}

#[test]
#[ignore = "writes the seeds of the fuzz targets"]
fn write_seeds() {
    seeds::write().expect("seeds are written");
}

#[test]
fn seeds_and_findings_pass_their_checks() {
    for (name, check) in checks::CHECKS {
        let folder = fuzz_folder().join("seeds").join(name);
        let files = fs::read_dir(&folder).expect("each target has seeds");
        let mut count = 0;
        for file in files {
            let path = file.expect("a file").path();
            eprintln!("{}", path.display());
            let bytes = fs::read(&path).expect("a file");
            check(&bytes);
            // Cut anywhere, and with each byte changed, where they are short.
            for at in (0..bytes.len()).step_by(1 + bytes.len() / 64) {
                check(&bytes[..at]);
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                check(&changed);
            }
            count += 1;
        }
        assert!(count > 0, "{name} has no seeds");
    }
}
