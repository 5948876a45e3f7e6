//! `raycast`: prints the first surface that a ray hits.

use super::import::add_notes;
use crate::args::{RaycastArgs, SurfaceChoice};
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::growth::Extent;
use crate::report::Report;
use crate::world::{self, World, check_point};
use serde_json::json;
use terravox::collide::{
    Collider, Filter, Hit, MaterialSet, MissingData, QueryOutcome, Ray, Surfaces,
};
use terravox::voxel::{BlockPos, Kind, MaterialTable};

/// Maximum number of chunks that are generated for a ray, which is some 100,000 voxels long then.
const MAX_RAY_CHUNKS: usize = 8192;

pub fn run(args: &RaycastArgs, console: &Console) -> CliResult<Report> {
    if args.direction == [0.0; 3] {
        return Err(Failure::new("DIR is 0,0,0; give a direction other than zero"));
    }
    let reading = args.reading;
    let mut world =
        world::open(&args.world, &Default::default(), reading, Extent::OnDemand, console)?;
    check_point("FROM", args.from, &world.info)?;
    let filter = filter(args, world.grid.materials())?;
    let size = world.info.voxel_size_m;
    let origin = [0, 1, 2].map(|i| (args.from[i] - world.info.origin_m[i]) / size);
    let ray = Ray::new(origin, args.direction, args.max / size);
    let outcome = first_hit(&mut world, &ray, &filter, console)?;
    let mut report = Report::new("raycast");
    report.hidden("world", args.world.display().to_string());
    match &outcome.found {
        Some(hit) => add_hit(&world, hit, &mut report),
        None => {
            let text = format!("no hit within {} m; --max looks further", args.max);
            report.line("hit", "ray", text, json!(false));
        }
    }
    if let Some(missing) = outcome.missing {
        add_missing(missing, &mut report);
    }
    add_notes(&world.notes, &mut report);
    Ok(report)
}

/// Returns the first hit of a ray. In a world that grows, the chunks on its way are made one after
/// the other, up to the hit.
fn first_hit(
    world: &mut World,
    ray: &Ray,
    filter: &Filter,
    console: &Console,
) -> CliResult<QueryOutcome<Option<Hit>>> {
    let busy = console.busy("preparing");
    let mut collider = Collider::default();
    collider.update(&world.grid);
    drop(busy);
    let counter = console.counter("generating", "chunks");
    let mut made = 0;
    loop {
        let outcome = collider.ray(ray, filter);
        let missing = match outcome.missing {
            Some(MissingData::NotHeld(chunk)) => Some(chunk.region()),
            _ => None,
        };
        let missing = missing.filter(|region| region.within_limits());
        let (Some(growth), Some(region)) = (&mut world.growth, missing) else {
            return Ok(outcome);
        };
        if made == MAX_RAY_CHUNKS {
            return Err(Failure::new(format!(
                "the ray passes more than {MAX_RAY_CHUNKS} chunks without a hit, which are \
                 generated on demand; give a shorter --max"
            )));
        }
        growth.make(&mut world.grid, &[region], console)?;
        made += 1;
        counter.step();
        collider.update(&world.grid);
    }
}

/// Returns the surfaces that the ray hits.
fn filter(args: &RaycastArgs, materials: &MaterialTable) -> CliResult<Filter> {
    let surfaces = match args.sees {
        SurfaceChoice::Solid => Surfaces::Solid,
        SurfaceChoice::Liquid => Surfaces::Liquid,
        SurfaceChoice::Both => Surfaces::Both,
    };
    let Some(name) = &args.material else { return Ok(Filter::of(surfaces)) };
    let named = |id: &usize| materials.materials()[*id].name.eq_ignore_ascii_case(name);
    let ids: Vec<usize> = (1..materials.materials().len()).filter(named).collect();
    if ids.is_empty() {
        let known = materials.materials().iter().filter(|m| m.kind != Kind::Air);
        let known = known.map(|m| m.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Failure::new(format!("unknown material {name:?}; known are {known}")));
    }
    let materials = ids.iter().fold(MaterialSet::NONE, |set, &id| set.with(id as u8));
    Ok(Filter { materials, ..Filter::of(surfaces) })
}

fn add_hit(world: &World, hit: &Hit, report: &mut Report) {
    let size = world.info.voxel_size_m;
    let millis = |v: f64| (v * 1e3).round() / 1e3;
    let point = [0, 1, 2].map(|i| millis(hit.point[i] * size + world.info.origin_m[i]));
    let distance = millis(hit.distance * size);
    let normal = hit.normal.map(|v| millis(f64::from(v)) + 0.0);
    let words = |[x, y, z]: [f64; 3]| format!("{x},{y},{z}");
    let listed = world.grid.materials().get(hit.material);
    let name = listed.map_or_else(|| format!("material {}", hit.material), |m| m.name.clone());
    let surface = if hit.is_liquid { "liquid" } else { "solid" };
    report.line("hit", "ray", format!("hits {name} after {distance} m"), json!(true));
    report.hidden("distance_m", distance);
    report.line("point_m", "point", format!("{} m", words(point)), json!(point));
    report.line("normal", "normal", words(normal), json!(normal));
    report.line("material", "material", format!("{name}, {surface}"), json!(name));
    report.hidden("surface", surface);
    let chunk = hit.voxel.chunk();
    report.line("voxel", "voxel", hit.voxel.to_string(), json!(hit.voxel.to_array()));
    let position = |BlockPos { x, y, z }: BlockPos<3>| [x, y, z];
    report.line("block", "block", hit.block.to_string(), json!(position(hit.block)));
    report.line("chunk", "chunk", chunk.to_string(), json!([chunk.x, chunk.y, chunk.z]));
}

/// Adds the position where the world is not held at mip 0.
fn add_missing(missing: MissingData, report: &mut Report) {
    let (text, value) = match missing {
        MissingData::NotHeld(chunk) => (
            format!("chunk {chunk} along the ray is not held at mip 0; hits in it may be missed"),
            json!([chunk.x, chunk.y, chunk.z]),
        ),
        MissingData::NotBuilt(block) => (format!("block {block} is not built"), json!(null)),
    };
    report.line("not_held", "not held", text, value);
}
