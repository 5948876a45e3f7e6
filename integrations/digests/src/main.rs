//! Digests of worlds that are generated, edited, meshed, simplified, queried and written as bytes:
//! the same on every machine, with vector code and without.
//!
//!     digests                       one large world, a line for each step
//!     digests worlds FIRST COUNT    small worlds of every generator and every edit, a line each
//!     digests race                  times rounds of meshing: as many as each line of the input says
//!
//! `scripts/check-wasm` and `scripts/check-targets` build it for other targets. Where nothing can
//! be printed, the lines of another machine are given as `TERRAVOX_DIGESTS` when it is compiled;
//! the exit status is then the number of the first line that differs.

mod ground;
mod hash;
mod lines;
mod numbers;
mod particles;
mod race;
mod script;
mod worlds;

use std::cell::RefCell;
use std::process::ExitCode;

use race::Race;

/// For JavaScript: the digests of a world as 16 bytes each, little-endian. They are never freed.
#[unsafe(no_mangle)]
extern "C" fn world_digests(world: u32) -> *const u8 {
    let digests = worlds::digests(world).map(u128::to_le_bytes);
    Box::leak(Box::new(digests)).as_flattened().as_ptr()
}

/// For JavaScript: meshes blocks of 64³ that often, and returns the triangles of one round. The
/// first call also generates the blocks.
#[unsafe(no_mangle)]
extern "C" fn mesh_rounds(rounds: u32) -> u32 {
    thread_local! {
        static RACE: RefCell<Race> = RefCell::new(Race::new());
    }
    RACE.with_borrow_mut(|race| (0..rounds).map(|_| race.round()).last().unwrap_or(0))
}

fn print_worlds(first: &str, count: &str) -> Result<(), std::num::ParseIntError> {
    let (first, count) = (first.parse::<u32>()?, count.parse::<u32>()?);
    for world in first..first.saturating_add(count) {
        let digests = worlds::digests(world).map(|digest| format!("{digest:032x}"));
        println!("{world} {}", digests.join(" "));
    }
    Ok(())
}

fn print_lines() -> ExitCode {
    let lines = lines::lines();
    let Some(expected) = option_env!("TERRAVOX_DIGESTS") else {
        lines.iter().for_each(|line| println!("{line}"));
        return ExitCode::SUCCESS;
    };
    let expected: Vec<&str> = expected.split_whitespace().collect();
    let differs = (0..lines.len().max(expected.len()))
        .find(|&i| lines.get(i).map(String::as_str) != expected.get(i).copied());
    match differs {
        None => ExitCode::SUCCESS,
        Some(line) => {
            let [ours, theirs] = [lines.get(line).map(String::as_str), expected.get(line).copied()]
                .map(|line| line.unwrap_or("nothing"));
            eprintln!("line {}: {ours}, expected {theirs}", line + 1);
            ExitCode::from(line as u8 + 1)
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => return print_lines(),
        ["worlds", first, count] if print_worlds(first, count).is_ok() => {}
        ["race"] => {
            if let Err(error) = Race::new().serve(std::io::stdin().lock()) {
                eprintln!("{error}: give the number of rounds");
                return ExitCode::from(2);
            }
        }
        _ => {
            eprintln!("usage: digests [worlds FIRST COUNT | race]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
