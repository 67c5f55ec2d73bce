//! What a layer must know about the requests that it protects.

use crate::dependency::Attempt;
use crate::meaning::Meaning;
use crate::meta::Meta;

/// Tells the layer about requests `R`, answers `A` and errors `E`.
pub trait Plan<R, A, E>: Clone + Send + Sync + 'static {
    /// What there is to say about a request. A key counts as such whatever its text.
    fn meta(&self, request: &R) -> Meta<'static>;

    /// The request once more, for a further attempt; `None` when it can be sent only once, which is no fault:
    /// it is sent, and not repeated.
    fn again(&self, request: &R) -> Option<R>;

    /// Writes what goes along with this attempt into its own copy of the request. False when no time is left.
    fn prepare(&self, attempt: &Attempt<'_>, request: &mut R) -> bool;

    /// What an answer means that is a failure; `None` when it is none.
    fn answer(&self, answer: &A, meta: &Meta<'_>) -> Option<Meaning>;

    /// What an error means.
    fn error(&self, error: &E) -> Meaning;
}
