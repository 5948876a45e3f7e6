//! Lines drawn over a picture: opaque in front of surfaces, faint behind them.
//!
//! Source: Wu, "An Efficient Antialiasing Technique" (1991): each step along the longer
//! axis shares its colour between the two pixels beside the line.

use crate::camera::Camera;
use crate::image::Image;
use crate::ray::RAY_REACH_CELLS;
use crate::scene::Scene;
use glam::{DVec2, DVec3};
use terravox::collide::Filter;
use terravox::math::{DebugLine, DebugLines};

struct LineStyle {
    visible_opacity: f64,
    hidden_opacity: f64,
    /// Lines up to this far behind a surface count as visible.
    tolerance_cells: f64,
    /// Added to that, as a share of the distance.
    tolerance_share: f64,
}

const DEBUG_LINES: LineStyle = LineStyle {
    visible_opacity: 0.9,
    hidden_opacity: 0.05,
    tolerance_cells: 0.03,
    tolerance_share: 0.0015,
};

/// Edges of the surfaces in the picture.
const WIREFRAME: LineStyle = LineStyle {
    visible_opacity: 0.6,
    hidden_opacity: 0.0,
    tolerance_cells: 0.05,
    tolerance_share: 0.004,
};

/// Lines are clipped nearer to the eye than this, cells.
const NEAR_PLANE_CELLS: f64 = 0.05;

struct Canvas<'a> {
    image: &'a mut Image,
    camera: &'a Camera,
    /// Distance of the surface in each pixel, cells.
    depths: Vec<f64>,
    style: LineStyle,
}

/// Draws lines, in cells of the scene, over a picture of it; faintly also behind surfaces.
pub fn draw_lines(image: &mut Image, scene: &Scene, camera: &Camera, lines: &DebugLines) {
    draw(image, scene, camera, lines, DEBUG_LINES);
}

/// Draws the edges of surfaces, in cells of the scene, over a picture of it; not behind
/// surfaces.
pub fn draw_wireframe(image: &mut Image, scene: &Scene, camera: &Camera, edges: &DebugLines) {
    draw(image, scene, camera, edges, WIREFRAME);
}

fn draw(image: &mut Image, scene: &Scene, camera: &Camera, lines: &DebugLines, style: LineStyle) {
    let depths = depths(image, scene, camera);
    let mut canvas = Canvas { image, camera, depths, style };
    lines.lines.iter().for_each(|line| canvas.line(line));
}

/// Returns the distance of the surface in each pixel, cells.
fn depths(image: &Image, scene: &Scene, camera: &Camera) -> Vec<f64> {
    let size = DVec2::new(image.width as f64, image.height as f64);
    let depth = |i: usize| {
        let at = DVec2::new((i % image.width) as f64 + 0.5, (i / image.width) as f64 + 0.5);
        let ray = camera.ray(at / size, size.x / size.y);
        scene
            .closest(&ray, RAY_REACH_CELLS, &Filter::BOTH)
            .map_or(RAY_REACH_CELLS, |hit| hit.distance)
    };
    (0..image.pixels.len()).map(depth).collect()
}

/// Colour of the rim of ribbons.
const RIM_COLOUR: [u8; 3] = [20, 16, 14];

/// Opacity of a ribbon before surfaces, and behind them.
const RIBBON_OPACITIES: [f64; 2] = [1.0, 0.25];

/// Draws a line of points, in cells of the scene, as a ribbon this many pixels wide, with a dark rim:
/// opaque in front of surfaces, faint behind them.
pub fn draw_ribbon(
    image: &mut Image,
    scene: &Scene,
    camera: &Camera,
    points: &[DVec3],
    width_pixels: f64,
    colour: [u8; 3],
) {
    if points.is_empty() {
        return;
    }
    let style = LineStyle { tolerance_cells: 0.3, ..DEBUG_LINES };
    let depths = depths(image, scene, camera);
    let pixels = image.pixels.len();
    let mut canvas = Canvas { image, camera, depths, style };
    let mut ribbon = Ribbon { radius: width_pixels / 2.0, covers: vec![[0.0; 4]; pixels] };
    for pair in points.windows(2) {
        canvas.each_step(pair[0], pair[1], |canvas, at, distance| ribbon.add(canvas, at, distance));
    }
    for (pixel, covers) in canvas.image.pixels.iter_mut().zip(&ribbon.covers) {
        let [rim, hidden_rim, line, hidden_line] = *covers;
        let [opaque, faint] = RIBBON_OPACITIES;
        let rim_share = (rim * opaque).max(hidden_rim * faint);
        let line_share = (line * opaque).max(hidden_line * faint);
        for (to, (rim, line)) in pixel.iter_mut().zip(RIM_COLOUR.into_iter().zip(colour)) {
            let rimmed = f64::from(*to) * (1.0 - rim_share) + f64::from(rim) * rim_share;
            *to = (rimmed * (1.0 - line_share) + f64::from(line) * line_share + 0.5) as u8;
        }
    }
}

