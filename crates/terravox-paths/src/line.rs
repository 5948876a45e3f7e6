//! The shortest line through a corridor, on the ground.
//!
//! Source: the funnel of Lee and Preparata (1984), as Mononen's "Simple Stupid Funnel Algorithm"
//! (2010) has it.

use terravox::voxel::ChunkPos;

use crate::ground::{Ground, Portal};
use crate::search::Corridor;
use crate::tile::Tile;

/// A point of a line, in path cells from the base of the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LinePoint {
    pub at: [f64; 3],
    /// Whether the line turns here, or ends.
    pub is_corner: bool,
    /// Whether the ground from here on is under water.
    pub is_wet: bool,
}

/// The line from `start` through a corridor to its end, with all points at which the ground bends by
/// more than `tolerance` path cells.
pub(crate) fn line<'a, T: Fn(ChunkPos) -> Option<&'a Tile>>(
    ground: &Ground<'a, T>,
    start: [f64; 3],
    corridor: &Corridor,
    tolerance: f64,
) -> Vec<LinePoint> {
    let flat = |p: [f64; 3]| [p[0], p[2]];
    // Two a border: where the line leaves a rectangle, and where it enters the next one.
    let portals: Vec<Portal> = corridor.portals.iter().flat_map(Portal::within).collect();
    let turns = funnel(flat(start), flat(corridor.end), &portals);
    let mut crossings: Vec<([f64; 2], bool)> = Vec::new();
    for pair in turns.windows(2) {
        let [(from, after), (to, until)] = [pair[0], pair[1]];
        let between = after.map_or(0, |after| after + 1)..until.unwrap_or(portals.len());
        crossings.extend(between.map(|i| (portals[i].crossing(from, to), false)));
        crossings.extend(until.map(|_| (to, true)));
    }
    crossings.push((flat(corridor.end), true));
    let mut points = Vec::new();
    let mut crossings = crossings.into_iter();
    let mut entry = Some((flat(start), true));
    for &rect in &corridor.rects {
        let is_wet = ground.tile(rect.slot).rects()[rect.rect as usize].is_wet;
        let (Some(from), Some(to)) = (entry, crossings.next()) else { break };
        let point = |([x, z], is_corner): ([f64; 2], bool)| LinePoint {
            at: [x, ground.height_in(rect, [x, z]), z],
            is_corner,
            is_wet,
        };
        points.push(point(from));
        points.extend(between(from.0, to.0).map(|at| point((at, false))));
        points.push(point(to));
        entry = crossings.next();
    }
    simplified(&points, tolerance)
}

/// Points between two points, at most a path cell apart.
fn between(from: [f64; 2], to: [f64; 2]) -> impl Iterator<Item = [f64; 2]> {
    let way = [to[0] - from[0], to[1] - from[1]];
    let steps = way[0].abs().max(way[1].abs()).ceil() as u32;
    (1..steps).map(move |step| {
        let share = f64::from(step) / f64::from(steps);
        [0, 1].map(|axis| from[axis] + way[axis] * share)
    })
}

/// The corners of the shortest line, each with the number of its portal; start and end have none.
fn funnel(start: [f64; 2], end: [f64; 2], portals: &[Portal]) -> Vec<([f64; 2], Option<usize>)> {
    let sides = |i: usize| match portals.get(i) {
        None => [end, end],
        Some(portal) => {
            let [low, high] = portal.inner();
            // Facing −x, the left is +z; facing +x, −z; facing −z, −x; facing +z, +x.
            let is_high_left = matches!(portal.direction, 0 | 3);
            let [left, right] = if is_high_left { [high, low] } else { [low, high] };
            [portal.point(left), portal.point(right)]
        }
    };
    let mut corners = vec![(start, None)];
    let mut apex = start;
    // The sides of the funnel, and the portals that they are from.
    let (mut left, mut right) = ((start, 0), (start, 0));
    let mut i = 0;
    while i <= portals.len() {
        let [new_left, new_right] = sides(i);
        let is_tighter = side(apex, right.0, new_right) >= 0.0;
        if is_tighter {
            if right.0 == apex || side(apex, left.0, new_right) <= 0.0 {
                right = (new_right, i);
            } else {
                corners.push((left.0, Some(left.1)));
                (apex, i) = (left.0, left.1 + 1);
                (left, right) = ((apex, i - 1), (apex, i - 1));
                continue;
            }
        }
        let is_tighter = side(apex, left.0, new_left) <= 0.0;
        if is_tighter {
            if left.0 == apex || side(apex, right.0, new_left) >= 0.0 {
                left = (new_left, i);
            } else {
                corners.push((right.0, Some(right.1)));
                (apex, i) = (right.0, right.1 + 1);
                (left, right) = ((apex, i - 1), (apex, i - 1));
                continue;
            }
        }
        i += 1;
    }
    corners.push((end, None));
    corners
}

