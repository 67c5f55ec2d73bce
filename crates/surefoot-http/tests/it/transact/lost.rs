//! Commits whose answer never came.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use surefoot_core::error::StoreError;
use surefoot_core::port::{
    Committed, Messages, NewJob, Opened, RequestTransactions, Requests, Store,
};
use surefoot_core::request::{NewRequest, Request, RequestState};
use surefoot_core::time::Timestamp;
use surefoot_testkit::{Fault, FaultyStore, Verb};

use super::bank::{Bank, Stand, policy};

/// Loses answers.
struct Loses<B> {
    bank: B,
    /// Whether the commit took effect.
    commits: bool,
    /// Whether nothing is answered after the commit.
    is_away: bool,
    lost: Arc<AtomicBool>,
}

fn away() -> StoreError {
    StoreError::Unavailable("the connection broke".into())
}

#[async_trait]
impl<B: Bank> RequestTransactions for Loses<B> {
    type Transaction = B::Transaction;

    async fn open(
        &self,
        new: &NewRequest,
        now: Timestamp,
    ) -> Result<Opened<B::Transaction>, StoreError> {
        if self.is_away && self.lost.load(Ordering::SeqCst) {
            return Err(away());
        }
        self.bank.open(new, now).await
    }

    async fn commit(&self, transaction: B::Transaction, request: &Request) -> Committed {
        if self.commits {
            let committed = self.bank.commit(transaction, request).await;
            assert!(matches!(committed, Committed::Yes), "{committed:?}");
        } else {
            self.bank.roll_back(transaction).await;
        }
        self.lost.store(true, Ordering::SeqCst);
        Committed::Unknown(away())
    }

    async fn roll_back(&self, transaction: B::Transaction) {
        self.bank.roll_back(transaction).await;
    }
}

fn stand<B: Bank>(bank: B, commits: bool, is_away: bool) -> Stand<B> {
    let loses = Loses {
        bank: bank.clone(),
        commits,
        is_away,
        lost: Arc::default(),
    };
    Stand::with(bank, loses, policy())
}

pub(crate) async fn a_commit_whose_answer_was_lost_is_found_on_record<B: Bank>(bank: B) {
    let stand = stand(bank, true, false);
    let told = stand.post("k", "commit").await;
    assert_eq!(told.marks(), (201, Some("executed"), None));
    assert_eq!(stand.woken.load(Ordering::SeqCst), 1);
    assert_eq!(
        stand.post("k", "commit").await.marks(),
        (201, Some("replayed"), None)
    );
    assert_eq!(stand.rows().await, (1, 1, 1));
}

pub(crate) async fn a_commit_that_was_lost_itself_happened_not_at_all<B: Bank>(bank: B) {
    let stand = stand(bank, false, false);
    let told = stand.post("k", "commit").await;
    assert_eq!(told.marks(), (503, None, Some("store-unavailable")));
    assert_eq!(stand.woken.load(Ordering::SeqCst), 0);
    assert_eq!(
        (stand.rows().await, stand.state("k").await),
        ((0, 0, 0), None)
    );
}

pub(crate) async fn a_commit_that_nobody_can_look_up_is_unknown_until_the_next_arrival<B: Bank>(
    bank: B,
) {
    let stand = stand(bank.clone(), true, true);
    let told = stand.post("k", "commit").await;
    assert_eq!(
        told.marks(),
        (409, None, Some("outcome-unknown")),
        "honest-unknown"
    );
    let state = stand.state("k").await;
    assert!(
        matches!(state, Some(RequestState::Finished { .. })),
        "{state:?}"
    );
    let again = stand.node(bank, policy()).post("k", "commit").await;
    assert_eq!(again.marks(), (201, Some("replayed"), None));
    assert_eq!(stand.rows().await, (1, 1, 1));
}

/// A bank whose requests are remembered by a store that can be away; its transactions are not.
#[derive(Clone)]
struct Away<B> {
    bank: B,
    requests: Arc<dyn Requests>,
}

#[async_trait]
impl<B: Bank> RequestTransactions for Away<B> {
    type Transaction = B::Transaction;

    async fn open(
        &self,
        new: &NewRequest,
        now: Timestamp,
    ) -> Result<Opened<B::Transaction>, StoreError> {
        self.bank.open(new, now).await
    }

    async fn commit(&self, transaction: B::Transaction, request: &Request) -> Committed {
        self.bank.commit(transaction, request).await
    }

    async fn roll_back(&self, transaction: B::Transaction) {
        self.bank.roll_back(transaction).await;
    }
}

impl<B: Bank> Bank for Away<B> {
    fn ports(&self) -> (Arc<dyn Requests>, Arc<dyn Store>, Arc<dyn Messages>) {
        let (_, store, messages) = self.bank.ports();
        (self.requests.clone(), store, messages)
    }

    async fn pay(transaction: &mut B::Transaction, bank: &Self, job: NewJob) {
        B::pay(transaction, &bank.bank, job).await;
    }

    async fn payments(&self) -> i64 {
        self.bank.payments().await
    }
}

/// The handler called out and does not know what became of it. Its claim went with its rows, and the store is away.
pub(crate) async fn what_may_have_happened_outside_is_not_run_again_when_the_store_was_away<
    B: Bank,
>(
    bank: B,
) {
    let (requests, store, _) = bank.ports();
    let faults = FaultyStore::over(store, 1);
    for _ in 0..9 {
        faults.next(Verb::Begin, Fault::Before);
    }
    let requests = Arc::new(faults.requests(requests));
    let away = Away { bank, requests };
    let stand = Stand::with(away.clone(), away, policy());
    let told = stand.post("k", "unknown").await;
    assert_eq!(
        told.marks(),
        (502, Some("executed"), Some("outcome-unknown"))
    );
    let unknown = (409, None, Some("outcome-unknown"));
    assert_eq!(stand.post("k", "unknown").await.marks(), unknown);
    assert_eq!(stand.guard.drain(Duration::from_secs(30)).await, 0);
    assert_eq!(stand.post("k", "unknown").await.marks(), unknown);
    assert_eq!(stand.runs.load(Ordering::SeqCst), 1, "no-double-effect");
    let state = stand.state("k").await;
    assert!(
        matches!(state, Some(RequestState::Unknown { .. })),
        "{state:?}"
    );
}
