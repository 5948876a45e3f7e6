//! Lines drawn over a picture: whole where they are seen, faint behind what hides them.
//!
//! Source: Wu, "An Efficient Antialiasing Technique" (1991): each step along the longer
//! axis shares its colour between the two pixels beside the line.

use crate::camera::Camera;
use crate::image::Image;
use crate::scene::Scene;
use crate::shade::FAR;
use glam::{DVec2, DVec3};
use terravox::collide::Filter;
use terravox::math::{DebugLine, DebugLines};

/// How a kind of lines is drawn.
struct Pen {
    /// How much of a line shows where it is seen, and behind surfaces.
    shares: [f64; 2],
    /// Lines this far behind a surface count as on it: cells, and share of the distance.
    slack: [f64; 2],
}

/// Lines that are drawn over a picture, to be seen.
const LINES: Pen = Pen { shares: [0.9, 0.05], slack: [0.03, 0.0015] };

/// Edges of what the picture shows, to be seen only where it is.
const WIRE: Pen = Pen { shares: [0.6, 0.0], slack: [0.05, 0.004] };

/// Nearer to the eye than this nothing is drawn, cells.
const NEAREST: f64 = 0.05;

/// A picture that lines are drawn into.
struct Canvas<'a> {
    image: &'a mut Image,
    camera: &'a Camera,
    /// Distance of what each pixel shows, cells.
    depths: Vec<f64>,
    pen: Pen,
}

/// Draws lines, in cells of the scene, over a picture taken of it; faintly also behind
/// surfaces.
pub fn draw_lines(image: &mut Image, scene: &Scene, camera: &Camera, lines: &DebugLines) {
    draw(image, scene, camera, lines, LINES);
}

/// Draws the edges of surfaces, in cells of the scene, over a picture taken of it.
pub fn draw_wire(image: &mut Image, scene: &Scene, camera: &Camera, edges: &DebugLines) {
    draw(image, scene, camera, edges, WIRE);
}

fn draw(image: &mut Image, scene: &Scene, camera: &Camera, lines: &DebugLines, pen: Pen) {
    let size = DVec2::new(image.width as f64, image.height as f64);
    let depth = |i: usize| {
        let at = DVec2::new((i % image.width) as f64 + 0.5, (i / image.width) as f64 + 0.5);
        let ray = camera.ray(at / size, size.x / size.y);
        scene.closest(&ray, FAR, &Filter::BOTH).map_or(FAR, |hit| hit.distance)
    };
    let depths = (0..image.pixels.len()).map(depth).collect();
    let mut canvas = Canvas { image, camera, depths, pen };
    lines.lines.iter().for_each(|line| canvas.line(line));
}

/// What the middle of a picture shows; a point ahead of the eye where that is the sky.
pub fn target(scene: &Scene, camera: &Camera) -> DVec3 {
    let ray = camera.ray(DVec2::splat(0.5), 1.0);
    ray.at(scene.closest(&ray, FAR, &Filter::BOTH).map_or(32.0, |hit| hit.distance))
}

