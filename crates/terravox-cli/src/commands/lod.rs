//! `lod`: writes the level-of-detail view of a world from a point as a model.

use super::import::add_notes;
use crate::args::{LodArgs, MorphChoice};
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::lod_view::{self, LodView};
use crate::output::{Output, check_not_input};
use crate::report::{Report, grouped};
use crate::world::extension;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Instant;
use terravox::terrain::ShownMesh;
use terravox::voxel::{MipBlock, VoxelPos};
use terravox_io::gltf::{GlbBlock, GlbOptions, GlbStats, GlbWriter};
use terravox_io::tiles::ExportFrame;
use terravox_render::mip_colour;

/// Blocks along the edge of an object, as a power of two.
const OBJECT_BLOCKS_LOG2: u8 = 2;

pub fn run(args: &LodArgs, console: &Console) -> CliResult<Report> {
    if extension(&args.out) != "glb" {
        return Err(Failure::of(&args.out, "unsupported extension; use .glb"));
    }
    check_not_input(&args.world, &args.out)?;
    let start = Instant::now();
    let view = lod_view::show(&args.world, args.camera, args.levels, args.reading, console)?;
    let shown = start.elapsed();
    let (stats, file_bytes) = write(&view, args)?;
    let mut report = Report::new("lod");
    report.text_line("world", "world", args.world.display().to_string());
    report.text_line("file", "file", args.out.display().to_string());
    add_shown(&view, &mut report);
    report.count("vertices", "vertices", stats.vertices);
    report.bytes("file_bytes", "written", file_bytes);
    report.time("show_ms", "show", shown);
    report.time("lod_ms", "total", start.elapsed());
    add_notes(&view.notes, &mut report);
    Ok(report)
}

/// Adds blocks and triangles, by mip, to a report.
pub fn add_shown(view: &LodView, report: &mut Report) {
    report.count("blocks_filled", "blocks filled", view.filled as u64);
    report.count("blocks", "blocks shown", view.blocks as u64);
    let mut by_mip: BTreeMap<u8, [u64; 2]> = BTreeMap::new();
    for ShownMesh { mip, mesh, .. } in &view.meshes {
        let [meshes, triangles] = by_mip.entry(*mip).or_default();
        *meshes += 1;
        *triangles += (mesh.solid.triangle_count() + mesh.liquid.triangle_count()) as u64;
    }
    report.count("meshes", "meshes", view.meshes.len() as u64);
    report.count("triangles", "triangles", by_mip.values().map(|[_, count]| count).sum());
    for (mip, [meshes, triangles]) in by_mip {
        let text = format!("{} triangles in {} meshes", grouped(triangles), grouped(meshes));
        let value = json!({ "meshes": meshes, "triangles": triangles });
        report.line(&format!("mip_{mip}"), &format!("mip {mip}"), text, value);
    }
}

/// Writes the meshes; neighbouring blocks of one mip are one object.
fn write(view: &LodView, args: &LodArgs) -> CliResult<(GlbStats, u64)> {
    let path = &args.out;
    let mut output = Output::create(path)?;
    // Origin near the eye, where cells are small and positions need precision.
    let near = view.viewpoint.eye.to_array().map(|v| v.floor() as i32 & !31);
    let frame = ExportFrame { voxel_size_m: view.info.voxel_size_m, origin: VoxelPos::from(near) };
    let targets = args.levels.morph == Some(MorphChoice::Targets);
    let materials = args.materials;
    let options = GlbOptions { frame, materials, targets, ..GlbOptions::default() };
    let mut writer = GlbWriter::new(options, view.snapshot.materials());
    let mut objects: BTreeMap<MipBlock, Vec<GlbBlock<'_>>> = BTreeMap::new();
    for ShownMesh { block, mip, mesh } in &view.meshes {
        let tint = args.colours.then(|| mip_colour(*mip));
        let object = block.over(mip + OBJECT_BLOCKS_LOG2);
        objects.entry(object).or_default().push(GlbBlock { mesh, mip: *mip, tint });
    }
    for (MipBlock { mip, pos }, blocks) in objects {
        let name = format!("mip {} at {} {} {}", mip - OBJECT_BLOCKS_LOG2, pos.x, pos.y, pos.z);
        writer.add_blocks(&name, blocks).map_err(Failure::at(path))?;
    }
    let stats = writer.finish(output.writer()).map_err(Failure::at(path))?;
    Ok((stats, output.finish()?))
}
