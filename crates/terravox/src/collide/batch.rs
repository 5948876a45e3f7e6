//! Many queries at once: in order, on all threads of rayon's pool with feature `parallel`.
//! Answers do not depend on the number of threads.

use super::collider::Collider;
use super::query::{Answer, Filter, Hit, Ray};

/// Queries that a thread takes at once.
#[cfg(feature = "parallel")]
const TOGETHER: usize = 64;

impl Collider {
    /// As [`Collider::ray`], for many rays: `answers` gets one each.
    pub fn rays(&self, rays: &[Ray], filter: &Filter, answers: &mut Vec<Answer<Option<Hit>>>) {
        each(rays, answers, |ray| self.ray(ray, filter));
    }

    /// As [`Collider::ray_any`], for many rays: `answers` gets one each.
    pub fn rays_any(&self, rays: &[Ray], filter: &Filter, answers: &mut Vec<Answer<bool>>) {
        each(rays, answers, |ray| self.ray_any(ray, filter));
    }

    /// As [`Collider::closest_point`], for many points: `answers` gets one each.
    pub fn closest_points(
        &self,
        points: &[[f64; 3]],
        max_distance: f64,
        filter: &Filter,
        answers: &mut Vec<Answer<Option<Hit>>>,
    ) {
        each(points, answers, |&point| self.closest_point(point, max_distance, filter));
    }
}

/// Makes `answers` those of `ask` to all `questions`.
#[cfg(feature = "parallel")]
fn each<Q: Sync, A: Send>(
    questions: &[Q],
    answers: &mut Vec<A>,
    ask: impl Fn(&Q) -> A + Sync + Send,
) {
    use rayon::prelude::*;
    questions.par_iter().with_min_len(TOGETHER).map(ask).collect_into_vec(answers);
}

/// Makes `answers` those of `ask` to all `questions`.
#[cfg(not(feature = "parallel"))]
fn each<Q, A>(questions: &[Q], answers: &mut Vec<A>, ask: impl Fn(&Q) -> A) {
    answers.clear();
    answers.extend(questions.iter().map(ask));
}
