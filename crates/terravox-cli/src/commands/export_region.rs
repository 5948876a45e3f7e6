//! The region that `export` writes: the whole world, or the box between --from and --to.

use crate::args::ExportArgs;
use crate::failure::{CliResult, Failure};
use crate::world::{World, check_point};
use terravox::voxel::Region;

/// Returns the region to write, in voxels.
///
/// # Errors
/// If a corner is beyond all worlds, or the box rounds to no voxel.
pub fn export_region(world: &World, args: &ExportArgs) -> CliResult<Region> {
    let bounds = world.grid.bounds();
    let (Some(from), Some(to)) = (args.from, args.to) else { return Ok(bounds) };
    let placement = world.info.placement();
    check_point("--from", from, &world.info)?;
    check_point("--to", to, &world.info)?;
    let [a, b] = [from, to].map(|corner| placement.voxel_from_world(corner));
    let low = [0, 1, 2].map(|i| a[i].min(b[i]).round() as i32);
    let high = [0, 1, 2].map(|i| a[i].max(b[i]).round() as i32);
    let region = Region::new(low, high);
    if region.is_empty() {
        let voxel = world.info.voxel_size_m;
        return Err(Failure::new(format!(
            "the box of --from and --to rounds to no voxel; make it at least one voxel ({voxel} m) \
             thick"
        )));
    }
    Ok(region.intersect(bounds))
}
