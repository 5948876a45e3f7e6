//! `info`: prints the contents of a world, or of a file that can be imported.

use super::import::add_notes;
use crate::args::InfoArgs;
use crate::census::Census;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::growth::Extent;
use crate::report::Report;
use crate::world::World;
use crate::{world, world_store};
use serde_json::{Value, json};
use terravox::voxel::{ChannelKind, Region};

pub fn run(args: &InfoArgs, console: &Console) -> CliResult<Report> {
    let world =
        world::open(&args.file, &Default::default(), args.reading, Extent::Stored, console)?;
    let mut report = Report::new("info");
    report.text_line("file", "file", world_store::shown(&args.file).display().to_string());
    report.text_line("kind", "kind", world.source);
    let voxel = world.info.voxel_size_m;
    report.line("voxel_size_m", "voxel", format!("{voxel} m"), json!(voxel));
    report.hidden("origin_m", json!(world.info.origin_m));
    if let Some(generator) = &world.info.generator {
        let text = format!("{} {}, seed {}", generator.name, generator.version, generator.seed);
        let value = json!({ "name": generator.name, "version": generator.version,
            "seed": generator.seed });
        report.line("generator", "generator", text, value);
    }
    if world.info.grows() && world.info.generator.is_some() {
        let text = "chunks are generated on demand; what follows, also the digest, is of those that were edited";
        report.line("grows", "endless", text, json!(true));
    }
    add_bounds(world.grid.bounds(), world.info.grows(), &mut report);
    add_channels(&world, &mut report);
    let census = Census::of(world.grid.as_snapshot(), console).map_err(Failure::at(&args.file))?;
    census.add_to(&mut report);
    if world.file_bytes > 0 {
        census.add_bytes("disk", "on disk", world.file_bytes, &mut report);
    }
    census.add_materials(world.grid.as_snapshot(), &mut report);
    let busy = console.busy("digest");
    let digest = world.grid.digest().map_err(Failure::at(&args.file))?;
    drop(busy);
    report.text_line("digest", "digest", format!("{digest:032x}"));
    add_notes(&world.notes, &mut report);
    Ok(report)
}

/// Adds the channels of a world, and in how many chunks they hold something.
fn add_channels(world: &World, report: &mut Report) {
    if world.info.channels.is_empty() {
        return;
    }
    let count = |number: u8| match world.channels.channel(number) {
        Some(_) => world.channels.chunks(number).len(),
        None => 0,
    };
    let all = world.info.channels.iter().enumerate().map(|(number, channel)| {
        let chunks = count(number as u8);
        let holds = match channel.kind {
            ChannelKind::Values { width, mips } => {
                format!("{} bits a voxel, {mips:?}", 8 * width.bytes())
            }
            ChannelKind::Bytes => "bytes of chunks".to_owned(),
        };
        let text = format!("{} ({holds}; {chunks} chunks)", channel.name);
        let bits = channel.kind.width().map(|width| 8 * width.bytes());
        (text, json!({ "name": channel.name, "bits": bits, "chunks": chunks }))
    });
    let (texts, values): (Vec<String>, Vec<Value>) = all.unzip();
    report.line("channels", "channels", texts.join(", "), Value::Array(values));
}

/// Adds the region of the listed chunks.
fn add_bounds(bounds: Region, grows: bool, report: &mut Report) {
    let [x, y, z] = bounds.size();
    let text = match bounds.is_empty() {
        true if grows => "none; nothing was edited".to_owned(),
        true => "none; the world is empty".to_owned(),
        false => format!("{x} × {y} × {z}, min corner {}", bounds.min),
    };
    let value: Value = json!({ "min": bounds.min.to_array(), "max": bounds.max.to_array() });
    report.line("bounds", "voxels", text, value);
}
