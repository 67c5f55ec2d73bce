//! A job as a stream: as it is, then each time it changed, until it is settled. It never shows a state that is not in the
//! store, and it never outlives what its reader names.

use std::pin::Pin;
use std::time::Duration;

use futures_util::future::{Fuse, FutureExt};
use futures_util::stream::{self, Stream, StreamExt};
use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::port::JobRecord;

use super::{Changed, Client, Seen};

/// How long one wait for a change lasts.
const WAIT: Duration = Duration::from_secs(60);

/// What a stream does next.
enum Next<S> {
    Show(Box<JobRecord>, S),
    Wait(Seen, S),
    End,
}

impl Client {
    /// The job that `first` shows, at once, and again each time it changed. The stream ends after a settled state, when the
    /// job is gone, when `stop` is ready, and after an error of the store, which is its last item.
    pub fn follow<F>(
        &self,
        first: JobRecord,
        stop: F,
    ) -> impl Stream<Item = Result<Box<JobRecord>, StoreError>> + Send + use<F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (client, job) = (self.clone(), first.job.id);
        let start = Next::Show(Box::new(first), Box::pin(stop.fuse()));
        stream::unfold(start, move |next| {
            let client = client.clone();
            async move {
                let (record, stop) = match next {
                    Next::Show(record, stop) => (record, stop),
                    Next::Wait(seen, mut stop) => {
                        match client.change(job, &seen, &mut stop).await {
                            Ok(Some(record)) => (record, stop),
                            Ok(None) => return None,
                            Err(error) => return Some((Err(error), Next::End)),
                        }
                    }
                    Next::End => return None,
                };
                let next = if record.job.state.name().is_settled() {
                    Next::End
                } else {
                    Next::Wait(Seen::from(&*record), stop)
                };
                Some((Ok(record), next))
            }
        })
        .fuse()
    }

    /// The job once it is not as it was seen; `None` when the stream ends.
    async fn change<F: Future<Output = ()>>(
        &self,
        job: JobId,
        seen: &Seen,
        stop: &mut Pin<Box<Fuse<F>>>,
    ) -> Result<Option<Box<JobRecord>>, StoreError> {
        loop {
            let changed = tokio::select! {
                () = stop.as_mut() => return Ok(None),
                changed = self.changed(job, Some(seen), WAIT) => changed?,
            };
            match changed {
                Changed::To(record) => return Ok(Some(record)),
                Changed::Same => {}
                Changed::NotFound => return Ok(None),
            }
        }
    }
}