/// How much of each pixel a line covers: its rim before and behind surfaces, and the line within.
struct Ribbon {
    radius: f64,
    covers: Vec<[f64; 4]>,
}

impl Ribbon {
    /// Adds a disc around a position in pixels.
    fn add(&mut self, canvas: &Canvas<'_>, at: DVec2, distance: f64) {
        let rim = self.radius + (self.radius * 0.35).max(1.0);
        let size = [canvas.image.width, canvas.image.height];
        let range = |v: f64, end: usize| {
            let low = (v - rim).floor().clamp(0.0, end as f64) as usize;
            low..(v + rim + 2.0).clamp(0.0, end as f64) as usize
        };
        for (y, x) in range(at.y, size[1]).flat_map(|y| range(at.x, size[0]).map(move |x| (y, x))) {
            let away = DVec2::new(x as f64, y as f64).distance(at);
            let hidden = usize::from(canvas.is_hidden(y * size[0] + x, distance));
            let covers = &mut self.covers[y * size[0] + x];
            for (kind, radius) in [(0, rim), (2, self.radius)] {
                let cover = (radius + 0.5 - away).clamp(0.0, 1.0);
                covers[kind + hidden] = covers[kind + hidden].max(cover);
            }
        }
    }
}

/// Returns the surface point in the middle of a picture; a point ahead of the eye if the sky
/// is there.
pub fn focus_point(scene: &Scene, camera: &Camera) -> DVec3 {
    let ray = camera.ray(DVec2::splat(0.5), 1.0);
    ray.at(scene.closest(&ray, RAY_REACH_CELLS, &Filter::BOTH).map_or(32.0, |hit| hit.distance))
}

impl Canvas<'_> {
    fn line(&mut self, line: &DebugLine) {
        let [from, to] = [line.from, line.to].map(DVec3::from);
        let steep = self.is_steep(from, to);
        self.each_step(from, to, |canvas, at, distance| {
            let [major, minor] = if steep { [at.y, at.x] } else { [at.x, at.y] };
            let part = minor - minor.floor();
            for (beside, cover) in [(0.0, 1.0 - part), (1.0, part)] {
                let [x, y] = [major.round(), minor.floor() + beside];
                let [x, y] = if steep { [y, x] } else { [x, y] };
                canvas.blend(DVec2::new(x, y), distance, cover, line.colour);
            }
        });
    }

    /// Returns the ends of what the camera sees of a line, in view space and on the picture.
    fn ends(&self, from: DVec3, to: DVec3) -> Option<[(DVec3, DVec2); 2]> {
        let [a, b] = [from, to].map(|end| self.camera.view_from_world(end));
        let size = DVec2::new(self.image.width as f64, self.image.height as f64);
        let on_screen = |view: DVec3| self.camera.picture_from_view(view, size.x / size.y) * size;
        Some(clip_to_near_plane(a, b)?.map(|view| (view, on_screen(view))))
    }

    /// Returns whether a line goes up or down more than along.
    fn is_steep(&self, from: DVec3, to: DVec3) -> bool {
        self.ends(from, to).is_some_and(|[a, b]| {
            let way = b.1 - a.1;
            way.y.abs() > way.x.abs()
        })
    }

    /// Calls `each` for every pixel along a line, with the position and the distance from the eye.
    fn each_step(&mut self, from: DVec3, to: DVec3, mut each: impl FnMut(&mut Self, DVec2, f64)) {
        let Some([(a, from), (b, to)]) = self.ends(from, to) else { return };
        let size = DVec2::new(self.image.width as f64, self.image.height as f64);
        let way = to - from;
        let steps = way.abs().max_element().ceil().max(1.0);
        // Skip lines off the picture, and those that leave it by far.
        let outside = from.max(to).cmplt(DVec2::ZERO) | from.min(to).cmpgt(size);
        if outside.any() || steps > 8.0 * size.max_element() {
            return;
        }
        for step in 0..=steps as u32 {
            let share = f64::from(step) / steps;
            // Perspective: the inverse depth is linear on the screen.
            let z = 1.0 / (1.0 / a.z + (1.0 / b.z - 1.0 / a.z) * share);
            let along = if (b.z - a.z).abs() < 1e-9 { share } else { (z - a.z) / (b.z - a.z) };
            let distance = a.lerp(b, along).length();
            each(self, from + way * share - 0.5, distance);
        }
    }

    /// Returns whether a point at a distance from the eye is behind the surface in a pixel.
    fn is_hidden(&self, pixel: usize, distance: f64) -> bool {
        let style = &self.style;
        distance > self.depths[pixel] * (1.0 + style.tolerance_share) + style.tolerance_cells
    }

    /// Blends a colour into a pixel that it covers a share of.
    fn blend(&mut self, at: DVec2, distance: f64, cover: f64, colour: [u8; 3]) {
        let inside = at.cmpge(DVec2::ZERO).all()
            && at.x < self.image.width as f64
            && at.y < self.image.height as f64;
        if !inside {
            return;
        }
        let pixel = at.y as usize * self.image.width + at.x as usize;
        let style = &self.style;
        let hidden = self.is_hidden(pixel, distance);
        let share = cover * if hidden { style.hidden_opacity } else { style.visible_opacity };
        for (to, new) in self.image.pixels[pixel].iter_mut().zip(colour) {
            *to = (f64::from(*to) * (1.0 - share) + f64::from(new) * share + 0.5) as u8;
        }
    }
}

