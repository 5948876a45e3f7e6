//! tmp
#![allow(dead_code, unused)]
mod render;
use terravox::voxel::*;
fn main() {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let n: i32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(3);
    let h = |x: f32, z: f32| 12.0 * (x * 0.05).sin() * (z * 0.043 + 1.0).cos() + 5.0 * (x * 0.13 + z * 0.11).sin() + 1.5 * (x * 0.37).sin() * (z * 0.41).sin();
    for c in Region::new([-n, -1, -n], [n, 1, n]).voxels() {
        let chunk = ChunkPos::new(c.x, c.y, c.z);
        let mut b = DenseBox::new(chunk.region());
        for p in chunk.region().voxels() {
            let (x, y, z) = (p.x as f32 + 0.5, p.y as f32 + 0.5, p.z as f32 + 0.5);
            let g = h(x, z);
            let gx = h(x + 0.5, z) - h(x - 0.5, z);
            let gz = h(x, z + 0.5) - h(x, z - 0.5);
            let mut d = (g - y) / (1.0 + gx * gx + gz * gz).sqrt();
            let cave = ((x - 20.0).powi(2) + (y + 2.0).powi(2) + (z - 10.0).powi(2)).sqrt() - 14.0;
            d = d.min(cave);
            let v = ((0.5 + d).clamp(0.0, 1.0) * 256.0).round() as i32 - 1;
            if v >= 0 {
                let steep = gx * gx + gz * gz > 0.5;
                let m = if steep { 8 } else if y < -6.0 { 6 } else if y > 12.0 { 10 } else { 2 };
                b.set(p, Cell::new(m, v as u8));
                if y < -8.0 && d < 0.5 { b.set_water(p, Some(255)); }
            } else if y < -8.0 { b.set(p, Cell::full(1)); }
        }
        grid.write(&b).unwrap();
    }
    let t = std::time::Instant::now();
    let scene = render::Scene::new(grid.snapshot(), None).unwrap();
    println!("scene {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let mut s = render::Scratch::default();
    let cam = render::overview(&scene, 16.0 / 9.0, &mut s);
    println!("frame {:?} {cam:?}", t.elapsed());
    let opt = render::PictureOptions::default();
    for (name, cam) in [("/tmp/cli_a.png", cam), ("/tmp/cli_b.png", render::around(&scene, glam::DVec3::new(20.0, -8.0, 10.0), 60.0, 16.0 / 9.0, &mut s))] {
        let t = std::time::Instant::now();
        let img = render::render(&scene, &cam, &opt, &|| ());
        println!("render {:?}", t.elapsed());
        img.write_png(std::fs::File::create(name).unwrap()).unwrap();
    }
}