impl Canvas<'_> {
    fn line(&mut self, line: &DebugLine) {
        let [a, b] = [line.from, line.to].map(|end| self.camera.view(DVec3::from(end)));
        let Some([a, b]) = ahead(a, b) else { return };
        let size = DVec2::new(self.image.width as f64, self.image.height as f64);
        let on_screen = |view: DVec3| self.camera.from_view(view, size.x / size.y) * size;
        let [from, to] = [on_screen(a), on_screen(b)];
        let way = to - from;
        let steep = way.y.abs() > way.x.abs();
        let steps = way.abs().max_element().ceil().max(1.0);
        // Far outside the picture there is nothing to step through.
        let outside = from.max(to).cmplt(DVec2::ZERO) | from.min(to).cmpgt(size);
        if outside.any() || steps > 8.0 * size.max_element() {
            return;
        }
        for step in 0..=steps as u32 {
            let share = f64::from(step) / steps;
            // What is even on the screen is even in one over the depth.
            let z = 1.0 / (1.0 / a.z + (1.0 / b.z - 1.0 / a.z) * share);
            let along = if (b.z - a.z).abs() < 1e-9 { share } else { (z - a.z) / (b.z - a.z) };
            let distance = a.lerp(b, along).length();
            let at = from + way * share - 0.5;
            let [major, minor] = if steep { [at.y, at.x] } else { [at.x, at.y] };
            let part = minor - minor.floor();
            for (beside, cover) in [(0.0, 1.0 - part), (1.0, part)] {
                let [x, y] = [major.round(), minor.floor() + beside];
                let [x, y] = if steep { [y, x] } else { [x, y] };
                self.dot(DVec2::new(x, y), distance, cover, line.colour);
            }
        }
    }

    /// Mixes a colour into a pixel that it covers a share of.
    fn dot(&mut self, at: DVec2, distance: f64, cover: f64, colour: [u8; 3]) {
        let inside = at.cmpge(DVec2::ZERO).all()
            && at.x < self.image.width as f64
            && at.y < self.image.height as f64;
        if !inside {
            return;
        }
        let pixel = at.y as usize * self.image.width + at.x as usize;
        let Pen { shares, slack } = self.pen;
        let hidden = distance > self.depths[pixel] * (1.0 + slack[1]) + slack[0];
        let share = cover * shares[usize::from(hidden)];
        for (to, new) in self.image.pixels[pixel].iter_mut().zip(colour) {
            *to = (f64::from(*to) * (1.0 - share) + f64::from(new) * share + 0.5) as u8;
        }
    }
}

/// The part of a line that lies ahead of the eye.
fn ahead(a: DVec3, b: DVec3) -> Option<[DVec3; 2]> {
    let cut = |from: DVec3, to: DVec3| match from.z < NEAREST {
        true => from.lerp(to, (NEAREST - from.z) / (to.z - from.z)),
        false => from,
    };
    (a.z >= NEAREST || b.z >= NEAREST).then(|| [cut(a, b), cut(b, a)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::voxel::{Cell, DenseBox, GridOptions, Region, VoxelGrid};

    #[test]
    fn lines_are_whole_before_the_ground_and_faint_behind_it() {
        let mut grid = VoxelGrid::new(GridOptions::default());
        let mut cells = DenseBox::new(Region::new([-16, -16, -16], [16, 16, 0]));
        for pos in cells.region().voxels() {
            cells.set(pos, Cell::full(2));
        }
        assert!(grid.write(&cells).is_ok());
        let Ok(scene) = Scene::new(&grid, None) else { panic!("the world is held") };
        let camera = Camera::looking_at(DVec3::Z * 20.0, DVec3::ZERO, 40.0);
        assert!(target(&scene, &camera).length() < 0.1);
        let mut lines = DebugLines::default();
        lines.line([-4.0, 2.0, 3.0], [4.0, 2.0, 3.0], [255, 0, 0]);
        lines.line([-4.0, -2.0, -3.0], [4.0, -2.0, -3.0], [255, 0, 0]);
        // Behind the eye, through it, and no line at all.
        lines.line([0.0, 0.0, 30.0], [1.0, 0.0, 40.0], [255; 3]);
        lines.line([f64::NAN; 3], [f64::INFINITY; 3], [255; 3]);
        let mut image = Image::new(65, 65);
        draw_lines(&mut image, &scene, &camera, &lines);
        let red = |y: usize| (0..3).map(|i| i32::from(image.pixels[(y + i) * 65 + 32][0])).sum();
        let row = |point: DVec3| {
            (camera.from_view(camera.view(point), 1.0).y * 65.0 - 0.5).round() as usize - 1
        };
        let [seen, hidden]: [i32; 2] =
            [DVec3::new(0.0, 2.0, 3.0), DVec3::new(0.0, -2.0, -3.0)].map(|p| red(row(p)));
        assert!(seen > 200 && (5..40).contains(&hidden), "{seen}, {hidden}");
        let mut wired = Image::new(65, 65);
        draw_wire(&mut wired, &scene, &camera, &lines);
        let reds = |from: usize| wired.pixels[from * 65..].iter().take(3 * 65).any(|p| p[0] > 0);
        let [seen, hidden] = [DVec3::new(0.0, 2.0, 3.0), DVec3::new(0.0, -2.0, -3.0)];
        assert!(reds(row(seen)) && !reds(row(hidden)), "what is hidden has no wire");
        assert!(image.pixels.iter().all(|p| p[1] == 0));
    }
}