/// Positive if `c` lies left of the line from `a` to `b`, seen from above.
fn side(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[1] - a[1]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[1] - a[1])
}

/// Leaves out points without which the line stays within `tolerance` of them in height.
///
/// Source: Douglas and Peucker (1973), in height only: the line is straight from above.
fn simplified(points: &[LinePoint], tolerance: f64) -> Vec<LinePoint> {
    let mut is_kept: Vec<bool> = points
        .iter()
        .enumerate()
        .map(|(i, point)| point.is_corner || (i > 0 && points[i - 1].is_wet != point.is_wet))
        .collect();
    let kept: Vec<usize> = (0..points.len()).filter(|&i| is_kept[i]).collect();
    let mut parts: Vec<[usize; 2]> = kept.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    while let Some([first, last]) = parts.pop() {
        let [a, b] = [points[first].at, points[last].at];
        let axis = if (b[0] - a[0]).abs() > (b[2] - a[2]).abs() { 0 } else { 2 };
        let bend = |i: usize| {
            let p = points[i].at;
            let way = b[axis] - a[axis];
            let share = if way == 0.0 { 0.0 } else { (p[axis] - a[axis]) / way };
            (p[1] - (a[1] + (b[1] - a[1]) * share)).abs()
        };
        let inner = first + 1..last;
        let most = inner.max_by(|&i, &j| bend(i).total_cmp(&bend(j)));
        if let Some(most) = most.filter(|&most| bend(most) > tolerance) {
            is_kept[most] = true;
            parts.extend([[first, most], [most, last]]);
        }
    }
    let points = points.iter().zip(is_kept);
    points.filter(|(_, is_kept)| *is_kept).map(|(point, _)| *point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portal(direction: usize, at: f64, span: [f64; 2]) -> Portal {
        Portal { direction, at, span }
    }

    #[test]
    fn a_line_through_wide_portals_is_straight() {
        let portals = [portal(1, 2.0, [-9.0, 9.0]), portal(1, 4.0, [-9.0, 9.0])];
        assert_eq!(funnel([0.0, 0.0], [6.0, 3.0], &portals).len(), 2);
    }

    #[test]
    fn a_line_turns_at_the_ends_of_portals_and_nowhere_else() {
        // East along z = 0, north through x = 10, east again: a Z.
        let portals = [
            portal(1, 4.0, [-1.0, 1.0]),
            portal(2, -1.0, [8.0, 10.0]),
            portal(2, -9.0, [8.0, 10.0]),
            portal(1, 12.0, [-11.0, -9.0]),
        ];
        let corners = funnel([0.0, 0.0], [20.0, -10.0], &portals);
        let points: Vec<_> = corners.iter().map(|corner| corner.0).collect();
        assert_eq!(points, [[0.0, 0.0], [8.25, -1.0], [9.75, -9.0], [12.0, -9.25], [20.0, -10.0]]);
        let numbers: Vec<_> = corners.iter().map(|corner| corner.1).collect();
        assert_eq!(numbers, [None, Some(1), Some(2), Some(3), None]);
        // Back again: the same line.
        let back = [
            portal(0, 12.0, [-11.0, -9.0]),
            portal(3, -9.0, [8.0, 10.0]),
            portal(3, -1.0, [8.0, 10.0]),
            portal(0, 4.0, [-1.0, 1.0]),
        ];
        let mut again: Vec<_> =
            funnel([20.0, -10.0], [0.0, 0.0], &back).iter().map(|corner| corner.0).collect();
        again.reverse();
        assert_eq!(again, points);
    }

    #[test]
    fn points_on_an_even_slope_are_left_out_and_those_on_a_ridge_kept() {
        let point = |i: u32, height: f64| LinePoint {
            at: [f64::from(i), height, 0.0],
            is_corner: i == 0 || i == 20,
            is_wet: false,
        };
        let slope: Vec<_> = (0..=20).map(|i| point(i, f64::from(i) * 0.5)).collect();
        assert_eq!(simplified(&slope, 0.1).len(), 2);
        let ridge: Vec<_> =
            (0..=20).map(|i| point(i, 10.0 - (f64::from(i) - 10.0).abs())).collect();
        assert_eq!(simplified(&ridge, 0.1).len(), 3);
    }
}
