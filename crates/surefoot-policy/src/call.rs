//! The engine: one call through all guards in their fixed order. It owns no state and no options; it asks the
//! parts in turn and carries their answers out. No lock is held while it waits or while it tells anybody.

mod admit;
mod attempt;
mod run;
mod trail;

use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};

use admit::Admission;
use run::{Begin, Done, Run, Tried};
use trail::Trail;

use crate::dependency::{Attempt, Dependency};
use crate::error::CallError;
use crate::event::Event;
use crate::hedge::{Race, race};
use crate::meaning::Meant;
use crate::meta::Meta;

/// One attempt through the guards that stand before each attempt.
///
/// Not a function: an async function keeps what it is given in a future of its own and moves what it returns, which
/// costs a call as much as its breaker does.
macro_rules! attempt {
    ($run:expr, $begin:expr, $make:expr) => {
        'attempt: {
            let (run, begin): (&Run<'_, '_>, Begin<'_>) = (&$run, $begin);
            let admitted = match run.admit(begin.now) {
                Ok(Admission::Admitted(admitted)) => admitted,
                // On the heap, because only a call that waits needs it.
                Ok(waiting) => match Box::pin(run.admitted(waiting)).await {
                    Ok(admitted) => admitted,
                    Err((rejection, after)) => {
                        break 'attempt Err(Tried::Rejected(rejection, after));
                    }
                },
                Err((rejection, after)) => break 'attempt Err(Tried::Rejected(rejection, after)),
            };
            let mut admitted = admitted;
            let out = run.leaves(begin, &admitted);
            let ran = {
                let inner = pin!(run.made(out.attempt(run.dependency), $make));
                let timer = pin!(None);
                run.guarded(&out, &mut admitted.permit, inner, timer).await
            };
            run.ended(&out, admitted, ran)
        }
    };
}

impl Dependency {
    /// Makes one call, protected by the policy. `f` starts one attempt each time it is called; dropping the
    /// returned future drops the attempt that is out and gives everything back that it held.
    ///
    /// The error type says by [`Meant`] what a failure means. An answer that is a failure too, such as an HTTP
    /// status, is to be returned as an error by `f`.
    ///
    /// # Errors
    /// [`CallError`]: a rejection, or the story of the attempts that failed.
    pub fn call<'a, 'm, T, E, F, Fut>(
        &'a self,
        meta: &Meta<'m>,
        mut f: F,
    ) -> impl Future<Output = Result<T, CallError<E>>> + use<'a, 'm, T, E, F, Fut>
    where
        E: Meant,
        F: FnMut(Attempt<'a>) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let meta = *meta;
        // A block and not an `async fn`, for that would move its arguments twice.
        async move {
            let mut run = match Run::begin(self, &meta) {
                Ok(run) => run,
                Err((rejection, after)) => {
                    self.emit(|| Event::Rejected(rejection));
                    return Err(CallError::rejected(self.0.name.clone(), rejection, after));
                }
            };
            let mut trail = Trail::new();
            loop {
                let begin = run.next_send();
                let tried = if run.hedges() {
                    // On the heap, so that a call that is not hedged stays small.
                    Box::pin(hedged(&run, begin, &mut f, &mut trail)).await
                } else {
                    attempt!(run, begin, &mut f)
                };
                match tried {
                    Ok(done) => {
                        run.succeeded(done.ended);
                        return Ok(done.value);
                    }
                    Err(Tried::Rejected(rejection, after)) => {
                        return Err(trail.turned_away(&run, rejection, after));
                    }
                    Err(Tried::Failed(failed)) => trail.add(*failed),
                }
                if let Err(suppressed) = run.before_next(trail.meaning()).await {
                    return Err(trail.end(&run, suppressed));
                }
            }
        }
    }
}

/// One attempt with a second copy when it is slow. What failed beside the result goes to the trail at once.
async fn hedged<'a, T, E, F, Fut>(
    run: &Run<'a, '_>,
    begin: Begin<'a>,
    f: &mut F,
    trail: &mut Trail<E>,
) -> Result<Done<T>, Tried<E>>
where
    E: Meant,
    F: FnMut(Attempt<'a>) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    let f = Mutex::new(f);
    // The lock is held while an attempt is made, not while it runs.
    let make = |attempt| {
        let mut f = f.lock().unwrap_or_else(PoisonError::into_inner);
        (*f)(attempt)
    };
    let attempt = async |begin| attempt!(run, begin, make);
    let Race { result, other } = race(attempt(begin), run.hedge_wait(), || {
        run.second_copy().map(attempt)
    })
    .await;
    match (result, other) {
        (Err(Tried::Rejected(..)), Some(Tried::Failed(failed))) => Err(Tried::Failed(failed)),
        (result, Some(Tried::Failed(failed))) => {
            trail.add(*failed);
            result
        }
        (result, Some(Tried::Rejected(..)) | None) => result,
    }
}

#[cfg(test)]
mod tests;
