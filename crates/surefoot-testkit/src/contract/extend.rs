//! Extend and beat: a lease holds longer, never shorter, and only for its holder.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::id::Epoch;
use surefoot_core::job::JobState;
use surefoot_core::port::{Cancelled, Extended, Extension, Store};

use super::fixture::{
    LEASE, START, at, by, extended, fresh_id, record, running, settled, state, success,
};

pub async fn a_lease_is_extended_and_never_shortened(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    let held = |until| Extended::Held {
        until,
        cancel_requested: false,
    };
    assert_eq!(
        extended(&*store, &leased, at(100), at(10)).await,
        held(at(100))
    );
    assert_eq!(
        extended(&*store, &leased, at(50), at(11)).await,
        held(at(100)),
        "a lease is never shortened"
    );
    let JobState::Running(run) = state(&*store, leased.id).await else {
        panic!("it runs")
    };
    assert_eq!(run.lease_until, at(100));
    assert_eq!(store.lapsed(at(100), 10).await.expect("lapsed"), []);
    assert_eq!(
        store
            .cancel(leased.id, &by("mistake"), at(12))
            .await
            .expect("cancel"),
        Cancelled::Requested
    );
    assert_eq!(
        extended(&*store, &leased, at(60), at(13)).await,
        Extended::Held {
            until: at(100),
            cancel_requested: true
        },
        "a holder is told that its job is to be cancelled"
    );
}

pub async fn a_lost_lease_is_told(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    let before = record(&*store, leased.id).await;
    let extension = |job, epoch| Extension {
        job,
        epoch,
        until: at(500),
    };
    let wrong = [
        extension(leased.id, Epoch(leased.state.epoch.0 + 1)),
        extension(leased.id, Epoch(leased.state.epoch.0 - 1)),
        extension(fresh_id(), leased.state.epoch),
    ];
    let answers = store.extend(&wrong, at(1)).await.expect("extend");
    assert_eq!(
        answers,
        [Extended::Lost; 3],
        "no-zombie-write: only the holder extends a lease"
    );
    assert_eq!(
        record(&*store, leased.id).await,
        before,
        "no-zombie-write: nothing was written"
    );
    settled(&*store, &success(&leased, at(2)), at(2)).await;
    assert_eq!(
        extended(&*store, &leased, at(500), at(3)).await,
        Extended::Lost
    );
    assert!(
        LEASE > Duration::from_secs(3),
        "it would have held otherwise"
    );
}
