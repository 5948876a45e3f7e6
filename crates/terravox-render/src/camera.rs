//! A pinhole camera, the rays through the points of its picture, and the usual sun.

use crate::ray::SceneRay;
use glam::{DMat3, DVec2, DVec3};

/// Vertical field of view of automatic cameras, degrees.
pub const FOV_DEGREES: f64 = 38.0;

/// Elevation of the usual sun.
pub const SUN_ELEVATION_DEGREES: f64 = 33.0;

/// Azimuth of the usual sun, from that of the camera: over the left shoulder.
const SUN_AZIMUTH_FROM_CAMERA_DEGREES: f64 = -120.0;

/// The form of a picture, without place and direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Width / height of the picture.
    pub aspect: f64,
    /// Vertical field of view, degrees.
    pub fov_degrees: f64,
}

/// Position of the sun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SunPosition {
    /// Clockwise from north (-z) seen from above, degrees.
    pub azimuth_degrees: f64,
    /// Above the horizon, degrees.
    pub elevation_degrees: f64,
}

impl SunPosition {
    /// Returns the unit vector towards the sun.
    pub(crate) fn direction(&self) -> DVec3 {
        direction_from_bearing(self.azimuth_degrees, self.elevation_degrees)
    }
}

/// Farthest coordinate of a camera, cells: f64 tells 1/4096 of a cell apart there.
const MAX_EYE_CELLS: f64 = (1_u64 << 40) as f64;

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
    /// Returns a camera at `eye` that looks at `target`, upright. For a view straight up or down,
    /// the top or the bottom of the picture is north (-z); so is the view if the target is the eye.
    ///
    /// # Panics
    /// If the eye is not within ±2⁴⁰ cells, the target is not finite, or the field of view is not
    /// above 0 and below 180 degrees.
    pub fn looking_at(eye: DVec3, target: DVec3, fov_degrees: f64) -> Camera {
        let way = target - eye;
        assert!(way.is_finite(), "the camera at {eye} looks at {target}; both must be finite");
        // The way may be very long; its largest part is brought to 1 first.
        let forward = way / way.abs().max_element();
        Camera::along(eye, forward.try_normalize().unwrap_or(DVec3::NEG_Z), fov_degrees)
    }

    /// Returns a camera that looks along a bearing: `yaw` degrees clockwise from north (-z)
    /// seen from above, `pitch` degrees above the horizon.
    ///
    /// # Panics
    /// If the eye is not within ±2⁴⁰ cells, `yaw` or `pitch` is not finite, or the field of view is
    /// not above 0 and below 180 degrees.
    pub fn from_bearing(eye: DVec3, yaw: f64, pitch: f64, fov_degrees: f64) -> Camera {
        Camera::along(eye, direction_from_bearing(yaw, pitch), fov_degrees)
    }

    fn along(eye: DVec3, forward: DVec3, fov_degrees: f64) -> Camera {
        let side = forward.cross(DVec3::Y);
        let right = side.try_normalize().unwrap_or(DVec3::X);
        let up = right.cross(forward);
        let camera = Camera { eye, fov_degrees, axes: DMat3::from_cols(right, up, forward) };
        camera.assert_valid();
        camera
    }

    /// Panics unless the eye, the axes and the field of view can take a picture.
    pub(crate) fn assert_valid(&self) {
        let Camera { eye, fov_degrees, axes } = self;
        assert!(
            eye.abs().cmple(DVec3::splat(MAX_EYE_CELLS)).all(),
            "the camera is at {eye}; it must be finite and within ±2^40 cells"
        );
        assert!(axes.is_finite(), "the bearing of the camera is not finite");
        assert!(
            *fov_degrees > 0.0 && *fov_degrees < 180.0,
            "the field of view is {fov_degrees} degrees; it must be above 0 and below 180"
        );
    }

    /// Returns the viewing direction, unit length.
    pub fn forward(&self) -> DVec3 {
        self.axes.z_axis
    }

    /// Returns a sun over the camera's left shoulder, at an elevation in degrees.
    pub fn sun(&self, elevation_degrees: f64) -> SunPosition {
        let forward = self.forward();
        let azimuth = forward.x.atan2(-forward.z).to_degrees();
        SunPosition {
            azimuth_degrees: azimuth + SUN_AZIMUTH_FROM_CAMERA_DEGREES,
            elevation_degrees,
        }
    }

    /// Half the height of the image plane one cell in front of the eye.
    fn half_height(&self) -> f64 {
        (self.fov_degrees.to_radians() * 0.5).tan()
    }

    /// Returns the ray through a point of the picture, from (0, 0) top left to (1, 1) bottom
    /// right; `aspect` is width / height.
    pub fn ray(&self, at: DVec2, aspect: f64) -> SceneRay {
        let half = self.half_height();
        let [x, y] = [(2.0 * at.x - 1.0) * half * aspect, (1.0 - 2.0 * at.y) * half];
        let direction = (self.axes * DVec3::new(x, y, 1.0)).normalize();
        SceneRay { origin: self.eye, direction }
    }

    /// Projects a point into the picture: (0, 0) is the middle, (1, 1) the top right corner.
    /// Returns `None` behind the eye.
    pub fn project(&self, point: DVec3, aspect: f64) -> Option<DVec2> {
        let view = self.axes.transpose() * (point - self.eye);
        let half = self.half_height() * view.z;
        (view.z > 1e-9).then(|| DVec2::new(view.x / (half * aspect), view.y / half))
    }

    /// Returns a point in view space: to the right, up and ahead of the eye, cells.
    pub fn view_from_world(&self, point: DVec3) -> DVec3 {
        self.axes.transpose() * (point - self.eye)
    }

    /// Projects a point in view space, ahead of the eye: (0, 0) is top left, (1, 1) bottom
    /// right.
    pub fn picture_from_view(&self, view: DVec3, aspect: f64) -> DVec2 {
        let half = self.half_height() * view.z;
        DVec2::new(0.5 + 0.5 * view.x / (half * aspect), 0.5 - 0.5 * view.y / half)
    }

    /// Returns the offset from the middle of the picture to `at` on the image plane one cell
    /// in front of the eye, cells.
    pub(crate) fn image_plane_offset(&self, at: DVec2, aspect: f64) -> DVec3 {
        let half = self.half_height();
        self.axes.x_axis * (at.x * half * aspect) + self.axes.y_axis * (at.y * half)
    }

    /// Returns the edge of a pixel one cell in front of the eye, cells.
    pub(crate) fn pixel_edge(&self, height: usize) -> f64 {
        2.0 * self.half_height() / height as f64
    }
}

