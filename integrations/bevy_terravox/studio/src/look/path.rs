//! Camera paths: views, and the way between them.

use bevy::prelude::*;

use crate::action::Action;
use crate::camera::StudioCamera;
use crate::notices::Notices;
use crate::open::Session;

/// Seconds from a view to the next.
const LEG_S: f32 = 4.0;

/// The views of a path, each position in metres, yaw and pitch in degrees.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct CameraPath {
    /// The views.
    pub views: Vec<[f32; 5]>,
    /// Seconds since the flight began, while it lasts.
    flight_s: Option<f32>,
}

impl CameraPath {
    /// A path of views.
    pub fn new(views: Vec<[f32; 5]>) -> CameraPath {
        CameraPath { views, flight_s: None }
    }

    /// Whether the camera flies along it.
    pub fn is_flown(&self) -> bool {
        self.flight_s.is_some()
    }

    /// The view at a share of the way, 0 to 1: a Catmull-Rom spline. `None` without views.
    pub fn at(&self, share: f32) -> Option<[f32; 5]> {
        let last = self.views.len().checked_sub(1)?;
        let along = share.clamp(0.0, 1.0) * last as f32;
        let from = (along.floor() as usize).min(last.saturating_sub(1));
        let t = along - from as f32;
        let view = |i: isize| self.views[i.clamp(0, last as isize) as usize];
        let i = from as isize;
        let points = [view(i - 1), view(i), view(i + 1), view(i + 2)];
        Some(std::array::from_fn(|k| {
            let mut p = points.map(|view| view[k]);
            if k == 3 {
                // The short way around.
                for j in [2, 3] {
                    p[j] = p[j - 1] + (p[j] - p[j - 1] + 180.0).rem_euclid(360.0) - 180.0;
                }
                p[0] = p[1] - ((p[1] - p[0] + 180.0).rem_euclid(360.0) - 180.0);
            }
            let [a, b, c, d] = p;
            let value = 0.5
                * (2.0 * b
                    + (c - a) * t
                    + (2.0 * a - 5.0 * b + 4.0 * c - d) * t * t
                    + (3.0 * b - a - 3.0 * c + d) * t * t * t);
            if k == 3 { value.rem_euclid(360.0) } else { value }
        }))
    }

    /// Reads views, a line each: X,Y,Z,YAW,PITCH.
    ///
    /// # Errors
    /// The first line that is no view.
    pub fn parse(text: &str) -> Result<CameraPath, String> {
        let mut views = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let numbers: Vec<f32> =
                line.split(',').map_while(|part| part.trim().parse().ok()).collect();
            let is_whole = line.split(',').count() == 5 && numbers.iter().all(|v| v.is_finite());
            let view: Option<[f32; 5]> = numbers.try_into().ok();
            let view = view.filter(|_| is_whole);
            views.push(view.ok_or_else(|| format!("line {}: give X,Y,Z,YAW,PITCH", i + 1))?);
        }
        match views.is_empty() {
            true => Err("has no views; give a line X,Y,Z,YAW,PITCH for each".to_owned()),
            false => Ok(CameraPath::new(views)),
        }
    }
}

/// Adds views and flies.
pub(super) fn act(
    mut actions: MessageReader<Action>,
    mut camera: Single<&mut StudioCamera>,
    mut path: ResMut<CameraPath>,
    session: Option<Res<Session>>,
    mut notices: ResMut<Notices>,
    time: Res<Time>,
) {
    for action in actions.read() {
        match action {
            Action::AddView => {
                path.views.push(camera.view());
                notices.say(format!("view {} of the camera path", path.views.len()));
            }
            Action::ClearViews => *path = CameraPath::default(),
            Action::PlayPath if path.views.len() < 2 => {
                notices.say("a camera path needs two views; add them with K");
            }
            Action::PlayPath => path.flight_s = Some(0.0),
            Action::Cancel => path.flight_s = None,
            _ => {}
        }
    }
    let Some(flight_s) = path.flight_s.filter(|_| session.is_some()) else { return };
    let flight_s = flight_s + time.delta_secs();
    let all_s = LEG_S * path.views.len().saturating_sub(1) as f32;
    if let Some(view) = path.at(flight_s / all_s.max(0.1)) {
        camera.set_view(view);
    }
    path.flight_s = (flight_s < all_s).then_some(flight_s);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_through_its_views_and_turns_the_short_way() {
        let views = vec![
            [0.0, 10.0, 0.0, 350.0, 0.0],
            [10.0, 20.0, 0.0, 10.0, -20.0],
            [30.0, 0.0, 5.0, 90.0, 0.0],
        ];
        let path = CameraPath::new(views.clone());
        for (i, view) in views.iter().enumerate() {
            let at = path.at(i as f32 / 2.0).unwrap();
            assert!((0..5).all(|k| (at[k] - view[k]).abs() < 1e-3), "{at:?} {view:?}");
        }
        let yaw = path.at(0.25).unwrap()[3];
        assert!(!(20.0..340.0).contains(&yaw), "{yaw}");
        assert_eq!(CameraPath::default().at(0.5), None);
        assert_eq!(CameraPath::new(vec![[1.0; 5]]).at(0.7), Some([1.0; 5]));
    }

    #[test]
    fn files_of_views_are_read() {
        let path = CameraPath::parse("# a flight\n1,2,3,40,-8\n4,5,6,50,0 # end\n").unwrap();
        assert_eq!(path.views, [[1.0, 2.0, 3.0, 40.0, -8.0], [4.0, 5.0, 6.0, 50.0, 0.0]]);
        assert!(CameraPath::parse("1,2,3,4").is_err_and(|error| error.starts_with("line 1")));
        assert!(CameraPath::parse("").is_err());
    }
}