/// Returns the part of a line beyond the near plane.
fn clip_to_near_plane(a: DVec3, b: DVec3) -> Option<[DVec3; 2]> {
    let cut = |from: DVec3, to: DVec3| match from.z < NEAR_PLANE_CELLS {
        true => from.lerp(to, (NEAR_PLANE_CELLS - from.z) / (to.z - from.z)),
        false => from,
    };
    (a.z >= NEAR_PLANE_CELLS || b.z >= NEAR_PLANE_CELLS).then(|| [cut(a, b), cut(b, a)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::voxel::{Cell, DenseBox, GridOptions, Region, VoxelGrid};

    #[test]
    fn lines_are_opaque_before_the_ground_and_faint_behind_it() {
        let mut grid = VoxelGrid::new(GridOptions::default());
        let mut cells = DenseBox::new(Region::new([-16, -16, -16], [16, 16, 0]));
        for pos in cells.region().voxels() {
            cells.set(pos, Cell::full(2));
        }
        assert!(grid.write(&cells).is_ok());
        let Ok(scene) = Scene::new(&grid, None) else { panic!("the world is held") };
        let camera = Camera::looking_at(DVec3::Z * 20.0, DVec3::ZERO, 40.0);
        assert!(focus_point(&scene, &camera).length() < 0.1);
        let mut lines = DebugLines::default();
        lines.line([-4.0, 2.0, 3.0], [4.0, 2.0, 3.0], [255, 0, 0]);
        lines.line([-4.0, -2.0, -3.0], [4.0, -2.0, -3.0], [255, 0, 0]);
        // Behind the eye, and non-finite.
        lines.line([0.0, 0.0, 30.0], [1.0, 0.0, 40.0], [255; 3]);
        lines.line([f64::NAN; 3], [f64::INFINITY; 3], [255; 3]);
        let mut image = Image::new(65, 65);
        draw_lines(&mut image, &scene, &camera, &lines);
        let red = |y: usize| (0..3).map(|i| i32::from(image.pixels[(y + i) * 65 + 32][0])).sum();
        let row = |point: DVec3| {
            (camera.picture_from_view(camera.view_from_world(point), 1.0).y * 65.0 - 0.5).round()
                as usize
                - 1
        };
        let [seen, hidden]: [i32; 2] =
            [DVec3::new(0.0, 2.0, 3.0), DVec3::new(0.0, -2.0, -3.0)].map(|p| red(row(p)));
        assert!(seen > 200 && (5..40).contains(&hidden), "{seen}, {hidden}");
        let mut wired = Image::new(65, 65);
        draw_wireframe(&mut wired, &scene, &camera, &lines);
        let reds = |from: usize| wired.pixels[from * 65..].iter().take(3 * 65).any(|p| p[0] > 0);
        let [seen, hidden] = [DVec3::new(0.0, 2.0, 3.0), DVec3::new(0.0, -2.0, -3.0)];
        assert!(reds(row(seen)) && !reds(row(hidden)), "hidden edges are not drawn");
        assert!(image.pixels.iter().all(|p| p[1] == 0));
    }
}