/// Returns the unit vector of a bearing: `yaw` degrees clockwise from north (-z) seen from
/// above, `pitch` degrees above the horizon.
pub fn direction_from_bearing(yaw: f64, pitch: f64) -> DVec3 {
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
        let middle = camera.project(DVec3::new(5.0, -3.0, 2.0), 1.5);
        assert!(middle.is_some_and(|at| at.length() < 1e-9));
        assert_eq!(camera.project(DVec3::new(-5.0, 3.0, 0.0), 1.5), None);
    }

    #[test]
    fn right_is_right_and_up_is_up() {
        let camera = Camera::from_bearing(DVec3::ZERO, 0.0, 0.0, 90.0);
        assert!(camera.forward().distance(DVec3::NEG_Z) < 1e-12);
        assert!(camera.ray(DVec2::new(1.0, 0.5), 1.0).direction.x > 0.5);
        assert!(camera.ray(DVec2::new(0.5, 0.0), 1.0).direction.y > 0.5);
        assert!(direction_from_bearing(90.0, 0.0).distance(DVec3::X) < 1e-12);
    }

    #[test]
    fn a_camera_that_looks_straight_down_has_axes() {
        let camera = Camera::looking_at(DVec3::Y, DVec3::ZERO, 60.0);
        assert!(camera.ray(DVec2::new(0.2, 0.9), 2.0).direction.is_normalized());
    }

    #[test]
    fn a_point_on_a_pixels_ray_is_seen_at_that_pixel() {
        let camera = Camera::from_bearing(DVec3::new(3.0, 4.0, 5.0), 33.0, -20.0, 40.0);
        let point = camera.ray(DVec2::new(0.9, 0.3), 1.7).at(12.0);
        let at = camera.project(point, 1.7).unwrap_or(DVec2::ZERO);
        assert!(at.distance(DVec2::new(0.8, 0.4)) < 1e-9);
        let ahead = camera.eye + camera.forward() + camera.image_plane_offset(at, 1.7);
        assert!((ahead - camera.eye).normalize().distance((point - camera.eye).normalize()) < 1e-9);
    }
}
