//! What is on record reads back exactly as it was written.

use std::sync::Arc;

use surefoot_core::effect::Witness;
use surefoot_core::id::Actor;
use surefoot_core::port::Requests;
use surefoot_core::request::{
    End, Kept, NotKept, RequestStateName, RequestVerdict, StoredResponse, Tombstone, Witnessed,
    witnessed,
};
use surefoot_core::time::Timestamp;

use super::fixture::{
    applied, arrival, at, claimed, ended, in_state, record, response, run, told, verified,
};

pub async fn each_state_reads_back(store: Arc<dyn Requests>) {
    for name in RequestStateName::ALL {
        let request = in_state(&*store, name.as_str(), name).await;
        assert_eq!(record(&*store, name.as_str()).await, request, "{name:?}");
    }
}

async fn kept(store: &dyn Requests, key: &str, kept: Kept) {
    let request = claimed(store, key).await;
    let end = End::Answered(kept.clone());
    let finished = applied(store, ended(&request, end, at(5))).await;
    assert_eq!(
        record(store, key).await,
        finished,
        "one-outcome: to the byte"
    );
    let answer = store.begin(&arrival(key), at(6)).await.expect("begin");
    let expected = surefoot_core::request::arrive(Some(&finished), &arrival(key), at(6));
    assert_eq!(answer, expected, "and so does its replay");
}

pub async fn bodies_are_kept_byte_for_byte(store: Arc<dyn Requests>) {
    let bodies: [Vec<u8>; 7] = [
        Vec::new(),
        vec![0],
        (0..=255).collect(),
        b"\xff\xfe\0\r\n".to_vec(),
        "\u{1ea1}\u{1f600}".as_bytes().to_vec(),
        b"null".to_vec(),
        (0..1024 * 1024)
            .map(|n: u32| n.to_be_bytes()[3] ^ n.to_be_bytes()[2])
            .collect(),
    ];
    for (number, body) in bodies.into_iter().enumerate() {
        let response = StoredResponse {
            status: 200,
            headers: Vec::new(),
            body,
        };
        kept(&*store, &format!("k-{number}"), Kept::Response(response)).await;
    }
    for status in [200, 204, 304, 409, 422, 500, 599] {
        kept(&*store, &format!("s-{status}"), response(status)).await;
    }
}

pub async fn headers_are_kept_byte_for_byte(store: Arc<dyn Requests>) {
    let headers = vec![
        ("link".to_owned(), b"<a>; rel=\"next\"".to_vec()),
        ("etag".to_owned(), b"W/\"1\"".to_vec()),
        ("link".to_owned(), (0x80..=0xff).collect()),
        ("location".to_owned(), Vec::new()),
    ];
    let response = StoredResponse {
        status: 201,
        headers,
        body: b"x".to_vec(),
    };
    kept(&*store, "k", Kept::Response(response)).await;
}

pub async fn tombstones_are_kept(store: Arc<dyn Requests>) {
    for why in NotKept::ALL {
        for (number, body_sha256, body_bytes) in [
            (0, None, None),
            (1, Some([0xa5; 32]), Some(5_000_000_000)),
            (2, None, Some(0)),
        ] {
            let tombstone = Tombstone {
                status: 200,
                body_sha256,
                body_bytes,
                why,
            };
            kept(
                &*store,
                &format!("{}-{number}", why.as_str()),
                Kept::Tombstone(tombstone),
            )
            .await;
        }
    }
}

pub async fn witnesses_and_disputes_are_kept(store: Arc<dyn Requests>) {
    let request = in_state(&*store, "k", RequestStateName::Unknown).await;
    let free = applied(
        &*store,
        verified(&request, RequestVerdict::DidNotHappen, at(50)),
    )
    .await;
    assert_eq!(record(&*store, "k").await, free, "the provider said so");
    let disputed = applied(
        &*store,
        told(&free, RequestVerdict::Happened(response(201)), at(60)),
    )
    .await;
    assert_eq!(disputed.state.name(), RequestStateName::NeedsHuman);
    assert_eq!(record(&*store, "k").await, disputed);
    let settled = applied(
        &*store,
        told(&disputed, RequestVerdict::Happened(response(200)), at(61)),
    )
    .await;
    let webhook = Witness::Caller(Actor::new("stripe webhook").expect("an actor"));
    let Witnessed::Disputed(again) =
        witnessed(&settled, RequestVerdict::DidNotHappen, webhook, at(62))
    else {
        panic!("it says something else")
    };
    let again = applied(&*store, *again).await;
    let read = record(&*store, "k").await;
    assert_eq!(read, again);
    assert_eq!(
        read.disputes.len(),
        2,
        "one-outcome: later words stand beside the first"
    );
    let long = "\u{1ea1}\"\\\n".repeat(2000);
    let error = End::NothingHappened(long.into());
    let other = run(&*store, &arrival("j"), Timestamp::MIN).await;
    let other = applied(&*store, ended(&other, error, Timestamp::MIN)).await;
    assert_eq!(record(&*store, "j").await, other, "texts of any kind");
}
