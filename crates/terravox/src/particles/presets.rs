//! Presets of common effects and emitters.

use super::emitter::{Emitter, Spread};
use super::options::{EffectOptions, PlaneSource};

impl EffectOptions {
    /// Sparks: many, fast and short-lived; the accuracy of bounces matters little.
    pub fn sparks() -> EffectOptions {
        EffectOptions {
            drag: 0.4,
            restitution: 0.5,
            friction: 0.2,
            lifetime_s: Some([0.6, 1.6]),
            ..EffectOptions::default()
        }
    }

    /// Debris of an explosion or a dig: comes to rest, mostly in hollows, and stays for a while.
    pub fn debris() -> EffectOptions {
        EffectOptions {
            drag: 0.05,
            restitution: 0.3,
            friction: 0.6,
            lifetime_s: Some([4.0, 8.0]),
            planes: PlaneSource::Rays { per_update: 2.0, planes: 3 },
            ..EffectOptions::default()
        }
    }

    /// Rain: terminal speed 9 m/s, barely bounces.
    pub fn rain() -> EffectOptions {
        EffectOptions {
            drag: 1.09,
            restitution: 0.1,
            friction: 1.0,
            lifetime_s: Some([2.0, 2.5]),
            planes: PlaneSource::Rays { per_update: 4.0, planes: 1 },
            ..EffectOptions::default()
        }
    }

    /// Shell casings: few and seen close up, with three planes each so that they rest in corners.
    pub fn shell_casings() -> EffectOptions {
        EffectOptions {
            restitution: 0.4,
            friction: 0.5,
            lifetime_s: Some([10.0, 12.0]),
            planes: PlaneSource::Rays { per_update: 4.0, planes: 3 },
            ..EffectOptions::default()
        }
    }
}

impl Emitter {
    /// Sparks off a surface at `point_m`, in world metres, along its `normal`.
    pub fn sparks(point_m: impl Into<[f32; 3]>, normal: impl Into<[f32; 3]>) -> Emitter {
        let spread = Spread::Cone { direction: normal.into(), radius_at_1_m: 0.9 };
        Emitter { spread, speed_m_s: [3.0, 8.0], ..Emitter::spreading(point_m.into(), spread) }
    }

    /// Debris off a surface, from within `radius_m` of `point_m`, in world metres.
    pub fn debris(
        point_m: impl Into<[f32; 3]>,
        normal: impl Into<[f32; 3]>,
        radius_m: f32,
    ) -> Emitter {
        let spread = Spread::Hemisphere { normal: normal.into() };
        Emitter { radius_m, speed_m_s: [1.0, 5.0], ..Emitter::spreading(point_m.into(), spread) }
    }

    /// Rain from a ball around a point in the sky, in world metres.
    pub fn rain(centre_m: impl Into<[f32; 3]>, radius_m: f32) -> Emitter {
        let spread = Spread::Cone { direction: [0.0, -1.0, 0.0], radius_at_1_m: 0.05 };
        let centre = centre_m.into();
        Emitter { radius_m, speed_m_s: [8.0, 9.0], ..Emitter::spreading(centre, spread) }
    }

    /// A casing ejected sideways and a little upwards.
    pub fn shell_casings(port_m: impl Into<[f32; 3]>, sideways: impl Into<[f32; 3]>) -> Emitter {
        let spread = Spread::Cone { direction: sideways.into(), radius_at_1_m: 0.2 };
        let velocity_m_s = [0.0, 1.5, 0.0];
        Emitter { speed_m_s: [1.5, 2.5], velocity_m_s, ..Emitter::spreading(port_m.into(), spread) }
    }

    fn spreading(position_m: [f32; 3], spread: Spread) -> Emitter {
        Emitter { spread, ..Emitter::at(position_m) }
    }
}
