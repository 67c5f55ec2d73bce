//! Stores of requests that are broken on purpose: the contract must tell each of them from a sound one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use surefoot_core::error::StoreError;
use surefoot_core::port::{
    Forgotten, RequestDepth, RequestFilter, RequestHead, RequestWritten, Requests,
};
use surefoot_core::request::{
    Arrived, Identity, Kept, NewRequest, Request, RequestId, RequestState,
};
use surefoot_core::time::Timestamp;
use surefoot_testkit::{ManualClock, MemoryStore, contract};
use tokio::task::yield_now;

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    /// It looks first and claims then.
    SelectThenInsert,
    /// A lease that is over is a key that is free.
    LapsedRuns,
    /// Any version is written over.
    WriteWithoutVersion,
    /// A write finds its request by the key.
    WriteByKey,
    /// The same write repeated is called changed.
    RepeatIsChanged,
    /// A body is kept as text.
    BodyAsText,
    /// Headers of one name are one.
    OneHeaderOfAName,
    /// An answer is kept for good.
    KeepsAnswers,
    /// What is open is forgotten with the rest.
    ForgetsOpen,
    /// What is to be asked about is not found.
    FindsOnlyLapsed,
    /// A page begins with what the page before ended with.
    PageOverlaps,
}

struct Broken {
    inner: MemoryStore,
    how: Break,
}

impl Broken {
    fn store(how: Break) -> Arc<dyn Requests> {
        let clock = ManualClock::new(Timestamp::MIN);
        Arc::new(Self {
            inner: MemoryStore::new(Arc::new(clock)),
            how,
        })
    }

    fn kept(&self, mut request: Request) -> Request {
        if let RequestState::Finished {
            kept: Kept::Response(response),
            ..
        } = &mut request.state
        {
            if self.how == Break::BodyAsText {
                response.body = String::from_utf8_lossy(&response.body).into_owned().into();
            }
            if self.how == Break::OneHeaderOfAName {
                response.headers.dedup_by(|a, b| a.0 == b.0);
                response.headers.sort();
                response.headers.dedup_by(|a, b| a.0 == b.0);
            }
        }
        request
    }
}

#[async_trait]
impl Requests for Broken {
    async fn begin(&self, new: &NewRequest, now: Timestamp) -> Result<Arrived, StoreError> {
        let known = self.inner.request(&new.identity).await?;
        if self.how == Break::SelectThenInsert && known.is_none() {
            for _ in 0..20 {
                yield_now().await;
            }
            let claimed = surefoot_core::request::arrive(None, new, now);
            self.inner.begin(new, now).await?;
            return Ok(claimed);
        }
        let arrived = self.inner.begin(new, now).await?;
        match (arrived, known, self.how) {
            (Arrived::UnknownOutcome { .. }, Some(known), Break::LapsedRuns) => {
                Ok(Arrived::Run(Box::new(known)))
            }
            (arrived, ..) => Ok(arrived),
        }
    }

    async fn write_request(&self, request: &Request) -> Result<RequestWritten, StoreError> {
        let mut request = self.kept(request.clone());
        let known = self.inner.request(&request.identity).await?;
        if let Some(known) = known {
            if self.how == Break::WriteWithoutVersion {
                request.version = known.version + 1;
            }
            if self.how == Break::WriteByKey {
                request.id = known.id;
            }
        }
        Ok(match self.inner.write_request(&request).await? {
            RequestWritten::Already if self.how == Break::RepeatIsChanged => {
                RequestWritten::Changed(Some(Box::new(request)))
            }
            written => written,
        })
    }

    async fn request(&self, identity: &Identity) -> Result<Option<Request>, StoreError> {
        self.inner.request(identity).await
    }

    async fn request_by_id(&self, id: RequestId) -> Result<Option<Request>, StoreError> {
        self.inner.request_by_id(id).await
    }

    async fn due_requests(&self, now: Timestamp, limit: u32) -> Result<Vec<Request>, StoreError> {
        let mut due = self.inner.due_requests(now, limit).await?;
        if self.how == Break::FindsOnlyLapsed {
            due.retain(|request| matches!(request.state, RequestState::Claimed { .. }));
        }
        Ok(due)
    }

    async fn requests(
        &self,
        filter: &RequestFilter,
        before: Option<RequestId>,
        limit: u32,
    ) -> Result<Vec<RequestHead>, StoreError> {
        let mut page = self.inner.requests(filter, before, limit).await?;
        if let (Some(before), Break::PageOverlaps) = (before, self.how) {
            let overlap = self.inner.request_by_id(before).await?;
            page.splice(0..0, overlap.as_ref().map(RequestHead::of));
            page.truncate(limit as usize);
        }
        Ok(page)
    }

    async fn request_depth(&self) -> Result<RequestDepth, StoreError> {
        self.inner.request_depth().await
    }

    async fn forget_requests(&self, now: Timestamp, limit: u32) -> Result<Forgotten, StoreError> {
        match self.how {
            Break::KeepsAnswers => Ok(Forgotten::default()),
            Break::ForgetsOpen => {
                let open = self.inner.due_requests(now, limit).await?;
                for mut request in open {
                    request.version += 1;
                    request.state = RequestState::Expired {
                        at: Timestamp::MIN,
                        status: 200,
                    };
                    self.inner.write_request(&request).await?;
                }
                self.inner.forget_requests(now, limit).await
            }
            _ => self.inner.forget_requests(now, limit).await,
        }
    }
}

/// Asserts that each of the cases fails over a store that is broken so.
macro_rules! fails {
    ($how:expr, $($family:ident::$case:ident),+ $(,)?) => {
        $(
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let case = contract::requests::$family::$case;
            let run = || runtime.block_on(case(Broken::store($how)));
            let name = concat!(stringify!($family), "::", stringify!($case));
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{name} does not see {:?}", $how);
        )+
    };
}

#[test]
fn the_contract_sees_what_is_broken() {
    fails!(
        Break::SelectThenInsert,
        race::one_of_a_hundred_arrivals_runs
    );
    fails!(
        Break::LapsedRuns,
        begin::what_lapsed_does_not_run_again,
        begin::each_state_has_its_answer,
    );
    fails!(
        Break::WriteWithoutVersion,
        write::a_write_that_does_not_follow_changes_nothing,
        write::a_stale_epoch_changes_nothing,
        race::a_finish_and_a_lapse_at_once_have_one_winner,
        race::of_two_witnesses_the_first_counts,
    );
    fails!(
        Break::WriteByKey,
        write::a_write_without_a_request_changes_nothing,
        forget::a_late_write_to_a_forgotten_request_changes_nothing,
    );
    fails!(
        Break::RepeatIsChanged,
        write::a_repeated_write_is_already,
        race::of_two_nodes_one_asks,
    );
    fails!(Break::BodyAsText, record::bodies_are_kept_byte_for_byte);
    fails!(
        Break::OneHeaderOfAName,
        record::headers_are_kept_byte_for_byte
    );
    fails!(
        Break::KeepsAnswers,
        forget::an_answer_leaves_at_the_end_of_its_retention,
        forget::a_key_is_free_when_its_tombstone_is_over,
        forget::it_goes_in_steps_the_oldest_first,
    );
    fails!(Break::ForgetsOpen, forget::what_is_open_is_never_forgotten);
    fails!(
        Break::FindsOnlyLapsed,
        due::what_lapsed_or_is_to_be_asked_about_is_found,
        due::what_was_put_off_is_not_due,
    );
    fails!(Break::PageOverlaps, list::the_latest_come_first_in_pages);
}
