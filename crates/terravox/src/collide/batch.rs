//! Many queries at once: in order, on all threads of rayon's pool with feature `parallel`.
//! Results do not depend on the number of threads.

/// Least queries that a thread takes at once.
#[cfg(feature = "parallel")]
const MIN_QUERIES_A_TASK: usize = 64;

/// Makes `results` those of `query` for all `inputs`, in order.
#[cfg(feature = "parallel")]
pub(super) fn run<I: Sync, R: Send>(
    inputs: &[I],
    results: &mut Vec<R>,
    query: impl Fn(&I) -> R + Sync + Send,
) {
    use rayon::prelude::*;
    inputs.par_iter().with_min_len(MIN_QUERIES_A_TASK).map(query).collect_into_vec(results);
}

/// Makes `results` those of `query` for all `inputs`, in order.
#[cfg(not(feature = "parallel"))]
pub(super) fn run<I, R>(inputs: &[I], results: &mut Vec<R>, query: impl Fn(&I) -> R) {
    results.clear();
    results.extend(inputs.iter().map(query));
}
