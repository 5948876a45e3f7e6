//! Where a picture is taken from, and the ray of every point of it.

use glam::{DMat3, DVec2, DVec3};

/// A half-line, in cells of the scene's mip.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    /// Where it starts, cells.
    pub origin: DVec3,
    /// Where it goes, unit length.
    pub direction: DVec3,
}

impl Ray {
    /// The point `t` cells along the ray.
    pub fn at(&self, t: f64) -> DVec3 {
        self.origin + self.direction * t
    }
}

/// A pinhole camera, in cells of the scene's mip, Y up.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    /// The pinhole, cells.
    pub eye: DVec3,
    /// Angle from the bottom of the picture to its top, degrees.
    pub fov_degrees: f64,
    /// Columns: right, up, forward; unit length and square to each other.
    axes: DMat3,
}

impl Camera {
    /// A camera at `eye` that looks at `target`, upright. Looking straight up or down,
    /// north (-z) is where the top, or the bottom, of the picture is.
    pub fn looking_at(eye: DVec3, target: DVec3, fov_degrees: f64) -> Camera {
        let forward = (target - eye).try_normalize().unwrap_or(DVec3::NEG_Z);
        Camera::along(eye, forward, fov_degrees)
    }

    /// A camera that looks along a bearing: `yaw` degrees clockwise from north (-z) seen
    /// from above, `pitch` degrees above the horizon.
    pub fn bearing(eye: DVec3, yaw: f64, pitch: f64, fov_degrees: f64) -> Camera {
        Camera::along(eye, direction_of(yaw, pitch), fov_degrees)
    }

    fn along(eye: DVec3, forward: DVec3, fov_degrees: f64) -> Camera {
        let side = forward.cross(DVec3::Y);
        let right = side.try_normalize().unwrap_or(DVec3::X);
        let up = right.cross(forward);
        Camera { eye, fov_degrees, axes: DMat3::from_cols(right, up, forward) }
    }

    /// The way the camera looks, unit length.
    pub fn forward(&self) -> DVec3 {
        self.axes.z_axis
    }

    /// Yaw and height of a sun over the camera's left shoulder, degrees.
    pub fn sun(&self, height_degrees: f64) -> [f64; 2] {
        let forward = self.forward();
        [forward.x.atan2(-forward.z).to_degrees() - 120.0, height_degrees]
    }

    /// Half the height of the picture one cell in front of the eye.
    fn half_height(&self) -> f64 {
        (self.fov_degrees.to_radians() * 0.5).tan()
    }

    /// The ray through a point of the picture, from (0, 0) top left to (1, 1) bottom
    /// right; `aspect` is width / height.
    pub fn ray(&self, at: DVec2, aspect: f64) -> Ray {
        let half = self.half_height();
        let [x, y] = [(2.0 * at.x - 1.0) * half * aspect, (1.0 - 2.0 * at.y) * half];
        let direction = (self.axes * DVec3::new(x, y, 1.0)).normalize();
        Ray { origin: self.eye, direction }
    }

    /// Where `point` is in the picture: (0, 0) is the middle, (1, 1) the top right corner;
    /// `None` behind the eye.
    pub fn in_picture(&self, point: DVec3, aspect: f64) -> Option<DVec2> {
        let view = self.axes.transpose() * (point - self.eye);
        let half = self.half_height() * view.z;
        (view.z > 1e-9).then(|| DVec2::new(view.x / (half * aspect), view.y / half))
    }

    /// A point as seen from the eye: to the right, up, and ahead; cells.
    pub fn view(&self, point: DVec3) -> DVec3 {
        self.axes.transpose() * (point - self.eye)
    }

    /// Where what lies at `view` ahead of the eye is in the picture: (0, 0) is top left,
    /// (1, 1) bottom right.
    pub fn from_view(&self, view: DVec3, aspect: f64) -> DVec2 {
        let half = self.half_height() * view.z;
        DVec2::new(0.5 + 0.5 * view.x / (half * aspect), 0.5 - 0.5 * view.y / half)
    }

    /// The way from the middle of the picture to `at`, on a plane one cell in front of
    /// the eye; cells.
    pub fn across(&self, at: DVec2, aspect: f64) -> DVec3 {
        let half = self.half_height();
        self.axes.x_axis * (at.x * half * aspect) + self.axes.y_axis * (at.y * half)
    }

    /// Edge of a pixel one cell in front of the eye, cells.
    pub fn pixel_edge(&self, height: usize) -> f64 {
        2.0 * self.half_height() / height as f64
    }
}

/// Unit vector of a bearing: `yaw` degrees clockwise from north (-z) seen from above,
/// `pitch` degrees above the horizon.
pub fn direction_of(yaw: f64, pitch: f64) -> DVec3 {
    let [yaw, pitch] = [yaw.to_radians(), pitch.to_radians()];
    DVec3::new(yaw.sin() * pitch.cos(), pitch.sin(), -yaw.cos() * pitch.cos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_picture_is_the_target() {
        let camera = Camera::looking_at(DVec3::ONE, DVec3::new(5.0, -3.0, 2.0), 50.0);
        let ray = camera.ray(DVec2::splat(0.5), 1.5);
        assert!(ray.direction.distance(camera.forward()) < 1e-12);
        let middle = camera.in_picture(DVec3::new(5.0, -3.0, 2.0), 1.5);
        assert!(middle.is_some_and(|at| at.length() < 1e-9));
        assert_eq!(camera.in_picture(DVec3::new(-5.0, 3.0, 0.0), 1.5), None);
    }

    #[test]
    fn right_is_right_and_up_is_up() {
        let camera = Camera::bearing(DVec3::ZERO, 0.0, 0.0, 90.0);
        assert!(camera.forward().distance(DVec3::NEG_Z) < 1e-12);
        assert!(camera.ray(DVec2::new(1.0, 0.5), 1.0).direction.x > 0.5);
        assert!(camera.ray(DVec2::new(0.5, 0.0), 1.0).direction.y > 0.5);
        assert!(direction_of(90.0, 0.0).distance(DVec3::X) < 1e-12);
    }

    #[test]
    fn a_camera_that_looks_straight_down_has_axes() {
        let camera = Camera::looking_at(DVec3::Y, DVec3::ZERO, 60.0);
        assert!(camera.ray(DVec2::new(0.2, 0.9), 2.0).direction.is_normalized());
    }

    #[test]
    fn a_point_on_a_pixels_ray_is_seen_at_that_pixel() {
        let camera = Camera::bearing(DVec3::new(3.0, 4.0, 5.0), 33.0, -20.0, 40.0);
        let point = camera.ray(DVec2::new(0.9, 0.3), 1.7).at(12.0);
        let at = camera.in_picture(point, 1.7).unwrap_or(DVec2::ZERO);
        assert!(at.distance(DVec2::new(0.8, 0.4)) < 1e-9);
        let ahead = camera.eye + camera.forward() + camera.across(at, 1.7);
        assert!((ahead - camera.eye).normalize().distance((point - camera.eye).normalize()) < 1e-9);
    }
}
